"""How the hook is put on an agent, in every way AgentScope takes, and how an agent is attached."""

import copy
import json
import logging

import pytest
from agentscope.agent import ReActAgent, UserAgent
from agentscope.formatter import OpenAIChatFormatter
from agentscope.memory import InMemoryMemory
from agentscope.tool import Toolkit

from agentscope_reme import MemoryCompactionHook, ReMe, ReMeInMemoryMemory, register_memory_tools
from agentscope_reme.errors import ConfigError, StateError
from tests.hooks.agents import agent_of, checkpoint, everything_of, look, reme_over, response, user
from tests.hooks.conversations import SimpleNamespaceAgent
from tests.memory.conversations import said
from tests.support.scripted_model import ScriptedModel, call


def talk(count=40):
    return [user("talk " * 150) if i % 2 == 0 else said("talk " * 150) for i in range(count)]


def bare(reme, model, **options):
    return agent_of(reme, model, attach=False, **options)


@pytest.mark.parametrize("how", ["instance", "bound", "both", "attach", "attach and by hand"])
async def test_the_hook_runs_however_it_is_registered(vault_dir, how):
    reme = reme_over(vault_dir, 4_000, ScriptedModel(default=checkpoint()))
    agent = bare(reme, ScriptedModel(default="Fine."), memory=reme.get_in_memory_memory("s1"))
    hook = MemoryCompactionHook(reme)
    if how in ("instance", "both", "attach and by hand"):
        agent.register_instance_hook("pre_reasoning", "reme", hook)
    if how in ("bound", "both"):
        agent.register_instance_hook("pre_reasoning", "reme_bound", hook.__call__)
    if how.startswith("attach"):
        reme.attach(agent, session_id="s1", tools=())
    await agent.memory.add(talk())
    reply = await agent(user("and now?"))
    assert reply.get_text_content() == "Fine."
    assert agent.memory.get_compressed_summary()
    assert len(await everything_of(reme, agent.memory)) == 42


async def test_the_hook_leaves_the_arguments_of_the_step_alone(vault_dir):
    reme = reme_over(vault_dir, 4_000)
    hook = MemoryCompactionHook(reme)
    given = {"tool_choice": "required"}
    assert await hook(SimpleNamespaceAgent(reme.get_in_memory_memory("s1")), given) is None
    assert given == {"tool_choice": "required"}


async def test_a_copied_agent_goes_its_own_way_over_the_same_vault(vault_dir):
    reme = reme_over(vault_dir, 4_000, ScriptedModel(default=checkpoint()))
    model = ScriptedModel(default="Fine.")
    agent = agent_of(reme, model, look, memory_tools=("memory_search", "read"))
    agent.register_instance_hook("pre_reasoning", "bound", MemoryCompactionHook(reme).__call__)
    await agent.memory.add(talk(10))
    twin = copy.deepcopy(agent)
    assert twin.memory is not agent.memory
    assert twin.memory.vault is agent.memory.vault
    await twin.memory.add(talk())
    await twin(user("the twin goes on"))
    assert twin.memory.get_compressed_summary()
    assert len(agent.memory.content) == 10
    assert not agent.memory.get_compressed_summary()
    await agent(user("so do I"))
    assert len(await everything_of(reme, twin.memory)) == 52
    ids = {line.id for line in agent.memory.journal.read()}
    assert len(ids) == agent.memory.journal.count(), "one line for each message, whoever journalled it"
    assert sum(1 for _ in twin.toolkit._middlewares) == 1
    reme.update_params(max_input_length=9_999)
    assert twin.memory.max_input_length == agent.memory.max_input_length == 9_999


async def test_a_memory_is_copied_without_the_toolkit_of_the_agent_that_used_it(vault_dir):
    class Connection:
        def __deepcopy__(self, memo):
            raise TypeError("a connection cannot be copied")

        async def look(self, q: str = "") -> object:
            """Look something up.

            Args:
                q (str): What.
            """
            return response(f"found {q}")

    reme = reme_over(vault_dir, 4_000)
    agent = agent_of(reme, ScriptedModel([call("look", q="a")], default="Fine."), Connection().look)
    await agent(user("go"))
    copied = copy.deepcopy(agent.memory)
    assert [message.id for message, _ in copied.content] == [message.id for message, _ in agent.memory.content]
    other = bare(reme, ScriptedModel(default="Fine."), memory=copied)
    reme.attach(other, tools=())
    await other(user("on its own"))
    assert "on its own" not in str(agent.memory.content)


