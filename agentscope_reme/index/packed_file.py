"""What the index keeps of a file as bytes: made where the file is read, and not unpacked on the way."""

import json
import marshal
from typing import TYPE_CHECKING, Any, NamedTuple

from .link_records import packed_links

if TYPE_CHECKING:
    from .entries import FileEntry

DIGEST = 32  # bytes of a SHA-256


class Packed(NamedTuple):
    """``card``: title, description, tags and aliases; ``rest``: front matter and heading paths. For this machine."""

    card: bytes
    rest: bytes
    links: bytes  # see link_records


def packed(entry: "FileEntry") -> Packed:
    """What is kept of a file, whose heading paths are known."""
    card = marshal.dumps((entry.title, entry.description, tuple(entry.tags), tuple(entry.aliases)))
    return Packed(card, rest_of(entry.front, entry.sections), packed_links(entry.links))


def digest_of(text: str) -> bytes:
    """A SHA-256 in hexadecimal digits as bytes. Raises ValueError for what is none."""
    digest = bytes.fromhex(text)
    if len(digest) != DIGEST:
        raise ValueError(f"{text!r} is no SHA-256")
    return digest


def rest_of(front: dict[str, Any], sections: tuple[tuple[str, ...], ...]) -> bytes:
    """Front matter and heading paths as bytes for this process."""
    try:
        return marshal.dumps((front, sections))
    except ValueError:  # a value of a class of its own, which has a JSON form nevertheless
        return marshal.dumps((json.loads(json.dumps(front)), sections))
