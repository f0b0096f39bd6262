"""Which characters of a Markdown text are prose: not fenced or indented code, not a code span, not an HTML comment.

Follows CommonMark's block structure (quotes, lists, lazy lines, fences, indented code) line by line, because links must
be found with their exact positions, which Markdown parsers do not report. Linear in the length of the text.
"""

import re
from collections.abc import Iterator

_QUOTE = -1
_NO_PROSE = -1
_NO_COMMENT = -1
_MAX_CONTAINERS = 64  # deeper quotes and lists are read as text, so that hostile nesting costs no quadratic time
_FENCE = re.compile(r"(`{3,})[^`\n]*$|(~{3,})", re.MULTILINE)
_HEADING = re.compile(r"#{1,6}(?:[ \t\r]|$)", re.MULTILINE)
_RULE = re.compile(r"(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})\r?$", re.MULTILINE)
_UNDERLINE = re.compile(r"(?:=+|-+)[ \t]*\r?$", re.MULTILINE)
_ITEM = re.compile(r"([-*+]|[0-9]{1,9}[.)])(?=[ \t\r\n]|\Z)")
_MARKUP = re.compile(r"\\.|`+|<!--")
_TICKS = re.compile(r"`+")
_NOT_ALL_PROSE = ("`", "\t", "~~~", "    ", "<!--")
_MAY_BEGIN_BLOCK = frozenset(" \t\r\n\f\v>`~<#*+-_=|0123456789")


def prose_spans(text: str, last: int | None = None) -> list[tuple[int, int]]:
    """The stretches of prose as ``(start, end)`` character offsets, in order; none crosses code or a comment.

    Those behind the character ``last`` may be left out.
    """
    # One after the other: an expression for all of them takes seven times as long, in one call.
    if not any(sign in text for sign in _NOT_ALL_PROSE):
        return [(0, len(text))]
    return _Scanner(text).run(len(text) if last is None else last)


def _runs_by_length(text: str, start: int, end: int) -> dict[int, Iterator[int]]:
    runs: dict[int, list[int]] = {}
    for run in _TICKS.finditer(text, start, end):
        runs.setdefault(run.end() - run.start(), []).append(run.start())
    return {size: iter(starts) for size, starts in runs.items()}


