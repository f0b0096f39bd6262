"""What a statement claims, as far as rules can tell: numbers, dates, names, and whether it denies.

Two statements that share most words may still say opposite things ("three years", "four years"; "allergic", "not
allergic"). Similarity never decides that two are the same; these do, and where they differ, both are kept.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import date, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from .facts import DOUBLE_SURNAMES, SURNAMES, names_of
from .opposites import opposed
from .quantities import also_said, numbers_in, without_numbers

if TYPE_CHECKING:
    from ..index.tokenizer import Tokenizer

Difference = Literal["numbers", "dates", "names", "negation", "meaning"]

_BARE_DAY = re.compile(r"(?<![月\d./-])(\d{1,2})[号日]|\b(?:on )?the (\d{1,2})(?:st|nd|rd|th)\b", re.IGNORECASE)
_MONTH_END = re.compile(r"(?<!个)月底|月末|\bend of (?:the|this) month\b|\bmonth'?s end\b", re.IGNORECASE)
_DAY_AND_MONTH = re.compile(r"(?<![\d./-])(\d{1,2})[./-](\d{1,2})(?![\d./-])")
_WEEKDAY_NAMED = re.compile(
    r"\b(mon|tues|wednes|thurs|fri|satur|sun)days?\b|(?:周|星期|礼拜)([一二三四五六日天])", re.IGNORECASE
)
_NOT = re.compile(
    r"\b(?:not|no|never|none|nobody|nothing|neither|nor|without|cannot|isn|aren|wasn|weren|doesn|don|didn|won|can|couldn"
    r"|wouldn|shouldn|hasn|haven|hadn)['’]t\b|\b(?:not|no|never|none|nobody|nothing|neither|nor|without|cannot|stopped"
    r"|quit|off|except|instead)\b|[不没无未别勿非]|停止|放弃|戒了|除了",
    re.IGNORECASE,
)
# In these the character denies nothing.
_NO_DENIAL = re.compile(
    r"不仅|不但|不只|无论|不管|不过|没问题|差不多|别人|分别|特别|级别|性别|类别|识别|区别|告别|非常|除非|未来|不同|不错"
)
_CAPITAL = re.compile(r"(?<![\w@/.])[A-Z][\w]*(?:[-'’.][A-Za-z0-9]+)*")
_WEEKDAY = re.compile(r"(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)days?")
_SENTENCE_START = re.compile(r"(?:^|[.!?。！？:：;；]\s*[\"“(]?|\n\s*)$")
_IS = re.compile(
    r"\s+(?:is|was|are|were|has|had|have|does|did|will|can|must|would|should|and|or|['’]s|of|in|at|from|\w+ed)\b"
    r"|\s*[\u3400-\u9fff,，:：]"
)
_VERB = re.compile(r"[A-Z][a-z]+(?:s|ed|ing)")
_WORD = re.compile(r"[^\W_]+(?:[-'’.][^\W_]+)*")
# A surname and one or two characters at the start of a clause, before what people do, are or have.
_CHINESE_NAME = re.compile(
    rf"(?:(?<=[\s，。；！？、：“（])|^)(?:{DOUBLE_SURNAMES}|[{SURNAMES}])[\u4e00-\u9fff]{{1,2}}?"
    r"(?=喜欢|爱|最|很|更|也|都|只|还|就|讨厌|偏好|想|要|会|是|在|有|住|去|来|说|用|做|买|养|和|与|跟|的|从|把|被|对|已|正|曾|不|没|每|于|搬|换|改|决定|打算|今|昨|明|\d)"
)
_POSSESSIVE = re.compile(r"['’]s$")
_TITLE = re.compile(r"《([^》\n]{1,40})》|“([^”\n]{1,40})”")


def differences(one: str, other: str) -> frozenset[Difference]:
    """In what two statements cannot be the same."""
    found: set[Difference] = set()
    if numbers(one) != numbers(other):
        found.add("numbers")
    if days(one) != days(other):
        found.add("dates")
    if _unnamed(one, other) or _unnamed(other, one):
        found.add("names")
    if denies(one) != denies(other):
        found.add("negation")
    elif opposed(one, other):
        found.add("meaning")
    return frozenset(found)


def says_more(statement: str, known: str) -> frozenset[Difference]:
    """In what ``statement`` says something that ``known`` does not; saying less is no difference, denying is."""
    found: set[Difference] = set()
    if not numbers(statement) <= numbers(known):
        found.add("numbers")
    if not days(statement) <= days(known):
        found.add("dates")
    if _unnamed(statement, known):
        found.add("names")
    if denies(statement) != denies(known):
        found.add("negation")
    elif opposed(statement, known):
        found.add("meaning")
    return frozenset(found)


@lru_cache(maxsize=4096)
def numbers(text: str) -> frozenset[str]:
    """The numbers of a text, in one spelling: digits, and numbers in words. Not those of dates and of steps."""
    return numbers_in(_without_days(unicodedata.normalize("NFKC", text)))


def only_numbers_differ(one: str, other: str) -> bool:
    """Whether two statements are the same but for numbers: "for 3 years", "for four years"."""
    return numbers(one) != numbers(other) and without_numbers(normalised(one)) == without_numbers(normalised(other))


@lru_cache(maxsize=4096)
def days(text: str) -> frozenset[tuple[str, str]]:
    """The dates a text names, as first and last day; of dates without a year the month and the day."""
    from ..index.dates import find_dates

    return frozenset((one.first, one.last) if one.first else ("", one.tokens[0]) for one in find_dates(text))


@lru_cache(maxsize=4096)
def names(text: str) -> frozenset[str]:
    """Names of people, works and products, case-folded."""
    return frozenset(_names(unicodedata.normalize("NFKC", text)))


@lru_cache(maxsize=4096)
def denies(text: str) -> bool:
    """Whether a statement denies: an odd number of denials."""
    return len(_NOT.findall(_NO_DENIAL.sub(" ", text))) % 2 == 1


def normalised(text: str) -> str:
    """A statement as it is compared with another for being the same words: NFKC, no case, no marks at its ends."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(folded.split()).strip(" .。!！;；,，\"'“”")


