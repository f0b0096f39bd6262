"""A Markdown note as passages: sections by headings, and in them paragraphs, list items, table rows and code."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from .markdown_blocks import Block, read_blocks
from .passages import LONGEST_ROWS, Lines, Passage, divided, grouped, marked
from .speakers import speaker_names, speaker_of, turn_rows

# Short items of one list are scored together.
_SHORT_ITEM = 80
_SHORT_ITEMS = 240
_LONGEST_HEADER = 300
# A heading is repeated with every passage below it.
_LONGEST_HEADING = 300

_HEADING = re.compile(r" {0,3}#{1,6}(?:[ \t]+|$)")
_CLOSING = re.compile(r"(?:^|[ \t]+)#+[ \t]*$")
_BLOCK_ID = re.compile(r"\s+(?:\^[\w-]+|\{#[^}]*\})\s*$")
_LINK = re.compile(r"!?\[\[(?:[^\]|\n]*\|)?([^\]\n]*)\]\]|!?\[([^\]\n]*)\]\([^)\n]*\)")
_EMPHASIS = re.compile(r"(?<![^\W_])(?:\*{1,3}|_{1,3}|`+|~~|==)(?=\S)|(?<=\S)(?:\*{1,3}|_{1,3}|`+|~~|==)(?![^\W_])")
# Marks of generated parts are for programs.
_MARKER = re.compile(r"\s*<!--\s*reme:[^>]*-->\s*")
_PART = re.compile(r"\s*<!--\s*reme:(begin|end) (\w+) -->")
# In a long-term note: since when the statement above holds, and where it is said. The day and the links count; as text,
# the words of the paths would match what the statement does not say, and take the room of statements.
_FACTS = re.compile(r"\s*- (?:valid_from: (\d{4}-\d\d-\d\d)|valid_to|supersedes|source)\b")


@dataclass(frozen=True, slots=True)
class Note:
    """The passages of a note in order, its headings, and the heading it opens with ("" when it opens otherwise)."""

    passages: list[Passage]
    headings: list[str]
    first_heading: str


def read_note(lines: Lines, limit: int) -> Note:
    """Take a Markdown body apart; no passage is longer than ``limit`` characters."""
    blocks = read_blocks(lines.rows)
    names = frozenset[str]()
    if lines.text.find(":", lines.starts[0]) >= 0 or "：" in lines.text:
        said = ["\n".join(lines.rows[b.begin : b.end]) for b in blocks if b.kind in ("paragraph", "item")]
        names = speaker_names(said)
    reader = _Reader(lines, limit, names)
    for position, block in enumerate(blocks):
        if block.kind == "heading" and block.top:
            reader.open_section(block, empty=_is_empty(blocks, position))
            if position == 0:
                reader.first_heading = reader.path[-1] if reader.path else ""
        else:
            reader.add(block)
    reader.close_items()
    return Note(reader.passages, reader.headings, reader.first_heading)


def heading_text(row: str) -> str:
    """A heading's words without its marks, links and emphasis."""
    text = _CLOSING.sub("", _HEADING.sub("", row[:_LONGEST_HEADING].strip("\r\n"), count=1))
    text = _LINK.sub(lambda match: match.group(1) or match.group(2) or "", _BLOCK_ID.sub("", text))
    return " ".join(_EMPHASIS.sub("", text).split())


def _is_empty(blocks: list[Block], position: int) -> bool:
    """Whether a heading has neither text nor a deeper heading below it."""
    following = blocks[position + 1] if position + 1 < len(blocks) else None
    if following is not None and following.kind == "rule":
        return _is_empty([blocks[position], *blocks[position + 2 : position + 4]], 0)
    return following is None or (
        following.kind == "heading" and following.top and following.level <= blocks[position].level
    )


