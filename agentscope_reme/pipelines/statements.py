"""Statements: the user's own words, chosen, sorted and printed for a card that no model wrote.

A card without a model is not a transcript: at most 30 statements of at most 300 characters, the ones that hold facts.
The choice is a total order on the statements themselves, so that merging cards is associative and doing it again
changes nothing; a card can be read back into its statements.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

from ..index.asking import is_idle
from ..index.recalled import MENTIONED, statement_digest
from ..vault.encoding import safe_cut
from ..vault.generated import inert
from .evidence import Said
from .facts import Kind, identifiers_of, is_question, is_request, kind_of, names_of, weight_of
from .weekdays import with_dates

if TYPE_CHECKING:
    from ..index.dates import DateMention

MAX_STATEMENTS = 30
MAX_CHARS = 300
MAX_SEEN = 300
"""Most digests of statements that a card remembers."""

MAX_PIECES = 6
"""Most statements taken from one message, so that a pasted log does not fill the card."""

_ORDER: tuple[Kind, ...] = ("remember", "decision", "preference", "other")
HEADINGS: dict[str, dict[str, str]] = {
    "en": {
        "decision": "## Decisions",
        "preference": "## Preferences",
        "remember": "## To remember",
        "other": "## What was said",
        "mentioned": MENTIONED["en"],
    },
    "zh": {
        "decision": "## 决定",
        "preference": "## 偏好",
        "remember": "## 要记住的",
        "other": "## 用户说的",
        "mentioned": MENTIONED["zh"],
    },
}
LABELS: dict[str, dict[str, str]] = {
    "en": {"names": "Names", "dates": "Dates", "ids": "Paths, links and numbers"},
    "zh": {"names": "名字", "dates": "日期", "ids": "路径、链接和数字"},
}

_FENCED = re.compile(r"^(```|~~~).*?(?:^\1[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)
_SENTENCE_END = re.compile(r"(?<=[。！？!?；;])\s*|(?<=\.)\s+(?=\S)|\n+")
_CLAUSE_END = re.compile(r"(?<=[，,、：:])\s*|\s+")
_LINE = re.compile(r"- (?:(\d{4}-\d\d-\d\d)(?: (\d\d:\d\d))? |(\d\d:\d\d) )?([^:]{1,40}): (.+)")

_NOTE = re.compile(r" \((?:[^()=;]{1,40} = \d{4}(?:-\d\d){0,2}(?:–\d{4}-\d\d-\d\d)?(?:; )?)+\)$")
_SEEN = "<!-- reme:seen "
_CONTROL = re.compile(r"\x1b\[[0-9;]*[A-Za-z]|[\x00-\x08\x0b-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class Statement:
    """One line of a card. ``words`` are the user's, with the resolved dates behind them in brackets."""

    words: str
    speaker: str
    day: str = ""
    time: str = ""


@dataclass(frozen=True, slots=True)
class CardText:
    """A card's text read back. ``foreign`` lines are not ours; ``language`` is None when no heading tells it.

    ``seen`` holds the digests of all statements that ever stood there: one that the user took out does not come back.
    """

    statements: list[Statement]
    foreign: list[str]
    language: str | None
    seen: tuple[str, ...]


def digest_of(statement: Statement) -> str:
    """What a statement is recognised by after the user has changed or deleted it."""
    return statement_digest(statement.words)


def statements_of(said: Iterable[Said]) -> list[Statement]:
    """Cut what was said into statements; small talk, questions, commands and pasted code are left out."""
    found: dict[str, Statement] = {}
    for one in said:
        pieces = [piece for piece in _pieces(one.text) if not is_idle(piece) and not is_question(piece)]
        made = [Statement(with_dates(piece, one.local_day), one.speaker, one.day, one.time) for piece in pieces]
        for statement in made if len(made) <= MAX_PIECES else _in_order(sorted(made, key=ranked)[:MAX_PIECES], made):
            found.setdefault(statement.words, statement)
    return list(found.values())


def chosen(statements: Iterable[Statement]) -> list[Statement]:
    """The statements a card keeps, each once, in the card's order: by kind, then by time, unknown times last.

    What only asks for a tool to be run is kept where there is nothing else.
    """
    unique: dict[str, Statement] = {}
    for statement in statements:
        unique.setdefault(statement.words, statement)
    facts = {words: one for words, one in unique.items() if not is_request(bare_words(words))}
    unique = facts or unique
    kept = sorted(unique.values(), key=ranked)[:MAX_STATEMENTS]
    return sorted(_in_order(kept, list(unique.values())), key=_place_in_card)


