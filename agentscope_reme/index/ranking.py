"""How well each unit answers a question, from words alone.

Only units that can be among the best are scored: a ceiling is worked out for every stretch (a file, or 64 units of a
long one), and stretches whose ceiling lies below the last place wanted are left out. The result is that of scoring all.
All sums that could depend on the order of past changes are sums of integers, so that equal content gives equal scores.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .boosts import Context, Weights, days_asked_for, factors, stretches_of_days
from .candidates import Candidates, candidates
from .corpus import Corpus
from .entries import BLUR, HEADING_ONLY, OFFSETS
from .fusion import NEAR, SURE, Scope, fuse
from .keyword import top
from .keyword_columns import Ints, are_in, distinct
from .lifted import Holders, holders_of, kept_below
from .question import K1, UNIT, Floats, Question

if TYPE_CHECKING:
    from .query_terms import QueryTerms

# Evidence below which a result is called weak: rule R of the ledger (section 7) over the best twenty units instead of
# the best one, and set to lose less than a tenth of its true questions (bench/retrieval.py prints the curve).
WEAK = 0.195
DAY_ALONE = 0.01  # of the ideal score: what a unit gets for standing under the day asked for, without a shared word
DIGITS = 6
PROVING = 20  # the best units, of which the one with the most evidence counts
CANDIDATES = 256  # of each arm, where vectors take part
_SHIFTS = np.array(OFFSETS)[:, None]
_SHARES = np.array([BLUR[abs(offset)] for offset in OFFSETS], np.float64)[:, None]
_TRUE = np.ones(1, bool)


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
    """Some slots with their scores before they are brought to the range 0 to 1, and their evidence."""

    slots: Ints
    raw: Floats
    evidence: Floats
    dated: bool
    timely: bool
    nearness: float | None
    holders: Holders

    def with_others(self, others: "_Scored") -> "_Scored":
        """These and others, where no vectors take part."""
        return _Scored(
            np.concatenate((self.slots, others.slots)),
            np.concatenate((self.raw, others.raw)),
            np.concatenate((self.evidence, others.evidence)),
            self.dated or others.dated,
            self.timely or others.timely,
            None,
            self.holders,
        )


def rank(
    corpus: Corpus, query: "QueryTerms", context: Context, weights: Weights, want: int, *, everything: bool = False
) -> Ranked:
    """The best ``want`` units (and all that tie with the last) for a question; ``everything`` leaves nothing out."""
    question = Question(corpus, query, context, weights)
    found = candidates(question, context, weights)
    days = days_asked_for(corpus, query, context)
    holders = holders_of(question)
    sure = np.concatenate((stretches_of_days(corpus, days[0]), holders.stretches))
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
    corpus, ideal = question.corpus, question.ideal or 1.0
    scores = (scored.raw / (scored.raw + ideal)).round(DIGITS)
    best = top(scores, want)
    best = best[_order(corpus, scored.slots[best], scores[best], context.preferred)]
    seen = best[:PROVING]
    proof = float(scored.evidence[seen].max(initial=0.0)) / question.possible if question.possible else 0.0
    if proof < WEAK and (question.query.identifiers or len(question.groups) == 1):
        proof = max(proof, question.named_outright(scored.slots[seen]))
    return Ranked(scored.slots[best], scores[best], min(proof, 1.0), scored.dated, scored.timely, scored.nearness)


def _chosen(question: Question, best: Ints, sure: Ints) -> Ints:
    """The stretches to score: the best ones, those that must be, and the rest of files whose bonus is shared out.

    In the order of their places.
    """
    stretches = question.corpus.stretches
    chosen = distinct(np.concatenate((best, sure))) if len(sure) else best
    if stretches.joined[chosen].any():
        files = stretches.column("file")[chosen]
        others = stretches.of_files(files[question.bonus[files] > 0])
        chosen = distinct(np.concatenate((chosen, others)))
    return chosen[stretches.column("place")[chosen].argsort(kind="stable")]


def _last_place(raw: Floats, want: int, ideal: float) -> float:
    """The raw score of the last place wanted, less what rounding could make equal to it; 0 when there are too few."""
    if len(raw) < want:
        return 0.0
    last = float(np.partition(raw, len(raw) - want)[len(raw) - want])
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
    corpus, table = question.corpus, question.corpus.stretches
    sizes = table.column("size")[chosen]
    ends = sizes.cumsum()
    begins = ends - sizes
    places = np.arange(int(sizes.sum())) + (table.column("place")[chosen] - begins).repeat(sizes)
    slots = corpus.slot_at.take(places)
    score, evidence, complete = _words(question, chosen, places, len(holders.stretches) > 0)
    whole = (weights.session * found.whole_of(chosen)).repeat(sizes)
    score = np.where(score > 0, score + whole, 0.0)
    if len(question.favoured) and len(chosen):
        files = table.column("file")[chosen]
        counts = sizes
        if table.joined[chosen].any():
            opens = np.concatenate((_TRUE, files[1:] != files[:-1]))
            files, begins = files[opens], begins[opens]
            counts = np.concatenate((begins[1:], ends[-1:])) - begins
        own, score = score, _with_bonus(question, slots, files, begins, counts, score, whole)
        if len(holders.stretches):
            if context.allowed is not None:
                complete &= context.allowed[slots]
            score, holders = kept_below(question, holders, slots, own, score, complete)
        evidence += question.label_evidence(files).repeat(counts)
        if question.links:
            # What others say about a note is a hint that it fits, no proof.
            hint = 0.5 * WEAK * question.possible * (question.linked[files] > 0)
            evidence = np.maximum(evidence, hint.repeat(counts))
    dated = timely = False
    if len(days[0]):
        ideal = question.ideal or 1.0
        on_day = are_in(corpus.column("day")[slots], days[0])
        some = on_day.nonzero()[0]
        later = _places_in_day(corpus, slots.take(some))
        without = score.take(some) <= 0
        alone = some[without]
        # The first unit of each file and day before the second of any.
        score[alone] = DAY_ALONE * ideal / (1.0 + later[without])
        evidence[alone] = 0.0
        dated = bool(on_day.any())
        timely = bool(are_in(corpus.column("day")[slots], days[1]).any())
    if context.allowed is not None:
        inside = context.allowed[slots]
        slots, score, evidence = slots[inside], score[inside], evidence[inside]
    nearness = None
    if scope is not None:
        score, nearness = fuse(scope, slots, score, question.ideal or 1.0)
    keep = (score > 0).nonzero()[0]
    slots, score, evidence = slots.take(keep), score.take(keep), evidence.take(keep)
    score *= factors(corpus, question.query, context, weights, slots)
    return _Scored(slots, score, evidence, dated, timely, nearness, holders)


def _places_in_day(corpus: Corpus, slots: Ints) -> Ints:
    """How many units of its file and day stand before each of some units, which follow each other file by file."""
    file, day, number = (corpus.column(name).take(slots) for name in ("file", "day", "number"))
    if not len(slots):
        return number
    opens = np.concatenate((_TRUE, (file[1:] != file[:-1]) | (day[1:] != day[:-1])))
    first: Ints = number[opens]
    return number - first[opens.cumsum() - 1]


def _words(question: Question, chosen: Ints, places: Ints, whole: bool) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Steps 1 to 3 and 5 for the units at some places, whole stretches.

    The sum over words and pairs, the evidence, and, where ``whole`` asks for it, which units hold every content word.
    """
    corpus, stretches = question.corpus, question.corpus.stretches
    near = np.zeros(stretches.count + 1, bool)  # the last one stands for none
    near[chosen] = True
    if stretches.joined[chosen].any():
        near[stretches.column("before")[chosen]] = True
        near[stretches.column("after")[chosen]] = True
        near[-1] = False
    width, terms = len(places), len(question.names)
    counts = _counted(question, near, places)
    paired = counts[terms:]
    counts = counts[:terms]
    saturated = (K1 + 1) * counts
    saturated /= counts + question.norms(corpus.blurred_lengths.take(places))
    total: Floats = np.add.reduce(np.array(question.worth)[:, None] * saturated, axis=0)
    if len(paired):
        more = np.add.reduce((question.pair_worth / UNIT)[:, None] * paired, axis=0)
        more *= total > 0
        total += more
    if not question.proving:
        return total, np.zeros(width), np.ones(width, bool)
    proof = proofs = np.array(question.proof)[:, None] * saturated
    if question.proving != [[term] for term in range(terms)]:  # not simply all terms
        proof = proofs[[group[0] for group in question.proving]]
        for row, group in zip(proof, question.proving, strict=True):
            for other in group[1:]:
                np.maximum(row, proofs[other], out=row)
    evidence: Floats = np.add.reduce(proof, axis=0)
    complete = np.logical_and.reduce(proof > 0, axis=0) if whole else _TRUE
    return total, evidence, complete