class _Reader:
    """Where the reading of a note stands: the open section, and list items that may still be joined."""

    def __init__(self, lines: Lines, limit: int, names: frozenset[str]) -> None:
        self.passages: list[Passage] = []
        self.headings: list[str] = []
        self.first_heading = ""
        self.path: tuple[str, ...] = ()
        self._lines = lines
        self._limit = limit
        self._names = names
        self._levels: list[tuple[int, str]] = []
        self._section = 0
        self._section_start = -1
        self._items: list[Passage] = []
        self._header = ""
        self._part = ""

    def open_section(self, block: Block, *, empty: bool) -> None:
        """Begin the section of a heading; one without content, or too long to repeat, is a passage of its own."""
        self.close_items()
        self._header = ""
        rows = self._lines.rows[block.begin : block.end]
        while rows and not rows[-1].strip():
            rows.pop()
        text = heading_text(
            rows[0] if len(rows) == 1 or _HEADING.match(rows[0]) else " ".join(map(str.strip, rows[:-1]))
        )
        self._levels = [entry for entry in self._levels if entry[0] < block.level]
        if text:
            self._levels.append((block.level, text))
            self.headings.append(text)
        self.path = tuple(name for _, name in self._levels)
        self._section += 1
        span = self._lines.span(block.begin, block.end)
        self._section_start = span[0] if span else -1
        if span and text and (empty or span[1] - span[0] > _LONGEST_HEADING):
            self.passages.extend(divided(self._lines.text, self._passage(*span)._replace(head=True), self._limit))

    def add(self, block: Block) -> None:
        """Add a block's passages to the open section."""
        span = self._lines.span(block.begin, block.end)
        if span is None or block.kind == "rule":
            return
        text = self._lines.text
        if marker := _PART.match(text, *span) if block.kind == "html" else None:
            self._part = marker.group(2) if marker.group(1) == "begin" else ""
        if block.kind == "item" and self._part == "dream" and (facts := _FACTS.match(text, *span)):
            if self._items and facts.group(1):
                self._items[-1] = self._items[-1]._replace(date=facts.group(1))
            return
        if block.kind == "item":
            self._items.append(self._passage(*span, speaker=speaker_of(text[span[0] : span[1]], self._names)))
            return
        self.close_items()
        if block.kind == "table":
            self._header = "\n".join(row.strip() for row in self._lines.rows[block.begin : block.begin + 2])
            self._header = self._header[:_LONGEST_HEADER]
            self.passages.extend(self._table(block, 2))
            return
        if self._header and text[span[0] : span[1]].lstrip().startswith("|"):
            # Rows after a blank line are no part of the table to Markdown, and still are to people.
            self.passages.extend(self._table(block, 0))
            return
        self._header = ""
        if block.kind == "code":
            self.passages.extend(divided(text, self._passage(*span), min(self._limit, LONGEST_ROWS)))
        elif block.kind != "html" or not _MARKER.fullmatch(text, *span):
            for passage in self._turns(block, span):
                self.passages.extend(divided(text, passage, self._limit))

    def close_items(self) -> None:
        """Pass on the list items read so far, short neighbours joined."""
        items, self._items = self._items, []
        if not items:
            return
        sizes = [
            size
            if (size := item.stop - item.start) <= _SHORT_ITEM and not (item.speaker or item.date)
            else _SHORT_ITEMS + 1
            for item in items
        ]
        for begin, end in grouped(sizes, _SHORT_ITEMS):
            item = items[begin] if end - begin == 1 else items[begin]._replace(stop=items[end - 1].stop)
            self.passages.extend(divided(self._lines.text, item, self._limit))

    def _passage(self, start: int, stop: int, context: str = "", speaker: str = "") -> Passage:
        return Passage(start, stop, self.path, self._section, self._section_start, context, speaker)

    def _turns(self, block: Block, whole: tuple[int, int]) -> Iterator[Passage]:
        """A paragraph, or its turns when it is several people's talk line by line."""
        lines = self._lines
        rows = lines.rows[block.begin : block.end]
        starts = turn_rows(rows, self._names) if block.kind == "paragraph" and len(rows) > 1 else []
        if not starts:
            yield self._passage(*whole, speaker=speaker_of(lines.text[whole[0] : whole[1]], self._names))
            return
        for begin, end in pairwise(sorted({0, *starts, len(rows)})):
            span = lines.span(block.begin + begin, block.begin + end)
            if span:
                yield self._passage(*span, speaker=speaker_of(lines.text[span[0] : span[1]], self._names))

    def _table(self, block: Block, heads: int) -> list[Passage]:
        """Rows a few at a time; each piece that does not begin with the ``heads`` rows has them as its context."""
        lines = self._lines
        sizes = [len(row) + 1 for row in lines.rows[block.begin : block.end]]
        if heads and len(sizes) > heads:
            # The heading rows stay with the first row below them.
            sizes[: heads + 1] = [*[0] * heads, sum(sizes[: heads + 1])]
        parts: list[Passage] = []
        for begin, end in grouped(sizes, min(self._limit, LONGEST_ROWS)):
            span = lines.span(block.begin + begin, block.begin + end)
            if span is None:
                continue
            headed = heads > 0 and begin == 0
            for number, piece in enumerate(divided(lines.text, self._passage(*span), self._limit)):
                parts.append(piece if headed and number == 0 else piece._replace(context=self._header))
        return marked(parts)
