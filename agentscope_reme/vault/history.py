"""What changed, by whom and why, and the bytes each change replaced: recording it, and finding it again.

Entries are written before the changes they tell of, so that no change is ever without one. A crash in between leaves
entries whose change did not happen: the next writer, who finds them last in the log and the files as they were, marks
them void. All that writes here runs under the vault's lock.
"""

import logging
import os
import secrets
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import datetime

from ..errors import NoteError, NoteNotFound, ReMeError
from .appending import Appending
from .changelog import (
    INLINE_BYTES,
    LOG,
    TRASH,
    Change,
    HistoryEntry,
    Record,
    bounded,
    effective,
    object_path,
    parse_line,
)
from .paths import parse_path
from .storage import ANY, Storage, digest_of

__all__ = ["Change", "History", "HistoryEntry", "Recording"]

log = logging.getLogger(__name__)

_TAIL_BYTES = 65_536  # more than the longest line


class Recording:
    """An entry that stands in the log and may not be on the disk yet. All of it happens under the vault's lock."""

    def __init__(self, log: "History", entry: HistoryEntry, lines: Appending) -> None:
        self.entry = entry
        self._log, self._lines = log, lines
        self._durable: bool | None = None  # None: nobody has asked

    def finish(self) -> None:
        """Return when the entry is durable. If the disk refuses, it is not in the log: NoteError says why."""
        if self._durable is None:
            self._durable = False
            self._lines.finish()
            self._durable = True
            self._log._written(self.entry)

    def void(self, why: str) -> None:
        """Say that the change was not made, as :meth:`History.void`, if the entry is in the log."""
        with suppress(ReMeError):
            self.finish()
        if self._durable:
            self._log.void([self.entry], why)


