"""The lines of a journal: what a line holds, how it is written and read, and which messages are the same."""

import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .jsonable import dumps, to_jsonable

# So many brackets cannot be nested deeper than what is stored.
PLAIN_DEPTH = 100
AS_LINE = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
_AS_SAID = json.JSONEncoder(sort_keys=True)


@dataclass(frozen=True, slots=True)
class JournalRecord:
    """A message on its way into the journal.

    ``msg`` is a Msg dictionary (id, name, role, content, metadata, timestamp); ``tokens`` its count by the configured
    counter; ``left_at`` when it left the context (ISO 8601), by default now.
    """

    msg: dict[str, Any]
    marks: tuple[str, ...] = ()
    tokens: int | None = None
    left_at: str | None = None


@dataclass(frozen=True, slots=True)
class JournalLine:
    """A line of the journal. ``line`` is 1-based in the file."""

    id: str
    seq: int
    msg: dict[str, Any]
    marks: tuple[str, ...] = ()
    tokens: int | None = None
    left_at: str = ""
    line: int = 0


def strict_message(message: dict[str, Any]) -> tuple[dict[str, Any], str | None]:
    """What :func:`to_jsonable` gives, and its JSON text where it is plain JSON already, as most messages are."""
    try:
        text = AS_LINE.encode(message)
        if text.count("{") + text.count("[") <= PLAIN_DEPTH:
            text.encode("utf-8")
            plain: dict[str, Any] = json.loads(text)
            return plain, text
    except (ValueError, TypeError, RecursionError):
        pass
    return to_jsonable(message), None


def line_bytes(name: str, seq: int, message: str, marks: tuple[str, ...], tokens: int | None, left_at: str) -> bytes:
    """A whole line with its end; ``message`` is JSON text already."""
    rest = AS_LINE.encode({"marks": to_jsonable(list(marks)), "tokens": tokens, "left_at": left_at})
    return f'{{"id":{AS_LINE.encode(name)},"seq":{seq},"msg":{message},{rest[1:]}\n'.encode()


def said_digest(message: dict[str, Any]) -> bytes:
    """What tells two versions of one message apart: who says what. Pointers stand for what they point to."""
    said = [message.get("role"), message.get("name"), message.get("content")]
    try:
        text = _AS_SAID.encode(said)
    except RecursionError:
        text = dumps(said, sort_keys=True)
    return hashlib.sha256(text.encode("ascii", "backslashreplace")).digest()[:12]


def parse_line(raw: bytes, number: int) -> JournalLine | None:
    try:
        fields = json.loads(raw)
        message = fields["msg"]
        if not isinstance(message, dict):
            return None
        tokens = fields.get("tokens")
        return JournalLine(
            str(fields["id"]),
            int(fields.get("seq") or 0),
            message,
            tuple(str(mark) for mark in fields.get("marks") or ()),
            tokens if isinstance(tokens, int) else None,
            str(fields.get("left_at") or ""),
            number,
        )
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def raw_lines(descriptor: int, size: int) -> Iterator[bytes]:
    """The lines of the next ``size`` bytes with their ends; split on LF alone, as JSON text may hold U+2028."""
    rest = b""
    left = size
    while left > 0 and (block := os.read(descriptor, min(left, 1 << 20))):
        left -= len(block)
        pieces = (rest + block).split(b"\n")
        rest = pieces.pop()
        for piece in pieces:
            yield piece + b"\n"
    if rest:
        yield rest


def line_at(descriptor: int, offset: int) -> bytes:
    """The line that begins at ``offset``."""
    os.lseek(descriptor, offset, os.SEEK_SET)
    data = b""
    while b"\n" not in data and (block := os.read(descriptor, 65_536)):
        data += block
    return data.partition(b"\n")[0]


def split_lines(data: bytes) -> list[bytes]:
    """The lines of a whole file with their ends."""
    pieces = data.split(b"\n")
    return [piece + b"\n" for piece in pieces[:-1]] + ([pieces[-1]] if pieces[-1] else [])


def last_lines(descriptor: int, end: int, count: int) -> list[bytes]:
    data, position = b"", end
    while position > 0 and data.count(b"\n") <= count:
        step = min(position, 65_536)
        position -= step
        os.lseek(descriptor, position, os.SEEK_SET)
        data = os.read(descriptor, step) + data
    lines = data.split(b"\n")
    if lines and not lines[-1]:
        lines.pop()
    if position > 0:
        lines = lines[1:]
    return lines[-count:]
