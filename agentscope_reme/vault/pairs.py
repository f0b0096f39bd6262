"""A table from keys to numbers in eight bytes an entry, for look-ups whose answers are checked by the caller."""

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from operator import eq
from zlib import crc32

NONE, SEVERAL = -1, -2  # instead of a number
_FEW = 64  # new entries that are put to their places one by one; more are sorted in
_SOME = 8  # entries that are taken out one by one; for more all are copied once
_BLOCK = 16_384  # entries that are sorted in one call, which keeps all other threads from running


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

    def discard_all(self, pairs: Iterable[tuple[int, int]]) -> None:
        """Take some pairs out, as far as they are there."""
        gone = array("Q", [key << 32 | number for key, number in pairs])
        if len(gone) <= _SOME:
            for pair in gone:
                self.discard(pair >> 32, pair & 0xFFFFFFFF)
            return
        self.settle()
        known, kept, at = self._sorted, array("Q"), 0
        for pair in _ascending(gone):
            found = bisect_left(known, pair, at)
            if found < len(known) and known[found] == pair:
                kept.extend(known[at:found])
                at = found + 1
        kept.extend(known[at:])
        self._sorted, self._shared = kept[:], False

    def has(self, key: int) -> bool:
        """Whether a key has a number."""
        self.settle()
        at = bisect_left(self._sorted, key << 32)
        return at < len(self._sorted) and self._sorted[at] >> 32 == key

    def of(self, key: int, most: int | None = None) -> list[int]:
        """The numbers of a key, ascending; at most so many."""
        if self._new:
            self.settle()
        pairs, first = self._sorted, key << 32
        following = first + 0x1_0000_0000
        begin = bisect_left(pairs, first)
        if begin == len(pairs) or pairs[begin] >= following:  # as of most keys that are asked for
            return []
        end = bisect_left(pairs, following, begin)
        if most is not None:
            end = min(end, begin + most)
        return [pair - first for pair in pairs[begin:end]]

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
            self._sorted, self._shared = _merged(self._sorted, _ascending(self._new))[:], False
        else:
            for pair in self._new:
                at = bisect_left(self._sorted, pair)
                if at == len(self._sorted) or self._sorted[at] != pair:
                    self._apart().insert(at, pair)
        self._new = array("Q")


def _blocks(pairs: "Sequence[int]") -> "Iterator[Sequence[int]]":
    return (pairs[at : at + _BLOCK] for at in range(0, len(pairs), _BLOCK))


def _ascending(pairs: "Sequence[int]") -> "Sequence[int]":
    """The same in order, sorted block by block; two runs at a time are then merged."""
    runs: list[Sequence[int]] = [sorted(block) for block in _blocks(pairs)]
    while len(runs) > 1:
        merged: list[Sequence[int]] = [_merged(one, other) for one, other in zip(runs[::2], runs[1::2], strict=False)]
        runs = merged + runs[2 * len(merged) :]
    return runs[0] if runs else ()


def _merged(pairs: "Sequence[int]", others: "Sequence[int]") -> "array[int]":
    """Two ascending runs as one, each pair once. Has room to grow."""
    out = array("Q")
    at = 0
    for block in _blocks(pairs):
        end = bisect_left(others, block[-1], at)
        while end - at > _BLOCK:  # all of the others below the block's last
            first = bisect_left(block, others[at + _BLOCK])
            _extend(out, block[:first], others[at : at + _BLOCK])
            block, at = block[first:], at + _BLOCK
        _extend(out, block, others[at:end])
        at = end
    for block in _blocks(others[at:]):
        _extend(out, (), block)
    return out


def _extend(out: "array[int]", pairs: "Sequence[int]", others: "Sequence[int]") -> None:
    """Add two ascending runs, of which no value lies below what is there, each value once."""
    both = sorted(chain(pairs, others))
    if any(map(eq, both, islice(both, 1, None))):
        both = list(dict.fromkeys(both))
    if out and both and out[-1] == both[0]:
        del both[0]
    out.extend(both)
