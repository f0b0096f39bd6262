"""What changed, by whom and why: ``history/log.jsonl`` and the bytes each change replaced.

An entry is written before the change it tells of, so that no change is ever without one. A crash in between leaves an
entry whose change did not happen: the next writer, who finds it last in the log and the old bytes still in place, marks
it void. All of this runs under the vault's lock.
"""

import json
import logging
import secrets
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta

from ..errors import NoteError, NoteNotFound
from .encoding import clean_text
from .jsonable import dumps
from .layout import iter_files
from .storage import ANY, Storage, digest_of

log = logging.getLogger(__name__)

LOG = "history/log.jsonl"
OBJECTS = "history/objects"
TRASH = "history/trash"
KEEP_DAYS = 90.0
KEEP_BYTES = 256 * 1024 * 1024


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


class History:
    """The change log of one vault."""

    def __init__(self, storage: Storage, clock: Callable[[], datetime]) -> None:
        self._storage = storage
        self._clock = clock
        self._last_own = ""

    def new_id(self) -> str:
        """An id that no other entry has: the time in the vault's zone, and 32 random bits."""
        return f"{self._clock():%Y%m%dT%H%M%S}-{secrets.token_hex(4)}"

    def record(
        self,
        path: str,
        kind: str,
        *,
        actor: str,
        reason: str,
        old: bytes | None,
        new: bytes | None,
        moved_to: str | None = None,
        group: str | None = None,
        of: str | None = None,
    ) -> HistoryEntry:
        """Note a change that is about to be made; the old bytes are durable before the entry is.

        What is removed is moved to the trash, at the entry's ``moved_to``, and what is appended to is the start of what
        comes of it: neither needs a copy.
        """
        self.settle()
        if old is not None and kind in ("changed", "moved"):
            self._keep(old)
        entry_id = self.new_id()
        if kind == "removed":
            moved_to = f"{TRASH}/{entry_id}/{path.rsplit('/', 1)[-1]}"
        entry = HistoryEntry(
            id=entry_id,
            time=self._clock().isoformat(timespec="seconds"),
            actor=clean_text(actor)[:100],
            reason=clean_text(reason)[:500],
            path=path,
            kind=kind,
            old=None if old is None else digest_of(old),
            new=None if new is None else digest_of(new),
            old_size=None if old is None else len(old),
            moved_to=moved_to,
            group=group,
            of=of,
        )
        self._write(entry)
        return entry

    def entries(self) -> list[HistoryEntry]:
        """All entries that took effect, oldest first. Lines that cannot be read are passed over."""
        read = list(self._read())
        if read and read[-1].kind != "void" and read[-1].id != self._last_own and not self._took_effect(read[-1]):
            read.pop()  # interrupted, or about to be made by another process
        void = {entry.of for entry in read if entry.kind == "void"}
        return [entry for entry in read if entry.kind != "void" and entry.id not in void]

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

    def old_bytes(self, entry: HistoryEntry, present: bytes | None) -> bytes | None:
        """What the file held before ``entry``; ``present`` is what it holds after. NoteNotFound when no longer kept."""
        if entry.old is None:
            return None
        if entry.kind == "appended" and present is not None and entry.old_size is not None:
            return present[: entry.old_size]
        from zstandard import ZstdDecompressor, ZstdError

        try:
            data = ZstdDecompressor().decompress(self._storage.read(_object_path(entry.old)))
        except NoteNotFound:
            raise NoteNotFound(f"{entry.path}: the content before {entry.id} is no longer kept", entry.path) from None
        except ZstdError as error:
            raise NoteError(f"{entry.path}: the content kept for {entry.id} is damaged", entry.path) from error
        if digest_of(data) != entry.old:
            raise NoteError(f"{entry.path}: the content kept for {entry.id} is damaged", entry.path)
        return data

    def prune(self, *, max_age_days: float = KEEP_DAYS, max_bytes: int = KEEP_BYTES) -> list[str]:
        """Let go of what is older than ``max_age_days``, then of the oldest until the rest fits ``max_bytes``.

        Concerns entries, kept contents and the trash, never a note. Returns the removed files.
        """
        with self._storage.lock():
            entries = list(self._read())
            oldest = self._clock() - timedelta(days=max_age_days)
            young = [entry for entry in entries if _is_after(entry.time, oldest)]
            kept = _files_of(young)
            sizes = self._sizes()
            total = sum(sizes.get(path, 0) for path in kept)
            for path in list(kept):  # oldest first
                if total <= max_bytes:
                    break
                total -= sizes.get(path, 0)
                kept.remove(path)
            removed = self._drop([path for path in sizes if path not in kept])
            if len(young) < len(entries):
                self._rewrite(young)
        return removed

    def purge(self, paths: Iterable[str]) -> list[str]:
        """Forget notes: their entries, their kept contents that no other note's entry needs, and their trash.

        A folder stands for all that lay in it. Returns the removed files.
        """
        wanted = tuple(paths)

        def is_wanted(name: str | None) -> bool:
            return name is not None and any(name == path or name.startswith(path + "/") for path in wanted)

        with self._storage.lock():
            entries = list(self._read())
            gone = [entry for entry in entries if is_wanted(entry.path)]
            gone += [entry for entry in entries if entry.kind == "moved" and is_wanted(entry.moved_to)]
            left = [entry for entry in entries if entry not in gone]
            still_needed = set(_files_of(left))
            removed = self._drop([path for path in _files_of(gone) if path not in still_needed])
            if gone:
                self._rewrite(left)
        return removed

    def _sizes(self) -> dict[str, int]:
        """Bytes of all kept contents and of what lies in the trash, each entry of the trash as one."""
        sizes: dict[str, int] = {}
        for path, status in iter_files(self._storage.root, "history", skip=()):
            if path.startswith(OBJECTS):
                sizes[path] = status.st_size
        for path, status in iter_files(self._storage.root, TRASH, skip=(), hidden=True):
            item = "/".join(path.split("/")[:3])
            sizes[item] = sizes.get(item, 0) + status.st_size
        return sizes

    def _drop(self, paths: list[str]) -> list[str]:
        removed = []
        for path in paths:
            if self._storage.exists(path, follow=False):
                self._storage.remove_tree(path)
                removed.append(path)
        return removed

    def _rewrite(self, entries: list[HistoryEntry]) -> None:
        self._storage.replace(LOG, b"".join(_line(entry) for entry in entries), expect=ANY)

    def _keep(self, data: bytes) -> None:
        path = _object_path(digest_of(data))
        if self._storage.exists(path):
            return
        from zstandard import ZstdCompressor

        self._storage.replace(path, ZstdCompressor(level=3, write_checksum=True).compress(data), expect=ANY)

    def _write(self, entry: HistoryEntry) -> None:
        self._storage.append(LOG, _line(entry))
        self._last_own = entry.id

    def settle(self) -> None:
        """Void the last entry when another writer left it and its change is not in the files. Under the lock."""
        last = self._tail()
        if last is None or last.id == self._last_own or last.kind == "void":
            return
        self._last_own = last.id
        if self._took_effect(last):
            return
        self._write(
            HistoryEntry(
                id=self.new_id(),
                time=self._clock().isoformat(timespec="seconds"),
                actor="system",
                reason="interrupted before anything was changed",
                path=last.path,
                kind="void",
                of=last.id,
            )
        )

    def _took_effect(self, entry: HistoryEntry) -> bool:
        if entry.kind in ("removed", "moved"):
            return self._storage.exists(entry.moved_to or entry.path, follow=False)
        if entry.kind == "restored":
            return not self._storage.exists(entry.moved_to or entry.path, follow=False)
        if entry.kind == "created":
            return self._storage.exists(entry.path, follow=False)
        present = self._storage.read_if_any(entry.path)
        return present is None or digest_of(present) != entry.old

    def _tail(self) -> HistoryEntry | None:
        import os

        try:
            with self._storage.opened(LOG) as (descriptor, status, _):
                os.lseek(descriptor, max(0, status.st_size - 16_384), os.SEEK_SET)
                lines = os.read(descriptor, 16_384).split(b"\n")
        except NoteNotFound:
            return None
        return next((entry for line in reversed(lines) if line and (entry := _parse(line))), None)

    def _read(self) -> Iterator[HistoryEntry]:
        try:
            data = self._storage.read(LOG)
        except NoteNotFound:
            return
        bad = 0
        for line in data.split(b"\n"):
            if not line:
                continue
            entry = _parse(line)
            if entry is None:
                bad += 1
            else:
                yield entry
        if bad:
            log.warning("%s: %d lines could not be read", LOG, bad)


