"""A file of the index as an object: made when somebody asks, it reads and writes what is kept in columns and bytes."""

import marshal
from array import array
from collections.abc import Iterable
from typing import Any

import numpy as np

from ..models import FileLink
from ..vault.layout import MEMORY_FILE
from ..vault.numbered_paths import NumberedPaths
from ..vault.pieces import FoldedPieces, Pieces
from .entries import TELLING, is_preferred, tells
from .keyword_columns import Ints
from .link_records import links_in
from .packed_file import DIGEST, Said, Sections, card_of, digest_of, rest_of, sections_in

# Of each file, by its id. ``kind`` and ``encoding`` are numbers of names; ``first`` is the file's first slot.
COLUMNS = {
    "size": "q", "mtime": "q", "ctime": "q", "checked": "q", "day": "i", "lines": "q", "kind": "H", "encoding": "H",
    "label_slot": "i", "start": "i", "first": "i", "units": "i", "ends": "I", "ends_2": "I", "ends_3": "I",
}  # fmt: skip
NAMED = ("kind", "encoding")
ENDS = (
    "ends",
    "ends_2",
    "ends_3",
)  # how the file's names begin and end (see titles.py), 0 as long as nobody has looked
_TELLING = tuple(key.encode() for key in ("pinned", *TELLING))


class Rows:
    """The files between two numberings, by id; those that went meanwhile are there still."""

    __slots__ = (
        "behind", "cards", "columns", "digests", "faults", "known", "links", "paths", "rests", "scattered",
        "voices",
    )  # fmt: skip

    def __init__(self) -> None:
        self.paths = NumberedPaths()
        self.behind: dict[int, int] = {}  # renamed ones: how many there were then
        self.columns: dict[str, array[int]] = {name: array(kind) for name, kind in COLUMNS.items()}
        self.digests = bytearray()
        self.cards = Pieces()  # title, description, tags, aliases: see packed_file.card_of
        self.rests = FoldedPieces()  # front matter, heading paths
        self.links = Pieces()  # as link_records.py packs them
        # Only of files that have such a thing.
        self.faults: dict[int, str] = {}
        self.voices: dict[int, frozenset[int]] = {}
        self.scattered: dict[int, Ints] = {}  # slots that do not follow each other
        self.known: dict[str, list[str]] = {name: [] for name in NAMED}

    def settle(self) -> None:
        """Have what was put lately take as little memory as the rest."""
        self.paths.settle()
        self.cards.settle()
        self.rests.settle()
        self.links.settle()

    def living(self) -> Iterable[int]:
        """The ids of the files that are there, in the order in which they were last put or renamed."""
        numbers, behind = self.paths.numbers(), self.behind
        if not behind:
            return numbers
        turn = {number: (before, at - len(behind)) for at, (number, before) in enumerate(behind.items())}
        return sorted(numbers, key=lambda number: turn.get(number, (number, 0)))

    def number_of(self, column: str, name: str) -> int:
        """The number of a name in a column of named things."""
        known = self.known[column]
        if name not in known:
            known.append(name)
        return known.index(name)


