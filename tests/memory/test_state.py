"""A memory's state: what is saved comes back, here, in the stock class and in another process; nothing is shared."""

import asyncio
import copy
import inspect
import json
import pickle
from dataclasses import dataclass
from datetime import date, datetime
from enum import Enum
from pathlib import Path
from typing import Any

import pytest
from agentscope.agent import ReActAgent
from agentscope.formatter import OpenAIChatFormatter
from agentscope.memory import InMemoryMemory
from agentscope.message import Msg
from agentscope.session import JSONSession

from agentscope_reme import ReMe, ReMeInMemoryMemory
from agentscope_reme.memory.checkpoint import SECTIONS
from agentscope_reme.vault import Vault
from tests.support.scripted_model import ScriptedModel


def user(text: str, **kwargs: Any) -> Msg:
    return Msg("user", text, "user", **kwargs)


def said(text: str, **kwargs: Any) -> Msg:
    return Msg("Remy", [{"type": "text", "text": text}], "assistant", **kwargs)


def called(call_id: str) -> Msg:
    use: Any = {"type": "tool_use", "id": call_id, "name": "look", "input": {"q": "天气"}}
    return Msg("Remy", [use], "assistant")


def answered(call_id: str, output: Any = "found") -> Msg:
    block: Any = {"type": "tool_result", "id": call_id, "name": "look", "output": output}
    return Msg("system", [block], "system")


async def a_conversation(memory: Any) -> None:
    await memory.add([user("你好，记住：钥匙在蓝色的锅炉后面。"), said("Noted 😀")])
    await memory.add([called("c1"), answered("c1", [{"type": "text", "text": "rain"}])])
    await memory.add(user("hint"), marks="hint")
    await memory.add(user("mystery"), marks=["compressed", "mystery"])


def shown(memory: Any) -> list[Any]:
    return [[message.to_dict(), list(marks)] for message, marks in memory.content]


