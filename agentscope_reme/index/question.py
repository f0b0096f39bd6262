"""A question against a corpus: where its terms stand, how much each tells, and what files' names say of it.

Steps and constants are those of the retrieval ledger, section 4 (configuration C), which measured them on dialogues,
and of its sections 5 and 9.4 for what notes have besides. ``docs/search.md`` has the formula.
"""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .boosts import Context, Weights
from .corpus import Corpus
from .entries import BLUR, HEADING
from .keyword import top
from .keyword_columns import Ints

if TYPE_CHECKING:
    from .query_terms import QueryTerms

Floats = NDArray[np.float64]

K1, B = 1.2, 0.75
STRETCH_K1 = 2.0
UNIT = BLUR[0]  # counts are in twentieths of a term
LEAST_RARITY = 0.1  # of the rarest word's idf, below which damping goes no further
_TRUE = np.ones(1, bool)
_NONE: Ints = np.zeros(0, np.uint16)
MOST_TITLES = 100  # files whose names are compared with the question letter by letter


def idf(count: int, total: int) -> float:
    """Lucene's: ``ln(1 + (N - n + 0.5) / (n + 0.5))``."""
    return math.log(1 + (total - count + 0.5) / (count + 0.5))


def following(first: Ints, second: Ints) -> Ints:
    """Slots in which ``second`` stands one or two places after ``first``; ascending, distinct.

    Both are ``slot << 16 | place`` of every occurrence, ascending.
    """
    if not len(first) or not len(second):
        return first[:0]
    if len(first) <= len(second):
        at = second.searchsorted(first, "right")
        at[at == len(second)] = 0
        gap = second[at] - first
        hits = first[(gap > 0) & (gap <= 2)]
    else:
        at = first.searchsorted(second) - 1
        gap = second - first[at]
        hits = second[(gap > 0) & (gap <= 2)]
    slots = hits >> 16
    return slots[np.concatenate((_TRUE, slots[1:] != slots[:-1]))] if len(slots) else slots


def _joined(parts: Sequence[Ints]) -> Ints:
    return np.concatenate((*parts, _NONE))


def _shared(body: Ints, head: Ints) -> int:
    """How many slots are in both; both ascending and distinct."""
    if not len(body) or not len(head):
        return 0
    at = body.searchsorted(head)
    at[at == len(body)] = 0
    return int(np.count_nonzero(body[at] == head))


