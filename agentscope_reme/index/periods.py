"""Stretches of the calendar that questions ask for: quarters, halves, seasons, parts of months and years, feasts.

What is read here is no date that a text would be indexed by, but the days that somebody means who asks.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from datetime import date, timedelta
from typing import TYPE_CHECKING, NamedTuple

from .dates import OLDER, Grain

if TYPE_CHECKING:
    from .feasts import Feast

Match = re.Match[str]
SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12, "春": 3, "夏": 6, "秋": 9, "冬": 12}
LONGEST_RANGE = 200  # days; what is longer tells as little as a year


class Days(NamedTuple):
    """First and last day of a stretch, how it is told, and how likely it is meant, 0 to 1."""

    grain: Grain
    first: date
    last: date
    likely: float = 1.0


class Period(NamedTuple):
    """A stretch of the calendar as it stands in a question, at characters ``begin`` to ``stop``.

    ``days`` are what may be meant. ``named`` says that a note may well have the words themselves ("Christmas", "Q1
    2026"); those of others ("a few days ago") are no words that one would look for.
    """

    begin: int
    stop: int
    days: tuple[Days, ...]
    named: bool


class Rule(NamedTuple):
    """How stretches are told by words: a match of ``pattern`` holds any of ``hints``, and ``read`` tells the days.

    Hints are parts of words, or a set of characters; most texts have none, and are not looked through by the pattern.
    Where ``read`` gives none, or raises ValueError, the words mean no time. ``named``: see :class:`Period`.
    """

    hints: tuple[str, ...] | frozenset[str]
    pattern: "re.Pattern[str]"
    read: Callable[[Match, date], tuple[Days, ...]]
    named: bool


class Rules:
    """Rules by which stretches are found in texts; those told by characters are looked up by a text's own."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._rules = tuple(rules)
        # By what they are told by: the numbers of those with parts of words, and by each character.
        self._by_words = [number for number, rule in enumerate(self._rules) if not isinstance(rule.hints, frozenset)]
        self._by_char: dict[str, list[int]] = {}
        for number, rule in enumerate(self._rules):
            for char in rule.hints if isinstance(rule.hints, frozenset) else ():
                self._by_char.setdefault(char, []).append(number)
        self._chars = frozenset(self._by_char)

    def _likely(self, text: str) -> list[Rule]:
        """Those of which the hints say that they may match, in their order."""
        numbers = [number for number in self._by_words if any_in(self._rules[number].hints, text)]
        for char in self._chars.intersection(text):
            numbers += self._by_char[char]
        return [self._rules[number] for number in sorted(set(numbers))] if numbers else []

    def find(self, text: str, today: date) -> Iterator[Period]:
        """What they find in a text, also where it overlaps; ``today`` is the day it was asked on."""
        for rule in self._likely(text):
            for match in rule.pattern.finditer(text):
                try:
                    days = rule.read(match, today)
                except (OverflowError, ValueError):  # a day or a year that does not exist
                    continue
                if days:
                    yield Period(match.start(), match.end(), days, rule.named)


def any_in(words: Iterable[str], text: str) -> bool:
    """Whether a text holds one of some parts of words."""
    for word in words:  # noqa: SIM110 - a generator takes twice as long
        if word in text:
            return True
    return False


def group(match: Match, name: str) -> str:
    """What a group of a match holds, or one of that name with a number behind it; "" for none."""
    groups = match.groupdict()
    return next((groups[one] for one in (name, *(f"{name}{at}" for at in (2, 3, 4, 5))) if groups.get(one)), "")


def spanning(first: date, last: date) -> Days:
    """The days from one to another."""
    return Days("range" if (last - first).days <= LONGEST_RANGE else "year", first, last)


def week_of(day: date, shift: int = 0) -> Days:
    """The week, from Monday on, that holds a day, or one so many weeks later."""
    monday = day - timedelta(days=day.weekday()) + timedelta(weeks=shift)
    return Days("week", monday, monday + timedelta(days=6))


def months(year: int, month: int, count: int = 1) -> Days:
    """So many months from one on, which may lie beyond the year."""
    at = year * 12 + month - 1
    first = date(at // 12, at % 12 + 1, 1)
    at += count
    return Days("month" if count == 1 else "range", first, date(at // 12, at % 12 + 1, 1) - timedelta(days=1))


def month_from(today: date, shift: int) -> Days:
    """The month so many months after that of today."""
    return months(today.year, today.month + shift)


def part_of(days: Days, part: str) -> Days:
    """The beginning, the middle, the end or a half of a month (ten days) or of a year (some months)."""
    first, last = days.first, days.last
    if days.grain == "month":
        low, high = {
            "early": (1, 10), "mid": (11, 20), "late": (21, 31), "first": (1, 15), "second": (16, 31),
            "week 1": (1, 7), "week 2": (8, 14), "week 3": (15, 21), "week 4": (22, 28), "week 5": (29, 31),
            "last week": (last.day - 6, 31),
        }[part]  # fmt: skip
        return Days("range", first.replace(day=min(low, last.day)), first.replace(day=min(high, last.day)))
    month, count = {"early": (1, 3), "mid": (5, 4), "late": (10, 3), "first": (1, 6), "second": (7, 6)}[part]
    return months(first.year, month, count)


def lately(today: date) -> tuple[Days, ...]:
    """The last two weeks, of which later days are likelier."""
    return tuple(
        spanning(today - timedelta(days=back), today)._replace(likely=likely)
        for back, likely in ((14, 0.97), (7, 0.98), (3, 0.99), (1, 1.0))
    )


def quarter(year: int, number: int) -> Days:
    """A quarter of a year, 1 to 4; others lie in the years before and after."""
    return months(year, 3 * number - 2, 3)


def season(year: int, name: str) -> tuple[Days, ...]:
    """A season of a year, as on the northern half of the earth; a winter begins or ends in it."""
    first = SEASONS[name]
    found = months(year, first, 3)
    return (found, months(year - 1, first, 3)._replace(likely=OLDER)) if first == 12 else (found,)


def latest(found: Iterable[Days], today: date, *, over: bool = False) -> tuple[Days, ...]:
    """Of stretches that come again, the last that has begun by today (``over``: has ended), then the others.

    Who asks what happened in March means this year's, if there has been any of it; it may be another one.
    """
    ordered = sorted(found, key=lambda days: days.first)
    begun = [days for days in ordered if (days.last < today if over else days.first <= today)]
    if not begun:
        return tuple(ordered)
    meant = begun[-1]
    return (meant,) if over else (meant, *(one._replace(likely=OLDER) for one in ordered if one is not meant))


def nearest(found: Iterable[Days], today: date) -> tuple[Days, ...]:
    """Of stretches that come again, the one that is the least far from today."""
    return (min(found, key=lambda days: max((days.first - today).days, (today - days.last).days, 0)),)


def coming(found: Iterable[Days], today: date) -> tuple[Days, ...]:
    """Of stretches that come again, the next that has not begun by today."""
    return tuple(sorted((days for days in found if days.first > today), key=lambda days: days.first)[:1])


def by_word(found: Iterable[Days], word: str, today: date) -> tuple[Days, ...]:
    """The one of several that "last", "this", "next" or no word means."""
    if word in ("last", "past", "previous"):
        return latest(found, today, over=True)
    if word in ("this", "current"):
        return nearest(found, today)
    return coming(found, today) if word in ("next", "coming") else latest(found, today)


def feast_days(feast: "Feast", years: Iterable[int]) -> list[Days]:
    """A feast in some years, where it is known."""
    spans = [span for year in years if 1 < year < 9999 and (span := feast(year)) is not None]
    return [Days("day" if first == last else "range", first, last) for first, last in spans]


def years_around(today: date) -> range:
    """The years in which something that comes again is looked for."""
    return range(max(1, today.year - 5), min(9998, today.year + 1) + 1)
