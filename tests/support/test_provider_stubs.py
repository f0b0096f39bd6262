"""The stubs of five providers: they refuse what the providers refuse, and the real SDKs understand their answers."""

import gc
from collections.abc import Iterator
from typing import Any

import pytest

from .answers import Cut, call
from .loopback import Refusal
from .provider_rules import (
    anthropic_faults,
    dashscope_faults,
    gemini_faults,
    ollama_faults,
    responses_faults,
)
from .providers import PROVIDERS, Provider, look_through_sdks_once

_SCHEMA = {"type": "object", "properties": {"q": {"type": "string"}}}
TOOL = {"type": "function", "function": {"name": "look", "description": "Look.", "parameters": _SCHEMA}}


@pytest.fixture(scope="module", autouse=True)
def _sdks() -> None:
    look_through_sdks_once()


@pytest.fixture(autouse=True)
def _sdk_settings(request: pytest.FixtureRequest) -> Iterator[None]:
    import dashscope

    before = dashscope.base_http_api_url
    yield
    dashscope.base_http_api_url = before
    if "dashscope" in request.node.name and "stream" in request.node.name:
        gc.collect()  # the SDK leaves the clients of streams open; what aiohttp says of them belongs to this test


# --- Anthropic --------------------------------------------------------------------------------------------------------

A_USER = {"role": "user", "content": [{"type": "text", "text": "hi"}]}
A_TEXT = {"role": "assistant", "content": [{"type": "text", "text": "ok"}]}


def a_call(*ids: str) -> dict[str, Any]:
    return {"role": "assistant", "content": [{"type": "tool_use", "id": i, "name": "look", "input": {}} for i in ids]}


def a_result(*ids: str, **more: Any) -> dict[str, Any]:
    content = [{"type": "text", "text": "seen"}]
    return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": i, "content": content} for i in ids]}


def anthropic(*messages: Any, **more: Any) -> dict[str, Any]:
    return {"max_tokens": 10, "messages": list(messages), **more}


@pytest.mark.parametrize(
    "messages",
    [
        [A_USER, a_call("a"), a_result("a"), A_TEXT, A_USER],
        [A_USER, A_USER, a_call("a", "b"), a_result("b"), a_result("a"), A_USER],
        [A_USER, a_call("a"), {"role": "user", "content": [*a_result("a")["content"], *A_USER["content"]]}],
    ],
)
def test_anthropic_takes_turns_of_one_role_in_a_row_and_results_first(messages: list[Any]) -> None:
    assert anthropic_faults(anthropic(*messages)) == []


