"""Moving a note or a folder: copy, point the links to the copy, unlink the original.

In this order a crash leaves both, and each link leads to one of them; moving again completes it. All changes of one
move share a group in the history, so that one ``undo`` takes it back.
"""

import logging
from dataclasses import dataclass, field
from typing import Literal

from ..errors import NoteExists, NoteNotFound, PathError, ReMeError
from ..models import FileLink, NoteChange
from .authorship import refuse_undated
from .encoding import decode_exact, encode_exact, kind_of, mixes_encodings
from .files import Files
from .history import Change, HistoryEntry
from .inbound import link_index, notes_naming, target_of, text_of
from .layout import today
from .paths import parse_path
from .removal import files_below
from .storage import version_of
from .wikilink import LinkIndex, respell, rewrite

log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Move:
    """One move under way.

    ``paths`` has the new path of each file that moves or was moved by the run that this one goes on with (``earlier``);
    ``moved`` and ``relinked`` the bytes before and after, of what moves now and of notes that stay.
    """

    files: Files
    paths: dict[str, str]
    index: LinkIndex
    earlier: dict[str, HistoryEntry]
    moved: dict[str, tuple[bytes, bytes]] = field(default_factory=dict)
    relinked: dict[str, tuple[bytes, bytes]] = field(default_factory=dict)
    links_of: dict[str, list[FileLink]] = field(default_factory=dict)
    links: list[FileLink] = field(default_factory=list)
    failed: list[tuple[str, str]] = field(default_factory=list)
    events: list[tuple[str, str]] = field(default_factory=list)
    done: set[str] = field(default_factory=set)


def move(files: Files, source: str, target: str, *, actor: str, reason: str) -> NoteChange:
    """See :meth:`Vault.move`."""
    if not parse_path(source, folder=True):
        raise PathError("the root of the vault cannot be moved; name a note or a folder in it")
    with files.storage.lock():
        files.log.settle()
        old = files.real_path(source, actor=actor, folder=True, follow=False)
        new = _destination(files, old, target, actor)
        if new == old:
            raise NoteExists(f"{old} is already there; nothing was changed", old)
        if new.startswith(old + "/"):
            raise PathError(f"{old} cannot be moved into itself; nothing was changed")
        refuse_undated(new, actor, today(files.now()))
        gone = files_below(files, old) if files.storage.exists(old) else []
        moving = _begin(files, old, new, gone) if gone else _resume(files, old, new)
        _look_at_links(moving)
        entries = _record(moving, actor, reason)
        try:
            _copy(moving)
            _retarget(moving, entries)
            _unlink(moving, old)
        except BaseException:
            files.log.void((entry for path, entry in entries.items() if path not in moving.done), "it was interrupted")
            raise
    for path, kind in moving.events:
        files.publish(path, kind)
    return _outcome(moving, old, new, entries)


def _resume(files: Files, old: str, new: str) -> _Move:
    """A move that was made before, so that links which still lead to the old place can follow."""
    earlier = _moved_before(files, old, new)
    if not earlier:
        raise NoteNotFound(f"there is no {old} with files in the vault; nothing was changed", old)
    moving = _Move(files, {path: new + path[len(old) :] for path in earlier}, link_index(files), earlier)
    for path in earlier:
        moving.index.add(path)
    return moving


def _begin(files: Files, old: str, new: str, gone: list[str]) -> _Move:
    """Look at what moves before anything is changed. Goes on with a move that was interrupted."""
    begun = any(files.storage.exists(new + path[len(old) :]) for path in gone)
    earlier = _moved_before(files, old, new) if begun else {}
    paths = {path: new + path[len(old) :] for path in (*earlier, *gone)}
    moving = _Move(files, paths, link_index(files), earlier)
    for path in (*paths, *paths.values()):
        moving.index.add(path)
    for path in gone:
        before = files.storage.read(path)
        after = before
        if path.lower().endswith(".md") and b"[[" in before and kind_of(before).exact:
            links: list[FileLink] = []
            after = encode_exact(_rewritten(moving, decode_exact(before), path, links))
            if mixes_encodings(before, after):
                after = before
                moving.failed.append((paths[path], "it is not UTF-8, so the links in it were not changed"))
            else:
                moving.links += links
        if files.storage.exists(paths[path]) and (path not in earlier or files.storage.read(paths[path]) != after):
            raise NoteExists(f"{paths[path]} exists; nothing was changed", paths[path])
        moving.moved[path] = (before, after)
    return moving


def _look_at_links(moving: _Move) -> None:
    """Find the links of notes that stay. A note that cannot be read is named, and does not stop the others."""
    files = moving.files
    places = {*moving.paths, *moving.paths.values()}
    for path in notes_naming(files, moving.paths):
        if path in places:
            continue
        text = text_of(files, path)
        if text is None:
            moving.failed.append((path, "it is not UTF-8, so its links were not looked at"))
            continue
        links: list[FileLink] = []
        try:
            after = encode_exact(_rewritten(moving, text, path, links))
        except ReMeError as error:
            moving.failed.append((path, str(error)))
            continue
        before = encode_exact(text)
        if mixes_encodings(before, after):
            moving.failed.append((path, "it is not UTF-8, so the new name cannot be written in it"))
            continue
        if after != before:
            moving.relinked[path] = (before, after)
            moving.links_of[path] = list(dict.fromkeys(links))  # a link in front matter is asked for twice


