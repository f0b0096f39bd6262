"""Whole numbers in few bytes read back as they were, in slices and one by one, and damaged ones are refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentscope_reme.index.narrow import Narrow

LIMITS = [0, 1, 2, 254, 255, 256, 65_535, 65_536, 16_777_215, 16_777_216, 2**31 - 1]
numbers = st.one_of(st.integers(0, 3), st.sampled_from(LIMITS), st.integers(0, 2**31 - 1))


@given(st.lists(numbers, max_size=60), st.integers(0, 70), st.integers(0, 70))
def test_every_slice_and_every_choice_of_places_reads_as_it_was_written(values, begin, end):
    plain = np.array(values, np.int32)
    narrow = Narrow.of(plain, np.int32)
    restored = Narrow.load(narrow.dump(), np.int32)
    for one in (narrow, restored):
        assert len(one) == len(plain)
        assert one.whole().tolist() == values
        assert one[begin:end].tolist() == values[begin:end]
        assert one[begin:end].dtype == np.int32
        places = np.arange(len(plain))[::-2]
        assert one[places].tolist() == plain[places].tolist()
        assert one.largest() == max(values, default=-1)


spans = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)).map(sorted).map(tuple), max_size=6)


@given(st.lists(numbers, min_size=60, max_size=60), st.sampled_from([0, 1, 255, 65_535, 131_071, 2**31 - 1]), spans)
def test_several_stretches_read_together_are_each_read_alone(values, most, spans):
    plain = np.minimum(np.array(values, np.int32), most)
    for narrow in (Narrow.of(plain, np.int32), Narrow.of(np.tile(plain, 9), np.int32)):
        together = narrow.parts(spans)
        assert together.dtype == np.int32
        assert together.tolist() == [one for begin, end in spans for one in plain[begin:end].tolist()]
        together[:] = 7  # what was read is nobody else's
        assert narrow.parts(spans).tolist() == [one for begin, end in spans for one in plain[begin:end].tolist()]


@given(st.lists(st.integers(0, 131_071), unique=True, min_size=1, max_size=60), st.integers(0, 60), st.integers(0, 60))
def test_a_stretch_with_a_bit_of_its_own_for_each_reads_the_same(values, begin, end):
    begin, end = sorted((min(begin, len(values)), min(end, len(values))))
    plain = np.array([70_000] * 200 + sorted(values), np.int32)  # so many that a bit of their own is kept for each
    narrow = Narrow.of(plain, np.int32)
    assert narrow.planes == 1
    assert narrow.part(200 + begin, 200 + end).tolist() == plain[200 + begin : 200 + end].tolist()


@pytest.mark.parametrize(
    ("values", "width"),
    [
        ([1] * 990 + [7] * 10, 0),
        ([200] * 990 + [70_000] * 10, 1),
        ([60_000] * 1_000, 2),
        ([100_000] * 1_000, 2 + 1 / 8),
        ([1_000_000] * 1_000, 2 + 4 / 8),
        ([2_000_000] * 1_000, 3),
        ([20_000_000] * 1_000, 4),
    ],
)
def test_the_width_is_what_most_need(values, width):
    narrow = Narrow.of(np.array(values), np.int32)
    assert (narrow.width, narrow.planes) == (int(width), round(width % 1 * 8))
    assert narrow.nbytes <= width * len(values) + 1 + 10 * 8
    assert narrow.whole().tolist() == values


def test_what_is_read_as_a_look_into_the_values_cannot_be_written_to():
    with pytest.raises(ValueError, match="read-only"):
        Narrow.of(np.array([2**31 - 1] * 8), np.int32)[:][0] = 1


def test_long_arrays_are_the_same_over_the_borders_of_what_is_looked_at_together():
    values = (np.arange(200_003) * 7_919) % 66_000  # that some need 17 bits
    narrow = Narrow.of(values, np.int32)
    assert (narrow.whole() == values).all()
    assert (narrow[65_530:131_080] == values[65_530:131_080]).all()
    assert narrow.largest() == 65_999


@pytest.mark.parametrize("most", [1, 255, 65_535])
def test_larger_values_are_found_over_the_borders_of_what_shares_the_higher_bytes_of_a_place(most):
    values = np.full(200_003, most, np.int32)
    larger = [0, 4_095, 4_096, 65_535, 65_536, 65_537, 131_071, 131_072, 150_000, 196_608, 200_002]
    values[larger] = np.arange(len(larger)) + 70_000
    narrow = Narrow.load(Narrow.of(values, np.int32).dump(), np.int32)
    assert narrow.width == {1: 0, 255: 1, 65_535: 2}[most]
    assert (narrow.whole() == values).all()
    borders = sorted({0, 200_003, *larger, *(at + 1 for at in larger)})
    spans = [(begin, end) for begin in borders for end in borders if begin <= end]
    assert all((narrow.part(*span) == values[slice(*span)]).all() for span in spans)
    assert (narrow.parts(spans) == np.concatenate([values[slice(*span)] for span in spans])).all()
    places = np.array(borders[:-1])[::-1]
    assert (narrow[places] == values[places]).all()


@pytest.mark.parametrize(
    "wrong",
    [
        {".data": np.zeros(3, np.uint8)},
        {".data": np.zeros(5, np.int32)},
        {".at": np.array([9], np.int32)},
        {".at": np.array([-1], np.int32)},
        {".larger": np.array([700, 800], np.uint16)},
        {".shape": np.array([7, 0, 4])},
        {".shape": np.array([1, 1, 4])},
        {".shape": np.array([1])},
    ],
)
def test_parts_that_do_not_belong_together_are_refused(wrong):
    parts = Narrow.of(np.array([2, 3, 4, 700]), np.int32).dump()
    assert Narrow.load(parts, np.int32).whole().tolist() == [2, 3, 4, 700]
    with pytest.raises(ValueError, match=r"narrow array|unpack"):
        Narrow.load(parts | wrong, np.int32)


@given(st.lists(st.integers(0, 2**17 + 5), min_size=20, max_size=60), st.integers(0, 70), st.integers(0, 70))
def test_higher_bits_are_read_with_the_others(values, begin, end):
    plain = np.array([*values, *[70_000] * 400], np.int32)
    narrow = Narrow.load(Narrow.of(plain, np.int32).dump(), np.int32)
    assert narrow.planes in (1, 2)
    assert narrow[begin:end].tolist() == plain[begin:end].tolist()
    places = np.arange(len(plain))[::-3]
    assert narrow[places].tolist() == plain[places].tolist()
    assert narrow.whole().tolist() == plain.tolist()
