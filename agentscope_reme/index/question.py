"""A question against a corpus: where its terms stand, how much each tells, and what files' names say of it.

Steps and constants are those of the retrieval ledger, section 4 (configuration C), which measured them on dialogues,
and of its sections 5 and 9.4 for what notes have besides. ``docs/search.md`` has the formula.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .boosts import Context, Weights
from .corpus import Corpus
from .entries import HEADING
from .keyword import top
from .keyword_columns import Ints, distinct

if TYPE_CHECKING:
    from .query_terms import QueryTerms

Floats = NDArray[np.float64]

LEAST_RARITY = 0.1  # of the rarest word's idf, below which damping goes no further
MOST_TITLES = 100  # files whose names are compared with the question letter by letter


@dataclass(frozen=True, slots=True)
class Term:
    """One term: its slots and counts in units, the slots with it in their heading path, stretches and counts there."""

    slots: Ints
    tf: Ints
    heading_slots: Ints
    stretches: Ints
    stretch_tf: Ints
    idf: float  # over units
    worth: float  # how much the word tells, times its weight in the question
    proof: float  # what it counts as evidence


def idf(count: int, total: int) -> float:
    """Lucene's: ``ln(1 + (N - n + 0.5) / (n + 0.5))``."""
    return math.log(1 + (total - count + 0.5) / (count + 0.5))


def following(first: tuple[Ints, Ints], second: tuple[Ints, Ints]) -> Ints:
    """Slots in which ``second`` stands one or two places after ``first``; ascending, distinct."""
    left = first[0].astype(np.int64) << 16 | first[1]
    right = second[0].astype(np.int64) << 16 | second[1]
    if not len(left) or not len(right):
        return left[:0]
    hits = [_members(left + gap, right) - gap for gap in (1, 2)]
    return distinct(np.concatenate(hits) >> 16)


def _members(one: Ints, other: Ints) -> Ints:
    """Elements of ``one`` that are in ``other``; both ascending."""
    if len(one) > len(other):
        one, other = other, one
    at = np.searchsorted(other, one)
    at[at == len(other)] = 0
    return one[other[at] == one]


