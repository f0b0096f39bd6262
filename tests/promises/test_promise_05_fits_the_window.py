"""P5: after the hook, system prompt + tool schemas + context fit the window by the configured counter."""

import asyncio
import json
import tempfile

import pytest
from agentscope.message import Msg
from hypothesis import given, settings

from agentscope_reme.memory.tokens import EstimateCounter, QwenCounter
from agentscope_reme.models import Skipped
from tests.hooks.agents import (
    ByteCounter,
    agent_of,
    assert_requests_are_fine,
    checkpoint,
    everything_of,
    look,
    reme_over,
    response,
    sent_tokens,
    user,
)
from tests.hooks.conversations import PICTURE, randoms, run, small_windows, summarisers, windows
from tests.memory.conversations import calls, result, said
from tests.support.scripted_model import ScriptedModel, call


def sizes(rng, window, kind):
    async def go(folder):
        done = await run(rng, window, kind, f"{folder}/vault")
        return done.sizes()

    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(go(folder))


@settings(max_examples=12)
@given(randoms, small_windows, summarisers)
def test_promise_05_every_request_of_a_random_conversation_fits(rng, window, kind):
    assert max(sizes(rng, window, kind)) <= window


@pytest.mark.slow
@settings(max_examples=150)
@given(randoms, windows, summarisers)
def test_promise_05_every_request_of_a_random_conversation_fits_at_length(rng, window, kind):
    assert max(sizes(rng, window, kind)) <= window


@pytest.mark.parametrize("counter", [ByteCounter, EstimateCounter, QwenCounter])
async def test_promise_05_real_agents_in_a_small_window_always_fit(vault_dir, counter):
    """Words, parallel calls, huge arguments and results, by three counters; each request is counted as it was sent."""
    counter = counter()

    async def fetch(page: int = 0, note: str = "") -> object:
        """Fetch a page.

        Args:
            page (int): Which.
            note (str): For the log.
        """
        return response(f"page {page}: " + "第一段内容，value=42; " * (page * 37 % 900))

    answers = []
    for turn in range(8):
        answers.append([f"I look at {turn}.", *[call("fetch", page=turn * 3 + i) for i in range(1 + turn % 4)]])
        answers.append(call("fetch", page=turn, note="log line. " * (turn * 120)))
        answers.append(f"Turn {turn} is done. " + "It took some words to say. " * turn * 10)
    model = ScriptedModel(answers)
    reme = reme_over(vault_dir, 2_600, ScriptedModel(default=checkpoint()), token_counter=counter)
    agent = agent_of(reme, model, fetch, parallel_tool_calls=True, memory_tools=("memory_search", "read"))
    for turn in range(8):
        await agent(user(f"Turn {turn}: 请继续处理。 " + "Please go on with the next one. " * (turn % 3) * 60))
    assert len(model.requests) == 24
    assert_requests_are_fine(model, 2_600, counter)
    assert agent.memory.get_compressed_summary()


@pytest.mark.parametrize("parallel", [6, 30, 120])
async def test_promise_05_more_parallel_results_than_the_window_holds(vault_dir, parallel):
    """Where even empty results would be too many, the whole group is folded and its request stays."""
    reme = reme_over(vault_dir, 1_000)
    model = ScriptedModel([[call("look", q=f"item {i}") for i in range(parallel)], "Done."])
    agent = agent_of(reme, model, look)
    await agent(user("look at all of them"))
    assert_requests_are_fine(model, 1_000)
    assert model.last.role_text("user").endswith("look at all of them")
    assert len(await everything_of(reme, agent.memory)) == parallel + 3


@pytest.mark.parametrize(
    "arguments",
    [
        {"q": "x" * 60_000},
        {"rows": [{"name": "n" * 50, "value": i} for i in range(900)]},
        {f"key{i}": "v" * 30 for i in range(900)},
        {"deep": {"er": {"still": ["y" * 40_000]}}, "n": 7},
        {"numbers": list(range(20_000))},
    ],
    ids=["text", "rows", "keys", "deep", "numbers"],
)
async def test_promise_05_huge_arguments_of_a_kept_call(vault_dir, arguments):
    reme = reme_over(vault_dir, 2_000)
    model = ScriptedModel(default="Done.")
    agent = agent_of(reme, model)
    await agent.memory.add([user("save it"), calls("a", tool="save", **arguments)])
    await agent.memory.add(result("a", tool="save", output="ok"))
    await agent(None)
    assert_requests_are_fine(model, 2_000)
    kept = [one for message in model.last.messages for one in message.get("tool_calls") or ()]
    for one in kept:
        assert isinstance(json.loads(one["function"]["arguments"]), dict)
    files = list((reme.vault.root / "session" / "tool_result").glob("*"))
    on_disk = "".join(path.read_text("utf-8") for path in files)
    whole = json.dumps(arguments, ensure_ascii=False)
    parts = [value if isinstance(value, str) else json.dumps(value, ensure_ascii=False) for value in arguments.values()]
    assert whole in on_disk or all(part in on_disk for part in parts if len(part) > 400)


