"""What else a question's numbers and names may be called: ``1500`` is ``1.5k``, ``3,5`` is ``3.5``, ``.NET`` dotnet.

Only what a text would have as a term of its own can be asked for so: no text with ``3,5`` has a term for it.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from ..expression import expression

_NUMBER = expression(
    r"(?<![\w.,])(?:(?P<thousands>\d{1,3}(?:\.\d)?)k|(?P<whole>\d{1,3},?\d{3})|(?P<decimal>\d{1,4},\d{1,2}))(?![\w]|[.,]\d)",
    re.ASCII | re.IGNORECASE,
)
_DOTNET = expression(r"(?<!\w)\.net(?!\w)", re.ASCII | re.IGNORECASE)


class Otherwise(NamedTuple):
    """Other terms for what stands at characters ``begin`` to ``stop``."""

    begin: int
    stop: int
    terms: tuple[str, ...]


def numbers_otherwise(text: str) -> Iterator[Otherwise]:
    """Thousands in short and written out, and decimal commas of a text in NFKC."""
    for match in _NUMBER.finditer(text):
        terms: tuple[str, ...] = ()
        if match["thousands"]:
            terms = (f"{float(match['thousands']) * 1000:.0f}",)
        elif match["decimal"]:
            point = match["decimal"].replace(",", ".")
            terms = tuple(dict.fromkeys((point, point.rstrip("0").rstrip("."))))
        else:
            thousands, rest = divmod(int(match["whole"].replace(",", "")), 1000)
            if thousands and rest % 100 == 0:
                terms = (f"{thousands}.{rest // 100}k" if rest else f"{thousands}k",)
        if terms:
            yield Otherwise(*match.span(), terms)


def names_otherwise(text: str) -> Iterator[Otherwise]:
    """Names whose signs are left out where they are spoken."""
    for match in _DOTNET.finditer(text):
        yield Otherwise(*match.span(), ("dotnet",))