def text(value: Any) -> str:
    """Strict JSON: no bare NaN, nothing that is not JSON."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, sort_keys=True)


@pytest.fixture
def vault(vault_dir: Path) -> Vault:
    return Vault(vault_dir)


# --- round trips ----------------------------------------------------------------------------------------------------


async def test_a_state_comes_back_through_a_json_session(vault: Vault, tmp_path: Path) -> None:
    session = JSONSession(str(tmp_path / "sessions"))
    memory = ReMeInMemoryMemory(vault, session_id="s1")
    await a_conversation(memory)
    await memory.update_compressed_summary("## Goal\n收拾行李")
    await memory.mark_messages_compressed([memory.content[0][0]])
    await session.save_session_state("s1", memory=memory)
    again = ReMeInMemoryMemory(vault)
    await session.load_session_state("s1", memory=again)
    assert text(again.state_dict()) == text(memory.state_dict())
    assert again.session_id == "s1"
    assert shown(again) == shown(memory)
    assert (await again.get_memory())[0].content == (await memory.get_memory())[0].content
    assert (await again.get_memory())[0].id == (await memory.get_memory())[0].id


async def test_a_whole_agent_comes_back_through_a_json_session(vault_dir: Path, tmp_path: Path) -> None:
    session = JSONSession(str(tmp_path / "sessions"))

    def agent_over(reme: ReMe, model: ScriptedModel) -> ReActAgent:
        agent = ReActAgent("Remy", "You are Remy.", model, OpenAIChatFormatter())
        agent.set_console_output_enabled(False)
        reme.attach(agent, session_id="s1")
        return agent

    async with ReMe(vault_dir) as reme:
        agent = agent_over(reme, ScriptedModel(default="Noted."))
        await agent(user("The spare key is behind the boiler."))
        await session.save_session_state("s1", agent=agent)
    async with ReMe(vault_dir) as reme:
        model = ScriptedModel(default="Behind the boiler.")
        agent = agent_over(reme, model)
        await session.load_session_state("s1", agent=agent)
        await agent(user("Where is the key?"))
        assert "The spare key is behind the boiler." in model.last.role_text("user")
        assert [m.get_text_content() for m in await agent.memory.get_memory()] == [
            "The spare key is behind the boiler.",
            "Noted.",
            "Where is the key?",
            "Behind the boiler.",
        ]


async def test_a_session_saved_before_this_memory_was_attached_loads(vault_dir: Path, tmp_path: Path) -> None:
    """With a call that was interrupted, as old sessions have them: what is sent is whole, what is stored untouched."""
    session = JSONSession(str(tmp_path / "sessions"))
    old = ReActAgent("Remy", "You are Remy.", ScriptedModel(), OpenAIChatFormatter())
    await old.memory.add([user("Look."), called("c1"), said("I noticed that you interrupted me.")])
    await session.save_session_state("s1", agent=old)
    async with ReMe(vault_dir) as reme:
        model = ScriptedModel(default="Going on.")  # strict: refuses a call without its result
        agent = ReActAgent("Remy", "You are Remy.", model, OpenAIChatFormatter())
        agent.set_console_output_enabled(False)
        reme.attach(agent, session_id="s1")
        await session.load_session_state("s1", agent=agent)
        await agent(user("Go on."))
        assert "Look." in model.last.role_text("user")
        stored = [message.to_dict() for message, _ in agent.memory.content[:3]]
        assert stored == [message.to_dict() for message, _ in old.memory.content]
        # And back: a session saved with this memory loads into an agent without it.
        await session.save_session_state("s1", agent=agent)
    back = ReActAgent("Remy", "You are Remy.", ScriptedModel(), OpenAIChatFormatter())
    await session.load_session_state("s1", agent=back)
    assert [message.get_text_content() for message in await back.memory.get_memory()][-1] == "Going on."


async def test_stock_to_ours_to_stock_keeps_every_message_and_mark(vault: Vault) -> None:
    stock = InMemoryMemory()
    await a_conversation(stock)
    await stock.update_compressed_summary("earlier: a trip")
    ours = ReMeInMemoryMemory(vault)
    ours.load_state_dict(stock.state_dict())
    assert shown(ours) == shown(stock)
    assert ours.get_compressed_summary() == "earlier: a trip"
    back = InMemoryMemory()
    back.load_state_dict(json.loads(text(ours.state_dict())))
    assert shown(back) == shown(stock)
    assert text(back.state_dict()) == text(stock.state_dict())
    ids = [message.id for message in await back.get_memory(prepend_summary=False)]
    assert ids == [message.id for message in await stock.get_memory(prepend_summary=False)]


async def test_marks_that_are_members_of_an_enumeration_become_their_text(vault: Vault) -> None:
    class Mark(str, Enum):  # noqa: UP042 - as AgentScope declares its own; a StrEnum prints differently
        HINT = "hint"

    stock = InMemoryMemory()
    await stock.add(user("a hint"), marks=[Mark.HINT])
    ours = ReMeInMemoryMemory(vault)
    ours.load_state_dict(stock.state_dict())
    assert [type(mark) for _, marks in ours.content for mark in marks] == [str]
    assert ours.content[0][1] == ["hint"]
    assert await ours.delete_by_mark("hint") == 1


async def test_save_load_save_load_is_stable(vault: Vault) -> None:
    memory = ReMeInMemoryMemory(vault, session_id="s1")
    await a_conversation(memory)
    await memory.update_compressed_summary("## Goal\nx")
    states = [memory.state_dict()]
    for _ in range(3):
        again = ReMeInMemoryMemory(vault)
        again.load_state_dict(json.loads(text(states[-1])))
        await again.get_memory()
        await again.message_tokens()
        states.append(again.state_dict())
    assert len({text(state) for state in states}) == 1


async def test_loading_twice_equals_loading_once(vault: Vault) -> None:
    first = ReMeInMemoryMemory(vault, session_id="s1")
    await a_conversation(first)
    state = first.state_dict()
    second = ReMeInMemoryMemory(vault)
    second.load_state_dict(state)
    once = text(second.state_dict()), await second.message_tokens()
    second.load_state_dict(state)
    assert (text(second.state_dict()), await second.message_tokens()) == once


async def test_loading_replaces_what_was_there(vault: Vault) -> None:
    saved = ReMeInMemoryMemory(vault, session_id="s1")
    await saved.add(user("saved"))
    other = ReMeInMemoryMemory(vault, session_id="s2")
    await other.add([user("old 1"), user("old 2")])
    await other.update_compressed_summary("old summary")
    other.load_state_dict(saved.state_dict())
    assert [message.content for message in await other.get_memory()] == ["saved"]
    assert other.session_id == "s1"
    assert other.journal is not None
    assert other.journal.path == "session/dialog/s1.jsonl"


def test_saving_and_loading_are_synchronous() -> None:
    """AgentScope's sessions call them without awaiting; a coroutine would silently restore nothing."""
    for method in (ReMeInMemoryMemory.state_dict, ReMeInMemoryMemory.load_state_dict):
        assert not inspect.iscoroutinefunction(method)


