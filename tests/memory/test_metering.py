"""``reme.metered(model)``: the provider's usage corrects the counts, within bounds, and nothing else changes."""

import asyncio
import copy
import json
import math
import pickle
from typing import Any

import pytest
from agentscope.message import Msg
from agentscope.model import ChatModelBase, ChatResponse
from agentscope.model._model_usage import ChatUsage
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from agentscope_reme import ReMe
from agentscope_reme.memory.calibration import BOUNDS, Calibration
from agentscope_reme.memory.metering import MeteredModel
from agentscope_reme.models import Compacted
from tests.hooks.agents import ByteCounter, agent_of, checkpoint, look, reme_over, user
from tests.support.scripted_model import ScriptedModel, call


class Provider(ChatModelBase):
    """Counts requests as ``rate`` times what the counter of these tests says, and reports it."""

    def __init__(self, rate: float = 1.0, *, stream: bool = False, answer: Any = "Fine.", usage: Any = "rate") -> None:
        super().__init__("provider", stream)
        self.rate, self.answer, self.usage = rate, answer, usage
        self.requests: list[tuple[Any, Any, Any, dict[str, Any]]] = []

    def reported(self, messages: list[dict[str, Any]], tools: Any) -> Any:
        if self.usage != "rate":
            return self.usage
        count = ByteCounter().count_text
        sent = sum(count(_text(message)) + 10 for message in messages)
        sent += count(json.dumps(tools, ensure_ascii=False)) if tools else 0
        return round(sent * self.rate)

    async def __call__(
        self, messages: Any, tools: Any = None, tool_choice: Any = None, structured_model: Any = None, **kwargs: Any
    ) -> Any:
        self.requests.append((messages, tools, structured_model, {"tool_choice": tool_choice, **kwargs}))
        usage = ChatUsage(self.reported(messages, tools), 5, 0.1)
        blocks: list[Any] = [{"type": "text", "text": self.answer}]
        if not self.stream:
            return ChatResponse(content=blocks, usage=usage, metadata={"kept": True})
        return self._chunks(blocks, usage)

    async def _chunks(self, blocks: list[Any], usage: Any) -> Any:
        yield ChatResponse(content=[{"type": "text", "text": "F"}])
        yield ChatResponse(content=blocks, usage=usage)


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n".join(map(_text, value))
    return "\n".join(_text(item) for key, item in value.items() if key not in ("role", "type") and item is not None)


LONG = [{"role": "system", "content": "You are Remy."}, {"role": "user", "content": "words and more words " * 200}]


async def consumed(response: Any) -> Any:
    if not hasattr(type(response), "__aiter__"):
        return response
    last = None
    async for chunk in response:
        last = chunk
    return last


# --- what it learns ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(("rate", "learned"), [(1.3, 1.3), (1.0, 1.0), (0.9, 0.9), (0.7, 0.8), (2.4, 2.0)])
async def test_counts_follow_the_provider_within_bounds(vault_dir, stream, rate, learned):
    reme = reme_over(vault_dir, 8_000)
    model = reme.metered(Provider(rate, stream=stream))
    before = await reme.budget.text("x" * 3_000)
    for _ in range(3):
        await consumed(await model(LONG))
    assert reme.budget.correction == pytest.approx(learned, abs=0.02)
    assert await reme.budget.text("x" * 3_000) == pytest.approx(before * learned, rel=0.02)


@pytest.mark.parametrize("usage", [None, 0, -5, math.nan, math.inf, "300", True, [3], 10, 10**9])
async def test_a_report_that_cannot_be_about_the_request_teaches_nothing(vault_dir, usage):
    """As when a provider reports only what it had not cached, or nothing."""
    reme = reme_over(vault_dir, 8_000)
    for stream in (False, True):
        answer = await consumed(await reme.metered(Provider(usage=usage, stream=stream))(LONG))
        assert answer.content[0]["text"] == "Fine."
    assert reme.budget.correction == 1.0


async def test_a_small_request_teaches_nothing(vault_dir):
    reme = reme_over(vault_dir, 8_000)
    await reme.metered(Provider(2.0))([{"role": "user", "content": "hi"}])
    assert reme.budget.correction == 1.0


@pytest.mark.parametrize(
    "part",
    [
        {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}},
        {"image": "https://example.com/a.png"},
        {"inline_data": {"data": "AAAA", "mime_type": "image/png"}},
    ],
)
async def test_a_request_with_media_teaches_nothing(vault_dir, part):
    reme = reme_over(vault_dir, 8_000)
    messages = [*LONG, {"role": "user", "content": [{"type": "text", "text": "look"}, part]}]
    await reme.metered(Provider(1.5))(messages)
    assert reme.budget.correction == 1.0


