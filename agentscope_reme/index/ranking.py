"""How well each unit answers a question, from words alone.

Steps and constants are those of the retrieval ledger, section 4 (configuration C), which measured them on dialogues,
and of its section 9.4 for what notes have besides: title, aliases, headings, tags. ``docs/search.md`` has the formula.
All sums that could depend on the order of past changes are sums of integers, so that equal content gives equal scores.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .boosts import Context, Weights, factors
from .corpus import BLUR, HEADING, HEADING_ONLY, OFFSETS, REACH, Corpus
from .keyword import top
from .keyword_columns import Ints

if TYPE_CHECKING:
    from .query_terms import QueryTerms

Floats = NDArray[np.float64]

K1, B = 1.2, 0.75
STRETCH_K1 = 2.0
LEAST_RARITY = 0.1  # of the rarest word's idf, below which damping goes no further
UNIT = BLUR[0]  # counts are in twentieths of a term
# Evidence below which a result is called weak: rule R of the ledger (section 7) over the best twenty units instead of
# the best one, and set to lose less than a tenth of its true questions (bench/retrieval.py prints the curve).
WEAK = 0.195
_SHIFTS = np.array(OFFSETS)[:, None]
_SHARES = np.array([BLUR[abs(offset)] for offset in OFFSETS], np.int64)[:, None]


@dataclass(frozen=True, slots=True)
class Ranked:
    """Slots, best first, with scores from 0 to 1; ``evidence`` is rule R of the ledger for the best of them.

    ``missing`` are the content words that no file has. ``dated`` says that some were admitted for their day alone.
    """

    slots: Ints
    scores: Floats
    evidence: float = 0.0
    missing: tuple[str, ...] = ()
    dated: bool = False


@dataclass(slots=True)
class _Term:
    """One term of the question: its places and counts among units, and its counts among files."""

    places: Ints
    tf: Ints
    heading_places: Ints
    stretch_tf: Ints
    idf: float  # over units
    worth: float  # how much the word tells
    weight: float


def idf(count: int, total: int) -> float:
    """Lucene's: ``ln(1 + (N - n + 0.5) / (n + 0.5))``."""
    return math.log(1 + (total - count + 0.5) / (count + 0.5))


def rank(corpus: Corpus, query: "QueryTerms", context: Context, weights: Weights, want: int) -> Ranked:
    """The best ``want`` units (and all that tie with the last) for a question."""
    scorer = _Scorer(corpus, weights)
    terms = {
        name: scorer.character(name) if name in query.single_chars else scorer.term(name, weight)
        for name, weight in zip(query.terms, query.weights, strict=True)
    }
    names = context.name_terms
    if all(group[0] in names for group in query.groups):
        names = frozenset()
    scorer.add_terms(terms, query.groups, names)
    scorer.add_pairs(query.pairs)
    base = scorer.total
    found = np.flatnonzero(base > 0)
    found = found[corpus.slot_at[found] >= 0]
    slots = corpus.slot_at[found]
    files = corpus.column("file")[slots]
    score = base[found] + weights.session * scorer.stretch_score[corpus.column("stretch")[slots]]
    evidence = scorer.evidence[found]

    labels = scorer.labels(query.terms)
    bonus = weights.labels * labels
    if context.titles is not None and weights.whole_title:
        likely = top(labels, 200)
        if len(likely):
            bonus[likely] += weights.whole_title * np.array(context.titles(likely.tolist()))
    known = np.zeros(len(bonus), bool)
    if context.resolve is not None and weights.anchors:
        for path, value in corpus.anchors.scores(list(query.terms), context.resolve).items():
            entry = corpus.files.get(path)
            if entry is not None:
                bonus[entry.id] += weights.anchors * value
                known[entry.id] = True
    if bonus.any():
        # The best unit of a file has all of the bonus, the others as much as they answer themselves.
        peak = np.zeros(len(bonus))
        np.maximum.at(peak, files, score)
        score = score + bonus[files] * score / peak[files]
        covered = np.zeros(len(bonus), bool)
        covered[files] = True
        heads = scorer.heads(np.flatnonzero((bonus > 0) & ~covered))
        slots = np.concatenate((slots, heads))
        more = corpus.column("file")[heads]
        files = np.concatenate((files, more))
        score = np.concatenate(
            (score, bonus[more] + weights.session * scorer.stretch_score[corpus.column("stretch")[heads]])
        )
        evidence = np.concatenate((evidence, np.zeros(len(heads))))
        evidence = evidence + scorer.label_evidence(query.groups, terms, names)[files]
        # What others say about a note is a hint that it fits, no proof.
        hint = 0.5 * WEAK * (K1 + 1) * scorer.evidence_total
        evidence = np.where(known[files], np.maximum(evidence, hint), evidence)

    ideal = scorer.ideal or 1.0
    dated = False
    if context.closeness is not None:
        slots, score, evidence, dated = _admit_days(corpus, context, slots, score, evidence, ideal)
        files = corpus.column("file")[slots]
    if context.allowed is not None:
        keep = context.allowed[slots]
        slots, files, score, evidence = slots[keep], files[keep], score[keep], evidence[keep]
    score = score * factors(corpus, query, context, weights, slots, files)
    score = np.round(score / (score + ideal), 6)
    best = top(score, want)
    order = _order(corpus, slots[best], score[best], context.preferred)
    best = best[order]
    possible = (K1 + 1) * scorer.evidence_total
    proof = float(evidence[best[:20]].max(initial=0.0)) / possible if possible else 0.0
    return Ranked(slots[best], score[best], min(proof, 1.0), scorer.missing(query.groups, terms), dated)


