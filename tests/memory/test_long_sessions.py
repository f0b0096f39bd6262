"""Sessions of weeks: many compactions in a row, many messages, several agents; what stays bounded and what is kept."""

import asyncio
import gc
import json
import tracemalloc

import pytest
from agentscope.message import Msg

from agentscope_reme.memory.envelope import OPEN
from agentscope_reme.models import Compacted, Skipped
from tests.hooks.agents import (
    ByteCounter,
    agent_of,
    assert_requests_are_fine,
    checkpoint,
    everything_of,
    look,
    reme_over,
    response,
    user,
)
from tests.memory.conversations import calls, result, said
from tests.support.scripted_model import ScriptedModel, call

FACTS = {
    "ops/roll/tansy_4417.sh": "Where is the rollback script?",
    "Ines Kestrel": "Who is the client's lawyer?",
    "1858": "报销上限是多少元？",
    "裴知微": "供应商的联系人是谁？",
}
PLANTED = (
    "By the way, the rollback script is ops/roll/tansy_4417.sh. The client's lawyer is Ines Kestrel. "
    "这个季度的报销上限是 1858 元。供应商的联系人是裴知微。"
)


def work(number, words=60):
    """One round of work: a request, a call with its result, an answer."""
    return [
        user(f"Please look at module {number} next. " + "word " * words),
        calls(f"c{number}", path=f"src/module_{number}.py"),
        result(f"c{number}", output=f"def run_{number}(): pass\n" * 30),
        said(f"Module {number} has a handler called run. " + "word " * words),
    ]


def text_of(response):
    return "\n".join(str(block.get("text") or "") for block in response.content)


class Forgetful:
    """Answers with a checkpoint that says nothing, another one each time."""

    def __init__(self):
        self.asked = 0

    def __call__(self, request):
        self.asked += 1
        return checkpoint(f"The work goes on, part {self.asked}.")


@pytest.mark.parametrize("kind", ["without a model", "a model that forgets", "a model that fails"])
async def test_ten_compactions_in_a_row_keep_a_bounded_summary_one_envelope_and_the_facts_of_the_first(vault_dir, kind):
    models = {
        "without a model": None,
        "a model that forgets": ScriptedModel(default=Forgetful()),
        "a model that fails": ScriptedModel(default=RuntimeError("500")),
    }
    reme = reme_over(vault_dir, 6_000, models[kind], token_counter=None)
    memory = reme.get_in_memory_memory("s1")
    await memory.add(user(PLANTED))
    done, number = 0, 0
    while done < 10:
        await memory.add(work(number))
        number += 1
        outcome = await reme.compaction.keep_within_window(memory)
        done += isinstance(outcome, Compacted)
        assert await memory.message_tokens() + await memory.summary_tokens() <= 6_000
        summary = memory.get_compressed_summary()
        assert OPEN not in summary
        assert await memory.budget.text(summary) <= 6_000 // 8
        shown = [message for message in await memory.get_memory() if OPEN in str(message.content)]
        assert len(shown) == (1 if summary else 0)
        assert number < 500
    left = {line.id for line in memory.journal.read()}
    assert len(left) == len(memory.journal.read()) == number * 4 + 1 - len(memory.content)
    context = json.dumps([message.to_dict() for message in await memory.get_memory()], ensure_ascii=False)
    for fact, question in FACTS.items():
        found = text_of(await reme.memory_search(question))
        assert fact in found, f"{fact} can be found"
        if kind == "without a model":
            assert fact in context, f"{fact} is still in the context"
    await reme.close()


async def test_a_steady_conversation_compacts_no_more_often_than_its_growth_asks_for(vault_dir):
    """No thrash: between two compactions lies at least what threshold, reserve and checkpoint leave between them."""
    reme = reme_over(vault_dir, 8_000, ScriptedModel(default=Forgetful()))
    memory = reme.get_in_memory_memory("s1")
    compacted, grown = 0, 0
    for number in range(120):
        before = await memory.message_tokens()
        await memory.add(work(number, words=20))
        grown += await memory.message_tokens() - before
        outcome = await reme.compaction.keep_within_window(memory)
        compacted += isinstance(outcome, Compacted)
        assert await reme.compaction.keep_within_window(memory) == Skipped("below_threshold"), "nothing fires twice"
    room = 5_600 - 1_400 - 1_000 - 200
    assert 3 <= compacted <= grown / room + 1


