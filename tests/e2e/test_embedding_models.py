"""AgentScope's own embedding classes, over HTTP, as the second arm of a search."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from agentscope.embedding import DashScopeTextEmbedding, OllamaTextEmbedding, OpenAITextEmbedding

from agentscope_reme import ReMe
from agentscope_reme.index import embedding, vectors_upkeep
from tests.support.embedding_stub import EmbeddingStub
from tests.support.openai_stub import OpenAIStub

TEXTS = [
    "Our cat Minka sleeps all day.",
    "The roof was mended in May.",
    "The invoice for the ladder goes to Jonas.",
    *(f"Sentence number {n} about nothing in particular." for n in range(30)),
]


def openai_model(stub: EmbeddingStub) -> Any:
    return OpenAITextEmbedding("key", "text-embedding-3-small", 128, base_url=f"{stub.root}/v1", max_retries=0)


def ollama_model(stub: EmbeddingStub) -> Any:
    pytest.importorskip("ollama", reason="the ollama package is not installed")
    return OllamaTextEmbedding("nomic-embed-text", 128, host=stub.root)


def dashscope_model(stub: EmbeddingStub) -> Any:
    return DashScopeTextEmbedding("key", "text-embedding-v4", 128)


MODELS = [openai_model, ollama_model, dashscope_model]
Maker = Callable[[EmbeddingStub], Any]


@pytest.fixture
def stub(monkeypatch):
    monkeypatch.setattr(embedding, "PAUSES", (0.0, 0.0, 0.0))
    monkeypatch.setattr(vectors_upkeep, "FIRST_PAUSE", 0.02)
    with EmbeddingStub() as running:
        import dashscope

        monkeypatch.setattr(dashscope, "base_http_api_url", f"{running.root}/api/v1")
        yield running


@pytest.fixture
def notes(vault_dir: Path) -> Path:
    vault_dir.mkdir()
    (vault_dir / "a.md").write_text("\n\n".join(TEXTS), encoding="utf-8")
    return vault_dir


@pytest.mark.parametrize("make", MODELS)
async def test_a_note_is_found_by_its_meaning(stub: EmbeddingStub, notes: Path, make: Maker) -> None:
    async with ReMe(notes, embedding_model=make(stub), embedding_wait=20) as reme:
        report = await reme.index.embed()
        assert (report.texts, report.missing, report.fault) == (len(TEXTS), 0, "")
        found = await reme.search("which animal", limit=1)
        assert "Minka" in found.hits[0].text
        assert found.status != "degraded"
    assert sorted(stub.texts) == sorted([*TEXTS, "which animal"])


@pytest.mark.parametrize("make", MODELS)
async def test_a_service_that_is_down_leaves_words_and_a_reason(stub: EmbeddingStub, notes: Path, make: Maker) -> None:
    stub.failing = lambda: 503
    async with ReMe(notes, embedding_model=make(stub), embedding_wait=20) as reme:
        found = await reme.search("ladder Jonas", limit=1)
        assert found.status == "degraded"
        assert found.note
        assert "invoice" in found.hits[0].text
        assert reme.index.status()["vectors"]["error"]
        stub.failing = lambda: 0
        assert (await reme.index.embed()).missing == 0
        reme.index._vectors.embedder._rest_until = 0.0
        assert "Minka" in (await reme.search("which animal", limit=1)).hits[0].text


@pytest.mark.parametrize("make", MODELS)
async def test_a_service_that_is_busy_now_and_then_is_asked_again(
    stub: EmbeddingStub, notes: Path, make: Maker
) -> None:
    stub.failing = lambda: 429 if len(stub.requests) % 2 else 0
    async with ReMe(notes, embedding_model=make(stub), embedding_batch=8) as reme:
        assert (await reme.index.embed()).missing == 0


@pytest.mark.parametrize("make", MODELS)
async def test_a_service_that_does_not_know_the_dimensions_is_named(
    stub: EmbeddingStub, notes: Path, make: Maker
) -> None:
    stub.size = 96
    async with ReMe(notes, embedding_model=make(stub), embedding_wait=20) as reme:
        found = await reme.search("ladder Jonas")
        assert found.status == "degraded"
        assert "vectors of 96 numbers, but its dimensions are 128" in found.note


@pytest.mark.parametrize("make", MODELS)
async def test_one_model_serves_a_vault_its_successor_and_its_owner(
    stub: EmbeddingStub, notes: Path, make: Maker, tmp_path: Path
) -> None:
    """A client's open connections belong to the event loop they were made on."""
    model = make(stub)
    await model(["used before"])
    async with ReMe(notes, embedding_model=model, embedding_wait=20) as reme:
        assert "Minka" in (await reme.search("which animal", limit=1)).hits[0].text
        assert len((await model(["used meanwhile"])).embeddings) == 1
        assert (await reme.search("which pet", limit=1)).status != "degraded"
    async with ReMe(notes, embedding_model=model, embedding_wait=20) as reme:
        assert (await reme.search("kitten", limit=1)).status != "degraded"
    assert len((await model(["used after"])).embeddings) == 1


async def test_what_the_strict_stub_of_the_provider_refuses_is_not_sent(notes: Path) -> None:
    (notes / "empty.md").write_text("# Only a heading\n\n---\n\n```\n\n```\n", encoding="utf-8")
    with OpenAIStub() as server:
        model = OpenAITextEmbedding("key", "text-embedding-3-small", 64, base_url=server.base_url, max_retries=0)
        async with ReMe(notes, embedding_model=model) as reme:
            assert (await reme.index.embed()).missing == 0
        assert all(request["dimensions"] == 64 for request in server.requests)
        assert server.refused == []