async def test_attach_can_be_repeated(vault_dir):
    reme = reme_over(vault_dir, 4_000)
    agent = agent_of(reme, ScriptedModel(default="Fine."), attach=False)
    first = reme.attach(agent, session_id="s1")
    await agent(user("hello"))
    for again in ({}, {"session_id": "s1"}):
        assert reme.attach(agent, **again) is first
    assert len(agent.memory.content) == 2
    assert len(agent.toolkit._middlewares) == 1
    assert list(agent._instance_pre_reasoning_hooks) == ["agentscope_reme"]
    names = [schema["function"]["name"] for schema in agent.toolkit.get_json_schemas()]
    assert sorted(names) == ["edit", "memory_search", "read", "write"]


async def test_attach_keeps_the_messages_of_a_stock_memory_object_for_object(vault_dir):
    reme = reme_over(vault_dir, 4_000)
    model = ScriptedModel(default="Fine.")
    agent = bare(reme, model)
    await agent(user("before the plugin"))
    await agent.memory.add(user("marked"), marks=["mine"])
    await agent.memory.update_compressed_summary("<system-info>Here is a summary\n# Task Overview\nBuild.")
    held = list(agent.memory.content)
    memory = reme.attach(agent, session_id="s1", tools=())
    assert isinstance(agent.memory, ReMeInMemoryMemory)
    assert agent.memory is memory
    assert all(
        one is other and marks == others for (one, marks), (other, others) in zip(memory.content, held, strict=True)
    )
    assert "Build." in memory.get_compressed_summary()
    await agent(user("after"))
    assert "before the plugin" in model.last.text
    assert "Build." in model.last.text


async def test_agents_that_share_a_stock_memory_share_the_one_that_replaces_it(vault_dir):
    reme = reme_over(vault_dir, 4_000)
    shared = InMemoryMemory()
    first, second = (bare(reme, ScriptedModel(default=f"I am {name}."), name=name, memory=shared) for name in "AB")
    await first(user("before: the key is under the mat"))
    memory = reme.attach(first, tools=())
    await first(user("between: the code is 77123"))
    await second.observe(said("only the stock one has this: the alarm is off", name="C"))
    assert reme.attach(second, tools=()) is memory
    assert second.memory is first.memory
    await second(user("after: what is known?"))
    await first(user("and what do you know?"))
    for told in ("under the mat", "77123", "the alarm is off", "I am A.", "after: what is known?"):
        assert told in second.model.last.text or told == "I am B."
        assert told in first.model.last.text
    assert "I am B." in first.model.last.text
    ids = [message.id for message, _ in memory.content]
    assert len(ids) == len(set(ids)) == 9
    # Who is to have a session of his own has one.
    third = bare(reme, ScriptedModel(default="Fine."), memory=shared)
    assert reme.attach(third, session_id="another", tools=()) is not memory


async def test_a_message_that_left_does_not_come_back_from_the_stock_memory(vault_dir):
    reme = reme_over(vault_dir, 4_000)
    shared = InMemoryMemory()
    first, second = (bare(reme, ScriptedModel(default="Fine."), memory=shared) for _ in range(2))
    await shared.add(talk())
    memory = reme.attach(first, tools=())
    await first(user("go on"))
    held = [message.id for message, _ in memory.content]
    assert len(held) < 40
    assert reme.attach(second, tools=()) is memory
    assert [message.id for message, _ in memory.content] == held


async def test_attach_keeps_a_memory_of_ours_with_its_messages(vault_dir):
    reme = reme_over(vault_dir, 4_000)
    memory = ReMeInMemoryMemory()
    await memory.add([user("kept"), said("as it is")])
    held = list(memory.content)
    agent = bare(reme, ScriptedModel(default="Fine."), memory=memory)
    assert reme.attach(agent, session_id="mine", tools=()) is memory
    assert agent.memory is memory
    assert memory.content == held
    assert memory.session_id == "mine"
    assert memory.vault is reme.vault


@pytest.mark.parametrize("filled", [False, True])
async def test_the_hook_gives_a_memory_made_by_hand_its_vault(vault_dir, filled):
    reme = reme_over(vault_dir, 4_000)
    memory = ReMeInMemoryMemory()
    if filled:
        await memory.add(talk())
    agent = bare(reme, ScriptedModel(default="Fine."), memory=memory)
    assert agent.memory is memory, "an empty memory is not taken for none"
    agent.register_instance_hook("pre_reasoning", "reme", MemoryCompactionHook(reme))
    await agent(user("go"))
    assert memory.vault is reme.vault
    assert memory.max_input_length == 4_000


