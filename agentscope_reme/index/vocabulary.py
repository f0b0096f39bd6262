"""Terms and their numbers in little memory: the bytes of all terms in one piece, found by a 32-bit hash.

A dictionary of strings takes about 110 bytes a term, this takes 9 and the term's own bytes.
"""

from array import array
from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise
from typing import Any
from zlib import crc32

import numpy as np

from .compiled import kernels
from .ends import Ends
from .freed_memory import give_back
from .keyword_columns import Ints, ascending
from .narrow import Narrow
from .own_memory import room_for
from .term_table import TermTable

# Terms looked up while texts are added; beyond this many the look-up table starts over at the next settling.
_MOST_KNOWN = 8_192
_MOST_NEW = 262_144  # a dictionary that grows beyond this keeps other threads from running
_NEWLINE = 0x0A
_STEP = 8_192
_PIECE = 131_072  # bytes
_MANY_KEPT = 65_536  # terms
_ALL = slice(None)
_MANY = 64  # terms that are looked up together rather than one by one


class Vocabulary:
    """Distinct terms, numbered in the order they came in. Terms hold no line break. Not thread-safe.

    New terms wait in a dictionary until :meth:`settle`; where very many come, in a table (:mod:`.term_table`).
    """

    def __init__(self, packed: bytes = b"", hashes: Ints | None = None) -> None:
        """``packed`` terms, with their ``hashes`` where they are known. Raises ValueError if not as many."""
        self._packed = packed  # every settled term, each with a line break after it
        self._begins = Ends(np.zeros(1, np.int64))
        self._lower = array("H")  # of the hashes, ascending, the lower halves
        # The numbers of the terms in the order of their hashes: two bytes of each, and those above them.
        self._number_lower, self._number_upper = array("H"), array("B")
        self._first = array("I", bytes(4 * 65_537))  # where each value of a hash's upper half begins
        self._known: dict[str, int] = {}  # new terms, and settled ones that were asked for lately
        self._new: list[str] = []
        self._table: TermTable | None = None
        self.renumberings = 0  # how often terms have got new numbers
        # Characters of three bytes, ascending, where the terms with each end, and these; made when first asked for.
        self._chars: tuple[Ints, Ints, Narrow] | None = None
        self._finder: Any = None  # the same terms for compiled loops
        if packed:
            begins = _begins_in(packed)
            self._begins = Ends(begins)
            if hashes is None:
                hashes = _hashes_of(packed, begins)
            if len(hashes) != len(self._begins) - 1:
                raise ValueError("the terms and their hashes do not belong together")
            self._set_hashes(hashes, np.arange(len(hashes), dtype=np.int32))

    def __len__(self) -> int:
        return self._table.count if self._table is not None else len(self._lower) + len(self._new)

    @property
    def takes_much(self) -> bool:
        """Whether it holds what is only of use while many terms are added; :meth:`settle` lets it go."""
        return self._table is not None

    def __contains__(self, term: str) -> bool:
        return self.get(term) is not None

    def get(self, term: str) -> int | None:
        """The number of a term, None for one that is not there."""
        return self.find((term,))[0]

    def find(self, terms: Sequence[str]) -> list[int | None]:
        """The number of each of some terms, None for those that are not there."""
        if self._table is not None:
            return [self._table.get(term.encode("utf-8", "surrogatepass")) for term in terms]
        if kernels is not None:
            if self._finder is None:
                parts = self._lower, self._first, self._number_lower, self._number_upper, self._begins.parts
                self._finder = kernels.Finder(self._packed, *parts)
            return self._finder.find(terms, self._known)
        lower, first, packed, begins, known = self._lower, self._first, self._packed, self._begins, self._known
        number_lower, number_upper = self._number_lower, self._number_upper
        out: list[int | None] = []
        for term in terms:
            number = known.get(term)
            if number is None:
                data = term.encode("utf-8", "surrogatepass")
                wanted = crc32(data)
                data += b"\n"
                upper = wanted >> 16
                wanted &= 0xFFFF
                end = first[upper + 1]
                at = bisect_left(lower, wanted, first[upper], end)
                while at < end and lower[at] == wanted:
                    one = number_lower[at] | number_upper[at] << 16
                    begin = begins[one]
                    if packed[begin : begin + len(data)] == data:
                        number = one
                        break
                    at += 1
            out.append(number)
        return out

    def numbers_of_lines(self, lines: bytes) -> Ints:
        """The numbers of distinct terms, one a line; those that are not there are added. For when many more follow."""
        if self._table is None:
            self.settle()
            self._known, self._table = {}, TermTable(self._packed, self._begins.whole(), self.hashes())
        return self._table.numbers(lines)

    def numbers(self, terms: Sequence[str]) -> list[int]:
        """The numbers of terms; those that are not there are added."""
        if len(terms) > _STEP:  # each call keeps other threads from running
            return [number for at in range(0, len(terms), _STEP) for number in self.numbers(terms[at : at + _STEP])]
        if len(self._new) > _MOST_NEW:
            self.settle()
        if self._table is not None:
            different = list(dict.fromkeys(terms))
            numbers = self._table.numbers(packed(different)[:-1]).tolist() if different else []
            return list(map(dict(zip(different, numbers, strict=True)).__getitem__, terms))
        known, new = self._known, self._new
        found = list(map(known.get, terms))
        if None in found:
            unknown = [term for term, number in zip(terms, found, strict=True) if number is None]
            if len(unknown) >= _MANY:
                self._know(unknown)
                return list(map(known.__getitem__, terms))
            for term, number in zip(unknown, self.find(unknown), strict=True):
                if number is not None:
                    known[term] = number
                elif term not in known:
                    known[term] = len(self._lower) + len(new)
                    new.append(term)
            return list(map(known.__getitem__, terms))
        return found  # type: ignore[return-value]

    def _know(self, terms: list[str]) -> None:
        """Look many terms up at once, in settled ones; add those that are not there."""
        data = [term.encode("utf-8", "surrogatepass") for term in terms]
        wanted = np.fromiter(map(crc32, data), np.uint32, len(data))
        numbers = self._with_hash(wanted)
        begins, ends = self._begins.some(np.maximum(numbers, 0)).tolist(), (self._begins.some(numbers + 1) - 1).tolist()
        packed, known, new, settled = self._packed, self._known, self._new, len(self._lower)
        for term, encoded, number, begin, end in zip(terms, data, numbers.tolist(), begins, ends, strict=True):
            if number < 0:
                if known.setdefault(term, settled + len(new)) == settled + len(new):
                    new.append(term)
            elif packed[begin:end] == encoded:
                known[term] = number
            else:
                self._number(term)  # one of several with this hash

    def _with_hash(self, wanted: Ints) -> Ints:
        """For each of some hashes a settled term that has it, -1 where there is none."""
        first, lower = np.frombuffer(self._first, np.uint32), np.frombuffer(self._lower, np.uint16)
        upper = wanted >> 16
        begins = first[upper].astype(np.int64)
        sizes = first[upper + 1] - begins
        # All terms whose upper halves are the same, those of one hash after those of another.
        rows = np.arange(len(wanted)).repeat(sizes)
        at = np.arange(len(rows)) + (begins - sizes.cumsum() + sizes).repeat(sizes)
        alike = (lower[at] == (wanted & 0xFFFF)[rows]).nonzero()[0][::-1]  # of several with a hash, the first is last
        out = np.full(len(wanted), -1, np.int32)
        out[rows[alike]] = self._by_hash(at[alike])
        return out

    def _number(self, term: str) -> int:
        number = self.get(term)
        if number is None:
            number = len(self._lower) + len(self._new)
            self._new.append(term)
        self._known[term] = number
        return number

    def names(self) -> list[str]:
        """All terms in the order of their numbers."""
        self._close_table()
        return [*self._packed.decode("utf-8", "surrogatepass").split("\n")[:-1], *self._new]

    def packed(self) -> bytes:
        """All terms in the order of their numbers, each with a line break after it, as UTF-8."""
        self.settle()
        return self._packed

    def hashes(self) -> Ints:
        """The hash of each term in the order of their numbers, to be stored: making them again takes long."""
        self.settle()
        out = np.empty(len(self._lower), np.uint32)
        out[self._by_hash()] = self._ascending_hashes()
        return out

    def _by_hash(self, at: "Ints | slice" = _ALL) -> Ints:
        """The numbers of terms at some places, or all, in the order of their hashes."""
        out: Ints = np.frombuffer(self._number_upper, self._number_upper.typecode)[at].astype(np.int32)
        out <<= 16
        out |= np.frombuffer(self._number_lower, np.uint16)[at]
        return out

    def _ascending_hashes(self) -> Ints:
        upper = np.arange(65_536, dtype=np.uint32) << np.uint32(16)
        first = np.frombuffer(self._first, np.uint32)
        out: Ints = np.repeat(upper, first[1:] - first[:-1])
        out |= np.frombuffer(self._lower, np.uint16)
        return out

    def holding(self, char: str) -> Ints:
        """Numbers of the terms of two characters and more that hold a character, ascending.

        Terms that begin with a control character are left out: they are marked ones.
        """
        self._close_table()
        data = char.encode("utf-8", "surrogatepass")
        numbers = self._with_char(char) if len(data) == 3 else self._with_bytes(data)
        begins, ends = self._begins.some(numbers), self._begins.some(numbers + 1) - 1
        first = np.frombuffer(self._packed, np.uint8)[begins] if len(numbers) else numbers
        numbers = numbers[(ends - begins > len(data)) & (first >= 0x20)]
        settled = len(self._lower)
        new = [settled + at for at, term in enumerate(self._new) if char in term and len(term) > 1 and term[0] >= " "]
        return np.append(_once(numbers), new).astype(np.int64)

    def _with_char(self, char: str) -> Ints:
        """Settled terms with a character that UTF-8 writes in three bytes, as it does Chinese."""
        if self._chars is None:
            self._chars = _by_char(*_chars_in(self._packed))
            give_back()
        known, ends, owners = self._chars
        code = np.uint16(ord(char))  # of another type, all would be copied
        at = int(np.searchsorted(known, code))
        there = at < len(known) and known[at] == code
        return owners.part(int(ends[at]), int(ends[at + 1])) if there else owners.part(0, 0)

    def _with_bytes(self, data: bytes) -> Ints:
        at, found = self._packed.find(data), []
        while at >= 0:
            found.append(at)
            at = self._packed.find(data, at + len(data))
        return np.searchsorted(self._begins.whole(), np.array(found, np.int64), "right") - 1

    def settle(self) -> None:
        """Move new terms to where they take little memory."""
        self._close_table()
        if self._new:
            pieces = [packed(self._new[at : at + _STEP]) for at in range(0, len(self._new), _STEP)]
            hashes = np.empty(len(self._new), np.uint32)
            for number, piece in enumerate(pieces):
                at = number * _STEP
                hashes[at : at + _STEP] = list(map(crc32, piece[:-1].split(b"\n")))
            data = b"".join(pieces)
            ends = np.flatnonzero(np.frombuffer(data, np.uint8) == _NEWLINE) + 1
            self._new = []
            self._append(data, ends, hashes)
        if len(self._known) > _MOST_KNOWN:
            self._known = {}

    def _close_table(self) -> None:
        if self._table is not None:
            added, self._table = self._table.unsettled(), None
            self._append(*added)

    def _append(self, data: bytes, ends: Ints, hashes: Ints) -> None:
        """Settle terms that are not there: each with a line break after it, where each ends, their hashes."""
        self._begins = Ends(np.append(self._begins.whole(), len(self._packed) + ends))
        self._packed += data
        settled = len(self._lower)
        self._set_hashes(
            np.append(self._ascending_hashes(), hashes),
            np.append(self._by_hash(), np.arange(settled, settled + len(ends), dtype=np.int32)),
        )

    def keep(self, numbers: Ints) -> None:
        """Forget all terms but these (ascending), which are numbered anew in the same order."""
        self.settle()
        self.renumberings += 1
        begins = self._begins.whole()
        sizes = np.diff(begins)[numbers]
        after = np.append(0, np.cumsum(sizes))
        shifts, data, kept = begins[numbers] - after[:-1], np.frombuffer(self._packed, np.uint8), []
        for first in range(0, len(numbers), _MANY_KEPT):  # each call keeps other threads from running
            some = slice(first, first + _MANY_KEPT)
            end = after[min(first + _MANY_KEPT, len(numbers))]
            kept.append(data[np.arange(after[first], end) + np.repeat(shifts[some], sizes[some])].tobytes())
        self._packed = b"".join(kept)
        self._begins = Ends(after)
        new_number = np.full(len(self._lower), -1, np.int32)
        new_number[numbers] = np.arange(len(numbers))
        moved = new_number[self._by_hash()]
        self._set_hashes(self._ascending_hashes()[moved >= 0], moved[moved >= 0])
        self._known = {}

    def _set_hashes(self, hashes: Ints, numbers: Ints) -> None:
        self._chars = self._finder = None
        order = ascending(hashes)
        numbers = numbers[order]
        upper = (numbers >> 16).astype("B" if int(numbers.max(initial=0)) >> 24 == 0 else "H")
        # Copies, which have no room to grow.
        self._lower = array("H", hashes[order].astype(np.uint16).tobytes())[:]
        self._number_lower = array("H", numbers.astype(np.uint16).tobytes())[:]
        self._number_upper = array(upper.dtype.char, upper.tobytes())[:]
        counts = np.bincount(hashes >> 16, minlength=65_536)
        self._first = array("I", np.append(0, np.cumsum(counts)).astype(np.uint32).tobytes())[:]


