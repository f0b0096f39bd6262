"""Postings as compressed columns of raw term frequencies, and BM25 over them through bm25s's own extension points.

bm25s bakes idf and average length into its arrays, so one added text makes every stored score wrong. Here the arrays
hold term frequencies, and idf and length norm are applied when a question is asked; the float operations and their
order are those of bm25s, so the result has the same bits as a stock index built from scratch (numpy >= 2).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import bm25s
import bm25s.scoring
import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.integer]
# Slots and frequencies of some terms, one after the other, and how many each has.
Reading = Callable[[Any], tuple[Ints, Ints, list[int]]]
_IDF = bm25s.scoring._select_idf_scorer("lucene")
BLOCK = 500_000  # entries
_UNUSED: Ints = np.zeros(0, np.uint16)


@dataclass(frozen=True, slots=True)
class Columns:
    """Postings of a set of texts; column = term id, rows ascending in a column.

    ``slots`` and ``tf`` run parallel between ``indptr[term]`` and ``indptr[term + 1]``. ``positions`` holds each
    occurrence's place in its text, in the order of the postings, between ``starts[term]`` and ``starts[term + 1]``; it
    is empty, as is ``starts``, in an index that keeps none.
    """

    indptr: Ints
    slots: Ints
    tf: Ints
    positions: Ints
    starts: Ints

    @property
    def terms(self) -> int:
        return len(self.indptr) - 1


def empty_columns() -> Columns:
    """No term, no text."""
    return Columns(
        np.zeros(1, np.int64),
        np.zeros(0, np.int32),
        np.zeros(0, np.uint16),
        np.zeros(0, np.uint16),
        np.zeros(1, np.int64),
    )


@dataclass(frozen=True, slots=True)
class Run:
    """The postings of some consecutive texts: as :class:`Columns`, but only of the terms that these texts have."""

    terms: Ints  # ascending
    counts: Ints  # postings of each
    uses: Ints  # occurrences of each
    slots: Ints
    tf: Ints
    positions: Ints


def run_of(ids: Ints, lengths: Ints, first_slot: int, keep_positions: bool) -> Run:
    """A run of texts. ``ids`` are all their term ids in order, ``lengths`` the number of each text."""
    terms, own = _numbered_densely(ids)
    uses = np.bincount(own, minlength=len(terms))
    # Text and place of each occurrence in one number, so that it is read once in the order of the terms.
    kind = np.uint32 if len(lengths) <= 0x10000 else np.uint64
    lengths = lengths.astype(np.int64)
    offsets = (np.arange(len(lengths)) << 16) - (lengths.cumsum() - lengths)
    where: Ints = np.arange(len(ids), dtype=kind)
    where += np.repeat(offsets.astype(kind), lengths)
    where = where.take(ascending(own))
    texts = where >> np.array(16, kind)
    opens = np.empty(len(ids), bool)
    np.not_equal(texts[1:], texts[:-1], out=opens[1:])
    begins = uses.cumsum() - uses  # of the occurrences of each term
    opens[begins] = True
    first = opens.nonzero()[0]
    counts = _differences(opens.cumsum(dtype=np.int32).take(begins), len(first) + 1)
    slots = texts.take(first).astype(np.int32) + np.int32(first_slot)
    tf = _differences(first, len(ids)).astype(np.uint16)
    positions = where.astype(np.uint16) if keep_positions else _UNUSED
    return Run(terms.astype(np.int32), counts, uses.astype(np.int32), slots, tf, positions)


def _numbered_densely(ids: Ints) -> tuple[Ints, Ints]:
    """The different ids, ascending, and the number of each occurrence among them."""
    marks = np.zeros(int(ids.max(initial=-1)) + 1, bool)
    marks[ids] = True
    terms = marks.nonzero()[0]
    kind = np.uint16 if len(terms) <= 0x10000 else np.int32
    numbers: Ints = np.empty(len(marks), kind)
    numbers[terms] = np.arange(len(terms), dtype=kind)
    return terms, numbers.take(ids)


def _differences(begins: Ints, end: int) -> Ints:
    """How far it is from each value to the next, from the last one to ``end``."""
    out = np.empty_like(begins)
    np.subtract(begins[1:], begins[:-1], out=out[:-1])
    out[-1:] = end - begins[-1:]
    return out


def build_columns(ids: Ints, lengths: Ints, first_slot: int, terms: int, keep_positions: bool) -> Columns:
    """Columns of consecutive texts. ``ids`` are all their term ids in order, ``lengths`` the number of each text."""
    return with_runs(empty_columns(), [run_of(ids, lengths, first_slot, keep_positions)], terms)


def with_runs(columns: Columns, runs: Sequence[Run], terms: int) -> Columns:
    """Columns of ``terms`` terms with some runs, where every slot of one is larger than those before it: no sort."""
    entries = [(run.terms, run.counts, (run.slots, run.tf)) for run in runs]
    indptr, (slots, tf) = _joined(columns.indptr, (columns.slots, columns.tf), entries, terms)
    if not len(columns.positions) and not any(len(run.positions) for run in runs):
        return Columns(indptr, slots, tf, columns.positions, np.zeros(terms + 1, np.int64))
    places = [(run.terms, run.uses, (run.positions,)) for run in runs]
    starts, (positions,) = _joined(columns.starts, (columns.positions,), places, terms)
    return Columns(indptr, slots, tf, positions, starts)


def renumbered(columns: Columns, new_slot: Ints) -> Columns:
    """The same postings under new slots; those whose new slot is negative are left out. Order is kept."""
    moved = new_slot[columns.slots]
    keep = moved >= 0
    if keep.all():
        return Columns(columns.indptr, moved.astype(np.int32), columns.tf, columns.positions, columns.starts)
    indptr = _dropped(columns.indptr, keep)
    starts, positions = columns.starts, columns.positions
    if len(positions):
        keep_position = np.repeat(keep, columns.tf)
        starts, positions = _dropped(starts, keep_position), positions[keep_position]
    return Columns(indptr, moved[keep].astype(np.int32), columns.tf[keep], positions, starts)


def without_unused(columns: Columns) -> tuple[Columns, Ints]:
    """The same postings without columns that hold nothing, and the old ids of the columns that stay."""
    used = np.flatnonzero(np.diff(columns.indptr))
    indptr = np.append(columns.indptr[used], columns.indptr[-1])
    starts = np.zeros(len(used) + 1, np.int64)
    if len(columns.positions):
        starts = np.append(columns.starts[used], columns.starts[-1])
    return Columns(indptr, columns.slots, columns.tf, columns.positions, starts), used


def ascending(numbers: Ints) -> Ints:
    """The stable order of numbers below 2^32, by halves of 16 bits, which numpy sorts in linear time."""
    order = np.argsort(numbers.astype(np.uint16), kind="stable")
    upper = (numbers >> 16).astype(np.uint16)
    return order[np.argsort(upper[order], kind="stable")] if upper.any() else order


def distinct(values: NDArray[Any]) -> NDArray[Any]:
    """The different values, ascending. (``np.unique`` loads all of numpy's masked arrays first.)"""
    values = np.sort(values, kind="stable")  # mostly several ascending stretches, which this merges
    if len(values) < 2:
        return values
    opens = np.empty(len(values), bool)
    opens[0] = True
    np.not_equal(values[1:], values[:-1], out=opens[1:])
    return values[opens]


def are_in(values: Ints, some: Ints) -> NDArray[np.bool_]:
    """Which values are among some others. (``np.isin`` loads masked arrays as well, and takes a megabyte for good.)"""
    if not len(some) or not len(values):
        return np.zeros(len(values), bool)
    least, most = int(some.min()), int(some.max())
    found: NDArray[np.bool_] = (values >= least) & (values <= most)
    near = found.nonzero()[0]
    if most - least <= 0xFFFF:
        marks = np.zeros(most - least + 1, bool)
        marks[some - least] = True
        found[near] = marks[values[near] - least]
    else:
        some = np.sort(some)
        found[near] = some[some.searchsorted(values[near])] == values[near]
    return found


def _running(counts: Ints) -> Ints:
    out = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=out[1:])
    return out


