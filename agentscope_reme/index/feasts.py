"""Feasts and holidays that questions name instead of a date, in English and Chinese."""

from collections.abc import Callable
from datetime import date, timedelta

from ..expression import expression
from .lunar_days import DOUBLE_NINTH, DRAGON_BOAT, MID_AUTUMN, NEW_YEAR, QIXI, lunar_day

Feast = Callable[[int], tuple[date, date] | None]
"""First and last day of a feast in a year; None where that year's is not known."""


def _fixed(month: int, day: int, days: int = 1) -> Feast:
    return lambda year: (date(year, month, day), date(year, month, day) + timedelta(days=days - 1))


def _lunar(feast: int, later: int = 0, days: int = 1) -> Feast:
    def find(year: int) -> tuple[date, date] | None:
        first = lunar_day(year, feast, later)
        return None if first is None else (first, first + timedelta(days=days - 1))

    return find


def _weekday(month: int, day: int, weekday: int, later: int = 0) -> Feast:
    """The first such weekday (0 is Monday) from a day of the month on, or so many days after it."""

    def find(year: int) -> tuple[date, date]:
        first = date(year, month, day)
        feast = first + timedelta(days=(weekday - first.weekday()) % 7 + later)
        return feast, feast

    return find


def _easter(later: int = 0, days: int = 1) -> Feast:
    def find(year: int) -> tuple[date, date]:
        # The anonymous Gregorian computus: the Sunday after the first full moon of spring, as the church reckons it.
        century, golden = year // 100, year % 19
        leap = century - century // 4
        moon = (19 * golden + leap - (century - (century + 8) // 25 + 1) // 3 + 15) % 30
        sunday = (32 + 2 * (century % 4) + 2 * (year % 100 // 4) - moon - year % 100 % 4) % 7
        moon -= 7 * ((golden + 11 * moon + 22 * sunday) // 451)
        first = date(year, 3, 22) + timedelta(days=moon + sunday + later)
        return first, first + timedelta(days=days - 1)

    return find


_ENGLISH: dict[str, Feast] = {
    r"new year'?s eve": _fixed(12, 31),
    r"(?:chinese|lunar) new year|spring festival": _lunar(NEW_YEAR, -1, 8),
    r"new year(?:'?s(?: day)?)?": _fixed(1, 1),
    r"valentine'?s(?: day)?": _fixed(2, 14),
    r"(?:saint|st\.?) patrick'?s(?: day)?": _fixed(3, 17),
    r"april fools?'?s?'?(?: day)?": _fixed(4, 1),
    r"good friday": _easter(-2),
    r"easter monday": _easter(1),
    r"easter(?: sunday| weekend|(?! eggs?\b))": _easter(-2, 4),
    r"(?:qingming|tomb[- ]sweeping)(?: festival| day)?": _fixed(4, 4, 3),
    r"mother'?s day": _weekday(5, 8, 6),
    r"memorial day": _weekday(5, 25, 0),
    r"father'?s day": _weekday(6, 15, 6),
    r"dragon boat festival": _lunar(DRAGON_BOAT),
    r"independence day|(?:the )?fourth of july": _fixed(7, 4),
    r"mid[- ]?autumn festival|moon festival": _lunar(MID_AUTUMN),
    r"hallowe'?en": _fixed(10, 31),
    r"thanksgiving(?: day)?": _weekday(11, 22, 3),
    r"black friday": _weekday(11, 22, 3, 1),
    r"christmas eve": _fixed(12, 24),
    r"boxing day": _fixed(12, 26),
    r"(?:christmas|xmas) day": _fixed(12, 25),
    r"christmas|xmas": _fixed(12, 24, 3),
}
_CHINESE: dict[str, Feast] = {
    "元旦": _fixed(1, 1),
    "情人节": _fixed(2, 14),
    "妇女节|三八节": _fixed(3, 8),
    "愚人节": _fixed(4, 1),
    "清明节?(?!上河)": _fixed(4, 4, 3),
    "劳动节|五一(?:节|假期|长假|期间|黄金周|小长假|(?![一二三四五六七八九〇零中路大广]))": _fixed(5, 1, 5),
    "母亲节": _weekday(5, 8, 6),
    "儿童节|六一(?:节|儿童节)": _fixed(6, 1),
    "父亲节": _weekday(6, 15, 6),
    "教师节": _fixed(9, 10),
    "国庆节?|十一(?:假期|长假|黄金周)": _fixed(10, 1, 7),
    "万圣节?": _fixed(10, 31),
    "双十一|双11(?!\\d)": _fixed(11, 11),
    "感恩节": _weekday(11, 22, 3),
    "双十二|双12(?!\\d)": _fixed(12, 12),
    "平安夜": _fixed(12, 24),
    "圣诞节?(?!老人|树)": _fixed(12, 24, 3),
    "复活节": _easter(-2, 4),
    "春节|农历新年|(?<![超通经])过年(?![龄度代份])": _lunar(NEW_YEAR, -1, 8),
    "除夕|大?年三十": _lunar(NEW_YEAR, -1),
    **{f"(?:大年|正月)初{'一二三四五六七八九十'[at]}": _lunar(NEW_YEAR, at) for at in range(10)},
    "元宵节?|正月十五": _lunar(NEW_YEAR, 14),
    "端午节?|五月初五": _lunar(DRAGON_BOAT),
    "七夕节?|七月初七": _lunar(QIXI),
    "中秋节?|八月十五(?![日号])": _lunar(MID_AUTUMN),
    "重阳节?|九月初九": _lunar(DOUBLE_NINTH),
}
_ALL = (*_ENGLISH.values(), *_CHINESE.values())
ENGLISH_FEASTS = "|".join(_ENGLISH)
CHINESE_FEASTS = "|".join(_CHINESE)
ENGLISH_HINTS = (
    "new year", "festival", "valentine", "patrick", "april fool", "good friday", "easter", "qingming", "sweeping",
    "mother", "memorial", "father", "independence", "fourth of july", "hallow", "thanksgiving", "black friday",
    "christmas", "xmas", "boxing day",
)  # fmt: skip
CHINESE_HINT = frozenset("节旦夕年宵阳秋午明庆一诞圣夜初二五12")
_NAMED = tuple(zip(map(expression, (*_ENGLISH, *_CHINESE)), _ALL, strict=True))


def feast_named(name: str) -> Feast:
    """The feast of a name that the expressions above have found, in lower case."""
    return next(feast for named, feast in _NAMED if named.fullmatch(name))
