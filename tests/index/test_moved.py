"""A moved file keeps what was read of it: nothing is read into terms again, and nothing differs from a fresh index."""

import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentscope_reme import ReMe
from agentscope_reme.index.link_records import packed_links
from agentscope_reme.index.moved import reads_alike
from agentscope_reme.index.reading import read_entries
from agentscope_reme.index.tokenizer import Tokenizer

PATHS = [
    "a.md", "b.md", "x/a.md", "x/y/a.md", "daily/a.md", "daily/2026-03-05.md", "x/2026-03-05.md", "2026-03-06/a.md",
    "daily/2026-03-06/a.md", "daily/2026-03-06.md", "resource/a.md", "resource/2026-03-05/a.md", "a.markdown",
    "session/dialog/s.jsonl", "dialog/s.jsonl", "resource/s.jsonl", "x/dialog/s.jsonl", "resource/a.txt",
]  # fmt: skip
TEXTS = [
    "# Otter\n\nThe otter [[b.md]] of 2026-03-05.\n\n**Ann**: hello there.\n",
    "---\ntitle: Kiln\ndate: 2026-01-02\ntags: [garden]\nup: '[[b.md]]'\n---\nText.\n",
    "---\ngenerator: extractive@1\n---\n<!-- reme:begin statements -->\n- [10:00] user: The ferry.\n"
    "<!-- reme:end statements -->\n",
    "<!-- reme:begin index -->\n- [[daily/2026-03-05/card.md]]: about\n<!-- reme:end index -->\n",
    '{"id": "m1", "seq": 0, "msg": {"id": "m1", "name": "Ann", "content": "The ferry is late."}}\n',
    "",
]


@given(st.sampled_from(PATHS), st.sampled_from(PATHS), st.sampled_from(TEXTS))
def test_what_reads_alike_gives_the_same_entries(path: str, other: str, text: str) -> None:
    if not reads_alike(path, other):
        return
    tokenizer = Tokenizer("bigram")
    (one, units), (two, others) = (read_entries(name, text.encode(), tokenizer) for name in (path, other))
    assert units == others
    fields = ("title", "day", "kind", "tags", "aliases", "front", "labels", "anchors", "lines", "fault", "description")
    assert {name: getattr(one, name) for name in fields} == {name: getattr(two, name) for name in fields}
    assert packed_links(one.links) == packed_links(two.links)


def passes(reme: ReMe) -> int:
    return reme.index._opened().sync.passes


def fill(put: Callable[..., Path], folder: str, count: int = 30) -> None:
    for number in range(count):
        away = "Other words stand here, so many that the link below is not near. " * 5
        text = f"# Otter\n\nThe ferry number{number}.\n\n{away}\n\n[[{folder}/{(number + 1) % count}.md]]\n"
        put(f"{folder}/{number}.md", text)


@pytest.mark.parametrize("watch", ["auto", "off"])
async def test_a_folder_that_is_renamed_is_not_read_again(put, vault_dir, watch) -> None:
    fill(put, "d")
    put("other.md", "See [[d/3.md]].\n")
    async with ReMe(vault_dir, watch=watch) as reme:
        before = passes(reme)
        (vault_dir / "d").rename(vault_dir / "e")
        report = await reme.index.sync()
        assert passes(reme) == before
        if watch == "off":
            assert (report.added, report.removed) == (30, 30)
        (hit,) = (await reme.search("number7", 1)).hits
        assert (hit.path, hit.outlinks) == ("e/7.md", ("d/8.md",))
        assert hit.linked[0].exists is False
        assert len(await reme.index.loose_links()) == 31
        assert await reme.index.verify() == ()
        (vault_dir / "e").rename(vault_dir / "d")
        await reme.index.sync()
        assert passes(reme) == before
        (hit,) = (await reme.search("number7", 1)).hits
        assert (hit.path, hit.outlinks, hit.inlinks) == ("d/7.md", ("d/8.md",), ("d/6.md",))
        assert await reme.index.verify() == ()
    async with ReMe(vault_dir, watch=watch) as reme:
        assert passes(reme) == 0
        assert await reme.index.verify() == ()


async def test_a_copy_and_a_file_under_another_name_are_read(put, vault_dir) -> None:
    fill(put, "d", 4)
    async with ReMe(vault_dir, watch="off") as reme:
        before = passes(reme)
        shutil.copytree(vault_dir / "d", vault_dir / "copy")
        await reme.index.sync()
        assert passes(reme) == before + 4
        (vault_dir / "d/1.md").rename(vault_dir / "d/one.md")
        await reme.index.sync()
        assert passes(reme) == before + 5
        (vault_dir / "copy/2.md").rename(vault_dir / "d/2026-03-05.md")
        await reme.index.sync()
        assert passes(reme) == before + 6
        assert await reme.index.verify() == ()


