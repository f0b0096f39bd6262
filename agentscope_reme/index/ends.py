"""Ascending numbers that mostly lie near each other, in a little more than two bytes each: where columns end."""

from array import array
from collections.abc import Sequence

import numpy as np

from .keyword_columns import Ints

_SHIFT = 4  # sixteen numbers are told from the first of them
_TOO_FAR = 0xFFFF


class Ends:
    """Ascending whole numbers from 0 on, of which one by one are read, or some; never changed."""

    __slots__ = ("_far", "_firsts", "_more", "parts", "size")

    def __init__(self, values: Ints) -> None:
        self.size = len(values)
        firsts = values[:: 1 << _SHIFT].astype(np.int64)
        more = values - np.repeat(firsts, 1 << _SHIFT)[: self.size]
        far = np.flatnonzero(more >= _TOO_FAR)
        # Those that are too far from the first, by place. Arrays of Python: one number of them is read quickest.
        self._far = dict(zip(far.tolist(), values[far].tolist(), strict=True))
        kind = "I" if int(firsts.max(initial=0)) <= 0xFFFFFFFF else "q"
        self._firsts = array(kind, firsts.astype(kind).tobytes())[:]  # copies, which have no room to grow
        self._more = array("H", np.minimum(more, _TOO_FAR).astype(np.uint16).tobytes())[:]
        self.parts = self._firsts, self._more, self._far  # what compiled loops read

    def __len__(self) -> int:
        return self.size

    @property
    def nbytes(self) -> int:
        """Bytes of memory, what Python needs for the far ones included."""
        return self._firsts.itemsize * len(self._firsts) + 2 * len(self._more) + 100 * len(self._far)

    def __getitem__(self, number: int) -> int:
        more = self._more[number]
        return self._firsts[number >> _SHIFT] + more if more != _TOO_FAR else self._far[number]

    def some(self, numbers: Ints) -> Ints:
        """Those at some places."""
        more = np.frombuffer(self._more, np.uint16)[numbers]
        out: Ints = np.frombuffer(self._firsts, self._firsts.typecode)[numbers >> _SHIFT].astype(np.int64, copy=False)
        out += more
        for at in (more == _TOO_FAR).nonzero()[0].tolist():
            out[at] = self._far[int(numbers[at])]
        return out

    def whole(self) -> Ints:
        """All of them."""
        return self.some(np.arange(self.size))

    def spans(self, numbers: Sequence[int | None]) -> list[tuple[int, int]]:
        """From where to where some columns reach; nowhere for what is none of them."""
        columns, firsts, more = self.size - 1, self._firsts, self._more
        out: list[tuple[int, int]] = []
        for one in numbers:
            if one is None or one >= columns:
                out.append((0, 0))
                continue
            begin, end = more[one], more[one + 1]
            if begin == _TOO_FAR or end == _TOO_FAR:
                out.append((self[one], self[one + 1]))
            else:
                out.append((firsts[one >> _SHIFT] + begin, firsts[one + 1 >> _SHIFT] + end))
        return out
