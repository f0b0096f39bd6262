"""Texts as numbers of a list of terms of their own (:mod:`.bundle`), and what these are in a vocabulary."""

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .bundle import Terms, numbers_in
from .columns import grown
from .keyword_columns import Ints
from .run_pairs import PAIR, PairNumbers, spelled
from .vocabulary import Vocabulary, packed

_MANY = 2_000  # terms of one batch among several, which need not become strings
# Terms that are looked up together, and bytes of terms that are taken apart in one call: a large file has a hundred
# times as many, and each call keeps all other threads from running.
_TOGETHER = 32_768
_PIECE = 131_072


class Glossary:
    """Terms by the numbers that their reader gave them, and which number each of them has in a vocabulary.

    One thread may add terms while another asks.
    """

    def __init__(self, pairs: PairNumbers) -> None:
        """``pairs`` of characters, to which no reader gives a number."""
        self._pairs = pairs
        self._begins: list[int] = []  # first number of each piece
        self._pieces: list[bytes] = []  # terms with a line break between (none holds one, see Vocabulary)
        self._first_batch = 0  # pieces that came with it
        self._numbers = np.zeros(0, np.int32)
        self._vocabulary: tuple[Vocabulary, int] | None = None
        self._asked = 0  # how often something was looked up amid pairs

    def add(self, first: int, terms: bytes) -> None:
        """Say what the terms from number ``first`` on are."""
        at = 0
        while (end := terms.find(b"\n", at + _PIECE)) > 0:
            piece = terms[at:end]
            self._append(first, piece)
            first, at = first + piece.count(b"\n") + 1, end + 1
        self._append(first, terms[at:])
        self._first_batch = self._first_batch or len(self._pieces)

    def _append(self, first: int, piece: bytes) -> None:
        self._pieces.append(piece)
        self._begins.append(first)

    def numbers(self, ids: Ints, vocabulary: Vocabulary) -> Ints:
        """What the terms with the numbers ``ids`` are in a vocabulary; what it does not have is added."""
        if self._vocabulary != (vocabulary, vocabulary.renumberings):
            self._numbers, self._vocabulary = np.zeros(0, np.int32), (vocabulary, vocabulary.renumberings)
        paired = ids >= PAIR
        if not paired.any():
            return self._of_told(ids, vocabulary)
        told, pairs = (~paired).nonzero()[0], paired.nonzero()[0]
        found: Ints = np.empty(len(ids), np.int32)
        self._numbers = grown(self._numbers, int(ids[told].max(initial=-1)) + 1, -1)
        found[told], found[pairs] = self._numbers[ids[told]], self._pairs.of(ids[pairs], vocabulary)
        unknown = (found < 0).nonzero()[0]
        if len(unknown):
            new, places = _first_used(ids[unknown])
            self._asked += 1
            parts = [new[at : at + _TOGETHER] for at in range(0, len(new), _TOGETHER)]
            numbers = np.concatenate([self._looked_up(some, vocabulary) for some in parts])
            found[unknown] = numbers[places]
            paired = new >= PAIR
            self._pairs.add(new[paired], numbers[paired])
            self._numbers[new[~paired]] = numbers[~paired]
        return found

    def _of_told(self, ids: Ints, vocabulary: Vocabulary) -> Ints:
        self._numbers = grown(self._numbers, int(ids.max(initial=-1)) + 1, -1)
        found = self._numbers[ids]
        unknown = _in_order(ids[found < 0])
        if len(unknown):
            for some in self._by_piece(unknown):
                at, whole = self._piece_with(some)
                if whole and at >= self._first_batch and len(some) >= _MANY:
                    self._numbers[some] = vocabulary.numbers_of_lines(self._pieces[at])
                elif whole:
                    self._numbers[some] = vocabulary.numbers(_lines(self._pieces[at]))
                else:
                    self._numbers[some] = vocabulary.numbers(self._terms(some.tolist()))
            found = self._numbers[ids]
        return found

    def _looked_up(self, ids: Ints, vocabulary: Vocabulary) -> Ints:
        """What different terms, some of them pairs, are in a vocabulary."""
        pairs = ids >= PAIR
        told = ids[~pairs]
        at, whole = self._piece_with(told) if len(told) else (0, False)
        terms = [""] * len(ids)
        for some, spellings in (
            (~pairs, _lines(self._pieces[at]) if whole else self._terms(told.tolist())),
            (pairs, spelled(ids[pairs])),
        ):
            for place, spelling in zip(some.nonzero()[0].tolist(), spellings, strict=True):
                terms[place] = spelling
        many = vocabulary.takes_much or (self._asked > 1 and len(terms) >= _MANY)
        if many and len(set(terms)) == len(terms):  # a reader may have told some pairs as terms
            return vocabulary.numbers_of_lines(packed(terms)[:-1])
        return np.array(vocabulary.numbers(terms), np.int32)

    def _by_piece(self, numbers: Ints) -> list[Ints]:
        """Numbers in their order, parted where one is in another piece than the one before it; as a whole if often."""
        if len(self._pieces) == 1:
            return [numbers]
        at = np.searchsorted(np.array(self._begins), numbers, "right")
        borders = np.flatnonzero(at[1:] != at[:-1]) + 1
        return np.split(numbers, borders) if len(borders) <= len(self._pieces) else [numbers]

    def _piece_with(self, numbers: Ints) -> tuple[int, bool]:
        """The piece that the first number is in, and whether the numbers, in order, are all of it, as nearly always.

        Later pieces may be there already: what comes next is unpacked meanwhile.
        """
        at = bisect_right(self._begins, int(numbers[0])) - 1
        whole = int(numbers[0]) == self._begins[at] and bool((numbers[1:] - numbers[:-1] == 1).all())
        return at, whole and self._pieces[at].count(b"\n") == len(numbers) - 1

    def _terms(self, numbers: list[int]) -> list[str]:
        ascending, out = sorted(numbers), dict[int, str]()
        while len(out) < len(ascending):
            at = bisect_right(self._begins, ascending[len(out)]) - 1
            begin, terms = self._begins[at], _lines(self._pieces[at])
            end = bisect_right(ascending, begin + len(terms) - 1, len(out))
            out |= {number: terms[number - begin] for number in ascending[len(out) : end]}
        return [out[number] for number in numbers]


