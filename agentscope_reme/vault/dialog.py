"""The journal of a conversation: JSONL, lossless and append-only, one line for each message that left the context.

A line is ``{id, seq, msg, marks, tokens, left_at}``. A message is journalled once: the same id with the same content
adds nothing, with other content a line. Large parts are pointers (``pointers``), durable before the line that has them.
"""

import logging
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from ..errors import NoteNotFound
from .journal_lines import (
    JournalLine,
    JournalRecord,
    last_lines,
    line_at,
    line_bytes,
    parse_line,
    raw_lines,
    said_digest,
    split_lines,
    strict_message,
)
from .layout import DIALOG, session_file_name
from .pointers import StoredResult, pointers_in, put_back, store_result, take_out
from .seen import Names, Seen, seen_key
from .storage import Storage

__all__ = ["Journal", "JournalLine", "JournalRecord", "StoredResult", "pointers_in", "store_result"]

log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Known:
    """What has been seen of the file, up to the end of its last whole line at ``offset``.

    Sixteen bytes a line: a process that folds a conversation for weeks does not grow with it.
    """

    file: tuple[int, int] = (0, 0)
    offset: int = 0
    lines: int = 0
    seq: int = 0
    bad: int = 0
    seen: Seen = field(default_factory=Seen)
    names: Names | None = None  # of the messages, from when some are first looked for
    count: int = 0
    rest: int = 0  # bytes after the last whole line
    loose: JournalLine | None = None  # what they say, if they are a line that lacks its end

    def learn_own(self, size: int, seq: int, key: int, name: str) -> None:
        """Take a whole line that was just written here, without reading it again."""
        if self.names is not None:
            self.names.add(name)
        self.seen.add(key, self.offset)
        self.offset += size
        self.lines += 1
        self.count += 1
        self.seq = max(self.seq, seq)

    def learn(self, raw: bytes) -> None:
        """Take a whole line."""
        begins = self.offset
        self.offset += len(raw)
        self.lines += 1
        line = parse_line(raw, self.lines)
        if line is None:
            self.bad += 1 if raw.strip() else 0
            return
        self.count += 1
        self.seq = max(self.seq, line.seq)
        self.seen.add(seen_key(line.id, said_digest(line.msg)), begins)
        if self.names is not None:
            self.names.add(line.id)


