"""What the stored index holds after a note was forgotten: what one built from the files that are left holds."""

import json
from typing import Any

import pytest

from agentscope_reme import ReMe
from agentscope_reme.errors import NoteError
from agentscope_reme.index import snapshot
from agentscope_reme.index.corpus import Corpus


def stored(reme: ReMe) -> Corpus:
    found = snapshot.load(reme.vault.storage, reme.index._opened().fingerprint)
    assert found.corpus is not None, found.damage
    return found.corpus


def words(corpus: Corpus) -> dict[str, Any]:
    return {
        "terms": set(corpus.units.names()),
        "labels": set(corpus.labels.names()),
        "anchors": set(corpus.anchors.index.names()),
        "speakers": set(corpus.speakers),
        "files": {path: (entry.digest, entry.title, entry.front) for path, entry in corpus.files.items()},
    }


def fill(put) -> None:
    for number in range(20):
        put(f"{number}.md", f"# Note {number}\n\nThe ferry {number} and the shared words. See [[secret.md]].\n")
    turn = {"id": "m1", "seq": 0, "msg": {"id": "m1", "name": "Marzipan", "content": "The zeppelin lands."}}
    put("session/dialog/s.jsonl", json.dumps(turn) + "\n")
    put("secret.md", "---\nname: Quixotic\ntags: [xylophone]\nsession_id: s\n---\nThe obsidian vorpal word. [[0.md]]\n")


async def test_after_forgetting_the_stored_index_is_as_one_built_from_what_is_left(put, vault_dir, monkeypatch):
    fill(put)
    async with ReMe(vault_dir) as reme:
        await reme.index.persist()
        assert "quixotic" in str(words(stored(reme))).lower()
        before = reme.index._opened().sync.passes
        receipt = await reme.forget("secret.md")
        assert receipt.journal_lines == (("session/dialog/s.jsonl", 1),)
        assert reme.index._opened().sync.passes == before, "the files that stay are not read into terms again"
        after = words(stored(reme))
        assert await reme.index.verify() == ()
        await reme.index.reindex()
        assert after == words(stored(reme))
        for word in ("quixot", "xylophon", "vorpal", "obsidian", "marzipan", "zeppelin"):
            assert word not in str(after).lower()


async def test_when_the_disk_refuses_the_stored_index_is_deleted_rather_than_kept(put, vault_dir, monkeypatch):
    fill(put)
    async with ReMe(vault_dir) as reme:
        await reme.index.persist()

        def refuses(storage, packed):
            raise NoteError("the disk is full; nothing was changed")

        with monkeypatch.context() as patch:
            patch.setattr(snapshot, "write", refuses)
            receipt = await reme.forget("secret.md")
        assert not (vault_dir / snapshot.INDEX).exists()
        assert not any("stored index" in said for said in receipt.unreachable)
        assert [hit.path for hit in (await reme.search("vorpal")).hits] == []


async def test_an_index_that_another_process_writes_is_said_to_be_out_of_reach(put, vault_dir):
    fill(put)
    async with ReMe(vault_dir) as writer:
        await writer.index.persist()
        async with ReMe(vault_dir) as other:
            receipt = await other.forget("secret.md")
            assert any("another process" in said for said in receipt.unreachable)
            assert (await other.search("vorpal")).status == "none"
        assert (await writer.search("vorpal")).status == "none"
    async with ReMe(vault_dir) as later:
        await later.index.sync()
        assert "vorpal" not in str(words(stored(later))).lower()


@pytest.mark.parametrize("path", ["secret.md", "0.md"])
async def test_a_note_forgotten_just_after_it_was_written_leaves_nothing(put, vault_dir, path):
    fill(put)
    async with ReMe(vault_dir) as reme:
        await reme.vault.write(path, "The brillig word.\n", overwrite=True)
        await reme.forget(path)
        assert path not in words(stored(reme))["files"]
        assert "brillig" not in str(words(stored(reme)))
