"""Cutting a long text to head and tail: by bytes, never inside a character, and never twice. Pure functions."""

import re
import unicodedata
from dataclasses import dataclass

# Terminal control sequences: a preview is read by a model, not by a terminal. The file keeps them.
_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_ZWJ = "\u200d"


@dataclass(frozen=True)
class Pointer:
    """Where the full text of a clipped one lies. ``path`` is vault-relative; without one, ``why`` says what is so."""

    path: str
    size: int
    lines: int
    why: str = "the full text could not be saved"


def without_ansi(text: str) -> str:
    """Return ``text`` without terminal control sequences."""
    return _ANSI.sub("", text) if "\x1b" in text else text


def notice(pointer: Pointer, *, omitted: int, total: int, next_line: int) -> str:
    """Return the line between head and tail: how much is left out, where the whole lies, how to page it."""
    left_out = f"{omitted} of {total} characters left out here"
    if not pointer.path:
        return f"[{left_out}; {pointer.why}]"
    return (
        f"[{left_out}. The full text ({pointer.size} bytes, {pointer.lines} lines) is in {pointer.path} of the memory "
        f'vault: read(path="{pointer.path}", start_line={next_line})]'
    )


def clip(text: str, limit: int, pointer: Pointer) -> str:
    """Return head + notice + tail of ``text``, together at most ``limit`` bytes of UTF-8.

    Head and tail end at line ends where one is near; neither splits a character or what is drawn as one. A text within
    the limit comes back as it is. Where not even the notice fits the limit, the notice alone is returned.
    """
    text = without_ansi(text)
    if byte_length(text) <= limit:
        return text
    total = len(text)
    longest = notice(pointer, omitted=total, total=total, next_line=text.count("\n") + 1)
    room = limit - byte_length(longest) - 2
    if room <= 0:
        return longest
    head = _near_line_end(text, prefix_within(text, room * 2 // 3))
    tail = _near_line_start(text, max(head, suffix_within(text, room - byte_length(text[:head]))))
    shown = notice(pointer, omitted=tail - head, total=total, next_line=text[:head].count("\n") + 1)
    return "\n".join(part for part in (text[:head].removesuffix("\n"), shown, text[tail:]) if part)


def byte_length(text: str) -> int:
    """Return the bytes of ``text`` in UTF-8, lone surrogates counted as three."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def prefix_within(text: str, limit: int) -> int:
    """Return how many characters of the start fit ``limit`` bytes, without parting what is drawn as one."""
    kept = text[:limit].encode("utf-8", "surrogatepass")[: max(0, limit)].decode("utf-8", "ignore")
    return _whole(text, len(kept))


def suffix_within(text: str, limit: int) -> int:
    """Return the index from which the rest of ``text`` fits ``limit`` bytes, without parting what is drawn as one."""
    if limit <= 0:
        return len(text)
    kept = text[-limit:].encode("utf-8", "surrogatepass")[-limit:].decode("utf-8", "ignore")
    start = len(text) - len(kept)
    while start < len(text) and _joins(text, start):
        start += 1
    return start


def _whole(text: str, cut: int) -> int:
    for _ in range(64):
        if 0 < cut < len(text) and _joins(text, cut):
            cut -= 1
        else:
            break
    return cut


def _joins(text: str, i: int) -> bool:
    """Whether the character at ``i`` belongs to what is drawn before it."""
    here, before = text[i], text[i - 1] if i else ""
    return (
        here == _ZWJ
        or before == _ZWJ
        or unicodedata.category(here) in ("Mn", "Me", "Mc")
        or "\U0001f3fb" <= here <= "\U0001f3ff"
        or (here == "\n" and before == "\r")
    )


def _near_line_end(text: str, cut: int) -> int:
    line = text.rfind("\n", 0, cut) + 1
    return line if line >= cut * 3 // 4 else cut


def _near_line_start(text: str, cut: int) -> int:
    line = text.find("\n", cut) + 1
    return line if 0 < line <= cut + (len(text) - cut) // 4 else cut