class _Scorer:
    """The sums of one question."""

    def __init__(self, corpus: Corpus, weights: Weights) -> None:
        self.corpus, self.weights = corpus, weights
        size = len(corpus.slot_at)
        self.total: Floats = np.zeros(size)
        self.evidence: Floats = np.zeros(size)
        self.stretch_score: Floats = np.zeros(len(corpus.stretch_lengths))
        self.ideal = 0.0
        self.evidence_total = 0.0
        self._units = corpus.units.count
        average = corpus.blurred_total / max(1, self._units)
        self._norm = UNIT * K1 * ((1 - B) + B * corpus.blurred_lengths / (average or 1.0))
        lengths = corpus.stretch_lengths
        average = int(lengths.sum()) / max(1, corpus.stretches)
        self._stretch_norm = STRETCH_K1 * ((1 - B) + B * lengths / (average or 1.0))
        self._rarest = idf(1, self._units)

    def term(self, name: str, weight: float) -> _Term:
        return self._look_up(*self.corpus.units.postings(name), self.corpus.units.postings(HEADING + name)[0], weight)

    def character(self, char: str) -> _Term:
        """A single Chinese character, looked for inside all terms; an occurrence may lie in two of them."""
        found = [self.corpus.units.postings(t) for t in self.corpus.units.vocabulary if char in t and t[0] != HEADING]
        if not found:
            return self.term(char, 1.0)
        slots, tf = (np.concatenate(part) for part in zip(*found, strict=True))
        order = np.argsort(slots, kind="stable")
        slots, tf = slots[order], tf[order]
        begins = np.flatnonzero(np.append(True, slots[1:] != slots[:-1])) if len(slots) else slots
        tf = np.maximum.reduceat(tf, begins) if len(begins) else tf
        return self._look_up(slots[begins], tf, slots[:0], 1.0)

    def _look_up(self, slots: Ints, tf: Ints, heading_slots: Ints, weight: float) -> _Term:
        place, stretch = self.corpus.column("place"), self.corpus.column("stretch")
        size = len(self.stretch_score)
        stretch_tf = np.bincount(stretch[slots], tf, size)
        count = len(slots)
        if len(heading_slots):
            stretch_tf = stretch_tf + np.bincount(stretch[heading_slots], minlength=size)
            count = len(np.union1d(slots, heading_slots))
        rarity = idf(count, self._units)
        return _Term(
            places=place[slots],
            tf=tf,
            heading_places=place[heading_slots],
            stretch_tf=stretch_tf,
            idf=rarity,
            worth=self._worth(rarity, int(np.count_nonzero(stretch_tf))),
            weight=weight,
        )

    def _worth(self, rarity: float, stretches: int) -> float:
        """Step 3: idf over stretches, with the edge taken off rare words.

        The fewer stretches there are, the less their idf can tell words apart, and the more the units' counts instead;
        the ledger's collections have 19 and more, where this changes nothing.
        """
        total = self.corpus.stretches
        over_both = (total * idf(stretches, total) + rarity) / (total + 1)
        return over_both * max(rarity / self._rarest, LEAST_RARITY) ** -self.weights.damping

    def add_terms(self, terms: dict[str, _Term], groups: Sequence[Sequence[str]], names: frozenset[str]) -> None:
        """Steps 1 to 4. A group is a word with its alternatives; the evidence is over groups, without ``names``."""
        gain = {name: term.weight * term.worth for name, term in terms.items()}
        found = {name: self._add_term(term, gain[name]) for name, term in terms.items()}
        grouped = {name for group in groups for name in group}
        self.ideal = (K1 + 1) * (
            sum(max(gain[name] for name in group) for group in groups)
            + sum(worth for name, worth in gain.items() if name not in grouped)
        )
        for group in groups:
            if group[0] in names:
                continue
            self.evidence_total += max(terms[name].weight * terms[name].idf for name in group)
            proof = np.zeros(len(self.total)) if len(group) > 1 else self.evidence
            for name in group:
                at, saturated = found[name]
                worth = terms[name].weight * terms[name].idf * saturated
                if len(group) > 1:
                    proof[at] = np.maximum(proof[at], worth)
                else:
                    proof[at] += worth
            if len(group) > 1:
                self.evidence += proof

    def _add_term(self, term: _Term, worth: float) -> tuple[Ints, Floats]:
        if not len(term.places) and not len(term.heading_places):
            return np.zeros(0, np.int64), np.zeros(0)
        counts = spread(term.places, term.tf, len(self.total))
        if len(term.heading_places):
            counts[term.heading_places] += UNIT
        at = np.flatnonzero(counts)
        count = counts[at]
        saturated = (K1 + 1) * count / (count + self._norm[at])
        self.total[at] += worth * saturated
        where = np.flatnonzero(term.stretch_tf)
        tf = term.stretch_tf[where]
        self.stretch_score[where] += worth * (STRETCH_K1 + 1) * tf / (tf + self._stretch_norm[where])
        return at, saturated

    def add_pairs(self, pairs: Sequence[tuple[str, str]]) -> None:
        """Step 5: neighbouring content words of the question that follow each other, at most one word between."""
        if not self.weights.pairs:
            return
        place = self.corpus.column("place")
        units = self.corpus.units
        for first, second in dict.fromkeys(pairs):
            slots = following(units.occurrences(first), units.occurrences(second))
            if len(slots):
                rarity = min(idf(len(units.postings(term)[0]), self._units) for term in (first, second))
                counts = spread(place[slots], np.ones(len(slots), np.int64), len(self.total))
                at = np.flatnonzero((counts > 0) & (self.total > 0))
                self.total[at] += self.weights.pairs * rarity * counts[at] / UNIT

    def labels(self, terms: Sequence[str]) -> Floats:
        """BM25 of each file's names and fields, by file id."""
        out = np.zeros(len(self.corpus.by_id))
        scores = self.corpus.labels.scores(list(terms))
        slots = np.flatnonzero(scores)
        out[self.corpus.label_files(slots)] = scores[slots]
        return out

    def label_evidence(self, groups: Sequence[Sequence[str]], terms: dict[str, _Term], names: frozenset[str]) -> Floats:
        """What a file's names and fields show of the question: a word there counts like one in an average unit."""
        out = np.zeros(len(self.corpus.by_id))
        labels = self.corpus.labels
        for group in groups:
            if group[0] not in names:
                has = np.zeros(len(out), bool)
                for name in group:
                    has[self.corpus.label_files(labels.postings(name)[0])] = True
                out[has] += max(terms[name].weight * terms[name].idf for name in group)
        return out

    def heads(self, files: Ints) -> Ints:
        """The unit that stands for a file as a whole: its first one that is more than a heading."""
        out = []
        flags = self.corpus.column("flags")
        for number in files.tolist():
            entry = self.corpus.by_id[number]
            if entry is not None and len(entry.slots):
                text = np.flatnonzero(flags[entry.slots[:8]] & HEADING_ONLY == 0)
                out.append(int(entry.slots[text[0] if len(text) else 0]))
        return np.array(out, np.int64)

    def missing(self, groups: Sequence[Sequence[str]], terms: dict[str, _Term]) -> tuple[str, ...]:
        """Content words that no file has."""
        labels = self.corpus.labels
        return tuple(
            group[0]
            for group in groups
            if not any(terms[name].stretch_tf.any() or len(labels.postings(name)[0]) for name in group)
        )


