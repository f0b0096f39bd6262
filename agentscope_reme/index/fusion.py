"""What words and vectors say of each unit becomes one score.

The weighted sum keeps how much better the best is than the rest; ranks do not, and lose by it (hybrid ledger, section
4). Boosts come after the fusion, on the sum.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from .keyword_columns import Ints

if TYPE_CHECKING:
    from ..config import ReMeConfig
    from .question import Floats
    from .vectors_table import Numbers

# What a unit without a shared word can have at most, in shares of what one with all words has.
LEAST_TOP = 0.5
# From which share of the way from the farthest to the nearest a unit without a shared word is admitted.
ADMITTED = 0.6


@dataclass(frozen=True, slots=True)
class Fusion:
    """How two arms become one score.

    ``sum``: ``(1 - vectors) · words / best words + vectors · d ** power``, where ``d`` is the cosine, brought to 0..1
    between the farthest and the nearest unit searched (``stretched``) or as it is. ``rrf``: reciprocal ranks,
    ``(1 - vectors) / (k + rank by words) + vectors / (k + rank by cosine)``.
    """

    method: Literal["sum", "rrf"] = "sum"
    vectors: float = 0.4
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
    """One score for each slot of a scope, on the scale of ``words``; and the gap from the nearest unit to the average.

    ``words`` are the scores by words, ``ideal`` the best that words can give. A unit that has no vector yet stands
    where its words put it. One that shares no word is admitted when it is near.
    """
    rows = dense.rows[slots]
    known = rows >= 0
    if not known.any():
        return words, 0.0
    cosines = dense.cosines[rows[known]].astype(np.float64)
    least, most = float(cosines.min()), float(cosines.max())
    gap = most - float(np.round(cosines.mean(), 9))
    if most <= least:
        return words, 0.0
    near = np.zeros(len(slots))
    near[known] = (cosines - least) / (most - least)
    top = max(float(words.max(initial=0.0)), LEAST_TOP * ideal)
    fusion = dense.fusion
    if fusion.method == "rrf":
        joint = _by_ranks(fusion, words, near, known)
    else:
        share = words / top
        other = near**fusion.power
        if not fusion.stretched:
            other = np.where(known, np.clip(near * (most - least) + least, 0.0, 1.0), 0.0)
        joint = (1 - fusion.vectors) * share + fusion.vectors * np.where(known, other, share)
    admitted = (words > 0) | (near >= ADMITTED)
    return np.where(admitted, joint * top, 0.0), gap


def _by_ranks(fusion: Fusion, words: "Floats", near: "Floats", known: NDArray[np.bool_]) -> "Floats":
    """Reciprocal ranks, 1 for what is first by both; equal scores share a rank, so that order does not matter."""
    by_words = np.where(words > 0, 1 / (fusion.k + _ranks(words)), 0.0)
    by_vectors = np.where(known, 1 / (fusion.k + _ranks(near)), by_words)
    joint = (1 - fusion.vectors) * by_words + fusion.vectors * by_vectors
    return joint * (fusion.k + 1)


def _ranks(values: "Floats") -> "Floats":
    ascending = np.sort(values)
    return (1.0 + len(values) - np.searchsorted(ascending, values, side="right")).astype(np.float64)
