"""BM25 over texts that come and go: one immutable base, a small recent part, a mask for the dead.

Scores are those of a bm25s index built from scratch over the living texts, bit for bit, whatever happened before.
"""

from array import array
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .columns import grown
from .compiled import kernels
from .gathered import Gathered, kept_by_term, spliced
from .keyword_columns import (
    Columns,
    Ints,
    RawBM25,
    distinct,
    empty_columns,
    idf_array,
    renumbered,
    with_runs,
    without_unused,
)
from .largest import kth_best, reached
from .numbered import Numbered, numbered
from .postings import Postings
from .recent import Found, Recent
from .runs import Runs
from .vocabulary import Vocabulary

# Recent texts are looked up in a few runs beside the base; a merge, which reads all of it, is for this many tokens.
MERGE_TOKENS = 200_000
BULK_TOKENS = 8_000_000
RUN_TOKENS = 200_000  # so many are sorted by terms together
# Of texts that were just added, so few occurrences are looked through for so few terms: to sort them in takes longer.
LOOK_TOKENS, MOST_ASKED = 2_000, 8
FOLD_TOKENS = 150_000  # so many at once are put into the base, which numpy does


def _plain(values: Ints) -> Ints:
    """As compiled loops read numbers."""
    return values if values.dtype == np.int32 else values.astype(np.int32)