@pytest.mark.parametrize(
    "messages",
    [
        [],
        [A_TEXT, A_USER],
        [A_USER, a_call("a")],
        [A_USER, a_call("a"), A_USER],
        [A_USER, a_call("a"), A_USER, a_result("a")],
        [A_USER, a_result("a")],
        [A_USER, a_call("a", "b"), a_result("a")],
        [A_USER, a_call("a"), a_result("a"), a_result("a")],
        [A_USER, a_call("a"), a_result("a"), A_TEXT, A_USER, a_call("a"), a_result("a")],
        [A_USER, a_call("a"), {"role": "user", "content": [*A_USER["content"], *a_result("a")["content"]]}],
        [A_USER, {"role": "assistant", "content": []}, A_USER],
        [A_USER, {"role": "assistant", "content": [{"type": "text", "text": ""}]}, A_USER],
        [A_USER, {"role": "assistant", "content": [{"type": "text", "text": " \n"}]}, A_USER],
        [A_USER, {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm"}]}, A_USER],
        [A_USER, a_call("call 1"), a_result("call 1")],
        [{"role": "system", "content": "x"}, A_USER],
        [{"role": "user", "content": [{"type": "text", "text": "x", "extra": 1}]}],
        [{"role": "user", "content": "x", "name": "user"}],
    ],
)
def test_anthropic_refuses_broken_turns(messages: list[Any]) -> None:
    assert anthropic_faults(anthropic(*messages))


def test_anthropic_refuses_a_request_without_max_tokens_and_an_empty_system_text() -> None:
    assert anthropic_faults({"messages": [A_USER]})
    assert anthropic_faults(anthropic(A_USER, system=[{"type": "text", "text": ""}]))
    assert not anthropic_faults(anthropic(A_USER, system=[{"type": "text", "text": "You are Remy."}]))


# --- Gemini -----------------------------------------------------------------------------------------------------------

G_USER = {"role": "user", "parts": [{"text": "hi"}]}
G_TEXT = {"role": "model", "parts": [{"text": "ok"}]}


def g_call(*names: str) -> dict[str, Any]:
    return {"role": "model", "parts": [{"functionCall": {"name": name, "args": {}}} for name in names]}


def g_result(*names: str) -> dict[str, Any]:
    parts = [{"functionResponse": {"name": name, "response": {"output": "seen"}}} for name in names]
    return {"role": "user", "parts": parts}


@pytest.mark.parametrize(
    ("contents", "fine"),
    [
        ([G_USER, g_call("look"), g_result("look"), G_TEXT, G_USER], True),
        ([G_USER, g_call("a", "b"), g_result("b"), g_result("a")], True),
        ([], False),
        ([G_TEXT, G_USER], False),
        ([G_USER, G_TEXT], False),
        ([G_USER, g_call("look")], False),
        ([G_USER, g_call("look"), G_USER], False),
        ([G_USER, g_result("look")], False),
        ([G_USER, g_call("a", "b"), g_result("a")], False),
        ([G_USER, g_call("a"), g_result("b")], False),
        ([G_USER, g_call("a"), g_result("a"), g_result("a")], False),
        ([{"role": "user", "parts": []}], False),
        ([{"role": "user", "parts": [{"text": ""}]}], False),
        ([{"role": "user", "parts": [{"text": "x", "inlineData": {}}]}], False),
        ([{"role": "assistant", "parts": [{"text": "x"}]}, G_USER], False),
    ],
)
def test_gemini_pairs_calls_and_responses(contents: list[Any], fine: bool) -> None:
    assert (gemini_faults({"contents": contents}) == []) is fine


# --- Ollama, DashScope, Responses -------------------------------------------------------------------------------------

O_USER = {"role": "user", "content": "hi"}
O_CALL = {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "look", "arguments": {}}}]}
O_RESULT = {"role": "tool", "content": "seen"}


@pytest.mark.parametrize(
    ("messages", "fine"),
    [
        ([O_USER, O_CALL, O_RESULT, {"role": "assistant", "content": "ok"}, O_USER], True),
        ([O_USER, O_RESULT], False),
        ([O_USER, O_CALL], False),
        ([O_USER, O_CALL, O_USER], False),
        ([O_USER, O_CALL, O_RESULT, O_RESULT], False),
        ([{"role": "user", "content": [{"type": "text", "text": "x"}]}], False),
        ([O_USER, {"role": "assistant", "content": ""}, O_USER], False),
        ([O_USER, {**O_CALL, "tool_calls": [{"function": {"name": "look", "arguments": "{}"}}]}, O_RESULT], False),
    ],
)
def test_ollama_counts_calls_and_results(messages: list[Any], fine: bool) -> None:
    assert (ollama_faults({"messages": messages}) == []) is fine


def d_call(*ids: str) -> dict[str, Any]:
    calls = [{"id": i, "type": "function", "function": {"name": "look", "arguments": "{}"}} for i in ids]
    return {"role": "assistant", "content": [], "tool_calls": calls}


