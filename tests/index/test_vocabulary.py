"""Terms keep their numbers, are found again in every spelling of Unicode, and leave nothing behind when dropped."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentscope_reme.index import vocabulary as vocabulary_module
from agentscope_reme.index.vocabulary import Vocabulary

terms = st.text(st.characters(exclude_characters="\n"), max_size=6)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.lists(terms, max_size=6)),
        st.tuples(st.just("settle"), st.none()),
        st.tuples(st.just("keep"), st.integers(0, 255)),
        st.tuples(st.just("restart"), st.none()),
        st.tuples(st.just("restart with hashes"), st.none()),
    ),
    max_size=15,
)


@given(steps, st.lists(terms, max_size=4))
def test_every_term_has_one_number_that_lasts_until_terms_are_dropped(sequence, strangers):
    vocabulary, model = Vocabulary(), dict[str, int]()
    for kind, value in sequence:
        if kind == "add":
            expected = [model.setdefault(term, len(model)) for term in value]
            assert vocabulary.numbers(value) == expected
        elif kind == "settle":
            vocabulary.settle()
        elif kind == "keep":
            kept = [term for at, term in enumerate(model) if value >> (at % 8) & 1]
            vocabulary.keep(np.array([model[term] for term in kept], np.int64))
            model = {term: at for at, term in enumerate(kept)}
        elif kind == "restart":
            vocabulary = Vocabulary(vocabulary.packed())
        else:
            vocabulary = Vocabulary(vocabulary.packed(), vocabulary.hashes())
        assert len(vocabulary) == len(model)
        assert vocabulary.names() == list(model)
        for term in [*model, *strangers]:
            assert vocabulary.get(term) == model.get(term)
            assert (term in vocabulary) == (term in model)


def test_terms_with_the_same_hash_are_told_apart():
    # CRC-32 of both is 0x4DDB0C25.
    vocabulary = Vocabulary()
    assert vocabulary.numbers(["plumless", "buckeroo"]) == [0, 1]
    vocabulary.settle()
    assert [vocabulary.get(term) for term in ("plumless", "buckeroo", "plum")] == [0, 1, None]


@given(st.lists(st.text("猫狗的a", min_size=1, max_size=3), max_size=12, unique=True), st.booleans())
def test_terms_that_hold_a_character_are_found_settled_or_not(found, settled):
    vocabulary = Vocabulary()
    numbers = vocabulary.numbers([*found, "\x00猫狗"])
    if settled:
        vocabulary.settle()
    more = vocabulary.numbers(["花猫"])
    wanted = {number for term, number in zip(found, numbers, strict=False) if "猫" in term and len(term) > 1}
    assert vocabulary.holding("猫").tolist() == sorted(wanted | set(more))


@given(st.lists(terms, max_size=200), st.lists(terms, max_size=200), st.booleans())
def test_many_terms_looked_up_together_get_the_numbers_they_would_get_one_by_one(settled, asked, forgotten):
    asked += ["plumless", *map(str, range(100)), "buckeroo", "plumless"]  # two of one hash among them
    together, one_by_one = Vocabulary(), Vocabulary()
    for vocabulary in (together, one_by_one):
        vocabulary.numbers([*settled, "buckeroo"])
        vocabulary.settle()
    if forgotten:
        together = Vocabulary(together.packed())
    assert together.numbers(asked) == [one_by_one.numbers([term])[0] for term in asked]
    assert together.names() == one_by_one.names()


@given(st.lists(st.lists(terms, max_size=30), max_size=5))
def test_terms_get_the_same_numbers_when_few_are_looked_up_and_settled_in_one_call(sequence):
    whole, by_parts = Vocabulary(), Vocabulary()
    for asked in sequence:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(vocabulary_module, "_STEP", 3)
            patch.setattr(vocabulary_module, "_MOST_NEW", 5)
            found = by_parts.numbers(asked)
            assert len(by_parts._new) <= 5 + 3
        assert found == whole.numbers(asked)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vocabulary_module, "_STEP", 3)
        by_parts.settle()
    assert by_parts.packed() == whole.packed()
    assert by_parts.hashes().tolist() == whole.hashes().tolist()


def test_hashes_of_other_terms_are_refused():
    vocabulary = Vocabulary(b"one\ntwo\n")
    with pytest.raises(ValueError, match="do not belong together"):
        Vocabulary(b"one\n", vocabulary.hashes())
