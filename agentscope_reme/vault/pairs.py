"""A table from keys to numbers in eight bytes an entry, for look-ups whose answers are checked by the caller."""

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from operator import eq
from zlib import crc32

NONE, SEVERAL = -1, -2  # instead of a number
_FEW = 64  # new entries that are put to their places one by one; more are sorted in


def hash_of(text: str) -> int:
    """A key for a text: 32 bits. Different texts may have the same."""
    return crc32(text.encode("utf-8", "surrogatepass"))


def hash_with(key: int, suffix: bytes) -> int:
    """The key of a text that goes on with ``suffix`` where the text before it has the key ``key``."""
    return crc32(suffix, key)


class Pairs:
    """Distinct pairs of a key and a number, both below 2^32. Not thread-safe.

    A dictionary of strings takes fifteen times as much. Entries are kept sorted, new ones wait until somebody asks.
    """

    def __init__(self) -> None:
        self._sorted = array("Q")
        self._new = array("Q")
        self._shared = False  # what is sorted, with a copy

    def copy(self) -> "Pairs":
        """The same pairs, to be changed apart; there once for both until one of them changes."""
        self.settle()
        out = Pairs()
        out._sorted = self._sorted
        out._shared = self._shared = True
        return out

    def _apart(self) -> "array[int]":
        if self._shared:
            self._sorted, self._shared = self._sorted[:], False
        return self._sorted

    def __len__(self) -> int:
        self.settle()
        return len(self._sorted)

    def __iter__(self) -> Iterator[tuple[int, int]]:
        """All pairs, ascending."""
        self.settle()
        for pair in self._sorted:
            yield pair >> 32, pair & 0xFFFFFFFF

    def add(self, key: int, number: int) -> None:
        """Put a pair in, if it is not there."""
        self._new.append(key << 32 | number)

    def add_all(self, keys: Iterable[int]) -> None:
        """Put in the pairs of some keys with the numbers from 0 on."""
        self._new.extend(key << 32 | number for number, key in enumerate(keys))

    def discard(self, key: int, number: int) -> None:
        """Take a pair out, if it is there."""
        self.settle()
        pair = key << 32 | number
        at = bisect_left(self._sorted, pair)
        if at < len(self._sorted) and self._sorted[at] == pair:
            del self._apart()[at]

    def has(self, key: int) -> bool:
        """Whether a key has a number."""
        self.settle()
        at = bisect_left(self._sorted, key << 32)
        return at < len(self._sorted) and self._sorted[at] >> 32 == key

    def of(self, key: int, most: int | None = None) -> list[int]:
        """The numbers of a key, ascending; at most so many."""
        self.settle()
        begin = bisect_left(self._sorted, key << 32)
        end = bisect_left(self._sorted, (key + 1) << 32, begin)
        if most is not None:
            end = min(end, begin + most)
        return [pair & 0xFFFFFFFF for pair in self._sorted[begin:end]]

    def only(self, key: int) -> int:
        """The number of a key that has a single one, ``NONE`` or ``SEVERAL`` otherwise."""
        self.settle()
        pairs, begin = self._sorted, key << 32
        at = bisect_left(pairs, begin)
        end = begin + 0x1_0000_0000
        if at == len(pairs) or pairs[at] >= end:
            return NONE
        return SEVERAL if at + 1 < len(pairs) and pairs[at + 1] < end else pairs[at] - begin

    def settle(self) -> None:
        """Sort new entries in, which the next look-up would do."""
        if not self._new:
            return
        if len(self._new) > _FEW:
            # No set: it would take three times as much for a moment.
            pairs = sorted(chain(self._sorted, self._new))
            if any(map(eq, pairs, islice(pairs, 1, None))):
                pairs = list(dict.fromkeys(pairs))
            roomy = array("Q", pairs)
            del pairs  # first: an object that stays would keep the room of those that go
            self._sorted, self._shared = roomy[:], False
        else:
            for pair in self._new:
                at = bisect_left(self._sorted, pair)
                if at == len(self._sorted) or self._sorted[at] != pair:
                    self._apart().insert(at, pair)
        self._new = array("Q")
