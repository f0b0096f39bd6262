"""The lines of a journal: what a line holds, how it is written and read, and which messages are the same."""

import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .jsonable import dumps, is_jsonable, to_jsonable

# What they are given has been found to be JSON, so nothing in it holds itself.
_AS_LINE = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), check_circular=False)
_AS_SAID = json.JSONEncoder(sort_keys=True, check_circular=False)


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


def strict_message(message: dict[str, Any]) -> dict[str, Any]:
    """The message where it is strict JSON, as most are; else what :func:`to_jsonable` makes of it."""
    if is_jsonable(message):
        return message
    converted: dict[str, Any] = to_jsonable(message)
    return converted


def line_bytes(
    name: str, seq: int, message: dict[str, Any], marks: tuple[str, ...], tokens: int | None, left_at: str
) -> bytes:
    """A whole line with its end; ``message`` is strict JSON."""
    fields = {"id": name, "seq": seq, "msg": message, "marks": to_jsonable(list(marks)) if marks else []}
    return f"{_AS_LINE.encode({**fields, 'tokens': tokens, 'left_at': left_at})}\n".encode()


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
