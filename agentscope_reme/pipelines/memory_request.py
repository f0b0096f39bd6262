"""What a model reads of a conversation: numbered utterances with their times, in pieces, and the card as it is."""

import re
from collections.abc import Iterator, Sequence
from datetime import date
from typing import TYPE_CHECKING

from ..prompts import load_prompt
from .conversation import Heard
from .fence import fenced
from .memory_part import Item
from .memory_plan import MAX_ITEMS, MAX_TEXT
from .naming import MAX_NAME, shortened

if TYPE_CHECKING:
    from ..config import Language

PIECE_CHARS = 24_000
"""Most characters of a conversation in one request; a longer one is read in pieces, one after the other."""

MESSAGE_CHARS = 6_000
"""Most characters of one message in a request; of a longer one its start and its end are read."""

NOTE_CHARS = 8_000
HINT_CHARS = 2_000

_WEEKDAYS = {
    "en": ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"),
    "zh": ("周一", "周二", "周三", "周四", "周五", "周六", "周日"),
}
_UNKNOWN = {"en": "time unknown", "zh": "时间未知"}
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)


def system_prompt(language: str, asked: "Language") -> str:
    """What to do, in ``language``. ``asked`` is the configured language of cards; ``auto`` follows the user."""
    names = {"en": "English", "zh": "中文"}
    if asked == "auto":
        names["en"] = "English, or in the other language in which the user writes"
    slots = {"language": names[language], "text_chars": MAX_TEXT // 2, "name_chars": MAX_NAME, "items": MAX_ITEMS}
    prompt = load_prompt("auto_memory", language)
    for slot, value in slots.items():
        prompt = prompt.replace(f"{{{slot}}}", str(value))
    return prompt


def request(
    piece: Sequence[str], *, day: str, name: str = "", items: Sequence[Item] = (), text: str = "", hint: str = ""
) -> str:
    """The data of one request, each in its fence: utterances, the card's items and other text, the caller's hint."""
    parts = [fenced("conversation", "\n".join(piece), date=day)]
    lines = [f"({number}) [{item.kind}] {item.text}" for number, item in enumerate(items, 1)]
    around = re.sub(r"\n{3,}", "\n\n", _COMMENT.sub("", text)).strip()
    if lines or around:
        # The numbered items first: they are what a reply may refer to.
        parts.append(fenced("note", "\n".join([*lines, shortened(around, NOTE_CHARS)]).strip(), name=name))
    if hint.strip():
        parts.append(fenced("hint", hint.strip()[:HINT_CHARS]))
    return "\n\n".join(parts)


def piece_of(heard: Sequence[Heard], limit: int, language: str) -> Iterator[str]:
    """The first utterances as numbered lines, as many as fit into ``limit`` characters; always one."""
    used = 0
    for number, one in enumerate(heard, 1):
        line = _numbered(number, one, min(limit, MESSAGE_CHARS), language)
        if used and used + len(line) > limit:
            return
        used += len(line) + 1
        yield line


def _numbered(number: int, heard: Heard, most: int, language: str) -> str:
    said = heard.said
    when = _UNKNOWN[language]
    if said.day:
        weekday = _WEEKDAYS[language][date.fromisoformat(said.day).weekday()]
        when = f"{said.day} ({weekday}) {said.time}".strip()
    text = said.text
    if len(text) > most:
        left_out = len(text) - most
        text = f"{text[: most * 2 // 3]}\n[… {left_out} characters left out …]\n{text[len(text) - most // 3 :]}"
    return f"[{number}] {when} {said.role} {said.speaker}: {text}"
