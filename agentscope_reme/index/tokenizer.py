"""Text becomes terms, the same way for notes and for questions."""

import hashlib
import unicodedata
from collections.abc import Callable, Iterable
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from .beside_han import SINGLE, terms_beside
from .chinese import Bigrams, JiebaWords
from .dates import DateMention, find_dates
from .english import CAPITAL_NAMES, STOP_WORDS, Stemmer
from .identifiers import Compound, compound_terms
from .marks import spelled_out, unmarked
from .spaced_numbers import spaced_numbers
from .time_words import ANYTHING, SIGNS, WORDS
from .uncut import RUN
from .words import (
    AFTER_HAN,
    FIRST_HAN,
    FIRST_SPACELESS,
    emoji_of,
    every_word,
    is_run,
    normalised,
    pieces,
    plain_word,
    read_word,
    segments,
    stretches,
    written_words,
)

if TYPE_CHECKING:
    from .query_terms import QueryTerms

# Raise it with every change after which the same text may give other terms: stored indexes are then rebuilt.
_VERSION = 5
# Pieces of text, and words, of which the terms are remembered: about 6 MB and 5 MB. A vault's everyday vocabulary is
# smaller than this; whoever reads tens of thousands of notes meets more.
_MOST_KNOWN = 32_768
_LONGEST_CACHED = 64


def terms_with_char(char: str, vocabulary: Iterable[str]) -> list[str]:
    """The terms of a vocabulary that hold a single Chinese character: what a one-character query is expanded to."""
    return [term for term in vocabulary if char in term]


class _Words(dict[str, tuple[str, ...]]):
    """Index terms of a piece of text; bounded by starting over, which costs less than keeping an order of use."""

    def __init__(self, tokenizer: "Tokenizer", most: int) -> None:
        super().__init__()
        self._tokenizer, self._most = tokenizer, most

    def __missing__(self, piece: str) -> tuple[str, ...]:
        terms = tuple(self._tokenizer.analyse(piece))
        if len(piece) <= _LONGEST_CACHED:
            if len(self) >= self._most:
                self.clear()
            self[piece] = terms
        return terms


class _Plain(dict[str, str]):
    """Terms of case-folded words, "" for function words; bounded in the same way."""

    def __init__(self, stemmer: Stemmer, most: int) -> None:
        super().__init__()
        self._stemmer, self._most = stemmer, most

    def __missing__(self, word: str) -> str:
        term = "" if word in STOP_WORDS else self._stemmer.stem(word if word.isascii() else unmarked(word))
        if len(self) >= self._most:
            self.clear()
        self[word] = term
        return term


