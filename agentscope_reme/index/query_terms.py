"""A question, taken apart for scoring: terms with weights, content words, pairs, phrases, dates."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import pairwise
from typing import Protocol

from ..expression import expression
from .asked_days import AskedDays, asked_days, asks_whatever
from .beside_han import counted_in, term_beside
from .chinese import FUNCTION_CHARS, carries_content
from .dates import DateMention, asks_when
from .identifiers import Compound, apart_of, is_same_name, is_unmistakable, plain_or_same
from .question_frames import without_frame
from .question_signs import ASKING, COUNT, LETTER, NUMBER, QUOTE, normalised_with, signs_of
from .spaced_numbers import spaced_numbers
from .words import emoji_of, every_word, has_word, is_run, placed_pieces, segments, words_of
from .written_otherwise import names_otherwise, numbers_otherwise

# What the larger pieces of an identifier, or a date without its year, and its plain parts weigh beside the whole.
_PIECE_WEIGHT = 0.5
_PART_WEIGHT = 0.35
_MANY_PARTS = 3  # ConnectionResetError is a name, YouTube is a word
# A single Chinese character is looked for inside other terms where little else is asked for.
_FEW_WORDS = 3
_QUOTED = expression(r"[\"“”«「『《]([^\"“”«»「」『』《》\n]{3,200})[\"“”»」』》]")
_DAY_TOKEN = re.compile(r"\d{4}-\d\d-\d\d")


class QueryTokenizer(Protocol):
    """What taking a question apart needs of a tokenizer."""

    def terms(self, text: str) -> list[str]: ...
    def cut(self, run: str) -> list[str]: ...
    def stem(self, word: str) -> str: ...
    def plain(self, word: str) -> str: ...
    def plain_or_capital(self, word: str) -> str: ...
    def spelled_out(self, word: str) -> str: ...


@dataclass(frozen=True, slots=True)
class QueryTerms:
    """A question, taken apart.

    ``terms`` are distinct and in order, ``weights`` runs parallel (1 for a word, less for a part of an identifier).
    ``groups`` are the content words, each with its alternatives (an identifier and its parts): a group counts as
    present when any of its terms is. ``content_terms`` are the first of each group. ``pairs`` are neighbouring content
    words in order. ``phrases`` are the quoted passages as term sequences. ``single_chars`` are single Chinese
    characters, which no index term need equal: see :func:`terms_with_char`. ``date_terms`` are the terms that come from
    ``dates``, and ``only_dates`` says that nothing is asked for but a time. ``stop_only`` says that nothing but
    function words was asked for. ``identifiers`` are the terms of names that nobody writes by chance
    (``serve_forever``, ``src/main.py``), whole or as a larger piece, and the forms of a word with a hyphen that is the
    only one. ``identifier_parts`` are the words that only stand inside such names.
    """

    text: str
    terms: tuple[str, ...] = ()
    weights: tuple[float, ...] = ()
    content_terms: tuple[str, ...] = ()
    groups: tuple[tuple[str, ...], ...] = ()
    pairs: tuple[tuple[str, str], ...] = ()
    phrases: tuple[tuple[str, ...], ...] = ()
    single_chars: tuple[str, ...] = ()
    dates: tuple[DateMention, ...] = ()
    date_terms: tuple[str, ...] = ()
    only_dates: bool = False
    asks_when: bool = False
    stop_only: bool = False
    identifiers: tuple[str, ...] = ()
    identifier_parts: frozenset[str] = frozenset()


class _Parts:
    """What has been collected so far. ``sequence`` holds the content words in order, repeats kept."""

    __slots__ = (
        "date_terms", "groups", "identifiers", "inside", "joined", "ordinals", "runs", "sequence", "single_chars",
        "weights",
    )  # fmt: skip

    def __init__(self) -> None:
        self.weights: dict[str, float] = {}
        self.groups: dict[tuple[str, ...], None] = {}
        self.sequence: list[str] = []
        self.single_chars: dict[str, None] = {}
        self.date_terms: dict[str, None] = {}
        self.runs: list[str] = []
        self.identifiers: dict[str, None] = {}
        self.joined: dict[str, None] = {}
        self.inside: set[str] = set()
        self.ordinals: list[tuple[str, str]] = []

    def weigh(self, term: str, weight: float) -> None:
        self.weights[term] = max(weight, self.weights.get(term, 0.0))

    def content(self, term: str, *others: str) -> None:
        self.weights[term] = 1.0  # nothing weighs more
        group = (term, *dict.fromkeys([other for other in others if other != term])) if others else (term,)
        self.groups[group] = None
        self.sequence.append(term)


def take_apart(tokenizer: QueryTokenizer, text: str, today: date | None = None) -> QueryTerms:
    """Read a question; ``today`` resolves relative dates."""
    plain_text, signs = normalised_with(text, signs_of(text))
    asked = asked_days(plain_text, today, signs)
    dates = asked.dates
    parts = _Parts()
    _add_all(parts, plain_text, asked, tokenizer, signs, without_frame)
    if not parts.groups and not dates:  # what only asks is all there is
        _add_all(parts, plain_text, asked, tokenizer, signs)
    if dates and not parts.groups:
        # Nothing but "the day before yesterday": who writes such words elsewhere means other days.
        parts.weights = {term: weight for term, weight in parts.weights.items() if term in parts.date_terms}
    stop_only = not parts.groups and not dates
    if stop_only:
        _fall_back(parts, plain_text, tokenizer)
    pairs = [pair for pair in pairwise(parts.sequence) if pair[0] != pair[1]]
    return QueryTerms(
        text=text,
        terms=tuple(parts.weights),
        weights=tuple(parts.weights.values()),
        content_terms=tuple(dict.fromkeys([group[0] for group in parts.groups])),
        groups=tuple(parts.groups),
        pairs=tuple(dict.fromkeys(pairs + parts.ordinals)),
        phrases=_phrases(plain_text, tokenizer.terms) if signs & QUOTE else (),
        single_chars=tuple(parts.single_chars) if len(parts.groups) <= _FEW_WORDS else (),
        dates=dates,
        date_terms=tuple(parts.date_terms),
        only_dates=bool(dates) and _are_dates(parts, asked.named, tokenizer),
        asks_when=signs & (LETTER | ASKING) != 0 and asks_when(plain_text),
        stop_only=stop_only and bool(parts.weights) and all(char in FUNCTION_CHARS for char in parts.single_chars),
        identifiers=(*parts.identifiers, *_only_word(parts)) if parts.identifiers or parts.joined else (),
        identifier_parts=frozenset([term for term in parts.inside if parts.weights[term] < 1]),
    )


def _add_all(
    parts: _Parts,
    text: str,
    asked: AskedDays,
    tokenizer: QueryTokenizer,
    signs: int,
    without: Callable[[str], str] | None = None,
) -> None:
    """The words and dates of a text; ``without`` takes out of what stands between dates what is not asked for."""
    has_numbers, has_counts = signs & NUMBER != 0, signs & COUNT != 0
    for segment in segments(text, asked.terms):
        if isinstance(segment, DateMention):
            if segment.relative:
                _add_relative(parts, segment, text, tokenizer)
            else:
                _add_date(parts, segment)
            continue
        for name in asked.named:
            if not name.isascii():  # what stands beside it is another word
                segment = segment.replace(name, f" {name} ")
        _add_text(parts, without(segment) if without else segment, tokenizer, has_numbers, has_counts)


def _are_dates(parts: _Parts, named: tuple[str, ...], tokenizer: QueryTokenizer) -> bool:
    """Whether all content words name a time, or ask for what happened then."""
    words = parts.date_terms.keys() | {term for text in named for term in tokenizer.terms(text)}
    return all(group[0] in words or asks_whatever(group[0]) for group in parts.groups)


def _only_word(parts: _Parts) -> list[str]:
    """The forms of a word with a hyphen, where nothing else is asked for."""
    return [term for term in parts.joined if all(term in group for group in parts.groups)]


def _add_text(parts: _Parts, text: str, tokenizer: QueryTokenizer, has_numbers: bool, has_counts: bool) -> None:
    """Words between dates, and with them other notations of what several words say together (``25 000``, ``三楼``)."""
    numbers = spaced_numbers(text) if has_numbers else ()
    for number in numbers:
        groups = [term for term in tokenizer.terms(text[number.begin : number.stop]) if term not in number.joined]
        parts.content(*number.joined, *groups)
        for term in number.joined:
            parts.weigh(term, 1.0)
        for term in groups:
            parts.weigh(term, _PIECE_WEIGHT)
    together = _counted(parts, text, tokenizer) if has_counts and not text.isascii() else []
    otherwise = list(numbers_otherwise(text)) if has_numbers else []
    if "." in text:
        otherwise += names_otherwise(text)
    for begin, piece in placed_pieces(text):
        end = begin + len(piece)
        if is_run(piece):
            _add_run(parts, piece, tokenizer, [(start - begin, stop - begin, same) for start, stop, same in together])
        elif not any(one.begin <= begin and not has_word(text[one.stop : end]) for one in numbers if begin < one.stop):
            here = [same for start, stop, same in together if start < end and begin < stop]
            also = {term: weight for same in here for term, weight in same.items()}
            for one in otherwise:
                if one.begin < end and begin < one.stop:
                    also |= dict.fromkeys(one.terms, _PIECE_WEIGHT)
            if beside := term_beside(piece, text[end : end + 1]):
                also[beside] = 1.0
            _add_piece(parts, piece, tokenizer, also)


def _counted(parts: _Parts, text: str, tokenizer: QueryTokenizer) -> list[tuple[int, int, dict[str, float]]]:
    """Where Chinese numbers stand in a question, and terms with weights that say the same."""
    out = []
    for counted in counted_in(text):
        same = dict.fromkeys(counted.same, 1.0)
        if counted.ordinal:
            parts.weigh("第", _PART_WEIGHT)
            parts.ordinals.append(("第", counted.ordinal))
        for numerals in counted.numerals:
            terms = tokenizer.cut(numerals)
            same |= {term: 1 / len(terms) for term in terms}
        out.append((counted.begin, counted.stop, same))
    return out


def _add_piece(parts: _Parts, piece: str, tokenizer: QueryTokenizer, same: Mapping[str, float]) -> None:
    if emoji := emoji_of(piece):
        parts.content(emoji)
        return
    for term, weight in same.items():
        parts.weigh(term, weight)
    for word in words_of(piece):
        if isinstance(word, Compound):
            if word.prose and f"--{word.whole}" in piece.casefold():
                word = word._replace(prose=False)  # an option of a command: --no-verify
            _add_compound(parts, word, tokenizer, same)
        elif term := tokenizer.plain_or_capital(word):
            spelled = "" if word.isascii() else tokenizer.spelled_out(word.casefold())
            parts.content(term, *([spelled] if spelled else []), *same)
            if spelled:
                parts.weigh(spelled, _PART_WEIGHT)
        elif same:
            parts.content(*same)  # the T of T恤, which alone is a function word


def _add_run(
    parts: _Parts, run: str, tokenizer: QueryTokenizer, together: Sequence[tuple[int, int, Mapping[str, float]]]
) -> None:
    """The terms of a run; those that hold a part of a number also with what else says this number."""
    parts.runs.append(run)
    if not together:
        for term in tokenizer.cut(run):
            if not carries_content(term):
                parts.weigh(term, 1.0)
                continue
            if len(term) == 1:
                parts.single_chars[term] = None
            parts.content(term)
        return
    near = [(run[max(0, start - 1) : stop + 1], same) for start, stop, same in together if 0 <= start < len(run)]
    if len(run) == 1:  # 第 and 章 of 第3章
        near += [(run, same) for start, stop, same in together if stop == 0 or (start == 1 and run == "第")]
    for term in tokenizer.cut(run):
        if not carries_content(term):
            parts.weigh(term, 1.0)
            continue
        if len(term) == 1:
            parts.single_chars[term] = None
        others = {other: weight for text, same in near if term in text for other, weight in same.items()}
        parts.content(term, *others)
        for other, weight in others.items():
            parts.weigh(other, weight)


def _add_compound(parts: _Parts, word: Compound, tokenizer: QueryTokenizer, same: Mapping[str, float]) -> None:
    plain_parts = [term for part in word.parts if (term := tokenizer.plain(part))]
    if apart := apart_of(word):
        # Who writes "20GB" may have written "20 GB".
        others = [term for piece in word.pieces if (term := plain_or_same(piece, tokenizer.plain)) not in apart]
        others = [word.whole, *([word.exact] if word.exact else []), *others]
        for part in apart:
            parts.content(tokenizer.plain(part) or part, *others, *same)
        for term in others:
            parts.weigh(term, 1.0 if term == word.whole else _PIECE_WEIGHT)
        return
    if word.prose:
        # Who writes "wi-fi" may have written "wifi".
        joined = [term for piece in (word.whole, *word.pieces) if (term := plain_or_same(piece, tokenizer.plain))]
        spelled = [term for part in word.parts if (term := tokenizer.spelled_out(part))]
        for term in plain_parts:
            parts.content(term, *joined, *spelled)
        for term in spelled:
            parts.weigh(term, _PART_WEIGHT)
        for term in joined:
            parts.weigh(term, _PIECE_WEIGHT)
        parts.joined.update(dict.fromkeys(joined))
        return
    whole = plain_or_same(word.whole, tokenizer.plain)
    if whole.endswith(("+", "#")):
        # A question about C++ is not one about C; a text about C++ may be found by either.
        parts.content(whole, *word.pieces[1:])
        for piece in word.pieces[1:]:
            parts.weigh(piece, _PIECE_WEIGHT)
        return
    larger = [plain_or_same(piece, tokenizer.plain) for piece in word.pieces]
    joined = [plain_or_same(piece, tokenizer.plain) for piece in word.pieces if is_same_name(piece, word.whole)]
    if not whole:
        whole, larger = (larger or plain_parts)[0], larger[1:]
    parts.content(whole, *([word.exact] if word.exact else []), *larger, *plain_parts, *same)
    for term in (*([word.exact] if word.exact else []), *larger):
        parts.weigh(term, 1.0 if term in joined else _PIECE_WEIGHT)
    if is_unmistakable(word):
        parts.identifiers.update(dict.fromkeys((whole, *([word.exact] if word.exact else []), *larger)))
    if is_unmistakable(word) or (word.exact and len(plain_parts) >= _MANY_PARTS):
        parts.inside.update(plain_parts, larger)
    for term in plain_parts:
        parts.weigh(term, _PART_WEIGHT)


def _add_date(parts: _Parts, mention: DateMention) -> None:
    days = [token for token in mention.tokens if _DAY_TOKEN.fullmatch(token)]
    wanted = days if mention.grain == "range" and days else mention.tokens[:1]
    for token in wanted:
        yearless = f"--{token[5:]}" if _DAY_TOKEN.fullmatch(token) else ""
        parts.content(token, *([yearless] if yearless else []))
        if yearless:
            parts.weigh(yearless, _PIECE_WEIGHT)
        parts.date_terms.update(dict.fromkeys((token, yearless) if yearless else (token,)))


def _add_relative(parts: _Parts, mention: DateMention, text: str, tokenizer: QueryTokenizer) -> None:
    """The words ("yesterday") and the day they mean may be written, but a note about that day need not hold either."""
    for term in tokenizer.terms(text[mention.begin : mention.stop]):
        parts.weigh(term, _PIECE_WEIGHT)
    if mention.tokens:
        parts.weigh(mention.tokens[0], _PIECE_WEIGHT)
        parts.date_terms[mention.tokens[0]] = None


def _fall_back(parts: _Parts, text: str, tokenizer: QueryTokenizer) -> None:
    """Nothing carries content: single characters between function words first, then the function words themselves."""
    chars = [char for run in parts.runs for char in run]
    for char in [char for char in chars if char not in FUNCTION_CHARS] or chars:
        parts.single_chars[char] = None
        parts.content(char)
    if not parts.groups:
        for word in every_word(text):
            parts.content(tokenizer.stem(word))


def _phrases(text: str, terms: Callable[[str], list[str]]) -> tuple[tuple[str, ...], ...]:
    found = (tuple(terms(match.group(1))) for match in _QUOTED.finditer(text))
    return tuple(dict.fromkeys(phrase for phrase in found if len(phrase) > 1))
