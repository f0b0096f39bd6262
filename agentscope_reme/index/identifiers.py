"""Identifiers, versions, addresses and paths: found whole and by their parts."""

import re
from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

from ..expression import expression
from .english import CAPITAL_NAMES
from .spaced_numbers import without_prefix

# Longer ones are data (base64, hashes of media), not names somebody asks for.
_LONGEST_WHOLE = 160
_MOST_PARTS = 24
_LONGEST_IN_ONE = 40  # all of a name, without its marks
_MOST_NUMBERS = 6
_LONGEST_JOINED = 24

# Hashes of commits and images, and how many of their characters people write.
_HASH_LENGTHS, _SHORT_HASHES = frozenset((40, 64)), (7, 8, 10, 12)
_HEX = re.compile(r"[0-9a-f]+|[0-9A-F]+")

_SEPARATORS = ("/\\:@", "-_&", ".", "'")
_CAMEL = expression(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z][A-Z])(?=[A-Z][a-z]{2})")
# Whether there is such a place, found faster.
_HAS_CAMEL = expression(r"[a-z0-9][A-Z]|[A-Z]{3}[a-z]{2}")
# The parts of a word of ASCII letters and digits, told apart by the same, and of one in lower case.
_CAMEL_PARTS = expression(r"[A-Z]{2,}(?=[A-Z][a-z]{2})|[A-Z]*[a-z0-9]+|[A-Z]+")
_LOWER_PARTS = expression(r"[0-9]+|[a-z]+")
_VERSION = re.compile(r"v?\d+(?:\.\d+)+", re.IGNORECASE)
_DIGIT_BORDER = re.compile(r"(?<=\d)(?=[^\W\d_])|(?<=[^\W\d_])(?=\d)")
# Numbers with points between thousands, as much of Europe writes them.
_THOUSANDS = re.compile(r"[1-9]\d{0,2}(?:\.\d{3})+")
# A name with its version (``python3.11``), and names that end in a point and few letters (``Node.js``).
_NAMED_VERSION = re.compile(r"([^\W\d_]+)(\d+)((?:\.\d+)+)")
_POINTED = re.compile(r"([^\W_]+)\.(js|io|net|ai)", re.IGNORECASE)
# What may be written with a space inside: ``20GB``, ``Windows11``, ``iphone15pro``.
_APART = re.compile(r"[a-z]{2,}\d+(?:\.\d+)*(?:[a-z]{2,})?|\d+(?:\.\d+)*[a-z]{2,}|\d{2,}[a-z]")
_RUNS = re.compile(r"[a-z]{2,}|\d+(?:\.\d+)*")
_LEAST_NUMBER = 7  # digits that nobody writes by chance
_ACRONYM = re.compile(r"[^\W\d_](?:\.[^\W\d_])+")
_SENTENCE_JOINT = re.compile(r"[a-z]+\.[A-Z][a-z]{2,}")
_PROSE = re.compile(r"[^\W\d_]+(?:[-/']+[^\W\d_]+)+")


class Compound(NamedTuple):
    """A word that has parts.

    ``whole`` is the case-folded word, ``exact`` the word as written when its capitals tell parts apart, else "".
    ``parts`` are plain words; ``pieces`` are larger parts and joined neighbours (``main.py`` of ``src/main.py``,
    ``username`` of ``get_user_name``, ``1.2`` of ``v1.2.3``). ``prose`` says that the parts are ordinary words
    (``well-known``, ``and/or``), which a question means one by one.
    """

    whole: str
    exact: str = ""
    pieces: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    prose: bool = False


