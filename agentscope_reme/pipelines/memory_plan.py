"""What a model is asked for when a conversation becomes a card, and what of its reply is taken.

A reply is a plan: statements, each with the numbers of the messages it rests on. Nothing in it is believed that the
messages do not bear out: numbers, dates, paths and addresses that nobody named are refused, and who said it, and when,
is read from the messages.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, Field, field_validator

from ..vault.encoding import clean_text
from ..vault.generated import inert
from ..vault.layout import slug
from ..vault.wikilink import parse_links, unlink
from .dream_claims import invented, shares_words
from .dream_instructions import instructs
from .evidence import Said, language_of
from .facts import identifiers_of
from .forms import Form
from .memory_part import KINDS, Addition, Item, Kind
from .naming import MAX_NAME, NAME_BYTES, shortened
from .weekdays import with_dates

MAX_TEXT = 600
"""Longest item, in characters."""

MAX_ITEMS = 40
"""Most items that are taken from one reply."""

MAX_DESCRIPTION = 200
BY_AGENT = " (agent)"
"""Stands behind the name of a speaker who is no user."""

_DATE = re.compile(r"(?<!\d)\d{4}[-_./]?\d{2}[-_./]?\d{2}(?!\d)")
_ISO_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_PLACEHOLDER = re.compile(r"y{2,4}[-_./]?m{2}[-_./]?d{2}|[{}<>$]", re.IGNORECASE)
_SAYS_NOTHING = re.compile(
    r"(?:daily|memory|memories|note|notes|card|summary|conversation|chat|dialog(?:ue)?|session|untitled|topic|name|title"
    r"|update|misc|general|new|today|[\W\d_]|对话|会话|聊天|记忆|记录|笔记|卡片|总结|摘要|主题|未命名|标题|今天)*",
    re.IGNORECASE,
)
_HAN = re.compile(r"[\u3400-\u9fff]")
_LETTER = re.compile(r"[A-Za-z]")
_SURE_LETTERS = 40  # fewer may be a name, a command or a path
_NUMBER = re.compile(r"[$¥€£]?[\d.,]+%?")
_BULLET = re.compile(r"^(?:[-*+]|\d+[.)])\s+")
_CHINESE_KINDS: dict[str, Kind] = {
    "偏好": "preference",
    "事实": "fact",
    "决定": "decision",
    "现状": "state",
    "经验": "experience",
}


class MemoryItem(BaseModel):
    """One thing worth remembering."""

    kind: Kind = Field(
        "fact",
        description="preference: what the user likes, wants, asks for always. fact: who, what, where, how many. "
        "decision: what was chosen and why, and what was rejected. state: how far something is, what blocks it, what "
        "comes next. experience: what worked or did not, commands, steps, causes.",
    )
    text: str = Field(
        min_length=1,
        description="What holds, in one or two sentences that can be read alone: names instead of pronouns, names, "
        "numbers and paths exactly as written, dates as YYYY-MM-DD instead of 'yesterday'.",
    )
    sources: list[int] = Field(default_factory=list, description="The numbers of the messages that say so.")
    replaces: int | None = Field(
        None, description="The number of the item of the note that this one brings up to date, if there is one."
    )

    @field_validator("kind", mode="before")
    @classmethod
    def _plain_kind(cls, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        word = value.strip().lower()
        return _CHINESE_KINDS.get(word) or next((kind for kind in KINDS if word in (kind, f"{kind}s")), word)


class MemoryPlan(Form):
    """What is worth remembering of the conversation; no items when nothing is."""

    name: str = Field("", description="What the conversation is about, in two to six words, without a date.")
    description: str = Field("", description="The same in one sentence, with the words somebody would search for.")
    items: list[MemoryItem]


@dataclass(frozen=True, slots=True)
class Taken:
    """What was taken of a plan; ``refused`` has a sentence for each item that was not."""

    additions: tuple[Addition, ...]
    refused: tuple[str, ...] = ()
    by_agent: bool = False


def taken_from(plan: MemoryPlan, said: Sequence[Said], known: Sequence[Item], vouched: Sequence[str] = ()) -> Taken:
    """Check a plan against what was said. ``said[0]`` is message 1, ``known[0]`` item 1 of the card.

    ``vouched`` are texts that may be quoted as well: what stands in the card already, the caller's hint.
    """
    additions, refused = [], []
    for item in plan.items[:MAX_ITEMS]:
        text = _cleaned(item.text)
        cited = [said[number - 1] for number in dict.fromkeys(item.sources) if 0 < number <= len(said)]
        problem = "it says nothing" if not text else _problem(text, cited, said, vouched)
        if problem:
            refused.append(f"{text[:80]}: {problem}")
            continue
        speaker = _speaker(text, cited or said, said)
        if speaker.role != "user" and instructs(text, external=True):
            refused.append(f"{text[:80]}: it reads as an instruction, and no user said it")
            continue
        text = shortened(_dated(_unlinked(text, [one.text for one in said]), speaker), MAX_TEXT)
        replaces = known[item.replaces - 1].text if item.replaces and 0 < item.replaces <= len(known) else ""
        name = speaker.speaker if speaker.role == "user" else speaker.speaker[:40] + BY_AGENT
        additions.append(Addition(Item(item.kind, text, name, speaker.day, speaker.time), replaces))
    refused += plan.left_out
    if len(plan.items) > MAX_ITEMS:
        refused.append(f"{len(plan.items) - MAX_ITEMS} items beyond the first {MAX_ITEMS}")
    by_agent = any(addition.item.speaker.endswith(BY_AGENT) for addition in additions)
    return Taken(tuple(additions), tuple(refused), by_agent)


def refuse_language(plan: MemoryPlan, language: str, spoken: Sequence[str]) -> None:
    """ValueError, for the model, when a card in ``language`` would be in the other one: no search would find its words.

    Only where there is no doubt: not a character of Chinese in all that is told, or next to nothing else where what
    was ``spoken`` has none.
    """
    told = " ".join(item.text for item in plan.items)
    if language == "zh" and len(_LETTER.findall(told)) >= _SURE_LETTERS and not _HAN.search(told):
        raise ValueError("条目要用中文写，与用户的语言一致；人名、产品名、命令和路径照原样写")
    if language == "en" and language_of([told]) == "zh" and not any(map(_HAN.search, spoken)):
        raise ValueError("write the items in the language of the user, which is not Chinese; names stay as they are")


def name_from(asked: str, fallback: str) -> str:
    """A name for a card: what the model asked for when it can be one, else ``fallback``.

    Of a path the last part counts, without its suffix; dates are left out, as the folder has the day. A placeholder,
    or a word that any card could be called, is no name.
    """
    text = " ".join(clean_text(asked).split())
    name = re.sub(r"\.(?:md|markdown|txt)$", "", re.split(r"[/\\]", text.strip("/\\ "))[-1], flags=re.IGNORECASE)
    name = " ".join(_DATE.sub(" ", name).split()).strip(" -_.#*`\"'")
    usable = name and not _PLACEHOLDER.search(name) and not _SAYS_NOTHING.fullmatch(name) and slug(name) != "untitled"
    return shortened(name, MAX_NAME, NAME_BYTES) if usable else fallback


def description_from(asked: str, fallback: str) -> str:
    """A description for a card: one line, bounded; ``fallback`` when the model gave none."""
    return shortened(_cleaned(asked), MAX_DESCRIPTION) or fallback


def _cleaned(text: str) -> str:
    return inert(_BULLET.sub("", " ".join(clean_text(text).split())))


def _problem(text: str, cited: Sequence[Said], said: Sequence[Said], vouched: Sequence[str]) -> str:
    """Why an item cannot be believed; "" when nothing speaks against it."""
    if cited and _bear_out(cited, text):
        return ""  # as most are, and the whole need not be gone through
    texts = [*(one.text for one in said), *(one.speaker for one in said), *vouched]
    clocks = {one.local_day.isoformat() for one in said if one.local_day}
    days = sorted({one.day for one in said if one.day} | clocks)
    if wrong := invented(text, texts, days):
        return f"nobody said {', '.join(wrong)}"
    whole = "\n".join(texts).casefold()
    absent = _absent(text, whole)
    return f"nobody named {', '.join(absent)}" if absent else ""


def _absent(text: str, whole: str) -> list[str]:
    """The addresses, paths and ids of a text that do not stand in another, which is case-folded."""
    found = [name for name in identifiers_of(text) if not _NUMBER.fullmatch(name)]
    return [name for name in found if name.casefold() not in whole]


def _speaker(text: str, cited: Sequence[Said], said: Sequence[Said]) -> Said:
    """Whose words an item rests on: a user's where users have said what it says, else the agent's.

    What has its numbers, names and words from the agent alone is the agent's, whichever message the model names.
    """
    for among in (cited, said):
        for role in ("user", "assistant"):
            speakers = [one for one in among if one.role == role]
            if speakers and _bear_out(speakers, text):
                return _closest(text, speakers)
    return _closest(text, [one for one in cited if one.role == "user"] or cited)


def _bear_out(speakers: Sequence[Said], text: str) -> bool:
    """Whether the words of some speakers hold what a text says."""
    words = [one.text for one in speakers]
    clocks = sorted({day for one in speakers for day in (one.day, str(one.local_day or "")) if day})
    if not shares_words(text, words) or _absent(text, "\n".join(words).casefold()):
        return False
    return not invented(text, [*words, *(one.speaker for one in speakers)], clocks)


def _closest(text: str, said: Sequence[Said]) -> Said:
    """The one that says most of it; of equals the last."""
    from .dream_claims import overlap

    return max(reversed(said), key=lambda one: overlap(text, one.text))


def _dated(text: str, speaker: Said) -> str:
    """A text with what its relative dates mean behind it, unless it says so itself."""
    dated = with_dates(text, speaker.local_day)
    meant = _ISO_DAY.findall(dated[len(text) :])
    return text if meant and all(day in text for day in meant) else dated


def _unlinked(text: str, texts: Sequence[str]) -> str:
    """A text without the links that nobody wrote: the model knows no paths but those it has read."""
    if "[[" not in text:
        return text
    known = {link.target_path for one in texts for link in parse_links(one, "")}
    return unlink(text, lambda link: link.target_path not in known)
