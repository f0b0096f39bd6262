"""Faults that users reported, C11-02 and C11-04: dates of daily notes, and what a second writing of a day leaves."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from agentscope_reme import ReMe
from agentscope_reme.errors import PathError
from agentscope_reme.pipelines.auto_memory import write_extractive_card
from agentscope_reme.vault import Vault
from tests.toolkit.agents import agent_with, call_tool, model_of, text_of

NOW = datetime(2026, 2, 15, 10, 0, tzinfo=UTC)
PLACEHOLDERS = [
    "daily/YYYY-MM-DD.md",
    "daily/YYYY-MM-DD/topic.md",
    "daily/{date}/x.md",
    "daily/today.md",
    "daily/2026-02-30/x.md",
    "daily/2026-2-5.md",
    "daily/20260215.md",
    "daily/2026/02/15.md",
]


@pytest.mark.parametrize("path", PLACEHOLDERS)
async def test_c11_02_no_agent_makes_a_file_under_what_is_no_date(vault_dir: Path, path: str) -> None:
    reme = ReMe(vault_dir)
    reme._vault = Vault(vault_dir, clock=lambda: NOW)
    agent = agent_with(reme, model_of())
    for tool in ("write", "append"):
        said = text_of(await call_tool(agent, tool, path=path, content="what was said\n"))
        assert said.startswith("Error: ")
        assert "daily/2026-02-15/" in said, "the refusal names the day that it is"
    for actor in ("agent", "pipeline"):
        with pytest.raises(PathError):
            await reme.vault.daily_create("topic", date=path.split("/")[1].removesuffix(".md"), actor=actor)
        await reme.vault.write("note.md", "x\n", overwrite=True)
        with pytest.raises(PathError):
            await reme.vault.move("note.md", path, actor=actor)
    assert not (vault_dir / "daily").exists()


async def test_c11_02_what_a_user_has_there_can_still_be_edited(vault_dir: Path) -> None:
    reme = ReMe(vault_dir)
    await reme.vault.write("daily/inbox.md", "- tea\n")
    agent = agent_with(reme, model_of())
    assert "Changed" in text_of(await call_tool(agent, "edit", path="daily/inbox.md", old="tea", new="coffee"))


@pytest.mark.parametrize("session", ["daily/2025-06-27/x.md", "YYYY-MM-DD", "../2025-06-27"])
async def test_c11_02_the_day_of_a_card_comes_from_the_messages_and_nothing_else(vault_dir: Path, session: str) -> None:
    vault = Vault(vault_dir, timezone="UTC", clock=lambda: NOW)
    message = {
        "id": "m",
        "name": "user",
        "role": "user",
        "content": "Write it to daily/2025-06-27/x.md: I decided to sell the walnut piano.",
        "timestamp": "2026-02-15 09:00:00",
    }
    done = await write_extractive_card(vault, [message], session_id=session)
    assert done.metadata["date"] == "2026-02-15"
    assert [path.name for path in (vault_dir / "daily").iterdir() if path.is_dir()] == ["2026-02-15"]
    assert "walnut piano" in vault.read_sync(done.metadata["path"]).text


async def test_c11_04_a_second_flush_leaves_what_is_there(vault_dir: Path) -> None:
    vault = Vault(vault_dir, timezone="UTC", clock=lambda: NOW)

    def message(id: str, text: str) -> dict:
        return {"id": id, "name": "user", "role": "user", "content": text, "timestamp": "2026-02-15 09:00:00"}

    first = await write_extractive_card(vault, [message("1", "I decided to sell the walnut piano.")], session_id="s")
    path = first.metadata["path"]
    mine = "\n## A\r\nwritten by hand, with a strange end  \n\n## B\n- [ ] and this\n"
    vault.append_sync(path, mine)
    before = (vault_dir / path).read_bytes()
    section = before[before.index(b"## A") :]
    second = await write_extractive_card(vault, [message("2", "I decided to buy a hazel cello.")], session_id="s")
    after = (vault_dir / path).read_bytes()
    assert second.metadata["path"] == path
    assert section in after
    assert b"walnut piano" in after
    assert b"hazel cello" in after
    assert len(list((vault_dir / "daily" / "2026-02-15").iterdir())) == 1


async def test_c11_04_a_whole_file_writing_of_the_day_is_refused_and_the_page_keeps_its_text(vault_dir: Path) -> None:
    reme = ReMe(vault_dir)
    reme._vault = Vault(vault_dir, clock=lambda: NOW)
    agent = agent_with(reme, model_of())
    page = "daily/2026-02-15.md"
    await reme.vault.write(page, "## A\none\n\n## B\ntwo\n")
    for arguments in ({}, {"overwrite": False}, {"version": "0123456789abcdef"}):
        said = text_of(await call_tool(agent, "write", path=page, content="## C\nthree\n", **arguments))
        assert said.startswith("Error: ")
    await call_tool(agent, "append", content="## C\nthree")
    await reme.vault.daily_create("card", "one", date="2026-02-15")
    text = (vault_dir / page).read_text(encoding="utf-8")
    assert text.startswith("## A\none\n\n## B\ntwo\n## C\nthree\n")
    assert "[[daily/2026-02-15/card.md|card]]" in text
