"""What is running: whose step, for the middleware of a toolkit, which is not told whose call it wraps; which calls."""

import asyncio
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any
from weakref import ref

from .headroom import head_room
from .vault_tools import current_tools


@dataclass(frozen=True)
class Step:
    """A reasoning step: who bounds the agent's tool results, and the toolkit it has; the agent and its memory.

    ``newest`` is the id of the newest message that the hook looked at, ``again`` does to a memory what the hook did.
    """

    results: Any
    toolkit: Any
    agent: Callable[[], Any] = lambda: None
    memory: Callable[[], Any] = lambda: None
    newest: str = ""
    again: Callable[[Any], Awaitable[Any]] | None = None


current_step: ContextVar[Step | None] = ContextVar("agentscope_reme_step", default=None)
# The window of the agent whose step it is.
current_window: ContextVar[int | None] = ContextVar("agentscope_reme_window", default=None)


def restoring() -> Callable[[], None]:
    """Return what makes the step that is running now the running one again, after a tool has run other agents."""
    variables: tuple[ContextVar[Any], ...] = (current_step, current_window, current_tools, head_room)
    held = [(variable, variable.get()) for variable in variables]

    def restore() -> None:
        for variable, value in held:
            variable.set(value)

    return restore


class RunningCalls:
    """The calls of tools whose results are still to come.

    Other agents, other replies of one agent may fold the same memory meanwhile. A call is no longer running when the
    task that made it is over, however it ended.
    """

    def __init__(self) -> None:
        self._calls: dict[object, tuple[str, ref[asyncio.Task[Any]]]] = {}

    def begin(self, call: Any) -> object:
        """Note that the current task makes the call with this id; return what :meth:`end` is to be given."""
        held = object()
        if (task := asyncio.current_task()) is not None:
            self._calls[held] = str(call), ref(task)
        return held

    def end(self, held: object) -> None:
        """Note that a call has its result, or will get none."""
        self._calls.pop(held, None)

    def here(self) -> bool:
        """Say whether the current task is one that makes a call: whoever asks is a tool, or beside one."""
        current = asyncio.current_task()
        return any(task() is current for _, task in self._calls.values())

    def ids(self) -> set[str]:
        """Return the ids of the calls that are running now."""
        for held, (_, task) in list(self._calls.items()):
            if (made := task()) is None or made.done():
                self.end(held)
        return {name for name, _ in self._calls.values()}