async def test_attributes_that_a_subclass_registers_are_saved(vault: Vault) -> None:
    class Counting(ReMeInMemoryMemory):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            self.turns = 7
            self.register_state("turns")

    assert Counting(vault).state_dict()["turns"] == 7


async def test_counts_after_loading_are_those_before(vault: Vault) -> None:
    memory = ReMeInMemoryMemory(vault)
    await a_conversation(memory)
    before = (await memory.estimate_tokens()).estimated_tokens
    again = ReMeInMemoryMemory(vault)
    again.load_state_dict(memory.state_dict())
    assert (await again.estimate_tokens()).estimated_tokens == before


# --- older shapes ---------------------------------------------------------------------------------------------------


async def test_messages_without_marks_load_as_unmarked(vault: Vault) -> None:
    memory = ReMeInMemoryMemory(vault)
    memory.load_state_dict({"content": [user("a").to_dict(), said("b").to_dict()]})
    assert [marks for _, marks in memory.content] == [[], []]
    assert [message.get_text_content() for message in await memory.get_memory()] == ["a", "b"]


async def test_a_mark_nobody_knows_is_kept_and_saved_again(vault: Vault) -> None:
    memory = ReMeInMemoryMemory(vault)
    memory.load_state_dict({"content": [[user("a").to_dict(), ["compressed", "mystery"]]]})
    assert memory.state_dict()["content"][0][1] == ["compressed", "mystery"]
    assert [message.content for message in await memory.get_memory(mark="mystery")] == ["a"]


async def test_compressed_messages_without_a_summary_are_visible_again(vault: Vault) -> None:
    memory = ReMeInMemoryMemory(vault)
    memory.load_state_dict({"content": [[user("a").to_dict(), ["compressed"]], [user("b").to_dict(), []]]})
    assert [message.content for message in await memory.get_memory(exclude_mark="compressed")] == ["a", "b"]
    memory.load_state_dict({**memory.state_dict(), "_compressed_summary": "what a says"})
    assert [message.content for message in await memory.get_memory(prepend_summary=False)] == ["b"]


@pytest.mark.parametrize(
    "state",
    [
        {},
        {"content": []},
        {"content": None, "_compressed_summary": None, "reme": None},
        {"reme": {}},
        {"reme": {"version": 99, "unheard_of": [1], "summary": {"later": True}}, "another": {"deep": 1}},
        {"content": [[{"name": "u", "content": "a", "role": "user"}, None]]},
        {"content": [[{"id": None, "name": "u", "content": [], "role": "assistant", "metadata": None}, []]]},
        {"content": [({"name": "u", "content": "a", "role": "user"}, ("x",))]},
    ],
)
async def test_missing_keys_take_their_defaults_and_unknown_ones_are_dropped(vault: Vault, state: Any) -> None:
    memory = ReMeInMemoryMemory(vault, session_id="s1")
    memory.load_state_dict(state)
    assert memory.session_id == "s1"
    saved = memory.state_dict()
    assert set(saved) == {"_compressed_summary", "content", "reme"}
    assert set(saved["reme"]) == {"version", "session_id", "tombstones", "summary"}
    assert all(isinstance(message.id, str) and message.id for message, _ in memory.content)
    await memory.get_memory()


