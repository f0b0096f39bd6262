"""The stored index: an unchanged vault is not read again, and no damage on disk keeps a vault from being searched."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import zstandard

from agentscope_reme.index import freshness, snapshot


@pytest.fixture(autouse=True)
def _look_before_every_search(monkeypatch):
    monkeypatch.setattr(freshness, "RECONCILE_SECONDS", 0.0)
    monkeypatch.setattr(freshness, "RECONCILE_SHARE", float("inf"))


@pytest.fixture
async def stored(put, open_index):
    """A vault with a stored index."""
    for number in range(20):
        put(f"{number}.md", f"# Ferry {number}\n\nThe ferry leaves at {number} past nine. See [[1.md]].\n")
    put("t.md", "**Ann**: The tram is late.\n\n**Bob**: Which tram?\n")
    index = open_index()
    before = (await index.search("ferry nine", 50)).hits
    await index.close()
    return before


def index_file(root: Path) -> Path:
    return root / snapshot.INDEX


def arrays_file(root: Path) -> Path:
    (path,) = (root / snapshot.FOLDER).glob("arrays-*.npy.zst")
    return path


async def test_an_unchanged_vault_is_not_read_into_terms_again(stored, open_index):
    index = open_index()
    assert (await index.search("ferry nine", 50)).hits == stored
    assert (await index.search("What did Ann say about the tram?")).hits[0].text.startswith("Ann:")
    assert index._opened().sync.passes == 0
    assert len(index.graph.inlinks("1.md")) == 19
    assert index.status()["persisted"] is True


async def test_a_note_with_very_many_headings_and_links_is_stored_in_lines_of_a_bounded_length(
    put, open_index, vault_dir, monkeypatch
):
    from agentscope_reme.index import files

    monkeypatch.setattr(files, "TOGETHER", 20)
    put("a.md", "The ferry.\n")
    parts = (f"# Pier {number}\n\nThe ferry {number}, see [[{number}.md]].\n\n" for number in range(300))
    put("large.md", "".join(parts))
    put("other.md", "# Pier\n\n[[a.md]]\n")
    index = open_index()
    await index.sync()
    links = index.graph.links("large.md")
    await index.close()
    lines = zstandard.ZstdDecompressor().decompressobj().decompress(index_file(vault_dir).read_bytes()).splitlines()
    assert max(map(len, lines)) < 2_500
    index = open_index()
    hit = (await index.search("ferry 77", 1)).hits[0]
    assert (hit.headings, index._opened().sync.passes) == (("Pier 77",), 0)
    assert index.graph.links("large.md") == links
    assert await index.verify() == ()


async def test_files_changed_while_no_process_ran_are_found(stored, open_index, put, vault_dir):
    put("3.md", "The tram leaves at noon.\n")
    (vault_dir / "4.md").unlink()
    put("new.md", "A new tram line.\n")
    index = open_index()
    hits = (await index.search("tram", 50, token_budget=10_000)).hits
    assert {hit.path for hit in hits} == {"3.md", "new.md", "t.md"}
    assert index._opened().sync.passes == 2
    assert index.status()["files"] == 21


@pytest.mark.parametrize("gone", ["4.md", "t.md", "", "all"])
async def test_a_stored_index_that_only_shrinks_is_stored_again(stored, open_index, vault_dir, gone):
    for path in vault_dir.glob("*.md"):
        if gone in (path.name, "all"):
            path.unlink()
    left = {path.name for path in vault_dir.glob("*.md")}
    index = open_index()
    await index.search("ferry nine")
    assert await index.persist()
    await index.close()
    index = open_index()
    assert {hit.path for hit in (await index.search("ferry tram", 50)).hits} <= left
    assert index.status()["files"] == len(left)


async def test_the_stored_index_is_json_lines_and_plain_arrays(stored, vault_dir):
    text = zstandard.ZstdDecompressor().decompressobj().decompress(index_file(vault_dir).read_bytes()).decode()
    lines = [json.loads(line) for line in text.splitlines()]
    assert lines[0]["format"] == "agentscope-reme index"
    assert lines[0]["version"] == snapshot.VERSION
    assert lines[0]["fingerprint"]
    assert {line["path"] for line in lines[1:-1]} == {f"{number}.md" for number in range(20)} | {"t.md"}
    assert set(lines[-1]) == {"sha256"}
    arrays = zstandard.ZstdDecompressor().decompressobj().decompress(arrays_file(vault_dir).read_bytes())
    assert arrays.startswith(b"\x93NUMPY")


def half(data: bytes) -> bytes:
    return data[: len(data) // 2]


def flipped(data: bytes) -> bytes:
    return data[: len(data) // 2] + bytes([data[len(data) // 2] ^ 0xFF]) + data[len(data) // 2 + 1 :]


@pytest.mark.parametrize("part", [index_file, arrays_file])
@pytest.mark.parametrize(
    "damage", [half, flipped, lambda data: b"", lambda data: os.urandom(len(data)), lambda data: b"\x00" * len(data)]
)
async def test_a_damaged_index_is_set_aside_and_built_again(stored, open_index, vault_dir, part, damage):
    path = part(vault_dir)
    path.write_bytes(damage(path.read_bytes()))
    index = open_index()
    assert (await index.search("ferry nine", 50)).hits == stored
    assert index._opened().sync.passes == 21
    assert index.status()["damage"]
    await index.close()
    assert (vault_dir / snapshot.FOLDER / "index.damaged").exists()
    again = open_index()
    assert (await again.search("ferry nine", 50)).hits == stored
    assert again._opened().sync.passes == 0
    assert again.status()["damage"] == ""


async def test_missing_arrays_are_built_again(stored, open_index, vault_dir):
    arrays_file(vault_dir).unlink()
    index = open_index()
    assert (await index.search("ferry nine", 50)).hits == stored


def rewritten(root: Path, **changes) -> None:
    """Change the header of a stored index and keep its checksum right."""
    lines = [json.loads(line) for line in snapshot._unpack_lines(index_file(root).read_bytes())]
    index_file(root).write_bytes(snapshot._pack_lines([lines[0] | changes, *lines[1:]]))


@pytest.mark.parametrize("changes", [{"version": 99}, {"format": "something else"}, {"names": []}, {"files": None}])
async def test_an_index_of_another_format_is_no_obstacle(stored, open_index, vault_dir, changes):
    rewritten(vault_dir, **changes)
    assert (await open_index().search("ferry nine", 50)).hits == stored


async def test_a_changed_tokenizer_or_setting_rebuilds_the_index(stored, open_index, vault_dir):
    index = open_index(chunk_chars=400)
    assert (await index.search("ferry nine", 50)).hits
    assert index._opened().sync.passes == 21
    assert index.status()["damage"] == ""
    await index.close()
    rewritten(vault_dir, fingerprint="tokenizer of yesterday")
    index = open_index()
    assert (await index.search("ferry nine", 50)).hits == stored
    assert index._opened().sync.passes == 21


async def test_reindex_builds_from_the_files_and_stores_that(stored, open_index, put):
    index = open_index()
    put("new.md", "Another ferry.\n")
    report = await index.reindex()
    assert report.added == 22
    assert index.status()["persisted"] is True
    assert {hit.path for hit in (await index.search("another ferry")).hits} >= {"new.md"}


async def test_nothing_of_a_deleted_note_stays_in_the_stored_index(put, open_index, vault_dir):
    put("a.md", "---\ntags: [classified]\n---\n**Mallory**: The launch code is xylophone.\n")
    put("b.md", "Nothing special.\n")
    index = open_index()
    await index.search("xylophone")
    assert await index.persist()

    def stored_bytes() -> bytes:
        lines = zstandard.ZstdDecompressor().decompressobj().decompress(index_file(vault_dir).read_bytes())
        return lines + zstandard.ZstdDecompressor().decompressobj().decompress(arrays_file(vault_dir).read_bytes())

    assert b"xylophon" in stored_bytes()
    (vault_dir / "a.md").unlink()
    await index.sync()
    assert await index.persist()
    for trace in (b"xylophon", b"Mallory", b"mallori", b"classif", b"a.md"):
        assert trace not in stored_bytes()
    assert len(list((vault_dir / snapshot.FOLDER).glob("arrays-*"))) == 1


async def test_a_read_only_vault_is_searched_and_left_alone(put, open_index, vault_dir, monkeypatch):
    put("a.md", "The ferry leaves at nine.\n")

    def refuse(self) -> bool:
        return False

    monkeypatch.setattr(snapshot.WriterLock, "acquire", refuse)
    index = open_index()
    assert (await index.search("ferry")).hits
    assert await index.persist() is False
    await index.close()
    assert sorted(path.name for path in vault_dir.iterdir()) == ["a.md"]


async def test_only_the_first_of_several_indexes_stores_and_all_search(put, open_index, vault_dir):
    put("a.md", "The ferry leaves at nine.\n")
    first, second = open_index(), open_index()
    assert (await first.search("ferry")).hits
    assert await first.persist() is True
    put("b.md", "The tram leaves at ten.\n")
    assert (await second.search("tram")).hits[0].path == "b.md"
    stored = index_file(vault_dir).read_bytes()
    assert await second.persist() is False
    await second.close()
    assert index_file(vault_dir).read_bytes() == stored
    assert (await first.search("tram")).hits[0].path == "b.md"
    await first.close()
    third = open_index()
    assert (await third.search("tram")).hits[0].path == "b.md"
    assert third._opened().sync.passes == 0


WRITER = """
import asyncio, sys, pathlib
from agentscope_reme import ReMeConfig
from agentscope_reme.index import Index
from agentscope_reme.vault import Vault

