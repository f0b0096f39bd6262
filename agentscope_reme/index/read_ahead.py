"""Files are read into terms by other processes while this one puts them into the index: a first look uses all cores.

A large file is read so also when it comes alone (:func:`read_apart`), for the sake of all that this process does
besides. The helpers run :mod:`.reader_process`. They are given a folder and paths, and answer with batches (marshal,
over their own pipes; nothing of it is stored). Whatever goes wrong with one, the files are read in this process.
"""

import logging
import marshal
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from .batch import Batch, Receiver
from .reader_process import Identity, receive, send
from .run_pairs import PairNumbers

log = logging.getLogger(__name__)

BATCH = 200  # files
LAST_BATCH = 50  # files in the last batches
BATCH_BYTES = 600_000
AHEAD = 3  # batches that may lie ready, for each helper
# Below this a helper's start costs more than it spares.
LEAST_BYTES = 3_000_000
MOST_HELPERS = 4
# From here on reading one file has calls that keep all other threads of a process from running for too long: an
# expression over the whole text, a look for garbage through all that the text has become. A helper takes .2 s to start.
LARGE_BYTES = 500_000
_PATIENCE = 60.0  # seconds for one batch, and for each million bytes of it
_PIPE = 1 << 20  # bytes: with so many a helper need not wait until its batch has been taken
_PAUSE = 0.1  # seconds between two looks whether it is still wanted
_RUN = "from agentscope_reme.index.reader_process import serve; serve()"


@dataclass(frozen=True, slots=True)
class Intake:
    """Files that a helper has read, and which file each was at that time; their times are not in the entries."""

    batch: Batch
    identities: list[Identity]


def helpers_for(wanted: int | None, size: int, least: int | None = None) -> int:
    """How many helpers read files of ``size`` bytes together; ``wanted`` None: one a core. None below ``least``."""
    if wanted == 0 or size < (LEAST_BYTES if least is None else least) or not sys.executable:
        return 0
    return min(wanted or os.cpu_count() or 1, MOST_HELPERS)


def read_apart(root: Path, settings: dict[str, Any], wanted: int | None, path: str, size: int) -> Batch | None:
    """What a helper has read of one file, if it is large; None for others, and where there is no helper.

    Blocks as long as that takes. The file may have changed since its ``size`` was looked at.
    """
    if size < LARGE_BYTES or wanted == 0:
        return None
    ahead = ReadAhead(root, settings, 1, LARGE_BYTES)
    try:
        ahead.expect(path, size)
        ahead.expect_no_more()
        intake = ahead.take(path)
    finally:
        ahead.close()
    return intake.batch if intake is not None and len(intake.batch) else None


