"""What words and vectors say of each unit becomes one score.

The weighted sum keeps how much better the best is than the rest; ranks do not, and lose by it (hybrid ledger, section
4). Boosts come after the fusion, on the sum.
"""

from dataclasses import dataclass, replace
from math import log, sqrt
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from .keyword_columns import Ints

if TYPE_CHECKING:
    from ..config import ReMeConfig
    from .question import Floats
    from .vectors_table import Numbers

# What words are compared with when the best of them says little, in shares of what one unit with all words has.
LEAST_TOP = 0.5
# How near a unit without a shared word must be to be shown: how much of the way from what is usual for the question to
# the same text. True questions reach it in 93 of 100 cases, foreign ones that share no word in 20; these are `weak`.
NEAR = 0.22
# Evidence by words and nearness together, below which a result is called weak: as many true questions lose their `ok`
# as by the rule for words alone (bench/vectors.py prints the curve).
SURE = 0.465
# How many units the conversations have that these were measured on. The more there are, the nearer the nearest of them
# is by chance, with the root of the logarithm.
MEASURED_WITH = 550
# With fewer vectors nothing is usual: the nearest may be shown, and is weak.
FEW = 5
_MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Fusion:
    """How two arms become one score.

    ``sum``: ``(1 - vectors) · words / best words + vectors · d ** power``, where ``d`` is the cosine, brought to 0..1
    between the farthest and the nearest unit searched (``stretched``) or as it is. ``rrf``: reciprocal ranks,
    ``(1 - vectors) / (k + rank by words) + vectors / (k + rank by cosine)``.
    """

    method: Literal["sum", "rrf"] = "sum"
    vectors: float = 0.35
    power: float = 1.5
    stretched: bool = True
    k: int = 60


PRESETS = {
    "sum": Fusion(),
    "rrf": Fusion("rrf", vectors=0.5),
    "reme-0.3": Fusion("sum", vectors=0.7, power=1.0, stretched=False),
    "reme-0.4": Fusion("rrf", vectors=0.7),
}


def fusion_of(config: "ReMeConfig") -> Fusion:
    """The fusion that a configuration asks for."""
    chosen = PRESETS[config.fusion]
    return chosen if config.vector_weight is None else replace(chosen, vectors=config.vector_weight)


@dataclass(frozen=True, slots=True)
class Dense:
    """The other arm's view of one question: cosines by row, rows by slot (-1: no vector yet)."""

    cosines: "Numbers"
    rows: Ints
    fusion: Fusion


def fuse(dense: Dense, slots: Ints, words: "Floats", ideal: float) -> tuple["Floats", float]:
    """One score for each slot of a scope, on the scale of ``words``; and how near the nearest unit is.

    ``words`` are the scores by words, ``ideal`` the best that words can give. A unit that has no vector yet stands
    where its words put it. One that shares no word is admitted when it is near. Nearness is ``(cosine - usual) / (1 -
    usual)``, where ``usual`` is the mean cosine of the others, less what comes by chance among so many: unlike a cosine
    it means the same for models whose cosines lie close together and for others.
    """
    rows = dense.rows[slots]
    known = rows >= 0
    if not known.any():
        return words, 0.0
    cosines = dense.cosines[rows[known]].astype(np.float64)
    least, most = float(cosines.min()), float(cosines.max())
    share, nearness = np.zeros(len(slots)), np.zeros(len(slots))
    share[known] = (cosines - least) / (most - least) if most > least else 1.0
    if len(cosines) < FEW:
        nearness[known] = np.where(cosines == most, NEAR, 0.0)
    else:
        # A sum of whole numbers, which does not depend on their order.
        total = int(np.rint(cosines * _MILLION).astype(np.int64).sum()) / _MILLION
        usual = (total - most) / (len(cosines) - 1)
        by_chance = sqrt(log(len(cosines)) / log(MEASURED_WITH))
        nearness[known] = (cosines - usual) / max(1 - usual, 1 / _MILLION) / by_chance
    top = max(float(words.max(initial=0.0)), LEAST_TOP * ideal)
    fusion = dense.fusion
    if fusion.method == "rrf":
        joint = _by_ranks(fusion, words, share, known)
    else:
        other = share**fusion.power
        if not fusion.stretched:
            other[known] = np.clip(cosines, 0.0, 1.0)
        joint = (1 - fusion.vectors) * words / top + fusion.vectors * np.where(known, other, words / top)
    admitted = (words > 0) | (nearness >= NEAR)
    return np.where(admitted, joint * top, 0.0), float(nearness.max())


def _by_ranks(fusion: Fusion, words: "Floats", near: "Floats", known: NDArray[np.bool_]) -> "Floats":
    """Reciprocal ranks, 1 for what is first by both; equal scores share a rank, so that order does not matter."""
    by_words = np.where(words > 0, 1 / (fusion.k + _ranks(words)), 0.0)
    by_vectors = np.where(known, 1 / (fusion.k + _ranks(near)), by_words)
    joint = (1 - fusion.vectors) * by_words + fusion.vectors * by_vectors
    return joint * (fusion.k + 1)


def _ranks(values: "Floats") -> "Floats":
    ascending = np.sort(values)
    return (1.0 + len(values) - np.searchsorted(ascending, values, side="right")).astype(np.float64)
