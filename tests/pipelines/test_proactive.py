"""Handing out the topics of a day."""

from pathlib import Path

import pytest

from agentscope_reme import ReMe
from agentscope_reme.pipelines.proactive import proactive

from .dreams import TODAY, vault_at

TEXT = """date: 2026-03-10
topics:
  - title: sailing to Oslo
    reason: she asked twice
    evidence: "I think about sailing"
    keywords: [sailing, Oslo]
    paths:
      - daily/2026-03-10/talk.md
  - knitting
"""


async def test_a_day_without_topics_is_no_error_and_makes_nothing(vault_dir: Path) -> None:
    handed = await proactive(vault_at(vault_dir))
    assert handed.success
    assert handed.metadata == {
        "date": TODAY,
        "path": f"daily/{TODAY}/interests.yaml",
        "topics": [],
        "skipped": "no interests.yaml",
    }
    assert not vault_dir.exists()


async def test_topics_are_handed_out_with_the_files_text_or_without(vault_dir: Path) -> None:
    vault = vault_at(vault_dir)
    vault.write_sync(f"daily/{TODAY}/interests.yaml", TEXT)
    handed = await proactive(vault)
    assert handed.answer == f"Topics of {TODAY}:\n- sailing to Oslo: she asked twice\n- knitting"
    assert handed.metadata["content"] == TEXT
    first, second = handed.metadata["topics"]
    assert first["keywords"] == ["sailing", "Oslo"]
    assert first["trust"] == "agent", "a file that says nothing of trust"
    assert (second["title"], second["reason"], second["paths"]) == ("knitting", "", [])
    assert "content" not in (await proactive(vault, include_content=False)).metadata


@pytest.mark.parametrize("date", ["../../secret", "..", "2026-13-01", "/etc", "2026-03-10/../../x"])
async def test_a_date_leads_nowhere_else(vault_dir: Path, date: str) -> None:
    vault_dir.parent.joinpath("interests.yaml").write_text("topics: [secret]", encoding="utf-8")
    vault = vault_at(vault_dir)
    vault.write_sync("a.md", "x")
    handed = await proactive(vault, date=date)
    assert not handed.success
    assert "secret" not in str(handed.metadata["topics"])
    assert "is not a date" in handed.answer


async def test_an_empty_file_has_no_topics_and_a_binary_one_is_named(vault_dir: Path) -> None:
    vault = vault_at(vault_dir)
    for text in ("", "date: 2026-03-10\n", "topics:\n", "topics: []\n"):
        vault.write_sync(f"daily/{TODAY}/interests.yaml", text, overwrite=True)
        handed = await proactive(vault)
        assert (handed.success, handed.metadata["topics"]) == (True, [])
    (vault_dir / f"daily/{TODAY}/interests.yaml").write_bytes(b"\xff\xfe\x00topics")
    assert not (await proactive(vault)).success


async def test_reme_hands_out_what_is_there(vault_dir: Path) -> None:
    async with ReMe(vault_dir) as reme:
        await reme.vault.write("daily/2026-03-10/interests.yaml", TEXT)
        handed = await reme.proactive("2026-03-10", include_content=False)
    assert [topic["title"] for topic in handed.metadata["topics"]] == ["sailing to Oslo", "knitting"]
