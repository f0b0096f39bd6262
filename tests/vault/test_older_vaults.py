"""Folders written by ReMe 0.3 and 0.4 open, list, read and search as they are; nothing in them is rewritten."""

import json
import pickle
from pathlib import Path
from typing import Any

import pytest

from agentscope_reme import ReMe


class Trap:
    """A pickle that leaves a mark when it is loaded."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.touch, (self.mark,))


def line(text: str, **more: Any) -> str:
    block = {"type": "text", "text": text}
    return json.dumps({"id": text[:3], "name": "user", "role": "user", "content": [block], **more}) + "\n"


# By path: the text, and a word that search must find there (None: recognised, and not searched).
OLD_03 = {
    "MEMORY.md": ("# Facts\n\nThe big kiln weighs 780 kg, said Walnut.\n", "walnut"),
    "memory/2026-01-05.md": ("- 路由器密码贴在柜门上\n", "路由器密码"),
    "dialog/2026-01-05.jsonl": (
        line("The cherry boat lies at pier nine.", timestamp="2026-01-05 10:00:00.123", metadata=None)
        + line("And the second damson.", timestamp="2026-01-05 10:00:01.123"),
        "cherry boat",
    ),
    "tool_result/ab12cd34.txt": ("a long plumtree result\n", None),
    "tool_results/2026/ef56.txt": ("another plumtree result\n", None),
    "file_store/file_chunks_default_v1.jsonl.zst": ("no text, as it is", None),
}
OLD_04 = {
    "MEMORY.md": ("# 事实\n\n搬家定在四月十一日。\n", "搬家"),
    "daily/2026-01-05.md": (
        "---\nname: 2026-01-05\ndescription: 1 note(s) today.\n---\n<!-- auto -->\n- [[daily/2026-01-05/login.md]]\n",
        "2026-01-05",
    ),
    "daily/2026-01-05/login.md": (
        "---\nname: login\nsession_id: s-1\nsource_conversation: '[[session/dialog/s-1.jsonl]]'\n"
        "schema_version: 1\n---\nTamarind moved to cookies.\n",
        "tamarind cookies",
    ),
    "digest/wiki/tea.md": ("---\nname: tea\n---\nLychee oolong, see [[daily/2026-01-05/login.md]].\n", "lychee"),
    "digest/personal/me.md": ("Prefers the medlar.\n", "medlar"),
    "resource/2026-01-05/report.csv": ("city,fruit\nLima,cherimoya\n", "cherimoya"),
    "session/dialog/s-1.jsonl": (line("The quince train leaves.", created_at="2026-01-05T10:00:00+08:00"), "quince"),
    "reme_session/dialog/Old One.jsonl": (line("The kumquat bus.", created_at="2026-01-06T10:00:00"), "kumquat"),
    "reme_session/tool_results/x.txt": ("a plumtree result\n", None),
    "reme_metadata/file_graph.jsonl.zst": ("no text, as it is", None),
}  # fmt: skip


@pytest.fixture(params=[OLD_03, OLD_04], ids=["0.3", "0.4"])
def old(request: pytest.FixtureRequest, vault_dir: Path, tmp_path: Path) -> dict[str, tuple[str, str | None]]:
    for path, (text, _) in request.param.items():
        file = vault_dir / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8", newline="")
    for place in ("bm25_default.pkl", "reme_metadata/bm25.pkl", "daily/bm25.pkl"):
        file = vault_dir / place
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(pickle.dumps(Trap(tmp_path / "loaded")))
    found: dict[str, tuple[str, str | None]] = request.param
    return found


def present(root: Path) -> dict[str, bytes]:
    """Every file but those of the index and the lock, which are new."""
    files = (path for path in root.rglob("*") if path.is_file())
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in files if "metadata" not in path.parts}


async def test_an_older_vault_is_listed_read_and_searched_and_stays_as_it_is(
    old: dict[str, tuple[str, str | None]], vault_dir: Path, tmp_path: Path
) -> None:
    before = present(vault_dir)
    async with ReMe(vault_dir) as reme:
        listed = {entry.path for entry in (await reme.vault.list(recursive=True)).entries}
        for path, (text, query) in old.items():
            assert (await reme.vault.read(path)).text == text
            if query is None:
                continue
            assert path in listed
            assert path in [hit.path for hit in (await reme.search(query)).hits], query
        assert (await reme.search("plumtree")).status == "none", "offloaded results are records, not memory"
        assert reme.index.status()["failed"] == ()
    assert present(vault_dir) == before
    assert not (tmp_path / "loaded").exists(), "a pickle was loaded"


async def test_new_files_of_an_older_vault_go_to_the_new_places(
    old: dict[str, tuple[str, str | None]], vault_dir: Path
) -> None:
    before = present(vault_dir)
    async with ReMe(vault_dir) as reme:
        card = await reme.vault.daily_create("new card", "about apricots", session_id="s-new", date="2026-02-01")
        await reme.vault.append("MEMORY.md", "- apricots")
    after = present(vault_dir)
    assert card.path == "daily/2026-02-01/new-card.md"
    assert {path for path in before if after[path] != before[path]} == {"MEMORY.md"}
    assert after["MEMORY.md"].startswith(before["MEMORY.md"])
    new = {path.split("/")[0] for path in set(after) - set(before)}
    assert new <= {"daily", "history"}


async def test_the_card_of_an_older_vault_is_still_its_sessions(vault_dir: Path) -> None:
    for path, (text, _) in OLD_04.items():
        (vault_dir / path).parent.mkdir(parents=True, exist_ok=True)
        (vault_dir / path).write_text(text, encoding="utf-8")
    async with ReMe(vault_dir) as reme:
        change = await reme.vault.daily_create("login", "more", "More of it.", session_id="s-1", date="2026-01-05")
        assert (change.path, change.kind) == ("daily/2026-01-05/login.md", "changed")
        assert "Tamarind moved to cookies." in (await reme.vault.read(change.path)).text
        (card,) = await reme.vault.daily_list("2026-01-05")
        assert (card.name, card.session_id) == ("login", "s-1")
