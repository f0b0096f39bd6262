"""The links of a note with the words around each, as :mod:`.anchors` keeps them."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from ..models import FileLink
    from .tokenizer import Tokenizer

REACH = 120  # characters to each side
MOST_LINKS = 2_000  # of one file
_LINK = re.compile(r"!?\[\[[^\[\]\n]*\]\]")


class Anchor(NamedTuple):
    """A link: the target as it is written, and the terms of the words around it."""

    target: str
    terms: tuple[str, ...]


def anchors_of(text: str, links: Sequence["FileLink"], tokenizer: "Tokenizer") -> list[Anchor]:
    """The links of a file with the words around them; ``text`` is the whole file. Links in front matter have none."""
    out: list[Anchor] = []
    if not links:
        return out
    rows = text.split("\n")
    starts = [0]
    for row in rows:
        starts.append(starts[-1] + len(row) + 1)
    places: dict[int, list[re.Match[str]]] = {}
    for link in links[:MOST_LINKS]:
        if not link.target_path or link.predicate or not 0 < link.line <= len(rows):
            continue
        at = starts[link.line - 1]
        if link.line not in places:
            places[link.line] = list(_LINK.finditer(rows[link.line - 1]))
        for match in places[link.line]:
            if link.target_path in match.group():
                begin, end = at + match.start(), at + match.end()
                around = f"{text[max(0, begin - REACH) : begin]} {text[end : end + REACH]}"
                terms = tokenizer.terms(_LINK.sub(_shown_words, around)) if around.strip() else []
                if terms:
                    out.append(Anchor(link.target_path, tuple(terms)))
                places[link.line].remove(match)
                break
    return out


def _shown_words(link: re.Match[str]) -> str:
    """What a reader sees of another link near by."""
    return f" {link.group().strip('![]').rsplit('|', 1)[-1]} "
