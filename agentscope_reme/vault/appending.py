"""Whole lines at the end of a log: written, then durable, or the log is what it was."""

import os
import stat as modes
from contextlib import suppress

from ..errors import NoteError
from .opening import last_byte
from .paths import Place
from .refusals import explained
from .syncing import Syncing, Syncs, write_all


class Appending:
    """Lines that stand in a log and may not be on the disk yet. Whoever made it calls :meth:`finish`, under the lock.

    A log that ends in the stump of a line gets a newline first.
    """

    def __init__(
        self, path: str, place: Place, descriptor: int, data: bytes, created: bool, syncs: Syncs | None
    ) -> None:
        """Write ``data`` to an open log; with ``syncs``, the disk begins at once. Place and descriptor are its own."""
        self._path, self._place, self._descriptor, self._created = path, place, descriptor, created
        self._size = 0
        self._syncing: Syncing | None = None
        self.begins = 0  # the offset of the first line
        try:
            status = os.fstat(descriptor)
            if not modes.S_ISREG(status.st_mode):
                raise NoteError(f"{path} is not a file; nothing was changed", path)
            self._size = self.begins = status.st_size
            if self._size and last_byte(descriptor, self._size) != b"\n":
                data = b"\n" + data
                self.begins += 1
            try:
                write_all(descriptor, data)
                if syncs is not None:
                    self._syncing = syncs.begin(descriptor)
            except BaseException:
                self._cut_back()
                raise
        except BaseException:
            self._close()
            raise

    def finish(self) -> int:
        """Return when the lines are durable: the offset at which they begin. To be called once.

        If the disk refuses, they are cut off, and NoteError says what it did.
        """
        with explained(self._path):
            try:
                if self._syncing is not None:
                    self._syncing.wait()
                else:
                    os.fsync(self._descriptor)
                if self._created:
                    self._place.folder.sync()
            except BaseException:
                self._cut_back()
                raise
            finally:
                self._close()
        return self.begins

    def _cut_back(self) -> None:
        os.ftruncate(self._descriptor, self._size)
        if self._created:
            with suppress(OSError):
                os.unlink(self._place.folder.at(self._place.name), dir_fd=self._place.folder.fd)

    def _close(self) -> None:
        os.close(self._descriptor)
        self._place.folder.close()
