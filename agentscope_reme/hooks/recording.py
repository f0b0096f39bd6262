"""RecordingHook: the ``post_reply`` hook that keeps what was said."""

import asyncio
import functools
import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..memory.in_memory import ReMeInMemoryMemory

if TYPE_CHECKING:
    from agentscope.message import Msg

    from ..reme import ReMe

logger = logging.getLogger(__name__)


class RecordingHook(functools.partial):
    """Register an instance: ``agent.register_instance_hook("post_reply", "reme_record", RecordingHook(reme))``.

    After each reply it writes to the journal what is new in the agent's memory, and after some turns has a card made of
    them in the background. What was injected (recall, hints) is left out. It never raises into the agent; a
    cancellation passes through. A turn that is interrupted is recorded with the next one.
    """

    # A partial whose function is a coroutine function, with an ``async def __call__``: see MemoryCompactionHook.
    def __new__(cls, reme: "ReMe") -> "RecordingHook":
        """Bind the hook to a :class:`~agentscope_reme.ReMe`."""
        return super().__new__(cls, after_reply, reme)

    async def __call__(self, agent: Any, kwargs: dict[str, Any], output: Any) -> None:
        """Run after ``agent`` has replied; the reply stays as it is."""
        return await self.func(*self.args, agent, kwargs, output)

    def __deepcopy__(self, memo: dict[int, Any]) -> "RecordingHook":
        return self

    def __reduce__(self) -> Any:
        return type(self), self.args

    @property
    def __name__(self) -> str:
        """The name AgentScope prints where a hook misbehaves."""
        return "RecordingHook"


async def after_reply(reme: "ReMe", agent: Any, kwargs: dict[str, Any], output: Any) -> None:
    """Record what is new. Everything but a cancellation ends here."""
    try:
        await _record(reme, agent, kwargs, output)
    except asyncio.CancelledError:
        raise
    except Exception:
        logger.exception("A turn could not be recorded; it is tried again after the next one.")


async def _record(reme: "ReMe", agent: Any, kwargs: Mapping[str, Any], output: Any) -> None:
    memory = getattr(agent, "memory", None)
    if isinstance(memory, ReMeInMemoryMemory):
        if reme.shares_vault(memory):
            reme.adopt(memory)
            await reme.recorder.follow(memory)
        return
    if memory is not None:
        messages = await memory.get_memory(exclude_mark="recall", prepend_summary=False)
        hints = {message.id for message in await memory.get_memory(mark="hint", prepend_summary=False)}
        session_id = reme.stand_in(memory).session_id
        await reme.recorder.record(session_id, [message for message in messages if message.id not in hints])
        return
    # An agent without a memory: what it was told, and what it said.
    session_id = str(getattr(agent, "id", "") or type(agent).__name__)
    await reme.recorder.record(session_id, [*_told(kwargs), *_told({"": output})])


def _told(values: Mapping[str, Any]) -> "list[Msg]":
    from agentscope.message import Msg

    listed = [one for value in values.values() for one in (value if isinstance(value, (list, tuple)) else [value])]
    return [one for one in listed if isinstance(one, Msg)]
