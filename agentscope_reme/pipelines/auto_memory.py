"""A conversation becomes at most one card a day: journal, card, the day's page.

With a model the card holds what the model found worth remembering, checked against the messages; without one, or when
it fails, the user's own statements (``extractive_card``), which the next run with a model takes up again. What was done
is told from the files, not from what the model says.
"""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import ReMeError
from ..models import Response
from ..vault.daily import daily_reindex, day_of, find_card
from ..vault.files import finish
from ..vault.frontmatter import ParsedNote, parse, text_of
from ..vault.generated import generated_part
from ..vault.layout import daily_page
from .agent import PlanError, Planner
from .conversation import (
    Heard,
    heard_in,
    heard_on,
    identity_of,
    journalled,
    latest_day,
    messages_in,
    plain_messages,
    source_of,
)
from .evidence import language_of
from .extractive_card import GENERATOR as EXTRACTIVE
from .extractive_card import PART as STATEMENTS
from .extractive_card import extractive_card, write_extractive, write_extractive_card
from .memory_card import GENERATOR, Found, memory_of, text_beside_items, write_found
from .memory_part import merged
from .memory_plan import MemoryPlan, description_from, name_from, refuse_language, taken_from
from .memory_request import PIECE_CHARS, piece_of, request, system_prompt
from .statements import digest_of, read_statements, statements_of

if TYPE_CHECKING:
    from ..config import Language
    from ..vault import Vault

__all__ = ["auto_memory", "extractive_card", "write_extractive_card"]

logger = logging.getLogger(__name__)

SMALLEST_PIECE = 2_000


@dataclass(frozen=True, slots=True)
class _Run:
    """One conversation on its way into the card of a day; ``given`` are its messages as the journal has them.

    ``whole`` says that all of it belongs on this card, because somebody has named its day.
    """

    vault: "Vault"
    given: list[dict[str, Any]]
    session_id: str
    day: str
    language: "Language"
    hint: str
    whole: bool = False


async def auto_memory(
    vault: "Vault",
    messages: Sequence[Any],
    *,
    planner: Planner | None,
    session_id: str = "",
    date: str = "",
    memory_hint: str = "",
    language: "Language" = "auto",
) -> Response:
    """Journal a conversation, and write what is worth keeping of it into the session's card of the day.

    The same messages again change nothing, and are not shown to the model again. What is no message, no date, or cannot
    be written comes back as a ``Response`` without ``success``.

    Args:
        vault: The vault.
        messages: AgentScope messages, or dictionaries with ``role`` and ``content``; times from ``created_at``,
            ``time_created``, ``timestamp``, ``createdAt``, ``timeCreated`` or ``created_time``, also in ``metadata``.
        planner: Asks the model; None writes an extractive card.
        session_id: The conversation; without one its first message stands for it.
        date: Day of the card, ``YYYY-MM-DD``; else that of the latest message, else today in the vault's zone.
        memory_hint: What the caller would like to have noted, for the model.
        language: ``en`` or ``zh``; ``auto`` follows the user's messages.

    Returns:
        ``metadata``: ``date``, ``path``, ``created``, ``modified``, ``n_messages``, ``session_id``,
        ``source_conversation``, ``index``, ``generator``; with a model ``items`` (on the card), ``added``, ``changed``,
        ``refused`` (a sentence for each item that the messages do not bear out). When the model fails, ``error``, and
        ``retry``: whether asking again may help.
    """
    try:
        date = day_of(vault, str(date)) if date else ""
        given = await asyncio.to_thread(plain_messages, messages)
        if not given:
            return Response(True, "There are no messages.", {"n_messages": 0, "created": False, "modified": False})
        identity = session_id or identity_of(given)
        await finish(journalled, vault, identity, given)
    except (ReMeError, ValueError) as error:
        return _failure(error)
    ids = [message["id"] for message in given]
    return await remember(vault, identity, ids, planner=planner, date=date, memory_hint=memory_hint, language=language)


