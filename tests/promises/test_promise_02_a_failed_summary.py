"""P2: a failed, empty, oversized or cut-off summary changes nothing: messages and the old summary are as before."""

import asyncio
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentscope_reme.memory.checkpoint import Accepted, Rejected, accept
from agentscope_reme.models import Compacted, Failed
from tests.hooks.agents import ByteCounter, agent_of, checkpoint, everything_of, reme_over, user
from tests.memory.conversations import said
from tests.support.scripted_model import Cut, Later, ScriptedModel

WINDOW = 20_000


def talk(tokens=1_250, count=12):
    texts = [f"turn {i}: code A-{1000 + i}. " + "talk " * (tokens * 3 // 5) for i in range(count)]
    return [user(text) if i % 2 == 0 else said(text) for i, text in enumerate(texts)]


def state(memory):
    return json.dumps(memory.state_dict(), sort_keys=True)


oversized = checkpoint(facts="very long " * 4_000)
cut_off = checkpoint()[: checkpoint().index("## Critical")]
FAILURES = {
    "raises": RuntimeError("429"),
    "no answer": [],
    "empty": "",
    "blank": " \n\t ",
    "only headings": "## Goal\n\n## Progress\n\n## Next Steps\n\n## Critical Context\n",
    "says nothing": "## Goal\n(none)\n## Progress\nNone\n## Next Steps\n无。\n## Critical Context\n- (none)\n",
    "cut off": cut_off,
    "an apology": "I'm sorry, I can't help with that.",
    "an error text": "Error: upstream connect error or disconnect/reset before headers",
    "a tool call": {"type": "tool_use", "id": "x", "name": "look", "input": {}},
    "thinking only": {"type": "thinking", "thinking": checkpoint()},
    "unfinished thinking": f"<think>{checkpoint()}",
}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("kind", FAILURES)
async def test_promise_02_what_a_failed_summary_leaves(vault_dir, kind, stream):
    model = ScriptedModel([FAILURES[kind], checkpoint()], stream=stream)
    reme = reme_over(vault_dir, WINDOW, model)
    memory = reme.get_in_memory_memory("s1")
    await memory.add(talk())
    await memory.update_compressed_summary(checkpoint("The old goal."))
    objects = [message for message, _ in memory.content]
    shown = [message.to_dict() for message in await memory.get_memory()]
    before = state(memory)
    assert isinstance(await reme.compaction.keep_within_window(memory), Failed)
    assert state(memory) == before
    assert all(one is other for one, (other, _) in zip(objects, memory.content, strict=True))
    assert [message.to_dict() for message in await memory.get_memory()] == shown, (
        "the prompt is the same, byte for byte"
    )
    assert not (reme.vault.root / "session" / "dialog").exists()


async def test_promise_02_an_oversized_summary_is_asked_for_once_more_and_then_given_up(vault_dir):
    model = ScriptedModel([oversized, oversized, checkpoint()])
    reme = reme_over(vault_dir, WINDOW, model)
    memory = reme.get_in_memory_memory("s1")
    await memory.add(talk())
    before = state(memory)
    outcome = await reme.compaction.keep_within_window(memory)
    assert isinstance(outcome, Failed)
    assert outcome.reason == "oversized"
    assert state(memory) == before
    assert "Your last answer was too long" in model.requests[1].text
    assert isinstance(await reme.compaction.keep_within_window(memory), Compacted)


async def test_promise_02_an_oversized_summary_that_is_then_short_enough_is_taken(vault_dir):
    reme = reme_over(vault_dir, WINDOW, ScriptedModel([oversized, checkpoint("Short.")]))
    memory = reme.get_in_memory_memory("s1")
    await memory.add(talk())
    assert isinstance(await reme.compaction.keep_within_window(memory), Compacted)
    assert "Short." in memory.get_compressed_summary()


async def test_promise_02_a_stream_that_breaks_near_its_end(vault_dir):
    model = ScriptedModel([Cut(checkpoint())], stream=True)
    reme = reme_over(vault_dir, WINDOW, model)
    memory = reme.get_in_memory_memory("s1")
    await memory.add(talk())
    before = state(memory)
    assert isinstance(await reme.compaction.keep_within_window(memory), Failed)
    assert state(memory) == before


async def test_promise_02_the_second_of_two_pieces_fails(vault_dir):
    """A conversation that is told in pieces is folded whole or not at all."""
    model = ScriptedModel([checkpoint("First piece."), RuntimeError("500")])
    reme = reme_over(vault_dir, 4_000, model)
    memory = reme.get_in_memory_memory("s1")
    await memory.add(talk(280))
    before = state(memory)
    assert isinstance(await reme.compaction.keep_within_window(memory), Failed)
    assert len(model.requests) == 2
    assert state(memory) == before


async def test_promise_02_while_waiting_to_retry_nothing_changes_either(vault_dir):
    from tests.memory.conversations import calls, result

    model = ScriptedModel(default=RuntimeError("500"))
    reme = reme_over(vault_dir, WINDOW, model)
    memory = reme.get_in_memory_memory("s1")
    results = [one for i in range(3) for one in (calls(f"c{i}"), result(f"c{i}", output="row, " * 3_000))]
    await memory.add([user("go"), *results])
    before = state(memory)
    for _ in range(8):
        await reme.compaction.keep_within_window(memory)
    assert len(model.requests) == 3
    assert state(memory) == before


async def test_promise_02_an_overflow_meanwhile_is_bridged_without_the_model_and_made_good_later(vault_dir):
    """A checkpoint made without the model, because it failed, is made again by it from the journal."""
    model = ScriptedModel([RuntimeError("500")])
    reme = reme_over(vault_dir, WINDOW, model)
    memory = reme.get_in_memory_memory("s1")
    await memory.update_compressed_summary(checkpoint("The goal before."))
    await memory.add(talk(2_500))
    outcome = await reme.compaction.keep_within_window(memory)
    assert isinstance(outcome, Compacted)
    assert outcome.generator == "extractive"
    assert "<!-- extractive -->" in memory.get_compressed_summary()
    saved = json.loads(json.dumps(memory.state_dict()))
    assert saved["reme"]["summary"]["owed"]

    # Another process, another day: the debt is part of the state.
    again = reme_over(vault_dir, WINDOW, model)
    loaded = again.get_in_memory_memory()
    loaded.load_state_dict(saved)
    model.default = checkpoint("Made again.")
    await again.compaction.keep_within_window(loaded)
    assert "Made again." in loaded.get_compressed_summary()
    assert "extractive" not in loaded.get_compressed_summary()
    told = "\n".join(request.role_text("user") for request in model.requests[1:])
    left = loaded.journal.count()
    assert left > 5
    assert all(f"turn {i}: code A-{1000 + i}" in told for i in range(left))
    assert "The goal before." in told, "from the checkpoint that was there before the failure"
    assert "<!-- extractive -->" not in told
    state_after = loaded.state_dict()["reme"]["summary"]
    assert state_after["owed"] == []
    assert state_after["base"] == ""
    count = len(model.requests)
    await again.compaction.keep_within_window(loaded)
    assert len(model.requests) == count


async def test_promise_02_a_debt_grows_over_several_failures_and_stays_bounded(vault_dir, monkeypatch):
    from agentscope_reme.memory import owed

    monkeypatch.setattr(owed, "MOST_OWED", 24)
    model = ScriptedModel(default=RuntimeError("500"))
    reme = reme_over(vault_dir, 4_000, model, breaker_seconds=0)
    memory = reme.get_in_memory_memory("s1")
    seen = []
    for _ in range(3):
        await memory.add(talk(500, 10))
        await reme.compaction.keep_within_window(memory)
        seen.append(len(memory.summary_note.owed))
    assert max(seen) <= 24
    assert seen[1] > seen[0] > 0
    model.default = checkpoint("Made again.")
    await reme.compaction.keep_within_window(memory)
    assert "Made again." in memory.get_compressed_summary()
    assert memory.summary_note.owed == []
    assert len(await everything_of(reme, memory)) == 30


async def test_promise_02_a_debt_is_paid_with_the_next_fold(vault_dir):
    model = ScriptedModel([RuntimeError("500"), RuntimeError("500")], default=checkpoint("All of it."))
    reme = reme_over(vault_dir, 8_000, model)
    memory = reme.get_in_memory_memory("s1")
    await memory.add(talk(1_000))
    await reme.compaction.keep_within_window(memory)
    owed = list(memory.summary_note.owed)
    assert owed
    await memory.add(talk(800, 8))
    outcome = None
    for _ in range(3):
        outcome = await reme.compaction.keep_within_window(memory)
        if "All of it." in memory.get_compressed_summary():
            break
    assert isinstance(outcome, Compacted)
    told = "\n".join(request.role_text("user") for request in model.requests[2:])
    assert "turn 0: code A-1000" in told


async def test_promise_02_what_was_forgotten_is_not_owed_any_more(vault_dir):
    model = ScriptedModel([RuntimeError("500")])
    reme = reme_over(vault_dir, WINDOW, model)
    memory = reme.get_in_memory_memory("s1")
    await memory.add(talk(2_500))
    await reme.compaction.keep_within_window(memory)
    assert memory.summary_note.owed
    (reme.vault.root / memory.journal.path).unlink()
    before = memory.get_compressed_summary()
    await reme.compaction.keep_within_window(memory)
    assert memory.get_compressed_summary() == before
    assert memory.summary_note.owed == []
    assert len(model.requests) == 1


async def test_promise_02_a_debt_larger_than_the_window_does_not_stop_the_model_for_good(vault_dir):
    """Told with every fold, a long past would have the time run out each time."""
    model = ScriptedModel(default=RuntimeError("500"))
    reme = reme_over(vault_dir, 4_000, model, breaker_seconds=0)
    memory = reme.get_in_memory_memory("s1")
    for _ in range(12):
        await memory.add(talk(500, 10))
        await reme.compaction.keep_within_window(memory)
    model.default = checkpoint("Of what is new.")
    model.requests.clear()
    await memory.add(talk(300, 10))
    await reme.compaction.keep_within_window(memory)
    assert "Of what is new." in memory.get_compressed_summary()
    assert len(model.requests) <= 4
    assert memory.summary_note.owed == []


async def test_promise_02_a_debt_that_takes_too_long_is_given_up(vault_dir):
    slow = Later(checkpoint("Late."), seconds=60)
    model = ScriptedModel([RuntimeError("500"), slow], default=checkpoint("Of what is new."))
    reme = reme_over(vault_dir, WINDOW, model, compaction_timeout=1.0)
    memory = reme.get_in_memory_memory("s1")
    await memory.add(talk(2_500))
    await reme.compaction.keep_within_window(memory)
    assert memory.summary_note.owed
    before = memory.get_compressed_summary()
    assert isinstance(await reme.compaction.keep_within_window(memory), Failed)
    assert memory.get_compressed_summary() == before
    assert memory.summary_note.owed == []


async def test_promise_02_a_journal_that_cannot_be_read_stops_nothing(vault_dir, monkeypatch):
    from agentscope_reme.errors import NoteError
    from agentscope_reme.vault.dialog import Journal

    def refuse(self, *_, **__):
        raise NoteError("the disk refuses")

    model = ScriptedModel([RuntimeError("500")], default=checkpoint("Anyway."))
    reme = reme_over(vault_dir, WINDOW, model)
    memory = reme.get_in_memory_memory("s1")
    await memory.add(talk(2_500))
    await reme.compaction.keep_within_window(memory)
    monkeypatch.setattr(Journal, "read", refuse)
    await memory.add(talk(1_250))
    assert isinstance(await reme.compaction.keep_within_window(memory), Compacted)
    assert "Anyway." in memory.get_compressed_summary()


async def test_promise_02_without_a_model_nothing_is_owed(vault_dir):
    reme = reme_over(vault_dir, WINDOW)
    memory = reme.get_in_memory_memory("s1")
    await memory.add(talk(2_500))
    assert isinstance(await reme.compaction.keep_within_window(memory), Compacted)
    assert memory.summary_note.owed == []


async def test_promise_02_a_failed_debt_changes_nothing(vault_dir):
    model = ScriptedModel(default=RuntimeError("500"))
    reme = reme_over(vault_dir, WINDOW, model)
    memory = reme.get_in_memory_memory("s1")
    await memory.add(talk(2_500))
    await reme.compaction.keep_within_window(memory)
    before = state(memory)
    assert isinstance(await reme.compaction.keep_within_window(memory), Failed)
    assert state(memory) == before


async def test_promise_02_the_agent_never_hears_of_it(vault_dir):
    events = []
    reme = reme_over(vault_dir, WINDOW, ScriptedModel(default=RuntimeError("secret-key-123")), on_event=events.append)
    model = ScriptedModel(default="Fine.")
    agent = agent_of(reme, model)
    await agent.memory.add(talk())
    await agent(user("and now?"))
    assert [event.kind for event in events] == ["failed"]
    assert "secret-key-123" not in model.last.text
    assert events[0].tokens_before == events[0].tokens_after


@given(st.text(max_size=400) | st.lists(st.sampled_from(checkpoint().split("\n")), max_size=25).map("\n".join))
def test_promise_02_whatever_a_model_writes_becomes_a_whole_checkpoint_or_none(text):
    async def count(value):
        return ByteCounter().count_text(value)

    outcome = asyncio.run(accept(text, must_keep=["A-1000"], replaced_tokens=500, cap=300, count=count))
    assert isinstance(outcome, Accepted | Rejected)
    if isinstance(outcome, Accepted):
        for name in ("Goal", "Constraints", "Progress", "Key Decisions", "Next Steps", "Critical Context"):
            assert outcome.text.count(f"## {name}\n") == 1
        assert ByteCounter().count_text(outcome.text) <= 300