class _Number:
    """A number of a file that is kept in a column."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, known: "KnownFile", owner: type) -> int:
        return known._rows.columns[self._name][known.id]

    def __set__(self, known: "KnownFile", value: int) -> None:
        known._rows.columns[self._name][known.id] = value


class KnownFile:
    """A file of the index: attributes as in :class:`~.entries.FileEntry`, read and written where they are kept.

    Ask for a new one after other changes: the object of a file that went, or of an earlier numbering, shows what was.
    """

    __slots__ = ("_rows", "id")

    size, mtime, ctime, checked = _Number(), _Number(), _Number(), _Number()
    day, lines, label_slot, start, units = _Number(), _Number(), _Number(), _Number(), _Number()

    def __init__(self, rows: Rows, number: int) -> None:
        self._rows, self.id = rows, number

    def __eq__(self, other: object) -> bool:
        return isinstance(other, KnownFile) and self._rows is other._rows and self.id == other.id

    def __hash__(self) -> int:
        return hash((id(self._rows), self.id))

    @property
    def path(self) -> str:
        return self._rows.paths[self.id]

    @property
    def digest(self) -> str:
        return self._rows.digests[DIGEST * self.id : DIGEST * (self.id + 1)].hex()

    @digest.setter
    def digest(self, value: str) -> None:
        self._rows.digests[DIGEST * self.id : DIGEST * (self.id + 1)] = digest_of(value)

    @property
    def kind(self) -> str:
        return self._rows.known["kind"][self._rows.columns["kind"][self.id]]

    @property
    def encoding(self) -> str:
        return self._rows.known["encoding"][self._rows.columns["encoding"][self.id]]

    @property
    def _card(self) -> tuple[str, str, tuple[str, ...], tuple[str, ...], bool]:
        card: tuple[str, str, tuple[str, ...], tuple[str, ...], bool] = marshal.loads(self._rows.cards[self.id])
        return card

    @property
    def card(self) -> Said:
        """Title, description, tags and aliases."""
        return self._card[:4]

    @property
    def title(self) -> str:
        return self._card[0]

    @property
    def description(self) -> str:
        return self._card[1]

    @property
    def tags(self) -> tuple[str, ...]:
        return self._card[2]

    @property
    def aliases(self) -> tuple[str, ...]:
        return self._card[3]

    @property
    def front(self) -> dict[str, Any]:
        return self.front_and_sections[0]

    @property
    def front_and_sections(self) -> tuple[dict[str, Any], Any]:
        """Front matter and heading paths, kept together; the latter as ``packed_file.section_in`` reads them."""
        rest: tuple[dict[str, Any], Any] = marshal.loads(self._rows.rests[self.id])
        return rest

    @property
    def shown(self) -> tuple[str, dict[str, Any], Any]:
        """What a search shows, or reads to show the text: the title, and the same but for a front matter without that.

        What says nothing to a search is not unfolded: see ``packed_file.card_of``.
        """
        title, _, _, _, is_bare = self._card
        return (title, {}, ()) if is_bare else (title, *self.front_and_sections)

    def may_have(self, key: str) -> bool:
        """Whether the front matter may have a key; False is sure, and costs next to nothing."""
        return key.encode("utf-8", "surrogatepass") in self._rows.rests[self.id]

    @property
    def sections(self) -> Sections:
        return sections_in(self.front_and_sections[1])

    @sections.setter
    def sections(self, value: Sections) -> None:
        front = self.front
        self._rows.rests[self.id] = rest_of(front, value)
        self._rows.cards[self.id] = card_of(self.card, front, value)

    @property
    def packed_links(self) -> bytes:
        """The links as :mod:`~.link_records` packs them."""
        return self._rows.links[self.id]

    @property
    def links(self) -> tuple[FileLink, ...]:
        return links_in(self.path, self.packed_links)

    @property
    def fault(self) -> str:
        return self._rows.faults.get(self.id, "")

    @property
    def voices(self) -> frozenset[int]:
        return self._rows.voices.get(self.id, frozenset())

    @voices.setter
    def voices(self, value: frozenset[int]) -> None:
        if value:
            self._rows.voices[self.id] = value
        else:
            self._rows.voices.pop(self.id, None)

    @property
    def span(self) -> range | Ints:
        """The slots, as a range where they follow each other."""
        scattered = self._rows.scattered.get(self.id)
        if scattered is not None:
            return scattered
        first = self._rows.columns["first"][self.id]
        return range(first, first + self.units)

    @property
    def slots(self) -> Ints:
        span = self.span
        return span if not isinstance(span, range) else np.arange(span.start, span.stop, dtype=np.int32)

    @slots.setter
    def slots(self, value: Ints) -> None:
        rows, size = self._rows, len(value)
        self.units = size
        rows.columns["first"][self.id] = int(value[0]) if size else 0
        if size and int(value[-1]) - int(value[0]) != size - 1:
            rows.scattered[self.id] = value
        else:
            rows.scattered.pop(self.id, None)

    def slot_of(self, number: int) -> int:
        """The slot of the file's unit with a number, from 0 on."""
        scattered = self._rows.scattered.get(self.id)
        return int(scattered[number]) if scattered is not None else self._rows.columns["first"][self.id] + number

    @property
    def is_preferred(self) -> bool:
        """Whether the user put it first: MEMORY.md and pinned notes."""
        return is_preferred(self.path, self.front)

    @property
    def tells(self) -> bool:
        """Whether it says something of itself or another file that counts in ranking."""
        rest = self._rows.rests[self.id]  # once: this is asked of every file of an index that is opened
        likely = any(key in rest for key in _TELLING) or self.path == MEMORY_FILE
        return likely and tells(self.path, self.front)