def split_compound(word: str) -> Compound | None:
    """Take a word with inner separators, capitals or digits apart; None for a plain word.

    ``word`` begins and ends with a letter or digit, save a final ``++`` or ``#`` (``C++``, ``C#``), whose bare letter
    is then a piece, and how it is spoken (``csharp``).
    """
    if word.endswith(("++", "#")):
        whole = word.casefold()
        bare = whole.rstrip("+#")
        spoken = "cpp" if whole == "c++" else bare + ("plusplus" if whole.endswith("+") else "sharp")
        return Compound(whole, pieces=(bare, spoken))
    if len(word) in _HASH_LENGTHS and _HEX.fullmatch(word):
        whole = word.casefold()
        return Compound(whole, pieces=tuple(whole[:length] for length in _SHORT_HASHES))
    if word.isalpha() and (word.islower() or word.isupper() or not _HAS_CAMEL.search(word)):
        return None
    if word.isdigit():
        inland = without_prefix(word)
        return Compound(word, pieces=(inland,)) if inland else None
    dotted = "." in word
    if dotted and _ACRONYM.fullmatch(word):
        letters = word.replace(".", "")
        return Compound(word.casefold(), pieces=(letters if letters in CAPITAL_NAMES else letters.casefold(),))
    pieces: dict[str, None] = {}
    parts: dict[str, None] = {}
    _collect(word, 0, pieces, parts)
    whole = word.casefold()
    pieces.pop(whole, None)
    if not pieces and list(parts) in ([], [whole]):
        return None
    parts.pop(whole, None)
    camel = whole != word and _HAS_CAMEL.search(word) is not None
    prose = (not camel and bool(_PROSE.fullmatch(word))) or (dotted and bool(_SENTENCE_JOINT.fullmatch(word)))
    exact = word if camel and len(word) <= _LONGEST_WHOLE else ""
    return Compound(
        whole if len(whole) <= _LONGEST_WHOLE else "",
        exact,
        tuple(pieces)[:_MOST_PARTS],
        tuple(parts)[:_MOST_PARTS],
        prose,
    )


def compound_terms(compound: Compound, plain: Callable[[str], str]) -> list[str]:
    """Index terms: the whole word, its pieces and its parts; ``plain`` gives a plain word's term or ""."""
    whole, exact, pieces, parts, _ = compound
    out = []
    if whole:
        out.append(plain_or_same(whole, plain))
    if exact:
        out.append(exact)
    for piece in pieces:
        out.append(plain_or_same(piece, plain))
    out += filter(None, map(plain, parts))
    return out


def is_unmistakable(word: Compound) -> bool:
    """Whether a word is written by nobody who does not mean it: a name with inner marks, or a number of many parts.

    No prose, no ``U.S.``, no ``3.5`` or ``10:30``, and no name told apart by its capitals alone (``YouTube``).
    """
    if sum(map(str.isdigit, word.whole)) >= _LEAST_NUMBER:
        return True
    if word.prose or len(word.whole) < 5 or not (word.parts or len(word.pieces) > 1):
        return False
    marks = sum(not character.isalnum() for character in word.whole)
    return marks > (0 if any(map(str.isalpha, word.whole)) else 2)


def apart_of(word: Compound) -> list[str]:
    """The letters and the number of a word that others write with a space between (``20GB``); none of another.

    A single letter says too little alone: ``E1042`` and ``B12`` stay whole.
    """
    return _RUNS.findall(word.whole) if _APART.fullmatch(word.whole) else []


def is_same_name(piece: str, whole: str) -> bool:
    """Whether a piece of a name is all of it without its marks, or a number without what stands before it inland."""
    bare = "".join(filter(str.isalnum, whole))
    return piece == bare or (len(piece) >= _LEAST_NUMBER and piece.isdigit() and bare.endswith(piece))


def plain_or_same(text: str, plain: Callable[[str], str]) -> str:
    """The term of a word that may be plain (a joined ``username``) or not (``src/main.py``)."""
    return (plain(text) or text) if text.isalpha() else text