def _record(moving: _Move, actor: str, reason: str) -> dict[str, HistoryEntry]:
    """Write all entries together; by path, those of this run and those of the run it goes on with."""
    changes = [
        Change(path, "moved", before, after, moved_to=moving.paths[path])
        for path, (before, after) in moving.moved.items()
        if path not in moving.earlier
    ]
    changes += [Change(path, "changed", before, after) for path, (before, after) in moving.relinked.items()]
    begun = next((entry.group for entry in moving.earlier.values() if moving.moved and entry.group), None)
    entries = moving.files.log.record(
        changes, actor=actor, reason=reason or "a note was moved", group=begun or moving.files.log.new_id()
    )
    return {entry.path: entry for entry in entries}


def _copy(moving: _Move) -> None:
    storage = moving.files.storage
    made = []
    for path, (_, after) in moving.moved.items():
        new = moving.paths[path]
        if not storage.exists(new):
            storage.replace(new, after, expect=None, beside=path, sync=False)
            made.append(new)
            moving.events.append((new, "created"))
        moving.done.add(path)
    storage.sync_folders(made)


def _retarget(moving: _Move, entries: dict[str, HistoryEntry]) -> None:
    """Rewrite the links of notes that stay. A note that cannot be changed is named, and does not stop the others."""
    storage = moving.files.storage
    changed = []
    for path, (before, after) in moving.relinked.items():
        moving.done.add(path)
        try:
            storage.replace(path, after, expect=version_of(before), sync=False)
        except ReMeError as error:
            log.warning("the links of %s were not changed: %s", path, error)
            moving.failed.append((path, str(error)))
            moving.files.log.void([entries[path]], "the note could not be changed")
            continue
        changed.append(path)
        moving.links += moving.links_of[path]
        moving.events.append((path, "changed"))
    storage.sync_folders(changed)


def _unlink(moving: _Move, old: str) -> None:
    storage = moving.files.storage
    for path, (before, _) in moving.moved.items():
        storage.remove(path, expect=version_of(before))
        moving.events.append((path, "removed"))
    folders = {path[:cut] for path in moving.paths for cut in range(len(old), len(path)) if path[cut] == "/"}
    for folder in sorted(folders, key=len, reverse=True):
        if not storage.prune_folder(folder):
            moving.failed.append((folder, "something in it is no regular file, and stays"))


def _outcome(moving: _Move, old: str, new: str, entries: dict[str, HistoryEntry]) -> NoteChange:
    kind: Literal["moved", "unchanged"] = "moved" if moving.moved or moving.links else "unchanged"
    entry = entries.get(old) or next(iter((*entries.values(), *moving.earlier.values())))
    version = version_of(moving.moved[old][1]) if old in moving.moved else ""
    return NoteChange(new, kind, version, entry.id, links=tuple(moving.links), failed=tuple(moving.failed))


def _destination(files: Files, old: str, target: str, actor: str) -> str:
    names = parse_path(target, folder=True)
    new = files.real_path(target, actor=actor, folder=True)
    into = target.endswith("/") or not names or ((files.root / new).is_dir() and not _is_begun(files, old, new))
    if into and new != old:
        new = files.real_path("/".join((*names, old.rsplit("/", 1)[-1])), actor=actor, folder=True)
    return new


def _is_begun(files: Files, old: str, new: str) -> bool:
    """Whether the folder ``new`` is there because ``old`` was being moved to it, or was moved.

    A folder takes the place of an empty one, which is what a move that was interrupted at its start leaves.
    """
    if (files.root / old).is_dir() and not files_below(files, new):
        return True
    left = files_below(files, old) if files.storage.exists(old) else []
    return any(path in left or not left for path in _moved_before(files, old, new))


def _rewritten(moving: _Move, text: str, path: str, links: list[FileLink]) -> str:
    files = moving.files

    def new_target(link: FileLink) -> str | None:
        found = target_of(files, moving.index, link)
        if found is None or found not in moving.paths:
            return None
        links.append(link)
        return respell(link.target_path, found, moving.paths[found], moving.index, files.link_rule)

    return rewrite(text, new_target, path)


def _moved_before(files: Files, old: str, new: str) -> dict[str, HistoryEntry]:
    """By old path, the files at or below ``old`` that were last moved to their place at ``new`` and are still there."""
    last: dict[str, HistoryEntry] = {}
    undone = set()
    for entry in files.log.entries():
        undone.add(entry.of)
        if entry.path == old or entry.path.startswith(old + "/"):
            last[entry.path] = entry
    return {
        path: entry
        for path, entry in last.items()
        if entry.kind == "moved"
        and entry.id not in undone
        and entry.moved_to == new + path[len(old) :]
        and files.storage.exists(entry.moved_to)
    }
