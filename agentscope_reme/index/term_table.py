"""Many terms looked up and added at once, as bytes: none becomes a string, and none is looked at by itself.

A table of the terms' CRC-32 with room to spare (open addressing, next free place), which numpy asks for all terms in a
few steps. It takes 12 to 20 bytes a term and lasts as long as many terms are added.
"""

from array import array
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from .columns import grown
from .keyword_columns import Ints, distinct

_NEWLINE = 0x0A
_ROOM = 4  # places for each term, at least
_HALF = np.uint32(16)


class TermTable:
    """Terms from number ``settled`` on, and where to find them and those before. Not thread-safe."""

    def __init__(self, packed: bytes, begins: Ints, hashes: Ints) -> None:
        """``packed`` are the settled terms, each with a line break after it, ``begins`` where each begins, and the end.

        ``hashes`` are their CRC-32 by number.
        """
        self._settled = len(hashes)
        self._packed, self._begins = np.frombuffer(packed, np.uint8), begins
        self._hashes = hashes.astype(np.uint32)  # by number, with room
        self.count = len(hashes)
        self._data = np.zeros(0, np.uint8)  # of the terms that are not settled
        self._used = 0
        self._ends = np.zeros(0, np.int64)  # in _data, by number from the first that is not settled on
        self._twins: dict[bytes, int] = {}  # terms of whose hash there is another one
        self._places = np.zeros(0, np.int32)
        self._make_room()

    def numbers(self, lines: bytes) -> Ints:
        """The numbers of distinct terms, one a line; those that are not there are added."""
        data = np.frombuffer(lines, np.uint8)
        ends = np.append(np.flatnonzero(data == _NEWLINE), len(data))
        begins = np.append(0, ends[:-1] + 1)
        hashes = np.frombuffer(array("I", map(crc32, lines.split(b"\n"))), np.uint32)
        found = self._with_hash(hashes)
        alike = np.flatnonzero(found >= 0)
        for at in alike[self._differ(found[alike], data, begins[alike], ends[alike])].tolist():
            found[at] = self._twins.get(lines[begins[at] : ends[at]], -1)
        new = np.flatnonzero(found < 0)
        if len(new):
            found[new] = np.arange(self.count, self.count + len(new))
            self._add(data, begins[new], ends[new], hashes[new])
        return found

    def get(self, term: bytes) -> int | None:
        """The number of a term, None for one that is not there."""
        number = int(self._with_hash(np.array([crc32(term)], np.uint32))[0])
        if number < 0 or self._term(number) == term:
            return number if number >= 0 else None
        return self._twins.get(term)

    def unsettled(self) -> tuple[bytes, Ints, Ints]:
        """The terms that are not settled, each with a line break after it; where each ends; their hashes."""
        fresh = self.count - self._settled
        return self._data[: self._used].tobytes(), self._ends[:fresh], self._hashes[self._settled : self.count]

    def _term(self, number: int) -> bytes:
        data, begins, ends = self._spans(np.array([number]))
        return data[int(begins[0]) : int(ends[0])].tobytes()

    def _spans(self, numbers: Ints) -> tuple[NDArray[np.uint8], Ints, Ints]:
        """Where terms stand, all of them settled or none."""
        if not len(numbers) or numbers[0] < self._settled:
            return self._packed, self._begins[numbers].astype(np.int64), self._begins[numbers + 1].astype(np.int64) - 1
        at = numbers - self._settled
        begins = np.where(at > 0, self._ends[at - 1], 0)
        return self._data, begins, self._ends[at] - 1

    def _differ(self, numbers: Ints, data: NDArray[np.uint8], begins: Ints, ends: Ints) -> Ints:
        """Which terms (places in ``numbers``) are others than those at some spans of ``data``."""
        out = []
        for which in (np.flatnonzero(numbers < self._settled), np.flatnonzero(numbers >= self._settled)):
            known, firsts, lasts = self._spans(numbers[which])
            sizes = ends[which] - begins[which]
            same = sizes == lasts - firsts
            out.append(which[~same])
            which, firsts, sizes = which[same], firsts[same], sizes[same]
            before = np.cumsum(sizes) - sizes
            steps = np.arange(int(sizes.sum()))
            theirs, own = known[steps + np.repeat(firsts - before, sizes)], np.repeat(begins[which] - before, sizes)
            wrong = np.flatnonzero(theirs != data[steps + own])
            if len(wrong):
                out.append(distinct(which[np.searchsorted(before, wrong, "right") - 1]))
        return np.concatenate(out)

    def _with_hash(self, hashes: Ints) -> Ints:
        """The number of the first term with each hash, -1 where there is none."""
        out = np.full(len(hashes), -1, np.int64)
        mask = len(self._places) - 1
        places, left = _first_place(hashes, mask), np.arange(len(hashes))
        while len(left):
            numbers = self._places[places]
            taken = np.flatnonzero(numbers >= 0)
            left, places, numbers = left[taken], places[taken], numbers[taken]
            same = self._hashes[numbers] == hashes[left]
            out[left[same]] = numbers[same]
            left, places = left[~same], (places[~same] + 1) & mask
        return out

    def _add(self, data: NDArray[np.uint8], begins: Ints, ends: Ints, hashes: Ints) -> None:
        """Add terms that are not there."""
        sizes = ends - begins + 1
        before = np.cumsum(sizes) - sizes
        size = int(sizes.sum())
        fresh, first = self.count - self._settled, self.count
        self._data = grown(self._data, self._used + size)
        own = self._data[self._used : self._used + size]
        own[:] = np.append(data, np.uint8(_NEWLINE))[np.arange(size) + np.repeat(begins - before, sizes)]
        own[before + sizes - 1] = _NEWLINE
        self._ends = grown(self._ends, fresh + len(sizes))
        self._ends[fresh : fresh + len(sizes)] = self._used + before + sizes
        self._used += size
        self._hashes = grown(self._hashes, first + len(sizes))
        self._hashes[first : first + len(sizes)] = hashes
        self.count += len(sizes)
        if _ROOM * self.count > len(self._places):
            self._make_room()
        else:
            self._enter(np.arange(first, self.count))

    def _make_room(self) -> None:
        size = 1 << max(12, (_ROOM * self.count).bit_length())
        self._places, self._twins = np.full(size, -1, np.int32), {}
        self._enter(np.arange(self.count))

    def _enter(self, numbers: Ints) -> None:
        """Put terms where they are looked for, in turn as far as they have the same place."""
        mask = len(self._places) - 1
        places = _first_place(self._hashes[numbers], mask)
        while len(numbers):
            free = self._places[places] < 0
            self._places[places[free]] = numbers[free]
            there = self._places[places]
            left = np.flatnonzero(there != numbers)
            numbers, places, there = numbers[left], places[left], there[left]
            twins = self._hashes[there] == self._hashes[numbers]
            for number in numbers[twins].tolist():
                self._twins[self._term(number)] = number
            numbers, places = numbers[~twins], (places[~twins] + 1) & mask


def _first_place(hashes: Ints, mask: int) -> Ints:
    return (hashes ^ hashes >> _HALF).astype(np.int64) & mask