# --- nothing is shared ----------------------------------------------------------------------------------------------


async def test_a_saved_state_does_not_change_with_the_memory(vault: Vault) -> None:
    memory = ReMeInMemoryMemory(vault)
    await memory.add(said("before", metadata={"list": [1]}), marks=["a"])
    state = memory.state_dict()
    before = text(state)
    message, marks = memory.content[0]
    message.content[0]["text"] = "after"
    message.metadata["list"].append(2)
    marks.append("b")
    await memory.add(user("more"))
    await memory.update_compressed_summary("s")
    assert text(state) == before


async def test_a_memory_does_not_change_with_the_state_it_was_loaded_from(vault: Vault) -> None:
    first = ReMeInMemoryMemory(vault)
    await first.add(said("text", metadata={"list": [1]}), marks=["a"])
    state = first.state_dict()
    memory = ReMeInMemoryMemory(vault)
    memory.load_state_dict(state)
    before = text(memory.state_dict())
    state["content"][0][0]["content"][0]["text"] = "changed"
    state["content"][0][0]["metadata"]["list"].append(2)
    state["content"][0][1].append("b")
    state["reme"]["tombstones"] += "AAAAAAAA"
    assert text(memory.state_dict()) == before


# --- values that are not JSON ---------------------------------------------------------------------------------------


@dataclass
class Place:
    name: str


async def test_odd_metadata_is_saved_as_strict_json_and_says_what_it_converted(
    vault: Vault, caplog: pytest.LogCaptureFixture
) -> None:
    numpy = pytest.importorskip("numpy")
    odd: dict[str, Any] = {
        "when": datetime(2026, 3, 16, 9, 30),
        "day": date(2026, 3, 16),
        "p": Path("a"),
        "s": {1},
        "n": float("nan"),
        "inf": float("-inf"),
        "b": b"\x00\xff",
        "np": numpy.float32(1.5),
        "array": numpy.arange(3),
        "place": Place("库房"),
        ("key", 1): 1,
        None: 2,
    }
    memory = ReMeInMemoryMemory(vault)
    await memory.add(user("x", metadata=odd))
    with caplog.at_level("INFO", "agentscope_reme"):
        state = json.loads(text(memory.state_dict()))
    saved = state["content"][0][0]["metadata"]
    assert saved["when"] == "2026-03-16T09:30:00"
    assert saved["day"] == "2026-03-16"
    assert (saved["p"], saved["s"], saved["n"], saved["inf"]) == ("a", [1], None, None)
    assert (saved["np"], saved["array"], saved["place"]) == (1.5, [0, 1, 2], {"name": "库房"})
    assert "metadata.when: datetime" in caplog.text
    assert "metadata.n: float" in caplog.text
    assert memory.content[0][0].metadata["s"] == {1}  # the memory itself is as it was
    again = ReMeInMemoryMemory(vault)
    again.load_state_dict(state)
    assert text(again.state_dict()) == text(state)
    await memory.write_journal(memory.content)
    assert memory.journal is not None
    assert memory.journal.count() == 1


async def test_a_save_survives_values_inside_themselves_and_very_deep_ones(vault: Vault) -> None:
    ring: dict[str, Any] = {}
    ring["self"] = ring
    deep: Any = "bottom"
    for _ in range(2_000):
        deep = [deep]
    memory = ReMeInMemoryMemory(vault)
    await memory.add(user("x"))
    memory.content[0][0].metadata = {"ring": ring, "deep": deep}
    again = ReMeInMemoryMemory(vault)
    again.load_state_dict(json.loads(text(memory.state_dict())))
    assert again.content[0][0].content == "x"


