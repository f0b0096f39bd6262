"""Durable replace, append, move and remove: the only module that opens a vault file for writing.

Every change is made under one lock per vault (an OS lock on ``metadata/vault.lock``, so that a dead owner frees it);
readers take none. ``docs/durability.md`` says what is promised and which races remain.
"""

import hashlib
import logging
import os
import secrets
import stat as modes
import sys
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, suppress
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Final, Literal

from ..errors import NoteChanged, NoteError, NoteExists, NoteNotFound, PathError
from .appending import Appending
from .layout import DIALOG, HISTORY, METADATA, TEMP_PREFIX, TOOL_RESULT, iter_files
from .lock import VaultLock
from .opening import Opened, opened, read_all, read_file, read_unlinked
from .paths import Folder, Place, locate, parse_path, refuse_twin, unportable
from .refusals import explained, refusal
from .syncing import Syncs, write_all

log = logging.getLogger(__name__)

VERSION_LENGTH = 16
_OURS = tuple(tuple(folder.split("/")) for folder in (TOOL_RESULT, DIALOG))


class _Any(Enum):
    ANY = "any"


ANY: Final = _Any.ANY
Expectation = str | None | Literal[_Any.ANY]


def digest_of(data: bytes) -> str:
    """SHA-256 of some bytes, in hex."""
    return hashlib.sha256(data).hexdigest()


def version_of(data: bytes) -> str:
    """The version of a file with these bytes: the first 16 hex digits (64 bits) of their SHA-256."""
    return digest_of(data)[:VERSION_LENGTH]


def is_version(version: str, seen: str) -> bool:
    """Whether ``seen``, a version or a whole SHA-256, is ``version``."""
    return len(seen) >= VERSION_LENGTH and seen[:VERSION_LENGTH].lower() == version


