"""Watching a vault: which files other programs change, told in batches once they have settled.

The operating system's events say where to look. Where it gives none, or fails to, all files are looked at from time to
time instead. What is told is a hint; whoever is told reads the file.
"""

import logging
import os
import stat as modes
import threading
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Literal

from ..vault.layout import JOURNALS, UNINDEXED, is_ignored, is_nameable, iter_files
from .watch_events import FileEvents, burst, why_no_events

if TYPE_CHECKING:
    from ..vault.notes import Vault

log = logging.getLogger(__name__)

WatchMode = Literal["auto", "poll", "off"]
Listener = Callable[[frozenset[str]], None]
"""Called on the watcher's thread with the vault-relative paths of files that were made, changed, moved or removed."""
Look = tuple[int, int, int, int]  # size, times of content and status in nanoseconds, number of the file on its disk

HEARTBEAT = 1.0  # seconds between two looks at whether the folder is still there and the events still come
LONGEST_WAIT = 10.0  # quiet windows that a change waits at most while others follow it
LOOK_SHARE = 0.05  # share of the time that looking at all files may take
MANY_FOLDERS = 20


def _covers(told: set[str], path: str) -> bool:
    """Whether an event was about a file or a folder above it."""
    parts = path.split("/")
    return any("/".join(parts[:end]) in told for end in range(len(parts) + 1))


def _look_of(status: os.stat_result) -> Look:
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino


