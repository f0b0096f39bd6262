"""Faults that users reported, C7-08, C8-05, C8-08 and C8-10: what left the files, or was read by other rules, stays."""

from pathlib import Path

import pytest

from agentscope_reme import ReMe
from agentscope_reme.index.corpus import Corpus


def corpus(reme: ReMe) -> Corpus:
    found = reme.index._opened().store.corpus
    found.tidy(always=True)
    return found


async def found(reme: ReMe, query: str, limit: int = 20) -> list[str]:
    await reme.index.sync()
    return [hit.path for hit in (await reme.search(query, limit)).hits]


async def test_c7_08_a_note_that_shrinks_leaves_no_pieces_and_the_statistics_follow(vault_dir: Path) -> None:
    vault_dir.mkdir()
    words = ("walnut", "kiln", "zeppelin", "harbour", "tulip", "marble", "violin", "pepper", "anchor", "lantern")
    sections = [f"# Section {number}\n\nThe ferry with the {word} leaves.\n" for number, word in enumerate(words)]
    note = vault_dir / "a.md"
    (vault_dir / "b.md").write_text("# Other\n\nA tram.\n")
    async with ReMe(vault_dir) as reme:
        note.write_text("\n".join(sections))
        assert await found(reme, "anchor") == ["a.md"]
        before = corpus(reme).units.count
        note.write_text("\n".join(sections[:5]))
        assert await found(reme, "anchor") == []
        assert (await reme.search("anchor")).status == "none"
        assert await found(reme, "tulip") == ["a.md"]
        after = corpus(reme)
        assert (before - after.units.count, len(after.files["a.md"].slots)) == (5, 5)
        fresh = ReMe(vault_dir)
        await fresh.index.reindex()
        built = corpus(fresh)
        assert after.units.count == built.units.count
        assert after.units.lengths.sum() == built.units.lengths.sum()
        assert after.blurred.total == built.blurred.total
        assert await reme.index.verify() == ()
        await fresh.close()


async def test_c8_05_a_vault_that_becomes_empty_is_searched_and_fills_again(vault_dir: Path) -> None:
    vault_dir.mkdir()
    for name in ("a.md", "b.md", "c.md"):
        (vault_dir / name).write_text("")
    async with ReMe(vault_dir) as reme:
        assert await found(reme, "ferry") == []
        (vault_dir / "a.md").write_text("The ferry leaves at nine.\n")
        assert await found(reme, "ferry", 10) == ["a.md"]
        for name in ("a.md", "b.md", "c.md"):
            (vault_dir / name).unlink()
        assert await found(reme, "ferry") == []
        assert (await reme.search("ferry")).status == "none"
        (vault_dir / "d.md").write_text("The ferry is back.\n")
        assert await found(reme, "ferry") == ["d.md"]


@pytest.mark.parametrize("restart", [False, True])
async def test_c8_08_deleted_and_renamed_notes_leave_no_ghosts(vault_dir: Path, restart: bool) -> None:
    vault_dir.mkdir()
    a, b, c = (vault_dir / name for name in ("a.md", "b.md", "c.md"))
    a.write_text("JWT tokens expire after an hour.\n\nSee [[b.md]].\n")
    b.write_text("JWT tokens are signed.\n\nSee [[a.md]].\n")
    reme = ReMe(vault_dir)

    async def again() -> None:
        nonlocal reme
        if restart:
            await reme.close()
            reme = ReMe(vault_dir)

    assert len(await found(reme, "JWT", 1)) == 1
    await again()
    a.unlink()
    assert await found(reme, "JWT", 1) == ["b.md"]
    (hit,) = (await reme.search("JWT", 1)).hits
    assert [(note.path, note.exists) for note in hit.linked] == [("a.md", False)], "no link comes from a ghost"
    await again()
    b.rename(c)
    assert await found(reme, "JWT", 1) == ["c.md"]
    await again()
    a.write_text("Something else.\n")
    assert await found(reme, "expire") == []
    assert [hit.path for hit in (await reme.search("JWT tokens")).hits if "JWT" in hit.text] == ["c.md"]
    assert [note.path for note in (await reme.traverse("c.md")).notes] == ["a.md"]
    assert (reme.index.status()["files"], await reme.index.verify()) == (2, ())
    await reme.close()


async def test_c8_10_another_way_of_reading_words_rebuilds_the_index_and_answers_meanwhile(vault_dir: Path) -> None:
    vault_dir.mkdir()
    for number in range(30):
        (vault_dir / f"{number}.md").write_text(f"客厅空调滤网该清洗了，周末处理 {number}。\n")
    async with ReMe(vault_dir) as reme:
        assert await found(reme, "滤网")
        await reme.index.persist()
    async with ReMe(vault_dir, chinese="jieba") as reme:
        assert (await reme.search("滤网")).status == "ok"
        assert reme.index._opened().sync.passes == 30, "all files were read anew"
        assert reme.index.status()["damage"] == "", "nothing was wrong with the old one"
    impatient = ReMe(vault_dir, search_wait=0.0)
    result = await impatient.search("滤网")
    assert result.status in ("stale", "ok")
    if result.status == "stale":
        assert "behind the files" in result.note
    assert len(await found(impatient, "滤网", 40)) == 30
    await impatient.close()