class KeywordIndex:
    """Texts as sequences of terms. A text has a *slot*, an integer that lasts until the next merge.

    Not thread-safe: the owner holds a lock. ``positions=False`` saves the place of each occurrence, which
    :meth:`occurrences` needs.
    """

    def __init__(self, k1: float = 1.2, b: float = 0.75, *, positions: bool = True) -> None:
        self._positions = positions
        self._base = Postings.of(empty_columns())
        self._base_slots = 0
        self._terms = Vocabulary()
        self._runs = Runs()  # of recent texts
        self._ids = array("i")  # of the recent texts after those, all occurrences in order
        self._recent = Recent()  # these by term
        self._lengths = np.zeros(64, np.uint16)
        self._longest = 0  # no text was longer
        self._alive = np.zeros(64, bool)
        self._engine = RawBM25(k1, b)
        self._engine.recent = self._recent_postings
        self.slots = 0
        self.count = 0
        self.total = 0
        self._use_base(self._base)

    @property
    def dead(self) -> int:
        """How many slots are taken by removed texts."""
        return self.slots - self.count

    @property
    def recent_tokens(self) -> int:
        """How many occurrences wait for a merge."""
        return self._runs.tokens + len(self._ids)

    @property
    def lengths(self) -> Ints:
        """Number of occurrences by slot, dead ones included."""
        return self._lengths[: self.slots]

    @property
    def alive(self) -> NDArray[np.bool_]:
        """Which slots hold a living text."""
        return self._alive[: self.slots]

    def __contains__(self, term: str) -> bool:
        return term in self._terms

    def add(self, texts: Sequence[Sequence[str]]) -> range:
        """Add texts; returns their slots, in order. Occurrences beyond 65 535 of one text are left out."""
        return self.add_numbered(numbered(texts))

    def add_numbered(self, texts: Numbered) -> range:
        """Add texts whose terms are numbered; returns their slots, in order."""
        first, added = self.slots, len(texts.lengths)
        self._reserve(first + added)
        self._ids.frombytes(texts.glossary.numbers(texts.ids, self._terms).tobytes())
        self.slots += added
        self.count += added
        self.total += len(texts.ids)
        self._longest = max(self._longest, int(texts.lengths.max(initial=0)))
        self._lengths[first : self.slots] = texts.lengths
        self._alive[first : self.slots] = True
        if len(self._ids) > RUN_TOKENS:
            self._runs.add(*self._unsorted())
            self._forget_ids()
        return range(first, self.slots)

    def remove(self, slots: Iterable[int]) -> None:
        """Take texts out. A slot that is already dead is passed over."""
        at: slice | Ints
        if isinstance(slots, range) and slots.step == 1 and self._alive[slots.start : slots.stop].all():
            at, gone = slice(slots.start, slots.stop), len(slots)  # of one file, as nearly always
        else:
            at = slots if isinstance(slots, np.ndarray) else np.fromiter(slots, np.int64)
            at = distinct(at[self._alive[at]])
            gone = len(at)
        self._alive[at] = False
        self.count -= gone
        self.total -= int(self._lengths[at].sum())

    def gather(self, terms: Sequence[str]) -> Gathered:
        """The postings of some terms in living texts; a term that stands twice has them twice."""
        self._settle(len(terms))
        base, numbers = self._base, self._terms.find(terms)
        slots, tf, sizes = base.read(numbers)
        if len(self._ids):
            more = {at: found for at, one in enumerate(numbers) if (found := self._recent_postings(one)) is not None}
            slots = spliced(slots, sizes, {at: found[0] for at, found in more.items()})
            tf = spliced(tf, sizes, {at: found[1] for at, found in more.items()})
            sizes = [size + len(more[at][0]) if at in more else size for at, size in enumerate(sizes)]
        gathered = Gathered(numbers, slots, tf, sizes)
        if not self.dead:
            return gathered
        if kernels is None:
            return gathered.only(self._alive[slots])
        alive = self._alive.view(np.uint8)
        kept: tuple[Ints, Ints, list[int]] = kernels.living(_plain(slots), _plain(tf), sizes, alive)
        return Gathered(numbers, *kept, gathered)

    def postings(self, term: str) -> tuple[Ints, Ints]:
        """Slots of the living texts with a term, ascending, and how often each has it."""
        found = self.gather((term,))
        return found.slots, found.tf

    def postings_with(self, char: str) -> tuple[Ints, Ints]:
        """Slots of the living texts with any term of two or more characters that holds ``char``, ascending.

        With each, the largest frequency of such a term: an occurrence may lie in two of them.
        """
        self._settle()
        base, numbers = self._base, self._terms.holding(char)
        settled = numbers[numbers < base.terms]
        begins = base.ends.some(settled)
        sizes = base.ends.some(settled + 1) - begins
        at = np.arange(sizes.sum()) + np.repeat(begins - (np.cumsum(sizes) - sizes), sizes)
        recent = [self._recent_postings(number) for number in self._recent.known(numbers).tolist()]
        slots, tf = base.entries.picked(at)
        slots = np.concatenate([slots, *(found[0] for found in recent if found)])
        tf = np.concatenate([tf, *(found[1] for found in recent if found)])
        if self.dead:
            keep = self._alive[slots]
            slots, tf = slots[keep], tf[keep]
        order = np.argsort(slots, kind="stable")
        slots, tf = slots[order], tf[order]
        begins = np.flatnonzero(np.append(True, slots[1:] != slots[:-1])) if len(slots) else np.zeros(0, np.int64)
        return slots[begins], np.maximum.reduceat(tf, begins) if len(begins) else tf

    def occurrences(self, found: Gathered) -> tuple[Ints, list[int]]:
        """Where the terms of some postings stand: ``slot << 16 | place`` of each occurrence, ascending for each term.

        And how many each term has.
        """
        if found.all is not None:
            found = found.all
        base = self._base
        places, sizes = base.places(found.numbers)
        if len(self._ids):
            recent = [(at, self._recent_columns(number)) for at, number in enumerate(found.numbers)]
            more = {at: columns[2] for at, columns in recent if columns is not None}
            places = spliced(places, sizes, more)
            sizes = [size + len(more[at]) if at in more else size for at, size in enumerate(sizes)]
        if kernels is not None:
            alive = self._alive.view(np.uint8) if self.dead else None
            return kernels.occurrences(_plain(found.slots), _plain(found.tf), found.sizes, _plain(places), alive)
        keys = np.repeat(found.slots.astype(np.int64) << 16, found.tf)
        keys |= places
        if not self.dead:
            return keys, sizes
        keep = self._alive[keys >> 16]
        return keys[keep], kept_by_term(keep, sizes)

    def scores(self, terms: Sequence[str]) -> NDArray[np.float32]:
        """BM25 of each slot (0 for dead ones); a term that stands twice counts twice."""
        known = [number for term in terms if (number := self._terms.get(term)) is not None]
        if not known or not self.count:
            return np.zeros(self.slots, np.float32)
        self._settle()
        engine = self._current_engine()
        engine.alive = self._alive if self.dead else None
        engine.scores["num_docs"] = self.slots
        engine.scores["indptr"] = range(len(self._terms) + 1)
        mask = self.alive.astype(np.float32) if self.dead else None
        return engine.get_scores_from_ids(known, weight_mask=mask)

    def scored(self, found: Gathered, weights: Sequence[float] = ()) -> tuple[Ints, NDArray[np.float32]]:
        """The living texts with any of some terms, ascending, and what :meth:`scores` gives each.

        ``weights``, parallel to the terms, are what each term's part of a score is multiplied by, where they are given.
        """
        if kernels is not None:
            return kernels.scored(*self.weighed(found, weights), 0)
        scores = self._added_up(found, weights)
        slots = distinct(found.slots)
        return slots, scores.take(slots)

    def best(self, found: Gathered, k: int) -> tuple[Ints, NDArray[np.float32]]:
        """The same for the ``k`` best texts and all that tie with the last of them."""
        if kernels is not None:
            return kernels.scored(*self.weighed(found), k)
        scores, slots = self._added_up(found), found.slots
        most = max(found.sizes, default=0)
        if most > k:
            # The texts with one term are different ones: at least k reach what k of these reach.
            begin = sum(found.sizes[: found.sizes.index(most)])
            bound = reached(scores.take(slots[begin : begin + most]), k)
            slots = slots.take((scores.take(slots) >= bound).nonzero()[0])
        slots = distinct(slots)
        values = scores.take(slots)
        if len(slots) > k:
            keep = (values >= kth_best(values, k)).nonzero()[0]
            slots, values = slots.take(keep), values.take(keep)
        return slots, values

    def _added_up(self, found: Gathered, weights: Sequence[float] = ()) -> NDArray[np.float32]:
        out = np.zeros(self.slots, np.float32)
        if len(found.slots):
            idf = idf_array(found.sizes, self.count)
            if weights:
                idf *= np.array(weights, np.float32)
            idf = idf.repeat(found.sizes)
            slots = found.slots.astype(np.intp)  # once: numpy would do it piece by piece
            np.add.at(out, slots, self._current_engine().relevance(slots, found.tf, idf))
        return out

    def weighed(self, found: Gathered, weights: Sequence[float] = ()) -> tuple[Any, ...]:
        """What compiled loops add up: postings, what each term tells, norms by length, lengths, number of slots."""
        idf = idf_array(found.sizes, self.count)
        if weights:
            idf *= np.array(weights, np.float32)
        norms = self._current_engine().norm_by_length()
        return _plain(found.slots), _plain(found.tf), found.sizes, idf, norms, self._lengths, self.slots

    def _current_engine(self) -> RawBM25:
        engine = self._engine
        engine.count, engine.total = self.count, self.total
        engine.lengths, engine.longest = self._lengths, self._longest
        return engine

    def needs_merge(self, *, bulk: bool = False) -> bool:
        """Whether the recent part or the dead have grown so much that a merge pays; later while ``bulk`` is added."""
        if self.dead > max(4096, self.count // 2) or (self._terms.takes_much and not bulk):
            return True
        return self.recent_tokens > (BULK_TOKENS if bulk else MERGE_TOKENS)

    def merge(self, *, drop_terms: bool = False) -> Ints | None:
        """Fold the recent texts into the base and drop the dead ones' postings.

        Returns the new slot by old slot, negative for the dead, or None when no slot changed. ``drop_terms`` also
        forgets the terms that no living text has.
        """
        # The columns are unfolded only where something changes.
        changed = bool(self._ids) or self.slots > self._base_slots or self.dead > 0
        unused = drop_terms and len(self._terms) > np.count_nonzero(self._base.counts())
        base = self._with_recent() if changed or unused else None
        mapping = None
        if base is not None and self.dead:
            alive = self.alive
            mapping = np.where(alive, np.cumsum(alive) - 1, -1)
            base = renumbered(base, mapping)
            kept = self._lengths[: self.slots][alive]
            self.slots = self.count
            self._lengths[: self.slots] = kept
            self._alive = np.arange(len(self._alive)) < self.slots
        if base is not None and drop_terms and len(self._terms) > np.count_nonzero(np.diff(base.indptr)):
            base, used = without_unused(base)
            self._terms.keep(used)
        self._terms.settle()
        self._start_from(Postings.of(base) if base is not None else self._base)
        return mapping

    def _with_recent(self) -> Columns:
        """The base and the recent texts; no slot and no term's number is another."""
        base = self._base.columns()
        if self.slots > self._base_slots:
            base = with_runs(base, self._runs.with_next(*self._unsorted()), len(self._terms))
        return base

    def _unsorted(self) -> tuple[Ints, Ints, bool]:
        """The recent texts that are in no run."""
        lengths = self._lengths[self._runs.end : self.slots]
        return np.array(self._ids, np.int32), lengths, self._positions

    def _start_from(self, base: Postings) -> None:
        """Make this the base, with all texts in it."""
        self._base_slots = self.slots
        self._runs = Runs(self.slots)
        self._forget_ids()
        self._use_base(base)

    def _forget_ids(self) -> None:
        self._ids = array("i")
        self._recent = Recent(self._runs.end)

    def names(self) -> list[str]:
        """Every term that a text has or, until the next merge, had, in the order of the columns."""
        return self._terms.names()

    def columns(self) -> Columns:
        """All postings as plain arrays. Call :meth:`merge` first."""
        self._must_be_merged()
        return self._base.columns()

    def _must_be_merged(self) -> None:
        if self.recent_tokens or self.dead:
            raise ValueError("merge before dumping: recent or dead texts would be lost or kept")

    def dump(self) -> tuple[bytes, dict[str, Any]]:
        """Terms (see :meth:`.Vocabulary.packed`) and arrays by name, for a snapshot. Call :meth:`merge` first."""
        self._must_be_merged()
        counts, lengths = self._base.counts().astype(np.int32), self.lengths.astype(np.int32)
        columns = {".counts": counts, ".lengths": lengths, ".hashes": self._terms.hashes()}
        return self._terms.packed(), columns | self._base.dump()

    @classmethod
    def load(
        cls, terms: bytes, arrays: dict[str, Any], k1: float = 1.2, b: float = 0.75, *, positions: bool = True
    ) -> "KeywordIndex":
        """The inverse of :meth:`dump`. Raises ValueError when the arrays do not belong together."""
        index = cls(k1, b, positions=positions)
        base = Postings.load(arrays[".counts"], arrays, positions)
        slots = len(arrays[".lengths"])
        vocabulary = Vocabulary(terms, arrays[".hashes"])
        if len(vocabulary) != base.terms:
            raise ValueError("the terms and columns of the keyword index do not belong together")
        if base.entries.largest() >= slots:
            raise ValueError("the keyword index names texts that it does not have")
        index._terms = vocabulary
        index._reserve(slots)
        index._lengths[:slots] = arrays[".lengths"]
        index._alive[:slots] = True
        index.slots = index.count = index._base_slots = slots
        index._runs, index._recent = Runs(slots), Recent(slots)
        index.total = int(index.lengths.sum())
        index._longest = int(index.lengths.max(initial=0))
        index._use_base(base)
        return index

    def _use_base(self, base: Postings) -> None:
        self._base = base
        self._engine.use(base.read)

    def _reserve(self, slots: int) -> None:
        self._lengths, self._alive = grown(self._lengths, slots), grown(self._alive, slots)

    def _settle(self, asked: int | None = None) -> None:
        """Make the recent texts findable by term: by a look at all that was added last, where few terms are asked."""
        if self._runs.end + self._recent.texts == self.slots and not self._runs.texts:
            return
        unsorted = len(self._ids) - self._recent.tokens
        if self._runs.texts or unsorted > FOLD_TOKENS:
            self._start_from(Postings.of(self._with_recent()))
        elif asked is None or asked > MOST_ASKED or unsorted > LOOK_TOKENS:
            self._recent.sort(*self._unsorted()[:2])

    def _recent_postings(self, term: int | None) -> tuple[Ints, Ints] | None:
        found = self._recent_columns(term)
        return None if found is None else found[:2]

    def _recent_columns(self, term: int | None) -> Found | None:
        """Slots, frequencies and places of a term in the recent texts."""
        if not self._ids:
            return None
        # For a moment: an array that numpy looks into cannot grow.
        return self._recent.of(term, np.frombuffer(self._ids, np.int32), self._lengths[self._runs.end : self.slots])
