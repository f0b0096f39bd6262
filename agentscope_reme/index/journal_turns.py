"""The journal of a conversation as turns: one message a line, with its speaker, its day and the text that was said.

What the memory's own tools were asked and answered is left out, so that a search does not find what an earlier search
found (``recalled``). A turn of nothing else is passed over.
"""

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from .note_fields import day_of
from .passages import Lines, Passage
from .recalled import READING_TOOLS, result_of_others, tool_of_ours, without_recalled

# Longest tool result that is searched, in characters; the whole of it lies in its own file.
LONGEST_RESULT = 2_000
_LONGEST_ARGUMENTS = 200
_DEEPEST_RESULT = 4
# Recalled text and framework hints are no part of what was said.
_INJECTED_MARKS = frozenset({"recall", "hint"})
_INJECTED_NAMES = frozenset({"long_term_memory", "recalled_memory"})
_TIME_KEYS = ("timestamp", "created_at", "time_created", "createdAt", "timeCreated", "created_time")
_MESSAGE_START = re.compile(r'\s*\{.*"(?:msg|role|content)"')
_MEDIA = {
    "image": "[image]",
    "image_url": "[image]",
    "audio": "[audio]",
    "input_audio": "[audio]",
    "video": "[video]",
}


def is_journal(path: str) -> bool:
    """Whether a file is a journal by its place: ``session/dialog/``, or ``dialog/`` of an older vault."""
    return path.endswith(".jsonl") and "dialog" in path.split("/")[:-1]


def read_turns(lines: Lines) -> Iterator[Passage]:
    """A passage for each line that is a message with text; other lines, also damaged ones, are passed over."""
    for number, row in enumerate(lines.rows):
        record = _record(row)
        if record is None:
            continue
        message = record.get("msg") if isinstance(record.get("msg"), dict) else record
        assert isinstance(message, dict)
        if _is_injected(message, record.get("marks")):
            continue
        text = message_text(message.get("content")).strip()
        if text:
            start = lines.starts[number]
            yield Passage(start, start + len(row), speaker=speaker_of(message), date=message_day(message), text=text)


def speaker_of(message: dict[str, Any]) -> str:
    """Who speaks: the message's name. AgentScope gives a tool's result to ``system``, which never said it."""
    content = message.get("content")
    if isinstance(content, list) and any(isinstance(one, dict) and one.get("type") == "tool_result" for one in content):
        return "tool"
    return str(message.get("name") or message.get("role") or "").strip()


def message_text(content: Any, depth: int = 0) -> str:
    """What was said in a message: text, calls in short, the ends of long results, ``[image]`` for media.

    Of a note that was written only the path is told: its text is found in the note.
    """
    from ..vault.encoding import clean_text

    if isinstance(content, dict):
        content = [content]
    if isinstance(content, str):
        return clean_text(content) if depth else without_recalled(clean_text(content))
    if not isinstance(content, list):
        return ""
    return clean_text("\n".join(part for block in content if (part := _block_text(block, depth))))


def message_day(message: dict[str, Any]) -> str:
    """The day of a message's own time, "" when it has none."""
    metadata = message.get("metadata")
    for holder in (message, metadata if isinstance(metadata, dict) else {}):
        for key in _TIME_KEYS:
            if day := _day(holder.get(key)):
                return day
    return ""


def is_message(row: str) -> bool:
    """Whether a line of JSON is a message."""
    record = _record(row)
    return record is not None and ("msg" in record or ("role" in record and "content" in record))


def _record(row: str) -> dict[str, Any] | None:
    if not _MESSAGE_START.match(row):
        return None
    try:
        record = json.loads(row)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def _is_injected(message: dict[str, Any], marks: Any) -> bool:
    named = marks if isinstance(marks, list) else [marks]
    return any(mark in _INJECTED_MARKS for mark in named if isinstance(mark, str)) or (
        str(message.get("name")) in _INJECTED_NAMES
    )


def _block_text(block: Any, depth: int) -> str:
    if isinstance(block, str):
        return block if depth else without_recalled(block)
    if not isinstance(block, dict):
        return ""
    kind = block.get("type")
    if kind == "text":
        text = block.get("text")
        said = _stored(text) if isinstance(text, dict) else str(text or "")
        return said if depth else without_recalled(said)
    if kind == "tool_use":
        return _call_text(str(block.get("name") or "tool"), block.get("input"))
    if kind == "tool_result" and depth < _DEEPEST_RESULT:
        output = block.get("output")
        inner = _stored(output) if isinstance(output, dict) and "$file" in output else message_text(output, depth + 1)
        return _ends(result_of_others(block.get("name"), inner), LONGEST_RESULT)
    return _MEDIA.get(kind, "") if isinstance(kind, str) else ""


def _call_text(name: str, arguments: Any) -> str:
    ours = tool_of_ours(name, arguments)
    if ours in READING_TOOLS:
        return ""
    if ours and isinstance(arguments, dict):
        arguments = {"path": arguments["path"]} if arguments.get("path") else {}
    written = json.dumps(arguments, ensure_ascii=False, default=str) if arguments else ""
    return f"{name}({_ends(written.strip('{}'), _LONGEST_ARGUMENTS)})"


def _stored(pointer: dict[str, Any]) -> str:
    """What the journal shows of a text that was moved out of the message, and where the whole of it lies."""
    if not isinstance(pointer.get("$file"), str):
        return ""
    preview = pointer.get("preview")
    where = f"[stored in {pointer['$file']}]"
    return f"{preview}\n{where}" if isinstance(preview, str) and preview else where


def _ends(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    half = limit // 2 - 2
    return f"{text[:half]} … {text[-half:]}"


def _day(value: Any) -> str:
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            # Milliseconds since 1970 have thirteen digits, seconds ten.
            return datetime.fromtimestamp(value / 1000 if abs(value) > 1e11 else value, UTC).date().isoformat()
        except (OverflowError, OSError, ValueError):
            return ""
    return day_of(value)
