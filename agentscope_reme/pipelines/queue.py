"""A small durable queue of work for the pipelines: one file for each task, in ``history/pending/``.

A task is on the disk when :meth:`Queue.add` returns and stays there until somebody says that it is done, so what a
process leaves unfinished is found by the next one. Whoever works holds :meth:`Queue.turn`: one worker a vault, across
processes. Methods block briefly; in a coroutine use a thread.
"""

import json
import logging
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from itertools import count
from typing import TYPE_CHECKING, Any

from ..errors import NoteNotFound, ReMeError
from ..vault.encoding import clean_text
from ..vault.jsonable import dumps, to_jsonable
from ..vault.layout import HISTORY, METADATA, iter_files

if TYPE_CHECKING:
    from ..vault import Vault

logger = logging.getLogger(__name__)

PENDING = f"{HISTORY}/pending"
SET_ASIDE = f"{PENDING}/failed"
ATTEMPTS = 5
"""How often a task is begun before it is set aside."""

DELAYS = (timedelta(seconds=30), timedelta(minutes=2), timedelta(minutes=10), timedelta(hours=1))
"""How long a task that failed waits, after its first, second, … failure."""

_numbers = count()


@dataclass(frozen=True, slots=True)
class Task:
    """A piece of work. ``kind`` says which pipeline does it, ``payload`` is what it needs, as JSON.

    ``attempts`` counts how often it was begun, ``not_before`` (ISO 8601, or "") is when it may be begun again and
    ``error`` what went wrong last.
    """

    id: str
    kind: str
    payload: Mapping[str, Any]
    added: str
    attempts: int = 0
    not_before: str = ""
    error: str = ""

    def is_due(self, now: datetime) -> bool:
        """Whether it may be begun; a clock that went back does not hold it up for longer than the longest delay."""
        if not self.not_before:
            return True
        try:
            wait = datetime.fromisoformat(self.not_before) - now
        except (ValueError, TypeError):
            return True
        return wait <= timedelta(0) or wait > max(DELAYS)


