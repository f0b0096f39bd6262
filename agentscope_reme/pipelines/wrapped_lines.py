"""Lines of a document as they are meant: a line that was only broken to fit a width goes on in the next one.

In Markdown a line break within a paragraph means nothing. In plain text and in the text of a PDF it does mean something
unless the line is full: had the first word of the next one fitted, it would stand there.
"""

import re
import unicodedata
from itertools import pairwise
from pathlib import PurePosixPath
from typing import Literal

Breaks = Literal["soft", "full", "hard"]
"""When a line goes on in the next one: within a paragraph of Markdown, when it is full, never."""

_SOFT, _FULL = (".md", ".markdown"), (".txt", ".text", ".rst", ".pdf")
_NARROWEST = 24
"""Columns below which a line is a line and not a part of a paragraph; a Chinese character takes two."""

_PROSE = 40
"""Characters from which on a line is taken for prose; a list of words has shorter ones."""

_FULL_SHARE = 0.9
"""Share of the longest line's columns from which on a line counts as full: words of a PDF differ in width."""

_BEGINS = re.compile(
    r"\s*(?:[-*+•·▪◦‣–—]\s|\d{1,3}[.)、]\s?|[(（]?[a-z\d][)）]\s|[#|]|:?-{3,}|={3,}|\[\d+\]|```|~~~|[一二三四五六七八九十]+、)"
)
_ITEM = re.compile(r"(\s*)(?:[-*+•]\s|\d{1,3}[.)]\s)")
_QUOTE = re.compile(r"^\s{0,3}(?:>\s?)+")
_HARD_BREAK = re.compile(r"(?:  |\\|<br\s*/?>)$")
_ENDS = re.compile(r"[.!?。！？:：;；…][\"'”’」』)）\]]*$")
_HAN = re.compile(r"[\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef]")


def breaks_of(path: str) -> Breaks:
    """What a line break means in a document, by the suffix of its name."""
    suffix = PurePosixPath(path).suffix.lower()
    return "soft" if suffix in _SOFT else "full" if suffix in _FULL else "hard"


def joined_lines(text: str, breaks: Breaks) -> list[str]:
    """The lines of a passage, with those that go on put together; items, table rows and headings begin a line."""
    lines = text.split("\n")
    if breaks == "hard" or len(lines) == 1:
        return lines
    width = max(_NARROWEST, *map(_columns, lines))
    found: list[list[str]] = []
    so_far = 0
    for before, line in zip(["", *lines], lines, strict=False):
        bare = _QUOTE.sub("", line) if _QUOTE.match(before) else line
        if found and _goes_on(before, bare, breaks, width, so_far):
            found[-1].append(bare.strip())
            so_far += len(bare)
        else:
            found.append([line])
            so_far = len(line)
    return [_glued(pieces) for pieces in found]


def _goes_on(before: str, line: str, breaks: Breaks, width: int, so_far: int) -> bool:
    if not before.strip() or not line.strip() or _BEGINS.match(line) or before.lstrip().startswith(("|", "#")):
        return False
    if breaks == "soft":
        return _HARD_BREAK.search(before) is None
    item = _ITEM.match(before)
    indent = len(line) - len(line.lstrip())
    if item is not None and indent > len(item[1]):
        return True  # hangs below the item
    if _ENDS.search(before.rstrip()):
        return False
    if so_far >= _PROSE and line.lstrip()[0].islower():
        return True  # a sentence goes on, however short its last line is
    first = line.split(maxsplit=1)[0]
    word = _columns(first[:1]) if _HAN.match(first) else _columns(first) + 1
    return _columns(before) + word > width * _FULL_SHARE


def _columns(text: str) -> int:
    text = text.rstrip()
    return len(text) if text.isascii() else sum(2 if unicodedata.east_asian_width(one) in "WF" else 1 for one in text)


def _glued(pieces: list[str]) -> str:
    """Pieces with a space between, but not between two Chinese characters."""
    if len(pieces) == 1:
        return pieces[0]
    told = [pieces[0].rstrip()]
    for before, piece in pairwise(pieces):
        told += ["" if _HAN.match(before.rstrip()[-1:]) and _HAN.match(piece) else " ", piece]
    return "".join(told)
