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
from .keyword import kth_best, top
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
_OWN_SHARE = np.array([UNIT if offset == 0 else 0 for offset in OFFSETS], np.float64)[:, None]
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
    question = Question(corpus, query, context, weights)
    found = candidates(question, context, weights)
    days = days_asked_for(corpus, query, context)
    holders = holders_of(question)
    sure = holders.stretches
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
    corpus, ideal = question.corpus, question.ideal or 1.0
    scores = (scored.raw / (scored.raw + ideal)).round(DIGITS)
    best = top(scores, want)
    best = best.take(_order(corpus, scored.slots.take(best), scores.take(best), context.preferred))
    slots, seen = scored.slots.take(best), best[:PROVING]
    proof = float(_evidence(question, scored, seen).max(initial=0.0)) / question.possible if question.possible else 0.0
    if proof < WEAK and (question.query.identifiers or len(question.groups) == 1):
        proof = max(proof, question.named_outright(slots[:PROVING]))
    return Ranked(slots, scores.take(best), min(proof, 1.0), scored.dated, scored.timely, scored.nearness)


def _evidence(question: Question, scored: _Scored, some: Ints) -> Floats:
    """How much some of the units show of the content words: those they hold, and those in names and links."""
    # Never one column alone, whose sum numpy might take in another order.
    cells = np.concatenate((_ELSEWHERE, scored.cells.take(some)))
    parts = scored.saturated
    held = (parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)).take(cells, axis=1)
    evidence: Floats = np.add.reduce(question.grouped(question.proof[:, None] * held), axis=0)[1:]
    files = question.corpus.column("file").take(scored.slots.take(some))
    evidence += question.label_evidence(files)
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
    last = float(kth_best(raw, want))
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
    sizes = table.column("size").take(chosen)
    ends = sizes.cumsum()
    begins = ends - sizes
    places = (table.column("place").take(chosen) - begins).repeat(sizes)
    places += np.arange(len(places))
    slots = corpus.slot_at.take(places)
    score, saturated = _words(question, chosen, places)
    whole = (weights.session * found.whole_of(chosen)).repeat(sizes)
    score = np.where(score > 0, score + whole, 0.0)
    if len(question.favoured) and len(chosen):
        files = table.column("file").take(chosen)
        counts = sizes
        if np.count_nonzero(table.joined.take(chosen)):
            opens = np.concatenate((_TRUE, files[1:] != files[:-1]))
            files, begins = files[opens], begins[opens]
            counts = np.concatenate((begins[1:], ends[-1:])) - begins
        own, score = score, _with_bonus(question, slots, files, begins, counts, score, whole)
        if len(holders.stretches):
            complete = np.logical_and.reduce(question.grouped(saturated) > 0, axis=0)[1:]
            if context.allowed is not None:
                complete &= context.allowed[slots]
            score, holders = kept_below(question, holders, slots, own, score, complete)
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


def _words(question: Question, chosen: Ints, places: Ints) -> tuple[Floats, Floats]:
    """Steps 1 to 3 and 5 for the units at some places, whole stretches.

    The sum over words and pairs, and how much of each word the units have, with a column in front of theirs.
    """
    corpus, stretches = question.corpus, question.corpus.stretches
    near = np.zeros(stretches.count + 1, bool)  # the last one stands for none
    near[chosen] = True
    if np.count_nonzero(stretches.joined.take(chosen)):
        near[stretches.column("before").take(chosen)] = True
        near[stretches.column("after").take(chosen)] = True
        near[-1] = False
    # The first cell of each row stands for what lies elsewhere, and is left out at the end: rows without a gap between
    # them are added and multiplied in half the time.
    counts = _counted(question, near, places)
    terms = len(question.names)
    norms = np.ones(counts.shape[1])
    norms[1:] = question.norms(corpus.blurred_lengths.take(places))
    saturated = (K1 + 1) * counts[:terms]
    saturated /= counts[:terms] + norms
    total: Floats = np.add.reduce(question.worth[:, None] * saturated, axis=0)
    if len(question.pair_worth):
        more = np.add.reduce((question.pair_worth / UNIT)[:, None] * counts[terms:], axis=0)
        more *= total > 0
        total += more
    return total[1:], saturated


def _counted(question: Question, near: NDArray[np.bool_], places: Ints) -> Floats:
    """How often each term, and then each pair, stands in the units at some places, shared with their neighbours.

    In twentieths, from the postings in the stretches that are marked as ``near``. The first cell of each row is for
    what lies elsewhere.
    """
    corpus, width = question.corpus, len(places) + 1
    at = near.take(question.stretch).nonzero()[0]
    pairs = near.take(question.pair_stretch).nonzero()[0]
    slots = np.concatenate((question.slots.take(at), question.pair_slots.take(pairs)))
    rows = np.concatenate((question.term.take(at), question.pair.take(pairs) + len(question.names)))
    times = np.ones(len(slots))
    times[: len(at)] = question.tf.take(at)
    shares = _SHARES * times
    shares[:, at.searchsorted(question.heads) : len(at)] = _OWN_SHARE  # a heading path counts for its unit alone
    place, index = corpus.column("place"), corpus.scratch(width)
    index[places] = np.arange(width - 1, dtype=index.dtype)
    cells = index.take(place.take(slots) + _SHIFTS)
    index[places] = -1
    targets = cells + (rows * width + 1)
    count = len(question.names) + len(question.pair_worth)
    found = np.bincount(targets.ravel(), shares.ravel(), count * width)
    return found.astype(np.float64, copy=False).reshape(count, width)


def _with_bonus(
    question: Question, slots: Ints, files: Ints, begins: Ints, counts: Ints, score: Floats, whole: Floats
) -> Floats:
    """The best unit of a file gets all of its bonus, the others as much as they answer themselves.

    In a file whose units share no word with the question, the first one that is more than a heading stands for it.
    Units follow each other file by file: ``begins`` is the first of each of the ``files``, ``counts`` how many there
    are. ``whole`` is what a unit gets for its stretch.
    """
    bonus = question.bonus.take(files)
    peak = np.maximum.reduceat(score, begins)
    bare = (peak == 0) & (bonus > 0)
    score = score + bonus.repeat(counts) * score / np.where(peak > 0, peak, 1.0).repeat(counts)
    if np.count_nonzero(bare):
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
    files = corpus.column("file").take(slots).tolist()
    different = list(dict.fromkeys(files))
    paths = dict(zip(different, corpus.files.paths_by_id.some(different), strict=True))
    keys = zip(
        (-ordered.take(tied)).tolist(),
        [file not in preferred for file in files],
        [paths[file] for file in files],
        corpus.column("first").take(slots).tolist(),
        corpus.column("number").take(slots).tolist(),
        some.tolist(),
        strict=True,
    )
    for at, key in zip(tied.tolist(), sorted(keys), strict=True):
        order[at] = key[-1]
    return order
