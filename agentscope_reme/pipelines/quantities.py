"""The numbers that a text names, in one spelling, whether in digits, in English or in Chinese words.

"30k", "30,000", "thirty thousand" and "三万" are the same number, and so are "25" and "twenty-five". What else a text
says with them ("3 pm" is 15:00, "half an hour" is 30 minutes) is told apart: it may be repeated so, but is no number.
"""

import re
from collections.abc import Iterator
from decimal import Decimal

from ..index.time_words import CHINESE_DIGITS, CHINESE_UNITS

_HAN_SCALES = {"万": 10**4, "亿": 10**8}
_HAN = "〇零一二两三四五六七八九十百千万亿"
_SMALL = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
    *("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_ORDINALS = ("third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh", "twelfth")
_VALUES = {word: value for value, word in enumerate(_SMALL)} | {word: 10 * at for at, word in enumerate(_TENS, 2)}
_VALUES |= {word: at for at, word in enumerate(_ORDINALS, 3)}
_SCALES = {"hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9, "dozen": 12}
_ALONE = {"once": "1", "twice": "2", "half": "0.5"}

_DIGITS = re.compile(
    r"((?<![\w.])\d[\d,]*(?:\.\d+)?|(?<=[A-Za-z_\u3400-\u9fff])\d+(?:\.\d+)?|\d+(?:\.\d+)?)"
    r"(?:(k)\b|[ -]?(hundred|thousand|million|billion|dozen)s?\b| ?([百千万亿]{1,3})(?![米克瓦卡]))?",
    re.IGNORECASE,
)
_WORD = "|".join(sorted((*_VALUES, *_SCALES), key=len, reverse=True))
_SPELT = re.compile(rf"\b(?:{_WORD})s?(?:(?:[ -]|,? and )(?:{_WORD})s?)*\b|\b(?:{'|'.join(_ALONE)})\b", re.IGNORECASE)
_BETWEEN_WORDS = re.compile(r",? and |[ -]")
_COUNTED = (
    "个|年|月|天|日|周|岁|次|小时|分钟|秒|块|元|人|位|只|条|本|件|台|辆|公里|里|米|倍|成|点|号|斤|公斤|克|吨|级|层|楼|章|页|集|场"
    "|家|种|款|张|套|间|把|双|项|顿|杯|瓶|箱|包|盒|颗|棵|头|匹|艘|架|门|首|篇|封|份|美元|欧元|日元|港币|英镑|余|多|名|平米|平方|度|折"
)
_CHINESE = re.compile(
    rf"百分之([{_HAN}]{{1,8}})|([{_HAN}]{{1,12}})(?={_COUNTED})|(?<=第)([{_HAN}]{{1,8}})"
    rf"|(?<![{_HAN}])([一二两三四五六七八九][{_HAN}]{{0,12}})"
)
_STEP = re.compile(r"^[ \t]*(?:[-*+][ \t]+)?\d{1,3}(?:[.)](?=\s)|、)", re.MULTILINE)

_CLOCK = re.compile(
    r"(?P<hour>\d{1,2})(?::(?P<minute>\d\d))?\s?(?P<half>[ap])\.?\s?m\b\.?|(?P<hour24>\d{1,2})[:：](?P<minute24>\d\d)"
    rf"|(?P<part>凌晨|清晨|早上|早晨|上午|中午|下午|傍晚|晚上|夜里|今晚|明晚|昨晚)?\s?(?P<dian>\d{{1,2}}|[{_HAN}]{{1,3}})\s?[点時时]"
    rf"(?:(?P<kuai>半|一刻|三刻)|(?P<fen>\d{{1,2}}|[{_HAN}]{{1,3}})(?=分|(?!\w)))?",
    re.IGNORECASE,
)
_NAMED_CLOCK = re.compile(
    rf"\b(?:(?P<past>half|(?:a )?quarter) (?P<way>past|to|after) (?P<of>\d{{1,2}}|{'|'.join(_SMALL)})"
    r"|noon|midday|midnight)\b|正午|午夜|零点",
    re.IGNORECASE,
)
_AND_A_HALF = re.compile(
    rf"\b(?P<english>\d{{1,3}}|an?|{'|'.join((*_SMALL, *_TENS))})(?: \w+)? and a half\b"
    rf"|(?P<chinese>\d{{1,3}}|[{_HAN}]{{1,3}})个?半",
    re.IGNORECASE,
)
_ALSO = (
    (re.compile(r"\bhalf\b|半|一半", re.IGNORECASE), ("0.5", "50", "30", "6", "2")),
    (re.compile(r"\bquarters?\b|刻", re.IGNORECASE), ("0.25", "25", "0.75", "75", "15", "45", "4")),
    (re.compile(r"\bfortnight", re.IGNORECASE), ("2", "14")),
    (re.compile(r"\b(?:couple|pair)\b|一对|一双", re.IGNORECASE), ("2",)),
)
_DECADES = ("twenties", "thirties", "forties", "fifties", "sixties", "seventies", "eighties", "nineties")
_DECADE = re.compile(rf"\b({'|'.join(_DECADES)})\b", re.IGNORECASE)
_REBATE = re.compile(rf"([{_HAN}\d])([{_HAN[:10]}\d])?折")


def numbers_in(text: str) -> frozenset[str]:
    """The numbers of a text (NFKC, without its dates), each in digits; not those of steps in a list."""
    text = _STEP.sub("", text)
    return frozenset(value for _, _, values in _places(text) for value in values)


def without_numbers(text: str) -> str:
    """A text with ``#`` for each number, so that two that differ in numbers alone are the same."""
    out, last = [], 0
    for start, end, _ in sorted(_places(text)):
        if start >= last:
            out += [text[last:start].rstrip(), "#"]
            last = end
            while text[last : last + 1] == " ":
                last += 1
    return "".join([*out, text[last:]])


def also_said(text: str) -> frozenset[str]:
    """Numbers that a text (NFKC) says without naming them: of a clock of 24 or 12 hours, of halves and quarters."""
    found: set[str] = set()
    for clock in _CLOCK.finditer(text):
        found |= set(_of_clock(clock))
    for clock in _NAMED_CLOCK.finditer(text):
        found |= set(_of_named_clock(clock))
    for match in _AND_A_HALF.finditer(text):
        whole = _whole(match["english"] or match["chinese"])
        if whole is not None:
            found |= {f"{whole}.5", str(60 * whole + 30), str(12 * whole + 6)}
    for pattern, values in _ALSO:
        if pattern.search(text):
            found.update(values)
    for match in _DECADE.finditer(text):
        tens = 20 + 10 * _DECADES.index(match[1].lower())
        found |= {str(tens), str(1900 + tens)}
    for match in _REBATE.finditer(text):
        tenths, hundredths = _whole(match[1]) or 0, _whole(match[2] or "零") or 0
        price = 10 * tenths + hundredths
        found |= {str(price), str(100 - price)}
    return frozenset(found)


def _places(text: str) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    """Where numbers stand, and what they are; of words that may be two ("两三天") both."""
    taken: set[int] = set()  # what belongs to a number in digits, such as the word of "2 million"
    for match in _DIGITS.finditer(text):
        taken.update(range(match.end(1), match.end()))
        yield match.start(), match.end(), tuple(_of_digits(match))
    for match in _SPELT.finditer(text):
        if match.end() - 1 not in taken and (values := _of_words(match.group().lower())):
            yield match.start(), match.end(), values
    for match in _CHINESE.finditer(text):
        words = next(filter(None, match.groups()))
        counted = match[4] is None or any(char in CHINESE_UNITS or char in _HAN_SCALES for char in words)
        if counted and words != "一" and not (words[0] in "百千万亿" or match.start() in taken):
            yield match.start(), match.end(), tuple(map(str, _of_han(words)))


def _of_digits(match: "re.Match[str]") -> Iterator[str]:
    plain = match[1].rstrip(",")
    if "," in plain:
        groups = plain.split(",")
        if all(len(group) == 3 for group in (*groups[1:-1], groups[-1].split(".")[0])):
            plain = "".join(groups)
        elif len(groups) == 2 and "." not in plain and len(groups[1]) < 3:
            plain = ".".join(groups)  # as the comma is used in most of Europe
        else:
            yield from (_spelling(Decimal(group)) for group in groups if group)
            return
    value = Decimal(plain)
    if match[2]:
        value *= 1000
    elif match[3]:
        value *= _SCALES[match[3].lower()]
    for scale in match[4] or "":
        value *= {**CHINESE_UNITS, **_HAN_SCALES}[scale]
    yield _spelling(value)


def _of_words(words: str) -> tuple[str, ...]:
    """ "Two thousand five hundred and twenty-five"; two numbers in a row ("five six") are two."""
    if words in _ALONE:
        return (_ALONE[words],)
    found: list[int] = []
    total = current = 0
    last = 0  # what was read last: a number may only be followed by a smaller part of itself
    started = False
    for word in filter(None, _BETWEEN_WORDS.split(words)):
        word = word if word in _VALUES or word in _SCALES else word.removesuffix("s")
        if word in _SCALES:
            scale = _SCALES[word]
            if scale == 100 or scale == 12:
                current = (current or 1) * scale
            else:
                total, current = total + (current or 1) * scale, 0
            last, started = scale, True
            continue
        value = _VALUES[word]
        fits = not started or (last in (100, 1000, 10**6, 10**9)) or (20 <= last <= 90 and 0 < value < 10)
        if not fits:
            found.append(total + current)
            total = current = 0
        current, last, started = current + value, value, True
    found.append(total + current)
    return tuple(str(value) for value in found if value != 1 or len(found) > 1)


def _of_han(words: str) -> list[int]:
    """A number in Chinese numerals; both where two stand side by side ("两三"), a row of digits where more do."""
    if not any(char in CHINESE_UNITS or char in _HAN_SCALES for char in words):
        digits = [CHINESE_DIGITS[char] for char in words]
        return [int("".join(map(str, digits)))] if len(digits) != 2 or 0 in digits else digits
    for at in range(len(words) - 1):
        pair = words[at : at + 2]
        if all(char in CHINESE_DIGITS and char not in "零〇" for char in pair):
            # "两三百", "三四十": one number or the other.
            return [value for char in pair for value in _of_han(words[:at] + char + words[at + 2 :])]
    billions = millions = section = digit = 0  # what stands before 亿, before 万, and behind them
    unit = 1
    for char in words:
        if char in CHINESE_DIGITS:
            digit = CHINESE_DIGITS[char]
            unit = 1 if char in "零〇" else unit
        elif char in CHINESE_UNITS:
            section += (digit or 1) * CHINESE_UNITS[char]
            digit, unit = 0, CHINESE_UNITS[char]
        elif char == "万":
            millions, section, digit, unit = (section + digit or 1) * 10**4, 0, 0, 10**4
        else:
            billions, millions, section, digit, unit = (millions + section + digit or 1) * 10**8, 0, 0, 0, 10**8
    # "三百二" is 320, and "三万五" 35 000.
    last = digit * (unit // 10 if unit > 10 else 1)
    return [billions + millions + section + last]


def _whole(text: str | None) -> int | None:
    if not text:
        return None
    lower = text.lower()
    if lower.isdecimal():
        return int(lower)
    if lower in ("a", "an"):
        return 1
    if lower in _VALUES:
        return _VALUES[lower]
    return _of_han(text)[0] if all(char in _HAN for char in text) else None


def _of_clock(clock: "re.Match[str]") -> Iterator[str]:
    hour = _whole(clock["hour"] or clock["hour24"] or clock["dian"])
    if hour is None or hour > 24:
        return
    yield from (str(hour), str(hour % 12), str(hour % 12 + 12) if _may_be_late(clock) else str(hour))
    minutes = {"半": 30, "一刻": 15, "三刻": 45}.get(clock["kuai"] or "")
    minutes = minutes if minutes is not None else _whole(clock["minute"] or clock["minute24"] or clock["fen"])
    yield str(minutes or 0)


def _may_be_late(clock: "re.Match[str]") -> bool:
    part, half = clock["part"] or "", (clock["half"] or "").lower()
    return half == "p" or part in ("中午", "下午", "傍晚", "晚上", "夜里", "今晚", "明晚", "昨晚")


def _of_named_clock(clock: "re.Match[str]") -> Iterator[str]:
    hour = _whole(clock["of"])
    if hour is None:
        yield from ("12", "0", "24")
        return
    early = (clock["way"] or "").lower() == "to"
    minutes = 30 if (clock["past"] or "").lower() == "half" else 45 if early else 15
    yield from (str(minutes), str(hour - 1 if early else hour), str((hour - 1 if early else hour) + 12))


def _spelling(value: Decimal) -> str:
    text = f"{value.normalize():f}"
    return text if text != "-0" else "0"
