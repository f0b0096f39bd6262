"""Writing what a dream decided: each step changes the text of one note, each note is written once, all under one id.

A step that is written already changes nothing, so what was interrupted is simply done again. A note that was edited in
between is read again: the step is made on its present text, or waits when what it was about is gone.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from ..errors import NoteError, ReMeError
from ..models import NoteChange
from ..vault.edits import dominant_line_end
from ..vault.encoding import Kind, decode_exact, encode_exact
from ..vault.frontmatter import ParsedNote, compose, parse, set_keys, text_of
from ..vault.generated import inert
from ..vault.layout import DIGEST, slug
from .dream_decisions import Candidate, Step
from .dream_digest import (
    GENERATOR,
    Part,
    SourceLink,
    add_links,
    add_sources,
    add_statement,
    add_wording,
    read_part,
    retire,
    reword,
    write_part,
)
from .dream_sources import Trust, least, trust_of
from .naming import shortened

if TYPE_CHECKING:
    from ..vault import Vault

NAME_BYTES = 80
"""Longest file name of a digest note, in bytes of UTF-8, without its suffix."""

_ABOUT_CHARS = 160


@dataclass(slots=True)
class Written:
    """What was written. ``waiting`` are steps whose statement is no longer there; ``failed`` notes, with the reason."""

    changes: list[NoteChange] = field(default_factory=list)
    waiting: list[Step] = field(default_factory=list)
    failed: list[tuple[str, str]] = field(default_factory=list)


def candidate_of(path: str, text: str) -> Candidate:
    """A digest note as a unit's candidate."""
    note = parse(text)
    keys = note.front.data
    name = text_of(keys.get("name")).strip() or path.rpartition("/")[2].removesuffix(".md")
    # A hand-written note says nothing of trust, and is its user's.
    trust = trust_of(keys.get("trust")) if "trust" in keys or note.front.error else None
    return Candidate(path, name, text_of(keys.get("description")), trust, read_part(note.body), note.body)


def free_path(vault: "Vault", category: str, name: str, taken: Iterable[str]) -> str:
    """A path for a new digest note that no file has, whatever the case of its letters."""
    folder = f"{DIGEST}/{category}"
    used = {path.casefold() for path in taken}
    with suppress(OSError):
        used |= {f"{folder}/{entry.name}".casefold() for entry in (vault.root / folder).iterdir()}
    stem, number = slug(name, NAME_BYTES), 1
    while (path := f"{folder}/{stem}{f'-{number}' if number > 1 else ''}.md").casefold() in used:
        number += 1
    return path


def with_step(text: str | None, step: Step, now: datetime) -> str | None:
    """The note with a step done; the same text when it is done already, None when what it is about is not there."""
    if text is None:
        return _new_note(step, now) if step.action == "create" else None
    note = parse(text)
    part = read_part(note.body)
    before = [one.text for one in part.current]
    if part.find(step.unit.id) is None and not _do(part, step):
        return None
    if step.related:
        add_links(part, "related", [SourceLink(path) for path in step.related], step.unit.language)
    # Lines are compared, and not the part, so that a part a user has moved things about in is not tidied up.
    if part.lines == read_part(note.body).lines:
        return text
    body = write_part(note.body, part, dominant_line_end(text) or "\n")
    changed = text[: len(text) - len(note.body)] + body
    if note.front.error is not None:
        return changed
    return set_keys(changed, _keys(note, step, part, before, now))


def write_steps(vault: "Vault", steps: Sequence[Step], run_id: str) -> Written:
    """Write the steps of a run, note by note, each note once. Blocks; may be called again after an interruption."""
    written = Written()
    by_path: dict[str, list[Step]] = {}
    for step in steps:
        if step.action != "none":
            by_path.setdefault(step.path, []).append(step)
    for path, todo in by_path.items():
        waiting: list[Step] = []
        try:
            change = _write_note(vault, path, todo, run_id, waiting)
        except ReMeError as error:
            written.failed.append((path, str(error)))
            written.waiting += todo
            continue
        written.waiting += waiting
        if change is not None:
            written.changes.append(change)
    return written


