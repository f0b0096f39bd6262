"""Months, quarters, seasons and feasts in English questions: "early March", "Q1 2026", "last summer", "March 5-7"."""

from datetime import date

from ..expression import expression
from .feasts import ENGLISH_FEASTS, ENGLISH_HINTS, feast_named
from .periods import (
    Days,
    Match,
    Rule,
    by_word,
    feast_days,
    group,
    latest,
    month_from,
    months,
    part_of,
    quarter,
    season,
    spanning,
    years_around,
)
from .time_words import MONTH_NAMES, month_number

_YEAR = r"(?:19[5-9]\d|20\d\d)"
_FULL_MONTH = "(?:january|february|march|april|may|june|july|august|september|october|november|december)"
_WHICH_YEAR = rf"(?:,?\s+(?:of\s+|in\s+)?(?:(?P<year>{_YEAR})|(?:the\s+)?(?P<rel>last|this|next|previous)\s+year)\b)"
_OR_WHICH_YEAR = _WHICH_YEAR.replace("<year>", "<year2>").replace("<rel>", "<rel2>")  # in another alternative
_SEASON = "(?:spring|summer|autumn|fall|winter)"
_END = r"(?=\s*(?:$|[?.,;!)]|\b(?:at|we|i|what|who|with|about|for)\b))"
_SHIFT = {"last": -1, "previous": -1, "past": -1, "this": 0, "current": 0, "next": 1, "coming": 1, "": 0}
_NUMBERS = {"first": 1, "1st": 1, "second": 2, "2nd": 2, "third": 3, "3rd": 3, "fourth": 4, "4th": 4, "last": 4}
_PARTS = {"beginning": "early", "start": "early", "middle": "mid", "end": "late"}


def _year(match: Match, today: date) -> int | None:
    """The year that a match names; None when it names none."""
    if year := group(match, "year"):
        return int(year)
    return today.year + _SHIFT[group(match, "rel")] if group(match, "rel") else None


def _part(match: Match, today: date) -> tuple[Days, ...]:
    word = group(match, "part") or group(match, "adjective")
    number, unit = group(match, "number"), group(match, "unit")
    part = _PARTS.get(word, word)
    if unit == "half":
        part = "first" if number == "first" else "second"
    elif unit == "week":
        part = "last week" if number == "last" else f"week {_NUMBERS[number]}"
    year = _year(match, today)
    if month := group(match, "month"):
        wholes = [months(one, month_number(month)) for one in ([year] if year else years_around(today))]
    elif group(match, "span") == "month":
        wholes = [month_from(today, _SHIFT[group(match, "which")])]
    elif unit == "week":
        return ()
    else:
        wholes = [months(year or today.year + _SHIFT[group(match, "which")], 1, 12)]
    return latest((part_of(whole, part) for whole in wholes), today)


def _month_of_year(match: Match, today: date) -> tuple[Days, ...]:
    number = month_number(group(match, "month"))
    year = _year(match, today)
    if year is not None:
        return (months(year, number),)
    found = [months(year, number) for year in years_around(today)]
    return by_word(found, group(match, "which"), today)


def _several_days(match: Match, today: date) -> tuple[Days, ...]:
    month = month_number(group(match, "month"))
    low, high = sorted(int(group(match, name)) for name in ("low", "high"))
    years = [int(year)] if (year := group(match, "year")) else list(years_around(today))
    found = []
    for one in years:
        try:
            found.append(spanning(date(one, month, low), date(one, month, high)))
        except ValueError:
            continue
    return latest(found, today)


def _month_and_day(match: Match, today: date) -> tuple[Days, ...]:
    """Month first, or day first where only that can be."""
    month, number = int(group(match, "low")), int(group(match, "high"))
    month, number = (number, month) if month > 12 else (month, number)
    found = []
    given = group(match, "year")
    for year in [2000 + int(given)] if given else years_around(today):
        try:
            day = date(year, month, number)
        except ValueError:
            continue
        found.append(Days("day", day, day))
    return latest(found, today)