async def test_lone_surrogates_are_saved_as_replacement_characters_and_emoji_unharmed(
    vault: Vault, tmp_path: Path
) -> None:
    family = "😀👨‍👩‍👧‍👦"
    memory = ReMeInMemoryMemory(vault, session_id="s1")
    await memory.add(user("你好\udce4\ud83d" + family))
    await memory.add(user("\ud83d\ude00 a pair"))
    session = JSONSession(str(tmp_path))
    await session.save_session_state("s1", memory=memory)
    (tmp_path / "s1.json").read_bytes().decode("utf-8")  # strict: the file itself is UTF-8
    again = ReMeInMemoryMemory(vault)
    await session.load_session_state("s1", memory=again)
    assert [message.content for message in await again.get_memory()] == ["你好\ufffd\ufffd" + family, "😀 a pair"]


# --- what left the context ------------------------------------------------------------------------------------------


async def test_a_message_that_left_stays_out_after_a_reload(vault: Vault) -> None:
    """Broadcast again, as a message hub does, it does not come back; a deleted one does."""
    memory = ReMeInMemoryMemory(vault, session_id="s1")
    folded, deleted, kept = user("folded"), user("deleted"), user("kept")
    await memory.add([folded, deleted, kept])
    await memory.mark_messages_compressed([folded])
    await memory.delete([deleted.id])
    again = ReMeInMemoryMemory(vault)
    again.load_state_dict(json.loads(text(memory.state_dict())))
    await again.add([folded, deleted, kept])
    assert [message.content for message, _ in again.content] == ["kept", "deleted"]
    await again.add(folded, allow_duplicates=True)
    assert again.content[-1][0].content == "folded"


async def test_tombstones_are_bounded_oldest_first(vault_dir: Path) -> None:
    memory = ReMe(vault_dir, tombstones=3).get_in_memory_memory("s1")
    messages = [user(str(number)) for number in range(5)]
    await memory.add(messages)
    await memory.mark_messages_compressed(messages)
    again = ReMe(vault_dir).get_in_memory_memory("s1")
    again.load_state_dict(memory.state_dict())
    await again.add(messages)
    assert [message.content for message, _ in again.content] == ["0", "1"]


async def test_tombstones_take_eight_characters_each_and_no_more_than_the_last_ten_thousand(vault_dir: Path) -> None:
    memory = ReMe(vault_dir).get_in_memory_memory("s1")
    for _ in range(3):
        messages = [user("x") for _ in range(5_000)]
        await memory.add(messages)
        await memory.mark_messages_compressed(messages)
    assert len(text(memory.state_dict())) < 10_000 * 8 + 1_000
    await memory.add(messages)
    assert await memory.size() == 0


async def test_tombstones_that_were_saved_as_ids_are_read(vault: Vault) -> None:
    memory = ReMeInMemoryMemory(vault)
    folded = user("folded")
    memory.load_state_dict({"content": [], "reme": {"tombstones": [folded.id]}})
    await memory.add(folded)
    assert await memory.size() == 0


async def test_a_restart_between_journal_and_swap_loses_and_doubles_nothing(vault: Vault) -> None:
    """The process dies after the messages are in the journal and before the state with the summary is saved."""
    memory = ReMeInMemoryMemory(vault, session_id="s1")
    await a_conversation(memory)
    saved = json.loads(text(memory.state_dict()))
    await memory.write_journal(memory.content[:4])  # ... and the process is gone
    del memory

    again = ReMeInMemoryMemory(vault)
    again.load_state_dict(saved)
    visible = [message.id for message in await again.get_memory()]
    assert visible == [entry[0]["id"] for entry in saved["content"]]
    # What is still here has not left, although its line is in the journal already.
    left = {message.id for message in await again.get_memory(mark="compressed")}
    assert left == {saved["content"][5][0]["id"]}
    entries = again.content[:4]
    await again.mark_messages_compressed([message for message, _ in entries])
    assert again.journal is not None
    lines = again.journal.read(expand=True)
    assert [line.id for line in lines] == [message.id for message, _ in entries]
    assert [line.msg["content"] for line in lines] == [message.content for message, _ in entries]


