"""Files are read into terms by other processes while this one puts them into the index: a first look uses all cores.

The helpers run :mod:`.reader_process`. They are given a folder and paths, and answer with batches (marshal, over their
own pipes; nothing of it is stored). Whatever goes wrong with one, the files are read in this process.
"""

import logging
import marshal
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from .batch import Batch, Receiver
from .reader_process import Identity, receive, send

log = logging.getLogger(__name__)

BATCH = 100  # files
BATCH_BYTES = 400_000
AHEAD = 3  # batches that may lie ready, for each helper
# Below this a helper's start costs more than it spares.
LEAST_BYTES = 3_000_000
MOST_HELPERS = 4
_PATIENCE = 60.0  # seconds for one batch
_PIPE = 1 << 20  # bytes: a helper need not wait until its batch has been taken, where the system has such pipes
_PAUSE = 0.1  # seconds between two looks whether it is still wanted
_RUN = "from agentscope_reme.index.reader_process import serve; serve()"


@dataclass(frozen=True, slots=True)
class Intake:
    """Files that a helper has read, and which file each was at that time; their times are not in the entries."""

    batch: Batch
    identities: list[Identity]


def helpers_for(wanted: int | None, size: int) -> int:
    """How many helpers read files of ``size`` bytes together; ``wanted`` None: one a core."""
    if wanted == 0 or size < LEAST_BYTES or not sys.executable:
        return 0
    return min(wanted or os.cpu_count() or 1, MOST_HELPERS)


class ReadAhead:
    """Reads files in the order they will be asked for. :meth:`close` it when all have been."""

    def __init__(self, root: Path, files: Sequence[tuple[str, int]], settings: dict[str, Any], helpers: int) -> None:
        """``files`` are paths and sizes."""
        self._order = _batches(files)
        self._begins = {batch[0]: number for number, batch in enumerate(self._order)}
        self._hello = {"root": str(root), **settings}
        self._ready: dict[int, Intake | None] = {}
        self._next = self._wanted = 0
        self._ahead = AHEAD * helpers
        self._changed = threading.Condition()
        self._closed = False
        self._running = helpers
        self._processes: list[subprocess.Popen[bytes]] = []
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
            end = time.monotonic() + _PATIENCE
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

    def _tend(self) -> None:
        """Have one helper read batch after batch."""
        process, receiver = None, Receiver()
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
        process = subprocess.Popen(
            [sys.executable, "-c", _RUN], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            env=environment, start_new_session=True, pipesize=_PIPE,
        )  # fmt: skip
        with self._changed:
            self._processes.append(process)
        return process

    def _next_batch(self) -> int | None:
        with self._changed:
            self._changed.wait_for(
                lambda: self._closed or self._next >= len(self._order) or self._next < self._wanted + self._ahead
            )
            if self._closed or self._next >= len(self._order):
                return None
            self._next += 1
            return self._next - 1

    def _deliver(self, number: int, found: Intake | None) -> None:
        with self._changed:
            if number >= self._wanted:
                self._ready[number] = found
            self._changed.notify_all()


def _batches(files: Sequence[tuple[str, int]]) -> list[list[str]]:
    """Files in order, divided so that no batch takes long."""
    out: list[list[str]] = []
    room = 0
    for path, size in files:
        if not out or len(out[-1]) == BATCH or size > room:
            out.append([])
            room = BATCH_BYTES
        out[-1].append(path)
        room -= size
    return out


def _close(pipe: IO[bytes]) -> None:
    try:
        pipe.close()
    except OSError:
        log.debug("a pipe was closed at its other end")
