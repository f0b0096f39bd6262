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


@pytest.mark.parametrize(
    ("query", "first", "last"),
    [
        ("去年做了什么", "2025-12-01", "2025-12-31"),
        ("what happened last year", "2025-12-01", "2025-12-31"),
        ("what happened last quarter", "2025-12-01", "2025-12-31"),
        ("在第一季度发生了什么", "2026-01-01", "2026-03-18"),
        ("what did I do at Christmas", "2025-12-24", "2025-12-26"),
        ("春节做了什么", "2026-02-16", "2026-02-23"),
        ("the week of 2 March", "2026-03-02", "2026-03-08"),
        ("周五做了什么", "2026-03-13", "2026-03-13"),
        ("what did I do recently", "2026-03-04", "2026-03-18"),
        ("what did we do in March", "2026-03-01", "2026-03-18"),
    ],
)
async def test_c12_03_stretches_of_the_calendar_are_days_asked_for(
    vault_dir: Path, query: str, first: str, last: str
) -> None:
    days = [f"2024-03-{day:02d}" for day in range(1, 32)] + [f"2025-12-{day:02d}" for day in range(1, 32)]
    days += [f"2026-01-{day:02d}" for day in range(1, 32)] + [f"2026-02-{day:02d}" for day in range(1, 29)]
    days += [f"2026-03-{day:02d}" for day in range(1, 19)]
    index = index_of(vault_dir, {f"daily/{day}/card.md": f"walnut table of {day[-2:]}\n" for day in days})
    result = await index.search(query)
    assert result.status == "ok"
    assert all(first <= hit.date <= last for hit in result.hits)
    assert result.hits
    await index.close()


async def test_c12_03_a_month_alone_makes_no_answer_of_what_nobody_has_written(vault_dir: Path) -> None:
    files = {f"daily/2026-02-{day:02d}/card.md": f"walnut table number {day}\n" for day in range(1, 29)}
    index = index_of(vault_dir, files)
    result = await index.search("what did Anna say about the zeppelin last month")
    assert result.status == "weak"
    assert result.hits[0].date.startswith("2026-02"), "they are shown, and said to be probably not about it"
    assert (await index.search("what did we discuss last month")).status == "ok"
    await index.close()


async def test_c12_03_a_filter_takes_stretches_and_the_last_of_what_comes_again(vault_dir: Path) -> None:
    days = ("2024-12-24", "2025-12-24", "2026-01-10", "2026-03-02", "2026-03-17")
    index = index_of(vault_dir, {f"daily/{day}/card.md": "walnut table\n" for day in days})
    for wanted, found in (
        ({"since": "last quarter"}, days[1:]),
        ({"since": "December"}, days[1:]),
        ({"since": "last quarter", "until": "last quarter"}, days[1:2]),
        ({"until": "圣诞节"}, days[:2]),
        ({"since": "上周", "until": "上周"}, ()),
        ({"since": "recently"}, days[4:]),
    ):
        result = await index.search("walnut", filter=wanted)
        assert sorted(hit.date for hit in result.hits) == list(found), wanted
    await index.close()


async def test_c12_03_a_log_with_a_heading_for_each_day_answers_by_day(vault_dir: Path) -> None:
    entries = "".join(f"## 2026-03-{day:02d}\n\nwalnut table number {day}\n\n" for day in range(1, 19))
    diary = "".join(f"## 3月{day}日\n\n胡桃木桌子{day}\n\n" for day in range(1, 19))
    created = "---\ncreated: 2026-01-01\n---\n"
    for files in (
        {"log.md": f"{created}# Log\n\n{entries}"},
        {"2026年日记.md": diary},
        {"日记.md": f"# 2026年\n\n{diary}"},
    ):
        for path in vault_dir.glob("*.md"):
            path.unlink()
        index = index_of(vault_dir, files)
        for query, day in (("昨天做了什么", 17), ("what happened on March 5", 5), ("2026-03-09", 9), ("on Friday", 13)):
            result = await index.search(query, limit=1)
            assert result.status == "ok", query
            assert result.hits[0].date == f"2026-03-{day:02d}", (query, files.keys())
        found = await index.search("walnut 胡桃木", filter={"since": "2026-03-05", "until": "2026-03-06"})
        assert {hit.date for hit in found.hits} <= {"2026-03-05", "2026-03-06"}
        assert found.hits
        await index.close()


@pytest.mark.parametrize(
    "path", ["journals/2026_03_17.md", "2026/03/17.md", "2026/03-17.md", "2026-03/17.md", "diary/2026/03/17 Tuesday.md"]
)
async def test_c12_03_a_note_of_a_day_is_told_by_the_names_that_other_programs_give_it(
    vault_dir: Path, path: str
) -> None:
    index = index_of(vault_dir, {path: "walnut table\n", "other.md": "cherry chair\n"})
    result = await index.search("昨天做了什么")
    assert [(hit.path, hit.date) for hit in result.hits] == [(path, "2026-03-17")]
    await index.close()


async def test_c12_03_a_day_that_depends_on_the_clock_comes_before_days_near_it(vault_dir: Path) -> None:
    files = {
        "daily/2026-03-13/note.md": "Anna fixed the login bug in the evening.\n",
        "daily/2026-03-16/note.md": "Call with Anna.\n",
        "daily/2026-03-17/note.md": "Bought coffee beans.\n",
        "daily/2025-10-02/note.md": "National day trip, the day of the boat.\n",
        "daily/2026-03-06/note.md": "Saw the dentist.\n",
    }
    index = index_of(vault_dir, files)
    for query, day in (
        ("what did Anna do last Friday", "2026-03-13"),
        ("what did Anna do on 13 March", "2026-03-13"),
        ("the day before yesterday", "2026-03-16"),
        ("five days ago", "2026-03-13"),
        ("最近做了什么", "2026-03-17"),
        ("what did I do recently", "2026-03-17"),
    ):
        assert (await index.search(query)).hits[0].date == day, query
    yesterday = await index.search("昨天做了什么")
    assert [hit.date for hit in yesterday.hits] == ["2026-03-17"], "and not what was done on another day"
    assert (await index.search("who crashed the zeppelin recently")).status == "weak"
    await index.close()
