"""Texts that wait for a merge, sorted by terms a part at a time: what a sort needs for a moment is in the cache."""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from .keyword_columns import Columns, Ints, build_columns

# Of each term the slots of recent texts, how often each has it, and all places.
Recent = dict[int, tuple["array[int]", "array[int]", "array[int]"]]


@dataclass(slots=True)
class Runs:
    """The texts from slot ``first`` on that are sorted already, ``texts`` of them with ``tokens`` occurrences."""

    first: int = 0
    texts: int = 0
    tokens: int = 0
    columns: list[Columns] = field(default_factory=list)

    @property
    def end(self) -> int:
        """The slot of the first text after these."""
        return self.first + self.texts

    def sorted(self, ids: Ints, lengths: Ints, terms: int, keep_positions: bool) -> Columns:
        """The columns of the texts after these (see :func:`.keyword_columns.build_columns`)."""
        return build_columns(ids, lengths, self.end, terms, keep_positions)

    def add(self, ids: Ints, lengths: Ints, terms: int, keep_positions: bool) -> None:
        """Sort the texts after these, too."""
        made = self.sorted(ids, lengths, terms, keep_positions)
        indptr, starts = made.indptr.astype(np.int32), made.starts.astype(np.int32)
        self.columns.append(Columns(indptr, made.slots, made.tf, made.positions, starts))
        self.texts += len(lengths)
        self.tokens += len(ids)


def sort_in(recent: Recent, ids: Sequence[int], lengths: Ints, first: int) -> None:
    """Make texts findable by term: ``ids`` are all their occurrences in order, ``first`` is the slot of the first."""
    at = 0
    for slot, length in enumerate(lengths.tolist(), first):
        for position, number in enumerate(ids[at : at + length]):
            column = recent.get(number)
            if column is None:
                recent[number] = array("i", (slot,)), array("H", (1,)), array("H", (position,))
                continue
            slots, tf, positions = column
            if slots[-1] == slot:
                tf[-1] += 1
            else:
                slots.append(slot)
                tf.append(1)
            positions.append(position)
        at += length
