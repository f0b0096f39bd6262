"""The bar of long work: on a terminal only, never in the way of the answer."""

import asyncio
import io
import shutil
import time

import pytest
from rich.console import Console

from agentscope_reme.service.progress import with_bar


async def test_on_a_terminal_the_bar_shows_how_many_files_are_done() -> None:
    screen = io.StringIO()
    state = [0, 0]

    async def work() -> str:
        await asyncio.sleep(0.15)
        state[:] = [3, 7]
        await asyncio.sleep(0.3)
        return "done"

    console = Console(file=screen, force_terminal=True, width=80)
    assert await with_bar(work(), "Indexing", lambda: (state[0], state[1]), console) == "done"
    assert "Indexing" in screen.getvalue()
    assert "3/7" in screen.getvalue()


async def test_without_a_terminal_nothing_is_printed(capsys) -> None:
    async def work() -> int:
        return 5

    assert await with_bar(work(), "Indexing", lambda: (0, 0)) == 5
    assert capsys.readouterr() == ("", "")


async def test_work_that_is_done_soon_shows_nothing_and_what_takes_longer_does() -> None:
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=80)

    async def work(seconds: float) -> str:
        await asyncio.sleep(seconds)
        return "done"

    assert await with_bar(work(0), "Indexing", lambda: (0, 0), console, after=30) == "done"
    assert screen.getvalue() == ""
    assert await with_bar(work(0.2), "Indexing", lambda: (3, 7), console, after=0.05) == "done"
    assert "3/7" in screen.getvalue()


async def test_a_command_waits_for_the_first_look_at_a_large_vault_an_agent_does_not(tmp_path, monkeypatch) -> None:
    from agentscope_reme import ReMe
    from agentscope_reme.config import ReMeConfig
    from agentscope_reme.index.sync import Sync
    from agentscope_reme.jobs.registry import job_named
    from agentscope_reme.service.cli import _answer, _config

    (tmp_path / "a.md").write_text("The walnut boat lies at pier seven.\n")
    scan, agent_waits = Sync.scan, 0.01
    monkeypatch.setattr(Sync, "scan", lambda *given, **named: (time.sleep(10 * agent_waits), scan(*given, **named))[1])
    assert job_named("search").bar
    result = await _answer(job_named("search"), _config(tmp_path, []), {"query": "walnut boat"})
    assert (result.status, [hit.path for hit in result.hits]) == ("ok", ["a.md"])
    shutil.rmtree(tmp_path / "metadata", ignore_errors=True)
    reme = ReMe(tmp_path, search_wait=agent_waits)
    assert (await reme.search("walnut boat")).status == "stale"
    await reme.close()
    assert ReMeConfig.model_fields["search_wait"].default < 10


async def test_what_the_work_raises_comes_through_and_a_cancelled_wait_ends_the_work() -> None:
    console = Console(file=io.StringIO(), force_terminal=True)

    async def fails() -> None:
        raise ValueError("boom")

    with pytest.raises(ValueError, match="boom"):
        await with_bar(fails(), "Indexing", lambda: (0, 0), console)
    ended: list[str] = []

    async def long() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            ended.append("cancelled")

    waiting = asyncio.create_task(with_bar(long(), "Indexing", lambda: (0, 0), console))
    await asyncio.sleep(0.05)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert ended == ["cancelled"]


async def test_building_and_comparing_an_index_say_how_far_they_are(tmp_path, monkeypatch) -> None:
    from agentscope_reme import ReMe
    from agentscope_reme.index.sync import Sync

    for number in range(5):
        (tmp_path / f"{number}.md").write_text(f"Note {number}.\n")
    reme = ReMe(tmp_path)
    await reme.index.sync()
    seen: list[tuple[int, int]] = []
    read = Sync._read

    def noting(self, path, counts):
        seen.append(reme.index.progress)
        return read(self, path, counts)

    monkeypatch.setattr(Sync, "_read", noting)
    await reme.index.reindex()
    assert seen[:5] == [(number, 5) for number in range(5)]
    seen.clear()
    await reme.index.verify()
    assert [(number, 5) for number in range(5)] == [one for one in seen if one in {(n, 5) for n in range(5)}][-5:]
    await reme.close()
