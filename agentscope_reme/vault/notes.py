"""The vault: read, write, append, edit, list and stat the notes, each with a synchronous twin for threads.

A method ``name`` is ``name_sync`` in a worker thread. A write that has begun is finished when its caller is cancelled.
"""

import asyncio
import logging
import os
import threading
from collections.abc import Callable, Iterable
from datetime import datetime, tzinfo
from pathlib import Path
from typing import Any, Literal
from weakref import WeakValueDictionary

from ..errors import NoteChanged, NoteError, NoteExists, NoteNotFound, PathError
from ..models import NoteChange, NotePage
from .authorship import guard_front_matter, refuse_reserved
from .dialog import Journal, StoredResult, store_result
from .edits import append_text, clip_marker, replace_once
from .encoding import Kind, clean_text, decode_exact, encode_exact, kind_of
from .history import History
from .layout import daily_page, today
from .listing import NoteList, NoteStat, SortKey, list_folder, status_of
from .paths import locate, parse_path, unportable
from .ports import ChangeListener
from .refusals import refusal
from .storage import Storage, is_version, version_of

log = logging.getLogger(__name__)


class Vault:
    """A folder of Markdown notes. Making one touches nothing on disk; folders are made by the first write."""

    def __init__(
        self,
        root: str | Path,
        *,
        timezone: str | None = None,
        read_max_bytes: int = 16_384,
        ignore: tuple[str, ...] = (),
        clock: Callable[[], datetime] | None = None,
    ) -> None:
        self.root = Path(os.path.abspath(os.path.expanduser(root)))
        self.read_max_bytes = read_max_bytes
        self.ignore = tuple(ignore)
        self._timezone = timezone
        self._clock = clock
        self.storage = Storage(self.root)
        self.history_log = History(self.storage, self.now)
        self._listeners: list[ChangeListener] = []
        self._journals: WeakValueDictionary[str, Journal] = WeakValueDictionary()
        self._journals_lock = threading.Lock()

    def __deepcopy__(self, memo: dict[int, Any]) -> "Vault":
        return self  # an agent that is copied goes on with the same files

    def __repr__(self) -> str:
        return f"Vault({str(self.root)!r})"

    def now(self) -> datetime:
        """The time, aware, in the configured zone."""
        zone: tzinfo | None = None
        if self._timezone is not None:
            from zoneinfo import ZoneInfo

            zone = ZoneInfo(self._timezone)
        if self._clock is None:
            return datetime.now(zone) if zone else datetime.now().astimezone()
        present = self._clock()
        return present.replace(tzinfo=zone) if present.tzinfo is None and zone else present.astimezone(zone)

    def subscribe(self, listener: ChangeListener) -> None:
        """Have ``listener(path, kind)`` called after each durable change, on the thread that made it."""
        self._listeners.append(listener)

    def publish(self, path: str, kind: str) -> None:
        for listener in list(self._listeners):
            try:
                listener(path, kind)
            except Exception:
                log.exception("a listener failed on the change of %s", path)

    def resolve(self, path: str, *, for_write: bool = False) -> Path:
        """The absolute path of a file of the vault, links resolved; PathError when it is not one.

        ``for_write`` also refuses what agents, users and pipelines may not write.
        """
        names = self._names(path, actor="user" if for_write else None)
        try:
            with locate(self.root, names) as place:
                return self.root / place.path
        except FileNotFoundError:
            return self.root.joinpath(*names)
        except OSError as error:
            raise refusal(error, path, reading=not for_write) from error

    # --- reading --------------------------------------------------------------------------------------------------

    async def read(
        self,
        path: str,
        start_line: int | None = None,
        end_line: int | None = None,
        max_bytes: int | None = None,
        *,
        column: int = 0,
    ) -> NotePage:
        """A page of a file: lines ``start_line`` to ``end_line``, 1-based and inclusive, at most ``max_bytes`` of text.

        ``column`` passes over that many characters of the first line, to page through one very long line. Raises
        NoteNotFound and PathError. What is no text is described in ``text``.
        """
        return await asyncio.to_thread(self.read_sync, path, start_line, end_line, max_bytes, column=column)

    def read_sync(
        self,
        path: str,
        start_line: int | None = None,
        end_line: int | None = None,
        max_bytes: int | None = None,
        *,
        column: int = 0,
    ) -> NotePage:
        from .pages import read_page

        names = self._names(path)
        bound = self.read_max_bytes if max_bytes is None else max_bytes
        with self.storage.opened(path) as (descriptor, status):
            return read_page(descriptor, status.st_size, "/".join(names), start_line, end_line, bound, column)

    def read_bytes(self, path: str) -> bytes:
        """All bytes of a file of the vault; blocking."""
        self._names(path)
        return self.storage.read(path)

    async def stat(self, path: str) -> NoteStat:
        """Size, time and version of a file, or size and time of a folder."""
        return await asyncio.to_thread(self.stat_sync, path)

    def stat_sync(self, path: str) -> NoteStat:
        self._names(path, folder=True)
        return status_of(self.storage, path, self.now().tzinfo)

    async def list(
        self,
        path: str = "",
        recursive: bool = False,
        extensions: Iterable[str] | str | None = None,
        sort_by: SortKey | None = None,
        limit: int = 100,
    ) -> NoteList:
        """What lies in a folder: files and folders, or with ``recursive`` all files below it.

        ``extensions`` such as ``md`` or ``.md``; ``sort_by``: ``name`` (default), ``modified`` (newest first), ``size``
        (largest first). Hidden and tool folders, editors' leftovers and symlinks are left out.
        """
        return await asyncio.to_thread(self.list_sync, path, recursive, extensions, sort_by, limit)

    def list_sync(
        self,
        path: str = "",
        recursive: bool = False,
        extensions: Iterable[str] | str | None = None,
        sort_by: SortKey | None = None,
        limit: int = 100,
    ) -> NoteList:
        return list_folder(
            self.storage,
            path,
            self.now().tzinfo,
            recursive=recursive,
            extensions=extensions,
            sort_by=sort_by,
            limit=limit,
            ignore=self.ignore,
        )

    # --- writing --------------------------------------------------------------------------------------------------

    async def write(
        self,
        path: str,
        content: str,
        version: str | None = None,
        overwrite: bool = False,
        *,
        actor: str = "user",
        reason: str = "",
    ) -> NoteChange:
        """Write a whole note. An existing one needs its ``version`` (from ``read``) or ``overwrite=True``.

        Raises NoteExists, NoteChanged ("changed since you read it"), PathError; the note is then as it was.
        """
        return await finish(self.write_sync, path, content, version, overwrite, actor=actor, reason=reason)

    def write_sync(
        self,
        path: str,
        content: str,
        version: str | None = None,
        overwrite: bool = False,
        *,
        actor: str = "user",
        reason: str = "",
    ) -> NoteChange:
        def new_bytes(old: bytes | None, kind: Kind | None) -> bytes:
            if old is None:
                if version:
                    raise NoteChanged(f"{path} was removed since you read it; nothing was changed", path)
                return encode_exact(guard_front_matter("", clean_text(content), actor, path))
            if version:
                if not is_version(version_of(old), version):
                    raise NoteChanged(
                        f"{path} has changed since you read it (it is now version {version_of(old)}); "
                        "nothing was changed, read it again",
                        path,
                    )
            elif not overwrite:
                raise NoteExists(
                    f"{path} exists; nothing was changed. Add to it with append, change a passage with edit, or give "
                    "the version that read returned to replace all of it",
                    path,
                )
            before = decode_exact(old) if kind is not None and kind.exact else ""
            if (marker := clip_marker(content)) and marker not in before:
                raise NoteError(
                    f"{path}: the content contains {marker!r}, a sign that text was left out; nothing was changed. "
                    "Change the passage with edit instead",
                    path,
                )
            return encode_exact(guard_front_matter(before, clean_text(content), actor, path))

        return self._change(path, new_bytes, actor=actor, reason=reason)

    async def append(self, path: str, content: str, *, actor: str = "user", reason: str = "") -> NoteChange:
        """Add lines at the end of a note, which is made if need be. An empty path is today's page."""
        return await finish(self.append_sync, path, content, actor=actor, reason=reason)

    def append_sync(self, path: str, content: str, *, actor: str = "user", reason: str = "") -> NoteChange:
        path = path or daily_page(today(self.now()))

        def new_bytes(old: bytes | None, kind: Kind | None) -> bytes:
            self._must_be_exact(path, kind)
            text = decode_exact(old or b"")
            return encode_exact(guard_front_matter(text, append_text(text, content), actor, path))

        return self._change(path, new_bytes, actor=actor, reason=reason, appending=True)

    async def edit(self, path: str, old: str, new: str, *, actor: str = "user", reason: str = "") -> NoteChange:
        """Replace the one passage ``old`` by ``new``. EditNotUnique when it is not there, or more than once."""
        return await finish(self.edit_sync, path, old, new, actor=actor, reason=reason)

    def edit_sync(self, path: str, old: str, new: str, *, actor: str = "user", reason: str = "") -> NoteChange:
        def new_bytes(present: bytes | None, kind: Kind | None) -> bytes:
            if present is None:
                raise NoteNotFound(f"there is no {path} in the vault", path)
            self._must_be_exact(path, kind)
            text = decode_exact(present)
            return encode_exact(guard_front_matter(text, replace_once(text, old, new, path), actor, path))

        return self._change(path, new_bytes, actor=actor, reason=reason)

    def _must_be_exact(self, path: str, kind: Kind | None) -> None:
        if kind is None or kind.exact:
            return
        if kind.encoding == "binary":
            raise NoteError(f"{path} is a binary file, which cannot be edited; nothing was changed", path)
        raise NoteError(
            f"{path} is not UTF-8 ({kind.encoding}); nothing was changed. Write its text to a new note and edit that",
            path,
        )

    def _change(
        self,
        path: str,
        new_bytes: Callable[[bytes | None, Kind | None], bytes],
        *,
        actor: str,
        reason: str,
        appending: bool = False,
    ) -> NoteChange:
        """Under the lock: see what is there, work out what shall be, record, replace; then tell the listeners."""
        names = self._names(path, actor=actor)
        shown = "/".join(names)
        with self.storage.lock():
            old = self.storage.read_if_any(path)
            new = new_bytes(old, None if old is None else kind_of(old))
            version = version_of(new)
            if old == new:
                return NoteChange(shown, "unchanged", version)
            kind = "created" if old is None else "appended" if appending and new.startswith(old) else "changed"
            entry = self.history_log.record(shown, kind, actor=actor, reason=reason, old=old, new=new)
            self.storage.replace(path, new, expect=None if old is None else version_of(old))
        outcome: Literal["created", "changed"] = "created" if old is None else "changed"
        self.publish(shown, outcome)
        return NoteChange(shown, outcome, version, entry.id)

    # --- what is not a note ----------------------------------------------------------------------------------------

    def journal(self, session_id: str) -> Journal:
        """The journal of a conversation; the same object for the same id while anyone holds it."""
        with self._journals_lock:
            journal = self._journals.get(session_id)
            if journal is None:
                journal = Journal(self.storage, session_id, clock=self.now, publish=self.publish)
                self._journals[session_id] = journal
            return journal

    async def store_result(self, data: str | bytes, suffix: str = ".txt") -> StoredResult:
        """Keep a tool result or a medium under its content hash; the same data is kept once."""
        return await finish(self.store_result_sync, data, suffix)

    def store_result_sync(self, data: str | bytes, suffix: str = ".txt") -> StoredResult:
        return store_result(self.storage, data, suffix)

    def _names(self, path: str, *, actor: str | None = None, folder: bool = False) -> tuple[str, ...]:
        """Check a path; ``actor`` is who wants to write, None for reading."""
        names = parse_path(path, folder=folder)
        shown = "/".join(names)
        if (problem := unportable(names)) and (os.name == "nt" or not self.storage.exists(shown)):
            raise PathError(problem)
        if actor is not None:
            refuse_reserved(shown, actor)
        return names


async def finish(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Run a change in a thread. When the caller is cancelled the change is finished first, then the cancellation goes
    on: nobody can be left thinking that it did not happen while it still does."""
    task = asyncio.ensure_future(asyncio.to_thread(function, *args, **kwargs))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        if not task.cancelled() and (error := task.exception()):
            log.debug("a change whose caller was cancelled failed: %s", error)
        raise
