"""Where words of a question follow each other: two neighbouring ones, and all that stand in quotation marks."""

from collections.abc import Sequence
from functools import reduce
from itertools import accumulate, pairwise

import numpy as np

from .compiled import kernels
from .keyword import KeywordIndex
from .keyword_columns import Ints, are_in, distinct


def following(keys: Ints, sizes: Sequence[int], pairs: Sequence[tuple[int, int]]) -> tuple[Ints, Ints]:
    """Slots in which the second word of a pair stands one or two places after the first, and which pair it is.

    ``keys`` are ``slot << 16 | place`` of every occurrence, ascending, one word's after the other's; ``sizes`` is how
    many each word has, and ``pairs`` are numbers of words. Slots ascend and are distinct for each pair.
    """
    if kernels is not None:
        found: tuple[Ints, Ints] = kernels.following(keys, sizes, pairs)
        return found
    ends = [0, *accumulate(sizes)]
    words = [keys[begin:end] for begin, end in pairwise(ends)]
    looked: list[Ints] = []
    begins: list[Ints] = []
    follows: list[Ints] = []
    counts: list[int] = []
    for one, two in pairs:
        first, second = words[one], words[two]
        if not len(first) or not len(second):
            counts.append(0)
            continue
        # The next one after each, or the last one before; beyond the end it is one that does not follow.
        if len(first) <= len(second):
            begins.append(first)
            follows.append(second.take(second.searchsorted(first, "right"), mode="clip"))
            looked.append(first)
        else:
            begins.append(first.take(first.searchsorted(second) - 1, mode="clip"))
            follows.append(second)
            looked.append(second)
        counts.append(len(looked[-1]))
    if not looked:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    gap = np.concatenate(follows) - np.concatenate(begins)
    hits = ((gap > 0) & (gap <= 2)).nonzero()[0]
    slots = np.concatenate(looked)[hits] >> 16
    number = np.arange(len(pairs)).repeat(counts)[hits]
    new = np.empty(len(hits), bool)
    new[:1] = True
    np.not_equal(slots[1:], slots[:-1], out=new[1:])
    new[1:] |= number[1:] != number[:-1]
    return slots[new], number[new]


def quoting(units: KeywordIndex, phrases: Sequence[Sequence[str]]) -> tuple[Ints, Ints, Ints]:
    """The slots of texts that hold any of some phrases, as index terms; and which phrase it is.

    Slots ascend and are distinct for each phrase. Then those of the texts that hold all of them.
    """
    found = [_with(units, phrase) for phrase in phrases]
    number = np.arange(len(phrases), dtype=np.int32).repeat([len(slots) for slots in found])
    return np.concatenate(found), number, reduce(lambda one, two: one[are_in(one, two)], found)


def _with(units: KeywordIndex, phrase: Sequence[str]) -> Ints:
    terms = list(dict.fromkeys(phrase))
    keys, sizes = units.occurrences(units.gather(terms))
    ends = np.cumsum([0, *sizes]).tolist()
    places = {term: keys[ends[at] : ends[at + 1]] for at, term in enumerate(terms)}
    # ``slot << 16 | place`` of where the phrase would begin, by its rarest word; each other one must stand as far on.
    rarest, *others = sorted(range(len(phrase)), key=lambda at: len(places[phrase[at]]))
    begins = places[phrase[rarest]] - rarest
    for at in others:
        there, wanted = places[phrase[at]], begins + at
        if not len(begins):
            break
        begins = begins[there.take(there.searchsorted(wanted), mode="clip") == wanted]
    return distinct(begins >> 16).astype(np.int32)
