"""Two arms become one score: by weighted sum, by ranks, and what happens where one arm is silent."""

import numpy as np
import pytest

from agentscope_reme import ReMeConfig
from agentscope_reme.index.fusion import PRESETS, Dense, Fusion, Scope, fuse, fusion_of

WORDS = np.array([4.0, 2.0, 0.0, 1.0])
COSINES = np.array([0.2, 0.4, 0.8, 0.3], np.float32)
ROWS = np.arange(4, dtype=np.int32)
SLOTS = np.arange(4)


def scores(fusion: Fusion, words=WORDS, rows=ROWS, slots=SLOTS, ideal=4.0):
    return fuse(Scope.of(Dense(COSINES, rows, fusion), slots), slots, words, ideal)[0]


def test_the_sum_is_that_of_shares():
    near = ((COSINES - 0.2) / 0.6) ** 1.5
    assert scores(Fusion(vectors=0.4)) == pytest.approx(4 * (0.6 * WORDS / 4 + 0.4 * near), abs=1e-5)


def test_weight_0_is_the_words_alone_and_weight_1_the_vectors():
    assert scores(Fusion(vectors=0.0)) == pytest.approx(WORDS)
    assert scores(Fusion(vectors=1.0)).argmax() == 2


def test_ranks_are_reciprocal():
    found = scores(Fusion("rrf", vectors=0.7))
    ranks_by_words, ranks_by_vectors = np.array([1, 2, np.inf, 3]), np.array([4, 2, 1, 3])
    assert found == pytest.approx(4 * 61 * (0.3 / (60 + ranks_by_words) + 0.7 / (60 + ranks_by_vectors)), abs=1e-9)


def test_equal_scores_share_a_rank_so_that_order_does_not_matter():
    words = np.array([1.0, 1.0, 1.0, 1.0])
    cosines = np.array([0.5, 0.5, 0.5, 0.1], np.float32)
    found = fuse(Scope.of(Dense(cosines, ROWS, Fusion("rrf")), SLOTS), SLOTS, words, 4.0)[0]
    assert found[0] == found[1] == found[2] > found[3]


@pytest.mark.parametrize("fusion", PRESETS.values(), ids=PRESETS)
def test_a_unit_without_a_vector_stands_where_its_words_put_it(fusion):
    rows = np.array([-1, 1, 2, 3], np.int32)
    whole = scores(fusion, words=np.array([4.0, 4.0, 0.0, 1.0]), rows=rows)
    assert whole[0] > whole[3]
    assert scores(fusion, rows=np.full(4, -1, np.int32)) == pytest.approx(WORDS)


@pytest.mark.parametrize("fusion", PRESETS.values(), ids=PRESETS)
def test_a_unit_that_shares_no_word_is_admitted_when_it_is_near(fusion):
    found = scores(fusion, words=np.array([4.0, 0.0, 0.0, 0.0]))
    assert found[2] > 0
    assert found[3] == 0


@pytest.mark.parametrize("fusion", PRESETS.values(), ids=PRESETS)
def test_the_order_of_units_changes_no_score(fusion):
    order = np.array([2, 0, 3, 1])
    assert np.array_equal(scores(fusion, words=WORDS[order], slots=SLOTS[order]), scores(fusion)[order])


def test_presets_have_the_weights_of_the_systems_they_are_named_after():
    old, new = fusion_of(ReMeConfig(fusion="reme-0.3")), fusion_of(ReMeConfig(fusion="reme-0.4"))
    assert (old.method, old.vectors) == ("sum", 0.7)
    assert (new.method, new.vectors, new.k) == ("rrf", 0.7, 60)


def test_a_weight_of_one_s_own_goes_with_any_method():
    assert fusion_of(ReMeConfig(fusion="rrf", vector_weight=0.2)).vectors == 0.2
    assert fusion_of(ReMeConfig(vector_weight=0.0)).vectors == 0.0


def scope(*cosines: float) -> Scope:
    numbers = np.array(cosines, np.float32)
    return Scope.of(Dense(numbers, np.arange(len(cosines), dtype=np.int32), Fusion()), np.arange(len(cosines)))


def test_nearness_does_not_depend_on_how_close_a_model_s_cosines_lie_together():
    wide = np.array([0.1, 0.15, 0.05, 0.1, 0.2, 0.6])
    close = 1 - (1 - wide) * 0.2  # the same, squeezed into a fifth
    found = [scope(*one).nearness(np.array([one.max()]))[0] for one in (wide, close)]
    assert found[0] == pytest.approx(found[1], abs=1e-4)
    assert found[0] > 0.5


def test_among_many_more_the_same_distance_is_nearer_by_chance():
    few, many = scope(0.5, *[0.1] * 10), scope(0.5, *[0.1] * 5_000)
    assert few.nearness(np.array([0.5]))[0] > many.nearness(np.array([0.5]))[0] > 0


def test_among_a_handful_only_the_nearest_is_near():
    found = scope(0.1, 0.2, 0.3).nearness(np.array([0.1, 0.2, np.float32(0.3)]))
    assert found[2] > 0 == found[0] == found[1]


def test_the_nearest_are_chosen_with_all_that_tie():
    assert sorted(scope(0.1, 0.5, 0.3, 0.5, 0.2).nearest(np.arange(5), 1).tolist()) == [1, 3]
