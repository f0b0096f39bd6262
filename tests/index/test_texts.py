"""Texts keep their numbers, also where all their hashes are the same."""

from contextlib import nullcontext
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentscope_reme.index import texts
from agentscope_reme.index.texts import Texts

# Names of files that are no UTF-8 have lone surrogates.
texts_of_any_kind = st.text(st.characters(exclude_categories=()), max_size=2)


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("hashes", ["as they are", "all the same"])
@given(
    asked=st.lists(texts_of_any_kind, max_size=40),
    most_new=st.integers(0, 5),
    many=st.lists(st.booleans(), max_size=40),
)
def test_a_text_has_the_number_of_its_first_coming(hashes, packed, asked, most_new, many):
    constant = mock.patch("agentscope_reme.index.texts.hash_of", return_value=7)
    with constant if hashes == "all the same" else nullcontext(), mock.patch.object(texts, "_MOST_NEW", most_new):
        known, plain = Texts(packed=packed), {}
        for at, text in enumerate(asked):
            known.expect(at < len(many) and many[at])
            assert known.known(text) == plain.get(text)
            assert known.of(text) == plain.setdefault(text, len(plain))
        assert list(known.names) == list(plain)
        assert list(Texts(known.names, packed=packed).names) == list(plain)


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("hashes", ["as they are", "all the same"])
@given(
    steps=st.lists(st.tuples(st.sampled_from([True, False, "many", "few"]), st.text(max_size=1)), max_size=40),
    most_new=st.integers(0, 5),
)
def test_a_forgotten_text_is_not_there_and_its_number_comes_again(hashes, packed, steps, most_new):
    constant = mock.patch("agentscope_reme.index.texts.hash_of", return_value=7)
    with constant if hashes == "all the same" else nullcontext(), mock.patch.object(texts, "_MOST_NEW", most_new):
        known, plain = Texts(packed=packed), {}
        for comes, text in steps:
            if comes in ("many", "few"):
                known.expect(comes == "many")
            elif comes:
                plain[text] = known.of(text)
            else:
                known.forget(text)
                plain.pop(text, None)
            assert {text: number for number, text in known.living()} == plain
            assert all(known.known(one) == number for one, number in plain.items())
        assert len(known.names) <= max(1, len({text for _, text in steps}))


@pytest.mark.parametrize("packed", [False, True])
@given(
    asked=st.lists(st.text(max_size=1), max_size=9),
    steps=st.lists(st.tuples(st.booleans(), st.booleans(), st.text(max_size=1)), max_size=20),
    most_new=st.integers(0, 5),
)
def test_texts_and_a_copy_of_them_change_apart(packed, asked, steps, most_new):
    with mock.patch.object(texts, "_MOST_NEW", most_new):
        known = Texts(asked, packed=packed)
        both = {False: known, True: known.copy()}
        plain = {side: {text: number for number, text in known.living()} for side in both}
        for side, comes, text in steps:
            if comes:
                plain[side][text] = both[side].of(text)
            else:
                both[side].forget(text)
                plain[side].pop(text, None)
            for one, texts_of_it in both.items():
                assert {text: number for number, text in texts_of_it.living()} == plain[one]
                assert all(texts_of_it.known(text) == number for text, number in plain[one].items())


def test_texts_that_come_by_the_thousand_leave_no_dictionary_behind():
    known = Texts()
    known.expect(True)
    for number in range(3_000):
        known.of(f"text {number}")
    assert len(known._new) == 3_000, "while more are about to come, each is found at once"
    known.expect(False)
    assert not known._new
    assert [known.of(f"text {number}") for number in (0, 2_999, 3_000)] == [0, 2_999, 3_000]
