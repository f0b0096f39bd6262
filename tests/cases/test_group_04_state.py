"""Faults that users reported, group 4: session state saved and loaded. One test a case at least, named after it."""

import inspect
import json
import warnings
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from agentscope.memory import InMemoryMemory
from agentscope.message import Msg
from agentscope.session import JSONSession

from agentscope_reme import ReMe, ReMeInMemoryMemory, ReMeSession
from agentscope_reme.errors import StateError
from agentscope_reme.vault import Vault
from agentscope_reme.vault.dialog import JournalRecord
from tests.support.scripted_model import Later, ScriptedModel
from tests.toolkit.agents import agent_with

SURROGATES = "你好\udce4\ud83d"


def user(text: str, **kwargs: Any) -> Msg:
    return Msg("user", text, "user", **kwargs)


def message(content: Any, role: str = "user") -> dict[str, Any]:
    return {"id": f"id-{content}", "name": role, "role": role, "content": content, "metadata": {}, "timestamp": "t"}


@pytest.mark.parametrize("text", [SURROGATES, "x\ud800y", "\udfff" * 50, "😀", "👨‍👩‍👧‍👦 ok", "\ud83d\ude00"])
async def test_c4_01_a_lone_surrogate_neither_fails_nor_tears_a_save(vault_dir: Path, text: str) -> None:
    clean = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    session = JSONSession(str(vault_dir.parent / "sessions"))
    async with ReMe(vault_dir) as reme:
        memory = reme.get_in_memory_memory("s1")
        await memory.add(user("a good state before"))
        await session.save_session_state("s1", memory=memory)
        await memory.add(user(text + " remember the lighthouse"))
        await session.save_session_state("s1", memory=memory)
        saved = (vault_dir.parent / "sessions" / "s1.json").read_bytes().decode("utf-8")
        assert json.loads(saved)["memory"]["content"][1][0]["content"].startswith(clean)
        again = reme.get_in_memory_memory()
        await session.load_session_state("s1", memory=again)
        assert again.content[1][0].content == clean + " remember the lighthouse"
        # The journal, the day's card, a note and the index take the same text.
        await again.mark_messages_compressed([entry[0] for entry in again.content])
        await reme.summary_memory([entry[0] for entry in memory.content], "s1")
        await reme.vault.append("", text + " the lighthouse again")
        for file in vault_dir.rglob("*.md"):
            file.read_bytes().decode("utf-8")
        found = await reme.search("lighthouse")
        assert {hit.path.split("/")[0] for hit in found.hits} >= {"daily"}
        assert (await again.get_memory(mark="compressed"))[1].content == clean + " remember the lighthouse"


@pytest.mark.parametrize("damage", [b"", b"null", b"[]", b'{"memory": {"content": [[{"id"', b'{"memory": []}'])
async def test_c4_03_a_damaged_history_is_not_read_as_an_empty_one(vault_dir: Path, damage: bytes) -> None:
    """For our own files: the damage is there afterwards, byte for byte, and is counted; nothing looks like new."""
    vault = Vault(vault_dir)
    journal = vault.journal("s1")
    journal.append([JournalRecord(user("first").to_dict())])
    file = vault_dir / journal.path
    file.write_bytes(damage)
    opened = Vault(vault_dir).journal("s1")
    assert opened.read() == []
    assert opened.bad_lines == (1 if damage else 0)
    opened.append([JournalRecord(user("second").to_dict())])
    assert file.read_bytes().startswith(damage)
    assert [line.msg["content"] for line in opened.read()] == ["second"]
    # For a session's file, which is AgentScope's: an error, and the memory is as it was.
    memory = ReMeInMemoryMemory(vault, session_id="s1")
    await memory.add(user("kept"))
    (vault_dir.parent / "s1.json").write_bytes(damage)
    session = JSONSession(str(vault_dir.parent))
    if damage != b"[]":
        with pytest.raises((StateError, ValueError, TypeError)):
            await session.load_session_state("s1", memory=memory)
    assert [one.content for one in await memory.get_memory()] == ["kept"]


