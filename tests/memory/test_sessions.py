"""Saved sessions: AgentScope's JSON and Redis sessions, ours, and files that older systems left."""

import asyncio
import errno
import json
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from shutil import which
from typing import Any

import pytest
from agentscope.agent import ReActAgent
from agentscope.formatter import OpenAIChatFormatter
from agentscope.memory import InMemoryMemory
from agentscope.message import Msg
from agentscope.module import StateModule
from agentscope.session import JSONSession

from agentscope_reme import ReMe, ReMeInMemoryMemory, ReMeSession
from agentscope_reme.errors import ReMeError, StateError
from tests.hooks.agents import agent_of, checkpoint, look, reme_over, user
from tests.memory.conversations import calls, result, said
from tests.support.answers import call
from tests.support.chat_rules import assert_pairs
from tests.support.scripted_model import ScriptedModel

ODD_IDS = ["plain-1", "With Capitals", "../../escape", "a/b\\c:d*?", "CON", "会话-1", "x" * 300, "dot."]
ODD_IDS += ["\ud800", "nul\x00"]


async def talked(memory: Any) -> Any:
    await memory.add([user("你好 😀"), calls("c1"), result("c1"), said("Done.")])
    await memory.update_compressed_summary("## Goal\n收拾行李")
    return memory


def shown(memory: Any) -> str:
    return json.dumps(memory.state_dict(), ensure_ascii=False, sort_keys=True)


@pytest.fixture
def sessions(tmp_path: Path) -> ReMeSession:
    return ReMeSession(tmp_path / "sessions")


def files(folder: Path) -> list[str]:
    return sorted(
        p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file() and "metadata" not in p.parts
    )


# --- ours -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("session_id", ODD_IDS)
@pytest.mark.parametrize("user_id", ["", "anna", "../b", "用户"])
async def test_any_session_of_any_user_comes_back_and_stays_in_the_folder(
    sessions: ReMeSession, tmp_path: Path, session_id: str, user_id: str
) -> None:
    memory = await talked(ReMeInMemoryMemory(session_id="s"))
    await sessions.save_session_state(session_id, user_id, memory=memory)
    again = ReMeInMemoryMemory()
    await sessions.load_session_state(session_id, user_id, memory=again)
    assert shown(again) == shown(memory)
    assert len(files(sessions.save_dir)) == 1
    assert files(tmp_path) == [f"sessions/{name}" for name in files(sessions.save_dir)]


async def test_no_two_sessions_or_users_share_a_file(sessions: ReMeSession) -> None:
    pairs = [("b", "a"), ("a_b", ""), ("b", "A"), ("B", "a"), ("a", "b"), ("ab", ""), ("b", "a_"), ("_b", "a")]
    for session_id, user_id in pairs:
        memory = ReMeInMemoryMemory()
        await memory.add(user(f"{session_id} of {user_id}"))
        await sessions.save_session_state(session_id, user_id, memory=memory)
    for session_id, user_id in pairs:
        again = ReMeInMemoryMemory()
        await sessions.load_session_state(session_id, user_id, memory=again)
        assert again.content[0][0].content == f"{session_id} of {user_id}"


async def test_a_whole_agent_comes_back_after_compactions(vault_dir: Path, sessions: ReMeSession) -> None:
    def made() -> tuple[Any, ScriptedModel]:
        model = ScriptedModel(default=lambda request: "Noted. " * 30)
        return agent_of(reme_over(vault_dir, 2_000, ScriptedModel(default=checkpoint())), model, look), model

    agent, _ = made()
    for turn in range(10):
        await agent(user(f"turn {turn} " * 30))
    assert agent.memory.get_compressed_summary()
    await sessions.save_session_state("s1", agent=agent)
    again, model = made()
    await sessions.load_session_state("s1", agent=again)
    assert shown(again.memory) == shown(agent.memory)
    await again(user("go on"))
    assert "conversation-checkpoint" in model.last.text
    assert_pairs(model.last)


