"""Dates in text and in questions, English and Chinese: one token for every notation, and the days they cover."""

import re
from datetime import date, timedelta
from functools import lru_cache
from typing import Literal, NamedTuple

from ..expression import expression
from .relative_dates import find_relative
from .simplified import simplified
from .time_words import (
    ANYTHING,
    MONTH_NAMES,
    SIGNS,
    SMALL_NUMBER,
    WORDS,
    chinese_number,
    digit_by_digit,
    lower_case,
    may_name_month,
    month_number,
)
from .time_words import has_time_words as has_time_words

Grain = Literal["day", "week", "month", "year", "range"]
# The fields of a DateMention from its grain on.
_Days = tuple[Grain, str, str, int | None, int | None, int | None, int | None, bool, tuple[str, ...]]

OLDER = 0.98
"""What a stretch counts that is meant less likely than another one: last year's March after this year's has begun."""
# A yearless month or day may belong to the year before or after that of the day it is compared with (turn of the year).
_YEARS_AROUND = (-1, 0, 1)

# The first class holds how every notation begins, and the next one what may follow: prose is passed over quickly. An
# empty group stands where the first number ends; its name tells the notation, should nothing come behind it.
# "/" is read month first and "." and "-" day first when both readings are possible (US and European habit).
_NUMERIC = expression(
    rf"""[\d〇零一二三四五六七八九十](?=[\d./\ 月〇零一二三四五六七八九十-])(?:(?<=\d)(?:
      (?<![\d.A-Za-z].)\d{{3}}(?P<ie>)(?P<isep>[-/.])(?P<im>\d{{1,2}})(?P=isep)(?P<id>\d{{1,2}})(?!\d)
    | (?<![\d.A-Za-z].)\d{{3}}(?P<se>)\ (?P<sm>\d{{2}})\ (?P<sd>\d{{2}})(?!\d)
    | (?<![\w.-].)(?:(?<=1)9|(?<=2)0)\d\d(?P<ce>)(?P<cm>0[1-9]|1[0-2])(?P<cd>0[1-9]|[12]\d|3[01])(?!\w)
    | (?<![\d.A-Za-z/-].)\d?(?P<ne>)(?P<nsep>[-/.])(?P<nb>\d{{1,2}})(?P=nsep)(?P<ny>\d{{4}})(?!\d)
    | (?<![\d.A-Za-z/-].)\d{{3}}(?P<we>)[-/](?P<wm>0[1-9]|1[0-2])(?![\d/-])
    )
    | (?<!\d.)(?:(?<=\d)\d{{3}}|(?<!\d|十)[〇零一二三四五六七八九]{{3}})(?P<he>)\ ?年\ ?
        (?:(?P<hm>{SMALL_NUMBER})\ ?月\ ?(?:份|(?P<hp>[初底末]|[上中下]旬)|(?P<hd>{SMALL_NUMBER})\ ?[日号]?)?)?
    | (?<![\d一二三四五六七八九十].)
        (?:(?<=\d)\d?|(?<=[二三])十[一二三四五六七八九]?|(?<=十)[一二三四五六七八九]?|(?<![\d十〇零]))(?P<ke>)\ ?月\ ?
        (?:份|(?P<kp>[初底末]|[上中下]旬)|(?P<kd>{SMALL_NUMBER})\ ?[日号]|(?P<kn>\d{{1,2}})(?!\d))?
    )""",
    re.VERBOSE,
)
_NAMED = expression(
    rf"""(?<!\w)(?=[\djfmasond])(?:
      (?<!\.)(?P<d1>\d{{1,2}})(?:st|nd|rd|th)?[ ]+(?:of[ ]+)?(?P<m1>{MONTH_NAMES})\b\.?
          (?:,?[ ]+(?:of[ ]+)?(?P<y1>\d{{4}})(?!\d))?
    | (?<!-)(?P<m2>{MONTH_NAMES})\b\.?(?:
          [ ]+(?:the[ ]+)?(?P<d2>\d{{1,2}})(?P<o2>st|nd|rd|th)?(?![\d:%]|[.,]\d)
            (?:,?[ ]+(?:of[ ]+)?(?P<y2>\d{{4}})(?!\d))?
        | ,?[ ]+(?:of[ ]+)?(?P<y3>\d{{4}})(?!\d)
        | (?![\w-])
      )
    )""",
    re.VERBOSE | re.IGNORECASE,
)
_YEAR = expression(r"[12](?<![\w.,/$€£¥-].)(?:(?<=1)9[5-9]|(?<=2)0\d)\d(?![\w%/-]|[.,]\d)")
# What any match of these holds, quickly found from the first digit on. In Chinese numerals a year begins up to five
# characters before its sign.
_MIGHT_BE_NUMERIC = re.compile(r"[\d年月](?:(?<=[年月])|\d{3}|\d?[-/.]\d)")
_DIGIT_OR_CHINESE_DATE = re.compile(r"[\d年月]")
_ASCII_DIGIT = re.compile(r"[0-9]")
_LONGEST_BEFORE_SIGN = 6
_MONTH = expression(rf"{MONTH_NAMES}\b")
_BEFORE_MONTH = expression(
    r"(?:\b(?:in|of|on|since|until|till|by|from|to|before|after|during|early|mid|late|last|this|next|every|each)|[-/])\W*$",
    re.IGNORECASE,
)
_ALSO_VERBS = ("may", "march", "mar")
_BETWEEN = expression(r"\s*(?:to|until|till|through|[-–—~～到至]|and)\s*", re.IGNORECASE)