async def test_nothing_to_gain_means_nothing_is_done_however_often_it_is_asked(vault_dir):
    model = ScriptedModel(default=checkpoint())
    reme = reme_over(vault_dir, 4_000, model)
    memory = reme.get_in_memory_memory("s1")
    await memory.add([user("one long request " * 700)])
    before = json.dumps(memory.state_dict())
    for _ in range(5):
        outcome = await reme.compaction.keep_within_window(memory)
        assert not isinstance(outcome, Compacted)
    assert model.requests == []
    assert (
        json.loads(json.dumps(memory.state_dict()))["_compressed_summary"] == json.loads(before)["_compressed_summary"]
    )


def forty_tools(agent):
    for i in range(40):

        async def tool(query: str, limit: int = 5, mode: str = "plain") -> object:
            """Look things up.

            Args:
                query (str): What is wanted, in a few words, as a person would say it.
                limit (int): How many at most, from one to a hundred.
                mode (str): How it is looked for, plain or fuzzy or exact.
            """
            return response("found " + query)

        tool.__name__ = f"tool_{i}"
        agent.toolkit.register_tool_function(tool)


async def test_forty_tools_in_a_window_of_eight_thousand(vault_dir):
    events = []
    reme = reme_over(vault_dir, 8_000, on_event=events.append)
    answers = [call("look", q=f"{i} " + "word " * 150) for i in range(30)]
    model = ScriptedModel(answers, default="Done.")
    agent = agent_of(reme, model, look, max_iters=40)
    forty_tools(agent)
    schemas = ByteCounter().count_text(json.dumps(agent.toolkit.get_json_schemas(), ensure_ascii=False))
    assert 4_000 < schemas < 7_000
    for i in range(4):
        await agent(user(f"go on, {i} " + "please " * 100))
    assert_requests_are_fine(model, 8_000)
    assert {event.kind for event in events} >= {"compacted"}
    assert "window_too_small" not in {event.kind for event in events}


