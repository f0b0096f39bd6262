"""What is known of each stretch of units (a file, or 64 units of a long one), so that most need not be looked into."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .corpus import Corpus
from .keyword_columns import Ints


@dataclass(frozen=True, slots=True)
class Stretches:
    """By stretch id: its file, its shortest blurred length, all flags of its units; and which two follow each other."""

    living: NDArray[np.bool_]
    file: Ints
    shortest: Ints
    flags: Ints
    first_of: Ints
    second_of: Ints

    def with_neighbours(self, at: Ints, counts: Ints) -> tuple[Ints, Ints]:
        """Counts of stretches, with those of the one before and after in the same file: their words reach over."""
        if not len(self.first_of):
            return at, counts
        before = np.zeros(len(self.living), np.int64)
        before[at] = counts
        after = before.copy()
        after[self.first_of] += before[self.second_of]
        after[self.second_of] += before[self.first_of]
        at = np.flatnonzero(after)
        return at, after[at]

    def with_days(self, corpus: Corpus, days: Ints) -> Ints:
        """Stretches that hold a unit of one of some days."""
        if not len(days):
            return np.zeros(0, np.int64)
        return corpus.column("stretch")[np.isin(corpus.column("day"), days) & corpus.units.alive]


def stretches_of(corpus: Corpus) -> Stretches:
    """The stretches of a corpus as it is now; worked out once per state."""
    state = (corpus.revision, corpus.numbering)
    if corpus.stretch_cache is None or corpus.stretch_cache[0] != state:
        corpus.stretch_cache = (state, _worked_out(corpus))
    found = corpus.stretch_cache[1]
    assert isinstance(found, Stretches)
    return found


def _worked_out(corpus: Corpus) -> Stretches:
    size = len(corpus.stretch_lengths)
    slots = np.flatnonzero(corpus.units.alive)
    stretch = corpus.column("stretch")[slots]
    living = np.zeros(size, bool)
    living[stretch] = True
    file = np.zeros(size, np.int32)
    file[stretch] = corpus.column("file")[slots]
    shortest = np.full(size, np.iinfo(np.int64).max)
    np.minimum.at(shortest, stretch, corpus.blurred_lengths[corpus.column("place")[slots]])
    flags = np.zeros(size, np.uint8)
    np.bitwise_or.at(flags, stretch, corpus.column("flags")[slots])
    # A unit whose neighbour before lies in another stretch of the same file joins the two.
    place = corpus.column("place")[slots]
    before = corpus.slot_at[place - 1]
    joined = before >= 0
    one, other = corpus.column("stretch")[before[joined]], stretch[joined]
    apart = one != other
    return Stretches(living, file, np.where(living, shortest, 0), flags, one[apart], other[apart])
