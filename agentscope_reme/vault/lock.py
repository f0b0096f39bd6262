"""One writer at a time: a lock among the threads of this process, then an OS lock among processes.

The OS frees its lock when the owner dies, so a dead writer never stops the next one. Readers take no lock.
"""

import os
import stat as modes
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import NoteError
from .layout import METADATA
from .refusals import refusal

if TYPE_CHECKING:
    from filelock import BaseFileLock

LOCK_SECONDS = 30.0
_POLL_SECONDS = 0.005


class _Own:
    """The lock as one process has it: a fork has the objects of its parent and must not use them."""

    def __init__(self) -> None:
        self.process = os.getpid()
        self.threads = threading.RLock()
        self.held = 0
        self.lock: BaseFileLock | None = None


class VaultLock:
    """The lock of one vault. ``path`` makes the folder of the lock file when it is missing, and returns the file."""

    def __init__(self, path: Callable[[], Path]) -> None:
        self._path = path
        self._own = _Own()
        self._folder: tuple[Path, tuple[int, int]] | None = None  # of the lock file, and which one that was

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the lock; may be nested. NoteError when another process keeps it for 30 seconds."""
        if self._own.process != os.getpid():
            self._own = _Own()
        own = self._own
        with own.threads:
            if own.held == 0:
                self._acquire(own)
            own.held += 1
            try:
                yield
            finally:
                own.held -= 1
                if own.held == 0 and own.lock is not None:
                    own.lock.release()

    def _acquire(self, own: _Own) -> None:
        from filelock import FileLock, Timeout

        if own.lock is None or self._folder is None or _which(self._folder[0]) != self._folder[1]:
            path = self._path()
            which = _which(path.parent)
            self._folder = (path.parent, which) if which is not None else None
            if own.lock is None:
                own.lock = FileLock(path, timeout=LOCK_SECONDS, thread_local=False)
        try:
            own.lock.acquire(poll_interval=_POLL_SECONDS)
        except Timeout as error:
            raise NoteError(
                f"another process has been writing to the vault for {LOCK_SECONDS:.0f} seconds; nothing was changed"
            ) from error
        except OSError as error:
            raise refusal(error, METADATA) from error


def _which(folder: Path) -> tuple[int, int] | None:
    """What tells a folder from any other that may come to lie there; None where it is a link or no folder."""
    try:
        status = os.lstat(folder)
    except OSError:
        return None
    return (status.st_dev, status.st_ino) if modes.S_ISDIR(status.st_mode) else None
