"""The notes of a day: one card for each conversation or resource, and the day's page that lists them.

A card's identity is ``session_id`` (or ``source_conversation``) in its front matter; its file name only says what it
is about. Functions block; a coroutine runs them in a thread.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date as Date
from typing import TYPE_CHECKING, Any

from ..errors import NoteError, PathError
from ..models import FileFrontMatter, NoteChange
from .encoding import safe_cut
from .frontmatter import ParsedNote, compose, parse, set_keys, text_of
from .generated import with_generated_part
from .layout import DAILY, DIALOG, daily_page, iter_files, session_file_name, slug, today
from .storage import digest_of
from .wikilink import FileLink, front_matter_links, is_linkable, render

if TYPE_CHECKING:
    from .notes import Vault

CARD_PART = "card"
"""Name of the generated part of a card."""

INDEX_PART = "cards"
"""Name of the generated part of a day's page."""

NAME_BYTES = 80
"""Longest file name of a card, in bytes of UTF-8, without its suffix."""

_ABOUT_CHARS = 120
_SESSION_LINE = re.compile(r"^session_id:[ \t]*([\"']?)(\S.*?)\1[ \t]*\r?$", re.MULTILINE)

CardUpdate = Callable[[ParsedNote | None], tuple[Mapping[str, Any], str]]
"""From a card as it is (None: there is none yet) to the keys to set in its front matter and its whole new body."""


@dataclass(frozen=True, slots=True)
class DailyCard:
    """A card as a day lists it. ``name`` is that of its front matter, else its file name."""

    path: str
    name: str
    description: str = ""
    session_id: str = ""
    front_matter: FileFrontMatter = field(default_factory=FileFrontMatter)


def find_card(vault: "Vault", date: str, session_id: str) -> str | None:
    """The path of the session's card of that day (``YYYY-MM-DD``), or None."""
    return next(iter(_cards_of(vault, date, session_id)), None)


def _cards_of(vault: "Vault", date: str, session_id: str) -> list[str]:
    """The session's cards of that day, the one to write to first; more than one only where somebody made a copy."""
    if not session_id:
        return []
    journals = {f"{DIALOG}/{name}.jsonl" for name in (session_file_name(session_id), session_id)}
    by_source = []
    by_id = []
    for card in daily_list(vault, date):
        if card.session_id == session_id:
            by_id.append(card.path)
            continue
        links = front_matter_links(card.front_matter, card.path)
        if any(link.predicate == "source_conversation" and link.target_path in journals for link in links):
            by_source.append(card.path)
    return by_id + by_source


def _finish_renaming(vault: "Vault", paths: list[str], actor: str) -> bool:
    """Complete a renaming that was interrupted when the card was there under both names; whether there was one."""
    for entry in reversed(vault.log.entries()):
        if entry.kind == "moved" and entry.path in paths and entry.moved_to in paths:
            if digest_of(vault.read_bytes(entry.path)) != entry.old:
                return False
            vault.move_sync(entry.path, entry.moved_to, actor=actor, reason=entry.reason)
            return True
    return False


def write_card(
    vault: "Vault",
    date: str,
    front: Mapping[str, Any],
    body: str,
    *,
    actor: str = "pipeline",
    reason: str = "",
) -> NoteChange:
    """Write the card that ``front`` names: ``body`` becomes its generated part.

    With ``session_id`` in ``front`` the session's card of that day is found and changed, whatever its file is called:
    the keys of ``front`` are set (``created`` only in a new card), text outside the generated part stays. Otherwise a
    new file is made. The day's page is brought up to date.
    """

    def update(present: ParsedNote | None) -> tuple[Mapping[str, Any], str]:
        if present is None:
            return front, with_generated_part("", CARD_PART, body)
        keys = {key: value for key, value in front.items() if key != "created" or key not in present.front.data}
        return keys, with_generated_part(present.body, CARD_PART, body)

    session_id = text_of(front.get("session_id"))
    return update_card(vault, date, session_id, update, actor=actor, reason=reason)


def update_card(
    vault: "Vault",
    date: str,
    session_id: str,
    update: CardUpdate,
    *,
    actor: str = "pipeline",
    reason: str = "",
    reindex: bool = True,
) -> NoteChange:
    """Read, change and write the session's card of a day under the vault's lock, then the day's page.

    A new card gets a file named after ``name`` in its front matter; a name that is taken, by whatever file, gets a
    number. A card whose ``name`` changes is moved, and links to it follow, unless its file was named by hand. When two
    writers of one session meet, the second changes what the first has written. Front matter that cannot be read is
    kept as it is. ``update`` may be called twice. Without ``reindex`` the day's page is left to the caller.
    """
    date = day_of(vault, date)
    with vault.storage.lock():
        paths = _cards_of(vault, date, session_id)
        if len(paths) > 1 and _finish_renaming(vault, paths, actor):
            paths = _cards_of(vault, date, session_id)
        path = paths[0] if paths else None
        if path is None:
            front, body = update(None)
            path = _free_path(vault, date, text_of(front.get("name")))
            change = vault.write_sync(path, compose(front, body), actor=actor, reason=reason)
        else:
            text = _text(vault, path)
            present = parse(text)
            front, body = update(present)
            new_path = _better_path(vault, date, path, present, front)
            if new_path is not None:
                # First the file, then its name inside: after a crash in between, the next update finds it in place.
                vault.move_sync(path, new_path, actor=actor, reason="the card has a better name")
                path, text = new_path, _text(vault, new_path)
                present = parse(text)
                front, body = update(present)
            changed = text[: len(text) - len(present.body)] + body
            if present.front.error is None:
                changed = set_keys(changed, front)
            change = vault.write_sync(path, changed, overwrite=True, actor=actor, reason=reason)
        if reindex:
            daily_reindex(vault, date, actor=actor)
    return change


