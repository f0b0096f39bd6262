"""A file becomes a :class:`Document`: fields, links, the units that are scored and the chunks that are embedded."""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any, Literal, NamedTuple

from ..models import FileChunk, FileFrontMatter, FileLink
from ..vault.frontmatter import parse
from ..vault.wikilink import front_matter_links, parse_links
from .journal_turns import is_journal, is_message, read_turns
from .markdown_passages import read_note
from .note_fields import aliases_of, date_of, description_of, path_date, tags_of, title_of
from .passages import LONGEST_UNIT, Lines, Passage, divided
from .plain_passages import read_json, read_lines, read_table, read_text, read_yaml

Kind = Literal["note", "journal", "resource"]
MARKDOWN = (".md", ".markdown")


class Unit(NamedTuple):
    """What is scored: a paragraph, a list item, a few table rows or code lines; in a journal, a turn.

    ``start_line`` and ``end_line`` are 1-based lines of the file, split on ``\\n`` only. ``text`` is the original text
    (read from its escapes in JSON, HTML and journals); in a note it holds the speaker's name where the file does, in a
    journal it does not. ``headings`` is the heading path above, outermost first. ``date`` is ``YYYY-MM-DD`` of a
    journal turn, else "". ``context`` is what belongs to the unit but stands elsewhere: a table's heading rows, and
    ``[Part k/n]`` where a block was too long for one unit.
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

    A chunk is a run of consecutive units of one section, at most ``chunk_chars`` long, the section's heading included.
    Its ``id`` is a hash of its text without differences in white space and of its heading path, so that it does not
    change when lines are inserted above; equal ones are numbered. It is unique in the file, not in the vault.
    ``FileChunk.metadata`` has ``units`` (first and last index into ``units``, inclusive), ``headings`` (the path),
    ``toc`` (title and path as one line, "" without ``embed_toc``) and ``context`` (see :class:`Unit`).
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
    path: str,
    text: str,
    *,
    chunk_chars: int = 1200,
    embed_toc: bool = True,
    first_line: int = 1,
    with_chunks: bool = True,
) -> Document:
    """Read one file; its suffix decides how. Never raises on content.

    ``path`` is vault-relative; ``chunk_chars`` in characters. ``first_line`` numbers the lines of a piece of a file
    that is read by lines (what was appended to a journal). ``with_chunks=False`` leaves ``chunks`` empty.
    """
    if path.lower().endswith(MARKDOWN):
        return _read_markdown(path, text, chunk_chars, embed_toc, with_chunks)
    return _read_other(path, text, chunk_chars, embed_toc, first_line, with_chunks)


def _read_markdown(path: str, text: str, chunk_chars: int, embed_toc: bool, with_chunks: bool) -> Document:
    parsed = parse(text)
    front = parsed.front
    offset = len(text) - len(parsed.body)
    lines = Lines(text, parsed.body_line, offset)
    note = read_note(lines, min(chunk_chars, LONGEST_UNIT))
    passages = note.passages
    if parsed.raw and parsed.raw.strip() and (front.error or not passages):
        # What cannot be read as keys is searched as text; a note of front matter alone has nothing else to show.
        passages = [*read_lines(Lines(text[:offset]), min(chunk_chars, LONGEST_UNIT)), *passages]
        lines = Lines(text)
    title = title_of(path, front, note.first_heading)
    units = tuple(_units(lines, passages))
    links = (*front_matter_links(front, path, parsed.raw), *parse_links(parsed.body, path, parsed.body_line))
    return Document(
        path=path,
        kind="resource" if path.startswith("resource/") else "note",
        title=title,
        date=date_of(path, front),
        description=description_of(front),
        tags=tags_of(front, [text[p.start : p.stop] for p in passages] if "#" in text else []),
        aliases=aliases_of(front),
        headings=tuple(note.headings),
        front_matter=front,
        links=links,
        units=units,
        chunks=tuple(_chunks(path, lines, passages, units, title, chunk_chars, embed_toc)) if with_chunks else (),
    )


def _read_other(
    path: str, text: str, chunk_chars: int, embed_toc: bool, first_line: int, with_chunks: bool
) -> Document:
    lines = Lines(text, first=first_line, offset=1 if text.startswith("\ufeff") else 0)
    limit = min(chunk_chars, LONGEST_UNIT)
    name = PurePosixPath(path)
    kind: Kind = "resource"
    title = name.stem
    headings: tuple[str, ...] = ()
    passages: Iterable[Passage]
    match name.suffix.lower():
        case ".jsonl" if is_journal(path) or (lines.rows and is_message(lines.rows[0])):
            kind = "journal" if is_journal(path) else "resource"
            passages = [part for turn in read_turns(lines) for part in divided(text, turn, limit)]
        case ".json" | ".jsonl" | ".ndjson":
            passages = read_json(lines, limit)
        case ".csv":
            passages = read_table(lines, limit, ",")
        case ".tsv":
            passages = read_table(lines, limit, "\t")
        case ".yaml" | ".yml":
            passages = read_yaml(lines, limit)
        case ".html" | ".htm" | ".xhtml":
            from .html_passages import read_html

            passages, found, page_title = read_html(lines, limit)
            title, headings = page_title or title, tuple(found)
        case ".log":
            passages = read_lines(lines, limit)
        case _:
            passages = read_text(lines, limit)
    ordered = list(passages)
    units = tuple(_units(lines, ordered))
    return Document(
        path=path,
        kind=kind,
        title=title,
        date=path_date(path),
        headings=headings,
        units=units,
        chunks=tuple(_chunks(path, lines, ordered, units, title, chunk_chars, embed_toc)) if with_chunks else (),
    )


def _units(lines: Lines, passages: Sequence[Passage]) -> Iterator[Unit]:
    for passage in passages:
        yield Unit(
            start_line=lines.number(passage.start),
            end_line=lines.number(max(passage.start, passage.stop - 1)),
            text=passage.text if passage.text is not None else lines.text[passage.start : passage.stop],
            headings=passage.headings,
            speaker=passage.speaker,
            date=passage.date,
            context=passage.context,
        )


def _chunks(
    path: str,
    lines: Lines,
    passages: Sequence[Passage],
    units: Sequence[Unit],
    title: str,
    chunk_chars: int,
    embed_toc: bool,
) -> Iterator[FileChunk]:
    seen: dict[str, int] = {}
    for begin, end, start in _runs(passages, units, chunk_chars):
        headings = passages[end - 1].headings
        decoded = any(passage.text is not None for passage in passages[begin:end])
        text = (
            "\n".join(unit.text for unit in units[begin:end]) if decoded else lines.text[start : passages[end - 1].stop]
        )
        chunk_id = _identity(text, headings)
        count = seen[chunk_id] = seen.get(chunk_id, 0) + 1
        metadata: dict[str, Any] = {
            "units": (begin, end - 1),
            "headings": headings,
            "toc": " > ".join(headings if headings[:1] == (title,) else (title, *headings)) if embed_toc else "",
            "context": units[begin].context,
        }
        yield FileChunk(
            id=chunk_id if count == 1 else f"{chunk_id}-{count}",
            path=path,
            start_line=lines.number(start),
            end_line=units[end - 1].end_line,
            text=text,
            metadata=metadata,
        )


def _runs(passages: Sequence[Passage], units: Sequence[Unit], chunk_chars: int) -> Iterator[tuple[int, int, int]]:
    """``(first, last exclusive, start character)`` of each chunk.

    A run ends at a section's end or when the next passage would make it too long; empty sections join what follows.
    """
    begin = 0
    while begin < len(passages):
        first = passages[begin]
        opens = begin == 0 or passages[begin - 1].section != first.section
        start = first.section_start if opens and 0 <= first.section_start < first.start else first.start
        if len(units[begin].text) + first.start - start > chunk_chars:
            start = first.start
        size, end = len(units[begin].text) + first.start - start, begin + 1
        while end < len(passages):
            following, before = passages[end], passages[end - 1]
            if following.section != before.section and not before.head:
                break
            # Between two passages lies what the file has there: blank lines, headings, quote marks.
            grown = len(units[end].text) + 1 if following.text is not None else following.stop - before.stop
            if size + grown > chunk_chars:
                break
            size, end = size + grown, end + 1
        yield begin, end, start
        begin = end


def _identity(text: str, headings: tuple[str, ...]) -> str:
    normal = "\x1f".join((*headings, " ".join(text.split())))
    return hashlib.sha256(normal.encode("utf-8", "surrogatepass")).hexdigest()[:20]
