"""Scores of the units in some stretches: their words with their neighbours' shares, and what names and links add.

Twice: by numpy, which is the reference, and by compiled loops, which give the same bits (:mod:`.compiled`).
"""

import numpy as np
from numpy.typing import NDArray

from .boosts import Weights
from .candidates import Candidates
from .compiled import kernels
from .entries import BLUR, HEADING_ONLY, OFFSETS
from .keyword_columns import Ints
from .question import K1, UNIT, Floats, Question

_SHIFTS = np.array(OFFSETS)[:, None]
_SHARES = np.array([BLUR[abs(offset)] for offset in OFFSETS], np.float64)[:, None]
_OWN_SHARE = np.array([UNIT if offset == 0 else 0 for offset in OFFSETS], np.float64)[:, None]
_TRUE = np.ones(1, bool)

# Slots, what the units' own words give, that with names, fields and links, and how much of each word each unit has,
# with a column in front of theirs.
UnitScores = tuple[Ints, Floats, Floats, Floats]


def score_units(question: Question, chosen: Ints, found: Candidates, weights: Weights) -> UnitScores:
    """Scores of the units in some stretches, which stand in the order of their places."""
    if kernels is None:
        return _scored(question, chosen, weights.session * found.whole_of(chosen))
    corpus = question.corpus
    least, more = question.norm
    units: UnitScores = kernels.score_units(
        chosen,
        found.stretches,
        found.whole,
        weights.session,
        question.table,
        (question.slots, question.tf, question.stretch, question.sizes),
        (question.pair_slots, question.pair, question.pair_stretch),
        corpus.column("place"),
        corpus.slot_at,
        corpus.blurred_lengths,
        corpus.column("flags"),
        question.worth,
        question.pair_worth,
        question.bonus,
        more,
        least,
        K1,
        UNIT,
        len(question.favoured) > 0,
        HEADING_ONLY,
    )
    return units


def _scored(question: Question, chosen: Ints, whole: Floats) -> UnitScores:
    """The same by numpy; ``whole`` is what each stretch gives its units."""
    corpus, table = question.corpus, question.corpus.stretches
    sizes = table.column("size").take(chosen)
    ends = sizes.cumsum()
    begins = ends - sizes
    places = (table.column("place").take(chosen) - begins).repeat(sizes)
    places += np.arange(len(places))
    slots = corpus.slot_at.take(places)
    score, saturated = _words(question, chosen, places)
    whole = whole.repeat(sizes)
    score = np.where(score > 0, score + whole, 0.0)
    if not len(question.favoured) or not len(chosen):
        return slots, score, score, saturated
    files = table.column("file").take(chosen)
    counts = sizes
    if np.count_nonzero(table.joined.take(chosen)):
        opens = np.concatenate((_TRUE, files[1:] != files[:-1]))
        files, begins = files[opens], begins[opens]
        counts = np.concatenate((begins[1:], ends[-1:])) - begins
    return slots, score, _with_bonus(question, slots, files, begins, counts, score, whole), saturated


def _words(question: Question, chosen: Ints, places: Ints) -> tuple[Floats, Floats]:
    """Steps 1 to 3 and 5 for the units at some places, whole stretches.

    The sum over words and pairs, and how much of each word the units have, with a column in front of theirs.
    """
    corpus, stretches = question.corpus, question.corpus.stretches
    near = np.zeros(stretches.count + 1, bool)  # the last one stands for none
    near[chosen] = True
    if np.count_nonzero(stretches.joined.take(chosen)):
        near[stretches.column("before").take(chosen)] = True
        near[stretches.column("after").take(chosen)] = True
        near[-1] = False
    # The first cell of each row stands for what lies elsewhere, and is left out at the end: rows without a gap between
    # them are added and multiplied in half the time.
    counts = _counted(question, near, places)
    terms = len(question.names)
    norms = np.ones(counts.shape[1])
    norms[1:] = question.norms(corpus.blurred_lengths.take(places))
    saturated = (K1 + 1) * counts[:terms]
    saturated /= counts[:terms] + norms
    total: Floats = np.add.reduce(question.worth[:, None] * saturated, axis=0)
    if len(question.pair_worth):
        more = np.add.reduce((question.pair_worth / UNIT)[:, None] * counts[terms:], axis=0)
        more *= total > 0
        total += more
    return total[1:], saturated


def _counted(question: Question, near: NDArray[np.bool_], places: Ints) -> Floats:
    """How often each term, and then each pair, stands in the units at some places, shared with their neighbours.

    In twentieths, from the postings in the stretches that are marked as ``near``. The first cell of each row is for
    what lies elsewhere.
    """
    corpus, width = question.corpus, len(places) + 1
    at = near.take(question.stretch).nonzero()[0]
    pairs = near.take(question.pair_stretch).nonzero()[0]
    slots = np.concatenate((question.slots.take(at), question.pair_slots.take(pairs)))
    rows = np.concatenate((question.term.take(at), question.pair.take(pairs) + len(question.names)))
    times = np.ones(len(slots))
    times[: len(at)] = question.tf.take(at)
    shares = _SHARES * times
    shares[:, at.searchsorted(question.heads) : len(at)] = _OWN_SHARE  # a heading path counts for its unit alone
    place, index = corpus.column("place"), corpus.scratch(width)
    index[places] = np.arange(width - 1, dtype=index.dtype)
    cells = index.take(place.take(slots) + _SHIFTS)
    index[places] = -1
    targets = cells + (rows * width + 1)
    count = len(question.names) + len(question.pair_worth)
    found = np.bincount(targets.ravel(), shares.ravel(), count * width)
    return found.astype(np.float64, copy=False).reshape(count, width)


def _with_bonus(
    question: Question, slots: Ints, files: Ints, begins: Ints, counts: Ints, score: Floats, whole: Floats
) -> Floats:
    """The best unit of a file gets all of its bonus, the others as much as they answer themselves.

    In a file whose units share no word with the question, the first one that is more than a heading stands for it.
    Units follow each other file by file: ``begins`` is the first of each of the ``files``, ``counts`` how many there
    are. ``whole`` is what a unit gets for its stretch.
    """
    bonus = question.bonus.take(files)
    peak = np.maximum.reduceat(score, begins)
    bare = (peak == 0) & (bonus > 0)
    score = score + bonus.repeat(counts) * score / np.where(peak > 0, peak, 1.0).repeat(counts)
    if np.count_nonzero(bare):
        some = bare.repeat(counts).nonzero()[0]
        file = np.arange(len(files)).repeat(counts)[some]
        # Headings after texts, in file order; the first of each file is its head.
        order = (2 * file + (question.corpus.column("flags")[slots[some]] & HEADING_ONLY > 0)).argsort(kind="stable")
        file, some = file[order], some[order]
        opens = np.concatenate((_TRUE, file[1:] != file[:-1]))
        first = some[opens]
        score[first] = bonus[file[opens]] + whole[first]
    return score
