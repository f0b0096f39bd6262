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
from .largest import top

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


@dataclass(frozen=True, slots=True)
class Scope:
    """How near the units of a scope are to a question as a whole; ``count`` of them have vectors.

    ``usual`` is the mean cosine of all but the nearest, None where there are too few to say.
    """

    dense: Dense
    count: int
    least: float
    most: float
    usual: float | None

    @classmethod
    def of(cls, dense: Dense, slots: Ints) -> "Scope":
        """The scope of some slots."""
        rows = dense.rows[slots]
        cosines = dense.cosines[rows[rows >= 0]].astype(np.float64)
        count = len(cosines)
        if not count:
            return cls(dense, 0, 0.0, 0.0, None)
        most = float(cosines.max())
        usual = None
        if count >= FEW:
            # A sum of whole numbers, which does not depend on their order.
            total = int(np.rint(cosines * _MILLION).astype(np.int64).sum()) / _MILLION
            usual = (total - most) / (count - 1)
        return cls(dense, count, float(cosines.min()), most, usual)

    def nearest(self, slots: Ints, want: int) -> Ints:
        """The ``want`` of some slots whose vectors are nearest, with all that tie with the last."""
        rows = self.dense.rows[slots]
        cosines = np.where(rows >= 0, self.dense.cosines[rows].astype(np.float64) - self.least + 1 / _MILLION, 0.0)
        return slots[top(cosines, want)]

    def nearness(self, cosines: "Floats") -> "Floats":
        """``(cosine - usual) / (1 - usual)``, less what comes by chance among so many.

        Unlike a cosine it means the same for models whose cosines lie close together and for others.
        """
        if self.usual is None:
            return np.where(cosines == self.most, NEAR, 0.0)
        by_chance = sqrt(log(self.count) / log(MEASURED_WITH))
        return (cosines - self.usual) / max(1 - self.usual, 1 / _MILLION) / by_chance


def fuse(scope: Scope, slots: Ints, words: "Floats", ideal: float) -> tuple["Floats", float]:
    """One score for each of some slots of a scope, on the scale of ``words``; and the nearness of the scope's nearest.

    ``words`` are the scores by words, ``ideal`` the best that words can give. A unit that has no vector yet stands
    where its words put it. One that shares no word is admitted when it is near.
    """
    if not scope.count:
        return words, 0.0
    dense, fusion = scope.dense, scope.dense.fusion
    rows = dense.rows[slots]
    known = rows >= 0
    cosines = np.where(known, dense.cosines[rows].astype(np.float64), scope.least)
    share = (cosines - scope.least) / (scope.most - scope.least) if scope.most > scope.least else known.astype(float)
    best = max(float(words.max(initial=0.0)), LEAST_TOP * ideal)
    if fusion.method == "rrf":
        joint = _by_ranks(fusion, words, share, known)
    else:
        other = share**fusion.power if fusion.stretched else np.clip(cosines, 0.0, 1.0)
        joint = (1 - fusion.vectors) * words / best + fusion.vectors * np.where(known, other, words / best)
    admitted = (words > 0) | (known & (scope.nearness(cosines) >= NEAR))
    return np.where(admitted, joint * best, 0.0), float(scope.nearness(np.array([scope.most]))[0])


def _by_ranks(fusion: Fusion, words: "Floats", near: "Floats", known: NDArray[np.bool_]) -> "Floats":
    """Reciprocal ranks, 1 for what is first by both; equal scores share a rank, so that order does not matter."""
    by_words = np.where(words > 0, 1 / (fusion.k + _ranks(words)), 0.0)
    by_vectors = np.where(known, 1 / (fusion.k + _ranks(near)), by_words)
    joint = (1 - fusion.vectors) * by_words + fusion.vectors * by_vectors
    return joint * (fusion.k + 1)


def _ranks(values: "Floats") -> "Floats":
    ascending = np.sort(values)
    return (1.0 + len(values) - np.searchsorted(ascending, values, side="right")).astype(np.float64)