def _parse(line: bytes) -> HistoryEntry | None:
    try:
        fields = json.loads(line)
        known = {key: fields.get(key) for key in HistoryEntry.__dataclass_fields__}
    except (ValueError, AttributeError):
        return None
    if not all(isinstance(known[key], str) for key in ("id", "time", "actor", "path", "kind")):
        return None
    known["reason"] = known["reason"] or ""
    return HistoryEntry(**known)


def _line(entry: HistoryEntry) -> bytes:
    return dumps({key: value for key, value in asdict(entry).items() if value is not None}).encode("utf-8") + b"\n"


def _files_of(entries: Iterable[HistoryEntry]) -> list[str]:
    """The kept contents and the trash that these entries need, by the last entry that needs each."""
    files: dict[str, None] = {}
    for entry in entries:
        path = None
        if entry.kind in ("changed", "moved") and entry.old:
            path = _object_path(entry.old)
        elif entry.kind == "removed":
            path = f"{TRASH}/{entry.id}"
        if path:
            files.pop(path, None)
            files[path] = None
    return list(files)


def _is_after(time: str, limit: datetime) -> bool:
    try:
        moment = datetime.fromisoformat(time)
    except ValueError:
        return False
    return moment.astimezone() >= limit


def _object_path(digest: str) -> str:
    return f"{OBJECTS}/{digest}.zst"
