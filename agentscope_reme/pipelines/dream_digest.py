"""A digest note's text: statements with their sources, the current ones first, what held before under its own heading.

All of it stands in one generated part of the note (``dream``). Each statement is a list item that ends in a block id;
an indented line under it says since when it holds, until when, what it supersedes, and where it is said::

    - Uses Svelte for front-end work. ^d3fa9c10
      - valid_from: 2026-03-04; supersedes: ^d77e01b2; source: [[daily/2026-03-04/editor.md|2026-03-04 Ann]]

Every change works on the lines of one statement: all others, a user's among them, stay as they are. Pure functions.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from ..index.recalled import statement_digest
from ..models import FileLink
from ..vault.generated import generated_part, inert, with_generated_part
from ..vault.wikilink import is_linkable, render
from .dream_claims import normalised

PART = "dream"
"""Name of the generated part of a digest note."""

GENERATOR = "dream@1"
HEADINGS = {
    "en": {"earlier": "## Earlier", "sources": "## Sources", "related": "## Related"},
    "zh": {"earlier": "## 以前", "sources": "## 来源", "related": "## 相关"},
}
MAX_SEEN = 400
"""Most digests of statements that a note remembers, so that one its user took out does not come back."""

_ITEM = re.compile(r"- (.*\S) \^(d[0-9a-f]{8})[ \t]*$")
_FACTS = re.compile(r"  - (?:valid_from|valid_to|supersedes|source): ")
_FACT = re.compile(r"(valid_from|valid_to|supersedes): ([^;]+)")
_WORDING = "  - said as: "
_SEEN = "<!-- reme:seen "
_SECTIONS = {text: name for texts in HEADINGS.values() for name, text in texts.items()}


@dataclass(frozen=True, slots=True)
class SourceLink:
    """Where a statement is said: a note, and what is written for it (``2026-03-04 Ann``)."""

    path: str
    label: str = ""

    def __str__(self) -> str:
        return render(FileLink("", self.path, alias=self.label or None)) if is_linkable(self.path) else f"`{self.path}`"


@dataclass(frozen=True, slots=True)
class Held:
    """A statement as it stands in a note. ``text`` has its lines; ``current`` whether it is not under Earlier.

    ``start`` and ``stop`` are the lines of the part that it takes. ``edited`` says that its words are not those that
    were written by a dream: a user's own, which are never rewritten. ``wordings`` are others in which it was said.
    """

    id: str
    text: str
    current: bool
    start: int
    stop: int
    valid_from: str = ""
    valid_to: str = ""
    edited: bool = False
    wordings: tuple[str, ...] = ()

    def says(self, text: str) -> bool:
        """Whether it is in these very words, or was said in them as well."""
        return normalised(text) in {normalised(words) for words in (self.text, *self.wordings)}


@dataclass(slots=True)
class Part:
    """The generated part of a note, taken apart. ``seen`` are digests of all statements that ever stood in it."""

    lines: list[str]
    statements: list[Held]
    seen: list[str] = field(default_factory=list)

    @property
    def current(self) -> list[Held]:
        """What holds now."""
        return [one for one in self.statements if one.current]

    def find(self, statement_id: str) -> Held | None:
        """The statement with this id."""
        return next((one for one in self.statements if one.id == statement_id), None)

    def same(self, text: str) -> Held | None:
        """The current statement in these very words."""
        return next((one for one in self.current if one.says(text)), None)

    def was_removed(self, text: str) -> bool:
        """Whether these words stood here once and were taken out by somebody."""
        return statement_digest(text) in self.seen and not any(one.text == text for one in self.statements)


def read_part(body: str) -> Part:
    """Take the generated part of a note's body apart; empty when it has none."""
    text = generated_part(body, PART)
    lines = text.split("\n") if text else []
    seen = [digest for line in lines if line.startswith(_SEEN) for digest in line[len(_SEEN) :].rstrip("-> ").split()]
    lines = [line for line in lines if not line.startswith(_SEEN)]
    while lines and not lines[-1].strip():
        lines.pop()
    part = Part(lines, [], seen)
    _find_statements(part)
    return part


