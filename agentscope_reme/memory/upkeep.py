"""What a step does with a memory before it counts: marks that others set, tool results that are no longer recent."""

import logging
from typing import TYPE_CHECKING

from .blocks import COMPRESSED, results_of

if TYPE_CHECKING:
    from .in_memory import ReMeInMemoryMemory
    from .tool_result import ToolResultCompactor

logger = logging.getLogger(__name__)


async def adopt_foreign_marks(memory: "ReMeInMemoryMemory") -> None:
    """Journal and take out messages that someone else marked ``compressed`` under a summary of theirs."""
    if not memory.ledger.marks.get(COMPRESSED) or not memory.get_compressed_summary() or memory.journal is None:
        return
    marked = [entry for entry in memory.content if COMPRESSED in entry[1]]
    try:
        await memory.write_journal(marked)
    except Exception as error:
        logger.warning("Messages marked compressed could not be journalled (%s); they stay.", error)
        return
    memory.remove(marked)


async def age_results(memory: "ReMeInMemoryMemory", results: "ToolResultCompactor") -> list[str]:
    """Bound the results that are no longer recent; return the files.

    Those that no assistant message has followed yet stay recent, however many they are.
    """
    if memory.vault is None or not memory.changes_in_place:
        return []
    fresh = memory.ledger.fresh_results
    unseen = 0
    for message, _ in reversed(memory.content):
        if message.role == "assistant":
            break
        unseen += 1 if any(True for _ in results_of(message)) else 0
    paths: list[str] = []
    while len(fresh) > max(results.recent_tool_results, unseen):
        message, inputs = fresh.popleft()
        try:
            moved = await results.age(message, results.old_max_bytes, inputs)
        except Exception:
            logger.exception("Old tool results could not be bounded; they stay as they are.")
            continue
        if moved:
            memory.ledger.changed(message)
            memory.forget_view()
            paths += moved
    return paths
