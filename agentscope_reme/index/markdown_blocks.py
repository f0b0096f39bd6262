"""The blocks of a Markdown text with their exact lines: mistletoe's block parser, without its inline parser.

Only where blocks begin is asked of the parser, so it is given lines that are shortened and flattened where their length
or nesting could make it slow; the text itself is taken from the file. Four of mistletoe's blocks are replaced: headings
and paragraphs because theirs parse inline text, fences because a closing fence must have nothing behind it, and lists
because theirs read the item after a change of marker twice, which doubles with every level of nesting.
"""

import re
import threading
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

from .plain_blocks import LONGEST_ROW, OPENERS, BlockKind, Start, read_plain

_DEEPEST_INDENT = 64
_MARKER = r"(?:[-*+>]|\d{1,9}[.)])"
_DEEP = re.compile(rf"((?:[ \t]*{_MARKER}(?=[ \t>]|$)){{16}})[ \t]*{_MARKER}(?=[ \t>]|$)")
_RULE = re.compile(r"[ \t]{0,3}([-*_])(?:[ \t]*\1)*[ \t]*")
_ITEM = re.compile(rf"[ \t>]*{_MARKER}(?=[ \t\r]|$)")
_EMPTY_ITEM = re.compile(r"[ \t>]*([-*+]|\d{1,9}[.)])[ \t]*")
_WIDE_GAP = re.compile(r"(?<=\S)\s{8,}(?=\S)")

# mistletoe keeps the state of a parse in class attributes and its list of blocks in a module.
_lock = threading.Lock()


class Block(NamedTuple):
    """Rows ``begin`` to ``end`` (0-based, exclusive) of a text.

    ``level`` is a heading's. ``top`` says that it lies in no list and no quote; only such headings open sections.
    """

    kind: BlockKind
    begin: int
    end: int
    level: int = 0
    top: bool = True


def read_blocks(rows: list[str]) -> list[Block]:
    """The leaf blocks of Markdown rows, in order; together they cover every row that is not blank."""
    try:
        found = _starts_of(rows)
    except RecursionError:
        found = [(index, "paragraph", 0, False) for index, row in enumerate(rows) if row.strip()]
    ends = [*(start[0] for start in found), len(rows)][1:]
    return [Block(kind, begin, end, level, top) for (begin, kind, level, top), end in zip(found, ends, strict=False)]


def _starts_of(rows: list[str]) -> list[Start]:
    """Where each leaf block begins, in order; the parser is asked for what is not plain."""
    starts: list[Start] = []
    plain = [row.rstrip("\r") for row in rows]
    parser: _Parser | None = None
    at, doubt = read_plain(plain, 0, starts)
    while at < len(rows):
        parser = parser or _Parser(rows, at)
        at = parser.read(at, doubt, starts)
        at, doubt = read_plain(plain, at, starts)
    if parser is None:
        return starts
    return sorted({start[0]: start for start in reversed(starts)}.values())


def _tame(row: str, previous: str) -> str:
    """A row that begins the same block as the given one, and costs the parser no more than its length."""
    row = row.rstrip("\r")
    if not row or row.isspace():
        return "\n"
    if len(row) > LONGEST_ROW:
        row = row[:LONGEST_ROW] + (" |" if "|" in row[LONGEST_ROW:] else "")
    if len(row) > _DEEPEST_INDENT:
        bare = row.lstrip(" \t")
        if len(row) - len(bare) > _DEEPEST_INDENT:
            row = " " * _DEEPEST_INDENT + bare
        if _RULE.fullmatch(row):
            return row[:_DEEPEST_INDENT].replace("\t", " ") + "\n"
    if len(row) > 16 and (deep := _DEEP.match(row)) and not _RULE.fullmatch(row):
        row = f"{deep.group(1)} x"
    elif (empty := _EMPTY_ITEM.fullmatch(row)) and (empty[1] != "-" or _opens_item(previous)):
        # mistletoe misnumbers the rows of an item whose first row is empty.
        row = f"{row} x"
    if "        " in row or not row.isascii():
        row = _WIDE_GAP.sub(" ", row)
    return row + "\n"


def _opens_item(previous: str) -> bool:
    """Whether ``-`` alone in the row after this one is a list item; below a paragraph it underlines a heading."""
    return not previous.strip() or _ITEM.match(previous) is not None


