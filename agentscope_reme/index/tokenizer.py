"""Text becomes terms, the same way for notes and for questions."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from .dates import DateMention, asks_when, find_dates

_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class QueryTerms:
    """A question, taken apart.

    ``terms`` are distinct and in order, ``weights`` runs parallel (1 for a word, less for a part of an identifier).
    ``groups`` are the content words, each with its alternatives (an identifier and its parts): a group counts as present
    when any of its terms is; ``content_terms`` are the first of each group. ``pairs`` are neighbouring content words in
    order. ``phrases`` are the quoted passages as term sequences. ``single_chars`` are single Chinese characters that no
    term covers: see :func:`terms_with_char`. ``stop_only`` says that nothing but function words was asked for.
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
    asks_when: bool = False
    stop_only: bool = False


def terms_with_char(char: str, vocabulary: Iterable[str]) -> list[str]:
    """The terms of a vocabulary that hold a single Chinese character: what a one-character query is expanded to."""
    return [term for term in vocabulary if char in term]


class Tokenizer:
    """Terms of texts and of questions. ``fingerprint`` changes whenever the same text may give other terms."""

    def __init__(self, chinese: str = "bigram", user_dict: Path | None = None) -> None:
        self._chinese = chinese
        self._user_dict = user_dict

    @property
    def fingerprint(self) -> str:
        return f"0:{self._chinese}"

    def warm(self) -> None:
        """Load what the first call would load (the jieba dictionary); for a worker thread."""

    def terms(self, text: str) -> list[str]:
        """Index terms of a text, in order, repeats kept."""
        return _WORD.findall(text.casefold())

    def query(self, text: str, today: date | None = None) -> QueryTerms:
        """Take a question apart; ``today`` resolves "yesterday" and the like."""
        terms = tuple(dict.fromkeys(self.terms(text)))
        return QueryTerms(
            text=text,
            terms=terms,
            weights=(1.0,) * len(terms),
            content_terms=terms,
            groups=tuple((term,) for term in terms),
            pairs=tuple(zip(terms, terms[1:], strict=False)),
            dates=find_dates(text, today),
            asks_when=asks_when(text),
        )
