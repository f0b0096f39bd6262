"""A fault that users reported, C12-07: one vault's contents reachable from another; filters applied too late."""

from pathlib import Path

import pytest

from agentscope_reme import ReMe
from agentscope_reme.errors import NoteNotFound, PathError

SECRET = "SECRET_MARKER"


@pytest.fixture(params=["beside", "inside"])
def roots(request, tmp_path: Path) -> tuple[Path, Path]:
    """Vault A, which holds the secret, and vault B: beside it, or inside it."""
    a = tmp_path / "a"
    b = tmp_path / "b" if request.param == "beside" else a / "sub" / "b"
    (a / "digest").mkdir(parents=True)
    b.mkdir(parents=True)
    (a / "secret.md").write_text(f"The {SECRET} word. [[sub/b/own.md]]\n")
    (a / "digest/secret.md").write_text(f"---\nname: {SECRET}\n---\n[[secret.md]]\n")
    (b / "own.md").write_text("Own text. [[../../secret.md]] [[secret.md]] [[SECRET_MARKER]]\n")
    return a, b


async def test_c12_07_nothing_of_one_vault_is_reachable_from_another(roots: tuple[Path, Path]) -> None:
    a, b = roots
    async with ReMe(a) as first, ReMe(b, link_resolution="obsidian") as second:
        assert (await first.search(SECRET)).hits
        assert await first.node_search(SECRET)
        result = await second.search(SECRET)
        assert not [hit for hit in result.hits if "word" in hit.text]
        assert {hit.path for hit in result.hits} <= {"own.md"}
        assert await second.node_search(SECRET) == []
        walked = await second.traverse("own.md", 5)
        assert not [note for note in walked.notes if note.exists]
        assert {link.kind for link in await second.index.loose_links()} <= {"unresolved", "outside"}
        for path in ("../../secret.md", "../a/secret.md", str(a / "secret.md")):
            with pytest.raises((PathError, NoteNotFound)):
                await second.vault.read(path)
            with pytest.raises(NoteNotFound):
                await second.traverse(path)
        told: list[frozenset[str]] = []
        second.watcher.subscribe(told.append)
        (a / "secret.md").write_text(f"The {SECRET} word, changed.\n")
        await second.index.sync()
        assert {hit.path for hit in (await second.search("changed text")).hits} <= {"own.md"}
        assert not told


async def test_c12_07_a_filter_applies_before_the_best_are_chosen(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "mine").mkdir()
    for number in range(100):
        (tmp_path / f"other/{number}.md").write_text(f"# Ferry\n\nferry ferry ferry {number}\n")
    (tmp_path / "mine/a.md").write_text("Among many words one says ferry, once.\n")
    async with ReMe(tmp_path) as reme:
        assert [hit.path for hit in (await reme.search("ferry", 5, filter={"path": "mine/"})).hits] == ["mine/a.md"]
