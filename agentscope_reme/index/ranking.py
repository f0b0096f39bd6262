"""How well each unit answers a question, from words alone.

Only units that can be among the best are scored: a ceiling is worked out for every stretch (a file, or 64 units of a
long one), and stretches whose ceiling lies below the last place wanted are left out. The result is that of scoring all.
All sums that could depend on the order of past changes are sums of integers, so that equal content gives equal scores.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .boosts import Context, Weights, days_asked_for, factors, flag_factors, is_plain, stretches_of_days
from .candidates import Candidates, candidates
from .compiled import kernels
from .corpus import Corpus
from .fusion import NEAR, SURE, Scope, fuse
from .keyword_columns import Ints, are_in, distinct
from .largest import kth_best, top
from .lifted import Holders, holders_of, kept_below
from .order import DIGITS, in_order
from .question import Floats, Question
from .unit_scores import score_units

if TYPE_CHECKING:
    from .query_terms import QueryTerms

# Evidence below which a result is called weak: rule R of the ledger (section 7) over the best twenty units instead of
# the best one, and set to lose less than a tenth of its true questions (bench/retrieval.py prints the curve).
WEAK = 0.195
DAY_ALONE = 0.01  # of the ideal score: what a unit gets for standing under the day asked for, without a shared word
PROVING = 20  # the best units, of which the one with the most evidence counts
CANDIDATES = 256  # of each arm, where vectors take part
_TRUE = np.ones(1, bool)
_ELSEWHERE: Ints = np.zeros(1, np.int64)  # the first cell of each row


@dataclass(frozen=True, slots=True)
class Ranked:
    """Slots, best first, with scores from 0 to 1; ``evidence`` is how much of the content words the best hold, 0 to 1.

    ``dated`` says that some stand under a day asked for, and ``timely`` that this alone makes them an answer
    (see :func:`~.boosts.days_asked_for`). ``nearness`` is how near the nearest unit is by its vector
    (see :func:`~.fusion.fuse`), None where no vectors were asked.
    """

    slots: Ints
    scores: Floats
    evidence: float = 0.0
    dated: bool = False
    timely: bool = False
    nearness: float | None = None

    @property
    def found(self) -> bool:
        """Whether there is anything to show."""
        near = self.nearness is not None and self.nearness >= NEAR
        return len(self.slots) > 0 and (self.evidence > 0 or self.dated or near)

    @property
    def weak(self) -> bool:
        """Whether what was found is probably not about the question."""
        if self.nearness is None:
            return self.evidence < WEAK and not self.timely
        return self.evidence + self.nearness < SURE and not self.timely


@dataclass(frozen=True, slots=True)
class _Scored:
    """Some slots with their scores before they are brought to the range 0 to 1.

    ``saturated`` is how much of each word each of them has, ``cells`` its column there, which is one of several
    matrices side by side. ``alone`` says which have nothing but the day asked for, where a day was.
    """

    slots: Ints
    raw: Floats
    cells: Ints
    saturated: tuple[Floats, ...]
    alone: NDArray[np.bool_] | None
    dated: bool
    timely: bool
    nearness: float | None
    holders: Holders

    def with_others(self, others: "_Scored") -> "_Scored":
        """These and others, where no vectors take part."""
        return _Scored(
            np.concatenate((self.slots, others.slots)),
            np.concatenate((self.raw, others.raw)),
            np.concatenate((self.cells, others.cells + sum(part.shape[1] for part in self.saturated))),
            self.saturated + others.saturated,
            np.concatenate((self.alone, others.alone)) if self.alone is not None and others.alone is not None else None,
            self.dated or others.dated,
            self.timely or others.timely,
            None,
            self.holders,
        )


def rank(
    corpus: Corpus, query: "QueryTerms", context: Context, weights: Weights, want: int, *, everything: bool = False
) -> Ranked:
    """The best ``want`` units (and all that tie with the last) for a question; ``everything`` leaves nothing out."""
    want = int(want)
    question = Question(corpus, query, context, weights)
    found = candidates(question, context, weights)
    days = days_asked_for(corpus, query, context)
    holders = holders_of(question, context)
    sure = corpus.column("stretch")[holders.slots]
    if len(days[0]):
        sure = np.concatenate((stretches_of_days(corpus, days[0]), sure))
    if context.dense is not None:
        return _rank_with_vectors(question, found, days, sure, holders, context, weights, want, everything)
    possible = (found.ceilings > 0).nonzero()[0]
    first = top(found.ceilings, want) if not everything and want < len(possible) else possible
    chosen = _chosen(question, found.stretches[first], sure)
    scored = _score(question, chosen, found, days, holders, context, weights, None)
    if len(first) < len(possible):
        floor = _last_place(scored.raw, want, question.ideal or 1.0)
        more = found.stretches[(found.ceilings >= floor if floor > 0 else found.ceilings > 0).nonzero()[0]]
        seen = np.zeros(corpus.stretches.count, bool)
        seen[chosen] = True
        more = more[~seen[more]]
        if len(more):
            # A file whose bonus is shared out was taken whole: what comes now is of other files.
            chosen = _chosen(question, more, more[:0])
            others = _score(question, chosen, found, days, scored.holders, context, weights, None)
            scored = scored.with_others(others)
    return _best(question, scored, context, want)


def _rank_with_vectors(
    question: Question,
    found: Candidates,
    days: tuple[Ints, Ints],
    sure: Ints,
    holders: Holders,
    context: Context,
    weights: Weights,
    want: int,
    everything: bool,
) -> Ranked:
    """The best units by words and vectors, among stretches that words or vectors put first.

    What vectors add lies at places 50 to 250 by words (hybrid ledger, section 4); what neither arm puts among its first
    ``CANDIDATES`` cannot be among the best but by accident.
    """
    corpus = question.corpus
    assert context.dense is not None
    slots = np.flatnonzero(corpus.units.alive if context.allowed is None else corpus.units.alive & context.allowed)
    scope = Scope.of(context.dense, slots)
    if everything:
        best = np.flatnonzero(corpus.stretches.alive)
    else:
        most = max(CANDIDATES, 2 * want)
        near = corpus.column("stretch")[scope.nearest(slots, most)]
        best = distinct(np.concatenate((found.stretches[top(found.ceilings, most)], near)))
    chosen = _chosen(question, best, sure)
    scored = _score(question, chosen, found, days, holders, context, weights, scope)
    return _best(question, scored, context, want)


def _best(question: Question, scored: _Scored, context: Context, want: int) -> Ranked:
    """The best units of those that were scored, in order."""
    best, scores = in_order(question.corpus, scored.slots, scored.raw, question.ideal or 1.0, want, context.preferred)
    slots, seen = scored.slots.take(best), best[:PROVING]
    proof = _proof(question, scored, slots, seen)
    return Ranked(slots, scores, proof, scored.dated, scored.timely, scored.nearness)


def _proof(question: Question, scored: _Scored, slots: Ints, seen: Ints) -> float:
    """How much of the content words the best units show, of which ``seen`` is where they are; from 0 to 1."""
    proof = float(_evidence(question, scored, seen).max(initial=0.0)) / question.possible if question.possible else 0.0
    enough = WEAK if scored.nearness is None else SURE
    if proof < enough and (question.query.identifiers or len(question.groups) == 1):
        proof = max(proof, question.named_outright(slots[:PROVING]))
    return min(proof, 1.0)


def _evidence(question: Question, scored: _Scored, some: Ints) -> Floats:
    """How much some of the units show of the content words: those they hold, and those in names and links."""
    files = question.corpus.column("file").take(scored.slots.take(some))
    evidence: Floats
    if kernels is not None:
        evidence = question.label_evidence(files)
        parts = scored.saturated
        held = parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)
        kernels.evidence(held, scored.cells.take(some), question.proof, question.proving, evidence)
        return _with_hints(question, scored, some, files, evidence)
    # Never one column alone, whose sum numpy might take in another order.
    cells = np.concatenate((_ELSEWHERE, scored.cells.take(some)))
    parts = scored.saturated
    held = (parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)).take(cells, axis=1)
    evidence = np.add.reduce(question.grouped(question.proof[:, None] * held), axis=0)[1:]
    evidence += question.label_evidence(files)
    return _with_hints(question, scored, some, files, evidence)


def _with_hints(question: Question, scored: _Scored, some: Ints, files: Ints, evidence: Floats) -> Floats:
    if len(question.linked):
        # What others say about a note is a hint that it fits, no proof.
        np.maximum(evidence, 0.5 * WEAK * question.possible * question.are_linked(files), out=evidence)
    if scored.alone is not None:
        evidence[scored.alone.take(some)] = 0.0
    return evidence


def _chosen(question: Question, best: Ints, sure: Ints) -> Ints:
    """The stretches to score: the best ones, those that must be, and the rest of files whose bonus is shared out.

    In the order of their places.
    """
    stretches = question.corpus.stretches
    if kernels is not None:
        best, sure = best.astype(np.int64, copy=False), sure.astype(np.int64, copy=False)
        found: Ints = kernels.chosen(best, sure, question.bonus, question.table, question.table[8])
        return found
    chosen = distinct(np.concatenate((best, sure))) if len(sure) else best
    if np.count_nonzero(stretches.joined.take(chosen)):
        files = stretches.column("file").take(chosen)
        others = stretches.of_files(files[question.bonus[files] > 0])
        chosen = distinct(np.concatenate((chosen, others)))
    return chosen.take(stretches.column("place").take(chosen).argsort(kind="stable"))


def _last_place(raw: Floats, want: int, ideal: float) -> float:
    """The raw score of the last place wanted, less what rounding could make equal to it; 0 when there are too few."""
    if len(raw) < want:
        return 0.0
    last = float(kernels.last_place(raw, want) if kernels is not None else kth_best(raw, want))
    return max(0.0, last - 2 * 10**-DIGITS * (last + ideal) ** 2 / ideal)


def _score(
    question: Question,
    chosen: Ints,
    found: Candidates,
    days: tuple[Ints, Ints],
    holders: Holders,
    context: Context,
    weights: Weights,
    scope: Scope | None,
) -> _Scored:
    """Scores of the units in the chosen stretches that answer at all."""
    corpus = question.corpus
    slots, own, score, saturated = score_units(question, chosen, found, weights)
    if len(holders.slots) and len(chosen):
        score, holders = kept_below(question, holders, slots, own, score)
    if kernels is not None and not len(days[0]) and context.allowed is None and scope is None:
        # What is left is the same for most questions: one loop.
        told = flag_factors(question.query, weights) if is_plain(context) else None
        slots, score, cells = kernels.positive(slots, score, corpus.column("flags"), told)
        if told is None:
            score *= factors(corpus, question.query, context, weights, slots)
        return _Scored(slots, score, cells, (saturated,), None, False, False, None, holders)
    dated, timely, alone = False, False, None
    if len(days[0]):
        ideal = question.ideal or 1.0
        on_day = are_in(corpus.column("day")[slots], days[0])
        some = on_day.nonzero()[0]
        later = _places_in_day(corpus, slots.take(some))
        without = score.take(some) <= 0
        # The first unit of each file and day before the second of any.
        score[some[without]] = DAY_ALONE * ideal / (1.0 + later[without])
        alone = np.zeros(len(slots), bool)
        alone[some[without]] = True
        dated = bool(on_day.any())
        timely = bool(are_in(corpus.column("day")[slots], days[1]).any())
    cells = np.arange(1, len(slots) + 1)
    if context.allowed is not None:
        cells = cells[context.allowed[slots]]
        slots, score = slots[cells - 1], score[cells - 1]
        alone = alone[cells - 1] if alone is not None else None
    nearness = None
    if scope is not None:
        score, nearness = fuse(scope, slots, score, question.ideal or 1.0)
    keep = (score > 0).nonzero()[0]
    slots, score, cells = slots.take(keep), score.take(keep), cells.take(keep)
    alone = alone.take(keep) if alone is not None else None
    score *= factors(corpus, question.query, context, weights, slots)
    return _Scored(slots, score, cells, (saturated,), alone, dated, timely, nearness, holders)


def _places_in_day(corpus: Corpus, slots: Ints) -> Ints:
    """How many units of its file and day stand before each of some units, which follow each other file by file."""
    file, day, number = (corpus.column(name).take(slots) for name in ("file", "day", "number"))
    if not len(slots):
        return number
    opens = np.concatenate((_TRUE, (file[1:] != file[:-1]) | (day[1:] != day[:-1])))
    first: Ints = number[opens]
    return number - first[opens.cumsum() - 1]
