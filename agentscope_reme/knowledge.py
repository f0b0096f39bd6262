"""Growing the vault from conversations and documents, now and in the background."""

import asyncio
import logging
from collections.abc import Coroutine, Sequence
from typing import TYPE_CHECKING, Any

from .models import Response

if TYPE_CHECKING:
    from agentscope.message import Msg

    from .config import ReMeConfig
    from .memory.compaction import Left
    from .memory.lock import LoopLock
    from .vault import Vault

logger = logging.getLogger(__name__)


class Knowledge:
    """What lets a :class:`~agentscope_reme.ReMe` write what is worth keeping; a part of it, not used alone."""

    config: "ReMeConfig"
    _tasks: "set[asyncio.Task[Any]]"
    _writing: "LoopLock"
    _closed: bool

    if TYPE_CHECKING:

        @property
        def vault(self) -> "Vault": ...

    # --- what left a context --------------------------------------------------------------------------------------

    def _left(self, left: "Left") -> None:
        if self.config.write_memory_on_compaction and not self._closed:
            self._background(self._write_card(left.messages, left.session_id))

    async def _write_card(self, messages: Sequence[dict[str, Any]], session_id: str) -> Response:
        from .pipelines.auto_memory import write_extractive_card

        async with self._writing:
            return await write_extractive_card(
                self.vault, messages, session_id=session_id, language=self.config.language
            )

    # --- summaries in the background ------------------------------------------------------------------------------

    async def summary_memory(self, messages: "Sequence[Msg]", session_id: str = "") -> str:
        """Write what is worth keeping of these messages into the day's card; return its path, "" when nothing is."""
        response = await self._write_card([_plain(message) for message in messages], session_id)
        return str(response.metadata.get("path") or "") if response.success else ""

    def add_async_summary_task(self, messages: "Sequence[Msg]", session_id: str = "", **_: Any) -> None:
        """Do :meth:`summary_memory` in the background, on a copy of the messages as they are now."""
        self._background(self._write_card([_plain(message) for message in messages], session_id))

    async def await_summary_tasks(self, timeout: float | None = None) -> str:  # noqa: ASYNC109 (the seeds' name)
        """Wait for background summaries; return one line for each. What is not done in ``timeout`` seconds goes on."""
        tasks = self._tasks_here()
        if not tasks:
            return ""
        done, waiting = await asyncio.wait(tasks, timeout=timeout)
        lines = []
        for task in done:
            error = task.exception() if not task.cancelled() else None
            result = None if task.cancelled() or error else task.result()
            lines.append(f"failed: {error}" if error else str(getattr(result, "answer", "") or "done"))
        return "\n".join([*lines, *(["still running"] * len(waiting))])

    def _tasks_here(self) -> "list[asyncio.Task[Any]]":
        """The tasks of the running loop; those of a loop that is gone will not end any more."""
        loop = asyncio.get_running_loop()
        return [task for task in self._tasks if task.get_loop() is loop]

    def _background(self, work: "Coroutine[Any, Any, Any]") -> None:
        task = asyncio.get_running_loop().create_task(work, name="agentscope-reme-card")
        self._tasks.add(task)
        task.add_done_callback(self._finished)

    def _finished(self, task: "asyncio.Task[Any]") -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()):
            logger.warning("A card could not be written (%s); the messages are in the journal.", error)


def _plain(message: "Msg") -> dict[str, Any]:
    from copy import deepcopy

    return {**deepcopy(message.to_dict()), "marks": []}