async def test_files_of_jsonsession_are_read_and_ours_are_read_by_it(tmp_path: Path) -> None:
    stock, ours = JSONSession(str(tmp_path)), ReMeSession(tmp_path)
    memory = await talked(ReMeInMemoryMemory())
    for session_id, user_id in [("s1", ""), ("s2", "anna"), ("Big One", "")]:
        await stock.save_session_state(session_id, user_id, memory=memory)
        again = ReMeInMemoryMemory()
        await ours.load_session_state(session_id, user_id, memory=again)
        assert shown(again) == shown(memory)
    await ours.save_session_state("s1", memory=memory)
    again = ReMeInMemoryMemory()
    await stock.load_session_state("s1", memory=again)
    assert shown(again) == shown(memory)


async def test_another_users_file_of_the_same_stock_name_is_not_taken(tmp_path: Path) -> None:
    ours = ReMeSession(tmp_path)
    await ours.save_session_state("anna_s1", memory=await talked(ReMeInMemoryMemory()))
    memory = ReMeInMemoryMemory()
    await ours.load_session_state("s1", "anna", memory=memory)
    assert memory.content == []
    with pytest.raises(StateError, match="no session"):
        await ours.load_session_state("s1", "anna", allow_not_exist=False, memory=memory)


async def test_absent_is_no_error_unless_it_is_said(sessions: ReMeSession) -> None:
    memory = await talked(ReMeInMemoryMemory())
    before = shown(memory)
    await sessions.load_session_state("absent", memory=memory)
    with pytest.raises(StateError, match="absent"):
        await sessions.load_session_state("absent", allow_not_exist=False, memory=memory)
    assert shown(memory) == before
    assert not sessions.save_dir.exists(), "loading makes no folder"
    assert not await sessions.delete_session_state("absent")


async def test_a_deleted_session_is_absent(sessions: ReMeSession) -> None:
    await sessions.save_session_state("s1", "anna", memory=await talked(ReMeInMemoryMemory()))
    assert await sessions.delete_session_state("s1", "anna")
    assert files(sessions.save_dir) == []
    assert not await sessions.delete_session_state("s1", "anna")


