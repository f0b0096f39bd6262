"""Texts keep their numbers, also where all their hashes are the same."""

from contextlib import nullcontext
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentscope_reme.index import texts
from agentscope_reme.index.texts import Texts


@pytest.mark.parametrize("hashes", ["as they are", "all the same"])
@given(asked=st.lists(st.text(max_size=2), max_size=40), most_new=st.integers(0, 5))
def test_a_text_has_the_number_of_its_first_coming(hashes, asked, most_new):
    constant = mock.patch("agentscope_reme.index.texts.hash_of", return_value=7)
    with constant if hashes == "all the same" else nullcontext(), mock.patch.object(texts, "_MOST_NEW", most_new):
        known, plain = Texts(), {}
        for text in asked:
            assert known.known(text) == plain.get(text)
            assert known.of(text) == plain.setdefault(text, len(plain))
        assert known.names == list(plain)
        assert Texts(known.names).names == known.names


@pytest.mark.parametrize("hashes", ["as they are", "all the same"])
@given(steps=st.lists(st.tuples(st.booleans(), st.text(max_size=1)), max_size=40), most_new=st.integers(0, 5))
def test_a_forgotten_text_is_not_there_and_its_number_comes_again(hashes, steps, most_new):
    constant = mock.patch("agentscope_reme.index.texts.hash_of", return_value=7)
    with constant if hashes == "all the same" else nullcontext(), mock.patch.object(texts, "_MOST_NEW", most_new):
        known, plain = Texts(), {}
        for comes, text in steps:
            if comes:
                plain[text] = known.of(text)
            else:
                known.forget(text)
                plain.pop(text, None)
            assert {text: number for number, text in known.living()} == plain
            assert all(known.known(one) == number for one, number in plain.items())
        assert len(known.names) <= max(1, len({text for _, text in steps}))
