"""P6: a note is never replaced by a writer that has not seen its present bytes."""

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from agentscope.message import Msg
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentscope_reme import ReMe
from agentscope_reme.errors import NoteChanged, NoteExists, ReMeError
from agentscope_reme.vault import Vault
from tests.toolkit.agents import agent_with, call_tool, model_of, text_of

ACTORS = ("user", "agent", "pipeline")


@pytest.mark.parametrize("actor", ACTORS)
async def test_promise_06_a_writer_without_the_present_version_is_refused(vault_dir: Path, actor: str) -> None:
    vault = Vault(vault_dir)
    await vault.write("n.md", "one\n", actor=actor)
    seen = (await vault.read("n.md")).version
    await vault.write("n.md", "two\n", seen, actor="user")
    with pytest.raises(NoteExists):
        await vault.write("n.md", "blind\n", actor=actor)
    for stale in (seen, "0" * 16, "f" * 64):
        with pytest.raises(NoteChanged, match="changed since you read it"):
            await vault.write("n.md", "stale\n", stale, actor=actor)
        with pytest.raises(NoteChanged):
            await vault.write("n.md", "stale\n", stale, overwrite=True, actor=actor)
    assert (vault_dir / "n.md").read_bytes() == b"two\n"


async def test_promise_06_another_programs_save_counts_as_a_change(vault_dir: Path) -> None:
    vault = Vault(vault_dir)
    await vault.write("n.md", "one\n")
    seen = (await vault.read("n.md")).version
    (vault_dir / "n.md").write_text("edited by hand\n", encoding="utf-8")
    with pytest.raises(NoteChanged):
        await vault.write("n.md", "stale\n", seen)
    (vault_dir / "n.md").unlink()
    with pytest.raises(NoteChanged, match="removed since you read it"):
        await vault.write("n.md", "stale\n", seen)
    assert not (vault_dir / "n.md").exists()


async def test_promise_06_a_file_made_between_looking_and_writing_is_not_replaced(
    vault_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The editor makes the file at the last moment, after our own check has found nothing."""
    import os

    vault = Vault(vault_dir)
    await vault.write("other.md", "x\n")
    real = os.link

    def appear_first(*args: Any, **kwargs: Any) -> None:
        (vault_dir / "n.md").write_text("the editor's\n", encoding="utf-8")
        real(*args, **kwargs)

    monkeypatch.setattr(os, "link", appear_first)
    with pytest.raises(NoteExists):
        await vault.write("n.md", "ours\n")
    assert (vault_dir / "n.md").read_text(encoding="utf-8") == "the editor's\n"


async def test_promise_06_writers_that_retry_lose_no_update(vault_dir: Path) -> None:
    vault = Vault(vault_dir)
    await vault.write("n.md", "")

    async def add(line: str) -> None:
        while True:
            page = await vault.read("n.md", max_bytes=1 << 20)
            try:
                await vault.write("n.md", f"{page.text}{line}\n", page.version)
            except NoteChanged:
                continue
            return

    await asyncio.gather(*(add(f"line {number}") for number in range(12)))
    lines = (await vault.read("n.md", max_bytes=1 << 20)).text.splitlines()
    assert sorted(lines) == sorted(f"line {number}" for number in range(12))


_WRITER = """
import sys
from agentscope_reme.vault import Vault
from agentscope_reme.errors import NoteChanged
vault = Vault(sys.argv[1])
for number in range(15):
    while True:
        page = vault.read_sync("n.md", max_bytes=1 << 20)
        try:
            vault.write_sync("n.md", f"{page.text}{sys.argv[2]}-{number}\\n", page.version)
        except NoteChanged:
            continue
        break
    vault.append_sync("log.md", f"{sys.argv[2]}-{number}")
"""


def test_promise_06_two_processes_lose_no_update(vault_dir: Path) -> None:
    Vault(vault_dir).write_sync("n.md", "")
    writers = [subprocess.Popen([sys.executable, "-c", _WRITER, str(vault_dir), name]) for name in ("a", "b")]
    assert [writer.wait(60) for writer in writers] == [0, 0]
    expected = sorted(f"{name}-{number}" for name in ("a", "b") for number in range(15))
    for path in ("n.md", "log.md"):
        lines = (vault_dir / path).read_text(encoding="utf-8").splitlines()
        assert sorted(lines) == expected


async def test_promise_06_an_agents_tools_refuse_too_and_say_what_to_do(vault_dir: Path) -> None:
    reme = ReMe(vault_dir)
    await reme.vault.write("MEMORY.md", "- the user's own words\n")
    agent = agent_with(reme, model_of())
    for arguments in ({}, {"version": "deadbeefdeadbeef"}, {"version": None}, {"version": 0}, {"overwrite": "no"}):
        said = text_of(await call_tool(agent, "write", path="MEMORY.md", content="mine\n", **arguments))
        assert said.startswith("Error: ")
        assert "nothing was changed" in said
    assert (vault_dir / "MEMORY.md").read_text() == "- the user's own words\n"
    shown = text_of(await call_tool(agent, "read", path="MEMORY.md"))
    version = shown.split('version="')[1].split('"')[0]
    said = text_of(await call_tool(agent, "write", path="MEMORY.md", content="- both\n", version=version))
    assert said.startswith("Changed MEMORY.md")


async def test_promise_06_a_card_leaves_what_the_user_wrote_into_it(vault_dir: Path) -> None:
    """Background cards are written after the user has edited the same card, and after each compaction."""
    async with ReMe(vault_dir) as reme:
        first = Msg("user", "We decided to ship parcel P-12 on 2026-03-16.", "user")
        path = await reme.summary_memory([first], "s1")
        own = "\nMy own remark: ask Ann first.\n"
        card = vault_dir / path
        card.write_text(card.read_text(encoding="utf-8") + own, encoding="utf-8")
        again = await reme.summary_memory([Msg("user", "Remember: the dock closes at six.", "user")], "s1")
        text = (vault_dir / again).read_text(encoding="utf-8")
        assert "My own remark: ask Ann first." in text
        assert "parcel P-12" in text
        assert "the dock closes at six" in text


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["read", "write", "blind", "overwrite", "hand", "append", "edit"]),
        st.integers(0, 1),
        st.text(alphabet="ab\n界", max_size=6),
    ),
    max_size=14,
)


@given(STEPS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_promise_06_in_any_order_of_steps_only_who_has_seen_the_bytes_replaces_them(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int, str]]
) -> None:
    root = tmp_path_factory.mktemp("vault")
    vault = Vault(root)
    file = root / "n.md"
    seen: list[tuple[str, bytes] | None] = [None, None]
    for what, who, text in steps:
        before = file.read_bytes() if file.exists() else None
        wrote = False
        try:
            if what == "read":
                seen[who] = (vault.read_sync("n.md").version, before or b"")
            elif what == "hand":
                file.write_bytes(text.encode())
                continue
            elif what == "write":
                held = seen[who]
                vault.write_sync("n.md", text, held[0] if held else None)
                wrote = True
                assert before is None or (held is not None and held[1] == before)
            elif what == "blind":
                vault.write_sync("n.md", text)
                wrote = True
                assert before is None
            elif what == "overwrite":
                vault.write_sync("n.md", text, overwrite=True)
                wrote = True
            elif what == "append":
                vault.append_sync("n.md", text)
                assert file.read_bytes().startswith(before or b"")
            else:
                vault.edit_sync("n.md", "a", "b" + text)
        except ReMeError:
            assert (file.read_bytes() if file.exists() else None) == before
            continue
        if wrote:
            assert file.read_bytes() == text.encode()