async def test_of_several_models_the_one_that_counts_most_decides(vault_dir):
    reme = reme_over(vault_dir, 8_000)
    small, large = Provider(0.9), Provider(1.4)
    large.model_name = "large"
    await reme.metered(small)(LONG)
    await reme.metered(large)(LONG)
    await reme.metered(small)(LONG)
    assert reme.budget.correction == pytest.approx(1.4, abs=0.02)


@given(st.lists(st.tuples(st.integers(0, 100_000), st.floats() | st.integers() | st.none()), max_size=30))
def test_whatever_is_reported_the_correction_stays_within_its_bounds(reports):
    calibration = Calibration()
    for counted, reported in reports:
        calibration.learn("m", counted, reported)
        assert BOUNDS[0] <= calibration.factor <= BOUNDS[1]


def test_an_outlier_moves_the_correction_and_the_next_ones_bring_it_back():
    calibration = Calibration()
    for _ in range(10):
        calibration.learn("m", 1_000, 1_100)
    calibration.learn("m", 1_000, 2_000)
    assert 1.1 < calibration.factor < 1.5
    for _ in range(20):
        calibration.learn("m", 1_000, 1_100)
    assert calibration.factor == pytest.approx(1.1, abs=0.03)


# --- one count --------------------------------------------------------------------------------------------------------


async def test_totals_costs_and_reports_stay_one_count_after_a_correction(vault_dir):
    reme = reme_over(vault_dir, 8_000)
    memory = reme.get_in_memory_memory("s1")
    await memory.add([user("some words " * 30) for _ in range(20)])
    before = (await memory.estimate_tokens()).estimated_tokens
    await reme.metered(Provider(1.5))(LONG)
    estimate = await memory.estimate_tokens()
    assert estimate.estimated_tokens == pytest.approx(before * 1.5, rel=0.02)
    assert estimate.messages_tokens == sum(one["total_tokens"] for one in estimate.messages_detail)
    assert estimate.messages_tokens == await reme.budget.messages([message for message, _ in memory.content])
    await memory.add(user("one more"))
    await memory.delete([memory.content[0][0].id])
    assert await memory.message_tokens() == await reme.budget.messages([message for message, _ in memory.content])


async def test_compaction_starts_where_the_provider_is_near_its_window(vault_dir):
    """7 000 tokens by the counter, 9 800 by the provider: the threshold of a window of 12 000 is passed."""
    for rate, folds in ((1.0, False), (1.4, True)):
        reme = reme_over(vault_dir / str(rate), 12_000, ScriptedModel(default=checkpoint()))
        memory = reme.get_in_memory_memory("s1")
        await memory.add([user("a" * 1_020) for _ in range(20)])
        await reme.metered(Provider(rate))(LONG)
        outcome = await reme.compaction.keep_within_window(memory)
        assert isinstance(outcome, Compacted) is folds


async def test_what_the_meter_counts_is_what_the_hook_counts(vault_dir):
    """Else a correction would say how the two differ, and not how the provider counts."""
    model = Provider(1.0)
    reme = reme_over(vault_dir, 100_000)
    scripted = ScriptedModel([["I look.", call("look", q="北窗 " * 40)], *["Noted. " * 20] * 9])
    agent = agent_of(reme, scripted, look, sys_prompt="You are Remy. " * 10)
    for turn in range(9):
        await agent(user(f"round {turn}: " + "something to keep in mind, 和中文 " * 30))
    request = scripted.last
    counted = model.reported(request.messages, request.tools)
    hook = (await agent.memory.estimate_tokens()).estimated_tokens
    answer = await reme.budget.message(agent.memory.content[-1][0])  # came after the request
    assert hook - answer == pytest.approx(counted, rel=0.05)


# --- a transparent wrapper --------------------------------------------------------------------------------------------


async def test_without_it_nothing_is_wrapped(vault_dir):
    reme = reme_over(vault_dir, 8_000)
    model = ScriptedModel(["Fine."])
    agent = agent_of(reme, model)
    assert agent.model is model
    await agent(user("words " * 500))
    assert reme.budget.correction == 1.0


async def test_attributes_are_those_of_the_model(vault_dir):
    reme = reme_over(vault_dir, 8_000)
    model = Provider()
    metered = reme.metered(model)
    assert isinstance(metered, Provider)
    assert isinstance(metered, ChatModelBase)
    assert metered.model_name == "provider"
    metered.stream = True
    assert model.stream is True
    metered.something_new = 7
    assert model.something_new == 7
    del metered.something_new
    assert not hasattr(metered, "something_new")
    with pytest.raises(AttributeError):
        _ = metered.nothing_like_it
    assert "rate" in dir(metered)
    assert "provider" in repr(metered).lower()


async def test_metering_twice_is_metering_once_and_for_another_budget_anew(vault_dir, tmp_path):
    reme, other = reme_over(vault_dir, 8_000), ReMe(tmp_path / "other", token_counter=ByteCounter())
    once = reme.metered(Provider(1.5))
    assert reme.metered(once) is once
    moved = other.metered(once)
    assert type(moved._metered_model) is Provider
    await moved(LONG)
    assert (reme.budget.correction, other.budget.correction) == (1.0, pytest.approx(1.5, abs=0.02))


