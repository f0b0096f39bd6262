"""Tombstones: the last ids that left, in few bytes, in order."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentscope_reme.memory.tombstones import Tombstones


@given(st.lists(st.text(max_size=12), max_size=60), st.integers(0, 40), st.text(max_size=12))
def test_they_know_the_last_ones_and_come_back_from_their_text(ids, limit, other):
    stones, expected = Tombstones(), []
    for name in ids:
        stones.add(name)
        if name not in expected:
            expected.append(name)
        stones.bound(limit)
        expected = expected[-limit:] if limit else []
    again = Tombstones.of(stones.text())
    for known in (stones, again):
        assert known.count() == len(expected)
        assert all(name in known for name in expected)
        assert (other in known) == (other in expected)
    assert again.text() == stones.text()
    assert len(stones.text()) == 8 * len(expected)


@pytest.mark.parametrize("text", ["AAAA", "????????", "AAAAAAAAA", "AAAAAAA=", "ä" * 8])
def test_what_is_not_theirs_is_refused(text):
    with pytest.raises(ValueError):  # noqa: PT011 (the reasons differ)
        Tombstones.of(text)
