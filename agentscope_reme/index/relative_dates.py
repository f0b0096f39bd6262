"""Dates that depend on a clock: "yesterday", "last Friday", "3 weeks ago", "上周三", "去年5月"."""

import re
from collections.abc import Iterator
from datetime import date, timedelta
from typing import Literal

from ..expression import expression
from .time_words import (
    CHINESE_NUMBER,
    COUNT_WORDS,
    SMALL_NUMBER,
    WEEKDAY_NAMES,
    chinese_number,
    chinese_weekday,
    weekday_number,
)

_Found = tuple[int, int, Literal["day", "week", "month", "year", "range"], date, date]

_COUNT = rf"\d{{1,4}}|{'|'.join(COUNT_WORDS)}"
_UNIT = "day|week|month|year"
# What any match holds.
_LETTER, CHINESE_UNIT = re.compile("[A-Za-z]"), re.compile("[天日晚夜早晨周期拜月年]")
_ENGLISH = expression(
    rf"""\b(?:
      (?P<day>(?:the\ )?day\ before\ yesterday|(?:the\ )?day\ after\ tomorrow
        |yesterday|last\ night|today|tonight|this\ morning|tomorrow)
    | (?<!half\ )(?P<ago>{_COUNT}|an?|a\ couple\ of)\s+(?P<ago_unit>{_UNIT})s?\s+ago
    | (?:(?:in|over|during|for)\s+)?(?:the\s+)?(?:last|past|previous)\s+(?P<past>{_COUNT})\s+(?P<past_unit>{_UNIT})s?
    | in\s+(?P<ahead>{_COUNT}|an?)\s+(?P<ahead_unit>{_UNIT})s?
    | (?P<which>last|past|previous|this|next|on)\s+(?P<weekday>{WEEKDAY_NAMES})
    | (?P<which_unit>last|past|previous|this|next)\s+(?P<unit>weekend|week|month|year)(?!\s+of\b)
    )\b""",
    re.VERBOSE | re.IGNORECASE,
)
# A sign that ends a longer word begins no date: 以前天天, 早上周会, 看一下周五的安排, 日本周刊.
_WHICH = r"(?<![早晚以马])上上|下下|(?<![早晚以马上])上|(?<![一以之地乡下])下|这|(?<![日根成剧基书课版文样])本"
_CHINESE = expression(
    rf"""
      (?P<day>大前[天日]|(?<![以之目提当面生])前[天日晚夜]|昨[天日晚夜早晨]|今[天日晚夜早晨]
        |(?<![发证])明[天日晚早晨]|大后[天日]|(?<![以之然最今落背])后[天日])
    | (?P<week>{_WHICH})一?个?(?:周|星期|礼拜)(?P<weekday>[一二三四五六日天末])?
    | (?P<month>{_WHICH})一?个?月\ ?(?:(?P<part>[初底末]|[上中下]旬)|(?P<month_day>{SMALL_NUMBER})\ ?[日号])?
    | (?P<year>(?<![以之目])前年|(?<!过)去年|(?<!如)今年|(?<![发证])明年|(?<![以之今])后年)
        (?:\ ?(?P<year_month>{SMALL_NUMBER})\ ?月(?:份|\ ?(?P<year_day>{SMALL_NUMBER})\ ?[日号])?)?
    | (?:最近|过去|近)的?\ ?(?P<past>\d{{1,4}}|{CHINESE_NUMBER})\ ?(?:个\ ?)?(?P<past_unit>天|日|周|星期|礼拜|月|年)
    | (?<!\d)(?!\d{{4}}\ ?年)(?P<ago>\d{{1,4}}|{CHINESE_NUMBER})\ ?(?:个\ ?)?
        (?P<ago_unit>天|周|星期|礼拜|(?<=[个两])月|年)(?:以|之)?(?P<way>[前后])
    | (?P<ago2>[两三四五六七八九十])日(?P<way2>[前后])
    """,
    re.VERBOSE,
)
_ENGLISH_DAYS = {
    "day before yesterday": -2,
    "yesterday": -1,
    "last night": -1,
    "today": 0,
    "tonight": 0,
    "this morning": 0,
    "tomorrow": 1,
    "day after tomorrow": 2,
}
_CHINESE_DAYS = {"大前": -3, "前": -2, "昨": -1, "今": 0, "明": 1, "大后": 3, "后": 2}
_SHIFT = {
    "上上": -2,
    "上": -1,
    "这": 0,
    "本": 0,
    "下": 1,
    "下下": 2,
    "last": -1,
    "past": -1,
    "previous": -1,
    "this": 0,
    "next": 1,
}
_YEARS = {"前年": -2, "去年": -1, "今年": 0, "明年": 1, "后年": 2}
_UNITS = {"天": "day", "日": "day", "周": "week", "星期": "week", "礼拜": "week", "月": "month", "年": "year"}


