"""Where words begin and end: dates, script borders, emoji, and words with what may stand inside them."""

import re
import string
import unicodedata
from collections.abc import Iterator, Sequence

from ..expression import expression
from .chinese import HAN, HANGUL, KANA, THAI_LAO_BURMESE_KHMER
from .dates import DateMention
from .english import STOP_WORDS
from .identifiers import Compound, is_unmistakable, split_compound
from .simplified import simplified

_SPACELESS = f"{HAN}{KANA}{HANGUL}{THAI_LAO_BURMESE_KHMER}"
_EMOJI = "\u2300-\u23ff\u2600-\u27bf\u2b05-\u2b55\U0001f000-\U0001f1e5\U0001f200-\U0001faff"
_FLAG = "\U0001f1e6-\U0001f1ff"
_DRESS = "\ufe0f\U0001f3fb-\U0001f3ff"
_OTHER_PIECES = (
    f"[{HANGUL}]+|[{THAI_LAO_BURMESE_KHMER}]+|[{_FLAG}]{{2}}"
    f"|[{_EMOJI}][{_DRESS}]*(?:\u200d[{_EMOJI}][{_DRESS}]*)*"
    # A word begins with a letter or digit; signs before it belong to no word.
    f"|[^\\W_][^\\s{_SPACELESS}{_EMOJI}{_FLAG}]*"
)
_PIECE = re.compile(f"[{HAN}{KANA}]+|{_OTHER_PIECES}")
_BETWEEN_SPACES = re.compile(r"[^\s\x1c-\x1f]+")
# Space and signs that stand between runs of Chinese and belong to no word.
_BETWEEN = r"\s!-/:-@\[-`{-~\u2010-\u2027\u2030-\u205e\u3001-\u3004\u3008-\u3020"
_STRETCH = re.compile(f"[{HAN}{KANA}][{HAN}{KANA}{_BETWEEN}]*|{_OTHER_PIECES}")
_WIDE = tuple((wide, unicodedata.normalize("NFKC", wide)) for wide in "，：？（）；！\xa0")
# Below the first no piece is of a script without spaces, between the others every one is: cheap tests before the exact.
FIRST_SPACELESS, FIRST_HAN, AFTER_HAN = "\u0e01", "\u4e00", "\ua000"
_RUN_START = re.compile(f"[{_SPACELESS}]")
_EMOJI_START = re.compile(f"[{_EMOJI}{_FLAG}]")
_SKIN = re.compile(f"[{_DRESS}]")
# Letters may carry marks that NFKC cannot compose (Devanagari vowels, Hebrew points, rare Latin accents).
_POINTED = r"\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u064b-\u0652\u0670"
_LETTER = rf"[^\W_][\u0300-\u036f{_POINTED}\u0900-\u0903\u093a-\u094f\u0981-\u0983\u09bc-\u09cd]*"
_JOINT = r"(?:://|::|:\\|[/\\][._]?|_+|[-.@&'’]|:(?=\d\d)|,(?=\d{3}(?!\d)))"
_WORD = re.compile(rf"(?:{_LETTER})+(?:{_JOINT}(?:{_LETTER})+)*(?:\+\+|(?<![^\W_]{{2}})#)?")
# The same for a piece in ASCII, in which no letter carries a mark.
_ASCII_WORD = expression(
    r"[A-Za-z0-9]+(?:(?:://|::|:\\|[/\\][._]?|_+|[-.@&']|:(?=[0-9][0-9])|,(?=[0-9]{3}(?![0-9])))[A-Za-z0-9]+)*"
    r"(?:\+\+|(?<![A-Za-z0-9]{2})#)?"
)
_LONGEST_COMPOUND = 256
_PLAIN = re.compile(rf"(?:{_LETTER})+")
# Signs that are not seen, and the hyphen into which NFKC makes the one that does not break (U+2011), which language
# models write in names such as "db-prod-2".
UNSEEN = re.compile("[\u00ad\u200b\u2010\u2060\ufeff]")
_THOUSANDS = re.compile(r"(?<=\d)[,'](?=\d{3}(?!\d))")
# What may stand around a plain word and belongs to no word: C++ and C# keep their signs.
_AROUND = "".join(set(string.punctuation) - set("+#"))
_POSSESSIVE = ("'s", "'S")
# A date with one of these and a letter or digit beside it is part of a name, which must stay whole.
_GLUE = frozenset("/\\_@-.:=&")