class History:
    """The change log of one vault."""

    def __init__(self, storage: Storage, clock: Callable[[], datetime]) -> None:
        self.storage = storage
        self.clock = clock
        self._last_own = ""
        self._left: tuple[int, int, int] | None = None  # the log as this process left it last

    def new_id(self) -> str:
        """An id that no other entry has: the time in the vault's zone, and 32 random bits."""
        return f"{self.clock():%Y%m%dT%H%M%S}-{secrets.token_hex(4)}"

    # --- recording ------------------------------------------------------------------------------------------------

    def record(
        self, changes: Sequence[Change], *, actor: str, reason: str, group: str | None = None
    ) -> list[HistoryEntry]:
        """Note changes that are about to be made, all durable together; their old bytes are durable before.

        What is removed goes to the trash, at the entry's ``moved_to``; what is appended to is the start of what comes
        of it: neither needs a copy. Call :meth:`void` for what could not be done after all.
        """
        self.settle()
        records = [self._record(change, actor, reason, group) for change in changes]
        if records:
            self._write(records)
        return [record.entry for record in records]

    def begin(self, change: Change, *, actor: str, reason: str, group: str | None = None) -> "Recording":
        """The same for one change, whose caller goes on while the disk writes, until :meth:`Recording.finish`."""
        self.settle()
        record = self._record(change, actor, reason, group)
        self._left = None
        return Recording(self, record.entry, self.storage.begin_append(LOG, record.line()))

    def void(self, entries: Iterable[HistoryEntry], why: str) -> None:
        """Say that changes were not made. If that cannot be written either, the next writer finds out."""
        try:
            self._write([Record(self._voided(entry, why)) for entry in entries])
        except ReMeError:
            self._last_own, self._left = "", None

    def settle(self) -> None:
        """Void the last entries when another writer left them and their changes are not in the files."""
        if self._left is not None and self._left == self._stamp():
            return  # nobody has written since
        last = self._last()
        if last is None or last.id == self._last_own or last.kind == "void":
            return
        undone = [entry for entry in self._operation_of(last) if not self._took_effect(entry)]
        self._last_own = last.id
        if undone:
            self._write([Record(self._voided(entry, "interrupted before it was made")) for entry in undone])

    def _record(self, change: Change, actor: str, reason: str, group: str | None) -> Record:
        kept = None
        if change.old is not None and change.kind in ("changed", "moved"):
            kept = self._keep(change.old)
        entry_id = self.new_id()
        name = change.path.rsplit("/", 1)[-1]
        entry = HistoryEntry(
            id=entry_id,
            time=self.clock().isoformat(timespec="seconds"),
            actor=bounded(actor, 100),
            reason=bounded(reason, 500),
            path=change.path,
            kind=change.kind,
            old=None if change.old is None else digest_of(change.old),
            new=None if change.new is None else digest_of(change.new),
            old_size=None if change.old is None else len(change.old),
            moved_to=f"{TRASH}/{entry_id}/{name}" if change.kind == "removed" else change.moved_to,
            group=group,
            of=change.of,
        )
        return Record(entry, kept)

    def _keep(self, data: bytes) -> bytes | None:
        """Compress; what is small is returned, to stand in the line, what is large gets a file."""
        from zstandard import ZstdCompressor

        compressed = ZstdCompressor(level=3, write_checksum=True).compress(data)
        if len(compressed) <= INLINE_BYTES:
            return compressed
        path = object_path(digest_of(data))
        if not self.storage.exists(path):
            self.storage.replace(path, compressed, expect=ANY)
        return None

    def _write(self, records: Sequence[Record]) -> None:
        self._left = None
        self.storage.append(LOG, b"".join(record.line() for record in records))
        self._written(records[-1].entry)

    def _written(self, last: HistoryEntry) -> None:
        self._last_own, self._left = last.id, self._stamp()

    def _stamp(self) -> tuple[int, int, int] | None:
        """What tells whether the log is the one that was seen: whoever writes to it makes it longer or another file."""
        try:
            status = os.stat(f"{self.storage.root}/{LOG}")
        except OSError:
            return None
        return status.st_ino, status.st_size, status.st_mtime_ns

    def _voided(self, entry: HistoryEntry, why: str) -> HistoryEntry:
        time = self.clock().isoformat(timespec="seconds")
        return HistoryEntry(self.new_id(), time, "system", why, entry.path, "void", of=entry.id)

    # --- finding --------------------------------------------------------------------------------------------------

    def entries(self) -> list[HistoryEntry]:
        """All entries that took effect, oldest first. Lines that cannot be read are passed over."""
        entries = [record.entry for record in effective(self.records())]
        if not entries or entries[-1].id == self._last_own:
            return entries
        # What is last was interrupted, or is about to be made by another process.
        doubtful = {
            entry.id for entry in entries if _same_operation(entry, entries[-1]) and not self._took_effect(entry)
        }
        return [entry for entry in entries if entry.id not in doubtful]

    def of_path(self, path: str) -> tuple[HistoryEntry, ...]:
        """The entries of a note, or of a folder and what lies in it (all for ""), newest first."""
        inside = path + "/"

        def concerns(name: str | None) -> bool:
            return name is not None and (not path or name == path or name.startswith(inside))

        return tuple(
            entry
            for entry in reversed(self.entries())
            if concerns(entry.path) or (entry.kind == "moved" and concerns(entry.moved_to))
        )

    def held(self, path: str, data: bytes) -> bool:
        """Whether a change that the log tells of replaced exactly these bytes of a note."""
        name, digest = "/".join(parse_path(path)), digest_of(data)
        return any(entry.path == name and entry.old == digest for entry in self.entries())

    def old_contents(self, entries: Sequence[HistoryEntry]) -> dict[str, bytes]:
        """By id, what the files of changed and moved entries held before. NoteNotFound when one is no longer kept."""
        wanted = {entry.id: entry for entry in entries if entry.kind in ("changed", "moved")}
        kept = {record.entry.id: record.kept for record in self.records() if record.entry.id in wanted}
        return {entry_id: self._unpacked(entry, kept.get(entry_id)) for entry_id, entry in wanted.items()}

    def content_of(self, record: Record) -> bytes:
        """What the file of a changed or moved entry held before. NoteNotFound when it is no longer kept."""
        return self._unpacked(record.entry, record.kept)

    def records(self) -> list[Record]:
        """Every line of the log that can be read."""
        try:
            data = self.storage.read(LOG)
        except NoteNotFound:
            return []
        lines = [line for line in data.split(b"\n") if line]
        read = [record for line in lines if (record := parse_line(line))]
        if len(read) < len(lines):
            log.warning("%s: %d lines could not be read", LOG, len(lines) - len(read))
        return read

    def _unpacked(self, entry: HistoryEntry, compressed: bytes | None) -> bytes:
        from zstandard import ZstdDecompressor, ZstdError

        try:
            if compressed is None:
                compressed = self.storage.read(object_path(entry.old or ""))
            data = ZstdDecompressor().decompress(compressed)
        except NoteNotFound:
            raise NoteNotFound(f"{entry.path}: the content before {entry.id} is no longer kept", entry.path) from None
        except ZstdError as error:
            raise NoteError(f"{entry.path}: the content kept for {entry.id} is damaged", entry.path) from error
        if digest_of(data) != entry.old:
            raise NoteError(f"{entry.path}: the content kept for {entry.id} is damaged", entry.path)
        return data

    def _took_effect(self, entry: HistoryEntry) -> bool:
        exists = self.storage.exists
        if entry.kind in ("removed", "moved"):
            return exists(entry.moved_to or entry.path, follow=False)
        if entry.kind == "restored":
            return not exists(entry.moved_to or entry.path, follow=False)
        if entry.kind == "created":
            return exists(entry.path, follow=False)
        present = self.storage.read_if_any(entry.path)
        return present is None or digest_of(present) != entry.old

    def _last(self) -> HistoryEntry | None:
        try:
            with self.storage.opened(LOG) as (descriptor, status, _):
                os.lseek(descriptor, max(0, status.st_size - _TAIL_BYTES), os.SEEK_SET)
                lines = os.read(descriptor, _TAIL_BYTES).split(b"\n")
        except NoteNotFound:
            return None
        return next((record.entry for line in reversed(lines) if line and (record := parse_line(line))), None)

    def _operation_of(self, last: HistoryEntry) -> list[HistoryEntry]:
        if last.group is None:
            return [last]
        return [record.entry for record in effective(self.records()) if _same_operation(record.entry, last)]


def _same_operation(entry: HistoryEntry, last: HistoryEntry) -> bool:
    return entry.id == last.id or (last.group is not None and entry.group == last.group)
