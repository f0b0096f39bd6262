"""What a model replied to a request for a plan: the JSON in it, whether as a tool call or in text."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

_BLOCK = re.compile(r"^[ \t]*(```+|~~~+)[^\n`]*\n(.*?)^[ \t]*\1[ \t]*$", re.DOTALL | re.MULTILINE)
_THOUGHT = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL | re.IGNORECASE)
# Where JSON may begin in a text; more braces than this are no plan in prose but something else.
_MOST_STARTS = 200


def candidates(blocks: Iterable[Mapping[str, Any]], tool: str) -> list[dict[str, Any]]:
    """The JSON objects of a reply that may be the plan, the likeliest first: the tool's arguments, then the text's.

    A call whose arguments were cut off is no candidate, even where the endpoint's client has completed them.
    """
    found: list[dict[str, Any]] = []
    for block in blocks:
        if block.get("type") == "tool_use" and block.get("name") == tool and not _is_cut_off(block):
            arguments = block.get("input")
            if isinstance(arguments, Mapping):
                found.append(dict(arguments))
    return found + list(_objects(text_of(blocks)))


def text_of(blocks: Iterable[Mapping[str, Any]]) -> str:
    """The text of a reply, without what a model thought aloud."""
    texts = [str(block.get("text") or "") for block in blocks if block.get("type") == "text"]
    return _THOUGHT.sub("", "\n".join(texts)).strip()


def shown(blocks: Iterable[Mapping[str, Any]]) -> str:
    """A reply as text, for a message that says what is wrong with it."""
    parts = [text_of(blocks)]
    for block in blocks:
        if block.get("type") == "tool_use":
            raw = block.get("raw_input")
            arguments = raw if isinstance(raw, str) and raw else json.dumps(block.get("input"), ensure_ascii=False)
            parts.append(f"{block.get('name')}({arguments})")
    return "\n".join(part for part in parts if part)


def _is_cut_off(block: Mapping[str, Any]) -> bool:
    raw = block.get("raw_input")
    if not isinstance(raw, str) or not raw.strip():
        return False
    try:
        json.loads(raw, strict=False)
    except ValueError:
        return True
    return False


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """JSON objects in a text: in code fences first, then wherever one stands; one within another is not looked at."""
    stretches = [found.group(2) for found in _BLOCK.finditer(text)]
    seen = []
    decoder = json.JSONDecoder(strict=False)
    for stretch in [*stretches, text]:
        at = stretch.find("{")
        for _ in range(_MOST_STARTS):
            if at < 0:
                break
            try:
                value, end = decoder.raw_decode(stretch, at)
            except (ValueError, RecursionError):
                end = at + 1
            else:
                if isinstance(value, dict) and value not in seen:
                    seen.append(value)
                    yield value
            at = stretch.find("{", end)