def snapshot(agent):
    return (
        agent.memory,
        json.dumps(agent.memory.state_dict(), default=str),
        list(agent.toolkit.tools),
        list(agent._instance_pre_reasoning_hooks),
        len(agent.toolkit._middlewares),
        getattr(agent.memory, "max_input_length", None),
        getattr(agent.memory, "vault", None),
    )


async def memory_search(query: str = "") -> object:
    """Search the web.

    Args:
        query (str): What.
    """
    return response(query)


async def test_an_attach_that_is_refused_changes_nothing(vault_dir, tmp_path):
    reme = reme_over(vault_dir, 4_000)
    other = reme_over(tmp_path / "other", 4_000)
    taken = bare(reme, ScriptedModel(), toolkit=Toolkit())
    taken.toolkit.register_tool_function(memory_search)
    elsewhere = bare(reme, ScriptedModel(), memory=other.get_in_memory_memory("theirs"))
    session = bare(reme, ScriptedModel(), memory=reme.get_in_memory_memory("s1"))
    loose = bare(reme, ScriptedModel(), memory=ReMeInMemoryMemory())
    loose.toolkit.register_tool_function(memory_search)
    for agent, error, options in (
        (taken, ValueError, {}),
        (elsewhere, ConfigError, {}),
        (session, ConfigError, {"session_id": "s2"}),
        (session, ConfigError, {"tools": ("fly",)}),
        (loose, ValueError, {"session_id": "x", "max_input_length": 99_999}),
    ):
        before = snapshot(agent)
        with pytest.raises(error) as caught:
            reme.attach(agent, **options)
        assert len(str(caught.value)) > 20
        assert snapshot(agent) == before
    assert reme.attach(taken, prefix="memory_") is taken.memory
    assert {"memory_search", "memory_memory_search", "memory_read"} <= set(taken.toolkit.tools)


def test_an_agent_without_reasoning_hooks_is_told_what_to_do(vault_dir):
    reme = reme_over(vault_dir, 4_000)
    with pytest.raises(ConfigError, match="pre_reasoning"):
        reme.attach(UserAgent("user"))


def test_a_closed_reme_attaches_nothing(vault_dir):
    import asyncio

    reme = reme_over(vault_dir, 4_000)
    agent = bare(reme, ScriptedModel())
    asyncio.run(reme.close())
    with pytest.raises(StateError):
        reme.attach(agent)
    assert type(agent.memory) is InMemoryMemory


async def test_attach_sets_a_window_only_when_it_is_given(vault_dir):
    reme = reme_over(vault_dir, 4_000)
    agent = bare(reme, ScriptedModel(default="Fine."))
    reme.attach(agent, tools=())
    reme.attach(agent, tools=())
    reme.update_params(max_input_length=6_000)
    assert agent.memory.max_input_length == 6_000
    reme.attach(agent, tools=(), max_input_length=5_000, compact_ratio=0.5)
    reme.update_params(max_input_length=7_000)
    assert agent.memory.max_input_length == 5_000
    assert agent.memory.compact_ratio == 0.5


async def test_nothing_of_the_plugin_becomes_a_part_of_the_agents_state(vault_dir):
    reme = reme_over(vault_dir, 4_000)
    plain = bare(reme, ScriptedModel())
    agent = agent_of(reme, ScriptedModel(default="Fine."), memory_tools=("memory_search", "read"))
    assert set(agent.state_dict()) == set(plain.state_dict())
    assert agent._sys_prompt == "You are Remy."
    saved = json.loads(json.dumps(plain.state_dict()))
    agent.load_state_dict(saved, strict=True)
    plain.load_state_dict(json.loads(json.dumps(agent.state_dict())), strict=True)


async def test_the_middleware_is_installed_once_for_a_toolkit_that_two_agents_share(vault_dir):
    reme = reme_over(vault_dir, 4_000)
    toolkit = register_memory_tools(Toolkit(), reme)
    agents = [agent_of(reme, ScriptedModel(default="Fine."), toolkit=toolkit, session_id=name) for name in ("a", "b")]
    for agent in agents:
        await agent(user("hello"))
    assert len(toolkit._middlewares) == 1
    assert agents[0].memory is not agents[1].memory


