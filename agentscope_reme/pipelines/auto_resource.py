"""Documents in ``resource/`` become cards: one for each, found again by the document it is about.

A document is data from outside: its card says so (``trust: external``), and what in it reads as an instruction to a
model goes neither into the card nor to the model. Each document is done when its own card is durable; one that fails
does not stop the others. With the same documents again nothing changes.
"""

import asyncio
import hashlib
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from ..errors import PathError, ReMeError
from ..models import Response
from ..vault.changelog import LOG
from ..vault.files import finish
from ..vault.layout import OLDER_FOLDERS, RESOURCE, is_ignored, iter_files
from ..vault.run_lock import run_lock
from .agent import PlanError, Planner
from .resource_card import BY_RULES, GENERATOR, card_by_rules
from .resource_catalog import CATALOG, Read, load, remember
from .resource_notes import find_notes, reindex, remove_note, retarget, state_of, write_note
from .resource_plan import card_by_model
from .resource_text import ReaderMissing, Reading, UnreadableDocument, is_readable, read_resource

if TYPE_CHECKING:
    from ..config import Language
    from ..vault import Vault

logger = logging.getLogger(__name__)

NAME = "auto_resource"
LOCK_WAIT = 30.0
"""Seconds that a call waits for another one in the same vault."""

_TIDY_EVERY = 100
Action = Literal["created", "changed", "unchanged", "removed", "kept", "moved", "skipped", "failed"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was done about one document. ``retry`` says that trying it again later may help."""

    path: str
    action: Action
    note: str = ""
    generator: str = ""
    error: str = ""
    retry: bool = False
    refused: tuple[str, ...] = ()


async def auto_resource(
    vault: "Vault", changes: Sequence[Any], *, planner: Planner | None, language: "Language" = "auto"
) -> Response:
    """Bring the cards of changed documents up to date.

    Args:
        vault: The vault.
        changes: What has changed below ``resource/``: paths, ``{"path": …, "change": …}`` or ``(change, path)``.
            Whether a document is there is looked up; ``change`` (``added``, ``modified``, ``deleted``) is only checked.
        planner: Asks the model; None makes cards by rules: title, headings, first sentences, names, numbers, dates.
        language: ``en`` or ``zh``; ``auto`` follows each document.

    Returns:
        ``success`` is False when one of them failed. ``metadata``: ``results`` (for each document ``path``, ``action``,
        ``note``, ``generator``, ``error``, ``retry``), and the paths by ``created``, ``modified``, ``removed``,
        ``unchanged``, ``skipped``, ``failed``.
    """
    try:
        paths = paths_of(changes)
    except (TypeError, ValueError) as error:
        return Response(False, str(error), {"results": [], "error": str(error)})
    if not paths:
        return _response([])
    try:
        async with run_lock(vault.storage, NAME, wait=LOCK_WAIT):
            batch = await asyncio.to_thread(_Batch.of, vault, paths)
            try:
                for path in [*batch.there, *batch.gone]:
                    await _attempt(batch, path, planner, language)
                    if len(batch.done) >= _TIDY_EVERY:
                        await finish(batch.tidy)
            finally:
                await finish(batch.tidy)
    except ReMeError as error:
        return Response(False, str(error), {"results": [], "error": str(error), "retry": True})
    return _response(batch.results)


@dataclass(slots=True)
class _Batch:
    """The documents of one call: which are there, which are gone, and where their cards are."""

    vault: "Vault"
    there: list[str]
    gone: list[str]
    known: dict[str, Read]
    notes: dict[str, str]
    results: list[Outcome] = field(default_factory=list)
    # What is done, but neither on a day's page nor in the catalog yet.
    done: list[Read] = field(default_factory=list)
    touched: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, vault: "Vault", paths: Sequence[str]) -> "_Batch":
        """Look at the files."""
        there: list[str] = []
        gone: list[str] = []
        for path in paths:
            try:
                exists = vault.storage.exists(path)
            except ReMeError:
                exists = True  # refused below, with a reason
            (there if exists else gone).append(path)
        known = load(vault)
        hints = {path: known[path].card if path in known else "" for path in paths if is_readable(path)}
        return cls(vault, there, gone, known, find_notes(vault, hints))

    def is_moved(self, old: str, path: str, read: Read) -> bool:
        """Whether a document is one that lay elsewhere, and whose card has not found another yet."""
        fresh = path not in self.known and path not in self.notes and all(one.path != old for one in self.results)
        return fresh and old in self.notes and old in self.known and self.known[old].version == read.version

    def tidy(self) -> None:
        """Bring the days' pages up to date, then note what is done: a run that is killed before does it again."""
        reindex(self.vault, self.touched)
        remember(self.vault, self.done)
        self.done, self.touched = [], set()


async def _attempt(batch: _Batch, path: str, planner: Planner | None, language: "Language") -> None:
    if path in batch.gone and any(one.path == path for one in batch.results):
        return  # it was moved: its card is that of the new place
    try:
        await _one(batch, path, planner, language)
    except ReMeError as error:
        failed = Outcome(path, "failed", error=str(error), retry=not isinstance(error, PathError | ReaderMissing))
        batch.results.append(failed)
    except Exception as error:  # a reader or a disk that fails in a way of its own must not stop the others
        logger.exception("%s could not be read.", path)
        batch.results.append(Outcome(path, "failed", error=f"{type(error).__name__}: {error}", retry=True))


def paths_of(changes: Iterable[Any]) -> list[str]:
    """The paths of a batch of changes, each once, in order. Raises TypeError or ValueError for what is no change."""
    if isinstance(changes, (str, Mapping)):
        changes = [changes]
    paths: dict[str, None] = {}
    for change in changes:
        kind: Any = ""
        path: Any = change
        if isinstance(change, Mapping):
            path, kind = change.get("path"), change.get("change") or change.get("type") or ""
        elif isinstance(change, (tuple, list)) and len(change) == 2:
            kind, path = change
        elif not isinstance(change, str):
            path, kind = getattr(change, "path", None), getattr(change, "change", "")
        if not isinstance(path, str) or not path.strip():
            raise TypeError(f"{change!r} is no change; give paths, or {{'path': …, 'change': 'added'}}")
        if kind not in ("", "added", "modified", "deleted"):
            raise ValueError(f"{kind!r} is no kind of change; it is added, modified or deleted")
        paths[path] = None
    return list(paths)


def unread(vault: "Vault") -> list[str]:
    """The documents that have changed since they were read, those that are new, and those that are gone; blocking.

    A document whose card somebody has removed counts as read until it changes.
    """
    known = load(vault)
    found: list[str] = []
    there = set()
    for path, status in iter_files(vault.root, RESOURCE, extra_globs=vault.ignore):
        if not is_readable(path):
            continue
        there.add(path)
        read = known.get(path)
        if read is None or read.size != status.st_size or read.mtime != status.st_mtime:
            found.append(path)
    return [*found, *(path for path in known if path not in there)]


def take_as_read(vault: "Vault") -> None:
    """Before the first look at a vault that another system has grown: its documents count as read until they change.

    That system has read them already, and opening its vault rewrites nothing. :func:`auto_resource` with their paths
    makes cards of them all the same.
    """
    if vault.storage.exists(CATALOG) or not _is_anothers(vault):
        return
    known = [
        Read(path, "present before", size=status.st_size, mtime=status.st_mtime)
        for path, status in iter_files(vault.root, RESOURCE, extra_globs=vault.ignore)
        if is_readable(path)
    ]
    remember(vault, known)


def _is_anothers(vault: "Vault") -> bool:
    if any((vault.root / name).is_dir() for name in OLDER_FOLDERS):
        return True
    return not vault.storage.exists(LOG) and any(
        not path.startswith(f"{RESOURCE}/") for path, _ in iter_files(vault.root, "", extra_globs=vault.ignore)
    )


async def _one(batch: _Batch, path: str, planner: Planner | None, language: "Language") -> None:
    vault, is_gone = batch.vault, path in batch.gone
    path = _checked(vault, path)
    if is_ignored(path, vault.ignore) or not is_readable(path):
        batch.results.append(Outcome(path, "skipped"))
        return
    note = batch.notes.get(path)
    if is_gone:
        change = await finish(remove_note, vault, note) if note else None
        action: Action = "skipped" if change is None else "removed" if change.kind == "removed" else "kept"
        batch.touched.add(note or (batch.known[path].card if path in batch.known else ""))
        batch.done.append(Read(path, ""))
        batch.results.append(Outcome(path, action, note or ""))
        return
    data, read = await asyncio.to_thread(_read, vault, path)
    old = next((one for one in batch.gone if batch.is_moved(one, path, read)), "")
    if old:
        note = batch.notes[old]
        await finish(retarget, vault, old, path, note)
        batch.done.append(Read(old, ""))
        batch.results.append(Outcome(old, "moved", note))
    outcome = await _card(vault, path, data, read, note, planner, language)
    batch.touched.add(outcome.note)
    if outcome.action != "failed" or not outcome.retry:
        # The card is durable now, or never will be for this version.
        batch.done.append(Read(path, read.version, outcome.note, read.size, read.mtime))
    batch.results.append(outcome)


def _checked(vault: "Vault", path: str) -> str:
    """The path of a document below ``resource/``; PathError for any other."""
    real = vault.real_path(path)
    if real.split("/", 1)[0] != RESOURCE:
        raise PathError(f"{path}: only what lies in {RESOURCE}/ is read; put the document there, or ingest it")
    return real


def _read(vault: "Vault", path: str) -> tuple[bytes, Read]:
    with vault.storage.opened(path) as (_, status, _real):
        size, mtime = status.st_size, status.st_mtime
    data = vault.read_bytes(path)
    return data, Read(path, hashlib.sha256(data).hexdigest(), "", size, mtime)


async def _card(
    vault: "Vault",
    path: str,
    data: bytes,
    read: Read,
    note: str | None,
    planner: Planner | None,
    language: "Language",
) -> Outcome:
    version, made_by = await asyncio.to_thread(state_of, vault, note) if note else ("", "")
    if note and version == read.version and (planner is None or made_by == GENERATOR):
        return Outcome(path, "unchanged", note, made_by)
    try:
        reading: Reading = await asyncio.to_thread(read_resource, vault, path, data)
    except UnreadableDocument as problem:
        # So it will be until it changes; the card of a version before stays.
        return Outcome(path, "failed", note or "", made_by, str(problem))
    error, retry = "", False
    refused: tuple[str, ...] = ()
    card, generator = None, BY_RULES
    if planner is not None and reading.blocks:
        try:
            found, taken = await card_by_model(planner, reading, language)
            refused = tuple(taken.refused)
            if found.points:  # else a card by rules says more than an empty one
                card, generator = found, GENERATOR
                reading = _as_read(reading, taken.read - taken.passed_over)
        except PlanError as problem:
            logger.warning("The model made no card of %s (%s).", path, problem)
            error, retry = str(problem), problem.reason in ("timeout", "model")
            if note and made_by == GENERATOR and retry:
                # What the model said of the version before stays until it answers again.
                return Outcome(path, "failed", note, GENERATOR, error, retry)
    if card is None:
        card = await asyncio.to_thread(card_by_rules, reading, language)
    change = await finish(write_note, vault, reading, card, read.version, generator, note)
    action: Action = "created" if change.kind == "created" else "changed" if change.kind == "changed" else "unchanged"
    if error:
        return Outcome(path, "failed", change.path, generator, error, retry)
    return Outcome(path, action, change.path, generator, refused=refused)


def _as_read(reading: Reading, blocks: int) -> Reading:
    """The document with what the model has not read said, where it was too long."""
    if blocks >= len(reading.blocks) or reading.partial:
        return reading
    return replace(reading, partial=f"{blocks} of {len(reading.blocks)} passages")


def _response(results: Sequence[Outcome]) -> Response:
    by: dict[str, list[str]] = {
        name: [] for name in ("created", "modified", "removed", "unchanged", "skipped", "failed")
    }
    groups = {"changed": "modified", "moved": "modified", "kept": "modified"}
    for one in results:
        by[groups.get(one.action, one.action)].append(one.path)
    told = [f"{len(paths)} {name}" for name, paths in by.items() if paths]
    failures = [f"{one.path}: {one.error}" for one in results if one.action == "failed"]
    answer = f"Documents: {', '.join(told)}." if told else "No document has changed."
    if failures:
        answer += " " + "; ".join(failures)
    listed = [
        {
            "path": one.path, "action": one.action, "note": one.note, "generator": one.generator,
            "error": one.error, "retry": one.retry, "refused": list(one.refused),
        }
        for one in results
    ]  # fmt: skip
    retry = any(one.retry for one in results)
    return Response(not by["failed"], answer, {"results": listed, **by, "retry": retry})
