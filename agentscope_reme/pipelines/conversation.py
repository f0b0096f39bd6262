"""A conversation as ``auto_memory`` takes it: messages of any kind in, journalled and numbered utterances out."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from ..vault.dialog import JournalRecord
from ..vault.jsonable import dumps
from ..vault.layout import DIALOG, session_file_name, today
from .evidence import TIME_FIELDS, Said, is_injected, said_in

if TYPE_CHECKING:
    from ..vault import JournalLine, Vault


@dataclass(frozen=True, slots=True)
class Heard:
    """An utterance, the id of its message, and its place in the journal (``seq``).

    ``day`` is when it was said, or when it came into the journal where nobody knows that.
    """

    said: Said
    id: str
    seq: int
    day: str = ""


def plain_messages(messages: Iterable[Any]) -> list[dict[str, Any]]:
    """AgentScope messages or dictionaries as dictionaries that have an id; they are not changed.

    An id that is missing is made from who said what when, so that the same conversation given again is the same.
    ValueError for what is no message.
    """
    if isinstance(messages, Mapping) or hasattr(messages, "to_dict"):
        messages = [messages]  # one message is a conversation as well
    if isinstance(messages, str) or not isinstance(messages, Iterable):
        raise ValueError("a conversation is a list of messages: AgentScope's, or dictionaries with role and content")
    found = []
    counts: Counter[str] = Counter()
    for number, message in enumerate(messages, 1):
        plain = message if isinstance(message, Mapping) else getattr(message, "to_dict", lambda: None)()
        if not isinstance(plain, Mapping) or not isinstance(plain.get("role"), str) or "content" not in plain:
            raise ValueError(
                f"message {number} is no message: give AgentScope messages, or dictionaries with role and content"
            )
        made = {**plain, "name": plain.get("name") or plain["role"]}
        if not made.get("id"):
            said = dumps([made["role"], made["name"], made["content"], [_time_field(made, key) for key in TIME_FIELDS]])
            digest = hashlib.sha256(said.encode("utf-8")).hexdigest()[:20]
            counts[digest] += 1
            made["id"] = f"m-{digest}" if counts[digest] == 1 else f"m-{digest}-{counts[digest]}"
        found.append({**made, "id": str(made["id"])})
    return found


def snapshot(messages: Iterable[Any]) -> list[Any]:
    """The messages as they are now: copies down to their blocks, which programs change in place. Cheap on purpose."""
    taken = []
    for message in messages:
        plain = message.to_dict() if hasattr(message, "to_dict") else message
        taken.append({key: _copied(value) for key, value in plain.items()} if isinstance(plain, Mapping) else plain)
    return taken


def _copied(value: Any) -> Any:
    if isinstance(value, list):
        return [_copied(one) for one in value]
    return {key: _copied(one) for key, one in value.items()} if isinstance(value, dict) else value


def identity_of(messages: Sequence[Mapping[str, Any]]) -> str:
    """A session id for a conversation that has none: the same for the same first message."""
    first = messages[0]
    text = f"{first.get('id') or ''}\0{first.get('content')!r}"
    return "conversation-" + hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:12]


def source_of(session_id: str) -> str:
    """The path of a conversation's journal."""
    return f"{DIALOG}/{session_file_name(session_id)}.jsonl"


def journalled(vault: "Vault", session_id: str, messages: Sequence[Mapping[str, Any]]) -> None:
    """Put messages into the journal, durably when this returns; what is there already adds nothing.

    What was injected and what only the system says (its prompt) is no part of the conversation.
    """
    part = [
        message
        for message in messages
        if not is_injected(message) and (message.get("role") != "system" or _has_result(message))
    ]
    if not part:
        return
    journal = vault.journal(session_id)
    # Messages read from a journal hold pointers, which must not be taken for what somebody wrote.
    known = {line.id: line.msg.get("content") for line in journal.find([str(message["id"]) for message in part])}
    fresh = [message for message in part if message["id"] not in known or known[message["id"]] != message["content"]]
    journal.append([JournalRecord({key: value for key, value in one.items() if key != "marks"}) for one in fresh])


def messages_in(vault: "Vault", session_id: str, ids: Iterable[str]) -> list[dict[str, Any]]:
    """The messages with these ids as the journal has them and in its order, with ``marks``, ``seq`` and ``left_at``."""
    return [_message_of(line) for line in vault.journal(session_id).find(ids)]


def latest_day(messages: Sequence[Mapping[str, Any]], now: datetime) -> str:
    """The day of the latest message that says when it was; today when none does."""
    days = [said.day for message in messages if (said := said_in(message, now)) is not None and said.day]
    return max(days) if days else today(now)


def heard_in(messages: Iterable[Mapping[str, Any]], now: datetime) -> list[Heard]:
    """What was said in messages of a journal."""
    return [
        Heard(said, str(message["id"]), message["seq"], said.day or _day_of(message.get("left_at"), now))
        for message in messages
        if (said := said_in(message, now)) is not None
    ]


def heard_on(vault: "Vault", session_id: str, day: str, now: datetime) -> list[Heard]:
    """What was said on a day (``YYYY-MM-DD``), as far as the journal says when; of changed messages the newest."""
    newest = {}
    for line in vault.journal(session_id).lines():
        said = said_in(_message_of(line), now)
        if said is not None and said.day == day:
            newest[line.id] = Heard(said, line.id, line.seq, day)
    return list(newest.values())


def _message_of(line: "JournalLine") -> dict[str, Any]:
    return {**line.msg, "id": line.id, "marks": list(line.marks), "seq": line.seq, "left_at": line.left_at}


def _day_of(stamp: Any, now: datetime) -> str:
    try:
        return datetime.fromisoformat(str(stamp)).astimezone(now.tzinfo).date().isoformat()
    except ValueError:
        return ""


def _time_field(message: Mapping[str, Any], key: str) -> Any:
    metadata = message.get("metadata")
    return message.get(key) or (metadata.get(key) if isinstance(metadata, Mapping) else None)


def _has_result(message: Mapping[str, Any]) -> bool:
    content = message.get("content")
    return isinstance(content, list | tuple) and any(
        isinstance(block, Mapping) and block.get("type") == "tool_result" for block in content
    )