class _Scanner:
    """The block structure of a text while it is walked line by line."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._spans: list[tuple[int, int]] = []
        self._containers: list[int] = []  # _QUOTE, or the columns by which a list item's content is indented
        self._fence = ""
        self._fence_depth = 0
        self._paragraph = False
        self._empty_item = 0  # how deep the list item is that the line before has opened and left empty
        self._comment_depth = _NO_COMMENT  # how deep the comment with lines of its own stands that is still open
        self._alone = False  # whether the line's text is a block of its own
        self._place = 0  # where the rest of the line starts, its column (for tabs), and the columns
        self._column = 0  # left over of a tab of which a container took a part
        self._spare = 0

    def run(self, last: int) -> list[tuple[int, int]]:
        """The stretches up to the end of the block in which the character ``last`` stands, or beyond it."""
        text, size = self._text, len(self._text)
        start, previous, line = _NO_PROSE, 0, 0
        while line < size and (line <= last or start != _NO_PROSE):
            end = self._line_end(line)
            if self._fence and not self._containers and text.find(self._fence, line, end) < 0:
                line = end + 1  # the code goes on
                continue
            inside = self._fence or self._containers or self._comment_depth != _NO_COMMENT
            if inside or (first := text[line]) in _MAY_BEGIN_BLOCK or first.isspace():
                content, begins_block = self._line(line, end)
            else:
                # Most lines: a paragraph begins or goes on.
                content, begins_block = line, False
                self._paragraph, self._alone, self._empty_item = True, False, 0
            if start != _NO_PROSE and (content == _NO_PROSE or begins_block):
                self._block(start, previous)
                start = _NO_PROSE
            if content != _NO_PROSE:
                start = content if start == _NO_PROSE else start
                if self._alone or text.startswith(("|", "#"), content):
                    # The rows of a table and headings are blocks of their own: a code span does not cross them.
                    self._block(start, end)
                    start = _NO_PROSE
            previous, line = end, end + 1
        if start != _NO_PROSE:
            self._block(start, previous)
        return self._spans

    def _line_end(self, place: int) -> int:
        end = self._text.find("\n", place)
        return len(self._text) if end < 0 else end

    # --- Inside a block ---------------------------------------------------------------------------------------

    def _block(self, start: int, end: int) -> None:
        """Add the prose of one block: what is outside of its code spans and of the comments that end in it."""
        text = self._text
        runs: dict[int, Iterator[int]] = {}
        closers: dict[int, int] = {}
        comments = True
        last = place = start
        while found := _MARKUP.search(text, place, end):
            mark, opened, place = found.group(), found.start(), found.end()
            if mark == "<!--" and comments:
                close = text.find("-->", opened + 2, end)
                comments = close >= 0  # without an end in the block it is text, and so are all that follow
                if comments:
                    self._spans.append((last, opened))
                    last = place = close + 3
            elif mark[0] == "`":
                runs = runs or _runs_by_length(text, start, end)
                size = len(mark)
                closer = closers.get(size, -1)
                while closer < place:
                    closer = next(runs.get(size, iter(())), end)
                closers[size] = closer
                if closer < end:
                    self._spans.append((last, opened))
                    last = place = closer + size
        self._spans.append((last, end))

    # --- The blocks of a line ---------------------------------------------------------------------------------

    def _line(self, line: int, end: int) -> tuple[int, bool]:
        """Where the line's running text starts (or ``_NO_PROSE``), and whether a new block begins with it."""
        self._place, self._column, self._spare, self._alone = line, 0, 0, False
        matched = self._matching_containers(end)
        indent, content = self._indent(end)
        blank = not self._text[content:end].strip()
        empty_item, self._empty_item = self._empty_item, 0
        if self._fence:
            if matched >= self._fence_depth:
                self._close_fence(indent, content, end)
                return _NO_PROSE, False
            self._fence = ""
        if self._comment_depth != _NO_COMMENT:
            if matched >= self._comment_depth:
                return self._end_of_comment(content, end), True
            self._comment_depth = _NO_COMMENT
        if blank:
            # An item may begin with one empty line, not with two.
            del self._containers[empty_item - 1 if 0 < empty_item <= matched else matched :]
            self._paragraph = False
            return _NO_PROSE, False
        if matched < len(self._containers):
            if self._paragraph and (indent >= 4 or self._is_plain(content, end)):
                return content, False  # a lazy line goes on with the paragraph of the containers it left out
            del self._containers[matched:]
            self._paragraph = False
            return self._open_blocks(end, True)
        return self._open_blocks(end, False)

    def _matching_containers(self, end: int) -> int:
        for depth, container in enumerate(self._containers):
            indent, content = self._indent(end)
            if container == _QUOTE:
                if indent > 3 or not self._text.startswith(">", content):
                    return depth
                self._enter_quote(indent, content, end)
            elif content < end and self._text[content] != "\r":
                if indent < container:
                    return depth
                self._skip_columns(container, end)
        return len(self._containers)

    def _open_blocks(self, end: int, begins_block: bool) -> tuple[int, bool]:
        """Enter the quotes and list items that begin on the rest of the line, then say what that rest is."""
        text = self._text
        while True:
            indent, content = self._indent(end)
            if content >= end or text[content] == "\r":
                return _NO_PROSE, True
            if indent >= 4:
                return (content, begins_block) if self._paragraph else (_NO_PROSE, True)
            deep = len(self._containers) >= _MAX_CONTAINERS
            if text.startswith(">", content) and not deep:
                self._containers.append(_QUOTE)
                self._enter_quote(indent, content, end)
            elif (fence := _FENCE.match(text, content, end)) is not None:
                self._fence = fence.group(1) or fence.group(2)
                self._fence_depth = len(self._containers)
                self._paragraph = False
                return _NO_PROSE, True
            elif text.startswith("<!--", content):
                self._comment_depth = len(self._containers)
                self._paragraph = False
                return self._end_of_comment(content + 2, end), True
            elif (self._paragraph and _UNDERLINE.match(text, content, end)) or _RULE.match(text, content, end):
                self._paragraph = False
                return _NO_PROSE, True
            elif _HEADING.match(text, content, end):
                self._paragraph = False
                return content, True
            elif (item := _ITEM.match(text, content, end)) is not None and not deep and self._may_begin(item, end):
                self._enter_item(item, indent, end)
                if self._place >= end:
                    self._empty_item = len(self._containers)
                    return _NO_PROSE, True
            else:
                self._paragraph = True
                return content, begins_block
            begins_block = True
            self._paragraph = False

    def _end_of_comment(self, place: int, end: int) -> int:
        """Where the text behind the comment begins if it ends on this line; that text is a block of its own."""
        close = self._text.find("-->", place, end)
        if close < 0:
            return _NO_PROSE
        self._comment_depth = _NO_COMMENT
        self._alone = True
        return close + 3

    def _is_plain(self, content: int, end: int) -> bool:
        """Whether nothing but a paragraph's text begins here."""
        starts = (_FENCE, _RULE, _HEADING, _ITEM)
        begins = self._text.startswith((">", "<!--"), content)
        return not begins and not any(start.match(self._text, content, end) for start in starts)

    def _may_begin(self, item: "re.Match[str]", end: int) -> bool:
        """A list may break into a paragraph only with text, and only with the number 1 (CommonMark 5.2)."""
        if not self._paragraph:
            return True
        return bool(self._text[item.end() : end].strip()) and item.group()[:-1] in ("", "1")

    def _enter_quote(self, indent: int, content: int, end: int) -> None:
        self._place, self._column, self._spare = content + 1, self._column + indent + 1, 0
        self._skip_columns(1, end)

    def _enter_item(self, item: "re.Match[str]", indent: int, end: int) -> None:
        width = len(item.group())
        self._skip_columns(indent, end)
        self._place += width
        self._column += width
        spaces, content = self._indent(end)
        rest_is_blank = not self._text[content:end].strip()
        # Five spaces and more are one, and code behind it; an item that starts empty is indented by one as well.
        taken = 1 if rest_is_blank or spaces > 4 else spaces
        self._containers.append(indent + width + taken)
        if rest_is_blank:
            self._place = end
        else:
            self._skip_columns(taken, end)

    def _close_fence(self, indent: int, content: int, end: int) -> None:
        rest = self._text[content:end].strip()
        if indent < 4 and len(rest) >= len(self._fence) and not rest.strip(self._fence[0]):
            self._fence = ""

    # --- Columns ----------------------------------------------------------------------------------------------

    def _indent(self, end: int) -> tuple[int, int]:
        """How many columns of white space follow, and where the text behind them starts."""
        columns, place = self._spare, self._place
        column = self._column + self._spare
        while place < end and self._text[place] in " \t":
            step = 4 - column % 4 if self._text[place] == "\t" else 1
            columns, column, place = columns + step, column + step, place + 1
        return columns, place

    def _skip_columns(self, count: int, end: int) -> None:
        taken = min(count, self._spare)
        self._spare -= taken
        self._column += taken
        count -= taken
        while count > 0 and self._place < end and self._text[self._place] in " \t":
            step = 4 - self._column % 4 if self._text[self._place] == "\t" else 1
            taken = min(step, count)
            self._spare = step - taken
            self._column += taken
            count -= taken
            self._place += 1
