"""What a message holds: readers over AgentScope's content blocks that tolerate whatever a session brings back."""

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ..vault.jsonable import dumps

if TYPE_CHECKING:
    from agentscope.message import Msg

MEDIA = ("image", "audio", "video")

# Marks are plain strings: AgentScope's own two, and ours for injected recall and for what is to stay word for word.
COMPRESSED, HINT, RECALL, PINNED = "compressed", "hint", "recall", "pinned"

# How AgentScope injects text into memory in the user role: nobody said it.
INJECTED_NAMES = frozenset({"long_term_memory", "recalled_memory"})
INJECTED_STARTS = ("<retrieved_knowledge>", "<long_term_memory>", "<system-hint>")


_AS_JSON = json.JSONEncoder(ensure_ascii=False, default=str)


def blocks_of(message: "Msg | Mapping[str, Any]") -> list[dict[str, Any]]:
    """Return a message's content as blocks; a string is one text block, anything malformed is left out."""
    # Messages first: whether something is a Mapping takes long to say of what is none.
    content = getattr(message, "content", None) if type(message) is not dict else message.get("content")
    if content is None and isinstance(message, Mapping):
        content = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    if not isinstance(content, (list, tuple)):
        return []
    return [block for block in content if isinstance(block, dict)]


def output_blocks(output: Any) -> list[dict[str, Any]]:
    """Return a tool result's ``output`` (text, blocks, None) as blocks."""
    if output is None:
        return []
    if isinstance(output, str):
        return [{"type": "text", "text": output}] if output else []
    if isinstance(output, (list, tuple)):
        return [block if isinstance(block, dict) else {"type": "text", "text": shown(block)} for block in output]
    return [{"type": "text", "text": shown(output)}]


def text_of(message: "Msg | Mapping[str, Any]") -> str:
    """Return the text blocks of a message, joined by newlines."""
    return "\n".join([shown(block.get("text") or "") for block in blocks_of(message) if block.get("type") == "text"])


def output_text(output: Any) -> str:
    """Return the text of a tool result's output, joined by newlines."""
    return "\n".join([shown(part.get("text") or "") for part in output_blocks(output) if part.get("type") == "text"])


def calls_of(message: "Msg") -> Iterator[dict[str, Any]]:
    """Yield the tool calls of a message."""
    return (block for block in blocks_of(message) if block.get("type") == "tool_use")


def results_of(message: "Msg") -> Iterator[dict[str, Any]]:
    """Yield the tool results of a message."""
    return (block for block in blocks_of(message) if block.get("type") == "tool_result")


def has_results(message: "Msg") -> bool:
    """Say whether a message holds tool results."""
    return any(block.get("type") == "tool_result" for block in blocks_of(message))


def with_text_ids(message: "Msg") -> "Msg":
    """Make the ids of a message's calls and results text, in place, where an endpoint gave something else."""
    for block in blocks_of(message):
        name = block.get("id")
        if name is not None and not isinstance(name, str) and block.get("type") in ("tool_use", "tool_result"):
            block["id"] = shown(name)
    return message


def has_content(message: "Msg") -> bool:
    """Say whether anything of the message would reach a model."""
    blocks = blocks_of(message)
    return any(block.get("type") != "text" or not is_blank(shown(block.get("text") or "")) for block in blocks)


def is_blank(text: str) -> bool:
    """Say whether a text is empty or white space alone."""
    return not text or text.isspace()


def is_injected(message: "Msg", marks: "list[str] | tuple[str, ...]" = ()) -> bool:
    """Say whether this was put in and nobody said it: a hint, recalled text, what a long-term memory retrieved."""
    return message.name in INJECTED_NAMES or HINT in marks or RECALL in marks


def is_said_by_user(message: "Msg", marks: "list[str] | tuple[str, ...]" = ()) -> bool:
    """Say whether a person said this: user role, not a hint, not injected recall or knowledge, not a tool result."""
    if message.role != "user" or is_injected(message, marks):
        return False
    blocks = blocks_of(message)
    opening = str(blocks[0].get("text") or "")[:40].lstrip() if blocks else ""
    return not opening.startswith(INJECTED_STARTS) and all(block.get("type") != "tool_result" for block in blocks)


def json_text(value: Any) -> str:
    """Return ``value`` as compact JSON, whatever it holds."""
    try:
        return _AS_JSON.encode(value)
    except Exception:  # it holds itself, keys of no JSON type, an object that has no text
        return dumps(value)


def shown(value: Any) -> str:
    """Return ``str(value)``, or JSON where that raises."""
    try:
        return str(value)
    except Exception:
        return json_text(value)
