"""Opening a file of the vault for reading, and nothing outside it."""

import os
import stat as modes
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from ..errors import NoteNotFound, PathError
from .paths import locate, parse_path, unportable
from .refusals import refusal

_FLAGS = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_DESCRIPTORS = "/proc/self/fd/"


class Opened(NamedTuple):
    """An open regular file; ``path`` is vault-relative, links resolved and names as the disk has them."""

    descriptor: int
    status: os.stat_result
    path: str


@contextmanager
def opened(root: Path, path: str) -> Iterator[Opened]:
    """A regular file, open for reading. NoteNotFound when there is none, PathError when it may not be used."""
    names = parse_path(path)
    if os.name == "nt" and (problem := unportable(names)):
        raise PathError(problem)
    try:
        descriptor, real = _open(root, names)
    except OSError as error:
        if isinstance(error, FileNotFoundError) and (problem := unportable(names)):
            raise PathError(problem) from error
        raise refusal(error, path, reading=True) from error
    try:
        status = os.fstat(descriptor)
        if modes.S_ISDIR(status.st_mode):
            raise NoteNotFound(f"{path} is a folder, not a file; name a file in it", path)
        if not modes.S_ISREG(status.st_mode):
            raise NoteNotFound(f"{path} is not a regular file", path)
        yield Opened(descriptor, status, real)
    except OSError as error:
        raise refusal(error, path, reading=True) from error
    finally:
        os.close(descriptor)


def read_file(root: Path, path: str) -> bytes:
    """All bytes of a regular file; refuses what :func:`opened` refuses."""
    found = _read_at_once(root, path, sys.maxsize)
    if found is not None and found[0] is not None:
        return found[0]
    with opened(root, path) as (walked, status, _):
        return read_all(walked, status.st_size)


def read_unlinked(root: Path, path: str, most: int) -> tuple[bytes, os.stat_result] | None:
    """All bytes of a regular file and its status; None when a link leads to it, or it has more than ``most`` bytes.

    Refuses what :func:`opened` refuses. The path must be written as the disk has it.
    """
    found = _read_at_once(root, path, most)
    if found is not None:
        data, status = found
        return (data, status) if data is not None else None
    with opened(root, path) as (walked, status, real):
        return (read_all(walked, status.st_size), status) if real == path and status.st_size <= most else None


def _read_at_once(root: Path, path: str, most: int) -> tuple[bytes | None, os.stat_result] | None:
    """All bytes of a regular file to which no link leads (None for more than ``most``), and its status.

    None where that is not to be had in one call of the system: the path has to be walked.
    """
    names = parse_path(path)
    descriptor = _open_at_once(str(root), "/".join(names)) if os.name != "nt" else None
    if descriptor is None:
        return None
    try:
        status = os.fstat(descriptor)
        if not modes.S_ISREG(status.st_mode):
            return None
        return (read_all(descriptor, status.st_size) if status.st_size <= most else None), status
    except OSError as error:
        raise refusal(error, path, reading=True) from error
    finally:
        os.close(descriptor)


def read_all(descriptor: int, size: int) -> bytes:
    """The bytes of an open file, also when it grows meanwhile."""
    wanted = min(size + 1, 1 << 30)  # one call gives no more than 2 GiB
    parts = [os.read(descriptor, wanted)]
    while len(parts[-1]) == wanted:
        wanted = 1 << 20
        parts.append(os.read(descriptor, wanted))
    return parts[0] if len(parts) == 1 else b"".join(parts)


def last_byte(descriptor: int, size: int) -> bytes:
    """The last byte of an open file of ``size`` bytes."""
    if hasattr(os, "pread"):
        return os.pread(descriptor, 1, size - 1)
    os.lseek(descriptor, size - 1, os.SEEK_SET)
    return os.read(descriptor, 1)


def _open(root: Path, names: tuple[str, ...]) -> tuple[int, str]:
    path = "/".join(names)
    descriptor = _open_at_once(str(root), path)
    if descriptor is not None:
        return descriptor, path
    with locate(root, names) as place:
        return place.folder.open(place.name, os.O_RDONLY), place.path


def _open_at_once(root: str, path: str) -> int | None:
    """Open by the whole path, then ask the system which file that was: it is the one only if no link was followed.

    A quarter of the calls of a walk. Where the system cannot tell, or says another name, the walk decides.
    """
    if not _can_tell():
        return None
    try:
        descriptor = os.open(f"{root}/{path}", _FLAGS)
    except OSError:
        return None
    try:
        if os.readlink(f"{_DESCRIPTORS}{descriptor}") == f"{_real(root)}/{path}":
            return descriptor
    except OSError:
        pass
    os.close(descriptor)
    return None


@lru_cache(maxsize=1)
def _can_tell() -> bool:
    return os.path.isdir(_DESCRIPTORS)


@lru_cache(maxsize=64)
def _real(root: str) -> str:
    """The root without links. If it is another by now, names do not match, and the walk decides."""
    return os.path.realpath(root)