def render_statements(statements: list[Statement], date: str, language: str, seen: Iterable[str] = ()) -> str:
    """The text of a card: the statements under their headings, then what they mention. ``date`` is the card's day.

    ``seen`` digests, the latest MAX_SEEN of them, are written as a comment.
    """
    headings, labels = HEADINGS[language], LABELS[language]
    parts: list[str] = []
    for kind in _ORDER:
        lines = [_line(one, date) for one in statements if kind_of(one.words) == kind]
        if lines:
            parts += [headings[kind], "", *lines, ""]
    mentioned = [
        (labels["names"], names_in(statements)),
        (labels["dates"], dates_in(statements)),
        (labels["ids"], identifiers_in(statements)),
    ]
    # No colon behind the label: a line that opens like a speaker's would count as one when the card is searched.
    lines = [f"- {label} — {', '.join(values)}" for label, values in mentioned if values]
    if lines:
        parts += [headings["mentioned"], "", *lines, ""]
    if digests := list(seen)[-MAX_SEEN:]:
        parts.append(f"{_SEEN}{' '.join(digests)} -->")
    return "\n".join(parts).rstrip("\n")


def read_statements(part: str, date: str) -> CardText:
    """Read a card's text back. ``date`` is the card's day."""
    statements: list[Statement] = []
    foreign: list[str] = []
    seen: list[str] = []
    language, section = None, ""
    sections = {text: (kind, name) for name, texts in HEADINGS.items() for kind, text in texts.items()}
    labels = tuple(f"- {label}{mark} " for texts in LABELS.values() for label in texts.values() for mark in (" —", ":"))
    for line in part.split("\n"):
        if line in sections:
            section, language = sections[line]
            continue
        if line.startswith(_SEEN):
            seen += line.removeprefix(_SEEN).removesuffix("-->").split()
            continue
        found = _LINE.fullmatch(line) if section and section != "mentioned" else None
        if found is not None:
            day = found.group(1) or (date if found.group(3) else "")
            time = found.group(2) or found.group(3) or ""
            statements.append(Statement(found.group(5), found.group(4), day, time))
        elif line.strip() and not (section == "mentioned" and line.startswith(labels)):
            foreign.append(line)
    return CardText(statements, foreign, language, tuple(dict.fromkeys([*seen, *map(digest_of, statements)])))


def names_in(statements: Iterable[Statement], most: int = 20) -> list[str]:
    """Names of people, works and products that rules recognise, in order of appearance."""
    return _first(most, (name for one in statements for name in names_of(one.words)))


def dates_in(statements: Iterable[Statement], most: int = 20) -> list[str]:
    """Days and weeks that are named or were resolved, ``YYYY-MM-DD`` or first and last day of a few, sorted."""
    from ..index.dates import find_dates

    days = {
        mention.first if mention.first == mention.last else f"{mention.first}–{mention.last}"
        for one in statements
        for mention in find_dates(one.words)
        if mention.first and (mention.grain == "day" or (mention.grain == "range" and _is_short(mention)))
    }
    return sorted(days)[:most]


def identifiers_in(statements: Iterable[Statement], most: int = 20) -> list[str]:
    """Addresses, paths, ids and numbers of three digits and more, in order of appearance."""
    return _first(most, (text for one in statements for text in identifiers_of(bare_words(one.words))))


def bare_words(words: str) -> str:
    """The user's words without the resolved dates behind them."""
    return _NOTE.sub("", words)


def ranked(statement: Statement) -> tuple[int, int, str, str, str]:
    """The order of statements: weightiest first; a total order on what they say, whatever order they came in."""
    return (-weight_of(statement.words), -len(statement.words), statement.day, statement.time, statement.words)


def _place_in_card(statement: Statement) -> tuple[int, str, str]:
    return _ORDER.index(kind_of(statement.words)), statement.day or "9999", statement.time


def _is_short(mention: "DateMention") -> bool:
    return (date.fromisoformat(mention.last) - date.fromisoformat(mention.first)).days <= 7


def _pieces(text: str) -> list[str]:
    """The text in stretches of at most MAX_CHARS that end between sentences, clauses or words, if any end there."""
    prose = _CONTROL.sub("", _FENCED.sub(" ", text.replace("\r\n", "\n")))
    ends = [found.end() for found in _SENTENCE_END.finditer(prose)] if len(prose) > MAX_CHARS else []
    pieces, start = [], 0
    while start < len(prose):
        limit = start + MAX_CHARS
        stop = len(prose)
        if stop > limit:
            fitting = [end for end in ends if start < end <= limit]
            clauses = fitting or [start + m.end() for m in _CLAUSE_END.finditer(prose[start:limit]) if m.end()]
            stop = clauses[-1] if clauses else start + max(1, safe_cut(prose[start:limit], MAX_CHARS))
        pieces.append(inert(" ".join(prose[start:stop].split())))
        start = stop
    return [piece for piece in pieces if piece]


def _line(statement: Statement, date: str) -> str:
    when = statement.time if statement.time and statement.day == date else f"{statement.day} {statement.time}".strip()
    return f"- {when + ' ' if when else ''}{statement.speaker}: {statement.words}"


def _in_order(some: list[Statement], whole: list[Statement]) -> list[Statement]:
    kept = set(some)
    return [statement for statement in whole if statement in kept]


def _first(most: int, texts: Iterable[str]) -> list[str]:
    found: dict[str, None] = {}
    for text in texts:
        found.setdefault(text)
        if len(found) == most:
            break
    return list(found)
