"""The words for times in English and Chinese, and how to read them as numbers."""

import re

from ..expression import expression
from .simplified import simplified

MONTH_NAMES = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sep(?:t(?:ember)?)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
WEEKDAY_NAMES = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
# 一 to 三十一, as in 十二 and 二十八.
CHINESE_NUMBER = r"(?:[二三]?十[一二三四五六七八九]?|[一二两三四五六七八九])"
# A day or a month in digits or numerals.
SMALL_NUMBER = rf"(?:\d{{1,2}}|{CHINESE_NUMBER})"
COUNT_WORDS = (
    "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen",
    "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty",
)  # fmt: skip
MONTH_STARTS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
CHINESE_DIGITS = {char: value for value, char in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2}
CHINESE_UNITS = {"十": 10, "百": 100, "千": 1_000}
_WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")

# What a text may hold, as bits: signs of which numbers and Chinese words for times are made, English words for times.
SIGNS, WORDS, ANYTHING = 1, 2, -1

_ENGLISH_TIME = expression(
    # On lower case.
    rf"\b(?:yesterday|today|tonight|tomorrow|ago|{WEEKDAY_NAMES}s?"
    r"|(?:last|next|this|past|previous|the other|following|every)\s+(?:\w+\s+)?"
    r"(?:night|evening|morning|day|week|weekend|month|year|spring|summer|autumn|fall|winter)s?"
    r"|(?:few|couple(?: of)?|several|\d+|two|three|four|five|six|seven)\s+(?:day|week|month|year)s?"
    r"|january|february|april|june|july|august|september|october|november|december"
    r"|(?:in|on|since|until|by|this|last|next|early|late|mid)[\s-]+(?:may|march))\b"
)
# What any match of it holds: looking for these first spares most texts the expression.
_HINT_WORDS = "day night evening morning week month year ago tomorrow spring summer autumn fall winter"
_HINTS = (*_HINT_WORDS.split(), "uary", "march", "april", "may", "ju", "august", "ember", "october")
_HINT = expression("|".join(_HINTS))
# The first class holds how every alternative begins: most characters are passed over by it alone.
_CHINESE_TIME = expression(
    r"[昨今明前后上下本这去周星一二三四五六七八九十天月年刚最](?:(?<=[昨今明])[天日晚早]|(?<=[前后])天"
    r"|(?<=[上下本这])个?(?:周|月|星期|礼拜)|(?<=[去今明前后])年|(?<=周)[一二三四五六日末]|(?<=星)期[一二三四五六日天]"
    r"|(?<=[一二三四五六七八九十])月|(?<=[天周月年])前|(?<=刚)才|(?<=最)近)"
)
_NUMERIC_TIME = expression(
    r"\d(?:(?<!\w.)(?:(?<=1)9|(?<=2)0)\d\d(?!\w)|\d?[:：]\d\d|\d?[/-]\d{1,2}[/-]\d{2,4}|\d?\s?[年月日号])"
)
# What a word in English is written with, as ``re.IGNORECASE`` compares it.
_LATIN = expression(r"[A-Za-z\u0130\u0131\u017f\u212a]")
_ASCII_DIGIT = re.compile(r"[0-9]")
_DIGIT = re.compile(r"\d")
_CAPITAL_MONTH = re.compile(r"\b(?:May|March)\s\d")


def has_time_words(text: str, may_hold: int = ANYTHING) -> bool:
    """Whether a text names a time ("yesterday", "last week", a weekday, a month, a year, "昨天").

    ``may_hold`` other than ``ANYTHING`` says that the text is normalised, and what may be in it
    (:meth:`~.survey.Survey.holds`).
    """
    if may_hold == ANYTHING:
        text = simplified(text)
    ascii_only = text.isascii()
    if may_hold & WORDS:
        lower = text.lower() if ascii_only else lower_case(text) if _LATIN.search(text) else ""
        if holds_any(lower, _HINTS, _HINT, ascii_only) and (_ENGLISH_TIME.search(lower) or _CAPITAL_MONTH.search(text)):
            return True
    if not may_hold & SIGNS:
        return False
    if not ascii_only and _CHINESE_TIME.search(text):
        return True
    digit = (_ASCII_DIGIT if ascii_only else _DIGIT).search(text)
    return digit is not None and _NUMERIC_TIME.search(text, digit.start()) is not None


def lower_case(text: str) -> str:
    """Lower case, character for character as ``re.IGNORECASE`` compares, so that an expression need not ignore it."""
    if not text.isascii() and ("\u0130" in text or "\u0131" in text or "\u017f" in text):
        text = text.replace("\u0130", "i").replace("\u0131", "i").replace("\u017f", "s")
    return text.lower()


def holds_any(text: str, words: tuple[str, ...], expression: re.Pattern[str], ascii_only: bool) -> bool:
    """Whether a text holds one of some words, also inside others; ``expression`` matches the same.

    Looking for each word is faster where most characters could begin one, the expression where few could.
    """
    if not ascii_only:
        return expression.search(text) is not None
    for word in words:  # noqa: SIM110 - a generator takes twice as long
        if word in text:
            return True
    return False


def may_name_month(lower: str) -> bool:
    """Whether the first letters of a month's name stand anywhere in a text in lower case; a quick look."""
    return (
        "ju" in lower
        or ("ma" in lower and ("mar" in lower or "may" in lower))
        or "jan" in lower
        or "feb" in lower
        or "apr" in lower
        or "aug" in lower
        or "sep" in lower
        or "oct" in lower
        or "nov" in lower
        or "dec" in lower
    )


def month_number(name: str) -> int:
    """1 to 12 for a month's English name or abbreviation."""
    return MONTH_STARTS.index(lower_case(name[:3])) + 1


def weekday_number(name: str) -> int:
    """0 (Monday) to 6 for a weekday's English name."""
    return _WEEKDAYS.index(name[:3].lower())


def chinese_weekday(char: str) -> int:
    """0 (Monday) to 6 for what follows 周 or 星期 in a weekday's Chinese name."""
    return "一二三四五六日".index("日" if char == "天" else char)


def chinese_number(text: str) -> int:
    """The number in digits or Chinese numerals below one hundred."""
    if text.isdecimal():
        return int(text)
    tens, found, ones = text.partition("十")
    if not found:
        return CHINESE_DIGITS[text]
    return (CHINESE_DIGITS[tens] if tens else 1) * 10 + (CHINESE_DIGITS[ones] if ones else 0)


def digit_by_digit(text: str) -> int:
    """The number of a row of digits or of Chinese digits (二〇二六)."""
    return int(text) if text.isdecimal() else int("".join(str(CHINESE_DIGITS[char]) for char in text))
