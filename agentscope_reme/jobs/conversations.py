"""Conversations become cards, from a file, from another program, or from a journal of the vault."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

from ..errors import ReMeError
from ..models import Response
from .registry import JSON_VALUE

if TYPE_CHECKING:
    from ..reme import ReMe


async def auto_memory(
    reme: "ReMe",
    messages: Annotated[
        list[Any] | None,
        "The conversation: a list of messages with role, content and, if known, created_at; without it, the journal of "
        "the session.",
        JSON_VALUE,
    ] = None,
    *,
    session_id: Annotated[str, "The conversation's id; the same id goes on with the same card."] = "",
    date: Annotated[str, "Day of the card, YYYY-MM-DD; else that of the latest message, else today."] = "",
    memory_hint: Annotated[str, "What you would like to have noted, for the model."] = "",
) -> Response:
    """Write what is worth keeping of a conversation into the day's card of its session.

    The messages go into the session's journal. Without a model the card holds the user's own statements; the next run
    with a model improves it. The same messages again change nothing.
    """
    if messages is None:
        return await _of_journal(reme, session_id, date, memory_hint)
    return await reme.auto_memory([_message(one) for one in _listed(messages)], session_id, date, memory_hint)


async def _of_journal(reme: "ReMe", session_id: str, date: str, memory_hint: str) -> Response:
    import asyncio

    if not session_id:
        raise ReMeError("Give the messages, or the id of a session whose journal is in the vault.")
    journal = reme.vault.journal(session_id)
    lines = await asyncio.to_thread(journal.read)
    if not lines:
        raise ReMeError(f"There is no journal of session {session_id!r}: {journal.path} has no messages.")
    messages = [{**line.msg, "id": line.id, "marks": list(line.marks)} for line in lines]
    return await reme.auto_memory(messages, session_id, date, memory_hint)


def _listed(value: Any) -> list[Any]:
    """The messages in what was given: a list, or an object that has one under ``messages``."""
    if isinstance(value, Mapping):
        value = value.get("messages", [value])
    if not isinstance(value, list):
        raise ReMeError("A conversation is a list of messages, or an object with such a list under messages.")
    return value


def _message(value: Any) -> Any:
    """A message as it is, or out of a line of a journal."""
    inner = value.get("msg") if isinstance(value, Mapping) else None
    return {**inner, "marks": value.get("marks") or []} if isinstance(inner, Mapping) else value
