"""What relative dates in a statement mean, counted from the day it was said; weekdays only where they say which one."""

import re
from contextlib import suppress
from datetime import date, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..index.dates import DateMention

_ENGLISH = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_CHINESE = "一二三四五六日"
_ON_WEEKDAY = re.compile(rf"on\s+(?:{'|'.join(_ENGLISH)})", re.IGNORECASE)
_NAMES_WEEKDAY = re.compile(rf"{'|'.join(_ENGLISH)}|(?:周|星期|礼拜)[{_CHINESE}天]", re.IGNORECASE)
# A weekday that could be any: not the last, the next or each.
_BARE = re.compile(
    rf"(?<![A-Za-z])(?:on\s+)?(?P<english>{'|'.join(_ENGLISH)})(?![A-Za-z'’])"
    rf"|(?<![上下这本个每])(?:周|星期|礼拜)(?P<chinese>[{_CHINESE}天])(?![{_CHINESE}天])",
    re.IGNORECASE,
)
_TAKEN = re.compile(r"\b(?:every|each|last|next|this|past|previous|other)\s+$", re.IGNORECASE)
_SAME_DAY = re.compile(r"\s*的?(?:今天|today)|\s+today", re.IGNORECASE)
_BETWEEN = re.compile(r"[\s,，(（]*(?:of|in|的)?\s*(?:the\s+)?")


def with_dates(text: str, day: date | None) -> str:
    """A statement with what its relative dates mean behind it; as it is when nobody knows when it was said.

    "On Thursday" and "周四" may lie before or ahead of the day: they get a date only where the statement has named the
    week ("next week", "下周"), another day of it ("next Tuesday, back on Thursday") or that very day ("明天周四").
    """
    from ..index.dates import find_dates

    if day is None:
        return text
    anchors = [
        mention
        for mention in find_dates(text, day)
        if mention.relative and mention.first and not _ON_WEEKDAY.fullmatch(text[mention.begin : mention.stop])
        # "大上周" is the week before last.
        if not (text[mention.begin : mention.begin + 1] == "上" and text[: mention.begin].endswith("大"))
    ]
    if not anchors:
        return text
    found: list[tuple[int, str, str]] = []
    of_year: DateMention | None = None
    for mention in anchors:
        if of_year is not None and _SAME_DAY.fullmatch(text[of_year.stop : mention.stop]):
            # "去年今天", "a year ago today": one day, and neither this one nor all of that year.
            found.pop()
            with suppress(ValueError):
                meant = date.fromisoformat(mention.first).replace(year=int(of_year.first[:4])).isoformat()
                found.append((of_year.begin, text[of_year.begin : mention.stop], meant))
            of_year = None
            continue
        of_year = mention if mention.grain == "year" else None
        written = {"day": mention.first, "month": mention.first[:7], "year": mention.first[:4]}
        span = written.get(mention.grain, f"{mention.first}–{mention.last}")
        found.append((mention.begin, text[mention.begin : mention.stop], span))
    for bare in _BARE.finditer(text):
        inside = any(one.begin < bare.end() and bare.start() < one.stop for one in anchors)
        if not inside and not _TAKEN.search(text[: bare.start()]) and (meant := _meant(text, bare, anchors, day)):
            found.append((bare.start(), bare.group(), meant))
    notes = dict.fromkeys(f"{words} = {span}" for _, words, span in sorted(found))
    return f"{text} ({'; '.join(notes)})" if notes else text


def _meant(text: str, bare: "re.Match[str]", anchors: "list[DateMention]", day: date) -> str:
    """The day that a bare weekday means after what was named before it; "" unless all of that agrees."""
    before = [one for one in anchors if one.stop <= bare.start()]
    # "On Thursday of next week", "周四（明天）"
    behind = [one for one in anchors if one.begin >= bare.end() and _BETWEEN.fullmatch(text[bare.end() : one.begin])]
    meant = {_near(one, text[one.begin : one.stop], day, _number(bare)) for one in behind or before} - {""}
    return meant.pop() if len(meant) == 1 else ""


def _number(bare: "re.Match[str]") -> int:
    from ..index.time_words import chinese_weekday, weekday_number

    return weekday_number(bare["english"]) if bare["english"] else chinese_weekday(bare["chinese"])


def _near(mention: "DateMention", words: str, day: date, number: int) -> str:
    first = date.fromisoformat(mention.first)
    if mention.grain == "week":
        return (first + timedelta(days=number)).isoformat()
    if mention.grain != "day":
        return ""
    if first.weekday() == number:
        return mention.first
    if not _NAMES_WEEKDAY.search(words):
        return ""
    # "Next Tuesday I fly, back on Thursday": the same week, and on the same side of today.
    other = first + timedelta(days=number - first.weekday())
    return other.isoformat() if (other > day) == (first > day) and other != day else ""
