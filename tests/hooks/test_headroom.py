"""What AgentScope sends where no hook runs fits the window too: the summary at ``max_iters``, the rewritten query."""

from typing import Any

import pytest
from agentscope.rag import KnowledgeBase

from agentscope_reme.memory.headroom import HeadRoom
from tests.hooks.agents import (
    agent_of,
    assert_requests_are_fine,
    checkpoint,
    everything_of,
    kept_files,
    reme_over,
    response,
    user,
)
from tests.memory.conversations import said
from tests.support.answers import call
from tests.support.scripted_model import ScriptedModel

WINDOW = 4_000


async def measure(q: str = "") -> Any:
    """Measure.

    Args:
        q (str): What.
    """
    return response(f"result of {q}: " + "value 42, " * 250 + f"end of {q}")


async def stream(q: str = "") -> Any:
    """Measure, step by step.

    Args:
        q (str): What.
    """

    async def steps() -> Any:
        for i in range(1, 6):
            yield response(f"result of {q}: " + "value 42, " * 50 * i + f"end of {q}")

    return steps()


def talk(turns: int) -> list[Any]:
    return [message for i in range(turns) for message in (user(f"question {i} " * 20), said(f"answer {i} " * 20))]


@pytest.mark.parametrize("parallel", [False, True])
@pytest.mark.parametrize("tool", [measure, stream])
@pytest.mark.parametrize("count", [1, 4, 12])
async def test_the_summary_at_max_iters_fits_whatever_the_last_step_brought(vault_dir, parallel, tool, count):
    many = [["I measure.", *(call(tool.__name__, q=f"{step}-{i}") for i in range(count))] for step in range(3)]
    model = ScriptedModel([*many, "I could not finish."])
    reme = reme_over(vault_dir, WINDOW, ScriptedModel(default=checkpoint()))
    agent = agent_of(reme, model, tool, memory_tools=("read",), max_iters=3, parallel_tool_calls=parallel)
    await agent.memory.add(talk(8))
    reply = await agent(user("measure everything"))
    assert reply.get_text_content() == "I could not finish."
    assert len(model.requests) == 4
    assert_requests_are_fine(model, WINDOW)
    assert model.last.role_text("tool").count("result of") + model.last.role_text("tool").count("left out") >= count
    # Nothing is lost: what does not fit is in files.
    text = "\n".join((await everything_of(reme, agent.memory)).values()) + kept_files(reme)
    for step in range(3):
        for i in range(count):
            assert f"end of {step}-{i}" in text


@pytest.mark.parametrize("parallel", [False, True])
@pytest.mark.parametrize("tool", ["read", "memory_search"])
async def test_pages_and_passages_of_the_last_step_fit_as_well(vault_dir, parallel, tool):
    reme = reme_over(vault_dir, WINDOW, ScriptedModel(default=checkpoint()))
    pages = [f"digest/wiki/prices-{i}.md" for i in range(8)]
    for path in pages:
        await reme.vault.write(path, "price list, the tile 价格表 costs 4.\n" * 300)
    stored = await reme.vault.store_result("a line of a long result\n" * 900)
    asked = [{"query": "price list tile"}] * 8
    if tool == "read":
        asked = [*({"path": path} for path in pages), {"path": stored.path, "start_line": 40}]
    model = ScriptedModel([[call(tool, **one) for one in asked], "I could not finish."])
    agent = agent_of(reme, model, memory_tools=(tool,), max_iters=1, parallel_tool_calls=parallel)
    await agent(user("What does all of it cost?"))
    assert len(model.requests) == 2
    assert_requests_are_fine(model, WINDOW)
    results = [message["content"] for message in model.last.messages if message["role"] == "tool"]
    assert len(results) == len(asked)
    assert all("price" in str(text) or "left out here" in str(text) for text in results)
    if tool == "read":  # what never changes is not kept a second time
        assert kept_files(reme).count("a line of a long result") == 900
    await reme.close()


async def test_a_step_that_is_not_the_last_has_its_results_as_ever(vault_dir):
    """The hook before the next step makes room; nothing is cut on suspicion."""
    calls = [["I measure.", *(call("measure", q=f"{i}") for i in range(3))] for _ in range(2)]
    model = ScriptedModel([calls[0], "Done.", calls[1], "Done."])
    reme = reme_over(vault_dir, 12_000)
    agent = agent_of(reme, model, measure, max_iters=3)
    for _ in range(2):
        await agent(user("measure"))
    assert "left out" not in model.last.role_text("tool")
    assert kept_files(reme) == ""


async def test_each_reply_counts_its_steps_anew(vault_dir):
    model = ScriptedModel([answer for _ in range(4) for answer in (["I measure.", call("measure", q="x")], "Done.")])
    reme = reme_over(vault_dir, 40_000)
    agent = agent_of(reme, model, measure, max_iters=3)
    for turn in range(4):
        await agent(user(f"measure {turn}"))
        assert agent.memory.steps[1] == 2


async def test_replies_without_a_user_between_them_count_their_steps_anew_too(vault_dir):
    """As in a hub, where agents answer each other."""
    model = ScriptedModel([answer for _ in range(4) for answer in (["I measure.", call("measure", q="x")], "Done.")])
    reme = reme_over(vault_dir, 40_000)
    agent = agent_of(reme, model, measure, max_iters=3)
    for turn in range(4):
        await agent(said(f"Otto says {turn}", name="Otto"))
        assert agent.memory.steps[1] == 2


async def test_results_of_the_last_step_share_what_is_left(vault_dir):
    memory = reme_over(vault_dir, 2_000).get_in_memory_memory("s1")
    await memory.add(user("x" * 2_940))  # 990 tokens with what stands around it
    room = HeadRoom(memory)
    await room.open()
    assert room.left == 1_900 - await memory.message_tokens()
    first = room.left - 300
    assert room.grant("a", first - 100) == first - 100
    assert room.grant("a", first) == first, "a result that grows keeps what it has"
    assert room.grant("b", 600) == 300
    await room.open()
    assert room.grant("b", 600) == 300
    assert room.grant("c", 10) == 0


class Library(KnowledgeBase):
    def __init__(self) -> None:
        self.asked: list[str] = []

    async def retrieve(self, query: str, limit: int = 5, score_threshold: float | None = None, **kwargs: Any) -> Any:
        self.asked.append(query)
        return []

    async def add_documents(self, documents: Any, **kwargs: Any) -> None:
        raise NotImplementedError


async def test_the_rewriting_of_queries_has_head_room(vault_dir):
    """AgentScope formats the whole memory for it, before the first hook of the reply."""
    model = ScriptedModel(default=lambda request: "Noted. " * 40)
    reme = reme_over(vault_dir, WINDOW, ScriptedModel(default=checkpoint()))
    library = Library()
    agent = agent_of(reme, model, knowledge=library)
    for turn in range(25):
        await agent(user(f"question {turn}: " + "with some words to it " * 20))
    assert len(library.asked) == 25
    rewriting = [request for request in model.requests if request.structured_model is not None]
    assert len(rewriting) == 25
    assert agent.memory.get_compressed_summary()
    assert_requests_are_fine(model, WINDOW)
