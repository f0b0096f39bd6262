"""The words around links: what other notes say about a note when they link to it helps to find it.

Each link is a small document of its own, some characters to each side without the link itself; a note's score is the
sum over the links that lead to it, the best first and each further one halved (retrieval ledger, section 5).
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .keyword import KeywordIndex, top
from .keyword_columns import Ints

if TYPE_CHECKING:
    from ..models import FileLink
    from .tokenizer import Tokenizer

REACH = 120  # characters to each side
MOST_LINKS = 2_000  # of one file
MOST_SCORED = 300
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
        self._slots: dict[str, Ints] = {}
        self._source: dict[int, str] = {}
        self._target: dict[int, str] = {}

    def put(self, path: str, anchors: Sequence[Anchor]) -> None:
        """Set the links of a file."""
        self.remove(path)
        if anchors:
            added = self.index.add([anchor.terms for anchor in anchors])
            self._slots[path] = np.arange(added.start, added.stop)
            for slot, anchor in zip(added, anchors, strict=True):
                self._source[slot], self._target[slot] = path, anchor.target

    def remove(self, path: str) -> None:
        """Forget the links of a file."""
        slots = self._slots.pop(path, None)
        if slots is not None:
            self.index.remove(slots)
            for slot in slots.tolist():
                del self._source[slot], self._target[slot]

    def scores(self, terms: Sequence[str], resolve: Callable[[str, str], str | None]) -> dict[str, float]:
        """How well the words around links answer, by the path they lead to; ``resolve(target, source)`` finds it."""
        scores = self.index.scores(terms)
        best = top(scores, MOST_SCORED)
        by_path: dict[str, list[float]] = {}
        for slot in best.tolist():
            source = self._source[slot]
            path = resolve(self._target[slot], source)
            if path is not None and path != source:
                by_path.setdefault(path, []).append(float(scores[slot]))
        return {
            path: sum(value / 2**place for place, value in enumerate(sorted(values, reverse=True)))
            for path, values in by_path.items()
        }

    def links_of(self, path: str) -> list[tuple[int, str]]:
        """Slot and target of each link of a file."""
        return [(slot, self._target[slot]) for slot in self._slots.get(path, np.zeros(0, np.int64)).tolist()]

    def tidy(self, *, always: bool = False, bulk: bool = False) -> None:
        """Merge when that pays, or ``always``."""
        if not always and not self.index.needs_merge(bulk=bulk):
            return
        mapping = self.index.merge(drop_terms=True)
        if mapping is not None:
            self._slots = {path: mapping[slots] for path, slots in self._slots.items()}
            self._source = {int(mapping[slot]): path for slot, path in self._source.items()}
            self._target = {int(mapping[slot]): target for slot, target in self._target.items()}

    def dump(self, paths: Sequence[str]) -> tuple[list[list[str]], dict[str, Any]]:
        """Targets and slots by file, for a snapshot; merges first."""
        self.tidy(always=True)
        none = np.zeros(0, np.int64)
        slots = [self._slots.get(path, none) for path in paths]
        targets = [[self._target[slot] for slot in part.tolist()] for part in slots]
        return targets, {"slots": np.concatenate([*slots, none]).astype(np.int32)}

    @classmethod
    def load(
        cls, index: KeywordIndex, paths: Sequence[str], targets: Sequence[Sequence[str]], slots: Ints
    ) -> "Anchors":
        """The inverse of :meth:`dump`. Raises ValueError when the parts do not belong together."""
        anchors = cls()
        anchors.index = index
        if sum(map(len, targets)) != len(slots) or len(slots) != index.slots:
            raise ValueError("the links of the index do not belong together")
        begin = 0
        for path, names in zip(paths, targets, strict=True):
            if names:
                own = slots[begin : begin + len(names)]
                begin += len(names)
                anchors._slots[path] = own.astype(np.int64)
                for slot, name in zip(own.tolist(), names, strict=True):
                    anchors._source[slot], anchors._target[slot] = path, name
        return anchors
