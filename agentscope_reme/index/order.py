"""The best of the units that were scored, in order, with their scores brought to the range from 0 to 1."""

import numpy as np

from .compiled import kernels
from .corpus import Corpus
from .keyword_columns import Ints
from .largest import top
from .question import Floats

DIGITS = 6


def in_order(
    corpus: Corpus, slots: Ints, raw: Floats, ideal: float, want: int, preferred: frozenset[int]
) -> tuple[Ints, Floats]:
    """Where the ``want`` best of some units are, and all that tie with the last of them, best first; their scores.

    Those of equal scores: what the user put first (``preferred``, file ids), then by path and line.
    """
    if kernels is not None:
        best, scores, tied = kernels.in_order(raw, ideal, want, DIGITS)
    else:
        rounded = (raw / (raw + ideal)).round(DIGITS)
        best = top(rounded, want)
        best = best.take((-rounded.take(best)).argsort(kind="stable"))
        scores = rounded.take(best)
        as_before = np.zeros(len(scores) + 1, bool)
        np.equal(scores[1:], scores[:-1], out=as_before[1:-1])
        tied = (as_before[1:] | as_before[:-1]).nonzero()[0]
    if len(tied):
        best[tied] = _by_path(corpus, slots, best.take(tied), scores.take(tied), preferred)
    return best, scores


def _by_path(corpus: Corpus, slots: Ints, some: Ints, scores: Floats, preferred: frozenset[int]) -> list[int]:
    """Some of the slots, given by where they are, in the order of their scores, of preference, path and line."""
    slots = slots.take(some)
    files = corpus.column("file").take(slots).tolist()
    different = list(dict.fromkeys(files))
    paths = dict(zip(different, corpus.files.paths_by_id.some(different), strict=True))
    keys = zip(
        (-scores).tolist(),
        [file not in preferred for file in files],
        [paths[file] for file in files],
        corpus.column("first").take(slots).tolist(),
        corpus.column("number").take(slots).tolist(),
        some.tolist(),
        strict=True,
    )
    return [key[-1] for key in sorted(keys)]