def invented(statement: str, texts: Iterable[str], said_on: Iterable[str]) -> list[str]:
    """The numbers and dates of a statement that none of ``texts`` holds. ``said_on`` are their days (``YYYY-MM-DD``).

    Relative dates in the texts are resolved against these days, and the days themselves may be named.
    """
    from ..index.dates import find_dates

    texts = list(texts)
    joined = "\n".join(texts)
    clocks = [date.fromisoformat(day) for day in said_on if day]
    spans = [(day.isoformat(), day.isoformat()) for day in clocks]
    open_ended = set()
    clocks_or_none: list[date | None] = [*clocks] or [None]
    for day in clocks:
        spans += ((first.isoformat(), last.isoformat()) for first, last in _days_meant(joined, day))
    for one, other in _DAY_AND_MONTH.findall(joined):
        open_ended |= {f"--{int(one):02}-{int(other):02}", f"--{int(other):02}-{int(one):02}"}
    for clock in clocks_or_none:
        for mention in find_dates(joined, clock):
            if mention.first:
                spans.append((mention.first, mention.last))
                open_ended.add(f"-{mention.first[4:]}")
            open_ended.update(token for token in mention.tokens if token.startswith("--"))
    known = numbers(joined) | also_said(unicodedata.normalize("NFKC", joined))
    known |= {piece for first, _ in spans for piece in (first[:4], first[5:7], first[8:])}
    wrong = sorted(number for number in numbers(statement) if number not in known and not _rounds(number, known))
    for mention in find_dates(statement):
        if mention.first:
            inside = any(first <= mention.last and last >= mention.first for first, last in spans)
            if not inside and _yearless(mention.tokens) not in open_ended:
                wrong.append(mention.tokens[0])
        elif _yearless(mention.tokens) not in open_ended and not any(
            first[4:].startswith(mention.tokens[0][1:]) for first, _ in spans
        ):
            wrong.append(statement[mention.begin : mention.stop])
    return wrong


def shares_words(statement: str, texts: Iterable[str]) -> bool:
    """Whether a statement and what it rests on have a content word in common; where it has none, that is no sign."""
    terms = content_terms(statement)
    return not terms or any(terms & content_terms(text) for text in texts)


