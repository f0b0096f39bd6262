"""The compiled loops give what numpy gives in every context: days, speakers, preferred files, vectors, long files."""

import asyncio
import json
import random
from dataclasses import replace
from datetime import UTC, date, datetime
from itertools import pairwise

import numpy as np
import pytest

from agentscope_reme import ReMeConfig
from agentscope_reme.index import Index
from agentscope_reme.index.blurred import BlurredLengths
from agentscope_reme.index.boosts import Weights
from agentscope_reme.index.candidates import candidates
from agentscope_reme.index.compiled import form, kernels
from agentscope_reme.index.ends import Ends
from agentscope_reme.index.fusion import Dense, Fusion
from agentscope_reme.index.keyword import KeywordIndex
from agentscope_reme.index.narrow import Narrow
from agentscope_reme.index.question import Question
from agentscope_reme.index.ranking import rank
from agentscope_reme.index.retrieval import Request
from agentscope_reme.index.vocabulary import Vocabulary
from agentscope_reme.vault import Vault

from .forms import in_numpy
from .test_ranking_pruned import NAMES, QUERIES, corpus_index, sentence  # noqa: F401

pytestmark = pytest.mark.skipif(kernels is None, reason=f"there is no compiled form: {form}")

TODAY = date(2026, 3, 18)


@pytest.fixture(scope="module")
def changed_index(tmp_path_factory):
    """Files of several stretches that were written out of order, changed and removed; nothing merged since."""
    rnd, root = random.Random(11), tmp_path_factory.mktemp("contexts")
    (root / "session/dialog").mkdir(parents=True)
    config = ReMeConfig(vault_dir=root)
    index = Index(Vault(root, timezone="UTC", clock=lambda: datetime(2026, 3, 18, tzinfo=UTC)), config)

    def note(number: int, passages: int) -> None:
        front = f"---\npinned: {rnd.choice(['true', 'false'])}\naliases: [{sentence(rnd)}]\n---\n"
        headings = [f"## {sentence(rnd)}\n" if rnd.random() < 0.5 else sentence(rnd) for _ in range(passages)]
        links = f"See [[note {rnd.randint(0, 30)}]] for the {sentence(rnd)}"
        text = "\n\n".join([*headings, links])
        (root / f"note {number}.md").write_text(f"{front}# {sentence(rnd)}\n\n{text}\n", encoding="utf-8")

    def journal(name: str, turns: int) -> None:
        lines = []
        for number in range(turns):
            message = {"id": f"m{number}", "name": rnd.choice(NAMES), "role": "user", "content": sentence(rnd)}
            message["timestamp"] = f"2026-03-{1 + number // 40:02d} 10:00:00"
            lines.append(json.dumps({"id": f"m{number}", "seq": number, "msg": message, "marks": [], "tokens": 1}))
        (root / f"session/dialog/{name}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")

    for number in range(30):
        note(number, rnd.randint(0, 9))
    journal("long", 300)
    asyncio.run(index.sync())
    journal("long", 420)  # it gets more stretches, behind those of others
    journal("other", 150)
    note(3, 180)
    note(31, 0)
    for number in (4, 7):
        (root / f"note {number}.md").unlink()
    asyncio.run(index.sync())
    note(5, 200)
    asyncio.run(index.sync())
    corpus = index._opened().store.corpus
    assert corpus.units.dead
    assert corpus.units.recent_tokens
    assert np.count_nonzero(corpus.stretches.joined) > 10
    return index


def contexts(index: Index, query: str):
    """A question with all that a context may hold, one by one and together."""
    opened = index._opened()
    corpus = opened.store.corpus
    terms = opened.tokenizer.query(query, TODAY)
    plain = opened.retriever._context(terms, Request(query), TODAY)
    some = [known.id for known in corpus.files.living()]
    more = {
        "named": frozenset({corpus.speaker_id(NAMES[0])}),
        "preferred": frozenset(some[::3]),
        "demoted": frozenset(some[1::4]),
        "closeness": lambda days: np.where(days % 3 == 0, 1.0, 0.4),
        "allowed": np.arange(corpus.units.slots) % 5 > 0,
    }
    random = np.random.default_rng(len(query))
    rows = np.arange(corpus.units.slots, dtype=np.int32)
    rows[::7] = -1
    more["dense"] = Dense(random.random(len(rows), np.float32), rows, Fusion())
    return terms, [plain, *(replace(plain, **{name: value}) for name, value in more.items()), replace(plain, **more)]


def found(corpus, terms, context, weights):
    asked = Question(corpus, terms, context, weights)
    some = candidates(asked, context, weights)
    parts = [some.stretches.tolist(), some.whole.tobytes(), some.ceilings.tobytes(), asked.bonus.tobytes()]
    for want in (1, 7, 60):
        ranked = rank(corpus, terms, context, weights, want)
        parts += [ranked.slots.tolist(), ranked.scores.tobytes(), ranked.evidence, ranked.dated, ranked.nearness]
    return parts