class Watcher:
    """Watches the files of a vault that are not ignored and do not lie in ``metadata/``, ``history/`` and the like.

    Args:
        vault: Whose files; its folder need not be there yet.
        quiet: Seconds without an event after which a batch is told.
        mode: ``auto`` takes the system's events and falls back to looking; ``poll`` only looks; ``off`` does nothing.
        ignore: Glob patterns beside those of the vault.
        poll_seconds: Between two looks at all files, when there are no events.
        reconcile_seconds: The same when there are: what the events have missed is found then.
    """

    def __init__(
        self,
        vault: "Vault",
        *,
        quiet: float = 0.3,
        mode: WatchMode = "auto",
        ignore: Iterable[str] = (),
        poll_seconds: float = 2.0,
        reconcile_seconds: float = 60.0,
    ) -> None:
        self.quiet, self.mode = quiet, mode
        self.poll_seconds, self.reconcile_seconds = poll_seconds, reconcile_seconds
        self.live_since = 0.0  # monotonic time from which on no change has gone by unnoticed
        self.reason = ""  # why files are looked at although ``mode`` is ``auto``
        self.looks = 0  # how often all files have been looked at
        self._vault = vault
        self._root = os.path.realpath(vault.root)
        self._ignore = tuple(dict.fromkeys((*vault.ignore, *ignore)))
        self._listeners: list[Listener] = []
        self._changing = threading.Lock()  # one start or stop at a time
        self._thread: threading.Thread | None = None
        self._stopping = False
        self._wake = threading.Condition()
        self._raw: dict[str, bool] = {}  # what events named since the last batch, and whether it is a folder
        self._news: set[str] = set()
        self._count = 0
        self._first = self._last = 0.0
        self._known: dict[str, Look] | None = None
        self._events: FileEvents | None = None
        self._identity: tuple[int, int] | None = None
        self._live = False
        self._missed = 0  # looks in a row that found what no event had told
        self._look_seconds = 0.0
        self._burst = burst()
        vault.subscribe(self._written)

    def __deepcopy__(self, memo: dict[int, object]) -> "Watcher":
        return self

    def subscribe(self, callback: Listener) -> Callable[[], None]:
        """Have ``callback(paths)`` called after each batch; what it raises is logged. Returns what ends that."""
        self._listeners.append(callback)
        return lambda: self._listeners.remove(callback) if callback in self._listeners else None

    @property
    def live(self) -> bool:
        """Whether the system's events come in, so that no other look at the files is needed."""
        return self._live

    @property
    def state(self) -> str:
        """``off``, ``stopped``, ``no folder`` (not yet, or no more), ``events``, or ``polling`` with the reason."""
        if self.mode == "off":
            return "off"
        if self._thread is None:
            return "stopped"
        if self._identity is None:
            return "no folder"
        if self._events is not None:
            return "events"
        return f"polling: {self.reason}" if self.reason else "polling"

    def waiting(self) -> frozenset[str]:
        """Files that events have named and that have not been told yet."""
        with self._wake:
            return frozenset(path for path, is_folder in self._raw.items() if not is_folder)

    def take_news(self) -> frozenset[str]:
        """Files that events have named since the last call of this; they are told all the same."""
        with self._wake:
            news, self._news = self._news, set()
        return frozenset(news)

    # --- life -----------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Begin. Blocks for one look at the names of all files; safe to call again, also after ``stop``.

        What has changed since a ``stop`` is told.
        """
        with self._changing:
            if self.mode == "off" or self._thread is not None:
                return
            self._stopping, self.reason, self._missed = False, "", 0
            again = self._known is not None
            self._connect()
            changed = self._look()
            missed = changed if again else set()
            self._thread = threading.Thread(target=self._run, args=(missed,), name="reme-watch", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """End. No callback begins after it returns; safe to call twice."""
        with self._changing:
            thread, self._live = self._thread, False
            if thread is None:
                return
            with self._wake:
                self._stopping = True
                self._wake.notify_all()
            if thread is not threading.current_thread():
                thread.join(10.0)
            self._disconnect()
            self._raw.clear()
            self._news.clear()
            self._thread = None

    def _connect(self) -> None:
        """Take the system's events if there are any to take; the files must be looked at afterwards."""
        self._disconnect()
        self._root = os.path.realpath(self._vault.root)
        self._identity = self._identify()
        if self.mode == "poll" or self._identity is None:
            return
        self.reason = self.reason or why_no_events(self._root)
        if self.reason:
            return
        events = FileEvents(self._root, self._noticed)
        try:
            events.start()
        except Exception as error:  # no watches left, a system without events, a library that does not fit it
            self.reason = str(error) or type(error).__name__
            log.warning("changes of files in %s are looked for every few seconds: %s", self._root, self.reason)
            return
        self._events = events
        self.live_since, self._live = time.monotonic(), True

    def _disconnect(self) -> None:
        self._live = False
        events, self._events = self._events, None
        if events is not None:
            events.stop()

    def _identify(self) -> tuple[int, int] | None:
        try:
            status = os.stat(self._vault.root)
        except OSError:
            return None
        return status.st_dev, status.st_ino

    # --- what comes in --------------------------------------------------------------------------------------------

    def _noticed(self, path: str, is_folder: bool) -> None:
        """An event, on a thread of watchdog."""
        wanted = not path or self._is_watched(path)
        with self._wake:
            self._count += 1
            if wanted:
                now = self._last = time.monotonic()
                self._first = self._first if self._raw else now
                self._raw[path] = self._raw.get(path, False) or is_folder
                if not is_folder:
                    self._news.add(path)
                self._wake.notify_all()

    def _written(self, path: str, kind: str) -> None:
        """This process has written: its own journals are no news, and the folder may be there only now."""
        if path.startswith(JOURNALS) and self._known is not None:
            look = self._look_at(path)
            with self._wake:
                if look is not None:
                    self._known[path] = look
        if self._identity is None and self._thread is not None:
            with self._wake:
                self._wake.notify_all()

    def _is_watched(self, path: str) -> bool:
        if any(path == folder or path.startswith(folder + "/") for folder in UNINDEXED):
            return False
        return is_nameable(path) and not is_ignored(path, self._ignore)

    # --- the thread -----------------------------------------------------------------------------------------------

    def _run(self, missed: set[str]) -> None:
        last_look = time.monotonic()
        self._tell(missed)
        while self._wait():
            try:
                if self._raw:
                    self._settle()
                raw, count = self._take()
                if self._is_lost(count):
                    self._connect()
                    self._tell(self._look() | {path for path, is_folder in raw.items() if path and not is_folder})
                    last_look = time.monotonic()
                elif raw:
                    self._tell(self._changed(raw))
                pause = self.reconcile_seconds if self._events is not None else self.poll_seconds
                if time.monotonic() - last_look >= max(pause, self._look_seconds / LOOK_SHARE):
                    self._reconcile()
                    last_look = time.monotonic()
            except Exception:
                log.exception("watching %s: trying again", self._root)
                with self._wake:
                    self._wake.wait_for(lambda: self._stopping, HEARTBEAT)

    def _take(self) -> tuple[dict[str, bool], int]:
        with self._wake:
            raw, self._raw = self._raw, {}
            count, self._count = self._count, 0
        return raw, count

    def _wait(self) -> bool:
        with self._wake:
            if not self._raw and not self._stopping:
                self._wake.wait(min(HEARTBEAT, self.poll_seconds) if self._events is None else HEARTBEAT)
            return not self._stopping

    def _settle(self) -> None:
        """Wait until no event has come for the quiet window, or others have followed for too long."""
        with self._wake:
            while not self._stopping:
                now = time.monotonic()
                left = min(self._last + self.quiet, self._first + self.quiet * LONGEST_WAIT) - now
                if left <= 0:
                    return
                self._wake.wait(left)

    def _is_lost(self, count: int) -> bool:
        """Whether the folder is another, the events have ended, or were so many that some may have been dropped."""
        if self._identity != self._identify():
            return True
        return self._events is not None and (count >= self._burst or not self._events.alive)

    def _changed(self, raw: dict[str, bool]) -> set[str]:
        """The files that a batch of events is about."""
        folders = {path for path, is_folder in raw.items() if is_folder}
        looks = {path: self._look_at(path) for path in raw.keys() - folders}
        folders |= {path for path, look in looks.items() if look is None and self._was_folder(path)}
        if "" in raw or len(folders) > MANY_FOLDERS:
            changed = self._look()
        else:
            changed = {path for folder in folders for path in self._compare(folder)}
        with self._wake:
            known = self._known if self._known is not None else {}
            for path, look in looks.items():
                if path in folders or (path.startswith(JOURNALS) and look is not None and known.get(path) == look):
                    continue  # the journals' last lines are of this process
                known.pop(path, None)
                if look is not None:
                    known[path] = look
                changed.add(path)
        return changed

    def _reconcile(self) -> None:
        """Look at all files. When the events have missed something twice, they are not relied on any more."""
        before = dict(self._known or {})
        changed = self._look()
        if self._events is not None and changed:
            with self._wake:  # what has just happened may be told in a moment
                self._wake.wait_for(lambda: self._stopping, self.quiet + HEARTBEAT)
                told = set(self._raw)
            missed = {path for path in changed if self._differs(before.get(path), path) and not _covers(told, path)}
            self._missed = self._missed + 1 if missed else 0
            if missed:
                log.warning("the system did not tell of %d changes in %s", len(missed), self._root)
                self.reason = "the system's events are incomplete" if self._missed > 1 else ""
                self._connect()
                changed |= self._look()
        self._tell(changed)

    def _differs(self, before: Look | None, path: str) -> bool:
        """Whether a file is another than before, apart from its status, of whose changes systems need not tell."""
        now = (self._known or {}).get(path)
        if before is None or now is None:
            return before is not now
        return (before[:2], before[3]) != (now[:2], now[3])

    def _tell(self, changed: set[str]) -> None:
        if not changed or self._stopping:
            return
        paths = frozenset(changed)
        for listener in list(self._listeners):
            if self._stopping:
                return
            try:
                listener(paths)
            except Exception:
                log.exception("a listener failed on the change of %d files", len(paths))

    # --- looking --------------------------------------------------------------------------------------------------

    def _look(self) -> set[str]:
        """Look at all files; those that are not as they were known to be."""
        began = time.monotonic()
        self.looks += 1
        changed = self._compare("")
        self._look_seconds = time.monotonic() - began
        return changed

    def _compare(self, folder: str) -> set[str]:
        files = iter_files(self._vault.root, folder, extra_globs=self._ignore)
        found = {path: _look_of(status) for path, status in files}
        below = f"{folder}/" if folder else ""
        with self._wake:
            known = self._known if self._known is not None else {}
            old = {path: look for path, look in known.items() if path.startswith(below)}
            changed = {path for path in old.keys() | found.keys() if old.get(path) != found.get(path)}
            for path in old.keys() - found.keys():
                del known[path]
            known |= found
            self._known = known
        return changed

    def _was_folder(self, path: str) -> bool:
        """Whether a path that is gone held files: not every system can say what it was."""
        known = self._known or {}
        return path not in known and any(other.startswith(f"{path}/") for other in known)

    def _look_at(self, path: str) -> Look | None:
        try:
            status = os.lstat(os.path.join(self._root, path))
        except OSError:
            return None
        return _look_of(status) if modes.S_ISREG(status.st_mode) else None
