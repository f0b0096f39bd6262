"""The words for times in English and Chinese, and how to read them as numbers."""

import re

MONTH_NAMES = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sep(?:t(?:ember)?)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
WEEKDAY_NAMES = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
# 一 to 三十一, as in 十二 and 二十八.
CHINESE_NUMBER = r"(?:[二三]?十[一二三四五六七八九]?|[一二两三四五六七八九])"
# A day or a month in digits or numerals.
SMALL_NUMBER = rf"(?:\d{{1,2}}|{CHINESE_NUMBER})"
COUNT_WORDS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
MONTH_STARTS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")

_ENGLISH_TIME = re.compile(
    rf"\b(?:yesterday|today|tonight|tomorrow|ago|{WEEKDAY_NAMES}s?"
    r"|(?:last|next|this|past|previous|the other|following|every)\s+(?:\w+\s+)?"
    r"(?:night|evening|morning|day|week|weekend|month|year|spring|summer|autumn|fall|winter)s?"
    r"|(?:few|couple(?: of)?|several|\d+|two|three|four|five|six|seven)\s+(?:day|week|month|year)s?"
    r"|january|february|april|june|july|august|september|october|november|december"
    r"|(?:in|on|since|until|by|this|last|next|early|late|mid)[\s-]+(?:may|march))\b",
    re.IGNORECASE,
)
# What any match of it holds: looking for these first spares most texts the expression.
_HINT_WORDS = """
day night evening morning week month year ago tomorrow spring summer autumn fall winter january february march april may
june july august september october november december
"""
_ENGLISH_HINTS = tuple(_HINT_WORDS.split())
_CHINESE_TIME = re.compile(
    r"[昨今明][天日晚早]|[前后]天|[上下本这]个?(?:周|月|星期|礼拜)|[去今明前后]年|周[一二三四五六日末]|星期[一二三四五六日天]"
    r"|[一二三四五六七八九十]月|[天周月年]前|刚才|最近"
)
_NUMERIC_TIME = re.compile(
    r"(?=\d)(?:(?<!\w)(?:19|20)\d\d(?!\w)|\d{1,2}[:：]\d\d|\d{1,2}[/-]\d{1,2}[/-]\d{2,4}|\d{1,2}\s?[年月日号])"
)
_CAPITAL_MONTH = re.compile(r"\b(?:May|March)\s\d")


def has_time_words(text: str) -> bool:
    """Whether a text names a time ("yesterday", "last week", a weekday, a month, a year, "昨天")."""
    lower = text.lower()
    for hint in _ENGLISH_HINTS:
        if hint in lower:
            if _ENGLISH_TIME.search(text) or _CAPITAL_MONTH.search(text):
                return True
            break
    if not text.isascii() and _CHINESE_TIME.search(text):
        return True
    return _NUMERIC_TIME.search(text) is not None


def month_number(name: str) -> int:
    """1 to 12 for a month's English name or abbreviation."""
    return MONTH_STARTS.index(name[:3].lower()) + 1


def weekday_number(name: str) -> int:
    """0 (Monday) to 6 for a weekday's English name."""
    return _WEEKDAYS.index(name[:3].lower())


def chinese_number(text: str) -> int:
    """The number in digits or Chinese numerals below one hundred."""
    if text.isdecimal():
        return int(text)
    digits = {char: value for value, char in enumerate("零一二三四五六七八九")} | {"两": 2}
    tens, found, ones = text.partition("十")
    if not found:
        return digits[text]
    return (digits[tens] if tens else 1) * 10 + (digits[ones] if ones else 0)
