"""In which order ranked units get a place in a result."""

import re

from hypothesis import given
from hypothesis import strategies as st

from agentscope_reme.index.packing import best_files_first, squashed


def order(ranked: list[tuple[int, int, float]], most: int) -> list[int]:
    """Names of passages in their order; each is given as its name, its file and its score."""
    names, files, scores = zip(*ranked, strict=True)
    return [names[at] for at in best_files_first(files, scores, most)]


def test_the_best_of_each_of_the_first_files_comes_before_second_passages():
    ranked = [(1, 1, 0.6), (2, 1, 0.59), (3, 2, 0.5), (4, 3, 0.4), (5, 4, 0.2)]
    assert order(ranked, 3) == [1, 3, 4, 2, 5]


def test_a_file_worth_little_beside_the_best_waits_for_its_turn():
    ranked = [(1, 1, 0.6), (2, 1, 0.59), (3, 2, 0.2)]
    assert order(ranked, 3) == [1, 2, 3]


def test_from_its_fifth_passage_on_a_file_makes_room_for_what_others_hold():
    of_one = [(number, 1, 0.5) for number in range(10)]
    ranked = [*of_one, (10, 2, 0.48), (11, 3, 0.3)]
    names = order(ranked, 0)
    assert names[:6] == [0, 1, 2, 3, 4, 5]
    assert names.index(10) < names.index(9)
    assert names[-1] == 11
    assert sorted(names) == list(range(12))


def test_a_few_passages_of_a_file_stay_in_their_order():
    ranked = [(number, number % 3, 0.5 - number / 100) for number in range(12)]
    assert order(ranked, 0) == list(range(12))


@given(st.text(alphabet=st.one_of(st.characters(), st.sampled_from("_ -—、。\n\u3000aßİ中1"))))
def test_words_are_apart_by_one_space_whatever_stands_between_them(text):
    assert squashed(text) == re.sub(r"[\W_]+", " ", text).strip().casefold()
