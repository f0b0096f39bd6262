"""The best of many scores, with all that tie with the last of them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .compiled import kernels
from .keyword_columns import Ints


def top(scores: NDArray[Any], k: int) -> Ints:
    """Where the ``k`` best positive scores are, unordered, with all that tie with the last of them."""
    if kernels is not None and scores.dtype == np.float64:
        found: Ints = kernels.top(scores, k)
        return found
    if k <= 0 or not len(scores):
        return np.zeros(0, np.int64)
    bound = reached(scores, k) if len(scores) > k else 0
    found = (scores >= bound if bound > 0 else scores > 0).nonzero()[0]
    if len(found) > k:
        values = scores[found]
        found = found[values >= kth_best(values, k)]
    return found


def kth_best(scores: NDArray[Any], k: int) -> Any:
    """The ``k``-th best of at least ``k`` scores."""
    scores, at = scores.copy(), len(scores) - k
    scores.partition(at)
    return scores[at]


def reached(scores: NDArray[Any], k: int) -> Any:
    """A score that at least ``k`` of more than ``k`` reach, and not many more.

    From the maxima of blocks, where to part all of them would take longer.
    """
    blocks = min(64, len(scores) // (2 * k))
    if blocks > 1:
        width = len(scores) // blocks
        scores = np.maximum.reduce(scores[: blocks * width].reshape(blocks, width))
    return kth_best(scores, k)
