"""What is imported while an event loop runs is imported beside it: the first use of a part does not hold the loop."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

# Prints each module of the package that the loop's own thread had to import, and in which step.
PROGRAM = """
import asyncio, json, os, sys, threading
from importlib.abc import MetaPathFinder

from agentscope.agent import ReActAgent
from agentscope.formatter import OpenAIChatFormatter
from agentscope.message import Msg

from agentscope_reme import ReMe
from tests.support.scripted_model import ScriptedModel

step = ""


class Witness(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        part = name.split(".")[:2]
        if threading.current_thread() is threading.main_thread() and part[0] == "agentscope_reme":
            print(f"{step}: {name}")


def card(request):
    return json.dumps({"items": [{"kind": "fact", "text": "The budget is 4,200 euros.", "sources": [1]}]})


async def main(folder, start):
    global step
    reme = ReMe(folder, chat_model=ScriptedModel(default=card), record_turns=1)
    agent = ReActAgent("Remy", "You are Remy.", ScriptedModel(default="Noted."), OpenAIChatFormatter())
    reme.attach(agent, session_id="monday", recall=True, record=True)  # a plain call, which imports what it needs
    sys.meta_path.insert(0, Witness())
    step = "start"
    if start:
        await reme.start()
    step = "a turn"
    await agent(Msg("user", "The budget of the kitchen is 4,200 euros.", "user"))
    step = "background"
    await reme.await_summary_tasks(30)
    step = "auto_memory"
    await reme.auto_memory([{"role": "user", "content": "The budget is 4,200 euros."}], session_id="tuesday")
    step = "auto_resource"
    document = reme.vault.root / "resource" / "lease.txt"
    document.parent.mkdir(parents=True, exist_ok=True)
    document.write_text("The lease ends in May.")
    await reme.auto_resource()
    for step in ("auto_dream", "undo_run", "proactive"):
        await getattr(reme, step)()
    step = "search"
    await reme.search("budget")
    await reme.node_search("budget")
    step = "forget"
    await reme.forget("resource/lease.txt")
    step = "close"
    await reme.close()
    print("done")


# AgentScope takes two seconds to import: each way begins where that has been done and nothing else.
for start in ("start", "without start"):
    child = os.fork()
    if not child:
        asyncio.run(main(f"{sys.argv[1]}/{start}", start == "start"))
        break
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    print(f"=== {start} {code}", flush=True)
"""


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """What each of two processes says it had to import."""
    root = Path(__file__).resolve().parent.parent
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path_factory.mktemp("loading"))],
        cwd=root,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    parts, lines = {}, []
    for line in done.stdout.splitlines():
        if line.startswith("=== "):
            name, _, code = line.removeprefix("=== ").rpartition(" ")
            assert code == "0", done.stderr
            parts[name], lines = lines, []
        else:
            lines.append(line)
    assert list(parts) == ["start", "without start"], done.stderr
    return parts


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.parametrize("start", ["start", "without start"])
def test_an_event_loop_imports_neither_the_index_nor_the_pipelines(printed: dict[str, list[str]], start: str) -> None:
    lines = printed[start]
    assert lines[-1:] == ["done"]
    heavy = ("agentscope_reme.index", "agentscope_reme.pipelines")
    assert [line for line in lines if line.partition(": ")[2].startswith(heavy)] == []
