"""The compiled loops give what numpy gives, bit for bit, whatever the index has been through."""

import asyncio
import math
import tempfile
from datetime import date
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from agentscope_reme.index import largest, titles
from agentscope_reme.index.boosts import Weights
from agentscope_reme.index.compiled import form, kernels
from agentscope_reme.index.following import following
from agentscope_reme.index.gathered import Gathered
from agentscope_reme.index.keyword import KeywordIndex
from agentscope_reme.index.keyword_columns import build_columns
from agentscope_reme.index.postings import Postings
from agentscope_reme.index.ranking import rank
from agentscope_reme.index.retrieval import Request

from . import test_search_exactness as exactness
from .forms import in_numpy
from .test_keyword import WORDS, Model, changes
from .test_ranking_pruned import QUERIES, corpus_index  # noqa: F401

pytestmark = pytest.mark.skipif(kernels is None, reason=f"there is no compiled form: {form}")

TODAY = date(2026, 3, 18)
EVERY_WEIGHT = [
    Weights(),
    Weights(labels=0, whole_title=0, anchors=0),
    Weights(pairs=0, session=0, damping=0),
    Weights(date=0, when=0, speaker=0, memory=0, superseded=0),
    Weights(asks=0, repeats=0, corrects=0),
    Weights(phrases=0, labels=0),
    Weights(pairs=0, phrases=5),
]
FILTERS = [None, {"path": "daily/2026-02"}, {"since": "2026-03-03", "until": "2026-03-06"}]


@pytest.mark.parametrize(
    "query", [*QUERIES, "", "the", "otter otter-17 river-3", "ERR-1 ERR-2 ERR-3 ERR-4 ERR-5 密码钥匙花园"]
)
@pytest.mark.parametrize("wanted", FILTERS)
def test_every_question_has_the_same_ranking(corpus_index, query, wanted):  # noqa: F811
    opened = corpus_index._opened()
    corpus = opened.store.corpus
    for weights in EVERY_WEIGHT:
        for want in (1, 5, 40, 2_000):
            for everything in (False, True):
                terms = opened.tokenizer.query(query, TODAY)
                context = opened.retriever._context(terms, Request(query, filter=wanted), TODAY)
                compiled = rank(corpus, terms, context, weights, want, everything=everything)
                with in_numpy():
                    plain = rank(corpus, terms, context, weights, want, everything=everything)
                assert compiled.slots.tolist() == plain.slots.tolist()
                assert compiled.scores.tobytes() == plain.scores.tobytes()
                assert (compiled.evidence, compiled.dated, compiled.timely) == (
                    plain.evidence,
                    plain.dated,
                    plain.timely,
                )


