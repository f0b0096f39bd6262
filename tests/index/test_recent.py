"""Texts that were added last are found by term, sorted or not, and none is sorted again and again."""

import random
from collections import defaultdict
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentscope_reme.index import recent as module
from agentscope_reme.index.recent import Recent

texts = st.lists(st.integers(0, 6), max_size=7)
steps = st.lists(st.tuples(st.lists(texts, min_size=1, max_size=4), st.booleans()), max_size=12)


def flat(documents: list[list[int]]) -> tuple[np.ndarray, np.ndarray]:
    ids = np.array([term for document in documents for term in document], np.int32)
    return ids, np.array([len(document) for document in documents], np.uint16)


def expected(documents: list[list[int]], first: int) -> dict[int, tuple[list[int], list[int], list[int]]]:
    found: dict[int, tuple[list[int], list[int], list[int]]] = defaultdict(lambda: ([], [], []))
    for slot, document in enumerate(documents, first):
        for term in dict.fromkeys(document):
            slots, times, places = found[term]
            at = [place for place, other in enumerate(document) if other == term]
            slots.append(slot)
            times.append(len(at))
            places += at
    return found


@given(steps, st.integers(0, 5))
def test_each_term_has_its_postings_and_places_whatever_has_been_sorted(sequence, first):
    recent, documents, held = Recent(first), [], set()
    for more, sort in sequence:
        documents += more
        ids, lengths = flat(documents)
        if sort:
            recent.sort(ids, lengths)
            held = {term for document in documents for term in document}
            assert (recent.texts, recent.tokens) == (len(documents), len(ids))
        wanted = expected(documents, first)
        for term in range(8):
            found = recent.of(term, ids, lengths)
            assert (found is not None) == (term in wanted)
            if found is not None:
                assert [part.tolist() for part in found] == list(wanted[term])
        assert set(recent.known(np.arange(8)).tolist()) == held
        assert recent.of(None, ids, lengths) is None


def test_a_text_may_be_as_long_as_a_place_can_say():
    ids = np.zeros(65_535, np.int32)
    recent = Recent()
    recent.sort(ids, np.array([65_535], np.uint16))
    slots, times, places = recent.of(0, ids, np.array([65_535], np.uint16))
    assert (slots.tolist(), times.tolist()) == ([0], [65_535])
    assert places.tolist() == list(range(65_535))


@pytest.mark.parametrize("sizes", ["any", "ever shorter", "ever longer", "alike"])
def test_runs_are_few_and_an_occurrence_is_sorted_a_few_times(monkeypatch: pytest.MonkeyPatch, sizes: str) -> None:
    sorted_so_far: list[int] = []
    real = module._sorted
    monkeypatch.setattr(module, "_sorted", lambda ids, *rest: (sorted_so_far.append(len(ids)), real(ids, *rest))[1])
    chance = random.Random(7)
    size = {
        "any": lambda n: chance.randrange(20, 60),
        "ever shorter": lambda n: 320 - n,
        "ever longer": lambda n: 20 + n,
    }
    recent, documents = Recent(), list[list[int]]()
    for number in range(300):
        documents.append([chance.randrange(500) for _ in range(size.get(sizes, lambda n: 40)(number))])
        recent.sort(*flat(documents))
        lengths = [run.tokens for run in recent._runs]
        assert all(before >= 2 * after for before, after in pairwise(lengths))
    tokens = sum(map(len, documents))
    assert sum(sorted_so_far) < 10 * tokens
