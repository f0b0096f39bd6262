"""The cards of documents: finding, writing and removing them. Only what this pipeline made is ever changed or removed.

A card is known by ``source_resource`` and ``generator`` in its front matter, wherever it lies and whatever it is
called. It names the version of the document it was made of: with the card, the work on a document is done.
"""

import re
from collections.abc import Iterable, Mapping
from datetime import date as Date
from typing import TYPE_CHECKING, Any

from ..errors import ReMeError
from ..models import NoteChange
from ..vault.daily import daily_list, daily_reindex, update_card
from ..vault.encoding import decode_exact
from ..vault.frontmatter import ParsedNote, delete_keys, parse, set_keys, text_of
from ..vault.generated import generated_part, with_generated_part
from ..vault.inbound import notes_naming
from ..vault.layout import DAILY, RESOURCE, today
from ..vault.wikilink import is_linkable
from .resource_card import PART, CardText, link_to, render_card
from .resource_text import Reading

if TYPE_CHECKING:
    from ..vault import Vault

_LINK = re.compile(r"^\s*\[\[([^\]|]+)(?:\|[^\]]*)?\]\]\s*$")
_CARD = re.compile(rf"{DAILY}/(\d{{4}}-\d\d-\d\d)/[^/]+\.md")
_EMPTY_PART = f"<!-- reme:begin {PART} -->\n<!-- reme:end {PART} -->"
_GONE = {"en": "The document is no longer in the vault.", "zh": "这份文档已不在记忆库中。"}


def day_of_resource(vault: "Vault", path: str) -> str:
    """The day whose folder a new card goes to: that of the document's own folder, else today."""
    parts = path.split("/")
    if len(parts) > 2 and parts[0] == RESOURCE:
        try:
            if Date.fromisoformat(parts[1]).isoformat() == parts[1]:
                return parts[1]
        except ValueError:
            pass
    return today(vault.now())


def find_notes(vault: "Vault", hints: Mapping[str, str]) -> dict[str, str]:
    """The cards of documents, in one pass over the notes. ``hints`` says for each document where its card was last."""
    found = {path: hint for path, hint in hints.items() if hint and is_card_of(_front(vault, hint), path)}
    missing = set(hints) - set(found)
    for note in sorted(notes_naming(vault, missing)) if missing else ():
        source = source_of(front := _front(vault, note))
        if source in missing and is_card_of(front, source):
            found.setdefault(source, note)
    # What no link can name is found in the folder of its day alone.
    days = {day_of_resource(vault, path) for path in missing - set(found) if not is_linkable(path)}
    for day in sorted(days):
        for card in daily_list(vault, day):
            source = source_of(card.front_matter.data)
            if source in missing and is_card_of(card.front_matter.data, source):
                found.setdefault(source, card.path)
    return found


def is_card_of(front: Mapping[str, Any], path: str) -> bool:
    """Whether a note with this front matter is this pipeline's card of a document."""
    return text_of(front.get("generator")).startswith("resource") and source_of(front) == path


def source_of(front: Mapping[str, Any]) -> str:
    """The document a card is about."""
    told = text_of(front.get("source_resource"))
    link = _LINK.match(told)
    return (link.group(1) if link else told).strip()


def state_of(vault: "Vault", note: str) -> tuple[str, str]:
    """The version a card was made of, and what made it."""
    front = _front(vault, note)
    return text_of(front.get("source_version")), text_of(front.get("generator"))


def write_note(
    vault: "Vault", reading: Reading, card: CardText, version: str, generator: str, note: str | None
) -> NoteChange:
    """Write the card of a document, or bring it up to date: the generated part and the keys about the document.

    Text beside the part, and a name that the user has changed, stay. ``note`` is where the card is, None when there is
    none. The day's page is for :func:`reindex`.
    """
    now = vault.now().replace(microsecond=0)
    body = render_card(reading, card)
    about: dict[str, Any] = {
        "description": card.description,
        "updated": now,
        "generator": generator,
        "trust": "external",
        "source_resource": link_to(reading.path),
        "source_version": version,
    }
    reason = "a document was read"
    with vault.storage.lock():
        if note is not None and not vault.storage.exists(note):  # moved while a model was reading
            note = find_notes(vault, {reading.path: ""}).get(reading.path)
        if note is None:

            def make(present: ParsedNote | None) -> tuple[Mapping[str, Any], str]:
                return {"name": card.name, "created": now, **about}, with_generated_part("", PART, body)

            day = day_of_resource(vault, reading.path)
            return update_card(vault, day, "", make, reason=reason, reindex=False)
        text = decode_exact(vault.read_bytes(note))
        present = parse(text)
        if present.front.error is None and generated_part(present.body, PART) == body.strip("\n"):
            keys = present.front.data
            about = {key: value for key, value in about.items() if key != "updated" and keys.get(key) != value}
        changed = text[: len(text) - len(present.body)] + with_generated_part(present.body, PART, body)
        if present.front.error is None and about:
            changed = set_keys(changed, {**about, "updated": now})
            if "source_removed" in present.front.data:
                changed = delete_keys(changed, ["source_removed"])
        return vault.write_sync(note, changed, overwrite=True, actor="pipeline", reason=reason)


def retarget(vault: "Vault", old: str, new: str, note: str) -> NoteChange:
    """Make the card of a document that was moved or renamed one of its new place."""
    with vault.storage.lock():
        text = decode_exact(vault.read_bytes(note))
        front = parse(text).front
        changed = set_keys(text, {"source_resource": link_to(new)}) if front.error is None else text
        changed = changed.replace(link_to(old), link_to(new))
        return vault.write_sync(note, changed, overwrite=True, actor="pipeline", reason="a document was moved")


def remove_note(vault: "Vault", note: str) -> NoteChange:
    """Remove the card of a document that is gone; one in which the user wrote stays, without its generated part."""
    with vault.storage.lock():
        text = decode_exact(vault.read_bytes(note))
        present = parse(text)
        if not with_generated_part(present.body, PART, "").replace(_EMPTY_PART, "").strip():
            return vault.delete_sync(note, actor="pipeline", reason="its document is gone")
        language = "zh" if re.search(r"[\u3400-\u9fff]", present.body) else "en"
        body = with_generated_part(present.body, PART, _GONE[language])
        changed = text[: len(text) - len(present.body)] + body
        if present.front.error is None:
            gone = {"description": _GONE[language], "source_removed": today(vault.now()), "source_version": ""}
            changed = set_keys(changed, gone)
        return vault.write_sync(note, changed, overwrite=True, actor="pipeline", reason="its document is gone")


def reindex(vault: "Vault", notes: Iterable[str]) -> None:
    """List cards on their days' pages, or no more: also those that an interrupted run has left out."""
    for day in sorted({found.group(1) for note in notes if (found := _CARD.fullmatch(note))}):
        daily_reindex(vault, day)


def _front(vault: "Vault", note: str) -> Mapping[str, Any]:
    try:
        return vault.frontmatter_read_sync(note).data
    except (ReMeError, OSError):
        return {}