def _day_of_month(match: Match, today: date) -> tuple[Days, ...]:
    number = int(group(match, "number"))
    if which := group(match, "which"):
        first = month_from(today, _SHIFT.get(which, 0)).first.replace(day=number)
        return (Days("day", first, first),)
    found = []
    for shift in range(-12, 2):
        month = month_from(today, shift)
        if number <= month.last.day:
            day = month.first.replace(day=number)
            found.append(Days("day", day, day))
    return latest(found, today)[:1]


# --- Quarters, halves, seasons, feasts ----------------------------------------------------------------------------


def _quarter(match: Match, today: date) -> tuple[Days, ...]:
    number = int(group(match, "q") or 0) or _NUMBERS[group(match, "number")]
    year = _year(match, today)
    if year is not None:
        return (quarter(year, number),)
    if group(match, "number") == "last":
        return (quarter(today.year, (today.month - 1) // 3),)
    return latest((quarter(one, number) for one in years_around(today)), today)


def _quarter_near(match: Match, today: date) -> tuple[Days, ...]:
    return (quarter(today.year, (today.month + 2) // 3 + _SHIFT[group(match, "which")]),)


def _half(match: Match, today: date) -> tuple[Days, ...]:
    year = _year(match, today) or today.year
    return (months(year, 1 if group(match, "half") in ("1", "first") else 7, 6),)


def _season(match: Match, today: date) -> tuple[Days, ...]:
    name, year = group(match, "season"), _year(match, today)
    if year is not None:
        return season(year, name)
    found = [season(one, name)[0] for one in years_around(today)]
    return by_word(found, group(match, "which"), today)


def _feast(match: Match, today: date) -> tuple[Days, ...]:
    feast, year = feast_named(group(match, "feast")), _year(match, today)
    found = feast_days(feast, years_around(today) if year is None else (year,))
    return by_word(found, group(match, "which"), today) if year is None else tuple(found)


_PART = (
    r"(?:(?P<part>beginning|start|middle|end)\s+of\s+(?:the\s+)?"
    r"|(?P<adjective>early|mid|late)(?:\s+in\s+|[\s-]+)(?:the\s+)?"
    r"|(?P<number>first|second|third|fourth|last)\s+(?P<unit>week|half)\s+of\s+(?:the\s+)?)"
)
_MONTH = rf"(?P<month>{MONTH_NAMES})\b\.?"
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
_TO = r"\s*(?:-|–|—|~|\bto\b|\bthrough\b|\buntil\b|\btill\b|\band\b)\s*(?:the\s+)?"
_NO_CLOCK = r"(?![\d:%]|[.,]\d|\s*(?:am|pm)\b)"
ENGLISH_PERIODS: tuple[Rule, ...] = (
    Rule(
        ("early", "mid", "late", " of "),
        expression(rf"\b{_PART}(?:{_MONTH}{_WHICH_YEAR}?|(?P<year2>{_YEAR})\b(?![-/.]\d))"),
        _part,
        True,
    ),
    Rule(
        ("early", "mid", "late", " of "),
        expression(rf"\b{_PART}(?:(?P<which>last|this|next|previous|current)\s+)?(?<=[\s-])(?P<span>month|year)\b"),
        _part,
        False,
    ),
    Rule(
        ("last", "this", "next", "previous", "past"),
        expression(
            rf"\b(?P<which>last|this|next|previous|past)\s+(?P<month>{_FULL_MONTH})\b(?!\s+\d)"
            rf"|\b(?P<month2>{_FULL_MONTH}),?\s+(?:of\s+)?(?P<rel>last|this|next|previous)\s+year\b"
        ),
        _month_of_year,
        True,
    ),
    Rule(
        ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"),
        expression(
            rf"\b{_MONTH}\s+(?:the\s+)?(?P<low>\d{{1,2}})(?:st|nd|rd|th)?{_TO}(?P<high>\d{{1,2}})(?:st|nd|rd|th)?\b"
            rf"{_NO_CLOCK}(?!\s+(?:of\s+)?{MONTH_NAMES}\b)(?:,?\s+(?P<year>{_YEAR})\b)?"
            rf"|(?<![\d.:-])\b(?P<low2>\d{{1,2}})(?:st|nd|rd|th)?{_TO}(?P<high2>\d{{1,2}})(?:st|nd|rd|th)?\s+"
            rf"(?:of\s+)?(?P<month2>{MONTH_NAMES})\b\.?(?:,?\s+(?P<year2>{_YEAR})\b)?"
        ),
        _several_days,
        True,
    ),
    Rule(
        ("the ",),
        expression(
            rf"\b(?:on\s+)?the\s+(?P<number>\d{{1,2}})(?:st|nd|rd|th)(?:\s+of\s+(?P<which>last|this|next|the)\s+month\b|{_END})"
        ),
        _day_of_month,
        True,
    ),
    Rule(
        ("q1", "q2", "q3", "q4", "1q", "2q", "3q", "4q"),
        expression(
            rf"\b(?:q(?P<q>[1-4])|(?P<q2>[1-4])q)(?:['’]?\s*(?P<year>{_YEAR})\b|{_OR_WHICH_YEAR})?(?!\w)"
            rf"|\b(?P<year3>{_YEAR})[\s/-]*q(?P<q3>[1-4])\b"
        ),
        _quarter,
        True,
    ),
    Rule(
        ("quarter",),
        expression(
            rf"\b(?P<number>first|second|third|fourth|last|1st|2nd|3rd|4th)\s+quarter(?:\s+of\s+the\s+year\b|{_WHICH_YEAR})?"
            r"(?!\s*-?finals?\b|\s+of\s+the\s+(?!year))"
        ),
        _quarter,
        True,
    ),
    Rule(
        ("quarter",),
        expression(r"\b(?P<which>last|previous|past|this|current|next|coming)\s+quarter\b(?!\s+of\b)"),
        _quarter_near,
        False,
    ),
    Rule(
        ("h1", "h2", "1h", "2h"),
        expression(rf"\bh(?P<half>[12])\s+(?:of\s+)?(?P<year>{_YEAR})\b|\b(?P<year2>{_YEAR})[\s/-]*h(?P<half2>[12])\b"),
        _half,
        True,
    ),
    Rule(
        ("half",),
        expression(
            rf"\b(?P<half>first|second|latter)\s+half\s+of\s+(?:(?P<year>{_YEAR})\b|(?:the\s+)?(?:(?P<rel>last|this|next)\s+)?year\b)"
        ),
        _half,
        True,
    ),
    Rule(
        ("spring", "summer", "autumn", "fall", "winter"),
        expression(
            rf"\b(?:(?P<which>last|this|next|previous|past)\s+(?P<season>{_SEASON})\b"
            rf"|(?P<season2>{_SEASON}){_WHICH_YEAR}"
            rf"|(?:in|during|over|since|throughout|by)\s+(?:the\s+)?(?:early\s+|late\s+|whole\s+)?"
            rf"(?P<season3>{_SEASON})\b(?!\s+(?:boot|framework|mvc|security|cloud|roll|onion)){_OR_WHICH_YEAR}?)"
        ),
        _season,
        True,
    ),
    Rule(
        ENGLISH_HINTS,
        expression(
            rf"\b(?:(?P<which>last|this|next|previous|past)\s+)?(?P<feast>{ENGLISH_FEASTS})(?!\w){_WHICH_YEAR}?"
            rf"(?:,?\s+(?P<year2>{_YEAR})\b)?"
        ),
        _feast,
        True,
    ),
    Rule(
        ("on ",),
        expression(r"\bon\s+(?P<low>\d{1,2})/(?P<high>\d{1,2})(?:/(?P<year>\d\d))?(?![\d/])"),
        _month_and_day,
        True,
    ),
)
