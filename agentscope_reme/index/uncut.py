"""Chinese on its way from a process that only reads: as it is written, and cut into pairs of characters by numpy.

Nearly all terms of a Chinese text are pairs of characters. To make a string of each, to hash it and to look it up takes
a tenth of the time of whoever reads; who puts them into the index (:mod:`.run_pairs`) makes their numbers from the
characters, all of a batch at once. What belongs to neither half of that needs nothing of numpy.
"""

from collections.abc import Iterable, Sequence

from .chinese import Bigrams

RUN = "\x01"
"""Stands among terms for a stretch that is not cut; no text has such a term."""
BETWEEN = "\0"  # two stretches that are sent; no stretch holds it


def together(stretches: Iterable[str]) -> bytes | None:
    """Stretches as two bytes a character; None where one has a character that takes more."""
    text = BETWEEN.join(stretches)
    data = text.encode("utf-16-le", "surrogatepass")
    return data if len(data) == 2 * len(text) else None


def cut(terms: Sequence[str], stretches: Iterable[str]) -> list[str]:
    """Terms with those of the stretches where these stand."""
    left = iter(stretches)
    out: list[str] = []
    for term in terms:
        if term == RUN:
            out += Bigrams().cut_all(next(left))
        else:
            out.append(term)
    return out
