"""What a question finds before anything is scored."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from agentscope_reme.index.following import following

places = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 9)), unique=True, max_size=12).map(sorted)


@given(st.lists(places, min_size=1, max_size=4), st.data())
def test_pairs_are_words_of_one_unit_with_at_most_one_word_between(words, data):
    number = st.integers(0, len(words) - 1)
    pairs = data.draw(st.lists(st.tuples(number, number).filter(lambda pair: pair[0] != pair[1]), unique=True))
    keys = np.array([slot << 16 | place for word in words for slot, place in word], np.int64)
    slots, which = following(keys, [len(word) for word in words], pairs)
    expected = {
        (pair, slot)
        for pair, (one, two) in enumerate(pairs)
        for slot, place in words[one]
        if any((slot, place + step) in words[two] for step in (1, 2))
    }
    found = list(zip(which.tolist(), slots.tolist(), strict=True))
    assert found == sorted(expected)
