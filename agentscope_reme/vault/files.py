"""What every operation on notes rests on: the root, the clock, who listens, and the one way to change a file."""

import asyncio
import logging
import os
from collections.abc import Callable
from datetime import datetime, tzinfo
from pathlib import Path
from typing import Any, Literal

from ..errors import PathError, ReMeError
from ..models import NoteChange
from .authorship import refuse_hidden, refuse_reserved, refuse_undated
from .edits import must_not_mix
from .encoding import Kind, kind_of
from .history import Change, History
from .layout import today
from .paths import locate, parse_path, unportable
from .ports import ChangeListener, InlinkSource
from .refusals import refusal
from .storage import Storage, version_of

log = logging.getLogger(__name__)

LOOK_EVERY = 500
"""Changes of one process after which the bounds of the history are looked at again."""

NewBytes = Callable[[bytes | None, Kind | None], bytes]
"""From what a file holds (None: there is none) and what kind it is, to what it shall hold; raises to refuse."""


class Files:
    """A vault's folder. Making one touches nothing on disk; folders are made by the first write."""

    def __init__(
        self,
        root: str | Path,
        *,
        timezone: str | None = None,
        ignore: tuple[str, ...] = (),
        clock: Callable[[], datetime] | None = None,
        link_rule: Literal["literal", "obsidian"] = "literal",
    ) -> None:
        self.root = Path(os.path.abspath(os.path.expanduser(root)))
        self.ignore = tuple(ignore)
        self.link_rule: Literal["literal", "obsidian"] = link_rule
        self.inlinks: InlinkSource | None = None
        self._timezone = timezone
        self._clock = clock
        self.storage = Storage(self.root)
        self.log = History(self.storage, self.now)
        self._listeners: list[ChangeListener] = []
        self._changes = 0

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
        """Tell the listeners of a change; what they raise is logged."""
        for listener in list(self._listeners):
            try:
                listener(path, kind)
            except Exception:
                log.exception("a listener failed on the change of %s", path)

    def resolve(self, path: str, *, for_write: bool = False) -> Path:
        """The absolute path of a file of the vault, links resolved; PathError when it is not one.

        ``for_write`` also refuses what agents, users and pipelines may not write. The file need not exist.
        """
        return self.root / self.real_path(path, actor="user" if for_write else None)

    def real_path(self, path: str, *, actor: str | None = None, folder: bool = False, follow: bool = True) -> str:
        """The vault-relative path under which a file lies, links resolved and names as the disk has them.

        ``actor`` is who wants to write there, None for reading; ``folder`` accepts folders and the root. PathError when
        it is not acceptable. With ``follow=False`` a link stands for itself.
        """
        names = parse_path(path, folder=folder)
        if actor is not None:
            refuse_reserved("/".join(names), actor)
            refuse_hidden("/".join(names), actor, self.ignore)
        try:
            with locate(self.root, names, follow_last=follow) as place:
                real, exists = place.path, place.lstat() is not None
        except FileNotFoundError:
            real, exists = "/".join(names), False
        except OSError as error:
            raise refusal(error, path, reading=actor is None) from error
        if (problem := unportable(names)) and (os.name == "nt" or not exists):
            raise PathError(problem)
        if actor is not None and real and real != "/".join(names):
            refuse_reserved(real, actor)
            refuse_hidden(real, actor, self.ignore)
        return real

    def change(
        self,
        path: str,
        new_bytes: NewBytes,
        *,
        actor: str,
        reason: str,
        appending: bool = False,
        group: str | None = None,
    ) -> NoteChange:
        """Under the lock: see what is there, work out what shall be, record it, replace it; then tell the listeners.

        The disk writes the record and the new file at the same time; the file is replaced when it has both.

        ``group`` joins this change with others of one operation, which are undone together by that id.
        """
        with self.storage.lock():
            real = self.real_path(path, actor=actor)
            old = self.storage.read_if_any(real)
            if old is None:
                refuse_undated(real, actor, today(self.now()))
            new = new_bytes(old, None if old is None else kind_of(old))
            must_not_mix(real, old, new)
            version = version_of(new)
            if old == new:
                return NoteChange(real, "unchanged", version)
            kind = "created" if old is None else "appended" if appending and new.startswith(old) else "changed"
            recording = self.log.begin(Change(real, kind, old, new), actor=actor, reason=reason, group=group)
            try:
                expect = None if old is None else version_of(old)
                self.storage.replace(real, new, expect=expect, first=recording.finish)
            except BaseException:
                recording.void("the file could not be replaced")
                raise
        outcome: Literal["created", "changed"] = "created" if old is None else "changed"
        self.publish(real, outcome)
        self._bound_history()
        return NoteChange(real, outcome, version, recording.entry.id)

    def _bound_history(self) -> None:
        """Now and then let go of old history; a process that only runs for one change looks as well."""
        self._changes += 1
        if self._changes % LOOK_EVERY != 1:
            return
        from .retention import prune_if_due

        try:
            prune_if_due(self.log)
        except (ReMeError, OSError) as error:
            log.info("the history was not pruned (%s)", error)


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