async def remember(
    vault: "Vault",
    session_id: str,
    ids: Sequence[str],
    *,
    planner: Planner | None,
    date: str = "",
    memory_hint: str = "",
    language: "Language" = "auto",
) -> Response:
    """:func:`auto_memory` for messages that are in the journal of a session, by their ids."""
    try:
        given = await asyncio.to_thread(messages_in, vault, session_id, ids)
        day = day_of(vault, date) if date else await asyncio.to_thread(latest_day, given, vault.now())
        run = _Run(vault, given, session_id, day, language, memory_hint, whole=bool(date))
        return await _remember(run, planner)
    except (ReMeError, ValueError) as error:
        return _failure(error)


def _failure(error: Exception) -> Response:
    return Response(False, str(error), {"created": False, "modified": False, "error": str(error)})


async def _remember(run: _Run, planner: Planner | None) -> Response:
    present, path = await asyncio.to_thread(_card, run)
    heard = await asyncio.to_thread(_unheard, run, present, planner is not None)
    if not heard:
        if path:
            await finish(daily_reindex, run.vault, run.day)
        nothing = (
            "Nothing a card could hold was said" if not heard_in(run.given, run.vault.now()) else "Nothing new was said"
        )
        about = f"Nothing new for {path}." if path else f"{nothing}."
        return Response(True, about, {**_facts(run), "path": path or ""})
    if planner is None:
        return await _without_model(run, heard)
    found, error = await _ask(run, planner, present, heard)
    done = Response(True, "", {**_facts(run), "path": path or "", "generator": GENERATOR, "refused": found.refused})
    if found.additions or (path is not None and found.heard):
        done = await _with_model(run, found, done.metadata)
    if error is None:
        refused = f" Refused: {'; '.join(found.refused)}." if found.refused else ""
        return Response(True, f"{done.answer or 'The model found nothing worth a card.'}{refused}", done.metadata)
    logger.warning("The model made no card of session %s (%s).", run.session_id, error)
    # What it has read is written; the rest is the user's own statements until it is read as well.
    rest = await _without_model(run, heard[len(found.heard) :])
    facts = {**done.metadata, **rest.metadata, "error": str(error), "retry": error.reason in ("timeout", "model")}
    for key in ("created", "modified"):
        facts[key] = done.metadata[key] or rest.metadata[key]
    so_far = f"{done.answer} " if done.answer else ""
    told = f"{error}. {so_far}Meanwhile, without it: {rest.answer} The next run with a model improves it."
    return Response(False, told, facts)


async def _with_model(run: _Run, found: Found, facts: dict[str, Any]) -> Response:
    written = await finish(write_found, run.vault, run.session_id, run.day, found)
    change = written.change
    facts = {**facts, "path": change.path, "added": written.added, "changed": written.changed, "items": written.items}
    facts |= {"created": change.kind == "created", "modified": change.kind in ("created", "changed")}
    verb = {"created": "Wrote", "changed": "Refined"}.get(change.kind, "Nothing new for")
    return Response(True, f"{verb} {change.path} ({written.added} added, {written.changed} changed).", facts)


def _card(run: _Run) -> tuple[ParsedNote | None, str | None]:
    """The session's card of the day, and its path."""
    path = find_card(run.vault, run.day, run.session_id)
    return (None, None) if path is None else (parse(run.vault.read_bytes(path).decode("utf-8", "replace")), path)


def _unheard(run: _Run, present: ParsedNote | None, by_model: bool) -> list[Heard]:
    """What no model has read: of the messages given, and of the day where its card was made without one."""
    now = run.vault.now()
    found = {one.seq: one for one in heard_in(run.given, now)}
    if by_model and present is not None and generated_part(present.body, STATEMENTS) is not None:
        found |= {one.seq: one for one in heard_on(run.vault, run.session_id, run.day, now)}
    known = memory_of(present, run.day).heard
    left = {seq: one for seq, one in found.items() if seq not in known}
    told = set() if run.whole else _told_before(run, left)
    return [left[seq] for seq in sorted(left) if seq not in told]


