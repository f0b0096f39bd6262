"""The postings of texts that do not change any more, in little memory: to be read from, or unfolded to be joined."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .compiled import kernels
from .ends import Ends
from .keyword_columns import Columns, Ints
from .narrow import Narrow
from .paired import Paired

_STEP = 65_536  # postings looked at together: what is needed for a moment stays small


class Apart:
    """Slots and frequencies of postings as two narrow arrays: the least memory, read in more steps."""

    PARTS = (*(f".slots{part}" for part in Narrow.PARTS), *(f".tf{part}" for part in Narrow.PARTS))
    __slots__ = ("_slots", "_tf")

    def __init__(self, slots: Narrow, tf: Narrow) -> None:
        """Raises ValueError when they are not equally long."""
        if len(slots) != len(tf):
            raise ValueError("the parts of the postings do not belong together")
        self._slots, self._tf = slots, tf

    @classmethod
    def of(cls, slots: Ints, tf: Ints) -> "Apart":
        return cls(Narrow.of(slots, np.int32), Narrow.of(tf, np.uint16))

    def __len__(self) -> int:
        return len(self._slots)

    def part(self, begin: int, end: int) -> tuple[Ints, Ints]:
        return self._slots.part(begin, end), self._tf.part(begin, end)

    def parts(self, spans: Sequence[tuple[int, int]]) -> tuple[Ints, Ints]:
        return self._slots.parts(spans), self._tf.parts(spans)

    def fields(self) -> tuple[tuple[Any, ...], ...]:
        """What compiled loops read."""
        return self._slots.fields(), self._tf.fields()

    def picked(self, at: Ints) -> tuple[Ints, Ints]:
        return self._slots[at], self._tf[at]

    def largest(self) -> int:
        return self._slots.largest()

    def dump(self) -> dict[str, NDArray[Any]]:
        parts = {f".slots{name}": part for name, part in self._slots.dump().items()}
        return parts | {f".tf{name}": part for name, part in self._tf.dump().items()}

    @classmethod
    def load(cls, parts: dict[str, NDArray[Any]]) -> "Apart":
        slots = {name: parts[f".slots{name}"] for name in Narrow.PARTS}
        tf = {name: parts[f".tf{name}"] for name in Narrow.PARTS}
        return cls(Narrow.load(slots, np.int32), Narrow.load(tf, np.uint16))


@dataclass(frozen=True, slots=True)
class Postings:
    """:class:`~.keyword_columns.Columns` in little memory, to be read from.

    Those that keep positions are the ones that are read most, and quickly: slot and frequency together.
    """

    ends: Ends  # of each term's postings, after a 0
    entries: Paired | Apart
    positions: Narrow
    starts: Ends  # of each term's occurrences
    reader: Any = None  # the same for compiled loops

    @classmethod
    def _made(cls, ends: Ends, entries: Paired | Apart, positions: Narrow, starts: Ends) -> "Postings":
        reader = None
        if kernels is not None:
            placed = (starts.parts, positions.fields()) if len(starts) == len(ends) else ()
            reader = kernels.Reader(ends.parts, entries.fields(), *placed)
        return cls(ends, entries, positions, starts, reader)

    def places(self, terms: list[int | None]) -> tuple[Ints, list[int]]:
        """Where in their texts the occurrences of some terms stand, term by term, and how many each has."""
        if kernels is not None:
            found: tuple[Ints, list[int]] = self.reader.places(terms)
            return found
        spans = self.starts.spans(terms)
        return self.positions.parts(spans), [end - begin for begin, end in spans]

    @classmethod
    def of(cls, columns: Columns) -> "Postings":
        """The same postings."""
        form = Paired if len(columns.positions) else Apart
        entries = form.of(columns.slots, columns.tf)
        return cls._made(Ends(columns.indptr), entries, Narrow.of(columns.positions, np.uint16), Ends(columns.starts))

    @classmethod
    def load(cls, counts: Ints, arrays: dict[str, NDArray[Any]], keeps_positions: bool) -> "Postings":
        """Postings of columns with ``counts`` of them each, and the inverse of :meth:`dump` for the rest.

        Raises ValueError when they do not belong together.
        """
        form = Paired if ".data" in arrays else Apart
        entries: Paired | Apart = form.load(arrays)
        positions = Narrow.load({part: arrays[f".positions{part}"] for part in Narrow.PARTS}, np.uint16)
        if int(counts.min(initial=0)) < 0:
            raise ValueError("the keyword index has terms with less than no postings")
        indptr: Ints = np.zeros(len(counts) + 1, np.int64)
        np.cumsum(counts, out=indptr[1:])
        starts = _sums(indptr, entries) if keeps_positions else np.zeros(1, np.int64)
        if int(indptr[-1]) != len(entries) or int(starts[-1]) != len(positions):
            raise ValueError("the arrays of the keyword index do not belong together")
        return cls._made(Ends(indptr), entries, positions, Ends(starts))

    def dump(self) -> dict[str, NDArray[Any]]:
        """All but the counts, by name, for a snapshot."""
        return self.entries.dump() | {f".positions{name}": part for name, part in self.positions.dump().items()}

    @property
    def terms(self) -> int:
        return len(self.ends) - 1

    def read(self, terms: list[int | None]) -> tuple[Ints, Ints, list[int]]:
        """Slots and frequencies of some terms, one after the other, and how many each has."""
        if kernels is not None:
            found: tuple[Ints, Ints, list[int]] = self.reader.read(terms)
            return found
        spans = self.ends.spans(terms)
        return *self.entries.parts(spans), [end - begin for begin, end in spans]

    def counts(self) -> Ints:
        """How many postings each term has."""
        return np.diff(self.ends.whole())

    def columns(self) -> Columns:
        """The same as plain arrays, to work on."""
        starts = self.starts.whole()
        if len(starts) <= self.terms:
            starts = np.zeros(self.terms + 1, np.int64)
        slots, tf = self.entries.part(0, len(self.entries))
        return Columns(self.ends.whole(), slots, tf.astype(np.uint16), self.positions.whole(), starts)


def _sums(indptr: Ints, entries: Paired | Apart) -> Ints:
    """How much the frequencies before each of some ends add up to."""
    size = min(len(entries), int(indptr[-1]))
    out: Ints = np.zeros(len(indptr), np.int64)
    total = done = 0
    for begin in range(0, size, _STEP):
        running = total + np.cumsum(entries.part(begin, min(begin + _STEP, size))[1], dtype=np.int64)
        last = int(np.searchsorted(indptr, begin + len(running), "right"))
        ends = indptr[done:last] - begin
        out[done:last] = np.where(ends > 0, running[ends - 1], total)
        total, done = int(running[-1]), last
    return out
