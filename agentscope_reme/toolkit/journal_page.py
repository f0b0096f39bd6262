"""Lines of a conversation's journal as turns to read: who said what when, in full, each under its line number."""

import json
from typing import Any

from ..memory.blocks import MEDIA, blocks_of, json_text, output_blocks


def turns_text(rows: str, first_line: int) -> str:
    """Render journal lines; a row that is no message is shown as it is. Texts are not shortened."""
    lines = rows.split("\n")
    if lines and not lines[-1]:
        lines.pop()
    return "\n".join(f"{number} | {_turn(row)}" for number, row in enumerate(lines, first_line))


def _turn(row: str) -> str:
    try:
        message = json.loads(row)["msg"]
        body = "\n".join(filter(None, (_block(block) for block in blocks_of(message))))
        # AgentScope gives a tool's result to ``system``, which never said it.
        is_result = any(block.get("type") == "tool_result" for block in blocks_of(message))
        speaker = "tool" if is_result else message.get("name")
        return f"[{str(message.get('timestamp') or '')[:16]}] {speaker}: {body}"
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return row


def _block(block: dict[str, Any]) -> str:
    kind = block.get("type")
    if kind == "text":
        return _text(block.get("text"))
    if kind == "thinking":
        return f"(thinking) {_text(block.get('thinking'))}"
    if kind == "tool_use":
        return f"calls {block.get('name')}({json_text(block.get('input'))})"
    if kind == "tool_result":
        output = block.get("output")
        parts = [_text(output)] if isinstance(output, dict) else [_block(part) for part in output_blocks(output)]
        inner = "\n".join(parts)
        return f"{block.get('name') or 'tool'} → {inner or '(no output)'}"
    if kind in MEDIA:
        return _media(block)
    return json_text(block)


def _text(value: Any) -> str:
    """A text, or its preview and where the journal keeps it: long results are pointers to files of their own."""
    if isinstance(value, dict) and isinstance(value.get("$file"), str):
        where = f"[{value.get('size')} bytes, {value.get('lines')} lines, in {value['$file']}]"
        return "\n".join(filter(None, (str(value.get("preview") or ""), where)))
    return "" if value is None else str(value)


def _media(block: dict[str, Any]) -> str:
    source = block.get("source")
    for key in ("data", "url"):
        value = source.get(key) if isinstance(source, dict) else None
        if isinstance(value, dict) and isinstance(value.get("$file"), str):
            return f"[{block.get('type')}, {value.get('size')} bytes, in {value['$file']}]"
        if key == "url" and isinstance(value, str):
            return f"[{block.get('type')}: {value}]"
    return f"[{block.get('type')}]"
