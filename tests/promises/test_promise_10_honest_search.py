"""P10: search says when it is stale, degraded or has no match; no empty list means something else, no noise nothing."""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from agentscope_reme import ReMe
from agentscope_reme.errors import ReMeError
from tests.toolkit.agents import agent_with, call_tool, model_of, text_of

NOTES = {
    "notes/boat.md": "# The boat\nThe walnut boat is moored at pier seven in Bergen.\n",
    "notes/tea.md": "# Tea\nAnn prefers oolong tea in the evening.\n",
    "notes/ac.md": "# 空调\n客厅空调滤网该清洗了，周末处理。\n",
}


@pytest.fixture
async def reme(vault_dir: Path) -> ReMe:
    reme = ReMe(vault_dir)
    for path, text in NOTES.items():
        await reme.vault.write(path, text)
    return reme


async def told(reme: ReMe, query: Any, **arguments: Any) -> str:
    """What an agent is told."""
    return text_of(await call_tool(agent_with(reme, model_of()), "memory_search", query=query, **arguments))


async def test_promise_10_a_match_is_ok(reme: ReMe) -> None:
    result = await reme.search("where is the walnut boat moored")
    assert result.status == "ok"
    assert result.hits[0].path == "notes/boat.md"
    assert all(hit.score > 0 for hit in result.hits)


@pytest.mark.parametrize("query", ["zeppelin", "量子色动力学", "xyzzy plugh", "E_CONN_42", "zeppelin 量子"])
async def test_promise_10_nothing_in_common_is_none_and_no_noise(reme: ReMe, query: str) -> None:
    result = await reme.search(query, limit=50)
    assert (result.status, result.hits) == ("none", ())
    assert result.note
    shown = await told(reme, query)
    assert shown.startswith("No note or earlier message matches.")
    assert "notes/" not in shown


async def test_promise_10_an_agent_is_not_told_that_nothing_matches_where_its_bound_leaves_it_out(reme: ReMe) -> None:
    shown = await told(reme, "where is the walnut boat moored", min_score=0.999)
    assert shown.startswith("Something matches, but not within the bounds given.")
    assert "nothing reaches min_score 0.999; the best is notes/boat.md:" in shown
    shown = await told(reme, "walnut zeppelins that sing opera in Vienna on Sundays", min_score=0.999)
    assert shown.startswith("No note or earlier message matches.")


@pytest.mark.parametrize("query", ["", "  ", "?!", "the of and", "🎈"])
async def test_promise_10_a_query_without_content_is_none_with_the_reason(reme: ReMe, query: str) -> None:
    result = await reme.search(query)
    assert (result.status, result.hits) == ("none", ())
    assert result.note


async def test_promise_10_an_empty_vault_is_none_and_says_that_it_is_empty(vault_dir: Path) -> None:
    async with ReMe(vault_dir) as reme:
        result = await reme.search("anything")
        assert (result.status, result.hits) == ("none", ())
        assert "nothing to search" in result.note
    assert not vault_dir.exists()


async def test_promise_10_a_floor_that_rejects_all_names_the_best_that_it_rejected(reme: ReMe) -> None:
    best = (await reme.search("walnut boat")).hits[0]
    result = await reme.search("walnut boat", min_score=0.9999)
    assert (result.status, result.hits) == ("none", ())
    assert best.path in result.note
    assert f"{best.score:.2f}" in result.note
    assert best.path in await told(reme, "walnut boat", min_score=0.9999)


async def test_promise_10_one_shared_word_is_said_to_be_weak(reme: ReMe) -> None:
    query = "which evening did the zeppelin captain describe the volcano expedition to the ambassador"
    result = await reme.search(query)
    assert result.status == "weak"
    assert result.hits
    assert "probably not about it" in result.note
    assert "probably not about it" in await told(reme, query)


