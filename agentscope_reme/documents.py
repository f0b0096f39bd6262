"""Documents in ``resource/`` and the cards made of them: asked for, and by themselves when one is put there."""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .errors import ReMeError
from .loading import loaded
from .models import Response

if TYPE_CHECKING:
    from .config import ReMeConfig
    from .index.watch import Watcher
    from .pipelines.agent import Planner
    from .pipelines.queue import Queue
    from .pipelines.worker import Worker
    from .vault import Vault

logger = logging.getLogger(__name__)

_KIND = "auto_resource"


class Documents:
    """What lets a :class:`~agentscope_reme.ReMe` read documents; a part of it, not used alone."""

    config: "ReMeConfig"
    _closed: bool
    _unfollow: "Callable[[], None] | None" = None
    _loop: "asyncio.AbstractEventLoop | None" = None

    if TYPE_CHECKING:

        @property
        def vault(self) -> "Vault": ...
        @property
        def watcher(self) -> "Watcher": ...
        @property
        def planner(self) -> "Planner | None": ...
        @property
        def queue(self) -> "Queue": ...
        @property
        def worker(self) -> "Worker": ...

    async def auto_resource(self, changes: "Sequence[Any] | None" = None) -> Response:
        """Bring the cards of documents in ``resource/`` up to date; what fails for a time is tried again later.

        Once started, this happens by itself when a document is put there, changed or taken out.

        Args:
            changes: Paths in the vault, ``{"path": …, "change": "added" | "modified" | "deleted"}`` or ``(change,
                path)``; None takes all that have changed since they were read.

        Returns:
            Without ``success`` when one of them failed; the others are done. ``metadata``: ``results``, and the paths
            by ``created``, ``modified``, ``removed``, ``unchanged``, ``skipped``, ``failed``.
        """
        pipeline = await loaded("pipelines.auto_resource")
        vault = self.vault
        asked = await asyncio.to_thread(pipeline.unread, vault) if changes is None else changes
        response: Response = await pipeline.auto_resource(
            vault, asked, planner=self.planner, language=self.config.language
        )
        if response.metadata.get("retry"):
            await asyncio.to_thread(self._queue_documents, 30.0)
            self.worker.wake()
        return response

    async def _read_documents(self, payload: Mapping[str, Any]) -> Response:
        """Do a pending ``auto_resource``: all that is unread by now."""
        pipeline = await loaded("pipelines.auto_resource")
        changes = await asyncio.to_thread(pipeline.unread, self.vault)
        response: Response = await pipeline.auto_resource(
            self.vault, changes, planner=self.planner, language=self.config.language
        )
        return response

    async def _follow_documents(self) -> None:
        """Read what has changed while no process was there, and from now on what the watcher tells of."""
        if not self.config.read_resources:
            return
        self._loop = asyncio.get_running_loop()  # that of the last start: loops end
        if self._unfollow is not None:
            return
        pipeline = await loaded("pipelines.auto_resource")
        try:
            await asyncio.to_thread(pipeline.take_as_read, self.vault)
        except (ReMeError, OSError) as error:
            logger.warning("Documents are not read by themselves (%s).", error)
            return
        self._unfollow = self.watcher.subscribe(self._documents_changed)
        self.vault.subscribe(
            lambda path, kind: self._documents_changed(frozenset((path,)))
        )  # what ``ingest`` puts there
        try:
            waiting = await asyncio.to_thread(pipeline.unread, self.vault)
            if waiting:
                await asyncio.to_thread(self._queue_documents)
                self.worker.wake()
        except (ReMeError, OSError) as error:
            logger.warning("Documents cannot be read (%s).", error)

    def _documents_changed(self, paths: frozenset[str]) -> None:
        """Told by the watcher in its thread, or by the vault in that of a writer."""
        from .vault.layout import RESOURCE

        if self._closed or not any(path.startswith(f"{RESOURCE}/") for path in paths):
            return
        self._queue_documents()
        if self._loop is not None and not self._loop.is_closed():
            try:
                self._loop.call_soon_threadsafe(self.worker.wake)
            except RuntimeError:
                logger.debug("The event loop ended; the documents are read by the next one.")

    def _queue_documents(self, wait: float = 0.0) -> None:
        """Have documents read; a task that waits for its turn already will see these as well."""
        if not any(task.attempts == 0 for task in self.queue.pending(_KIND)):
            self.queue.add(_KIND, {}, wait=wait)
