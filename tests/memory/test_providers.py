"""The real model classes of five providers finish conversations after compactions, over HTTP, against stubs that refuse
what the providers refuse."""

import gc
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from agentscope.message import Msg

from agentscope_reme.models import CompactionEvent
from tests.hooks.agents import agent_of, checkpoint, reme_over, response, user
from tests.support.answers import Cut, call
from tests.support.loopback import Loopback, Refusal
from tests.support.providers import PROVIDERS, Provider, look_through_sdks_once

WINDOW = 3_000
every_provider = pytest.mark.parametrize("provider", PROVIDERS, ids=str)
both_ways = pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])


@pytest.fixture(scope="module", autouse=True)
def _sdks() -> None:
    look_through_sdks_once()


@pytest.fixture(autouse=True)
def _sdk_settings(request: pytest.FixtureRequest) -> Iterator[None]:
    """AgentScope sets DashScope's address for the whole process, and DashScope's SDK leaves streams' clients open."""
    import dashscope

    before = dashscope.base_http_api_url
    yield
    dashscope.base_http_api_url = before
    if "dashscope" in request.node.name and "whole" not in request.node.name:
        gc.collect()  # what aiohttp says of them belongs to this test


async def depot_list(depot: int) -> Any:
    """List a depot.

    Args:
        depot: Its number.
    """
    return response("\n".join(f"shelf {i:03d} of depot {depot}: parcel P-{depot}{i:04d}" for i in range(120)))


class Actor:
    """Plays the model behind every wire: asks for depots, two at once when told to, and writes checkpoints."""

    def __init__(self) -> None:
        self.summary: Any = checkpoint("Plan the deliveries.", "Depot 1 first.")
        self.checkpoints: list[dict[str, Any]] = []
        self.steps: list[dict[str, Any]] = []

    def __call__(self, request: dict[str, Any]) -> Any:
        if not (request.get("tools") or (request.get("parameters") or {}).get("tools")):
            self.checkpoints.append(request)
            return self.summary
        self.steps.append(request)
        last = json.dumps(_newest(request), ensure_ascii=False)
        if "parcel" in last:
            return "Listed. 都在。"
        if "list two" in last:
            return ["I list them.", call("depot_list", depot=1), call("depot_list", depot=2)]
        if "list one" in last:
            return call("depot_list", depot=3)
        return "Noted: 好的。"


def _newest(request: dict[str, Any]) -> Any:
    messages = request.get("messages") or request.get("contents") or request["input"]["messages"]
    return messages[-1]


async def converse(
    provider: Provider, stub: Loopback, vault_dir: Path, stream: bool, *, kind: str = "chat", turns: int = 8
) -> tuple[Any, list[CompactionEvent]]:
    """Turns with and without tools over one agent; returns it and the events."""
    events: list[CompactionEvent] = []
    model = provider.model(stub, stream)
    reme = reme_over(vault_dir, WINDOW, model, formatter=provider.formatter(), on_event=events.append)
    agent = agent_of(reme, model, depot_list, formatter=provider.formatter(kind))
    for turn in range(turns):
        what = ["list two", "go on", "list one", "谢谢"][turn % 4]
        reply = await agent(user(f"Delivery {turn}, {what}. " + "It goes out in the morning. " * 12 + what))
        assert reply.get_text_content()
    await reme.close()
    return agent, events


@every_provider
@both_ways
async def test_a_conversation_with_tools_goes_through_compactions(
    provider: Provider, stream: bool, vault_dir: Path
) -> None:
    actor = Actor()
    with provider.stub(default=actor) as stub:
        agent, events = await converse(provider, stub, vault_dir, stream)
        assert stub.refused == []
    compacted = [event for event in events if event.kind == "compacted"]
    assert compacted
    assert not [event for event in events if event.kind == "failed"]
    assert actor.checkpoints, "the checkpoint was written by the same model class"
    assert "Depot 1 first" in agent.memory.get_compressed_summary()
    sent = json.dumps(actor.steps[-1], ensure_ascii=False)
    assert "Depot 1 first" in sent
    assert "conversation-checkpoint" in sent


@every_provider
async def test_a_formatter_for_several_agents_goes_through_compactions_too(provider: Provider, vault_dir: Path) -> None:
    actor = Actor()
    with provider.stub(default=actor) as stub:
        _, events = await converse(provider, stub, vault_dir, False, kind="multi_agent")
        assert stub.refused == []
    assert any(event.kind == "compacted" for event in events)


@every_provider
@both_ways
async def test_a_provider_that_fails_checkpoints_stops_no_reply(
    provider: Provider, stream: bool, vault_dir: Path
) -> None:
    actor = Actor()
    actor.summary = lambda request: Cut("## Goal\nhalf of it") if stream else Refusal(500, "down")
    with provider.stub(default=lambda request: _raised(actor(request), request)) as stub:
        agent, events = await converse(provider, stub, vault_dir, stream)
        assert stub.refused == []
    assert any(event.kind == "failed" for event in events)
    assert "half of it" not in agent.memory.get_compressed_summary()


