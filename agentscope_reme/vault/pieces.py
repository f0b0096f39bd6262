"""Pieces of bytes by number, in little memory: all in one, or compressed a few at a time.

A ``bytes`` object and its place in a list take 45 bytes more than what it says, which is often less.
"""

import marshal
import threading
from array import array
from collections.abc import Iterable, Iterator
from itertools import islice
from operator import gt

_FEW = 1_024  # new and changed ones that wait in a dictionary
_TOGETHER = 8  # pieces that are compressed together


class Pieces:
    """Pieces of bytes, numbered from 0 on. One thread may change them while others read."""

    def __init__(self, pieces: Iterable[bytes] = ()) -> None:
        # All as they came, where each of them begins and the last one ends, and by number those that changed since.
        self._state: tuple[bytearray, array[int], dict[int, bytes]] = (bytearray(), array("Q", [0]), {})
        self._shared = False  # the first two, with a copy: then what is added waits among those that changed
        self._size = 0
        for piece in pieces:
            self.append(piece)
        self.settle()

    def copy(self) -> "Pieces":
        """The same pieces, to be changed apart; those that are settled are there once for both."""
        out = Pieces()
        data, begins, changed = self._state
        out._state, out._size = (data, begins, dict(changed)), self._size
        out._shared = self._shared = True
        return out

    @classmethod
    def of(cls, data: "bytes | memoryview", begins: "array[int]") -> "Pieces":
        """The inverse of :meth:`parts`. Raises ValueError when the parts do not belong together."""
        if not begins or begins[0] != 0 or begins[-1] != len(data) or any(map(gt, begins, islice(begins, 1, None))):
            raise ValueError("pieces of bytes and where they begin do not belong together")
        out = cls()
        out._state, out._size = (bytearray(data), _fitting(begins), {}), len(begins) - 1
        return out

    def parts(self) -> tuple[bytes, "array[int]"]:
        """All pieces, one after the other, and where each begins and the last one ends."""
        data, begins = self._joined()
        return bytes(data), begins

    def _joined(self) -> "tuple[bytearray, array[int]]":
        data, begins = bytearray(), array("Q", [0])
        for piece in self:
            data += piece
            begins.append(len(data))
        return data, begins

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, number: int) -> bytes:
        data, begins, changed = self._state
        if changed and (piece := changed.get(number)) is not None:
            return piece
        return bytes(data[begins[number] : begins[number + 1]])

    def __setitem__(self, number: int, piece: bytes) -> None:
        changed = self._state[2]
        changed[number] = piece
        if self._many_changed():
            self.settle()

    def _many_changed(self) -> bool:
        return len(self._state[2]) > max(_FEW, self._size // 4)

    def __iter__(self) -> Iterator[bytes]:
        return map(self.__getitem__, range(len(self)))

    def append(self, piece: bytes) -> None:
        """Add a piece; its number is how many there were."""
        data, begins, changed = self._state
        if not self._shared:
            data += piece
            begins.append(len(data))
        else:
            changed[self._size] = piece
        self._size += 1  # last: others read meanwhile
        if self._shared and self._many_changed():
            self.settle()

    def settle(self) -> None:
        """Have all take as little memory as they can; done by itself where many have changed."""
        if self._shared and not self._many_changed():
            return
        data, begins, changed = self._state
        if changed:
            data, begins = self._joined()
        # Copies, which have no room to grow.
        self._state = data[:], _fitting(begins), {}
        self._shared = False


def _fitting(begins: "array[int]") -> "array[int]":
    """The same numbers in as few bytes as they need, without room to grow."""
    return array("I" if begins[-1] <= 0xFFFFFFFF else "Q", begins)


class FoldedPieces:
    """The same, compressed: for what is seldom asked for. Neighbours are read together quickest."""

    def __init__(self, pieces: Iterable[bytes] = ()) -> None:
        from zstandard import ZstdCompressor, ZstdDecompressor

        self._size = 0
        # Eight settled pieces each, and those that are not, by number: replaced together.
        self._state: tuple[Pieces, dict[int, bytes]] = (Pieces(), {})
        self._last: tuple[object, int, list[bytes]] = (None, -1, [])  # what was read last: in which state, where
        # Of level -1 it is a thirtieth larger than by default, and unfolded in two thirds of the time.
        self._fold, self._unfold = ZstdCompressor(level=-1).compress, ZstdDecompressor().decompress
        self._alone = threading.Lock()  # neither of them serves two threads at once
        for piece in pieces:
            self.append(piece)
        self.settle()

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, number: int) -> bytes:
        state = self._state
        folded, new = state
        if new and (piece := new.get(number)) is not None:
            return piece
        at, last = number // _TOGETHER, self._last
        if last[0] is not state or last[1] != at:
            with self._alone:
                data = self._unfold(folded[at])
            self._last = last = (state, at, marshal.loads(data))
        return last[2][number % _TOGETHER]

    def __setitem__(self, number: int, piece: bytes) -> None:
        self._state[1][number] = piece
        if len(self._state[1]) > _FEW:
            self.settle()

    def __iter__(self) -> Iterator[bytes]:
        return map(self.__getitem__, range(self._size))

    def append(self, piece: bytes) -> None:
        """Add a piece; its number is how many there were."""
        self._size += 1
        self[self._size - 1] = piece

    def settle(self) -> None:
        """Compress new and changed ones; done by itself from time to time."""
        folded, new = self._state
        for at in sorted({number // _TOGETHER for number in new}):
            first = at * _TOGETHER
            data = marshal.dumps([self[number] for number in range(first, min(first + _TOGETHER, self._size))])
            with self._alone:
                data = self._fold(data)
            if at < len(folded):
                folded[at] = data
            else:
                folded.append(data)
        folded.settle()
        self._state = folded, {}