@pytest.mark.parametrize("count", [1, 3, 12])
async def test_promise_05_pictures_give_way_when_they_alone_exceed_the_window(vault_dir, count):
    reme = reme_over(vault_dir, 2_000)
    model = ScriptedModel(default="Seen.")
    agent = agent_of(reme, model)
    content = [dict(PICTURE, n=i) for i in range(count)] + [{"type": "text", "text": "what is on them?"}]
    await agent(Msg("user", content, "user"))
    assert_requests_are_fine(model, 2_000)
    shown = model.last.messages[-1]["content"]
    pictures = [part for part in shown if part["type"] == "image_url"]
    assert len(pictures) == (1 if count == 1 else 0)
    assert "what is on them?" in model.last.role_text("user")
    if count > 1:
        assert "[image moved to session/tool_result/" in model.last.role_text("user")


async def test_promise_05_older_pictures_give_way_before_words_and_before_the_newest(vault_dir):
    reme = reme_over(vault_dir, 8_000, media_tokens=1_500)
    model = ScriptedModel(default="Seen.")
    agent = agent_of(reme, model)
    for i in range(4):
        await agent(Msg("user", [dict(PICTURE), {"type": "text", "text": f"picture {i}"}], "user"))
        assert_requests_are_fine(model, 8_000)
    newest = model.last.messages[-1]["content"]
    assert any(part["type"] == "image_url" for part in newest)


async def test_promise_05_a_checkpoint_someone_else_wrote_may_be_too_long(vault_dir):
    reme = reme_over(vault_dir, 2_000)
    model = ScriptedModel(default="Fine.")
    agent = agent_of(reme, model)
    await agent.memory.update_compressed_summary("## Goal\n" + "Never forget the code 7319. " * 600)
    await agent(user("go on"))
    assert_requests_are_fine(model, 2_000)
    assert "7319" in agent.memory.get_compressed_summary()


async def test_promise_05_many_standing_instructions_cannot_fill_the_window(vault_dir):
    reme = reme_over(vault_dir, 2_000)
    model = ScriptedModel(default="Fine.")
    agent = agent_of(reme, model)
    await agent.memory.add([Msg("system", f"Rule {i}: keep to it, always.", "system") for i in range(200)])
    await agent(user("go on"))
    assert_requests_are_fine(model, 2_000)


async def test_promise_05_one_message_larger_than_the_window_in_each_role(vault_dir):
    reme = reme_over(vault_dir, 1_500)
    model = ScriptedModel(default="Fine.")
    agent = agent_of(reme, model)
    for big in (user("u " * 9_000), said("a " * 9_000), Msg("system", "s " * 9_000, "system")):
        await agent.memory.add(big)
        await agent(user("and now?"))
    assert_requests_are_fine(model, 1_500)


async def test_promise_05_a_window_that_prompt_and_schemas_exceed_is_said_and_nothing_changes(vault_dir):
    events = []
    reme = reme_over(vault_dir, 1_000, on_event=events.append)
    memory = reme.get_in_memory_memory("s1")
    await memory.add([user("hello " * 50), calls("a"), result("a", output="x " * 5_000)])
    await memory.add([one for i in range(5) for one in (calls(f"c{i}"), result(f"c{i}"))])
    await memory.add(user("theirs"))
    await memory.update_compressed_summary("## Goal\nTheirs.")
    await memory.update_messages_mark("compressed", msg_ids=[memory.content[0][0].id])
    before = json.dumps(memory.state_dict())
    outcome = await reme.compaction.keep_within_window(memory, system_prompt="Rule. " * 2_000)
    assert outcome == Skipped("window_too_small")
    assert [event.kind for event in events] == ["window_too_small"]
    assert events[0].tokens_before > 1_000
    assert json.dumps(memory.state_dict()) == before
    assert not (reme.vault.root / "session").exists()


async def test_promise_05_too_little_room_for_what_has_to_stay_is_said_too(vault_dir):
    events = []
    reme = reme_over(vault_dir, 1_000, on_event=events.append)
    memory = reme.get_in_memory_memory("s1")
    await memory.add([user("word " * 900)])
    await reme.compaction.keep_within_window(memory, system_prompt="r" * 2_960)
    assert events[-1].kind == "window_too_small"
    assert events[-1].tokens_after > 1_000


async def test_promise_05_what_is_reported_is_never_less_than_what_is_sent(vault_dir):
    reme = reme_over(vault_dir, 4_000)
    model = ScriptedModel(default="Fine.")
    agent = agent_of(reme, model, look)
    await agent.memory.add([user("a"), calls("x", "y", q="q"), result("x"), result("y", output="out " * 100)])
    for _ in range(3):
        await agent(user("next " * 100))
        used = await agent.memory.estimate_tokens()
        reply = used.messages_detail[-1]["total_tokens"]
        assert sent_tokens(model.last, ByteCounter()) <= used.estimated_tokens - reply
