"""Real agents with everything AgentScope does around a step: what was sent is looked at, not only what came back."""

import asyncio
import json
import logging
import os

import pytest
from agentscope.agent import ReActAgent
from agentscope.formatter import OpenAIChatFormatter, OpenAIMultiAgentFormatter
from agentscope.memory import InMemoryMemory, LongTermMemoryBase
from agentscope.message import Msg
from agentscope.pipeline import MsgHub, sequential_pipeline
from agentscope.plan import PlanNotebook
from agentscope.session import JSONSession
from agentscope.token import CharTokenCounter
from agentscope.tool import Toolkit, ToolResponse
from pydantic import BaseModel

from tests.hooks.agents import (
    Held,
    agent_of,
    assert_requests_are_fine,
    checkpoint,
    everything_of,
    kept_files,
    look,
    reme_over,
    response,
    user,
)
from tests.hooks.conversations import PICTURE
from tests.memory.conversations import calls, result, said
from tests.support.chat_rules import message_text
from tests.support.scripted_model import Cut, ScriptedModel, ToolCall, assert_acceptable, assert_pairs, call

WINDOW = 4_000


def talk(count=40):
    return [user("talk " * 150) if i % 2 == 0 else said("talk " * 150) for i in range(count)]


def with_checkpoints():
    return ScriptedModel(default=checkpoint())


# --- Tools ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("parallel", [True, False])
async def test_three_calls_at_once_are_all_bounded_and_all_answered(vault_dir, parallel):
    """Acting hooks fire once for parallel calls; nothing here depends on them."""

    async def report(n: int = 0) -> object:
        """Report.

        Args:
            n (int): Which.
        """
        return response(f"report {n} begins. " + "row, " * 4_000 + f"report {n} ends.")

    reme = reme_over(vault_dir, WINDOW)
    model = ScriptedModel([[call("report", n=i) for i in range(3)], "Read."])
    agent = agent_of(reme, model, report, parallel_tool_calls=parallel)
    await agent(user("three reports"))
    assert_requests_are_fine(model, WINDOW)
    answers = sorted(str(message["content"]) for message in model.last.messages if message["role"] == "tool")
    assert len(answers) == 3
    for i, answer in enumerate(answers):
        assert f"report {i} begins" in answer
        assert "session/tool_result/" in answer
        assert f"report {i} ends." in kept_files(reme)


async def test_an_interrupted_tool_that_streams_loses_nothing_of_what_it_said(vault_dir):
    started = asyncio.Event()

    async def trickle() -> object:
        """Trickle."""
        yield response("first part, " * 3_000)
        started.set()
        await asyncio.sleep(60)

    reme = reme_over(vault_dir, WINDOW)
    model = ScriptedModel([call("trickle"), "Going on."])
    agent = agent_of(reme, model, trickle)
    task = asyncio.create_task(agent(user("go")))
    await started.wait()
    await agent.interrupt()
    await task
    await agent(user("go on"))
    assert_requests_are_fine(model, WINDOW)
    assert "first part, " * 3_000 in kept_files(reme)
    assert "session/tool_result/" in model.last.role_text("tool")


