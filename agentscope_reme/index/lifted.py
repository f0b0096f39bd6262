"""Names and links lift a note, but not above the passage that holds all that was asked for.

Whoever asks for ``ERR-4711`` wants the passage with it first, and the note that is linked beside it second; and whoever
asks for ``invoice 7781`` wants this one, and the note called ``Invoice`` second.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from .boosts import Context, among
from .entries import ASKS, REPEATS
from .keyword_columns import Ints, are_in, distinct
from .question import Floats, Question

# A question of more words is one for which names and links may know better; words that stand together in more stretches
# than this name nothing in particular.
MOST_WORDS = 3
MOST_HOLDERS = 3
MOST_QUOTING = 64  # stretches: whoever quotes means all that have these words in this order
QUOTED_ENOUGH = 0.25  # of a question, by worth: a long one that quotes in passing asks for more than these words
_MOST_RARE = 64  # units and names that hold the rarest of them
ROOM = 0.02  # of the best holder's score, right below it, is where names and links lift notes to, in their order
# Whoever asks for "Everything search" means the note called Everything: names that hold this much of what was asked
# for, by what the words count as evidence, are not bounded.
NAMED_ENOUGH = 0.6


@dataclass(frozen=True, slots=True)
class Holders:
    """The units that hold all content words of a question, and the score of the best of them."""

    slots: Ints
    best: float = 0.0


def holders_of(question: Question, context: Context) -> Holders:
    """The units with all of a question's few words, where they are few; none where nothing speaks for a note.

    A word in the note's title, an alias or its name is as good as one in the text or above it. Of a question that
    quotes (and not only in passing) they are those that quote the same, whatever else it asks for.
    """
    column, speaking = question.corpus.column, question.linked if len(question.proving) == 1 else question.favoured
    found, most = question.quoting, MOST_QUOTING
    if not len(found) or question.quoted_share < QUOTED_ENOUGH:
        found, most = _with_all(question) if len(speaking) else found[:0], MOST_HOLDERS
    if len(found):
        # What counts less for what it is, a question, a copy or superseded, holds nothing down.
        found = found[column("flags")[found] & (ASKS | REPEATS) == 0]
    if context.demoted:
        found = found[~among(column("file")[found], context.demoted)]
    if context.allowed is not None:
        found = found[context.allowed[found]]
    return Holders(found if len(distinct(column("stretch")[found])) <= most else found[:0])


def _with_all(question: Question) -> Ints:
    """The units with all words of a question, where these are few and the rarest is rare."""
    none, file = np.zeros(0, np.int32), question.corpus.column("file")
    words = sorted(_words(question), key=question.found)
    if not 0 < len(words) <= MOST_WORDS or not 0 < question.found(words[0]) <= _MOST_RARE:
        return none
    called = question.called(words[0])
    entries = [question.corpus.by_id[number] for number in called.tolist()]
    found = distinct(np.concatenate((question.units_with(words[0]), *(entry.slots for entry in entries if entry))))
    for word in words[1:]:
        found = found[question.are_with(word, found) | are_in(file[found], question.called(word))]
    if len(called):  # some word must be in the text, or the note is named by all
        found = found[np.logical_or.reduce([question.are_with(word, found) for word in words])]
    return found


def _words(question: Question) -> Sequence[Sequence[int]]:
    """The content words. Two characters that stand nowhere, between two words without a space, are none.

    ``护照续签`` is asked for by ``护照``, ``照续`` and ``续签``.
    """
    words = question.proving
    if not 2 < len(words) < 2 * MOST_WORDS:
        return words
    terms = [question.names[word[0]] for word in words]
    joined = [len(one) == len(two) == 2 and one[1] == two[0] >= "\u2e80" for one, two in pairwise(terms)]
    between = [False, *(before and after for before, after in pairwise(joined)), False]
    return [word for word, inner in zip(words, between, strict=True) if not inner or question.found(word)]


def kept_below(question: Question, holders: Holders, slots: Ints, own: Floats, score: Floats) -> tuple[Floats, Holders]:
    """Scores with what names and links add bounded, and the holders with the best score that is known now.

    ``own`` is what the units' own words give, ``score`` that with names, fields and links.
    """
    files = question.corpus.column("file")[slots]
    whole = are_in(slots, holders.slots)
    best = max(holders.best, float(score[whole].max(initial=0.0)))
    if not best:
        return score, holders
    at = ((score > (1 - ROOM) * best) & (question.bonus[files] > 0) & ~whole).nonzero()[0]
    named = question.named_share(files[at])
    at, named = at[named < 1 - 1e-9], named[named < 1 - 1e-9]
    if len(at):
        bounded = score[at] - own[at]
        by_links = bounded * question.by_links(files[at]) / question.bonus[files[at]]
        bounded = np.where(named < NAMED_ENOUGH, bounded, by_links)
        lifted = best * (1 - ROOM / 2 - ROOM / 2 * best / np.maximum(score[at], best))
        score = score.copy()
        score[at] = np.minimum(score[at], np.maximum(score[at] - bounded, lifted))
    return score, Holders(holders.slots, best)
