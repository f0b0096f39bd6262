"""The links of a note with the words around each, as :mod:`.anchors` keeps them."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from ..models import FileLink
    from .survey import Survey
    from .tokenizer import Tokenizer

REACH = 120  # characters to each side
MOST_LINKS = 2_000  # of one file
_LINK = re.compile(r"!?\[\[[^\[\]\n]*\]\]")


class Anchor(NamedTuple):
    """A link: the target as it is written, and the terms of the words around it; ``stretches`` are not cut yet."""

    target: str
    terms: tuple[str, ...]
    stretches: Sequence[str] = ()


def anchors_of(
    survey: "Survey", links: Sequence["FileLink"], tokenizer: "Tokenizer", *, uncut: bool = False
) -> list[Anchor]:
    """The links of a file with the words around them; the survey is of the whole file.

    Links in front matter have none. ``uncut`` as in :func:`~.reading.read_entries`.
    """
    out: list[Anchor] = []
    if not links:
        return out
    text, starts = survey.text, survey.rows
    shown = survey.normal or text
    places: dict[int, list[re.Match[str]]] = {}
    for link in links[:MOST_LINKS]:
        if not link.target_path or link.predicate or not 0 < link.line < len(starts):
            continue
        if link.line not in places:
            places[link.line] = list(_LINK.finditer(text, starts[link.line - 1], starts[link.line] - 1))
        for match in places[link.line]:
            if link.target_path in match.group():
                first, last = match.span()
                begin = max(0, first - REACH)
                around = f"{shown[begin:first]} {shown[last : last + REACH]}"
                terms: list[str] = []
                stretches: list[str] | None = [] if uncut else None
                if around.strip():
                    may_hold = survey.holds(begin, first) | survey.holds(last, last + REACH)
                    shown_around = _LINK.sub(_shown_words, around) if "[[" in around else around
                    terms = tokenizer.terms(shown_around, may_hold, stretches)
                if terms:
                    out.append(Anchor(link.target_path, tuple(terms), stretches or ()))
                places[link.line].remove(match)
                break
    return out


def _shown_words(link: re.Match[str]) -> str:
    """What a reader sees of another link near by."""
    return f" {link.group().strip('![]').rsplit('|', 1)[-1]} "
