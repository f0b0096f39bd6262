"""A file becomes a :class:`Document`: fields, links, the units that are scored and the chunks that are embedded."""

from dataclasses import dataclass, field
from typing import Literal

from ..models import FileChunk, FileFrontMatter, FileLink

Kind = Literal["note", "journal", "resource"]


@dataclass(frozen=True, slots=True)
class Unit:
    """What is scored: a paragraph, a list item, a few table rows or code lines; in a journal, a turn.

    ``start_line`` and ``end_line`` are 1-based lines of the file, split on ``\\n`` only. ``text`` is the original text;
    in a note it holds the speaker's name where the file does, in a journal it does not. ``headings`` is the heading
    path above, outermost first. ``date`` is ``YYYY-MM-DD`` of a journal turn, else "". ``context`` is text that belongs
    to the unit but stands elsewhere: a table's header rows, a ``[Part k/n]`` mark.
    """

    start_line: int
    end_line: int
    text: str
    headings: tuple[str, ...] = ()
    speaker: str = ""
    date: str = ""
    context: str = ""


@dataclass(frozen=True, slots=True)
class Document:
    """A file as the index sees it. ``date`` is ``YYYY-MM-DD`` or ""; ``headings`` are all headings in file order.

    A chunk is a run of consecutive units, at most ``chunk_chars`` long, inside one section. Its ``id`` is a hash of its
    normalised text and heading path, so it does not change when lines are inserted above; it is unique in the file, not
    in the vault. ``FileChunk.metadata`` has ``units`` (first and last index into ``units``, inclusive), ``headings``
    (the path), ``toc`` (the path as one line, "" without ``embed_toc``) and ``context``.
    """

    path: str
    kind: Kind
    title: str
    date: str = ""
    description: str = ""
    tags: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    headings: tuple[str, ...] = ()
    front_matter: FileFrontMatter = field(default_factory=FileFrontMatter)
    links: tuple[FileLink, ...] = ()
    units: tuple[Unit, ...] = ()
    chunks: tuple[FileChunk, ...] = ()


def read_document(
    path: str, text: str, *, chunk_chars: int = 1200, embed_toc: bool = True, first_line: int = 1
) -> Document:
    """Read one file; the suffix decides how. Never raises on content.

    ``path`` is vault-relative; ``chunk_chars`` in characters. ``first_line`` numbers a piece of a line-based file
    (a journal's new lines) that begins below line 1.
    """
    units, line = [], first_line
    for block in text.split("\n\n"):
        size = block.count("\n")
        if block.strip():
            units.append(Unit(line, line + size, block))
        line += size + 2
    kind: Kind = "journal" if path.endswith(".jsonl") else "note"
    return Document(path=path, kind=kind, title=path.rsplit("/", 1)[-1], units=tuple(units))