async def main(root):
    index = Index(Vault(root), ReMeConfig(vault_dir=root))
    print("ready", flush=True)
    number = 0
    while True:
        await index.vault.write(f"w/{number % 50}.md", f"Ferry {number} of the writer.", overwrite=True)
        await index.search("ferry")
        await index.persist()
        number += 1

asyncio.run(main(pathlib.Path(sys.argv[1])))
"""


async def test_a_writer_that_is_killed_leaves_a_vault_that_others_search_and_store(put, open_index, vault_dir):
    put("a.md", "The ferry leaves at nine.\n")
    writer = subprocess.Popen(  # noqa: ASYNC220 (starting it is quick)
        [sys.executable, "-c", WRITER, str(vault_dir)], stdout=subprocess.PIPE
    )
    try:
        assert writer.stdout.readline() == b"ready\n"
        index = open_index()
        for number in range(20):
            result = await index.search("ferry", 5)
            assert result.status == "ok"
            assert result.hits
            await index.vault.write(f"mine/{number}.md", f"Tram {number}.", overwrite=True)
            assert (await index.search(f"tram {number}")).hits[0].path.startswith("mine/")
    finally:
        writer.kill()
        writer.wait()
        writer.stdout.close()
    assert await index.persist() is True
    await index.close()
    fresh = open_index()
    assert (await fresh.search("tram", 50)).hits
    assert fresh.status()["damage"] == ""


async def test_what_nobody_lets_this_process_look_at_is_built_in_memory(stored, open_index, monkeypatch):
    """``metadata/`` of somebody else, as after a run under another account."""
    real_stat, real_open = os.stat, Path.read_bytes

    def refused(path) -> bool:
        return os.fspath(path).endswith(snapshot.INDEX) if isinstance(path, str | Path) else False

    def stat(path, *args, **kwargs):
        if refused(path):
            raise PermissionError(13, "Permission denied", os.fspath(path))
        return real_stat(path, *args, **kwargs)

    def read_bytes(self):
        if refused(self):
            raise PermissionError(13, "Permission denied", str(self))
        return real_open(self)

    monkeypatch.setattr(os, "stat", stat)
    monkeypatch.setattr(Path, "read_bytes", read_bytes)
    index = open_index()
    assert (await index.search("ferry nine", 50)).hits == stored
    assert "Permission denied" in index.status()["damage"]


@pytest.mark.parametrize("where", ["metadata", "metadata/index"])
async def test_nothing_is_made_outside_by_a_link_in_the_place_of_the_index(put, open_index, vault_dir, tmp_path, where):
    outside = tmp_path / "outside"
    outside.mkdir()
    put("a.md", "The ferry leaves at nine.\n")
    (vault_dir / where).parent.mkdir(exist_ok=True)
    (vault_dir / where).symlink_to(outside)
    index = open_index()
    assert (await index.search("ferry")).hits
    assert await index.persist() is False
    await index.close()
    assert list(outside.iterdir()) == []
