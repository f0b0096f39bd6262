"""Blocks of Markdown rows whose kind is beyond doubt, told from how the rows begin; all others are left to the parser.

Most notes are paragraphs, headings, fenced code and lists of plain items, and need no parser: the rules here are a part
of mistletoe's, which keeps the last word. Where a row might be anything else (tables, quotes, HTML, code by
indentation, items that are empty or hold other blocks), the block it stands in is not begun.
"""

import re
from typing import Literal

BlockKind = Literal["heading", "paragraph", "item", "code", "table", "html", "rule"]
Start = tuple[int, BlockKind, int, bool]
"""Where a leaf block begins: its row, its kind, the level of a heading, and whether it lies in no list and no quote."""

LONGEST_ROW = 2_000
_DEEPEST_COLUMN = 60
OPENERS = frozenset(" \t#>`~<-*+=_0123456789")
"""What a row must begin with to open a block, or to underline a heading, where a paragraph could go on."""

# A row that begins like this is text in every place.
_TEXT = (
    r"(?:[^\s\d#>`~<*+=_.)-]|#+(?=[^#\s])|`(?!``)|~(?!~~)|\*(?=[^\s*])|\*{2,}(?=[^*]*[^\s*])|_+(?=[^\s_])|-+(?=[^\s-])|\++(?=[^\s+])"
    r"|[.)](?=\S)|[0-9]+(?=[^\d.)]|\Z)|[0-9]{1,9}[.)](?=\S))"
)
_BEGINS_TEXT = re.compile(rf" {{0,3}}{_TEXT}")
_IS_TEXT = re.compile(rf"[ \t]*{_TEXT}")
_ITEM = re.compile(rf"([ \t]*)([-*+]|[0-9]{{1,9}}[.)])( {{1,4}}){_TEXT}")
_HEADING = re.compile(r" {0,3}(#{1,6})(?=[ \t]|\Z)")
_FENCE = re.compile(r" {0,3}(?:(`{3,})[^`]*|(~{3,}).*)\Z", re.DOTALL)
_COMMENT = re.compile(r" {0,3}<!--")
_UNDERLINE = re.compile(r"(?:=+|-{2,}) *\Z")
_RULE = re.compile(r" {0,3}(?:-{3,}|\*{3,}|_{3,})[ \t]*\Z")
# What ends a paragraph, or a list, whatever stands before it. A row of dashes would underline a paragraph.
_ENDS_ITEM = re.compile(r"#{1,6}(?=[ \t]|\Z)|>|<!--|`{3,}[^`]*\Z|~{3,}|(?:-{3,}|\*{3,}|_{3,})[ \t]*\Z")
_ENDS_PARAGRAPH = re.compile(
    rf"#{{1,6}}(?=[ \t]|\Z)|>|<!--|`{{3,}}[^`]*\Z|~{{3,}}|(?:\*{{3,}}|_{{3,}})[ \t]*\Z|(?:[-*+]|1[.)]) {{1,4}}{_TEXT}"
)
_NO_DELIMITER = re.compile(r"[^\s|:-]")


def read_plain(rows: list[str], begin: int, starts: list[Start]) -> tuple[int, int]:
    """Add the blocks from row ``begin`` on, where a block at the top may begin, as far as they are plain.

    Returns the row at which the parser must go on, at the top as well, and the row that is in doubt: once it has been
    read, rows may be plain again. The first is the number of rows when nothing is left. ``rows`` end in no line break.
    """
    row_count = len(rows)
    at = begin
    while at < row_count:
        row = rows[at]
        if not row or row.isspace():
            at += 1
        elif len(row) > LONGEST_ROW:
            return at, at
        elif heading := _HEADING.match(row):
            starts.append((at, "heading", len(heading[1]), True))
            at += 1
        elif _ITEM.match(row):
            at, doubt = _read_list(rows, at, starts)
            if doubt >= 0:
                return at, doubt
        elif row[0] not in OPENERS or _BEGINS_TEXT.match(row):
            end, level = _end_of_paragraph(rows, at)
            if level < 0:
                return at, end
            starts.append((at, "heading" if level else "paragraph", level, True))
            at = end
        elif fence := _FENCE.match(row):
            starts.append((at, "code", 0, True))
            at = _end_of_fence(rows, at + 1, fence[1] or fence[2])
        elif _COMMENT.match(row):
            starts.append((at, "html", 0, True))
            at = _end_of_comment(rows, at)
        elif _RULE.match(row):
            starts.append((at, "rule", 0, True))
            at += 1
        else:
            return at, at
    return at, at


