"""How well each unit answers a question, from words alone.

Only units that can be among the best are scored: a ceiling is worked out for every stretch (a file, or 64 units of a
long one), and stretches whose ceiling lies below the last place wanted are left out. The result is that of scoring all.
All sums that could depend on the order of past changes are sums of integers, so that equal content gives equal scores.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .boosts import Context, Weights, ceiling_factors, factors
from .corpus import Corpus
from .entries import BLUR, HEADING_ONLY, OFFSETS, REACH
from .fusion import fuse
from .keyword import top
from .keyword_columns import Ints, distinct
from .question import Floats, Question
from .stretches import Stretches, stretches_of

if TYPE_CHECKING:
    from .query_terms import QueryTerms

K1, B = 1.2, 0.75
STRETCH_K1 = 2.0
UNIT = BLUR[0]  # counts are in twentieths of a term
# Evidence below which a result is called weak: rule R of the ledger (section 7) over the best twenty units instead of
# the best one, and set to lose less than a tenth of its true questions (bench/retrieval.py prints the curve).
WEAK = 0.195
DAY_ALONE = 0.01  # of the ideal score: what a unit gets for standing under the day asked for, without a shared word
DIGITS = 6
_SHIFTS = np.array(OFFSETS)[:, None]
_SHARES = np.array([BLUR[abs(offset)] for offset in OFFSETS], np.int64)[:, None]


@dataclass(frozen=True, slots=True)
class Ranked:
    """Slots, best first, with scores from 0 to 1; ``evidence`` is how much of the content words the best hold, 0 to 1.

    ``dated`` says that some stand under a day asked for. ``gap`` is how much nearer the nearest unit is by its vector
    than the average one, as a difference of cosines; 0 without vectors.
    """

    slots: Ints
    scores: Floats
    evidence: float = 0.0
    dated: bool = False
    gap: float = 0.0


@dataclass(frozen=True, slots=True)
class _Scored:
    """Some slots with their scores before they are brought to the range 0 to 1, and their evidence."""

    slots: Ints
    raw: Floats
    evidence: Floats
    dated: bool
    gap: float


def rank(
    corpus: Corpus, query: "QueryTerms", context: Context, weights: Weights, want: int, *, everything: bool = False
) -> Ranked:
    """The best ``want`` units (and all that tie with the last) for a question; ``everything`` leaves nothing out."""
    question = Question(corpus, query, context, weights)
    blocks = stretches_of(corpus)
    stretch_score = _stretch_scores(question)
    days = _days_inside(corpus, context)
    ideal = question.ideal or 1.0
    ceilings = _ceilings(question, blocks, stretch_score, context, weights)
    sure = blocks.with_days(corpus, days)
    # Vectors may speak for any unit, so none is left out.
    found = np.flatnonzero(ceilings if context.dense is None else blocks.living)
    everything |= context.dense is not None
    first = top(ceilings, want) if not everything and want < len(found) else found
    chosen = _chosen(question, blocks, ceilings, first, sure)
    scored = _score(question, chosen, stretch_score, days, context, weights)
    if len(first) < len(found):
        floor = _last_place(scored.raw, want, ideal)
        more = found[(ceilings[found] >= floor) & ~chosen[found]]
        if len(more):
            chosen = _chosen(question, blocks, ceilings, np.concatenate((np.flatnonzero(chosen), more)), sure)
            scored = _score(question, chosen, stretch_score, days, context, weights)
    scores = np.round(scored.raw / (scored.raw + ideal), DIGITS)
    best = top(scores, want)
    best = best[_order(corpus, scored.slots[best], scores[best], context.preferred)]
    proof = float(scored.evidence[best[:20]].max(initial=0.0)) / question.possible if question.possible else 0.0
    return Ranked(scored.slots[best], scores[best], min(proof, 1.0), scored.dated, scored.gap)


def _stretch_scores(question: Question) -> Floats:
    """Step 4: BM25 of each stretch as a whole."""
    corpus = question.corpus
    lengths = corpus.stretch_lengths
    average = int(lengths.sum()) / max(1, corpus.stretches)
    norm = STRETCH_K1 * ((1 - B) + B * lengths / (average or 1.0))
    out = np.zeros(len(lengths))
    for term in question.terms.values():
        at, tf = term.stretches, term.stretch_tf
        out[at] += term.worth * (STRETCH_K1 + 1) * tf / (tf + norm[at])
    return out


def _ceilings(
    question: Question, blocks: Stretches, stretch_score: Floats, context: Context, weights: Weights
) -> Floats:
    """What no unit of a stretch can exceed, by stretch; 0 where nothing is found or nothing is allowed."""
    corpus = question.corpus
    shortest = _norms(corpus, blocks.shortest)
    out = weights.session * stretch_score
    for term in question.terms.values():
        at, tf = blocks.with_neighbours(term.stretches, term.stretch_tf)
        most = UNIT * tf
        out[at] += term.worth * (K1 + 1) * most / (most + shortest[at])
    stretch = corpus.column("stretch")
    for slots, worth in question.pairs:
        counts = np.bincount(stretch[slots], minlength=len(out))
        at = np.flatnonzero(counts)
        at, tf = blocks.with_neighbours(at, counts[at])
        out[at] += worth * tf
    out += question.bonus[blocks.file]
    out *= ceiling_factors(corpus, blocks, question.query, context, weights)
    if context.allowed is not None:
        out[np.bincount(stretch[context.allowed], minlength=len(out)) == 0] = 0
    out[~blocks.living] = 0
    return out * (1 + 1e-9)


def _chosen(question: Question, blocks: Stretches, ceilings: Floats, best: Ints, sure: Ints) -> NDArray[np.bool_]:
    """The stretches to score: the best ones, those that must be, and the rest of files whose bonus is shared out."""
    chosen = np.zeros(len(ceilings), bool)
    chosen[best] = True
    chosen[sure] = True
    whole = np.zeros(len(question.bonus), bool)
    whole[blocks.file[chosen]] = True
    whole &= question.bonus > 0
    return chosen | (whole[blocks.file] & blocks.living)


def _last_place(raw: Floats, want: int, ideal: float) -> float:
    """The raw score of the last place wanted, less what rounding could make equal to it; 0 when there are too few."""
    if len(raw) < want:
        return 0.0
    last = float(np.partition(raw, len(raw) - want)[len(raw) - want])
    return max(0.0, last - 2 * 10**-DIGITS * (last + ideal) ** 2 / ideal)


def _norms(corpus: Corpus, lengths: Ints) -> Floats:
    """The length norm of BM25, for lengths and counts in twentieths."""
    average = corpus.blurred_total / max(1, corpus.units.count)
    return (UNIT * K1 * ((1 - B) + B * lengths / (average or 1.0))).astype(np.float64, copy=False)


def _score(
    question: Question,
    chosen: NDArray[np.bool_],
    stretch_score: Floats,
    days: Ints,
    context: Context,
    weights: Weights,
) -> _Scored:
    """Scores of the units in the chosen stretches that answer at all."""
    corpus = question.corpus
    files, stretch = corpus.column("file"), corpus.column("stretch")
    slots = np.flatnonzero(chosen[stretch] & corpus.units.alive)
    score, evidence = _words(question, slots)
    matched = score > 0
    score = np.where(matched, score + weights.session * stretch_score[stretch[slots]], 0.0)
    if question.bonus.any():
        score = _with_bonus(question, slots, score, weights.session * stretch_score[stretch[slots]])
        evidence = evidence + question.label_evidence(files[slots])
        # What others say about a note is a hint that it fits, no proof.
        hint = 0.5 * WEAK * question.possible
        evidence = np.where(question.hinted[files[slots]], np.maximum(evidence, hint), evidence)
    dated = False
    if len(days):
        ideal = question.ideal or 1.0
        alone = np.isin(corpus.column("day")[slots], days) & (score <= 0)
        # The first unit of each file of the day before the second of any.
        score[alone] = DAY_ALONE * ideal / (1 + corpus.column("number")[slots[alone]])
        evidence[alone] = 0.0
        dated = bool(np.isin(corpus.column("day")[slots], days).any())
    if context.allowed is not None:
        inside = context.allowed[slots]
        slots, score, evidence = slots[inside], score[inside], evidence[inside]
    gap = 0.0
    if context.dense is not None:
        score, gap = fuse(context.dense, slots, score, question.ideal or 1.0)
    keep = score > 0
    slots, score, evidence = slots[keep], score[keep], evidence[keep]
    raw = score * factors(corpus, question.query, context, weights, slots, files[slots])
    return _Scored(slots, raw, evidence, dated, gap)


def _words(question: Question, slots: Ints) -> tuple[Floats, Floats]:
    """Steps 1 to 3 and 5 for some slots, whole stretches: the sum over words and pairs, and the evidence."""
    corpus = question.corpus
    place = corpus.column("place")
    at = place[slots]
    index = np.full(len(corpus.slot_at), -1, np.int32)
    index[at] = np.arange(len(slots))
    near = np.zeros(len(index), bool)
    for shift in OFFSETS:
        near[at + shift] = True
    norm = _norms(corpus, corpus.blurred_lengths[at])

    def spread(where: Ints, counts: Ints) -> Floats:
        where = place[where]
        keep = near[where]
        targets = index[where[keep][None, :] + _SHIFTS].ravel()
        shares = (_SHARES * counts[keep][None, :]).ravel()
        inside = targets >= 0
        return np.bincount(targets[inside], shares[inside], len(slots)).astype(np.float64, copy=False)

    total, evidence = np.zeros(len(slots)), np.zeros(len(slots))
    saturated: dict[str, Floats] = {}
    for name, term in question.terms.items():
        counts = spread(term.slots, term.tf)
        if len(term.heading_slots):
            headed = index[place[term.heading_slots]]
            counts[headed[headed >= 0]] += UNIT
        saturated[name] = (K1 + 1) * counts / (counts + norm)
        total += term.worth * saturated[name]
    for group in question.proving:
        proof = question.terms[group[0]].proof * saturated[group[0]]
        for name in group[1:]:
            proof = np.maximum(proof, question.terms[name].proof * saturated[name])
        evidence += proof
    held = total > 0
    for where, worth in question.pairs:
        total += held * (worth * spread(where, np.ones(len(where), np.int64)) / UNIT)
    return total, evidence


def _with_bonus(question: Question, slots: Ints, score: Floats, whole: Floats) -> Floats:
    """The best unit of a file gets all of its bonus, the others as much as they answer themselves.

    In a file whose units share no word with the question, the first one that is more than a heading stands for it.
    ``whole`` is what a unit gets for its stretch.
    """
    corpus = question.corpus
    file = corpus.column("file")[slots]
    peak = np.zeros(len(question.bonus))
    np.maximum.at(peak, file, score)
    own = peak[file]
    score = score + np.where(own > 0, question.bonus[file] * score / np.where(own > 0, own, 1.0), 0.0)
    bare = (own == 0) & (question.bonus[file] > 0)
    if bare.any():
        flags, number = corpus.column("flags")[slots], corpus.column("number")[slots]
        # Headings after texts, in file order; the first of each file is its head.
        order = np.lexsort((number, flags & HEADING_ONLY, file))
        order = order[bare[order]]
        first = order[np.append(True, file[order][1:] != file[order][:-1])]
        score[first] = question.bonus[file[first]] + whole[first]
    return score


def _days_inside(corpus: Corpus, context: Context) -> Ints:
    """The days asked for that some unit has."""
    if context.closeness is None:
        return np.zeros(0, np.int32)
    day = corpus.column("day")
    days = distinct(day[corpus.units.alive & (day != 0)])
    return np.array([one for one in days.tolist() if context.closeness(one) >= 0.9], np.int32)


def _order(corpus: Corpus, slots: Ints, scores: Floats, preferred: frozenset[int]) -> list[int]:
    """Score, then what the user put first, then path and line."""
    file, first, number = corpus.column("file"), corpus.column("first"), corpus.column("number")

    def key(at: int) -> tuple[float, bool, str, int, int]:
        slot = int(slots[at])
        entry = corpus.by_id[int(file[slot])]
        path = entry.path if entry is not None else ""
        return -scores[at], int(file[slot]) not in preferred, path, int(first[slot]), int(number[slot])

    return sorted(range(len(slots)), key=key)


assert len(BLUR) == REACH + 1
