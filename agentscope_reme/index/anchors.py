"""The words around links: what other notes say about a note when they link to it helps to find it.

Each link is a small document of its own, some characters to each side without the link itself; a note's score is the
sum over the links that lead to it, the best first and each further one halved (retrieval ledger, section 5).
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .columns import grown
from .keyword import KeywordIndex, top
from .keyword_columns import Ints, distinct
from .numbered import Numbered

if TYPE_CHECKING:
    from ..models import FileLink
    from .tokenizer import Tokenizer

REACH = 120  # characters to each side
MOST_LINKS = 2_000  # of one file
MOST_SCORED = 300
_UNKNOWN, _NOWHERE = -2, -1
_LINK = re.compile(r"!?\[\[[^\[\]\n]*\]\]")


@dataclass(frozen=True, slots=True)
class Anchor:
    """A link: the target as it is written, and the terms of the words around it."""

    target: str
    terms: tuple[str, ...]


def anchors_of(text: str, links: Sequence["FileLink"], tokenizer: "Tokenizer") -> list[Anchor]:
    """The links of a file with the words around them; ``text`` is the whole file. Links in front matter have none."""
    out: list[Anchor] = []
    if not links:
        return out
    rows = text.split("\n")
    starts = [0]
    for row in rows:
        starts.append(starts[-1] + len(row) + 1)
    places: dict[int, list[re.Match[str]]] = {}
    for link in links[:MOST_LINKS]:
        if not link.target_path or link.predicate or not 0 < link.line <= len(rows):
            continue
        at = starts[link.line - 1]
        if link.line not in places:
            places[link.line] = list(_LINK.finditer(rows[link.line - 1]))
        for match in places[link.line]:
            if link.target_path in match.group():
                begin, end = at + match.start(), at + match.end()
                around = f"{text[max(0, begin - REACH) : begin]} {text[end : end + REACH]}"
                terms = tokenizer.terms(_LINK.sub(_shown_words, around)) if around.strip() else []
                if terms:
                    out.append(Anchor(link.target_path, tuple(terms)))
                places[link.line].remove(match)
                break
    return out


def _shown_words(link: re.Match[str]) -> str:
    """What a reader sees of another link near by."""
    return f" {link.group().strip('![]').rsplit('|', 1)[-1]} "


class Anchors:
    """The links of a corpus. Not thread-safe: the owner holds a lock."""

    def __init__(self) -> None:
        self.index = KeywordIndex(1.2, 0.3, positions=False)
        self._slots: dict[str, range | list[int]] = {}  # by the file that holds the links
        # By slot, the number of the link's file and of its target's text.
        self._source, self._target = np.zeros(64, np.int32), np.zeros(64, np.int32)
        self._paths = _Numbers()
        self._targets = _Numbers()
        # By number of a target's text, the number of the path it leads to, as far as that has been asked.
        self._leads = np.full(64, _UNKNOWN, np.int32)
        self.numbering = 0  # raised when paths get new numbers

    def add(self, paths: Sequence[str], counts: Ints, targets: Sequence[str], around: Numbered) -> None:
        """Add the links of files that have none: so many of each, what they lead to, and the words around them."""
        added = self.index.add_numbered(around)
        self._source, self._target = grown(self._source, added.stop), grown(self._target, added.stop)
        self._target[added.start : added.stop] = [self._targets.of(target) for target in targets]
        self._leads = grown(self._leads, len(self._targets.names), _UNKNOWN)
        begin = added.start
        for path, count in zip(paths, counts.tolist(), strict=True):
            if count:
                self._slots[path] = range(begin, begin + count)
                self._source[begin : begin + count] = self._paths.of(path)
                begin += count

    def rename(self, path: str, new_path: str) -> None:
        """Say that a file's links stand in another."""
        slots = self._slots.pop(path, None)
        if slots is not None:
            self._slots[new_path] = slots
            self._source[np.array(slots)] = self._paths.of(new_path)

    def remove(self, path: str) -> None:
        """Forget the links of a file."""
        slots = self._slots.pop(path, None)
        if slots is not None:
            self.index.remove(slots)

    def scores(self, terms: Sequence[str], resolve: Callable[[str], str | None]) -> dict[str, float]:
        """How well the words around links answer, by the path they lead to; ``resolve(target)`` finds it.

        What it finds is remembered until :meth:`doubt`.
        """
        paths, values = self.answers(terms, resolve)
        return {self.path(path): value for path, value in zip(paths.tolist(), values.tolist(), strict=True)}

    def answers(self, terms: Sequence[str], resolve: Callable[[str], str | None]) -> tuple[Ints, NDArray[np.float64]]:
        """The same as numbers of paths, each once, and scores; :meth:`path` names them until ``numbering`` rises."""
        scores, _ = self.index.matches(terms)
        best = top(scores, MOST_SCORED)
        targets = self._target[best]
        leads = self._leads[targets]
        if (leads == _UNKNOWN).any():
            for target in distinct(targets[leads == _UNKNOWN]).tolist():
                path = resolve(self._targets.names[target])
                self._leads[target] = _NOWHERE if path is None else self._paths.of(path)
            leads = self._leads[targets]
        counts = (leads >= 0) & (leads != self._source[best])
        leads, values = leads[counts], scores[best[counts]].astype(np.float64)
        if not len(leads):
            return leads, values
        order = np.lexsort((-values, leads))
        leads, values = leads[order], values[order]
        begins = np.flatnonzero(np.concatenate(([True], leads[1:] != leads[:-1])))
        place = np.arange(len(leads)) - np.repeat(begins, np.diff(begins, append=len(leads)))
        return leads[begins], np.add.reduceat(values * 0.5**place, begins)

    def path(self, number: int) -> str:
        """The path that has a number."""
        return self._paths.names[number]

    @property
    def paths(self) -> int:
        """How many paths have numbers."""
        return len(self._paths.names)

    def doubt(self, targets: Iterable[str] | None = None) -> None:
        """Forget where some targets lead, by default all."""
        if targets is None:
            self._leads[:] = _UNKNOWN
        else:
            self._leads[[number for one in targets if (number := self._targets.known(one)) is not None]] = _UNKNOWN

    def links_of(self, path: str) -> list[tuple[int, str]]:
        """Slot and target of each link of a file."""
        return [(slot, self._targets.names[self._target[slot]]) for slot in self._slots.get(path, ())]

    def tidy(self, *, always: bool = False, bulk: bool = False) -> None:
        """Merge when that pays, or ``always``."""
        if not always and not self.index.needs_merge(bulk=bulk):
            return
        mapping = self.index.merge(drop_terms=True)
        if mapping is not None:
            held = [
                (path, [self._targets.names[self._target[slot]] for slot in slots], mapping[np.array(slots)])
                for path, slots in self._slots.items()
            ]
            self._slots, self._paths, self._targets = {}, _Numbers(), _Numbers()
            self.numbering += 1
            self.doubt()
            for path, targets, slots in held:
                self._set(path, slots.tolist(), targets)

    def dump(self, paths: Sequence[str]) -> tuple[list[str], dict[str, Ints]]:
        """The texts of targets, and arrays: slots by file and how many, targets by slot. Merges first."""
        self.tidy(always=True)
        held = [self._slots.get(path, ()) for path in paths]
        used = distinct(self._target[: self.index.slots])
        return [self._targets.names[number] for number in used.tolist()], {
            "file.anchors": np.array([slot for slots in held for slot in slots], np.int32),
            "file.links": np.array([len(slots) for slots in held], np.int32),
            "anchors.target": np.searchsorted(used, self._target[: self.index.slots]).astype(np.int32),
        }

    @classmethod
    def load(
        cls, index: KeywordIndex, paths: Sequence[str], names: Sequence[str], arrays: dict[str, Ints]
    ) -> "Anchors":
        """The inverse of :meth:`dump`. Raises ValueError when the parts do not belong together."""
        anchors = cls()
        anchors.index = index
        counts, slots, targets = (arrays[name] for name in ("file.links", "file.anchors", "anchors.target"))
        fits = len(counts) == len(paths) and int(counts.sum()) == len(slots) == len(targets) == index.slots
        if not fits or not all(0 <= number < len(names) for number in distinct(targets)[[0, -1][: len(targets)]]):
            raise ValueError("the links of the index do not belong together")
        for name in names:
            anchors._targets.of(name)
        texts = anchors._targets.names
        begin = 0
        for path, count in zip(paths, counts.tolist(), strict=True):
            if count:
                held = slots[begin : begin + count].tolist()
                anchors._set(path, held, [texts[number] for number in targets[held].tolist()])
                begin += count
        return anchors

    def _set(self, path: str, slots: range | list[int], targets: Sequence[str]) -> None:
        """Say which slots hold the links of a file."""
        if len(slots) and slots[-1] - slots[0] == len(slots) - 1:
            slots = range(slots[0], slots[-1] + 1)  # the usual case, in a tenth of the memory
        self._slots[path] = slots
        most = max(slots) + 1
        self._source, self._target = grown(self._source, most), grown(self._target, most)
        at = np.array(slots)
        self._source[at] = self._paths.of(path)
        self._target[at] = [self._targets.of(target) for target in targets]
        self._leads = grown(self._leads, len(self._targets.names), _UNKNOWN)


class _Numbers:
    """Strings by number and numbers by string."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self._number: dict[str, int] = {}

    def of(self, name: str) -> int:
        number = self._number.setdefault(name, len(self.names))
        if number == len(self.names):
            self.names.append(name)
        return number

    def known(self, name: str) -> int | None:
        return self._number.get(name)