_ASKS_WHEN = expression(
    r"^\W*(?:(?:so|and|but|do you (?:know|remember)|tell me|on|in|since|at|by|from)\W+)?"
    r"(?:when\b|how long ago\b"
    r"|(?:what|which)(?:\s+(?:exact|specific))?\s+(?:dates?|days?|months?|years?|weeks?|weekend|season|time)\b)"
    r"|什么时候|啥时候|何时|何日|哪一?天|哪一?年|哪一?个?月|几月|几号|几点|多久[以之]?前|什么(?:时间|日期)",
    re.IGNORECASE,
)


class DateMention(NamedTuple):
    """A date as it stands in a text, at characters ``begin`` to ``stop``.

    ``first`` and ``last`` are the days it covers (``YYYY-MM-DD``, inclusive), "" when the year is not given; ``month``,
    ``day`` and ``last_day`` then say which days of any year. ``tokens`` are its index terms, the most specific first:
    ``2023-05-08``, ``2023-05``, ``2023``, and without the year ``--05-08``, ``--05``. ``relative`` dates ("yesterday")
    were resolved against a clock. ``likely`` is less than 1 for one of several that are meant less likely; of a date
    without a year those are all but the last one before ``asked_on``, where that is known.
    """

    begin: int
    stop: int
    grain: Grain
    first: str = ""
    last: str = ""
    year: int | None = None
    month: int | None = None
    day: int | None = None
    last_day: int | None = None
    relative: bool = False
    tokens: tuple[str, ...] = ()
    likely: float = 1.0
    asked_on: str = ""

    def span(self, year: int) -> tuple[date, date] | None:
        """First and last day covered; a yearless date is read in ``year``. None for a day that year does not have."""
        if self.first:
            return date.fromisoformat(self.first), date.fromisoformat(self.last)
        assert self.month is not None
        try:
            if self.day is None:
                return month_span(year, self.month)
            return date(year, self.month, self.day), date(year, self.month, self.last_day or self.day)
        except ValueError:
            return None

    @property
    def length(self) -> int:
        """How many days it covers; of one without a year, those of a leap year."""
        span = self.span(2000)
        return (span[1] - span[0]).days + 1 if span is not None else 1


