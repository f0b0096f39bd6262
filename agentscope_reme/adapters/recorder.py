"""Recording conversations: each message is journalled once, and cards are written of several turns together."""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from ..loading import loaded
from ..memory.lock import LoopLock
from ..vault.files import finish
from .recalling import is_injected

if TYPE_CHECKING:
    from agentscope.message import Msg

    from ..memory.in_memory import ReMeInMemoryMemory
    from ..reme import ReMe

logger = logging.getLogger(__name__)

KIND = "recorded"
"""Kind of the queue's tasks for batches whose turns are not all there yet."""

# Sessions whose recent messages are known by id; of others the journal knows them.
_MOST_SESSIONS = 256


class Recorder:
    """Takes what was said in the sessions of one :class:`~agentscope_reme.ReMe`.

    Messages are in the journal when :meth:`record` returns. Every ``record_turns`` turns of a session, ``record_idle``
    seconds after the first of them, and when it is flushed, what is new goes to ``auto_memory`` in the background. That
    it has to is on the disk as well: what a process leaves, the next one does.

    Args:
        reme: Whose vault is written to.
    """

    def __init__(self, reme: "ReMe") -> None:
        self._reme = reme
        self._sessions: OrderedDict[str, _Session] = OrderedDict()
        self._lock = LoopLock()
        self._followed: WeakSet[ReMeInMemoryMemory] = WeakSet()

    def __deepcopy__(self, memo: dict[int, Any]) -> "Recorder":
        return self

    async def follow(self, memory: "ReMeInMemoryMemory") -> int:
        """Record what is new in a working memory, now and when this is flushed: a turn may have been interrupted."""
        self._followed.add(memory)
        entries = list(memory.content)
        marks = [marks for _, marks in entries]
        return await self.record(memory.session_id, [message for message, _ in entries], marks)

    async def record(
        self, session_id: str, messages: "Iterable[Msg]", marks: "Iterable[Sequence[str]] | None" = None
    ) -> int:
        """Journal the messages that are new, and return how many these are; injected text is no part of them.

        Args:
            session_id: Names the journal.
            messages: A conversation, or its end; those recorded already cost a look-up.
            marks: Those of each message.

        Raises:
            ReMeError: The journal cannot be written; the same messages are new the next time.
        """
        await loaded("vault.notes", "pipelines.worker")
        from ..vault.dialog import JournalRecord

        async with self._lock:
            listed = list(messages)
            held = list(marks) if marks is not None else [()] * len(listed)
            session = await self._session(session_id, [message.id for message in listed])
            fresh = [
                (message, mark)
                for message, mark in zip(listed, held, strict=True)
                if message.id not in session.known and not is_injected(message, mark)
            ]
            if not fresh:
                return 0
            records = [JournalRecord(message.to_dict(), tuple(mark)) for message, mark in fresh]
            await self._begin_batch(session_id, session)  # first: a process that ends in between leaves work too much
            await self._reme.vault.journal(session_id).add(records)
            session.learn([message.id for message, _ in fresh], self._reme.config.tombstones)
            session.turns += 1
            await self._begin_batch(session_id, session, len(records))  # the last one may have been done meanwhile
        if session.turns >= self._reme.config.record_turns:
            await self.hand_on(session_id)
        return len(fresh)

    async def _begin_batch(self, session_id: str, session: "_Session", back: int = 0) -> None:
        """Have the queue see to what is journalled from now on, and to the last ``back`` lines, if nothing does yet."""
        if session.task:
            return

        def add() -> str:
            last = self._reme.vault.journal(session_id).tail(1)
            since = (last[0].seq if last else 0) + 1 - back
            return self._reme.queue.add(
                KIND, {"session_id": session_id, "since": since}, wait=self._reme.config.record_idle
            )

        session.task = await finish(add)
        self._reme.worker.wake()

    async def hand_on(self, session_id: str) -> None:
        """Give what is new in a session to the background now."""
        session = self._sessions.get(session_id)
        if session is None or not session.waiting:
            return
        ids, task = session.handed_on()
        if await finish(self._reme.queue.hasten, task):
            self._reme.worker.wake()
        else:
            self._reme.remember_later(session_id, ids)

    async def take_up(self, payload: Mapping[str, Any]) -> list[str]:
        """The messages that a task is about, by id: those of its session since its batch began."""
        session_id, since = str(payload.get("session_id") or ""), payload.get("since")
        begin = since if isinstance(since, int) else 0
        if session_id in self._sessions:
            self._sessions[session_id].handed_on()  # first: what comes meanwhile has a task of its own
        journal = self._reme.vault.journal(session_id)
        return await asyncio.to_thread(lambda: [line.id for line in journal.lines() if line.seq >= begin])

    async def flush(self) -> None:
        """Give everything that is new to the background. Never raises."""
        for memory in list(self._followed):
            try:
                await self.follow(memory)
            except Exception as error:
                logger.warning("The end of session %s could not be recorded (%s).", memory.session_id, error)
        for session_id in list(self._sessions):
            await self._hand_on(session_id)

    async def _hand_on(self, session_id: str) -> None:
        try:
            await self.hand_on(session_id)
        except asyncio.CancelledError:
            raise
        except Exception as error:
            logger.warning("Session %s is recorded, but has no card yet (%s).", session_id, error)

    async def _session(self, session_id: str, ids: Sequence[str]) -> "_Session":
        session = self._sessions.get(session_id)
        if session is None:
            session = _Session()
            # What an earlier process recorded, of a conversation that was loaded.
            journal = self._reme.vault.journal(session_id)
            for line in await asyncio.to_thread(journal.find, ids):
                session.known[line.id] = None
            self._sessions[session_id] = session
        self._sessions.move_to_end(session_id)
        while len(self._sessions) > _MOST_SESSIONS and not next(iter(self._sessions.values())).waiting:
            self._sessions.popitem(last=False)
        return session


class _Session:
    """What is known of one session: ids of recorded messages, and which of them no card tells of yet."""

    def __init__(self) -> None:
        self.known: OrderedDict[str, None] = OrderedDict()
        self.waiting: dict[str, None] = {}
        self.turns = 0
        self.task = ""  # of the queue: it sees to the batch when this process does not

    def learn(self, ids: Sequence[str], most: int) -> None:
        for one in ids:
            self.known[one] = None
            self.waiting[one] = None
        while len(self.known) > max(most, len(self.waiting)):
            self.known.popitem(last=False)

    def handed_on(self) -> tuple[list[str], str]:
        """Begin a new batch; the ids of the last one, and its task."""
        ids, task = list(self.waiting), self.task
        self.waiting, self.turns, self.task = {}, 0, ""
        return ids, task
