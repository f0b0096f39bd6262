"""Taking a change back: the bytes before it, the file out of the trash, the note under its old name.

An undo is itself a change with entries of its own, so it can be undone. It refuses when the note has changed since.
"""

import os

from ..errors import NoteChanged, NoteError, NoteExists, NoteNotFound
from ..models import NoteChange
from .files import Files
from .history import HistoryEntry
from .removal import files_below, to_trash
from .storage import digest_of, version_of


def undo(files: Files, entry_id: str | None, *, actor: str, reason: str) -> NoteChange:
    """See :meth:`Vault.undo`."""
    with files.storage.lock():
        files.log.settle()
        chosen, entries = _choose(files, entry_id)
        for entry in entries:
            _check(files, entry, actor)
        events: list[tuple[str, str]] = []
        group = files.log.new_id() if len(entries) > 1 else None
        reason = reason or f"undo {chosen.id}"
        # As in a move: what comes back is there before links lead to it, what goes is unlinked last.
        moves = [entry for entry in entries if entry.kind == "moved"]
        for entry in moves:
            _copy_back(files, entry, actor, reason, group, events)
        changes = []
        for entry in entries:
            if entry.kind != "moved":
                changes.append(_take_back(files, entry, actor, reason, group, events))
        for entry in moves:
            changes.append(_unlink_copy(files, entry, events))
    for path, kind in events:
        files.publish(path, kind)
    return next((change for change in changes if change.path == chosen.path), changes[0])


def _choose(files: Files, entry_id: str | None) -> tuple[HistoryEntry, list[HistoryEntry]]:
    """The entry that is meant, and all entries of its operation that are not taken back yet, newest first."""
    entries = files.log.entries()
    undone = {entry.of for entry in entries}
    if entry_id is None:
        candidates = [entry for entry in reversed(entries) if entry.of is None and entry.id not in undone]
        if not candidates:
            raise NoteNotFound("there is no change that could be undone")
        chosen = candidates[0]
    else:
        named = [entry for entry in entries if entry_id in (entry.id, entry.group)]
        if not named:
            raise NoteNotFound(f"the history has no change {entry_id}")
        chosen = named[0]
    whole = [entry for entry in reversed(entries) if entry is chosen or (chosen.group and entry.group == chosen.group)]
    pending = [entry for entry in whole if entry.id not in undone or _half_moved_back(files, entry)]
    if not pending:
        raise NoteError(f"{chosen.path}: change {chosen.id} is undone already; nothing was changed", chosen.path)
    return chosen, pending


def _half_moved_back(files: Files, entry: HistoryEntry) -> bool:
    """Whether an undo was interrupted between copying a moved note back and unlinking it."""
    return entry.kind == "moved" and files.storage.exists(entry.path) and files.storage.exists(entry.moved_to or "")


def _check(files: Files, entry: HistoryEntry, actor: str) -> None:
    files.real_path(entry.path, actor=actor, folder=True, follow=False)
    if entry.kind == "removed":
        if files.storage.exists(entry.path, follow=False) and not _is_empty_folder(files, entry.path):
            raise NoteExists(f"{entry.path} exists again; nothing was changed", entry.path)
        if not entry.moved_to or not files.storage.exists(entry.moved_to, follow=False):
            raise NoteNotFound(f"{entry.path} is no longer in the trash; nothing was changed", entry.path)
        return
    if entry.kind == "restored":
        return
    path = (entry.moved_to if entry.kind == "moved" else entry.path) or entry.path
    present = files.storage.read_if_any(path)
    if present is None or digest_of(present) != entry.new:
        raise NoteChanged(
            f"{path} has changed since {entry.id}; nothing was changed. Undo the later changes first", path
        )
    if entry.kind == "moved":
        original = files.storage.read_if_any(entry.path)
        if original is not None and digest_of(original) != entry.old:
            raise NoteExists(f"{entry.path} exists again; nothing was changed", entry.path)
    if entry.kind != "created":
        files.log.old_bytes(entry, present)


def _drop_empty_parents(files: Files, path: str) -> None:
    """Remove the folders that the undone change had made, as far as they are empty."""
    parents = path.split("/")[:-1]
    while parents and files.storage.prune_folder("/".join(parents)):
        parents.pop()


def _is_empty_folder(files: Files, path: str) -> bool:
    """Whether nothing but folders is at this place, as an undone change leaves them."""
    return (files.root / path).is_dir() and not any(names for _, _, names in os.walk(files.root / path))


def _take_back(
    files: Files, entry: HistoryEntry, actor: str, reason: str, group: str | None, events: list[tuple[str, str]]
) -> NoteChange:
    if entry.kind in ("created", "restored"):
        removed, gone = to_trash(files, entry.path, actor=actor, reason=reason, group=group, of=entry.id)
        events += [(path, "removed") for path in gone]
        _drop_empty_parents(files, entry.path)
        return NoteChange(entry.path, "removed", "", removed.id)
    if entry.kind == "removed" and entry.moved_to:
        back = files.log.record(
            entry.path,
            "restored",
            actor=actor,
            reason=reason,
            old=None,
            new=None,
            moved_to=entry.moved_to,
            group=group,
            of=entry.id,
        )
        if files.storage.exists(entry.path, follow=False):
            files.storage.remove_tree(entry.path)
        files.storage.rename(entry.moved_to, entry.path)
        files.storage.prune_folder(entry.moved_to.rsplit("/", 1)[0])
        events += [(path, "created") for path in files_below(files, entry.path)]
        return NoteChange(entry.path, "created", (entry.old or "")[:16], back.id)
    present = files.storage.read(entry.path)
    before = files.log.old_bytes(entry, present) or b""
    back = files.log.record(
        entry.path, "changed", actor=actor, reason=reason, old=present, new=before, group=group, of=entry.id
    )
    version = files.storage.replace(entry.path, before, expect=version_of(present))
    events.append((entry.path, "changed"))
    return NoteChange(entry.path, "changed", version, back.id)


def _copy_back(
    files: Files, entry: HistoryEntry, actor: str, reason: str, group: str | None, events: list[tuple[str, str]]
) -> None:
    moved_to = entry.moved_to or ""
    if files.storage.exists(entry.path):
        return
    present = files.storage.read(moved_to)
    before = files.log.old_bytes(entry, None) or b""
    files.log.record(
        moved_to,
        "moved",
        actor=actor,
        reason=reason,
        old=present,
        new=before,
        moved_to=entry.path,
        group=group,
        of=entry.id,
    )
    files.storage.replace(entry.path, before, expect=None, beside=moved_to)
    events.append((entry.path, "created"))


def _unlink_copy(files: Files, entry: HistoryEntry, events: list[tuple[str, str]]) -> NoteChange:
    moved_to = entry.moved_to or ""
    files.storage.remove(moved_to, expect=(entry.new or "")[:16])
    events.append((moved_to, "removed"))
    _drop_empty_parents(files, moved_to)
    return NoteChange(entry.path, "moved", (entry.old or "")[:16], entry.id)
