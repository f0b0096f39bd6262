"""The functional interface, for agents without hooks: lists of messages in, lists of messages out."""

import copy
import json

import pytest
from agentscope.formatter import OpenAIChatFormatter
from agentscope.message import Msg

from agentscope_reme.errors import ReMeError
from tests.hooks.agents import ByteCounter, checkpoint, reme_over, user
from tests.memory.conversations import calls, result, said
from tests.support.chat_rules import request_faults
from tests.support.scripted_model import ScriptedModel


def talk(count, tokens=100):
    return [user(f"{i} " + "word " * (tokens * 3 // 5)) if i % 2 == 0 else said("word " * 60) for i in range(count)]


def frozen(messages):
    return [json.dumps(message.to_dict()) for message in messages]


async def test_a_turn_by_hand(vault_dir):
    """What an agent without hooks does before each request."""
    summariser = ScriptedModel(default=checkpoint("Carry on."))
    reme = reme_over(vault_dir, 4_000, summariser)
    messages, summary = [], ""
    said_so_far = []
    for turn in range(6):
        new = [*talk(8), user(f"request {turn}")]
        said_so_far += new
        messages = [*messages, *new]
        before = frozen(messages)
        given = list(messages)
        messages, summary = await reme.pre_reasoning_hook(messages, "You are Remy.", summary, session_id="by-hand")
        assert frozen(given) == before
        assert all(any(one is other for other in given) for one in messages), "what stays is the same object"
        size = sum([await reme.budget.message(message) for message in messages]) + ByteCounter().count_text(summary)
        assert size <= 4_000
        assert messages[-1].content == f"request {turn}"
    assert "Carry on." in summary
    journal = reme.vault.journal("by-hand")
    left = [line.id for line in journal.read()]
    assert len(left) == len(set(left))
    assert {*left, *(message.id for message in messages)} == {message.id for message in said_so_far}


@pytest.mark.parametrize("window", [1_000, 100_000])
async def test_a_history_that_is_broken_comes_back_as_one_that_a_model_takes(vault_dir, window):
    reme = reme_over(vault_dir, window)
    orphan, empty, half = result("zz", output="an orphan"), Msg("Remy", [], "assistant"), calls("w", "e")
    given = [calls("q"), user("a"), orphan, empty, half, result("w"), user("b " * 300), calls("last")]
    before = frozen(given)
    messages, _ = await reme.pre_reasoning_hook(given, session_id="s")
    assert frozen(given) == before
    formatted = await OpenAIChatFormatter().format(messages)
    assert request_faults(formatted) == []
    assert orphan not in messages
    assert given[6] in messages
    kept = {message.id for message in messages}
    left = {line.id for line in reme.vault.journal("s").read()}
    assert {message.id for message in given} <= kept | left
    again, _ = await reme.pre_reasoning_hook(messages, session_id="s")
    assert [message.id for message in again] == [message.id for message in messages]


async def test_what_cannot_be_journalled_is_not_left_out(vault_dir):
    vault_dir.write_text("a file")
    given = [user("a"), result("zz", output="an orphan"), user("b")]
    messages, _ = await reme_over(vault_dir, 100_000).pre_reasoning_hook(given)
    assert messages == given


async def test_calls_without_a_session_share_one_journal(vault_dir):
    reme = reme_over(vault_dir, 4_000, ScriptedModel(default=checkpoint()))
    for _ in range(3):
        await reme.pre_reasoning_hook(talk(40))
    assert len(list((vault_dir / "session" / "dialog").glob("*.jsonl"))) == 1


async def test_results_are_offloaded_only_when_asked(vault_dir):
    reme = reme_over(vault_dir, 40_000)
    messages = [
        user("go"),
        *[m for i in range(6) for m in (calls(f"c{i}"), result(f"c{i}", output="r, " * 2_000))],
        said("x"),
    ]
    same, _ = await reme.pre_reasoning_hook(messages, enable_tool_result_compact=False)
    bounded, _ = await reme.pre_reasoning_hook(messages, tool_result_compact_keep_n=1)
    assert sum("session/tool_result/" in str(message.content) for message in bounded) == 5
    assert sum("session/tool_result/" in str(message.content) for message in same) <= 3, "those that aged"


async def test_check_context_divides_by_the_numbers_given(vault_dir):
    reme = reme_over(vault_dir, 100_000)
    messages = talk(20)
    costs = [await reme.budget.message(message) for message in messages]
    assert await reme.check_context(messages) == ([], messages, True)
    fold, keep, valid = await reme.check_context(messages, sum(costs) - 1, sum(costs[-6:]))
    assert valid
    assert fold + keep == messages
    assert keep == messages[-6:]
    fold, keep, valid = await reme.check_context(messages, 0, 0)
    assert keep, "something recent is always kept"
    _, keep, valid = await reme.check_context([*messages, calls("open")], 10, 10)
    assert valid, "a call that is still running is no broken pair"


async def test_compact_memory_gives_text_or_says_why_not(vault_dir):
    model = ScriptedModel([checkpoint("Short talk."), RuntimeError("500"), RuntimeError("500"), checkpoint("Dict.")])
    reme = reme_over(vault_dir, 8_000, model)
    messages = [user("hello"), said("hi")]
    before = frozen(messages)
    text = await reme.compact_memory(messages, "## Goal\nBefore.", extra_instruction="Keep names.")
    assert "Short talk." in text, "also where the conversation is shorter than its checkpoint"
    assert "Before." in model.last.text
    assert "Keep names." in model.last.text
    with pytest.raises(ReMeError, match="model_error"):
        await reme.compact_memory(messages)
    failed = await reme.compact_memory(messages, return_dict=True)
    assert failed == {"user_message": "", "history_compact": "", "is_valid": False}
    good = await reme.compact_memory(messages, return_dict=True, language="zh")
    assert good["is_valid"]
    assert "Dict." in good["history_compact"]
    assert good["history_compact"] in good["user_message"]
    assert frozen(messages) == before
    assert (await reme.compact_memory([], return_dict=True))["is_valid"] is False
    assert not vault_dir.exists()


async def test_compact_memory_without_a_model(vault_dir):
    reme = reme_over(vault_dir, 8_000)
    text = await reme.compact_memory([user("Remember: the code is 7319."), said("noted")])
    assert "7319" in text


async def test_thinking_is_given_or_not(vault_dir):
    model = ScriptedModel(default=checkpoint())
    reme = reme_over(vault_dir, 8_000, model)
    messages = [
        user("go"),
        Msg("Remy", [{"type": "thinking", "thinking": "HIDDEN"}, {"type": "text", "text": "x"}], "assistant"),
    ]
    await reme.compact_memory(messages)
    assert "HIDDEN" in model.last.text
    await reme.compact_memory(messages, add_thinking_block=False)
    assert "HIDDEN" not in model.last.text


async def test_summaries_in_the_background_are_of_the_messages_as_they_were(vault_dir):
    reme = reme_over(vault_dir, 8_000)
    messages = [user("Remember: my sister Nora lives in Ghent, Coupure 14.")]
    reme.add_async_summary_task(messages, "s1")
    messages[0].content = "changed afterwards"
    assert await reme.await_summary_tasks()
    cards = "".join(path.read_text("utf-8") for path in (vault_dir / "daily").glob("*/*.md"))
    assert "Coupure 14" in cards
    assert "changed afterwards" not in cards
    assert await reme.await_summary_tasks() == ""
    path = await reme.summary_memory([user("Remember: the boiler is blue.")], "s2")
    assert (vault_dir / path).exists()


async def test_closing_waits_for_summaries_and_then_cancels_them(vault_dir):
    import asyncio

    started = asyncio.Event()
    ended = []

    async def slow(request):
        started.set()
        try:
            await asyncio.sleep(60)
        finally:
            ended.append(True)

    reme = reme_over(vault_dir, 8_000, ScriptedModel(default=slow), close_timeout=0.05)
    reme.add_async_summary_task([user("x")])
    await started.wait()
    await reme.close()
    assert ended == [True], "cancelled and awaited"
    assert not [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]


def test_cards_are_written_in_one_event_loop_after_the_other(vault_dir):
    import asyncio

    reme = reme_over(vault_dir, 8_000)

    async def turn(i):
        for part in "abc":
            reme.add_async_summary_task([user(f"Remember: item {i}{part} costs {i + 10} euro.")], f"s{i}{part}")
        return await reme.await_summary_tasks()

    for i in range(3):
        told = asyncio.run(turn(i))
        assert "failed" not in told
    cards = "".join(path.read_text("utf-8") for path in (vault_dir / "daily").glob("*/*.md"))
    assert all(f"item {i}{part} costs" in cards for i in range(3) for part in "abc")


def test_messages_can_be_copied_with_their_metadata():
    """The functions copy what they are given; nothing in a message stands in the way."""
    message = result("a", output=[{"type": "text", "text": "x"}])
    message.metadata = {"n": [1, {"m": 2}]}
    assert copy.deepcopy(message).metadata == message.metadata