def find_relative(text: str, today: date) -> Iterator[_Found]:
    """``(begin, stop, grain, first day, last day)`` of relative dates, read on ``today``; weeks begin on Monday.

    "last Friday" is the latest Friday before today, "next Friday" and "下周五" are in the next calendar week, "上周五"
    in the previous one, "on Friday" is the latest Friday, today included. "N days ago" is that day, "N weeks ago" that
    calendar week, "N months ago" that month. Dates outside the calendar are left out.
    """
    for hint, pattern, read in ((_LETTER, _ENGLISH, _read_english), (CHINESE_UNIT, _CHINESE, _read_chinese)):
        if hint.search(text) is None:
            continue
        for match in pattern.finditer(text):
            try:
                grain, first, last = read(match, today)
            except (OverflowError, ValueError):
                continue
            yield match.start(), match.end(), grain, first, last


_Span = tuple[Literal["day", "week", "month", "year", "range"], date, date]


def _one(day: date) -> _Span:
    return "day", day, day


def _week(today: date, shift: int) -> _Span:
    monday = today - timedelta(days=today.weekday()) + timedelta(weeks=shift)
    return "week", monday, monday + timedelta(days=6)


def _month(today: date, shift: int) -> _Span:
    index = today.year * 12 + today.month - 1 + shift
    first = date(index // 12, index % 12 + 1, 1)
    following = date((index + 1) // 12, (index + 1) % 12 + 1, 1)
    return "month", first, following - timedelta(days=1)


def _year(today: date, shift: int) -> _Span:
    return "year", date(today.year + shift, 1, 1), date(today.year + shift, 12, 31)


def _shifted(today: date, count: int, unit: str) -> _Span:
    if unit == "day":
        return _one(today + timedelta(days=count))
    if unit == "week":
        return _week(today, count)
    return _month(today, count) if unit == "month" else _year(today, count)


def _stretch(today: date, count: int, unit: str) -> _Span:
    """The last ``count`` units up to today."""
    if unit in ("month", "year"):
        months = count * (12 if unit == "year" else 1)
        start = _month(today, -months)
        return "range", start[1].replace(day=min(today.day, start[2].day)), today
    return "range", today - timedelta(days=count * (7 if unit == "week" else 1)), today


def _count(text: str) -> int:
    lower = text.lower()
    if lower in ("a", "an"):
        return 1
    if lower == "a couple of":
        return 2
    return COUNT_WORDS.index(lower) + 1 if lower in COUNT_WORDS else int(lower)


def _read_english(match: re.Match[str], today: date) -> _Span:
    if match["day"]:
        return _one(today + timedelta(days=_ENGLISH_DAYS[match["day"].lower().removeprefix("the ")]))
    if match["ago"]:
        return _shifted(today, -_count(match["ago"]), match["ago_unit"].lower())
    if match["past"]:
        return _stretch(today, _count(match["past"]), match["past_unit"].lower())
    if match["ahead"]:
        return _shifted(today, _count(match["ahead"]), match["ahead_unit"].lower())
    if match["weekday"]:
        which, number = match["which"].lower(), weekday_number(match["weekday"])
        if which in ("this", "next"):
            return _one(_week(today, _SHIFT[which])[1] + timedelta(days=number))
        back = (today.weekday() - number) % 7
        return _one(today - timedelta(days=back or (0 if which == "on" else 7)))
    which, unit = match["which_unit"].lower(), match["unit"].lower()
    if unit == "weekend":
        monday = _week(today, _SHIFT[which])[1]
        return "range", monday + timedelta(days=5), monday + timedelta(days=6)
    return _shifted(today, _SHIFT[which], unit)


def _read_chinese(match: re.Match[str], today: date) -> _Span:
    if match["day"]:
        return _one(today + timedelta(days=_CHINESE_DAYS[match["day"][:-1]]))
    if match["week"]:
        week = _week(today, _SHIFT[match["week"]])
        if match["weekday"] == "末":
            return "range", week[1] + timedelta(days=5), week[2]
        if match["weekday"]:
            return _one(week[1] + timedelta(days=chinese_weekday(match["weekday"])))
        return week
    if match["month"]:
        month = _month(today, _SHIFT[match["month"]])
        if match["month_day"]:
            return _one(month[1].replace(day=chinese_number(match["month_day"])))
        if match["part"]:
            low, high = {"初": (1, 10), "上旬": (1, 10), "中旬": (11, 20)}.get(match["part"], (21, month[2].day))
            return "range", month[1].replace(day=low), month[1].replace(day=high)
        return month
    if match["year"]:
        year = today.year + _YEARS[match["year"]]
        if not match["year_month"]:
            return "year", date(year, 1, 1), date(year, 12, 31)
        month_first = date(year, chinese_number(match["year_month"]), 1)
        if match["year_day"]:
            return _one(month_first.replace(day=chinese_number(match["year_day"])))
        return _month(month_first, 0)
    if match["past"]:
        return _stretch(today, chinese_number(match["past"]), _UNITS[match["past_unit"]])
    count = chinese_number(match["ago"] or match["ago2"]) * (-1 if "前" in (match["way"], match["way2"]) else 1)
    return _shifted(today, count, _UNITS[match["ago_unit"] or "日"])
