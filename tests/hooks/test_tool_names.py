"""Notices and checkpoints tell the agent to call the tools it has, under the names it has them."""

import re
from typing import Any

import pytest

from tests.hooks.agents import agent_of, checkpoint, reme_over, response, user
from tests.memory.conversations import said
from tests.support.answers import call
from tests.support.scripted_model import ScriptedModel

CALL = re.compile(r'(\w*read)\(path="([^"]+)", start_line=(\d+)\)')


async def dump(q: str = "") -> Any:
    """Dump.

    Args:
        q (str): What.
    """
    return response("\n".join(f"line {i} of {q}" for i in range(3_000)))


def attached(reme: Any, model: Any, prefix: str, tools: tuple[str, ...], session_id: str = "s1") -> Any:
    agent = agent_of(reme, model, dump, attach=False)
    reme.attach(agent, session_id=session_id, tools=tools, prefix=prefix)
    return agent


@pytest.mark.parametrize("prefix", ["", "vault_"])
async def test_the_call_in_a_notice_works_as_it_stands(vault_dir, prefix):
    """The model copies the call out of the notice, and the agent's toolkit carries it out."""

    def copied(request: Any) -> Any:
        name, path, line = CALL.search(request.role_text("tool")).groups()
        return call(name, path=path, start_line=int(line))

    model = ScriptedModel([call("dump", q="x"), copied, "Read it."])
    reme = reme_over(vault_dir, 8_000)
    agent = attached(reme, model, prefix, ("memory_search", "read"))
    await agent(user("dump"))
    name = f"{prefix}read"
    assert CALL.search(model.requests[1].role_text("tool"))[1] == name
    shown = model.requests[2].role_text("tool")
    assert "not found" not in shown.lower()
    assert shown.count("line 1") > 100


@pytest.mark.parametrize("prefix", ["", "vault_"])
async def test_notices_of_aged_results_and_long_requests_name_it_too(vault_dir, prefix):
    model = ScriptedModel([*[call("dump", q=f"x{i}") for i in range(5)], "Done."], default="Noted.")
    reme = reme_over(vault_dir, 8_000)
    agent = attached(reme, model, prefix, ("read",))
    await agent(user("dump five times"))
    await agent(user("a long paste " * 4_000))
    names = {match[1] for match in CALL.finditer(model.last.text)}
    assert names == {f"{prefix}read"}


async def test_two_agents_with_other_names_are_each_told_theirs(vault_dir):
    reme = reme_over(vault_dir, 8_000)
    models = [ScriptedModel([call("dump", q="x"), "Done."]) for _ in range(2)]
    agents = [
        attached(reme, model, prefix, ("read",), session)
        for model, prefix, session in zip(models, ("one_", "two_"), ("s1", "s2"), strict=True)
    ]
    for agent in agents:
        await agent(user("dump"))
    assert [CALL.search(model.last.role_text("tool"))[1] for model in models] == ["one_read", "two_read"]


async def test_an_agent_without_the_tool_is_told_where_the_text_lies_and_nothing_to_call(vault_dir):
    model = ScriptedModel([call("dump", q="x"), "Done."])
    reme = reme_over(vault_dir, 8_000)
    agent = attached(reme, model, "", ())
    await agent(user("dump"))
    shown = model.last.role_text("tool")
    assert re.search(r"is in session/tool_result/\w+\.txt of the memory vault\]", shown)
    assert CALL.search(shown) is None


async def test_a_tool_in_a_group_that_is_off_is_not_named(vault_dir):
    from agentscope_reme import register_memory_tools

    model = ScriptedModel([call("dump", q="x"), "Done."])
    reme = reme_over(vault_dir, 8_000)
    agent = attached(reme, model, "", ())
    register_memory_tools(agent.toolkit, reme, tools=("read",), group_name="memory")
    agent.toolkit.update_tool_groups(["memory"], active=False)
    await agent(user("dump"))
    assert CALL.search(model.last.role_text("tool")) is None


@pytest.mark.parametrize(
    ("prefix", "tools", "said_so"),
    [
        ("", ("memory_search", "read"), "(memory_search finds, read opens)"),
        ("v_", ("memory_search", "read"), "(v_memory_search finds, v_read opens)"),
        ("v_", ("read",), "(v_read opens it)"),
        ("v_", ("memory_search",), "(v_memory_search finds it)"),
        ("", (), "s1.jsonl`."),
    ],
)
async def test_a_checkpoint_says_with_which_tools_its_source_is_found(vault_dir, prefix, tools, said_so):
    model = ScriptedModel(default="Noted.")
    reme = reme_over(vault_dir, 3_000, ScriptedModel(default=checkpoint()))
    agent = attached(reme, model, prefix, tools)
    await agent.memory.add([message for i in range(20) for message in (user(f"q{i} " * 60), said(f"a{i} " * 60))])
    await agent(user("and now?"))
    envelope = (await agent.memory.get_memory())[0]
    assert said_so in envelope.content
    await agent(user("go on"))
    assert (await agent.memory.get_memory())[0].id == envelope.id, "the same bytes at every step"
    await agent.memory.update_compressed_summary(envelope.content)
    assert "Full text" not in agent.memory.get_compressed_summary()
