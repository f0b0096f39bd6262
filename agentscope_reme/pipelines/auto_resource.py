"""Documents in ``resource/`` become cards: one for each, found again by the document it is about.

A document is data from outside: its card says so (``trust: external``), and what in it reads as an instruction to a
model goes neither into the card nor to the model. Each document is done when its own card is durable; one that fails
does not stop the others. With the same documents again nothing changes.
"""

import asyncio
import hashlib
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from ..errors import PathError, ReMeError
from ..models import Response
from ..vault.files import finish
from ..vault.layout import RESOURCE, is_ignored, iter_files
from .agent import PlanError, Planner
from .resource_card import BY_RULES, GENERATOR, card_by_rules
from .resource_catalog import Read, load, remember
from .resource_notes import find_note, reindex, remove_note, retarget, state_of, write_note
from .resource_plan import card_by_model
from .resource_text import Reading, is_readable, read_resource

if TYPE_CHECKING:
    from ..config import Language
    from ..vault import Vault

logger = logging.getLogger(__name__)

ChangeKind = Literal["added", "modified", "deleted"]
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
    results: list[Outcome] = []
    known = await asyncio.to_thread(load, vault)
    there, gone = await asyncio.to_thread(_divided, vault, paths)
    for path in [*there, *gone]:
        if path in gone and any(one.path == path for one in results):
            continue  # it was moved: its card is that of the new place
        try:
            done = await _one(vault, path, known, gone, planner, language)
        except ReMeError as error:
            done = [Outcome(path, "failed", error=str(error), retry=not isinstance(error, PathError))]
        except Exception as error:  # a reader or a disk that fails in a way of its own must not stop the others
            logger.exception("%s could not be read.", path)
            done = [Outcome(path, "failed", error=f"{type(error).__name__}: {error}", retry=True)]
        results += done
    return _response(results)


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


def _divided(vault: "Vault", paths: Sequence[str]) -> tuple[list[str], list[str]]:
    """The documents that are there, and those that are gone."""
    there: list[str] = []
    gone: list[str] = []
    for path in paths:
        try:
            exists = vault.storage.exists(path)
        except ReMeError:
            exists = True  # refused below, with a reason
        (there if exists else gone).append(path)
    return there, gone


async def _one(
    vault: "Vault",
    path: str,
    known: dict[str, Read],
    gone: Sequence[str],
    planner: Planner | None,
    language: "Language",
) -> list[Outcome]:
    is_gone = path in gone
    path = _checked(vault, path)
    hint = known[path].card if path in known else ""
    if is_ignored(path, vault.ignore) or not is_readable(path):
        return [Outcome(path, "skipped")]
    if is_gone:
        change = await finish(_forget, vault, path, hint)
        if change is None:
            return [Outcome(path, "skipped")]
        return [Outcome(path, "removed" if change.kind == "removed" else "kept", change.path)]
    data, read = await asyncio.to_thread(_read, vault, path)
    old = next((one for one in gone if path not in known and one in known and known[one].version == read.version), "")
    if old:
        await finish(_take_over, vault, old, path, known[old].card)
    note = await asyncio.to_thread(find_note, vault, path, known[old].card if old else hint)
    outcome = await _card(vault, path, data, read, note, planner, language)
    if outcome.action != "failed" or not outcome.retry:
        # The card is durable now, or never will be for this version.
        await finish(remember, vault, Read(path, read.version, outcome.note, read.size, read.mtime))
    if not old:
        return [outcome]
    await finish(remember, vault, Read(old, ""))
    return [outcome, Outcome(old, "moved", outcome.note)]


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
        await finish(reindex, vault, note)
        return Outcome(path, "unchanged", note, made_by)
    reading: Reading = await asyncio.to_thread(read_resource, vault, path, data)
    error, retry = "", False
    refused: tuple[str, ...] = ()
    card, generator = None, BY_RULES
    if planner is not None and reading.blocks:
        try:
            card, taken = await card_by_model(planner, reading, language)
            generator, refused = GENERATOR, tuple(taken.refused)
            reading = _as_read(reading, taken.read)
        except PlanError as problem:
            logger.warning("The model made no card of %s (%s).", path, problem)
            error, retry = str(problem), problem.reason in ("timeout", "model")
            if note and made_by == GENERATOR and retry:
                # What the model said of the version before stays until it answers again.
                return Outcome(path, "failed", note, GENERATOR, error, retry)
    if card is None:
        card = await asyncio.to_thread(card_by_rules, reading, language)
    change = await finish(write_note, vault, reading, card, read.version, generator, note or "")
    action: Action = "created" if change.kind == "created" else "changed" if change.kind == "changed" else "unchanged"
    if error:
        return Outcome(path, "failed", change.path, generator, error, retry)
    return Outcome(path, action, change.path, generator, refused=refused)


def _as_read(reading: Reading, blocks: int) -> Reading:
    """The document with what the model has not read said, where it was too long."""
    from dataclasses import replace

    if blocks >= len(reading.blocks) or reading.partial:
        return reading
    return replace(reading, partial=f"{blocks} of {len(reading.blocks)} passages")


def _take_over(vault: "Vault", old: str, path: str, hint: str) -> None:
    """Make the card of a document that was moved here one of its new place."""
    note = find_note(vault, old, hint)
    if note is not None:
        retarget(vault, old, path, note)


def _forget(vault: "Vault", path: str, hint: str) -> Any:
    change = remove_note(vault, path, hint)
    remember(vault, Read(path, ""))
    return change


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
