"""Token counters and the budget over them."""

import asyncio
import copy
import threading

import pytest
from agentscope.message import Msg
from agentscope.token import TokenCounterBase
from hypothesis import given
from hypothesis import strategies as st

from agentscope_reme.memory import counters, tokens
from agentscope_reme.memory.tokens import EstimateCounter, QwenCounter, TokenBudget, default_counter, message_cost
from tests.hooks.agents import ByteCounter
from tests.memory.conversations import calls, result, said, user


@given(st.text())
def test_the_estimate_is_a_count_for_any_text(text):
    count = EstimateCounter().count_text(text)
    assert isinstance(count, int)
    assert count >= (1 if text.strip() else 0)
    assert count <= 2 * len(text) + 2


@given(st.text(max_size=60), st.text(max_size=60))
def test_the_estimate_grows_with_the_text(first, second):
    count = EstimateCounter().count_text
    assert count(first + "\n" + second) >= max(count(first), count(second)) - 2


@pytest.mark.parametrize("unit", ["a", "1", "汉", "é", "-", " ", "\n", "a1", "字a", "=>", "\ud800", "𠮷"])
def test_the_estimate_reads_a_text_once(unit):
    assert EstimateCounter().count_text(unit * 200_000) <= 400_000


def test_the_default_is_the_vocabulary_that_ships_with_dashscope():
    assert default_counter().name == "qwen"
    assert default_counter().count_text("Hello, world! 你好，世界！") == QwenCounter().count_text(
        "Hello, world! 你好，世界！"
    )


def test_a_vocabulary_that_cannot_be_loaded_leaves_the_estimate(monkeypatch, caplog):
    def broken():
        raise OSError("damaged")

    monkeypatch.setattr(counters, "QwenCounter", broken)
    default_counter.cache_clear()
    try:
        assert default_counter().name == "estimate"
        assert "damaged" in caplog.text
    finally:
        default_counter.cache_clear()


async def test_the_vocabulary_is_loaded_off_the_event_loop(monkeypatch):
    where = []

    def slow():
        where.append(threading.current_thread() is threading.main_thread())
        return EstimateCounter()

    monkeypatch.setattr(tokens, "default_counter", slow)
    budget = TokenBudget()
    assert budget.name == "not loaded"
    assert budget.count_text("before it is loaded") > 0
    assert await budget.text("hello") > 0
    assert await budget.message(user("hello")) > 0
    assert where == [False]
    assert budget.name == "estimate"


async def test_long_texts_are_counted_off_the_event_loop():
    where = []

    class Where(ByteCounter):
        def count_text(self, text):
            where.append(threading.current_thread() is threading.main_thread())
            return super().count_text(text)

    budget = TokenBudget(Where())
    await budget.text("short")
    await budget.text("x" * 20_000)
    await budget.message(user("x" * 20_000))
    assert where == [True, False, False]


async def test_a_text_that_comes_back_every_step_is_counted_once():
    class Asked(ByteCounter):
        asked = 0

        def count_text(self, text):
            self.asked += 1
            return super().count_text(text)

    counter = Asked()
    budget = TokenBudget(counter)
    assert await budget.fixed("") == 0
    for _ in range(5):
        assert await budget.fixed("system prompt") == 5
    assert counter.asked == 1
    for i in range(100):
        await budget.fixed(f"text {i}")
    assert await budget.fixed("system prompt") == 5
    assert len(budget._fixed) <= 64


def test_a_copied_agent_counts_with_the_same_counter():
    budget = TokenBudget(ByteCounter())
    assert copy.deepcopy(budget) is budget


def test_everything_that_is_sent_is_in_the_text_that_is_counted():
    blocks = [
        {"type": "text", "text": "TEXT"},
        {"type": "thinking", "thinking": "THINKING"},
        {"type": "tool_use", "id": "ID-1", "name": "NAME", "input": {"KEY": ["VALUE", {"a": "DEEP"}]}},
        {"type": "tool_result", "id": "ID-2", "name": "TOOL", "output": [{"type": "text", "text": "OUT"}, "loose"]},
        {"type": "video", "source": {"type": "url", "url": "https://example.com/v.mp4"}},
        {"type": "something_new", "payload": "PAYLOAD"},
        "not a block",
    ]  # fmt: skip
    text, extra = message_cost(Msg("SPEAKER", blocks, "assistant"), 1_000)
    sent = ["SPEAKER", "TEXT", "THINKING", "ID-1", "NAME", "KEY", "VALUE", "DEEP", "ID-2", "TOOL", "OUT", "loose"]
    assert [word for word in [*sent, "PAYLOAD"] if word not in text] == []
    blocks[2]["raw_input"] = "it repeats the input and is not sent"
    assert message_cost(Msg("SPEAKER", blocks, "assistant"), 1_000) == (text, extra)
    assert "example.com" not in text
    assert extra >= 1_000


@pytest.mark.parametrize("output", [None, "", [], 7, {"a": 1}, b"\x00"])
async def test_odd_outputs_and_arguments_are_counted(output):
    budget = TokenBudget(ByteCounter())
    assert await budget.message(result("a", output=output)) > 0
    odd = calls("a")
    odd.content[0]["input"] = output
    assert await budget.message(odd) > 0
    for content in ("", [], [{"type": "text"}], [{"type": "text", "text": None}], [{}]):
        assert await budget.message(Msg("Remy", content, "assistant")) > 0


async def test_arguments_that_are_no_json_are_counted():
    odd = calls("a")
    loop = []
    loop.append(loop)
    odd.content[0]["input"] = {"set": {1, 2}, "loop": loop, "object": object()}
    assert await TokenBudget(ByteCounter()).message(odd) > 0


async def test_an_agentscope_counter_is_asked_with_messages_it_can_read():
    class Strict(TokenCounterBase):
        async def count(self, messages, tools=None, **kwargs):
            assert kwargs == {}
            (message,) = messages
            assert set(message) == {"role", "content"}
            assert isinstance(message["content"], str)
            return len(message["content"])

    budget = TokenBudget(Strict())
    assert budget.name == "Strict"
    assert await budget.text("twelve chars") == 12
    assert await budget.message(calls("a", q="x")) > 10
    assert await budget.messages([user("a"), said("b")]) > 20


async def test_a_synchronous_agentscope_counter_is_taken_too():
    class Plain(TokenCounterBase):
        def count(self, messages):
            return 5

    assert await TokenBudget(Plain()).text("whatever") == 5


async def test_a_counter_that_is_cancelled_passes_the_cancellation_on():
    class Waits(TokenCounterBase):
        async def count(self, messages, **kwargs):
            await asyncio.sleep(60)

    task = asyncio.create_task(TokenBudget(Waits()).text("x"))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_failures_are_said_once(caplog):
    class Broken(ByteCounter):
        def count_text(self, text):
            raise KeyError("broken")

    budget = TokenBudget(Broken())
    for _ in range(5):
        assert await budget.text("some text here") > 0
    assert caplog.text.count("broken") == 1
