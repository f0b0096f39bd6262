"""When even the kept messages are too much: the longest texts among them move to files, in place (P5).

Ids, roles, order and pairing stay. Tool results give way first; what people and the agent said, and the arguments of
calls, only when the window itself is at stake.
"""

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..errors import ReMeError
from .blocks import HINT, blocks_of, calls_of, output_blocks, results_of
from .clipping import byte_length
from .tool_result import MIN_BYTES, ToolResultCompactor

if TYPE_CHECKING:
    from agentscope.message import Msg

    from .in_memory import ReMeInMemoryMemory

logger = logging.getLogger(__name__)

ROUNDS = 4
# A message cheaper than this has nothing worth moving.
LEAST_COST = 96


async def shrink(memory: "ReMeInMemoryMemory", results: ToolResultCompactor, *, target: int, hard: int) -> list[str]:
    """Move long texts of kept messages to files until the context fits; return the files.

    Args:
        memory: The memory, its lock held by the caller.
        results: Stores and clips.
        target: Tokens for checkpoint and messages; reached by clipping tool results, as far as they go.
        hard: Tokens above which other texts are clipped as well, down to it.
    """
    if memory.vault is None:
        return []
    paths: list[str] = []
    inputs = {str(call.get("id")): call.get("input") for message, _ in memory.content for call in calls_of(message)}
    summary = await memory.summary_tokens()
    for words, aim in ((False, target), (True, hard)):
        for _ in range(ROUNDS):
            excess = summary + await memory.message_tokens() - aim
            if excess <= 0:
                break
            candidates = _candidates(memory, words=words)
            share = fair_share([memory.ledger.cost(message) for message in candidates], excess)
            moved: list[str] = []
            for message in candidates:
                if memory.ledger.cost(message) > share:
                    clipped = await _clip(memory, message, results, share, inputs, words=words)
                    moved += clipped
                    if clipped:
                        memory.ledger.changed(message)
            memory.forget_view()
            paths += moved
            if not moved:
                break
    return list(dict.fromkeys(paths))


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


def _candidates(memory: "ReMeInMemoryMemory", *, words: bool) -> list["Msg"]:
    """Messages that may be clipped: with tool results, or any but AgentScope's hints; the costliest first."""
    chosen = [
        message
        for message, marks in memory.content
        if HINT not in marks
        and memory.ledger.cost(message) > LEAST_COST
        and (words or any(True for _ in results_of(message)))
    ]
    return sorted(chosen, key=memory.ledger.cost, reverse=True)


async def _clip(
    memory: "ReMeInMemoryMemory",
    message: "Msg",
    results: ToolResultCompactor,
    tokens: int,
    inputs: Mapping[str, Any],
    *,
    words: bool,
) -> list[str]:
    """Clip every long part of a message so that it comes near ``tokens``; return the files."""
    size = _bytes_of(message)
    cost = max(1, memory.ledger.cost(message))
    limit = max(MIN_BYTES, int(size * tokens / cost * 0.9))
    parts = max(1, sum(1 for _ in results_of(message)))
    try:
        paths = await results.age(message, max(MIN_BYTES, limit // parts), inputs, media=True)
        if words:
            if isinstance(message.content, str):
                message.content = [{"type": "text", "text": message.content}]
            long = [block for block in blocks_of(message) if block.get("type") in ("text", "thinking")]
            for block in long:
                moved = await results.offload_text(block, str(block["type"]), max(MIN_BYTES, limit // len(long)))
                paths += [moved] if moved else []
            for call in calls_of(message):
                paths += await _clip_arguments(call, results, limit)
    except (ReMeError, OSError) as error:
        logger.warning("A long text could not be moved to a file (%s); it stays.", error)
        return []
    return paths


async def _clip_arguments(call: dict[str, Any], results: ToolResultCompactor, limit: int) -> list[str]:
    arguments = call.get("input")
    if not isinstance(arguments, dict):
        return []
    paths = []
    for key, value in list(arguments.items()):
        if isinstance(value, str):
            moved = await results.offload_text(arguments, key, limit)
            if moved:
                paths.append(moved)
    if paths and "raw_input" in call:
        call.pop("raw_input")  # it repeats the arguments, whole
    return paths


def _bytes_of(message: "Msg") -> int:
    total = 0
    for block in blocks_of(message):
        if block.get("type") == "tool_result":
            output = block.get("output")
            total += sum(byte_length(str(part.get("text") or "")) for part in output_blocks(output))
        elif block.get("type") == "tool_use":
            arguments = block.get("input")
            total += byte_length(str(arguments)) if arguments else 0
        else:
            total += byte_length(str(block.get("text") or block.get("thinking") or ""))
    return max(1, total)
