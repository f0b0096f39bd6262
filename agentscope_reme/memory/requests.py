"""Requests before which no hook runs: while another reply of the same agent reasons, at ``max_iters``, for a query.

Since AgentScope 1.0.19 a reply leaves out its hooks while another reply of the same agent is in the hooked function. A
request is then made of the memory as it is, with calls of the other reply that have no result yet, and more than fits.
Only that the memory is asked for its messages says so; so it is looked at here who asks.
"""

import asyncio
import logging
from dataclasses import replace
from typing import TYPE_CHECKING

from .blocks import HINT
from .running import current_step

if TYPE_CHECKING:
    from .in_memory import ReMeInMemoryMemory

logger = logging.getLogger(__name__)


def is_for_a_request(memory: "ReMeInMemoryMemory") -> bool:
    """Say whether the agent whose step was the last asks for its messages, and not a tool or someone who looks on."""
    step = memory.last_step
    if step is None or step.results.running.here():
        return False
    agent, own = step.agent(), current_step.get()
    # The first of two replies that ends leaves AgentScope without a word on the other, but while that one reasons.
    if getattr(agent, "_hook_running_reasoning", False):
        return True
    return getattr(agent, "_reply_task", None) is not None and own is not None and own.memory() is memory


async def make_ready(memory: "ReMeInMemoryMemory") -> bool:
    """Make room where a request is made of more than the window holds; return whether one is made.

    What the hook has just looked at is left alone, whatever came of it. Never raises but for a cancellation.
    """
    if not is_for_a_request(memory):
        return False
    step = memory.last_step
    newest = newest_of(memory)
    if step is None or step.again is None or step.newest == newest:
        return True
    try:
        used = memory.fixed_tokens + await memory.summary_tokens() + await memory.message_tokens()
        if used > memory.max_input_length:
            await step.again(memory)
            memory.last_step = replace(memory.last_step or step, newest=newest)
    except asyncio.CancelledError:
        raise
    except Exception:
        logger.exception("No room could be made for a request; it is made with the context as it is.")
    return True


def newest_of(memory: "ReMeInMemoryMemory") -> str:
    """Return the id of the newest message; AgentScope's hints come and go."""
    return next((str(message.id) for message, marks in reversed(memory.content) if HINT not in marks), "")
