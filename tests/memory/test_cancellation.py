"""A cancellation at every await of a step: what it finds is the context as it was or as it will be, never between."""

import asyncio
import json
import types

import pytest

from tests.hooks.agents import ByteCounter, agent_of, checkpoint, everything_of, kept_files, reme_over, user
from tests.memory.conversations import calls, result, said
from tests.support.chat_rules import request_faults
from tests.support.scripted_model import Later, ScriptedModel, call

MOST_AWAITS = 2_000


class SlowCounter:
    """Counts like AgentScope's counters, with an await for every message."""

    async def count(self, messages, **_):
        await asyncio.sleep(0)
        return sum(ByteCounter().count_text(str(message["content"])) for message in messages)


@types.coroutine
def stopped_at(number, awaitable, seen):
    """Await, and cancel the running task at the given suspension; ``seen`` receives how many there were."""
    task = asyncio.current_task()
    steps = awaitable.__await__()
    resume = lambda: steps.send(None)  # noqa: E731
    while True:
        try:
            waited_for = resume()
        except StopIteration as end:
            return end.value
        seen.append(waited_for)
        if len(seen) == number:
            asyncio.get_running_loop().call_soon(task.cancel)
        try:
            yield waited_for
            resume = lambda: steps.send(None)  # noqa: E731
        except BaseException as error:
            resume = lambda error=error: steps.throw(error)  # noqa: E731


async def cancelled_at(number, awaitable):
    """Run with a cancellation at one suspension; whether there was one to be cancelled."""
    seen = []

    async def run():
        return await stopped_at(number, awaitable, seen)

    task = asyncio.create_task(run())
    try:
        await task
    except asyncio.CancelledError:
        return True
    return len(seen) >= number


def history():
    messages = [user("Move the shop to Ghent, please.")]
    for i in range(4):
        messages += [
            calls(f"c{i}", path=f"src/{i}.py"),
            result(f"c{i}", output=f"row {i}, " * 900),
            said(f"Step {i} is done: room A-{1000 + i}. " + "word " * 90),
            user(f"And now {i}? " + "please " * 60),
        ]
    return messages


async def a_step(reme):
    memory = reme.get_in_memory_memory("s1")
    await memory.add(history())
    await memory.update_compressed_summary(checkpoint("The old goal."))
    return memory


def picture(memory):
    state = memory.state_dict()
    return json.dumps([state["_compressed_summary"], [message["id"] for message, _ in state["content"]]])


async def undisturbed(vault_dir, model, counter):
    reme = reme_over(vault_dir, 3_000, model(), token_counter=counter())
    memory = await a_step(reme)
    before = (memory.get_compressed_summary(), len(memory.content))
    outcome = await reme.compaction.keep_within_window(memory)
    assert outcome.moved
    return before, len(memory.content)


MODELS = {
    "a model": lambda: ScriptedModel(default=Later(checkpoint("The new goal."), seconds=0.001)),
    "none": lambda: None,
    "a broken one": lambda: ScriptedModel(default=RuntimeError("500")),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", MODELS)
async def test_a_cancellation_at_any_await_of_a_compaction_leaves_all_or_nothing(tmp_path, kind):
    (old_summary, old_count), new_count = await undisturbed(tmp_path / "calm", MODELS[kind], SlowCounter)
    number, outcomes = 0, set()
    while number < MOST_AWAITS:
        number += 1
        reme = reme_over(tmp_path / str(number), 3_000, MODELS[kind](), token_counter=SlowCounter())
        memory = await a_step(reme)
        whole = {message.id: json.dumps(message.to_dict()["content"]) for message, _ in memory.content}
        was_cancelled = await cancelled_at(number, reme.compaction.keep_within_window(memory))
        summary, count = memory.get_compressed_summary(), len(memory.content)
        journalled = {line.id for line in memory.journal.read()}
        assert (summary == old_summary) == (count == old_count), f"between old and new at await {number}"
        here = {message.id for message, _ in memory.content}
        assert here | journalled == set(whole), f"lost at await {number}"
        if count < old_count:
            assert not here & journalled
        assert not memory.lock.locked()
        outcomes.add(count < old_count)
        # Whatever was stopped, the next step ends as if nothing had been.
        await reme.compaction.keep_within_window(memory)
        assert request_faults(_formatted(await memory.get_memory())) == []
        assert len(memory.content) == new_count
        assert set(await everything_of(reme, memory)) == set(whole)
        lines = memory.journal.read()
        assert len(lines) == len({line.id for line in lines})
        if not was_cancelled:
            break
    assert number > 20, "there is much to cancel"
    assert number < MOST_AWAITS
    assert outcomes == {True, False}


def _formatted(messages):
    """The messages as an OpenAI request would have them, roles and calls only."""
    out = []
    for message in messages:
        blocks = message.content if isinstance(message.content, list) else [{"type": "text", "text": message.content}]
        asked = [block for block in blocks if block["type"] == "tool_use"]
        for block in blocks:
            if block["type"] == "tool_result":
                out.append({"role": "tool", "tool_call_id": block["id"], "content": "x"})
        if message.role != "system":
            formatted = {"role": message.role, "content": "x"}
            if asked:
                formatted["tool_calls"] = [
                    {"id": one["id"], "type": "function", "function": {"name": one["name"], "arguments": "{}"}}
                    for one in asked
                ]
            out.append(formatted)
    return out


@pytest.mark.slow
async def test_a_cancellation_at_any_await_while_old_results_move_to_files(tmp_path):
    number = 0
    while number < MOST_AWAITS:
        number += 1
        reme = reme_over(tmp_path / str(number), 40_000, token_counter=SlowCounter(), old_max_bytes=1_000)
        memory = await a_step(reme)
        texts = [f"row {i}, " * 900 for i in range(4)]
        was_cancelled = await cancelled_at(number, reme.compaction.keep_within_window(memory))
        everything = json.dumps([message.to_dict() for message, _ in memory.content]) + kept_files(reme)
        assert all(text in everything for text in texts), f"a result was lost at await {number}"
        await reme.compaction.keep_within_window(memory)
        assert len(memory.content) == len(history())
        if not was_cancelled:
            break
    assert 3 < number < MOST_AWAITS


async def test_an_interrupt_at_any_moment_of_a_reply_leaves_an_agent_that_goes_on(tmp_path):
    async def look(q: str = "") -> object:
        """Look something up.

        Args:
            q (str): What.
        """
        await asyncio.sleep(0)
        from tests.hooks.agents import response

        return response(f"found {q} " + "row " * 400)

    for number in range(1, 60, 6):
        model = ScriptedModel([[call("look", q="a"), call("look", q="b")]], default="Done.")
        reme = reme_over(tmp_path / str(number), 2_000, ScriptedModel(default=checkpoint()))
        agent = agent_of(reme, model, look)
        await agent.memory.add(history()[:9])
        await cancelled_at(number, agent(user("look at both")))
        reply = await asyncio.wait_for(agent(user("and now?")), 20)
        assert reply is not None
        for request in model.requests:
            assert request_faults(request.messages, request.tools) == []
