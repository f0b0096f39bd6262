"""What a model replied to a request for a plan: the JSON in it, whether as a tool call or in text."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

_BLOCK = re.compile(r"^[ \t]*(```+|~~~+)[^\n`]*\n(.*?)^[ \t]*\1[ \t]*$", re.DOTALL | re.MULTILINE)
_THOUGHT = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL | re.IGNORECASE)
_OPENS = re.compile(r"[{\[]")
_REMARK = re.compile(r"(?<=[\s,\]}])//[^\n]*|/\*.*?\*/", re.DOTALL)
# Where JSON may begin in a text; more brackets than this are no plan in prose but something else.
_MOST_STARTS = 200


def candidates(blocks: Iterable[Mapping[str, Any]], tool: str) -> Iterator[Any]:
    """What of a reply may be the plan, the likeliest first: arguments of calls, JSON in the text, what is nearly JSON.

    A call whose arguments were cut off is no candidate, even where the endpoint's client has completed them.
    """
    blocks = list(blocks)
    calls = [block for block in blocks if block.get("type") == "tool_use" and not _is_cut_off(block)]
    # A model that misspells the one function there is means that one.
    for block in sorted(calls, key=lambda block: block.get("name") != tool):
        if isinstance(block.get("input"), Mapping):
            yield dict(block["input"])
    text = text_of(blocks)
    values = list(_values(text))
    objects = [value for value in values if isinstance(value, dict)]
    keys = [key for value in objects for key in value]
    if len(objects) > 1 and len(keys) == len(set(keys)):
        yield {key: inner for value in objects for key, inner in value.items()}  # given in parts
    yield from objects
    yield from (value for value in values if not isinstance(value, dict))
    yield from _nearly(text)


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


def _values(text: str) -> Iterator[Any]:
    """JSON objects and lists in a text: in code fences first, then wherever one stands; none within another."""
    seen = []
    decoder = json.JSONDecoder(strict=False)
    for stretch in [*_fenced_blocks(text), text]:
        found = _OPENS.search(stretch)
        for _ in range(_MOST_STARTS):
            if found is None:
                break
            try:
                value, end = decoder.raw_decode(stretch, found.start())
            except (ValueError, RecursionError):
                end = found.end()
            else:
                if value and value not in seen:
                    seen.append(value)
                    yield value
            found = _OPENS.search(stretch, end)


def _nearly(text: str) -> Iterator[Any]:
    """Objects that are no JSON for a quotation mark, a comma too many or a bare key, and YAML in a code fence."""
    from ..vault.yaml_block import read_block

    whole = text[text.find("{") : text.rfind("}") + 1] if "{" in text else ""
    for stretch in dict.fromkeys([*_fenced_blocks(text), whole]):
        block = read_block(_REMARK.sub("", stretch))
        if block.error is None and block.is_mapping and block.data:
            yield block.data


def _fenced_blocks(text: str) -> list[str]:
    return [found.group(2) for found in _BLOCK.finditer(text)]
