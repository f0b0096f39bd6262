"""A table of pairs answers as a set of pairs does, however they came and went."""

from hypothesis import given
from hypothesis import strategies as st

from agentscope_reme.vault.pairs import NONE, SEVERAL, Pairs, hash_of, hash_with

keys = st.sampled_from([0, 1, 2, 2**32 - 1])
numbers = st.sampled_from([0, 1, 5, 2**32 - 1])
steps = st.lists(st.tuples(st.sampled_from(["add", "discard", "ask"]), keys, numbers), max_size=150)


@given(steps)
def test_it_answers_as_a_set_of_pairs_does(steps):
    pairs, known = Pairs(), set()
    for what, key, number in steps:
        if what == "add":
            pairs.add(key, number)
            known.add((key, number))
        elif what == "discard":
            pairs.discard(key, number)
            known.discard((key, number))
        else:
            assert pairs.of(key) == sorted(two for one, two in known if one == key)
            assert pairs.has(key) == any(one == key for one, _ in known)
            own = [two for one, two in known if one == key]
            assert pairs.only(key) == (own[0] if len(own) == 1 else SEVERAL if own else NONE)
    assert list(pairs) == sorted(known)
    assert len(pairs) == len(known)


def test_many_at_once_are_sorted_in_and_found():
    pairs = Pairs()
    for number in range(1_000):
        pairs.add(number * 7_919 % 1_009, number)
    for number in range(1_000):
        assert number in pairs.of(number * 7_919 % 1_009)


@given(st.text(), st.sampled_from([".md", "é", ""]))
def test_the_hash_of_a_longer_text_follows_from_that_of_its_beginning(text, suffix):
    assert hash_with(hash_of(text), suffix.encode()) == hash_of(text + suffix)


def test_a_text_with_a_lone_surrogate_has_a_hash():
    assert hash_of("\udc80") == hash_of("\udc80")
