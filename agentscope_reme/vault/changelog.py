"""A line of ``history/log.jsonl``: what was changed, by whom and why, and where the bytes before it are kept."""

import base64
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields

from .encoding import clean_text
from .jsonable import dumps

LOG = "history/log.jsonl"
OBJECTS = "history/objects"
TRASH = "history/trash"
INLINE_BYTES = 4096  # compressed contents up to this size stand in the line: one file and two syncs less


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """One change. ``old`` and ``new`` are SHA-256 of the whole file, None where there was or is no file.

    ``kind``: created, changed, appended, removed, restored, moved, void. ``old_size`` (bytes) restores an append,
    whose old content is the start of the new. ``moved_to`` is the new path or the place in the trash. ``group`` joins
    the entries of one operation; ``of`` names the entry that this one undoes or voids.
    """

    id: str
    time: str
    actor: str
    reason: str
    path: str
    kind: str
    old: str | None = None
    new: str | None = None
    old_size: int | None = None
    moved_to: str | None = None
    group: str | None = None
    of: str | None = None


_FIELDS = tuple(field.name for field in fields(HistoryEntry))


@dataclass(frozen=True, slots=True)
class Change:
    """A change that is about to be made. ``old`` and ``new`` are the file's bytes before and after."""

    path: str
    kind: str
    old: bytes | None = None
    new: bytes | None = None
    moved_to: str | None = None
    of: str | None = None


@dataclass(frozen=True, slots=True)
class Record:
    """An entry as it stands in the log; ``kept`` are its old bytes, compressed, when they are in the line."""

    entry: HistoryEntry
    kept: bytes | None = None

    def line(self) -> bytes:
        """The line, with its end."""
        entry = self.entry
        said = {name: value for name in _FIELDS if (value := getattr(entry, name)) is not None}
        if self.kept is not None:
            said["kept"] = base64.b64encode(self.kept).decode("ascii")
        return dumps(said).encode("utf-8") + b"\n"


def bounded(text: str, characters: int) -> str:
    """What a caller says about a change, as the log may hold it."""
    return clean_text(text)[:characters]


def parse_line(line: bytes) -> Record | None:
    """A line as a record, None when it cannot be read."""
    try:
        said = json.loads(line)
        known = {key: said.get(key) for key in _FIELDS}
        kept = base64.b64decode(said["kept"]) if isinstance(said.get("kept"), str) else None
    except (ValueError, AttributeError, RecursionError):
        return None
    if not all(isinstance(known[key], str) for key in ("id", "time", "actor", "path", "kind")):
        return None
    if not all(known[key] is None or isinstance(known[key], str) for key in ("old", "new", "moved_to", "group", "of")):
        return None
    known["reason"] = known["reason"] if isinstance(known["reason"], str) else ""
    known["old_size"] = known["old_size"] if isinstance(known["old_size"], int) else None
    return Record(HistoryEntry(**known), kept)


def object_path(digest: str) -> str:
    """Where contents too large for the line are kept."""
    return f"{OBJECTS}/{digest}.zst"


def file_of(record: Record) -> str | None:
    """The file that a record's undo needs: kept contents that are not in the line, or the place in the trash."""
    entry = record.entry
    if entry.kind == "removed":
        return f"{TRASH}/{entry.id}"
    needs_content = entry.kind in ("changed", "moved") and entry.old is not None and record.kept is None
    return object_path(entry.old or "") if needs_content else None


def effective(records: Iterable[Record]) -> Iterator[Record]:
    """Without the void ones and what they void."""
    read = list(records)
    void = {record.entry.of for record in read if record.entry.kind == "void"}
    return (record for record in read if record.entry.kind != "void" and record.entry.id not in void)