async def test_forty_tools_that_alone_exceed_a_window_of_four_thousand_are_told_and_change_nothing(vault_dir):
    events = []
    reme = reme_over(vault_dir, 4_000, on_event=events.append)
    model = ScriptedModel(default="Fine.")
    agent = agent_of(reme, model)
    forty_tools(agent)
    await agent.memory.add([user("before " * 100), calls("a"), result("a", output="x " * 3_000)])
    before = json.dumps(agent.memory.state_dict())
    await agent(user("hello"))
    assert {event.kind for event in events} == {"window_too_small"}
    assert json.dumps(agent.memory.state_dict())[: len(before) // 2] == before[: len(before) // 2]
    assert not agent.memory.journal.read()
    assert not agent.memory.get_compressed_summary()


@pytest.mark.slow
async def test_a_window_of_a_million_tokens_holds_what_it_can_and_then_folds_at_once(vault_dir):
    reme = reme_over(vault_dir, 1_000_000, ScriptedModel(default=checkpoint()))
    memory = reme.get_in_memory_memory("s1")
    await memory.add([message for i in range(100) for message in work(i, words=1_000)])
    assert await reme.compaction.keep_within_window(memory) == Skipped("below_threshold")
    assert len(memory.content) == 400
    await memory.add([message for i in range(100, 250) for message in work(i, words=1_500)])
    assert await memory.message_tokens() > 700_000
    assert isinstance(await reme.compaction.keep_within_window(memory), Compacted)
    assert await memory.message_tokens() <= 20_000
    assert len(await everything_of(reme, memory)) == 1_000


async def test_two_agents_on_one_session_at_once_share_a_journal_and_lose_nothing(vault_dir):
    reme = reme_over(vault_dir, 2_000, ScriptedModel(default=checkpoint()))
    models = [ScriptedModel(default="I see. " + "word " * 60) for _ in range(2)]
    agents = [
        agent_of(reme, model, session_id="shared", name=name) for model, name in zip(models, ("A", "B"), strict=True)
    ]
    told = []

    async def turn(agent, number):
        message = user(f"turn {number} " + "word " * 80)
        told.append(message.id)
        for other in agents:
            if other is not agent:
                await other.observe(message)
        reply = await agent(message)
        told.append(reply.id)

    for number in range(12):
        await asyncio.gather(*(turn(agent, f"{agent.name}{number}") for agent in agents))
    for agent, model in zip(agents, models, strict=True):
        assert_requests_are_fine(model, 2_000)
        assert agent.memory.get_compressed_summary()
        assert agent.memory.journal.path == agents[0].memory.journal.path
    lines = agents[0].memory.journal.read()
    assert len(lines) == len({line.id for line in lines}), "each message is journalled once, whoever folds it"
    here = {message.id for agent in agents for message, _ in agent.memory.content}
    assert set(told) <= here | {line.id for line in lines}


async def test_an_agent_says_that_it_folded_when_it_is_asked_to(vault_dir):
    for announce in (False, True):
        reme = reme_over(vault_dir / str(announce), 2_000, announce_compaction=announce)
        agent = agent_of(reme, ScriptedModel(default="Fine."))
        printed = []

        async def printing(message, last=True, speech=None, printed=printed):
            printed.append(message)

        agent.print = printing
        await agent.memory.add([message for i in range(6) for message in work(i)])
        await agent(user("go on"))
        said_so = [message for message in printed if "condensed" in str(message.content)]
        assert len(said_so) == announce
        assert not any("condensed" in str(message.content) for message, _ in agent.memory.content)


async def test_an_announcement_that_cannot_be_printed_does_not_stop_the_turn(vault_dir):
    reme = reme_over(vault_dir, 2_000, announce_compaction=True, language="zh")
    agent = agent_of(reme, ScriptedModel(default="Fine."))
    real, tried = agent.print, []

    async def printing(message, *args, **kwargs):
        tried.append(str(message.content))
        if "已压缩" in str(message.content):
            raise OSError("no terminal")
        return await real(message, *args, **kwargs)

    agent.print = printing
    await agent.memory.add([message for i in range(6) for message in work(i)])
    reply = await agent(user("go on"))
    assert reply.get_text_content() == "Fine."
    assert any("已压缩" in text for text in tried)


@pytest.mark.slow
async def test_a_session_of_six_thousand_messages_holds_what_its_window_holds(vault_dir):
    """`bench/working_memory.py` goes to 20 000; what would grow grows here as well."""
    reme = reme_over(vault_dir, 8_000, tombstones=1_000)
    memory = reme.get_in_memory_memory("s1")
    held, saved = [], []
    tracemalloc.start()
    try:
        for number in range(1_500):
            await memory.add(work(number, words=10))
            await reme.compaction.keep_within_window(memory)
            if number in (500, 1_499):  # after the tombstones have reached their bound
                gc.collect()
                held.append(tracemalloc.get_traced_memory()[0])
                saved.append(len(json.dumps(memory.state_dict())))
    finally:
        tracemalloc.stop()
    assert held[1] - held[0] < 400_000, "in 4 000 messages"
    assert abs(saved[1] - saved[0]) < 20_000
    assert memory.journal.count() + len(memory.content) == 6_000
    again = reme_over(vault_dir, 8_000).get_in_memory_memory("s1")
    again.load_state_dict(json.loads(json.dumps(memory.state_dict())))
    left = memory.journal.tail(3)
    await again.add([Msg.from_dict(line.msg) for line in left])
    assert len(again.content) == len(memory.content), "what left does not come back, also after a restart"
    assert again.journal.append([]) == 0