def _told_before(run: _Run, found: dict[int, Heard]) -> set[int]:
    """Which of the utterances the session's cards of the days before tell already.

    Who hands over a conversation as it grows hands over its beginning each day; no fact is noted each day for that.
    """
    early = {seq: one for seq, one in found.items() if one.day < run.day}
    heard: set[int] = set()
    stated: set[str] = set()
    for day in sorted(
        {one.day for one in heard_in(run.given, run.vault.now()) if "" < one.day < run.day} if early else ()
    ):
        path = find_card(run.vault, day, run.session_id)
        if path is not None:
            card = parse(run.vault.read_bytes(path).decode("utf-8", "replace"))
            heard |= memory_of(card, day).heard
            stated |= {*read_statements(generated_part(card.body, STATEMENTS) or "", day).seen}
    told = heard & early.keys()
    for seq, one in early.items() if stated else ():
        if any(digest_of(statement) in stated for statement in statements_of([one.said])):
            told.add(seq)
    return told


async def _without_model(run: _Run, heard: Sequence[Heard]) -> Response:
    ids = {one.id for one in heard}
    fresh = [message for message in run.given if message["id"] in ids]
    response: Response = await finish(write_extractive, run.vault, fresh, run.session_id, run.language, run.day)
    facts = {**_facts(run), "generator": EXTRACTIVE, **response.metadata, "n_messages": len(run.given)}
    return Response(response.success, response.answer, facts)


async def _ask(
    run: _Run, planner: Planner, present: ParsedNote | None, heard: list[Heard]
) -> tuple[Found, PlanError | None]:
    """Have the model read what is new, piece by piece, and take what the messages bear out.

    With an error, ``heard`` of what was found is what was read before it.
    """
    spoken = [one.said.text for one in heard if one.said.role == "user"]
    language = await asyncio.to_thread(language_of, spoken) if run.language == "auto" else run.language
    found = Found([], language)
    part = memory_of(present, run.day)
    system = system_prompt(language, run.language)
    named = text_of(present.front.data.get("name")) if present else ""
    beside = await asyncio.to_thread(text_beside_items, present)
    limit, place = PIECE_CHARS, 0

    def in_language(plan: MemoryPlan) -> None:
        refuse_language(plan, language, spoken)

    while place < len(heard):
        piece = list(piece_of(heard[place:], limit, language))
        known = (await asyncio.to_thread(merged, part, found.additions)).items
        about = {"name": found.name or named, "text": beside, "hint": run.hint}
        try:
            user = request(piece, day=run.day, items=known, **about)
            plan = await planner.plan(MemoryPlan, system=system, user=user, language=language, check=in_language)
        except PlanError as error:
            if error.reason != "too_long" or limit <= SMALLEST_PIECE:
                return found, error
            limit = max(SMALLEST_PIECE, limit // 2)
            continue
        said = [one.said for one in heard[place : place + len(piece)]]
        vouched = [run.hint, *(text for item in known for text in (item.text, *item.earlier))]
        taken = await asyncio.to_thread(taken_from, plan, said, known, vouched)
        found.additions += taken.additions
        found.refused += taken.refused
        found.by_agent |= taken.by_agent
        found.name = name_from(plan.name, found.name)
        found.description = description_from(plan.description, found.description)
        place += len(piece)
        found.heard = heard[:place]
    return found, None


def _facts(run: _Run) -> dict[str, Any]:
    return {
        "n_messages": len(run.given),
        "created": False,
        "modified": False,
        "date": run.day,
        "session_id": run.session_id,
        "source_conversation": source_of(run.session_id),
        "index": daily_page(run.day),
    }
