"""Files are read into terms by other processes while this one puts them into the index: a first look uses all cores.

The helpers run this module. They are given a folder and paths, and answer with entries as plain values (marshal, over
their own pipes; nothing of it is stored). Whatever goes wrong with one, the file is read in this process.
"""

import hashlib
import logging
import marshal
import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

from .entries import FileEntry, UnitEntry

log = logging.getLogger(__name__)

BATCH = 40  # files
AHEAD = 3  # batches that may lie ready, for each helper
# Below this a helper's start costs more than it spares.
LEAST_BYTES = 3_000_000
MOST_HELPERS = 4
_PATIENCE = 60.0  # seconds for one batch
_UNIT = tuple(UnitEntry.__slots__)
_ENTRY = (
    "path", "size", "digest", "encoding", "kind", "title", "day", "description", "tags", "aliases", "front", "lines",
    "fault", "labels",
)  # fmt: skip
_RUN = "from agentscope_reme.index.read_ahead import serve; serve()"

Read = tuple[FileEntry, list[UnitEntry]]


def helpers_for(wanted: int | None, size: int) -> int:
    """How many helpers read files of ``size`` bytes together; ``wanted`` None: one a core."""
    if wanted == 0 or size < LEAST_BYTES or not sys.executable:
        return 0
    return min(wanted or os.cpu_count() or 1, MOST_HELPERS)


class ReadAhead:
    """Reads files in the order they will be asked for. :meth:`close` it when all have been."""

    def __init__(self, root: Path, paths: Sequence[str], settings: dict[str, Any], helpers: int) -> None:
        self._order = [list(paths[at : at + BATCH]) for at in range(0, len(paths), BATCH)]
        self._batch_of = {path: number for number, batch in enumerate(self._order) for path in batch}
        self._hello = {"root": str(root), **settings}
        self._ready: dict[int, dict[str, Any]] = {}
        self._next = self._wanted = 0
        self._ahead = AHEAD * helpers
        self._changed = threading.Condition()
        self._closed = False
        self._running = helpers
        self._processes: list[subprocess.Popen[bytes]] = []
        self._threads = [threading.Thread(target=self._tend, name="reme-read", daemon=True) for _ in range(helpers)]
        for thread in self._threads:
            thread.start()

    def take(self, path: str, data: bytes) -> Read | None:
        """What a helper read, if it read these bytes; None when this process must."""
        number = self._batch_of.get(path)
        if number is None:
            return None
        with self._changed:
            for passed in range(self._wanted, number):
                self._ready.pop(passed, None)
            self._wanted = max(self._wanted, number)
            self._changed.notify_all()
            self._changed.wait_for(lambda: number in self._ready or not self._running, _PATIENCE)
            found = self._ready.get(number, {}).pop(path, None)
        if found is None or found[0]["digest"] != hashlib.sha256(data).hexdigest():
            return None
        return _entry(*found)

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
        process = None
        try:
            process = self._start()
            assert process.stdin is not None
            assert process.stdout is not None
            _send(process.stdin, self._hello)
            while (number := self._next_batch()) is not None:
                try:
                    _send(process.stdin, self._order[number])
                    found = _receive(process.stdout)
                except BaseException:
                    self._deliver(number, {})
                    raise
                self._deliver(number, found)
        except (OSError, ValueError, EOFError) as error:
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
            env=environment, start_new_session=True,
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

    def _deliver(self, number: int, found: dict[str, Any]) -> None:
        with self._changed:
            if number >= self._wanted:
                self._ready[number] = found
            self._changed.notify_all()


def serve() -> None:
    """What a helper does: read the settings, then answer each batch of paths until there are no more."""
    from ..vault.storage import Storage
    from .tokenizer import Tokenizer

    requests, answers = sys.stdin.buffer, sys.stdout.buffer
    try:
        hello = _receive(requests)
        storage, tokenizer = Storage(Path(hello.pop("root"))), Tokenizer(hello.pop("chinese"))
        while True:
            batch = _receive(requests)
            _send(answers, {path: values for path in batch if (values := _read(storage, path, tokenizer, hello))})
    except (EOFError, OSError):
        return  # nobody asks any more


def _read(storage: Any, path: str, tokenizer: Any, settings: dict[str, Any]) -> Any:
    from .reading import MAX_FILE_BYTES, read_entries

    try:
        with storage.opened(path) as (_, status, real):
            if real != path or status.st_size > MAX_FILE_BYTES:
                return None
        entry, units = read_entries(path, storage.read(path), tokenizer, **settings)
    except Exception:
        return None  # the process that asked meets the same, and says so
    fields = {name: getattr(entry, name) for name in _ENTRY}
    links = [[getattr(link, name) for name in link.__slots__] for link in entry.links]
    anchors = [(anchor.target, anchor.terms) for anchor in entry.anchors]
    return fields, links, anchors, [tuple(getattr(unit, name) for name in _UNIT) for unit in units]


def _entry(fields: dict[str, Any], links: list[Any], anchors: list[Any], units: list[Any]) -> Read:
    from ..models import FileLink
    from .anchors import Anchor

    entry = FileEntry(
        **fields,
        mtime=0,
        ctime=0,
        checked=0,
        links=tuple(FileLink(*link) for link in links),
        anchors=tuple(Anchor(target, terms) for target, terms in anchors),
    )
    return entry, [UnitEntry(*unit) for unit in units]


def _send(pipe: IO[bytes], value: Any) -> None:
    data = marshal.dumps(value)
    pipe.write(len(data).to_bytes(8, "little") + data)
    pipe.flush()


def _receive(pipe: IO[bytes]) -> Any:
    size = int.from_bytes(_exactly(pipe, 8), "little")
    return marshal.loads(_exactly(pipe, size))


def _exactly(pipe: IO[bytes], size: int) -> bytes:
    data = pipe.read(size)
    if len(data) < size:
        raise EOFError("the pipe has ended")
    return data


def _close(pipe: IO[bytes]) -> None:
    try:
        pipe.close()
    except OSError:
        log.debug("a pipe was closed at its other end")
