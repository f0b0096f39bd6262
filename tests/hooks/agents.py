"""Real agents on a stage: small windows, scripted models, and what was sent of each request counted and checked."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from agentscope.agent import ReActAgent
from agentscope.formatter import FormatterBase, OpenAIChatFormatter
from agentscope.message import Msg, TextBlock
from agentscope.tool import Toolkit, ToolResponse

from agentscope_reme import ReMe
from agentscope_reme.memory.tokens import TextCounter
from tests.support.chat_rules import message_text, request_faults
from tests.support.scripted_model import Request, ScriptedModel

CHECKPOINT = """## Goal
{goal}

## Constraints
(none)

## Progress
Done: the steps so far.

## Key Decisions
(none)

## Next Steps
Go on.

## Critical Context
{facts}
"""


def checkpoint(goal: str = "Finish the work.", facts: str = "(none)") -> str:
    """What a good summariser answers."""
    return CHECKPOINT.format(goal=goal, facts=facts)


class Held:
    """An answer that is given only after ``go`` is set; ``asked`` says that the model has been asked."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.asked = asyncio.Event()
        self.go = asyncio.Event()

    async def __call__(self, request: Request) -> Any:
        self.asked.set()
        await self.go.wait()
        return self.answer


class ByteCounter:
    """A counter whose answers can be worked out by hand: one token for three bytes of UTF-8, rounded up."""

    name = "bytes/3"

    def count_text(self, text: str) -> int:
        return -(-len(text.encode("utf-8", "surrogatepass")) // 3)


def reme_over(vault_dir: Path, window: int, model: Any = None, **settings: Any) -> ReMe:
    """A ReMe with a small window and a counter by hand; no cards, since nothing here is about them."""
    settings.setdefault("write_memory_on_compaction", False)
    settings.setdefault("token_counter", ByteCounter())
    return ReMe(vault_dir, chat_model=model, max_input_length=window, **settings)


def agent_of(
    reme: ReMe,
    model: Any,
    *tools: Any,
    session_id: str | None = "s1",
    memory_tools: Sequence[str] = (),
    formatter: FormatterBase | None = None,
    attach: bool = True,
    **options: Any,
) -> ReActAgent:
    """A silent ``ReActAgent`` with these tool functions, attached."""
    toolkit = options.pop("toolkit", None) or Toolkit()
    for tool in tools:
        toolkit.register_tool_function(tool)
    options.setdefault("sys_prompt", "You are Remy.")
    options.setdefault("name", "Remy")
    agent = ReActAgent(model=model, formatter=formatter or OpenAIChatFormatter(), toolkit=toolkit, **options)
    agent.set_console_output_enabled(False)
    if attach:
        reme.attach(agent, session_id=session_id, tools=memory_tools)
    return agent


def user(text: str) -> Msg:
    return Msg("user", text, "user")


def response(text: str) -> ToolResponse:
    return ToolResponse(content=[TextBlock(type="text", text=text)])


async def look(q: str = "") -> ToolResponse:
    """Look something up.

    Args:
        q (str): What.
    """
    return response(f"found {q}")


def parts_of(message: Mapping[str, Any]) -> list[str]:
    """Everything of a formatted message that a provider counts as text."""
    texts = [message_text(message), str(message.get("name") or ""), str(message.get("tool_call_id") or "")]
    for call in message.get("tool_calls") or ():
        texts += [call["id"], call["function"]["name"], call["function"]["arguments"]]
    return texts


def media_of(message: Mapping[str, Any]) -> int:
    content = message.get("content")
    if not isinstance(content, list):
        return 0
    return sum(1 for part in content if part.get("type") in ("image_url", "input_audio", "video_url"))


def sent_tokens(request: Request, counter: TextCounter, media_tokens: int = 1_600) -> int:
    """The size of a request: its texts and schemas by the counter, 4 tokens for each message, a price for media."""
    total = counter.count_text(json.dumps(request.tools, ensure_ascii=False)) if request.tools else 0
    for message in request.messages:
        total += counter.count_text("\n".join(filter(None, parts_of(message)))) + 4
        total += media_of(message) * media_tokens
    return total


def assert_requests_are_fine(model: ScriptedModel, window: int, counter: TextCounter | None = None) -> None:
    """Every request that was sent fits the window and is one that a provider accepts."""
    assert model.requests
    for number, request in enumerate(model.requests):
        assert request_faults(request.messages, request.tools) == [], f"request {number}"
        size = sent_tokens(request, counter or ByteCounter())
        assert size <= window, f"request {number} has {size} tokens in a window of {window}"


async def everything_of(reme: ReMe, memory: Any) -> dict[str, str]:
    """Id -> full text of every message in the context or in the journal; an id in both is a failure."""
    from agentscope_reme.memory.blocks import json_text

    here = {message.id: json_text(message.to_dict()) for message, _ in memory.content}
    journal = memory.journal
    lines = journal.read(expand=True) if journal is not None else []
    left = {line.id: json_text(line.msg) for line in lines}
    assert not set(here) & set(left), "a message is in the context and in the journal"
    return {**left, **here}


def kept_files(reme: ReMe) -> str:
    """All text that lies in the folder of offloaded results."""
    folder = reme.vault.root / "session" / "tool_result"
    return "\n".join(path.read_text("utf-8", "replace") for path in sorted(folder.glob("*.txt")))
