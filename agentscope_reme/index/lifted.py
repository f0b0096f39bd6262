"""What others' links say of a note lifts it, but not above the passage that holds all that was asked for.

Whoever asks for ``ERR-4711`` wants the passage with it first, and the note that is linked beside it second.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .keyword_columns import Ints, are_in, distinct
from .question import Floats, Question

# A question of more words is one for which links may know better; words that stand together in more stretches than
# this name nothing in particular.
MOST_WORDS = 3
MOST_HOLDERS = 3
_MOST_RARE = 64  # stretches that hold the rarest of them
ROOM = 0.02  # of the best holder's score, right below it, is where links lift notes to, in their order


@dataclass(frozen=True, slots=True)
class Holders:
    """The stretches that hold all content words of a question, and the score of the best unit with all of them."""

    stretches: Ints
    best: float = 0.0


def holders_of(question: Question) -> Holders:
    """The stretches with all of a question's few words, where they are few; none where no link speaks for a note."""
    found = np.zeros(0, np.int64)
    if not 0 < len(question.proving) <= MOST_WORDS or not len(question.linked):
        return Holders(found)
    groups = [question.stretches_with(group) for group in question.proving]
    groups.sort(key=len)
    if 0 < len(groups[0]) <= _MOST_RARE:
        found = distinct(groups[0])
        for group in groups[1:]:
            found = found[are_in(found, group)]
    return Holders(found if len(found) <= MOST_HOLDERS else found[:0])


def kept_below(
    question: Question, holders: Holders, slots: Ints, own: Floats, score: Floats, complete: NDArray[np.bool_]
) -> tuple[Floats, Holders]:
    """Scores with what links add bounded, and the holders with the best score that is known now.

    ``own`` is what the units' own words give, ``score`` that with names, fields and links; ``complete`` says which
    units hold a word of every kind that was asked for, and may be returned.
    """
    corpus = question.corpus
    whole = complete & are_in(corpus.column("stretch")[slots], holders.stretches)
    best = max(holders.best, float(score[whole].max(initial=0.0)))
    if not best:
        return score, holders
    files = corpus.column("file")[slots]
    linked = question.by_links(files)
    at = np.flatnonzero((linked > 0) & (score > (1 - ROOM) * best) & ~whole)
    at = at[~question.named_in_full(files[at])]
    if len(at):
        by_links = (score[at] - own[at]) * linked[at] / question.bonus[files[at]]
        lifted = best * (1 - ROOM / 2 - ROOM / 2 * best / np.maximum(score[at], best))
        score = score.copy()
        score[at] = np.minimum(score[at], np.maximum(score[at] - by_links, lifted))
    return score, Holders(holders.stretches, best)