def write_part(body: str, part: Part, line_end: str = "\n") -> str:
    """The body with the part as it is now; all else stays. ``line_end`` is for a body of one line without any."""
    digests = list(
        dict.fromkeys([*part.seen, *(statement_digest(one.text) for one in part.statements if not one.edited)])
    )
    lines = [*part.lines]
    if digests:
        lines += ["", f"{_SEEN}{' '.join(digests[-MAX_SEEN:])} -->"]
    return with_generated_part(body, PART, "\n".join(lines), raw=True, line_end=line_end)


def add_statement(
    part: Part,
    key: str,
    text: str,
    sources: Sequence[SourceLink],
    *,
    valid_from: str = "",
    before: str = "",
    supersedes: str = "",
    valid_to: str = "",
    language: str = "en",
) -> None:
    """Put in a statement: before the statement ``before``, else behind the last current one.

    With ``valid_to`` it held before, and goes under Earlier, in the order of time. Nothing when it is there already.
    """
    if part.find(key) is not None:
        return
    text = inert(text)
    facts = {"valid_from": valid_from, "valid_to": valid_to, "supersedes": f"^{supersedes}" if supersedes else ""}
    block = _block(key, text, facts, sources)
    anchor = part.find(before)
    if valid_to:
        _insert(part, _place_in_past(part, valid_from, language), block)
    elif anchor is not None:
        _insert(part, anchor.start, block)
    else:
        _insert(part, part.current[-1].stop if part.current else _end_of_present(part), block)
    part.seen.append(statement_digest(text))


def add_sources(part: Part, key: str, sources: Sequence[SourceLink]) -> bool:
    """Name more places that say a statement; whether one of them was new."""
    held = part.find(key)
    if held is None:
        return False
    stated = "\n".join(part.lines[held.start : held.stop])
    new = [source for source in sources if not _names(stated, source)]
    if not new:
        return False
    at = _facts_line(part, held)
    listed = ", ".join(map(str, new))
    if at is None:
        _insert(part, held.start + held.text.count("\n") + 1, [f"  - source: {listed}"])
    else:
        line = part.lines[at].rstrip()
        part.lines[at] = f"{line}, {listed}" if "source: " in line else f"{line}; source: {listed}"
        _find_statements(part)
    return True


def add_wording(part: Part, key: str, text: str) -> None:
    """Keep the other words in which a statement was said, in one line under it."""
    held, words = part.find(key), " ".join(inert(text).split())
    if held is not None and not held.says(words):
        _insert(part, held.stop, [f"{_WORDING}{words}"])


def reword(part: Part, key: str, text: str) -> bool:
    """Give a statement other words; whether it was done. A user's own words stay."""
    held, text = part.find(key), inert(text)
    if held is None or held.edited or held.text == text:
        return False
    # The old words may be said again: they are no statement that somebody took out.
    part.seen = [digest for digest in part.seen if digest != statement_digest(held.text)]
    part.lines[held.start : held.start + held.text.count("\n") + 1] = _item(key, text)
    part.seen.append(statement_digest(text))
    _find_statements(part)
    return True


def retire(part: Part, key: str, valid_to: str, language: str) -> bool:
    """Move a current statement under Earlier, with the day until which it held; whether it was done."""
    held = part.find(key)
    if held is None or not held.current:
        return False
    block = part.lines[held.start : held.stop]
    del part.lines[held.start : held.stop]
    _find_statements(part)
    # The line of facts is the one this module wrote; a line that its user changed stays, and another one is added.
    at = next((n for n, line in enumerate(block) if _FACTS.match(line)), None)
    fact = f"valid_to: {valid_to}"
    if at is None:
        block.insert(held.text.count("\n") + 1, f"  - {fact}")
    elif found := re.match(r"(  - valid_from: [^;]+)(.*)", block[at]):
        block[at] = f"{found.group(1)}; {fact}{found.group(2)}"
    else:
        block[at] = block[at].replace("  - ", f"  - {fact}; ", 1)
    _insert(part, _place_in_past(part, held.valid_from, language), block)
    return True


def add_links(part: Part, section: str, links: Sequence[SourceLink], language: str) -> bool:
    """List notes in the section ``sources`` or ``related``; whether one of them was new."""
    whole = "\n".join(part.lines)
    new = [link for link in dict.fromkeys(links) if not _names(whole, link)]
    if not new:
        return False
    _insert(part, _end_of_section(part, section, language), [f"- {link}" for link in new])
    return True


# --- lines ------------------------------------------------------------------------------------------------------------