def d_result(name: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": name, "content": "seen"}


@pytest.mark.parametrize(
    ("messages", "fine"),
    [
        ([O_USER, d_call("a", "b"), d_result("b"), d_result("a")], True),
        ([O_USER, d_call("a"), d_result("a"), {"role": "assistant", "content": "ok"}, O_USER], True),
        ([O_USER, d_call("a")], False),
        ([O_USER, d_result("a")], False),
        ([O_USER, d_call("a"), O_USER, d_result("a")], False),
        ([O_USER, {"role": "assistant", "content": "ok"}], False),
        ([O_USER, {"role": "assistant"}, O_USER], False),
        ([{"role": "user", "content": ""}], False),
        ([{"role": "user", "content": [{"text": None}]}], False),
    ],
)
def test_dashscope_wants_content_and_pairs(messages: list[Any], fine: bool) -> None:
    request = {"input": {"messages": messages}, "parameters": {"result_format": "message"}}
    assert (dashscope_faults(request) == []) is fine


R_CALL = {"type": "function_call", "call_id": "a", "arguments": "{}"}
R_RESULT = {"type": "function_call_output", "call_id": "a"}


@pytest.mark.parametrize(
    ("items", "fine"),
    [
        ([R_CALL, R_RESULT], True),
        ([R_RESULT], False),
        ([R_CALL], False),
        ([{**R_CALL, "arguments": {}}, R_RESULT], False),
        ([R_CALL, R_RESULT, R_RESULT], False),
        ([{"role": "user", "content": []}], False),
    ],
)
def test_responses_pair_by_call_id(items: list[Any], fine: bool) -> None:
    assert (responses_faults(items) == []) is fine


# --- over HTTP --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("provider", PROVIDERS, ids=str)
async def test_the_sdk_reads_texts_calls_and_usage(provider: Provider, stream: bool) -> None:
    from agentscope.message import Msg

    with provider.stub([["我看看。", call("look", q="北窗 ☔")]]) as stub:
        model = provider.model(stub, stream)
        asked = [Msg("system", "You are Remy.", "system"), Msg("u", "下雨吗?", "user")]
        prompt = await provider.formatter().format(asked)
        answer = await model(prompt, tools=[TOOL])
        if stream:
            chunks = [chunk async for chunk in answer]
            assert len(chunks) > 2
            answer = chunks[-1]
        assert stub.refused == []
    text, use = answer.content
    assert text["text"] == "我看看。"
    assert (use["name"], use["input"]) == ("look", {"q": "北窗 ☔"})
    assert answer.usage.input_tokens > 0


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("provider", PROVIDERS, ids=str)
async def test_an_orphan_result_is_an_error_of_the_sdk(provider: Provider, stream: bool) -> None:
    from agentscope.message import Msg

    block: Any = {"type": "tool_result", "id": "gone", "name": "look", "output": "nobody asked"}
    messages = [Msg("system", "You are Remy.", "system"), Msg("u", "hi", "user"), Msg("system", [block], "system")]
    with provider.stub(default="never") as stub:
        model = provider.model(stub, stream)
        prompt = await provider.formatter().format(messages)
        with pytest.raises(Exception, match=r"(?i)tool|function|result"):
            await read(await model(prompt, tools=[TOOL]))
        assert stub.refused


async def read(answer: Any) -> Any:
    """All chunks of an answer, or the answer."""
    return [chunk async for chunk in answer] if hasattr(type(answer), "__aiter__") else answer


@pytest.mark.parametrize("provider", PROVIDERS, ids=str)
async def test_a_stream_that_is_cut_gives_a_part_and_an_error_or_an_end(provider: Provider) -> None:
    from agentscope.message import Msg

    with provider.stub([Cut("half a sentence, and"), Refusal(429, "slow down")]) as stub:
        model = provider.model(stub, True)
        prompt = await provider.formatter().format([Msg("u", "hi", "user")])
        seen: list[Any] = []
        error: Exception | None = None
        try:
            async for chunk in await model(prompt):
                seen.append(chunk)
        except Exception as caught:
            error = caught
        assert seen[-1].content[0]["text"].startswith("half a")
        assert error is not None or provider.name in ("gemini", "ollama")
        with pytest.raises(Exception, match=r"slow down|429"):
            await read(await model(prompt))
