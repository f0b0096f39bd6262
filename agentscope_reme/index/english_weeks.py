"""Weeks, weekdays and so long ago in English questions: "the week before last", "Friday's", "a few days ago"."""

from datetime import date, timedelta

from ..expression import expression
from .periods import Days, Match, Rule, group, lately, month_from, months, quarter, spanning, week_of
from .time_words import COUNT_WORDS, WEEKDAY_NAMES, weekday_number

_YEAR = r"(?:19[5-9]\d|20\d\d)"
_COUNT = rf"\d{{1,3}}|{'|'.join(COUNT_WORDS)}|an?|a\ couple\ of|couple\ of"
_SHIFT = {"last": -1, "previous": -1, "this": 0, "next": 1}


def _weekday_of_week(match: Match, today: date) -> tuple[Days, ...]:
    number = weekday_number(group(match, "weekday"))
    day = week_of(today, _SHIFT[group(match, "which")]).first + timedelta(days=number)
    return (Days("day", day, day),)


def _before_last(match: Match, today: date) -> tuple[Days, ...]:
    unit = group(match, "unit")
    if unit in ("week", "weekend"):
        monday = week_of(today, -2).first
        return (
            week_of(monday) if unit == "week" else spanning(monday + timedelta(days=5), monday + timedelta(days=6)),
        )
    if unit == "month":
        return (month_from(today, -2),)
    if unit == "quarter":
        return (quarter(today.year, (today.month + 2) // 3 - 2),)
    if unit in ("year", "night"):
        day = today - timedelta(days=2)
        return (months(today.year - 2, 1, 12)._replace(grain="year") if unit == "year" else Days("day", day, day),)
    day = _latest_weekday(unit, today - timedelta(days=1)) - timedelta(days=7)
    return (Days("day", day, day),)


def _latest_weekday(name: str, today: date) -> date:
    return today - timedelta(days=(today.weekday() - weekday_number(name)) % 7)


def _bare_weekday(match: Match, today: date) -> tuple[Days, ...]:
    day = _latest_weekday(group(match, "last") or group(match, "weekday"), today)
    if not group(match, "last"):
        return (Days("day", day, day),)
    return (spanning(_latest_weekday(group(match, "weekday"), day), day),)


def _weekend(match: Match, today: date) -> tuple[Days, ...]:
    saturday = _latest_weekday("saturday", today)
    return (spanning(saturday, saturday + timedelta(days=1)),)


def _week_of_year(match: Match, today: date) -> tuple[Days, ...]:
    year, week = int(group(match, "year")), int(group(match, "week"))
    return (week_of(date.fromisocalendar(year, week, 1)),)


def _count(text: str) -> int:
    if text.endswith("couple of"):
        return 2
    return 1 if text in ("a", "an") else int(text) if text.isdecimal() else COUNT_WORDS.index(text) + 1


def _few_ago(match: Match, today: date) -> tuple[Days, ...]:
    unit = group(match, "unit")
    if unit == "year":
        return (Days("year", months(today.year - 6, 1).first, months(today.year - 2, 12).last),)
    near, far = {"day": (1, 7), "week": (14, 42), "month": (50, 200)}[unit]
    return (spanning(today - timedelta(days=far), today - timedelta(days=near)),)


def _last_few(match: Match, today: date) -> tuple[Days, ...]:
    if hours := group(match, "hours"):
        return (spanning(today - timedelta(days=-(-int(hours) // 24)), today),)
    size = {"day": 1, "week": 7, "month": 30, "year": 365}[group(match, "unit")]
    return (spanning(today - timedelta(days=size * (5 if group(match, "few") else 1)), today),)


def _lately(match: Match, today: date) -> tuple[Days, ...]:
    return lately(today)


def _back(match: Match, today: date) -> tuple[Days, ...]:
    unit = group(match, "unit")
    if unit in ("fortnight", "half a year"):
        return (week_of(today, -2) if unit == "fortnight" else month_from(today, -6),)
    count = _count(group(match, "count")) * (1 if group(match, "ahead") else -1)
    return _shifted(today, count, unit, group(match, "exact") != "")


def _shifted(today: date, count: int, unit: str, exact: bool) -> tuple[Days, ...]:
    """So many units on; the day itself, or the whole week, month or year."""
    if unit in ("day", "week"):
        day = today + timedelta(days=count * (7 if unit == "week" else 1))
        return (Days("day", day, day) if exact or unit == "day" else week_of(day),)
    month = month_from(today, count * (12 if unit == "year" else 1))
    if exact:
        day = month.first.replace(day=min(today.day, month.last.day))
        return (Days("day", day, day),)
    return (month if unit == "month" else months(today.year + count, 1, 12)._replace(grain="year"),)


def _this_time(match: Match, today: date) -> tuple[Days, ...]:
    [day] = _shifted(today, -1, group(match, "unit"), True)
    if group(match, "what") == "day":
        return (day,)
    return (spanning(day.first - timedelta(days=10), day.first + timedelta(days=10)),)


ENGLISH_WEEKS: tuple[Rule, ...] = (
    Rule(
        ("week",),
        expression(
            rf"\b(?:on\s+)?(?P<weekday>{WEEKDAY_NAMES})(?:,|\s+of|\s+in)?\s+(?P<which>last|this|next|previous)\s+week\b"
            rf"|\b(?P<which2>last|this|next|previous)\s+week(?:['’]s|,|\s+on)?\s+(?P<weekday2>{WEEKDAY_NAMES})\b"
        ),
        _weekday_of_week,
        False,
    ),
    Rule(
        ("before last",),
        expression(rf"\b(?:the\s+)?(?P<unit>week|weekend|month|quarter|year|night|{WEEKDAY_NAMES})\s+before\s+last\b"),
        _before_last,
        False,
    ),
    Rule(
        ("day",),
        expression(
            rf"(?<!every )(?<!each )(?<!any )(?<!some )(?<!most )(?<!all )(?<!other )\b(?P<weekday>{WEEKDAY_NAMES})"
            rf"(?:\s*(?:-|–|\bto\b|\bthrough\b|\buntil\b)\s*(?P<last>{WEEKDAY_NAMES}))?\b"
            rf"|\bbetween\s+(?P<weekday2>{WEEKDAY_NAMES})\s+and\s+(?P<last2>{WEEKDAY_NAMES})\b"
        ),
        _bare_weekday,
        True,
    ),
    Rule(("the weekend",), expression(r"\b(?:(?:over|at|on|during)\s+)?the\s+weekend\b(?!\s+of\b)"), _weekend, True),
    Rule(
        ("week", "-w"),
        expression(
            rf"\b(?P<year>{_YEAR})[\s-]?w(?P<week>[0-5]\d)\b|\bw(?:eek\s+)?(?P<week2>[0-5]?\d)(?:,|\s+of)?\s+(?P<year2>{_YEAR})\b"
        ),
        _week_of_year,
        True,
    ),
    Rule(
        ("few", "several", "some", "other day", "other week"),
        expression(
            r"\b(?:(?:a\s+)?(?:few|several|some)\s+(?P<unit>day|week|month|year)s\s+(?:ago|back|earlier)"
            r"|the\s+other\s+(?P<unit2>day|week))\b"
        ),
        _few_ago,
        False,
    ),
    Rule(
        ("last", "past", "few days", "few weeks", "few months"),
        expression(
            r"\b(?:(?:in|over|during|within|for)\s+)?(?:the\s+|these\s+)?(?:last|past|previous|recent)\s+"
            r"(?:(?P<few>few|several|couple\s+of)\s+(?P<unit>day|week|month|year)s|(?P<hours>\d{1,3})\s+hours)\b"
            r"|\b(?:in|over|during|within)\s+the\s+(?:last|past)\s+(?P<unit2>day|week|month|year)\b(?!\s+of\b)"
            r"|\bpast\s+(?P<unit3>week|month|year)\b"
        ),
        _last_few,
        False,
    ),
    Rule(
        ("recent", "lately", "of late", "these days"),
        expression(
            r"\b(?:(?:most\s+)?recently|lately|of\s+late|these\s+days|in\s+recent\s+days"
            r"|(?<!most )recent(?!\s+(?:years|decades|months)))\b"
        ),
        _lately,
        False,
    ),
    Rule(
        ("ago", "back", "earlier", "from now", "from today", "time"),
        expression(
            rf"\b(?:(?:a\s+)?(?P<unit>fortnight|half\s+a\s+year)\s+(?:ago|back|earlier)"
            rf"|(?P<count>{_COUNT})\s+(?P<unit2>day|week|month|year)s?\s+(?:back|ago\s+(?P<exact>today))"
            rf"|(?P<count2>{_COUNT})\s+(?P<unit3>day|week|month|year)s?\s+(?P<ahead>from\s+(?:now|today)))\b"
        ),
        _back,
        False,
    ),
    Rule(
        ("this time last", "this day last", "same time last", "same day last"),
        expression(r"\b(?:this|same)\s+(?P<what>time|day)\s+last\s+(?P<unit>week|month|year)\b"),
        _this_time,
        False,
    ),
)
