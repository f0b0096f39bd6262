"""A table of pairs answers as a set of pairs does, however they came and went."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentscope_reme.vault import pairs as pairs_module
from agentscope_reme.vault.pairs import NONE, SEVERAL, Pairs, hash_of, hash_with

keys = st.sampled_from([0, 1, 2, 2**32 - 1])
numbers = st.sampled_from([0, 1, 5, 2**32 - 1])
steps = st.lists(st.tuples(st.sampled_from(["add", "discard", "discard all", "ask"]), keys, numbers), max_size=150)


@given(steps)
def test_it_answers_as_a_set_of_pairs_does(steps):
    pairs, known = Pairs(), set()
    for what, key, number in steps:
        if what == "discard all":
            gone = [*((key, one) for _, one in known), (key, number), (0, 7)]
            pairs.discard_all(gone)
            known -= set(gone)
            continue
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


pair_sets = st.sets(st.tuples(st.integers(0, 40), st.integers(0, 40)), max_size=120)


@given(st.lists(st.tuples(pair_sets, pair_sets), max_size=4))
def test_whatever_is_sorted_in_one_call_all_pairs_are_there_once_and_in_order(changes):
    pairs, known = Pairs(), set()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pairs_module, "_BLOCK", 4)
        patch.setattr(pairs_module, "_FEW", 6)
        for added, gone in changes:
            for key, number in [*added, *added]:
                pairs.add(key, number)
            pairs.discard_all(gone)
            known = (known | added) - gone
            assert list(pairs) == sorted(known)


def test_no_call_sorts_all_pairs(monkeypatch):
    sorted_together = []
    monkeypatch.setattr(pairs_module, "_BLOCK", 100)
    monkeypatch.setattr(
        pairs_module, "sorted", lambda some: sorted_together.append(len(one := sorted(some))) or one, raising=False
    )
    pairs = Pairs()
    for number in range(3_000):
        pairs.add(number * 7_919 % 3_001, number)
    assert len(pairs) == 3_000
    assert max(sorted_together) <= 300


@given(st.text(), st.sampled_from([".md", "é", ""]))
def test_the_hash_of_a_longer_text_follows_from_that_of_its_beginning(text, suffix):
    assert hash_with(hash_of(text), suffix.encode()) == hash_of(text + suffix)


def test_a_text_with_a_lone_surrogate_has_a_hash():
    assert hash_of("\udc80") == hash_of("\udc80")