def spread(places: Ints, counts: Ints, size: int) -> Floats:
    """Counts with their shares at neighbouring places, in twentieths; whole numbers."""
    targets = (places[None, :] + _SHIFTS).ravel()
    return np.bincount(targets, (_SHARES * counts[None, :]).ravel(), size).astype(np.float64, copy=False)


def following(first: tuple[Ints, Ints], second: tuple[Ints, Ints]) -> Ints:
    """Slots in which ``second`` stands one or two places after ``first``; ascending, distinct."""
    left = first[0].astype(np.int64) << 16 | first[1]
    right = second[0].astype(np.int64) << 16 | second[1]
    if not len(left) or not len(right):
        return left[:0]
    hits = [_members(left + gap, right) - gap for gap in (1, 2)]
    return np.unique(np.concatenate(hits) >> 16)


def _members(one: Ints, other: Ints) -> Ints:
    """Elements of ``one`` that are in ``other``; both ascending."""
    if len(one) > len(other):
        one, other = other, one
    at = np.searchsorted(other, one)
    at[at == len(other)] = 0
    return one[other[at] == one]


def _admit_days(
    corpus: Corpus, context: Context, slots: Ints, score: Floats, evidence: Floats, ideal: float
) -> tuple[Ints, Floats, Floats, bool]:
    """Add the units of the days asked for that share no word with the question, below those that do."""
    assert context.closeness is not None
    day = corpus.column("day")
    days = np.unique(day[corpus.units.alive & (day != 0)])
    inside = np.array([one for one in days.tolist() if context.closeness(one) >= 0.9], np.int32)
    if not len(inside):
        return slots, score, evidence, False
    of_day = corpus.units.alive & np.isin(day, inside)
    of_day[slots] = False
    more = np.flatnonzero(of_day)
    near = np.array([context.closeness(one) for one in day[more].tolist()])
    # The first unit of each file of the day before the second of any.
    low = 0.01 * ideal * near / (1 + corpus.column("number")[more])
    return (
        np.concatenate((slots, more)),
        np.concatenate((score, low)),
        np.concatenate((evidence, np.zeros(len(more)))),
        True,
    )


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
