"""A real agent whose tools return what a test wants, and readers of what the agent was shown."""

import re
from collections.abc import Awaitable, Callable
from typing import Any

from agentscope.agent import ReActAgent
from agentscope.formatter import OpenAIChatFormatter
from agentscope.message import Msg, TextBlock
from agentscope.tool import Toolkit, ToolResponse

from agentscope_reme import ReMe
from tests.support.scripted_model import ScriptedModel

_PAGE = re.compile(r'<vault-file path="(?P<path>[^"]*)" lines="[^"]*"[^>]*>\n(?P<text>.*)\n</vault-file>', re.DOTALL)
_NEXT = re.compile(r"\nMore follows: read\((?P<arguments>.*)\)$")
_NOTICE = re.compile(
    r"\[(?P<left>\d+) of (?P<total>\d+) characters left out here.*read\((?P<arguments>[^)]*)\)[^\n]*\]"
)


def tool_returning(content: Any) -> Callable[[], Awaitable[ToolResponse]]:
    """A tool named ``fetch`` whose result is a text or a list of blocks."""

    async def fetch() -> ToolResponse:
        """Fetch a report."""
        blocks = [TextBlock(type="text", text=content)] if isinstance(content, str) else content
        return ToolResponse(content=blocks)

    return fetch


def agent_with(reme: ReMe, model: Any, *tools: Any, session_id: str | None = "s1") -> ReActAgent:
    toolkit = Toolkit()
    for tool in tools:
        toolkit.register_tool_function(tool)
    agent = ReActAgent("Remy", "You are Remy.", model, OpenAIChatFormatter(), toolkit, max_iters=60)
    agent.set_console_output_enabled(False)
    reme.attach(agent, session_id=session_id, tools=("memory_search", "read", "edit", "write", "append", "list"))
    return agent


def arguments_of(call: str) -> dict[str, Any]:
    """The arguments of a call as it is written in a notice: ``path="x", start_line=3``."""
    found: dict[str, Any] = {}
    for name, quoted, number in re.findall(r'(\w+)=(?:"([^"]*)"|(-?\d+))', call):
        found[name] = int(number) if number else quoted
    return found


def page_in(shown: str) -> str:
    """The text of a page as the read tool shows it."""
    found = _PAGE.search(shown)
    assert found, shown[:300]
    return found["text"]


def next_call(shown: str) -> dict[str, Any] | None:
    """The arguments for the next page, if the tool says that one follows."""
    found = _NEXT.search(shown)
    return arguments_of(found["arguments"]) if found else None


def notice_in(shown: str) -> "re.Match[str]":
    found = _NOTICE.search(shown)
    assert found, shown[:300]
    return found


async def call_tool(agent: ReActAgent, name: str, call_id: str = "c1", **arguments: Any) -> Any:
    """Call a tool of the agent as the agent does, and return the content of the last chunk."""
    content: Any = None
    call = {"type": "tool_use", "id": call_id, "name": name, "input": arguments}
    async for chunk in await _started(agent.toolkit, call):
        content = chunk.content
    return content


async def _started(toolkit: Toolkit, call: dict[str, Any]) -> Any:
    started = toolkit.call_tool_function(call)  # a coroutine or a generator, by release
    return await started if hasattr(started, "__await__") else started


def text_of(content: Any) -> str:
    return "\n".join(block["text"] for block in content if block["type"] == "text")


async def read_all(agent: ReActAgent, **arguments: Any) -> str:
    """Read a file to its end with the agent's own tool, each time with the call that the last page gave."""
    parts: list[str] = []
    asked: dict[str, Any] | None = arguments
    for _ in range(2_000):
        assert asked is not None
        shown = text_of(await call_tool(agent, "read", **asked))
        parts.append(page_in(shown))
        following = next_call(shown)
        if following is None:
            return "".join(parts)
        assert following != asked, "the tool sends the agent to the page it is on"
        asked = following
    raise AssertionError("the file has no end")


def stored_files(reme: ReMe) -> list[str]:
    folder = reme.vault.root / "session" / "tool_result"
    return sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []


def result_message(output: Any, *, call_id: str = "c1", name: str = "fetch") -> Msg:
    block: Any = {"type": "tool_result", "id": call_id, "name": name, "output": output}
    return Msg("system", [block], "system")


def model_of(*answers: Any, default: Any = "Done.") -> ScriptedModel:
    return ScriptedModel(answers, default=default)
