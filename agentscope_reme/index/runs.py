"""Texts that wait for a merge, sorted by terms a part at a time: what a sort needs for a moment is in the cache."""

from dataclasses import dataclass, field

import numpy as np

from .keyword_columns import Columns, Ints, build_columns


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
