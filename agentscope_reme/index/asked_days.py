"""The days that a question asks for: its dates, and stretches of the calendar that it names in words."""

import re
from collections.abc import Iterator
from datetime import date, timedelta
from itertools import pairwise
from typing import NamedTuple

from ..expression import expression
from .chinese_periods import CHINESE_PERIODS
from .dates import DateMention, find_dates, joins
from .english_periods import ENGLISH_PERIODS
from .english_weeks import ENGLISH_WEEKS
from .periods import Days, Period, Rules, latest, spanning, week_of, years_around
from .question_signs import EVERYTHING, LETTER, NUMBER, PERIOD, UNIT, signs_of
from .simplified import simplified
from .time_words import lower_case
from .words import normalised

MOST_DATES = 100  # that a question asks for; nobody means more
_CHINESE = re.compile("[\u4e00-\u9fff]")
_WEEK_OF = expression(
    r"\bweek\s+(?:(?P<from>starting|beginning|commencing|from)(?:\s+on)?|of)\s+"
    r"(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day,?\s+)?(?:the\s+)?$"
)
_ITS_WEEK = expression(r"\s?(?:所?在的?|的?那|这|当|的那)一?个?(?:周|星期|礼拜)(?![一二三四五六日天])")
_SINCE = expression(r"\bsince\s+(?:the\s+)?$|(?:自从?)$")
_UNTIL_NOW = expression(r"\s?(?:[日号]?以来|至今|到现在|到今天)")

_ENGLISH_RULES, _CHINESE_RULES = Rules((*ENGLISH_PERIODS, *ENGLISH_WEEKS)), Rules(CHINESE_PERIODS)

# What one asks about a time without saying what of it, as index terms.
_WHATEVER_TERMS = """
happen do did done make made build built work discuss talk meet plan write wrote say said go went get got see
saw learn note event activ diari journal summari recap review task finish progress accomplish
会议 开会 讨论 聊了 聊过 干了 干嘛 干什 发生 生了 记录 工作 学习
计划 安排 日记 事情 些事 见了 去了 写了 完成 进展 总结 回顾 活动
"""
_WHATEVER = frozenset(_WHATEVER_TERMS.split())


class AskedDays(NamedTuple):
    """What a question says of time.

    ``dates`` are the days it asks for. ``terms`` are the dates and stretches that are no words to look for, or are
    notations of which terms are made, in order and apart. ``named`` are the parts of the text that name a stretch.
    """

    dates: tuple[DateMention, ...]
    terms: tuple[DateMention, ...]
    named: tuple[str, ...]


_NOTHING = AskedDays((), (), ())


def asked_days(text: str, today: date | None, signs: int = EVERYTHING) -> AskedDays:
    """Read a question that is normalised; without ``today``, its dates alone.

    ``signs`` are what it may hold (:mod:`.question_signs`): it is not looked through for anything else.
    """
    dates = find_dates(text, today) if signs & (LETTER | NUMBER | UNIT) else ()
    if today is None:
        return AskedDays(dates, dates, ())
    original, text = text, simplified(text)
    lower = lower_case(text) if signs & LETTER else text
    periods = list(_ENGLISH_RULES.find(lower, today)) if signs & LETTER else []
    if signs & PERIOD and _CHINESE.search(text):
        periods.extend(_CHINESE_RULES.find(text, today))
    if not dates and not periods:
        return _NOTHING
    periods.extend(_ranges(dates, text, today))
    for mention in dates:
        if (week := _week_of(mention, lower, today)) is not None:
            periods.append(week)
    chosen = _apart(periods, dates)
    kept = [one for one in dates if not any(_overlap(one, period) for period in chosen)]
    asked = [_latest_first(mention, lower, today) for mention in kept]
    for period in chosen:
        asked.extend(_since(mention, lower, today) for mention in _mentions(period))
    unnamed = [period for period in chosen if not period.named]
    terms = [one for one in dates if not any(_overlap(one, period) for period in unnamed)]
    terms.extend(_mentions(period)[0] for period in unnamed)
    terms.sort(key=lambda mention: mention.begin)
    asked.sort(key=lambda mention: mention.begin)
    different = {one._replace(begin=0, stop=0, tokens=()): one for one in reversed(asked)}  # the first of each
    named = dict.fromkeys(original[period.begin : period.stop] for period in chosen if period.named)
    return AskedDays(tuple(reversed(different.values()))[:MOST_DATES], tuple(terms), tuple(named))


def asks_whatever(term: str) -> bool:
    """Whether a term asks for anything that happened, so that a time beside it is all that is asked for."""
    return term in _WHATEVER


