"""How long the history is kept."""

import os
from dataclasses import replace
from datetime import datetime, timedelta

from ..errors import NoteNotFound
from .changelog import LOG, OBJECTS, TRASH, Record, file_of, parse_line
from .history import History
from .layout import iter_files
from .storage import ANY

KEEP_DAYS = 90.0
KEEP_BYTES = 256 * 1024 * 1024
_SLACK = 1.1  # over its bounds by this much before it is rewritten, so that not every look rewrites it


def prune_if_due(history: History) -> list[str]:
    """:func:`prune`, when the oldest entry or the size of it all is over its bound. Reads one line, and sizes."""
    try:
        with history.storage.opened(LOG) as (descriptor, status, _):
            oldest = parse_line(os.read(descriptor, 65_536).partition(b"\n")[0])
            size = status.st_size
    except NoteNotFound:
        return []
    limit = history.clock() - timedelta(days=KEEP_DAYS * _SLACK)
    aged = oldest is not None and not _is_after(oldest.entry.time, limit)
    if aged or size + sum(_sizes(history).values()) > KEEP_BYTES * _SLACK:
        return prune(history)
    return []


def prune(history: History, *, max_age_days: float = KEEP_DAYS, max_bytes: int | None = None) -> list[str]:
    """Let go of what is older than ``max_age_days``, then of the oldest contents until the rest fits ``max_bytes``.

    Concerns entries, kept contents and the trash, never a note. Returns the removed files.
    """
    max_bytes = KEEP_BYTES if max_bytes is None else max_bytes
    with history.storage.lock():
        history.settle()
        records = history.records()
        oldest = history.clock() - timedelta(days=max_age_days)
        sizes = _sizes(history)
        kept: list[Record] = []
        files: set[str] = set()
        room = max_bytes
        for record in reversed(records):
            if not _is_after(record.entry.time, oldest):
                continue
            path = file_of(record)
            cost = len(record.kept or b"") + (sizes.get(path, 0) if path and path not in files else 0)
            room -= cost
            if room >= 0:
                files |= {path} if path else set()
                kept.append(record)
            else:
                kept.append(replace(record, kept=None))
        kept.reverse()
        removed = _drop(history, [path for path in sizes if path not in files])
        if kept != records:
            _rewrite(history, kept)
    return removed


def _sizes(history: History) -> dict[str, int]:
    """Bytes of the kept contents that are files, and of what lies in the trash, each removal as one."""
    sizes: dict[str, int] = {}
    for path, status in iter_files(history.storage.root, OBJECTS, skip=()):
        sizes[path] = status.st_size
    for path, status in iter_files(history.storage.root, TRASH, skip=(), hidden=True):
        removal = "/".join(path.split("/")[:3])
        sizes[removal] = sizes.get(removal, 0) + status.st_size
    return sizes


def _drop(history: History, paths: list[str]) -> list[str]:
    removed = []
    for path in paths:
        if history.storage.exists(path, follow=False):
            history.storage.remove_tree(path)
            removed.append(path)
    return removed


def _rewrite(history: History, records: list[Record]) -> None:
    history.storage.replace(LOG, b"".join(record.line() for record in records), expect=ANY)


def _is_after(time: str, limit: datetime) -> bool:
    try:
        moment = datetime.fromisoformat(time)
    except ValueError:
        return False
    return moment.astimezone() >= limit
