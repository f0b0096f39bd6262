"""The worker: takes pending work from the queue and does it in the background of an event loop.

One task at a time, and one worker a vault, also across processes: whoever has the turn does what is due, whoever put it
there; the others look again a little later. A failed task is tried again when its time has come, as long as the loop
runs, or by the next process.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYet
from concurrent.futures import wait as wait_for_futures
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from weakref import WeakKeyDictionary

from ..errors import ReMeError
from ..models import Response
from ..vault.files import finish
from .queue import Queue, Task

logger = logging.getLogger(__name__)

Handler = Callable[[Mapping[str, Any]], Awaitable[Response]]
"""Does a task, given its payload. A response without success that says ``retry`` in its metadata, or anything raised,
is a failed attempt; any other response ends the task."""

POLL_SECONDS = 0.2
"""Between two looks while another process has the turn."""

PROMPT_SECONDS = 0.04
"""How long :meth:`Worker.add` holds its caller for the disk; what takes longer is finished in a thread."""

LONGEST_SLEEP = 60.0
"""Between two looks for work that waits for its time; computers sleep, and clocks are set."""

_MOST_LINES = 1_000


@dataclass(slots=True, eq=False)
class _Shift:
    """The work in one event loop. ``quiet`` is set when nothing is due, ``elsewhere`` when somebody else is at it."""

    task: "asyncio.Task[None] | None" = None
    quiet: asyncio.Event = field(default_factory=asyncio.Event)
    elsewhere: asyncio.Event = field(default_factory=asyncio.Event)
    wake: asyncio.Event = field(default_factory=asyncio.Event)


class Worker:
    """Does what is pending in a vault. Making one starts nothing.

    Args:
        queue: The pending work.
        handlers: What does it, by kind. Tasks of other kinds are left alone.
    """

    def __init__(self, queue: Queue, handlers: Mapping[str, Handler]) -> None:
        self.queue = queue
        self._handlers = dict(handlers)
        self._shifts: WeakKeyDictionary[asyncio.AbstractEventLoop, _Shift] = WeakKeyDictionary()
        self._lines: deque[str] = deque(maxlen=_MOST_LINES)
        self._writer: ThreadPoolExecutor | None = None
        self._adding: set[Future[str]] = set()

    # --- putting work there ---------------------------------------------------------------------------------------

    def add(self, kind: str, payload: Callable[[], Mapping[str, Any]]) -> None:
        """Queue a task and start on it; ``payload`` is called in a thread and may write files first.

        The task is on the disk when this returns, unless the disk takes longer than PROMPT_SECONDS: an event loop must
        not be held. It is then finished in a thread, which also the end of the process waits for.
        """
        _load()
        if self._writer is None:
            self._writer = ThreadPoolExecutor(1, thread_name_prefix="agentscope-reme-queue")
        adding = self._writer.submit(lambda: self.queue.add(kind, payload()))
        self._adding.add(adding)
        try:
            loop: asyncio.AbstractEventLoop | None = asyncio.get_running_loop()
        except RuntimeError:
            loop = None
        adding.add_done_callback(lambda done: self._added(done, kind))
        try:
            adding.exception(PROMPT_SECONDS)
        except NotYet:
            if loop is not None:
                here = loop
                adding.add_done_callback(lambda _: _call(here, self.wake))
        else:
            if loop is not None:
                self.wake()

    def _added(self, done: "Future[str]", kind: str) -> None:
        self._adding.discard(done)
        if error := done.exception():
            self._lines.append(f"failed: {error}")
            logger.warning("Background work could not be queued (%s): %s", kind, error)

    # --- doing it -------------------------------------------------------------------------------------------------

    def wake(self) -> None:
        """Look for work in the running event loop, now."""
        loop = asyncio.get_running_loop()
        shift = self._shifts.setdefault(loop, _Shift())
        shift.quiet.clear()
        shift.wake.set()
        if shift.task is None or shift.task.done():
            shift.task = loop.create_task(self._work(shift), name="agentscope-reme-worker")
            shift.task.add_done_callback(lambda task: self._ended(task, shift))

    async def settled(self, timeout: float | None = None) -> list[str]:  # noqa: ASYNC109 (the seeds' name)
        """Begin what is due and wait until nothing is, at most ``timeout`` seconds; a line for each task that ended.

        What is not done goes on, with a line that says so.
        """
        try:
            async with asyncio.timeout(timeout):
                await self._rest()
        except TimeoutError:
            waiting = ["still running"] * max(1, len(await asyncio.to_thread(self._due)))
        else:
            waiting = []
        lines = [*self._lines, *waiting]
        self._lines.clear()
        return lines

    async def stop(self, patience: float = 0.0) -> None:
        """Wait ``patience`` seconds for what is due, then cancel it and wait for that; its tasks stay pending.

        What another process does is not waited for. What is being queued is finished first.
        """
        with suppress(TimeoutError):
            async with asyncio.timeout(patience):
                await self._rest(or_elsewhere=True)
        shift = self._shifts.pop(asyncio.get_running_loop(), None)
        for loop, other in list(self._shifts.items()):
            if other.task is not None:
                _call(loop, other.task.cancel)
        if self._writer is not None:
            await asyncio.to_thread(self._writer.shutdown)
            self._writer = None
        if shift is not None and shift.task is not None:
            shift.task.cancel()
            await asyncio.gather(shift.task, return_exceptions=True)

    async def _rest(self, *, or_elsewhere: bool = False) -> None:
        """Wait until nothing is due, or somebody else is at it; what lies there from before is begun."""
        if self._adding:
            await asyncio.to_thread(wait_for_futures, list(self._adding))
        self.wake()
        shift = self._shifts[asyncio.get_running_loop()]
        events = [shift.quiet, shift.elsewhere] if or_elsewhere else [shift.quiet]
        waits = [asyncio.ensure_future(event.wait()) for event in events]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for one in waits:
                one.cancel()

    async def _work(self, shift: _Shift) -> None:
        while True:
            shift.wake.clear()
            due = await asyncio.to_thread(self._due)
            if due:
                if await self._take_turn(due):
                    shift.elsewhere.clear()
                else:
                    shift.elsewhere.set()
                    await asyncio.sleep(POLL_SECONDS)
                continue
            wait = await asyncio.to_thread(self._next)
            if shift.wake.is_set():
                continue
            shift.quiet.set()
            if wait is None:
                return
            try:
                async with asyncio.timeout(min(wait, LONGEST_SLEEP)):
                    await shift.wake.wait()
            except TimeoutError:
                shift.quiet.clear()

    async def _take_turn(self, due: list[Task]) -> bool:
        """Do the first task that is due; False when somebody else is working."""
        turn = self.queue.turn()
        try:
            if not await finish(turn.__enter__):
                return False
            await self._do(due[0])
            return True
        finally:
            turn.__exit__(None, None, None)

    async def _do(self, task: Task) -> None:
        begun: Task | None = await finish(self.queue.begin, task.id)
        if begun is None:
            return
        try:
            response = await self._handlers[begun.kind](begun.payload)
        except asyncio.CancelledError:
            await finish(self.queue.release, task.id)
            raise
        except Exception as error:
            expected = isinstance(error, ReMeError | OSError)
            logger.warning("Background work failed (%s): %r", begun.kind, error, exc_info=not expected)
            await self._failed(task, str(error) or repr(error))
            return
        if response.success or not response.metadata.get("retry"):
            await finish(self.queue.done, task.id)
            self._lines.append(response.answer or "done")
        else:
            await self._failed(task, response.answer)

    async def _failed(self, task: Task, error: str) -> None:
        now: Task | None = await finish(self.queue.failed, task.id, error)
        again = f"tried again after {now.not_before}" if now and now.attempts < self.queue.attempts else "set aside"
        self._lines.append(f"failed: {error} ({again})")

    def _due(self) -> list[Task]:
        return [task for task in self.queue.due() if task.kind in self._handlers]

    def _next(self) -> float | None:
        """Seconds until a task that waits may be begun; None when there is none."""
        now = self.queue.now()
        times = [
            datetime.fromisoformat(task.not_before) for task in self.queue.pending() if self._is_waiting(task, now)
        ]
        return max(0.05, (min(times) - now).total_seconds()) if times else None

    def _is_waiting(self, task: Task, now: datetime) -> bool:
        return task.kind in self._handlers and not task.is_due(now)

    def _ended(self, task: "asyncio.Task[None]", shift: _Shift) -> None:
        shift.quiet.set()
        if not task.cancelled() and (error := task.exception()):
            # The vault cannot be read or written: there is nothing to be done before somebody adds or starts again.
            self._lines.append(f"failed: {error}")
            logger.warning("Background work stopped (%s); what is pending is done later.", error)


def _load() -> None:
    """Import what writing a task needs, once: in the thread it would be counted as slowness of the disk."""
    import filelock  # noqa: F401

    from . import conversation  # noqa: F401


def _call(loop: asyncio.AbstractEventLoop, function: Callable[[], Any]) -> None:
    """Call a function in a loop, if it still runs."""
    try:
        loop.call_soon_threadsafe(function)
    except RuntimeError:
        logger.debug("an event loop ended before it heard of new work; the next one finds it")
