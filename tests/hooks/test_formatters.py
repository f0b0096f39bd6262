"""Every formatter that AgentScope exports makes a request of a compacted context that its provider accepts, in every
release: what is tested is what is there."""

import inspect
import itertools
from collections.abc import Callable
from typing import Any

import agentscope.formatter
import pytest
from agentscope.formatter import FormatterBase
from agentscope.message import Msg

from agentscope_reme.models import Compacted
from tests.hooks.agents import checkpoint, reme_over
from tests.memory.conversations import calls, result, said, user
from tests.support.chat_rules import request_faults
from tests.support.provider_rules import (
    anthropic_faults,
    dashscope_faults,
    gemini_faults,
    ollama_faults,
    responses_faults,
)
from tests.support.scripted_model import ScriptedModel


def _openai(formatted: list[Any]) -> list[str]:
    return request_faults(formatted)


def _dashscope(formatted: list[Any]) -> list[str]:
    return dashscope_faults({"input": {"messages": formatted}, "parameters": {"result_format": "message"}})


def _anthropic(formatted: list[Any]) -> list[str]:
    system = formatted[0]["content"] if formatted[0]["role"] == "system" else []
    messages = formatted[1:] if formatted[0]["role"] == "system" else formatted
    return anthropic_faults({"max_tokens": 10, "system": system, "messages": messages})


def _gemini(formatted: list[Any]) -> list[str]:
    wire = {"function_call": "functionCall", "function_response": "functionResponse", "inline_data": "inlineData"}
    wire["thought_signature"] = "thoughtSignature"
    contents = [
        {**content, "parts": [{wire.get(key, key): value for key, value in part.items()} for part in content["parts"]]}
        for content in formatted
    ]
    return gemini_faults({"contents": contents})


def _ollama(formatted: list[Any]) -> list[str]:
    return ollama_faults({"messages": formatted})


RULES: dict[str, Callable[[list[Any]], list[str]]] = {
    "OpenAIResponse": responses_faults,
    "OpenAI": _openai,
    "DeepSeek": _openai,
    "DashScope": _dashscope,
    "Anthropic": _anthropic,
    "Gemini": _gemini,
    "Ollama": _ollama,
}

FORMATTERS = sorted(
    name
    for name, kind in vars(agentscope.formatter).items()
    if inspect.isclass(kind) and issubclass(kind, FormatterBase) and name.endswith(("ChatFormatter", "AgentFormatter"))
)
# It speaks to agents, which know no tool calls.
FORMATTERS = [name for name in FORMATTERS if not name.startswith("A2A")]
every_formatter = pytest.mark.parametrize("name", FORMATTERS)


def rules(name: str) -> Callable[[list[Any]], list[str]]:
    return next(rule for start, rule in RULES.items() if name.startswith(start))


def thinking(text: str, *more: dict[str, Any]) -> Msg:
    block: Any = {"type": "thinking", "thinking": text, "signature": "signed"}
    return Msg("Remy", [block, *more], "assistant")


def call_block(name: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": name, "name": "look", "input": {"q": "北窗"}}


_TAILS: dict[str, list[Msg]] = {
    "text": [user("and now?")],
    "one call": [user("look"), calls("c1"), result("c1")],
    "parallel calls": [user("compare"), calls("c1", "c2", "c3", text="I look."), *map(result, ("c2", "c1", "c3"))],
    "results in one message": [user("compare"), calls("c1", "c2"), result("c1", "c2")],
    "many rounds": [
        user("all of them"),
        *itertools.chain.from_iterable([calls(f"r{i}"), result(f"r{i}")] for i in range(30)),
    ],
    "ids that come again": [
        user("twice"), calls("0_look"), result("0_look"), said("once"),
        user("again"), calls("0_look"), result("0_look"),
    ],
    "empty output": [user("look"), calls("c1"), result("c1", output=[])],
    "output in blocks": [user("look"), calls("c1"), result("c1", output=[{"type": "text", "text": "one"}] * 2)],
    "several speakers": [
        user("what do you think?", name="Alice"), said("I say yes", name="Otto"), said("I look", name="Remy"),
        calls("c1"), result("c1"), user("and?", name="Bob"),
    ],
    "thinking": [user("look"), thinking("where to look", call_block("c1")), result("c1"), thinking("seen"), user("?")],
    "a call without end": [user("look"), calls("c1", "c2"), result("c1"), said("You interrupted me."), user("go on")],
    "a result without a call": [user("look"), result("lost"), said("Nothing."), user("go on")],
    "an empty turn": [user("look"), Msg("Remy", [], "assistant"), Msg("Remy", "", "assistant"), user("go on")],
    "a result before its call": [user("look"), result("c1"), calls("c1"), said("Odd."), user("go on")],
    "standing instructions": [Msg("system", "Answer in one line.", "system"), user("look"), calls("c1"), result("c1")],
}  # fmt: skip


@every_formatter
@pytest.mark.parametrize("tail", _TAILS)
@pytest.mark.parametrize("folded", [True, False], ids=["compacted", "as it came"])
async def test_the_context_is_accepted(vault_dir: Any, name: str, tail: str, folded: bool) -> None:
    messages = _TAILS[tail]
    if "ids that come again" in tail and name.startswith(("OpenAI", "DeepSeek", "DashScope", "Anthropic")):
        pytest.skip("providers with ids of their own give every call another one")
    reme = reme_over(vault_dir, 40_000, ScriptedModel(default=checkpoint(facts="The key is blue.")))
    memory = reme.get_in_memory_memory("s1")
    if folded:
        await memory.add(
            [user("old " * 400), calls("old1", "old2"), result("old2"), result("old1"), said("done " * 400)]
        )
    await memory.add(messages)
    if folded:
        # A threshold that what is old passes, and a reserve that what is new fits.
        memory.set_window(4_000 if tail != "many rounds" else 8_000)
        old = memory.content[0][0].id
        while any(message.id == old for message, _ in memory.content):
            outcome = await reme.compaction.compact(memory)
            assert isinstance(outcome, Compacted)
    shown = [Msg("system", "You are Remy.", "system"), *await memory.get_memory()]
    formatted = await getattr(agentscope.formatter, name)().format(shown)
    assert rules(name)(formatted) == []
    text = str(formatted)
    assert ("The key is blue." in text) is folded
    newest = [message.get_text_content() for message in messages if message.role == "user"][-1]
    assert newest in text


def test_all_formatters_are_there_and_all_have_rules() -> None:
    assert len(FORMATTERS) >= 12
    assert all(rules(name) for name in FORMATTERS)
