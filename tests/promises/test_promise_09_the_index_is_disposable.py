"""P9: whatever happened to a vault, its index answers like one that was built from the files just now."""

import random
import shutil
from pathlib import Path

import pytest

from agentscope_reme import ReMe, SearchResult

QUESTIONS = (
    "where is the spare key",
    "otter by the river",
    "花园的密码",
    "get_user_name",
    "what happened on 5 March 2026",
)
WORDS = [
    "otter",
    "river",
    "spare",
    "key",
    "garden",
    "花园",
    "密码",
    "get_user_name()",
    "2026-03-05",
    "bridge",
    "lantern",
]


def sentence(dice: random.Random) -> str:
    return " ".join(dice.choices(WORDS, k=dice.randint(2, 9))) + "."


async def answers(reme: ReMe) -> list[SearchResult]:
    return [await reme.search(question, limit) for question in QUESTIONS for limit in (3, 30)]


def assert_same(found: list[SearchResult], expected: list[SearchResult]) -> None:
    assert any(result.hits for result in expected)
    for one, other in zip(found, expected, strict=True):
        assert one.status == other.status
        assert [(hit.source, hit.text) for hit in one.hits] == [(hit.source, hit.text) for hit in other.hits]
        assert [hit.score for hit in one.hits] == pytest.approx([hit.score for hit in other.hits], abs=1e-5)


async def fresh_answers(vault_dir: Path, scratch: Path) -> list[SearchResult]:
    """The answers over a copy of the files, without anything derived."""
    shutil.copytree(vault_dir, scratch, ignore=shutil.ignore_patterns("metadata"))
    async with ReMe(scratch) as reme:
        return await answers(reme)


async def lead_a_life(vault_dir: Path, dice: random.Random, steps: int) -> list[SearchResult]:
    """Change notes through the vault and behind its back, search now and then, restart now and then."""
    reme = ReMe(vault_dir)
    for step in range(steps):
        path = f"digest/wiki/note-{dice.randrange(12)}.md"
        file = vault_dir / path
        action = dice.choice(["write", "append", "outside", "delete", "vanish", "move", "search", "restart"])
        if action == "write" or not file.exists():
            text = f"# Note {step}\n\n{sentence(dice)}\n\n{sentence(dice)} [[digest/wiki/note-1.md]]\n"
            await reme.vault.write(path, text, overwrite=True)
        elif action == "append":
            await reme.vault.append(path, sentence(dice))
        elif action == "outside":
            file.write_text(f"{sentence(dice)}\n\n- {sentence(dice)}\n", encoding="utf-8")
        elif action == "delete":
            await reme.vault.delete(path)
        elif action == "vanish":
            file.unlink()
        elif action == "move":
            await reme.vault.move(path, f"digest/procedure/moved-{step}.md")
        elif action == "search":
            await reme.search(dice.choice(QUESTIONS))
        else:
            await reme.close()
            reme = ReMe(vault_dir)
    await reme.index.sync()
    found = await answers(reme)
    await reme.close()
    return found


@pytest.mark.parametrize("seed", [1, 2, 3])
async def test_promise_09_after_any_changes_the_answers_are_those_of_a_new_index(
    seed: int, vault_dir: Path, tmp_path: Path
) -> None:
    found = await lead_a_life(vault_dir, random.Random(seed), steps=90)
    assert_same(found, await fresh_answers(vault_dir, tmp_path / "copy"))


async def test_promise_09_the_index_can_be_deleted_while_nothing_runs(vault_dir: Path) -> None:
    before = await lead_a_life(vault_dir, random.Random(7), steps=40)
    assert list((vault_dir / "metadata").rglob("*.zst"))
    shutil.rmtree(vault_dir / "metadata")
    async with ReMe(vault_dir) as reme:
        assert_same(await answers(reme), before)


@pytest.mark.parametrize("damage", ["cut", "garbled", "empty", "foreign"])
async def test_promise_09_a_damaged_index_is_rebuilt_and_no_note_is_touched(damage: str, vault_dir: Path) -> None:
    before = await lead_a_life(vault_dir, random.Random(11), steps=40)
    notes = {path: path.read_bytes() for path in vault_dir.rglob("*.md")}
    for path in (vault_dir / "metadata").rglob("*.zst"):
        data = path.read_bytes()
        middle = len(data) // 2
        path.write_bytes(
            {
                "cut": data[:middle],
                "garbled": data[:middle] + bytes(255 - byte for byte in data[middle : middle + 8]) + data[middle + 8 :],
                "empty": b"",
                "foreign": b'{"format": "something else"}\n',
            }[damage]
        )
    async with ReMe(vault_dir) as reme:
        assert_same(await answers(reme), before)
    assert {path: path.read_bytes() for path in vault_dir.rglob("*.md")} == notes


async def test_promise_09_reindex_changes_no_answer(vault_dir: Path) -> None:
    before = await lead_a_life(vault_dir, random.Random(13), steps=40)
    async with ReMe(vault_dir) as reme:
        report = await reme.index.reindex()
        assert not report.failed
        assert_same(await answers(reme), before)


async def test_promise_09_the_comparison_proves_it_and_finds_a_stored_index_that_is_wrong(vault_dir: Path) -> None:
    """An index of other files, put in the place of this vault's, is found out; `reindex` mends it."""
    other = vault_dir.parent / "other"
    for folder, text in ((vault_dir, "The kiln fires on Friday."), (other, "The lantern hangs in the shed.")):
        async with ReMe(folder) as reme:
            await reme.vault.write("digest/wiki/a.md", f"# Note\n\n{text}\n")
            await reme.search("kiln lantern")
            assert await reme.index.verify() == ()
    stamp = (vault_dir / "digest/wiki/a.md").stat()
    shutil.rmtree(vault_dir / "metadata" / "index")
    shutil.copytree(other / "metadata" / "index", vault_dir / "metadata" / "index")
    async with ReMe(vault_dir) as reme:
        result = await reme.search("when does the kiln fire")
        assert [hit.path for hit in result.hits] == ["digest/wiki/a.md"]
        assert "Friday" in result.hits[0].text
        await reme.index.reindex()
        assert await reme.index.verify() == ()
    assert (vault_dir / "digest/wiki/a.md").stat().st_mtime_ns == stamp.st_mtime_ns
