"""Texts that wait for a merge, sorted by terms a part at a time: what a sort needs for a moment is in the cache."""

from dataclasses import dataclass, field

from .keyword_columns import Ints, Run, run_of


@dataclass(slots=True)
class Runs:
    """The texts from slot ``first`` on that are sorted already, ``texts`` of them with ``tokens`` occurrences."""

    first: int = 0
    texts: int = 0
    tokens: int = 0
    made: list[Run] = field(default_factory=list)

    @property
    def end(self) -> int:
        """The slot of the first text after these."""
        return self.first + self.texts

    def with_next(self, ids: Ints, lengths: Ints, keep_positions: bool) -> list[Run]:
        """These and one of the texts after them (see :func:`.keyword_columns.run_of`)."""
        return [*self.made, run_of(ids, lengths, self.end, keep_positions)]

    def add(self, ids: Ints, lengths: Ints, keep_positions: bool) -> None:
        """Sort the texts after these, too."""
        self.made = self.with_next(ids, lengths, keep_positions)
        self.texts += len(lengths)
        self.tokens += len(ids)