def _joined(
    ends: Ints, arrays: tuple[Ints, ...], parts: Sequence[tuple[Ints, Ints, tuple[Ints, ...]]], terms: int
) -> tuple[Ints, list[Ints]]:
    """Arrays of columns with those of some runs after them, column by column; where each column begins.

    Of each run the terms, how many entries of each it has, and the arrays of these.
    """
    counts = np.zeros(terms, np.int64)
    counts[: len(ends) - 1] = ends[1:] - ends[:-1]
    at = counts.copy()
    for some, sizes, _ in parts:
        counts[some] += sizes
    whole = _running(counts)
    at += whole[:-1]  # where the next run's entries of each column come
    joined = [np.empty(int(whole[-1]), array.dtype) for array in arrays]
    borders = _borders(whole)
    cuts = [(some.searchsorted(borders).tolist(), _running(sizes)) for some, sizes, _ in parts]
    for number, (begin, end) in enumerate(pairwise(borders)):
        outs = [out[whole[begin] : whole[end]] for out in joined]
        free = np.ones(int(whole[end] - whole[begin]), bool)
        for (some, sizes, added), (cut, sums) in zip(parts, cuts, strict=True):
            own = slice(cut[number], cut[number + 1])
            if own.start == own.stop:
                continue
            here = slice(*sums[[own.start, own.stop]].tolist())
            to = at.take(some[own])
            at[some[own]] = to + sizes[own]
            to -= sums[own] + whole[begin]
            to = to.repeat(sizes[own])
            to += np.arange(here.start, here.stop)
            if len(arrays[0]):
                free[to] = False
            for out, array in zip(outs, added, strict=True):
                out[to] = array[here]
        if len(arrays[0]):
            here = slice(*ends.take([begin, end], mode="clip").tolist())
            for out, array in zip(outs, arrays, strict=True):
                out[free] = array[here]
    return whole, joined


