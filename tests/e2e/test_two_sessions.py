"""What is said in one session is found in the next: in a new process, over the same files, by the agent's tools."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from agentscope.message import Msg

from agentscope_reme import ReMe
from agentscope_reme.models import CompactionEvent
from tests.support.scripted_model import Request, ScriptedModel, assert_acceptable, assert_not_in_system, call
from tests.toolkit.agents import agent_with, call_tool, model_of, page_in, read_all, text_of, tool_returning

WINDOW = 3_000
FACTS = {
    "The courier's code word is 木星-7319.": ("What is the courier's code word?", "木星-7319"),
    "We decided to rent the barn in Fjellheim from 2026-05-04.": ("Which barn did we rent?", "Fjellheim"),
    "我的过敏药放在二楼浴室的白色柜子里。": ("过敏药放在哪里？", "白色柜子"),
}
CHECKPOINT = """## Goal
Plan the move.

## Constraints
(none)

## Progress
Done: boxes were counted.

## Key Decisions
(none)

## Next Steps
- Go on.

## Critical Context
(none)
"""

# A new process: only the folder is given. It plays a model that searches, then reads what it is pointed to.
_SECOND = """
import asyncio, json, re, sys
from agentscope.agent import ReActAgent
from agentscope.formatter import OpenAIChatFormatter
from agentscope.message import Msg
from agentscope_reme import ReMe
from tests.support.scripted_model import ScriptedModel, call

async def main(folder, questions):
    answers = []
    async with ReMe(folder, max_input_length=3_000) as reme:
        for number, question in enumerate(questions):
            def step(request, question=question):
                last = request.messages[-1]
                text = last["content"] if isinstance(last["content"], str) else last["content"][0]["text"]
                if last["role"] != "tool":
                    return call("memory_search", query=question)
                found = re.search(r'<recalled-memory source="([^":]+):(\\d+)-(\\d+)"', text)
                if found:
                    sources.append(found.group(0))
                    return call("read", path=found[1], start_line=int(found[2]), end_line=int(found[3]))
                pages.append(text)
                return "I have read it."
            sources, pages = [], []
            agent = ReActAgent("Remy", "You are Remy.", ScriptedModel(default=step), OpenAIChatFormatter())
            agent.set_console_output_enabled(False)
            reme.attach(agent, session_id=f"later-{number}")
            await agent(Msg("user", question, "user"))
            results = [r.text for r in agent.model.requests]
            answers.append({"sources": sources, "pages": pages, "sent": results[1] if len(results) > 1 else ""})
    print(json.dumps(answers))

