"""The compaction of one memory: when, how much, in what order, and what is told of it."""

import asyncio
import json

import pytest
from agentscope.message import Msg

from agentscope_reme.memory.breaker import Breaker
from agentscope_reme.memory.plan import plan
from agentscope_reme.memory.window import bare_cut, cut
from agentscope_reme.models import Compacted, CompactionEvent, Failed, Skipped
from tests.hooks.agents import ByteCounter, Held, checkpoint, everything_of, kept_files, reme_over, user
from tests.memory.conversations import calls, result, said
from tests.support.scripted_model import ScriptedModel


def talk(count, tokens=100, mark="talk"):
    texts = [f"{mark} {i}. " + "word " * (tokens * 3 // 5) for i in range(count)]
    return [user(text) if i % 2 == 0 else said(text) for i, text in enumerate(texts)]


def good():
    return ScriptedModel(default=checkpoint())


async def step(reme, memory, **options):
    return await reme.compaction.keep_within_window(memory, **options)


# --- When, and how much -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("window", "ratio", "fixed", "trigger", "reserve", "cap"),
    [
        (128_000, 0.7, 2_000, 89_600, 10_000, 4_000),
        (8_000, 0.7, 1_000, 5_600, 1_400, 1_000),
        (8_000, 0.7, 6_000, 7_000, 333, 333),
        (1_000, 0.7, 0, 700, 175, 125),
        (1_000, 0.7, 990, 995, 1, 64),
        (1_000, 0.5, 0, 500, 125, 125),
    ],
)
def test_the_sizes_of_a_step(vault_dir, window, ratio, fixed, trigger, reserve, cap):
    memory = reme_over(vault_dir, window).get_in_memory_memory(max_input_length=window, compact_ratio=ratio)
    sizes = plan(memory, fixed)
    assert (sizes.trigger, sizes.reserve, sizes.cap) == (trigger, reserve, cap)
    assert fixed <= sizes.trigger <= sizes.hard <= window


async def test_nothing_happens_below_the_threshold(vault_dir):
    summariser = good()
    reme = reme_over(vault_dir, 4_000, summariser)
    memory = reme.get_in_memory_memory("s1")
    await memory.add(talk(24, 90))
    before = json.dumps(memory.state_dict())
    assert (await memory.estimate_tokens()).estimated_tokens < 2_800
    assert await step(reme, memory) == Skipped("below_threshold")
    assert json.dumps(memory.state_dict()) == before
    assert not summariser.requests
    assert not vault_dir.exists()


async def test_what_is_kept_is_the_request_and_the_newest_that_fit(vault_dir):
    reme = reme_over(vault_dir, 4_000, good())
    memory = reme.get_in_memory_memory("s1")
    rounds = [one for i in range(30) for one in (calls(f"c{i}"), result(f"c{i}", output="row " * 30))]
    await memory.add([*talk(8), user("the request"), *rounds])
    held = [message for message, _ in memory.content]
    outcome = await step(reme, memory)
    assert isinstance(outcome, Compacted)
    kept = [message for message, _ in memory.content]
    assert kept[0].content == "the request"
    tail = len(kept) - 1
    assert kept[1:] == held[-tail:]
    assert kept[1].get_content_blocks("tool_use")
    assert "Part of the work on the latest request below is done" in memory.envelope().get_text_content()
    assert outcome.moved == len(held) - len(kept)


async def test_a_fold_before_the_current_turn_does_not_speak_of_it(vault_dir):
    reme = reme_over(vault_dir, 4_000, good())
    memory = reme.get_in_memory_memory("s1")
    await memory.add([*talk(30), user("the request")])
    await step(reme, memory)
    assert "latest request" not in memory.envelope().get_text_content()


async def test_recalled_text_goes_with_the_fold_and_is_not_told(vault_dir):
    summariser = good()
    reme = reme_over(vault_dir, 20_000, summariser)
    memory = reme.get_in_memory_memory("s1")
    await memory.add(user("RECALLED " * 50), marks="recall")
    await memory.add(talk(60, 300))
    await step(reme, memory)
    assert not any("RECALLED" in str(message.content) for message, _ in memory.content)
    assert not any("RECALLED" in request.text for request in summariser.requests)
    assert "RECALLED" not in json.dumps([line.msg for line in memory.journal.read()])


async def test_messages_that_say_nothing_leave_without_asking_a_model(vault_dir):
    summariser = good()
    reme = reme_over(vault_dir, 4_000, summariser)
    memory = reme.get_in_memory_memory("s1")
    await memory.update_compressed_summary(checkpoint("As before."))
    await memory.add([user("RECALLED " * 120) for _ in range(12)], marks="recall")
    await memory.add(user("the request"))
    before = memory.envelope().to_dict()
    outcome = await step(reme, memory)
    assert isinstance(outcome, Compacted)
    assert not summariser.requests
    assert memory.envelope().to_dict() == {**before, "timestamp": memory.envelope().timestamp}
    assert [message.content for message, _ in memory.content] == ["the request"]
    assert memory.journal.count() == 0  # it stands in the vault, and nobody said it


async def test_a_request_by_hand_compacts_below_the_threshold_with_an_instruction(vault_dir):
    summariser = good()
    reme = reme_over(vault_dir, 20_000, summariser)
    memory = reme.get_in_memory_memory("s1")
    await memory.add(talk(80, 100))
    assert await step(reme, memory) == Skipped("below_threshold")
    outcome = await reme.compaction.compact(memory, extra_instruction="Keep the prices.")
    assert isinstance(outcome, Compacted)
    assert outcome.reason == "requested"
    assert "Keep the prices." in summariser.last.text
    assert await reme.compaction.compact(reme.get_in_memory_memory("empty")) == Skipped("nothing_to_fold")


async def test_without_a_vault_nothing_is_folded():
    from agentscope_reme import ReMe, ReMeInMemoryMemory

    memory = ReMeInMemoryMemory(max_input_length=1_000)
    memory.budget._text = ByteCounter()
    await memory.add(talk(20))
    outcome = await ReMe("unused").compaction.keep_within_window(memory)
    assert isinstance(outcome, Failed)
    assert outcome.reason == "no_vault"
    assert len(memory.content) == 20


@pytest.mark.parametrize(("language", "told"), [("auto", "zh"), ("en", "en"), ("zh", "zh")])
async def test_checkpoint_and_envelope_are_in_the_users_language(vault_dir, language, told):
    summariser = good()
    reme = reme_over(vault_dir, 4_000, summariser, language=language)
    memory = reme.get_in_memory_memory("s1")
    await memory.add([user("请继续整理资料，" * 40) if i % 2 == 0 else said("word " * 60) for i in range(24)])
    await step(reme, memory)
    assert ("用中文书写" in summariser.requests[0].text) == (told == "zh")
    assert ("这是本次对话较早部分的背景" in memory.envelope().get_text_content()) == (told == "zh")


async def test_the_language_stays_when_the_user_says_nothing_new(vault_dir):
    summariser = good()
    reme = reme_over(vault_dir, 4_000, summariser)
    memory = reme.get_in_memory_memory("s1")
    await memory.add([user("请继续整理资料，" * 40) for _ in range(12)])
    await step(reme, memory)
    await memory.delete([message.id for message, _ in memory.content])
    await memory.add([said("english words only " * 20) for _ in range(30)])
    await step(reme, memory)
    assert len(summariser.requests) >= 2
    assert "用中文书写" in summariser.last.text


# --- The transaction --------------------------------------------------------------------------------------------------


async def test_messages_and_checkpoint_change_in_one_step(vault_dir):
    """Whoever looks while the compaction runs sees all of the old state or all of the new one."""
    held = Held(checkpoint("New."))
    reme = reme_over(vault_dir, 20_000, ScriptedModel([held]))
    memory = reme.get_in_memory_memory("s1")
    await memory.update_compressed_summary(checkpoint("Old."))
    await memory.add(talk(12, 1_250))
    seen = set()

    async def watch(task):
        while not task.done():
            seen.add((len(memory.content), "New." in memory.get_compressed_summary()))
            await asyncio.sleep(0)

    task = asyncio.create_task(step(reme, memory))
    await held.asked.wait()
    held.go.set()
    await watch(task)
    seen.add((len(memory.content), "New." in memory.get_compressed_summary()))
    assert seen == {(12, False), (len(memory.content), True)}
    assert len(memory.content) < 12


async def test_a_checkpoint_that_someone_replaces_meanwhile_wins(vault_dir):
    held = Held(checkpoint("Late."))
    reme = reme_over(vault_dir, 20_000, ScriptedModel([held]))
    memory = reme.get_in_memory_memory("s1")
    await memory.add(talk(12, 1_250))
    task = asyncio.create_task(step(reme, memory))
    await held.asked.wait()
    await memory.update_compressed_summary("## Goal\nTheirs.")
    held.go.set()
    outcome = await task
    assert isinstance(outcome, Failed)
    assert outcome.reason == "changed_meanwhile"
    assert memory.get_compressed_summary() == "## Goal\nTheirs."
    assert len(memory.content) == 12
    assert not memory.journal.read()


@pytest.mark.parametrize("what", ["another session is loaded", "all is cleared", "a message is deleted"])
async def test_what_changes_while_the_journal_is_written_gets_no_checkpoint_of_what_was(vault_dir, monkeypatch, what):
    reme = reme_over(vault_dir, 20_000, ScriptedModel(default=checkpoint("Of session one.")))
    memory = reme.get_in_memory_memory("one")
    await memory.add(talk(12, 1_250))
    first = memory.content[0][0]
    other = reme.get_in_memory_memory("two")
    await other.add(user("another conversation"))
    state, written = other.state_dict(), memory.write_journal

    async def write(entries):
        await written(entries)
        if what == "another session is loaded":
            memory.load_state_dict(state)
        elif what == "all is cleared":
            await memory.clear()
        else:
            await memory.delete([first.id])

    monkeypatch.setattr(memory, "write_journal", write)
    outcome = await step(reme, memory)
    assert isinstance(outcome, Failed)
    assert outcome.reason == "changed_meanwhile"
    assert memory.get_compressed_summary() == ""
    assert len(memory.content) == {"another session is loaded": 1, "all is cleared": 0}.get(what, 11)
    if what == "another session is loaded":
        assert memory.session_id == "two"
        assert not memory.journal.read(), "nothing of the one is in the journal of the other"
    await memory.add(first)
    assert memory.content[-1][0].id == first.id, "what did not leave comes in again"


async def test_marks_set_meanwhile_do_not_stop_it(vault_dir):
    held = Held(checkpoint())
    reme = reme_over(vault_dir, 20_000, ScriptedModel([held]))
    memory = reme.get_in_memory_memory("s1")
    await memory.add(talk(12, 1_250))
    task = asyncio.create_task(step(reme, memory))
    await held.asked.wait()
    await memory.update_messages_mark("mine")
    held.go.set()
    assert isinstance(await task, Compacted)
    assert all(marks == ["mine"] for _, marks in memory.content)
    assert all(line.marks == ("mine",) for line in memory.journal.read())


async def test_a_second_fold_carries_the_first_checkpoint_on(vault_dir):
    summariser = ScriptedModel(default=checkpoint("First."))
    reme = reme_over(vault_dir, 20_000, summariser)
    memory = reme.get_in_memory_memory("s1")
    await memory.add(talk(12, 1_250))
    await step(reme, memory)
    summariser.default = checkpoint("Second.")
    await memory.add(talk(10, 1_250))
    await step(reme, memory)
    assert "First." in summariser.last.text
    assert "Second." in memory.get_compressed_summary()
    assert len(await everything_of(reme, memory)) == 22


# --- What is told -----------------------------------------------------------------------------------------------------


async def test_events_say_what_happened_in_tokens_messages_and_paths(vault_dir):
    events: list[CompactionEvent] = []
    reme = reme_over(vault_dir, 4_000, good(), on_event=events.append)
    memory = reme.get_in_memory_memory("s1")
    await memory.add(talk(30))
    before = (await memory.estimate_tokens()).estimated_tokens
    outcome = await step(reme, memory)
    (event,) = events
    assert event.kind == "compacted"
    assert event.session_id == "s1"
    assert event.reason == "threshold"
    assert (event.tokens_before, event.tokens_after) == (before, (await memory.estimate_tokens()).estimated_tokens)
    assert event.messages_moved == outcome.moved == 30 - len(memory.content)
    assert event.paths == ("session/dialog/s1.jsonl",)
    assert event.seconds > 0
    await memory.add(
        [user("go"), *[one for i in range(6) for one in (calls(f"c{i}"), result(f"c{i}", output="x " * 1_600))]]
    )
    events.clear()
    await step(reme, memory)
    assert events
    assert all(path.startswith("session/") for event in events for path in event.paths)


async def test_old_results_that_move_are_told(vault_dir):
    events = []
    reme = reme_over(vault_dir, 40_000, on_event=events.append)
    memory = reme.get_in_memory_memory("s1")
    await memory.add(
        [user("go"), *[one for i in range(6) for one in (calls(f"c{i}"), result(f"c{i}", output=f"{i} " * 3_000))]]
    )
    await memory.add(said("done"))
    await step(reme, memory)
    (event,) = events
    assert event.kind == "offloaded"
    assert event.results_offloaded == 3
    assert len(event.paths) == 3
    await step(reme, memory)
    assert len(events) == 1, "and only once"


async def test_what_left_is_handed_on_as_plain_values_after_it_is_durable(vault_dir):
    reme = reme_over(vault_dir, 4_000, good())
    left = []

    def note(values):
        left.append((values, reme.vault.journal("s1").count()))

    reme.compaction.reporter.on_left = note
    memory = reme.get_in_memory_memory("s1")
    await memory.add(talk(30), marks="mine")
    outcome = await step(reme, memory)
    ((values, journalled),) = left
    assert values.session_id == "s1"
    assert journalled == outcome.moved == len(values.messages)
    assert values.messages[0]["marks"] == ["mine"]
    assert values.messages[0]["content"][0]["text"].startswith("talk 0.")
    json.dumps(values.messages)


async def test_a_card_of_what_left_is_written_in_the_background(vault_dir):
    reme = reme_over(vault_dir, 4_000, good(), write_memory_on_compaction=True)
    memory = reme.get_in_memory_memory("s1")
    await memory.add([user("Remember: my sister Nora lives in Ghent, Coupure 14."), *talk(30)])
    await step(reme, memory)
    told = await reme.await_summary_tasks()
    assert told
    cards = list((vault_dir / "daily").glob("*/*.md"))
    assert any("Coupure 14" in path.read_text("utf-8") for path in cards)
    await reme.close()


# --- Back-off ---------------------------------------------------------------------------------------------------------


def test_the_gaps_between_tries_grow_and_then_pause():
    now = [0.0]
    breaker = Breaker(clock=lambda: now[0])
    tries = []
    for step_number in range(1, 40):
        breaker.next_step()
        if breaker.allows():
            tries.append(step_number)
            breaker.failed(limit=3, steps=10, seconds=300)
    assert tries == [1, 2, 4, 14, 24, 34]
    assert not breaker.allows()
    now[0] = 301.0
    assert breaker.allows(), "or when the time is over"
    breaker.succeeded()
    assert breaker.allows()
    assert breaker.failures == 0


# --- The last resort --------------------------------------------------------------------------------------------------


def test_the_bare_cut_keeps_the_request_hints_and_what_stands():
    messages = [
        Msg("system", "Rule.", "system"), user("old"), calls("p"), result("p"), user("the request"), calls("a", "b"),
        result("a"), result("b"), user("hint"),
    ]  # fmt: skip
    marks = {2: ["pinned"], 8: ["hint"]}
    entries = [(message, marks.get(i, [])) for i, message in enumerate(messages)]
    assert bare_cut(entries, standing=True).keep == [0, 2, 3, 4, 8]
    assert bare_cut(entries, standing=False).keep == [4, 8]
    assert bare_cut(entries, standing=False).inside_turn
    assert bare_cut([], standing=True).keep == []
    assert cut(entries, [1] * 9, 0).fold == [1]


async def test_a_text_that_has_to_become_shorter_still_is_cut_from_its_full_text(vault_dir):
    """One file for one text, however often it is cut; the notice always leads to the whole."""
    reme = reme_over(vault_dir, 8_000)
    memory = reme.get_in_memory_memory("s1")
    text = "BEGIN " + "word " * 8_000 + "END"
    await memory.add([user(text), calls("a", content=text, mode="w"), result("a")])
    for window in (8_000, 4_000, 2_000):
        memory.set_window(window)
        await step(reme, memory)
        await memory.add(said("ok"))
        shown = str([message.content for message, _ in memory.content])
        assert shown.count("characters left out") <= 2
        assert "BEGIN" in shown
    files = list((vault_dir / "session" / "tool_result").glob("*.txt"))
    assert [path.read_text("utf-8") for path in files] == [text]
    assert text in kept_files(reme)


async def test_a_kept_message_that_fits_is_not_rewritten(vault_dir):
    reme = reme_over(vault_dir, 4_000, good())
    memory = reme.get_in_memory_memory("s1")
    kept = [user("as text"), Msg("Remy", [{"type": "text", "text": "as blocks", "extra": 1}], "assistant")]
    await memory.add([*talk(30), *kept, user("go"), calls("a"), result("a", output="row " * 6_000)])
    before = {message.id: (message, json.dumps(message.to_dict())) for message, _ in memory.content}
    await step(reme, memory)
    for message, _ in memory.content[:-1]:
        assert before[message.id][0] is message
        assert before[message.id][1] == json.dumps(message.to_dict())
    assert "session/tool_result/" in str(memory.content[-1][0].content)
