"""P15 for vectors: those of a forgotten note go, in memory and on disk, and the receipt counts them."""

import asyncio
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from agentscope_reme import ReMe
from agentscope_reme.index import vectors_file
from agentscope_reme.index.embedding_text import embedded_text, text_key
from agentscope_reme.vault import JournalRecord
from tests.support.embedding import FakeEmbedding

SECRET = "The word is marzipan-7741."
SHARED = "This sentence stands in two notes."
NOTE = f"# Sweets\n\n{SECRET}\n\n{SHARED}\n"


def stored(root: Path) -> set[int]:
    """The keys of the vectors on disk."""
    found = vectors_file.any_model(root)
    return set(found[1].dump()[0].tolist()) if found is not None else set()


def key(text: str, speaker: str = "") -> int:
    return text_key(embedded_text(speaker, text))


@pytest.fixture
async def embedded(vault_dir: Path) -> Path:
    """A vault whose vectors are on disk."""
    async with ReMe(vault_dir, embedding_model=FakeEmbedding()) as reme:
        await reme.vault.write("sweets.md", NOTE)
        await reme.vault.write("other.md", f"{SHARED}\n\nAnother one.\n")
        await reme.index.embed()
    assert {key(SECRET), key(SHARED)} <= stored(vault_dir)
    return vault_dir


@pytest.mark.parametrize("model", [FakeEmbedding, lambda: FakeEmbedding(name="another"), lambda: None])
async def test_promise_15_the_vectors_of_a_note_are_gone_whoever_made_them(embedded: Path, model) -> None:
    async with ReMe(embedded, embedding_model=model()) as reme:
        receipt = await reme.forget("sweets.md")
        assert receipt.vectors == 1
        assert key(SECRET) not in stored(embedded)
        assert key(SHARED) in stored(embedded), "another note says it too"
    assert key(SECRET) not in stored(embedded)


async def test_promise_15_a_dry_run_counts_vectors_and_drops_none(embedded: Path) -> None:
    async with ReMe(embedded, embedding_model=FakeEmbedding()) as reme:
        receipt = await reme.forget("sweets.md", dry_run=True)
        assert (receipt.dry_run, receipt.vectors) == (True, 1)
        assert key(SECRET) in stored(embedded)
        assert (await reme.forget("sweets.md")).vectors == 1


async def test_promise_15_vectors_of_a_journal_s_lines_go_with_the_lines(vault_dir: Path) -> None:
    def said(id: str, text: str) -> JournalRecord:
        content = [{"type": "text", "text": text}]
        return JournalRecord({"id": id, "name": "user", "role": "user", "content": content, "timestamp": "2026-03-16"})

    async with ReMe(vault_dir, embedding_model=FakeEmbedding()) as reme:
        reme.vault.journal("s").append([said("m1", SECRET), said("m2", "The ladder is red."), said("m3", "Yes it is.")])
        await reme.vault.write("card.md", "---\nsource_conversation: session/dialog/s.jsonl:1-1\n---\nOne line.\n")
        await reme.vault.write("b.md", "see session/dialog/s.jsonl:2-3\n")
        await reme.index.embed()
        await reme.index.persist()
        assert {key(SECRET, "user"), key("The ladder is red.", "user")} <= stored(vault_dir)
        receipt = await reme.forget("card.md")
        lines = dict(receipt.journal_lines)
        gone = {key("One line.")} | ({key(SECRET, "user")} if lines else set())
        assert receipt.vectors == len(gone)
        assert not gone & stored(vault_dir)
        assert key("The ladder is red.", "user") in stored(vault_dir)


async def test_promise_15_a_text_that_is_being_embedded_does_not_come_back(vault_dir: Path) -> None:
    reached, released = threading.Event(), threading.Event()

    def held(texts: Sequence[str]) -> None:
        if any("marzipan" in text for text in texts):
            reached.set()
            released.wait(20)

    async with ReMe(vault_dir, embedding_model=FakeEmbedding(fault=held), embedding_wait=0.05) as reme:
        await reme.vault.write("other.md", "Another one.\n")
        await reme.vault.write("sweets.md", NOTE)
        await reme.search("anything")
        await asyncio.to_thread(reached.wait, 20)
        await reme.forget("sweets.md")
        released.set()
        await reme.index.embed()
        await reme.index.persist()
        assert key(SECRET) not in stored(vault_dir)
        assert key("Another one.") in stored(vault_dir)
    assert key(SECRET) not in stored(vault_dir)


async def test_promise_15_vectors_that_cannot_be_read_are_deleted(embedded: Path) -> None:
    path = embedded / vectors_file.VECTORS
    path.write_bytes(path.read_bytes()[:-9])
    (embedded / vectors_file.DAMAGED).write_bytes(b"older")
    async with ReMe(embedded) as reme:
        await reme.forget("sweets.md")
    assert not path.exists()
    assert not (embedded / vectors_file.DAMAGED).exists()


async def test_promise_15_what_another_process_holds_is_said(embedded: Path) -> None:
    async with ReMe(embedded, embedding_model=FakeEmbedding()) as holder:
        await holder.search("anything")
        await holder.index.persist()
        async with ReMe(embedded) as reme:
            receipt = await reme.forget("sweets.md")
            assert any("vectors" in sentence for sentence in receipt.unreachable)
        await holder.index.sync()
    assert key(SECRET) not in stored(embedded), "the holder has looked at the files and dropped them"
