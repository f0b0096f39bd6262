"""How long the history is kept, and forgetting what it knows of a note."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta

from .changelog import LOG, OBJECTS, TRASH, Record, file_of
from .history import History
from .layout import iter_files
from .storage import ANY

KEEP_DAYS = 90.0
KEEP_BYTES = 256 * 1024 * 1024


def prune(history: History, *, max_age_days: float = KEEP_DAYS, max_bytes: int = KEEP_BYTES) -> list[str]:
    """Let go of what is older than ``max_age_days``, then of the oldest contents until the rest fits ``max_bytes``.

    Concerns entries, kept contents and the trash, never a note. Returns the removed files.
    """
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


def purge(history: History, paths: Iterable[str]) -> list[str]:
    """Forget notes: their entries, their kept contents that no other note's entry needs, and their trash.

    A folder stands for all that lay in it. Returns the removed files.
    """
    wanted = tuple(paths)

    def is_wanted(name: str | None) -> bool:
        return name is not None and any(name == path or name.startswith(path + "/") for path in wanted)

    with history.storage.lock():
        records = history.records()
        left = [
            record
            for record in records
            if not is_wanted(record.entry.path)
            and not (record.entry.kind == "moved" and is_wanted(record.entry.moved_to))
        ]
        needed = {file_of(record) for record in left}
        gone = dict.fromkeys(path for record in records if (path := file_of(record)) and path not in needed)
        removed = _drop(history, list(gone))
        if len(left) < len(records):
            _rewrite(history, left)
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
