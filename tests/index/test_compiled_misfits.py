"""Whatever the compiled loops are handed, they answer or raise: no crash, no loop without end, no write elsewhere.

Under ``scripts/sanitized.sh`` a read or write outside of an array ends these tests, which else could pass by luck.
"""

from array import array
from typing import Any

import numpy as np
import pytest

from agentscope_reme.index.compiled import form, kernels
from agentscope_reme.index.ends import Ends
from agentscope_reme.index.vocabulary import Vocabulary

from .forms import ends_where_a_loop_has_no_end  # noqa: F401

pytestmark = [
    pytest.mark.skipif(kernels is None, reason=f"there is no compiled form: {form}"),
    pytest.mark.usefixtures("ends_where_a_loop_has_no_end"),
]

NONE = np.zeros(0, np.int32)
PAIRS = (NONE, NONE, NONE)


def ints(*values: int) -> Any:
    return np.array(values, np.int32)


def longs(*values: int) -> Any:
    return np.array(values, np.int64)


def table(before=(-1,), after=(-1,), joined=(0,), place=(4,), size=(2,), first=(0, -1)) -> tuple[Any, ...]:
    """Columns of stretches, all of one file."""
    count = len(before)
    file, flags = np.zeros(count, np.int32), np.zeros(count, np.uint8)
    ones = np.ones(count, np.int32)
    return (
        ints(*first),
        file,
        ones,
        ones,
        flags,
        ints(*before),
        ints(*after),
        np.array(joined, np.uint8),
        ints(*place),
        ints(*size),
    )


CIRCLE = table(before=(-1, 0), after=(1, 0), joined=(1, 1), place=(4, 6), size=(2, 2))


def candidates(columns: tuple[Any, ...], sums: Any) -> Any:
    return kernels.candidates(
        sums,
        NONE,
        NONE,
        np.ones(1),
        NONE,
        NONE,
        np.ones(1),
        longs(0),
        np.ones(2),
        columns,
        np.ones(256),
        0.1,
        0.5,
        0.2,
        0.3,
        2.0,
        1.2,
        20.0,
        0.4,
    )


def test_stretches_in_a_circle_are_an_error():
    with pytest.raises(ValueError, match="circle"):
        candidates(CIRCLE, longs())
    with pytest.raises(ValueError, match="circle"):
        kernels.chosen(longs(0), longs(), np.ones(2), CIRCLE, CIRCLE[8])


def scored_units(columns: tuple[Any, ...], chosen: Any, postings: Any, place_of: Any, slot_at: Any) -> Any:
    return kernels.score_units(
        chosen,
        longs(),
        np.zeros(0),
        0.4,
        columns,
        postings,
        PAIRS,
        place_of,
        slot_at,
        np.ones(len(slot_at), np.uint16),
        np.zeros(9, np.uint8),
        np.ones(1),
        np.zeros(0),
        np.ones(2),
        0.1,
        0.2,
        1.2,
        20.0,
        True,
        2,
    )


def test_a_word_in_a_stretch_that_is_only_said_to_be_joined_counts_nowhere_else():
    # The first says that the second is behind it, the second knows of none.
    columns = table(before=(-1, -1), after=(1, -1), joined=(1, 0), place=(4, 20), size=(2, 2))
    postings = (ints(2), ints(1), ints(1), [1, 0])
    place_of, slot_at = ints(4, 5, 20, 21), np.full(32, -1, np.int32)
    slot_at[[4, 5, 20, 21]] = range(4)
    slots, own, _, saturated = scored_units(columns, longs(0), postings, place_of, slot_at)
    assert slots.tolist() == [0, 1]
    assert own.tolist() == [0, 0]
    assert not saturated.any()


@pytest.mark.parametrize(("place", "size"), [(4, -2), (-1, 2), (4, 2**31 - 1), (31, 2), (2**31 - 1, 2**31 - 1)])
def test_a_stretch_outside_of_all_places_is_an_error(place, size):
    postings = (ints(0), ints(1), ints(0), [1, 0])
    with pytest.raises(IndexError, match="outside"):
        scored_units(table(place=(place,), size=(size,)), longs(0), postings, ints(4, 5), np.zeros(32, np.int32))


@pytest.mark.parametrize("sizes", [[3, -3, 3, -3, 3, 0], [-1, 0, 4, 0], [4, 0], [2, 0], [3], [3, 0, 0], [2**62, 2**62]])
def test_counts_that_do_not_add_up_to_the_postings_are_an_error(sizes):
    slots, tf = ints(0, 1, 2), ints(1, 1, 1)
    for _ in range(50):
        with pytest.raises(IndexError):
            kernels.sum_by_stretch(slots, tf.copy(), sizes, ints(0, 0, 0))
    idf = np.zeros(len(sizes), np.float32)
    if sum(sizes) != 3 or min(sizes) < 0:
        with pytest.raises(IndexError):
            kernels.scored(slots, tf, sizes, idf, np.ones(3), np.ones(3, np.uint16), 3, 0)
        with pytest.raises(IndexError):
            kernels.living(slots, tf, [*sizes, -sum(sizes)], np.ones(3, np.uint8))