def test_c4_03_a_state_of_the_wrong_kind_is_an_error_and_an_absent_one_is_not(vault_dir: Path) -> None:
    memory = ReMeInMemoryMemory(Vault(vault_dir))
    for damaged in (None, [], "", "null", 0):
        with pytest.raises(StateError):
            memory.load_state_dict(damaged)  # type: ignore[arg-type]
    assert Vault(vault_dir).journal("never").read() == []
    assert Vault(vault_dir).journal("never").bad_lines == 0
    assert not vault_dir.exists()


@pytest.mark.parametrize(
    "stump", [b'{"role":"user","con', b'{"id": "x", "msg": {', b"\xff\xfe\x00", b"{", b"\x00" * 40]
)
async def test_c4_04_one_bad_line_loses_that_line_alone(vault_dir: Path, stump: bytes) -> None:
    vault = Vault(vault_dir)
    journal = vault.journal("s1")
    journal.append([JournalRecord(user(f"message {number}").to_dict()) for number in range(3)])
    file = vault_dir / journal.path
    file.write_bytes(file.read_bytes() + stump)
    memory = ReMeInMemoryMemory(Vault(vault_dir), session_id="s1")
    await memory.add(user("message 3 about penguins"))
    await memory.mark_messages_compressed([memory.content[0][0]])
    texts = [one.content for one in await memory.get_memory(mark="compressed")]
    assert texts == ["message 0", "message 1", "message 2", "message 3 about penguins"]
    lines = file.read_bytes().split(b"\n")
    assert lines[3] == stump
    assert json.loads(lines[4])["msg"]["content"] == "message 3 about penguins"
    assert memory.journal is not None
    assert memory.journal.bad_lines == 1
    async with ReMe(vault_dir) as reme:
        (hit,) = (await reme.search("penguins")).hits
        assert hit.path == "session/dialog/s1.jsonl"
        assert hit.end_line == 5


@pytest.mark.parametrize(
    ("key", "state"),
    [
        ("content", {"content": {"role": "user"}}),
        ("content", {"sessions": "text", "content": "text"}),
        ("_compressed_summary", {"_compressed_summary": 7}),
        ("_compressed_summary", {"_compressed_summary": {"text": "x"}}),
        ("content[0][1]", {"content": [[message("a"), "compressed"]]}),
        ("content[0][0].content[0]", {"content": [[message(["a"]), []]]}),
        ("reme.tombstones", {"reme": {"tombstones": 3}}),
    ],
)
async def test_c4_05_a_wrong_shape_is_one_error_that_names_the_key(vault_dir: Path, key: str, state: Any) -> None:
    memory = ReMeInMemoryMemory(Vault(vault_dir))
    await memory.add(user("kept"))
    await memory.update_compressed_summary("kept too")
    with pytest.raises(StateError) as caught:
        memory.load_state_dict(state)
    assert str(caught.value).startswith(f"{key}: ")
    assert [one.content for one, _ in memory.content] == ["kept"]
    assert memory.get_compressed_summary() == "kept too"


def test_c4_05_missing_and_unknown_keys_and_null_marks_load(vault_dir: Path) -> None:
    memory = ReMeInMemoryMemory(Vault(vault_dir))
    memory.load_state_dict({"content": [[message("a"), None]], "colour": "blue", "reme": {"shape": 3}})
    assert memory.content[0][1] == []
    assert memory.get_compressed_summary() == ""
    saved = memory.state_dict()
    assert "colour" not in saved  # unknown keys are dropped
    assert "shape" not in saved["reme"]
    memory.load_state_dict({})
    assert memory.content == []


async def test_c4_07_states_of_earlier_versions_load(vault_dir: Path) -> None:
    memory = ReMeInMemoryMemory(Vault(vault_dir))
    memory.load_state_dict({"content": [message("a"), message("b")]})
    assert [(one.content, marks) for one, marks in memory.content] == [("a", []), ("b", [])]
    memory.load_state_dict({"content": [[message("a"), ["compressed", "mystery"]]]})
    assert memory.state_dict()["content"][0][1] == ["compressed", "mystery"]
    # Marked as compressed, but no summary tells what it said: it is visible.
    for exclude in (None, "compressed"):
        assert [one.content for one in await memory.get_memory(exclude_mark=exclude)] == ["a"]
    stock = InMemoryMemory()
    stock.load_state_dict(memory.state_dict())
    assert [marks for _, marks in stock.content] == [["compressed", "mystery"]]


