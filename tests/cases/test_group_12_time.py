"""Faults that users reported, group 12: old and new facts, lasting ones, and questions about time."""

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from agentscope_reme import ReMeConfig
from agentscope_reme.index import Index
from agentscope_reme.vault import Vault


def index_of(root: Path, files: dict[str, str]) -> Index:
    for path, text in files.items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    vault = Vault(root, timezone="UTC", clock=lambda: datetime(2026, 3, 18, 12, tzinfo=UTC))
    return Index(vault, ReMeConfig(vault_dir=root))


OLD = "路由器密码贴在柜门上。路由器在玄关，路由器很稳定。\n"


async def test_c12_01_the_correction_comes_before_what_it_corrects_with_both_days_shown(vault_dir: Path) -> None:
    files = {"daily/2026-01-05/router.md": OLD, "daily/2026-03-01/router.md": "更正：路由器密码改记在保险箱。\n"}
    index = index_of(vault_dir, files)
    hits = (await index.search("路由器密码在哪")).hits
    assert [hit.date for hit in hits] == ["2026-03-01", "2026-01-05"]
    await index.close()


async def test_c12_01_a_note_that_is_superseded_comes_last_and_says_so(vault_dir: Path) -> None:
    new = "---\nsupersedes: notes/old.md\n---\n密码在保险箱。\n"
    index = index_of(vault_dir, {"notes/old.md": OLD, "notes/new.md": new})
    hits = (await index.search("密码")).hits
    assert [hit.path for hit in hits] == ["notes/new.md", "notes/old.md"]
    assert hits[1].metadata["superseded"] is True
    await index.close()


async def test_c12_02_a_lasting_fact_stays_on_top_of_recent_mentions(vault_dir: Path) -> None:
    files = {"digest/personal/birthday.md": "---\nname: 生日\n---\n我的生日是5月20日。\n"}
    files |= {f"daily/2026-03-{day:02d}/chat.md": f"今天聊到了生日蛋糕，第{day}次。\n" for day in range(1, 18)}
    files |= {f"daily/2026-02-{day:02d}/chat.md": f"同事的生日，大家唱歌{day}。\n" for day in range(1, 14)}
    index = index_of(vault_dir, files)
    long_ago = datetime(2025, 2, 11, tzinfo=UTC).timestamp()
    os.utime(vault_dir / "digest/personal/birthday.md", (long_ago, long_ago))
    hits = (await index.search("我的生日是哪天")).hits
    assert "digest/personal/birthday.md" in [hit.path for hit in hits[:3]]
    await index.close()


@pytest.mark.parametrize(
    ("query", "days"),
    [
        ("昨天做了什么", {"2026-03-17"}),
        ("上周的会议", {f"2026-03-{day:02d}" for day in range(9, 16)}),
        ("what happened on March 5", {"2026-03-05"}),
        ("2026-03-05", {"2026-03-05"}),
        ("3月5日", {"2026-03-05"}),
    ],
)
async def test_c12_03_a_day_asked_for_brings_that_days_notes_without_a_shared_word(
    vault_dir: Path, query: str, days: set[str]
) -> None:
    files = {f"daily/2026-03-{day:02d}/card.md": f"walnut table number {day}\n" for day in range(1, 32)}
    index = index_of(vault_dir, files)
    result = await index.search(query)
    assert result.status == "ok"
    assert {hit.date for hit in result.hits[: min(5, len(days))]} <= days
    filtered = await index.search("walnut", filter={"since": "2026-03-05", "until": "2026-03-05"})
    assert [hit.date for hit in filtered.hits] == ["2026-03-05"]
    await index.close()
