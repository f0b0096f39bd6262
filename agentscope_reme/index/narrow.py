"""Whole numbers of which most are small, in as few bytes as most of them need; the larger ones stand beside.

Postings are mostly such numbers: a word stands once in most texts that have it, and near a text's beginning. They are
read a stretch at a time, as often as a question has words, so that a stretch must cost little more than of an array.
"""

from array import array
from bisect import bisect_left
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .keyword_columns import Ints
from .own_memory import room_for

_STEP = 65_536  # values looked at together: what is needed for a moment stays small
_MOST_PLANES = 4
_NEAR, _CHAPTER, _LOWER = 12, 16, 0xFFFF  # values in a block, and those whose places share their higher bytes, as bits


class Narrow:
    """An array of whole numbers from 0 to 2^31 - 1 that is only read; slices and items have the type ``kind``.

    ``width`` 1 to 4 is the bytes of each; 0 says that each is 1 unless it stands beside. To two bytes a few higher bits
    may be added, each kept for all values together (``planes``).
    """

    PARTS = (".data", ".at", ".larger", ".shape")
    __slots__ = (
        "_data",
        "_kind",
        "_larger",
        "_lower",
        "_near",
        "_places",
        "_planes",
        "_values",
        "planes",
        "size",
        "width",
    )

    def __init__(
        self, data: NDArray[np.uint8], width: int, planes: int, size: int, at: Ints, larger: Ints, kind: Any
    ) -> None:
        """``data`` has the bytes of all values, then ``planes`` rows of their higher bits, and one byte more.

        ``larger`` are the values at ``at`` (ascending). Raises ValueError when the parts do not belong together.
        """
        row = -(-size // 8)
        fits = len(data) == width * size + planes * row + 1 and len(at) == len(larger) and width in range(5)
        fits = fits and 0 <= planes <= (_MOST_PLANES if width == 2 else 0)
        if not fits or (len(at) and (int(at[0]) < 0 or int(at[-1]) >= size or bool((at[1:] <= at[:-1]).any()))):
            raise ValueError("the parts of a narrow array do not belong together")
        self.size, self.width, self.planes = size, width, planes
        self._kind = np.dtype(kind)
        self._data = data
        # Of the places of larger values the lower two bytes; the rest tells how many of them lie before each block of
        # values, which is looked at first anyway: among all, each step of halving is another part of memory.
        self._places = array("H", at.astype(np.uint16).tobytes())[:]  # a copy, which has no room to grow
        self._lower = np.frombuffer(self._places, np.uint16)
        blocks = np.arange(0, size + (2 << _NEAR), 1 << _NEAR)
        self._near = array("i", at.searchsorted(blocks).astype(np.int32).tobytes())
        most = int(larger.max(initial=0))
        self._larger = larger.astype(np.uint8 if most <= 0xFF else np.uint16 if most <= 0xFFFF else np.int32)
        # Three bytes are read as the lower part of four.
        self._values: NDArray[Any] | None = None
        if width:
            kinds: list[Any] = [np.uint8, np.dtype("<u2"), np.dtype("<i4"), np.dtype("<i4")]
            self._values = np.ndarray((size,), kinds[width - 1], buffer=data, strides=(width,))
            self._values.flags.writeable = False  # what is read may be a look into it
        self._planes = [data[width * size + row * one : width * size + row * (one + 1)] for one in range(planes)]

    @classmethod
    def of(cls, values: Ints, kind: Any) -> "Narrow":
        """An array of these values, in the form that takes the least memory."""
        size, most = len(values), 0
        sizes = np.zeros(5, np.int64)  # how many need at most that many bytes, or are 1
        for begin in range(0, size, _STEP):
            part = values[begin : begin + _STEP]
            sizes += [np.count_nonzero(part == 1), *(np.count_nonzero(part <= _most(width)) for width in range(1, 5))]
            most = max(most, int(part.max()))
        costs = [width * size + 6 * (size - int(narrow)) for width, narrow in enumerate(sizes)]
        width, planes, row = costs.index(min(costs)), 0, -(-size // 8)
        more = most.bit_length() - 16
        if 0 < more <= _MOST_PLANES and 2 * size + more * row < min(costs):
            width, planes = 2, more
        data = room_for(width * size + planes * row + 1, np.uint8)
        at, larger = [np.zeros(0, np.int32)], [np.zeros(0, np.int32)]
        for begin in range(0, size, _STEP):
            part = values[begin : begin + _STEP]
            if not planes:
                over = np.flatnonzero(part != 1 if width == 0 else part > _most(width))
                at.append((begin + over).astype(np.int32))
                larger.append(part[over].astype(np.int32))
            whole = np.ascontiguousarray(part, "<i4").view(np.uint8).reshape(len(part), 4)
            data[width * begin : width * (begin + len(part))] = whole[:, :width].reshape(-1)
            for plane in range(planes):
                bits = np.packbits((part >> (16 + plane) & 1).astype(np.uint8))
                first = 2 * size + plane * row + begin // 8
                data[first : first + len(bits)] = bits
        return cls(data, width, planes, size, np.concatenate(at), np.concatenate(larger), kind)

    def __len__(self) -> int:
        return self.size

    @property
    def nbytes(self) -> int:
        """Bytes of memory."""
        return len(self._data) + self._lower.nbytes + self._larger.nbytes

    @property
    def _at(self) -> Ints:
        """The places of all larger values."""
        return self._places_of(0, len(self._places))

    def _places_of(self, first: int, last: int) -> Ints:
        """The places of some larger values, given by their numbers."""
        out = self._lower[first:last].astype(np.int32)
        chapters = np.frombuffer(self._near, np.int32)[:: 1 << _CHAPTER - _NEAR]
        out += (chapters.searchsorted(np.arange(first, last), "right") - 1).astype(np.int32) << _CHAPTER
        return out

    def _between(self, begin: int, end: int) -> tuple[int, int]:
        """The numbers of the larger values from place ``begin`` to before ``end``."""
        places, near, block, other = self._places, self._near, begin >> _NEAR, end >> _NEAR
        first = bisect_left(places, begin & _LOWER, near[block], near[block + 1])
        return first, bisect_left(places, end & _LOWER, near[other], near[other + 1])

    def __getitem__(self, which: Any) -> NDArray[Any]:
        """The values of a slice (of step 1), or those at some places."""
        if not isinstance(which, slice):
            return self._picked(which)
        begin, end, _ = which.indices(self.size)
        return self.part(begin, max(begin, end))

    def part(self, begin: int, end: int) -> NDArray[Any]:
        """The values from ``begin`` to before ``end``, which are in order and in range."""
        if self._values is None:
            out = np.empty(end - begin, self._kind)
            out.fill(1)
        elif self.width == 3:
            out = (self._values[begin:end] & np.int32(0xFFFFFF)).astype(self._kind, copy=False)
        else:
            out = self._values[begin:end].astype(self._kind, copy=bool(self._planes or self._places))
            for number, plane in enumerate(self._planes, 16):
                bits = np.unpackbits(plane[begin >> 3 : (end + 7) >> 3])[begin & 7 :][: len(out)]
                out |= bits.astype(self._kind) << number
        first, last = self._between(begin, end)
        if first < last:
            out[self._places_of(first, last) - begin] = self._larger[first:last]
        return out

    def parts(self, spans: Sequence[tuple[int, int]]) -> NDArray[Any]:
        """The values of several stretches, one after the other; each from a first to before a last place."""
        if not spans:
            return np.zeros(0, self._kind)
        if self.width == 3 or self._planes:
            return np.concatenate([self.part(begin, end) for begin, end in spans])
        values, places = self._values, self._places
        if values is None:
            out = np.ones(sum([end - begin for begin, end in spans]), self._kind)
        else:
            out = np.concatenate([values[begin:end] for begin, end in spans], dtype=self._kind)
        if places:
            near, done = self._near, 0
            for begin, end in spans:
                if begin == end:
                    continue
                block, other = begin >> _NEAR, end >> _NEAR
                first = bisect_left(places, begin & _LOWER, near[block], near[block + 1])
                last = bisect_left(places, end & _LOWER, near[other], near[other + 1])
                if first < last:
                    if begin >> _CHAPTER == (end - 1) >> _CHAPTER:
                        at: Ints = self._lower[first:last].astype(np.int32)
                        at += done - (begin & _LOWER)
                    else:
                        at = self._places_of(first, last) + (done - begin)
                    out[at] = self._larger[first:last]
                done += end - begin
        return out

    def fields(self) -> tuple[Any, ...]:
        """What compiled loops read."""
        return self._data, self.width, self.planes, self.size, self._places, self._near, self._larger

    def _picked(self, at: Ints) -> NDArray[Any]:
        if self._values is None:
            out = np.ones(len(at), self._kind)
        elif self.width == 3:
            out = (self._values[at] & np.int32(0xFFFFFF)).astype(self._kind, copy=False)
        else:
            out = self._values[at].astype(self._kind)
            for number, plane in enumerate(self._planes, 16):
                out |= (plane[at >> 3] >> (7 - (at & 7)) & 1).astype(self._kind) << number
        if self._places and len(at):
            places = self._at
            found = np.searchsorted(places, np.asarray(at, np.int32))
            found[found == len(places)] = 0
            beside = places[found] == at
            out[beside] = self._larger[found[beside]]
        return out

    def whole(self) -> NDArray[Any]:
        """All values as a plain array."""
        return self[:]

    def largest(self) -> int:
        """The largest value, -1 where there is none."""
        return max((int(self[at : at + _STEP].max()) for at in range(0, self.size, _STEP)), default=-1)

    def dump(self) -> dict[str, NDArray[Any]]:
        """Its parts by name, for a snapshot."""
        sizes = np.array([self.width, self.planes, self.size], np.int64)
        return dict(zip(self.PARTS, (self._data, self._at, self._larger, sizes), strict=True))

    @classmethod
    def load(cls, parts: dict[str, NDArray[Any]], kind: Any) -> "Narrow":
        """The inverse of :meth:`dump`. Raises ValueError when the parts do not belong together."""
        data, at, larger, shape = (parts[name] for name in cls.PARTS)
        width, planes, size = shape.tolist()
        if data.dtype != np.uint8:
            raise ValueError("a narrow array is made of bytes")
        return cls(data, width, planes, size, at, larger, kind)


def _most(width: int) -> int:
    return int((1 << 8 * width) - 1)