def month_span(year: int, month: int) -> tuple[date, date]:
    """First and last day of a month."""
    following = date(year + month // 12, month % 12 + 1, 1) if year < 9999 else date(9999, 12, 31)
    return date(year, month, 1), following - timedelta(days=1)


def find_dates(text: str, today: date | None = None, may_hold: int = ANYTHING) -> tuple[DateMention, ...]:
    """Dates in ``text``, in order, not overlapping; days that do not exist are not dates.

    Relative ones ("yesterday", "上周三", "3 weeks ago") are found only when ``today`` is given. A bare year counts.
    Two days joined by "to" or "到" are one mention of grain ``range``. ``may_hold`` other than ``ANYTHING`` says
    that the text is normalised, and what may be in it (:meth:`~.survey.Survey.holds`), relative dates aside.
    """
    candidates: list[tuple[int, int, DateMention]] = []
    if may_hold == ANYTHING:
        text = simplified(text)
    ascii_only = text.isascii()
    sign = (_ASCII_DIGIT if ascii_only else _DIGIT_OR_CHINESE_DATE).search(text) if may_hold & SIGNS else None
    if sign is not None and (might := _MIGHT_BE_NUMERIC.search(text, sign.start())) is not None:
        begin = max(0, might.start() - _LONGEST_BEFORE_SIGN)
        for match in _NUMERIC.finditer(text, begin):
            if (mention := _read_numeric(match)) is not None:
                candidates.append((mention.begin, 2, mention))
        for match in _YEAR.finditer(text, begin):
            if (mention := _mention(match.start(), match.end(), int(match.group()), None, None)) is not None:
                candidates.append((mention.begin, 3, mention))
    lower = lower_case(text) if may_hold & WORDS else ""
    if (not ascii_only or may_name_month(lower)) and _MONTH.search(lower):
        for match in _NAMED.finditer(text):
            if (mention := _read_named(match, text)) is not None:
                candidates.append((mention.begin, 1, mention))
    if today is not None:
        for begin, stop, grain, first, last in find_relative(text, today):
            tokens = _tokens(first.year, first.month, first.day) if grain == "day" else ()
            span = first.isoformat(), last.isoformat()
            candidates.append((begin, 0, DateMention(begin, stop, grain, *span, relative=True, tokens=tokens)))
    if not candidates:
        return ()
    found = _apart(candidates) if len(candidates) > 1 else [mention for _, _, mention in candidates]
    return tuple(_joined(found, text)) if len(found) > 1 else tuple(found)


def _apart(candidates: list[tuple[int, int, DateMention]]) -> list[DateMention]:
    """Mentions in order; of two that overlap the one of lower rank stays ("去年5月", not "5月")."""
    kept: list[tuple[int, int, DateMention]] = []
    for candidate in sorted(candidates, key=lambda one: one[:2]):
        begin, rank, _ = candidate
        if kept and begin < kept[-1][2].stop:
            if rank >= kept[-1][1]:
                continue
            kept.pop()
        kept.append(candidate)
    return [mention for _, _, mention in kept]


def closeness(mentions: tuple[DateMention, ...], day: str) -> float:
    """How near ``day`` (``YYYY-MM-DD``) is to the dates asked for, 0 to 1: the best over the mentions.

    Retrieval ledger, step 7, with the exact day a little above its neighbours. A day (or week, or range): 1 inside, .97
    one day off, then .6 - .04 k up to 10 days after, .2 up to 30 days after and 20 before. A month: 1 inside, .5 in the
    first half of the month after, .25 in the second. A year: .3. A day that cannot be read is 0.
    Days, weeks and ranges that depend on a clock are meant as they are: .2 up to 10 days after, .1 two days before.
    """
    try:
        when = date.fromisoformat(day[:10])
    except ValueError:
        return 0.0
    best = 0.0
    for mention in mentions:
        if mention.first:
            best = max(best, mention.likely * _near(mention, mention.span(when.year), when))
        else:
            for shift in _YEARS_AROUND:
                if 1 <= when.year + shift <= 9999:
                    span = mention.span(when.year + shift)
                    best = max(best, _likely(mention, span) * _near(mention, span, when))
    return best


def _likely(mention: DateMention, span: tuple[date, date] | None) -> float:
    """Less than 1 for another year's than the last that has begun on the day it was asked."""
    if not mention.asked_on or span is None:
        return 1.0
    asked = date.fromisoformat(mention.asked_on)
    return 1.0 if span[0] <= asked and (asked - span[0]).days < 366 else OLDER


def asks_when(text: str) -> bool:
    """Whether a question asks for a time ("when", "which month", "什么时候")."""
    return _ASKS_WHEN.search(text) is not None


def _near(mention: DateMention, span: tuple[date, date] | None, when: date) -> float:
    if span is None:
        return 0.0
    first, last = span
    inside = first <= when <= last
    if mention.grain == "year":
        return 0.3 if inside else 0.0
    if inside:
        return 1.0
    after, before = (when - last).days, (first - when).days
    if mention.relative and mention.grain != "month":
        # "Last Friday" is that day: what was written later may be about it, the day before is another one.
        return 0.2 if 0 < after <= 10 else 0.1 if 0 < before <= 2 else 0.0
    if mention.grain == "month":
        if not 0 < after <= 31 or (when.year * 12 + when.month) - (last.year * 12 + last.month) != 1:
            return 0.0
        return 0.5 if when.day <= 15 else 0.25
    if after == 1 or before == 1:
        return 0.97
    if 0 < after <= 10:
        return 0.6 - 0.04 * after
    return 0.2 if 0 < after <= 30 or 0 < before <= 20 else 0.0


def _tokens(year: int | None, month: int | None, day: int | None) -> tuple[str, ...]:
    if month is None:
        return (f"{year:04d}",)
    yearless = (f"--{month:02d}",) if day is None else (f"--{month:02d}-{day:02d}", f"--{month:02d}")
    if year is None:
        return yearless
    dated = (f"{year:04d}-{month:02d}", f"{year:04d}")
    return (*((f"{year:04d}-{month:02d}-{day:02d}",) if day is not None else ()), *dated, *yearless)


def _mention(
    begin: int, stop: int, year: int | None, month: int | None, day: int | None, part: str | None = None
) -> DateMention | None:
    days = _days(year, month, day, part)
    return None if days is None else DateMention(begin, stop, *days)


@lru_cache(maxsize=2048)
def _days(year: int | None, month: int | None, day: int | None, part: str | None) -> _Days | None:
    """What a date says wherever it stands; None for a day that does not exist."""
    if year is not None and not 1000 <= year <= 2999:
        return None
    if month is not None and not 1 <= month <= 12:
        return None
    try:
        # A leap year stands in for an unknown one: 29 February exists.
        first = date(year or 2000, month or 1, day or 1)
    except ValueError:
        return None
    tokens = _tokens(year, month, day)
    last_day: int | None = None
    grain: Grain = "day" if day is not None else "month" if month is not None else "year"
    if grain == "day":
        last = first
    elif grain == "month":
        last = month_span(first.year, first.month)[1]
        if part:
            low, high = {"初": (1, 10), "上旬": (1, 10), "中旬": (11, 20)}.get(part, (21, last.day))
            first, last, grain = first.replace(day=low), last.replace(day=high), "range"
            day, last_day = low, high
    else:
        last = first.replace(month=12, day=31)
    span = (first.isoformat(), last.isoformat()) if year is not None else ("", "")
    return grain, *span, year, month, day, last_day, False, tokens


def _read_numeric(match: re.Match[str]) -> DateMention | None:
    begin, stop = match.span()
    # The notation is told by the group that was read last.
    notation = (match.lastgroup or "")[0]
    number = match.string[begin : match.end(f"{notation}e")]
    if notation in "isc":
        month, day = map(int, match.group(f"{notation}m", f"{notation}d"))
        return _mention(begin, stop, int(number), month, day)
    if notation == "n":
        first, second, year = int(number), int(match["nb"]), int(match["ny"])
        month, day = (first, second) if match["nsep"] == "/" else (second, first)
        return _mention(begin, stop, year, month, day) or _mention(begin, stop, year, day, month)
    if notation == "w":
        return _mention(begin, stop, int(number), int(match["wm"]), None)
    if notation == "h":
        named, part, in_month = match.group("hm", "hp", "hd")
        in_year = chinese_number(named) if named else None
        return _mention(
            begin, stop, digit_by_digit(number), in_year, chinese_number(in_month) if in_month else None, part
        )
    part, day_text, plain_day = match.group("kp", "kd", "kn")
    day_text = day_text or plain_day
    return _mention(begin, stop, None, chinese_number(number), chinese_number(day_text) if day_text else None, part)


def _read_named(match: re.Match[str], text: str) -> DateMention | None:
    begin, stop = match.span()
    name = match["m1"] or match["m2"]
    month = month_number(name)
    day_text, year_text = match["d1"] or match["d2"], match["y1"] or match["y2"] or match["y3"]
    day, year = int(day_text) if day_text else None, int(year_text) if year_text else None
    if year is None and not match["o2"]:
        if match["d1"] is None and not _is_month_name(name, begin, text, day is None):
            return None
        if match["d1"] and name in _ALSO_VERBS and " of " not in match.group():
            return None
    return _mention(begin, stop, year, month, day)


def _is_month_name(name: str, begin: int, text: str, alone: bool) -> bool:
    """Whether a month's name without a year means the month: "may", "march", "mar" and the like are words as well."""
    lower = name.lower()
    if alone and len(name) == 3 and lower not in ("may", "feb", "aug", "oct", "nov", "dec"):
        return False
    if alone and len(name) <= 4 and lower not in ("may", "june", "july"):
        return name[0].isupper()
    if lower not in _ALSO_VERBS:
        return True
    if _BEFORE_MONTH.search(text, max(0, begin - 12), begin):
        return True
    # At the start of a sentence a capital says nothing: "May I come?", "March on!".
    before = text[max(0, begin - 8) : begin].rstrip()
    starts = not before or before.endswith((".", "!", "?", "\n", "。"))
    return name[0].isupper() and not (alone and starts)


def joins(before: DateMention, mention: DateMention, text: str) -> bool:
    """Whether what stands between two dates makes a range of them ("to", "到", "between … and")."""
    between = text[before.stop : mention.begin]
    if len(between) > 12 or _BETWEEN.fullmatch(between) is None:
        return False
    return "and" not in between.lower() or text[max(0, before.begin - 16) : before.begin].rstrip().lower().endswith(
        "between"
    )


def _joined(found: list[DateMention], text: str) -> list[DateMention]:
    """Two days (or months) with "to" between them become one range."""
    out = [found[0]]
    for mention in found[1:]:
        before = out[-1]
        joined = joins(before, mention, text)
        if joined and before.first and mention.first and before.first <= mention.last and before.grain != "year":
            out[-1] = before._replace(
                stop=mention.stop, grain="range", last=mention.last, day=None, month=None, year=None,
                tokens=(*before.tokens, *mention.tokens),
            )  # fmt: skip
        elif joined and before.grain == mention.grain == "day" and not before.first and not mention.first:
            same_month = before.month == mention.month and (before.day or 0) <= (mention.day or 0)
            tokens = (*before.tokens, *mention.tokens)
            if same_month:
                out[-1] = before._replace(stop=mention.stop, grain="range", last_day=mention.day, tokens=tokens)
            else:
                out.append(mention)
        else:
            out.append(mention)
    return out
