"""P1: the plugin takes no message out of the context before its content is durable on disk."""

import asyncio
import json
import tempfile

import pytest
from agentscope.memory import InMemoryMemory
from agentscope.message import Msg
from hypothesis import given, settings

from agentscope_reme import MemoryCompactionHook
from agentscope_reme.errors import NoteError
from agentscope_reme.memory.in_memory import ReMeInMemoryMemory
from agentscope_reme.models import Compacted, Failed
from agentscope_reme.vault.dialog import Journal
from tests.hooks.agents import agent_of, checkpoint, everything_of, kept_files, reme_over, user
from tests.hooks.conversations import SimpleNamespaceAgent, randoms, run, small_windows, summarisers, windows
from tests.memory.conversations import calls, result, said
from tests.support.scripted_model import ScriptedModel

TEXT = "something was said here, and it matters. " * 8


async def step(reme, memory):
    return await reme.compaction.keep_within_window(memory)


def talk(count=60):
    return [user(f"{i}: {TEXT}") if i % 2 == 0 else said(f"{i}: {TEXT}") for i in range(count)]


@settings(max_examples=12)
@given(randoms, small_windows, summarisers)
def test_promise_01_everything_added_is_in_context_or_journal_once(rng, window, kind):
    with tempfile.TemporaryDirectory() as folder:
        assert asyncio.run(_lost(rng, window, kind, folder)) == []


@pytest.mark.slow
@settings(max_examples=150)
@given(randoms, windows, summarisers)
def test_promise_01_everything_added_is_in_context_or_journal_once_at_length(rng, window, kind):
    with tempfile.TemporaryDirectory() as folder:
        assert asyncio.run(_lost(rng, window, kind, folder)) == []


async def _lost(rng, window, kind, folder):
    done = await run(rng, window, kind, f"{folder}/vault")
    return await done.lost()


async def test_promise_01_every_removal_finds_the_messages_on_disk(vault_dir, monkeypatch):
    """Whoever takes messages out, their lines are in the file before they are gone from the list."""
    reme = reme_over(vault_dir, 4_000, ScriptedModel(default=checkpoint()))
    removed: list[str] = []
    original = ReMeInMemoryMemory.remove

    def remove(self, entries, **kwargs):
        path = self.vault.root / self.journal.path
        on_disk = {json.loads(line)["id"] for line in path.read_text("utf-8").splitlines()} if entries else set()
        assert {message.id for message, _ in entries} <= on_disk
        removed.extend(message.id for message, _ in entries)
        original(self, entries, **kwargs)

    monkeypatch.setattr(ReMeInMemoryMemory, "remove", remove)
    memory = reme.get_in_memory_memory("s1")
    await memory.add(talk())
    assert isinstance(await step(reme, memory), Compacted)
    await memory.mark_messages_compressed([memory.content[0][0]])
    await memory.update_messages_mark("compressed", msg_ids=[memory.content[0][0].id])
    await step(reme, memory)
    await memory.clear_content()
    assert len(set(removed)) == 60
    assert memory.content == []


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), NoteError("the disk refuses"), ValueError()])
async def test_promise_01_a_journal_that_cannot_be_written_keeps_the_messages(vault_dir, monkeypatch, error):
    reme = reme_over(vault_dir, 4_000)
    memory = reme.get_in_memory_memory("s1")
    await memory.add(talk())
    before = json.dumps(memory.state_dict())

    def refuse(self, records):
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(Journal, "append", refuse)
        outcome = await step(reme, memory)
        assert isinstance(outcome, Failed)
        assert outcome.reason == "journal_write"
        with pytest.raises(type(error)):
            await memory.clear_content()
        with pytest.raises(type(error)):
            await memory.mark_messages_compressed([memory.content[0][0]])
        await memory.update_messages_mark("compressed", msg_ids=[memory.content[0][0].id])
        await step(reme, memory)
        await memory.update_messages_mark(None, "compressed")
    assert [entry[0]["id"] for entry in json.loads(before)["content"]] == [m.id for m, _ in memory.content]
    assert isinstance(await step(reme, memory), Compacted)
    assert len(await everything_of(reme, memory)) == 60


async def test_promise_01_a_file_that_cannot_be_written_keeps_the_text(vault_dir, monkeypatch):
    from agentscope_reme.vault import Vault

    def refuse(self, data, suffix=".txt"):
        raise NoteError("the disk refuses")

    reme = reme_over(vault_dir, 4_000)
    memory = reme.get_in_memory_memory("s1")
    messages = [user("p " * 9_000), calls("a", content="q " * 9_000), result("a", output="r " * 9_000)]
    await memory.add(messages)
    with monkeypatch.context() as patch:
        patch.setattr(Vault, "store_result_sync", refuse)
        await step(reme, memory)
    assert not kept_files(reme) or memory.journal.read()
    for _ in range(2):
        texts = "\n".join((await everything_of(reme, memory)).values()) + kept_files(reme)
        assert all(f"{letter} " * 9_000 in texts for letter in "pqr")
        await step(reme, memory)
    assert (await memory.estimate_tokens()).estimated_tokens <= 4_000


async def test_promise_01_cancelled_while_the_journal_is_written_nothing_is_lost(vault_dir, monkeypatch):
    import threading

    reme = reme_over(vault_dir, 4_000)
    memory = reme.get_in_memory_memory("s1")
    await memory.add(talk())
    started, go = threading.Event(), threading.Event()
    original = Journal.append

    def slow(self, records):
        started.set()
        go.wait(10)
        return original(self, records)

    monkeypatch.setattr(Journal, "append", slow)
    task = asyncio.create_task(step(reme, memory))
    await asyncio.to_thread(started.wait, 10)
    task.cancel()
    await asyncio.sleep(0)
    go.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert len(memory.content) == 60
    assert not memory.get_compressed_summary()
    monkeypatch.undo()
    assert isinstance(await step(reme, memory), Compacted)
    lines = memory.journal.read()
    assert len({line.id for line in lines}) == len(lines), "what was journalled before the cancellation is there once"
    assert len(await everything_of(reme, memory)) == 60


async def test_promise_01_a_foreign_memory_too_loses_nothing(vault_dir):
    class Own(InMemoryMemory):
        """A user's subclass: not ours, and not replaced."""

    reme = reme_over(vault_dir, 4_000, ScriptedModel(default=checkpoint()))
    memory = Own()
    await memory.add(talk())
    hook = MemoryCompactionHook(reme)
    await hook(SimpleNamespaceAgent(memory), {})
    journal = reme.stand_in(memory).journal
    left = {line.id for line in journal.read()}
    here = {message.id for message, _ in memory.content}
    assert left
    assert not left & here
    assert len(left | here) == 60


async def test_promise_01_the_journal_holds_messages_as_they_were(vault_dir):
    reme = reme_over(vault_dir, 4_000)
    agent = agent_of(reme, ScriptedModel(default="ok"))
    odd = Msg("user", [{"type": "text", "text": "你好 \udce4 \x00 end"}], "user", metadata={"n": float("nan")})
    messages = [odd, calls("a", text="I look", path="/x"), result("a", output=[{"type": "text", "text": "y"}]), *talk()]
    await agent.memory.add(messages)
    await step(reme, agent.memory)
    left = {message.id: message for message in await agent.memory.left_messages()}
    for message in messages:
        if message.id in left and message is not odd:
            assert left[message.id].content == message.content
            assert left[message.id].timestamp == message.timestamp
            assert left[message.id].role == message.role
    assert odd.id in left
