"""When even the kept messages are too much: the longest texts among them move to files, in place (P5).

Ids, roles, order and pairing stay. Tool results give way first; then media of older messages; what people and the agent
said, arguments of calls and the newest media only when the window itself is at stake.
"""

import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import ReMeError
from .blocks import HINT, calls_of, results_of
from .offloading import fair_share, media_count, offload_media, offload_words, result_bytes, word_sizes
from .tool_result import MIN_BYTES, ToolResultCompactor
from .window import asked_by_others, turn_opening

if TYPE_CHECKING:
    from agentscope.message import Msg

    from .in_memory import ReMeInMemoryMemory

logger = logging.getLogger(__name__)

ROUNDS = 4
# A message cheaper than this has nothing worth moving.
LEAST_COST = 96


async def shrink(
    memory: "ReMeInMemoryMemory", results: ToolResultCompactor, *, target: int, hard: int, window: int
) -> list[str]:
    """Move long texts of kept messages to files until the context fits; return the files.

    Args:
        memory: The memory, its lock held by the caller.
        results: Stores and clips.
        target: Tokens for checkpoint and messages; reached by clipping tool results, as far as they go.
        hard: Tokens above which older media are moved and other texts are clipped as well, down to it.
        window: Tokens above which the newest media are moved too.
    """
    if memory.vault is None or not memory.changes_in_place:
        return []
    asked = turn_opening(memory.content) + asked_by_others(memory.content, memory.own_name)
    newest = {id(memory.content[i][0]) for i in asked}
    paths = await _shorten(memory, results, target, words=False)
    paths += await _move_media(memory, hard, {id(message) for message, _ in memory.content} - newest)
    paths += await _shorten(memory, results, hard, words=True)
    paths += await _move_media(memory, window, newest)
    return list(dict.fromkeys(paths))


async def _excess(memory: "ReMeInMemoryMemory", aim: int) -> int:
    return await memory.summary_tokens() + await memory.message_tokens() - aim


async def _shorten(memory: "ReMeInMemoryMemory", results: ToolResultCompactor, aim: int, *, words: bool) -> list[str]:
    """Clip tool results, or with ``words`` every text, down to a common bound, until the context is within ``aim``."""
    paths: list[str] = []
    inputs: dict[str, Any] = {}
    for _ in range(ROUNDS):
        excess = await _excess(memory, aim)
        if excess <= 0:
            break
        inputs = inputs or {str(call.get("id")): call.get("input") for m, _ in memory.content for call in calls_of(m)}
        candidates = [
            message
            for message, marks in memory.content
            if HINT not in marks
            and _text_cost(memory, message) > LEAST_COST
            and (words or any(True for _ in results_of(message)))
        ]
        share = fair_share([_text_cost(memory, message) for message in candidates], excess)
        moved: list[str] = []
        for message in candidates:
            if _text_cost(memory, message) > share:
                moved += await _clip(memory, message, results, share, inputs, words=words)
        if not moved:
            break
        paths += moved
    return paths


def _text_cost(memory: "ReMeInMemoryMemory", message: "Msg") -> int:
    return memory.ledger.cost(message) - media_count(message) * memory.budget.media_tokens


async def _clip(
    memory: "ReMeInMemoryMemory",
    message: "Msg",
    results: ToolResultCompactor,
    tokens: int,
    inputs: Mapping[str, Any],
    *,
    words: bool,
) -> list[str]:
    """Clip the long parts of a message so that its texts come near ``tokens``; return the files."""
    sizes = [result_bytes(block) for block in results_of(message)]
    sizes += word_sizes(message).values() if words else []
    size = max(1, sum(sizes))
    limit = int(size * tokens / max(1, _text_cost(memory, message)) * 0.9)
    bound = max(MIN_BYTES, fair_share(sizes, size - limit))
    paths: list[str] = []
    try:
        paths += await results.age(message, bound, inputs, media=False)
        if words and memory.vault is not None:
            paths += await offload_words(message, memory.vault, bound)
    except (ReMeError, OSError) as error:
        logger.warning("A long text could not be moved to a file (%s); it stays.", error)
    if paths:
        memory.ledger.changed(message)
        memory.forget_view()
    return paths


async def _move_media(memory: "ReMeInMemoryMemory", aim: int, among: set[int]) -> list[str]:
    """Move media of these messages to files, the oldest first, until the context is within ``aim``."""
    paths: list[str] = []
    holders: Sequence[Msg] = [
        message
        for message, marks in memory.content
        if id(message) in among and HINT not in marks and media_count(message)
    ]
    for message in holders:
        if memory.vault is None or await _excess(memory, aim) <= 0:
            break
        try:
            moved = await offload_media(message, memory.vault)
        except (ReMeError, OSError) as error:
            logger.warning("Media could not be moved to a file (%s); they stay.", error)
            break
        if moved:
            memory.ledger.changed(message)
            memory.forget_view()
            paths += moved
    return paths
