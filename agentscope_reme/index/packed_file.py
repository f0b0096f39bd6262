"""What the index keeps of a file as bytes: made where the file is read, and not unpacked on the way."""

import json
import marshal
from collections.abc import Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from .link_records import TOGETHER, packed_links

if TYPE_CHECKING:
    from .entries import FileEntry

DIGEST = 32  # bytes of a SHA-256
Sections = tuple[tuple[str, ...], ...]
Said = tuple[str, str, tuple[str, ...], tuple[str, ...]]


# What a search shows of a file's front matter, or reads there to show its text.
SHOWN = frozenset({"trust", "generator"})


class Packed(NamedTuple):
    """``card``: as :func:`card_of` makes it; ``rest``: front matter and heading paths. For this machine."""

    card: bytes
    rest: bytes
    links: bytes  # see link_records


def packed(entry: "FileEntry") -> Packed:
    """What is kept of a file, whose heading paths are known."""
    card = card_of(
        (entry.title, entry.description, tuple(entry.tags), tuple(entry.aliases)), entry.front, entry.sections
    )
    return Packed(card, rest_of(entry.front, entry.sections), packed_links(entry.links))


def card_of(said: Said, front: Mapping[str, Any], sections: Sections) -> bytes:
    """Title, description, tags and aliases as bytes for this process, and whether a search need not read the rest.

    That is so where the front matter has none of ``SHOWN``, and no heading stands anywhere.
    """
    return marshal.dumps((*said, SHOWN.isdisjoint(front) and not any(sections)))


def digest_of(text: str) -> bytes:
    """A SHA-256 in hexadecimal digits as bytes. Raises ValueError for what is none."""
    digest = bytes.fromhex(text)
    if len(digest) != DIGEST:
        raise ValueError(f"{text!r} is no SHA-256")
    return digest


def rest_of(front: dict[str, Any], sections: Sections) -> bytes:
    """Front matter and heading paths as bytes for this process; the latter as :func:`section_in` reads them."""
    kept: Sections | tuple[bytes, ...] = sections
    if len(sections) > TOGETHER:
        kept = tuple(marshal.dumps(sections[at : at + TOGETHER]) for at in range(0, len(sections), TOGETHER))
    try:
        return marshal.dumps((front, kept))
    except ValueError:  # a value of a class of its own, which has a JSON form nevertheless
        return marshal.dumps((json.loads(json.dumps(front)), kept))


def sections_in(kept: Sections | tuple[bytes, ...]) -> Sections:
    """All heading paths."""
    if kept and isinstance(kept[0], bytes):
        return tuple(chain.from_iterable(map(marshal.loads, kept)))
    return cast("Sections", kept)


def section_in(kept: Sections | tuple[bytes, ...], number: int) -> tuple[str, ...]:
    """A heading path by its number; of many those around it are unpacked with it."""
    if kept and isinstance(kept[0], bytes):
        at, number = divmod(number, TOGETHER)
        kept = marshal.loads(kept[at]) if 0 <= at < len(kept) else ()
    return cast("Sections", kept)[number] if 0 <= number < len(kept) else ()
