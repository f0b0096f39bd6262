"""Compaction of a memory that is not ours: what its public interface allows, and a word on what it does not.

Messages are journalled first, then the summary is set and the messages are marked ``compressed``. An agent without an
enabled ``compression_config`` shows marked messages all the same, so there they are deleted from that memory; their
full text is in the journal.
"""

import logging
from typing import TYPE_CHECKING, Any

from ..memory.blocks import COMPRESSED, HINT, PINNED, RECALL
from ..memory.in_memory import ReMeInMemoryMemory
from ..models import Compacted, CompactionOutcome

if TYPE_CHECKING:
    from ..reme import ReMe

logger = logging.getLogger(__name__)

LIMITS = (
    "this agent's memory is a {kind}, not a ReMeInMemoryMemory: old tool results are not moved to files, messages that "
    "are broadcast again after a compaction come back, and folded messages are {fate}. reme.attach(agent) or "
    "reme.get_in_memory_memory() has no such limits."
)


class StandIn(ReMeInMemoryMemory):
    """Our view of a memory that is not ours. ``written_summary`` is the envelope we last gave it."""

    written_summary = ""
    changes_in_place = False


async def compact_foreign(reme: "ReMe", agent: Any, memory: Any, **coming: str) -> CompactionOutcome:
    """Fold old messages of any ``MemoryBase`` when the threshold is passed; ``coming`` is counted with them."""
    config = getattr(agent, "compression_config", None)
    leaves_out = config is not None and getattr(config, "enable", False)
    fate = "marked and hidden" if leaves_out else "deleted from it once they are in the journal"
    reme.warn_once(agent, LIMITS.format(kind=type(memory).__name__, fate=fate))
    stand_in: StandIn = reme.stand_in(memory)
    summary = str(getattr(memory, "_compressed_summary", "") or "")
    messages = await memory.get_memory(exclude_mark=COMPRESSED, prepend_summary=False)
    marks: dict[str, list[str]] = {message.id: [] for message in messages}
    for mark in (HINT, PINNED, RECALL):
        for message in await memory.get_memory(mark=mark, prepend_summary=False):
            marks.setdefault(message.id, []).append(mark)
    stand_in.content = [(message, marks[message.id]) for message in messages]
    if summary != stand_in.written_summary:
        await stand_in.update_compressed_summary(summary)
    outcome = await reme.compaction.keep_within_window(stand_in, **coming)
    if not isinstance(outcome, Compacted):
        return outcome
    kept = {message.id for message, _ in stand_in.content}
    gone = [message.id for message in messages if message.id not in kept]
    stand_in.written_summary = str(stand_in.envelope().content)
    await memory.update_compressed_summary(stand_in.written_summary)
    if leaves_out:
        await memory.update_messages_mark(new_mark=COMPRESSED, msg_ids=gone)
    else:
        await memory.delete(gone)
    return outcome