class Question:
    """What a question finds in a corpus, before units are scored.

    ``names`` are its terms and ``worth`` and ``proof``, parallel to them, how much each tells and what it counts as
    evidence. The postings of all terms lie in ``slots``, ``tf`` and ``term`` (the term's number), those of a unit's
    heading path after the others, from ``heads`` on; ``stretch`` is where each posting lies. The same summed up by term
    and stretch: ``sum_term``, ``sum_stretch``, ``sum_tf``.

    ``groups`` are the content words with their alternatives, those that count as evidence in ``proving``, all as
    numbers of terms. ``pairs`` are the slots where two neighbouring words of the question follow each other, with what
    that is worth. ``ideal`` is the score of a unit that holds every word as often as it likes; ``possible`` the same
    for the evidence. ``bonus`` (by file id) comes from names, fields and links; only the files in ``favoured`` have
    any. ``linked`` is the part of it that comes from others' links.
    """

    def __init__(self, corpus: Corpus, query: "QueryTerms", context: Context, weights: Weights) -> None:
        self.corpus, self.query, self._context, self._weights = corpus, query, context, weights
        self._units = corpus.units.count
        self._rarest = idf(1, self._units)
        self.names = query.terms
        self._number = {name: number for number, name in enumerate(query.terms)}
        self._found: list[int] = []  # how many units have each term, in their text or heading path
        self._gather()
        self._sum_by_stretch()
        self._weigh()
        known = self._number
        named = [group for group in query.groups if group[0] not in context.name_terms] or list(query.groups)
        self.proving = [[known[name] for name in group] for group in named]
        self.groups = [[known[name] for name in group] for group in query.groups]
        self.pairs = self._pairs() if weights.pairs else []
        self.ideal = 2.2 * self._most()
        self._all_proof = sum(max(self.proof[at] for at in group) for group in self.proving)
        self.possible = 2.2 * self._all_proof
        self.linked = np.zeros(len(corpus.by_id))
        self._labelled: list[Ints] = []  # slots of the labels that have a term, by the term's number
        self._label_proof: Floats | None = None
        self.bonus, self.favoured = self._bonus()

    def label_evidence(self, files: Ints) -> Floats:
        """What the names and fields of some files show: a word there counts like one in a unit of average length."""
        if self._label_proof is None:
            proof = np.zeros(len(self.corpus.by_id))
            for group in self.proving:
                found = [self._labelled[at] for at in group]
                slots = np.concatenate(found) if len(found) > 1 else found[0]
                if len(slots):
                    has = self.corpus.label_files(slots)
                    proof[has] += max(self.proof[at] for at in group)  # once, also where a file is named twice
            self._label_proof = proof
        return self._label_proof[files]

    def named_in_full(self, files: Ints) -> NDArray[np.bool_]:
        """Whether the names and fields of some files hold every content word."""
        return self.label_evidence(files) >= self._all_proof * (1 - 1e-9)

    def norms(self, lengths: Ints) -> Floats:
        """The length norm of BM25, for lengths and counts in twentieths."""
        average = self.corpus.blurred_total / max(1, self.corpus.units.count)
        return (UNIT * K1 * ((1 - B) + B * lengths / (average or 1.0))).astype(np.float64, copy=False)

    def _most(self) -> float:
        grouped = {at for group in self.groups for at in group}
        alone = sum(worth for at, worth in enumerate(self.worth) if at not in grouped)
        return alone + sum(max(self.worth[at] for at in group) for group in self.groups)

    # --- postings -------------------------------------------------------------------------------------------------

    def _gather(self) -> None:
        """The postings of all terms, one after the other, those of heading paths last."""
        units = self.corpus.units
        bodies: list[tuple[Ints, Ints]] = []
        heads: list[Ints] = []
        self._occurrences: list[tuple[Ints, Ints, Ints] | None] = []  # by term; None for one that was expanded
        for name in self.names:
            found = units.postings_with(name) if name in self.query.single_chars else None
            if found is not None and len(found[0]):
                bodies.append(found)  # a single Chinese character is looked for inside all terms
                heads.append(found[0][:0])
                self._occurrences.append(None)
            else:
                slots, tf, positions = units.column(name)
                self._occurrences.append((slots, tf, positions))
                bodies.append((slots, tf))
                heads.append(units.postings(HEADING + name)[0])
            body, head = bodies[-1][0], heads[-1]
            self._found.append(len(body) + len(head) - _shared(body, head))
        numbers = np.arange(len(self.names), dtype=np.int32)
        self._in_text = [len(part) for part, _ in bodies]
        sizes = self._in_text + [len(part) for part in heads]
        self.heads = sum(self._in_text)
        self.slots = _joined([*(part for part, _ in bodies), *heads])
        self.tf = np.ones(len(self.slots), np.int32)
        self.tf[: self.heads] = _joined([tf for _, tf in bodies])
        self.term = np.repeat(np.concatenate((numbers, numbers)), sizes)
        self.stretch = self.corpus.column("stretch")[self.slots]

    def _sum_by_stretch(self) -> None:
        """Counts by term and stretch. Postings follow the files, so that a stable sort finds them nearly sorted."""
        key = self.term * np.int64(self.corpus.stretches.count) + self.stretch
        tf, at = self.tf, None
        changes = key[1:] - key[:-1]
        if len(changes) and int(changes.min()) < 0:
            at = np.argsort(key, kind="stable")
            key, tf = key[at], tf[at]
            changes = key[1:] != key[:-1]
        begins = np.flatnonzero(np.concatenate((_TRUE, changes))) if len(key) else np.zeros(0, np.int64)
        first = begins if at is None else at[begins]
        self.sum_term, self.sum_stretch = self.term[first], self.stretch[first]
        self.sum_tf = np.add.reduceat(tf, begins) if len(begins) else tf

    def _weigh(self) -> None:
        """Step 3: idf over stretches, with the edge taken off rare words.

        The fewer stretches there are, the less their idf can tell words apart, and the more the units' counts instead;
        the ledger's collections have 19 and more, where this changes little.
        """
        total, damping = self.corpus.stretches.living, self._weights.damping
        spread = np.bincount(self.sum_term, minlength=len(self.names)).tolist()
        self.worth: list[float] = []
        self.proof: list[float] = []
        for count, stretches, weight in zip(self._found, spread, self.query.weights, strict=True):
            rarity = idf(count, self._units)
            over_both = (total * idf(stretches, total) + rarity) / (total + 1)
            self.worth.append(weight * over_both * max(rarity / self._rarest, LEAST_RARITY) ** -damping)
            self.proof.append(weight * rarity)

    def _pairs(self) -> list[tuple[Ints, float]]:
        """Step 5: neighbouring content words that follow each other in a unit, at most one word between."""
        places: dict[str, Ints] = {}
        for name in dict.fromkeys(name for pair in self.query.pairs for name in pair):
            slots, tf, positions = self._occurrences[self._number[name]] or self.corpus.units.column(name)
            places[name] = np.repeat(slots.astype(np.int64) << 16, tf) | positions
        out = []
        for first, second in dict.fromkeys(self.query.pairs):
            slots = following(places[first], places[second])
            if len(slots):
                count = max(self._in_text[self._number[first]], self._in_text[self._number[second]])
                out.append((slots, self._weights.pairs * idf(count, self._units)))
        return out

    # --- files ----------------------------------------------------------------------------------------------------

    def _bonus(self) -> tuple[Floats, Ints]:
        """Names, fields and links, by file id; and the files that have any."""
        corpus, context, weights = self.corpus, self._context, self._weights
        bonus = np.zeros(len(corpus.by_id))
        scores, self._labelled = corpus.labels.matches(self.names)
        slots = np.flatnonzero(scores > 0)
        files = corpus.label_files(slots)
        labels = scores[slots].astype(np.float64)
        bonus[files] = weights.labels * labels
        if context.titles is not None and weights.whole_title and len(files):
            likely = files[top(labels, MOST_TITLES)]
            bonus[likely] += weights.whole_title * np.array(context.titles(likely))
        if context.resolve is not None and context.linked is not None and weights.anchors:
            paths, values = corpus.anchors.answers(self.names, context.resolve)
            linked = context.linked(paths)
            values, linked = values[linked >= 0], linked[linked >= 0]
            self.linked[linked] = weights.anchors * values
            bonus[linked] += self.linked[linked]
            files = np.concatenate((files, linked))
        return bonus, files
