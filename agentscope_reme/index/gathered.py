"""The postings of the terms of a question, read from a keyword index together."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Optional

import numpy as np
from numpy.typing import NDArray

from .keyword_columns import Ints


@dataclass(slots=True)
class Gathered:
    """Postings of several terms, those of one after those of the other.

    ``numbers`` are the terms' in the index, None for what it does not have. The ``slots`` of each term ascend, ``tf``
    is how often each text has it, ``sizes`` how many postings each term has. ``all`` are those of removed texts too,
    where there are such texts.
    """

    numbers: list[int | None]
    slots: Ints
    tf: Ints
    sizes: list[int]
    all: Optional["Gathered"] = None

    def of_term(self, at: int) -> Ints:
        """The slots of one of the terms."""
        begin = sum(self.sizes[:at])
        return self.slots[begin : begin + self.sizes[at]]

    def first(self, count: int) -> "Gathered":
        """Those of the first terms."""
        most, all_of = sum(self.sizes[:count]), self.all.first(count) if self.all is not None else None
        return Gathered(self.numbers[:count], self.slots[:most], self.tf[:most], self.sizes[:count], all_of)

    def only(self, keep: NDArray[np.bool_]) -> "Gathered":
        """Those that ``keep`` says True of; ``all`` are these."""
        return Gathered(self.numbers, self.slots[keep], self.tf[keep], kept_by_term(keep, self.sizes), self)


def kept_by_term(keep: NDArray[np.bool_], sizes: Sequence[int]) -> list[int]:
    """How many of each term's are kept."""
    running = np.zeros(len(keep) + 1, np.int64)
    keep.cumsum(out=running[1:])
    ends: list[int] = running[[0, *accumulate(sizes)]].tolist()
    return [end - begin for begin, end in pairwise(ends)]


def spliced(values: Ints, sizes: Sequence[int], more: Mapping[int, Ints]) -> Ints:
    """Values of several terms, with some put behind those of the terms that have ``more``."""
    if not more:
        return values
    parts, end = [], 0
    for number, size in enumerate(sizes):
        parts.append(values[end : end + size])
        end += size
        if number in more:
            parts.append(more[number])
    return np.concatenate(parts)
