"""BM25 that stays exact: whatever was added, removed or merged, scores are those of stock bm25s built from scratch."""

import random
from collections.abc import Callable, Iterable

import bm25s
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentscope_reme.index import keyword, keyword_columns
from agentscope_reme.index.keyword import KeywordIndex
from agentscope_reme.index.keyword_columns import RawBM25, are_in
from agentscope_reme.index.largest import top

WORDS = [f"w{number}" for number in range(12)]
texts = st.lists(st.sampled_from(WORDS), max_size=10)
changes = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.lists(texts, min_size=1, max_size=4)),
        st.tuples(st.just("remove"), st.integers(0, 10_000)),
        st.tuples(st.just("merge"), st.booleans()),
        st.tuples(st.just("restart"), st.just(None)),
    ),
    max_size=25,
)


def oracle(documents: dict[int, list[str]], query: list[str], k1: float, b: float) -> dict[int, float]:
    """Scores of a stock bm25s index over the documents in random order."""
    keys = list(documents)
    random.Random(len(keys)).shuffle(keys)
    vocabulary: dict[str, int] = {}
    ids = [[vocabulary.setdefault(term, len(vocabulary)) for term in documents[key]] for key in keys]
    engine = bm25s.BM25(k1=k1, b=b)
    engine.index((ids, vocabulary), show_progress=False)
    known = [vocabulary[term] for term in query if term in vocabulary]
    return dict(zip(keys, engine.get_scores_from_ids(known).tolist(), strict=True))


class Model:
    """A keyword index beside the plain dictionary it should agree with."""

    def __init__(self, k1: float = 1.2, b: float = 0.75) -> None:
        self.k1, self.b = k1, b
        self.index = KeywordIndex(k1, b)
        self.documents: dict[int, list[str]] = {}
        self.slot: dict[int, int] = {}
        self.born = 0

    def apply(self, kind: str, value: object) -> None:
        if kind == "add":
            for slot, document in zip(self.index.add(value), value, strict=True):
                self.documents[self.born], self.slot[self.born] = document, slot
                self.born += 1
        elif kind == "remove" and self.documents:
            key = sorted(self.documents)[value % len(self.documents)]
            self.index.remove([self.slot.pop(key)])
            del self.documents[key]
        elif kind in ("merge", "restart"):
            mapping = self.index.merge(drop_terms=bool(value))
            if mapping is not None:
                self.slot = {key: int(mapping[slot]) for key, slot in self.slot.items()}
            if kind == "restart":
                self.index = KeywordIndex.load(*self.index.dump(), self.k1, self.b)


@given(changes, st.lists(st.sampled_from(WORDS), min_size=1, max_size=5), st.sampled_from([(1.2, 0.75), (2.0, 0.4)]))
def test_scores_have_the_bits_of_an_index_built_from_scratch(sequence, query, constants):
    model = Model(*constants)
    for kind, value in sequence:
        model.apply(kind, value)
        scores = model.index.scores(query)
        if any(model.documents.values()):
            expected = oracle(model.documents, query, *constants)
            assert {key: float(scores[slot]) for key, slot in model.slot.items()} == expected
        living = set(model.slot.values())
        assert all(scores[slot] == 0 for slot in range(len(scores)) if slot not in living)


@given(changes)
def test_postings_and_occurrences_are_those_of_the_living_texts(sequence):
    model = Model()
    for kind, value in sequence:
        model.apply(kind, value)
    for word in WORDS[:4]:
        slots, counts = model.index.postings(word)
        expected = {model.slot[key]: text.count(word) for key, text in model.documents.items() if word in text}
        assert dict(zip(slots.tolist(), counts.tolist(), strict=True)) == expected
        assert slots.tolist() == sorted(slots.tolist())
        keys, sizes = model.index.occurrences(model.index.gather([word]))
        found = [(key >> 16, key & 0xFFFF) for key in keys.tolist()]
        assert sizes == [len(found)]
        assert found == sorted(
            (model.slot[key], at) for key, text in model.documents.items() for at, one in enumerate(text) if one == word
        )
    assert model.index.count == len(model.documents)
    assert model.index.total == sum(map(len, model.documents.values()))


