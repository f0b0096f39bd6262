"""Arguments of the compiled loops, spoiled at random: they are refused or answered, and the next call is right."""

import contextlib
import gc
import random
import tracemalloc
from array import array
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from agentscope_reme.index.compiled import form, kernels
from agentscope_reme.index.ends import Ends
from agentscope_reme.index.narrow import Narrow
from agentscope_reme.index.paired import Paired
from agentscope_reme.index.vocabulary import Vocabulary

from .forms import ends_where_a_loop_has_no_end  # noqa: F401
from .test_compiled_misfits import ints, longs, table

pytestmark = [
    pytest.mark.skipif(kernels is None, reason=f"there is no compiled form: {form}"),
    pytest.mark.usefixtures("ends_where_a_loop_has_no_end"),
]

REFUSED = (
    AttributeError,
    IndexError,
    KeyError,
    MemoryError,
    OverflowError,
    TypeError,
    UnicodeError,
    ValueError,
    ZeroDivisionError,
)
NUMBERS = [0, 1, -1, 2, 7, 255, 65_535, 65_536, 2**31 - 1, -(2**31), 2**32, 2**40, 2**63 - 1, -(2**63)]
FLOATS = [0.0, -0.0, 1.0, -1.0, 0.5, 5e-324, 1e308, float("inf"), float("-inf"), float("nan")]
KINDS = [
    np.int8,
    np.uint8,
    np.int16,
    np.uint16,
    np.int32,
    np.uint32,
    np.int64,
    np.float32,
    np.float64,
    np.bool_,
    object,
]


class Spoiling:
    """Makes values that do not fit out of those that do."""

    def __init__(self, seed: str) -> None:
        self.random = random.Random(seed)

    def array(self, values: Any) -> Any:
        random, size = self.random, len(values)
        fitting = FLOATS
        if values.dtype.kind in "iu":
            bounds = np.iinfo(values.dtype)
            fitting = [value for value in NUMBERS if bounds.min <= value <= bounds.max]
        if values.dtype.itemsize < 8:
            fitting = [value for value in fitting if abs(value) not in (5e-324, 1e308)]
        some = values.copy()
        for _ in range(random.randint(1, 3) if size else 0):
            some.reshape(-1)[random.randrange(some.size or 1) : :][:1] = random.choice(fitting)
        frozen = values.copy()
        frozen.flags.writeable = False
        with np.errstate(all="ignore"):
            return random.choice(
                [
                    some,
                    some,
                    some,
                    values[: random.randint(0, size)],
                    np.concatenate((values, values)),
                    values[:0],
                    np.concatenate((values, values))[::2],
                    values[::-1],
                    np.full(values.shape, random.choice(fitting), values.dtype),
                    values.astype(random.choice(KINDS)),
                    values.astype(values.dtype.newbyteorder()),
                    frozen,
                    values.tolist(),
                    None,
                ]
            )

    def value(self, value: Any) -> Any:
        random = self.random
        if isinstance(value, np.ndarray):
            return self.array(value)
        if isinstance(value, array):
            spoiled = self.array(np.array(value, value.typecode))
            fits = isinstance(spoiled, np.ndarray) and spoiled.dtype == value.typecode
            return array(value.typecode, spoiled.tobytes()) if fits else spoiled
        if isinstance(value, int):
            return random.choice([*NUMBERS, value + 1, value - 1, 2**70, 1.5, "x", None])
        if isinstance(value, float):
            return random.choice([*FLOATS, "x", None])
        if isinstance(value, str | bytes):
            return random.choice([value[:0], value * 2, value[:-1], value[::-1], None, 7])
        if isinstance(value, dict):
            return {random.choice([0, 1, 16]): random.choice([*NUMBERS, None, 2**70]) for _ in range(3)}
        if isinstance(value, list | tuple):
            parts = list(value)
            at = random.randrange(len(parts)) if parts else 0
            how = random.randrange(6)
            if how == 0:
                del parts[at : at + 1]
            elif how == 1:
                parts[at:at] = parts[-1:] or [0]
            elif how == 2:
                return tuple(parts) if isinstance(value, list) else None
            elif parts:
                parts[at] = self.value(parts[at])
            return type(value)(parts)
        return None

    def arguments(self, values: list[Any]) -> list[Any]:
        for _ in range(self.random.randint(1, 3)):
            at = self.random.randrange(len(values))
            # What was spoiled once may be so odd that numpy does not spoil it again.
            with contextlib.suppress(OverflowError, ValueError, TypeError):
                values[at] = self.value(values[at])
        return values


