"""P10 where vectors take part: a search says when its second arm is off, and what it found by meaning alone."""

from pathlib import Path

import pytest

from agentscope_reme import ReMe
from agentscope_reme.index import embedding, vectors_upkeep
from tests.support.embedding import FakeEmbedding, unreachable

FILLER = ["The roof was mended.", "Meetings are on Tuesday.", "The ladder is red.", "Oslo is cold.", "A lamp broke."]


@pytest.fixture
def notes(vault_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(embedding, "PAUSES", (0.0, 0.0, 0.0))
    monkeypatch.setattr(vectors_upkeep, "FIRST_PAUSE", 0.02)
    vault_dir.mkdir()
    for number, text in enumerate([*FILLER, "Our cat Minka sleeps."]):
        (vault_dir / f"{number}.md").write_text(text + "\n", encoding="utf-8")
    return vault_dir


@pytest.mark.parametrize("query", ["red ladder", "animal", "nothing of the kind"])
async def test_promise_10_a_second_arm_that_is_off_is_said_with_and_without_hits(notes: Path, query: str) -> None:
    async with ReMe(notes, embedding_model=FakeEmbedding(fault=unreachable), embedding_wait=10) as reme:
        found = await reme.search(query)
        assert found.status == "degraded"
        assert "connection refused" in found.note
        assert bool(found.hits) == (query == "red ladder")


async def test_promise_10_what_is_found_by_meaning_alone_is_no_proof_and_noise_is_nothing(notes: Path) -> None:
    async with ReMe(notes, embedding_model=FakeEmbedding(512), embedding_wait=10) as reme:
        await reme.index.embed()
        near = await reme.search("animal")
        assert near.hits[0].path == "5.md"
        assert near.evidence == 0
        nothing = await reme.search("quantum chromodynamics lattice")
        assert (nothing.status, nothing.hits) == ("none", ())
        assert nothing.note


async def test_promise_10_a_search_that_words_answer_is_ok_with_vectors_too(notes: Path) -> None:
    async with ReMe(notes, embedding_model=FakeEmbedding(), embedding_wait=10) as reme:
        await reme.index.embed()
        found = await reme.search("red ladder")
        assert (found.status, found.note, found.hits[0].path) == ("ok", "", "2.md")
