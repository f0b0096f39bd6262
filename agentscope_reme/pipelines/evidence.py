"""What people said in a conversation, and when: the view of messages that the pipelines take as evidence.

Left out is what nobody said: tool calls and results, media, thinking, hints, summaries, and recalled memory, which
would otherwise come back as a new memory of itself.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from ..vault.encoding import clean_text

TIME_FIELDS = ("created_at", "time_created", "timestamp", "createdAt", "timeCreated", "created_time")
"""Where the time of a message may stand, at its top level or in its metadata, in the order they are tried."""

INJECTED_NAMES = frozenset({"long_term_memory", "recalled_memory", "memory"})
INJECTED_MARKS = frozenset({"hint", "recall"})

_WRAPPED = re.compile(
    r"<(conversation-checkpoint|long_term_memory|retrieved_knowledge|recalled-memory|vault-file|memory-recall|system-hint"
    r"|system-info|system-reminder)\b[^>]*>.*?(?:</\1\s*>|\Z)",
    re.DOTALL | re.IGNORECASE,
)
_CLOCK = re.compile(r"(?<!\d)(\d{1,2}):(\d{2})(?!\d)(?::\d{2})?\s*([ap])?\.?m?", re.IGNORECASE)
_LATEST = timedelta(days=1)
_FIRST_YEAR = 1970
"""Times before it are those of programs that have none, such as the zero of a clock (``0001-01-01T00:00:00Z``)."""

_ZONE_NAME = re.compile(r"\[[\w/+-]+\]$")
_UTC = re.compile(r"(?<=\d)\s*(?:UTC|GMT)$", re.IGNORECASE)
_EPOCH = re.compile(r"\d{10}(?:\d{3}|\d{6}|\d{9})?(?:\.\d+)?")
_COMPACT = re.compile(r"(\d{8})(\d{4}(?:\d{2})?)")
_MAIL = re.compile(
    r"[a-z]{3}, \d{1,2} [a-z]{3} \d{4} \d\d:\d\d(?::\d\d)?(?: (?:[+-]\d{4}|[a-z]{1,4}))?"
    r"|[a-z]{3} [a-z]{3} {1,2}\d{1,2} \d\d:\d\d:\d\d \d{4}",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Said:
    """One utterance. ``day`` (``YYYY-MM-DD``) and ``time`` (``HH:MM``) are in the vault's zone, "" when unknown.

    ``local_day`` is the day where it was said, which "yesterday" is counted from: that of the time's own offset, and of
    the vault's zone where the time has none or is in UTC. ``role`` is ``user`` or ``assistant``.
    """

    text: str
    speaker: str
    day: str = ""
    time: str = ""
    local_day: date | None = None
    role: str = "user"


def said_by_users(messages: Sequence[Mapping[str, Any]], now: datetime) -> list[Said]:
    """What users said, in order. ``now`` (aware) gives the zone; a time more than a day after it is unknown."""
    return [said for message in messages if (said := said_in(message, now)) is not None and said.role == "user"]


def said_in(message: Mapping[str, Any], now: datetime) -> Said | None:
    """What a user or the agent said in a message, without what was injected into it; None when that is nothing."""
    name = str(message.get("name") or "")
    role = message.get("role")
    if role not in ("user", "assistant") or is_injected(message):
        return None
    text = without_injected(clean_text("\n".join(_texts(message.get("content")))))
    if not text:
        return None
    speaker = " ".join(re.sub(r"[:<>\[\]]", " ", name).split())[:40] or role
    found = time_of(message, now)
    if found is None:
        return Said(text, speaker, role=role)
    stamp, hour_known = found
    shown = stamp.astimezone(now.tzinfo) if stamp.tzinfo is not None and hour_known else stamp
    return Said(
        text,
        speaker,
        day=shown.date().isoformat(),
        time=f"{shown:%H:%M}" if hour_known else "",
        # A time in UTC says nothing of the place: programs store it so, also of messages written in the small hours.
        local_day=(stamp if stamp.utcoffset() else shown).date(),
        role=role,
    )


def without_injected(text: str) -> str:
    """A message's text without the blocks that programs put in: recalled memory, hints, checkpoints."""
    return _WRAPPED.sub(" ", text).strip()


def is_injected(message: Mapping[str, Any]) -> bool:
    """Whether a message was put into the conversation by a program: recalled memory, a hint."""
    return str(message.get("name") or "") in INJECTED_NAMES or bool(INJECTED_MARKS & set(_marks(message)))