def _of_reader(*parts: Any) -> list[Any]:
    *fields, numbers = parts
    reader = kernels.Reader(*fields)
    return [*reader.read(numbers), *(reader.places(numbers) if len(fields) > 2 else ())]


def _of_finder(packed: Any, lower: Any, first: Any, low: Any, high: Any, begins: Any, terms: Any) -> Any:
    return kernels.Finder(packed, lower, first, low, high, begins).find(terms, {})


def _of_rows(columns: Any, rows: Any) -> Any:
    return [kernels.rows_of(columns)(row) for row in rows]


def _fitting() -> dict[str, tuple[Callable[..., Any], Callable[[], list[Any]]]]:
    """Each loop with arguments that belong together, made anew each time."""
    slots, tf, sizes = ints(0, 2, 5, 1, 2, 3, 4), ints(1, 3, 1, 2, 1, 1, 9), [3, 0, 3, 1]
    stretch_of, slot_at = ints(0, 0, 1, 1, 1, 2), np.full(40, -1, np.int32)
    place_of = ints(4, 5, 10, 11, 12, 13)
    slot_at[place_of] = range(6)
    columns = table((-1, -1, 1), (-1, 2, -1), (0, 1, 1), (4, 10, 13), (2, 3, 1), (0, 1, -1))
    columns[1][1:] = 1
    floats, bonus, ones = np.array([0.5, 0.2, 0.9, 0.2, 0.0]), np.array([0.0, 1.5, 0.0]), np.ones(9)
    texts = [slots, tf, sizes, np.ones(4, np.float32), ones, np.ones(9, np.uint16), 9, 2]
    links = [ints(0, 1, 2, 0, 1, 2, 0, 1, 2), ints(0, 1, 2, 3, 4, 5, 0, 1, 2), ints(4, -1, 0, 3), -2]
    words = Vocabulary()
    words.numbers([f"word{number}" for number in range(40)] + ["花园"])
    words.settle()
    found = [words._packed, words._lower, words._first, words._number_lower, words._number_upper, words._begins.parts]
    many = np.arange(5_000) % 7 + 1
    many[::900] = 70_000
    apart = [(Narrow.of(many, np.int32).fields(), Narrow.of(many % 5, np.uint16).fields())]
    paired = [Paired.of(slots, tf + 14).fields(), Ends(longs(0, 15, 32, 47)).parts]
    paired.append(Narrow.of(np.arange(160) % 99, np.uint16).fields())
    labels = np.array([0.1, 0.7, 0.4], np.float32)
    sums = [longs(0, 1, 1, 2), ints(0, 0, 1, 1), ints(1, 2, 1, 3), np.ones(2), ints(1), ints(0), np.ones(1), longs(1)]
    factors = [0.1, 0.5, 0.2, 0.3, 2.0, 1.2, 20.0, 0.4]
    counted = (slots, tf, stretch_of[slots], sizes)
    pairs = (ints(2), ints(0), ints(1))
    units = [longs(0, 1, 2), longs(0, 1), ones[:2], 0.4, columns, counted, pairs, place_of, slot_at]
    units += [np.ones(40, np.uint16), np.zeros(6, np.uint8), ones[:2], ones[:1], bonus, 0.1, 0.2, 1.2, 20.0, True, 2]

    def excerpt(at: int) -> tuple[Any, ...]:
        return (f"{at % 2}.md", at, 0, 0, f"some words {at}", 0.5 - at / 20, 0, 0, False)

    given: dict[str, tuple[Callable[..., Any], list[Any]]] = {
        "top": (kernels.top, [floats, 2]),
        "last_place": (kernels.last_place, [floats, 2]),
        "in_order": (kernels.in_order, [floats, 1.5, 3, 6]),
        "living": (kernels.living, [slots, tf, sizes, np.array([1, 0, 1, 1, 0, 1], np.uint8)]),
        "occurrences": (kernels.occurrences, [slots, tf, sizes, np.arange(18, dtype=np.int32), None]),
        "following": (kernels.following, [longs(1, 5, 2, 7, 9), [2, 0, 3], [(0, 2), (2, 0), (1, 1)]]),
        "sum_by_stretch": (kernels.sum_by_stretch, [slots, tf, sizes, stretch_of]),
        "scored": (kernels.scored, texts),
        "answers": (kernels.answers, [*texts, *links]),
        "may_stand": (kernels.may_stand, ["garden", longs(0, 2), [np.zeros(3, np.uint32)] * 2, 0, 65_536]),
        "label_bonus": (kernels.label_bonus, [np.zeros(9), longs(1, 3, 4), labels, ints(5, 4, 3, 2, 1), 1.5, 1]),
        "label_evidence": (
            kernels.label_evidence,
            [slots, sizes, ints(0, 1, 2, 0, 1, 2), ones[:4], [[0], [1, 2], [3]], ints(2, 0), 3],
        ),
        "evidence": (kernels.evidence, [np.ones((3, 5)), longs(1, 4), ones[:3], [[0], [1, 2]], np.zeros(2)]),
        "positive": (kernels.positive, [ints(0, 1, 2, 3, 4), floats, np.zeros(5, np.uint8), np.ones(256)]),
        "chosen": (kernels.chosen, [longs(0, 2), longs(1), bonus, columns, columns[8]]),
        "candidates": (kernels.candidates, [*sums, bonus, columns, np.ones(256), *factors]),
        "score_units": (kernels.score_units, units),
        "Finder": (_of_finder, [*found, ["word7", "花园", "unheard", "\ud800"]]),
        "Reader": (_of_reader, [Ends(longs(0, 1, 4, 7)).parts, *paired, [0, 1, None, 2, 1, 9, -4]]),
        "Reader without places": (_of_reader, [Ends(longs(0, 900, 4_999, 5_000)).parts, *apart, [2, 0, None, 1]]),
        "squashed": (kernels.squashed, ["A_b 中"]),
        "count_tokens": (kernels.count_tokens, ["A_b 中"]),
        "first_alike": (kernels.first_alike, ["ab", ["abc", "", "xaby"], 0, 3, 2]),
        "best_files_first": (kernels.best_files_first, [[0, 1, 0, 2], [1.0, 0.8, 0.5, 0.1], 2, 0.5, 1, 0.2]),
        "checked_text": (kernels.checked_text, [b"ab\r\n\0c", 0, 6, 999]),
        "rows_of": (_of_rows, [[ints(1, 2, 3), longs(4, 5, 6), np.ones(3, np.uint8)], [0, 2, 1]]),
        "taken": (kernels.taken, [[ints(1, 2, 3), longs(4, 5, 6), np.ones(3, np.uint8)], [0, 2, 1]]),
        "all_differ": (kernels.all_differ, [bytes(range(80)), [3, 0, 3, 9], 8]),
        "pack": (
            kernels.pack,
            [[(0, 0), (1, 1), (0, 2)], [0, 1, 2], excerpt, 2, 500, None, 4_000, lambda *parts: parts, 1_000, 5, 3, 2],
        ),
    }
    return {
        name: (loop, lambda values=values: [_fresh(value) for value in values])
        for name, (loop, values) in given.items()
    }