class ReadAhead:
    """Reads files in the order they are expected in. :meth:`close` it when all have been asked for.

    Helpers begin when there is enough for them to do, while further files are still being looked for.
    """

    def __init__(self, root: Path, settings: dict[str, Any], wanted: int | None, least: int | None = None) -> None:
        """``wanted`` helpers, None for one a core; they read ``least`` bytes or more, None for what pays."""
        self._hello, self._wanted_helpers, self._least = {"root": str(root), **settings}, wanted, least
        self._size = self._room = 0  # bytes of all files, and for how many more there is room in the last batch
        self._order: list[list[str]] = []
        self._large: dict[str, int] = {}  # sizes of files that are a batch by themselves
        self._whole = 0  # batches to which nothing is added any more
        self._begins: dict[str, int] = {}
        self._ready: dict[int, Intake | None] = {}
        self._next = self._wanted = self._ahead = self._running = 0
        self._changed = threading.Condition()
        self._complete = self._closed = False
        self._pairs = [PairNumbers() for _ in range(3)]
        self._processes: list[subprocess.Popen[bytes]] = []
        self._threads: list[threading.Thread] = []

    def expect(self, path: str, size: int) -> None:
        """Say that a file of so many bytes will be asked for, after those before."""
        if not self._order or len(self._order[-1]) == BATCH or size > self._room:
            self._open_batch(path)
        self._order[-1].append(path)
        if size > BATCH_BYTES:
            self._large[path] = size
        self._room -= size
        self._size += size

    def _open_batch(self, path: str) -> None:
        with self._changed:
            self._whole = len(self._order)
            self._begins[path] = self._whole
            self._order.append([])
            self._room = BATCH_BYTES
            self._changed.notify_all()
        if not self._threads:
            self._begin()

    def expect_no_more(self) -> None:
        """Say that these were all."""
        with self._changed:
            self._divide_last()
            self._whole, self._complete = len(self._order), True
            self._changed.notify_all()
        if not self._threads:
            self._begin()

    def _divide_last(self) -> None:
        """Make the last batch for each helper several: while one reads the very last, the others have nothing to do."""
        first = max(self._next, len(self._order) - len(self._threads))
        last = self._order[first:]
        del self._order[first:]
        for paths in last:
            for begin in range(0, len(paths), LAST_BATCH):
                self._begins[paths[begin]] = len(self._order)
                self._order.append(paths[begin : begin + LAST_BATCH])

    def _begin(self) -> None:
        helpers = helpers_for(self._wanted_helpers, self._size, self._least)
        self._ahead, self._running = AHEAD * helpers, helpers
        self._threads = [threading.Thread(target=self._tend, name="reme-read", daemon=True) for _ in range(helpers)]
        for thread in self._threads:
            thread.start()

    def take(self, path: str, stop: Callable[[], bool] = lambda: False) -> Intake | None:
        """What was read of the files of which this one is the first; None in all other cases.

        Waits for it, unless ``stop`` says that nobody wants it any more.
        """
        number = self._begins.get(path)
        if number is None:
            return None
        with self._changed:
            for passed in range(self._wanted, number):
                self._ready.pop(passed, None)
            self._wanted = number
            self._changed.notify_all()
            end = time.monotonic() + _PATIENCE * (1 + self._large.get(path, 0) / 1_000_000)
            while not (number in self._ready or not self._running or stop() or time.monotonic() > end):
                self._changed.wait(_PAUSE)
            return self._ready.pop(number, None)

    def close(self) -> None:
        """Let the helpers go."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
            processes = list(self._processes)
        for process in processes:
            process.kill()
        for thread in self._threads:
            thread.join(5.0)
        self._pairs = []  # a few megabytes, while the texts that were put are merged

    def _tend(self) -> None:
        """Have one helper read batch after batch."""
        process, receiver = None, Receiver(self._pairs)
        try:
            process = self._start()
            assert process.stdin is not None
            assert process.stdout is not None
            send(process.stdin, marshal.dumps(self._hello))
            while (number := self._next_batch()) is not None:
                try:
                    send(process.stdin, marshal.dumps(self._order[number]))
                    answer, identities = marshal.loads(receive(process.stdout))
                    found = Intake(receiver.unpacked(answer), identities)
                except BaseException:
                    self._deliver(number, None)
                    raise
                self._deliver(number, found)
        except (OSError, ValueError, TypeError, EOFError) as error:
            if not self._closed:
                log.debug("a helper that reads files has gone: %s", error)
        finally:
            with self._changed:
                self._running -= 1
                self._changed.notify_all()
            if process is not None:
                process.kill()
                process.wait()
                for pipe in (process.stdin, process.stdout):
                    if pipe is not None:
                        _close(pipe)

    def _start(self) -> "subprocess.Popen[bytes]":
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(path or "." for path in sys.path)}
        command = [sys.executable, "-P", "-c", _RUN]  # nothing from the current folder is imported
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            env=environment, start_new_session=True,
        )  # fmt: skip
        with self._changed:
            self._processes.append(process)
        assert process.stdout is not None
        _widen(process.stdout)
        return process

    def _next_batch(self) -> int | None:
        with self._changed:
            self._changed.wait_for(
                lambda: (
                    self._closed
                    or (self._next < self._whole and self._next < self._wanted + self._ahead)
                    or (self._complete and self._next >= self._whole)
                )
            )
            if self._closed or self._next >= self._whole:
                return None
            self._next += 1
            return self._next - 1

    def _deliver(self, number: int, found: Intake | None) -> None:
        with self._changed:
            if number >= self._wanted:
                self._ready[number] = found
            self._changed.notify_all()


def _widen(pipe: IO[bytes]) -> None:
    """Give a pipe room for a batch, where the system has such pipes and lets this user have one."""
    try:
        from fcntl import F_SETPIPE_SZ, fcntl

        fcntl(pipe.fileno(), F_SETPIPE_SZ, _PIPE)
    except (ImportError, OSError):
        return  # the helper waits until its batch is taken


def _close(pipe: IO[bytes]) -> None:
    try:
        pipe.close()
    except OSError:
        log.debug("a pipe was closed at its other end")