def _counted(question: Question, near: NDArray[np.bool_], places: Ints) -> Floats:
    """How often each term, and then each pair, stands in the units at some places, shared with their neighbours.

    In twentieths, from the postings in the stretches that are marked as ``near``.
    """
    corpus = question.corpus
    width, terms = len(places), len(question.names)
    at = near.take(question.stretch).nonzero()[0]
    bodies = at[: at.searchsorted(question.heads)]
    heads = at[len(bodies) :]
    pairs = near.take(question.pair_stretch).nonzero()[0]
    slots = np.concatenate((question.slots.take(bodies), question.pair_slots.take(pairs)))
    rows = np.concatenate((question.term.take(bodies), question.pair.take(pairs) + terms))
    times = np.ones(len(slots))
    times[: len(bodies)] = question.tf.take(bodies)
    place, index = corpus.column("place"), corpus.scratch(width)
    index[places] = np.arange(width, dtype=index.dtype)
    # One cell more before each row, for what lies elsewhere.
    targets = index.take(place.take(slots) + _SHIFTS) + (rows * (width + 1) + 1)
    own = index.take(place.take(question.slots.take(heads)))
    index[places] = -1
    count = terms + len(question.pair_worth)
    cells = np.bincount(targets.ravel(), (_SHARES * times).ravel(), count * (width + 1))
    out = cells.astype(np.float64, copy=False).reshape(count, width + 1)[:, 1:]
    inside = own >= 0
    out[question.term[heads[inside]], own[inside]] += UNIT
    return out