async def both_forms(changes: list[tuple[str, str, str]]) -> None:
    """Play changes, and ask everything in both forms; at times in between as well."""
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch)
        for some in (changes[: len(changes) // 2], changes[len(changes) // 2 :]):
            await exactness.play(root, some)
            index = exactness.open_index(root)
            compiled = await exactness.answers(index)
            with in_numpy():
                plain = await exactness.answers(index)
            assert compiled == plain
            # Texts that nobody sorted in yet, and removed ones.
            for name in ("a.md", "new.md"):
                (root / name).write_text(
                    "# Otter\n\nThe otter of the river garden, and the 花园密码.\n", encoding="utf-8"
                )
            (root / "b.md").unlink(missing_ok=True)
            await index.sync()
            compiled = await exactness.answers(index)
            with in_numpy():
                plain = await exactness.answers(index)
            assert compiled == plain
            await index.close()


@given(st.lists(exactness.change, min_size=4, max_size=12))
@settings(max_examples=15)
def test_any_sequence_of_changes_is_answered_the_same(changes):
    asyncio.run(both_forms(changes))


@pytest.mark.slow
@given(st.lists(exactness.change, min_size=10, max_size=60))
@settings(max_examples=150)
def test_long_sequences_of_changes_are_too(changes):
    asyncio.run(both_forms(changes))


# --- one loop at a time -----------------------------------------------------------------------------------------------


@given(changes, st.lists(st.sampled_from([*WORDS, "unheard"]), max_size=6), st.integers(1, 5))
def test_postings_occurrences_and_scores_are_the_same(history, query, k):
    model = Model()
    for kind, value in history:
        model.apply(kind, value)
        index = model.index
        compiled = _asked(index, query, k)
        with in_numpy():
            plain = _asked(index, query, k)
        assert compiled == plain


def _asked(index: KeywordIndex, query: list[str], k: int) -> list[object]:
    found = index.gather(query)
    keys, sizes = index.occurrences(found)
    slots, scores = index.scored(found)
    few, best = index.best(found, k)
    halved = index.scored(found, [0.5] * len(query))[1] if query else scores
    parts = (found.slots, found.tf, keys, slots, few)
    return [
        found.sizes,
        sizes,
        *(one.tolist() for one in parts),
        scores.tobytes(),
        best.tobytes(),
        halved.tobytes(),
    ]


LIMITS = [1, 2, 14, 15, 16, 127, 128, 254, 255, 256, 4_095, 65_535]


@given(
    st.lists(st.lists(st.tuples(st.integers(0, 4), st.sampled_from(LIMITS[:7]))), min_size=1, max_size=12),
    st.sampled_from([0, 1 << 12, 1 << 16, 1 << 20, 1 << 24]),
    st.booleans(),
)
@example([[(0, 128)], [], [(1, 1), (0, 16)]], 1 << 24, True)
def test_postings_of_every_width_are_read_the_same(texts, first, keep_positions):
    ids = [term for text in texts for term, times in text for _ in range(times)]
    lengths = np.array([sum(times for _, times in text) for text in texts])
    columns = build_columns(np.array(ids, np.int32), lengths, first, 6, keep_positions)
    postings = Postings.of(columns)
    asked = [3, None, 0, 5, 4, 1, 1, 99, 2]
    compiled = [one.tolist() if isinstance(one, np.ndarray) else one for one in postings.read(asked)]
    with in_numpy():
        assert compiled == [one.tolist() if isinstance(one, np.ndarray) else one for one in postings.read(asked)]
    if keep_positions and ids:
        places, sizes = postings.places(asked)
        with in_numpy():
            plain, plain_sizes = postings.places(asked)
        assert (places.tolist(), sizes) == (plain.tolist(), plain_sizes)


@pytest.mark.parametrize("size", [10, 4_096, 70_000, 300_000])
def test_long_columns_with_large_values_here_and_there_are_read_the_same(size):
    random = np.random.default_rng(size)
    counts = np.minimum(random.geometric(0.7, size), 60)
    counts[:: max(1, size // 50)] = 700  # beyond what a posting has room for
    lengths = np.full(1, 0)
    texts = [np.full(count, 0, np.int32) for count in counts.tolist()]
    lengths = np.array([len(text) for text in texts])
    postings = Postings.of(build_columns(np.concatenate(texts), lengths, 0, 1, True))
    slots, tf, sizes = postings.read([0])
    places, _ = postings.places([0])
    with in_numpy():
        plain = postings.read([0])
        assert (slots.tolist(), tf.tolist(), sizes) == (plain[0].tolist(), plain[1].tolist(), plain[2])
        assert places.tolist() == postings.places([0])[0].tolist()
    assert tf.tolist() == counts.tolist()


values = st.one_of(st.floats(0, 10), st.sampled_from([0.0, 1.0, 5e-324, 1e300, math.inf, 0.1, 0.30000000000000004]))


@given(st.lists(values, max_size=400), st.integers(0, 420))
@example([0.5] * 300 + [1.0] * 5, 5)
@example([1.0 + number * 2**-52 for number in range(400)], 7)
def test_the_best_are_the_same(scores, k):
    array = np.array(scores, np.float64)
    compiled = largest.top(array, k).tolist()
    with in_numpy():
        assert compiled == largest.top(array, k).tolist()


places = st.lists(st.integers(0, 60), unique=True, max_size=12).map(sorted)


@given(st.lists(places, min_size=2, max_size=4), st.data())
def test_words_that_follow_each_other_are_found_the_same(words, data):
    keys = np.array([(place >> 3) << 16 | place & 7 for word in words for place in word], np.int64)
    sizes = [len(word) for word in words]
    number = st.integers(0, len(words) - 1)
    pairs = data.draw(st.lists(st.tuples(number, number), max_size=4))
    compiled = [one.tolist() for one in following(keys, sizes, pairs)]
    with in_numpy():
        assert compiled == [one.tolist() for one in following(keys, sizes, pairs)]


def test_a_name_is_looked_at_wherever_it_may_stand(corpus_index):  # noqa: F811
    corpus = corpus_index._opened().store.corpus
    numbers = np.array([known.id for known in corpus.files.living()], np.int64)
    first, second = (known.path.rsplit("/", 1)[-1].removesuffix(".md") for known in list(corpus.files.living())[:2])
    titles.look_at_names(corpus)
    found = {}
    for text in (
        first,
        f"what is in {second}?",
        "",
        "o",
        "17-otter",
        f"{second} or {first}",
        "\U0010ffff\U0010fffe" * 3,
    ):
        compiled = list(titles.names_worth(corpus, numbers, text))
        with in_numpy():
            assert compiled == list(titles.names_worth(corpus, numbers, text)), text
        found[text] = sum(value > 0 for value in compiled)
    assert list(found.values()) == [1, 1, 0, 0, 0, 2, 0]


# --- parts that do not belong together --------------------------------------------------------------------------------


def test_what_does_not_belong_together_is_an_error_and_no_crash():
    ints, longs, doubles = np.zeros(3, np.int32), np.zeros(3, np.int64), np.ones(3)
    far = np.array([0, 1, 10_000_000], np.int32)
    with pytest.raises(IndexError):
        kernels.sum_by_stretch(far, ints.copy(), [3, 0], ints)
    with pytest.raises(IndexError):
        kernels.living(far, ints, [3], np.ones(3, np.uint8))
    with pytest.raises(IndexError):
        kernels.occurrences(ints, ints + 5, [3], ints, None)
    with pytest.raises(IndexError):
        kernels.following(longs, [3, 3], [(0, 1)])
    with pytest.raises(IndexError):
        kernels.scored(far, ints + 1, [3], np.ones(1, np.float32), doubles, np.zeros(3, np.uint16), 3, 0)
    with pytest.raises(IndexError):
        kernels.last_place(doubles, 4)
    with pytest.raises(ValueError, match="dtype"):
        kernels.top(ints, 1)
    index = KeywordIndex()
    index.add([["a", "b"], ["a"]])
    index.merge()
    with in_numpy():
        whole = index.gather(["a", "b"])
    assert isinstance(whole, Gathered)
    short = kernels.Reader(index._base.ends.parts, (((np.zeros(4, np.uint8)), 3, 20, np.zeros(0, np.int64), ints[:0]),))
    with pytest.raises(IndexError):
        short.read([0, 1])
    with pytest.raises(ValueError, match="no positions"):
        short.places([0])


def test_scores_are_right_again_after_an_error():
    ok = (np.array([0, 1], np.int32), np.ones(2, np.int32), [2], np.ones(1, np.float32), np.ones(3))
    lengths = np.ones(3, np.uint16)
    before = kernels.scored(*ok, lengths, 3, 0)
    with pytest.raises(IndexError):
        kernels.scored(np.array([0, 7], np.int32), *ok[1:], lengths, 3, 0)
    after = kernels.scored(*ok, lengths, 3, 0)
    assert [one.tolist() for one in before] == [one.tolist() for one in after]
