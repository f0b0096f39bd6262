"""Growing the vault from conversations and documents, now and in the background."""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .errors import ReMeError
from .loading import loaded
from .models import Response

if TYPE_CHECKING:
    from agentscope.message import Msg

    from .config import ReMeConfig
    from .index import Index
    from .memory.compaction import Left
    from .pipelines.agent import Planner
    from .pipelines.queue import Queue
    from .pipelines.worker import Handler, Worker
    from .vault import Vault

logger = logging.getLogger(__name__)


class Knowledge:
    """What lets a :class:`~agentscope_reme.ReMe` write what is worth keeping; a part of it, not used alone."""

    config: "ReMeConfig"
    _closed: bool
    _planner: "Planner | None" = None
    _queue: "Queue | None" = None
    _worker: "Worker | None" = None
    _nightly: "asyncio.Task[None] | None" = None

    if TYPE_CHECKING:
        chat_model: Any
        formatter: Any

        @property
        def vault(self) -> "Vault": ...
        @property
        def index(self) -> "Index": ...
        async def _read_documents(self, payload: Mapping[str, Any]) -> Response: ...
        async def _follow_documents(self) -> None: ...
        async def _take_up(self, payload: Mapping[str, Any]) -> Response: ...

    # --- parts ----------------------------------------------------------------------------------------------------

    @property
    def planner(self) -> "Planner | None":
        """Asks the chat model on behalf of the pipelines; None without a model."""
        if self.chat_model is None:
            return None
        if self._planner is None or self._planner.model is not self.chat_model:
            from .pipelines.agent import Planner

            self._planner = Planner(self.chat_model, self.formatter)
        self._planner.timeout = self.config.pipeline_timeout  # which may have been changed since
        return self._planner

    @property
    def queue(self) -> "Queue":
        """The work that is pending in this vault, and what was set aside."""
        if self._queue is None:
            from .pipelines.queue import Queue

            self._queue = Queue(self.vault)
        return self._queue

    @property
    def worker(self) -> "Worker":
        """Does what is pending, in the background."""
        if self._worker is None:
            from .pipelines.worker import Worker

            self._worker = Worker(self.queue, self._handlers())
        return self._worker

    def _handlers(self) -> "dict[str, Handler]":
        """What does which kind of pending work."""
        return {"auto_memory": self._remember, "auto_resource": self._read_documents, "recorded": self._take_up}

    # --- conversations become cards -------------------------------------------------------------------------------

    async def auto_memory(
        self, messages: "Sequence[Msg | Mapping[str, Any]]", session_id: str = "", date: str = "", memory_hint: str = ""
    ) -> Response:
        """Journal a conversation, and write what is worth keeping of it into the session's card of the day.

        With a chat model the card holds what the model found, checked against the messages; without one, or when it
        fails, the user's own statements, which a later call with a model improves. The same messages again change
        nothing, and the model is not asked again.

        Args:
            messages: AgentScope messages, or dictionaries with ``role`` and ``content``; their time from
                ``created_at``, ``time_created``, ``timestamp``, ``createdAt``, ``timeCreated`` or ``created_time``, at
                the top level or in ``metadata``.
            session_id: The conversation; without one its first message stands for it.
            date: Day of the card (``YYYY-MM-DD``); else that of the latest message, else today.
            memory_hint: What you would like to have noted, for the model.

        Returns:
            Without ``success`` when the model failed or nothing could be written. ``metadata``: ``path``, ``date``,
            ``created``, ``modified``, ``n_messages``, ``generator``, ``source_conversation``, ``index``, and more.
        """
        pipeline = await loaded("pipelines.auto_memory")
        response: Response = await pipeline.auto_memory(
            self.vault,
            messages,
            planner=self.planner,
            session_id=session_id,
            date=date,
            memory_hint=memory_hint,
            language=self.config.language,
        )
        return response

    async def summary_memory(self, messages: "Sequence[Msg]", session_id: str = "", **options: Any) -> str:
        """:meth:`auto_memory`, returning the path of the card; "" when nothing is worth one.

        Raises:
            ReMeError: The card could not be written.
        """
        response = await self.auto_memory(messages, session_id, **options)
        path = str(response.metadata.get("path") or "")
        if not response.success and not path:
            raise ReMeError(response.answer)
        return path

    # --- in the background ----------------------------------------------------------------------------------------

    def add_async_summary_task(
        self,
        messages: "Sequence[Msg | Mapping[str, Any]]",
        session_id: str = "",
        date: str = "",
        memory_hint: str = "",
        **_: Any,
    ) -> None:
        """Do :meth:`auto_memory` in the background, on the messages as they are now.

        When this returns they are in the journal and the work is queued, both on the disk: a process that ends before
        the card is written leaves it to the next one that starts.
        """
        from .pipelines.conversation import identity_of, journalled, plain_messages, snapshot

        taken = snapshot(messages)
        if not taken:
            return
        vault = self.vault

        def payload() -> dict[str, Any]:
            given = plain_messages(taken)
            identity = session_id or identity_of(given)
            journalled(vault, identity, given)
            ids = [message["id"] for message in given]
            return {"session_id": identity, "ids": ids, "date": date, "memory_hint": memory_hint}

        self.worker.add("auto_memory", payload)

    async def await_summary_tasks(self, timeout: float | None = None) -> str:  # noqa: ASYNC109 (the seeds' name)
        """Wait for background work; a line for each task that came to its end since the last call.

        What is not done in ``timeout`` seconds goes on. A task that failed is not waited for: it is tried again later.
        """
        return "\n".join(await self._worker.settled(timeout)) if self._worker is not None else ""

    def remember_later(self, session_id: str, ids: Sequence[str]) -> None:
        """Do :meth:`auto_memory` in the background, for messages that are in the session's journal, by their ids."""
        self.worker.add("auto_memory", lambda: {"session_id": session_id, "ids": list(ids)})

    def _left(self, left: "Left") -> None:
        if self.config.write_memory_on_compaction and not self._closed:
            self.remember_later(left.session_id, list(left.ids))

    async def _remember(self, payload: Mapping[str, Any]) -> Response:
        """Do a pending ``auto_memory``."""
        pipeline = await loaded("pipelines.auto_memory")
        response: Response = await pipeline.remember(
            self.vault,
            str(payload.get("session_id") or ""),
            [str(one) for one in payload.get("ids") or ()],
            planner=self.planner,
            date=str(payload.get("date") or ""),
            memory_hint=str(payload.get("memory_hint") or ""),
            language=self.config.language,
        )
        return response

    async def _begin_background(self) -> None:
        """Go on with what an earlier process left, and begin to count the days."""
        await loaded("pipelines.agent", "pipelines.queue", "pipelines.worker", "pipelines.schedule")
        try:
            if await asyncio.to_thread(self._take_over):
                self.worker.wake()
        except (ReMeError, OSError) as error:
            logger.warning("Pending work cannot be done (%s).", error)
        await self._follow_documents()
        if self.config.dream_at and self.chat_model is None:
            logger.warning("dream_at is set, but there is no chat model: nothing is dreamt at night.")
        elif self.config.dream_at and self._nightly is None:
            from .pipelines.schedule import Daily

            daily = Daily(self.vault, "auto_dream", self.config.dream_at, self.auto_dream)
            self._nightly = asyncio.get_running_loop().create_task(daily.forever(), name="agentscope-reme-nightly")

    def _take_over(self) -> bool:
        """Have done at once what an earlier process wanted to do a little later; whether there is anything to do."""
        pending = self.queue.pending()
        for task in pending:
            if task.not_before and not task.attempts:  # it waits for more to come, and not because it failed
                self.queue.hasten(task.id)
        return bool(pending)

    async def _end_background(self) -> None:
        """Wait for what is due within ``close_timeout`` seconds, then cancel; what is not done stays pending."""
        if self._nightly is not None:
            self._nightly.cancel()
            if self._nightly.get_loop() is asyncio.get_running_loop():
                await asyncio.gather(self._nightly, return_exceptions=True)
            self._nightly = None
        if self._worker is not None:
            await self._worker.stop(self.config.close_timeout)

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

        Needs a chat model: without one it fails, with a sentence, and only completes what an earlier run left.
        ``metadata["run_id"]`` is what :meth:`undo_run` takes back.
        """
        pipeline = await loaded("pipelines.auto_dream")
        response: Response = await pipeline.auto_dream(
            self.vault,
            self.index,
            planner=self.planner,
            date=date,
            scan_days=scan_days,
            max_units=max_units,
            topic_count=topic_count,
            topic_diversity_days=topic_diversity_days,
            hint=hint,
            language=self.config.language,
            proposals=self.config.dream_proposals,
        )
        return response

    async def undo_run(self, run_id: str = "") -> Response:
        """Take a whole dream back, by default the newest: every note it made or changed, and its topics."""
        pipeline = await loaded("pipelines.dream_undo")
        response: Response = await pipeline.undo_run(self.vault, run_id)
        return response

    async def proactive(self, date: str = "", include_content: bool = True) -> Response:
        """Return the topics that a dream wrote down for a day (default: today), and with them the file's text."""
        pipeline = await loaded("pipelines.proactive")
        response: Response = await pipeline.proactive(self.vault, date=date, include_content=include_content)
        return response
