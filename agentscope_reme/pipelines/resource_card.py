"""What a card says about a document, and how it is written down; without a model: headings, first sentences, key facts.

Every statement says where it stands, so that a reader can open the document there. What tells a model what to do is
left out: a document is data, and nobody vouches for it.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from ..index.asking import sentences_of
from ..models import FileLink
from ..vault.encoding import clean_text
from ..vault.generated import inert
from ..vault.wikilink import is_linkable, render, unlink
from .dream_instructions import instructs
from .evidence import language_of
from .facts import identifiers_of, names_of
from .naming import MAX_NAME, NAME_BYTES, shortened
from .resource_text import Block, Reading
from .wrapped_lines import Breaks, breaks_of, joined_lines

PART = "resource"
"""Name of the generated part of a card."""

GENERATOR, BY_RULES = "resource@1", "resource-extractive@1"
MAX_TEXT = 600
"""Longest statement, in characters."""

MAX_DESCRIPTION = 200
_SENTENCE_CHARS = 300
_MOST_SENTENCES = 12
_FIRST_BLOCKS = 8  # of a document without headings
_MOST_HEADINGS = 30
_MOST_FACTS = 20
_SEARCHED_CHARS = 200_000
_LINE_CHARS = 1_000

Kind = str
KINDS = ("summary", "fact", "decision", "definition", "step", "open")
_HEADINGS = {
    "en": {
        "summary": "## Summary",
        "fact": "## Facts",
        "decision": "## Decisions",
        "definition": "## Terms",
        "step": "## Steps",
        "open": "## Open questions",
        "contents": "## Contents",
        "mentioned": "## Mentioned",
    },
    "zh": {
        "summary": "## 摘要",
        "fact": "## 事实",
        "decision": "## 决定",
        "definition": "## 术语",
        "step": "## 步骤",
        "open": "## 未决问题",
        "contents": "## 目录",
        "mentioned": "## 提到的",
    },
}
_WORDS = {
    "en": {
        "line": ("line", "lines"),
        "page": ("page", "pages"),
        "paragraph": ("paragraph", "paragraphs"),
        "names": "Names",
        "numbers": "Numbers and addresses",
        "dates": "Dates",
        "source": "Of {link}, {size:,} bytes.",
        "partial": "Only {partial} were read.",
        "empty": "No text could be read in it.",
        "colon": ": ",
        "table": "{rows:,} rows or records; columns: {columns}.",
        "record": "Keys: {columns}.",
    },
    "zh": {
        "line": ("第{}行", "第{}行"),
        "page": ("第{}页", "第{}页"),
        "paragraph": ("第{}段", "第{}段"),
        "names": "名称",
        "numbers": "数字与地址",
        "dates": "日期",
        "source": "来源：{link}，{size:,} 字节。",
        "partial": "只读了 {partial}。",
        "empty": "其中没有读到文字。",
        "colon": "：",
        "table": "共 {rows:,} 行或条；列：{columns}。",
        "record": "键：{columns}。",
    },
}
_MARKS = re.compile(r"^(?:(?:\s|[-*+](?=\s|$)|[-=*]{3,}|[>|]|#+(?=\s|$))+|\d+[.)]\s+)")
_TARGET = r"\(<?[^()\s]*(?:\([^()\s]*\)[^()\s]*)?>?(?:\s+(?:\"[^\"]*\"|'[^']*'))?\)"
_LINKED = re.compile(rf"!?\[((?:[^\[\]]|\[[^\[\]]*\]{_TARGET})*)\]{_TARGET}")
_STRONG = re.compile(r"(\*\*|__)(?=\S)([^*_]+)(?<=\S)\1")
_DRAWN = re.compile(r"^[\s|:\-=_*#~.+]*$")


@dataclass(frozen=True, slots=True)
class Point:
    """A statement about a document and the block numbers it rests on, counted from 0."""

    text: str
    kind: Kind = "summary"
    first: int = 0
    last: int = 0


@dataclass(frozen=True, slots=True)
class CardText:
    """What a card is to say. ``lists`` are names, numbers and dates, for a card by rules."""

    name: str
    description: str
    points: tuple[Point, ...]
    language: str
    headings: tuple[Point, ...] = ()
    lists: dict[str, tuple[str, ...]] = field(default_factory=dict)


def card_by_rules(reading: Reading, language: str = "auto") -> CardText:
    """Choose what a card says about a document, without a model; pure and deterministic."""
    tongue = language_of([reading.text[:_SEARCHED_CHARS]]) if language == "auto" else language
    points = _shape(reading, tongue) or list(_first_sentences(reading.blocks, breaks_of(reading.path)))
    name = name_of(reading.title, reading.path)
    description = next((point.text for point in points), name)
    return CardText(
        name,
        shortened(description, MAX_DESCRIPTION),
        tuple(points),
        tongue,
        tuple(_contents(reading.blocks)),
        _mentioned(reading),
    )


def name_of(title: str, path: str) -> str:
    """A name for a card: the document's title when it says something, else the name of the file."""
    told = one_line(title)
    if not told or instructs(told, external=True):
        told = PurePosixPath(path).stem
    return shortened(told, MAX_NAME, NAME_BYTES)


def one_line(text: str) -> str:
    """A statement as one line that holds no link and no marker of the card."""
    text = " ".join(clean_text(text).split())
    if "[[" in text:
        text = unlink(text, lambda link: True)
    return inert(_MARKS.sub("", text)).strip()


def place_of(reading: Reading, first: int, last: int, language: str) -> str:
    """Where blocks stand, for people: ``lines 3-9``."""
    if not reading.blocks:
        return ""
    begin, end = reading.blocks[first].first, reading.blocks[last].last
    one, many = _WORDS[language][reading.place]
    where = f"{begin}" if begin == end else f"{begin}-{end}"
    if language == "zh":
        return str(one).format(where)
    return f"{one if begin == end else many} {where}"


