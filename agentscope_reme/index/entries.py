"""Files and units as they go into the corpus: plain values, and what the numbers in its columns mean."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from ..models import FileLink
from ..vault.layout import MEMORY_FILE
from .link_words import Anchor
from .packed_file import Packed

if TYPE_CHECKING:
    from .keyword_columns import Ints

REACH = 4
# A unit's words count fully, those of its neighbours by distance: 1, .5, .3, .2, .15 (retrieval ledger, section 4).
# In twentieths, so that all sums are exact whatever their order.
BLUR = (20, 10, 6, 4, 3)
OFFSETS = tuple(range(-REACH, REACH + 1))
HEADING = "\x00"  # marks a term that stands in a unit's heading path
# Fields of a file, each term counted this often (BM25F by replication; ledger, section 9.4: 5, 5, 1.5, .5).
TITLE, ALIAS, HEAD, TAG, DESCRIPTION = 10, 10, 3, 1, 1

TELLING = ("valid_to", "supersedes", "superseded_by")

# Kinds of numbers as both the standard library's arrays and numpy's name them.
UNIT_FIELDS = {
    "file": "i",
    "stretch": "i",
    "place": "i",
    "number": "i",  # which unit of its file
    "first": "i",  # lines
    "last": "i",
    "begin": "i",  # bytes of the file; -1 when the text does not stand there as it is
    "stop": "i",
    "check": "I",  # CRC-32 of those bytes
    "day": "i",  # days since 1970-01-01, 0 when unknown
    "speaker": "i",  # -1 for none
    "section": "i",  # which of its file's heading paths
    "text": "q",  # key of the text that is embedded, 0 for none
    "flags": "B",
}
# Fields that few search for and nothing is reckoned with as an array: in as few bytes as their values need.
SMALL_FIELDS = ("number", "first", "last", "begin", "stop", "speaker", "section")
TIME_WORDS, CORRECTS, HEADING_ONLY, ASKS, REPEATS = 1, 2, 4, 8, 16


class UnitEntry(NamedTuple):
    """One unit as it goes into the corpus. Fields as in ``UNIT_FIELDS``; ``stretches`` are those not cut yet."""

    terms: tuple[str, ...]
    first: int
    last: int
    begin: int
    stop: int
    check: int
    day: int
    speaker: str
    flags: int
    headings: tuple[str, ...] = ()
    text: int = 0
    stretches: Sequence[str] = ()


@dataclass(slots=True)
class FileEntry:
    """One file as it was read, on its way into the corpus (which keeps :class:`~.files.KnownFile`).

    ``version`` is the vault's content version, ``digest`` the whole SHA-256; ``mtime``, ``ctime`` and ``checked`` (when
    the bytes were last read) are in nanoseconds. ``lines`` and ``size`` say where a journal's new lines begin.
    ``fault`` is why a part of the file could not be used. ``front`` holds the front matter for filters. Once it is
    ``packed``, ``tells`` is set, and nothing looks at what is in there any more.
    """

    path: str
    size: int
    mtime: int
    ctime: int
    checked: int
    digest: str
    encoding: str = "utf-8"
    kind: str = "note"
    title: str = ""
    day: int = 0
    description: str = ""
    tags: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    front: dict[str, Any] = field(default_factory=dict)
    links: tuple[FileLink, ...] = ()
    lines: int = 0
    fault: str = ""
    labels: tuple[str, ...] = ()
    anchors: tuple[Anchor, ...] = ()
    label_slot: int = -1
    start: int = 0  # the file's first place
    slots: "Sequence[int] | Ints" = ()
    voices: frozenset[int] = frozenset()
    sections: tuple[tuple[str, ...], ...] = ()  # heading paths
    packed: Packed | None = None
    tells: bool = False


def is_preferred(path: str, front: dict[str, Any]) -> bool:
    """Whether the user put a file first: MEMORY.md and pinned notes."""
    return path == MEMORY_FILE or front.get("pinned") is True


def tells(path: str, front: dict[str, Any]) -> bool:
    """Whether a file says something of itself or another file that counts in ranking."""
    return is_preferred(path, front) or not front.keys().isdisjoint(TELLING)


def blur(values: "Ints") -> "Ints":
    """Each value with its neighbours' shares, in twentieths. The first and last ``REACH`` values must be 0."""
    out = values * BLUR[0]
    for distance in range(1, REACH + 1):
        out[distance:] += values[:-distance] * BLUR[distance]
        out[:-distance] += values[distance:] * BLUR[distance]
    return out
