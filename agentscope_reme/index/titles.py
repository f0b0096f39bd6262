"""Whether a file's name stands whole in a question: letter by letter, where the first two of them do."""

from collections.abc import Sequence
from math import sqrt

import numpy as np

from .compiled import kernels
from .corpus import Corpus
from .keyword_columns import Ints
from .known_file import ENDS, KnownFile
from .simplified import simplified
from .words import identifiers_in

# How names begin and end (as many of a file as are kept), in numbers of 16 bits; these for no name, and for one to be
# looked at.
_NONE, _LOOK = 0x0001_0001, 0
_PAIRS = 65_536


def names_worth(corpus: Corpus, numbers: Ints, text: str) -> Sequence[float]:
    """For each of some file ids how much it is worth that one of its names stands in ``text`` (case-folded)."""
    text = simplified(text)
    if kernels is not None:
        columns = corpus.files.columns_of_name_ends()
        return _worth_of(corpus, numbers, text, kernels.may_stand(text, numbers, columns, _LOOK, _PAIRS))
    there = np.zeros(_PAIRS, bool)
    there[[_LOOK, *map(_pair, text, text[1:])]] = True
    ends = corpus.files.name_ends(numbers)
    look = there[ends >> 16]
    look &= there[ends & 0xFFFF]
    return _worth_of(corpus, numbers, text, np.logical_or.reduce(look).nonzero()[0].tolist())


def _worth_of(corpus: Corpus, numbers: Ints, text: str, some: Sequence[int]) -> Sequence[float]:
    """The same, where only ``some`` of the files have names that may stand in the text."""
    out = [0.0] * len(numbers)
    identifiers: list[tuple[int, int]] | None = None
    for at in some:
        number = int(numbers[at])
        names = _names(corpus.by_id[number])
        standing = [name for name in names if name in text]
        if standing and identifiers is None:
            identifiers = identifiers_in(text)
        found = [_worth(name) for name in standing if _stands_in(name, text, identifiers or [])]
        if found:
            out[at] = max(found)
        if corpus.files.name_end(number) == _LOOK:
            _keep(corpus, number, names)
    return out


def look_at_names(corpus: Corpus) -> None:
    """Find out how the names of all files begin and end, so that it is stored with the index."""
    unknown = (corpus.files.column(ENDS[0]) == _LOOK).nonzero()[0].tolist()
    numbers = [known.id for known in corpus.files.living()] if unknown else []
    for at in unknown:
        _keep(corpus, numbers[at], _names(corpus.by_id[numbers[at]]))


def _keep(corpus: Corpus, number: int, names: Sequence[str]) -> None:
    if len(names) <= len(ENDS):
        corpus.files.set_name_ends(number, [*map(_ends_of, names), *[_NONE] * (len(ENDS) - len(names))])


def _ends_of(name: str) -> int:
    return _pair(name[0], name[1]) << 16 | _pair(name[-2], name[-1])


def _pair(one: str, two: str) -> int:
    """Two characters as a number of 16 bits, neither ``_LOOK`` nor half of ``_NONE``; others may have the same."""
    return 2 + (ord(one) * 8_191 + ord(two)) % (_PAIRS - 2)


def _names(entry: KnownFile | None) -> list[str]:
    """The names of a file. One of a single character, or of less than three Latin letters, is a word like others."""
    if entry is None:
        return []
    title, _, _, aliases = entry.card
    stem = entry.path.rsplit("/", 1)[-1].rsplit(".", 1)[0]
    names = dict.fromkeys([simplified(one.strip().casefold()) for one in (title, stem, *aliases)])
    return [name for name in names if len(name) > 2 or (len(name) == 2 and _length(name) >= 1.2)]


def _worth(name: str) -> float:
    """The square root of a name's length in Chinese characters (retrieval ledger, section 5)."""
    return sqrt(_length(name))


def _length(name: str) -> float:
    """In Chinese characters; Latin letters count 1/2.5."""
    latin = sum(1 for char in name if char < "\u2e80")
    return len(name) - latin + latin / 2.5


def _stands_in(name: str, text: str, identifiers: Sequence[tuple[int, int]]) -> bool:
    """Whether a name stands whole in a text: not as a part of a word, nor a plain one as a part of an identifier."""
    at = text.find(name)
    while at >= 0:
        stop = at + len(name)
        inside = name.isalnum() and any(a <= at and stop <= b and stop - at < b - a for a, b in identifiers)
        before, after = text[at - 1 : at], text[stop : stop + 1]
        if not (inside or _glued(before, name[0]) or _glued(name[-1], after)):
            return True
        at = text.find(name, at + 1)
    return False


def _glued(left: str, right: str) -> bool:
    return bool(left and right) and left.isalnum() and right.isalnum() and left < "\u2e80" and right < "\u2e80"