def test_texts_that_are_in_no_stretch_are_summed_up_apart():
    found = kernels.sum_by_stretch(ints(0, 1, 0), ints(2, 3, 1), [2, 1], ints(-1, -1))
    stretch, term, at, times, having, spread = found
    assert (stretch.tolist(), term.tolist(), at.tolist(), times.tolist()) == ([-1, -1, -1], [0], [-1], [6])
    assert (having, spread) == ([2], [1])


def test_larger_values_that_stand_before_what_is_read_are_an_error():
    ends = Ends(np.array([0, 2, 4])).parts
    data = np.full(13, 255, np.uint8)
    for places in (longs(3, 0, 2), longs(2, -5), longs(2, -(2**63))):
        reader = kernels.Reader(ends, ((data, 3, 20, places, ints(7, 7, 7)),))
        for numbers in ([1], [0, 1], [1, 1, 0]):
            try:
                slots, _, sizes = reader.read(numbers)
            except IndexError:
                continue
            assert len(slots) == sum(sizes)
    near = array("i", [2, 2, 2])  # says that the block's larger values begin behind those that there are
    narrow = (np.zeros(9, np.uint8), 1, 0, 8, array("H", [1, 2]), near, np.full(2, 99, np.uint8))
    late = (np.zeros(9, np.uint8), 1, 0, 8, array("H", [2, 7, 3]), array("i", [0, 3, 3]), np.full(3, 99, np.uint8))
    ends = Ends(np.array([0, 4, 8])).parts
    assert kernels.Reader(ends, (narrow, narrow)).read([1])[0].tolist() == [0] * 4
    with pytest.raises(IndexError, match="ascend"):
        kernels.Reader(ends, (late, late)).read([1])


@pytest.mark.parametrize(
    ("width", "planes", "size"), [(-1, 0, 8), (5, 0, 1), (0, 1, 8), (1, 2, 1), (2, 16, 1), (1, 0, -8)]
)
def test_widths_that_no_narrow_array_has_are_an_error(width, planes, size):
    fields = (np.zeros(99, np.uint8), width, planes, size, array("H"), array("i", [0, 0, 0]), NONE.astype(np.uint8))
    with pytest.raises(ValueError, match="narrow"):
        kernels.Reader(Ends(np.array([0, 4, 8])).parts, (fields, fields))


def test_a_term_that_begins_beyond_all_terms_is_not_found():
    words = Vocabulary()
    words.numbers(["otter"])
    words.settle()
    parts = words._lower, words._first, words._number_lower, words._number_upper
    for far in (2**63 - 1, 2**63 - 3, -(2**63), -1, 6, 5, 1):
        begins = array("I", [0]), array("H", [0xFFFF, 6]), {0: far}
        assert kernels.Finder(words._packed, *parts, begins).find(["otter"], {}) == [None]
    assert kernels.Finder(words._packed, *parts, words._begins.parts).find(["otter"], {}) == [0]


def test_values_that_would_divide_by_zero_are_an_error():
    with pytest.raises(ValueError, match="16 bits"):
        kernels.may_stand("otter", longs(0), [np.zeros(1, np.uint32)], 0, 2)
    with pytest.raises(ValueError, match="a page"):
        kernels.pack([(0, 0)], [0], lambda at: None, 3, 100, None, 400, tuple, 0, 5, 3, 2)
    assert len(kernels._Paired.__new__(kernels._Paired)) == 0


def test_what_is_no_list_or_no_bytes_is_an_error():
    with pytest.raises(TypeError):
        kernels.evidence(np.ones((1, 2)), longs(1), np.ones(1), [(0,)], np.zeros(1))
    with pytest.raises(TypeError):
        kernels.checked_text(None, 0, 10, 0)
    assert kernels.checked_text(b"otter", 3, -2, 0) == ""
    with pytest.raises(TypeError):
        kernels.Finder(
            b"", array("H"), array("I", bytes(4 * 65_537)), array("H"), array("B"), Ends(longs(0)).parts
        ).find([7], {})


def test_more_texts_than_there_are_lengths_are_an_error():
    for count in (4, -1, 2**40, 2**63 - 1):
        with pytest.raises(IndexError):
            kernels.scored(ints(0), ints(1), [1], np.ones(1, np.float32), np.ones(3), np.ones(3, np.uint16), count, 0)
        if count > 4:
            with pytest.raises(ValueError, match="more than any index"):
                kernels.label_evidence(ints(0), [1], ints(0), np.ones(1), [[0]], ints(0), count)


def test_scores_below_zero_are_in_order_too():
    random = np.random.default_rng(3)
    for size in (10, 200, 900):
        raw = random.normal(size=size)
        for want in (1, size // 2, size):
            assert kernels.last_place(raw, want) == np.sort(raw)[size - want]
