"""How near many days are to the dates a question asks for, all at once: :func:`~.dates.closeness` over arrays."""

from collections.abc import Callable
from datetime import date
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .dates import DateMention, closeness
from .reading import day_text

Days = NDArray[np.integer[Any]]
# A mention's tail reaches this many days to either side of the span it names.
_TAIL = 31
_EPOCH = date(1970, 1, 1).toordinal()


def closeness_by_day(mentions: tuple[DateMention, ...]) -> Callable[[Days], NDArray[np.float64]]:
    """A function from day numbers (days since 1970-01-01) to closeness, 0 to 1."""
    known: dict[tuple[int, int], float] = {}

    def near(days: Days) -> NDArray[np.float64]:
        out = np.zeros(len(days))
        if not len(days):
            return out
        years = _years_around(days)
        for number, mention in enumerate(mentions):
            for at in np.flatnonzero(_may_be_near(mention, days, years)).tolist():
                key = number, int(days[at])
                if key not in known:
                    known[key] = closeness((mention,), day_text(key[1]))
                out[at] = max(out[at], known[key])
        return out

    return near


def inside(mentions: tuple[DateMention, ...], days: Days) -> NDArray[np.bool_]:
    """Which days lie inside any of some dates."""
    out = np.zeros(len(days), bool)
    if len(days):
        years = _years_around(days)
        for mention in mentions:
            out |= _may_be_near(mention, days, years, 0)
    return out


def _years_around(days: Days) -> range:
    return range(_year(int(days.min())) - 1, _year(int(days.max())) + 2)


def _may_be_near(mention: DateMention, days: Days, years: range, tail: int = _TAIL) -> NDArray[np.bool_]:
    """Days that are not certainly far away: most of a large vault's are."""
    out = np.zeros(len(days), bool)
    for year in years if not mention.first else years[:1]:
        span = mention.span(min(max(year, 1), 9999))
        if span is not None:
            first, last = (day.toordinal() - _EPOCH for day in span)
            out |= (days >= first - tail) & (days <= last + tail)
    return out


def _year(day: int) -> int:
    return date.fromordinal(max(1, day + _EPOCH)).year
