"""One look over a file's whole text, which spares its parts many: most hold no date, no time and no correction.

Texts become terms part by part, the units and the words around each link, and every part is searched for dates, words
for times and corrections. What any of these must hold is looked for once in the whole text: a part that has none of it
is not searched. Only for text of which NFKC takes nothing apart, so that all places stay what they are, as of nearly
all notes with Chinese in them; others are searched part by part.
"""

import re
import unicodedata
from bisect import bisect_left
from itertools import accumulate

from ..expression import expression
from .simplified import simplified
from .time_words import ANYTHING, SIGNS, WORDS, lower_case
from .words import UNSEEN, in_narrow_forms

# Digits beyond ASCII lie among these; what has one of them is searched as ever.
_OTHER_DIGITS = "\u0660-\u1c59\ua620-\uabf9\U000104a0-\U0001e959"
# What begins a number or a Chinese word of which dates, times and corrections are made, and enough of what follows.
_SIGNS = expression(
    rf"[0-9年月昨今明前后上下本这周星天刚最更纠勘改换不已以{_OTHER_DIGITS}]"
    r"(?:(?<=[0-9])(?:[0-9]{3}|[0-9]?[-/.:][0-9]|[0-9]?\s?[日号]|[0-9]?\)? \(?[0-9]{2})|(?<=[年月])"
    # The next character rules most others out at once.
    r"|(?=[天日晚早个周星礼一二三四五六末前期才近正误为成记到用再经改换迁此])(?:"
    r"(?<=[昨今明])[天日晚早]|(?<=[前后])天|(?<=[上下本这])个?(?:周|星期|礼拜)"
    r"|(?<=周)[一二三四五六日末前]|(?<=星)期|(?<=天)前|(?<=刚)才|(?<=最)近"
    r"|(?<=更)正|(?<=纠)正|(?<=勘)误|(?<=改)[为成记到用]|(?<=换)成了|(?<=不)再|(?<=已)经?[改换迁]|(?<=以)此为准)"
    rf"|(?<=[{_OTHER_DIGITS}]))"
)
# The same in English, on lower case; also inside words, as a part may begin or end within one.
_ENGLISH = expression(
    r"a(?:pr|ug|go|utumn)|c(?:orrect|hange)|d(?:ay|ec)|e(?:d (?:to|from)|vening)|f(?:eb|all)|instead of|j(?:an|u[nl])"
    r"|m(?:a[ry]|or(?:ning|e)|onth)|n(?:o(?:v| longer)|ight)|oct|replaced|s(?:ep|pring|ummer|upersede)|tomorrow"
    r"|w(?:eek|inter)|year"
)
_LINK_MARK = "\uff01[["


class Survey:
    """A text as it is indexed, and which of its parts need a closer look."""

    def __init__(self, text: str) -> None:
        self.text = text
        # Made when they are asked for, without the lock of a cached property.
        self._normal: str | None = None
        self._rows: list[int] | None = None
        self._found: tuple[_Found, _Found] | None = None  # signs and words for times, once somebody asks

    @property
    def normal(self) -> str:
        """The text as :func:`~.words.normalised` gives it, character for character; "" where it is not so."""
        if self._normal is None:
            self._normal = _normal_form(self.text)
        return self._normal

    @property
    def rows(self) -> list[int]:
        """Where each row of the text begins, and one more place behind the last one and its line break."""
        if self._rows is None:
            self._rows = list(accumulate([len(row) + 1 for row in self.text.split("\n")], initial=0))
        return self._rows

    def holds(self, begin: int, stop: int) -> int:
        """What in these characters could belong to a date, a word for a time or a correction.

        0, ``SIGNS``, ``WORDS`` or both; ``ANYTHING`` where the text has no normal form in its place.
        """
        if not self.normal:
            return ANYTHING
        if self._found is None:
            lower = lower_case(self.normal)
            self._found = _Found(_SIGNS, lower), _Found(_ENGLISH, lower)
        signs, words = self._found
        return SIGNS * signs.any_in(begin, stop) | WORDS * words.any_in(begin, stop)


def _normal_form(text: str) -> str:
    if text.isascii() or _LINK_MARK in text:  # the wide mark would become one of an embedded file
        return ""
    narrow = in_narrow_forms(text)
    if not unicodedata.is_normalized("NFKC", narrow) or UNSEEN.search(narrow) is not None:
        return ""
    return simplified(narrow)


class _Found:
    """Where an expression matches."""

    __slots__ = ("_begins", "_ends")

    def __init__(self, expression: re.Pattern[str], text: str) -> None:
        spans = [match.span() for match in expression.finditer(text)]
        self._begins, self._ends = [begin for begin, _ in spans], [end for _, end in spans]

    def any_in(self, begin: int, stop: int) -> bool:
        """Whether a match in these characters alone is possible: one that the search passed over began in another."""
        before = bisect_left(self._begins, stop)
        return before > 0 and self._ends[before - 1] > begin
