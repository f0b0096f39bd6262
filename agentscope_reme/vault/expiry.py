"""How long offloaded results are kept, and what is said of those that are gone.

A result's age is the time since anyone stored it or pointed to it: whoever still shows a pointer refreshes the file. A
result may go when it is older than the days that were chosen, bears the hash of its own content (so this product wrote
it), and no journal of a session that was active within these days points to it.
"""

import json
import logging
import os
import re
from collections.abc import Collection, Iterable
from datetime import datetime, timedelta
from typing import Any

from ..errors import NoteError, NoteNotFound, PathError
from .jsonable import dumps
from .layout import DIALOG, TOOL_RESULT, iter_files
from .paths import locate, parse_path
from .storage import Storage, digest_of

log = logging.getLogger(__name__)

EXPIRED = f"{TOOL_RESULT}/expired.jsonl"
_RESULT = re.compile(rf"{re.escape(TOOL_RESULT)}/[0-9a-f]{{16,64}}\.[a-z0-9]{{1,8}}")
_RESULT_BYTES = re.compile(_RESULT.pattern.encode())
_BLOCK = 1 << 20
_LONGEST = len(TOOL_RESULT) + 80


def results_in(value: Any) -> set[str]:
    """Return the paths of offloaded results that are mentioned anywhere in a value of dictionaries, lists and texts."""
    if isinstance(value, str):
        return set(_RESULT.findall(value)) if TOOL_RESULT in value else set()
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, list | tuple):
        return set()
    return {path for part in value for path in results_in(part)}


def refresh(storage: Storage, paths: Iterable[str], now: datetime) -> None:
    """Make results as young as ``now``; those that are not there are passed over."""
    time = now.timestamp()
    for path in paths:
        try:
            with locate(storage.root, parse_path(path)) as place:
                if place.lstat() is not None:
                    os.utime(place.folder.at(place.name), (time, time), dir_fd=place.folder.fd, follow_symlinks=False)
        except (OSError, PathError, NotImplementedError) as error:
            log.debug("%s could not be refreshed (%s)", path, error)


def expire_results(storage: Storage, days: float, *, now: datetime, keep: Collection[str] = ()) -> list[str]:
    """Remove results that may go; return their paths. Each is noted in ``expired.jsonl`` before it is removed.

    Args:
        storage: The vault's files.
        days: How long a result is kept.
        now: The present time, aware.
        keep: Results that are pointed to from outside the journals.
    """
    limit = (now - timedelta(days=days)).timestamp()
    old = [
        path
        for path, status in iter_files(storage.root, TOOL_RESULT, skip=())
        if _RESULT.fullmatch(path) and status.st_mtime < limit and path not in keep
    ]
    if not old:
        return []
    pointed_to = _pointed_to(storage, limit)
    removed = []
    for path in old:
        if path not in pointed_to and _expire(storage, path, limit, now):
            removed.append(path)
    return removed


def _pointed_to(storage: Storage, limit: float) -> set[str]:
    """What the journals mention that were written to since ``limit``."""
    found: set[str] = set()
    for path, status in iter_files(storage.root, DIALOG, skip=()):
        if status.st_mtime < limit:
            continue
        with storage.opened(path) as (descriptor, _, _):
            rest = b""
            while block := os.read(descriptor, _BLOCK):
                found |= {match.decode() for match in _RESULT_BYTES.findall(rest + block)}
                rest = block[-_LONGEST:]
    return found


def _expire(storage: Storage, path: str, limit: float, now: datetime) -> bool:
    """Remove one result, unless it was refreshed meanwhile or is not what its name says."""
    with storage.lock():
        try:
            with storage.opened(path) as (_, status, _):
                young = status.st_mtime >= limit
            data = b"" if young else storage.read(path)
            name = path.rsplit("/", 1)[-1].split(".")[0]
            if young or not digest_of(data).startswith(name):
                return False
            line = {"path": path, "expired": now.date().isoformat(), "size": len(data)}
            storage.append(EXPIRED, dumps(line).encode("utf-8") + b"\n")
            storage.remove(path)
        except (NoteError, PathError, OSError) as error:
            log.warning("%s could not be removed (%s); it stays.", path, error)
            return False
    return True


def expired_on(storage: Storage, path: str) -> str | None:
    """Return the date on which a result expired, ``YYYY-MM-DD``; None when nothing is known of it."""
    if not _RESULT.fullmatch(path):
        return None
    try:
        lines = storage.read(EXPIRED).split(b"\n")
    except NoteNotFound:
        return None
    for line in reversed(lines):
        try:
            entry = json.loads(line)
            if entry["path"] == path:
                return str(entry["expired"])
        except (ValueError, KeyError, TypeError):
            continue
    return None


def not_there(storage: Storage, path: str, error: NoteNotFound) -> NoteNotFound:
    """Return what to say of a file that is not there: of an offloaded result, when it expired."""
    name = "/".join(parse_path(path))
    day = expired_on(storage, name)
    if day is None:
        return error
    return NoteNotFound(f"{name} expired on {day}; call the tool again if its result is needed", name)
