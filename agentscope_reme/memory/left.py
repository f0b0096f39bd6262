"""Messages that left the context, read back from their journal."""

import asyncio
import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING

from ..errors import StateError
from .blocks import COMPRESSED
from .state import message_of

if TYPE_CHECKING:
    from agentscope.message import Msg

    from ..vault.dialog import Journal
    from .in_memory import ReMeInMemoryMemory

logger = logging.getLogger(__name__)


async def left_messages(journal: "Journal", ids: Iterable[str] | None = None) -> "list[Msg]":
    """Return the journalled messages, whole, each once and as it was last, in the order they left.

    Only those with these ``ids``, where they are given. A line that is no message is passed over and logged.
    """
    if ids is None:
        lines = list({line.id: line for line in await asyncio.to_thread(journal.read, expand=True)}.values())
    else:
        lines = await asyncio.to_thread(journal.find, list(ids), expand=True)
    messages = []
    for line in lines:
        try:
            messages.append(message_of(line.msg, f"{journal.path} line {line.line}"))
        except StateError as error:
            logger.warning("Passed over: %s", error)
    return messages


async def compressed_messages(memory: "ReMeInMemoryMemory") -> "list[Msg]":
    """Return the messages that left a memory, and those still here that are marked ``compressed``."""
    left = await memory.left_messages()
    # What is journalled but still here has not left: a compaction stopped in between, or a clear_content.
    here = [message for message, marks in memory.content if COMPRESSED in marks]
    return [message for message in left if message.id not in memory.ledger.ids] + here