async def test_c4_07_a_compressed_message_without_a_summary_reaches_the_model(vault_dir: Path) -> None:
    async with ReMe(vault_dir) as reme:
        model = ScriptedModel(default="Yes.")
        agent = agent_with(reme, model)
        agent.memory.load_state_dict({"content": [[message("the code is 4471"), ["compressed"]]]})
        await agent(user("What is the code?"))
        assert "the code is 4471" in model.last.role_text("user")


async def test_c4_08_values_that_are_not_json_are_saved_as_json(
    vault_dir: Path, caplog: pytest.LogCaptureFixture
) -> None:
    metadata: dict[str, Any] = {"when": datetime(2026, 3, 16), "p": Path("a"), "s": {1}, "n": float("nan")}
    memory = ReMeInMemoryMemory(Vault(vault_dir))
    await memory.add(user("x", metadata=metadata))
    with caplog.at_level("INFO", "agentscope_reme"):
        saved = memory.state_dict()
    text = json.dumps(saved, allow_nan=False)
    held = json.loads(text)["content"][0][0]["metadata"]
    assert held == {"when": "2026-03-16T00:00:00", "p": "a", "s": [1], "n": None}
    for name in metadata:
        assert f"metadata.{name}: " in caplog.text
    again = ReMeInMemoryMemory(Vault(vault_dir))
    again.load_state_dict(json.loads(text))
    assert again.content[0][0].metadata == held


async def test_c4_08_values_that_are_not_json_in_a_tool_result_are_saved_too(vault_dir: Path) -> None:
    block: Any = {"type": "tool_result", "id": "c", "name": "t", "output": [{"type": "text", "text": "x"}]}
    block["extra"] = {"when": datetime(2026, 3, 16), "raw": b"\x00\xff"}
    memory = ReMeInMemoryMemory(Vault(vault_dir), session_id="s1")
    await memory.add(Msg("system", [block], "system"))
    json.dumps(memory.state_dict(), allow_nan=False)
    await memory.mark_messages_compressed([memory.content[0][0]])
    (left,) = await memory.get_memory(mark="compressed")
    assert left.content[0]["extra"]["when"] == "2026-03-16T00:00:00"


class Stop(BaseException):
    """The process is killed."""


