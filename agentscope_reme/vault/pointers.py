"""Long tool results and media leave a message for files named by content hash; a pointer stands in their place.

A pointer is ``{"$file": path, "as": "text" | "base64", "size": bytes}``, for text with its ``lines`` and, where it is
something to read, a ``preview`` (beginning and end, by which the journal's line is found and read). It stands where
such data can: ``output`` of a tool result, ``text`` of a block in it, ``data`` or ``url`` of a source. A value that
looks like a pointer on its way in is wrapped as ``{"$literal": value}``, so that only this module makes pointers.
"""

import base64
import binascii
import copy
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from .encoding import clean_text, safe_cut
from .expiry import refresh
from .layout import TOOL_RESULT
from .storage import Storage, digest_of

POINTER_BYTES = 3_000  # texts up to this size stay in the line
PREVIEW_HEAD, PREVIEW_TAIL = 1_000, 800  # characters
_STORED = re.compile(rf"{re.escape(TOOL_RESULT)}/([0-9a-f]{{16,64}})\.[a-z0-9]{{1,8}}")
_SUFFIXES = {"jpeg": "jpg", "svg+xml": "svg", "mpeg": "mp3", "x-wav": "wav", "plain": "txt"}


@dataclass(frozen=True, slots=True)
class StoredResult:
    """A kept result: its vault-relative path, its bytes and its lines (0 for binary data)."""

    path: str
    size: int
    lines: int


def is_stored_text(path: str) -> bool:
    """Whether a vault-relative path is that of a text that :func:`store_result` keeps."""
    return path.endswith(".txt") and _STORED.fullmatch(path) is not None


def store_result(storage: Storage, data: str | bytes, suffix: str = ".txt", *, sync: bool = True) -> StoredResult:
    """Keep data under ``session/tool_result/<hash><suffix>``; the same data is kept once, different data never share a
    file. A text's NULs stay; lone surrogates become U+FFFD. With ``sync=False`` the folder is left to the caller."""
    text = isinstance(data, str)
    raw = clean_text(data, keep_nul=True).encode("utf-8") if isinstance(data, str) else bytes(data)
    extension = re.sub(r"[^a-z0-9]", "", suffix.lower())[:8] or "bin"
    digest = digest_of(raw)
    lines = raw.count(b"\n") + (1 if raw and not raw.endswith(b"\n") else 0) if text else 0
    for length in (16, 64):  # 64 only if another file already has the first 16 digits
        path = f"{TOOL_RESULT}/{digest[:length]}.{extension}"
        present = storage.read_if_any(path)
        if present is None:
            storage.replace(path, raw, sync=sync)
            break
        if present == raw:
            refresh(storage, [path], datetime.now().astimezone())  # it is as young as what now points to it
            break
        if length == 64:  # damaged: what bears the whole hash and is not the data
            storage.replace(path, raw, sync=sync)
    return StoredResult(path, len(raw), lines)


def take_out(message: dict[str, Any], keep: Callable[[str | bytes, str], StoredResult]) -> dict[str, Any]:
    """The message with its large parts replaced by pointers to what ``keep(data, suffix)`` stored. A copy where it
    differs; ``message`` is not changed. ``message`` holds JSON types only."""
    content = message.get("content")
    if not isinstance(content, list):
        return message
    blocks = [_block_out(block, keep) for block in content]
    return {**message, "content": blocks}


def put_back(message: dict[str, Any], fetch: Callable[[str], bytes]) -> dict[str, Any]:
    """The inverse of :func:`take_out`; a pointer whose file is gone or is not what it was stays a pointer."""
    message = copy.deepcopy(message)
    for block in message["content"] if isinstance(message.get("content"), list) else []:
        for holder, key in _places(block):
            holder[key] = _value_back(holder[key], fetch)
    return message


def pointers_in(message: dict[str, Any]) -> list[str]:
    """The paths of the files that a journalled message points to."""
    found = []
    for block in message["content"] if isinstance(message.get("content"), list) else []:
        for holder, key in _places(block):
            if path := _pointer_path(holder[key]):
                found.append(path)
    return found