def _end_of_paragraph(rows: list[str], begin: int) -> tuple[int, int]:
    """The row after a paragraph that begins with a row of text, and its level, if it is underlined: a heading.

    With the level -1 the row is the one that is in doubt.
    """
    if "|" in rows[begin] and not _is_no_table(rows, begin):
        return begin, -1
    for at in range(begin + 1, len(rows)):
        row = rows[at]
        if not row or row.isspace():
            return at, 0
        if row[0] in OPENERS or "|" in row:
            if _IS_TEXT.match(row):
                if "|" in row and not _is_no_table(rows, at):
                    return at, -1
            elif _ENDS_PARAGRAPH.match(row):
                return at, 0
            elif _UNDERLINE.match(row):
                return at + 1, 1 if row[0] == "=" else 2
            else:
                return at, -1
    return len(rows), 0


def _end_of_fence(rows: list[str], begin: int, fence: str) -> int:
    """The row after the closing fence."""
    for at in range(begin, len(rows)):
        row = rows[at]
        if fence[0] in row:
            bare = row[:LONGEST_ROW].strip()
            indent = len(row) - len(row.lstrip(" "))
            if indent < 4 and len(bare) >= len(fence) and not bare.strip(fence[0]):
                return at + 1
    return len(rows)


def _end_of_comment(rows: list[str], begin: int) -> int:
    """The row after the one in which a comment ends."""
    for at in range(begin, len(rows)):
        if "-->" in rows[at][:LONGEST_ROW]:
            return at + 1
    return len(rows)


def _read_list(rows: list[str], begin: int, starts: list[Start]) -> tuple[int, int]:
    """Read items from row ``begin`` on; the row after them and -1, or the last item at the top and the row in doubt."""
    columns: list[int] = []  # where the text of each open item begins, outermost first
    top, kept = begin, len(starts)
    after_blank = False
    for at in range(begin, len(rows)):
        row = rows[at]
        if not row or row.isspace():
            after_blank = True
            continue
        item = _ITEM.match(row)
        if item is None and not _IS_TEXT.match(row):
            if _ENDS_ITEM.match(row) or (after_blank and row[0] in "<=`~"):
                return at, -1
            break
        doubtful = ("|" in row and not _is_no_table(rows, at)) or len(row) > LONGEST_ROW
        if item is None and not after_blank and not doubtful:
            continue  # the text of the item goes on, also when it is not indented
        lead = item[1] if item else row[: len(row) - len(row.lstrip(" \t"))]
        column = len(lead.expandtabs(4)) if "\t" in lead else len(lead)
        depth = len(columns)
        while depth and column < columns[depth - 1]:
            depth -= 1
        if item is None and not depth and after_blank:
            return at, -1
        if doubtful or column - (columns[depth - 1] if depth else 0) > 3 or column > _DEEPEST_COLUMN:
            break
        if item is None:
            starts.append((at, "paragraph", 0, False))
            del columns[depth:]
        else:
            if columns and depth == len(columns) and not after_blank and item[2][0].isdigit() and item[2][:-1] != "1":
                break  # only the number 1 may begin a list right below text
            if not depth:
                top, kept = at, len(starts)
            starts.append((at, "item", 0, False))
            columns[depth:] = [column + len(item[2]) + len(item[3])]
        after_blank = False
    else:
        return len(rows), -1
    del starts[kept:]
    return top, at


def _is_no_table(rows: list[str], at: int) -> bool:
    """Whether a row with a bar cannot be a table's first: the next one is no row of dashes, bars and colons."""
    following = rows[at + 1] if at + 1 < len(rows) else ""
    return "-" not in following or _NO_DELIMITER.search(following) is not None