def overlap(old: str, new: str) -> float:
    """The share of the content words of ``old`` that ``new`` keeps, 0 to 1."""
    terms = content_terms(old)
    return len(terms & content_terms(new)) / len(terms) if terms else 1.0


@lru_cache(maxsize=4096)
def content_terms(text: str) -> frozenset[str]:
    """The index terms of a text."""
    return frozenset(_tokenizer().terms(text))


@lru_cache(maxsize=1)
def _tokenizer() -> "Tokenizer":
    from ..index.tokenizer import Tokenizer

    return Tokenizer()


def _unnamed(text: str, other: str) -> bool:
    """Whether a text names somebody or something that the other one does not mention, in whatever case."""
    folded = unicodedata.normalize("NFKC", other).casefold()
    words = {_POSSESSIVE.sub("", word) for word in _WORD.findall(folded)}
    # A single word of Latin letters is looked for as a word; what no space parts from its neighbours, anywhere.
    return any(name not in words if name.isascii() and " " not in name else name not in folded for name in names(text))


def _without_days(text: str) -> str:
    from ..index.dates import find_dates

    for mention in reversed(find_dates(text)):
        text = f"{text[: mention.begin]} {text[mention.stop :]}"
    return text


def _yearless(tokens: Iterable[str]) -> str:
    """The day and month of a date, or its month alone where it has no day."""
    return next((token for token in tokens if token.startswith("--")), "")


def _days_meant(text: str, clock: date) -> Iterator[tuple[date, date]]:
    """Days that a text may mean and does not write: "on the 15th", "周四", "Christmas"; those around ``clock``."""
    from ..index.feasts import feast_named
    from ..index.time_words import chinese_weekday, weekday_number

    starts = [(clock.replace(day=1) + timedelta(days=shift)).replace(day=1) for shift in (-1, 0, 31)]
    for match in _BARE_DAY.finditer(text):
        number = int(match[1] or match[2])
        for start in starts:
            with suppress(ValueError):
                yield start.replace(day=number), start.replace(day=number)
    if _MONTH_END.search(text):
        last = starts[2] - timedelta(days=1)
        yield last.replace(day=21), last
    for match in _WEEKDAY_NAMED.finditer(text):
        number = weekday_number(match[1]) if match[1] else chinese_weekday(match[2])
        for ahead in ((number - clock.weekday()) % 7, (number - clock.weekday()) % 7 - 7):
            yield clock + timedelta(days=ahead), clock + timedelta(days=ahead)
    for match in _feasts().finditer(text):
        feast = feast_named(match.group().lower())
        yield from (span for year in (-1, 0, 1) if (span := feast(clock.year + year)) is not None)


@lru_cache(maxsize=1)
def _feasts() -> "re.Pattern[str]":
    from ..index.feasts import CHINESE_FEASTS, ENGLISH_FEASTS

    return re.compile(rf"\b(?:{ENGLISH_FEASTS})\b|{CHINESE_FEASTS}", re.IGNORECASE)


def _rounds(number: str, known: Iterable[str]) -> bool:
    """Whether a number only says 1 or 0, which grammar often puts in where the text has a word."""
    return number in ("0", "1") or f"{number}.0" in known


def _names(text: str) -> Iterator[str]:
    from ..index.english import STOP_WORDS

    text = _without_days(text)
    for match in _CAPITAL.finditer(text):
        word = _POSSESSIVE.sub("", match.group()).rstrip(".'’-")
        if word.casefold() in STOP_WORDS or not word or _WEEKDAY.fullmatch(word):
            continue
        starts = _SENTENCE_START.search(text[: match.start()]) is not None
        shaped = word[1:] != word[1:].lower() or any(character.isdigit() for character in word)
        is_subject = starts and _VERB.fullmatch(word) is None
        if not starts or shaped or is_subject or _IS.match(text, match.start() + len(match.group())):
            yield word.casefold()
    yield from (next(filter(None, match.groups())).casefold() for match in _TITLE.finditer(text))
    yield from (name.casefold() for name in names_of(text) if not name.isascii())
    yield from (match.group() for match in _CHINESE_NAME.finditer(text))