def _lines(piece: bytes) -> list[str]:
    return piece.decode("utf-8", "surrogatepass").split("\n")


class Spelled:
    """The same for texts of this process, whose terms are at hand and are looked up once."""

    def __init__(self, terms: Iterable[str]) -> None:
        self._terms = list(terms)

    def numbers(self, ids: Ints, vocabulary: Vocabulary) -> Ints:
        """As in a glossary; terms that no number stands for any more are not added."""
        if not len(ids):
            return ids
        if np.bincount(ids, minlength=len(self._terms)).all():  # numbered as they were met, so in order of use
            return np.array(vocabulary.numbers(self._terms), np.int32)[ids]
        used, places = in_order_of_use(ids)
        return np.array(vocabulary.numbers([self._terms[number] for number in used.tolist()]), np.int32)[places]


@dataclass(frozen=True, slots=True)
class Numbered:
    """Texts as numbers of a glossary: ``ids`` of all occurrences in order, ``lengths`` of each text."""

    glossary: Glossary | Spelled
    ids: Ints
    lengths: Ints

    def only(self, keep: NDArray[np.bool_]) -> "Numbered":
        """Those of the texts that ``keep`` says True of."""
        return Numbered(self.glossary, self.ids[np.repeat(keep, self.lengths)], self.lengths[keep])


def numbered(texts: Iterable[Sequence[str]]) -> Numbered:
    """Texts as numbers. What a text has beyond 65 535 terms is left out."""
    terms = Terms()
    ids, lengths, _ = numbers_in(texts, terms)
    return known(ids, lengths, terms)


def known(ids: "array[int]", lengths: "array[int]", terms: Terms) -> Numbered:
    """Texts whose numbers are those of some terms."""
    return Numbered(Spelled(terms), np.frombuffer(ids, np.int32), np.frombuffer(lengths, np.int32))


def _in_order(numbers: Ints) -> Ints:
    """The different values in the order in which they first occur."""
    if not len(numbers):
        return numbers
    highest = np.maximum.accumulate(numbers)
    first = highest[np.append(True, highest[1:] != highest[:-1])]
    # Where each value has come after all smaller ones, that is it; it is not where terms were met before and lost.
    return first if len(first) == highest[-1] - numbers.min() + 1 else in_order_of_use(numbers)[0]


def _first_used(ids: Ints) -> tuple[Ints, Ints]:
    """The same as :func:`in_order_of_use` of few values that may be large."""
    used, first, places = np.unique(ids, return_index=True, return_inverse=True)
    by_use = np.argsort(first)
    rank = np.empty(len(used), np.int64)
    rank[by_use] = np.arange(len(used))
    return used[by_use], rank[places]


def in_order_of_use(numbers: Ints) -> tuple[Ints, Ints]:
    """The different values in the order in which they first occur, and for each value its place among them."""
    order = np.argsort(numbers, kind="stable")
    ascending = numbers[order]
    opens = np.flatnonzero(np.append(True, ascending[1:] != ascending[:-1])) if len(order) else order
    by_use = np.argsort(order[opens])
    used = ascending[opens][by_use]
    place = np.zeros(int(ascending[-1]) + 1 if len(order) else 0, np.int32)
    place[used] = np.arange(len(used))
    return used, place[numbers]
