"""MemoryCompactionHook: the ``pre_reasoning`` hook that keeps an agent's context within its model's window."""

import asyncio
import functools
import json
import logging
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from weakref import ref

from ..memory.blocks import text_of
from ..memory.headroom import head_room, room_of_step
from ..memory.in_memory import ReMeInMemoryMemory
from ..memory.kept_results import keep_shown
from ..memory.requests import newest_of
from ..memory.running import Step, current_step, current_window
from ..memory.vault_tools import current_tools, tools_in
from .announcement import announce
from .foreign import compact_foreign

if TYPE_CHECKING:
    from ..reme import ReMe

logger = logging.getLogger(__name__)


OTHER_VAULT = (
    "this agent's memory lies in another vault than the hook's, so the hook leaves it alone. Register the hook of the "
    "ReMe that made the memory."
)


class MemoryCompactionHook(functools.partial):
    """Register an instance: ``agent.register_instance_hook("pre_reasoning", "reme", MemoryCompactionHook(reme))``.

    Before each reasoning step it bounds old tool results and, when the window's threshold is passed, folds old messages
    into a checkpoint. It never raises into the agent; a cancellation passes through. It keeps no state: what it knows
    belongs to the memory it finds on the agent.
    """

    # AgentScope asks whether a hook is asynchronous by ``inspect.iscoroutinefunction``, which an instance with an
    # ``async def __call__`` fails, and then by unwrapping ``functools.partial``. So this is a partial whose function
    # is a coroutine function (the instance passes) and that also defines ``async def __call__`` (its bound method,
    # ``hook.__call__``, passes). Both are the same function.
    def __new__(cls, reme: "ReMe") -> "MemoryCompactionHook":
        """Bind the hook to a :class:`~agentscope_reme.ReMe`."""
        return super().__new__(cls, before_reasoning, reme)

    async def __call__(self, agent: Any, kwargs: dict[str, Any]) -> None:
        """Run before a reasoning step of ``agent``; the arguments of the step stay as they are."""
        return await self.func(*self.args, agent, kwargs)

    def __deepcopy__(self, memo: dict[int, Any]) -> "MemoryCompactionHook":
        return self

    def __reduce__(self) -> Any:
        return type(self), self.args

    @property
    def __name__(self) -> str:
        """The name AgentScope prints where a hook misbehaves."""
        return "MemoryCompactionHook"


async def before_reasoning(reme: "ReMe", agent: Any, kwargs: dict[str, Any]) -> None:
    """Bound what the next request will hold. Everything but a cancellation ends here."""
    try:
        await _keep(reme, agent)
    except asyncio.CancelledError:
        raise
    except Exception:
        logger.exception("The memory hook failed; the step goes on with the context as it is.")


async def _keep(reme: "ReMe", agent: Any) -> None:
    memory = getattr(agent, "memory", None)
    toolkit = getattr(agent, "toolkit", None)
    if memory is None:
        return
    reme.warn_once(agent, builtin_compression(agent))
    if toolkit is not None and hasattr(toolkit, "register_middleware"):
        reme.tool_results.install(toolkit)
    tools = tools_in(toolkit, reme)
    step = Step(reme.tool_results, toolkit, _weakly(agent), _weakly(memory))
    current_step.set(step)
    current_tools.set(tools)
    head_room.set(None)
    system_prompt = str(getattr(agent, "sys_prompt", None) or "")
    coming: dict[str, Any] = {
        "system_prompt": system_prompt,
        "schemas": _schemas(toolkit),
        "beside": await _beside(agent),
    }
    coming["own"] = str(getattr(agent, "name", None) or "")
    if isinstance(memory, ReMeInMemoryMemory):
        if not reme.shares_vault(memory):
            reme.warn_once(agent, OTHER_VAULT)
            return
        current_window.set(memory.max_input_length)
        reme.adopt(memory)
        memory.name_tools(tools)
        keep: Callable[..., Any] = functools.partial(reme.compaction.keep_within_window, **coming)
        memory.last_step, newest = replace(step, again=keep), newest_of(memory)
        outcome = await keep(memory)
        memory.last_step = replace(step, again=keep, newest=newest)
        head_room.set(room_of_step(agent, memory))
        await keep_shown(memory, reme.config.retention_days)
        await announce(agent, outcome, reme.config, memory)
        return
    current_window.set(reme.config.max_input_length)
    outcome = await compact_foreign(reme, agent, memory, **coming)
    head_room.set(room_of_step(agent, reme.stand_in(memory)))
    await keep_shown(reme.stand_in(memory), reme.config.retention_days)
    await announce(agent, outcome, reme.config, reme.stand_in(memory))


def _weakly(one: Any) -> Callable[[], Any]:
    """A reference that keeps nothing alive, where there can be one."""
    try:
        return ref(one)
    except TypeError:
        return lambda: None


def _schemas(toolkit: Any) -> str:
    get: Callable[[], Any] | None = getattr(toolkit, "get_json_schemas", None)
    found = get() if get is not None else None
    return json.dumps(found, ensure_ascii=False, default=str) if found else ""


async def _beside(agent: Any) -> str:
    """Return what stands beside the messages of this step: the hint of the agent's plan notebook, which it adds after
    its hooks, and what a formatter for several speakers puts before a conversation.
    """
    heading = getattr(getattr(agent, "formatter", None), "conversation_history_prompt", "")
    parts = [f"{heading}<history></history>"] if heading and isinstance(heading, str) else []
    notebook = getattr(agent, "plan_notebook", None)
    try:
        if notebook is not None and (hint := await notebook.get_current_hint()) is not None:
            parts.append(text_of(hint))
    except Exception as error:  # the agent will say so itself, if it still does when it asks
        logger.info("The hint of a plan notebook could not be counted (%s).", error)
    return "\n".join(parts)


def builtin_compression(agent: Any) -> str | None:
    """Return what to say about an agent that also folds its messages by itself; None when it does not."""
    config = getattr(agent, "compression_config", None)
    if config is not None and getattr(config, "enable", False):
        return (
            "the agent's own compression_config is enabled as well; it folds messages with other rules before this "
            "hook runs. Set compression_config=None."
        )
    return None