class Tokenizer:
    """Terms of texts and of questions.

    Text is compared after NFKC and case folding, without marks on letters that are often left out, traditional
    Chinese characters as simplified ones. Words of spaced scripts become Porter2 stems, function words left out,
    British and American spellings as one; Chinese and Japanese runs become pairs of characters (or jieba's words);
    identifiers stand whole and in parts; a date is the same term in every notation. ``chinese`` is ``bigram`` or
    ``jieba``; ``user_dict`` is a jieba dictionary file, read in jieba mode only. ``most_known`` is how many pieces of
    text, and how many words, have their terms remembered, and an eighth as many short texts. Safe to use from
    several threads.
    """

    def __init__(
        self, chinese: str = "bigram", user_dict: Path | None = None, *, most_known: int = _MOST_KNOWN
    ) -> None:
        self._runs: Bigrams | JiebaWords = JiebaWords(user_dict) if chinese == "jieba" else Bigrams()
        self._stemmer = Stemmer()
        self._plain = _Plain(self._stemmer, most_known)
        self._words = _Words(self, most_known)
        self._short: dict[str, tuple[str, ...]] = {}
        self._most_short = most_known // 8
        self._take_apart: Callable[[Tokenizer, str, date | None], QueryTerms] | None = None

    @cached_property
    def fingerprint(self) -> str:
        """Changes whenever the same text may give other terms; part of what a stored index must agree with."""
        parts = (str(_VERSION), unicodedata.unidata_version, self._stemmer.version(), self._runs.fingerprint)
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]

    def warm(self) -> None:
        """Load what the first call would load (jieba's dictionary, about a second); for a worker thread."""
        self._runs.load()

    def terms(self, text: str, may_hold: int = ANYTHING, stretches: list[str] | None = None) -> list[str]:
        """Index terms of a text, in order, repeats kept. Function words are kept only where nothing else is left.

        ``may_hold`` other than ``ANYTHING`` says that the text is in NFKC, and what dates and numbers in groups it
        may have (:meth:`~.survey.Survey.holds`). With ``stretches``, Chinese that would become pairs of characters is
        added there, and ``RUN`` to the terms (:mod:`.uncut`).
        """
        if len(text) > _LONGEST_CACHED or stretches is not None:
            return self._terms(text, may_hold, stretches)
        # Titles, headings, tags and front matter come again and again.
        known = self._short.get(text)
        if known is None:
            known = tuple(self._terms(text, may_hold, None))
            if len(self._short) >= self._most_short:
                self._short = {}
            self._short[text] = known
        return list(known)

    def _terms(self, text: str, may_hold: int, uncut: list[str] | None) -> list[str]:
        if may_hold == ANYTHING:
            text, may_hold = normalised(text), SIGNS | WORDS
        out: list[str] = []
        if may_hold and (mentions := find_dates(text, may_hold=may_hold)):
            for segment in segments(text, mentions):
                if isinstance(segment, DateMention):
                    out += segment.tokens
                else:
                    self._collect(segment, out, uncut)
        else:
            self._collect(text, out, uncut)
        if may_hold & SIGNS:
            for number in spaced_numbers(text):
                out += number.joined
        return out or [self.stem(word) for word in every_word(text)]

    def _collect(self, text: str, out: list[str], uncut: list[str] | None) -> None:
        """Add the terms of a text in NFKC without dates."""
        words, runs = self._words, self._runs
        found = stretches(text)
        for stretch in found:
            if stretch < FIRST_SPACELESS:
                out += words[stretch]
            elif FIRST_HAN <= stretch < AFTER_HAN:
                if uncut is None:
                    out += runs.cut_all(stretch)
                else:
                    out.append(RUN)
                    uncut.append(stretch)
            elif is_run(stretch):
                for run in pieces(stretch):
                    out += runs.cut(run)
            else:
                out += words[stretch]
        if not SINGLE.isdisjoint(found) and not text.isascii():
            out += terms_beside(text, found)

    def query(self, text: str, today: date | None = None) -> "QueryTerms":
        """Take a question apart; ``today`` resolves "yesterday" and the like."""
        if self._take_apart is None:
            from .query_terms import take_apart  # whoever makes terms of notes need not know how questions are read

            self._take_apart = take_apart
        return self._take_apart(self, text, today)

    def cut(self, run: str) -> list[str]:
        """Terms of a run of Chinese or another script without spaces."""
        return self._runs.cut(run)

    def stem(self, word: str) -> str:
        """The stem of a case-folded word, function words included; marks on Latin and Greek letters do not count."""
        return self._stemmer.stem(unmarked(word))

    def plain(self, word: str) -> str:
        """The term of a case-folded word: its stem, "" for a function word."""
        return self._plain[word]

    def spelled_out(self, word: str) -> str:
        """The term of a case-folded word with two letters for each umlaut (``mueller``); "" where it has none."""
        spelled = spelled_out(word)
        return self.plain(spelled) if spelled else ""

    def plain_or_capital(self, word: str) -> str:
        """The term of a word as written; ``US`` in capitals is a name, ``us`` is not."""
        return word if word in CAPITAL_NAMES else self.plain(word.casefold())

    def analyse(self, piece: str) -> list[str]:
        """Index terms of one piece between spaces and script borders that is no run of Chinese or the like."""
        if plain := plain_word(piece):
            term = self.plain_or_capital(plain)
            return [term] if term else []
        if not piece.isascii() and (emoji := emoji_of(piece)):
            return [emoji]
        out: list[str] = []
        for written in written_words(piece):
            if written.isalpha() and written.islower() and written.isascii():
                if term := self._plain[written]:
                    out.append(term)
            elif written != piece and piece.isascii():
                # A name comes in brackets, quotes and sentences: its parts are looked for once.
                out += self._words[written]
            else:
                for word in read_word(written):
                    if isinstance(word, Compound):
                        out += compound_terms(word, self._plain.__getitem__)
                        spelled = () if written.isascii() else map(self.spelled_out, word.parts)
                        out += [term for term in spelled if term]
                    elif term := self.plain_or_capital(word):
                        out.append(term)
                        if not written.isascii() and (term := self.spelled_out(word.casefold())):
                            out.append(term)
        return out
