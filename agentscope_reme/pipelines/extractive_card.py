"""The card of a conversation without a model: the user's own statements, chosen, dated and merged."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from ..models import Response
from ..vault.daily import update_card
from ..vault.edits import append_text
from ..vault.frontmatter import ParsedNote, text_of
from ..vault.generated import generated_part, with_generated_part
from ..vault.layout import daily_page, today
from .conversation import identity_of, source_of
from .evidence import language_of, said_by_users
from .naming import description_of, is_telling, title_of
from .statements import Statement, chosen, digest_of, read_statements, render_statements, statements_of

if TYPE_CHECKING:
    from ..vault import Vault

GENERATOR = "extractive@1"
PART = "statements"
"""Name of the generated part of a card; what stands outside it is never touched."""

_TRUST = ("external", "agent", "user")


@dataclass(frozen=True, slots=True)
class Card:
    """A card made without a model. ``date`` is the day of its latest statement, None when no message says when it was.

    ``body`` is what goes between the markers of the card.
    """

    name: str
    description: str
    body: str
    date: str | None
    language: str = "en"
    statements: tuple[Statement, ...] = ()


def extractive_card(
    messages: Sequence[Mapping[str, Any]],
    *,
    session_id: str,
    language: Literal["auto", "en", "zh"] = "auto",
    now: datetime,
) -> Card | None:
    """Choose what users said in ``messages`` (Msg dictionaries) that a card should keep; None when that is nothing.

    At most 30 statements of at most 300 characters, those with facts, decisions and preferences before the rest, with
    time and speaker, and the names, dates, paths and numbers in them. Dates come from the messages' own times;
    relative ones ("yesterday") are resolved against them. Pure and deterministic. ``now`` gives the zone.
    """
    said = said_by_users(messages, now)
    statements = chosen(statements_of(said))
    if not statements:
        return None
    days = [one.day for one in statements if one.day]
    latest = max(days) if days else None
    tongue = language_of(one.text for one in said) if language == "auto" else language
    return Card(
        name=title_of(statements),
        description=description_of(statements, tongue),
        body=render_statements(statements, latest or "", tongue),
        date=latest,
        language=tongue,
        statements=tuple(statements),
    )


async def write_extractive_card(
    vault: "Vault",
    messages: Sequence[Mapping[str, Any]],
    *,
    session_id: str,
    language: Literal["auto", "en", "zh"] = "auto",
    date: str = "",
) -> Response:
    """Write or refine the session's card of the day on which ``messages`` were said.

    One card for a session and day: later statements are merged into its generated part, and the text around that part
    stays as it is, byte for byte. The same messages again change nothing. Messages that say no time go to today's
    folder and get no date. ``date`` (``YYYY-MM-DD``) is the day of the card, whatever they say. ``metadata``: ``date``,
    ``path``, ``created``, ``modified``, ``n_messages``, ``statements``, ``generator``, ``index``,
    ``source_conversation``.
    """
    from ..vault.notes import finish

    outcome: Response = await finish(write_extractive, vault, list(messages), session_id, language, date)
    return outcome


def write_extractive(
    vault: "Vault",
    messages: Sequence[Mapping[str, Any]],
    session_id: str,
    language: Literal["auto", "en", "zh"],
    date: str = "",
) -> Response:
    """:func:`write_extractive_card`, blocking."""
    now = vault.now().replace(microsecond=0)
    card = extractive_card(messages, session_id=session_id, language=language, now=now)
    facts: dict[str, Any] = {"n_messages": len(messages), "created": False, "modified": False}
    if card is None:
        return Response(True, "Nothing a card should hold was said.", {**facts, "statements": 0})
    day = date or card.date or today(now)
    source = source_of(session_id) if session_id else ""
    identity = session_id or identity_of(messages)
    merged: list[Statement] = []

    def update(present: ParsedNote | None) -> tuple[Mapping[str, Any], str]:
        nonlocal merged
        front, body, merged = _merged(card, present, day, now)
        if front:
            front = {**front, "session_id": identity}
            if source:
                front["source_conversation"] = f"[[{source}]]"
        return front, body

    change = update_card(vault, day, identity, update, reason="what was said in a conversation")
    facts |= {
        "date": day,
        "path": change.path,
        "created": change.kind == "created",
        "modified": change.kind in ("created", "changed"),
        "statements": len(merged),
        "generator": GENERATOR,
        "index": daily_page(day),
        "source_conversation": source,
    }
    verb = {"created": "Wrote", "changed": "Refined"}.get(change.kind, "Nothing new for")
    count = f"{len(merged)} statement{'' if len(merged) == 1 else 's'}"
    return Response(True, f"{verb} {change.path} ({count}).", facts)


def _merged(
    card: Card, present: ParsedNote | None, day: str, now: datetime
) -> tuple[dict[str, Any], str, list[Statement]]:
    """The keys to set, the new body and the statements in it; no keys when the body stays as it is."""
    front: dict[str, Any] = {"name": card.name, "description": card.description}
    if present is None:
        statements = list(card.statements)
        part = render_statements(statements, day, card.language, map(digest_of, statements))
        front |= {"created": now, "updated": now, "generator": GENERATOR, "trust": "user"}
        return front, with_generated_part("", PART, part, raw=True), statements
    old = read_statements(generated_part(present.body, PART) or "", day)
    language = old.language or card.language
    fresh = [statement for statement in card.statements if digest_of(statement) not in old.seen]
    merged = chosen([*old.statements, *fresh])
    seen = dict.fromkeys([*old.seen, *map(digest_of, merged)])
    body = with_generated_part(present.body, PART, render_statements(merged, day, language, seen), raw=True)
    if old.foreign:
        # Lines a user wrote between the markers are the user's: they move out of the part that is made anew.
        body = append_text(body, "\n".join(old.foreign))
    if body == present.body:
        return {}, body, merged
    keys = present.front.data
    front = {"updated": now}
    described = text_of(keys.get("description"))
    if merged and (not described or (old.statements and described == description_of(old.statements, language))):
        front["description"] = description_of(merged, language)
    name = text_of(keys.get("name"))
    if not name or (old.statements and name == title_of(old.statements) and not is_telling(name)):
        # A name that says nothing, made of the little that was said by then, gives way to one that does.
        front["name"] = title_of(merged) if merged else card.name
    generator = text_of(keys.get("generator"))
    if not generator or generator.startswith("extractive@"):
        front["generator"] = GENERATOR
    if text_of(keys.get("trust")) not in _TRUST:
        front["trust"] = "user"
    return front, body, merged
