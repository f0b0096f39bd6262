"""Texts as numbers of a list of terms of their own: each distinct term is looked up once for all its occurrences."""

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .keyword_columns import LIMIT, Ints


@dataclass(frozen=True, slots=True)
class Numbered:
    """Texts whose terms are numbers of ``terms``: ``ids`` of all occurrences in order, ``lengths`` of each text.

    ``terms`` stand in the order in which they first occur, none twice.
    """

    terms: list[str]
    ids: Ints
    lengths: Ints

    def only(self, keep: NDArray[np.bool_]) -> "Numbered":
        """Those of the texts that ``keep`` says True of. Terms that none of them has are gone."""
        ids = self.ids[np.repeat(keep, self.lengths)]
        used, ids = in_order_of_use(ids)
        return Numbered([self.terms[number] for number in used.tolist()], ids, self.lengths[keep])

    def packed(self) -> tuple[bytes, bytes, bytes]:
        """The same as bytes, for another process on this machine."""
        terms = "\n".join(self.terms).encode("utf-8", "surrogatepass")  # none holds a line break, see Vocabulary
        return terms, self.ids.astype(_kind(self.terms)).tobytes(), self.lengths.tobytes()


class _Numbers(dict[str, int]):
    """Numbers of terms, in the order in which they are first asked for."""

    def __missing__(self, term: str) -> int:
        number = self[term] = len(self)
        return number


def numbered(texts: Iterable[Sequence[str]]) -> Numbered:
    """Texts as numbers. What a text has beyond 65 535 terms is left out."""
    numbers = _Numbers()
    ids, lengths = array("i"), array("i")
    for text in texts:
        before = len(ids)
        ids.extend(map(numbers.__getitem__, text[:LIMIT]))
        lengths.append(len(ids) - before)
    return Numbered(list(numbers), np.frombuffer(ids, np.int32), np.frombuffer(lengths, np.int32))


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


def unpacked(terms: bytes, ids: bytes, lengths: bytes) -> Numbered:
    """The inverse of :meth:`Numbered.packed`."""
    names = terms.decode("utf-8", "surrogatepass").split("\n") if ids else []
    return Numbered(names, np.frombuffer(ids, _kind(names)), np.frombuffer(lengths, np.int32))


def _kind(terms: Sequence[str]) -> type[np.integer]:
    return np.uint16 if len(terms) <= 1 << 16 else np.int32
