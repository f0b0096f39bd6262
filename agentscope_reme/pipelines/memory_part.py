"""The part of a card that a model wrote: items under headings, between markers, read back and merged.

Merging adds and refines. An item gives way only to one that says all of it: what it had of numbers, dates, names and
denials, and most of its words. Any other change keeps the old wording below the new one. What the user has written or
changed between the markers is the user's, and what the user has taken out does not come back.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ..index.recalled import statement_digest
from .dream_claims import normalised, overlap, says_more

PART = "memory"
"""Name of the generated part of a card that a model wrote."""

Kind = Literal["preference", "fact", "decision", "state", "experience"]
KINDS: tuple[Kind, ...] = ("preference", "fact", "decision", "state", "experience")
HEADINGS: dict[str, dict[Kind, str]] = {
    "en": {
        "preference": "## Preferences",
        "fact": "## Facts",
        "decision": "## Decisions",
        "state": "## State",
        "experience": "## Experience",
    },
    "zh": {
        "preference": "## 偏好",
        "fact": "## 事实",
        "decision": "## 决定",
        "state": "## 现状",
        "experience": "## 经验",
    },
}
EARLIER = {"en": "earlier", "zh": "之前"}
KEPT_WORDS = 0.7
"""Share of an item's content words that another must hold to take its place."""

SAME_WORDS = 0.9
MAX_KEPT = 400
"""Most digests of items that a card remembers."""

_LINE = re.compile(r"- (?:(\d{4}-\d\d-\d\d)(?: (\d\d:\d\d))? |(\d\d:\d\d) )?([^:]{1,50}): (.+)")
_EARLIER = re.compile(rf"  - (?:{'|'.join(EARLIER.values())}): (.+)")
_KEPT = "<!-- reme:kept "
_HEARD = "<!-- reme:heard "


@dataclass(frozen=True, slots=True)
class Item:
    """One line of the part: what holds, who said it when, and the wordings before it, the newest first."""

    kind: Kind
    text: str
    speaker: str
    day: str = ""
    time: str = ""
    earlier: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Addition:
    """An item on its way into a card; ``replaces`` is the text of the item that it brings up to date, or ""."""

    item: Item
    replaces: str = ""


@dataclass(frozen=True, slots=True)
class MemoryPart:
    """The part read back. ``foreign`` lines are not ours; ``language`` is None when no heading tells it.

    ``kept`` are digests of all that was ever written here; ``heard`` the places in the journal that the model has read.
    """

    items: tuple[Item, ...] = ()
    foreign: tuple[str, ...] = ()
    language: str | None = None
    kept: tuple[str, ...] = ()
    heard: frozenset[int] = frozenset()

    def is_ours(self, text: str) -> bool:
        """Whether a text was written by us and is as it was."""
        return statement_digest(text) in self.kept


@dataclass(frozen=True, slots=True)
class Merged:
    """The items after a merge, the digests to keep with them, and how many items were added, how many changed."""

    items: tuple[Item, ...]
    kept: tuple[str, ...]
    added: int = 0
    changed: int = 0


def read_part(part: str, date: str) -> MemoryPart:
    """Read a part back. ``date`` is the card's day."""
    items: list[Item] = []
    foreign: list[str] = []
    kept: list[str] = []
    heard: frozenset[int] = frozenset()
    language, kind = None, None
    headings = {text: (tongue, kind) for tongue, texts in HEADINGS.items() for kind, text in texts.items()}
    for line in part.split("\n"):
        if line in headings:
            language, kind = headings[line]
        elif line.startswith(_KEPT):
            kept += line.removeprefix(_KEPT).removesuffix("-->").split()
        elif line.startswith(_HEARD):
            heard |= _read_ranges(line.removeprefix(_HEARD).removesuffix("-->"))
        elif kind is not None and (found := _LINE.fullmatch(line)) is not None:
            day = found.group(1) or (date if found.group(3) else "")
            time = found.group(2) or found.group(3) or ""
            items.append(Item(kind, found.group(5), found.group(4), day, time))
        elif items and (before := _EARLIER.fullmatch(line)) is not None:
            items[-1] = replace(items[-1], earlier=(*items[-1].earlier, before.group(1)))
        elif line.strip():
            foreign.append(line)
    return MemoryPart(tuple(items), tuple(foreign), language, tuple(dict.fromkeys(kept)), heard)


def render_part(
    items: Iterable[Item], date: str, language: str, *, kept: Iterable[str] = (), heard: Iterable[int] = ()
) -> str:
    """The text of the part: items under their headings, in the order in which they came."""
    lines: list[str] = []
    items = list(items)
    for kind in KINDS:
        chosen = [item for item in items if item.kind == kind]
        if not chosen:
            continue
        lines += [HEADINGS[language][kind], ""]
        for item in chosen:
            lines.append(f"- {shown(item, date)}")
            lines += [f"  - {EARLIER[language]}: {before}" for before in item.earlier]
        lines.append("")
    if digests := list(dict.fromkeys(kept))[-MAX_KEPT:]:
        lines.append(f"{_KEPT}{' '.join(digests)} -->")
    if ranges := _ranges(heard):
        lines.append(f"{_HEARD}{ranges} -->")
    return "\n".join(lines).rstrip("\n")


def shown(item: Item, date: str = "") -> str:
    """An item as it is written; its day only where it is not ``date``."""
    when = item.time if item.time and item.day == date else f"{item.day} {item.time}".strip()
    return f"{when + ' ' if when else ''}{item.speaker}: {item.text}"


def merged(old: MemoryPart, additions: Sequence[Addition]) -> Merged:
    """The items of a card with new ones; what is there already, or was taken out by the user, adds nothing."""
    items = list(old.items)
    kept = dict.fromkeys(old.kept)
    added = changed = 0
    for addition in additions:
        new = addition.item
        place = next((at for at, one in enumerate(items) if one.text == addition.replaces), None)
        if place is not None and statement_digest(items[place].text) not in kept:
            place = None  # the user has written or changed it
        others = [one for at, one in enumerate(items) if at != place]
        taken_out = place is None and statement_digest(new.text) in kept
        if taken_out or any(_is_known(new.text, one.text) for one in others):
            continue
        if place is None:
            items.append(new)
            added += 1
        else:
            before = items[place]
            if normalised(before.text) == normalised(new.text):
                continue
            gone = () if holds(new.text, before.text) else (shown(before),)
            items[place] = replace(new, earlier=(*new.earlier, *gone, *before.earlier))
            # What we replace may hold again one day; what a user takes out does not come back.
            kept.pop(statement_digest(before.text), None)
            changed += 1
        kept[statement_digest(new.text)] = None
    return Merged(tuple(items), tuple(kept), added, changed)


def holds(new: str, old: str, share: float = KEPT_WORDS) -> bool:
    """Whether a wording says all of another: its numbers, dates, names and denials, and most of its words."""
    return not says_more(old, new) and overlap(old, new) >= share


def _is_known(new: str, known: str) -> bool:
    return normalised(new) == normalised(known) or holds(known, new, SAME_WORDS)


def _ranges(numbers: Iterable[int]) -> str:
    """``1-4 7``: the numbers in order, runs shortened."""
    runs: list[list[int]] = []
    for number in sorted(set(numbers)):
        if runs and runs[-1][1] == number - 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return " ".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


def _read_ranges(text: str) -> frozenset[int]:
    found: set[int] = set()
    for run in re.findall(r"(\d{1,9})(?:-(\d{1,9}))?", text):
        first, last = int(run[0]), int(run[1] or run[0])
        found.update(range(first, min(last, first + 1_000_000) + 1))
    return frozenset(found)