def _fresh(value: Any) -> Any:
    return value.copy() if isinstance(value, np.ndarray) else value


FITTING = _fitting() if kernels is not None else {}


def _shown(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    return [_shown(one) for one in value] if isinstance(value, list | tuple) else value


def spoiled_calls(name: str, calls: int) -> None:
    loop, arguments = FITTING[name]
    before = _shown(loop(*arguments()))
    refused = 0
    for number in range(calls):
        spoiled = Spoiling(f"{name} {number}").arguments(arguments())
        try:
            loop(*spoiled)
        except REFUSED:
            refused += 1
    assert refused > calls // 20
    assert _shown(loop(*arguments())) == before


@pytest.mark.parametrize("name", FITTING)
def test_arguments_that_do_not_fit_are_refused_or_answered(name):
    spoiled_calls(name, 150)


@pytest.mark.slow
@pytest.mark.parametrize("name", FITTING)
def test_many_more_of_them_are_too(name):
    spoiled_calls(name, 8_000)


@pytest.mark.parametrize("name", FITTING)
def test_what_was_refused_leaves_no_memory_taken(name):
    loop, arguments = FITTING[name]
    spoiled = [Spoiling(f"{name} {number}").arguments(arguments()) for number in range(60)]

    def call_all(times: int) -> int:
        for _ in range(times):
            for some in spoiled:
                with contextlib.suppress(*REFUSED):
                    loop(*some)
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    call_all(2)
    tracemalloc.start()
    try:
        before = call_all(2)
        grown = []
        for _ in range(3):  # other threads of the process may take some meanwhile
            now = call_all(10)
            grown.append(now - before)
            before = now
        assert min(grown) < 300  # half a byte a call; an object has 16 and more
    finally:
        tracemalloc.stop()
