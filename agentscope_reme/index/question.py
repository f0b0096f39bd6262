"""A question against a corpus: where its terms stand, how much each tells, and what files' names say of it.

Steps and constants are those of the retrieval ledger, section 4 (configuration C), which measured them on dialogues,
and of its sections 5 and 9.4 for what notes have besides. ``docs/search.md`` has the formula.
"""

import math
from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .boosts import Context, Weights
from .compiled import kernels
from .corpus import Corpus
from .entries import BLUR, HEADING, TITLE
from .following import following, quoting
from .keyword_columns import Ints
from .largest import top

if TYPE_CHECKING:
    from .query_terms import QueryTerms

Floats = NDArray[np.float64]

K1, B = 1.2, 0.75
SATURATED = 2.2  # a word that stands as often as one likes
STRETCH_K1 = 2.0
UNIT = BLUR[0]  # counts are in twentieths of a term
LEAST_TELLING = 100  # units; with fewer, a word that none has would outweigh all others
LEAST_RARITY = 0.1  # of the rarest word's idf, below which damping goes no further
_NO_SLOTS: Ints = np.zeros(0, np.int32)
MOST_TITLES = 100  # files whose names are compared with the question letter by letter


def idf(count: int, total: int) -> float:
    """Lucene's: ``ln(1 + (N - n + 0.5) / (n + 0.5))``."""
    return math.log(1 + (total - count + 0.5) / (count + 0.5))


def _shared(body: Ints, head: Ints) -> int:
    """How many slots are in both; both ascending and distinct, neither empty."""
    return int(np.count_nonzero(body.take(body.searchsorted(head), mode="clip") == head))


def _summed(keys: Ints, counts: Ints) -> tuple[Ints, Ints]:
    """The different keys, ascending, and the sum of the counts of each, which is below 2^31."""
    if not len(keys):
        return keys, counts.astype(np.int32)
    if np.count_nonzero(keys[1:] < keys[:-1]):  # postings follow the files, so that they are nearly sorted
        order = np.argsort(keys, kind="stable")
        keys, counts = keys.take(order), counts.take(order)
    ends = np.ones(len(keys), bool)
    np.not_equal(keys[1:], keys[:-1], out=ends[:-1])
    last = ends.nonzero()[0]
    # Where the sum of all counts is larger, the differences are right all the same.
    sums = counts.astype(np.int32, copy=False).cumsum(dtype=np.int32).take(last)
    sums[1:] -= sums[:-1].copy()
    return keys.take(last), sums


