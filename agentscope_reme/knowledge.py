"""Growing the vault from conversations and documents, now and in the background."""

import asyncio
import logging
from collections.abc import Coroutine, Sequence
from typing import TYPE_CHECKING, Any

from .models import Response

if TYPE_CHECKING:
    from agentscope.message import Msg

    from .config import ReMeConfig
    from .index import Index
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
        chat_model: Any
        formatter: Any

        @property
        def vault(self) -> "Vault": ...
        @property
        def index(self) -> "Index": ...

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

    # --- dreaming ---------------------------------------------------------------------------------------------------

    async def auto_dream(
        self,
        date: str = "",
        scan_days: int = 2,
        max_units: int = 5,
        topic_count: int = 3,
        topic_diversity_days: int = 7,
        hint: str = "",
    ) -> Response:
        """Integrate what daily notes hold into the long-term notes of ``digest/``, and write the topics of the day.

        Args:
            date: The day (``YYYY-MM-DD``); without one today, and what earlier days hold that no run has read.
            scan_days: How many days up to it are looked at first.
            max_units: Most units integrated in one run; the others wait for the next.
            topic_count: Most topics of the day in ``interests.yaml``.
            topic_diversity_days: Topics of that many days before are not repeated.
            hint: What to look for, in your words.

        Needs a chat model: without one it fails, with a sentence, and changes nothing. ``metadata["run_id"]`` is what
        :meth:`undo_run` takes back.
        """
        from .pipelines.agent import Planner
        from .pipelines.auto_dream import auto_dream

        return await auto_dream(
            self.vault,
            self.index,
            planner=Planner(self.chat_model, self.formatter) if self.chat_model is not None else None,
            date=date,
            scan_days=scan_days,
            max_units=max_units,
            topic_count=topic_count,
            topic_diversity_days=topic_diversity_days,
            hint=hint,
            language=self.config.language,
        )

    async def undo_run(self, run_id: str = "") -> Response:
        """Take a whole dream back, by default the newest: every note it made or changed, and its topics."""
        from .pipelines.dream_undo import undo_run

        return await undo_run(self.vault, run_id)

    async def proactive(self, date: str = "", include_content: bool = True) -> Response:
        """Return the topics that a dream wrote down for a day (default: today), and with them the file's text."""
        from .pipelines.proactive import proactive

        return await proactive(self.vault, date=date, include_content=include_content)

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