async def test_summary_and_messages_are_in_one_state_at_every_step(vault: Vault) -> None:
    """There is no state in which messages are hidden without the summary that covers them (or the reverse)."""
    memory = ReMeInMemoryMemory(vault, session_id="s1")
    states = [memory.state_dict()]

    class Watched(list[Any]):
        def __setitem__(self, *args: Any) -> None:
            raise AssertionError("entries are not replaced one by one")

    await a_conversation(memory)
    entries = list(memory.content)
    await memory.write_journal(entries)
    states.append(memory.state_dict())
    from agentscope_reme.memory.state import SummaryNote

    memory.content = Watched(memory.content)
    memory.swap(entries[:4], "## Goal\nall of it", SummaryNote())
    states.append(memory.state_dict())
    counts = [(len(state["content"]), bool(state["_compressed_summary"])) for state in states]
    assert counts == [(0, False), (6, False), (2, True)]


@pytest.mark.parametrize("session_id", ["a\udce4", "../../x", "你好", "x" * 400, "a\x00b", "CON", "A", " "])
async def test_a_session_keeps_its_journal_whatever_its_id(vault: Vault, session_id: str) -> None:
    memory = ReMeInMemoryMemory(vault, session_id=session_id)
    await memory.add(user("folded"))
    await memory.mark_messages_compressed([memory.content[0][0]])
    again = ReMeInMemoryMemory(Vault(vault.root))
    again.load_state_dict(json.loads(text(memory.state_dict())))
    assert [message.content for message in await again.get_memory(mark="compressed")] == ["folded"]


async def test_two_memories_of_one_session_journal_each_message_once(vault: Vault) -> None:
    one, other = (ReMeInMemoryMemory(vault, session_id="s1") for _ in range(2))
    shared = [user(f"shared {number}") for number in range(10)]
    await one.add(shared)
    await other.add([*shared, user("only here")])
    await asyncio.gather(one.mark_messages_compressed(shared), other.mark_messages_compressed(shared))
    left = await one.get_memory(mark="compressed")
    assert sorted(message.content for message in left) == sorted(message.content for message in shared)
    assert [message.content for message in await other.get_memory()] == ["only here"]


async def test_a_message_journalled_again_after_it_changed_is_read_as_it_was_last(vault: Vault) -> None:
    memory = ReMeInMemoryMemory(vault, session_id="s1")
    await memory.add([called("c1"), answered("c1", "long " * 10)])
    await memory.write_journal(memory.content)
    memory.content[1][0].content[0]["output"] = "short"
    await memory.mark_messages_compressed([message for message, _ in memory.content])
    left = await memory.get_memory(mark="compressed")
    assert len(left) == 2
    assert left[1].content[0]["output"] == "short"
    assert memory.journal is not None
    assert memory.journal.count() == 3  # append-only: both versions are there


