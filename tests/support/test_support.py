"""The stand-ins themselves: a test that trusts them must be able to."""

import asyncio
import itertools
import os
import socket

import pytest
from agentscope.agent import ReActAgent
from agentscope.formatter import OpenAIChatFormatter
from agentscope.memory import InMemoryMemory
from agentscope.message import Msg, TextBlock
from agentscope.model import OpenAIChatModel
from agentscope.tool import Toolkit, ToolResponse

from .answers import Cut, Later, call
from .chat_rules import assert_acceptable, assert_not_in_system, assert_pairs, request_faults
from .openai_stub import OpenAIStub, Refusal
from .scripted_model import ScriptedModel

USER = {"role": "user", "content": "hi"}
ANSWER = {"role": "assistant", "content": "ok"}


def calling(*ids: str) -> dict:
    calls = [{"id": i, "type": "function", "function": {"name": "look", "arguments": "{}"}} for i in ids]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def result(call_id: str) -> dict:
    return {"role": "tool", "tool_call_id": call_id, "content": "seen"}


@pytest.mark.parametrize(
    "messages",
    [
        [USER, result("a")],
        [USER, calling("a")],
        [USER, calling("a"), USER],
        [USER, calling("a"), USER, result("a")],
        [USER, calling("a", "b"), result("a"), USER],
        [USER, calling("a"), result("a"), result("a")],
        [USER, calling("a"), result("a"), calling("a"), result("a")],
        [USER, calling("a"), result("b")],
    ],
)
def test_broken_pairs_are_refused(messages: list[dict]) -> None:
    with pytest.raises(AssertionError):
        assert_pairs(messages)
    assert request_faults(messages)


@pytest.mark.parametrize(
    "message",
    [
        {"role": "assistant", "content": []},
        {"role": "assistant", "content": None},
        {"role": "assistant", "content": ""},
        {"role": "user", "content": None},
        {"role": "tester", "content": "x"},
        {"role": "user", "content": "x", "name": "two words"},
        {"role": "assistant", "content": "x", "tool_calls": []},
    ],
)
def test_malformed_messages_are_refused(message: dict) -> None:
    with pytest.raises(AssertionError):
        assert_acceptable([USER, message])


def test_whole_pairs_are_accepted_parallel_calls_in_any_order() -> None:
    assert_acceptable([USER, calling("a", "b"), result("b"), result("a"), ANSWER, USER, calling("c"), result("c")])


def test_system_text_is_found() -> None:
    system = {"role": "system", "content": [{"type": "text", "text": "You are Remy. The door code is 7."}]}
    with pytest.raises(AssertionError):
        assert_not_in_system([system], "door code")
    assert_not_in_system(
        [{"role": "system", "content": "You are Remy."}, {"role": "user", "content": "door code"}], "door"
    )


async def look(place: str) -> ToolResponse:
    """Look at a place.

    Args:
        place: Where to look.
    """
    return ToolResponse(content=[TextBlock(type="text", text=f"nothing at {place}")])


def agent_on(model: object) -> ReActAgent:
    toolkit = Toolkit()
    toolkit.register_tool_function(look)
    agent = ReActAgent("Remy", "You are Remy.", model, OpenAIChatFormatter(), toolkit, InMemoryMemory())
    agent.set_console_output_enabled(False)
    return agent


@pytest.mark.parametrize("stream", [False, True])
async def test_scripted_model_drives_an_agent_and_records_copies(stream: bool) -> None:
    model = ScriptedModel([["I look.", call("look", place="北窗")], lambda request: f"{len(request.messages)} seen"])
    model.stream = stream
    agent = agent_on(model)
    reply = await agent(Msg("user", "what is there?", "user"))
    assert reply.get_text_content() == "4 seen"
    assert [len(request.messages) for request in model.requests] == [2, 4]
    assert model.last.tool_names == ["look"]
    assert "nothing at 北窗" in model.last.role_text("tool")
    assert_pairs(model.last)


async def test_scripted_model_refuses_what_a_provider_refuses() -> None:
    with pytest.raises(ValueError, match="400"):
        await ScriptedModel(["never"])([USER, result("a")])


async def test_scripted_stream_is_cumulative_and_can_be_cut() -> None:
    model = ScriptedModel([Cut("half a sentence")], stream=True)
    seen: list[str] = []

    async def read() -> None:
        async for chunk in await model([USER]):
            seen.append(chunk.content[0]["text"])

    with pytest.raises(ConnectionError):
        await read()
    assert seen[-1] == "half a sentence"
    assert all(later.startswith(earlier) for earlier, later in itertools.pairwise(seen))


async def test_scripted_answer_waits_for_its_event_and_can_be_cancelled() -> None:
    event = asyncio.Event()
    task = asyncio.create_task(ScriptedModel([Later("late", event=event)])([USER]))
    await asyncio.sleep(0)
    assert not task.done()
    event.set()
    assert (await task).content[0]["text"] == "late"
    task = asyncio.create_task(ScriptedModel([Later("never", seconds=60)])([USER]))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_script_without_answers_left_fails_the_test() -> None:
    with pytest.raises(AssertionError, match="no answer left"):
        await ScriptedModel()([USER])


def real_model(stub: OpenAIStub, stream: bool) -> OpenAIChatModel:
    return OpenAIChatModel(
        "stub", api_key="none", stream=stream, client_kwargs={"base_url": stub.base_url, "max_retries": 0}
    )


@pytest.mark.parametrize("stream", [False, True])
async def test_real_openai_model_and_agent_run_on_the_stub(stream: bool) -> None:
    with OpenAIStub([["我看看。", call("look", place="南窗")], "两只鸟在南窗。"]) as stub:
        agent = agent_on(real_model(stub, stream))
        reply = await agent(Msg("user", "那里有什么?", "user"))
        assert reply.get_text_content() == "两只鸟在南窗。"
        assert len(stub.chat_requests()) == 2
        assert stub.chat_requests()[1]["messages"][-1]["content"] == "nothing at 南窗"
        assert not stub.refused


async def test_stub_refuses_an_orphan_result_with_400() -> None:
    import openai

    with OpenAIStub(default="never") as stub, pytest.raises(openai.BadRequestError, match="must follow"):
        await real_model(stub, False)([USER, result("a")])


async def test_stub_answers_with_scripted_errors_and_cut_streams() -> None:
    import openai

    with OpenAIStub([Refusal(429, "slow down"), Cut("half")]) as stub:
        with pytest.raises(openai.RateLimitError):
            await real_model(stub, False)([USER])
        texts = []
        error: Exception | None = None
        try:
            async for chunk in await real_model(stub, True)([USER]):
                texts.append(chunk.content[0]["text"])
        except Exception as caught:
            error = caught
        assert error is not None
        assert texts == ["half"]


async def test_stub_embeds_deterministically() -> None:
    import openai

    with OpenAIStub() as stub:
        client = openai.AsyncClient(api_key="none", base_url=stub.base_url, max_retries=0)
        first = await client.embeddings.create(model="e", input=["a", "b"], dimensions=5, encoding_format="float")
        again = await client.embeddings.create(model="e", input=["b"], dimensions=5, encoding_format="float")
        assert first.data[1].embedding == again.data[0].embedding != first.data[0].embedding
        with pytest.raises(openai.BadRequestError):
            await client.embeddings.create(model="e", input=[""], encoding_format="float")


def test_tests_have_no_network_and_no_keys() -> None:
    with socket.socket() as probe, pytest.raises(OSError, match="without a network"):
        probe.connect(("192.0.2.1", 80))
    assert not [name for name in os.environ if name.endswith("_API_KEY") or name.startswith("REME_")]
