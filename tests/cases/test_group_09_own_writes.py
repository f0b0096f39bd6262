"""A fault that users reported, C9-14: what the product itself writes is found at once, and read into the index once."""

from pathlib import Path

from agentscope.message import Msg

from agentscope_reme import ReMe
from agentscope_reme.index.sync import Sync
from tests.toolkit.agents import agent_with, call_tool, model_of, text_of


async def test_c9_14_a_note_written_by_a_tool_is_found_in_the_same_turn_and_read_once(
    vault_dir: Path, monkeypatch
) -> None:
    read: list[str] = []
    take = Sync._take

    def counted(self, path, data, status, checked, counts):
        passes = self.passes
        take(self, path, data, status, checked, counts)
        if self.passes > passes:
            read.append(path)

    monkeypatch.setattr(Sync, "_take", counted)
    async with ReMe(vault_dir) as reme:
        agent = agent_with(reme, model_of())
        await call_tool(agent, "write", path="digest/kiln.md", content="The walnut kiln.\n")
        assert "walnut" in text_of(await call_tool(agent, "memory_search", query="walnut kiln"))
        await call_tool(agent, "edit", path="digest/kiln.md", old="walnut", new="hazel")
        assert "hazel" in text_of(await call_tool(agent, "memory_search", query="hazel kiln"))
        assert (await reme.search("walnut")).status == "none"
        for _ in range(3):
            await reme.search("hazel kiln")
            await reme.index.sync()
        assert read.count("digest/kiln.md") == 2, "one pass for each content"


async def test_c9_14_a_card_written_by_the_pipeline_is_found_at_once_and_causes_no_other_work(vault_dir: Path) -> None:
    async with ReMe(vault_dir) as reme:
        message = Msg("user", "I decided to sell the walnut piano in May.", "user")
        path = await reme.summary_memory([message], "s")
        assert "daily/" in path
        # The statement is found where it was said: the card without a model only copies it.
        assert "session/dialog/s.jsonl" in [hit.path for hit in (await reme.search("walnut piano")).hits]
        before = await reme.vault.history()
        await reme.index.sync()
        assert await reme.await_summary_tasks() == ""
        assert await reme.vault.history() == before, "its own writing set nothing off"
