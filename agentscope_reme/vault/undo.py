"""Taking a change back: the bytes before it, the file out of the trash, the note under its old name.

An undo is itself a change with entries of its own, so it can be undone. It refuses when the note has changed since.
"""

import os
from dataclasses import dataclass

from ..errors import NoteChanged, NoteError, NoteExists, NoteNotFound
from ..models import NoteChange
from .files import Files
from .history import Change, HistoryEntry
from .removal import files_below
from .storage import VERSION_LENGTH, digest_of, version_of


@dataclass(slots=True)
class _Step:
    """One entry to take back. ``present`` is what its file holds, ``before`` what it held.

    ``back`` is the entry of the undo; None when an interrupted undo has one already.
    """

    entry: HistoryEntry
    present: bytes = b""
    before: bytes = b""
    back: HistoryEntry | None = None
    done: bool = False


def undo(files: Files, entry_id: str | None, *, actor: str, reason: str) -> NoteChange:
    """See :meth:`Vault.undo`."""
    with files.storage.lock():
        files.log.settle()
        chosen, entries = _choose(files, entry_id)
        contents = files.log.old_contents(entries)
        steps = [_check(files, entry, contents.get(entry.id, b""), actor) for entry in entries]
        _record(files, steps, actor, reason or f"undo {chosen.id}")
        events: list[tuple[str, str]] = []
        try:
            changes = _perform(files, steps, events)
        except BaseException:
            files.log.void((step.back for step in steps if step.back and not step.done), "the undo was interrupted")
            raise
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


def _check(files: Files, entry: HistoryEntry, before: bytes, actor: str) -> _Step:
    files.real_path(entry.path, actor=actor, folder=True, follow=False)
    exists = files.storage.exists
    if entry.kind == "removed":
        if exists(entry.path, follow=False) and not _is_empty_folder(files, entry.path):
            raise NoteExists(f"{entry.path} exists again; nothing was changed", entry.path)
        if not exists(entry.moved_to or "", follow=False):
            raise NoteNotFound(f"{entry.path} is no longer in the trash; nothing was changed", entry.path)
        return _Step(entry)
    if entry.kind == "restored":
        return _Step(entry)
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
    if entry.kind == "appended":
        before = present[: entry.old_size]
    return _Step(entry, present, before)


def _record(files: Files, steps: list[_Step], actor: str, reason: str) -> None:
    new = [step for step in steps if step.entry.kind != "moved" or not files.storage.exists(step.entry.path)]
    changes = [_reverse(files, step) for step in new]
    group = files.log.new_id() if len(steps) > 1 else None
    for step, entry in zip(new, files.log.record(changes, actor=actor, reason=reason, group=group), strict=True):
        step.back = entry


def _reverse(files: Files, step: _Step) -> Change:
    entry = step.entry
    if entry.kind in ("created", "restored"):
        single = files_below(files, entry.path) == [entry.path]
        return Change(entry.path, "removed", files.storage.read(entry.path) if single else None, of=entry.id)
    if entry.kind == "removed":
        return Change(entry.path, "restored", moved_to=entry.moved_to, of=entry.id)
    if entry.kind == "moved":
        return Change(entry.moved_to or "", "moved", step.present, step.before, moved_to=entry.path, of=entry.id)
    return Change(entry.path, "changed", step.present, step.before, of=entry.id)


def _perform(files: Files, steps: list[_Step], events: list[tuple[str, str]]) -> list[NoteChange]:
    """As in a move: what comes back is there before links lead to it, what goes is unlinked last."""
    storage = files.storage
    moves = [step for step in steps if step.entry.kind == "moved"]
    copied = [step for step in moves if step.back is not None]
    for step in copied:
        moved_to = step.entry.moved_to or ""
        storage.replace(step.entry.path, step.before, expect=None, beside=moved_to, sync=False)
        events.append((step.entry.path, "created"))
        step.done = True
    storage.sync_folders(step.entry.path for step in copied)
    rest = [step for step in steps if step.entry.kind != "moved"]
    changes = [_take_back(files, step, events) for step in rest]
    storage.sync_folders(step.entry.path for step in rest if step.entry.kind in ("changed", "appended"))
    return changes + [_unlink_copy(files, step, events) for step in moves]


def _take_back(files: Files, step: _Step, events: list[tuple[str, str]]) -> NoteChange:
    entry, back, storage = step.entry, step.back, files.storage
    trash, history_id = (back.moved_to or "", back.id) if back is not None else ("", None)
    if entry.kind in ("created", "restored"):
        events += [(path, "removed") for path in files_below(files, entry.path)]
        storage.rename(entry.path, trash)
        _drop_empty_parents(files, entry.path)
        change = NoteChange(entry.path, "removed", "", history_id)
    elif entry.kind == "removed":
        if storage.exists(entry.path, follow=False):
            storage.remove_tree(entry.path)
        storage.rename(entry.moved_to or "", entry.path)
        storage.prune_folder((entry.moved_to or "").rpartition("/")[0])
        events += [(path, "created") for path in files_below(files, entry.path)]
        change = NoteChange(entry.path, "created", (entry.old or "")[:VERSION_LENGTH], history_id)
    else:
        version = storage.replace(entry.path, step.before, expect=version_of(step.present), sync=False)
        events.append((entry.path, "changed"))
        change = NoteChange(entry.path, "changed", version, history_id)
    step.done = True
    return change


def _unlink_copy(files: Files, step: _Step, events: list[tuple[str, str]]) -> NoteChange:
    entry = step.entry
    moved_to = entry.moved_to or ""
    files.storage.remove(moved_to, expect=version_of(step.present))
    events.append((moved_to, "removed"))
    _drop_empty_parents(files, moved_to)
    history_id = step.back.id if step.back is not None else None
    return NoteChange(entry.path, "moved", version_of(step.before), history_id)


def _drop_empty_parents(files: Files, path: str) -> None:
    """Remove the folders that the undone change had made, as far as they are empty."""
    parents = path.split("/")[:-1]
    while parents and files.storage.prune_folder("/".join(parents)):
        parents.pop()


def _is_empty_folder(files: Files, path: str) -> bool:
    """Whether nothing but folders is at this place, as an undone change leaves them."""
    return (files.root / path).is_dir() and not any(names for _, _, names in os.walk(files.root / path))