async def test_a_damaged_journal_is_kept_and_what_can_be_read_of_it_is(
    vault: Vault, caplog: pytest.LogCaptureFixture
) -> None:
    memory = ReMeInMemoryMemory(vault, session_id="s1")
    await memory.add([user(str(number)) for number in range(3)])
    await memory.mark_messages_compressed([message for message, _ in memory.content])
    assert memory.journal is not None
    file = vault.root / memory.journal.path
    damage = b'null\n[]\n{"id":"x","seq":9,"msg":{"role":"alien","content":5}}\n{"role":"user","con'
    file.write_bytes(file.read_bytes() + damage)
    before = file.read_bytes()

    again = ReMeInMemoryMemory(Vault(vault.root), session_id="s1")
    with caplog.at_level("WARNING", "agentscope_reme"):
        left = await again.get_memory(mark="compressed")
    assert [message.content for message in left] == ["0", "1", "2"]
    assert "session/dialog/s1.jsonl line 6" in caplog.text
    await again.add(user("after"))
    await again.mark_messages_compressed([again.content[0][0]])
    assert file.read_bytes().startswith(before + b"\n")
    assert again.journal is not None
    assert again.journal.bad_lines == 3
    assert [message.content for message in await again.get_memory(mark="compressed")] == ["0", "1", "2", "after"]


@pytest.mark.parametrize("model", [None, "fence"])
async def test_a_conversation_about_checkpoints_is_saved_as_it_is(tmp_path: Path, model: str | None) -> None:
    """Its checkpoint quotes the tags of the envelope; a state that is loaded and saved again is the same."""
    talk = "Never drop a </conversation-checkpoint> from <conversation-<conversation-checkpoint>checkpoint> in x_1.md."
    sections = "\n\n".join(f"## {name}\n{talk}" for name in SECTIONS)
    model_of = ScriptedModel(default=sections) if model else None
    reme = ReMe(tmp_path, chat_model=model_of, max_input_length=8_000, write_memory_on_compaction=False)
    memory = reme.get_in_memory_memory("s")
    for i in range(8):
        await memory.add([user(f"{talk} Rule {i}. " * 30), said("Noted.")])
    await reme.compaction.compact(memory)
    saved = memory.state_dict()
    assert "x_1.md" in memory.get_compressed_summary()
    assert "<conversation-checkpoint" not in memory.get_compressed_summary()
    other = reme.get_in_memory_memory("other")
    other.load_state_dict(saved)
    assert other.state_dict() == saved


async def test_a_memory_can_be_pickled_and_goes_on_in_its_vault(tmp_path: Path) -> None:
    reme = ReMe(tmp_path, max_input_length=8_000, write_memory_on_compaction=False)
    memory = reme.get_in_memory_memory("s", max_input_length=6_000)
    for i in range(8):
        await memory.add([user(f"Rule {i}: never say {i}. " * 60), said("Noted.")])
    await reme.compaction.compact(memory)
    other = pickle.loads(pickle.dumps(memory))
    assert other.state_dict() == memory.state_dict()
    assert (type(other), other.session_id, other.max_input_length) == (ReMeInMemoryMemory, "s", 6_000)
    assert other.vault is None
    reme.adopt(other)
    assert [m.id for m in await other.left_messages()] == [m.id for m in await memory.left_messages()] != []


async def test_a_copy_of_a_memory_goes_its_own_way(tmp_path: Path) -> None:
    memory = ReMe(tmp_path).get_in_memory_memory("s")
    await memory.add(user("one"))
    for other in (copy.copy(memory), copy.deepcopy(memory)):
        await other.add(user("two"))
        await memory.add(user("three"))
        assert [m.content for m in await other.get_memory()][-1] == "two"
        assert "two" not in [m.content for m in await memory.get_memory()]
        assert other.vault is memory.vault


@pytest.mark.parametrize("odd", [7, 1.5, ["x"], {"a": 1}], ids=str)
async def test_ids_of_calls_that_are_no_text_stop_neither_the_memory_nor_a_later_load(tmp_path: Path, odd: Any) -> None:
    memory = ReMe(tmp_path).get_in_memory_memory("s")
    message = called(odd)
    await memory.add([user("go"), message, answered(odd), said("done")])
    assert message.content[0]["id"] == odd, "what was given is not changed"
    assert len(await memory.get_memory()) == 4, "the result belongs to its call"
    other = ReMe(tmp_path).get_in_memory_memory("other")
    other.load_state_dict(json.loads(text(memory.state_dict())))
    assert shown(other) == shown(memory)
