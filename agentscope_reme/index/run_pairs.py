"""Pairs of characters as numbers, made by numpy for all the Chinese of a batch at once (:mod:`.uncut`)."""

import re
from functools import cache

import numpy as np

from .chinese import HAN, KANA
from .keyword_columns import Ints
from .vocabulary import Vocabulary

PAIR = 1 << 32
"""From here on ids are pairs: two characters of 16 bits each, the second 0 where one stands alone."""

_ROOM = 2  # places for each pair, at least
_LEAST_PLACES = 64
_SPREAD = np.uint32(0x9E3779B1)  # multiplied by it, the upper bits of a number depend on all of it
_UPPER, _LOWER = np.uint64(32), np.uint64(0xFFFFFFFF)


def ids_with_pairs(ids: Ints, lengths: Ints, stretches: bytes, most: int) -> tuple[Ints, Ints]:
    """Ids of texts and how many each has, with the pairs of the next stretch for each -1.

    What a text has beyond ``most`` is left out. Raises ValueError if there are not as many stretches.
    """
    marks = (ids < 0).nonzero()[0]
    pairs, counts = _pairs_in(np.frombuffer(stretches, "<u2"))
    if len(counts) != len(marks):
        raise ValueError("the stretches of a batch and their places do not belong together")
    sizes = np.ones(len(ids), np.int64)
    sizes[marks] = counts
    out = ids.astype(np.int64).repeat(sizes)
    out[out < 0] = pairs
    ends = np.append(0, sizes.cumsum())[np.append(0, lengths.cumsum())]
    found = ends[1:] - ends[:-1]
    if int(found.max(initial=0)) > most:
        out = out[np.arange(len(out)) - ends[:-1].repeat(found) < most]
        found = np.minimum(found, most)
    return out, found


def spelled(pairs: Ints) -> list[str]:
    """The terms that some pairs stand for."""
    lines = np.full((len(pairs), 3), ord("\n"), "<u2")
    lines[:, 0], lines[:, 1] = pairs >> 16 & 0xFFFF, pairs & 0xFFFF
    return lines[lines != 0].tobytes().decode("utf-16-le", "surrogatepass").split("\n")[:-1]


def _pairs_in(chars: Ints) -> tuple[Ints, Ints]:
    """The pairs of all stretches in their order, and how many each has: those that ``Bigrams.cut_all`` finds."""
    if not len(chars):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    kept = np.zeros(len(chars) + 2, np.uint16)
    kept[1:-1] = _in_runs().take(chars)
    some = kept != 0
    begins = (some[1:-1] & (some[2:] | ~some[:-2])).nonzero()[0]
    pairs = kept.take(begins + 1).astype(np.int64)
    pairs <<= 16
    pairs |= kept.take(begins + 2)
    pairs |= PAIR
    borders = begins.searchsorted((chars == 0).nonzero()[0])
    return pairs, np.diff(borders, prepend=0, append=len(begins))


@cache
def _in_runs() -> Ints:
    """By its code each character that runs are made of; 0 for others."""
    inside = np.zeros(1 << 16, np.uint16)
    for run in re.findall(f"[{HAN}{KANA}]+", "".join(map(chr, range(len(inside))))):
        inside[ord(run[0]) : ord(run[-1]) + 1] = range(ord(run[0]), ord(run[-1]) + 1)
    return inside


class PairNumbers:
    """Which number in a vocabulary each pair has that was looked up in it. Not thread-safe.

    A table with room to spare (open addressing, next free place): pairs in the upper, numbers in the lower half.
    """

    def __init__(self) -> None:
        self._vocabulary: tuple[Vocabulary, int] | None = None
        self._forget()

    def _forget(self) -> None:
        self._count = 0
        self._places = np.zeros(_LEAST_PLACES, np.uint64)

    def of(self, pairs: Ints, vocabulary: Vocabulary) -> Ints:
        """The number of each of some pairs, -1 for one that was not looked up since terms last got new numbers."""
        if self._vocabulary != (vocabulary, vocabulary.renumberings):
            self._vocabulary = (vocabulary, vocabulary.renumberings)
            self._forget()
        codes = pairs.astype(np.uint32)
        places, mask = self._first_places(codes), len(self._places) - 1
        there = self._places.take(places)
        out = (there & _LOWER).astype(np.int32)
        left = (there >> _UPPER != codes).nonzero()[0]
        places, there = places.take(left), there.take(left)
        while len(left):
            out[left[there == 0]] = -1
            more = (there != 0).nonzero()[0]
            left, places = left.take(more), places.take(more) + 1 & mask
            there = self._places.take(places)
            out[left] = there & _LOWER
            more = (there >> _UPPER != codes.take(left)).nonzero()[0]
            left, places, there = left.take(more), places.take(more), there.take(more)
        return out

    def add(self, pairs: Ints, numbers: Ints) -> None:
        """Say which numbers some pairs have that were looked up, each once."""
        self._count += len(pairs)
        entries = pairs.astype(np.uint64) << _UPPER | numbers.astype(np.uint64)
        if _ROOM * self._count > len(self._places):
            entries = np.append(self._places[self._places != 0], entries)
            self._places = np.zeros(1 << (_ROOM * self._count).bit_length(), np.uint64)
        places, mask = self._first_places((entries >> _UPPER).astype(np.uint32)), len(self._places) - 1
        while len(entries):
            free = self._places.take(places) == 0
            self._places[places[free]] = entries[free]
            left = (self._places.take(places) != entries).nonzero()[0]
            entries, places = entries.take(left), places.take(left) + 1 & mask

    def _first_places(self, codes: Ints) -> Ints:
        shift = np.uint32(33 - len(self._places).bit_length())
        return (codes * _SPREAD >> shift).astype(np.intp)
