"""The real ``OpenAIChatModel`` and formatter, over HTTP, against a provider that refuses what providers refuse."""

import re
from pathlib import Path
from typing import Any

import pytest
from agentscope.agent import ReActAgent
from agentscope.formatter import OpenAIChatFormatter
from agentscope.message import Msg, TextBlock
from agentscope.model import OpenAIChatModel
from agentscope.tool import Toolkit, ToolResponse

from agentscope_reme import ReMe
from agentscope_reme.models import CompactionEvent
from tests.support.answers import call
from tests.support.chat_rules import assert_not_in_system, assert_pairs, message_text, request_text
from tests.support.openai_stub import OpenAIStub, Refusal

WINDOW = 4_000
FACT = "The courier's code word is 木星-7319."
CHECKPOINT = """## Goal
Plan the deliveries.

## Constraints
(none)

## Progress
- Depots were listed.

## Key Decisions
- Depot 1 first.

## Next Steps
- Go on with the next depot.

## Critical Context
- The code word is known.
"""


async def depot_list(depot: int) -> ToolResponse:
    """List a depot.

    Args:
        depot: Its number.
    """
    lines = [f"shelf {i:03d} of depot {depot}: parcel P-{depot}{i:04d}, {i % 9 + 1} kg" for i in range(400)]
    return ToolResponse(content=[TextBlock(type="text", text="\n".join(lines))])


class Provider:
    """Plays the model: lists depots, two at once when told to, searches when asked, writes checkpoints."""

    def __init__(self) -> None:
        self.summary: Any = CHECKPOINT
        self.checkpoint_requests: list[dict[str, Any]] = []
        self.agent_requests: list[dict[str, Any]] = []

    def __call__(self, request: dict[str, Any]) -> Any:
        if not request.get("tools"):
            self.checkpoint_requests.append(request)
            return self.summary
        self.agent_requests.append(request)
        last = request["messages"][-1]
        text = message_text(last)
        if last["role"] == "tool":
            found = re.search("The courier's code word is [^\n]+", text)
            return f"Found: {found[0]}" if found else "Listed."
        if text.startswith("List depots"):
            return ["I list them.", call("depot_list", depot=1), call("depot_list", depot=2)]
        if text.startswith("List depot"):
            return call("depot_list", depot=3)
        if text.endswith("?"):
            return call("memory_search", query="courier code word")
        return "Noted."


async def converse(
    stub: OpenAIStub, vault_dir: Path, stream: bool, **settings: Any
) -> tuple[list[CompactionEvent], str]:
    events: list[CompactionEvent] = []
    model = OpenAIChatModel(
        "stub", api_key="none", stream=stream, client_kwargs={"base_url": stub.base_url, "max_retries": 0}
    )
    async with (
        model.client,
        ReMe(
            vault_dir=vault_dir,
            chat_model=model,
            formatter=OpenAIChatFormatter(),
            max_input_length=WINDOW,
            write_memory_on_compaction=False,  # a card is a request of its own, and nothing here is about cards
            on_event=events.append,
            **settings,
        ) as reme,
    ):
        toolkit = Toolkit()
        toolkit.register_tool_function(depot_list)
        agent = ReActAgent("Remy", "You are Remy.", model, OpenAIChatFormatter(), toolkit)
        agent.set_console_output_enabled(False)
        memory = reme.attach(agent, session_id="deliveries")
        await agent(Msg("user", FACT, "user"))
        await agent(Msg("user", "List depots 1 and 2.", "user"))
        for number in range(12):
            await agent(Msg("user", f"Delivery {number} goes out on day {number}. " * 8, "user"))
            if number % 4 == 0:
                await agent(Msg("user", "List depot 3.", "user"))
        answer = await agent(Msg("user", "What is the courier's code word?", "user"))
        use = await memory.estimate_tokens()
        assert use.estimated_tokens <= WINDOW
        return events, answer.get_text_content() or ""


@pytest.mark.parametrize("stream", [False, True])
async def test_a_conversation_goes_through_compactions_and_is_answered_from_the_vault(
    vault_dir: Path, stream: bool
) -> None:
    provider = Provider()
    with OpenAIStub(default=provider) as stub:
        events, answer = await converse(stub, vault_dir, stream)
    assert not stub.refused
    compactions = [event for event in events if event.kind == "compacted"]
    assert compactions
    assert all(event.tokens_after < event.tokens_before and event.tokens_after <= WINDOW for event in compactions)
    assert "木星-7319" in answer
    # The checkpoint was written by the model and reaches it as a user's message, before the newest one.
    assert provider.checkpoint_requests
    last = provider.agent_requests[-1]
    assert_pairs(last["messages"])
    assert_not_in_system(last["messages"], "Plan the deliveries", "木星-7319", "Depot 1 first")
    assert "Depot 1 first" in request_text(last["messages"], "user")
    # The fact itself has left the context: it came back through the search, as a tool's result.
    asked = provider.agent_requests[-2]
    assert "木星-7319" not in request_text(asked["messages"])
    assert "木星-7319" in request_text(last["messages"], "tool")


async def test_a_provider_that_refuses_checkpoints_loses_nothing(vault_dir: Path) -> None:
    provider = Provider()
    provider.summary = Refusal(429, "slow down")
    with OpenAIStub(default=provider) as stub:
        events, answer = await converse(stub, vault_dir, stream=False)
    assert not stub.refused
    assert any(event.kind == "failed" for event in events)
    assert not any(event.kind == "compacted" and event.messages_moved == 0 for event in events)
    journals = list((vault_dir / "session" / "dialog").glob("*.jsonl"))
    in_vault = any("木星-7319" in path.read_text(encoding="utf-8") for path in journals)
    in_context = "木星-7319" in request_text(provider.agent_requests[-1]["messages"], "user")
    assert in_vault or in_context
    assert not in_vault or "木星-7319" in answer
