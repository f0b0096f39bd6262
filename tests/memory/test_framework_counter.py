"""AgentScope's own counters: asked beside the loop if they block, waited for within bounds, left alone if they hang."""

import asyncio
import sys
import threading
import time
from types import ModuleType
from typing import Any

import pytest
from agentscope.token import CharTokenCounter, TokenCounterBase

from agentscope_reme.memory import framework_counter
from agentscope_reme.memory.counters import EstimateCounter
from agentscope_reme.memory.framework_counter import FrameworkCounter
from agentscope_reme.memory.tokens import TokenBudget
from tests.hooks.agents import agent_of, reme_over, user
from tests.support.scripted_model import ScriptedModel


class Hangs(TokenCounterBase):
    asked = 0

    async def count(self, messages: Any, **kwargs: Any) -> int:
        self.asked += 1
        await asyncio.sleep(60)
        return 1


async def test_a_counter_that_hangs_is_waited_for_once(monkeypatch: pytest.MonkeyPatch, caplog: Any) -> None:
    monkeypatch.setattr(framework_counter, "LONGEST_ANSWER", 0.02)
    monkeypatch.setattr(framework_counter, "SLOW_FAILURE", 0.01)
    counter = Hangs()
    budget = TokenBudget(counter)
    expected = EstimateCounter().count_text("some words of a message")
    for _ in range(50):
        assert await budget.text("some words of a message") == expected
    assert counter.asked == 1
    assert "TimeoutError" in caplog.text
    monkeypatch.setattr(framework_counter, "monotonic", lambda: time.monotonic() + framework_counter.PAUSE + 1)
    await budget.text("later")
    assert counter.asked == 2, "it is tried again after the pause"


async def test_a_counter_that_fails_at_once_is_asked_about_the_next_message(caplog: Any) -> None:
    class Odd(TokenCounterBase):
        async def count(self, messages: Any, **kwargs: Any) -> int:
            if "odd" in messages[0]["content"]:
                raise KeyError("odd")
            return 7

    budget = TokenBudget(Odd())
    assert await budget.text("an odd one") == EstimateCounter().count_text("an odd one")
    assert await budget.text("a good one") == 7


class Awaited:
    """A counter whose ``count_text`` is a coroutine function."""

    async def count_text(self, text: str) -> int:
        await asyncio.sleep(0)
        return len(text)


@pytest.mark.parametrize(
    ("counter", "name"), [(Awaited(), "Awaited"), (len, "len"), (lambda text: len(text), "<lambda>")]
)
async def test_what_takes_a_text_and_returns_its_tokens_is_a_counter(counter: Any, name: str) -> None:
    budget = TokenBudget(counter)
    assert await budget.text("thirteen long") == 13
    assert await budget.text("") == 0
    assert budget.name == name


class Blocks(TokenCounterBase):
    released: threading.Event

    async def count(self, messages: Any, tools: Any = None, **kwargs: Any) -> int:
        return 5 if self.released.wait(5) else 0


@pytest.mark.parametrize("name", ["OpenAITokenCounter", "GeminiTokenCounter"])
async def test_counters_that_block_do_so_beside_the_loop(name: str) -> None:
    """This one blocks until something else has run on the loop."""
    kind = type(name, (Blocks,), {"released": threading.Event()})

    async def other() -> None:
        kind.released.set()

    asyncio.get_running_loop().call_later(0.02, lambda: asyncio.ensure_future(other()))
    assert await TokenBudget(kind()).text("x") == 5


async def test_gemini_is_asked_in_its_own_words() -> None:
    asked: list[Any] = []

    class GeminiTokenCounter(TokenCounterBase):
        async def count(self, messages: Any, tools: Any = None, **kwargs: Any) -> int:
            asked.extend(messages)
            return 3

    assert await TokenBudget(GeminiTokenCounter()).text("hello") == 3
    assert asked == [{"role": "user", "parts": [{"text": "hello"}]}]


async def test_a_wait_that_is_cancelled_is_cancelled_and_its_thread_does_no_harm() -> None:
    released = threading.Event()

    class OpenAITokenCounter(TokenCounterBase):
        async def count(self, messages: Any, **kwargs: Any) -> int:
            released.wait(5)
            return 5

    task = asyncio.create_task(FrameworkCounter(OpenAITokenCounter()).count("x"))
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    released.set()


async def test_the_counters_that_agentscope_ships_count_without_a_network() -> None:
    assert await TokenBudget(CharTokenCounter()).text("four words are here") > 0


async def test_openais_counter_without_its_vocabulary_is_replaced_by_the_estimate(
    monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    """It fetches its vocabulary on first use; without a network that fails, and the turn goes on."""
    from agentscope.token import OpenAITokenCounter

    offline = ModuleType("tiktoken")

    def fetch(*_: Any) -> Any:
        raise ConnectionError("no network")

    offline.encoding_for_model = offline.get_encoding = fetch  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "tiktoken", offline)
    budget = TokenBudget(OpenAITokenCounter("gpt-4o"))
    assert await budget.text("some words") == EstimateCounter().count_text("some words")
    assert "estimated" in caplog.text


async def test_an_agents_turn_goes_on_with_a_counter_that_hangs(
    vault_dir: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(framework_counter, "LONGEST_ANSWER", 0.02)
    monkeypatch.setattr(framework_counter, "SLOW_FAILURE", 0.01)
    reme = reme_over(vault_dir, 8_000, token_counter=Hangs())
    agent = agent_of(reme, ScriptedModel(default="Fine."))
    for _ in range(3):
        assert (await agent(user("hello"))).get_text_content() == "Fine."
