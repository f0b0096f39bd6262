"""P4: one token count decides when to compact, where to cut and what is reported; it covers everything that is sent."""

import json

import pytest
from agentscope.model._model_usage import ChatUsage

from agentscope_reme.memory.plan import MESSAGE_FRAME, plan
from agentscope_reme.models import Compacted
from tests.hooks.agents import ByteCounter, agent_of, checkpoint, look, reme_over, sent_tokens, user
from tests.memory.conversations import calls, result, said
from tests.support.scripted_model import ScriptedModel


class Scaled:
    """A counter that finds ``factor`` tokens for three bytes, and remembers what it was asked."""

    def __init__(self, factor=1.0):
        self.name = "scaled"
        self.factor = factor
        self.asked: list[str] = []

    def count_text(self, text):
        self.asked.append(text)
        return int(ByteCounter().count_text(text) * self.factor)


def talk(count, tokens=100):
    return [
        user("talk " * (tokens * 3 // 5)) if i % 2 == 0 else said("talk " * (tokens * 3 // 5)) for i in range(count)
    ]


async def test_promise_04_what_closes_calls_that_nobody_answered_is_counted(vault_dir):
    reme = reme_over(vault_dir, 8_000)
    memory = reme.get_in_memory_memory("s")
    for i in range(60):
        await memory.add([user("go"), calls(f"a{i}", f"b{i}"), result(f"a{i}"), said("You interrupted me.")])
    shown = await memory.get_memory()
    assert len(shown) == len(memory.content) + 60
    sent = sum([await memory.budget.message(message) for message in shown])
    assert await memory.message_tokens() == sent == (await memory.estimate_tokens()).messages_tokens
    outcome = await reme.compaction.keep_within_window(memory)
    assert isinstance(outcome, Compacted)
    assert outcome.tokens_before == sent
    assert await memory.message_tokens() == sum(
        [await memory.budget.message(message) for message in await memory.get_memory(prepend_summary=False)]
    )


async def recount(memory):
    """The tokens of a memory, counted again from nothing."""
    fresh = type(memory.budget)(ByteCounter(), memory.budget.media_tokens)
    total = await fresh.messages([message for message, _ in memory.content])
    if memory.get_compressed_summary():
        total += await fresh.text(memory.envelope().get_text_content()) + 8
    return total


async def test_promise_04_the_running_total_is_the_sum_counted_anew(vault_dir):
    reme = reme_over(vault_dir, 3_000, ScriptedModel(default=checkpoint()))
    agent = agent_of(reme, ScriptedModel(default="Fine."), look)
    memory = agent.memory

    async def check():
        estimate = await memory.estimate_tokens()
        assert estimate.messages_tokens + estimate.compressed_summary_tokens == await recount(memory)
        assert estimate.messages_tokens == sum(one["total_tokens"] for one in estimate.messages_detail)
        assert estimate.estimated_tokens == estimate.fixed_tokens + await recount(memory)

    for turn in range(6):
        await memory.add([*talk(6), calls(f"a{turn}"), result(f"a{turn}", output="row " * 800)])
        await check()
        await agent(user("go on"))
        await check()
    assert memory.get_compressed_summary()
    await memory.add(user("a hint"), marks="hint")
    await memory.add(user("another"), marks="hint")
    await check()
    await memory.delete_by_mark("hint")
    await check()
    await memory.delete([memory.content[0][0].id])
    await memory.update_messages_mark("mine")
    await check()
    memory.content[-1][0].content = "changed in place " * 50
    memory.content.append((user("behind its back"), []))
    await reme.compaction.keep_within_window(memory)
    await check()
    await memory.clear()
    await check()


@pytest.mark.parametrize("factor", [0.5, 1.0, 3.0])
async def test_promise_04_trigger_cut_and_report_follow_the_counter(vault_dir, factor):
    events = []
    counter = Scaled(factor)
    reme = reme_over(
        vault_dir, 6_000, ScriptedModel(default=checkpoint()), token_counter=counter, on_event=events.append
    )
    memory = reme.get_in_memory_memory("s1")
    system = "You are Remy. " * 10
    fixed = counter.count_text(system) + MESSAGE_FRAME
    sizes = plan(memory, fixed)
    before = 0
    while not events:
        await memory.add(talk(2))
        before = await memory.message_tokens() + fixed
        outcome = await reme.compaction.keep_within_window(memory, system_prompt=system)
        assert (before > sizes.trigger) == isinstance(outcome, Compacted)
    assert sizes.trigger == 4_200
    assert events[0].tokens_before == before
    kept = sum([await memory.budget.message(message) for message, _ in memory.content])
    assert kept <= sizes.reserve + 2 * 130 * factor
    assert counter.count_text(memory.get_compressed_summary()) <= sizes.cap
    estimate = await memory.estimate_tokens()
    assert events[0].tokens_after == outcome.tokens_after == estimate.estimated_tokens
    assert estimate.fixed_tokens == fixed


async def test_promise_04_system_prompt_schemas_and_checkpoint_are_part_of_it(vault_dir):
    reme = reme_over(vault_dir, 8_000, ScriptedModel(default=checkpoint()))
    agent = agent_of(reme, ScriptedModel(default="Fine."), look, memory_tools=("memory_search", "read"))
    await agent(user("hello"))
    counter = ByteCounter()
    schemas = json.dumps(agent.toolkit.get_json_schemas(), ensure_ascii=False)
    expected = counter.count_text(agent.sys_prompt) + MESSAGE_FRAME + counter.count_text(schemas)
    estimate = await agent.memory.estimate_tokens()
    assert estimate.fixed_tokens == expected
    await agent.memory.update_compressed_summary(checkpoint("A goal."))
    more = await agent.memory.estimate_tokens()
    envelope = counter.count_text(agent.memory.envelope().get_text_content())
    assert more.compressed_summary_tokens >= envelope
    assert more.estimated_tokens == estimate.estimated_tokens + more.compressed_summary_tokens


async def test_promise_04_schemas_count_as_their_tool_groups_are_switched_on_and_off(vault_dir):
    reme = reme_over(vault_dir, 8_000)
    agent = agent_of(reme, ScriptedModel(default="Fine."), look)
    agent.toolkit.create_tool_group("more", "More tools.", active=False)
    agent.toolkit.register_tool_function(look, group_name="more", func_name="look_again")
    fixed = []
    for active in (False, True, False):
        agent.toolkit.update_tool_groups(["more"], active=active)
        await agent(user("hello"))
        fixed.append((await agent.memory.estimate_tokens()).fixed_tokens)
    assert fixed[0] == fixed[2] < fixed[1]


@pytest.mark.parametrize("rate", [0.85, 1.0, 1.6])
async def test_promise_04_trigger_and_report_follow_what_a_metered_provider_counts(vault_dir, rate):
    """The window is passed by the provider's count at the step at which the hook folds."""
    events = []
    reme = reme_over(vault_dir, 10_000, ScriptedModel(default=checkpoint()), on_event=events.append)
    counter = ByteCounter()

    class Provider(ScriptedModel):
        sent = 0

        async def __call__(self, messages, tools=None, *args, **kwargs):
            response = await super().__call__(messages, tools, *args, **kwargs)
            self.sent = round(rate * sent_tokens(self.last, counter))
            response.usage = ChatUsage(self.sent, 1, 0.1)
            return response

    model = Provider(default="Fine.")
    agent = agent_of(reme, reme.metered(model))
    before = 0
    while not events:
        before = model.sent
        await agent(user("word " * 150))
        assert model.sent <= 10_000
    assert 0.85 * 7_000 <= before <= 1.1 * 7_000
    estimate = (await agent.memory.estimate_tokens()).estimated_tokens
    assert estimate == pytest.approx(model.sent, rel=0.15)


async def test_promise_04_a_step_that_adds_nothing_counts_nothing(vault_dir):
    counter = Scaled()
    reme = reme_over(vault_dir, 100_000, token_counter=counter)
    memory = reme.get_in_memory_memory("s1")
    await memory.add(talk(200))
    await reme.compaction.keep_within_window(memory, system_prompt="s", schemas="{}")
    counter.asked.clear()
    for _ in range(5):
        await reme.compaction.keep_within_window(memory, system_prompt="s", schemas="{}")
    assert counter.asked == []
    await memory.add(user("one more"))
    await reme.compaction.keep_within_window(memory, system_prompt="s", schemas="{}")
    assert len(counter.asked) == 1


async def test_promise_04_a_plan_hint_every_step_counts_only_itself(vault_dir):
    """AgentScope's plan notebook adds a hint before each request and takes it away after: the rest stays counted."""
    counter = Scaled()
    reme = reme_over(vault_dir, 100_000, token_counter=counter)
    memory = reme.get_in_memory_memory("s1")
    await memory.add(talk(200))
    total = await memory.message_tokens()
    counter.asked.clear()
    for i in range(4):
        await memory.add(user(f"hint {i}"), marks="hint")
        assert await memory.message_tokens() > total
        assert len(await memory.get_memory()) == 201
        assert await memory.delete_by_mark("hint") == 1
        assert await memory.message_tokens() == total
    assert len(counter.asked) == 4
    assert len(await memory.get_memory()) == 200


async def test_promise_04_the_window_of_one_memory_can_differ(vault_dir):
    reme = reme_over(vault_dir, 100_000, ScriptedModel(default=checkpoint()))
    small = reme.get_in_memory_memory("small", max_input_length=4_000, compact_ratio=0.5)
    large = reme.get_in_memory_memory("large")
    for memory in (small, large):
        await memory.add(talk(20))
        await reme.compaction.keep_within_window(memory)
    assert plan(small, 0).trigger == 2_000
    assert small.get_compressed_summary()
    assert not large.get_compressed_summary()
    assert (await small.estimate_tokens()).max_input_length == 4_000
    reme.update_params(max_input_length=3_000)
    await reme.compaction.keep_within_window(large)
    assert large.get_compressed_summary()
    assert small.max_input_length == 4_000


async def test_promise_04_a_prompt_that_takes_most_of_the_window_does_not_fold_at_every_step(vault_dir):
    summariser = ScriptedModel(default=checkpoint())
    reme = reme_over(vault_dir, 8_000, summariser)
    memory = reme.get_in_memory_memory("s1")
    system = "rule " * 3_900
    for _ in range(12):
        await memory.add(talk(1, 60))
        await reme.compaction.keep_within_window(memory, system_prompt=system)
    assert (await memory.estimate_tokens()).fixed_tokens > 5_600, "more than the threshold alone"
    assert len(summariser.requests) <= 2


async def test_promise_04_a_large_request_that_stays_does_not_fold_a_step_at_a_time(vault_dir):
    """What is kept is above the threshold: each step would fold the two small messages that just left the tail."""
    summariser = ScriptedModel(default=checkpoint())
    reme = reme_over(vault_dir, 8_000, summariser)
    memory = reme.get_in_memory_memory("s1")
    await memory.add([*talk(4), user("the paste " * 1_560)])
    for i in range(24):
        await memory.add([calls(f"c{i}"), result(f"c{i}", output="ok " * 20)])
        await reme.compaction.keep_within_window(memory)
        assert (await memory.estimate_tokens()).estimated_tokens <= 8_000
    assert len(summariser.requests) <= 5
