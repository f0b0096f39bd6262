"""The one thread on which an index answers.

Whatever is asked waits for the index's lock anyway. Each further thread costs memory, as the allocator gives it a heap
of its own and keeps there what a search has let go, and finds nothing of the last search in its processor's cache.
"""

import asyncio
import contextvars
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, TypeVar

T = TypeVar("T")


class OwnThread:
    """Runs one thing after the other, for any number of event loops; the thread begins with the first of them.

    It ends when the last reference to this goes, at the latest with the interpreter, which waits for what is running.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._closed = False
        self._start()

    def _start(self) -> None:
        self._process = os.getpid()
        self._executor = ThreadPoolExecutor(1, thread_name_prefix=self._name)

    async def run(self, work: Callable[..., T], *arguments: object) -> T:
        """What ``work(*arguments)`` returns or raises, in the context of the caller.

        Whoever is cancelled leaves at once: what has not begun does not begin, what is running ends unheard. Who asks
        when it is closed is answered all the same, by another thread.
        """
        if not self._closed:
            if self._process != os.getpid():
                self._start()  # a fork has the object and not the thread
            outcome = asyncio.get_running_loop().create_future()
            try:
                self._executor.submit(_tell, outcome, contextvars.copy_context(), work, arguments)
            except RuntimeError:
                if not self._closed:
                    raise
            else:
                return await _heard(outcome)
        return await asyncio.to_thread(work, *arguments)  # closed while somebody waited for the files, or this moment

    def close(self) -> None:
        """Let the thread end when what it was given is done. Safe to call twice."""
        self._closed = True
        self._executor.shutdown(wait=False)


def _tell(
    outcome: "asyncio.Future[Any]",
    context: contextvars.Context,
    work: Callable[..., Any],
    arguments: tuple[object, ...],
) -> None:
    """Do what was asked for, and give it to the event loop at once, without the executor's own future between them."""
    if outcome.cancelled():
        return
    try:
        found: tuple[Any, BaseException | None] = context.run(work, *arguments), None
    except BaseException as error:
        found = None, error
    with suppress(RuntimeError):  # an event loop that has ended meanwhile: nobody listens
        outcome.get_loop().call_soon_threadsafe(_settle, outcome, found)


def _settle(outcome: "asyncio.Future[Any]", found: tuple[Any, BaseException | None]) -> None:
    if not outcome.done():
        outcome.set_result(found)


async def _heard(outcome: "asyncio.Future[Any]") -> Any:
    answer, error = await outcome
    if error is None:
        return answer
    try:
        raise error
    finally:
        del error, outcome  # else the error would hold this frame, and this frame the error
