"""What a question may hold, told by its characters alone: it is not looked through for what it cannot hold."""

import re
import unicodedata
from functools import reduce
from operator import or_

from .beside_han import NUMERALS
from .chinese_periods import CHINESE_PERIODS
from .relative_dates import CHINESE_UNIT
from .simplified import simplified
from .time_words import lower_case
from .words import in_narrow_forms, normalised

# Letters of English; digits, and the Chinese signs of dates; what ends a time in Chinese; what tells a period there;
# what asks for a time; what opens a quotation; Chinese numerals and digits; wide signs that have narrow forms; and what
# else may change when it is normalised.
LETTER, NUMBER, UNIT, PERIOD, ASKING, QUOTE, COUNT, WIDE, FORM = (1 << at for at in range(9))
EVERYTHING = -1
OPENING = '"“”«「『《'  # as QUOTED in query_terms begins
ASKS = "时何哪几久日"  # any question for a time in Chinese holds one

_MOST_KNOWN = 16_384  # characters
_LETTER = re.compile("[a-z]")
_NUMBER = re.compile(r"[\d年月]")
_DIGIT = re.compile("[0-9]")
# Scripts and signs of which no two make up another character in NFKC.
_APART = re.compile(
    r"[\x00-\x7f\u2013\u2014\u2018-\u201d\u3001-\u3003\u3007-\u3011\u3041-\u3096\u30a1-\u30fa\u4e00-\u9fff]"
)
_PERIOD = frozenset(char for rule in CHINESE_PERIODS for char in "".join(rule.hints))


class _Signs(dict[str, int]):
    """By character; bounded by starting over."""

    def __missing__(self, char: str) -> int:
        found = (
            (LETTER, _LETTER.search(lower_case(char)) is not None),
            (NUMBER, _NUMBER.match(char) is not None),
            (UNIT, CHINESE_UNIT.match(char) is not None),
            (PERIOD, char in _PERIOD),
            (ASKING, char in ASKS),
            (QUOTE, char in OPENING),
            (COUNT, char in NUMERALS or _DIGIT.match(char) is not None),
            (WIDE, in_narrow_forms(char) != char),
            (FORM, in_narrow_forms(char) == char and not _stays(char)),
        )
        if len(self) >= _MOST_KNOWN:
            self.clear()
        signs = self[char] = sum(sign for sign, has in found if has)
        return signs


def _stays(char: str) -> bool:
    """Whether a character is the same in a text that is normalised, whatever stands beside it."""
    return _APART.match(char) is not None and simplified(unicodedata.normalize("NFKC", char)) == char


_signs = _Signs()


def signs_of(text: str) -> int:
    """What a text may hold: each sign that one of its characters stands for."""
    return reduce(or_, map(_signs.__getitem__, set(text)), 0)


def normalised_with(text: str, signs: int) -> tuple[str, int]:
    """What ``words.normalised`` makes of a text of these signs, and the signs of that."""
    if signs & FORM:
        text = normalised(text)
        return text, signs_of(text)
    return (in_narrow_forms(text) if signs & WIDE else text), signs