def normalised(text: str) -> str:
    """NFKC: full-width and half-width forms, ligatures and circled digits become what they stand for.

    Traditional Chinese characters become simplified ones, hyphens of Unicode's own common ones; what is not seen (soft
    hyphens, spaces without width) goes.
    """
    if text.isascii():
        return text
    # A text without the commonest of them is mostly in NFKC, which is found out far faster than it is made.
    text = unicodedata.normalize("NFKC", in_narrow_forms(text))
    if UNSEEN.search(text) is not None:
        text = UNSEEN.sub(lambda match: "-" if match.group() == "\u2010" else "", text)
    return simplified(text)


def in_narrow_forms(text: str) -> str:
    """The text with the commonest wide signs replaced as by NFKC, character for character."""
    for wide, narrow in _WIDE:
        if wide in text:
            text = text.replace(wide, narrow)
    return text


def segments(text: str, mentions: Sequence[DateMention]) -> Iterator[str | DateMention]:
    """The text with its dates taken out. A date inside a name (``daily/2023-05-08/plan.md``) also stays in the text."""
    begin = 0
    for mention in mentions:
        if _stands_alone(text, mention):
            yield text[begin : mention.begin]
            begin = mention.stop
        yield mention
    yield text[begin:] if begin else text


def pieces(text: str) -> list[str]:
    """Pieces between spaces and at script borders: runs without spaces, emoji, and the rest."""
    return text.split() if text.isascii() else _PIECE.findall(text)


def placed_pieces(text: str) -> Iterator[tuple[int, str]]:
    """The same, each with where it begins."""
    for match in (_BETWEEN_SPACES if text.isascii() else _PIECE).finditer(text):
        yield match.start(), match.group()


def stretches(text: str) -> list[str]:
    """The same, but runs of Chinese and Japanese with nothing but space and signs between as one."""
    return text.split() if text.isascii() else _STRETCH.findall(text)


def is_run(piece: str) -> bool:
    """Whether a piece is of a script without spaces."""
    return _RUN_START.match(piece) is not None


def emoji_of(piece: str) -> str:
    """An emoji without its skin tone and style, "" when the piece is not one."""
    return _SKIN.sub("", piece) if _EMOJI_START.match(piece) else ""


def plain_word(piece: str) -> str:
    """The one word of a piece that is an ASCII word without parts, in lower case or begun or spelled in capitals."""
    word = piece.strip(_AROUND)
    plain = word.isalpha() and word.isascii() and (word[1:].islower() or word.isupper() or len(word) == 1)
    return word if plain else ""


def written_words(piece: str) -> list[str]:
    """The words of a piece as they stand there, with all their parts."""
    return _ASCII_WORD.findall(piece) if piece.isascii() else [match.group() for match in _WORD.finditer(piece)]


def words_of(piece: str) -> Iterator[str | Compound]:
    """Words as written, without a final ``'s``; those with parts as :class:`Compound`."""
    for word in written_words(piece):
        yield from read_word(word)


def read_word(word: str) -> list[str | Compound]:
    """The same of one of :func:`written_words`; mostly one."""
    if word.isalpha() and word.isascii() and (word.islower() or word.isupper()):
        return [word]
    if len(word) > _LONGEST_COMPOUND:
        # Data rather than a name: its words are found, its structure is not kept.
        return list(_PLAIN.findall(word))
    word = word.replace("’", "'")
    if "," in word or "'" in word:
        word = _THOUSANDS.sub("", word)
    if word.endswith(_POSSESSIVE) and len(word) > 2:
        word = word[:-2]
    return [word if word.casefold() in STOP_WORDS else split_compound(word) or word]


def identifiers_in(text: str) -> list[tuple[int, int]]:
    """Where the names that nobody writes by chance stand in a text (``src/main.py``, ``max_count``)."""
    out = []
    for begin, piece in placed_pieces(text):
        for match in () if piece.isalnum() else _WORD.finditer(piece):
            first = begin + match.start()
            for word in () if match.group().isalnum() else read_word(match.group()):
                option = text[max(0, first - 2) : first] == "--"
                if isinstance(word, Compound) and (option or is_unmistakable(word)):
                    out.append((first, begin + match.end()))
    return out


def has_word(text: str) -> bool:
    """Whether there is a letter or a digit."""
    return any(map(str.isalnum, text))


def every_word(text: str) -> list[str]:
    """All words, case-folded, function words too."""
    return [match.group().casefold() for match in _WORD.finditer(text)]


def _stands_alone(text: str, mention: DateMention) -> bool:
    before, after = text[max(0, mention.begin - 2) : mention.begin], text[mention.stop : mention.stop + 2]
    return not _glued(before[::-1]) and not _glued(after)


def _glued(beside: str) -> bool:
    """Whether a letter, or a joint and a letter, lies next to a date (nearest character first)."""
    if not beside or not beside.isascii():
        return False
    return beside[0].isalnum() or (beside[0] in _GLUE and len(beside) > 1 and beside[1].isalnum())