def daily_create(
    vault: "Vault",
    name: str,
    description: str = "",
    body: str = "",
    *,
    session_id: str = "",
    date: str = "",
    actor: str = "user",
    reason: str = "",
) -> NoteChange:
    """Make a card of a day (default: today). With a session id that has one already, that card is changed instead."""
    date = day_of(vault, date)
    now = vault.now().replace(microsecond=0)
    front: dict[str, Any] = {"name": name, "description": description, "created": now, "updated": now}
    if session_id:
        front["session_id"] = session_id
        front["source_conversation"] = f"[[{DIALOG}/{session_file_name(session_id)}.jsonl]]"
    front["trust"] = "user" if actor == "user" else "agent"

    def update(present: ParsedNote | None) -> tuple[Mapping[str, Any], str]:
        if present is None:
            return front, body
        kept = {"name", "description", "updated"}
        addition = with_generated_part(present.body, CARD_PART, body) if body.strip() else present.body
        return {key: value for key, value in front.items() if key in kept}, addition

    # The keys that say where a card comes from are the system's; written as the agent's they would be taken out again.
    writer = "pipeline" if actor == "agent" else actor
    return update_card(vault, date, session_id, update, actor=writer, reason=reason or f"daily_create ({actor})")


def daily_list(vault: "Vault", date: str = "") -> tuple[DailyCard, ...]:
    """The cards of a day (default: today), by path. One that cannot be read is listed by its file name."""
    folder = f"{DAILY}/{day_of(vault, date)}"
    cards = []
    for path, _ in iter_files(vault.root, folder, suffixes=(".md",), extra_globs=vault.ignore):
        if path.count("/") != 2:
            continue
        raw = None
        try:
            note = parse(_text(vault, path))
            front, raw = note.front, note.raw
        except NoteError as error:
            front = FileFrontMatter(error=str(error))
        file_name = path.rpartition("/")[2].removesuffix(".md")
        name, description = (text_of(front.data.get(key)).strip() for key in ("name", "description"))
        title = name or text_of(front.data.get("title")).strip() or file_name
        session_id = text_of(front.data.get("session_id"))
        if front.error is not None and (line := _SESSION_LINE.search(raw or "")) is not None:
            # Broken YAML elsewhere in the block must not give the session a second card.
            session_id = line.group(2)
        cards.append(DailyCard(path, title, description, session_id, front))
    return tuple(cards)


def daily_reindex(vault: "Vault", date: str = "", *, actor: str = "pipeline") -> NoteChange | None:
    """Bring the list of cards on the day's page up to date; text outside its markers stays as it is.

    None when there is nothing to list and no page: an empty day gets none.
    """
    date = day_of(vault, date)
    path = daily_page(date)
    if not vault.storage.exists(path) and not daily_list(vault, date):
        return None
    with vault.storage.lock():
        lines = "\n".join(_index_line(card) for card in daily_list(vault, date))
        exists = vault.storage.exists(path)
        text = _text(vault, path) if exists else compose({"name": date}, f"# {date}\n")
        changed = with_generated_part(text, INDEX_PART, lines)
        return vault.write_sync(path, changed, overwrite=exists, actor=actor, reason="the day's cards")


def day_of(vault: "Vault", date: str = "") -> str:
    """``date`` if it is one (``YYYY-MM-DD``), today when empty; :class:`PathError` otherwise."""
    if not date:
        return today(vault.now())
    try:
        if Date.fromisoformat(date).isoformat() == date:
            return date
    except ValueError:
        pass
    raise PathError(f"{date!r} is not a date; write it as YYYY-MM-DD")


def _free_path(vault: "Vault", date: str, name: str) -> str:
    stem = slug(name, NAME_BYTES)
    folder = f"{DAILY}/{date}"
    try:
        taken = {entry.name.casefold() for entry in (vault.root / folder).iterdir()}
    except OSError:
        taken = set()
    number = 1
    while (file_name := f"{stem}.md" if number == 1 else f"{stem}-{number}.md").casefold() in taken:
        number += 1
    return f"{folder}/{file_name}"


def _better_path(vault: "Vault", date: str, path: str, present: ParsedNote, front: Mapping[str, Any]) -> str | None:
    """Where a card goes whose name changes; None when it stays: same name, or a file name that somebody chose."""
    old, new = text_of(present.front.data.get("name")), text_of(front.get("name"))
    stem = path.rpartition("/")[2].removesuffix(".md")
    if not new or not _is_named_after(stem, old) or _is_named_after(stem, new):
        return None
    return _free_path(vault, date, new)


def _is_named_after(stem: str, name: str) -> bool:
    base = slug(name, NAME_BYTES)
    return stem == base or re.fullmatch(re.escape(base) + "-[0-9]+", stem) is not None


def _index_line(card: DailyCard) -> str:
    # A file whose name no link can hold is listed without one.
    alias = " ".join(card.name.translate(str.maketrans("[]|", "()/")).split())
    link = render(FileLink("", card.path, alias=alias or None)) if is_linkable(card.path) else f"`{card.path}`"
    about = " ".join(card.description.split())
    if len(about) > _ABOUT_CHARS:
        about = about[: safe_cut(about, _ABOUT_CHARS - 1)].rstrip() + "…"
    if card.front_matter.error is not None:
        about = f"(the front matter cannot be read: {card.front_matter.error})"
    return f"- {link} — {about}" if about else f"- {link}"


def _text(vault: "Vault", path: str) -> str:
    try:
        return vault.read_bytes(path).decode("utf-8")
    except UnicodeDecodeError as error:
        raise NoteError(f"{path} is not UTF-8 and is left as it is", path) from error
