"""RecallHook: the ``pre_reply`` hook that puts what the vault holds about a message before it."""

import asyncio
import functools
import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..adapters.recalling import RECALL_NAME, Shown, core_text, is_injected, question_of, recall_text
from ..memory.blocks import PINNED, RECALL
from ..memory.envelope import user_language
from ..memory.in_memory import ReMeInMemoryMemory

if TYPE_CHECKING:
    from agentscope.message import Msg

    from ..reme import ReMe

logger = logging.getLogger(__name__)

KIND = "agentscope_reme"
"""Key in a message's metadata; ``core`` and ``recall`` are the texts that this hook adds."""

# Of a small window, recalled text and MEMORY.md take no more than these shares.
_RECALL_SHARE, _CORE_SHARE = 8, 16


class RecallHook(functools.partial):
    """Register an instance: ``agent.register_instance_hook("pre_reply", "reme_recall", RecallHook(reme))``.

    Before each reply it looks up what the user's message is about and puts it, quoted and with its sources, before that
    message; what it put there for the last one is taken out. When nothing is relevant, or nothing is found in time, it
    adds nothing. Once a session it adds the start of MEMORY.md. It never raises into the agent; a cancellation passes
    through. It keeps no state: what it added carries the mark ``recall`` in the agent's memory.
    """

    # A partial whose function is a coroutine function, with an ``async def __call__``: see MemoryCompactionHook.
    def __new__(cls, reme: "ReMe") -> "RecallHook":
        """Bind the hook to a :class:`~agentscope_reme.ReMe`."""
        return super().__new__(cls, before_reply, reme)

    async def __call__(self, agent: Any, kwargs: dict[str, Any]) -> None:
        """Run before ``agent`` replies; the arguments of the reply stay as they are."""
        return await self.func(*self.args, agent, kwargs)

    def __deepcopy__(self, memo: dict[int, Any]) -> "RecallHook":
        return self

    def __reduce__(self) -> Any:
        return type(self), self.args

    @property
    def __name__(self) -> str:
        """The name AgentScope prints where a hook misbehaves."""
        return "RecallHook"


async def before_reply(reme: "ReMe", agent: Any, kwargs: dict[str, Any]) -> None:
    """Replace what was recalled for the last message. Everything but a cancellation ends here."""
    try:
        await _recall(reme, agent, kwargs)
    except asyncio.CancelledError:
        # The reply will not take the message in any more: AgentScope answers the interrupt with the memory as it is.
        await _keep(getattr(agent, "memory", None), _given(kwargs))
        raise
    except Exception:
        logger.exception("Nothing could be recalled; the reply goes on without it.")


async def _recall(reme: "ReMe", agent: Any, kwargs: Mapping[str, Any]) -> None:
    memory = getattr(agent, "memory", None)
    if memory is None or (isinstance(memory, ReMeInMemoryMemory) and not reme.shares_vault(memory)):
        return
    former = await memory.get_memory(mark=RECALL, prepend_summary=False)
    await _take_out(memory, [message for message in former if _kind_of(message) != "core"])
    asked = _given(kwargs) or _latest(await _messages_of(memory), getattr(agent, "name", ""))
    window = memory.max_input_length if isinstance(memory, ReMeInMemoryMemory) else reme.config.max_input_length
    if not any(_kind_of(message) == "core" for message in former):
        tokens = min(reme.config.core_tokens, window // _CORE_SHARE)
        text = await core_text(reme, tokens, user_language(asked)) if tokens else ""
        if text:
            await _add(memory, text, "core", [RECALL, PINNED])
    session = getattr(memory, "session_id", "") or reme.stand_in(memory).session_id
    whole = not str(getattr(memory, "_compressed_summary", "") or "").strip()
    text = await recall_text(
        reme,
        question_of(asked),
        limit=reme.config.recall_limit,
        tokens=min(reme.config.recall_tokens, window // _RECALL_SHARE),
        timeout=reme.config.recall_timeout,
        shown=await asyncio.to_thread(Shown.of, session, await _messages_of(memory), whole=whole),
    )
    if text:
        await _add(memory, text, "recall", [RECALL])


async def _keep(memory: Any, messages: "list[Msg]") -> None:
    try:
        if memory is not None and messages:
            await memory.add(messages)
    except Exception:
        logger.exception("The message that was interrupted could not be kept.")


async def _add(memory: Any, text: str, kind: str, marks: list[str]) -> None:
    from agentscope.message import Msg

    await memory.add(Msg(RECALL_NAME, text, "user", metadata={KIND: kind}), marks=marks)


async def _take_out(memory: Any, messages: "list[Msg]") -> None:
    if not messages:
        return
    if isinstance(memory, ReMeInMemoryMemory):
        gone = {id(message) for message in messages}
        memory.remove([entry for entry in memory.content if id(entry[0]) in gone], tombstones=False)
    else:
        await memory.delete([message.id for message in messages])


async def _messages_of(memory: Any) -> "list[Msg]":
    if isinstance(memory, ReMeInMemoryMemory):
        return [message for message, _ in memory.content]
    found: list[Msg] = await memory.get_memory(prepend_summary=False)
    return found


def _kind_of(message: "Msg") -> str:
    metadata = message.metadata
    return str(metadata.get(KIND) or "") if isinstance(metadata, dict) else ""


def _given(kwargs: Mapping[str, Any]) -> "list[Msg]":
    """The messages that the agent is asked to reply to; the argument is ``msg`` where nobody renamed it."""
    from agentscope.message import Msg

    for value in (kwargs.get("msg"), *kwargs.values()):
        given = value if isinstance(value, (list, tuple)) else [value]
        messages = [one for one in given if isinstance(one, Msg)]
        if messages:
            return messages
    return []


def _latest(messages: "list[Msg]", own_name: str) -> "list[Msg]":
    """What others said since the agent's last turn, where it is called without a message (in a hub)."""
    found: list[Msg] = []
    for message in reversed(messages):
        if message.role == "assistant" and message.name == own_name:
            break
        if message.role != "system" and not is_injected(message):
            found.append(message)
    return found[:4][::-1]
