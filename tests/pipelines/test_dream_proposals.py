"""What a dream proposes for MEMORY.md: only when asked to, between markers, each statement once."""

from pathlib import Path
from typing import Any

import pytest

from agentscope_reme import ReMe
from agentscope_reme.errors import ConfigError
from agentscope_reme.pipelines.dream_undo import undo_run
from agentscope_reme.vault import Vault
from agentscope_reme.vault.generated import generated_part

from .dreams import TODAY, Script, about_first, dream, found, place, unit, vault_at, write_card

MINE = "# Core\r\n\r\n- Lin lives in Graz.\r\n"
TEA = "Ann drinks oolong tea."


async def said(vault: Vault, day: str, line: str, statement: str, *, name: str = "card", **options: Any) -> Any:
    """A card of a day with one line, and a dream that takes a statement out of it."""
    path = write_card(vault, day, name, f"Ann: {line}", trust=options.pop("trust", "user"))
    claim = unit("tea", statement, place(vault, path, line), category=options.pop("category", "personal"))
    decide = about_first(options.pop("action", "corroborate"))
    script = Script(lambda user: found([claim]) if name in user else found(), decide)
    return await dream(vault, script, **{"proposals": 5, **options})


def proposed(vault: Vault) -> list[str]:
    part = generated_part((vault.root / "MEMORY.md").read_bytes().decode(), "proposed") or ""
    return [line for line in part.split("\n") if line.startswith("- ")]


async def test_what_was_said_on_two_days_is_proposed_below_the_users_text(vault_dir: Path) -> None:
    vault = vault_at(vault_dir)
    (vault.root).mkdir()
    (vault.root / "MEMORY.md").write_bytes(MINE.encode())
    await said(vault, "2026-03-09", TEA, TEA)
    assert (vault.root / "MEMORY.md").read_bytes() == MINE.encode(), "once is not enough"
    done = await said(vault, TODAY, TEA, TEA)
    (line,) = proposed(vault)
    assert line.startswith("- Ann drinks oolong tea. ([[digest/personal/tea.md#^d")
    assert (vault.root / "MEMORY.md").read_bytes().startswith(MINE.encode())
    assert "MEMORY.md" in done.metadata["modified"]
    assert (await undo_run(vault)).success
    assert (vault.root / "MEMORY.md").read_bytes() == MINE.encode()


async def test_what_was_asked_to_be_remembered_is_proposed_at_once(vault_dir: Path) -> None:
    vault = vault_at(vault_dir)
    await said(vault, TODAY, "Remember that I am allergic to nuts.", "Ann is allergic to nuts.")
    assert len(proposed(vault)) == 1
    async with ReMe(vault_dir) as reme:
        from agentscope_reme.adapters.recalling import core_text

        assert await core_text(reme, 1_000) == "", "nobody has agreed to it yet"


@pytest.mark.parametrize("options", [{"proposals": 0}, {"trust": "external"}, {"trust": "agent"}, {"category": "wiki"}])
async def test_nothing_else_is_proposed(vault_dir: Path, options: dict[str, Any]) -> None:
    vault = vault_at(vault_dir)
    await said(vault, TODAY, "Remember that I am allergic to nuts.", "Ann is allergic to nuts.", **options)
    assert not (vault.root / "MEMORY.md").exists()


@pytest.mark.parametrize("kept", [True, False])
async def test_what_is_taken_out_or_kept_is_not_proposed_again(vault_dir: Path, kept: bool) -> None:
    vault = vault_at(vault_dir)
    await said(vault, TODAY, "Remember that I am allergic to nuts.", "Ann is allergic to nuts.")
    file = vault.root / "MEMORY.md"
    (line,) = proposed(vault)
    text = file.read_text("utf-8").replace(f"{line}\n", "")
    file.write_text(f"- Allergic to nuts: Ann is.\n\n{text}" if kept else text, "utf-8")
    before = file.read_bytes()
    await said(vault, TODAY, "Remember that I am allergic to nuts!", "Ann is allergic to nuts.", name="again")
    assert file.read_bytes() == before


async def test_what_stands_there_in_other_words_is_not_proposed(vault_dir: Path) -> None:
    vault = vault_at(vault_dir)
    vault.write_sync("MEMORY.md", "- To nuts Ann is allergic.\n")
    await said(vault, TODAY, "Remember that I am allergic to nuts.", "Ann is allergic to nuts.")
    assert vault.read_bytes("MEMORY.md") == b"- To nuts Ann is allergic.\n"


async def test_no_more_than_so_many_lines_stand_there(vault_dir: Path) -> None:
    vault = vault_at(vault_dir)
    for food in ("nuts", "milk", "eggs"):
        words = f"Remember that I am allergic to {food}."
        await said(vault, TODAY, words, f"Ann is allergic to {food}.", name=food, action="refine", proposals=2)
    assert len(proposed(vault)) == 2


def test_a_number_of_proposals_is_bounded() -> None:
    with pytest.raises(ConfigError, match="dream_proposals"):
        ReMe(dream_proposals=-1)
