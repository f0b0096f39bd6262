"""Asking AgentScope's own token counters, which may be slow, blocking, on a network, or wrong."""

import asyncio
import inspect
import logging
import math
import threading
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from agentscope.token import TokenCounterBase

logger = logging.getLogger(__name__)

T = TypeVar("T")

# Seconds that a turn waits for one count, and for which a counter is left alone after it took longer than a count may
# take and gave none: a hundred messages would otherwise wait one after the other.
LONGEST_ANSWER = 10.0
SLOW_FAILURE = 1.0
PAUSE = 300.0

# Counters of AgentScope whose ``count`` is a coroutine function that waits for nothing: it computes, or asks a network
# by a blocking call. They belong to no event loop, so they are asked beside it.
_BLOCKING = ("OpenAITokenCounter", "GeminiTokenCounter", "HuggingFaceTokenCounter")


class FrameworkCounter:
    """Asks an AgentScope ``TokenCounterBase``, or what counts likewise, for the tokens of one text at a time.

    Args:
        counter: The counter; ``count`` may be a coroutine function or a plain one. What has a ``count_text``, or can be
            called itself, is given the text.
    """

    def __init__(self, counter: "TokenCounterBase | Callable[[str], Any]") -> None:
        self.counter: Any = counter
        self._by_text: Any = getattr(counter, "count_text", None)
        if self._by_text is None and not hasattr(counter, "count") and callable(counter):
            self._by_text = counter
        self.name = getattr(counter, "__name__", None) or type(counter).__name__
        self._paused_until = -math.inf

    async def count(self, text: str) -> Any:
        """Return what the counter answers about a user message with this text, whatever it is.

        Raises:
            Exception: The counter's own, ``TimeoutError`` after ten seconds, or what it failed with when it is paused.
        """
        if monotonic() < self._paused_until:
            raise TimeoutError("it is left alone for some minutes, after it failed slowly")
        began = monotonic()
        try:
            async with asyncio.timeout(LONGEST_ANSWER):
                return await self._asked(text)
        except Exception:
            if monotonic() - began > SLOW_FAILURE:
                self._paused_until = monotonic() + PAUSE
            raise

    async def _asked(self, text: str) -> Any:
        counter = self.counter
        if self._by_text is not None:
            answer = self._by_text(text)
            return await answer if inspect.isawaitable(answer) else answer
        if any(one.__name__ in _BLOCKING for one in type(counter).__mro__):
            return await asyncio.wrap_future(started(lambda: _run(counter, self._message(text))))
        answer = counter.count(self._message(text))
        return await answer if inspect.isawaitable(answer) else answer

    def _message(self, text: str) -> list[dict[str, Any]]:
        if self.name == "GeminiTokenCounter":
            return [{"role": "user", "parts": [{"text": text}]}]
        return [{"role": "user", "content": text}]


def _run(counter: Any, messages: list[dict[str, Any]]) -> Any:
    """Ask a counter in a thread of its own, where nothing else waits."""
    # `return_dict=False` keeps transformers 5 from answering with an object that has no length for slow tokenizers.
    options = {"return_dict": False} if "HuggingFace" in type(counter).__name__ else {}
    answer = counter.count(messages, **options)

    async def waited() -> Any:
        return await answer

    return asyncio.run(waited()) if inspect.isawaitable(answer) else answer


def started(work: Callable[[], T]) -> "Future[T]":
    """Run ``work`` in a thread that nobody has to wait for, not even the end of the program; return its future."""
    future: Future[T] = Future()

    def run() -> None:
        try:
            result = work()
        except BaseException as error:
            with suppress(InvalidStateError):  # whoever waited was cancelled
                future.set_exception(error)
        else:
            with suppress(InvalidStateError):
                future.set_result(result)

    threading.Thread(target=run, name="agentscope-reme-count", daemon=True).start()
    return future
