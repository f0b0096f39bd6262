"""Faults that users reported, group 8: what search does with Chinese, with nothing, and with next to nothing."""

import re
from pathlib import Path

import pytest

from agentscope_reme import ReMe
from tests.toolkit.agents import agent_with, call_tool, model_of, text_of


async def filled(vault_dir: Path, **notes: str) -> ReMe:
    reme = ReMe(vault_dir)
    for name, text in notes.items():
        await reme.vault.write(f"notes/{name}.md", text)
    return reme


@pytest.mark.parametrize("query", ["滤网", "清洗", "空调滤网", "清洗滤网", "客厅空调", "滤网清洗"])
async def test_c8_01_a_chinese_run_is_found_by_the_words_in_it(vault_dir: Path, query: str) -> None:
    reme = await filled(
        vault_dir,
        a="客厅空调滤网该清洗了，周末处理\n",
        b="客厅的灯换过了，周末去公园\n",
        c="阳台种了番茄，该浇水了\n",
        d="The filter of the pump was changed.\n",
    )
    async with reme:
        result = await reme.search(query)
        assert result.hits
        assert result.hits[0].source == "notes/a.md:1-1"
        shown = text_of(await call_tool(agent_with(reme, model_of()), "memory_search", query=query))
        assert re.findall(r'source="([^"]+)"', shown)[0] == "notes/a.md:1-1"


async def test_c8_05_a_vault_with_nothing_in_it_answers_with_nothing(vault_dir: Path) -> None:
    async with ReMe(vault_dir) as reme:
        result = await reme.search("anything", limit=10)
        assert (result.status, result.hits) == ("none", ())
    assert not vault_dir.exists()


async def test_c8_05_empty_notes_fewer_notes_than_asked_for_and_none_again(vault_dir: Path) -> None:
    reme = await filled(vault_dir, a="", b="\n\n", c="---\n---\n")
    async with reme:
        result = await reme.search("walnut", limit=10)
        assert (result.status, result.hits) == ("none", ())
        await reme.vault.write("notes/d.md", "The walnut table is from 1911.\n")
        (hit,) = (await reme.search("walnut", limit=10)).hits
        assert hit.source == "notes/d.md:1-1"
        await reme.vault.delete("notes/d.md")
        assert (await reme.search("walnut", limit=10)).hits == ()
        for name in "abc":
            await reme.vault.delete(f"notes/{name}.md")
        assert (await reme.search("walnut", limit=10)).hits == ()
        await reme.vault.write("notes/e.md", "The walnut table came back.\n")
        assert [hit.path for hit in (await reme.search("walnut", limit=10)).hits] == ["notes/e.md"]


@pytest.mark.parametrize("limit", [1, 5, 10, 1_000])
async def test_c8_05_any_limit_will_do(vault_dir: Path, limit: int) -> None:
    async with await filled(vault_dir, a="The walnut table is from 1911.\n") as reme:
        assert len((await reme.search("walnut", limit=limit)).hits) == 1


@pytest.mark.parametrize("query", ["", "   ", "\n\t", "!!! ???", "……", "。，、", "---", "``", "“”", "[[]]"])
async def test_c8_06_a_query_without_a_word_finds_nothing_and_says_why(vault_dir: Path, query: str) -> None:
    async with await filled(vault_dir, a="some note !!! ???\n", b="another --- one\n") as reme:
        result = await reme.search(query)
        assert (result.status, result.hits) == ("none", ())
        assert result.note
        shown = text_of(await call_tool(agent_with(reme, model_of()), "memory_search", query=query))
        assert "Do not repeat this search" in shown
        assert "notes/" not in shown


@pytest.mark.parametrize("query", ["的", "the of", "to be or not to be", "了 吗", "what is it"])
async def test_c8_06_a_query_of_function_words_finds_what_has_them_or_nothing(vault_dir: Path, query: str) -> None:
    async with await filled(vault_dir, a="番茄\n", b="walnut\n") as reme:
        assert (await reme.search(query)).hits == ()
        await reme.vault.write("notes/c.md", "To be or not to be: the question of what it is. 是吃的了吗\n")
        assert {hit.path for hit in (await reme.search(query)).hits} <= {"notes/c.md"}


@pytest.mark.parametrize(
    ("query", "path"),
    [("猫", "notes/cat.md"), ("R", "notes/r.md"), ("C", "notes/c.md"), ("r", "notes/r.md"), ("锅", "notes/pot.md")],
)
async def test_c8_06_one_character_finds_what_holds_it(vault_dir: Path, query: str, path: str) -> None:
    reme = await filled(
        vault_dir,
        cat="我家的猫叫小黑\n",
        r="Statistics are done in R here.\n",
        c="The driver is written in C.\n",
        pot="新买的铁锅在厨房\n",
        other="Nothing of that kind, 一点也没有.\n",
    )
    async with reme:
        result = await reme.search(query)
        assert [hit.path for hit in result.hits] == [path]


async def test_c8_06_an_emoji_finds_its_note_or_nothing(vault_dir: Path) -> None:
    async with await filled(vault_dir, a="party 🎉 tomorrow\n", b="nothing\n", c="more\n") as reme:
        result = await reme.search("🎉")
        assert {hit.path for hit in result.hits} <= {"notes/a.md"}
        assert result.hits or result.status == "none"