async def test_a_user_who_registers_by_hand_gets_the_middleware_with_the_first_step(vault_dir):
    async def much() -> object:
        """Get much."""
        return response("row, " * 20_000)

    reme = reme_over(vault_dir, 8_000)
    toolkit = register_memory_tools(Toolkit(), reme)
    model = ScriptedModel([call("much"), "Done."])
    agent = ReActAgent(
        name="Remy",
        sys_prompt="s",
        model=model,
        formatter=OpenAIChatFormatter(),
        memory=reme.get_in_memory_memory(session_id="s2"),
        toolkit=toolkit,
    )
    agent.set_console_output_enabled(False)
    toolkit.register_tool_function(much)
    agent.register_instance_hook("pre_reasoning", "reme", MemoryCompactionHook(reme))
    await agent(user("get it"))
    assert "session/tool_result/" in model.last.role_text("tool")
    assert len(toolkit._middlewares) == 1


async def test_a_second_reme_over_the_same_vault_may_attach_the_same_agent(vault_dir):
    first, second = reme_over(vault_dir, 4_000), reme_over(vault_dir, 4_000)
    agent = agent_of(first, ScriptedModel(default="Fine."))
    assert second.attach(agent, session_id="s1", tools=()) is agent.memory
    await agent(user("hello"))
    assert list(agent._instance_pre_reasoning_hooks) == ["agentscope_reme"]


async def test_a_hook_leaves_a_memory_of_another_vault_alone_and_says_so_once(vault_dir, tmp_path, caplog):
    reme, other = reme_over(vault_dir, 4_000), reme_over(tmp_path / "other", 4_000)
    agent = bare(reme, ScriptedModel(default="Fine."), memory=other.get_in_memory_memory("theirs"))
    agent.register_instance_hook("pre_reasoning", "reme", MemoryCompactionHook(reme))
    await agent.memory.add(talk())
    with caplog.at_level(logging.WARNING):
        await agent(user("one"))
        await agent(user("two"))
    assert caplog.text.count("another vault") == 1
    assert not vault_dir.exists(), "nothing of it reaches this vault"
    assert not agent.memory.get_compressed_summary()


async def test_the_hook_of_a_closed_reme_does_not_break_the_turn(vault_dir):
    reme = reme_over(vault_dir, 4_000)
    agent = agent_of(reme, ScriptedModel(default="Fine."))
    await agent(user("hello"))
    await reme.close()
    await reme.close()
    reply = await agent(user("still there?"))
    assert reply.get_text_content() == "Fine."


@pytest.mark.parametrize("name", ["vault_dir", "timezone", "chunk_chars", "chinese", "no_such_setting"])
def test_what_cannot_change_at_run_time_is_refused(vault_dir, name):
    reme = ReMe(vault_dir)
    before = reme.config
    with pytest.raises(ConfigError, match=name):
        reme.update_params(**{name: "x", "compact_ratio": 0.5})
    assert reme.config is before


@pytest.mark.parametrize(
    "own",
    [{"compact_ratio": 1.5}, {"compact_ratio": -1}, {"compact_ratio": "x"}, {"max_input_length": -5},
     {"max_input_length": 10}, {"max_input_length": 2.5}, {"max_input_length": True}, {"max_input_length": "wide"}],
    ids=str,
)  # fmt: skip
async def test_a_window_of_ones_own_follows_the_rules_of_the_configured_one(vault_dir, own):
    """A ratio of 1.5 let the window overflow, and with text for a number nothing was compacted at all."""
    reme = reme_over(vault_dir, 4_000)
    agent = agent_of(reme, ScriptedModel(default="Fine."), attach=False)
    before = agent.memory
    name = next(iter(own))
    with pytest.raises(ConfigError, match=name):
        reme.attach(agent, **own)
    assert agent.memory is before
    assert not agent._instance_pre_reasoning_hooks
    for make in (reme.get_in_memory_memory, ReMeInMemoryMemory):
        with pytest.raises(ConfigError, match=name):
            make(**own)
    with pytest.raises(ConfigError, match=name):
        await reme.pre_reasoning_hook([user("go")], **own)
    memory = reme.attach(agent, max_input_length="3000", compact_ratio="0.5")
    assert (memory.max_input_length, memory.compact_ratio) == (3_000, 0.5)