class Question:
    """What a question finds in a corpus, before units are scored.

    ``groups`` are its content words with their alternatives, those that count as evidence in ``proving``. ``pairs`` are
    the slots where two neighbouring words of the question follow each other, with what that is worth. ``ideal`` is the
    score of a unit that holds every word as often as it likes; ``possible`` the same for the evidence. ``bonus`` (by
    file id) comes from names, fields and links; ``hinted`` are the files that others' links speak for.
    """

    def __init__(self, corpus: Corpus, query: "QueryTerms", context: Context, weights: Weights) -> None:
        self.corpus, self.query, self._context, self._weights = corpus, query, context, weights
        self._units = corpus.units.count
        self._rarest = idf(1, self._units)
        self.terms = {
            name: self._character(name, weight) if name in query.single_chars else self._term(name, weight)
            for name, weight in zip(query.terms, query.weights, strict=True)
        }
        self.groups = query.groups
        names = context.name_terms
        self.proving = [group for group in query.groups if group[0] not in names] or list(query.groups)
        self.pairs = self._pairs() if weights.pairs else []
        self.ideal = 2.2 * self._most([term.worth for term in self.terms.values()])
        self.possible = 2.2 * sum(max(self.terms[name].proof for name in group) for group in self.proving)
        self.hinted = np.zeros(len(corpus.by_id), bool)
        self._label_proof: Floats | None = None
        self.bonus = self._bonus()

    def label_evidence(self, files: Ints) -> Floats:
        """What the names and fields of some files show: a word there counts like one in a unit of average length."""
        if self._label_proof is None:
            proof = np.zeros(len(self.corpus.by_id))
            labels = self.corpus.labels
            for group in self.proving:
                found = [labels.postings(name)[0] for name in group if name in labels]
                if found:
                    has = distinct(self.corpus.label_files(np.concatenate(found)))
                    proof[has] += max(self.terms[name].proof for name in group)
            self._label_proof = proof
        return self._label_proof[files]

    def _most(self, worths: Sequence[float]) -> float:
        by_name = dict(zip(self.terms, worths, strict=True))
        grouped = {name for group in self.groups for name in group}
        alone = sum(worth for name, worth in by_name.items() if name not in grouped)
        return alone + sum(max(by_name[name] for name in group) for group in self.groups)

    def _term(self, name: str, weight: float) -> Term:
        units = self.corpus.units
        slots, tf = units.postings(name)
        return self._counted(slots, tf, units.postings(HEADING + name)[0], weight)

    def _character(self, char: str, weight: float) -> Term:
        """A single Chinese character, looked for inside all terms; an occurrence may lie in two of them."""
        found = [self.corpus.units.postings(term) for term in self.corpus.units.terms_with(char)]
        found = [pair for pair in found if len(pair[0])]
        if not found:
            return self._term(char, weight)
        slots, tf = (np.concatenate(part) for part in zip(*found, strict=True))
        order = np.argsort(slots, kind="stable")
        slots, tf = slots[order], tf[order]
        begins = np.flatnonzero(np.append(True, slots[1:] != slots[:-1]))
        return self._counted(slots[begins], np.maximum.reduceat(tf, begins), slots[:0], weight)

    def _counted(self, slots: Ints, tf: Ints, heading_slots: Ints, weight: float) -> Term:
        stretch = self.corpus.column("stretch")
        size = len(self.corpus.stretch_lengths)
        stretch_tf = np.bincount(stretch[slots], tf, size)
        count = len(slots)
        if len(heading_slots):
            stretch_tf = stretch_tf + np.bincount(stretch[heading_slots], minlength=size)
            count = len(distinct(np.concatenate((slots, heading_slots))))
        stretches = np.flatnonzero(stretch_tf)
        rarity = idf(count, self._units)
        worth = weight * self._worth(rarity, len(stretches))
        return Term(slots, tf, heading_slots, stretches, stretch_tf[stretches], rarity, worth, weight * rarity)

    def _worth(self, rarity: float, stretches: int) -> float:
        """Step 3: idf over stretches, with the edge taken off rare words.

        The fewer stretches there are, the less their idf can tell words apart, and the more the units' counts instead;
        the ledger's collections have 19 and more, where this changes little.
        """
        total = self.corpus.stretches
        over_both = (total * idf(stretches, total) + rarity) / (total + 1)
        return over_both * max(rarity / self._rarest, LEAST_RARITY) ** -self._weights.damping

    def _pairs(self) -> list[tuple[Ints, float]]:
        """Step 5: neighbouring content words that follow each other in a unit, at most one word between."""
        units = self.corpus.units
        out = []
        for first, second in dict.fromkeys(self.query.pairs):
            slots = following(units.occurrences(first), units.occurrences(second))
            if len(slots):
                counts = [len(self.terms[name].slots) for name in (first, second) if name in self.terms]
                out.append((slots, self._weights.pairs * idf(max(counts, default=1), self._units)))
        return out

    def _bonus(self) -> Floats:
        """Names, fields and links, by file id."""
        corpus, context, weights = self.corpus, self._context, self._weights
        scores = corpus.labels.scores(list(self.query.terms))
        slots = np.flatnonzero(scores)
        labels = np.zeros(len(corpus.by_id))
        labels[corpus.label_files(slots)] = scores[slots]
        bonus = weights.labels * labels
        if context.titles is not None and weights.whole_title:
            likely = top(labels, MOST_TITLES)
            if len(likely):
                bonus[likely] += weights.whole_title * np.array(context.titles(likely.tolist()))
        if context.resolve is not None and weights.anchors:
            for path, value in corpus.anchors.scores(list(self.query.terms), context.resolve).items():
                entry = corpus.files.get(path)
                if entry is not None:
                    bonus[entry.id] += weights.anchors * value
                    self.hinted[entry.id] = True
        return bonus