@pytest.mark.parametrize("parallel", [True, False])
@pytest.mark.parametrize("chunks", [1, 3])
async def test_an_interrupt_while_a_long_result_is_saved_loses_nothing_of_it(vault_dir, monkeypatch, parallel, chunks):
    text = "".join(f"line {i} of the report\n" for i in range(4_000))

    async def report(q: str = "") -> object:
        """Report.

        Args:
            q (str): What.
        """

        async def parts():
            for i in range(1, chunks + 1):
                yield response(text[: len(text) * i // chunks])

        return parts()

    reme = reme_over(vault_dir, 20_000, with_checkpoints())
    agent = agent_of(reme, ScriptedModel([call("report")], default="Fine."), report, parallel_tool_calls=parallel)
    begun, store = asyncio.Event(), reme.vault.store_result

    async def slow(*arguments):
        begun.set()
        await asyncio.sleep(30)
        return await store(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(reme.vault, "store_result", slow)
        task = asyncio.create_task(agent(user("tell me all")))
        await begun.wait()
        await agent.interrupt()
        reply = await asyncio.wait_for(task, 10)
    assert "interrupted" in reply.get_text_content()
    held = "\n".join((await everything_of(reme, agent.memory)).values())
    assert all(json.dumps(f"line {i} of the report")[1:-1] in held for i in range(4_000))
    await agent(user("and now?"))
    assert_requests_are_fine(agent.model, 20_000)
    assert text in kept_files(reme), "the next step has bounded it"


async def test_an_interrupt_in_sequential_tools_and_then_many_turns(vault_dir):
    started = asyncio.Event()

    async def wait() -> object:
        """Wait."""
        started.set()
        await asyncio.sleep(60)
        return response("waited")

    reme = reme_over(vault_dir, WINDOW, with_checkpoints())
    model = ScriptedModel([[call("wait"), call("wait")]], default="Going on. " * 60)
    agent = agent_of(reme, model, wait)
    task = asyncio.create_task(agent(user("wait twice")))
    await started.wait()
    await agent.interrupt()
    await task
    for i in range(20):
        await agent(user(f"turn {i} " * 40))
    assert_requests_are_fine(model, WINDOW)
    assert agent.memory.get_compressed_summary()
    assert len(await everything_of(reme, agent.memory)) == 4 + 40


@pytest.mark.parametrize("stream", [True, False])
async def test_an_error_of_the_model_in_the_middle_of_a_turn(vault_dir, stream):
    reme = reme_over(vault_dir, WINDOW, with_checkpoints())
    broken = Cut(["I look", ToolCall("look", {"q": "x"}, "cut-1"), ToolCall("look", {"q": "y"}, "cut-2")])
    model = ScriptedModel([call("look", q="a"), broken], default="Going on. " * 50, stream=stream)
    agent = agent_of(reme, model, look)
    with pytest.raises(ConnectionError):
        await agent(user("look"))
    for i in range(25):
        await agent(user(f"turn {i} " * 40))
    assert_requests_are_fine(model, WINDOW)
    assert agent.memory.get_compressed_summary()


@pytest.mark.parametrize("first", [0, 20])
async def test_an_agent_goes_on_without_a_new_message_after_its_model_broke_off_with_calls(vault_dir, first):
    """The calls of the broken answer are the newest there is, and no tool has run or will."""
    reme = reme_over(vault_dir, WINDOW, with_checkpoints())
    broken = Cut(["I look", ToolCall("look", {"q": "x"}, "cut-1"), ToolCall("look", {"q": "y"}, "cut-2")])
    model = ScriptedModel([*["Going on. " * 50] * first, broken, call("look", q="z"), "Found."], stream=True)
    agent = agent_of(reme, model, look)
    for i in range(first):
        await agent(user(f"turn {i} " * 40))
    with pytest.raises(ConnectionError):
        await agent(user("look"))
    answer = await agent()
    assert answer.get_text_content() == "Found."
    assert_requests_are_fine(model, WINDOW)


async def test_a_tool_that_looks_at_the_memory_sees_its_own_call_open(vault_dir):
    seen = []

    async def peek() -> ToolResponse:
        """Look at the memory."""
        seen.extend(await agent.memory.get_memory())
        return response("seen")

    reme = reme_over(vault_dir, WINDOW)
    agent = agent_of(reme, ScriptedModel([call("peek"), "Done."]), peek)
    await agent(user("go"))
    assert [block["type"] for block in seen[-1].get_content_blocks()] == ["tool_use"]


async def test_a_tool_that_breaks_the_contract_leaves_an_empty_result_and_later_turns_work(vault_dir):
    async def wrong() -> object:
        """Return something else."""
        return "not a ToolResponse"

    reme = reme_over(vault_dir, WINDOW)
    model = ScriptedModel([[call("wrong"), call("wrong")], "Going on."])
    agent = agent_of(reme, model, wrong)
    with pytest.raises(TypeError):
        await agent(user("go"))
    await agent(user("go on"))
    assert_requests_are_fine(model, WINDOW)


async def test_base64_pictures_in_tool_results_move_to_files_with_age(vault_dir):
    async def chart(n: int = 0) -> ToolResponse:
        """Draw a chart.

        Args:
            n (int): Which.
        """
        return ToolResponse(content=[dict(PICTURE), {"type": "text", "text": f'{{"chart_id": {n}}}'}])

    reme = reme_over(vault_dir, 20_000, recent_tool_results=2)
    model = ScriptedModel([one for n in range(5) for one in (call("chart", n=n), f"Chart {n}.")])
    agent = agent_of(reme, model, chart)
    for n in range(5):
        await agent(user(f"chart {n}"))
    blocks = [block for message, _ in agent.memory.content for block in message.get_content_blocks("tool_result")]
    kinds = [[part["type"] for part in block["output"]] for block in blocks]
    assert kinds == [["text", "text"]] * 3 + [["image", "text"]] * 2
    assert all("chart_id" in json.dumps(block["output"]) for block in blocks)
    assert "[image moved to session/tool_result/" in json.dumps(blocks[0]["output"])
    assert len(list((reme.vault.root / "session" / "tool_result").glob("*.png"))) == 1, "the same bytes once"


# --- Around the step --------------------------------------------------------------------------------------------------


class Answer(BaseModel):
    """A structured answer."""

    city: str


async def test_a_structured_reply_after_compactions(vault_dir):
    reme = reme_over(vault_dir, WINDOW, with_checkpoints())
    model = ScriptedModel(
        [call("look", q="x"), "It is Berlin.", call("generate_response", city="Berlin"), "Berlin, as I said."]
    )
    agent = agent_of(reme, model, look)
    await agent.memory.add(talk())
    reply = await agent(user("which city?"), structured_model=Answer)
    assert reply.metadata == {"city": "Berlin"}
    assert_requests_are_fine(model, WINDOW)
    hints = [request.text for request in model.requests if "<system-hint>" in request.text]
    assert hints, "the hint that AgentScope adds reaches the model"
    assert not any("<system-hint>" in str(message.content) for message, _ in agent.memory.content)
    assert not any("<system-hint>" in json.dumps(line.msg) for line in agent.memory.journal.read())


async def test_hints_are_neither_folded_nor_journalled_nor_moved(vault_dir):
    reme = reme_over(vault_dir, WINDOW, with_checkpoints())
    memory = reme.get_in_memory_memory("s1")
    await memory.add(user("the oldest hint " * 20), marks="hint")
    await memory.add(talk())
    await memory.add(user("the newest hint"), marks=["hint"])
    hints = [message for message, marks in memory.content if "hint" in marks]
    texts = [json.dumps(message.to_dict()) for message in hints]
    await reme.compaction.keep_within_window(memory)
    assert memory.get_compressed_summary()
    assert [message for message, marks in memory.content if "hint" in marks] == hints
    assert [json.dumps(message.to_dict()) for message in hints] == texts
    assert not any("hint" in json.dumps(line.msg) for line in memory.journal.read())
    prompts = [request.text for request in reme.chat_model.requests]
    assert not any("hint" in prompt for prompt in prompts)


async def test_a_plan_notebook_adds_its_hint_every_step(vault_dir):
    reme = reme_over(vault_dir, 8_000, with_checkpoints())
    model = ScriptedModel(default="Planned. " * 60)
    notebook = PlanNotebook()
    agent = agent_of(reme, model, plan_notebook=notebook)
    for i in range(20):
        await agent(user(f"turn {i} " * 60))
    assert_requests_are_fine(model, 8_000)
    assert all("<system-hint>" in request.text for request in model.requests)
    assert agent.memory.get_compressed_summary()
    assert not any(marks for _, marks in agent.memory.content)
    assert len(await everything_of(reme, agent.memory)) == 40


async def test_the_hint_of_a_plan_notebook_fits_the_window_as_well(vault_dir):
    """AgentScope adds it after the hook; here the threshold leaves no room by itself."""
    reme = reme_over(vault_dir, 12_000, with_checkpoints(), compact_ratio=0.99)
    notebook = PlanNotebook(plan_to_hint=lambda plan: "<system-hint>" + "Mind the plan. " * 400 + "</system-hint>")
    model = ScriptedModel(default="Going on. " * 10)
    agent = agent_of(reme, model, plan_notebook=notebook)
    for i in range(60):
        await agent(user(f"turn {i} " * 30))
    assert_requests_are_fine(model, 12_000)
    assert "Mind the plan." in model.last.text
    assert agent.memory.get_compressed_summary()


async def test_what_a_formatter_for_several_speakers_adds_fits_the_window_as_well(vault_dir):
    reme = reme_over(vault_dir, 6_000, with_checkpoints(), compact_ratio=0.99)
    formatter = OpenAIMultiAgentFormatter(conversation_history_prompt="# Who said what\n" + "Mind the names. " * 300)
    model = ScriptedModel(default="Going on. " * 10)
    agent = agent_of(reme, model, formatter=formatter)
    for i in range(60):
        await agent(user(f"turn {i} " * 30))
    assert_requests_are_fine(model, 6_000)
    assert "Mind the names." in model.last.text
    assert agent.memory.get_compressed_summary()


async def test_a_plan_notebook_that_fails_is_not_the_hooks_fault(vault_dir):
    def broken(plan):
        raise KeyError("no hint")

    reme = reme_over(vault_dir, 9_000)
    agent = agent_of(reme, ScriptedModel(default="Fine."), plan_notebook=PlanNotebook(plan_to_hint=broken))
    with pytest.raises(KeyError, match="no hint"):
        await agent(user("go"))
    assert (await agent.memory.estimate_tokens()).fixed_tokens > 0, "the hook has done its work"


async def test_the_summary_at_the_end_of_all_iterations_is_accepted(vault_dir):
    reme = reme_over(vault_dir, WINDOW, with_checkpoints())
    model = ScriptedModel([call("look", q=f"{i} " * 30) for i in range(6)], default="I give up.")
    agent = agent_of(reme, model, look, max_iters=6)
    await agent.memory.add(talk(6))
    reply = await agent(user("look six times"))
    assert reply.get_text_content() == "I give up."
    assert_requests_are_fine(model, WINDOW)


async def test_builtin_compression_beside_the_hook_is_warned_of_once_and_harmless(vault_dir, caplog):
    reme = reme_over(vault_dir, WINDOW, with_checkpoints())
    config = ReActAgent.CompressionConfig(
        enable=True, agent_token_counter=CharTokenCounter(), trigger_threshold=3_000, keep_recent=2
    )
    model = ScriptedModel(default="Fine.")
    model.structured = True
    with caplog.at_level(logging.WARNING):
        agent = agent_of(reme, model, compression_config=config)
        config.trigger_threshold = 10**9
        for _ in range(3):
            await agent(user("hello"))
    assert caplog.text.count("compression_config") == caplog.text.count("compression_config is enabled") * 2
    assert caplog.text.count("compression_config is enabled") == 1
    await agent.memory.add(talk())
    await agent.memory.update_messages_mark("compressed", msg_ids=[m.id for m, _ in agent.memory.content[:10]])
    await agent.memory.update_compressed_summary("# Task Overview\nWhat the built-in one wrote.")
    await agent(user("and now?"))
    assert_requests_are_fine(model, WINDOW)
    assert len(await everything_of(reme, agent.memory)) == 6 + 40 + 2


async def test_a_subclass_that_overrides_reasoning_and_calls_super(vault_dir):
    """Before AgentScope 1.0.19 hooks ran twice here; twice is as good as once."""

    class Careful(ReActAgent):
        async def _reasoning(self, tool_choice=None):
            return await super()._reasoning(tool_choice)

    reme = reme_over(vault_dir, WINDOW, with_checkpoints())
    model = ScriptedModel(default="Fine. " * 60)
    agent = Careful(name="Remy", sys_prompt="s", model=model, formatter=OpenAIChatFormatter())
    agent.set_console_output_enabled(False)
    reme.attach(agent, session_id="s1", tools=())
    for i in range(25):
        await agent(user(f"turn {i} " * 60))
    assert_requests_are_fine(model, WINDOW)
    assert agent.memory.get_compressed_summary()
    assert len(await everything_of(reme, agent.memory)) == 50


async def test_every_exception_in_the_hook_ends_in_the_log(vault_dir, caplog, monkeypatch):
    reme = reme_over(vault_dir, WINDOW)
    model = ScriptedModel(default="Fine.")
    agent = agent_of(reme, model)

    async def broken(*_, **__):
        raise RuntimeError("a defect")

    monkeypatch.setattr(reme.compaction, "keep_within_window", broken)
    reply = await agent(user("hello"))
    assert reply.get_text_content() == "Fine."
    assert "a defect" in caplog.text


async def test_an_event_callback_that_raises_does_no_harm(vault_dir):
    def raises(event):
        raise ValueError("the user's callback")

    reme = reme_over(vault_dir, WINDOW, with_checkpoints(), on_event=raises)
    agent = agent_of(reme, ScriptedModel(default="Fine."))
    await agent.memory.add(talk())
    reply = await agent(user("and now?"))
    assert reply.get_text_content() == "Fine."
    assert agent.memory.get_compressed_summary()


async def test_an_interrupt_while_the_summariser_works_ends_the_turn_and_changes_nothing(vault_dir):
    held = Held(checkpoint())
    reme = reme_over(vault_dir, 20_000, ScriptedModel([held], default=checkpoint()))
    model = ScriptedModel(default="Fine.")
    agent = agent_of(reme, model)
    await agent.memory.add([user("talk " * 750) if i % 2 == 0 else said("talk " * 750) for i in range(12)])
    before = [message.id for message, _ in agent.memory.content]
    task = asyncio.create_task(agent(user("and now?")))
    await held.asked.wait()
    await agent.interrupt()
    reply = await task
    assert "interrupted" in reply.get_text_content()
    assert [message.id for message, _ in agent.memory.content][:12] == before
    assert not agent.memory.get_compressed_summary()
    reply = await agent(user("go on"))
    assert reply.get_text_content() == "Fine."
    assert agent.memory.get_compressed_summary()


# --- Others in the room -----------------------------------------------------------------------------------------------


async def test_a_rebroadcast_after_a_compaction_does_not_come_back(vault_dir):
    reme = reme_over(vault_dir, WINDOW, with_checkpoints())
    agents = [
        agent_of(reme, ScriptedModel(default=f"{name} says so. " * 40), name=name, session_id=name,
                 formatter=OpenAIMultiAgentFormatter())
        for name in ("alice", "bob", "carol")
    ]  # fmt: skip
    said_by: list[Msg] = []
    async with MsgHub(agents, announcement=Msg("host", "Discuss.", "assistant")) as hub:
        for _ in range(12):
            for agent in agents[:2]:
                said_by.append(await agent())
        for message in said_by:
            await hub.broadcast(message)
        for agent in agents:
            await agent()
    for agent in agents:
        assert_requests_are_fine(agent.model, WINDOW)
        there = await everything_of(reme, agent.memory)
        assert {message.id for message in said_by} <= set(there)
        assert len(there) == 1 + 24 + 3, agent.name
    silent = agents[2]
    assert silent.memory.get_compressed_summary(), "who only listened is folded with his first own turn"


async def test_two_agents_talk_at_once_over_one_vault(vault_dir):
    reme = reme_over(vault_dir, WINDOW, with_checkpoints())
    agents = [
        agent_of(reme, ScriptedModel(default="Yes, indeed. " * 40), session_id=name, name=name)
        for name in ("agent-one", "agent-two", "agent-three")
    ]

    async def converse(agent):
        for i in range(15):
            await agent(user(f"{agent.name} {i} " * 40))

    await asyncio.gather(*map(converse, agents))
    for agent in agents:
        assert_requests_are_fine(agent.model, WINDOW)
        there = await everything_of(reme, agent.memory)
        assert len(there) == 30
        assert not any(other.name in text for other in agents if other is not agent for text in there.values())


@pytest.mark.parametrize("model", [None, with_checkpoints])
async def test_what_another_agent_asked_stays_word_for_word_while_it_is_worked_on(vault_dir, model):
    """In a pipeline the request comes from an agent, and nobody of the user's role says anything."""
    reme = reme_over(vault_dir, 3_000, model and model())
    asked = "Please audit hall 17 in Ghent and count every pallet of lot Z-9931 by Friday."
    planner = agent_of(reme, ScriptedModel(default=asked), name="Planner", session_id="planner")
    steps = [[call("look", q="row " * 60)] for _ in range(25)]
    worker = agent_of(reme, ScriptedModel([*steps, "Done."]), look, name="Worker", session_id="worker", max_iters=40)
    await sequential_pipeline([planner, worker], user("plan it"))
    assert_requests_are_fine(worker.model, 3_000)
    assert worker.memory.get_compressed_summary()
    for request in worker.model.requests:
        assert any(message_text(message) == asked for message in request.messages), "not only told of"
    assert len(await everything_of(reme, worker.memory)) == 1 + 25 * 2 + 1


async def test_in_a_hub_what_the_user_asked_and_what_was_said_last_both_stay(vault_dir):
    reme = reme_over(vault_dir, 3_000, with_checkpoints())
    one = agent_of(reme, ScriptedModel(default="The roof of hall 9 is next."), name="One", session_id="one")
    steps = [[call("look", q="row " * 60)] for _ in range(25)]
    two = agent_of(reme, ScriptedModel([*steps, "Done."]), look, name="Two", session_id="two", max_iters=40)
    async with MsgHub([one, two], announcement=user("Inspect the halls, the oldest first.")):
        await one()
        await two()
    assert_requests_are_fine(two.model, 3_000)
    for request in two.model.requests:
        assert "Inspect the halls, the oldest first." in request.text
        assert "The roof of hall 9 is next." in request.text


async def test_a_call_that_is_running_is_not_folded_by_another_agent_on_the_same_memory(vault_dir):
    """Its result would come to nobody: the agent that waits for it would be asked again without it."""
    reme = reme_over(vault_dir, 3_000, with_checkpoints())
    done = asyncio.Event()

    async def slow(q: str = "") -> ToolResponse:
        """Take long.

        Args:
            q (str): What.
        """
        await done.wait()
        return response("what took so long: 5566 " + "row " * 2_000)

    memory = reme.get_in_memory_memory("s1")
    waits = agent_of(reme, ScriptedModel([[call("slow"), call("look")], "It is 5566."]), slow, look, memory=memory)
    steps = [[call("look", q="row " * 60)] for _ in range(25)]
    works = agent_of(reme, ScriptedModel(steps, default="Done."), look, memory=memory, name="Otto", max_iters=40)
    task = asyncio.create_task(waits(user("how long?")))
    await asyncio.sleep(0.05)
    await works(user("look at all of them"))
    assert memory.get_compressed_summary()
    assert "look at all of them" in works.model.last.text
    done.set()
    await task
    assert "what took so long: 5566" in waits.model.last.text
    for agent in (waits, works):
        assert_requests_are_fine(agent.model, 3_000)
    assert len(await everything_of(reme, memory)) == 2 + 3 + 1 + 50 + 1
    # Over, it is folded like any other.
    assert not reme.tool_results.running.ids()
    await works(user("go on " * 150))
    await works(user("go on " * 150))
    assert "slow" not in [
        one["name"] for message, _ in memory.content for one in message.get_content_blocks("tool_use")
    ]


@pytest.mark.parametrize("parallel", [False, True])
async def test_a_call_that_was_interrupted_or_broke_off_is_not_taken_for_a_running_one(vault_dir, parallel):
    reme, begun = reme_over(vault_dir, WINDOW, with_checkpoints()), asyncio.Event()

    async def slow(q: str = "") -> ToolResponse:
        """Take long.

        Args:
            q (str): What.
        """
        begun.set()
        await asyncio.sleep(30)
        return response("never")

    async def breaks(q: str = "") -> ToolResponse:
        """Break the contract.

        Args:
            q (str): What.
        """
        return "no response"  # type: ignore[return-value]

    answers = [[call("slow"), call("slow")], [call("breaks")]]
    agent = agent_of(reme, ScriptedModel(answers, default="Fine."), slow, breaks, parallel_tool_calls=parallel)
    task = asyncio.create_task(agent(user("go")))
    await begun.wait()
    assert reme.tool_results.running.ids()
    await agent.interrupt()
    await task
    with pytest.raises(TypeError):
        await agent(user("and now?"))
    await asyncio.sleep(0)
    assert not reme.tool_results.running.ids()


async def test_replies_at_once_send_whole_requests_that_fit_though_agentscope_leaves_their_hooks_out(vault_dir):
    """While one reply reasons, AgentScope runs no hooks for another; a third has a call that is running."""
    reme = reme_over(vault_dir, 3_000, with_checkpoints())
    first, go, held = asyncio.Event(), asyncio.Event(), Held("I have thought.")

    async def slow(q: str = "") -> ToolResponse:
        """Take long.

        Args:
            q (str): What.
        """
        first.set()
        await go.wait()
        return response("what took so long: 5566")

    model = ScriptedModel([call("slow"), held], default="Fine.")
    agent = agent_of(reme, model, slow, look)
    tasks = [asyncio.create_task(agent(user("how long?")))]
    await first.wait()
    tasks.append(asyncio.create_task(agent(user("think about it"))))
    await held.asked.wait()
    for i in range(8):
        await agent(user(f"question {i} " + "word " * 250))
    held.go.set()
    go.set()
    await asyncio.gather(*tasks)
    assert len(model.requests) == 11
    assert_requests_are_fine(model, 3_000)
    assert agent.memory.get_compressed_summary()
    assert "what took so long: 5566" in model.last.text
    assert len(await everything_of(reme, agent.memory)) == 10 * 2 + 2


async def test_a_call_that_another_reply_makes_while_this_one_waits_for_its_checkpoint_is_closed(vault_dir):
    summariser = Held(checkpoint())
    reme = reme_over(vault_dir, WINDOW, ScriptedModel([summariser]))
    thinks, go, begun = Held(call("slow")), asyncio.Event(), asyncio.Event()

    async def slow(q: str = "") -> ToolResponse:
        """Take long.

        Args:
            q (str): What.
        """
        begun.set()
        await go.wait()
        return response("what took so long: 5566")

    model = ScriptedModel([thinks, "I see.", "It is 5566."])
    agent = agent_of(reme, model, slow)
    one = asyncio.create_task(agent(user("how long?")))
    await thinks.asked.wait()
    agent._hook_running_reasoning = False  # as before AgentScope 1.0.19
    await agent.memory.add(talk(20))
    two = asyncio.create_task(agent(user("and now?")))
    await summariser.asked.wait()
    thinks.go.set()
    await begun.wait()
    summariser.go.set()
    await two
    go.set()
    await one
    assert_requests_are_fine(model, WINDOW)
    assert "what took so long: 5566" in model.last.text


async def test_who_looks_on_sees_a_running_call_open_and_all_messages(vault_dir):
    reme, go, begun = reme_over(vault_dir, WINDOW, with_checkpoints()), asyncio.Event(), asyncio.Event()

    async def slow(q: str = "") -> ToolResponse:
        """Take long.

        Args:
            q (str): What.
        """
        begun.set()
        await go.wait()
        return response("done")

    agent = agent_of(reme, ScriptedModel([call("slow")], default="Fine."), slow)
    task = asyncio.create_task(agent(user("go")))
    await begun.wait()
    assert [message.role for message in await agent.memory.get_memory()] == ["user", "assistant"]
    await agent.memory.add(talk(40))
    assert len(await agent.memory.get_memory(prepend_summary=False)) >= 42
    go.set()
    await task
    shown = await agent.memory.get_memory()
    await agent.memory.add(talk(40))
    assert len(await agent.memory.get_memory()) == len(shown) + 40, "a memory that is only looked at is not folded"


async def test_two_replies_of_one_agent_at_once(vault_dir):
    reme = reme_over(vault_dir, WINDOW, with_checkpoints())
    model = ScriptedModel(default="Yes. " * 60, strict=False)
    agent = agent_of(reme, model, look)
    for i in range(8):
        await asyncio.gather(*(agent(user(f"question {i}{part} " * 30)) for part in "ab"))
    assert len(await everything_of(reme, agent.memory)) == 32


async def test_text_that_agentscope_injects_is_not_the_users_request(vault_dir):
    """Retrieved knowledge and long-term memory come after the request, in the user's role; the request stays."""

    class Recall(LongTermMemoryBase):
        async def retrieve(self, msg, limit=5, **kwargs):
            return "recalled, " * 150

        async def record(self, msgs, **kwargs):
            self.recorded = msgs

    class Knowledge:
        async def retrieve(self, query, limit=5, score_threshold=None, **kwargs):
            from agentscope.rag import DocMetadata, Document

            text = {"type": "text", "text": "known, " * 200}
            return [Document(DocMetadata(text, "d", 0, 1))]

    reme = reme_over(vault_dir, WINDOW, with_checkpoints())
    model = ScriptedModel([one for i in range(6) for one in (call("look", q="x " * 200), f"Answer {i}.")])
    agent = agent_of(
        reme, model, look, long_term_memory=Recall(), long_term_memory_mode="static_control", enable_rewrite_query=False
    )
    agent.knowledge = [Knowledge()]
    for i in range(6):
        await agent(user(f"request number {i}"))
        for request in model.requests[-2:]:
            assert f"request number {i}" in request.role_text("user")
    assert_requests_are_fine(model, WINDOW)
    assert agent.memory.get_compressed_summary()
    assert "recalled" not in agent.memory.get_compressed_summary()


# --- Sessions ---------------------------------------------------------------------------------------------------------


async def test_a_session_from_before_the_plugin_with_an_open_call_goes_on(vault_dir, tmp_path):
    reme = reme_over(vault_dir, WINDOW, with_checkpoints())
    before = agent_of(reme, ScriptedModel(), attach=False)
    await before.memory.add([user("look"), calls("x", "y"), result("y"), said("I noticed that you interrupted me.")])
    await before.memory.update_compressed_summary("## Goal\nFrom before.")
    session = JSONSession(save_dir=os.fspath(tmp_path / "sessions"))
    await session.save_session_state(session_id="old", agent=before)

    model = ScriptedModel(default="Going on.")
    agent = agent_of(reme, model, look, session_id=None)
    await session.load_session_state(session_id="old", agent=agent)
    await agent(user("go on"))
    assert_requests_are_fine(model, WINDOW)
    assert "From before." in model.last.role_text("user")
    await agent.memory.add(talk())
    await agent(user("and on"))
    assert_requests_are_fine(model, WINDOW)
    await session.save_session_state(session_id="new", agent=agent)

    stock = agent_of(reme, ScriptedModel(default="Without the plugin."), attach=False)
    await session.load_session_state(session_id="new", agent=stock)
    assert type(stock.memory) is InMemoryMemory
    await stock(user("still here?"))
    assert_acceptable(stock.model.last)


async def test_a_state_is_a_snapshot(vault_dir):
    reme = reme_over(vault_dir, WINDOW, with_checkpoints())
    agent = agent_of(reme, ScriptedModel(default="Fine."))
    await agent.memory.add(talk())
    state = agent.memory.state_dict()
    text = json.dumps(state)
    await agent(user("more"))
    agent.memory.content[0][1].append("mark")
    await agent.memory.delete([agent.memory.content[-1][0].id])
    assert json.dumps(state) == text


async def test_metadata_that_is_no_json_stops_neither_the_hook_nor_the_session(vault_dir, tmp_path):
    from datetime import datetime

    reme = reme_over(vault_dir, WINDOW, with_checkpoints())
    agent = agent_of(reme, ScriptedModel(default="Fine."))
    odd = [Msg("user", "talk " * 150, "user", metadata={"when": datetime(2026, 3, 16), "s": {1}}) for _ in range(30)]
    await agent.memory.add(odd)
    await agent(user("go on"))
    assert agent.memory.journal.count() > 10
    session = JSONSession(save_dir=os.fspath(tmp_path))
    await session.save_session_state(session_id="x", agent=agent)
    assert agent.memory.content[0][0].metadata.get("when") == datetime(2026, 3, 16), (
        "the memory keeps what it was given"
    )


async def rows(n: int = 1) -> ToolResponse:
    """Return rows.

    Args:
        n (int): How many.
    """
    return response("row of data 12345 " * n)


def results_in(vault_dir):
    return sorted(path.read_text() for path in vault_dir.glob("session/tool_result/*"))


@pytest.mark.parametrize("first", [0, 1])
async def test_agents_of_two_vaults_that_share_a_toolkit_keep_their_results_apart(tmp_path, first):
    """Whichever was attached first: a result in the other's vault could be neither read nor kept to oneself."""
    toolkit = Toolkit()
    toolkit.register_tool_function(rows)
    agents = []
    for name, count in (("one", 5_000), ("two", 6_000)):
        model = ScriptedModel([call("rows", n=count), "Read."])
        agents.append(agent_of(reme_over(tmp_path / name, 8_000), model, toolkit=toolkit, name=name))
    for agent in (agents[first], agents[1 - first]):
        await agent(user("go"))
    assert results_in(tmp_path / "one") == ["row of data 12345 " * 5_000]
    assert results_in(tmp_path / "two") == ["row of data 12345 " * 6_000]


@pytest.mark.parametrize("parallel", [False, True])
async def test_a_tool_that_runs_an_agent_leaves_the_other_tools_their_bounds(tmp_path, parallel):
    inner = ScriptedModel([call("rows", n=500), "Found."])

    async def ask() -> ToolResponse:
        """Ask another agent, of another vault and with a smaller window."""
        other = agent_of(reme_over(tmp_path / "two", 2_000), inner, rows, name="Otto")
        return response((await other(user("look"))).get_text_content())

    model = ScriptedModel([[call("ask"), call("rows", n=3_500)], "Done."])
    agent = agent_of(reme_over(tmp_path / "one", 40_000), model, ask, rows, parallel_tool_calls=parallel)
    await agent(user("go"))
    told = sorted(len(message["content"]) for message in model.last.messages if message["role"] == "tool")
    assert told[0] == len("Found.")
    assert told[1] > 20_000, "a quarter of its own window, not of the other's"
    assert results_in(tmp_path / "one") == ["row of data 12345 " * 3_500]
    assert results_in(tmp_path / "two") == ["row of data 12345 " * 500]


class Unspeakable:
    def __str__(self):
        raise RuntimeError("no text")

    __repr__ = __str__


@pytest.mark.parametrize(
    "odd",
    [10**5_000, Unspeakable(), {1: {(2, 3): {4}}}, [float("nan")], b"\xff"],
    ids=["long", "no text", "keys", "nan", "bytes"],
)
async def test_arguments_that_have_no_text_stop_neither_the_hook_nor_the_journal(vault_dir, odd):
    reme = reme_over(vault_dir, WINDOW)
    agent = agent_of(reme, ScriptedModel(default="Fine."), look)
    await agent.memory.add([m for i in range(30) for m in (calls(f"c{i}", n=odd, q="x " * 100), result(f"c{i}"))])
    await reme.compaction.keep_within_window(agent.memory)
    assert agent.memory.get_compressed_summary()
    assert (await agent.memory.estimate_tokens()).estimated_tokens <= WINDOW
    kept = {message.id for message, _ in agent.memory.content}
    assert len(kept | {message.id for message in await agent.memory.left_messages()}) == 60
    json.dumps(agent.memory.state_dict(), allow_nan=False)


async def test_pairs_hold_while_results_arrive_in_any_order(vault_dir):
    reme = reme_over(vault_dir, WINDOW, with_checkpoints())

    async def race(n: int = 0) -> object:
        """Race.

        Args:
            n (int): Which.
        """
        await asyncio.sleep(0.002 * (5 - n))
        return response(f"runner {n} " * 80)

    model = ScriptedModel([one for _ in range(6) for one in ([call("race", n=i) for i in range(5)], "Over.")])
    agent = agent_of(reme, model, race, parallel_tool_calls=True)
    for _ in range(6):
        await agent(user("race"))
    for request in model.requests:
        assert_pairs(request)
    assert_requests_are_fine(model, WINDOW)
    assert agent.memory.get_compressed_summary()
