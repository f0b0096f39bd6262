"""The stretches in which a question finds anything, and what no unit of each can exceed.

Most of a vault's stretches hold no word of a question: nothing here is as long as the vault but a few marks.
"""

from dataclasses import dataclass

import numpy as np

from .boosts import Context, Weights, by_flags, ceiling_factors
from .compiled import kernels
from .keyword_columns import Ints
from .question import K1, STRETCH_K1, UNIT, B, Floats, Question
from .stretches import Stretches


@dataclass(frozen=True, slots=True)
class Candidates:
    """Some stretches, ascending, with their score as a whole (step 4) and their ceiling.

    Every other stretch has a score and a ceiling of 0.
    """

    stretches: Ints
    whole: Floats
    ceilings: Floats

    def whole_of(self, stretches: Ints) -> Floats:
        """The scores of some stretches as wholes, candidates or not."""
        if not len(self.stretches):
            return np.zeros(len(stretches))
        at = self.stretches.searchsorted(stretches)
        whole: Floats = self.whole.take(at, mode="clip")
        whole *= self.stretches.take(at, mode="clip") == stretches
        return whole


def candidates(question: Question, context: Context, weights: Weights) -> Candidates:
    """What a question finds, stretch by stretch; a ceiling of 0 where a filter allows nothing."""
    corpus, table = question.corpus, question.corpus.stretches
    if kernels is not None:
        return _compiled(question, context, weights)
    at, tf, pairs_at = question.sum_stretch, question.sum_tf.astype(np.float64), question.pair_stretch
    pair_worth = question.pair_worth.take(question.pair)
    worth = question.worth.take(question.sum_term)

    # The words of the stretch before and after reach over; what saturates apart is no less than what saturates joined.
    found = np.zeros(table.count, bool)
    found[at] = True
    found[pairs_at] = True
    reached, reaching = _beside(table, at)
    paired, pairing = _beside(table, pairs_at)
    found[reached] = True
    found[paired] = True
    found[table.of_files(question.favoured)] = True
    stretches = found.nonzero()[0]
    index = np.empty(table.count, np.intp)
    count = len(stretches)
    index[stretches] = np.arange(count)

    average = table.total / max(1, table.living)
    own = index.take(at)
    norm = table.column("length").take(at).astype(np.float64)
    norm *= STRETCH_K1 * B / (average or 1.0)
    norm += STRETCH_K1 * (1 - B)
    norm += tf
    # Added up term by term, whatever the stretches' numbers.
    worth *= tf
    whole = np.bincount(own, worth * (STRETCH_K1 + 1) / norm, count).astype(np.float64, copy=False)

    ceilings = weights.session * whole
    shortest = question.norms(table.column("shortest").take(stretches))
    most, gain = UNIT * tf, worth * (UNIT * (K1 + 1))
    ceilings += np.bincount(own, gain / (most + shortest.take(own)), count)
    if len(reached):
        to = index.take(reached)
        reach = gain.take(reaching)
        reach /= most.take(reaching) + shortest.take(to)
        ceilings += np.bincount(to, reach, count)
    if len(pairs_at):
        if len(paired):
            pairs_at = np.concatenate((pairs_at, paired))
            pair_worth = np.concatenate((pair_worth, pair_worth.take(pairing)))
        ceilings += np.bincount(index.take(pairs_at), pair_worth, count)
    ceilings += question.bonus.take(table.column("file").take(stretches))
    ceilings *= ceiling_factors(corpus, question.query, context, weights, stretches)
    if context.allowed is not None:
        allowed = np.zeros(table.count, bool)
        allowed[corpus.column("stretch")[context.allowed]] = True
        ceilings[~allowed[stretches]] = 0
    ceilings *= 1 + 1e-9
    return Candidates(stretches, whole, ceilings)


def _compiled(question: Question, context: Context, weights: Weights) -> Candidates:
    """The same by compiled loops."""
    assert kernels is not None
    corpus, table = question.corpus, question.corpus.stretches
    average = table.total / max(1, table.living) or 1.0
    least, more = question.norm
    when = weights.when if question.query.asks_when else 0.0
    special = context.closeness is not None or context.named or context.preferred
    stretches, whole, ceilings = kernels.candidates(
        question.sum_stretch,
        question.sum_term,
        question.sum_tf,
        question.worth,
        question.pair_stretch,
        question.pair,
        question.pair_worth,
        question.favoured,
        question.bonus,
        question.table,
        None if special else by_flags(when, weights.corrects, 0.0, 0.0),
        STRETCH_K1 * B / average,
        STRETCH_K1 * (1 - B),
        more,
        least,
        STRETCH_K1,
        K1,
        UNIT,
        weights.session,
    )
    if special:
        ceilings *= ceiling_factors(corpus, question.query, context, weights, stretches)
        ceilings *= 1 + 1e-9
    if context.allowed is not None:
        allowed = np.zeros(table.count, bool)
        allowed[corpus.column("stretch")[context.allowed]] = True
        ceilings[~allowed[stretches]] = 0
    return Candidates(stretches, whole, ceilings)


def _beside(table: Stretches, at: Ints) -> tuple[Ints, Ints]:
    """The stretches before and after some, and for each of them which of those it is beside."""
    some = table.joined.take(at).nonzero()[0]
    if not len(some):
        return some, some
    here = at.take(some)
    there = np.concatenate((table.column("before").take(here), table.column("after").take(here)))
    has = (there >= 0).nonzero()[0]
    return there.take(has), np.concatenate((some, some)).take(has)
