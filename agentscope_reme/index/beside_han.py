"""A letter or a number with the Chinese character it belongs to: ``U盘``, ``3楼`` and ``三楼``, ``500元``, ``五百元``.

Alone, a letter or a small number says little, and so does a single character. Together they are one term. A number
that a question has in digits is looked for in numerals as well, and the other way round.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from ..expression import expression
from .chinese import FUNCTION_CHARS, HAN
from .time_words import CHINESE_DIGITS, CHINESE_UNITS

# What is counted or numbered. Days, months and years are dates.
_COUNTED = (
    "章节回集卷册页篇条款项级层楼号室栋座幢线路站区班届期季轮次名位岁口人只头匹张把件套双本台辆间块元角分斤两"
    "升米里亩度折倍成代点万千百亿个天周年种杯碗瓶包箱盒份场遍趟步段句字行列排桌队组门"
)
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZbcdefghijklmnopqrstuvwxyz"  # but the article
SINGLE = frozenset(_LETTERS)
_A_LETTER_BESIDE = expression(f"[A-Za-z](?=[{HAN}])(?<![0-9A-Za-z].)")
_A_HAN = re.compile(f"[{HAN}]")
NUMERALS = "零〇一二两三四五六七八九十百千万亿"
_IN_NUMERALS = expression(rf"[{NUMERALS}]+(?=[{_COUNTED}])")
_IN_DIGITS = expression(rf"(?<![0-9A-Za-z_.,/-])[0-9]{{1,8}}(?=[{_COUNTED}])")
_DIGITS = "零一二三四五六七八九"
_LARGE = (("亿", 100_000_000), ("万", 10_000))
_MOST, _LONGEST = 10**12, 6


class Counted(NamedTuple):
    """A number beside what it counts, at characters ``begin`` to ``stop`` of a question.

    ``same`` are terms for it as a whole in the other notations, ``numerals`` how the same is written in numerals,
    with what is counted; none where it is written so already. ``ordinal`` is a number in digits for one in numerals
    that 第 stands before.
    """

    begin: int
    stop: int
    same: tuple[str, ...]
    numerals: tuple[str, ...] = ()
    ordinal: str = ""


def term_beside(piece: str, char: str) -> str:
    """The term of a letter with the Chinese character that follows it; "" for others."""
    if piece not in SINGLE or not _A_HAN.match(char) or char in FUNCTION_CHARS:
        return ""
    return piece.casefold() + char


def terms_beside(text: str, found: Sequence[str]) -> list[str]:
    """The terms of all of these in a text in NFKC, of which ``found`` are the pieces in order, some in ``SINGLE``."""
    if _A_LETTER_BESIDE.search(text) is None:
        return []
    out, at = [], 0
    for piece in found:
        at = text.index(piece, at) + len(piece)
        if piece in SINGLE and (term := term_beside(piece, text[at : at + 1])):
            out.append(term)
    return out


def counted_in(text: str) -> list[Counted]:
    """The numbers of a question that stand beside what they count."""
    found = []
    for match in _IN_DIGITS.finditer(text):
        number, char = int(match.group()), text[match.end()]
        same: list[str] = []
        ahead = "第" if _follows_ordinal(match) else ""
        if char in CHINESE_UNITS or char in dict(_LARGE):
            # 3万 is 30000.
            number *= CHINESE_UNITS.get(char) or dict(_LARGE)[char]
            same.append(str(number))
            numerals = tuple(in_numerals(number))
        else:
            numerals = tuple(f"{ahead}{one}{char}" for one in in_numerals(number))
            same += _in_ten_thousands(number)
        found.append(Counted(match.start(), match.end(), tuple(same), numerals))
    for match in _IN_NUMERALS.finditer(text):
        value = value_of(match.group())
        if value is None or (value == 1 and not _follows_ordinal(match)):  # 一次: mostly no number
            continue
        same = [str(value), *_in_ten_thousands(value)]
        ordinal = str(value) if _follows_ordinal(match) else ""
        found.append(Counted(match.start(), match.end(), tuple(same), ordinal=ordinal))
    return found


def _follows_ordinal(match: re.Match[str]) -> bool:
    return match.string[match.start() - 1 : match.start()] == "第"


def value_of(numerals: str) -> int | None:
    """The number that Chinese numerals stand for, None where they stand for none (一百一百)."""
    if len(numerals) > 1 and all(char in CHINESE_DIGITS for char in numerals):
        return int("".join(str(CHINESE_DIGITS[char]) for char in numerals))  # one by one, as years and rooms are
    for char, size in _LARGE:
        before, found, after = numerals.rpartition(char)
        if found:
            high, low = value_of(before), value_of(after) if after else 0
            return None if not high or low is None or low >= size else high * size + low
    total, digit, last = 0, 0, 10_000
    for char in numerals:
        if char in CHINESE_UNITS:
            if CHINESE_UNITS[char] >= last:
                return None
            last = CHINESE_UNITS[char]
            total, digit = total + (digit or 1) * last, 0
        elif char != "零" and char != "〇":
            if digit:
                return None
            digit = CHINESE_DIGITS[char]
    return total + digit


def in_numerals(number: int) -> list[str]:
    """How a number is written in Chinese numerals, the commonest form first; nothing for a long one."""
    if not 0 < number < _MOST:
        return []
    text = _numerals(number)
    if text.startswith("一十"):
        text = text[1:]
    forms = [text]
    if text == "二" or (text[0] == "二" and text[1] in "百千万亿"):
        forms.append("两" + text[1:])
    return [form for form in forms if len(form) <= _LONGEST]


def _numerals(number: int) -> str:
    for char, size in _LARGE:
        if number >= size:
            rest = number % size
            zero = "零" if 0 < rest < size // 10 else ""
            return _numerals(number // size) + char + zero + (_numerals(rest) if rest else "")
    out, gap = "", False
    for size, char in ((1_000, "千"), (100, "百"), (10, "十"), (1, "")):
        digit = number // size % 10
        if digit:
            out += ("零" if gap and out else "") + _DIGITS[digit] + char
            gap = False
        else:
            gap = True
    return out


def _in_ten_thousands(number: int) -> list[str]:
    """``3万`` for 30000, as a term of its own where a text has it in digits."""
    return [f"{number // 10_000}万"] if number % 10_000 == 0 and 0 < number // 10_000 < 100 else []
