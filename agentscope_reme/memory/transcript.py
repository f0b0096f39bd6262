"""Messages as plain text: for the summariser, for history listings. Never the other way round.

Words of people and of the agent are given whole; arguments and results of tools are shortened at head and tail, with
paths and ids intact; media become a marker; thinking becomes plain text or is left out.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from .blocks import MEDIA, blocks_of, is_blank, json_text, output_blocks

if TYPE_CHECKING:
    from agentscope.message import Msg

ARGUMENT_CHARS = 500
RESULT_CHARS = 700


def shortened(text: str, limit: int) -> str:
    """Return ``text`` cut to about ``limit`` characters: two thirds head, one third tail, and how much is left out."""
    if len(text) <= limit:
        return text
    tail = limit // 3
    head = limit - tail
    return f"{text[:head]} […{len(text) - head - tail} characters left out…] {text[-tail:] if tail else ''}"


def block_text(block: dict[str, Any], *, thinking: bool = True) -> str:
    """Render one content block; "" for what is left out."""
    kind = block.get("type")
    if kind == "text":
        return str(block.get("text") or "").strip()
    if kind == "thinking":
        return f"(thinking) {str(block.get('thinking') or '').strip()}" if thinking and block.get("thinking") else ""
    if kind == "tool_use":
        return f"calls {block.get('name')}({shortened(json_text(block.get('input')), ARGUMENT_CHARS)})"
    if kind == "tool_result":
        inner = "\n".join(filter(None, (block_text(part) for part in output_blocks(block.get("output")))))
        return f"{block.get('name') or 'tool'} → {shortened(inner.strip(), RESULT_CHARS) or '(no output)'}"
    if kind in MEDIA:
        return media_marker(block)
    return shortened(json_text(block), ARGUMENT_CHARS)


def tells(message: "Msg") -> bool:
    """Say whether :func:`rendered` has anything of a message."""
    return any(
        block.get("type") not in ("text", "thinking") or not is_blank(str(block.get(block["type"]) or ""))
        for block in blocks_of(message)
    )


def media_marker(block: dict[str, Any]) -> str:
    """Return what stands for an image, audio or video block: its kind, and its URL or size."""
    source = block.get("source") or {}
    if isinstance(source, dict) and source.get("type") == "url":
        return f"[{block.get('type')} omitted: {shortened(str(source.get('url')), 200)}]"
    data = str(source.get("data") or "") if isinstance(source, dict) else ""
    size = f", about {len(data) * 3 // 4} bytes" if data else ""
    return f"[{block.get('type')} omitted{size}]"


def rendered(message: "Msg", *, thinking: bool = True) -> str:
    """Render one message as ``[time] speaker: text``; "" when nothing of it is text."""
    body = "\n".join(filter(None, [block_text(block, thinking=thinking) for block in blocks_of(message)]))
    if not body:
        return ""
    speaker = "tool" if message.role == "system" and "→" in body else message.name
    when = str(message.timestamp or "")[:16]
    return f"[{when}] {speaker}: {body}" if when else f"{speaker}: {body}"


def pieces(messages: Sequence["Msg"], limit: int, *, thinking: bool = True) -> Iterator[str]:
    """Yield the transcript in pieces of at most ``limit`` characters, split between messages where possible.

    A message longer than a piece continues in the next one; nothing is left out.
    """
    held: list[str] = []
    size = 0
    for message in messages:
        text = rendered(message, thinking=thinking)
        while text:
            room = limit - size
            if len(text) + 2 > room and held:
                yield "\n\n".join(held)
                held, size = [], 0
                continue
            part, text = text[:limit], text[limit:]
            held.append(part)
            size += len(part) + 2
    if held:
        yield "\n\n".join(held)
