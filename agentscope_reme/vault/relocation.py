"""Moving a note or a folder: copy, point the links to the copy, unlink the original.

In this order a crash leaves both, and each link leads to one of them; moving again completes it. All changes of one
move share a group in the history, so that one ``undo`` takes it back.
"""

import logging
from dataclasses import dataclass, field
from typing import Literal

from ..errors import NoteExists, NoteNotFound, PathError, ReMeError
from ..models import FileLink, NoteChange
from .encoding import decode_exact, encode_exact, kind_of
from .files import Files
from .history import HistoryEntry
from .inbound import link_index, notes_naming, target_of, text_of
from .paths import parse_path
from .removal import files_below
from .storage import version_of
from .wikilink import LinkIndex, respell, rewrite

log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Move:
    """One move under way. ``paths`` has each moved file's new path, ``contents`` its bytes before and after."""

    files: Files
    paths: dict[str, str]
    index: LinkIndex
    actor: str
    reason: str
    group: str = ""
    contents: dict[str, tuple[bytes, bytes]] = field(default_factory=dict)
    entries: dict[str, HistoryEntry] = field(default_factory=dict)
    links: list[FileLink] = field(default_factory=list)
    failed: list[tuple[str, str]] = field(default_factory=list)
    events: list[tuple[str, str]] = field(default_factory=list)


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
        kind: Literal["moved", "unchanged"] = "moved"
        if gone := files_below(files, old) if files.storage.exists(old) else []:
            pending = _begin(files, old, new, gone, actor, reason)
            entry_id = _copy(pending)
        else:
            pending, entry_id = _resume(files, old, new, actor, reason)
            kind = "unchanged"
        _retarget(pending)
        _unlink(pending, old)
        if kind == "unchanged" and pending.links:
            kind, entry_id = "moved", pending.group
    for path, change in pending.events:
        files.publish(path, change)
    after = pending.contents.get(old)
    version = version_of(after[1]) if after else ""
    return NoteChange(new, kind, version, entry_id, links=tuple(pending.links), failed=tuple(pending.failed))


def _resume(files: Files, old: str, new: str, actor: str, reason: str) -> tuple[_Move, str]:
    """A move that was made before, so that links which still lead to the old place can follow."""
    done = _moved_before(files, old, new)
    if not done:
        raise NoteNotFound(f"there is no {old} with files in the vault; nothing was changed", old)
    pending = _Move(files, {path: new + path[len(old) :] for path in done}, link_index(files), actor, reason)
    pending.group = files.log.new_id()
    for path in done:
        pending.index.add(path)
    return pending, next(iter(done.values())).id


def _begin(files: Files, old: str, new: str, gone: list[str], actor: str, reason: str) -> _Move:
    """Look at everything before anything is changed. Goes on with a move that was interrupted."""
    begun = any(files.storage.exists(new + path[len(old) :]) for path in gone)
    entries = _moved_before(files, old, new) if begun else {}
    paths = {path: new + path[len(old) :] for path in (*entries, *gone)}
    group = next((entry.group for entry in entries.values() if entry.group), "") or files.log.new_id()
    pending = _Move(files, paths, link_index(files), actor, reason, group, entries=entries)
    for path in (*paths, *paths.values()):
        pending.index.add(path)
    for path in gone:
        pending.contents[path] = _copy_of(pending, path)
        if files.storage.exists(paths[path]) and (
            path not in entries or files.storage.read(paths[path]) != pending.contents[path][1]
        ):
            raise NoteExists(f"{paths[path]} exists; nothing was changed", paths[path])
    return pending


def _copy(pending: _Move) -> str:
    """Make the copies; returns the id of the entry that undoes the move."""
    files = pending.files
    entry_id = ""
    for path, (before, after) in pending.contents.items():
        new = pending.paths[path]
        entry = pending.entries.get(path) or files.log.record(
            path,
            "moved",
            actor=pending.actor,
            reason=pending.reason,
            old=before,
            new=after,
            moved_to=new,
            group=pending.group,
        )
        if not files.storage.exists(new):
            files.storage.replace(new, after, expect=None, beside=path)
            pending.events.append((new, "created"))
        entry_id = entry.id
    return entry_id


def _unlink(pending: _Move, old: str) -> None:
    files = pending.files
    for path, (before, _) in pending.contents.items():
        files.storage.remove(path, expect=version_of(before))
        pending.events.append((path, "removed"))
    folders = {path[:cut] for path in pending.paths for cut in range(len(old), len(path)) if path[cut] == "/"}
    for folder in sorted(folders, key=len, reverse=True):
        files.storage.prune_folder(folder)


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


def _copy_of(pending: _Move, path: str) -> tuple[bytes, bytes]:
    """A moved file's bytes, and what they shall be: its links to itself and to what moves along are retargeted."""
    before = pending.files.storage.read(path)
    if not path.lower().endswith(".md") or b"[[" not in before or not kind_of(before).exact:
        return before, before
    return before, encode_exact(_rewritten(pending, decode_exact(before), path, pending.links))


def _retarget(pending: _Move) -> None:
    """Rewrite the links of notes that stay. A note that cannot be changed is named, and does not stop the others."""
    files = pending.files
    for path in list(notes_naming(files, pending.paths)):
        if path in pending.paths or path in pending.paths.values():
            continue
        text = text_of(files, path)
        if text is None:
            pending.failed.append((path, "it is not UTF-8, so its links were not looked at"))
            continue
        links: list[FileLink] = []
        try:
            after = encode_exact(_rewritten(pending, text, path, links))
            before = encode_exact(text)
            if after == before:
                continue
            files.log.record(
                path,
                "changed",
                actor=pending.actor,
                reason=pending.reason or "a note it links to was moved",
                old=before,
                new=after,
                group=pending.group,
            )
            files.storage.replace(path, after, expect=version_of(before))
        except ReMeError as error:
            log.warning("the links of %s were not changed: %s", path, error)
            pending.failed.append((path, str(error)))
            continue
        pending.links += dict.fromkeys(links)  # a link in front matter is asked for twice
        pending.events.append((path, "changed"))


def _rewritten(pending: _Move, text: str, path: str, links: list[FileLink]) -> str:
    files = pending.files

    def new_target(link: FileLink) -> str | None:
        found = target_of(files, pending.index, link)
        if found is None or found not in pending.paths:
            return None
        links.append(link)
        return respell(link.target_path, found, pending.paths[found], pending.index, files.link_rule)

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