class Queue:
    """The pending work of one vault. Making one touches nothing on disk."""

    def __init__(self, vault: "Vault", *, attempts: int = ATTEMPTS, delays: tuple[timedelta, ...] = DELAYS) -> None:
        self._vault = vault
        self._storage = vault.storage
        self.attempts = attempts
        self._delays = delays

    def now(self) -> datetime:
        """The time by which tasks are due, aware."""
        return self._vault.now()

    # --- what there is to do --------------------------------------------------------------------------------------

    def add(self, kind: str, payload: Mapping[str, Any], *, wait: float = 0.0) -> str:
        """Add a task behind all others, durably when this returns; its id. It is due after ``wait`` seconds."""
        now = self._vault.now()
        # Names sort by time, then by order of this process; two processes never share the rest.
        task_id = f"{int(now.timestamp() * 1e6):016d}-{next(_numbers):06d}-{secrets.token_hex(4)}"
        later = (now + timedelta(seconds=wait)).isoformat(timespec="milliseconds") if wait else ""
        added = now.isoformat(timespec="milliseconds")
        task = Task(task_id, kind, to_jsonable(dict(payload)), added, not_before=later)
        self._storage.replace(_path(task_id), _written(task), expect=None)
        return task_id

    def pending(self, kind: str = "") -> list[Task]:
        """All tasks, or those of one kind, the oldest first. A file that is no task is set aside."""
        return [task for task in self._tasks(PENDING) if not kind or task.kind == kind]

    def due(self) -> list[Task]:
        """The tasks that may be begun now, the oldest first."""
        now = self.now()
        return [task for task in self.pending() if task.is_due(now)]

    def set_aside(self) -> list[Task]:
        """The tasks that failed too often, the oldest first; :meth:`retry` brings one back."""
        return self._tasks(SET_ASIDE)

    # --- doing it -------------------------------------------------------------------------------------------------

    @contextmanager
    def turn(self) -> Iterator[bool]:
        """Become the one who works on this vault; the value says whether that is so, or somebody else is.

        The lock is the operating system's: a worker that dies gives it up.
        """
        from filelock import FileLock, Timeout

        with self._storage.lock():
            folder = self._vault.root / METADATA  # made by taking the lock
        lock = FileLock(folder / "pending.lock", thread_local=False)
        try:
            lock.acquire(blocking=False)
        except Timeout:
            yield False
            return
        try:
            yield True
        finally:
            lock.release()

    def begin(self, task_id: str) -> Task | None:
        """Count an attempt before it is made, so that work that kills its process is not begun for ever.

        None when there is nothing to begin: the task is done, or it was begun too often and is set aside now.
        """
        with self._storage.lock():
            task = self._task(task_id)
            if task is None:
                return None
            if task.attempts >= self.attempts:
                self._give_up(replace(task, error=task.error or "the process ended each time it was begun"))
                return None
            task = replace(task, attempts=task.attempts + 1)
            self._storage.replace(_path(task_id), _written(task))
            return task

    def done(self, task_id: str) -> None:
        """Take a task out. One that is not there is no error: somebody has done it."""
        self._storage.remove(_path(task_id))

    def failed(self, task_id: str, error: str) -> Task | None:
        """Say that an attempt failed. The task waits for its next one, or is set aside after the last.

        Returns the task as it is now, None when it is not there.
        """
        with self._storage.lock():
            task = self._task(task_id)
            if task is None:
                return None
            task = replace(task, attempts=max(1, task.attempts), error=clean_text(error)[:1000])
            if task.attempts >= self.attempts:
                return self._give_up(task)
            delay = self._delays[min(task.attempts, len(self._delays)) - 1] if self._delays else timedelta(0)
            later = (self._vault.now() + delay).isoformat(timespec="milliseconds")
            task = replace(task, not_before=later)
            self._storage.replace(_path(task_id), _written(task))
            return task

    def hasten(self, task_id: str) -> bool:
        """Make a task due that waits for its time; whether it is there."""
        with self._storage.lock():
            task = self._task(task_id)
            if task is not None and task.not_before:
                self._storage.replace(_path(task_id), _written(replace(task, not_before="")))
            return task is not None

    def release(self, task_id: str) -> None:
        """Take an attempt back that was not made to its end (it was cancelled): it does not count."""
        with self._storage.lock():
            task = self._task(task_id)
            if task is not None and task.attempts > 0:
                self._storage.replace(_path(task_id), _written(replace(task, attempts=task.attempts - 1)))

    def retry(self, task_id: str) -> bool:
        """Bring a task back that was set aside, with all its attempts; whether there was one."""
        with self._storage.lock():
            task = self._task(task_id, SET_ASIDE)
            if task is None:
                return False
            path = _path(task_id, SET_ASIDE)
            self._storage.replace(path, _written(replace(task, attempts=0, not_before="", error="")))
            self._storage.rename(path, _path(task_id))
            return True

    def drop(self, task_id: str) -> None:
        """Remove a task for good, also one that was set aside."""
        self._storage.remove(_path(task_id))
        self._storage.remove(_path(task_id, SET_ASIDE))

    # --- files ----------------------------------------------------------------------------------------------------

    def _give_up(self, task: Task) -> Task:
        # The other way round, an interruption would leave it in both places or lose what went wrong.
        self._storage.replace(_path(task.id), _written(task))
        self._set_aside(_path(task.id))
        logger.warning("Background work is set aside after %d attempts (%s): %s", task.attempts, task.kind, task.error)
        return task

    def _set_aside(self, path: str) -> None:
        target = f"{SET_ASIDE}/{path.rpartition('/')[2]}"
        if self._storage.exists(target):
            self._storage.remove(path)
        else:
            self._storage.rename(path, target)

    def _tasks(self, folder: str) -> list[Task]:
        found, damaged = [], []
        for path, _ in iter_files(self._vault.root, folder, suffixes=(".json",), skip=(SET_ASIDE,)):
            if path.rpartition("/")[0] != folder:
                continue
            try:
                task = self._read(path)
            except ValueError:
                damaged.append(path)
                continue
            found += [task] if task is not None else []
        for path in damaged if folder == PENDING else []:
            logger.warning("%s cannot be read and is set aside; it was no work, or a disk damaged it.", path)
            with suppress(ReMeError):  # a vault that cannot be written
                self._set_aside(path)
        return sorted(found, key=lambda task: task.id)

    def _task(self, task_id: str, folder: str = PENDING) -> Task | None:
        try:
            return self._read(_path(task_id, folder))
        except ValueError:
            return None

    def _read(self, path: str) -> Task | None:
        """The task in a file; None when there is none, ValueError when it is no task."""
        try:
            data = self._storage.read(path)
        except NoteNotFound:
            return None
        try:
            fields = json.loads(data)
            task = Task(**{key: fields[key] for key in Task.__dataclass_fields__ if key in fields})
        except (TypeError, ValueError, RecursionError) as error:
            raise ValueError(f"{path} is no task") from error
        texts = (task.id, task.kind, task.added, task.not_before, task.error)
        is_sound = all(isinstance(text, str) for text in texts) and isinstance(task.payload, dict)
        if not is_sound or not isinstance(task.attempts, int) or _name(task.id) != path.rpartition("/")[2]:
            raise ValueError(f"{path} is no task")
        return task


def _written(task: Task) -> bytes:
    return dumps(asdict(task)).encode("utf-8") + b"\n"


def _name(task_id: str) -> str:
    return f"{task_id}.json"


def _path(task_id: str, folder: str = PENDING) -> str:
    return f"{folder}/{_name(task_id)}"
