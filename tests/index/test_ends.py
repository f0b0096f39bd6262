"""Where columns end reads back as it was, near and far."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentscope_reme.index.ends import Ends

steps = st.one_of(st.integers(0, 3), st.sampled_from([4_000, 65_534, 65_535, 65_536, 2**31, 2**40]))


@given(st.lists(steps, max_size=70), st.lists(st.one_of(st.none(), st.integers(0, 90)), max_size=8))
def test_every_number_and_every_column_reads_as_it_was_written(steps, columns):
    plain = np.cumsum([0, *steps])
    ends = Ends(plain)
    assert len(ends) == len(plain)
    assert [ends[at] for at in range(len(plain))] == plain.tolist() == ends.whole().tolist()
    places = np.arange(len(plain))[::-2]
    assert ends.some(places).tolist() == plain[places].tolist()
    known = [one is not None and one < len(steps) for one in columns]
    wanted = [(plain[one], plain[one + 1]) if there else (0, 0) for one, there in zip(columns, known, strict=True)]
    assert ends.spans(columns) == wanted


@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_most_columns_take_two_bytes_and_a_half(kind):
    counts = [60_000] * 20 + [3] * 100_000
    ends = Ends(np.cumsum([0, *counts]).astype(kind))
    assert ends.nbytes < 2.6 * len(counts)
    assert ends[20] == 1_200_000
    assert ends.spans([19, 20, 100_019]) == [(1_140_000, 1_200_000), (1_200_000, 1_200_003), (1_499_997, 1_500_000)]
