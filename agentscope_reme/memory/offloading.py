"""What people and the agent said, arguments of calls, media: moved out of a kept message into files, in place.

The file is on disk before anything is cut. What was cut is kept as data in the message's metadata, so that a text that
has to become shorter still is cut from its full text again, and never stored a second time as a cut one.
"""

import asyncio
import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..errors import ReMeError
from .blocks import MEDIA, blocks_of, calls_of, json_text, output_blocks
from .clipping import Pointer, byte_length, clipped_aside
from .media import inline_media
from .tool_result import MIN_BYTES
from .vault_tools import current_tools

if TYPE_CHECKING:
    from agentscope.message import Msg

    from ..vault import Vault

logger = logging.getLogger(__name__)

# Under this key of Msg.metadata: {place in the message: {"path": ..., "size": bytes, "lines": ..., "notice": the line
# that stands in the text}}.
TEXTS_KEY = "reme_texts"


def fair_share(costs: list[int], excess: int) -> int:
    """Return the bound at which cutting every cost down to it frees ``excess``, so that the longest give most."""
    ordered = sorted(costs, reverse=True)
    freed = 0
    for count, cost in enumerate(ordered, 1):
        following = ordered[count] if count < len(ordered) else 0
        step = (cost - following) * count
        if freed + step >= excess:
            return cost - -(-(excess - freed) // count)
        freed += step
    return 0


def result_bytes(block: Mapping[str, Any]) -> int:
    """Return the bytes of a tool result's texts."""
    return sum(byte_length(str(part.get("text") or "")) for part in output_blocks(block.get("output")))


def word_sizes(message: "Msg") -> dict[str, int]:
    """Return the bytes of what can be moved out of a message beside results and media, by place.

    Signed thinking is not among it: a provider refuses it changed.
    """
    sizes: dict[str, int] = {}
    for i, block in enumerate(blocks_of(message)):
        kind = block.get("type")
        if kind == "text":
            sizes["text"] = sizes.get("text", 0) + byte_length(str(block.get("text") or ""))
        elif kind == "thinking" and not block.get("signature"):
            sizes[f"thinking:{i}"] = byte_length(str(block.get("thinking") or ""))
        elif kind == "tool_use" and isinstance(block.get("input"), dict):
            sizes[f"input:{block.get('id')}"] = byte_length(json_text(block["input"]))
    return sizes


async def offload_words(message: "Msg", vault: "Vault", limit: int) -> list[str]:
    """Bound each place of :func:`word_sizes` to ``limit`` bytes, in place; return the files. Raises what a write does.

    Several text blocks become one, where the first stood.
    """
    paths: list[str] = []
    if isinstance(message.content, str):
        cut = await _cut(message, vault, "text", message.content, limit)
        if cut is not None:
            message.content = cut[0]
            paths.append(cut[1])
        return paths
    texts = [block for block in blocks_of(message) if block.get("type") == "text"]
    joined = "\n".join(str(block.get("text") or "") for block in texts)
    cut = await _cut(message, vault, "text", joined, limit)
    if cut is not None:
        texts[0]["text"] = cut[0]
        others = {id(block) for block in texts[1:]}
        message.content = [block for block in message.content if id(block) not in others]
        paths.append(cut[1])
    for i, block in enumerate(blocks_of(message)):
        if block.get("type") == "thinking" and not block.get("signature"):
            cut = await _cut(message, vault, f"thinking:{i}", str(block.get("thinking") or ""), limit)
            if cut is not None:
                block["thinking"] = cut[0]
                paths.append(cut[1])
    for call in calls_of(message):
        paths += await _cut_arguments(message, vault, call, limit)
    return paths


async def _cut_arguments(message: "Msg", vault: "Vault", call: dict[str, Any], limit: int) -> list[str]:
    arguments = call.get("input")
    if not isinstance(arguments, dict) or byte_length(json_text(arguments)) <= limit:
        return []
    place = f"input:{call.get('id')}"
    if len(arguments) * MIN_BYTES > limit:  # too many to leave something of each
        arguments = {"arguments": json_text(arguments)}
    texts = {key: value if isinstance(value, str) else json_text(value) for key, value in arguments.items()}
    sizes = [byte_length(text) for text in texts.values()]
    bound = max(MIN_BYTES, fair_share(sizes, sum(sizes) - limit))
    paths: list[str] = []
    shown = dict(arguments)
    for key, text in texts.items():
        cut = await _cut(message, vault, f"{place}:{key}", text, bound)
        if cut is not None:
            shown[key] = cut[0]
            paths.append(cut[1])
    if paths:
        call["input"] = shown
        call.pop("raw_input", None)  # it repeats the arguments, whole
    return paths


async def _cut(message: "Msg", vault: "Vault", place: str, text: str, limit: int) -> tuple[str, str] | None:
    """Return the text cut to ``limit`` bytes and the file that holds all of it; None when it is short enough."""
    limit = max(MIN_BYTES, limit)
    if byte_length(text) <= limit:
        return None
    states = message.metadata.get(TEXTS_KEY) if isinstance(message.metadata, dict) else None
    known = states.get(place) if isinstance(states, dict) else None
    source, pointer = text, None
    if isinstance(known, dict) and known.get("notice") and str(known["notice"]) in text:
        try:
            source = (await asyncio.to_thread(vault.read_bytes, str(known["path"]))).decode("utf-8", "replace")
            size, lines = int(known["size"]), int(known["lines"])
            pointer = Pointer(str(known["path"]), size, lines, reader=current_tools.get().read)
        except (ReMeError, OSError, KeyError, TypeError, ValueError) as error:
            logger.info("The full text of an offloaded one is gone (%s); what is left of it is cut.", error)
    if pointer is None:
        stored = await vault.store_result(text, ".txt")
        pointer = Pointer(stored.path, stored.size, stored.lines, reader=current_tools.get().read)
    cut = await clipped_aside(source, limit, pointer)
    state = {"path": pointer.path, "size": pointer.size, "lines": pointer.lines, "notice": cut.notice}
    held = message.metadata if isinstance(message.metadata, dict) else {}
    message.metadata = {**held, TEXTS_KEY: {**(states if isinstance(states, dict) else {}), place: state}}
    return cut.text, pointer.path


def media_count(message: "Msg") -> int:
    """Return how many images, audio and video blocks a message has, those in results included."""
    total = 0
    for block in blocks_of(message):
        parts = output_blocks(block.get("output")) if block.get("type") == "tool_result" else [block]
        total += sum(1 for part in parts if part.get("type") in MEDIA)
    return total


async def offload_media(message: "Msg", vault: "Vault") -> list[str]:
    """Move the media of a message to files, in place, a line of text standing for each; return the files or URLs.

    Raises what a write does. Media that cannot be decoded are moved as they are.
    """
    if isinstance(message.content, str):
        return []
    moved: list[str] = []
    content: list[Any] = []
    for block in message.content:
        if isinstance(block, dict) and block.get("type") in MEDIA:
            block, place = await _without_media(block, vault)
            moved.append(place)
        elif isinstance(block, dict) and block.get("type") == "tool_result" and isinstance(block.get("output"), list):
            parts = []
            for part in output_blocks(block["output"]):
                if part.get("type") in MEDIA:
                    part, place = await _without_media(part, vault)
                    moved.append(place)
                parts.append(part)
            block = {**block, "output": parts}
        content.append(block)
    if moved:
        message.content = content
    return moved


async def _without_media(block: Mapping[str, Any], vault: "Vault") -> tuple[dict[str, Any], str]:
    source = block.get("source")
    url = source.get("url") if isinstance(source, Mapping) else None
    if isinstance(url, str) and url[:5].lower() != "data:":
        return {"type": "text", "text": f"[{block.get('type')} left out: {url}]"}, url
    data, suffix = inline_media(block) or (json_text(dict(block)), ".json")
    stored = await vault.store_result(data, suffix)
    text = f"[{block.get('type')} moved to {stored.path} ({stored.size} bytes)]"
    return {"type": "text", "text": text}, stored.path
