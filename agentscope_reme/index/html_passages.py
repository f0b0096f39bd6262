"""The visible text of HTML as passages, with the lines it stands on."""

import re
from html.parser import HTMLParser

from .passages import Lines, Passage, divided

_HIDDEN = frozenset(("script", "style"))
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_INLINE_TAGS = """
a abbr b bdi bdo cite code em font i img kbd label mark q s small span strong sub sup time u var wbr td th
"""
_INLINE = frozenset(_INLINE_TAGS.split())
_NOT_LINE_BREAK = re.compile(r"[^\n]")
_COMMENT_END = re.compile(r"--!?>")
_LONGEST_HTML = 4_000_000


def read_html(lines: Lines, limit: int) -> tuple[list[Passage], list[str], str]:
    """Passages by block elements, the headings in order, and the page's title. Scripts and styles are left out."""
    reader = _Reader(lines)
    try:
        reader.feed(_closed(lines.text[:_LONGEST_HTML]))
        reader.close()
    except (AssertionError, ValueError, RecursionError):
        # A parser that gives up keeps what it has read.
        pass
    reader.end_block()
    passages = [part for passage in reader.passages for part in divided(lines.text, passage, limit)]
    return passages, reader.headings, reader.title


def _closed(html: str) -> str:
    """The page without ``<`` that no ``>`` follows and with its comments blanked, character for character.

    html.parser looks to the end of the text for what closes them, each time anew.
    """
    last = html.rfind(">") + 1
    html = html[:last] + html[last:].replace("<", " ")
    parts, place = [], 0
    while (begin := html.find("<!--", place)) >= 0:
        end = _COMMENT_END.search(html, begin + 2)
        if end is None:
            parts.append(html[place:].replace("<!--", "    "))
            return "".join(parts)
        comment = html[begin : end.end()]
        parts += [html[place:begin], _NOT_LINE_BREAK.sub(" ", comment)]
        place = end.end()
    return "".join((*parts, html[place:]))


class _Reader(HTMLParser):
    def __init__(self, lines: Lines) -> None:
        super().__init__(convert_charrefs=True)
        self.passages: list[Passage] = []
        self.headings: list[str] = []
        self.title = ""
        self._lines = lines
        self._path: list[tuple[int, str]] = []
        self._section = 0
        self._parts: list[str] = []
        self._start = self._stop = 0
        self._hidden = 0
        self._in_title = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "title":
            self._in_title = True
        elif tag in _HIDDEN:
            self._hidden += 1
        elif tag not in _INLINE:
            self.end_block()
        elif tag in ("td", "th"):
            self._parts.append(" ")

    def handle_endtag(self, tag: str) -> None:
        if tag == "title":
            self._in_title = False
        elif tag in _HIDDEN:
            self._hidden = max(0, self._hidden - 1)
        elif tag in _HEADINGS:
            self._end_heading(_HEADINGS[tag])
        elif tag not in _INLINE:
            self.end_block()

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self.title = " ".join(f"{self.title} {data}".split())[:300]
        elif not self._hidden and data.strip():
            row, column = self.getpos()
            start = self._lines.starts[min(row - 1, len(self._lines.starts) - 1)] + column
            if not any(part.strip() for part in self._parts):
                self._start = start + len(data) - len(data.lstrip())
            self._stop = min(start + len(data.rstrip()), len(self._lines.text))
            self._parts.append(data)
        elif self._parts:
            self._parts.append(" ")

    def end_block(self) -> str:
        """Close the open passage; its text, also when it holds nothing."""
        text = " ".join("".join(self._parts).split())
        self._parts = []
        if text:
            headings = tuple(name for _, name in self._path)
            stop = max(self._stop, self._start + 1)
            self.passages.append(Passage(self._start, stop, headings, self._section, text=text))
        return text

    def _end_heading(self, level: int) -> None:
        text = self.end_block()
        if not text:
            return
        self._path = [entry for entry in self._path if entry[0] < level]
        self._path.append((level, text))
        self.headings.append(text)
        self._section += 1
        self.passages.pop()
        self.passages.append(
            Passage(self._start, self._stop, tuple(name for _, name in self._path), self._section, text=text, head=True)
        )