def _places(block: Any) -> list[tuple[dict[str, Any], str]]:
    """Where in a block pointers can stand."""
    if not isinstance(block, dict):
        return []
    places: list[tuple[dict[str, Any], str]] = []
    if block.get("type") == "tool_result" and "output" in block:
        output = block["output"]
        if not isinstance(output, list):
            places.append((block, "output"))
        else:
            for inner in output:
                if isinstance(inner, dict) and "text" in inner:
                    places.append((inner, "text"))
                places += _source_places(inner)
    return places + _source_places(block)


def _source_places(block: Any) -> list[tuple[dict[str, Any], str]]:
    source = block.get("source") if isinstance(block, dict) else None
    return [(source, key) for key in ("data", "url") if key in source] if isinstance(source, dict) else []


def _block_out(block: Any, keep: Callable[[str | bytes, str], StoredResult]) -> Any:
    if not any(_goes_out(holder, key) for holder, key in _places(block)):
        return block
    block = copy.deepcopy(block)
    for holder, key in _places(block):
        holder[key] = _value_out(holder, key, keep)
    return block


def _goes_out(holder: dict[str, Any], key: str) -> bool:
    """Whether :func:`_value_out` may put something else in place of a value; it looks closer."""
    value = holder[key]
    return key == "data" or not isinstance(value, str) or len(value) * 4 > POINTER_BYTES


def _value_out(holder: dict[str, Any], key: str, keep: Callable[[str | bytes, str], StoredResult]) -> Any:
    value = holder[key]
    if isinstance(value, dict) and ("$file" in value or "$literal" in value):
        return {"$literal": value}
    if not isinstance(value, str):
        return value
    if key == "data":
        raw = _base64_exact(value)
        if raw is not None and len(raw) > 0:
            stored = keep(raw, _suffix_of(holder.get("media_type")))
            return {"$file": stored.path, "as": "base64", "size": stored.size}
    elif key == "url" and not value.startswith("data:"):
        return value
    if len(value) <= POINTER_BYTES and len(value.encode("utf-8", "replace")) <= POINTER_BYTES:
        return value
    stored = keep(value, ".txt")
    pointer = {"$file": stored.path, "as": "text", "size": stored.size, "lines": stored.lines}
    return pointer if key in ("data", "url") else {**pointer, "preview": preview_of(value)}


def preview_of(text: str) -> str:
    """The beginning and the end of a text, or all of a text that is not longer than they are."""
    if len(text) <= PREVIEW_HEAD + PREVIEW_TAIL:
        return text
    return f"{text[: safe_cut(text, PREVIEW_HEAD)]}\n…\n{text[safe_cut(text, len(text) - PREVIEW_TAIL) :]}"


def _value_back(value: Any, fetch: Callable[[str], bytes]) -> Any:
    if isinstance(value, dict) and "$literal" in value:
        return value["$literal"]
    path = _pointer_path(value)
    if not path:
        return value
    try:
        raw = fetch(path)
    except Exception:  # gone or unreadable: the pointer says where it was
        return value
    name = _STORED.fullmatch(path)
    if name is None or not digest_of(raw).startswith(name.group(1)):
        return value
    return base64.b64encode(raw).decode("ascii") if value.get("as") == "base64" else raw.decode("utf-8", "replace")


def _pointer_path(value: Any) -> str:
    path = value.get("$file") if isinstance(value, dict) else None
    return path if isinstance(path, str) and _STORED.fullmatch(path) else ""


def _base64_exact(text: str) -> bytes | None:
    """The bytes of a base64 text that encodes back to the same text; else None and the text is kept as text."""
    try:
        raw = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    return raw if base64.b64encode(raw).decode("ascii") == text else None


def _suffix_of(media_type: Any) -> str:
    name = str(media_type or "").rpartition("/")[2].split(";")[0].strip().lower()
    return "." + _SUFFIXES.get(name, name or "bin")
