"""What makes a unit count more or less beside its words: its day, who speaks, what its file says of itself."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..weights import Weights
from .corpus import Corpus
from .day_closeness import closeness_by_day, inside
from .entries import ASKS, CORRECTS, REPEATS, TIME_WORDS
from .keyword_columns import Ints, are_in, distinct

if TYPE_CHECKING:
    from .fusion import Dense
    from .query_terms import QueryTerms


_LONGEST_SPAN = 4_000_000  # days
SHORT = 11  # days that a stretch has at most whose units answer by being of it


@dataclass(frozen=True, slots=True)
class Context:
    """What ranking needs beside corpus and question, prepared by the caller.

    ``allowed`` masks slots by the filter. ``named`` are the speakers whom the question names and ``name_terms`` the
    terms they are named by. ``closeness`` maps day numbers to how near they are to the dates asked for, and ``days``
    are all that a unit has (see :func:`days_of`), where they are known already. ``demoted`` and ``preferred`` are file
    ids. ``dense`` is what vectors say. ``resolve`` finds the path that a link leads to, and ``linked`` the ids of the
    files at some paths, by their numbers in the anchors.
    """

    allowed: NDArray[np.bool_] | None = None
    named: frozenset[int] = frozenset()
    name_terms: frozenset[str] = frozenset()
    closeness: Callable[[Ints], NDArray[np.float64]] | None = None
    days: Ints | None = None
    demoted: frozenset[int] = frozenset()
    preferred: frozenset[int] = frozenset()
    dense: "Dense | None" = None
    resolve: Callable[[str], str | None] | None = None
    linked: Callable[[Ints], Ints] | None = None
    titles: Callable[[Ints], Sequence[float]] | None = None


def days_asked_for(corpus: Corpus, query: "QueryTerms", context: Context) -> tuple[Ints, Ints]:
    """The days asked for that some unit has, and those of them that answer by being that day.

    A unit of "yesterday" or of "last week" is about the question whatever it says. One of "last month" need not be,
    unless the question has nothing but the time; then a whole year will do.
    """
    if context.closeness is None:
        none = np.zeros(0, np.int64)
        return none, none
    days = context.days if context.days is not None else days_of(corpus)
    near = context.closeness(days) >= 0.9
    if query.only_dates:
        days = days[near | inside(query.dates, days)]
        return days, days
    days = days[near]
    long = {mention.begin for mention in query.dates if mention.length > SHORT}
    short = tuple(mention for mention in query.dates if mention.begin not in long)
    return days, days if len(short) == len(query.dates) else days[closeness_by_day(short)(days) >= 0.9]


def days_of(corpus: Corpus) -> Ints:
    """The known days of all units, ascending, each once."""
    days = corpus.column("day")
    if corpus.units.dead:
        days = days[corpus.units.alive]
    low, high = int(days.min(initial=0)), int(days.max(initial=0))
    if high - low > _LONGEST_SPAN:
        days = distinct(days)
    else:  # a mark for each day of the span costs less than a sort of all units
        marks = np.zeros(high - low + 1, bool)
        marks[days - low] = True
        days = np.flatnonzero(marks) + low
    return days[days != 0]


def stretches_of_days(corpus: Corpus, days: Ints) -> Ints:
    """Stretches that hold a unit of one of some days."""
    if not len(days):
        return np.zeros(0, np.int64)
    return distinct(corpus.column("stretch")[are_in(corpus.column("day"), days) & corpus.units.alive])


def ceiling_factors(
    corpus: Corpus, query: "QueryTerms", context: Context, weights: Weights, stretches: Ints
) -> NDArray[np.float64]:
    """What no unit of a stretch can be multiplied by more than, for some stretches."""
    when = weights.when if query.asks_when else 0.0
    out = by_flags(when, weights.corrects, 0.0, 0.0).take(corpus.stretches.column("flags").take(stretches))
    if context.closeness is not None or context.named or context.preferred:
        out *= special_factors(corpus, context, weights, stretches)
    return out


def special_factors(corpus: Corpus, context: Context, weights: Weights, stretches: Ints) -> NDArray[np.float64]:
    """The same for what is asked about days and speakers, and for files that the user put first."""
    table = corpus.stretches
    out = np.ones(len(stretches))
    if context.closeness is not None and weights.date:
        days = context.days if context.days is not None else days_of(corpus)
        near = context.closeness(days)
        days, near = days[near > 0], near[near > 0]
        slots = np.flatnonzero(are_in(corpus.column("day"), days) & corpus.units.alive)
        most = np.ones(table.count)
        close = near[np.searchsorted(days, corpus.column("day")[slots])]
        np.maximum.at(most, corpus.column("stretch")[slots], 1 + weights.date * close)
        out *= most[stretches]
    if context.named and weights.speaker:
        out *= 1 + weights.speaker
    if context.preferred and weights.memory:
        out[among(table.column("file")[stretches], context.preferred)] *= 1 + weights.memory
    return out


@lru_cache(maxsize=32)
def by_flags(when: float, corrects: float, repeats: float, asks: float) -> NDArray[np.float64]:
    """What units are multiplied by for what they are, by flags."""
    flags = np.arange(256)
    out = np.ones(256)
    for flag, factor in ((TIME_WORDS, 1 + when), (CORRECTS, 1 + corrects), (REPEATS, 1 - repeats), (ASKS, 1 - asks)):
        out[flags & flag > 0] *= factor
    out.flags.writeable = False
    return out


def among(numbers: Ints, some: frozenset[int]) -> NDArray[np.bool_]:
    """Which of some numbers (none negative) are in a set."""
    marks = np.zeros(max(int(numbers.max(initial=0)), *some) + 1, bool)
    marks[list(some)] = True
    return marks[numbers]


def _nearness(context: Context, days: Ints) -> NDArray[np.float64]:
    """How near days are to those asked for; 0 for an unknown one."""
    assert context.closeness is not None
    known = distinct(days)
    near = np.where(known != 0, context.closeness(known), 0.0)
    return near[np.searchsorted(known, days)]


def flag_factors(query: "QueryTerms", weights: Weights) -> NDArray[np.float64]:
    """What units are multiplied by for what their flags say, by flags."""
    return by_flags(weights.when if query.asks_when else 0.0, weights.corrects, weights.repeats, weights.asks)


def is_plain(context: Context) -> bool:
    """Whether units count more or less only for what their flags say."""
    return context.closeness is None and not (context.named or context.preferred or context.demoted)


def factors(
    corpus: Corpus, query: "QueryTerms", context: Context, weights: Weights, slots: Ints
) -> NDArray[np.float64]:
    """Steps 7 to 9 and what notes say of themselves, for some slots."""
    flags = corpus.column("flags").take(slots)
    if is_plain(context):
        return flag_factors(query, weights).take(flags)
    files = corpus.column("file")[slots]
    out = np.ones(len(slots))
    if context.closeness is not None and weights.date:
        out *= 1 + weights.date * _nearness(context, corpus.column("day")[slots])
    if context.named and weights.speaker:
        named = are_in(corpus.column("speaker")[slots], np.array(list(context.named), np.int32))
        for number in distinct(files[named]).tolist():
            entry = corpus.by_id[number]
            if entry is not None and entry.voices <= context.named:
                named &= files != number
        out[named] *= 1 + weights.speaker
    if query.asks_when and weights.when:
        out[flags & TIME_WORDS > 0] *= 1 + weights.when
    if weights.corrects:
        out[flags & CORRECTS > 0] *= 1 + weights.corrects
    if context.preferred and weights.memory:
        out[among(files, context.preferred)] *= 1 + weights.memory
    if context.demoted and weights.superseded:
        out[among(files, context.demoted)] *= 1 - weights.superseded
    if weights.repeats:
        out[flags & REPEATS > 0] *= 1 - weights.repeats
    if weights.asks:
        out[flags & ASKS > 0] *= 1 - weights.asks
    return out
