"""The words around links: what other notes say about a note when they link to it helps to find it.

Each link is a small document of its own, some characters to each side without the link itself; a note's score is the
sum over the links that lead to it, the best first and each further one halved (retrieval ledger, section 5).
"""

from array import array
from collections.abc import Callable, Iterable, Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from ..vault.numbered_paths import NumberedPaths
from .columns import grown
from .compiled import kernels
from .keyword import KeywordIndex
from .keyword_columns import Ints, distinct
from .numbered import Numbered
from .texts import PackedTexts, Texts

MOST_SCORED = 300
_UNKNOWN, _NOWHERE = -2, -1


class Anchors:
    """The links of a corpus. Not thread-safe: the owner holds a lock."""

    def __init__(self) -> None:
        self.index = KeywordIndex(1.2, 0.3, positions=False)
        # By number of a file that holds links, the first of their slots and how many there are.
        self._first, self._count = np.zeros(64, np.int32), np.zeros(64, np.int32)
        # By slot, the number of the link's file and of its target's text.
        self._source, self._target = np.zeros(64, np.int32), np.zeros(64, np.int32)
        self._paths = NumberedPaths()
        self._targets = Texts(packed=True)
        # By number of a target's text, the number of the path it leads to, as far as that has been asked.
        self._leads: Ints = np.full(64, _UNKNOWN, np.int32)
        self.seen = 0  # of the corpus's changes of names, those after which what is remembered is right
        self.numbering = 0  # raised when paths get new numbers

    def add(self, paths: Sequence[str], counts: Ints, targets: Sequence[str], around: Numbered) -> None:
        """Add the links of files that have none: so many of each, what they lead to, and the words around them."""
        added = self.index.add_numbered(around)
        self._source, self._target = grown(self._source, added.stop), grown(self._target, added.stop)
        self._target[added.start : added.stop] = [self._targets.of(target) for target in targets]
        self._leads = grown(self._leads, len(self._targets.names), _UNKNOWN)
        # While no file had a link to it, nobody had doubts.
        self._leads[self._target[added.start : added.stop]] = _UNKNOWN
        holding = counts.nonzero()[0]
        if len(holding):
            numbers = np.array([self._paths.of(paths[at]) for at in holding.tolist()])
            self._hold(numbers, added.start, counts[holding])

    def rename(self, path: str, new_path: str) -> None:
        """Say that a file's links stand in another."""
        first, count = self._held(path)
        if count:
            self._count[self._paths.of(path)] = 0
            self._hold(np.array([self._paths.of(new_path)]), first, np.array([count]))

    def remove(self, path: str) -> None:
        """Forget the links of a file."""
        first, count = self._held(path)
        if count:
            self._count[self._paths.of(path)] = 0
            self.index.remove(range(first, first + count))

    def _hold(self, numbers: Ints, first: int, counts: Ints) -> None:
        """Have the files with some numbers hold so many links each, those from slot ``first`` on."""
        room, ends = int(numbers.max()) + 1, counts.cumsum()
        self._first, self._count = grown(self._first, room), grown(self._count, room)
        self._first[numbers], self._count[numbers] = first + ends - counts, counts
        self._source[first : first + int(ends[-1])] = numbers.repeat(counts)

    def _held(self, path: str) -> tuple[int, int]:
        number = self._paths.known(path)
        if number is None or number >= len(self._first):  # some are only led to
            return 0, 0
        return int(self._first[number]), int(self._count[number])

    def scores(self, terms: Sequence[str], resolve: Callable[[str], str | None]) -> dict[str, float]:
        """How well the words around links answer, by the path they lead to.

        ``resolve`` finds it, by the text of a target; what it finds is remembered until :meth:`doubt`.
        """
        paths, values = self.answers(terms, resolve)
        return {self.path(path): value for path, value in zip(paths.tolist(), values.tolist(), strict=True)}

    def answers(self, terms: Sequence[str], resolve: Callable[[str], str | None]) -> tuple[Ints, NDArray[np.float64]]:
        """The same as numbers of paths, each once, and scores; :meth:`path` names them until ``numbering`` rises."""
        if kernels is not None:
            links = self.index.weighed(self.index.gather(terms))
            while True:
                lead, sums = kernels.answers(*links, MOST_SCORED, self._target, self._source, self._leads, _UNKNOWN)
                if sums is not None:
                    return lead, sums
                self._look_up(lead, resolve)
        best, scores = self.index.best(self.index.gather(terms), MOST_SCORED)
        targets = self._target.take(best)
        leads = self._leads.take(targets)
        unknown = (leads == _UNKNOWN).nonzero()[0]
        if len(unknown):
            self._look_up(distinct(targets.take(unknown)), resolve)
            leads = self._leads.take(targets)
        counts = ((leads >= 0) & (leads != self._source.take(best))).nonzero()[0]
        leads, values = leads.take(counts), scores.take(counts).astype(np.float64)
        if not len(leads):
            return leads, values
        order = np.lexsort((-values, leads))
        leads, values = leads.take(order), values.take(order)
        opens = np.ones(len(leads), bool)
        np.not_equal(leads[1:], leads[:-1], out=opens[1:])
        begins = opens.nonzero()[0]
        place = begins.take(opens.cumsum() - 1)
        place -= np.arange(len(leads))
        values = np.ldexp(values, place)  # halved for each before it
        return leads.take(begins), np.bincount(opens.cumsum() - 1, values).astype(np.float64, copy=False)

    def look_up_all(self, resolve: Callable[[str], str | None]) -> None:
        """Find out where every target leads that nobody has asked for, so that it is stored with the index."""
        self._look_up((self._leads[: len(self._targets.names)] == _UNKNOWN).nonzero()[0], resolve)

    def _look_up(self, targets: Ints, resolve: Callable[[str], str | None]) -> None:
        for target in targets.tolist():
            path = resolve(self._targets.names[target])
            self._leads[target] = _NOWHERE if path is None else self._paths.of(path)

    def path(self, number: int) -> str:
        """The path that has a number."""
        return self._paths[number]

    @property
    def paths(self) -> int:
        """How many paths have numbers."""
        return len(self._paths)

    def doubt(self, targets: Iterable[str] | None = None) -> None:
        """Forget where some targets lead, of which not all need to be known here; by default all."""
        if targets is None:
            self._leads[:] = _UNKNOWN
        else:
            self._leads[[number for target in targets if (number := self._targets.known(target)) is not None]] = (
                _UNKNOWN
            )

    def links_of(self, path: str) -> list[tuple[int, str]]:
        """Slot and target of each link of a file."""
        first, count = self._held(path)
        return [(slot, self._targets.names[self._target[slot]]) for slot in range(first, first + count)]

    def tidy(self, *, always: bool = False, bulk: bool = False) -> None:
        """Merge when that pays, or ``always``."""
        self._paths.expect(bulk)
        self._targets.expect(bulk)
        if not always and not self.index.needs_merge(bulk=bulk):
            return
        mapping = self.index.merge(drop_terms=True)
        if mapping is not None:
            self.numbering += 1
            alive = np.flatnonzero(mapping >= 0)
            sources, targets = self._source[alive], self._target[alive]
            used = distinct(targets)
            leads = self._leads[used]
            found = leads >= 0
            paths = distinct(np.concatenate((sources, leads[found])))
            leads[found] = np.searchsorted(paths, leads[found])
            self._targets = Texts(map(self._targets.names.__getitem__, used.tolist()), packed=True)
            self._paths = NumberedPaths.packed(map(self._paths.__getitem__, paths.tolist()))
            self._set(np.searchsorted(paths, sources), np.searchsorted(used, targets), leads)

    @property
    def targets(self) -> Texts:
        """The texts of the links' targets. Not to be changed."""
        return self._targets

    def dump(self, paths: Sequence[str], targets: Iterable[str], renames: int) -> dict[str, Ints]:
        """As arrays: slots by file and how many, targets by slot, their texts and leads. Merges first.

        The texts of ``targets``, which links without words around them have as well, are there too: for the graph.
        ``renames`` is how many changes of names there were: what does not take account of all of them is not stored.
        """
        self.tidy(always=True)
        slots = self.index.slots
        held = [self._held(path) for path in paths]
        used = distinct(self._target[:slots])
        leads: Ints = np.full(len(used), _UNKNOWN, np.int32)
        if self.seen == renames:
            leads = self._leads[used]
            found = leads >= 0
            files = {path: number for number, path in enumerate(paths)}
            leads[found] = [files.get(self._paths[lead], _UNKNOWN) for lead in leads[found].tolist()]
        known = dict.fromkeys(map(self._targets.names.__getitem__, used.tolist()))
        others = (target for target in dict.fromkeys(targets) if target and target not in known)
        texts, begins = PackedTexts(chain(known, others)).parts()
        leads = np.append(leads, np.full(len(begins) - 1 - len(leads), _UNKNOWN, np.int32))
        return {
            "file.anchors": np.array([first if count else 0 for first, count in held], np.int32),
            "file.links": np.array([count for _, count in held], np.int32),
            "anchors.target": np.searchsorted(used, self._target[:slots]).astype(np.int32),
            "anchors.lead": leads,
            "anchors.texts": np.frombuffer(texts, np.uint8),
            "anchors.begins": np.array(begins, np.uint64),
        }

    @classmethod
    def load(cls, index: KeywordIndex, paths: NumberedPaths, arrays: dict[str, Ints]) -> "Anchors":
        """The inverse of :meth:`dump`. Raises ValueError when the parts do not belong together.

        What is packed of the paths is there once for the caller and these.
        """
        anchors = cls()
        anchors.index = index
        names = PackedTexts.of(arrays["anchors.texts"].data, array("Q", arrays["anchors.begins"].tobytes()))
        counts, firsts, targets = (arrays[name] for name in ("file.links", "file.anchors", "anchors.target"))
        holding = np.flatnonzero(counts)
        slots = np.repeat(firsts[holding], counts[holding])
        slots += np.arange(len(slots)) - np.repeat(np.cumsum(counts[holding]) - counts[holding], counts[holding])
        fits = len(counts) == len(firsts) == len(paths) and len(slots) == len(targets) == index.slots
        if not fits or not np.array_equal(np.sort(slots), np.arange(len(slots))):
            raise ValueError("the links of the index do not belong together")
        if len(targets) and not 0 <= int(targets.min()) <= int(targets.max()) < len(names):
            raise ValueError("the links of the index lead to what it does not name")
        leads = arrays["anchors.lead"]
        if len(leads) != len(names) or (
            len(leads) and not _UNKNOWN <= int(leads.min()) <= int(leads.max()) < len(paths)
        ):
            raise ValueError("the links of the index lead to files that it does not have")
        anchors._paths = paths.copy()
        anchors._targets = Texts(names, packed=True)
        sources = np.empty(len(slots), np.int32)
        sources[slots] = np.repeat(holding, counts[holding])
        anchors._set(sources, targets, leads.copy())
        return anchors

    def _set(self, sources: Ints, targets: Ints, leads: Ints) -> None:
        """Start over with links from and to these, by slot; those of a file follow each other."""
        self._source, self._target = sources.astype(np.int32), targets.astype(np.int32)
        begins = np.flatnonzero(np.append(True, sources[1:] != sources[:-1])) if len(sources) else sources
        self._first, self._count = np.zeros((2, len(self._paths)), np.int32)
        self._first[sources[begins]] = begins
        self._count[sources[begins]] = np.diff(begins, append=len(sources))
        self._leads = leads