async def test_moving_a_folder_through_the_vault_reads_only_what_the_move_has_changed(put, vault_dir) -> None:
    for number in range(20):
        put(f"d/{number}.md", f"# Otter {number}\n\nThe ferry number{number}.\n")
    put("links.md", "[[d/3.md]]\n")
    async with ReMe(vault_dir, watch="off") as reme:
        before = passes(reme)
        await reme.vault.move("d", "e")
        assert [hit.path for hit in (await reme.search("number3", 1)).hits] == ["e/3.md"]
        assert passes(reme) == before + 1, "the note whose link was rewritten"
        assert await reme.index.verify() == ()


async def test_two_files_with_the_same_bytes_are_kept_apart(put, vault_dir) -> None:
    put("x/a.md", "The ferry.\n")
    put("y/a.md", "The ferry.\n")
    async with ReMe(vault_dir, watch="off") as reme:
        (vault_dir / "x").rename(vault_dir / "z")
        await reme.index.sync()
        assert sorted(reme.index._opened().store.corpus.files) == ["y/a.md", "z/a.md"]
        (vault_dir / "y").rename(vault_dir / "w")
        (vault_dir / "z").rename(vault_dir / "v")
        await reme.index.sync()
        assert sorted(reme.index._opened().store.corpus.files) == ["v/a.md", "w/a.md"]
        assert await reme.index.verify() == ()


@pytest.mark.parametrize("seed", range(4))
async def test_after_many_moves_the_answers_are_those_of_an_index_built_from_the_files(put, vault_dir, seed) -> None:
    chance = random.Random(seed)
    words = ["otter", "river", "花园", "密码", "alarm", "ferry"]
    for number in range(25):
        text = " ".join(chance.choice(words) for _ in range(6))
        front = chance.choice(["", "---\nsupersedes: d1/3.md\n---\n", "---\npinned: true\n---\n"])
        put(f"d{number % 4}/{number}.md", f"{front}# Note\n\n{text} [[d{chance.randrange(4)}/{number - 1}.md]]\n")
    put("MEMORY.md", "otter river\n")
    async with ReMe(vault_dir, watch="off") as reme:
        for step in range(30):
            folders = sorted(path for path in vault_dir.iterdir() if path.is_dir() and path.name not in ("metadata",))
            source = chance.choice(folders)
            kind = chance.random()
            if kind < 0.6:
                source.rename(vault_dir / f"f{step}")
            elif kind < 0.8:
                note = chance.choice(sorted(source.glob("*.md")) or [vault_dir / "MEMORY.md"])
                note.replace(chance.choice(folders) / note.name)
            else:
                (chance.choice(folders) / "MEMORY.md").write_text("river alarm\n")
            if chance.random() < 0.4:
                await reme.index.sync()
        await reme.index.sync()
        assert await reme.index.verify() == ()
        fresh = ReMe(vault_dir, watch="off")
        await fresh.index.reindex()
        for query in ("otter river", "花园的密码", "ferry alarm"):
            one, two = await reme.search(query, 30), await fresh.search(query, 30)
            assert (one.status, one.hits) == (two.status, two.hits)
        await fresh.close()


async def test_a_folder_that_has_a_copy_elsewhere_is_not_read_again_either(put, vault_dir) -> None:
    fill(put, "d", 6)
    shutil.copytree(vault_dir / "d", vault_dir / "copy")
    shutil.copytree(vault_dir / "d", vault_dir / "a copy")
    async with ReMe(vault_dir, watch="off") as reme:
        before = passes(reme)
        (vault_dir / "d").rename(vault_dir / "e")
        await reme.index.sync()
        assert passes(reme) == before
        assert {path.split("/")[0] for path in reme.index._opened().store.corpus.files} == {"a copy", "copy", "e"}
        assert await reme.index.verify() == ()


async def test_many_files_with_the_same_bytes_are_taken_in_and_moved(put, vault_dir) -> None:
    for number in range(200):
        put(f"{number}/index.md", "")
        put(f"{number}/{number}.md", "")
    async with ReMe(vault_dir, watch="off") as reme:
        for number in range(0, 200, 3):
            (vault_dir / str(number)).rename(vault_dir / f"moved{number}")
        await reme.index.sync()
        assert reme.index.status()["files"] == 400
        assert await reme.index.verify() == ()
