"""When an index looks at the files: at what the vault has changed, at what a watcher has noticed, at all of them."""

import asyncio
import logging
import os
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from itertools import islice
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from ..models import IndexReport
from .freed_memory import give_back

if TYPE_CHECKING:
    from .opened import Opened
    from .store import Progress
    from .sync import Sync
    from .watch import Watcher

log = logging.getLogger(__name__)
T = TypeVar("T")

# Seconds between two looks at the folder before a search; a look may take a twentieth of the time.
RECONCILE_SECONDS = 1.0
RECONCILE_SHARE = 0.05
# One file in so many may have been read in a look that is taken for what a look costs.
READ_SHARE = 20
# Unsaved changes (files) after which the index is written while the process goes on.
SAVE_AFTER = 500
# Files that are read while others wait for their turn.
BATCH = 64


class Freshness:
    """Keeps an index in line with the files. Making one touches nothing; ``opened`` gives the open index.

    Files that this process changes are read before the next search. Other programs' changes are found by a look at
    the size and times of all files, at most once a second; while a watcher is live it says what changed, and no look
    is needed.
    """

    def __init__(self, root: Path, opened: "Callable[[], Opened]", stopped: Callable[[], bool]) -> None:
        self._root, self._opened, self._stopped = root, opened, stopped
        self._job_lock = threading.Lock()
        self._job: Future[IndexReport] | None = None
        self.scanned = -1.0  # monotonic time at which the last scan ended
        self._scan_began = -1.0  # and that at which it began
        self._scan_seconds = 0.0
        self.error = ""
        self._own: dict[str, None] = {}  # what the vault of this process has changed, in this order
        self._seen: dict[str, None] = {}  # what the watcher has noticed
        self._sets = threading.Lock()
        self._reading = threading.Lock()
        self._watcher: Watcher | None = None
        self._scanner: Sync | None = None

    @property
    def scanning(self) -> bool:
        """Whether a look at all files is under way."""
        job = self._job
        return job is not None and not job.done()

    @property
    def behind(self) -> bool:
        """Whether files are known to have changed that have not been read."""
        return bool(self._own or self._seen)

    @property
    def watched(self) -> bool:
        """Whether a watcher is live, and all files have been looked at since."""
        watcher = self._watcher
        return watcher is not None and watcher.live and self._scan_began > watcher.live_since

    @property
    def watch_state(self) -> str:
        """What the watcher says of itself; ``not started`` without one."""
        return self._watcher.state if self._watcher is not None else "not started"

    @property
    def progress(self) -> "Progress":
        """How far the last look at all files is."""
        from .store import Progress

        return self._scanner.progress if self._scanner is not None else Progress()

    def follow(self, watcher: "Watcher") -> None:
        """Have a watcher say which files change."""
        if self._watcher is None:
            self._watcher = watcher
            watcher.subscribe(self._noticed)

    def changed(self, path: str, kind: str) -> None:
        """The vault has changed a file, on whatever thread: read before the next search."""
        with self._sets:
            self._own[path] = None

    def _noticed(self, paths: frozenset[str]) -> None:
        """The watcher has noticed changes, on its thread: read at once, so that no search has to."""
        if self._stopped():
            return
        self._see(paths)
        self.read_changed()
        self._save_when_much()

    def read_changed(self, seconds: float = inf) -> int:
        """Read the files that are known to have changed; how many are left after about so many seconds.

        Those that this process has changed come first and are read in any case. When it returns 0, everything that was
        known when it was called is in the index, also what another thread was about to read.
        """
        deadline = time.monotonic() + seconds
        self._opened().sync.settle()
        self._take_news()
        while True:
            if not self._reading.acquire(timeout=min(max(0.0, deadline - time.monotonic()), threading.TIMEOUT_MAX)):
                return len(self._own) + len(self._seen) or 1
            try:
                batch = self._next() if self.behind else []
                if not batch:
                    return 0
                try:
                    self._opened().sync.check(batch)
                except BaseException:
                    self._see(batch)
                    raise
            finally:
                self._reading.release()
            if time.monotonic() > deadline and not self._own:
                return len(self._seen)

    def _next(self) -> list[str]:
        with self._sets:
            wanted = self._own or self._seen
            batch = list(islice(wanted, BATCH))
            for path in batch:
                self._own.pop(path, None)
                self._seen.pop(path, None)
        return batch

    def _see(self, paths: Iterable[str]) -> None:
        """Files that are gone come last: they may have moved to where others are, and their entries with them."""
        ordered = sorted(paths, key=lambda path: (not os.path.lexists(self._root / path), path))
        with self._sets:
            self._seen |= dict.fromkeys(ordered)

    async def wait_until_current(self, seconds: float) -> str:
        """Wait for a look at the files, if one is due; what is to be said when it is not over in time."""
        if self.watched:
            return ""
        pause = max(RECONCILE_SECONDS, self._scan_seconds / RECONCILE_SHARE)
        if self.scanned >= 0 and not self.scanning and time.monotonic() - self.scanned < pause:
            return ""
        job = self.start_scan()
        try:
            await result_of(job, seconds)
        except Exception as error:
            return self._why_behind(error)
        return ""

    def look_again(self, seconds: float) -> str:
        """Look at all files once more, since some that were known are gone and may be elsewhere; as above. Blocks."""
        try:
            self.start_scan(fresh=True).result(max(0.0, seconds))
        except Exception as error:
            return self._why_behind(error)
        return "the index was closed before all files were looked at" if self._stopped() else ""

    def _why_behind(self, error: Exception) -> str:
        if isinstance(error, TimeoutError):
            share = self._scanner.progress.share if self._scanner is not None else 0.0
            return f"the index is behind the files: {share:.0%} of them have been looked at"
        return f"the files could not be looked at ({error}); this is what was known before"

    def catch_up(self, seconds: float) -> str:
        """Make sure that what the files are now is in the index; what is to be said when that is not so. Blocks.

        All files are looked at, by a watcher's side too: what was written this moment may still be on its way to it.
        Takes about so many seconds at most, the look and the reading together.
        """
        until = time.monotonic() + seconds
        return self.look_again(seconds) or self.read_rest(until - time.monotonic())

    def read_rest(self, seconds: float) -> str:
        """Read the files that are known to have changed; what is to be said when some are left. Blocks."""
        left = self.read_changed(seconds)
        return f"the index is behind the files: {left} that have changed are still to be read" if left else ""

    def _take_news(self) -> None:
        """What the watcher holds back for its quiet window need not wait for a search that comes before."""
        if self._watcher is not None and (news := self._watcher.take_news()):
            self._see(news)

    def start_scan(self, fresh: bool = False) -> "Future[IndexReport]":
        """The scan under way, or a new one; ``fresh`` starts one after that."""
        with self._job_lock:
            previous = self._job
            if previous is not None and not previous.done() and not fresh:
                return previous
            job: Future[IndexReport] = Future()
            self._job = job
            # A daemon: an interpreter that ends does not wait for an index that can be built again.
            thread = threading.Thread(target=self._scan, args=(job, previous), name="reme-index", daemon=True)
            thread.start()
            return job

    def _scan(self, job: "Future[IndexReport]", previous: "Future[IndexReport] | None") -> None:
        from .store import must_be_readable

        try:
            if previous is not None:
                previous.exception()  # one at a time
            must_be_readable(self._root)
            self._scanner = self._opened().sync
            began = time.monotonic()
            report = self._scanner.scan(stop=self._stopped)
            looked = report.unchanged + report.added + report.changed
            if (report.added + report.changed) * READ_SHARE <= looked:  # else it tells how long reading takes
                self._scan_seconds = time.monotonic() - began
            self._scan_began = began
            give_back()  # takes a hundredth of a look's time
            self.scanned = time.monotonic()
            self.error = ""
        except BaseException as error:
            self.error = f"{type(error).__name__}: {error}"
            log.warning("the vault could not be scanned: %s", self.error)
            job.set_exception(error)
            return
        job.set_result(report)
        self._save_when_much()

    def _save_when_much(self) -> None:
        opened = self._opened()
        if opened.store.corpus.revision - max(0, opened.saved) >= SAVE_AFTER and not self._stopped():
            opened.save(False)

    def finish(self, seconds: float) -> None:
        """Wait for a scan under way, at most so long."""
        job = self._job
        if job is not None:
            try:
                job.result(seconds)
            except Exception as error:
                log.warning("closing while the index is being brought up to date: %s", error)


async def result_of(job: "Future[T]", seconds: float | None = None) -> T:
    """Wait for a thread's result without a chain of futures that outlives the event loop."""
    loop = asyncio.get_running_loop()
    done = asyncio.Event()

    def wake(_: "Future[T]") -> None:
        try:
            loop.call_soon_threadsafe(done.set)
        except RuntimeError:
            log.debug("whoever waited has gone")

    job.add_done_callback(wake)
    async with asyncio.timeout(seconds):  # wait_for of Python 3.11 loses a cancellation that meets the end of the scan
        await done.wait()
    return job.result()
