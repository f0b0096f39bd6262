"""Cutting a long text to head and tail: by bytes, never inside a character, and never twice. Pure functions."""

import asyncio
import re
from collections.abc import Iterator
from dataclasses import dataclass

from ..vault.encoding import clean_text, safe_cut

# Terminal control sequences: a preview is read by a model, not by a terminal. The file keeps them.
_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\)|[@-Z\\-_])")

# Of longer texts the event loop is not made to wait for; each part of one takes some milliseconds.
PART_CHARS = 200_000


@dataclass(frozen=True)
class Pointer:
    """Where the full text of a clipped one lies: vault-relative ``path``, ``size`` in bytes, ``lines``.

    Without a path, ``why`` says what is so. ``what`` names what the file holds. ``again`` is the call that shows the
    same text once more, where the text is itself a page of the file. ``reader`` is the tool that opens it, as the agent
    has it; "" where it has none.
    """

    path: str
    size: int
    lines: int
    why: str = "the full text could not be saved"
    what: str = "The full text"
    again: str = ""
    reader: str = "read"


@dataclass(frozen=True)
class Clipped:
    """A clipped text; ``notice`` is the line in it that says so ("" when nothing was cut), ``total`` its characters."""

    text: str
    notice: str
    total: int


def without_ansi(text: str) -> str:
    """Return ``text`` without terminal control sequences."""
    return "".join(_ANSI.sub("", part) for part in _parts(text)) if "\x1b" in text else text


def _parts(text: str) -> Iterator[str]:
    """Divide a text before escape characters that begin a sequence: a regular expression lets no other thread run."""
    start = 0
    while start < len(text):
        end = text.find("\x1b", start + PART_CHARS)
        while end >= 0 and text.startswith("\x1b\\", end):  # this one ends a sequence
            end = text.find("\x1b", end + 1)
        end = end if end >= 0 else len(text)
        yield text[start:end]
        start = end


async def clipped_aside(text: str, limit: int, pointer: Pointer, *, total: int | None = None) -> Clipped:
    """:func:`clipped`, in a worker thread where the text is long."""
    if len(text) <= PART_CHARS:
        return clipped(text, limit, pointer, total=total)
    return await asyncio.to_thread(clipped, text, limit, pointer, total=total)


def notice(pointer: Pointer, *, omitted: int, total: int, next_line: int) -> str:
    """Return the line between head and tail: how much is left out, where the whole lies, how to page it."""
    left_out = f"{omitted} of {total} characters left out here"
    if pointer.again:
        return f"[{left_out}. This is a page of {pointer.path}; {pointer.again} shows it again]"
    if not pointer.path:
        return f"[{left_out}; {pointer.why}]"
    how = f': {pointer.reader}(path="{pointer.path}", start_line={next_line})' if pointer.reader else ""
    size = f"{pointer.size} bytes, {pointer.lines} lines"
    return f"[{left_out}. {pointer.what} ({size}) is in {pointer.path} of the memory vault{how}]"


def clipped(text: str, limit: int, pointer: Pointer, *, total: int | None = None) -> Clipped:
    """Clip a text to head + notice + tail, together at most ``limit`` bytes of UTF-8.

    Head and tail end at line ends where one is near; neither splits a character or what is drawn as one. A text within
    the limit comes back as it is. Where not even the notice fits the limit, the notice alone is returned. ``total`` is
    the number of characters of the full text where ``text`` is already less than that.

    The characters of head and tail and those left out add up to the total. The preview has no terminal control
    sequences and no lone surrogates, and what it counts is the text without them.
    """
    text = without_ansi(clean_text(text, keep_nul=True))
    total = max(len(text), total or 0)
    if byte_length(text) <= limit and total == len(text):
        return Clipped(text, "", total)
    longest = notice(pointer, omitted=total, total=total, next_line=text.count("\n") + 1)
    room = limit - byte_length(longest) - 2
    if room <= 0:
        shortest = notice(pointer, omitted=total, total=total, next_line=1)
        return Clipped(shortest, shortest, total)
    head = _near_line_end(text, prefix_within(text, room * 2 // 3))
    tail = _near_line_start(text, max(head, suffix_within(text, room - byte_length(text[:head]))))
    omitted = total - head - (len(text) - tail)
    shown = notice(pointer, omitted=omitted, total=total, next_line=text[:head].count("\n") + 1)
    parts = (text[:head].removesuffix("\n"), shown, text[tail:])
    return Clipped("\n".join(part for part in parts if part), shown, total)


def without_notice(text: str, shown: str) -> str:
    """Return a clipped text without the notice that stands in it; what head and tail hold stays."""
    before, found, after = text.partition(shown)
    return before + after.removeprefix("\n") if found else text


def byte_length(text: str) -> int:
    """Return the bytes of ``text`` in UTF-8, lone surrogates counted as three."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def prefix_within(text: str, limit: int) -> int:
    """Return how many characters of the start fit ``limit`` bytes, without parting what is drawn as one."""
    kept = text[:limit].encode("utf-8", "surrogatepass")[: max(0, limit)].decode("utf-8", "ignore")
    return safe_cut(text, len(kept))


def suffix_within(text: str, limit: int) -> int:
    """Return the index from which the rest of ``text`` fits ``limit`` bytes, without parting what is drawn as one."""
    if limit <= 0:
        return len(text)
    kept = text[-limit:].encode("utf-8", "surrogatepass")[-limit:].decode("utf-8", "ignore")
    start = len(text) - len(kept)
    while start < len(text) and safe_cut(text, start) != start:
        start += 1
    return start


def _near_line_end(text: str, cut: int) -> int:
    line = text.rfind("\n", 0, cut) + 1
    return line if line >= cut * 3 // 4 else cut


def _near_line_start(text: str, cut: int) -> int:
    line = text.find("\n", cut) + 1
    return line if 0 < line <= cut + (len(text) - cut) // 4 else cut
