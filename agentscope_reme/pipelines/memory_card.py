"""Writing what a model found into the card of a session and day: only its own parts of the card change."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..index.recalled import statement_digest
from ..models import NoteChange
from ..vault.daily import update_card
from ..vault.edits import append_text
from ..vault.frontmatter import ParsedNote, text_of
from ..vault.generated import generated_part, with_generated_part
from ..vault.layout import slug
from .conversation import Heard, source_of
from .extractive_card import PART as STATEMENTS
from .memory_part import PART, Addition, MemoryPart, Merged, holds, merged, read_part, render_part
from .naming import MAX_NAME, description_of, shortened, title_of
from .statements import bare_words, read_statements, render_statements, statements_of

if TYPE_CHECKING:
    from ..vault import Vault

GENERATOR = "model@1"
COVERED = 0.6
"""Share of a statement's content words that an item must hold for the statement to leave the card."""

_TRUST = ("external", "agent", "user")


@dataclass(slots=True)
class Found:
    """What a model found in the utterances ``heard``: items, and the card's name; ``language`` is ``en`` or ``zh``."""

    heard: list[Heard] = field(default_factory=list)
    language: str = "en"
    additions: list[Addition] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    by_agent: bool = False
    name: str = ""
    description: str = ""


@dataclass(frozen=True, slots=True)
class Written:
    """What became of the card."""

    change: NoteChange
    added: int
    changed: int
    items: int


def memory_of(present: ParsedNote | None, day: str) -> MemoryPart:
    """What a model wrote into a card so far."""
    return read_part(generated_part(present.body, PART) or "", day) if present else MemoryPart()


def text_beside_items(present: ParsedNote | None) -> str:
    """What else a card holds: the user's text, extractive statements."""
    if present is None:
        return ""
    part = generated_part(present.body, PART)
    return present.body.replace("\r\n", "\n").replace(part, "") if part else present.body


def write_found(vault: "Vault", session_id: str, day: str, found: Found) -> Written:
    """Merge what was found into the session's card of the day; make the card when there is none. Blocks."""
    outcome = Merged((), ())

    def update(present: ParsedNote | None) -> tuple[Mapping[str, Any], str]:
        nonlocal outcome
        old = memory_of(present, day)
        outcome = merged(old, found.additions)
        front = _front(vault, session_id, day, found, present, old, outcome)
        named = [statement_digest(text_of(front[key])) for key in ("name", "description") if front.get(key)]
        heard = old.heard | {one.seq for one in found.heard}
        language = old.language or found.language
        part = render_part(outcome.items, day, language, kept=[*outcome.kept, *named], heard=heard)
        body = _with_part(present.body if present else "", part)
        if old.foreign:
            # Lines a user wrote between the markers are the user's: they move out of the part that is made anew.
            body = append_text(body, "\n".join(old.foreign))
        return front, _without_covered(body, [item.text for item in outcome.items], day)

    change = update_card(vault, day, session_id, update, reason="what was said in a conversation")
    return Written(change, outcome.added, outcome.changed, len(outcome.items))


def _front(
    vault: "Vault",
    session_id: str,
    day: str,
    found: Found,
    present: ParsedNote | None,
    old: MemoryPart,
    outcome: Merged,
) -> dict[str, Any]:
    """The keys to set in the card's front matter."""
    now = vault.now().replace(microsecond=0)
    trust = "agent" if found.by_agent else "user"
    identity = {"session_id": session_id, "source_conversation": f"[[{source_of(session_id)}]]"}
    if present is None:
        said = [one.said for one in found.heard if one.said.role == "user"]
        first = found.additions[0].item.text if found.additions else day
        name = found.name or title_of(statements_of(said)) or shortened(first, MAX_NAME)
        named = {"name": name, "description": found.description or shortened(first, 120)}
        return {**named, "created": now, "updated": now, "generator": GENERATOR, "trust": trust, **identity}
    keys = present.front.data
    front = _better_names(found, present, old, day)
    before = text_of(keys.get("trust"))
    if outcome.added or outcome.changed or text_of(keys.get("generator")) != GENERATOR:
        front |= {"updated": now, "generator": GENERATOR, **identity}
        front["trust"] = min((before if before in _TRUST else "user", trust), key=_TRUST.index)
    return front


def _better_names(found: Found, present: ParsedNote, old: MemoryPart, day: str) -> dict[str, Any]:
    """The model's name and description, where the present ones are not the user's own."""
    statements = read_statements(generated_part(present.body, STATEMENTS) or "", day)
    by_program = {title_of(statements.statements), description_of(statements.statements, statements.language or "en")}
    front = {}
    for key, new in (("name", found.name), ("description", found.description)):
        value = text_of(present.front.data.get(key))
        ours = not value or value in by_program or old.is_ours(value)
        if new and ours and (key != "name" or slug(new) != slug(value)):
            front[key] = new
    return front


def _with_part(body: str, part: str) -> str:
    """The body with the part in it: where it stands, else before the extractive statements, else at the end."""
    if generated_part(body, PART) is None and generated_part(body, STATEMENTS) is not None:
        place = body.index(f"<!-- reme:begin {STATEMENTS} -->")
        gap = "\r\n" if "\r\n" in body else "\n"
        return with_generated_part(body[:place], PART, part, raw=True) + gap + body[place:]
    return with_generated_part(body, PART, part, raw=True)


def _without_covered(body: str, texts: Sequence[str], day: str) -> str:
    """The body without the extractive statements that an item says as well; the others stay, as do the user's lines."""
    part = generated_part(body, STATEMENTS)
    if part is None:
        return body
    old = read_statements(part, day)
    left = [one for one in old.statements if not any(holds(text, bare_words(one.words), COVERED) for text in texts)]
    if len(left) == len(old.statements):
        return body
    rest = render_statements(left, day, old.language or "en", old.seen)
    changed = with_generated_part(body, STATEMENTS, rest, raw=True)
    return append_text(changed, "\n".join(old.foreign)) if old.foreign else changed