@given(changes, st.lists(st.sampled_from(WORDS), max_size=5), st.integers(1, 4))
def test_postings_gathered_together_are_those_of_each_term_and_score_alike(sequence, query, k):
    model = Model()
    for kind, value in sequence:
        model.apply(kind, value)
    index = model.index
    found = index.gather([*query, "unheard"])
    alone = [index.postings(term) for term in [*query, "unheard"]]
    assert [found.of_term(at).tolist() for at in range(len(found.sizes))] == [slots.tolist() for slots, _ in alone]
    assert found.tf.tolist() == [one for _, tf in alone for one in tf.tolist()]
    keys, sizes = index.occurrences(found)
    apart = [index.occurrences(index.gather([term])) for term in [*query, "unheard"]]
    assert keys.tolist() == [one for part, _ in apart for one in part.tolist()]
    assert sizes == [one for _, part in apart for one in part]
    scores = index.scores(query)
    slots, values = index.scored(index.gather(query))
    assert dict(zip(slots.tolist(), values.tolist(), strict=True)) == {
        slot: score for slot, score in enumerate(scores.tolist()) if score > 0
    }
    best, values = index.best(index.gather(query), k)
    assert best.tolist() == sorted(top(scores, k).tolist())
    assert values.tolist() == scores[best].tolist()


@given(st.lists(texts, min_size=1, max_size=12).filter(any), texts.filter(bool))
def test_the_engine_is_bm25s_through_its_own_entry_points(corpus, query):
    ours, stock = RawBM25(1.5, 0.75), bm25s.BM25()
    for engine in (ours, stock):
        engine.index([list(text) for text in corpus], show_progress=False)
    known = [term for term in query if term in stock.vocab_dict]
    if known:
        assert ours.get_scores(known).tolist() == stock.get_scores(known).tolist()


@pytest.mark.parametrize("documents", [[], [[]], [[], [], []]])
def test_an_empty_corpus_scores_nothing_and_works_again_when_texts_come_back(documents):
    index = KeywordIndex()
    index.add(documents)
    assert index.scores(["w"]).tolist() == [0.0] * len(documents)
    index.merge(drop_terms=True)
    (slot,) = index.add([["w", "x"]])
    assert index.scores(["w"])[slot] > 0
    index.remove([slot])
    assert not index.scores(["w"]).any()


def test_terms_of_removed_texts_are_forgotten_with_the_merge():
    index = KeywordIndex()
    (secret,) = index.add([["password", "hunter2"]])
    index.add([["password"]])
    index.remove([secret])
    index.merge(drop_terms=True)
    assert index.names() == ["password"]
    assert index.dump()[0] == b"password\n"


def test_a_snapshot_whose_arrays_do_not_belong_together_is_refused():
    index = KeywordIndex()
    index.add([["a", "b"], ["b"]])
    index.merge()
    names, arrays = index.dump()
    other = KeywordIndex()
    other.add([["a", "b"], ["a"], ["b"]])
    other.merge()
    for part in (".counts", ".lengths", ".data", ".positions.data"):
        wrong = {".lengths": arrays[".lengths"][:1]} if part == ".lengths" else {part: other.dump()[1][part]}
        with pytest.raises(ValueError, match=r"keyword index|narrow array"):
            KeywordIndex.load(names, arrays | wrong)
    with pytest.raises(ValueError, match="belong together"):
        KeywordIndex.load(names[:-2], arrays)


def test_dumping_with_recent_or_dead_texts_is_refused():
    index = KeywordIndex()
    index.add([["a"]])
    with pytest.raises(ValueError, match="merge"):
        index.dump()


@given(st.lists(st.integers(0, 5), min_size=1, max_size=2000), st.integers(1, 30))
def test_top_keeps_everything_that_ties_with_the_last_place(values, k):
    scores = np.array(values, np.float32)
    positive = sorted((value for value in values if value > 0), reverse=True)
    floor = positive[:k][-1] if positive else None
    expected = {at for at, value in enumerate(values) if floor is not None and value >= floor}
    assert set(top(scores, k).tolist()) == expected


def test_a_text_of_more_than_65535_terms_is_indexed_up_to_there():
    index = KeywordIndex()
    (slot,) = index.add([["a"] * 70_000])
    index.merge()
    assert index.postings("a")[1].tolist() == [65_535]
    assert index.scores(["a"])[slot] > 0


@given(changes, st.lists(st.sampled_from(WORDS), min_size=1, max_size=3))
def test_postings_are_joined_alike_in_one_piece_and_in_many(sequence, query):
    def postings() -> list[object]:
        model = Model()
        for kind, value in [*sequence, ("merge", True)]:
            model.apply(kind, value)
        index = model.index
        keys, sizes = index.occurrences(index.gather(query))
        return [keys.tolist(), sizes, [part.tolist() for term in query for part in index.postings(term)]]

    whole = postings()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(keyword_columns, "BLOCK", 2)
        assert postings() == whole


