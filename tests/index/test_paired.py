"""Slots and frequencies in one number read back as they were, and damaged ones are refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentscope_reme.index.paired import Paired

slots = st.one_of(
    st.integers(0, 300), st.sampled_from([0, 2**20 - 1, 2**20, 2**24 - 1, 2**24, 2**31 - 1]), st.integers(0, 2**31 - 1)
)
frequencies = st.one_of(st.integers(1, 3), st.sampled_from([14, 15, 16, 254, 255, 256, 65_535]))
postings = st.lists(st.tuples(slots, frequencies), max_size=60)
stretches = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)).map(sorted).map(tuple), max_size=5)


def lists(found):
    return [part.tolist() for part in found]


@given(postings, stretches)
def test_every_stretch_and_every_choice_of_places_reads_as_it_was_written(values, spans):
    spans = [(min(begin, len(values)), min(end, len(values))) for begin, end in spans]
    plain = np.array(values, np.int64).reshape(-1, 2).T
    paired = Paired.of(*plain)
    for one in (paired, Paired.load(paired.dump())):
        assert len(one) == len(values)
        assert lists(one.part(0, len(one))) == plain.tolist()
        for begin, end in spans:
            assert lists(one.part(begin, end)) == plain[:, begin:end].tolist()
        whole = [[row for begin, end in spans for row in part[begin:end].tolist()] for part in plain]
        assert lists(one.parts(spans)) == whole
        places = np.arange(len(values))[::-2]
        assert lists(one.picked(places)) == plain[:, places].tolist()
        assert one.largest() == max((slot for slot, _ in values), default=-1)


@pytest.mark.parametrize(("most", "width"), [(2**20 - 1, 3), (2**20, 4), (2**24 - 1, 4)])
def test_a_posting_takes_three_bytes_where_all_slots_have_room_in_twenty_bits(most, width):
    paired = Paired.of(np.array([*range(998), most - 1, most]), np.array([*[1] * 998, 3, 900]))
    assert paired.nbytes <= 1_000 * width + 1 + 12
    assert lists(paired.part(997, 1_000)) == [[997, most - 1, most], [1, 3, 900]]


def test_long_postings_are_the_same_over_the_borders_of_what_is_looked_at_together():
    values = (np.arange(200_003) * 7_919) % 108_000
    counts = 1 + (np.arange(200_003) % 65_536 == 65_535) * 40
    paired = Paired.load(Paired.of(values, counts).dump())
    found, frequencies = paired.part(65_530, 196_700)
    assert (found == values[65_530:196_700]).all()
    assert (frequencies == counts[65_530:196_700]).all()
    assert paired.largest() == int(values.max())


def test_what_is_read_is_a_copy():
    paired = Paired.of(np.array([1, 2, 3]), np.array([1, 1, 20]))
    for part in (*paired.part(0, 3), *paired.parts([(0, 2), (2, 3)]), *paired.picked(np.array([2]))):
        part += 7
    assert lists(paired.part(0, 3)) == [[1, 2, 3], [1, 1, 20]]


@pytest.mark.parametrize(
    "wrong",
    [
        {".data": np.zeros(3, np.uint8)},
        {".data": np.zeros(10, np.int32)},
        {".data": np.zeros(10, np.uint8)},
        {".at": np.array([0], np.int64)},
        {".at": np.array([9], np.int64)},
        {".larger": np.array([700, 800], np.int32)},
        {".form": np.array([3, 24])},
        {".form": np.array([2, 20])},
        {".form": np.array([1])},
    ],
)
def test_parts_that_do_not_belong_together_are_refused(wrong):
    parts = Paired.of(np.array([2, 3, 700]), np.array([1, 2, 900])).dump()
    assert lists(Paired.load(parts).part(0, 3)) == [[2, 3, 700], [1, 2, 900]]
    with pytest.raises(ValueError, match=r"postings|unpack"):
        Paired.load(parts | wrong)
