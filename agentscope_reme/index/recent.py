"""The texts that were added last, findable by term while more of them come."""

from array import array
from bisect import bisect_left
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .keyword_columns import Ints

Found = tuple[Ints, Ints, Ints]  # slots, how often each has the term, and all places


class _Run(NamedTuple):
    """Texts that follow each other, sorted by term."""

    texts: int
    tokens: int
    terms: "array[int]"  # the different ones, ascending
    ends: "array[int]"  # where the postings of each begin, and the last ones end
    starts: "array[int]"  # the same of places
    slots: Ints
    tf: Ints
    places: Ints

    def of(self, term: int) -> Found | None:
        at = bisect_left(self.terms, term)
        if at == len(self.terms) or self.terms[at] != term:
            return None
        some = slice(self.ends[at], self.ends[at + 1])
        return self.slots[some], self.tf[some], self.places[self.starts[at] : self.starts[at + 1]]


class Recent:
    """Texts from slot ``first`` on, by term: some in runs that are sorted, those after them looked through.

    ``ids`` of the methods are the occurrences of all these texts in order, ``lengths`` how many each has: the owner's,
    to which more are added at the end. A run is at least twice as long as the next, so that there are few, and an
    occurrence is sorted a few times.
    """

    def __init__(self, first: int = 0) -> None:
        self._first = first
        self._runs: list[_Run] = []
        self.texts = 0  # that are sorted
        self.tokens = 0

    def sort(self, ids: Ints, lengths: Ints) -> None:
        """Sort all texts in."""
        while self._runs and self._runs[-1].tokens < 2 * (len(ids) - self.tokens):
            self._drop_last()
        self._runs.append(_sorted(ids[self.tokens :], lengths[self.texts :], self._first + self.texts))
        self.texts, self.tokens = len(lengths), len(ids)

    def _drop_last(self) -> None:
        run = self._runs.pop()
        self.texts -= run.texts
        self.tokens -= run.tokens

    def of(self, term: int | None, ids: Ints, lengths: Ints) -> Found | None:
        """The postings and places of a term, None where it is in none of the texts."""
        if term is None:
            return None
        found = [some for run in self._runs if (some := run.of(term)) is not None]
        if self.tokens < len(ids):
            last = _looked_for(term, ids[self.tokens :], lengths[self.texts :], self._first + self.texts)
            if last is not None:
                found.append(last)
        if len(found) < 2:
            return found[0] if found else None
        slots, tf, places = map(np.concatenate, zip(*found, strict=True))
        return slots, tf, places

    def known(self, terms: Ints) -> Ints:
        """Those of some terms that stand in texts that are sorted."""
        wanted = terms.astype(np.int32)
        there = np.zeros(len(terms), bool)
        for run in filter(lambda run: run.terms, self._runs):
            some = np.frombuffer(run.terms, np.int32)
            there |= some.take(some.searchsorted(wanted), mode="clip") == wanted
        return terms[there]


def _sorted(ids: Ints, lengths: Ints, first: int) -> _Run:
    sizes = lengths.astype(np.int64)
    order = ids.argsort(kind="stable")
    terms = ids[order]
    texts = np.arange(len(sizes)).repeat(sizes)[order]
    places = (order - (sizes.cumsum() - sizes)[texts]).astype(np.uint16)
    postings = _opens(terms) | _opens(texts)
    at = postings.nonzero()[0]
    begins = _opens(terms[at]).nonzero()[0]
    return _Run(
        len(lengths),
        len(ids),
        array("i", terms[at[begins]].astype(np.int32).tobytes()),
        array("i", np.append(begins, len(at)).astype(np.int32).tobytes()),
        array("i", np.append(at[begins], len(ids)).astype(np.int32).tobytes()),
        (texts[at] + first).astype(np.int32),
        np.diff(at, append=len(ids)).astype(np.uint16),
        places,
    )


def _opens(values: Ints) -> NDArray[np.bool_]:
    """Where a value is another than the one before it."""
    out = np.ones(len(values), bool)
    np.not_equal(values[1:], values[:-1], out=out[1:])
    return out


def _looked_for(term: int, ids: Ints, lengths: Ints, first: int) -> Found | None:
    """The same in texts that are not sorted, from slot ``first`` on."""
    at = (ids == term).nonzero()[0]
    if not len(at):
        return None
    ends = lengths.cumsum(dtype=np.int64)
    texts = ends.searchsorted(at, "right")
    places = at - ends[texts] + lengths[texts]
    last = np.ones(len(texts), bool)
    np.not_equal(texts[1:], texts[:-1], out=last[:-1])
    begins = _opens(texts).nonzero()[0]
    times = last.nonzero()[0] - begins + 1
    return (texts[begins] + first).astype(np.int32), times.astype(np.uint16), places.astype(np.uint16)