def time_of(message: Mapping[str, Any], now: datetime) -> tuple[datetime, bool] | None:
    """When a message was written, and whether the hour is known; naive times stay naive. None when it is unknown.

    A ``timestamp`` at the top level comes last: AgentScope sets it when the object is made, so that in an imported
    conversation it is the time of the import.
    """
    metadata = message.get("metadata")
    places = [(message, field) for field in TIME_FIELDS if field != "timestamp"]
    if isinstance(metadata, Mapping):
        places += [(metadata, field) for field in TIME_FIELDS]
    for holder, field in [*places, (message, "timestamp")]:
        found = _read_time(holder.get(field))
        if found is not None:
            stamp, _ = found
            if stamp.year < _FIRST_YEAR or stamp.year > now.year + 1:
                return None
            aware = stamp if stamp.tzinfo is not None else stamp.replace(tzinfo=now.tzinfo)
            return found if aware <= now + _LATEST else None
    return None


def language_of(texts: Iterable[str], default: str = "en") -> str:
    """``zh`` or ``en`` by the majority of characters; a Han character weighs as much as two letters."""
    joined = "".join(texts)
    han = len(re.findall(r"[\u3400-\u9fff\uf900-\ufaff]", joined))
    letters = len(re.findall(r"[A-Za-z]", joined))
    if not han and not letters:
        return default
    return "zh" if han * 2 >= letters else "en"


def _marks(message: Mapping[str, Any]) -> Iterator[str]:
    for holder in (message, message.get("metadata")):
        marks = holder.get("marks") if isinstance(holder, Mapping) else None
        if isinstance(marks, str):
            yield marks
        elif isinstance(marks, list | tuple):
            yield from (str(mark) for mark in marks)


def _texts(content: Any) -> list[str]:
    """The text blocks; none when the message brings a tool result, whose caption nobody said."""
    if isinstance(content, str):
        return [content]
    if not isinstance(content, list | tuple):
        return []
    blocks = [block for block in content if isinstance(block, Mapping)]
    if any(block.get("type") == "tool_result" for block in blocks):
        return []
    return [str(block.get("text") or "") for block in blocks if block.get("type") == "text"]


def _read_time(value: Any) -> tuple[datetime, bool] | None:
    if isinstance(value, datetime):
        return value, True
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day), False
    if isinstance(value, str) and _EPOCH.fullmatch(value.strip()):
        value = float(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _read_epoch(float(value))
    if not isinstance(value, str) or not value.strip():
        return None
    text = _UTC.sub("+00:00", _ZONE_NAME.sub("", value.strip()))
    text = _COMPACT.sub(r"\1T\2", text) if _COMPACT.fullmatch(text) else text
    try:
        return datetime.fromisoformat(text.replace("/", "-")), len(text) > 10
    except ValueError:
        return _read_mail_time(value.strip()[:100]) or _read_prose_time(text[:100])


def _read_epoch(value: float) -> tuple[datetime, bool] | None:
    from datetime import UTC

    seconds = value
    for _ in range(3):  # milliseconds, microseconds, nanoseconds
        seconds = seconds / 1000 if abs(seconds) > 1e11 else seconds
    # Small numbers are counters, not times.
    return (datetime.fromtimestamp(seconds, UTC), True) if 1e8 < seconds < 4e9 else None


def _read_mail_time(text: str) -> tuple[datetime, bool] | None:
    """``Wed, 24 May 2023 10:02:00 GMT`` and ``Wed May 24 10:02:00 2023``: what mail, HTTP and C libraries write."""
    from email.utils import parsedate_to_datetime

    if not _MAIL.fullmatch(text):
        return None
    try:
        return parsedate_to_datetime(text), True
    except (ValueError, TypeError, OverflowError):
        return None


def _read_prose_time(text: str) -> tuple[datetime, bool] | None:
    """Such as ``1:56 pm on 8 May, 2023``: what data sets of conversations write."""
    from ..index.dates import find_dates

    days = [mention for mention in find_dates(text) if mention.grain == "day" and mention.first]
    if not days:
        return None
    day = date.fromisoformat(days[0].first)
    clock = _CLOCK.search(text)
    if clock is None:
        return datetime(day.year, day.month, day.day), False
    hour, minute = int(clock.group(1)), int(clock.group(2))
    half = (clock.group(3) or "").lower()
    if half:
        hour = hour % 12 + (12 if half == "p" else 0)
    if hour > 23 or minute > 59:
        return datetime(day.year, day.month, day.day), False
    return datetime(day.year, day.month, day.day, hour, minute), True
