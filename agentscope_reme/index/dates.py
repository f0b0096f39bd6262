"""Dates in text and in questions, English and Chinese: one token for every notation, and the days they cover."""

from dataclasses import dataclass
from datetime import date
from typing import Literal

Grain = Literal["day", "week", "month", "year", "range"]


@dataclass(frozen=True, slots=True)
class DateMention:
    """A date as it stands in a text, at characters ``begin`` to ``stop``.

    ``first`` and ``last`` are the days it covers (``YYYY-MM-DD``, inclusive), "" when the year is not given.
    ``tokens`` are its index terms, the most specific first (``2023-05-08``, ``2023-05``, ``2023``, ``--05-08``, ``--05``).
    """

    begin: int
    stop: int
    grain: Grain
    first: str = ""
    last: str = ""
    year: int | None = None
    month: int | None = None
    day: int | None = None
    relative: bool = False

    @property
    def tokens(self) -> tuple[str, ...]:
        return ()


def find_dates(text: str, today: date | None = None) -> tuple[DateMention, ...]:
    """Dates in ``text``, in order. Relative ones ("yesterday", "上周三") are resolved only when ``today`` is given."""
    return ()


def closeness(mentions: tuple[DateMention, ...], day: str) -> float:
    """How near ``day`` (``YYYY-MM-DD``) is to the dates asked for: 0 to 1 (retrieval ledger, step 7)."""
    return 0.0


def asks_when(text: str) -> bool:
    """Whether a question asks for a time ("when", "which month", "什么时候")."""
    return False


def has_time_words(text: str) -> bool:
    """Whether a text names a time ("yesterday", "last week", a weekday, a month, a year, "昨天")."""
    return False
