"""Slot and frequency of each posting in one number of three or four bytes, which is read in one step.

What is read most must be whole bytes, and the two are always read together: a slot of 20 bits beside a frequency of 4
takes three bytes where each by itself would take five.
"""

from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .keyword_columns import Ints

_STEP = 65_536  # postings looked at together: what is needed for a moment stays small
_FORMS = ((3, 20), (4, 24), (4, 31))  # bytes of a posting, and how many of its lower bits are the slot


class Paired:
    """Slots from 0 to 2^31 - 1 and frequencies from 1 on, of postings; only read.

    A frequency that its bits have no room for stands beside, and all of its bits are set.
    """

    PARTS = (".data", ".at", ".larger", ".form")
    __slots__ = ("_at", "_bits", "_data", "_form", "_larger", "_mask", "_most", "_values", "_width", "size")

    def __init__(self, data: NDArray[np.uint8], form: tuple[int, int], at: Ints, larger: Ints) -> None:
        """``data`` has the bytes of all postings and one byte more; ``larger`` are the frequencies at ``at``
        (ascending). Raises ValueError when the parts do not belong together.
        """
        width, bits = form
        if form not in _FORMS or len(data) % width != 1 or len(at) != len(larger):
            raise ValueError("the parts of the postings do not belong together")
        self.size = len(data) // width
        self._width, self._data, self._larger = width, data, larger.astype(np.int32)
        self._form = form
        # As arrays of no dimension: numbers of Python take numpy twice as long.
        self._bits, self._mask = np.array(bits, np.int32), np.array((1 << bits) - 1, np.int32)
        self._most = np.array((1 << 8 * width - bits) - 1, np.int32)
        # Three bytes are read as the lower part of four.
        self._values: NDArray[Any] = np.ndarray((self.size,), "<i4", buffer=data, strides=(width,))
        self._values.flags.writeable = False
        self._at = array("q", at.astype(np.int64).tobytes())
        beside = [begin + np.flatnonzero(tf == self._most) for begin, _, tf in self._steps()]
        if not np.array_equal(np.concatenate([at[:0], *beside]), at):
            raise ValueError("the frequencies of the postings do not belong together")

    @classmethod
    def of(cls, slots: Ints, tf: Ints) -> "Paired":
        """These postings, in as few bytes as all slots have room in."""
        most = int(slots.max(initial=0))
        width, bits = next(form for form in _FORMS if most >> form[1] == 0)
        top = (1 << 8 * width - bits) - 1
        data = np.zeros(width * len(slots) + 1, np.uint8)
        at, larger = [np.zeros(0, np.int64)], [np.zeros(0, np.int32)]
        for begin in range(0, len(slots), _STEP):
            frequencies = tf[begin : begin + _STEP].astype(np.uint32)
            over = np.flatnonzero(frequencies >= top)
            at.append(begin + over)
            larger.append(frequencies[over].astype(np.int32))
            words = np.minimum(frequencies, top) << np.uint32(bits) | slots[begin : begin + _STEP].astype(np.uint32)
            whole = words.astype("<u4").view(np.uint8).reshape(len(words), 4)
            data[width * begin : width * (begin + len(words))] = whole[:, :width].reshape(-1)
        return cls(data, (width, bits), np.concatenate(at), np.concatenate(larger))

    def __len__(self) -> int:
        return self.size

    @property
    def nbytes(self) -> int:
        """Bytes of memory."""
        return len(self._data) + 8 * len(self._at) + self._larger.nbytes

    def part(self, begin: int, end: int) -> tuple[Ints, Ints]:
        """Slots and frequencies of the postings from ``begin`` to before ``end``, which are in order and in range."""
        slots = self._values[begin:end].copy()
        tf = slots >> self._bits
        tf &= self._most  # three bytes have what follows above them, four the sign
        slots &= self._mask
        first = bisect_left(self._at, begin)
        if first < len(self._at) and self._at[first] < end:
            self._put_larger(tf, 0, begin, end, first)
        return slots, tf

    def parts(self, spans: Sequence[tuple[int, int]]) -> tuple[Ints, Ints]:
        """The same of several stretches of postings, one after the other."""
        slots = np.concatenate([self._values[begin:end] for begin, end in spans] or [self._values[:0]])
        tf = slots >> self._bits
        tf &= self._most
        slots &= self._mask
        if (tf == self._most).any():
            done = 0
            for begin, end in spans:
                first = bisect_left(self._at, begin)
                if first < len(self._at) and self._at[first] < end:
                    self._put_larger(tf, done, begin, end, first)
                done += end - begin
        return slots, tf

    def fields(self) -> tuple[tuple[Any, ...], ...]:
        """What compiled loops read."""
        return ((self._data, *self._form, self._at, self._larger),)

    def picked(self, at: Ints) -> tuple[Ints, Ints]:
        """Slots and frequencies of the postings at some places."""
        slots = self._values[at]
        tf = slots >> self._bits & self._most
        over = (tf == self._most).nonzero()[0]
        tf[over] = self._larger[np.array(self._at, np.int64).searchsorted(at[over])]
        return slots & self._mask, tf

    def _put_larger(self, tf: Ints, done: int, begin: int, end: int, first: int) -> None:
        """Set what stands beside in the frequencies from ``begin`` to before ``end``, which follow ``done`` others."""
        last = bisect_left(self._at, end, first)
        tf[np.array(self._at[first:last]) + (done - begin)] = self._larger[first:last]

    def largest(self) -> int:
        """The largest slot, -1 where there is none."""
        return max((int(slots.max()) for _, slots, _ in self._steps()), default=-1)

    def dump(self) -> dict[str, NDArray[Any]]:
        """Its parts by name, for a snapshot."""
        form, at = np.array([self._width, int(self._bits)], np.int64), np.array(self._at, np.int64)
        return dict(zip(self.PARTS, (self._data, at, self._larger, form), strict=True))

    @classmethod
    def load(cls, parts: dict[str, NDArray[Any]]) -> "Paired":
        """The inverse of :meth:`dump`. Raises ValueError when the parts do not belong together."""
        data, at, larger, form = (parts[name] for name in cls.PARTS)
        width, bits = form.tolist()
        if data.dtype != np.uint8:
            raise ValueError("postings are made of bytes")
        return cls(data, (width, bits), at, larger)

    def _steps(self) -> Iterator[tuple[int, Ints, Ints]]:
        """Where some postings begin, their slots and what their frequencies' bits say; step by step."""
        for begin in range(0, self.size, _STEP):
            words = self._values[begin : begin + _STEP].copy()
            yield begin, words & self._mask, words >> self._bits & self._most