def _apart(periods: list[Period], dates: tuple[DateMention, ...]) -> list[Period]:
    """Periods in order that overlap neither each other nor a date that says more; what begins first stays."""
    spans = sorted(
        [(one.begin, -one.stop, 0, one) for one in periods] + [(one.begin, -one.stop, 1, None) for one in dates],
        key=lambda span: span[:3],
    )
    kept: list[Period] = []
    end = 0
    for begin, stop, _, period in spans:
        if begin < end:
            continue
        end = -stop
        if period is not None:
            kept.append(period)
    return kept


def _overlap(mention: DateMention, period: Period) -> bool:
    return mention.begin < period.stop and period.begin < mention.stop


def _mentions(period: Period) -> list[DateMention]:
    return [
        DateMention(
            period.begin,
            period.stop,
            days.grain,
            days.first.isoformat(),
            days.last.isoformat(),
            relative=True,
            tokens=(days.first.isoformat(),) if days.grain == "day" else (),
            likely=days.likely,
        )
        for days in period.days
    ]


def _latest_first(mention: DateMention, text: str, today: date) -> DateMention:
    """A date as asked on a day: one without a year is more likely the last that has come by then."""
    if mention.first:
        return _since(mention, text, today)
    if _reaches_now(mention, text) and (begun := _last_begun(mention, today)) is not None:
        return _since(mention._replace(first=begun.isoformat(), last=begun.isoformat()), text, today)
    return mention._replace(asked_on=today.isoformat())


def _last_begun(mention: DateMention, today: date) -> date | None:
    """The first day of the last date without a year that has begun by today."""
    for year in range(today.year, max(0, today.year - 9), -1):
        if (span := mention.span(year)) is not None and span[0] <= today:
            return span[0]
    return None


def _reaches_now(mention: DateMention, text: str) -> bool:
    before = _SINCE.search(text, max(0, mention.begin - 12), mention.begin)
    return before is not None or _UNTIL_NOW.match(text, mention.stop) is not None


def _since(mention: DateMention, text: str, today: date) -> DateMention:
    """A date with "since" before it reaches up to today."""
    if not _reaches_now(mention, text) or mention.first > today.isoformat():
        return mention
    days = spanning(date.fromisoformat(mention.first), today)
    return mention._replace(grain=days.grain, last=days.last.isoformat())


def _ranges(dates: tuple[DateMention, ...], text: str, today: date) -> Iterator[Period]:
    """Two dates without a year with "to" between them ("March to May", "3月28日到4月2日")."""
    for one, two in pairwise(dates):
        if one.first or two.first or not joins(one, two, text):
            continue
        found = []
        for year in years_around(today):
            first, last = one.span(year), two.span(year)
            if first is not None and last is not None and last[1] < first[0]:
                last = two.span(year + 1)
            if first is not None and last is not None:
                found.append(spanning(first[0], last[1]))
        if found:
            yield Period(one.begin, two.stop, latest(found, today), True)


def _week_of(mention: DateMention, text: str, today: date) -> Period | None:
    """The week of a day that is named so ("the week of 3 May", "5月3日那周")."""
    if mention.grain != "day":
        return None
    before, behind = _WEEK_OF.search(text, 0, mention.begin), _ITS_WEEK.match(text, mention.stop)
    if before is None and behind is None:
        return None
    found = []
    for year in (today.year - 1, today.year, today.year + 1) if not mention.first else (0,):
        if not 1 <= (year or 1) <= 9998 or (span := mention.span(year)) is None:
            continue
        day = span[0]
        # Where weeks begin on Sunday, that of a Sunday is the one that follows.
        begins = before is not None and (before["from"] is not None or day.weekday() == 6)
        found.append(spanning(day, day + timedelta(days=6))._replace(grain="week") if begins else week_of(day))
        if begins and before is not None and before["from"] is None:
            found.append(week_of(day))
    begin = before.start() if before is not None else mention.begin
    stop = behind.end() if behind is not None else mention.stop
    ordered: tuple[Days, ...] = latest(found, today)
    return Period(begin, stop, ordered, True) if ordered else None


def first_and_last(text: str, today: date) -> tuple[date, date] | None:
    """The first and the last day of what a text says of time, as who writes it today means it; None for none."""
    text = normalised(text)
    for mention in asked_days(text, today, signs_of(text)).dates:
        if mention.first:
            return date.fromisoformat(mention.first), date.fromisoformat(mention.last)
        if (begun := _last_begun(mention, today)) is not None:
            return mention.span(begun.year)
    return None
