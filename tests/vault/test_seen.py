"""What a journal knows of its lines: a set of keys with offsets, in sixteen bytes each."""

from hypothesis import given
from hypothesis import strategies as st

from agentscope_reme.vault.seen import Seen, seen_key

keys = st.integers(0, 2**64 - 1) | st.integers(0, 600)


@given(st.lists(st.tuples(keys, st.integers(0, 2**63)), max_size=200), st.lists(keys, max_size=40))
def test_it_is_a_dictionary_that_keeps_the_first_value(pairs, asked):
    seen, expected = Seen(), {}
    for key, offset in pairs:
        seen.add(key, offset)
        expected.setdefault(key, offset)
    for key in [*expected, *asked]:
        assert seen.get(key) == expected.get(key)


@given(
    st.text(max_size=20), st.text(max_size=20), st.binary(min_size=12, max_size=12), st.binary(min_size=12, max_size=12)
)
def test_a_key_is_of_id_and_content(one, other, digest, another):
    assert seen_key(one, digest) == seen_key(one, digest)
    assert (seen_key(one, digest) == seen_key(other, another)) == ((one, digest) == (other, another))