@pytest.mark.parametrize("name", ["corpus_index", "changed_index"])
@pytest.mark.parametrize("query", [*QUERIES, "otter note 5 river", "river"])
def test_every_context_has_the_same_ceilings_and_ranking(request, name, query):
    index = request.getfixturevalue(name)
    corpus = index._opened().store.corpus
    terms, some = contexts(index, query)
    for context in some:
        for weights in (Weights(), Weights(superseded=1, repeats=1, asks=1, speaker=3, damping=1)):
            compiled = found(corpus, terms, context, weights)
            with in_numpy():
                assert found(corpus, terms, context, weights) == compiled


def test_a_unit_whose_length_needs_four_bytes_has_the_same_score(corpus_index, monkeypatch):  # noqa: F811
    corpus = corpus_index._opened().store.corpus
    wide = BlurredLengths()
    wide._values, wide.total = corpus.blurred[:].astype(np.int32), corpus.blurred.total
    monkeypatch.setattr(corpus, "blurred", wide)
    for query in QUERIES[:4]:
        terms, some = contexts(corpus_index, query)
        compiled = found(corpus, terms, some[0], Weights())
        with in_numpy():
            assert found(corpus, terms, some[0], Weights()) == compiled


# --- larger than any index of the tests -------------------------------------------------------------------------------


def test_words_of_more_texts_than_two_bytes_count_are_found_the_same():
    index = KeywordIndex()
    texts = [["otter", "river"] if number % 3 else ["otter"] * 20 for number in range(70_000)]
    for begin in range(0, len(texts), 10_000):
        index.add(texts[begin : begin + 10_000])
    index.merge()
    index.add([["river", "otter", "ferry"]] * 70)
    index.remove(range(50, 60))

    def answers():
        gathered = index.gather(["otter", "ferry", "river", "unheard"])
        keys, sizes = index.occurrences(gathered)
        slots, scores = index.scored(gathered)
        best, values = index.best(gathered, 30)
        parts = (gathered.slots, gathered.tf, keys, slots, scores, best, values)
        return [gathered.sizes, sizes, *(one.tolist() for one in parts)]

    compiled = answers()
    assert compiled[0][0] > 65_536
    assert compiled[1][0] > 400_000
    with in_numpy():
        assert answers() == compiled


@pytest.mark.parametrize("most", [1, 9, 255, 256, 65_535, 65_536, 100_000, 1 << 19, 1 << 24, (1 << 31) - 1])
@pytest.mark.parametrize("common", [1, 200, 40_000, 70_000, 1 << 20, 1 << 25])
def test_narrow_arrays_of_every_form_are_read_the_same(most, common):
    random = np.random.default_rng(most)
    values = np.minimum(random.integers(1, common + 1, 9_000), most)
    values[random.integers(0, len(values), 40)] = most
    narrow, beside = Narrow.of(values, np.int32), Narrow.of(np.ones(len(values), np.int64), np.uint16)
    bounds = [0, 0, 1, 7, 8, 4_095, 4_096, 4_097, 8_191, 8_200, 9_000]
    reader = kernels.Reader(Ends(np.array(bounds)).parts, (narrow.fields(), beside.fields()))
    slots, tf, _ = reader.read([*range(10), 3, 8])
    spans = [*pairwise(bounds)]
    read = [values[begin:end] for begin, end in [*spans, spans[3], spans[8]]]
    assert slots.tolist() == np.concatenate(read).tolist()
    assert set(tf.tolist()) == {1}


def test_ends_that_lie_far_apart_are_read_the_same():
    for ends in ([0, 5, 70_000, 70_001, 5_000_000], [0] * 17 + [65_534, 65_535, 65_536] + [200_000] * 20):
        size = ends[-1]
        data = np.zeros(3 * size + 1, np.uint8)
        data[2::3] = 1 << 4  # one each
        reader = kernels.Reader(
            Ends(np.array(ends)).parts, ((data, 3, 20, np.zeros(0, np.int64), np.zeros(0, np.int32)),)
        )
        numbers = list(range(len(ends)))
        assert reader.read(numbers)[2] == [*np.diff(ends).tolist(), 0]


def test_numbers_of_terms_that_need_four_bytes_are_found_the_same():
    words = Vocabulary()
    words.numbers([f"word{number}" for number in range(300)] + ["花园", "\ud800"])
    words.settle()
    asked = ["word7", "花园", "unheard", "\ud800", "word299", ""]
    narrow = words.find(asked)
    words._number_upper = type(words._number_upper)("H", list(words._number_upper))
    words._finder = None
    assert words.find(asked) == narrow == [7, 300, None, 301, 299, None]
    with in_numpy():
        assert words.find(asked) == narrow