def _find_statements(part: Part) -> None:
    part.statements = list(_statements(part.lines, part.seen))


def _statements(lines: list[str], seen: list[str]) -> Iterator[Held]:
    section, number = "", 0
    while number < len(lines):
        start, line = number, lines[number]
        number += 1
        if line.startswith("#"):
            section = _SECTIONS.get(line.rstrip(), "")
        if not line.startswith("- "):
            continue
        while number < len(lines) and lines[number].startswith(("  ", "\t")):
            number += 1
        held = _held(lines[start:number], not section, start, number, seen)
        if held is not None and section in ("", "earlier"):
            yield held


def _held(block: list[str], current: bool, start: int, stop: int, seen: list[str]) -> Held | None:
    """A list item as a statement; its words end with the line that has the block id."""
    for number, line in enumerate(block):
        if number and _FACTS.match(line):
            return None
        found = _ITEM.match(line if number == 0 else f"- {line[2:]}")
        if found is None:
            continue
        words = [block[0][2:], *(inner[2:] for inner in block[1:number])] if number else []
        text = "\n".join([*words, found.group(1)])
        facts = dict(_FACT.findall(next((one for one in block[number + 1 :] if _FACTS.match(one)), "")))
        edited = statement_digest(text) not in seen
        since, until = facts.get("valid_from", "").strip(), facts.get("valid_to", "").strip()
        wordings = tuple(one[len(_WORDING) :] for one in block if one.startswith(_WORDING))
        return Held(found.group(2), text, current, start, stop, since, until, edited, wordings)
    return None


def _item(key: str, text: str) -> list[str]:
    lines = text.split("\n")
    return [f"{'  ' if number else '- '}{line}" for number, line in enumerate([*lines[:-1], f"{lines[-1]} ^{key}"])]


def _block(key: str, text: str, facts: dict[str, str], sources: Iterable[SourceLink]) -> list[str]:
    told = [f"{name}: {value}" for name, value in facts.items() if value]
    listed = ", ".join(map(str, sources))
    told += [f"source: {listed}"] if listed else []
    return [*_item(key, text), *([f"  - {'; '.join(told)}"] if told else [])]


def _insert(part: Part, at: int, lines: list[str]) -> None:
    part.lines[at:at] = lines
    _find_statements(part)


def _facts_line(part: Part, held: Held) -> int | None:
    return next((n for n in range(held.start + 1, held.stop) if _FACTS.match(part.lines[n])), None)


def _names(text: str, link: SourceLink) -> bool:
    return any(f"{mark}{link.path}{end}" in text for mark, end in (("[[", "|"), ("[[", "]]"), ("[[", "#"), ("`", "`")))


def _end_of_present(part: Part) -> int:
    """Where the lines before the first of our headings end."""
    stop = next((n for n, line in enumerate(part.lines) if line.rstrip() in _SECTIONS), len(part.lines))
    while stop and not part.lines[stop - 1].strip():
        stop -= 1
    return stop


def _place_in_past(part: Part, valid_from: str, language: str) -> int:
    """Where a statement goes under Earlier, which is made if need be: the latest stand first."""
    past = [one for one in part.statements if not one.current]
    for one in past:
        if valid_from and one.valid_from and one.valid_from <= valid_from:
            return one.start
    return past[-1].stop if past else _end_of_section(part, "earlier", language)


def _end_of_section(part: Part, section: str, language: str) -> int:
    """Where a section ends; one that is not there is made: Earlier, then Sources, then Related."""
    heads = [n for n, line in enumerate(part.lines) if line.rstrip() in _SECTIONS]
    at = next((n for n in heads if _SECTIONS[part.lines[n].rstrip()] == section), None)
    if at is None:
        order = list(HEADINGS["en"])
        later = order[order.index(section) + 1 :]
        at = next((n for n in heads if _SECTIONS[part.lines[n].rstrip()] in later), len(part.lines))
        above = [""] if at and part.lines[at - 1].strip() else []
        below = [""] if at < len(part.lines) else []
        part.lines[at:at] = [*above, HEADINGS[language][section], "", *below]
        _find_statements(part)
        return at + len(above) + 2
    following = next((n for n in heads if n > at), len(part.lines))
    while following > at + 1 and not part.lines[following - 1].strip():
        following -= 1
    return following if following > at + 1 else min(at + 2, len(part.lines))