def _write_note(
    vault: "Vault", path: str, steps: Sequence[Step], run_id: str, waiting: list[Step]
) -> NoteChange | None:
    if not path.startswith(f"{DIGEST}/"):
        raise NoteError(f"{path}: a dream writes below {DIGEST}/ only; nothing was changed", path)

    def new_bytes(old: bytes | None, kind: Kind | None) -> bytes:
        waiting.clear()
        if kind is not None and not kind.exact:
            raise NoteError(f"{path} is not UTF-8; nothing was changed", path)
        text = None if old is None else decode_exact(old)
        for step in steps:
            changed = with_step(text, step, vault.now().replace(microsecond=0))
            if changed is None:
                waiting.append(step)
            else:
                text = changed
        if text is None:
            raise _NothingToWrite
        return encode_exact(text)

    told = "; ".join(f"{step.told_as}: {' '.join(step.unit.statement.split())}" for step in steps)
    try:
        return vault.change(path, new_bytes, actor="pipeline", reason=f"dream {run_id}: {told}", group=run_id)
    except _NothingToWrite:
        return None


class _NothingToWrite(Exception):
    """The note is gone, and no step makes it."""


def _do(part: Part, step: Step) -> bool:
    """Do a step; whether it could be done."""
    unit, language = step.unit, step.unit.language
    held = part.find(step.target) if step.target else None
    add = partial(
        add_statement, part, unit.id, unit.statement, step.sources, valid_from=unit.valid_from, language=language
    )
    if step.action == "cite":
        add_links(part, "sources", step.sources, language)
        return True
    if (step.target and held is None) or step.action == "create":
        return False  # of a new note: somebody else has made one under this name
    if step.action in ("sources", "reword"):
        if (
            step.action == "reword"
            and held is not None
            and held.text != step.text
            and not reword(part, held.id, step.text)
        ):
            add()
            return True
        add_sources(part, step.target, step.sources)
        if step.action == "sources" and step.text:
            add_wording(part, step.target, step.text)
        return True
    if held is not None and step.action == "correct":
        add(before=held.id, supersedes=held.id)
        retire(part, held.id, unit.valid_from or held.valid_from, language)
        return True
    until = held.valid_from if held is not None and step.action == "earlier" else ""
    before = held.id if held is not None and held.edited else ""
    add(valid_to=until, before=before)
    return True


def _new_note(step: Step, now: datetime) -> str:
    unit = step.unit
    part = Part([], [])
    add_statement(part, unit.id, unit.statement, step.sources, valid_from=unit.valid_from, language=unit.language)
    if step.related:
        add_links(part, "related", [SourceLink(path) for path in step.related], unit.language)
    front: dict[str, Any] = {
        "name": unit.name,
        "description": _about([unit.statement]),
        "created": now,
        "updated": now,
        "generator": GENERATOR,
        "trust": unit.trust,
    }
    if unit.valid_from:
        front["valid_from"] = unit.valid_from
    return compose(front, write_part("", part))


def _keys(note: ParsedNote, step: Step, part: Part, before: Sequence[str], now: datetime) -> Mapping[str, Any]:
    """The front matter that follows from the statements. What a user wrote there stays."""
    keys = note.front.data
    ours = text_of(keys.get("generator")).startswith("dream@")
    changes: dict[str, Any] = {"updated": now} if ours or "updated" in keys else {}
    if "trust" in keys:
        lower: Trust = least((trust_of(keys.get("trust")), step.unit.trust))
        if lower != trust_of(keys.get("trust")):
            changes["trust"] = lower
    if ours and part.current:
        if text_of(keys.get("description")) in ("", _about(before)):
            changes["description"] = _about([one.text for one in part.current])
        since = part.current[0].valid_from
        if since and text_of(keys.get("valid_from")) != since:
            changes["valid_from"] = since
    return changes


def _about(statements: Sequence[str]) -> str:
    """What a note is about: its first statements."""
    return shortened(inert(" ".join(" ".join(text.split()) for text in statements)), _ABOUT_CHARS)