async def test_promise_10_a_search_that_does_not_wait_says_that_it_is_behind(
    vault_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import threading

    from agentscope_reme.index.sync import Sync

    first = ReMe(vault_dir)
    for path, text in NOTES.items():
        await first.vault.write(path, text)
    await first.close()
    go_on = threading.Event()
    real = Sync.scan

    def slow(self: Any, *args: Any, **kwargs: Any) -> Any:
        go_on.wait(30)
        return real(self, *args, **kwargs)

    monkeypatch.setattr(Sync, "scan", slow)
    reme = ReMe(vault_dir, search_wait=0.01)
    try:
        result = await reme.search("walnut boat")
        assert result.status == "stale"
        assert "%" in result.note
        shown = await told(reme, "walnut boat")
        assert "still being indexed" in shown
        assert "No note or earlier message matches" not in shown
        assert "Nothing is found so far." in shown
    finally:
        go_on.set()
    await reme.index.sync()
    assert (await reme.search("walnut boat")).status == "ok"
    await reme.close()


async def test_promise_10_files_that_cannot_be_looked_at_are_no_empty_vault(
    reme: ReMe, monkeypatch: pytest.MonkeyPatch
) -> None:
    from agentscope_reme.index.sync import Sync

    await reme.search("boat")
    fresh = ReMe(reme.vault.root)

    def fail(*_: Any, **__: Any) -> Any:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(Sync, "scan", fail)
    result = await fresh.search("walnut boat")
    assert result.status == "stale"
    assert "Input/output error" in result.note
    assert fresh.index.status()["error"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read anything")
async def test_promise_10_a_file_that_cannot_be_read_is_listed_and_stops_nothing(reme: ReMe) -> None:
    (reme.vault.root / "notes" / "tea.md").chmod(0)
    assert (await reme.search("walnut boat")).status == "ok"
    assert [path for path, _ in reme.index.status()["failed"]] == ["notes/tea.md"]


async def test_promise_10_what_was_just_written_changed_or_removed_is_right_at_once(reme: ReMe) -> None:
    for number in range(5):
        await reme.vault.write("notes/new.md", f"The zeppelin has number {number}.\n", overwrite=True)
        (hit,) = (await reme.search("zeppelin number")).hits
        assert hit.text.strip() == f"The zeppelin has number {number}."
    await reme.vault.delete("notes/new.md")
    assert (await reme.search("zeppelin number")).status == "none"


async def test_promise_10_what_others_changed_is_never_shown_as_it_was(reme: ReMe) -> None:
    assert (await reme.search("oolong")).hits
    file = reme.vault.root / "notes" / "tea.md"
    file.write_text("# Tea\nAnn prefers green sencha now.\n", encoding="utf-8")
    result = await reme.search("oolong tea")
    assert "oolong" not in "".join(hit.text for hit in result.hits)
    file.unlink()
    await reme.index.sync()
    assert (await reme.search("sencha")).status == "none"


@pytest.mark.parametrize("filter_", [{"since": "not a date"}, {"path": "../x"}, {"path": "/etc"}])
async def test_promise_10_a_filter_that_cannot_be_read_is_an_error_and_no_empty_list(
    reme: ReMe, filter_: dict[str, Any]
) -> None:
    with pytest.raises(ReMeError):
        await reme.search("walnut boat", filter=filter_)


@pytest.mark.parametrize(
    "arguments", [{"max_results": "abc"}, {"max_results": -3}, {"min_score": "x"}, {"min_score": None}]
)
async def test_promise_10_arguments_of_wrong_types_do_not_empty_the_answer(
    reme: ReMe, arguments: dict[str, Any]
) -> None:
    assert "notes/boat.md" in await told(reme, "walnut boat", **arguments)


async def test_promise_10_a_closed_memory_says_so(reme: ReMe) -> None:
    agent = agent_with(reme, model_of())
    await reme.close()
    said = text_of(await call_tool(agent, "memory_search", query="walnut boat"))
    assert said.startswith("Error: ")
    assert "closed" in said


async def test_promise_10_ten_searches_at_once_agree(reme: ReMe) -> None:
    results = await asyncio.gather(*(reme.search("walnut boat") for _ in range(10)))
    assert all(result == results[0] for result in results)
    assert results[0].hits
