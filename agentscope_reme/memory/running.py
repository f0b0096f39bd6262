"""Whose step is running: for the middleware of a toolkit, which is not told whose call it wraps."""

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from .headroom import head_room
from .vault_tools import current_tools


@dataclass(frozen=True)
class Step:
    """A reasoning step of an agent: who bounds its tool results, and the toolkit it has."""

    results: Any
    toolkit: Any


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