class Storage:
    """The files of one vault. All paths are vault-relative; OS errors come out as NoteError with a sentence."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._lock = VaultLock(self._lock_path)
        self._syncs = Syncs()
        self._swept: set[tuple[str, ...]] = set()
        self._quick: Callable[[str], bytes | None] | None = None

    def lock(self) -> AbstractContextManager[None]:
        """Exclude every other writer of this vault, in this process and in others; may be nested."""
        return self._lock.held()

    def _lock_path(self) -> Path:
        return self.lock_file("vault.lock")

    def lock_file(self, name: str) -> Path:
        """Where a lock file of the vault lies; its folder is made."""
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            with locate(self.root, (METADATA, name), make=_make_folder) as place:
                return place.folder.path / place.name
        except OSError as error:
            raise refusal(error, METADATA) from error

    # --- reading --------------------------------------------------------------------------------------------------

    def opened(self, path: str) -> AbstractContextManager[Opened]:
        """A regular file, open for reading: descriptor, status, and its path without links.

        NoteNotFound when there is none, PathError when it may not be used.
        """
        return opened(self.root, path)

    def read(self, path: str) -> bytes:
        """All bytes of a file."""
        if self._quick is not None and (data := self._quick(path)) is not None:
            return data
        return read_file(self.root, path)

    def read_plain_files_by(self, read: Callable[[bytes, str], bytes | None]) -> None:
        """Have a function asked first that may know a quicker way to the bytes of a file below a folder.

        The folder is given to it without links, as the system knows it and with a stroke at its end. It gives None
        for a file to which a link leads, for a path that is not plain, and whenever it cannot tell.
        """
        root = str(self.root)
        # Another root by now than without links: then only a walk says what lies in the vault.
        if sys.getfilesystemencoding() == "utf-8" and os.path.realpath(root) == root and root != os.sep:
            self._quick = partial(read, os.fsencode(root + os.sep))

    def read_unlinked(self, path: str, most: int) -> tuple[bytes, os.stat_result] | None:
        """All bytes of a file of at most ``most`` and its status; None when it has more, or a link leads to it."""
        return read_unlinked(self.root, path, most)

    def read_if_any(self, path: str) -> bytes | None:
        """All bytes of a file, or None when there is nothing of that name."""
        try:
            return self.read(path)
        except NoteNotFound:
            # What is there now is no file, or was made this very moment by another writer.
            return self.read(path) if self.exists(path) else None

    def exists(self, path: str, *, follow: bool = True) -> bool:
        """Whether there is anything of that name; with ``follow=False`` a link itself counts, wherever it leads."""
        try:
            with locate(self.root, parse_path(path), follow_last=follow) as place:
                return place.lstat() is not None
        except OSError:
            return False

    # --- writing --------------------------------------------------------------------------------------------------

    def replace(
        self,
        path: str,
        data: bytes,
        *,
        expect: Expectation = ANY,
        beside: str = "",
        sync: bool = True,
        first: Callable[[], object] | None = None,
    ) -> str:
        """Make ``data`` the content of a file, all of it or nothing, and return its version.

        ``expect`` is the version that is replaced, None for a file that must not exist, ANY for whatever is there.
        Raises NoteChanged or NoteExists when it is not so. A mode and a symlink inside the vault are kept; the file is
        the old one until the bytes are on the disk. ``beside`` is a file whose name may differ only in case: the one
        that is being renamed. With ``sync=False`` the folder is left for :meth:`sync_folders`, when many are replaced.
        ``first`` is called when the bytes are on the disk and the file is the old one still; if it raises, it stays so.
        """
        names = parse_path(path)
        with self.lock(), explained(path), locate(self.root, names, make=_make_folder) as place:
            status = place.lstat()
            if status is None:
                if problem := unportable((place.name,)):
                    raise PathError(problem)
                if not _is_ours(place.folder):
                    refuse_twin(place.folder, place.name, beside.rsplit("/", 1)[-1])
            elif not modes.S_ISREG(status.st_mode):
                raise NoteError(f"{path} is not a file; nothing was changed", path)
            elif not status.st_mode & 0o222:
                raise NoteError(f"{path} is write-protected; nothing was changed", path)
            self._sweep(place.folder)
            temporary = _write_temporary(place.folder, data, status)
            try:
                if first is not None:
                    first()
                _check(place, path, expect)
                if expect is None:
                    _publish_new(place, temporary, path)
                else:
                    _rename(place.folder, temporary, place.folder, place.name)
                temporary = ""
                if sync:
                    place.folder.sync()
            finally:
                if temporary:
                    _discard(place.folder, temporary)
        return version_of(data)

    def sync_folders(self, paths: Iterable[str]) -> None:
        """Make what was replaced without it durable: the folders that these files lie in, each once."""
        for folder in sorted({path.rpartition("/")[0] for path in paths}):
            with explained(folder), locate(self.root, (*parse_path(folder, folder=True), ".")) as place:
                place.folder.sync()

    def append(self, path: str, data: bytes) -> int:
        """Add whole lines to a log, durably; returns the offset at which they begin.

        A file that ends in the stump of a line gets a newline first. When the disk refuses, the file is cut back to
        what it was. A crash can leave the stump of a line, which readers of logs skip; notes are replaced instead.
        """
        with self.lock():
            return self._append(path, data, None).finish()

    def begin_append(self, path: str, data: bytes) -> Appending:
        """The same for a caller who has the lock and goes on while the disk writes, until :meth:`.Appending.finish`."""
        return self._append(path, data, self._syncs)

    def _append(self, path: str, data: bytes, syncs: Syncs | None) -> Appending:
        names = parse_path(path)
        with explained(path):
            place = locate(self.root, names, make=_make_folder)
            try:
                created = place.lstat() is None
                descriptor = place.folder.open(place.name, os.O_RDWR | os.O_APPEND | os.O_CREAT)
            except BaseException:
                place.folder.close()
                raise
            return Appending(path, place, descriptor, data, created, syncs)

    def remove(self, path: str, *, expect: str | None = None) -> None:
        """Unlink a file, or the link itself when it is one. Nothing there is not an error.

        With ``expect``, a version, NoteChanged is raised when the file is another one by now.
        """
        names = parse_path(path)
        with self.lock(), explained(path):
            try:
                with locate(self.root, names, follow_last=False) as place:
                    if expect is not None and place.lstat() is not None:
                        _check(place, path, expect)
                    _unlink(place.folder, place.name)
                    place.folder.sync()
            except FileNotFoundError:
                return

    def rename(self, path: str, new_path: str) -> None:
        """Move a file, link or folder in one step to a name that is free."""
        names, new_names = parse_path(path), parse_path(new_path)
        with (
            self.lock(),
            explained(path),
            locate(self.root, names, follow_last=False) as place,
            locate(self.root, new_names, make=_make_folder, follow_last=False) as target,
        ):
            if target.lstat() is not None:
                raise NoteExists(f"{new_path} exists; nothing was changed", new_path)
            _rename(place.folder, place.name, target.folder, target.name)
            target.folder.sync()
            place.folder.sync()

    def remove_tree(self, path: str) -> None:
        """Remove a file, or a folder and all below it; links are removed and not followed."""
        with self.lock(), explained(path), locate(self.root, parse_path(path), follow_last=False) as place:
            _remove_below(place.folder, place.name)
            place.folder.sync()

    def prune_folder(self, path: str) -> bool:
        """Remove a folder if it is empty; whether it was."""
        with self.lock():
            try:
                with locate(self.root, parse_path(path), follow_last=False) as place:
                    os.rmdir(place.folder.at(place.name), dir_fd=place.folder.fd)
                    place.folder.sync()
            except (OSError, PathError):
                return False
        return True

    def sweep(self) -> list[str]:
        """Remove what writers that died left anywhere in the vault; the paths of what was removed.

        Writers do so in each folder they come to; this is for start and ``doctor``, as it walks all folders.
        """
        found = []
        with self.lock():
            for path, _ in iter_files(self.root, skip=(), hidden=True):
                if path.rpartition("/")[2].startswith(TEMP_PREFIX):
                    self.remove(path)
                    found.append(path)
        return found

    def _sweep(self, folder: Folder) -> None:
        """Remove temporaries of writers that died: whoever holds the lock is the only living writer."""
        if folder.names in self._swept:
            return
        for name in folder.entries():
            if name.startswith(TEMP_PREFIX):
                _discard(folder, name)
        self._swept.add(folder.names)


def _write_temporary(folder: Folder, data: bytes, like: os.stat_result | None) -> str:
    name = f"{TEMP_PREFIX}{os.getpid()}-{secrets.token_hex(6)}"
    descriptor = folder.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    try:
        try:
            if like is not None:
                _keep_mode(descriptor, like)
            write_all(descriptor, data)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except BaseException:
        _discard(folder, name)
        raise
    return name


def _keep_mode(descriptor: int, like: os.stat_result) -> None:
    if not hasattr(os, "fchmod"):
        return
    mine = os.fstat(descriptor)
    if (mine.st_uid, mine.st_gid) != (like.st_uid, like.st_gid):
        try:
            os.fchown(descriptor, like.st_uid, like.st_gid)
        except OSError:
            log.debug("the owner of a replaced file could not be kept")
    os.fchmod(descriptor, modes.S_IMODE(like.st_mode))


def _check(place: Place, path: str, expect: Expectation) -> None:
    if expect is ANY:
        return
    try:
        descriptor = place.folder.open(place.name, os.O_RDONLY)
    except FileNotFoundError:
        if expect is not None:
            raise NoteChanged(f"{path} was removed since you read it; nothing was changed", path) from None
        return
    try:
        if expect is None:
            raise NoteExists(f"{path} exists; nothing was changed", path)
        present = version_of(read_all(descriptor, os.fstat(descriptor).st_size))
    finally:
        os.close(descriptor)
    if not is_version(present, expect):
        raise NoteChanged(
            f"{path} has changed since you read it (it is now version {present}); nothing was changed, read it again",
            path,
        )


def _publish_new(place: Place, temporary: str, path: str) -> None:
    """Give a new file its name; a hard link, unlike a rename, never replaces what another program just put there."""
    try:
        os.link(
            place.folder.at(temporary),
            place.folder.at(place.name),
            src_dir_fd=place.folder.fd,
            dst_dir_fd=place.folder.fd,
            follow_symlinks=False,
        )
    except FileExistsError:
        raise NoteExists(f"{path} exists; nothing was changed", path) from None
    except (OSError, NotImplementedError):  # a disk without hard links
        if place.lstat() is not None:
            raise NoteExists(f"{path} exists; nothing was changed", path) from None
        _rename(place.folder, temporary, place.folder, place.name)
        return
    _discard(place.folder, temporary)


def _is_ours(folder: Folder) -> bool:
    """Whether the names in a folder are made here, from hashes and ids, so that none differ only in case."""
    return folder.names[:1] in ((HISTORY,), (METADATA,)) or folder.names[:2] in _OURS


def _make_folder(here: Folder, name: str) -> None:
    if not _is_ours(here):
        refuse_twin(here, name)
    if problem := unportable((name,)):
        raise PathError(problem)
    with suppress(FileExistsError):
        os.mkdir(here.at(name), dir_fd=here.fd)
        here.sync()


def _rename(folder: Folder, name: str, target: Folder, new_name: str) -> None:
    os.replace(folder.at(name), target.at(new_name), src_dir_fd=folder.fd, dst_dir_fd=target.fd)


def _unlink(folder: Folder, name: str) -> None:
    os.unlink(folder.at(name), dir_fd=folder.fd)


def _remove_below(folder: Folder, name: str) -> None:
    status = folder.lstat(name)
    if status is None:
        return
    if not modes.S_ISDIR(status.st_mode):
        _unlink(folder, name)
        return
    with folder.child(name) as inner:
        for entry in inner.entries():
            _remove_below(inner, entry)
    os.rmdir(folder.at(name), dir_fd=folder.fd)


def _discard(folder: Folder, name: str) -> None:
    try:
        _unlink(folder, name)
    except OSError:
        log.debug("a temporary file could not be removed: %s", name)
