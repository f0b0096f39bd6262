"""Messages that left the context, read back from their journal."""

import asyncio
import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING

from ..errors import StateError
from .state import message_of

if TYPE_CHECKING:
    from agentscope.message import Msg

    from ..vault.dialog import Journal

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
