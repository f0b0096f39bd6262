"""Postings sorted a part at a time and joined column by column are those of all texts together."""

from unittest.mock import patch

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from agentscope_reme.index import keyword_columns
from agentscope_reme.index.keyword_columns import Columns, build_columns, empty_columns, run_of, with_runs

Posting = tuple[int, int, list[int]]  # slot, frequency, places

texts = st.lists(st.lists(st.integers(0, 9), max_size=7), max_size=6)


def by_term(texts: list[list[int]], first: int = 0) -> dict[int, list[Posting]]:
    """What the columns must say, put together word by word."""
    out: dict[int, list[Posting]] = {}
    for slot, text in enumerate(texts, first):
        places: dict[int, list[int]] = {}
        for place, term in enumerate(text):
            places.setdefault(term, []).append(place)
        for term, some in places.items():
            out.setdefault(term, []).append((slot, len(some), some))
    return out


def read(columns: Columns) -> dict[int, list[Posting]]:
    out: dict[int, list[Posting]] = {}
    for term in range(columns.terms):
        at = int(columns.starts[term])
        for entry in range(*columns.indptr[term : term + 2].tolist()):
            tf = int(columns.tf[entry])
            places = columns.positions[at : at + tf].tolist()
            out.setdefault(term, []).append((int(columns.slots[entry]), tf, places))
            at += tf
        assert at == columns.starts[term + 1]
    return out


def flat(texts: list[list[int]]) -> tuple[np.ndarray, np.ndarray]:
    return np.array([one for text in texts for one in text], np.int32), np.array([len(text) for text in texts])


@given(texts, st.lists(texts, max_size=4), st.sampled_from([1, 3, 1_000]))
def test_columns_and_runs_that_are_joined_are_those_of_all_texts(base, parts, block):
    columns, slot, runs = build_columns(*flat(base), 0, 10, True), len(base), []
    for part in parts:
        runs.append(run_of(*flat(part), slot, True))
        slot += len(part)
    with patch.object(keyword_columns, "BLOCK", block):
        joined = with_runs(columns, runs, 12)
    assert joined.terms == 12
    assert read(joined) == by_term([*base, *(text for part in parts for text in part)])


def test_more_terms_and_texts_than_two_bytes_can_number_are_sorted_as_well():
    rng = np.random.default_rng(1)
    many_terms = [rng.permutation(70_000)[:65_000].tolist(), rng.permutation(70_000)[:30_000].tolist()]
    assert len({*many_terms[0], *many_terms[1]}) > 0x10000
    many_texts = rng.integers(0, 5, (66_000, 2)).tolist()
    for texts in (many_terms, many_texts):
        run = run_of(*flat(texts), 3, True)
        assert read(with_runs(empty_columns(), [run], 70_000)) == by_term(texts, 3)


def test_what_keeps_no_places_has_the_same_postings():
    texts = [[3, 1, 3], [], [1, 1, 0]]
    kept, none = (build_columns(*flat(texts), 5, 4, keep) for keep in (True, False))
    assert [one.tolist() for one in (none.indptr, none.slots, none.tf)] == [[0, 1, 3, 3, 4], [7, 5, 7, 5], [1, 1, 2, 2]]
    assert kept.slots.tolist() == none.slots.tolist()
    assert len(none.positions) == 0