class _Parser:
    """mistletoe's block parser on the rows of one note from row ``first`` on."""

    def __init__(self, rows: list[str], first: int) -> None:
        from mistletoe.block_tokenizer import FileWrapper

        lines, previous = ["\n"] * first, rows[first - 1] if first else ""
        for row in rows[first:]:
            lines.append(_tame(row, previous))
            previous = row
        self._lines = FileWrapper(lines, start_line=0)

    def read(self, begin: int, last: int, starts: list[Start]) -> int:
        """Add the blocks at the top from row ``begin`` to the one that holds row ``last``; the row after them."""
        from mistletoe import block_token

        lines, types = self._lines, _block_types()
        with _lock:
            before = block_token._token_types
            block_token._token_types = types
            try:
                lines.set_pos(begin - 1)
                while lines.get_pos() < last and (line := lines.peek()) is not None:
                    row = lines.get_pos() + 1
                    for kind in types:
                        if kind.start(line) and (result := kind.read(lines)) is not None:
                            starts.extend(_starts([(kind, result, row)], top=True))
                            break
                    else:
                        next(lines)
                return int(lines.get_pos()) + 1
            finally:
                block_token._token_types = before
                block_token.Paragraph.parse_setext = True


def _starts(buffer: Any, top: bool) -> Iterator[Start]:
    """Where each leaf block begins; quotes and lists are taken apart."""
    for token, result, row in buffer:
        name = token.__name__
        if name == "Quote":
            yield from _starts(result, top=False)
            yield row, "paragraph", 0, False
        elif name == "List":
            for inner, _, _, _, item_row in result:
                yield item_row, "item", 0, False
                yield from _starts(inner, top=False)
        elif name in ("Paragraph", "Plain") and isinstance(result, int):
            yield row, "heading", result, top
        else:
            yield row, _KINDS[name], result if name == "Heading" else 0, top


_KINDS: dict[str, BlockKind] = {
    "Heading": "heading",
    "Paragraph": "paragraph",
    "Plain": "paragraph",
    "BlockCode": "code",
    "CodeFence": "code",
    "Table": "table",
    "HtmlBlock": "html",
    "Rule": "rule",
}


@cache
def _block_types() -> list[Any]:
    """mistletoe's blocks in the order they are tried, without link definitions, which are text like any other here."""
    from mistletoe import block_token

    class Heading(block_token.Heading):
        pattern = re.compile(r" {0,3}(#{1,6})(?=[ \t\n])")

        @classmethod
        def start(cls, line: str) -> bool:
            match = cls.pattern.match(line)
            if match is not None:
                cls.level = len(match.group(1))
            return match is not None

        @classmethod
        def read(cls, lines: Any) -> int:
            next(lines)
            return cls.level

    class CodeFence(block_token.CodeFence):
        @classmethod
        def read(cls, lines: Any) -> int:
            fence = cls._open_info[1]
            next(lines)
            for line in lines:
                bare = line.strip()
                indent = len(line) - len(line.lstrip(" "))
                if indent < 4 and len(bare) >= len(fence) and not bare.strip(fence[0]):
                    break
            return 0

    class Paragraph(block_token.Paragraph):
        @classmethod
        def read(cls, lines: Any) -> int | list[str]:
            next(lines)
            line = lines.peek()
            while line is not None and line != "\n":
                # Most rows begin with a letter and open no block; a table's delimiter row stands below its first.
                if line[0] in OPENERS or "|" in line:
                    if any(kind.check_interrupts_paragraph(lines) for kind in interrupting):
                        break
                    if cls.parse_setext and cls.is_setext_heading(line):
                        next(lines)
                        return 1 if "=" in line else 2
                    if Rule.start(line):
                        break
                next(lines)
                line = lines.peek()
            return []

    class List(block_token.List):
        @classmethod
        def read(cls, lines: Any) -> list[Any]:
            items: list[Any] = []
            marker = None
            while True:
                item, marker = block_token.ListItem.read(lines, marker)
                items.append(item)
                if marker is None or not cls.same_marker_type(items[0][3], marker[2]):
                    return items

    class Rule(block_token.ThematicBreak):
        @classmethod
        def start(cls, line: str) -> Any:
            return line[0] in " -_*" and cls.pattern.match(line)

    class Plain(Paragraph):
        """A paragraph known by its first character: asked first, it spares most rows all other questions."""

        @staticmethod
        def start(line: str) -> bool:
            return line[0] not in OPENERS and line != "\n" and "|" not in line

    # Asked whether they may interrupt a paragraph.
    interrupting = [block_token.HtmlBlock, Heading, block_token.Quote, CodeFence, List, block_token.Table]
    return [
        Plain,
        Rule,
        List,
        Heading,
        block_token.Quote,
        CodeFence,
        block_token.HtmlBlock,
        block_token.BlockCode,
        block_token.Table,
        Paragraph,
    ]
