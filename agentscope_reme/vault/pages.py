"""A page of a file: a range of lines within a number of bytes, read in one pass that never holds the file."""

import codecs
import hashlib
import os
from collections.abc import Iterator

from ..models import NotePage
from .encoding import SAMPLE_BYTES, Kind, display, kind_of, safe_cut
from .storage import VERSION_LENGTH


def read_page(
    descriptor: int,
    size: int,
    path: str,
    start_line: int | None,
    end_line: int | None,
    max_bytes: int,
    column: int = 0,
    *,
    own_text: bool = False,
) -> NotePage:
    r"""Lines ``start_line`` to ``end_line`` (1-based, inclusive, counted on ``\n`` only) of an open file.

    The text has its line ends as they are in the file, so that pages joined give the file; it ends early, between two
    lines, when ``max_bytes`` of UTF-8 are full, and inside a line only when that line alone is larger. ``column`` is
    the number of characters of ``start_line`` to pass over. A page past the end is empty (``end_line < start_line``)
    and has the total. Of a binary file the text says what it is. ``own_text`` says that this product wrote the file, as
    text in UTF-8: what it looks like is then not asked, and a BOM or NUL in it is shown as it is.
    """
    blocks = _blocks(descriptor, size)
    first = next(blocks, b"")
    kind = Kind("utf-8") if own_text else kind_of(first, whole=len(first) >= size)
    hasher = hashlib.sha256(first)
    if kind.encoding == "binary":
        for block in blocks:
            hasher.update(block)
        return NotePage(path, _describe(path, kind, size), 1, 0, 0, size, hasher.hexdigest()[:VERSION_LENGTH], "binary")
    window = _Window(max(1, start_line or 1), end_line, max(1, max_bytes), max(0, column), own_text)
    decoder = codecs.getincrementaldecoder(kind.encoding)("replace")
    window.feed(decoder.decode(first[kind.bom :]))
    for block in blocks:
        hasher.update(block)
        window.feed(decoder.decode(block))
    window.feed(decoder.decode(b"", final=True))
    return window.page(path, size, hasher.hexdigest()[:VERSION_LENGTH], kind)


def _blocks(descriptor: int, size: int) -> Iterator[bytes]:
    while block := os.read(descriptor, min(SAMPLE_BYTES, size + 1)):
        yield block


def _describe(path: str, kind: Kind, size: int) -> str:
    if kind.media_type.startswith("image/"):
        return f"[{path} is an image ({kind.media_type}, {size:,} bytes); it has no text to show]"
    what = f" ({kind.media_type})" if kind.media_type else ""
    return f"[{path} is a binary file{what}, {size:,} bytes; it has no text to show]"


class _Window:
    """The lines of a page, while the text of the file passes by."""

    def __init__(self, start: int, end: int | None, max_bytes: int, column: int, keep_nul: bool = False) -> None:
        self.start, self.end, self.room = start, end, max_bytes
        self.keep_nul = keep_nul
        self.skip = self.column = column
        self.line = 1
        self.newlines = 0
        self.open_end = False
        self.whole: list[str] = []
        self.part: list[str] = []
        self.part_bytes = 0
        self.last = start - 1
        self.next: int | None = None
        self.cut: int | None = None
        self.done = end is not None and end < start

    def feed(self, text: str) -> None:
        if not text:
            return
        self.open_end = text[-1] != "\n"
        newlines = text.count("\n")
        self.newlines += newlines
        if self.done:
            return
        if self.line + newlines < self.start:
            self.line += newlines
            return
        position = 0
        while self.line < self.start:
            position = text.index("\n", position) + 1
            self.line += 1
        while not self.done and position < len(text):
            position = self._take(text, position)

    def _take(self, text: str, position: int) -> int:
        """Take the rest of one line, as far as it is in ``text``; returns where to go on."""
        if self.end is not None and self.line > self.end:
            self.done, self.next = True, self.line
            return position
        newline = text.find("\n", position)
        stop = len(text) if newline < 0 else newline + 1
        if self.skip:
            passed = min(self.skip, (stop if newline < 0 else newline) - position)
            self.skip = self.skip - passed if newline < 0 else 0
            position += passed
        # No more of a very long line than could fit: a character has at least one byte.
        piece = display(text[position : min(stop, position + self.room + 64)], keep_nul=self.keep_nul)
        size = len(piece.encode("utf-8"))
        if self.part_bytes + size > self.room:
            self._overflow(piece)
            return stop
        self.part.append(piece)
        self.part_bytes += size
        if newline >= 0:
            self._close_line()
        return stop

    def _close_line(self) -> None:
        self.whole.extend(self.part)
        self.room -= self.part_bytes
        self.part, self.part_bytes = [], 0
        self.last = self.line
        self.line += 1

    def _overflow(self, piece: str) -> None:
        self.done, self.next = True, self.line
        if self.whole:
            self.part = []
            return
        line = "".join(self.part) + piece
        data = line.encode("utf-8")[: self.room]
        cut = safe_cut(line, len(data.decode("utf-8", "ignore")))
        cut = max(cut, 1)  # always go forward
        self.whole, self.part = [line[:cut]], []
        self.last, self.cut = self.line, self.column + cut
        if cut == len(line) and line.endswith("\n"):
            self.next, self.cut = self.line + 1, None

    def page(self, path: str, size: int, version: str, kind: Kind) -> NotePage:
        if self.part:
            self._close_line()
        total = self.newlines + (1 if self.open_end else 0)
        following = self.next
        if following is not None and following > total:
            following = None
        encoding = kind.encoding if kind.exact or kind.encoding != "utf-8" else "utf-8 (damaged)"
        return NotePage(
            path, "".join(self.whole), self.start, self.last, total, size, version, encoding, following, self.cut
        )
