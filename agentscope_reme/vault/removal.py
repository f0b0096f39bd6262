"""Removing a note or a folder: it goes to the trash in ``history/``, from where ``undo`` brings it back."""

import stat as modes

from ..errors import NoteNotFound, PathError
from ..models import NoteChange
from .files import Files
from .history import Change, HistoryEntry
from .inbound import links_to
from .layout import TEMP_PREFIX, iter_files
from .paths import locate, parse_path


def remove(files: Files, path: str, *, actor: str, reason: str) -> NoteChange:
    """See :meth:`Vault.delete`."""
    if not parse_path(path, folder=True):
        raise PathError("the root of the vault cannot be deleted; name a note or a folder in it")
    real = files.real_path(path, actor=actor, folder=True, follow=False)
    links = links_to(files, set(files_below(files, real)))
    with files.storage.lock():
        entry, gone = to_trash(files, real, actor=actor, reason=reason)
    for file in gone:
        files.publish(file, "removed")
    return NoteChange(
        real, "removed", "", entry.id, links=tuple(link for link in links if link.source_path not in gone)
    )


def to_trash(
    files: Files, real: str, *, actor: str, reason: str, group: str | None = None, of: str | None = None
) -> tuple[HistoryEntry, list[str]]:
    """Record and move to the trash in one step, under the lock; the entry, and the files that are gone."""
    gone = files_below(files, real)
    old = files.storage.read(real) if gone == [real] else None
    (entry,) = files.log.record([Change(real, "removed", old, of=of)], actor=actor, reason=reason, group=group)
    try:
        files.storage.rename(real, entry.moved_to or "")
    except BaseException:
        files.log.void([entry], "it could not be moved to the trash")
        raise
    return entry, gone


def files_below(files: Files, real: str) -> list[str]:
    """The regular files that are this path or lie below it, hidden ones too. NoteNotFound when there is nothing."""
    try:
        with locate(files.root, parse_path(real), follow_last=False) as place:
            status = place.lstat()
    except FileNotFoundError:
        status = None
    if status is None:
        raise NoteNotFound(f"there is no {real} in the vault", real)
    if not modes.S_ISDIR(status.st_mode):
        return [real] if modes.S_ISREG(status.st_mode) else []
    below = iter_files(files.root, real, skip=(), hidden=True)
    return sorted(path for path, _ in below if not path.rpartition("/")[2].startswith(TEMP_PREFIX))