def _with_bonus(
    question: Question, slots: Ints, files: Ints, begins: Ints, counts: Ints, score: Floats, whole: Floats
) -> Floats:
    """The best unit of a file gets all of its bonus, the others as much as they answer themselves.

    In a file whose units share no word with the question, the first one that is more than a heading stands for it.
    Units follow each other file by file: ``begins`` is the first of each of the ``files``, ``counts`` how many there
    are. ``whole`` is what a unit gets for its stretch.
    """
    bonus = question.bonus[files]
    peak = np.maximum.reduceat(score, begins)
    bare = (peak == 0) & (bonus > 0)
    score = score + bonus.repeat(counts) * score / np.where(peak > 0, peak, 1.0).repeat(counts)
    if bare.any():
        some = bare.repeat(counts).nonzero()[0]
        file = np.arange(len(files)).repeat(counts)[some]
        # Headings after texts, in file order; the first of each file is its head.
        order = (2 * file + (question.corpus.column("flags")[slots[some]] & HEADING_ONLY > 0)).argsort(kind="stable")
        file, some = file[order], some[order]
        opens = np.concatenate((_TRUE, file[1:] != file[:-1]))
        first = some[opens]
        score[first] = bonus[file[opens]] + whole[first]
    return score


def _order(corpus: Corpus, slots: Ints, scores: Floats, preferred: frozenset[int]) -> list[int]:
    """Score, then what the user put first, then path and line."""
    sorted_by = (-scores).argsort(kind="stable")
    ordered = scores.take(sorted_by)
    as_before = np.zeros(len(ordered) + 1, bool)
    np.equal(ordered[1:], ordered[:-1], out=as_before[1:-1])
    tied = (as_before[1:] | as_before[:-1]).nonzero()[0]
    order: list[int] = sorted_by.tolist()
    if not len(tied):
        return order
    some = sorted_by.take(tied)
    slots = slots.take(some)
    files = corpus.column("file")[slots].tolist()
    paths = {file: corpus.files.paths_by_id[file] for file in set(files)}
    keys = zip(
        (-ordered.take(tied)).tolist(),
        [file not in preferred for file in files],
        [paths[file] for file in files],
        corpus.column("first")[slots].tolist(),
        corpus.column("number")[slots].tolist(),
        some.tolist(),
        strict=True,
    )
    for at, key in zip(tied.tolist(), sorted(keys), strict=True):
        order[at] = key[-1]
    return order