class Question:
    """What a question finds in a corpus, before units are scored.

    ``names`` are its terms and ``worth`` and ``proof``, parallel to them, how much each tells and what it counts as
    evidence. The postings of all terms lie in ``slots``, ``tf`` and ``term`` (the term's number), those of a unit's
    heading path after the others, from ``heads`` on; ``stretch`` is where each posting lies. The same summed up by term
    and stretch: ``sum_term``, ``sum_stretch``, ``sum_tf``.

    ``groups`` are the content words with their alternatives, those that count as evidence in ``proving``, all as
    numbers of terms. ``pair_slots`` are where two neighbouring words of the question follow each other, ``pair`` which
    two these are and ``pair_worth`` what each two are worth; ``pair_stretch`` is where each of these slots lies. What
    the question quotes is among these pairs; ``quoting`` are the slots that hold all of it, and ``quoted_share`` is
    how much of all content words it is, by worth.
    ``ideal`` is the score of a unit that holds every word as often as it likes; ``possible`` the same for the evidence.
    ``bonus`` (by file id) comes from names, fields and links; only the files in ``favoured`` have any. ``linked`` are
    those of which others' links speak, each once.
    """

    def __init__(self, corpus: Corpus, query: "QueryTerms", context: Context, weights: Weights) -> None:
        self.corpus, self.query, self._context, self._weights = corpus, query, context, weights
        self._units = corpus.units.count
        self.table = corpus.stretches.columns() if kernels is not None else ()
        self._rarest = idf(1, self._units)
        average = corpus.blurred.total / max(1, self._units) or 1.0
        self.norm = UNIT * K1 * (1 - B), UNIT * K1 * B / average
        self.names = query.terms
        self._number = {name: number for number, name in enumerate(query.terms)}
        self._found: list[int] = []  # how many units have each term, in their text or heading path
        self._gather()
        self._weigh()
        known = self._number
        named = [group for group in query.groups if group[0] not in context.name_terms] or list(query.groups)
        self.proving = [[known[name] for name in group] for group in named]
        self.groups = [[known[name] for name in group] for group in query.groups]
        self.pair_slots, self.pair_stretch, self.pair = _NO_SLOTS, _NO_SLOTS, _NO_SLOTS
        self.pair_worth = np.zeros(0)
        if weights.pairs:
            self._find_pairs()
        self.quoting, self.quoted_share = _NO_SLOTS, 0.0
        if query.phrases and weights.phrases:
            self._find_quotations()
        self.ideal = SATURATED * (self._alone() + self._most(self.groups))
        self._all_proof = sum(max(self._proof[at] for at in group) for group in self.proving)
        self.possible = SATURATED * self._all_proof
        self.linked, self._by_links = _NO_SLOTS, np.zeros(0)
        self._label_proof: Floats | None = None
        self.bonus, self.favoured = self._bonus()

    def label_evidence(self, files: Ints) -> Floats:
        """What the names and fields of some files show: a word there counts like one in a unit of average length."""
        if kernels is not None:
            found, label_file, count = self._labels, self.corpus.label_file, len(self.corpus.by_id)
            shown: Floats = kernels.label_evidence(
                found.slots, found.sizes, label_file, self.proof, self.proving, files, count
            )
            return shown
        if self._label_proof is None:
            found, label_files = self._labels, self.corpus.label_files
            proof = self._label_proof = np.zeros(len(self.corpus.by_id))
            alone = np.zeros(len(self.names))
            for group in self.proving:
                if len(group) == 1:
                    alone[group[0]] = self.proof[group[0]]
                else:
                    slots = np.concatenate([found.of_term(at) for at in group])
                    # Once, also where several of them are found.
                    proof[label_files(slots)] += max(self.proof[at] for at in group)
            if len(found.slots):
                np.add.at(proof, label_files(found.slots), alone.repeat(found.sizes))
        return self._label_proof.take(files)

    def by_links(self, files: Ints) -> Floats:
        """The part of the bonus of some files that comes from others' links."""
        bonus = np.zeros(len(self.corpus.by_id))
        bonus[self.linked] = self._by_links
        return bonus.take(files)

    def are_linked(self, files: Ints) -> NDArray[np.bool_]:
        """Of which of some files others' links speak."""
        marks = np.zeros(len(self.corpus.by_id), bool)
        marks[self.linked] = True
        return marks.take(files)

    @property
    def term(self) -> Ints:
        """The number of each posting's term."""
        numbers = np.arange(len(self.names), dtype=np.int32)
        return np.concatenate((numbers, numbers)).repeat(self.sizes)

    def grouped(self, proofs: Floats) -> Floats:
        """Of rows by term the best of each content word's alternatives, by content word."""
        if self.proving == [[term] for term in range(len(proofs))]:  # simply all terms
            return proofs
        best = proofs.take([group[0] for group in self.proving], axis=0)
        for row, group in enumerate(self.proving):
            for other in group[1:]:
                np.maximum(best[row], proofs[other], out=best[row])
        return best

    def _postings(self, group: Sequence[int]) -> list[Ints]:
        """The slots of units with each of some terms, in their text and in their heading path."""
        ends, count = [0, *accumulate(self.sizes)], len(self.names)
        return [self.slots[ends[row] : ends[row + 1]] for at in group for row in (at, at + count)]

    def units_with(self, group: Sequence[int]) -> Ints:
        """The units that hold any of some terms in their text or heading path, some more than once."""
        return np.concatenate(self._postings(group))

    def are_with(self, group: Sequence[int], slots: Ints) -> NDArray[np.bool_]:
        """Which of a few units these are."""
        found = np.zeros(len(slots), bool)
        for postings in self._postings(group):
            if len(postings):
                found |= postings.take(postings.searchsorted(slots), mode="clip") == slots
        return found

    def found(self, group: Sequence[int]) -> int:
        """How often some terms stand in texts, heading paths, names and fields: each once in each unit and file."""
        return sum(self._in_text[at] + self.sizes[at + len(self.names)] + self._labels.sizes[at] for at in group)

    def called(self, group: Sequence[int]) -> Ints:
        """The files that have any of some terms in their title, an alias or their name."""
        labels, found = self._labels, []
        for at in group:
            begin = sum(labels.sizes[:at])
            span = slice(begin, begin + labels.sizes[at])
            found.append(labels.slots[span][labels.tf[span] >= TITLE])
        return self.corpus.label_files(np.concatenate(found))

    def named_outright(self, slots: Ints) -> float:
        """The evidence of the one among some units that has most of the identifiers asked for, or the only word.

        From 0 to 1. They are there or not, however often and however long the text around them is.
        """
        outright = {self._number[name] for name in self.query.identifiers}
        if len(self.groups) == 1:
            outright.add(self.groups[0][0])
        shown = np.zeros(len(slots))
        for group in self.proving:
            most = np.zeros(len(slots))
            for at in outright.intersection(group):
                has = np.isin(slots, self.slots[self.term == at])
                most[has] = np.maximum(most[has], self.proof[at])
            shown += most
        return float(shown.max(initial=0.0)) / self._all_proof if self._all_proof else 0.0

    def named_share(self, files: Ints) -> Floats:
        """How much of the content words, by what they count as evidence, the names and fields of some files hold."""
        return self.label_evidence(files) / (self._all_proof or 1.0)

    def norms(self, lengths: Ints) -> Floats:
        """The length norm of BM25, for lengths and counts in twentieths."""
        least, more = self.norm
        norms = lengths.astype(np.float64)  # first: numpy multiplies numbers of two kinds in small pieces
        norms *= more
        norms += least
        return norms

    def _most(self, groups: Sequence[Sequence[int]]) -> float:
        return sum(max(self._worth[at] for at in group) for group in groups)

    def _alone(self) -> float:
        grouped = {at for group in self.groups for at in group}
        return sum(worth for at, worth in enumerate(self._worth) if at not in grouped)

    # --- postings -------------------------------------------------------------------------------------------------

    def _gather(self) -> None:
        """The postings of all terms, one after the other, those of heading paths last."""
        units, names, count = self.corpus.units, self.names, len(self.names)
        found = self._gathered = units.gather([*names, *(HEADING + name for name in names)])
        sizes, slots, tf = found.sizes, found.slots, found.tf
        for name in self.query.single_chars:
            # A single Chinese character is looked for inside all terms.
            holding, times = units.postings_with(name)
            if len(holding):
                slots, tf, sizes = self._instead(self._number[name], holding, times, slots, tf, sizes)
        self.sizes, self._in_text = sizes, sizes[:count]
        self.heads = sum(self._in_text)
        self.slots, self.tf = slots, tf
        if kernels is not None:
            self.slots, self.tf = slots, tf = slots.astype(np.int32, copy=False), tf.astype(np.int32, copy=False)
            self.stretch, self.sum_term, self.sum_stretch, self.sum_tf, self._found, self._spread = (
                kernels.sum_by_stretch(slots, tf, sizes, self.corpus.column("stretch"))
            )
            return
        self.tf[self.heads :] = 1
        self.stretch = self.corpus.column("stretch").take(slots).astype(np.intp)
        body, head = 0, self.heads
        for own, above in zip(self._in_text, sizes[count:], strict=True):
            shared = _shared(slots[body : body + own], slots[head : head + above]) if own and above else 0
            self._found.append(own + above - shared)
            body += own
            head += above
        self._sum_by_stretch()

    def _instead(
        self, number: int, holding: Ints, times: Ints, slots: Ints, tf: Ints, sizes: list[int]
    ) -> tuple[Ints, Ints, list[int]]:
        """Postings of all terms with others for one, which then has none of heading paths."""
        ends, head = [0, *accumulate(sizes)], number + len(self.names)
        sizes = [*sizes]
        out = []
        for values, new in ((slots, holding), (tf, times)):
            parts = [values[: ends[number]], new, values[ends[number + 1] : ends[head]], values[ends[head + 1] :]]
            out.append(np.concatenate(parts))
        sizes[number], sizes[head] = len(holding), 0
        return out[0], out[1], sizes

    def _sum_by_stretch(self) -> None:
        """Counts by term and stretch."""
        numbers = np.arange(len(self.names), dtype=np.int64) << 32
        keys = np.concatenate((numbers, numbers)).repeat(self.sizes)
        keys |= self.stretch
        sums, counts = _summed(keys[: self.heads], self.tf[: self.heads])
        if self.heads < len(keys):
            more, times = _summed(keys[self.heads :], self.tf[self.heads :])
            at = sums.searchsorted(more)
            alike = sums.take(at, mode="clip") == more if len(sums) else np.zeros(len(more), bool)
            counts[at[alike]] += times[alike]
            others = (~alike).nonzero()[0]
            if len(others):
                sums, counts = np.concatenate((sums, more.take(others))), np.concatenate((counts, times.take(others)))
        self.sum_term, self.sum_stretch, self.sum_tf = sums >> 32, sums & 0xFFFFFFFF, counts
        self._spread = np.bincount(self.sum_term, minlength=len(self.names)).tolist()

    def _weigh(self) -> None:
        """Step 3: idf over stretches, with the edge taken off rare words.

        The fewer stretches there are, the less their idf can tell words apart, and the more the units' counts instead;
        the ledger's collections have 19 and more, where this changes little.
        """
        total, damping = self.corpus.stretches.living, self._weights.damping
        worth: list[float] = []
        proof: list[float] = []
        for count, stretches, weight in zip(self._found, self._spread, self.query.weights, strict=True):
            rarity = idf(count, self._units)
            over_both = (total * idf(stretches, total) + rarity) / (total + 1)
            worth.append(weight * over_both * max(rarity / self._rarest, LEAST_RARITY) ** -damping)
            proof.append(weight * (rarity if self._units >= LEAST_TELLING else idf(count, LEAST_TELLING)))
        self.worth, self.proof = np.array(worth), np.array(proof)
        self._worth, self._proof = worth, proof

    def _find_pairs(self) -> None:
        """Step 5: neighbouring content words that follow each other in a unit, at most one word between."""
        units, number = self.corpus.units, self._number
        pairs = [(number[first], number[second]) for first, second in dict.fromkeys(self.query.pairs)]
        if not pairs:
            return
        keys, sizes = units.occurrences(self._gathered.first(len(self.names)))
        self.pair_slots, self.pair = following(keys, sizes, pairs)
        self._locate_pairs()
        text, weight = self._in_text, self._weights.pairs
        self.pair_worth = np.array([weight * idf(max(text[one], text[two]), self._units) for one, two in pairs])

    def _locate_pairs(self) -> None:
        self.pair_stretch = self.corpus.column("stretch").take(self.pair_slots)
        if kernels is None:
            self.pair_stretch = self.pair_stretch.astype(np.intp)

    def _find_quotations(self) -> None:
        """What stands in quotation marks counts like a pair, and as much as its words can."""
        phrases, first = self.query.phrases, len(self.pair_worth)
        slots, number, self.quoting = quoting(self.corpus.units, phrases)
        self.pair_slots = np.concatenate((self.pair_slots, slots))
        self.pair = np.concatenate((self.pair, number + np.int32(first)))
        inside = [[group for group in self.groups if self.names[group[0]] in phrase] for phrase in phrases]
        worth = [self._weights.phrases * SATURATED * self._most(groups) for groups in inside]
        self.pair_worth = np.concatenate((self.pair_worth, worth))
        self._locate_pairs()
        quoted = [group for group in self.groups if any(group in groups for groups in inside)]
        self.quoted_share = self._most(quoted) / (self._most(self.groups) or 1.0)

    # --- files ----------------------------------------------------------------------------------------------------

    def _label_weights(self) -> list[float]:
        """What words count in names: those that only stand inside an identifier as much as in texts, others fully."""
        inside, query = self.query.identifier_parts, self.query
        return (
            [w if name in inside else 1.0 for name, w in zip(query.terms, query.weights, strict=True)] if inside else []
        )

    def _bonus(self) -> tuple[Floats, Ints]:
        """Names, fields and links, by file id; and the files that have any."""
        corpus, context, weights = self.corpus, self._context, self._weights
        bonus = np.zeros(len(corpus.by_id))
        self._labels = corpus.labels.gather(self.names)
        slots, scores = corpus.labels.scored(self._labels, self._label_weights())
        files: Ints
        if kernels is not None:
            file_of = corpus.label_file
            files, likely = kernels.label_bonus(bonus, slots, scores, file_of, weights.labels, MOST_TITLES)
        else:
            files, labels = corpus.label_files(slots).astype(np.intp), scores.astype(np.float64)
            bonus[files] = weights.labels * labels
            likely = files.take(top(labels, MOST_TITLES))
        if context.titles is not None and weights.whole_title and len(files):
            bonus[likely] += weights.whole_title * np.array(context.titles(likely))
        if context.resolve is not None and context.linked is not None and weights.anchors:
            paths, values = corpus.anchors.answers(self.names, context.resolve)
            linked = context.linked(paths)
            there = (linked >= 0).nonzero()[0]
            values, linked = weights.anchors * values.take(there), linked.take(there).astype(np.intp)
            self.linked, self._by_links = linked, values
            bonus[linked] += values
            files = np.concatenate((files, linked))
        return bonus, files
