"""Forgetting what the history knows of a note: its entries, the contents they keep, its places in the trash.

A note is followed back through its moves: what it was called before is forgotten as far as it was this note, and a name
that another note had before it moved away stays with that note.
"""

import logging
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ..errors import ReMeError
from .changelog import LOG, HistoryEntry, Record, file_of
from .history import History
from .storage import ANY

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Purge:
    """What goes: ``entries`` of the log, and the ``files`` of kept contents and of the trash. ``left`` is the new log.

    ``stripped`` counts entries of other notes that stay without the content they kept.
    """

    entries: tuple[HistoryEntry, ...]
    files: tuple[str, ...]
    stripped: int
    left: tuple[Record, ...]


def plan_purge(
    history: History, paths: Iterable[str], mentions: Mapping[str, Collection[bytes]] | None = None
) -> Purge:
    """What :func:`purge` would remove; changes nothing."""
    records = history.records()
    roots = tuple(paths)
    mine: list[HistoryEntry] = []
    inside: list[str] = []
    left: list[Record] = []
    needed: set[str | None] = set()
    stripped = 0
    for record, belongs, below in _belonging(records, roots):
        if belongs:
            mine.append(record.entry)
            continue
        inside += below
        needles = (mentions or {}).get(record.entry.path, ())
        if needles and _mentions(history, record, needles):
            left.append(replace(record, kept=None))
            stripped += 1
        else:
            left.append(record)
            needed.add(file_of(record))
    exists = history.storage.exists
    files = [path for record in records if (path := file_of(record)) and path not in needed]
    gone = (path for path in dict.fromkeys((*files, *inside)) if exists(path, follow=False))
    return Purge(tuple(reversed(mine)), tuple(gone), stripped, tuple(reversed(left)))


def purge(history: History, paths: Iterable[str], mentions: Mapping[str, Collection[bytes]] | None = None) -> Purge:
    """Forget notes: their entries, their kept contents that no other note's entry needs, and their trash.

    A folder stands for all that lay in it. ``mentions`` has, by path of another note, texts: contents kept of that note
    that hold one of them are let go as well, and its entries stay.
    """
    with history.storage.lock():
        history.settle()
        plan = plan_purge(history, paths, mentions)
        for path in plan.files:
            history.storage.remove_tree(path)
        if plan.entries or plan.stripped:
            history.storage.replace(LOG, b"".join(record.line() for record in plan.left), expect=ANY)
    return plan


def _belonging(records: Sequence[Record], roots: tuple[str, ...]) -> Iterator[tuple[Record, bool, list[str]]]:
    """From the newest record to the oldest: whether it is one of the notes', and what lies of them in its trash."""
    void = {record.entry.of for record in records if record.entry.kind == "void"}
    earlier: set[str] = set()  # what a note was called before it moved, at this point of the past
    away: set[str] = set()  # names that, at this point of the past, were another note's

    def is_mine(name: str | None) -> bool:
        if name is None or name in away:
            return False
        return name in earlier or any(name == root or name.startswith(root + "/") for root in roots)

    for record in reversed(records):
        entry = record.entry
        happened = entry.kind != "void" and entry.id not in void
        if entry.kind == "moved":
            mine = is_mine(entry.moved_to)
            if happened and entry.moved_to is not None:
                theirs = not mine and (is_mine(entry.path) or entry.moved_to in away)
                earlier.discard(entry.moved_to)
                away.discard(entry.moved_to)
                if mine:
                    away.discard(entry.path)
                    earlier.add(entry.path)
                elif theirs:
                    away.add(entry.path)
            yield record, mine, []
            continue
        mine = is_mine(entry.path)
        below: list[str] = []
        if entry.kind == "removed" and not mine:
            folder = entry.path + "/"
            names = [name for name in (*roots, *earlier) if name.startswith(folder) and name not in away]
            below = [f"{entry.moved_to}{name[len(entry.path) :]}" for name in names]
        if happened and entry.kind == "created":
            earlier.discard(entry.path)
            away.discard(entry.path)
        yield record, mine, below


def _mentions(history: History, record: Record, needles: Collection[bytes]) -> bool:
    if record.entry.kind not in ("changed", "moved"):
        return False
    try:
        content = history.content_of(record)
    except ReMeError as error:
        log.debug("%s", error)
        return False
    return any(needle in content for needle in needles)
