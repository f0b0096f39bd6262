"""What lies in the vault: listing a folder, and the status of one file."""

import hashlib
import os
import stat as modes
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, tzinfo
from typing import Literal

from ..errors import NoteError, NoteNotFound
from .encoding import kind_of
from .layout import UNINDEXED, is_conflict_copy, is_ignored, is_nameable, iter_files
from .paths import locate, parse_path
from .refusals import refusal
from .storage import VERSION_LENGTH, Storage

SortKey = Literal["name", "modified", "size"]


@dataclass(frozen=True, slots=True)
class NoteStat:
    """A file or folder. ``size`` in bytes, ``modified`` aware; ``version`` and ``encoding`` only from ``stat``."""

    path: str
    kind: Literal["file", "folder"]
    size: int
    modified: datetime
    version: str = ""
    encoding: str = ""


@dataclass(frozen=True, slots=True)
class NoteList:
    """What ``list`` found. ``total`` counts all, ``entries`` are the first ``limit`` of them."""

    path: str
    entries: tuple[NoteStat, ...]
    total: int


def status_of(storage: Storage, path: str, zone: tzinfo | None) -> NoteStat:
    """Size, time, version and encoding of a file; size and time of a folder. NoteNotFound when there is neither."""
    shown, status, _ = _look(storage, path)
    if not modes.S_ISREG(status.st_mode):
        return _entry(shown, status, zone)
    hasher, sample = hashlib.sha256(), b""
    with storage.opened(shown) as (descriptor, status, _):
        while block := os.read(descriptor, 1 << 20):
            sample = sample or block
            hasher.update(block)
    found = _entry(shown, status, zone)
    encoding = kind_of(sample, whole=status.st_size <= len(sample)).encoding
    return NoteStat(shown, "file", found.size, found.modified, hasher.hexdigest()[:VERSION_LENGTH], encoding)


def list_folder(
    storage: Storage,
    path: str,
    zone: tzinfo | None,
    *,
    recursive: bool,
    extensions: Iterable[str] | str | None,
    sort_by: SortKey | None,
    limit: int,
    ignore: tuple[str, ...],
) -> NoteList:
    """See :meth:`Vault.list`."""
    if sort_by not in (None, "name", "modified", "size"):
        raise NoteError(f"sort_by is name, modified or size, not {sort_by!r}", path)
    try:
        shown, status, real = _look(storage, path)
    except NoteNotFound:
        if not parse_path(path, folder=True):
            return NoteList("", (), 0)  # a vault in which nothing has been written yet
        raise
    if not modes.S_ISDIR(status.st_mode):
        raise NoteNotFound(f"{path} is a file, not a folder; read it instead", path)
    suffixes = _suffixes(extensions)
    if recursive:
        skip = () if real.startswith(UNINDEXED) else UNINDEXED
        walk = iter_files(storage.root, real, suffixes=suffixes, extra_globs=ignore, skip=skip)
        found = [_entry(file, status, zone) for file, status in walk]
    else:
        try:
            found = _children(storage, real, zone, suffixes, ignore)
        except OSError as error:  # it was moved or replaced since it was looked at
            raise refusal(error, path, reading=True) from error
    found.sort(key=lambda entry: entry.path)
    if sort_by == "modified":
        found.sort(key=lambda entry: entry.modified, reverse=True)
    elif sort_by == "size":
        found.sort(key=lambda entry: entry.size, reverse=True)
    return NoteList(shown, tuple(found[: max(0, limit)]), len(found))


def conflict_copies(storage: Storage) -> tuple[str, ...]:
    """The files that sync programs have set aside: neither indexed nor listed, so somebody has to look at them."""
    found = (path.rpartition("/") for path, _ in iter_files(storage.root, hidden=True))
    return tuple(
        folder + slash + name
        for folder, slash, name in found
        if is_conflict_copy(name) and not name.startswith(".") and not (folder and is_ignored(folder))
    )


def _look(storage: Storage, path: str) -> tuple[str, os.stat_result, str]:
    """The path as it is shown, the status, and the path without links."""
    names = parse_path(path, folder=True)
    try:
        with locate(storage.root, names) as place:
            status, real = place.lstat(), place.path
    except OSError as error:
        raise refusal(error, path, reading=True) from error
    if status is None:
        raise NoteNotFound(f"there is no {path or 'vault yet'} in the vault", path)
    return "/".join(names), status, real


def _children(
    storage: Storage, folder: str, zone: tzinfo | None, suffixes: tuple[str, ...] | None, ignore: tuple[str, ...]
) -> list[NoteStat]:
    found = []
    with locate(storage.root, (*parse_path(folder, folder=True), ".")) as place, place.folder.scan() as scan:
        for entry in scan:
            path = f"{folder}/{entry.name}" if folder else entry.name
            if is_ignored(entry.name) or (ignore and is_ignored(path, ignore)) or not is_nameable(path):
                continue
            try:
                status = entry.stat(follow_symlinks=False)
            except OSError:
                continue
            folder_wanted = modes.S_ISDIR(status.st_mode) and suffixes is None
            named = suffixes is None or entry.name.lower().endswith(suffixes)
            if folder_wanted or (modes.S_ISREG(status.st_mode) and named):
                found.append(_entry(path, status, zone))
    return found


def _entry(path: str, status: os.stat_result, zone: tzinfo | None) -> NoteStat:
    kind: Literal["file", "folder"] = "folder" if modes.S_ISDIR(status.st_mode) else "file"
    return NoteStat(path, kind, status.st_size, datetime.fromtimestamp(status.st_mtime, zone).astimezone(zone))


def _suffixes(extensions: Iterable[str] | str | None) -> tuple[str, ...] | None:
    if not extensions:
        return None
    given = [extensions] if isinstance(extensions, str) else list(extensions)
    return (
        tuple("." + extension.lower().lstrip("*").lstrip(".") for extension in given if extension.strip("*. ")) or None
    )