@pytest.mark.parametrize(
    "damage", [b"", b"null", b"[]", b'"x"', b'{"memory": {"content": [[{"id"', b"\xff", b"[" * 100_000]
)
async def test_a_damaged_file_is_an_error_and_is_kept_when_it_is_saved_over(
    sessions: ReMeSession, damage: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    memory = await talked(ReMeInMemoryMemory())
    await sessions.save_session_state("s1", memory=memory)
    file = sessions.save_dir / "s1.json"
    before = shown(memory)
    for _ in range(2):
        file.write_bytes(damage)
        with pytest.raises(StateError, match=r"s1\.json is damaged"):
            await sessions.load_session_state("s1", memory=memory)
        assert shown(memory) == before
        assert file.read_bytes() == damage
        await sessions.save_session_state("s1", memory=memory)
    kept = [name for name in files(sessions.save_dir) if ".damaged-" in name]
    assert [(sessions.save_dir / name).read_bytes() for name in kept] == [damage, damage]
    assert str(file) in caplog.text
    again = ReMeInMemoryMemory()
    await sessions.load_session_state("s1", memory=again)
    assert shown(again) == before


class Other(StateModule):
    """A module that refuses some states, after it has taken a part of them."""

    def __init__(self) -> None:
        super().__init__()
        self.value = "as it was"
        self.register_state("value")

    def load_state_dict(self, state_dict: dict[str, Any], strict: bool = True) -> None:
        self.value = state_dict.get("value", "")
        if self.value == "bad":
            raise KeyError("value")


@pytest.mark.parametrize("order", [("memory", "other"), ("other", "memory")])
@pytest.mark.parametrize("bad", ["memory", "other"])
async def test_loading_is_all_or_nothing(sessions: ReMeSession, order: tuple[str, str], bad: str) -> None:
    modules: dict[str, Any] = {"memory": await talked(ReMeInMemoryMemory(session_id="s")), "other": Other()}
    before = shown(modules["memory"])
    states = {"memory": {"content": [], "_compressed_summary": "new"}, "other": {"value": "new"}}
    states[bad] = {"value": "bad", "content": 7}
    sessions.save_dir.mkdir()
    (sessions.save_dir / "s1.json").write_text(json.dumps(states), encoding="utf-8")
    with pytest.raises(StateError, match=rf"s1\.json: {bad}: "):
        await sessions.load_session_state("s1", **{name: modules[name] for name in order})
    assert shown(modules["memory"]) == before
    assert modules["other"].value == "as it was"


async def test_a_save_that_fails_leaves_the_old_file_and_nothing_else(
    sessions: ReMeSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = await talked(ReMeInMemoryMemory())
    await sessions.save_session_state("s1", memory=memory)
    before = (sessions.save_dir / "s1.json").read_bytes()
    await memory.add(user("one more"))

    def full(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    for name in ("write", "fsync", "replace"):
        with monkeypatch.context() as patch:
            patch.setattr(os, name, full)
            with pytest.raises(ReMeError, match=r"s1\.json"):
                await sessions.save_session_state("s1", memory=memory)
        assert (sessions.save_dir / "s1.json").read_bytes() == before
        assert files(sessions.save_dir) == ["s1.json"]


async def test_the_state_is_that_of_the_moment_also_of_modules_that_share_it(
    sessions: ReMeSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = InMemoryMemory()
    await memory.add(said("before"))
    real = asyncio.to_thread

    async def later(*args: Any) -> Any:
        memory.content[0][0].content[0]["text"] = "after"
        memory.content[0][1].append("mark")
        return await real(*args)

    with monkeypatch.context() as patch:
        patch.setattr(asyncio, "to_thread", later)
        await sessions.save_session_state("s1", memory=memory)
    again = InMemoryMemory()
    await sessions.load_session_state("s1", memory=again)
    assert again.content[0][0].get_text_content() == "before"
    assert again.content[0][1] == []


async def test_odd_values_are_saved_as_strict_json(sessions: ReMeSession) -> None:
    memory = InMemoryMemory()
    await memory.add(Msg("user", "你好\udce4\ud83d 😀", "user", metadata={"n": float("nan"), "p": Path("a"), "s": {1}}))
    await sessions.save_session_state("s1", memory=memory)
    text = (sessions.save_dir / "s1.json").read_text(encoding="utf-8")
    json.loads(text, parse_constant=lambda name: pytest.fail(name))
    again = InMemoryMemory()
    await sessions.load_session_state("s1", memory=again)
    assert again.content[0][0].content == "你好\ufffd\ufffd 😀"
    assert again.content[0][0].metadata == {"n": None, "p": "a", "s": [1]}


async def test_many_saves_at_once_are_each_whole(sessions: ReMeSession) -> None:
    async def save(number: int) -> None:
        memory = ReMeInMemoryMemory()
        await memory.add(user(f"{number} " * 2_000))
        await ReMeSession(sessions.save_dir).save_session_state("s1", memory=memory)

    await asyncio.gather(*(save(i) for i in range(12)))
    again = ReMeInMemoryMemory()
    await sessions.load_session_state("s1", memory=again)
    words = again.content[0][0].content.split()
    assert len(words) == 2_000
    assert len(set(words)) == 1
    assert files(sessions.save_dir) == ["s1.json"]


_SAVER = """
import asyncio, sys
from agentscope.memory import InMemoryMemory
from agentscope.message import Msg
from agentscope_reme import ReMeSession

async def main():
    session, memory, number = ReMeSession(sys.argv[1]), InMemoryMemory(), 0
    while True:
        number += 1
        await memory.clear()
        await memory.add(Msg("user", f"{number} " * 50_000, "user"))
        await session.save_session_state("s1", memory=memory)
        print(number, flush=True)

asyncio.run(main())
"""


@pytest.mark.slow
def test_a_process_that_is_killed_while_it_saves_leaves_a_whole_file(sessions: ReMeSession) -> None:
    for pause in (0.0, 0.003, 0.007, 0.012, 0.02):
        with subprocess.Popen(
            [sys.executable, "-c", _SAVER, str(sessions.save_dir)], stdout=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout is not None
            for _ in range(3):
                saved = int(process.stdout.readline())
            time.sleep(pause)
            process.kill()
            # Nobody knows how far it came before this process had its turn: what it still printed tells.
            told = [line for line in process.stdout if line.endswith("\n")]
        saved = int(told[-1]) if told else saved
        memory = InMemoryMemory()
        asyncio.run(sessions.load_session_state("s1", memory=memory))
        words = memory.content[0][0].content.split()
        assert len(words) == 50_000
        assert set(words) in ({str(saved)}, {str(saved + 1)}), "the last it told of, or the one it was at"
    asyncio.run(ReMeSession(sessions.save_dir).save_session_state("s1", memory=memory))
    assert files(sessions.save_dir) == ["s1.json"], "what the dead left is swept"


# --- Redis ------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def redis_port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A Redis server of the test's own, on a socket in its folder."""
    pytest.importorskip("redis", reason="the Python client of Redis is not installed")
    program = which("redis-server") or which("valkey-server")
    if program is None:
        pytest.skip("no redis-server (nor valkey-server) on PATH")
    folder = tmp_path_factory.mktemp("redis")
    socket = folder / "redis.sock"
    options = ["--port", "0", "--unixsocket", str(socket), "--save", "", "--dir", str(folder), "--daemonize", "no"]
    with subprocess.Popen([program, *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        for _ in range(200):
            if socket.exists():
                break
            time.sleep(0.05)
        try:
            assert socket.exists(), "the server did not start"
            yield str(socket)
        finally:
            server.terminate()


@pytest.fixture
async def redis(redis_port: str) -> AsyncIterator[Any]:
    from agentscope.session import RedisSession

    session = RedisSession(unix_socket_path=redis_port)
    await session.get_client().flushall()
    yield session
    await session.close()


async def test_a_memory_comes_back_through_redis(redis: Any, vault_dir: Path) -> None:
    reme = ReMe(vault_dir)
    memory = await talked(reme.get_in_memory_memory("s1"))
    await memory.mark_messages_compressed([memory.content[0][0]])
    await redis.save_session_state("s1", "anna", memory=memory)
    again = reme.get_in_memory_memory()
    await redis.load_session_state("s1", "anna", memory=again)
    assert shown(again) == shown(memory)
    assert again.session_id == "s1"
    nobody = ReMeInMemoryMemory()
    await redis.load_session_state("s1", "otto", memory=nobody)
    assert nobody.content == []


async def test_a_whole_agent_goes_on_from_redis_after_compactions(redis: Any, vault_dir: Path) -> None:
    def made() -> tuple[Any, ScriptedModel]:
        model = ScriptedModel(default=lambda request: "Noted. " * 30)
        return agent_of(reme_over(vault_dir, 2_000, ScriptedModel(default=checkpoint())), model, look), model

    agent, model = made()
    for turn in range(10):
        await agent(user(f"turn {turn}, 记住 " * 20))
        await redis.save_session_state("s1", agent=agent)
        agent, model = made()
        await redis.load_session_state("s1", agent=agent)
    assert agent.memory.get_compressed_summary()
    model.add(call("look", q="x"), "Found.")
    reply = await agent(user("look"))
    assert reply.get_text_content() == "Found."
    assert_pairs(model.last)


async def test_odd_values_and_surrogates_go_through_redis(redis: Any) -> None:
    memory = ReMeInMemoryMemory()
    await memory.add(Msg("user", "你好\udce4 😀", "user", metadata={"p": Path("a"), "n": float("inf")}))
    await redis.save_session_state("s1", memory=memory)
    again = ReMeInMemoryMemory()
    await redis.load_session_state("s1", memory=again)
    assert again.content[0][0].content == "你好\ufffd 😀"
    assert again.content[0][0].metadata == {"p": "a", "n": None}


@pytest.mark.parametrize(
    "damage", ["", "null", '{"memory": 7}', '{"memory": {"content": "x"}}', '{"memory": {"content"']
)
async def test_a_damaged_value_in_redis_changes_nothing(redis: Any, damage: str) -> None:
    memory = await talked(ReMeInMemoryMemory())
    before = shown(memory)
    await redis.get_client().set("user_id:default_user:session:s1:state", damage)
    with pytest.raises((StateError, ValueError, TypeError)):
        await redis.load_session_state("s1", memory=memory)
    assert shown(memory) == before


async def test_stock_to_ours_to_stock_through_redis(redis: Any) -> None:
    stock = InMemoryMemory()
    await talked(stock)
    await stock.add(user("hint"), marks="hint")
    await redis.save_session_state("s1", memory=stock)
    ours = ReMeInMemoryMemory()
    await redis.load_session_state("s1", memory=ours)
    await redis.save_session_state("s1", memory=ours)
    back = InMemoryMemory()
    await redis.load_session_state("s1", memory=back)
    assert [(m.to_dict(), marks) for m, marks in back.content] == [(m.to_dict(), marks) for m, marks in stock.content]
    assert back._compressed_summary == stock._compressed_summary


# --- files of other systems -------------------------------------------------------------------------------------------


def old(content: Any, role: str = "user", **more: Any) -> dict[str, Any]:
    return {"id": f"m-{content!s:.12}", "name": role, "role": role, "content": content, "metadata": None,
            "timestamp": "2026-01-20 10:00:00.000", **more}  # fmt: skip


_CALL = {"type": "tool_use", "id": "c1", "name": "look", "input": {"q": "x"}}
_RESULT = {"type": "tool_result", "id": "c1", "name": "look", "output": [{"type": "text", "text": "found"}]}
_TALK = [
    old("你好"),
    old([_CALL], "assistant"),
    old([_RESULT], "system"),
    old([{"type": "text", "text": "ok"}], "assistant"),
]

OLDER = {
    # Before 1.0.12: a flat list, no marks, no summary.
    "agentscope 1.0.11": {"content": _TALK},
    # 1.0.12 to 1.0.15: marks; the summary was not in the state, so compressed messages have nothing that covers them.
    "agentscope 1.0.12": {"content": [[message, ["compressed"] if i == 0 else []] for i, message in enumerate(_TALK)]},
    "agentscope 1.0.21": {"_compressed_summary": "", "content": [[message, []] for message in _TALK]},
    # ReMe 0.3's ReMeInMemoryMemory and CoPaw's AgentContext: AgentScope's shape, the summary bare.
    "reme 0.3": {
        "content": [[message, []] for message in _TALK],
        "_compressed_summary": "## Goal\nPack the bags.\n\n## Progress\nHalf done.",
    },
    "copaw": {
        "content": [[message, ["compressed"] if i < 1 else []] for i, message in enumerate(_TALK)],
        "_compressed_summary": "<previous-summary>\nPack the bags.\n</previous-summary>",
        "_long_term_memory": "",
    },
}


@pytest.mark.parametrize("system", OLDER)
@pytest.mark.parametrize("kind", ["json", "ours"])
async def test_a_session_of_an_older_system_goes_on(vault_dir: Path, tmp_path: Path, system: str, kind: str) -> None:
    state = OLDER[system]
    (tmp_path / "s1.json").write_text(json.dumps({"memory": state}, ensure_ascii=False), encoding="utf-8")
    session: Any = JSONSession(str(tmp_path)) if kind == "json" else ReMeSession(tmp_path)
    model = ScriptedModel(default="Going on.")
    reme = reme_over(vault_dir, 8_000, ScriptedModel(default=checkpoint()))
    agent = agent_of(reme, model, look)
    await session.load_session_state("s1", memory=agent.memory)
    await agent(user("go on"))
    assert_pairs(model.last)
    sent = model.last.text
    assert "found" in sent
    hidden = system == "copaw"  # there the summary covers what is marked
    assert ("你好" in sent) is not hidden
    assert ("Pack the bags." in sent) is bool(state.get("_compressed_summary"))
    await session.save_session_state("s2", memory=agent.memory)
    again = InMemoryMemory()
    await session.load_session_state("s2", memory=again)
    assert [m.get_text_content() for m, _ in again.content][-2:] == ["go on", "Going on."]
    if hidden:
        left = await agent.memory.get_memory(mark="compressed", prepend_summary=False)
        assert [message.content for message in left] == ["你好"]


async def test_a_whole_agent_of_an_older_system_goes_on(vault_dir: Path, tmp_path: Path) -> None:
    """As 1.0.16 saves an agent: memory, toolkit, name, system prompt."""
    state = {
        "memory": OLDER["reme 0.3"],
        "toolkit": {"active_groups": []},
        "name": "Remy",
        "_sys_prompt": "You are Remy.",
    }
    (tmp_path / "s1.json").write_text(json.dumps({"agent": state}, ensure_ascii=False), encoding="utf-8")
    model = ScriptedModel(default="Going on.")
    agent = ReActAgent(
        "Remy", "You are Remy.", model, OpenAIChatFormatter(), memory=ReMe(vault_dir).get_in_memory_memory()
    )
    agent.set_console_output_enabled(False)
    await ReMeSession(tmp_path).load_session_state("s1", agent=agent)
    await agent(user("go on"))
    assert "Pack the bags." in model.last.text
    assert_pairs(model.last)