@given(changes, st.lists(st.sampled_from(WORDS), min_size=1, max_size=3), st.booleans())
def test_texts_are_found_alike_looked_up_one_by_one_and_put_into_the_base_when_asked(sequence, query, before):
    def asked(most: int) -> list[object]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(keyword, "FOLD_TOKENS", most)
            model = Model()
            out: list[object] = []
            for kind, value in sequence:
                model.apply(kind, value)
                if before:
                    out.append(model.index.scores(query).tolist())
            index = model.index
            keys, sizes = index.occurrences(index.gather(query))
            out += [keys.tolist(), sizes, *(part.tolist() for term in query for part in index.postings(term))]
            return [*out, index.scores(query).tolist(), index.postings_with("w")[0].tolist(), index.slots, index.count]

    assert asked(0) == asked(1_000) == asked(5)


@given(changes, st.lists(st.sampled_from(WORDS), min_size=1, max_size=3), st.booleans())
def test_texts_are_found_alike_however_many_are_sorted_together(sequence, query, before):
    def asked(run: int, bulk: int) -> list[object]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(keyword, "RUN_TOKENS", run)
            patch.setattr(keyword, "BULK_TOKENS", bulk)
            model = Model()
            out: list[object] = []
            for kind, value in [*sequence, ("merge", True)]:
                model.apply(kind, value)
                index = model.index
                out += [index.slots, index.count, index.needs_merge(bulk=True)]
                if before or kind == "merge":
                    keys, sizes = index.occurrences(index.gather(query))
                    out += [keys.tolist(), sizes, *(part.tolist() for term in query for part in index.postings(term))]
                    out += [index.scores(query).tolist(), index.postings_with("w")[0].tolist(), index.names()]
            return [*out, *(part.tolist() for part in model.index.dump()[1].values())]

    assert asked(0, 1_000) == asked(7, 1_000) == asked(1_000, 1_000)


def test_what_comes_in_bulk_waits_in_sorted_runs_and_is_joined_once(monkeypatch):
    joins: list[int] = []
    real = keyword.with_runs
    monkeypatch.setattr(keyword, "with_runs", lambda base, runs, n: joins.append(len(runs)) or real(base, runs, n))
    monkeypatch.setattr(keyword, "RUN_TOKENS", 50)
    index = KeywordIndex()
    for number in range(10):
        index.add([[f"w{number}", "all"] * 30])
        assert not index.needs_merge(bulk=True)
    assert index.recent_tokens == 600
    with pytest.raises(ValueError, match="merge before"):
        index.dump()
    index.merge()
    assert joins == [11], "ten runs, and what is in none"
    assert index.postings("all")[0].tolist() == list(range(10))
    assert index.postings("w3")[1].tolist() == [30]


near = st.integers(-3, 9)


@given(st.lists(near), st.lists(near | st.sampled_from([-70_000, 70_000, 2**31 - 1])))
def test_values_among_others_are_told(values, some):
    found = are_in(np.array(values, np.int32), np.array(some, np.int64))
    assert found.tolist() == [value in some for value in values]


@given(st.lists(texts, min_size=1, max_size=8), st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), max_size=4))
def test_texts_that_follow_each_other_go_together_as_one_by_one(documents, spans):
    def after(kind: Callable[[range], Iterable[int]]) -> list[object]:
        index = KeywordIndex()
        index.add(documents)
        for ends in spans:
            index.remove(kind(range(min(ends), min(max(ends), len(documents)))))
        return [index.alive.tolist(), index.count, index.dead, index.total, index.scores(WORDS).tolist()]

    assert after(lambda span: span) == after(list) == after(lambda span: np.array(span, np.int64))


@given(changes, st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=4), min_size=1, max_size=3))
def test_texts_are_found_alike_whether_they_were_sorted_in_or_are_looked_through(sequence, queries):
    def asked(look: int, most: int) -> list[object]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(keyword, "LOOK_TOKENS", look)
            patch.setattr(keyword, "MOST_ASKED", most)
            model = Model()
            out: list[object] = []
            for number, (kind, value) in enumerate(sequence):
                model.apply(kind, value)
                query = queries[number % len(queries)]
                found = model.index.gather([*query, "unheard"])
                keys, sizes = model.index.occurrences(found)
                out += [found.sizes, found.slots.tolist(), found.tf.tolist(), keys.tolist(), sizes]
                if number % 3 == 2:  # now and then all are sorted in
                    out += [model.index.scores(query).tolist(), model.index.postings_with("w")[0].tolist()]
            return out

    assert asked(-1, 100) == asked(10_000, 100) == asked(20, 3) == asked(10_000, 2)
