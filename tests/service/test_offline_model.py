"""The offline model in a real agent: it searches, quotes, cites, notes, runs tools, and says what it is."""

from pathlib import Path
from typing import Literal

import pytest
from agentscope.agent import ReActAgent
from agentscope.formatter import DashScopeChatFormatter, OpenAIChatFormatter
from agentscope.message import Msg, TextBlock
from agentscope.tool import Toolkit, ToolResponse

from agentscope_reme import ReMe, register_memory_tools
from agentscope_reme.models import SearchHit, SearchResult
from agentscope_reme.quoting import search_text
from agentscope_reme.service.offline_model import OfflineModel
from tests.support.chat_rules import request_faults

FACT = "Change of plan: in the end we booked Brückner, 3,950 euros."


def text(value: str) -> ToolResponse:
    return ToolResponse(content=[TextBlock(type="text", text=value)])


def toolkit(calls: list[tuple]) -> Toolkit:
    async def memory_search(query: str, max_results: int = 5) -> ToolResponse:
        """Search the memory vault."""
        calls.append(("memory_search", query))
        hits = (SearchHit("daily/2026-03-11/movers.md", 12, 14, FACT, 0.9),) if "movers" in query else ()
        return text(search_text(SearchResult("ok" if hits else "none", hits)))

    async def append(path: str, content: str) -> ToolResponse:
        """Append to a note of the memory vault."""
        calls.append(("append", path, content))
        return text(f"Appended to {path}.")

    async def read_log(firing: int, unit: Literal["C", "F"] = "C") -> ToolResponse:
        """Read the log."""
        calls.append(("read_log", firing))
        return text("INFO a\nERROR E_TC_OPEN\nINFO b\nsee session/tool_result/aa.txt")

    made = Toolkit()
    for function in (memory_search, append, read_log):
        made.register_tool_function(function)
    return made


def agent(calls: list[tuple], *, stream: bool = False, formatter: object = None) -> ReActAgent:
    made = ReActAgent(
        "Remy", "You are Remy.", OfflineModel(stream=stream), formatter or OpenAIChatFormatter(), toolkit(calls)
    )
    made.set_console_output_enabled(False)
    return made


async def ask(remy: ReActAgent, words: str) -> str:
    return (await remy(Msg("user", words, "user"))).get_text_content()


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("formatter", [OpenAIChatFormatter, DashScopeChatFormatter])
async def test_a_question_becomes_a_search_a_quotation_and_a_citation(stream: bool, formatter: type) -> None:
    calls: list[tuple] = []
    answer = await ask(agent(calls, stream=stream, formatter=formatter()), "OK. Which movers did we book?")
    assert calls == [("memory_search", "Which movers did we book?")]
    assert FACT in answer
    assert "[daily/2026-03-11/movers.md:12-14]" in answer


async def test_a_search_without_a_hit_is_said_plainly_in_the_language_of_the_question() -> None:
    calls: list[tuple] = []
    remy = agent(calls)
    assert "nothing" in await ask(remy, "Where is the zebra?")
    assert "没有" in await ask(remy, "斑马在哪里？")
    assert [call[0] for call in calls] == ["memory_search", "memory_search"]


async def test_statements_are_noted_in_their_language_and_no_tool_is_called() -> None:
    calls: list[tuple] = []
    remy = agent(calls)
    first = await ask(remy, "I run a pottery studio.")
    assert first.startswith("Noted")
    assert "not a language model" in first
    assert "language model" not in await ask(remy, "It has 34 members.")
    assert (await ask(remy, "最后定在四月十一日。")).startswith("记下了")
    assert calls == []


@pytest.mark.parametrize(("words", "says"), [("Who are you?", "not a language model"), ("你是谁？", "不是语言模型")])
async def test_it_says_what_it_is(words: str, says: str) -> None:
    assert says in await ask(agent([]), words)


async def test_what_is_to_be_remembered_goes_to_memory_md() -> None:
    calls: list[tuple] = []
    answer = await ask(agent(calls), "记住：G-12 含铅。")
    assert calls == [("append", "MEMORY.md", "- G-12 含铅。\n")]
    assert "MEMORY.md" in answer


async def test_with_the_default_tools_it_writes_memory_md_and_then_adds_to_it(vault_dir: Path) -> None:
    async with ReMe(vault_dir=vault_dir) as reme:
        kit = register_memory_tools(Toolkit(), reme)
        remy = ReActAgent("Remy", "You are Remy.", OfflineModel(), OpenAIChatFormatter(), kit)
        remy.set_console_output_enabled(False)
        assert "Created MEMORY.md" in await ask(remy, "Remember: the key is blue.")
        assert "Changed MEMORY.md" in await ask(remy, "记住：门是红的。")
        await ask(remy, "Remember: the key is blue.")
    assert (vault_dir / "MEMORY.md").read_text(encoding="utf-8") == "- the key is blue.\n- 门是红的。\n"


async def test_a_tool_asked_for_by_name_is_run_and_its_errors_are_told() -> None:
    calls: list[tuple] = []
    answer = await ask(agent(calls), "Please run `read_log` for firing 27, why did it stop?")
    assert calls == [("read_log", 27)]
    assert "E_TC_OPEN" in answer
    assert "session/tool_result/aa.txt" in answer


async def test_the_same_messages_give_the_same_answer_and_call_id() -> None:
    messages = [{"role": "user", "content": "Which movers?"}]
    schemas = toolkit([]).get_json_schemas()
    first, second = [await OfflineModel()(messages, schemas) for _ in range(2)]
    assert first.content == second.content
    assert first.content[0]["type"] == "tool_use"
    assert not request_faults(messages, schemas)


async def test_what_the_memory_injects_is_not_taken_for_what_the_user_says() -> None:
    envelope = "<conversation-checkpoint>\nWhich movers did we book?\n</conversation-checkpoint>"
    messages = [{"role": "user", "content": "The door is red."}, {"role": "user", "content": envelope}]
    reply = await OfflineModel()(messages, toolkit([]).get_json_schemas())
    assert reply.content[0]["text"].startswith("Noted")


async def test_no_tool_is_called_when_none_may_be() -> None:
    reply = await OfflineModel()([{"role": "user", "content": "Which movers?"}], toolkit([]).get_json_schemas(), "none")
    assert reply.content[0]["type"] == "text"


async def test_a_schema_to_fill_is_refused() -> None:
    with pytest.raises(NotImplementedError, match="language model"):
        await OfflineModel()([{"role": "user", "content": "x"}], structured_model=dict)