asyncio.run(main(sys.argv[1], json.loads(sys.argv[2])))
"""


async def first_session(vault_dir: Path, model: Any, stream: bool = False) -> list[CompactionEvent]:
    """A real agent in a small window, told three facts and then much else."""
    events: list[CompactionEvent] = []
    async with ReMe(
        vault_dir, chat_model=model, formatter=None, max_input_length=WINDOW, on_event=events.append
    ) as reme:
        agent = agent_with(reme, ScriptedModel(default="Noted.", stream=stream), session_id="first")
        for fact in FACTS:
            await agent(Msg("user", fact, "user"))
        for number in range(25):
            await agent(Msg("user", f"Box {number} holds plates and goes to room {number % 5}. " * 6, "user"))
        for request in agent.model.requests:
            assert_acceptable(request)
        kept = [message.get_text_content() or "" for message, _ in agent.memory.content]
        assert not any(fact in text for fact in FACTS for text in kept), "nothing has left the context"
        use = await agent.memory.estimate_tokens()
        assert use.estimated_tokens <= WINDOW
    return events


def second_session(vault_dir: Path) -> list[dict[str, Any]]:
    questions = [question for question, _ in FACTS.values()]
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run(
        [sys.executable, "-c", _SECOND, str(vault_dir), json.dumps(questions)],
        cwd=root,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(root), os.environ.get("PYTHONPATH", "")])},
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    answers: list[dict[str, Any]] = json.loads(done.stdout.splitlines()[-1])
    return answers


@pytest.mark.parametrize("summariser", ["none", pytest.param("model", marks=pytest.mark.slow)])
async def test_a_new_process_finds_what_was_said_and_reads_it_at_its_lines(vault_dir: Path, summariser: str) -> None:
    model = ScriptedModel(default=CHECKPOINT) if summariser == "model" else None
    events = await first_session(vault_dir, model)
    assert [event for event in events if event.kind == "compacted"]
    for answer, (_, fact) in zip(second_session(vault_dir), FACTS.values(), strict=True):
        assert answer["sources"], answer["sent"]
        assert fact in answer["sent"]
        (page,) = answer["pages"]
        assert fact in page  # the lines that were cited are the lines that say it


async def test_a_journal_that_is_cited_is_shown_as_who_said_what(vault_dir: Path) -> None:
    await first_session(vault_dir, None)
    async with ReMe(vault_dir, max_input_length=WINDOW) as reme:
        agent = agent_with(reme, model_of(), session_id="later")
        shown = text_of(await call_tool(agent, "memory_search", query="courier code word", max_results=10))
        sources = re.findall(r'source="(session/dialog/first\.jsonl):(\d+)-(\d+)"', shown)
        assert sources
        path, start, end = sources[0]
        page = page_in(text_of(await call_tool(agent, "read", path=path, start_line=int(start), end_line=int(end))))
        said = r"user: The courier's code word is 木星-7319\.$"
        assert re.search(r"^\d+ \| \[\d{4}-\d\d-\d\d \d\d:\d\d\] " + said, page, re.MULTILINE)
        # The citation itself is taken as well.
        cited = text_of(await call_tool(agent, "read", path=f"{path}:{start}-{end}"))
        assert page_in(cited) == page


async def test_what_an_agent_writes_edits_and_appends_is_found_by_its_next_search(vault_dir: Path) -> None:
    answers = [
        call("write", path="digest/barn.md", content="# Barn\nThe barn in Fjellheim has a green gate.\n"),
        call("memory_search", query="green gate barn"),
        call("edit", path="digest/barn.md", old="a green gate", new="a purple gate"),
        call("memory_search", query="purple gate"),
        call("memory_search", query="green gate"),
        call("append", content="- 过敏药在白色柜子里"),
        call("memory_search", query="过敏药"),
        call("append", path="digest/barn.md", content="The landlord is Ingrid Solheim."),
        call("memory_search", query="who is the landlord"),
        "Done.",
    ]
    async with ReMe(vault_dir) as reme:
        agent = agent_with(reme, model_of(*answers))
        await agent(Msg("user", "Keep this.", "user"))
        results = [_text(message) for message in agent.model.last.messages if message["role"] == "tool"]
        assert results[0].startswith("Created digest/barn.md")
        assert 'source="digest/barn.md:1-2"' in results[1] or 'source="digest/barn.md:2-2"' in results[1]
        assert results[2].startswith("Changed digest/barn.md")
        assert "a purple gate" in results[3]
        assert "a green gate" not in results[4]
        today = reme.vault.now().strftime("daily/%Y-%m-%d.md")
        assert today in results[5]
        assert f'source="{today}:' in results[6]
        assert "Ingrid Solheim" in results[8]
        assert_not_in_system(agent.model.last, "purple gate", "Ingrid")
    # And by a process that starts with the stored index.
    async with ReMe(vault_dir) as reme:
        assert (await reme.search("purple gate")).hits[0].path == "digest/barn.md"
        assert "green gate" not in "".join(hit.text for hit in (await reme.search("green gate")).hits)


async def test_a_long_result_of_the_first_session_is_found_and_read_in_the_second(vault_dir: Path) -> None:
    """The result left the context as a pointer; the conversation about it leads to the file that holds all of it."""
    log = "".join(f"{number:05d} pump ok\n" for number in range(3_000)) + "03000 FATAL seal of pump P-77 broken\n"

    def step(request: Request) -> Any:
        last = request.messages[-1]
        return "The seal is broken." if last["role"] == "tool" else call("fetch")

    async with ReMe(vault_dir, max_input_length=WINDOW) as reme:
        agent = agent_with(reme, model_of(default=step), tool_returning(log), session_id="first")
        await agent(Msg("user", "Look at the log of the pumps.", "user"))
        agent.model.default = "Noted."
        for number in range(25):
            await agent(Msg("user", f"Box {number} holds plates and goes to room {number % 5}. " * 6, "user"))
    async with ReMe(vault_dir, max_input_length=WINDOW) as reme:
        agent = agent_with(reme, model_of(), session_id="later")
        shown = text_of(await call_tool(agent, "memory_search", query="FATAL seal pump P-77", max_results=5))
        assert "FATAL seal of pump P-77 broken" in shown
        path = re.search(r"session/tool_result/\w+\.txt", shown)
        assert path
        page = text_of(await call_tool(agent, "read", path=path.group(), start_line=3_000))
        assert page_in(page) == "02999 pump ok\n03000 FATAL seal of pump P-77 broken\n"


@pytest.mark.parametrize("place", ["beginning", "end"])
async def test_a_result_that_left_whole_is_found_by_what_it_says(vault_dir: Path, place: str) -> None:
    """It was not clipped in the context; in the journal it is a pointer that says how it begins and ends."""
    filler = "".join(f"{number:05d} pump ok\n" for number in range(700))
    log = {"beginning": "FATAL seal of pump P-77 broken\n" + filler, "end": filler + "FATAL seal of pump P-77 broken\n"}
    async with ReMe(vault_dir) as reme:
        agent = agent_with(reme, model_of(call("fetch"), "Seen."), tool_returning(log[place]), session_id="first")
        await agent(Msg("user", "Look at the log.", "user"))
        await agent.memory.clear_content()
    async with ReMe(vault_dir) as reme:
        agent = agent_with(reme, model_of(), session_id="later")
        shown = text_of(await call_tool(agent, "memory_search", query="FATAL seal pump P-77"))
        assert "FATAL seal of pump P-77 broken" in shown
        source = re.search(r'source="(session/dialog/first\.jsonl:\d+-\d+)"', shown)
        assert source
        turns = text_of(await call_tool(agent, "read", path=source[1]))
        assert "FATAL seal of pump P-77 broken" in turns
        path = re.search(r"session/tool_result/\w+\.txt", turns)
        assert path
        assert await read_all(agent, path=path.group()) == log[place]


async def test_a_fact_deep_in_a_long_message_is_what_the_hit_shows(vault_dir: Path) -> None:
    paragraphs = [f"Paragraph {number} is about shelves and boxes and rooms. " * 3 for number in range(60)]
    paragraphs[40] = "The zeppelin leaves from Friedrichshafen at noon."
    async with ReMe(vault_dir) as reme:
        memory = reme.get_in_memory_memory("first")
        await memory.add(Msg("user", "\n".join(paragraphs), "user"))
        await memory.clear_content()
        (hit,) = (await reme.search("when does the zeppelin leave", limit=1, token_budget=200)).hits
        assert "The zeppelin leaves from Friedrichshafen at noon." in hit.text


def _text(message: dict[str, Any]) -> str:
    content = message["content"]
    return content if isinstance(content, str) else "\n".join(part["text"] for part in content)