async def test_arguments_and_answers_pass_as_they_are(vault_dir):
    class Shape(BaseModel):
        goal: str

    model = Provider()
    metered = reme_over(vault_dir, 8_000).metered(model)
    tools = [{"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}]
    answer = await metered(LONG, tools=tools, tool_choice="auto", structured_model=Shape, temperature=0)
    assert model.requests == [(LONG, tools, Shape, {"tool_choice": "auto", "temperature": 0})]
    assert model.requests[0][0] is LONG
    assert answer.metadata == {"kept": True}
    assert answer.usage.output_tokens == 5
    await metered(LONG, tools, "none", None)
    assert model.requests[1] == (LONG, tools, None, {"tool_choice": "none"})


async def test_errors_and_cancellations_of_the_model_are_the_models(vault_dir):
    reme = reme_over(vault_dir, 8_000)
    with pytest.raises(ConnectionError, match="down"):
        await reme.metered(ScriptedModel([ConnectionError("down")]))(LONG)

    class Waits(Provider):
        async def __call__(self, *args: Any, **kwargs: Any) -> Any:
            await asyncio.sleep(60)

    task = asyncio.create_task(reme.metered(Waits())(LONG))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_stream_that_is_left_early_or_breaks_is_closed_and_teaches_nothing(vault_dir):
    closed: list[str] = []

    class Streams(Provider):
        async def _chunks(self, blocks: list[Any], usage: Any) -> Any:
            try:
                yield ChatResponse(content=blocks, usage=usage)
                raise ConnectionError("cut")
            finally:
                closed.append("closed")

    reme = reme_over(vault_dir, 8_000)
    model = reme.metered(Streams(1.5, stream=True))
    chunks = await model(LONG)
    async for _ in chunks:
        break
    await chunks.aclose()
    with pytest.raises(ConnectionError):
        await consumed(await model(LONG))
    assert closed == ["closed", "closed"]
    assert reme.budget.correction == 1.0


async def test_nothing_that_goes_wrong_in_the_meter_reaches_the_agent(vault_dir, monkeypatch, caplog):
    reme = reme_over(vault_dir, 8_000)

    def broken(*_: Any) -> bool:
        raise RuntimeError("broken meter")

    monkeypatch.setattr(reme.budget.calibration, "learn", broken)
    answer = await reme.metered(Provider(1.5))(LONG)
    assert answer.content[0]["text"] == "Fine."
    assert "broken meter" in caplog.text
    odd = [object(), 3, {"role": "user", "content": {"a": object()}}]
    assert (await reme.metered(Provider(usage=300))(odd)).content[0]["text"] == "Fine."


async def test_a_copied_agent_meters_a_copied_model_for_the_same_counts(vault_dir):
    reme = reme_over(vault_dir, 8_000)
    agent = agent_of(reme, reme.metered(Provider(1.5)))
    copied = copy.deepcopy(agent)
    assert type(copied.model) is MeteredModel
    assert copied.model._metered_model is not agent.model._metered_model
    await copied(user("words " * 500))
    assert reme.budget.correction == pytest.approx(1.5, abs=0.02)
    assert type(copy.copy(agent.model)) is MeteredModel
    assert type(pickle.loads(pickle.dumps(agent.model))) is Provider


async def test_a_metered_model_is_no_part_of_the_agents_state(vault_dir):
    reme = reme_over(vault_dir, 8_000)
    plain, metered = agent_of(reme, Provider()), agent_of(reme, reme.metered(Provider()), session_id="s2")
    assert plain.state_dict().keys() == metered.state_dict().keys()
    metered.load_state_dict(plain.state_dict())


@pytest.mark.parametrize("stream", [False, True])
async def test_an_agent_with_tools_on_a_metered_model(vault_dir, stream):
    reme = reme_over(vault_dir, 8_000)
    scripted = ScriptedModel([["I look.", call("look", q="x")], "Found it."], stream=stream)
    agent = agent_of(reme, reme.metered(scripted), look)
    reply = await agent(Msg("user", "look for x", "user"))
    assert reply.get_text_content() == "Found it."
    assert scripted.requests[0].tool_names == ["look"]


async def test_a_request_that_comes_again_is_not_counted_again(vault_dir):
    class Counting(ByteCounter):
        asked = 0

        def count_text(self, text: str) -> int:
            self.asked += 1
            return super().count_text(text)

    counter = Counting()
    reme = reme_over(vault_dir, 8_000, token_counter=counter)
    model = reme.metered(Provider())
    await model(LONG)
    first = counter.asked
    await model([*LONG, {"role": "assistant", "content": "Fine."}, {"role": "user", "content": "go on"}])
    assert counter.asked == first + 2