def _borders(indptr: Ints) -> list[int]:
    """Columns between which there are so many entries or one column: for work that needs memory by the entry, and that
    numpy does while no other thread of the interpreter runs.
    """
    out, last = [0], len(indptr) - 1
    while out[-1] < last:
        begin = out[-1]
        out.append(max(begin + 1, int(np.searchsorted(indptr, indptr[begin] + BLOCK, "right")) - 1))
    return out


def _columns(slots: Ints, tf: Ints, indptr: Ints, terms: Sequence[int]) -> tuple[Ints, Ints, list[int]]:
    spans = [slice(*indptr[term : term + 2].tolist()) for term in terms]
    read = np.concatenate([slots[span] for span in spans]), np.concatenate([tf[span] for span in spans])
    return *read, [span.stop - span.start for span in spans]


def _dropped(indptr: Ints, keep: NDArray[np.bool_]) -> Ints:
    gone = np.flatnonzero(~keep)
    return indptr - np.searchsorted(gone, indptr)


class RawBM25(bm25s.BM25):
    """bm25s whose arrays hold term frequencies and whose Lucene BM25 is computed when a question is asked.

    ``scores["data"]`` is the frequency, not a score. ``alive`` masks texts that were removed; ``count`` and
    ``total`` are the number of living texts and the sum of their lengths, ``longest`` is no less than any of these;
    ``recent`` gives postings that are not in the arrays yet, ``read`` those of some terms where they do not lie in
    arrays of numpy. An owner keeps these current; after stock ``index()`` they describe that corpus.
    """

    def __init__(self, k1: float = 1.2, b: float = 0.75) -> None:
        super().__init__(k1=k1, b=b, method="lucene", backend="numpy", csc_backend="numpy")
        self.nonoccurrence_array = None
        self.lengths: Ints = np.zeros(0, np.int64)
        self.alive: NDArray[np.bool_] | None = None
        self.count = 0
        self.total = 0
        self.longest = 0
        self.recent: Any = lambda term: None
        self.read: Reading | None = None
        self._norms: tuple[Any, NDArray[np.float64]] = (None, np.zeros(0))  # by length

    def build_index_from_ids(
        self,
        unique_token_ids: list[int],
        corpus_token_ids: list[list[int]],
        show_progress: bool = False,
        leave_progress: bool = False,
    ) -> dict[str, Any]:
        self.lengths = np.array([len(ids) for ids in corpus_token_ids], np.int64)
        self.count, self.total = len(self.lengths), int(self.lengths.sum())
        self.longest = int(self.lengths.max(initial=0))
        flat = np.array([one for ids in corpus_token_ids for one in ids], np.int32)
        terms = max(unique_token_ids, default=-1) + 1
        columns = build_columns(flat, self.lengths, 0, terms, False)
        return {"data": columns.tf, "indices": columns.slots, "indptr": columns.indptr, "num_docs": self.count}

    def use(self, read: Reading) -> None:
        """Score texts by postings that are read in another way, which knows where those of each term are.

        Set ``scores["num_docs"]`` to the number of slots, ``scores["indptr"]`` to anything of the right length.
        """
        self.read = read
        self.scores: dict[str, Any] = {"data": _UNUSED, "indices": _UNUSED, "indptr": (), "num_docs": 0}

    def _compute_relevance_from_scores(
        self, data: Ints, indptr: Ints, indices: Ints, num_docs: int, query_tokens_ids: Ints, dtype: Any
    ) -> NDArray[np.float32]:
        out = np.zeros(num_docs, dtype)
        ids = query_tokens_ids.tolist()
        at, tf, sizes = self.read(ids) if self.read else _columns(indices, data, indptr, ids)
        df = sizes
        # Postings that are not in the arrays yet come after all others: each text has its terms in order all the same.
        recent = [(number, *found) for number, term in enumerate(ids) if (found := self.recent(term))]
        number = np.repeat(np.arange(len(sizes)), sizes)
        if recent:
            at = np.concatenate((at, *(slots for _, slots, _ in recent)))
            tf = np.concatenate((tf, *(frequencies for _, _, frequencies in recent)))
            number = np.concatenate((number, *(np.full(len(slots), one) for one, slots, _ in recent)))
        if not len(at):
            return out
        if recent or self.alive is not None:
            living = number if self.alive is None else number[self.alive[at]]
            df = np.bincount(living, minlength=len(sizes)).tolist()
        idf = idf_array(df, self.count)[number]
        np.add.at(out, at, self.relevance(at, tf, idf).astype(dtype, copy=False))
        return out

    def relevance(self, slots: Ints, tf: Ints, idf: NDArray[np.float32]) -> NDArray[np.float32]:
        """What each posting adds to the score of its text, with the float operations in bm25s's order."""
        frequency = tf.astype(np.float32)
        out = self.norm_by_length().take(self.lengths.take(slots))
        out += frequency
        np.divide(frequency, out, out=out)
        out *= idf
        return out.astype(np.float32)

    def norm_by_length(self) -> NDArray[np.float64]:
        """The length norm of every length that a text has."""
        state = (self.total, self.count, self.longest)
        if self._norms[0] != state:
            lengths = np.arange(self.longest + 1)
            self._norms = state, length_norm(lengths, self.total, self.count, self.k1, self.b)
        return self._norms[1]


def idf_array(df: Sequence[int], count: int) -> NDArray[np.float32]:
    """Lucene's idf, ``ln(1 + (N - df + 0.5) / (df + 0.5))``, by bm25s's own function; 0 for a term that no text has."""
    return np.array([_IDF(one, N=count) if one else 0.0 for one in df], np.float32)


def length_norm(lengths: Ints, total: int, count: int, k1: float, b: float) -> NDArray[np.float64]:
    """``k1 * ((1 - b) + b * length / average)``, with the float operations in bm25s's order."""
    average = np.float64(total) / count if total else np.float64(1.0)
    return k1 * ((1 - b) + b * lengths / average)
