"""Leaving out what cannot be among the best changes nothing: the result is that of scoring every unit."""

import asyncio
import json
import random
from datetime import date

import pytest

from agentscope_reme.index.boosts import Weights
from agentscope_reme.index.ranking import rank
from agentscope_reme.index.retrieval import Request

WORDS = ["otter", "river", "bridge", "alarm", "garden", "ferry", "violin", "market", "花园", "密码", "钥匙", "路由器"]
NAMES = ["Ann", "Bob", "Cid"]


def sentence(rnd: random.Random) -> str:
    return " ".join(rnd.choices(WORDS, weights=range(1, len(WORDS) + 1), k=rnd.randint(1, 9))) + "."


@pytest.fixture(scope="module")
def corpus_index(tmp_path_factory):
    """Notes, dialogues, links, dates and one long journal."""
    from datetime import UTC, datetime

    from agentscope_reme import ReMeConfig
    from agentscope_reme.index import Index
    from agentscope_reme.vault import Vault

    rnd, codes = random.Random(5), random.Random(6)
    root = tmp_path_factory.mktemp("pruned")
    for number in range(150):
        path = root / f"daily/2026-0{rnd.randint(1, 3)}-{rnd.randint(1, 28):02d}" / f"{rnd.choice(WORDS)}-{number}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        parts = [f"# {sentence(rnd)}"] if rnd.random() < 0.3 else []
        for _ in range(rnd.randint(0, 12)):
            text = sentence(rnd)
            if rnd.random() < 0.4:
                text = f"**{rnd.choice(NAMES)}**: {text}"
            if codes.random() < 0.05:
                text += f" ERR-{codes.randint(1, 30)}"
            if rnd.random() < 0.2:
                text += f" yesterday, see [[{rnd.choice(WORDS)}-{rnd.randint(0, 149)}]]"
            parts.append(text)
        front = "---\npinned: true\n---\n" if rnd.random() < 0.05 else ""
        path.write_text(front + "\n\n".join(parts) + "\n", encoding="utf-8")
    lines = []
    for number in range(400):
        message = {"id": f"m{number}", "name": rnd.choice(NAMES), "role": "user", "content": sentence(rnd)}
        message["timestamp"] = f"2026-03-{1 + number // 40:02d} 10:00:00"
        lines.append(json.dumps({"id": f"m{number}", "seq": number, "msg": message, "marks": [], "tokens": 1}))
    journal = root / "session/dialog/long.jsonl"
    journal.parent.mkdir(parents=True)
    journal.write_text("\n".join(lines) + "\n", encoding="utf-8")
    index = Index(
        Vault(root, timezone="UTC", clock=lambda: datetime(2026, 3, 18, tzinfo=UTC)), ReMeConfig(vault_dir=root)
    )
    asyncio.run(index.sync())
    return index


QUERIES = [
    "otter river",
    "花园密码",
    "What did Ann say about the garden and the alarm?",
    "When did Bob cross the bridge in March 2026?",
    "otter-17 violin",
    "market alarm ferry garden river bridge",
    "2026-03-05",
    "钥",
    "昨天路由器",
    "long",
    "ERR-7",
    "what was ERR-12 at the river",
    "ERR-3 ERR-4",
    "ERR-5 market",
    "violin ERR-9",
    "花园 ERR-11",
    'who has the "river bridge alarm"',
    "“花园密码” “钥匙 violin”",
]


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("wanted", [None, {"path": "daily/2026-02"}, {"since": "2026-03-03", "until": "2026-03-06"}])
@pytest.mark.parametrize("weights", [Weights(), Weights(labels=0, whole_title=0, anchors=0)])
def test_ranking_with_ceilings_equals_ranking_everything(corpus_index, query, wanted, weights):
    opened = corpus_index._opened()
    today = date(2026, 3, 18)
    for want in (1, 3, 10, 40):
        terms = opened.tokenizer.query(query, today)
        context = opened.retriever._context(terms, Request(query, filter=wanted), today)
        quick = rank(opened.store.corpus, terms, context, weights, want)
        full = rank(opened.store.corpus, terms, context, weights, want, everything=True)
        assert quick.slots.tolist() == full.slots.tolist()
        assert quick.scores.tolist() == full.scores.tolist()
        assert (quick.evidence, quick.dated) == (full.evidence, full.dated)


def test_most_units_are_left_out_when_the_question_is_specific(corpus_index, monkeypatch):
    from agentscope_reme.index import ranking

    scored: list[int] = []
    real = ranking.score_units

    def counted(*asked):
        units = real(*asked)
        scored.append(len(units[0]))
        return units

    monkeypatch.setattr(ranking, "score_units", counted)
    opened = corpus_index._opened()
    terms = opened.tokenizer.query("otter-17 violin bridge", date(2026, 3, 18))
    context = opened.retriever._context(terms, Request("otter-17 violin bridge"), date(2026, 3, 18))
    assert len(rank(opened.store.corpus, terms, context, Weights(), 5).slots) >= 5
    assert scored[-1] < opened.store.corpus.units.count / 3


def test_only_stretches_with_a_word_a_name_or_a_link_are_candidates(corpus_index):
    from agentscope_reme.index.candidates import candidates
    from agentscope_reme.index.question import Question

    opened = corpus_index._opened()
    corpus, today = opened.store.corpus, date(2026, 3, 18)

    def found(query: str) -> int:
        terms = opened.tokenizer.query(query, today)
        context = opened.retriever._context(terms, Request(query), today)
        return len(candidates(Question(corpus, terms, context, Weights()), context, Weights()).stretches)

    rare = found("otter")
    assert found("unheard word") == 0
    assert 0 < rare < corpus.stretches.living
    assert rare < found("otter river") <= corpus.stretches.living


def test_the_postings_of_a_word_are_read_once_for_a_question(corpus_index, monkeypatch):
    from collections import Counter

    from agentscope_reme.index.keyword import KeywordIndex

    opened = corpus_index._opened()
    today, query = date(2026, 3, 18), "garden alarm garden market"
    terms = opened.tokenizer.query(query, today)
    context = opened.retriever._context(terms, Request(query), today)
    read: Counter[tuple[int, str]] = Counter()
    calls: list[int] = []
    real = KeywordIndex.gather

    def counted(self, words):
        calls.append(1)
        read.update((id(self), word) for word in words)
        return real(self, words)

    monkeypatch.setattr(KeywordIndex, "gather", counted)
    assert len(rank(opened.store.corpus, terms, context, Weights(), 5).slots) >= 5
    assert len(calls) == 3  # of passages, names and links
    assert set(read.values()) == {1}


def test_the_days_of_a_vault_are_gathered_once_for_many_questions_about_dates(corpus_index, monkeypatch):
    from agentscope_reme.index import boosts

    opened = corpus_index._opened()
    gathered: list[int] = []
    real = boosts.days_of
    monkeypatch.setattr(boosts, "days_of", lambda corpus: gathered.append(1) or real(corpus))
    for query in ("2026-03-05", "昨天", "otter in March 2026"):
        opened.retriever.search(Request(query), date(2026, 3, 18))
    assert len(gathered) <= 1
    corpus = opened.store.corpus
    assert opened.retriever._current_standing().days.tolist() == sorted(
        set(corpus.column("day")[corpus.units.alive].tolist()) - {0}
    )