def _raised(answer: Any, request: Any) -> Any:
    answer = answer(request) if callable(answer) else answer
    if isinstance(answer, Refusal):
        raise answer
    return answer


@every_provider
async def test_an_interrupted_call_and_an_empty_turn_are_repaired_for_every_provider(
    provider: Provider, vault_dir: Path
) -> None:
    actor = Actor()
    with provider.stub(default=actor) as stub:
        model = provider.model(stub, False)
        reme = reme_over(vault_dir, 20_000, model, formatter=provider.formatter())
        agent = agent_of(reme, model, depot_list, formatter=provider.formatter())
        # AgentScope 1.0.16 takes an id for Gemini's signature, which is base64.
        block: Any = {"type": "tool_use", "id": "open0001", "name": "depot_list", "input": {"depot": 1}}
        second: Any = {**block, "id": "open0002", "input": {"depot": 2}}
        answer: Any = {"type": "tool_result", "id": "open0001", "name": "depot_list", "output": "interrupted"}
        orphan: Any = {"type": "tool_result", "id": "gone", "name": "depot_list", "output": "nobody asked"}
        await agent.memory.add(
            [
                user("list both"),
                Msg("Remy", [block, second], "assistant"),
                Msg("system", [answer], "system"),
                Msg("Remy", "I noticed that you have interrupted me.", "assistant"),
                Msg("Remy", [], "assistant"),
                Msg("system", [orphan], "system"),
            ]
        )
        reply = await agent(user("never mind"))
        assert stub.refused == []
    assert reply.get_text_content() == "Noted: 好的。"


@pytest.mark.parametrize("provider", [one for one in PROVIDERS if one.name in ("openai", "dashscope")], ids=str)
async def test_a_stream_that_is_cut_in_the_middle_leaves_a_conversation_that_goes_on(
    provider: Provider, vault_dir: Path
) -> None:
    answers = [Cut(["I list them.", call("depot_list", depot=1)]), "Going on.", "And on."]
    with provider.stub(answers) as stub:
        model = provider.model(stub, True)
        reme = reme_over(vault_dir, 20_000)
        agent = agent_of(reme, model, depot_list, formatter=provider.formatter())
        error: Exception | None = None
        try:
            await agent(user("list one"))
        except Exception as caught:
            error = caught
        assert error is not None
        assert (await agent(user("go on"))).get_text_content() == "Going on."
        assert (await agent(user("go on"))).get_text_content() == "And on."
        assert stub.refused == []


@every_provider
@both_ways
async def test_a_metered_model_learns_from_the_usage_of_every_provider(
    provider: Provider, stream: bool, vault_dir: Path
) -> None:
    with provider.stub(default="Noted.") as stub:
        model = provider.model(stub, stream)
        reme = reme_over(vault_dir, 50_000)
        agent = agent_of(reme, reme.metered(model), depot_list, formatter=provider.formatter())
        learned: list[Any] = []
        real = reme.budget.calibration.learn
        reme.budget.calibration.learn = lambda *report: learned.append(report) or real(*report)  # type: ignore[method-assign]
        for _ in range(2):
            await agent(user("Something to keep in mind, 和中文也有. " * 100))
        assert stub.refused == []
    assert [type(reported) for _, _, reported in learned] == [int, int]
    assert learned[1][1] > learned[0][1] > 500
    assert learned[1][2] > learned[0][2] > 300


@both_ways
async def test_signed_thinking_reaches_anthropic_as_it_came(stream: bool, vault_dir: Path) -> None:
    """Through compactions and aged results; the provider refuses thinking without its signature."""
    provider = next(one for one in PROVIDERS if one.name == "anthropic")
    given: set[str] = set()
    actor = Actor()

    def thinks(request: dict[str, Any]) -> Any:
        answer = actor(request)
        if answer is actor.summary:
            return answer
        thought = f"thought {len(given)} about it, 想一想 " * 20
        given.add(thought)
        block = {"type": "thinking", "thinking": thought, "signature": "sig"}
        return [block, *(answer if isinstance(answer, list) else [answer])]

    with provider.stub(default=thinks) as stub:
        _, events = await converse(provider, stub, vault_dir, stream)
        assert stub.refused == []
    assert any(event.kind == "compacted" for event in events)
    sent = [
        block
        for request in actor.steps
        for message in request["messages"]
        for block in message["content"]
        if block["type"] == "thinking"
    ]
    assert sent
    assert {block["thinking"] for block in sent} <= given
    assert {block["signature"] for block in sent} == {"sig"}
