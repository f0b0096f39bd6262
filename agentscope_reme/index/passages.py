"""Stretches of a file on their way to becoming units, and where a long one is divided."""

import math
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import accumulate
from typing import NamedTuple

from ..expression import expression

# Longest unit that is scored, in characters; a chunk size below it lowers it.
LONGEST_UNIT = 1_200
# Lines of code, rows of a table and lines of a log are looked for a few at a time.
LONGEST_ROWS = 600
LONGEST_LINES = 400

_BREAK = expression(r"\n|[.!?…]+[\"'”’)\]]*(?=\s)|[。！？；]+[”’」』）]*|[;:](?=\s)|[，、]|[,}\]](?=[\s\[{\"])|\s")
_STRENGTH = {
    "\n": 3,
    "。": 3,
    "！": 3,
    "？": 3,
    ".": 3,
    "!": 3,
    "?": 3,
    "…": 3,
    "；": 2,
    ";": 2,
    ":": 2,
    "，": 1,
    "、": 1,
}


class Passage(NamedTuple):
    """Characters ``start`` to ``stop`` of a file, in the section numbered ``section`` under ``headings``.

    ``text`` replaces the characters where the file only encodes the text (JSON escapes, HTML). ``head`` marks a heading
    that stands for an empty section; ``section_start`` is where the section's heading begins.
    """

    start: int
    stop: int
    headings: tuple[str, ...] = ()
    section: int = 0
    section_start: int = -1
    context: str = ""
    speaker: str = ""
    date: str = ""
    text: str | None = None
    head: bool = False


class Lines:
    """The lines of a text, split on ``\\n`` only; numbers are those of the file, the first is ``first``."""

    def __init__(self, text: str, first: int = 1, offset: int = 0) -> None:
        self.text = text
        self.first = first
        self.rows = (text[offset:] if offset else text).split("\n")
        self.starts = list(accumulate([len(row) + 1 for row in self.rows], initial=offset))
        if self.rows and not self.rows[-1]:
            # What follows the last line break is no line.
            self.rows.pop()

    def number(self, offset: int) -> int:
        """The number of the line that holds a character."""
        return self.first + min(bisect_right(self.starts, offset) - 1, max(len(self.rows) - 1, 0))

    def span(self, begin: int, end: int) -> tuple[int, int] | None:
        """Characters of the rows ``begin`` to ``end`` (0-based, exclusive) less blank rows around; None if all are."""
        while begin < end and not self.rows[begin].strip():
            begin += 1
        while begin < end and not self.rows[end - 1].strip():
            end -= 1
        if begin >= end:
            return None
        return self.starts[begin], self.starts[end - 1] + len(self.rows[end - 1].rstrip())


def divide(text: str, start: int, stop: int, limit: int) -> Iterator[tuple[int, int]]:
    """Cut characters ``start`` to ``stop`` into even pieces of at most ``limit``, without white space around them.

    Cuts at a line's end, a sentence's end, a comma or a space, whichever is strongest in the last third of a piece, and
    never inside a visible character.
    """
    from ..vault.encoding import safe_cut

    while stop - start > limit:
        size = min(limit, math.ceil((stop - start) / math.ceil((stop - start) / limit) * 1.1))
        low = start + max(1, size * 2 // 3)
        best, strength = -1, -1
        for match in _BREAK.finditer(text, low, min(start + size, stop)):
            power = _STRENGTH.get(match.group()[0], 0)
            if power >= strength:
                best, strength = match.end(), power
        # The piece begins between two characters, so that nothing before it matters.
        cut = best if best > start else start + safe_cut(text[start : start + size + 1], size)
        cut = cut if cut > start else start + size
        yield from _trimmed(text, start, cut)
        start = cut
    yield from _trimmed(text, start, stop)


def divided(text: str, passage: Passage, limit: int) -> list[Passage]:
    """A passage as one or more of at most ``limit`` characters, marked ``[Part k/n]`` when there are more."""
    if passage.text is not None:
        if len(passage.text) <= limit:
            return [passage]
        pieces = [passage.text[a:b] for a, b in divide(passage.text, 0, len(passage.text), limit)]
        parts = [passage._replace(text=piece) for piece in pieces]
    elif passage.stop - passage.start <= limit:
        return [passage]
    else:
        parts = [passage._replace(start=a, stop=b) for a, b in divide(text, passage.start, passage.stop, limit)]
    return marked(parts)


def marked(parts: list[Passage]) -> list[Passage]:
    """The pieces of one block, each with its ``[Part k/n]`` before what else is its context."""
    if len(parts) < 2:
        return parts
    marks = (f"[Part {k}/{len(parts)}]" for k in range(1, len(parts) + 1))
    return [
        part._replace(context=f"{mark}\n{part.context}" if part.context else mark)
        for part, mark in zip(parts, marks, strict=True)
    ]


def grouped(sizes: Iterable[int], limit: int) -> Iterator[tuple[int, int]]:
    """Runs ``(first, last exclusive)`` of items whose sizes add up to at most ``limit``; a larger item stands alone."""
    begin = end = total = 0
    for size in sizes:
        if end > begin and total + size > limit:
            yield begin, end
            begin, total = end, 0
        total += size
        end += 1
    if end > begin:
        yield begin, end


def _trimmed(text: str, start: int, stop: int) -> Iterator[tuple[int, int]]:
    piece = text[start:stop]
    left = len(piece) - len(piece.lstrip())
    if left < len(piece):
        yield start + left, start + len(piece.rstrip())
