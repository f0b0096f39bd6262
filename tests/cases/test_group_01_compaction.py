"""Faults of group 1 that users of such systems reported: compaction and the integrity of messages."""

import asyncio
import json
import logging

import pytest
from agentscope.message import Msg

from agentscope_reme.memory.compaction import Compaction
from agentscope_reme.memory.envelope import CLOSE, OPEN
from agentscope_reme.memory.window import cut, is_sound, pairs
from agentscope_reme.models import Compacted, Failed, Skipped
from tests.hooks.agents import (
    ByteCounter,
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
from tests.memory.conversations import calls, result, said
from tests.support.scripted_model import Cut, Later, ScriptedModel, assert_acceptable, call

SYSTEM = "You are Remy."
# Twelve turns of 1 250 tokens pass the threshold of this window and fit it; a summariser takes them in one request.
WINDOW = 20_000


def state_of(memory) -> str:
    return json.dumps(memory.state_dict(), sort_keys=True)


async def step(reme, memory, system=SYSTEM):
    return await reme.compaction.keep_within_window(memory, system_prompt=system)


def words(count: int, mark: str) -> str:
    return " ".join(f"{mark}{i}" for i in range(count))


async def filled(reme, *messages, session_id="s1"):
    memory = reme.get_in_memory_memory(session_id)
    await memory.add(list(messages))
    return memory


def twelve(tokens_each=1_250):
    texts = [f"turn {i}. " + "talk " * (tokens_each * 3 // 5) for i in range(12)]
    return [user(text) if i % 2 == 0 else said(text) for i, text in enumerate(texts)]


# --- C1-01 ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "stream"),
    [
        (RuntimeError("429 Too Many Requests"), False),
        (RuntimeError("429 Too Many Requests"), True),
        (Cut("## Goal\nThe user wants to"), True),
        (Cut(checkpoint()), True),
        ("", False),
        ([], True),
        ("   \n", False),
        ("[Compactor] failed: 429 Too Many Requests", False),
        ("The conversation was about many things.", False),
        ("## Goal\nCut off here", False),
        (checkpoint().replace("Finish the work.", "(none)").replace("Done: the steps so far.", "(none)")
         .replace("Go on.", "none"), False),
        ([{"type": "thinking", "thinking": checkpoint()}], False),
        (TimeoutError("the provider's own time-out"), False),
        (KeyError("choices"), False),
    ],
)  # fmt: skip
async def test_c1_01_a_failed_summary_changes_nothing_and_is_tried_again(vault_dir, caplog, answer, stream):
    model = ScriptedModel([answer, checkpoint("Keep talking.")], stream=stream)
    reme = reme_over(vault_dir, WINDOW, model)
    memory = await filled(reme, *twelve())
    await memory.update_compressed_summary("## Goal\nAn older checkpoint.")
    before = state_of(memory)
    with caplog.at_level(logging.WARNING, logger="agentscope_reme"):
        outcome = await step(reme, memory)
    assert isinstance(outcome, Failed), outcome
    assert state_of(memory) == before
    assert not memory.journal.read()
    assert "No checkpoint" in caplog.text
    outcome = await step(reme, memory)
    assert isinstance(outcome, Compacted), outcome
    assert outcome.generator == "model"
    assert "Keep talking." in memory.get_compressed_summary()
    assert outcome.tokens_after < outcome.tokens_before


async def test_c1_01_the_agent_answers_while_its_summariser_fails(vault_dir):
    summariser = ScriptedModel(default=RuntimeError("500"))
    reme = reme_over(vault_dir, WINDOW, summariser)
    model = ScriptedModel(default="A short answer.")
    agent = agent_of(reme, model)
    await agent.memory.add(twelve())
    reply = await agent(user("and now?"))
    assert reply.get_text_content() == "A short answer."
    assert len(agent.memory.content) == 14
    assert_requests_are_fine(model, WINDOW)


async def test_c1_01_repeated_failures_pause_the_summariser(vault_dir):
    summariser = ScriptedModel(default=RuntimeError("500"))
    reme = reme_over(vault_dir, WINDOW, summariser)
    memory = await filled(reme, *twelve())
    before = state_of(memory)
    for _ in range(14):
        await step(reme, memory)
    # Steps 1, 2 and 4, then a pause of ten steps: the next try is step 14.
    assert len(summariser.requests) == 4
    assert state_of(memory) == before


# --- C1-03 to C1-05: pairs --------------------------------------------------------------------------------------------


async def test_c1_03_parallel_calls_keep_the_message_that_owns_them(vault_dir):
    messages = [
        user("compare the files"), calls("a", "b", "c"), result("a"), result("b"), result("c"),
        calls("d", "e"), result("d"), result("e"),
    ]  # fmt: skip
    reme = reme_over(vault_dir, 4_000)
    costs = [await reme.budget.message(message) for message in messages]
    fold, keep, valid = await reme.check_context(messages, sum(costs) - 1, sum(costs[-2:]))
    assert valid
    assert keep == [messages[0], *messages[5:]]
    assert fold == messages[1:5]


@pytest.mark.parametrize("groups", [[3, 2], [1, 12], [5, 1, 5], [2, 2, 2, 2]])
async def test_c1_03_any_dense_tool_history_keeps_its_last_group(vault_dir, groups):
    messages = [user("go")]
    for g, count in enumerate(groups):
        ids = [f"g{g}c{i}" for i in range(count)]
        messages += [calls(*ids), *(result(one, output="text " * 40) for one in reversed(ids))]
    costs = [50] * len(messages)
    for reserve in (0, 49, 100, 10_000):
        division = cut([(message, []) for message in messages], costs, reserve)
        kept = [messages[i] for i in division.keep]
        assert is_sound(kept)
        last_call = len(messages) - groups[-1] - 1
        assert set(range(last_call, len(messages))) <= set(division.keep)
        assert 0 in division.keep
        assert division.keep == sorted(division.keep)
        assert all((a in division.keep) == (b in division.keep) for a, b in pairs(messages))


@pytest.mark.parametrize("orphans", [["z"], ["z", "y"], ["z", "z"]])
async def test_c1_04_an_orphan_result_never_reaches_the_model_and_never_stops_the_hook(vault_dir, orphans):
    reme = reme_over(vault_dir, 2_000)
    model = ScriptedModel(default="Fine.")
    agent = agent_of(reme, model, look)
    await agent.memory.add([result(*dict.fromkeys(orphans)), user("hello"), said("hi"), result(orphans[-1])])
    stored = [message.id for message, _ in agent.memory.content]
    await agent(user("go on"))
    assert [message.id for message, _ in agent.memory.content][:4] == stored, "what is stored is not touched"
    for message in twelve(200):
        await agent.memory.add(message)
    await agent(user("and on"))
    assert_requests_are_fine(model, 2_000)
    assert agent.memory.get_compressed_summary()
    assert len([request for request in model.requests if "found it" in request.text]) == 0


@pytest.mark.parametrize(
    "history",
    [
        [user("look"), calls("x"), said("I noticed that you interrupted me."), user("go on")],
        [user("look"), calls("x", "y"), result("y"), said("I noticed that you interrupted me."), user("go on")],
        [user("look"), calls("x", "y"), result("x"), user("go on")],
        [user("look"), calls("x"), calls("x2"), result("x2"), said("done"), user("go on")],
    ],
)
async def test_c1_05_a_call_that_was_interrupted_is_closed_and_folded_like_any_other(vault_dir, history):
    reme = reme_over(vault_dir, 2_000)
    model = ScriptedModel(default="Going on.")
    agent = agent_of(reme, model)
    await agent.memory.add(history)
    await agent(user("please"))
    request = model.last
    answered = {message["tool_call_id"] for message in request.messages if message["role"] == "tool"}
    asked = {one["id"] for message in request.messages for one in message.get("tool_calls") or ()}
    assert answered == asked
    assert "interrupted" in request.role_text("tool")
    await agent.memory.add(twelve(200))
    await agent(user("and now?"))
    assert_requests_are_fine(model, 2_000)
    assert not any(message.id in {one.id for one in history} for message, _ in agent.memory.content)


# --- C1-06, C1-08, C1-09 ----------------------------------------------------------------------------------------------


async def test_c1_06_signed_thinking_of_the_newest_turn_is_kept_object_for_object(vault_dir):
    summariser = ScriptedModel(default=checkpoint())
    reme = reme_over(vault_dir, WINDOW, summariser)
    newest = Msg(
        "Remy",
        [
            {"type": "thinking", "thinking": "I have to look. " * 20, "signature": "s1", "extra": {"kept": True}},
            {"type": "text", "text": "ok"},
            {"type": "tool_use", "id": "q", "name": "look", "input": {"q": "x"}},
        ],
        "assistant",
    )
    old = Msg("Remy", [{"type": "thinking", "thinking": "OLDTHOUGHT", "signature": "s0"}], "assistant")
    answer = result("q", output="short")
    memory = await filled(reme, user("first"), old, *twelve(), user("look at x"), newest, answer)
    kept = [message for message, _ in memory.content][-2:]
    contents = [json.dumps(message.content) for message in kept]
    assert isinstance(await step(reme, memory), Compacted)
    assert [message for message, _ in memory.content][-2:] == kept
    assert [json.dumps(message.content) for message in kept] == contents
    request = summariser.requests[0]
    assert [message["role"] for message in request.messages] == ["system", "user"]
    assert "(thinking) OLDTHOUGHT" in request.role_text("user")
    assert "signature" not in request.text


async def test_c1_06_thinking_can_be_kept_from_the_summariser(vault_dir):
    summariser = ScriptedModel(default=checkpoint())
    reme = reme_over(vault_dir, WINDOW, summariser, add_thinking_block=False)
    old = Msg("Remy", [{"type": "thinking", "thinking": "OLDTHOUGHT"}, {"type": "text", "text": "said"}], "assistant")
    memory = await filled(reme, user("first"), old, *twelve())
    await step(reme, memory)
    assert "OLDTHOUGHT" not in summariser.requests[0].text


async def test_c1_06_signed_thinking_is_never_cut_even_where_the_window_is_at_stake(vault_dir):
    reme = reme_over(vault_dir, 4_000)
    thinking = {"type": "thinking", "thinking": "think " * 500, "signature": "s1"}
    use = {"type": "tool_use", "id": "q", "name": "look", "input": {"q": "x"}}
    blocks = [thinking, {"type": "text", "text": "talk " * 6_000}, use]
    memory = await filled(reme, user("go"), Msg("Remy", blocks, "assistant"), result("q", output="y " * 6_000))
    await step(reme, memory)
    assert (await memory.estimate_tokens()).estimated_tokens <= 4_000
    kept = memory.content[1][0].content
    assert kept[0] == thinking
    assert "session/tool_result/" in kept[1]["text"]
    assert kept[2] == use


@pytest.mark.parametrize("empty", [[], "", [{"type": "text", "text": "  "}]])
async def test_c1_08_an_empty_assistant_turn_is_skipped(vault_dir, empty):
    reme = reme_over(vault_dir, 2_000)
    model = ScriptedModel(default="Fine.")
    agent = agent_of(reme, model)
    state = agent.memory.state_dict()
    hole = {"id": "hole", "name": "Remy", "role": "assistant", "content": empty, "metadata": {}, "timestamp": None}
    state["content"] = [[one.to_dict(), []] for one in (user("a"), said("b"))]
    state["content"].append([hole, []])
    agent.memory.load_state_dict(json.loads(json.dumps(state)))
    await agent(user("c"))
    assert [message["role"] for message in model.last.messages] == ["system", "user", "assistant", "user"]
    await agent.memory.add(twelve(200))
    await agent.memory.add(Msg("Remy", empty, "assistant"))
    await agent(user("d"))
    assert_requests_are_fine(model, 2_000)


def test_c1_08_an_empty_turn_at_the_end_is_not_what_is_kept():
    messages = [user("one"), said("1"), user("two"), said("2"), Msg("Remy", [], "assistant")]
    division = cut([(message, []) for message in messages], [10, 10, 10, 10, 10], 0)
    assert 3 in division.keep


async def test_c1_09_summaries_are_asked_for_as_plain_text(vault_dir):
    class NoResponseFormat(ScriptedModel):
        async def __call__(self, messages, tools=None, tool_choice=None, structured_model=None, **kwargs):
            if structured_model is not None or kwargs.get("response_format"):
                raise ValueError("400: This response_format type is unavailable now")
            return await super().__call__(messages, tools, tool_choice, structured_model, **kwargs)

    summariser = NoResponseFormat(default=checkpoint())
    reme = reme_over(vault_dir, WINDOW, summariser)
    memory = await filled(reme, *twelve())
    assert isinstance(await step(reme, memory), Compacted)
    assert summariser.requests[0].tools is None
    assert_acceptable(summariser.requests[0])


# --- C1-10 to C1-12: sizes --------------------------------------------------------------------------------------------


async def test_c1_10_a_long_agentic_stretch_is_told_to_the_summariser_whole(vault_dir):
    summariser = ScriptedModel(default=checkpoint())
    reme = reme_over(vault_dir, 8_000, summariser, old_max_bytes=3_000)
    messages = [user("Check all sixty items.")]
    for i in range(60):
        output = f"item {i} begins " + "detail " * 210 + f" item {i} ends"
        messages += [calls(f"c{i}", path=f"/data/item_{i}.json"), result(f"c{i}", output=output)]
    memory = await filled(reme, *messages)
    outcome = await step(reme, memory)
    assert isinstance(outcome, Compacted)
    assert outcome.generator == "model"
    told = "\n".join(request.role_text("user") for request in summariser.requests)
    left = {line.id for line in memory.journal.read()}
    for i in range(60):
        if messages[1 + 2 * i].id in left:
            assert f"/data/item_{i}.json" in told
            assert f"item {i} begins" in told
            assert f"item {i} ends" in told
    assert len(summariser.requests) > 1, "one request of half the window cannot hold it"
    assert memory.content[0][0].content == "Check all sixty items."


@pytest.mark.parametrize("limit", [11_000, 6_000])
async def test_c1_11_a_request_that_the_provider_finds_too_long_is_made_smaller(vault_dir, limit):
    def summarise(request):
        size = ByteCounter().count_text(request.text)
        if size > limit:
            raise ValueError("400: context_length_exceeded")
        return checkpoint()

    summariser = ScriptedModel(default=summarise)
    reme = reme_over(vault_dir, 12_800, summariser)
    memory = await filled(reme, *[user(words(150, f"w{i}x")) for i in range(60)])
    outcome = await step(reme, memory)
    assert isinstance(outcome, Compacted)
    assert outcome.generator == "model"
    assert outcome.tokens_after <= 12_800


async def test_c1_11_a_provider_that_refuses_every_size_leaves_a_checkpoint_without_it(vault_dir):
    summariser = ScriptedModel(default=ValueError("This model's maximum context length is 10 tokens"))
    reme = reme_over(vault_dir, 12_800, summariser)
    memory = await filled(reme, *[user(words(150, f"w{i}x")) for i in range(60)])
    outcome = await step(reme, memory)
    assert isinstance(outcome, Compacted)
    assert outcome.generator == "extractive"
    assert len(summariser.requests) <= 3
    assert outcome.tokens_after <= 12_800
    assert len(await everything_of(reme, memory)) == 60


async def test_c1_12_one_turn_larger_than_the_window_is_offloaded_in_place(vault_dir):
    async def big() -> object:
        """Get much."""
        return response(words(40_000, "z"))

    reme = reme_over(vault_dir, 32_000)
    model = ScriptedModel([call("big"), "Listed.", "Going on."])
    agent = agent_of(reme, model, big)
    await agent(user("short"))
    await agent(user("go on"))
    assert_requests_are_fine(model, 32_000)
    assert "go on" in model.last.role_text("user")
    assert "z39999" in kept_files(reme)


async def test_c1_12_a_loaded_result_larger_than_the_window_is_offloaded_with_its_pair(vault_dir):
    reme = reme_over(vault_dir, 32_000)
    model = ScriptedModel(default="Going on.")
    agent = agent_of(reme, model)
    await agent.memory.add([user("short"), calls("big"), result("big", output="0123456789" * 40_000), user("go on")])
    await agent(None)
    assert_requests_are_fine(model, 32_000)
    assert model.last.messages[-1]["role"] == "user"
    assert "go on" in str(model.last.messages[-1]["content"])


@pytest.mark.parametrize("shape", ["text", "blocks", "many"])
async def test_c1_12_a_user_message_larger_than_the_window_points_to_its_file(vault_dir, shape):
    reme = reme_over(vault_dir, 4_000)
    model = ScriptedModel(default="Read.")
    agent = agent_of(reme, model)
    text = "START " + words(4_000, "p") + " END"
    content = {
        "text": text,
        "blocks": [{"type": "text", "text": text}],
        "many": [{"type": "text", "text": part} for part in text.split(" ")],
    }[shape]
    await agent(Msg("user", content, "user"))
    assert_requests_are_fine(model, 4_000)
    shown = model.last.role_text("user")
    assert "START" in shown
    assert "END" in shown
    assert "session/tool_result/" in shown
    assert "p3999" in kept_files(reme)
    assert len(agent.memory.content) == 2


# --- C1-14 to C1-17: what the checkpoint says -------------------------------------------------------------------------


async def test_c1_14_a_summary_that_grows_every_round_stays_under_its_cap(vault_dir):
    rounds = []

    def grow(request):
        text = request.role_text("user")
        previous = (
            text.split("<previous-checkpoint>")[1].split("</previous-checkpoint>")[0] if "previous" in text else ""
        )
        rounds.append(1)
        return checkpoint(facts=previous + "\n" + words(500, f"r{len(rounds)}w"))

    summariser = ScriptedModel(default=grow)
    reme = reme_over(vault_dir, 8_000, summariser)
    memory = reme.get_in_memory_memory("s1")
    for _ in range(5):
        await memory.add(twelve(700))
        await step(reme, memory)
    text = memory.get_compressed_summary()
    assert text
    assert ByteCounter().count_text(text) <= 1_000
    assert text.count("## Goal") == 1
    assert (await memory.estimate_tokens()).estimated_tokens <= 8_000


async def test_c1_15_a_summary_longer_than_what_it_replaces_is_discarded(vault_dir):
    summariser = ScriptedModel(default=checkpoint(facts=words(180, "long")))
    reme = reme_over(vault_dir, 20_000, summariser, memory_compact_reserve=20)
    memory = await filled(reme, *[user("twenty tokens of text, more or less, here") for _ in range(10)])
    before = state_of(memory)
    outcome = await reme.compaction.compact(memory)
    assert isinstance(outcome, Failed)
    assert outcome.reason == "not_shorter"
    assert state_of(memory) == before


async def test_c1_15_without_a_model_too_nothing_grows(vault_dir):
    reme = reme_over(vault_dir, 20_000, memory_compact_reserve=20)
    memory = await filled(reme, *[said("ok") for _ in range(6)], user("Remember code A-0001."), said("yes"))
    before = state_of(memory)
    assert await reme.compaction.compact(memory) == Skipped("nothing_to_gain")
    assert state_of(memory) == before


@pytest.mark.parametrize("with_model", [True, False])
async def test_c1_16_the_checkpoint_is_background_before_the_newest_request(vault_dir, with_model):
    summariser = ScriptedModel(default=checkpoint("Branch foo was deleted.")) if with_model else None
    reme = reme_over(vault_dir, WINDOW, summariser)
    memory = await filled(reme, user("delete branch foo"), said("done"), *twelve(), user("now write the changelog"))
    for _ in range(2):
        await memory.add([said("on it " * 40), said("still " * 200)])
        await step(reme, memory)
        shown = await memory.get_memory()
        text = shown[0].get_text_content()
        assert shown[0].role == "user"
        assert text.startswith(OPEN)
        assert text.endswith(CLOSE)
        assert text.count(OPEN) == text.count(CLOSE) == 1
        assert text.count("not a new request") == 1
        assert "has been handled" in text
        asked = [message for message in shown if message.role == "user"]
        assert asked[-1].get_text_content() == "now write the changelog"


async def test_c1_16_a_model_that_copies_the_envelope_does_not_nest_it(vault_dir):
    def copy(request):
        return f"{OPEN}\n{checkpoint(facts='code 7319')}\n{CLOSE}"

    reme = reme_over(vault_dir, WINDOW, ScriptedModel(default=copy))
    memory = await filled(reme, *twelve())
    for _ in range(3):
        await memory.add(twelve())
        await step(reme, memory)
        text = (await memory.get_memory())[0].get_text_content()
        assert text.count("conversation-checkpoint") == 2


async def test_c1_17_standing_rules_stay_or_are_told(vault_dir):
    summariser = ScriptedModel(default=checkpoint())
    reme = reme_over(vault_dir, 4_000, summariser)
    standing = Msg("system", "Never touch prod. Answer in Chinese.", "system")
    rule = user("Standing rule: ask before deleting")
    filler = [said("filler " * 60) if i % 2 else user("filler " * 60) for i in range(40)]
    memory = await filled(reme, standing, rule, *filler, user("continue"))
    stored = memory.content[0][0]
    await step(reme, memory)
    assert memory.content[0][0] is stored
    assert [message.content for message, _ in memory.content].count(standing.content) == 1
    assert "Standing rule: ask before deleting" in summariser.requests[0].role_text("user")
    assert "Never touch prod" not in summariser.requests[0].text
    envelope = memory.envelope().get_text_content()
    assert "Do not start over" in envelope


async def test_c1_17_a_rule_survives_a_checkpoint_without_a_model(vault_dir):
    reme = reme_over(vault_dir, 4_000)
    filler = [said("filler " * 60) if i % 2 else user("filler " * 60) for i in range(40)]
    memory = await filled(reme, user("Standing rule: always ask before deleting."), *filler, user("continue"))
    for _ in range(3):
        await memory.add(filler[:0] + [user("filler " * 60) for _ in range(30)])
        await step(reme, memory)
    assert "always ask before deleting" in memory.get_compressed_summary()


async def test_c1_17_a_pinned_message_stays_word_for_word(vault_dir):
    reme = reme_over(vault_dir, WINDOW)
    memory = reme.get_in_memory_memory("s1")
    await memory.add(user("The contract says 4711."), marks="pinned")
    await memory.add([calls("p"), result("p", output="pinned result")])
    await memory.update_messages_mark("pinned", msg_ids=[memory.content[2][0].id])
    pinned = [message for message, _ in memory.content]
    await memory.add(twelve())
    await step(reme, memory)
    assert [message for message, _ in memory.content][:3] == pinned, "the call of a pinned result stays with it"


# --- C1-18, C1-19 -----------------------------------------------------------------------------------------------------


async def test_c1_18_images_reach_the_summariser_as_a_word_and_the_newest_stays(vault_dir):
    data = "iVBORw0KGgo" + "A" * 1_600_001
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}
    summariser = ScriptedModel(default=checkpoint())
    reme = reme_over(vault_dir, 8_000, summariser, media_tokens=1_000)
    output = [picture, {"type": "text", "text": '{"chart_id": 7}'}]
    newest = Msg("user", [picture, {"type": "text", "text": "what is wrong here?"}], "user")
    memory = await filled(reme, user("chart"), calls("c"), result("c", output=output), *twelve(500), newest)
    kept = memory.content[-1][0]
    outcome = await step(reme, memory)
    assert isinstance(outcome, Compacted)
    prompt = summariser.requests[0].text
    assert "AAAAAAAA" not in prompt
    assert "[image" in prompt
    assert '{"chart_id": 7}' in prompt
    assert memory.content[-1][0] is kept
    assert kept.content[0] == picture


@pytest.mark.parametrize("own", ["Remy", ""])
async def test_c1_18_all_that_was_just_said_is_seen_before_it_is_folded(vault_dir, own):
    """A picture and a request in several messages: together they are more than the reserve."""
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo"}}
    reme = reme_over(vault_dir, 8_000, ScriptedModel(default=checkpoint()))
    parts = [Msg("user", [picture], "user"), *(user(f"part {i} " + words(50, "row")) for i in range(3))]
    memory = await filled(reme, *twelve(500), user("before"), said("yes"), *parts)
    assert sum([await reme.budget.message(part) for part in parts]) > 1_400
    outcome = await reme.compaction.keep_within_window(memory, system_prompt=SYSTEM, own=own)
    assert isinstance(outcome, Compacted)
    assert outcome.tokens_after <= 8_000
    assert [message.id for message, _ in memory.content][-4:] == [part.id for part in parts]
    # Seen, they count as all that is old; the last of them is what is worked on.
    await memory.add([calls("c"), result("c", output=words(1_800, "row"))])
    assert isinstance(await reme.compaction.keep_within_window(memory, system_prompt=SYSTEM, own=own), Compacted)
    kept = [message.id for message, _ in memory.content]
    assert parts[0].id not in kept
    assert parts[-1].id in kept
    assert len(await everything_of(reme, memory)) == 12 + 2 + 4 + 2


async def test_c1_19_recent_groups_stay_as_they_are_and_old_ones_are_told_with_arguments(vault_dir):
    summariser = ScriptedModel(default=checkpoint())
    reme = reme_over(vault_dir, 4_000, summariser)
    messages = [user("fix the build")]
    for i in range(5):
        messages.append(calls(f"id-{i}", tool="run", path=f"/srv/app/part_{i}/Makefile", flag=i))
        messages.append(result(f"id-{i}", output=f"part {i}: E_LINK_{i} in libx{i}.so", tool="run"))
        messages += [said("I think about it. " * 180)] if i < 3 else []
    memory = await filled(reme, *messages)
    recent = [(message, json.dumps(message.to_dict())) for message, _ in memory.content[-4:]]
    assert isinstance(await step(reme, memory), Compacted)
    prompt = "\n".join(request.role_text("user") for request in summariser.requests)
    for i in range(3):
        assert f'run({{"path": "/srv/app/part_{i}/Makefile", "flag": {i}}})' in prompt
        assert f"run → part {i}: E_LINK_{i} in libx{i}.so" in prompt
    assert "part_3" not in prompt
    kept = [message for message, _ in memory.content]
    assert all(one is other for one, (other, _) in zip(kept[-4:], recent, strict=True))
    assert [json.dumps(message.to_dict()) for message in kept[-4:]] == [text for _, text in recent]


# --- C1-20 to C1-22: time ---------------------------------------------------------------------------------------------


async def test_c1_20_one_wall_clock_limit_covers_a_slow_summariser(vault_dir):
    summariser = ScriptedModel(default=Later(checkpoint(), seconds=60))
    reme = reme_over(vault_dir, WINDOW, summariser, compaction_timeout=0.05)
    model = ScriptedModel(default="The turn goes on.")
    agent = agent_of(reme, model)
    await agent.memory.add(twelve())
    reply = await asyncio.wait_for(agent(user("now")), 20)
    assert reply.get_text_content() == "The turn goes on."
    assert len(agent.memory.content) == 14
    assert len(summariser.requests) == 1


async def test_c1_20_cancellation_goes_through_and_changes_nothing(vault_dir):
    held = Held(checkpoint())
    summariser = ScriptedModel([held, checkpoint()])
    reme = reme_over(vault_dir, WINDOW, summariser)
    memory = await filled(reme, *twelve())
    before = state_of(memory)
    task = asyncio.create_task(step(reme, memory))
    await held.asked.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert state_of(memory) == before
    assert not memory.journal.read()
    assert isinstance(await step(reme, memory), Compacted), "nothing is left locked"


async def test_c1_21_a_message_that_arrives_meanwhile_is_last_and_untouched(vault_dir):
    held = Held(checkpoint())
    summariser = ScriptedModel([held])
    reme = reme_over(vault_dir, WINDOW, summariser)
    memory = await filled(reme, *twelve())
    task = asyncio.create_task(step(reme, memory))
    await held.asked.wait()
    new = user("new")
    await memory.add(new)
    held.go.set()
    assert isinstance(await task, Compacted)
    assert memory.content[-1][0].id == new.id
    assert memory.content[-1][1] == []
    assert len(await everything_of(reme, memory)) == 13


async def test_c1_21_messages_deleted_meanwhile_are_not_summarised_behind_the_users_back(vault_dir):
    held = Held(checkpoint())
    summariser = ScriptedModel([held])
    reme = reme_over(vault_dir, WINDOW, summariser)
    memory = await filled(reme, *twelve())
    task = asyncio.create_task(step(reme, memory))
    await held.asked.wait()
    await memory.delete([memory.content[0][0].id])
    held.go.set()
    outcome = await task
    assert isinstance(outcome, Failed)
    assert outcome.reason == "changed_meanwhile"
    assert len(memory.content) == 11
    assert not memory.get_compressed_summary()


async def test_c1_21_two_compactions_of_one_memory_follow_each_other(vault_dir):
    summariser = ScriptedModel(default=Later(checkpoint(), seconds=0.02))
    reme = reme_over(vault_dir, WINDOW, summariser)
    memory = await filled(reme, *twelve())
    outcomes = await asyncio.gather(step(reme, memory), step(reme, memory))
    assert sorted(type(outcome).__name__ for outcome in outcomes) == ["Compacted", "Skipped"]
    assert len(summariser.requests) == 1
    assert len(await everything_of(reme, memory)) == 12


async def test_c1_22_a_restart_finds_the_context_as_it_was(vault_dir):
    broken = ScriptedModel(default=ValueError("context_length_exceeded"))
    reme = reme_over(vault_dir, 2_000, broken)
    memory = await filled(reme, *twelve(400))
    outcome = await step(reme, memory)
    assert isinstance(outcome, Compacted)
    assert outcome.generator == "extractive"
    saved = json.loads(json.dumps(memory.state_dict()))
    tokens = (await memory.estimate_tokens()).estimated_tokens
    await reme.close()

    again = reme_over(vault_dir, 2_000)
    loaded = again.get_in_memory_memory()
    loaded.load_state_dict(saved)
    assert isinstance(await step(again, loaded), Skipped)
    assert (await loaded.estimate_tokens()).estimated_tokens == tokens
    assert loaded.session_id == "s1"
    shown = [message.to_dict() for message in await memory.get_memory()]
    assert [message.to_dict() for message in await loaded.get_memory()] == shown
    assert len(await everything_of(again, loaded)) == 12


async def test_c1_22_an_oversized_result_clipped_in_place_stays_clipped(vault_dir):
    reme = reme_over(vault_dir, 2_000)
    memory = await filled(reme, user("go"), calls("a"), result("a", output=words(3_000, "v")))
    await step(reme, memory)
    saved = json.loads(json.dumps(memory.state_dict()))
    before = kept_files(reme)
    again = reme_over(vault_dir, 2_000)
    loaded = again.get_in_memory_memory()
    loaded.load_state_dict(saved)
    for _ in range(3):
        await step(again, loaded)
    assert json.dumps(loaded.state_dict()["content"]) == json.dumps(saved["content"])
    assert kept_files(again) == before


async def test_the_hook_is_safe_to_call_by_hand(vault_dir):
    """What C1-20 asks of the hook holds for the explicit interface that agents without hooks use."""
    reme = reme_over(vault_dir, 2_000)
    assert isinstance(reme.compaction, Compaction)
    memory = reme.get_in_memory_memory("s1")
    assert await step(reme, memory) == Skipped("below_threshold")
