"""Room for what AgentScope sends after the last step of a reply, where no hook runs.

When a reply reaches ``max_iters``, AgentScope asks the model once more to sum up, with all that the tools of the last
step have just added. So the results of that step share what is left of the window, whole as long as they fit; the rest
of each is in its file, as with every long result.
"""

from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from .blocks import calls_of

if TYPE_CHECKING:
    from .in_memory import ReMeInMemoryMemory

# For the request to sum up, and what a provider adds.
KEPT_FREE = 0.05
# What a result has at least: its notice, its id and name, and the frame of its message.
NOTICE_TOKENS = 120


class HeadRoom:
    """What is left of a window, in tokens, shared by the calls of one step, also of parallel ones.

    Args:
        memory: The memory of the agent whose step it is.
    """

    def __init__(self, memory: "ReMeInMemoryMemory") -> None:
        self._memory = memory
        self.left: int | None = None
        self._taken: dict[str, int] = {}

    async def open(self) -> None:
        """Measure what is left, once: the memory has the calls by now, and each will have a notice at least."""
        if self.left is not None:
            return
        memory = self._memory
        used = memory.fixed_tokens + await memory.summary_tokens() + await memory.message_tokens()
        calls = sum(1 for _ in calls_of(memory.content[-1][0])) if memory.content else 0
        left = int(memory.max_input_length * (1 - KEPT_FREE)) - used - calls * NOTICE_TOKENS
        if self.left is None:  # a parallel call may have been here meanwhile
            self.left = max(0, left)

    def grant(self, call: str, tokens: int) -> int:
        """Return how many of ``tokens`` a call's result may have; asked again, its earlier share counts."""
        held = self._taken.get(call, 0)
        granted = max(held, min(tokens, held + (self.left or 0)))
        self.left = (self.left or 0) - (granted - held)
        self._taken[call] = granted
        return min(tokens, granted)


# That of the step that is running; None where another step follows, which looks after itself.
head_room: ContextVar[HeadRoom | None] = ContextVar("agentscope_reme_headroom", default=None)


def room_of_step(agent: Any, memory: "ReMeInMemoryMemory") -> HeadRoom | None:
    """Count a step of ``agent``; return the head room of its tools if it is the last one of the reply."""
    turn = memory.ledger.turn
    steps = memory.steps[1] + 1 if memory.steps[0] == turn else 1
    memory.steps = (turn, steps)
    most = getattr(agent, "max_iters", None)
    if not isinstance(most, int) or steps < most:
        return None
    return HeadRoom(memory)
