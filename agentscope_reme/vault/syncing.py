"""A file is synced on another thread while whoever wrote it goes on.

A change waits for its entry in the log and for its new file, which do not depend on each other: a disk takes about as
long for both as for one.
"""

import os
import threading
from queue import Empty, SimpleQueue

_IDLE_SECONDS = 5.0  # after which a thread ends


class Syncing:
    """A file that is being synced."""

    __slots__ = ("_descriptor", "_done", "_error")

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._error: BaseException | None = None
        self._done = threading.Lock()
        self._done.acquire()

    def run(self) -> None:
        """Sync it; whatever comes of that is for :meth:`wait`."""
        try:
            os.fsync(self._descriptor)
        except BaseException as error:
            self._error = error
        finally:
            self._done.release()

    def wait(self) -> None:
        """Return when it is on the disk, or raise what the system says. The file must stay open until then."""
        with self._done:
            if self._error is not None:
                raise self._error


class Syncs:
    """Syncs one file after the other. Its thread begins when it is needed, and ends when nothing has come for a while.

    Safe from several threads, and in a process that was forked.
    """

    def __init__(self) -> None:
        self._forget()

    def _forget(self) -> None:
        self._process = os.getpid()
        self._tasks: SimpleQueue[Syncing] = SimpleQueue()
        self._lock = threading.Lock()
        self._runs = False

    def begin(self, descriptor: int) -> Syncing:
        """Begin to sync an open file."""
        if self._process != os.getpid():  # a fork has the object and not the thread
            self._forget()
        syncing = Syncing(descriptor)
        with self._lock:
            self._runs = self._runs or self._start()
            if self._runs:
                self._tasks.put(syncing)
                return syncing
        syncing.run()
        return syncing

    def _start(self) -> bool:
        """Begin the thread; False where none can begin any more, as while the interpreter ends."""
        try:
            threading.Thread(target=self._work, name="reme-sync", daemon=True).start()
        except RuntimeError:
            return False
        return True

    def _work(self) -> None:
        while True:
            try:
                self._tasks.get(timeout=_IDLE_SECONDS).run()
            except Empty:
                with self._lock:
                    if self._tasks.empty():  # else a file was handed over this very moment
                        self._runs = False
                        return


def write_all(descriptor: int, data: bytes) -> None:
    """Write all of it, in as many calls as the system takes."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