def packed(names: Sequence[str]) -> bytes:
    """Terms as :class:`Vocabulary` takes them."""
    return "\n".join([*names, ""]).encode("utf-8", "surrogatepass")


def _begins_in(packed: bytes) -> Ints:
    """Where each term begins, and the end; looked for piece by piece, so that nothing large is taken for a moment."""
    data = np.frombuffer(packed, np.uint8)
    begins = np.zeros(packed.count(b"\n") + 1, np.uint32)
    found = 1
    for at in range(0, len(data), _PIECE):
        ends = np.flatnonzero(data[at : at + _PIECE] == _NEWLINE)
        begins[found : found + len(ends)] = ends + (at + 1)
        found += len(ends)
    return begins


def _hashes_of(packed: bytes, begins: Ints) -> Ints:
    hashes = np.zeros(len(begins) - 1, np.uint32)
    for at in range(0, len(hashes), _STEP):  # no list of all numbers
        some = begins[at : at + _STEP + 1].tolist()
        hashes[at : at + _STEP] = [crc32(packed[a : b - 1]) for a, b in pairwise(some)]
    return hashes


def _chars_in(packed: bytes) -> tuple[Ints, Ints]:
    """Every character of three bytes in the order of the terms, and its term.

    Piece by piece, in memory of its own: the thread that asks would keep as much for good.
    """
    data = np.frombuffer(packed, np.uint8)
    pieces = [data[begin : begin + _PIECE] for begin in range(0, len(data), _PIECE)]
    size = sum(int(np.count_nonzero((piece & 0xF0) == 0xE0)) for piece in pieces)
    codes, terms = room_for(size, np.uint16), room_for(size, np.int32)
    done = before = 0
    for number, piece in enumerate(pieces):
        inside = np.flatnonzero((piece & 0xF0) == 0xE0)
        at, some = inside + number * _PIECE, slice(done, done + len(inside))
        codes[some] = (data[at] & 0x0F).astype(np.uint16) << 12
        codes[some] |= (data[at + 1] & 0x3F).astype(np.uint16) << 6
        codes[some] |= data[at + 2] & 0x3F
        ended = np.cumsum(piece == _NEWLINE, dtype=np.int32)
        terms[some] = ended[inside] + before
        done, before = done + len(inside), before + int(ended[-1])
    return codes, terms


def _by_char(codes: Ints, terms: Ints) -> tuple[Ints, Ints, Narrow]:
    """The different characters, where the terms of each begin and the last ones end, and these."""
    order = np.argsort(codes, kind="stable")
    codes = codes.take(order, out=room_for(len(codes), codes.dtype))
    opens = np.flatnonzero(np.append(True, codes[1:] != codes[:-1])) if len(codes) else order
    terms = terms.take(order, out=room_for(len(terms), terms.dtype))
    return codes[opens], np.append(opens, len(codes)), Narrow.of(terms, np.int32)


def _once(numbers: Ints) -> Ints:
    """Ascending numbers without repeats."""
    return numbers[np.append(True, numbers[1:] != numbers[:-1])] if len(numbers) else numbers