def link_to(path: str) -> str:
    """A link to a document, or its plain path where no link can name it."""
    return render(FileLink("", path)) if is_linkable(path) else path


def render_card(reading: Reading, card: CardText) -> str:
    """The generated part of a card."""
    words, headings = _WORDS[card.language], _HEADINGS[card.language]
    source = str(words["source"]).format(link=link_to(reading.path), size=reading.size)
    if reading.partial:
        source += " " + str(words["partial"]).format(partial=reading.partial)
    lines = [source]
    if not reading.blocks:
        lines.append(str(words["empty"]))
    for kind in KINDS:
        told = [point for point in card.points if point.kind == kind]
        if told:
            lines += ["", headings[kind], ""]
            lines += [f"- {point.text} ({place_of(reading, point.first, point.last, card.language)})" for point in told]
    if card.headings:
        lines += ["", headings["contents"], ""]
        lines += [f"- {one.text} ({place_of(reading, one.first, one.last, card.language)})" for one in card.headings]
    if card.lists:
        lines += ["", headings["mentioned"], ""]
        lines += [f"- {words[kind]}{words['colon']}{', '.join(found)}" for kind, found in card.lists.items()]
    return "\n".join(lines)


def _shape(reading: Reading, language: str) -> list[Point]:
    """What a table or a data file is made of, instead of its first rows; empty for a text."""
    columns = [one for one in map(one_line, reading.columns) if one and not instructs(one, external=True)]
    if not columns or not reading.blocks:
        return []
    told = str(_WORDS[language]["table" if reading.rows else "record"])
    text = told.format(rows=reading.rows, columns=", ".join(columns))
    return [Point(shortened(text, MAX_TEXT), "summary", 0, len(reading.blocks) - 1)]


def _first_sentences(blocks: Sequence[Block], breaks: Breaks) -> Iterator[Point]:
    """How each section begins, the first ones in the order of the document."""
    seen: set[tuple[str, ...]] = set()
    told: set[str] = set()
    taken = 0
    # A heading that is a passage of its own opens no section, what stands below it does; code has no sentences.
    below = [(at, one) for at, one in enumerate(blocks) if one.text not in one.headings and not one.code]
    for place, (number, block) in enumerate(below):
        opens = block.headings not in seen
        # The beginning of a document tells more than that of its last section.
        wanted = 2 if place < 2 else 1 if (opens if block.headings else place < _FIRST_BLOCKS) else 0
        seen.add(block.headings)
        for sentence in _sentences(block, breaks)[:wanted] if wanted else ():
            if taken >= _MOST_SENTENCES:
                return
            if sentence.casefold() in told:
                continue
            told.add(sentence.casefold())
            taken += 1
            yield Point(sentence, "summary", number, number)


def _sentences(block: Block, breaks: Breaks) -> list[str]:
    found = []
    for line in joined_lines(block.text, breaks):
        line = _spoken(line) if breaks == "soft" else line
        if _DRAWN.match(line):
            continue
        for sentence in sentences_of(one_line(line)):
            if any(character.isalnum() for character in sentence) and not instructs(sentence, external=True):
                found.append(shortened(sentence, _SENTENCE_CHARS))
    return found


def _spoken(line: str) -> str:
    """A line of Markdown as it would be read aloud: links by their words, pictures by their captions."""
    line = _STRONG.sub(r"\2", line)
    for _ in range(2 if "](" in line else 0):  # a picture may stand within a link
        line = _LINKED.sub(r"\1", line)
    return line


def _contents(blocks: Sequence[Block]) -> Iterator[Point]:
    """The headings, each with the blocks below it."""
    held: dict[tuple[str, ...], list[int]] = {}
    for number, block in enumerate(blocks):
        for depth in range(1, len(block.headings) + 1):
            held.setdefault(block.headings[:depth], []).append(number)
    for path, numbers in list(held.items())[:_MOST_HEADINGS]:
        text = one_line(" › ".join(path))
        if text and not instructs(text, external=True):
            yield Point(shortened(text, 160), "contents", numbers[0], numbers[-1])


def _mentioned(reading: Reading) -> dict[str, tuple[str, ...]]:
    from ..index.dates import find_dates

    # Line by line: what is looked for needs no more around it, and costs what is around.
    breaks = breaks_of(reading.path)
    lines = [
        line[at : at + _LINE_CHARS]
        for block in _up_to(reading.blocks, _SEARCHED_CHARS)
        for line in joined_lines(block, breaks)
        for at in range(0, len(line), _LINE_CHARS)
        if not instructs(line[at : at + _LINE_CHARS], external=True)
    ]
    days = (mention for line in lines for mention in find_dates(line))
    lists = {
        "names": _most(name for line in lines for name in names_of(line)),
        # Of a table its first rows would be all there is.
        "numbers": _most(one for line in lines for one in identifiers_of(line)) if not reading.rows else (),
        "dates": _most(mention.first for mention in days if mention.grain == "day" and mention.first),
    }
    return {kind: found for kind, found in lists.items() if found}


def _up_to(blocks: Iterable[Block], most: int) -> Iterator[str]:
    """The texts of the first blocks, ``most`` characters in all."""
    for block in blocks:
        if most <= 0:
            return
        yield block.text[:most]
        most -= len(block.text) + 1


def _most(found: Iterable[str]) -> tuple[str, ...]:
    """The first of them, each once."""
    kept: dict[str, None] = {}
    for one in found:
        text = one_line(one)
        if 0 < len(text) <= 80:
            kept[text] = None
        if len(kept) >= _MOST_FACTS:
            break
    return tuple(kept)