def _collect(word: str, level: int, pieces: dict[str, None], parts: dict[str, None]) -> None:
    if len(pieces) + len(parts) > 2 * _MOST_PARTS:
        return
    if "." in word:
        if _VERSION.fullmatch(word):
            _collect_version(word.casefold(), pieces)
            return
        if named := _NAMED_VERSION.fullmatch(word):
            parts[named[1].casefold()] = None
            pieces[f"{named[1]}{named[2]}".casefold()] = None
            _collect_version(f"{named[2]}{named[3]}", pieces)
            return
        if pointed := _POINTED.fullmatch(word):
            pieces[f"{pointed[1]}{pointed[2]}".casefold()] = None
    while level < len(_SEPARATORS) and not word.isalnum():
        segments = _segments(word, _SEPARATORS[level])
        if len(segments) > 1:
            if level:
                pieces[word.casefold()] = None
            for segment in segments:
                if level == 0 and not segment.isalnum():
                    pieces[segment.casefold()] = None
                _collect(segment, level + 1, pieces, parts)
            if level == 0 and all(map(str.isdigit, segments)):
                _join_neighbours(segments, pieces)
            if level == 1:
                _join_neighbours([segment for segment in segments if segment.isalnum()], pieces)
                if "." in word:
                    _collect_between_dots(word, pieces)
            return
        level += 1
    lower = word.casefold()
    # Only capitals tell parts apart.
    camel: list[str] = []
    if lower != word:
        simple = word.isascii() and word.isalnum()
        camel = _CAMEL_PARTS.findall(word) if simple else [segment for segment in _CAMEL.split(word) if segment]
    if len(camel) > 1:
        pieces[lower] = None
        for segment in camel:
            if segment.isalpha():
                parts[segment.casefold()] = None
            else:
                _collect_plain(segment.casefold(), parts)
        if len(camel) > 2:
            _join_neighbours(camel, pieces)
    elif lower.isalpha():
        parts[lower] = None
    else:
        _collect_plain(lower, parts)


def _collect_between_dots(word: str, pieces: dict[str, None]) -> None:
    """``array_equal`` of ``np.array_equal``, ``my-file`` of ``my-file.tar.gz``; not ``4-rc1`` of ``1.2.4-rc1``."""
    for name in word.split("."):
        name = name.strip("-_&")
        if not name.isalnum() and name[:1].isalpha():
            segments = _segments(name, _SEPARATORS[1])
            if len(segments) > 1:
                pieces[name.casefold()] = None
                _join_neighbours([segment for segment in segments if segment.isalnum()], pieces)


def _segments(word: str, separators: str) -> list[str]:
    """The parts of a word between runs of separators."""
    first = separators[0]
    for other in separators[1:]:
        word = word.replace(other, first)
    return [segment for segment in word.split(first) if segment]


def _collect_version(word: str, pieces: dict[str, None]) -> None:
    numbers = word.lstrip("v").split(".")
    for count in range(min(len(numbers), _MOST_NUMBERS), 1, -1):
        number = ".".join(numbers[:count])
        pieces[number] = None
        if word.startswith("v"):
            pieces[f"v{number}"] = None
    if _THOUSANDS.fullmatch(word):
        pieces[word.replace(".", "")] = None


def _collect_plain(word: str, parts: dict[str, None]) -> None:
    word = word.strip(".")  # ``self.`` of ``self._get_new``
    if not word:
        return
    parts[word] = None
    if word.isalpha() or word.isdigit() or word.startswith("0x"):
        return
    pieces = _LOWER_PARTS.findall(word) if word.isascii() and word.isalnum() else _DIGIT_BORDER.split(word)
    if len(pieces) <= 4:
        for piece in pieces:
            if len(piece) > 1:
                parts[piece] = None


def _join_neighbours(segments: list[str], pieces: dict[str, None]) -> None:
    """``user``, ``name`` also as ``username``, ``138-0013-8000`` also without its hyphens: people write both ways."""
    whole = "".join(segments)
    if whole.isdigit():
        inland = without_prefix(whole)
        if (len(segments) > 2 or inland) and len(whole) <= _LONGEST_JOINED:
            pieces[whole] = None
        if inland:
            pieces[inland] = None
        return
    if len(segments) > 2 and len(whole) <= _LONGEST_IN_ONE:
        pieces[whole.casefold()] = None
    for left, right in pairwise(segments):
        both = left + right
        if len(both) <= _LONGEST_JOINED and not both.isdigit():
            pieces[both.casefold()] = None