class Journal:
    """The journal of one session. Methods block briefly; in a coroutine use :meth:`add` or a thread."""

    def __init__(
        self, storage: Storage, session_id: str, *, clock: Callable[[], datetime], publish: Callable[[str, str], None]
    ) -> None:
        self.session_id = session_id
        self.path = f"{DIALOG}/{session_file_name(session_id)}.jsonl"
        self._storage = storage
        self._clock = clock
        self._publish = publish
        self._known = _Known()
        self._mutex = threading.RLock()

    def __deepcopy__(self, memo: dict[int, Any]) -> "Journal":
        return self

    async def add(self, records: Iterable[JournalRecord]) -> int:
        """:meth:`append` in a thread; when the caller is cancelled it is finished first."""
        from .files import finish

        added: int = await finish(self.append, records)
        return added

    def append(self, records: Iterable[JournalRecord]) -> int:
        """Journal messages, durably when this returns; how many lines were added.

        Known messages add none, whoever journalled them. All lines of a call are made durable together. When the disk
        refuses, NoteError is raised and nothing is added.
        """
        with self._storage.lock(), self._mutex:
            created = not self._scan()
            if self._known.rest:
                self._storage.append(self.path, b"")  # ends the line, so that it is known whether it can be read
                self._scan()
            kept: list[str] = []
            fresh = self._fresh_lines(records, kept)
            if not fresh:
                return 0
            self._storage.sync_folders(kept)
            begins = self._storage.append(self.path, b"".join(raw for raw, *_ in fresh))
            self._take_own(begins, fresh)
        self._publish(self.path, "created" if created else "changed")
        return len(fresh)

    def _take_own(self, begins: int, fresh: Sequence[tuple[bytes, int, int, str]]) -> None:
        """Learn the lines that were just added; the file is read when it is not what was expected."""
        known = self._known
        with self._storage.opened(self.path) as (_, status, _):
            end = begins + sum(len(raw) for raw, *_ in fresh)
            same = known.file == (status.st_dev, status.st_ino) or begins == 0
            if same and begins == known.offset and status.st_size == end:
                known.file, known.rest, known.loose = (status.st_dev, status.st_ino), 0, None
                for raw, seq, key, name in fresh:
                    known.learn_own(len(raw), seq, key, name)
                return
        self._scan()

    def _fresh_lines(self, records: Iterable[JournalRecord], kept: list[str]) -> list[tuple[bytes, int, int, str]]:
        """The lines to add, with their numbers, keys and ids. The files they point to are added to ``kept``; their
        folder is still to be synced."""

        def keep(data: str | bytes, suffix: str) -> StoredResult:
            stored = store_result(self._storage, data, suffix, sync=False)
            kept.append(stored.path)
            return stored

        lines: list[tuple[bytes, int, int, str]] = []
        now = self._clock().isoformat(timespec="milliseconds")
        pending: set[tuple[str, bytes]] = set()
        for record in records:
            message = take_out(strict_message(record.msg), keep)
            digest = said_digest(message)
            name = str(message.get("id") or f"sha-{digest.hex()}")
            key = seen_key(name, digest)
            if (name, digest) in pending or self._holds(key, name, digest):
                continue
            pending.add((name, digest))
            seq = self._known.seq + len(pending)
            raw = line_bytes(name, seq, message, record.marks, record.tokens, record.left_at or now)
            lines.append((raw, seq, key, name))
        return lines

    def _holds(self, key: int, name: str, digest: bytes) -> bool:
        """Whether a line has this very message; the line is asked, so that no chance match can lose one."""
        offset = self._known.seen.get(key)
        if offset is None:
            return False
        with self._storage.opened(self.path) as (descriptor, _, _):
            line = parse_line(line_at(descriptor, offset), 0)
        return line is not None and line.id == name and said_digest(line.msg) == digest

    def drop(self, ids: Iterable[str]) -> list[str]:
        """Forget messages: rewrite the journal without their lines, and return the files they pointed to.

        Whether another journal points to such a file is for the caller to find out.
        """
        unwanted = set(ids)
        with self._storage.lock(), self._mutex:
            dropped = drop_lines(self._storage, self.path, lambda line: line.id in unwanted)
            if not dropped:
                return []
            self._scan()
        self._publish(self.path, "changed")
        return [path for line in dropped for path in pointers_in(line.msg)]

    def read(self, expand: bool = False) -> list[JournalLine]:
        """All lines in order. ``expand`` puts the offloaded parts back, so that each message is as it was."""
        return list(self.lines(expand=expand))

    def lines(self, *, expand: bool = False) -> Iterator[JournalLine]:
        """The lines one after the other, without holding the file. Lines that cannot be read are passed over."""
        try:
            with self._storage.opened(self.path) as (descriptor, status, _):
                for number, raw in enumerate(raw_lines(descriptor, status.st_size), start=1):
                    if line := parse_line(raw, number):
                        yield self._expanded(line) if expand else line
        except NoteNotFound:
            return

    def tail(self, count: int, *, expand: bool = False) -> list[JournalLine]:
        """The last ``count`` lines, read from the end; their ``line`` is right."""
        if count <= 0:
            return []
        try:
            with self._storage.opened(self.path) as (descriptor, status, _), self._mutex:
                self._scan_open(descriptor, status)
                raws = last_lines(descriptor, status.st_size, count + self._known.bad + 1)
                first = self._known.lines + (1 if self._known.rest else 0) - len(raws) + 1
        except NoteNotFound:
            return []
        found = [line for number, raw in enumerate(raws, start=first) if (line := parse_line(raw, number))]
        return [self._expanded(line) if expand else line for line in found[-count:]]

    def find(self, ids: Iterable[str], *, expand: bool = False) -> list[JournalLine]:
        """The lines of these messages, each as it was last, in order of the journal.

        Newest lines are read first; what is not in the journal costs no reading, but for the first time.
        """
        wanted = self._with_lines(set(ids))
        near = self.tail(2 * len(wanted) + 64) if wanted else []
        if not wanted <= {line.id for line in near}:
            near = list(self._named(wanted))
        found = {line.id: line for line in near if line.id in wanted}
        return [self._expanded(line) if expand else line for line in found.values()]

    def _with_lines(self, ids: set[str]) -> set[str]:
        """Those of the ids that may have a line; all of them while the names are not known."""
        with self._mutex:
            names = self._refreshed().names
            loose = self._known.loose
            if names is None:
                return ids
            return {name for name in ids if name in names or (loose is not None and loose.id == name)}

    def _named(self, wanted: set[str]) -> Iterator[JournalLine]:
        """Read all lines for those with these ids, and remember the ids of all."""
        with self._mutex:
            self._scan()
            names = Names()
            for line in self.lines():
                names.add(line.id)
                if line.id in wanted:
                    yield line
            self._known.names = names

    def count(self) -> int:
        """How many lines can be read."""
        known = self._refreshed()
        return known.count + (1 if known.loose else 0)

    def ids(self) -> set[str]:
        """The ids of all journalled messages."""
        return {line.id for line in self.lines()}

    @property
    def bad_lines(self) -> int:
        """How many lines cannot be read (the stump of an interrupted append, or damage)."""
        known = self._refreshed()
        return known.bad + (1 if known.rest and not known.loose else 0)

    def _refreshed(self) -> _Known:
        with self._mutex:
            self._scan()
            return self._known

    def _expanded(self, line: JournalLine) -> JournalLine:
        message = put_back(line.msg, self._storage.read)
        return JournalLine(line.id, line.seq, message, line.marks, line.tokens, line.left_at, line.line)

    def _scan(self) -> bool:
        """Learn what the file holds beyond what is known; False when there is no file."""
        try:
            with self._storage.opened(self.path) as (descriptor, status, _):
                self._scan_open(descriptor, status)
        except NoteNotFound:
            self._known = _Known()
            return False
        return True

    def _scan_open(self, descriptor: int, status: os.stat_result) -> None:
        if self._known.file != (status.st_dev, status.st_ino) or status.st_size < self._known.offset:
            self._known = _Known(file=(status.st_dev, status.st_ino))
        known = self._known
        if status.st_size == known.offset + known.rest:
            return
        known.rest, known.loose = 0, None
        os.lseek(descriptor, known.offset, os.SEEK_SET)
        for raw in raw_lines(descriptor, status.st_size - known.offset):
            if raw.endswith(b"\n"):
                known.learn(raw)
            else:
                known.rest, known.loose = len(raw), parse_line(raw, known.lines + 1)


def lines_of(storage: Storage, path: str) -> list[JournalLine]:
    """The lines of a journal that can be read, by its path; none when there is no such file."""
    data = storage.read_if_any(path)
    numbered = enumerate(split_lines(data or b""), start=1)
    return [line for number, raw in numbered if (line := parse_line(raw, number))]


def drop_lines(storage: Storage, path: str, unwanted: Callable[[JournalLine], bool]) -> list[JournalLine]:
    """Rewrite a journal without some of its lines; those that were taken out. Lines that cannot be read stay."""
    with storage.lock():
        dropped: list[JournalLine] = []
        kept: list[bytes] = []
        for number, raw in enumerate(split_lines(storage.read_if_any(path) or b""), start=1):
            line = parse_line(raw, number)
            if line is not None and unwanted(line):
                dropped.append(line)
            else:
                kept.append(raw)
        if dropped:
            storage.replace(path, b"".join(kept))
    return dropped