@pytest.mark.parametrize("at", ["write_journal", "set_summary", "remove"])
async def test_c4_09_killed_between_hiding_and_summary_no_message_is_hidden(
    vault_dir: Path, at: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever is saved afterwards: what the context no longer has, the journal and a summary have."""
    reme = ReMe(vault_dir, max_input_length=1_000, write_memory_on_compaction=False)
    memory = reme.get_in_memory_memory("s1")
    for number in range(30):
        await memory.add(user(f"fact {number}: " + "the parcel is on shelf " * 4))

    def stop(*_: Any, **__: Any) -> Any:
        raise Stop

    with monkeypatch.context() as patch:
        patch.setattr(memory, at, stop)
        with pytest.raises(Stop):
            await reme.compaction.keep_within_window(memory)
    # The state on the disk is what was saved before, or is saved by whoever survives.
    again = ReMe(vault_dir).get_in_memory_memory()
    again.load_state_dict(json.loads(json.dumps(memory.state_dict())))
    here = {one.content for one in await again.get_memory(prepend_summary=False)}
    hidden = {f"fact {number}: " + "the parcel is on shelf " * 4 for number in range(30)} - here
    if hidden:
        assert again.get_compressed_summary()
        assert hidden <= {one.content for one in await again.get_memory(mark="compressed")}


async def test_c4_09_a_state_saved_in_the_middle_of_a_compaction_is_whole(vault_dir: Path) -> None:
    states: list[dict[str, Any]] = []

    def save_now(_: Any) -> Any:
        states.append(json.loads(json.dumps(memory.state_dict())))
        return "no checkpoint"

    model = ScriptedModel(default=Later(save_now, seconds=0.01))
    reme = ReMe(vault_dir, chat_model=model, max_input_length=1_000, write_memory_on_compaction=False)
    memory = reme.get_in_memory_memory("s1")
    for number in range(30):
        await memory.add(user(f"fact {number}: " + "the parcel is on shelf " * 4))
    await reme.compaction.keep_within_window(memory)
    assert states
    assert all(len(state["content"]) == 30 and not state["_compressed_summary"] for state in states)


async def test_c4_10_what_agentscope_calls_without_awaiting_is_synchronous(vault_dir: Path) -> None:
    memory = ReMeInMemoryMemory(Vault(vault_dir), session_id="s1")
    assert not inspect.iscoroutinefunction(memory.state_dict)
    assert not inspect.iscoroutinefunction(memory.load_state_dict)
    await memory.add(user("a"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert memory.load_state_dict(memory.state_dict()) is None
    assert [one.content for one in await memory.get_memory()] == ["a"]


@pytest.mark.parametrize("damage", [b"", b"null", b"[]", b'{"memory": {"content": [[{"id"'])
async def test_c4_03_a_damaged_session_is_kept_under_another_name_before_anything_is_written(
    tmp_path: Path, damage: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    session, file = ReMeSession(tmp_path), tmp_path / "s1.json"
    file.write_bytes(damage)
    memory = ReMeInMemoryMemory()
    with pytest.raises(StateError, match=r"s1\.json is damaged"):
        await session.load_session_state("s1", memory=memory)
    await session.load_session_state("absent", memory=memory)  # which is another thing
    await memory.add(user("new"))
    await session.save_session_state("s1", memory=memory)
    (kept,) = tmp_path.glob("s1.json.damaged-*")
    assert kept.read_bytes() == damage
    assert str(file) in caplog.text
    assert json.loads(file.read_text(encoding="utf-8"))["memory"]["content"][0][0]["content"] == "new"


async def test_c4_10_a_load_that_is_not_awaited_warns_and_save_load_save_is_stable(tmp_path: Path) -> None:
    session, memory = ReMeSession(tmp_path), ReMeInMemoryMemory()
    await memory.add(user("a"))
    await session.save_session_state("s1", memory=memory)
    with pytest.warns(RuntimeWarning, match="never awaited"):
        session.load_session_state("s1", memory=ReMeInMemoryMemory())  # type: ignore[unused-coroutine]
    seen = []
    for _ in range(3):
        again = ReMeInMemoryMemory()
        await session.load_session_state("s1", memory=again)
        await session.load_session_state("s1", memory=again)
        await session.save_session_state("s1", memory=again)
        seen.append((tmp_path / "s1.json").read_bytes())
    assert len(set(seen)) == 1


async def test_c4_10_loading_before_start_twice_and_again_after_saving_is_stable(vault_dir: Path) -> None:
    session = JSONSession(str(vault_dir.parent / "sessions"))
    async with ReMe(vault_dir) as reme:
        memory = reme.get_in_memory_memory("s1")
        await memory.add([user("a"), user("b")])
        await memory.mark_messages_compressed([memory.content[0][0]])
        await session.save_session_state("same", memory=memory)
    reme = ReMe(vault_dir)  # not started
    memory = reme.get_in_memory_memory()
    seen = []
    for _ in range(3):
        await session.load_session_state("same", memory=memory)
        await session.load_session_state("same", memory=memory)
        await session.save_session_state("same", memory=memory)
        seen.append((vault_dir.parent / "sessions" / "same.json").read_bytes())
    assert len(set(seen)) == 1
    assert memory.session_id == "s1"
    assert [one.content for one in await memory.get_memory()] == ["b"]
    assert [one.content for one in await memory.get_memory(mark="compressed")] == ["a"]
    await reme.close()
