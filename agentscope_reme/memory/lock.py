"""A lock for coroutines that outlives an event loop."""

import asyncio
from types import TracebackType
from weakref import WeakKeyDictionary


class LoopLock:
    """An ``asyncio.Lock`` for each event loop that uses it.

    A memory is used in one loop after the other when a program calls ``asyncio.run`` for every turn; a plain lock that
    was once waited for would refuse the second loop.
    """

    def __init__(self) -> None:
        self._locks: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = WeakKeyDictionary()

    def _here(self) -> asyncio.Lock:
        return self._locks.setdefault(asyncio.get_running_loop(), asyncio.Lock())

    async def __aenter__(self) -> None:
        await self._here().acquire()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._here().release()

    def locked(self) -> bool:
        """Say whether someone in this loop holds it."""
        return self._here().locked()
