"""``retention_days``: which offloaded results are removed, which never, and what is said of those that are gone."""

import json
import os
import time

import pytest

from agentscope_reme import ReMe
from agentscope_reme.vault.expiry import EXPIRED, results_in
from tests.hooks.agents import agent_of, reme_over, response, user
from tests.memory.conversations import calls, result
from tests.support.scripted_model import ScriptedModel, call

DAY = 86_400
LONG = "row, " * 8_000


def age(reme, path, days):
    """Set a file's time so many days back."""
    moment = time.time() - days * DAY
    os.utime(reme.vault.root / path, (moment, moment))


def results(reme):
    return {f"session/tool_result/{path.name}" for path in (reme.vault.root / "session" / "tool_result").glob("*.txt")}


async def stored(reme, text, days):
    kept = await reme.vault.store_result(text)
    age(reme, kept.path, days)
    return kept.path


async def cleaned(vault_dir, days=30):
    """What a new process leaves after it has started."""
    async with ReMe(vault_dir, retention_days=days) as reme:
        return results(reme)


async def test_without_a_number_of_days_everything_stays(vault_dir):
    reme = reme_over(vault_dir, 4_000)
    path = await stored(reme, LONG, 4_000)
    assert await cleaned(vault_dir, None) == {path}


async def test_an_old_result_that_nobody_points_to_goes_and_a_young_one_stays(vault_dir):
    reme = reme_over(vault_dir, 4_000)
    old, young = await stored(reme, "old " + LONG, 31), await stored(reme, "young " + LONG, 29)
    assert await cleaned(vault_dir) == {young}
    assert [json.loads(line)["path"] for line in (vault_dir / EXPIRED).read_text("utf-8").splitlines()] == [old]


async def test_the_read_tool_says_when_a_result_expired(vault_dir):
    reme = reme_over(vault_dir, 4_000)
    path = await stored(reme, LONG, 31)
    await cleaned(vault_dir)
    model = ScriptedModel([[call("read", path=path), call("read", path="session/tool_result/none.txt")], "Gone."])
    agent = agent_of(reme, model, memory_tools=("read",))
    await agent(user("read it"))
    gone, never = (str(message["content"]) for message in model.last.messages if message["role"] == "tool")
    assert f"{path} expired on {time.strftime('%Y-%m-%d')}" in gone
    assert "expired" not in never
    assert "there is no" in never


async def test_a_notice_in_a_loaded_memory_keeps_its_file(vault_dir):
    """C3-04: a result of 40 days whose notice is still in the context, in this session and in another one."""
    reme = reme_over(vault_dir, 4_000, retention_days=30)

    async def much(n: int = 0) -> object:
        """Get much.

        Args:
            n (int): Which.
        """
        return response(f"{n} {LONG}")

    agents = [agent_of(reme, ScriptedModel([call("much", n=n), "Read."]), much, session_id=f"s{n}") for n in range(2)]
    for agent in agents:
        await agent(user("get it"))
    paths = results(reme)
    assert len(paths) == 2
    for path in paths:
        age(reme, path, 40)
    stray = await stored(reme, "stray " + LONG, 40)
    await reme.close()
    left = {path.name for path in (vault_dir / "session" / "tool_result").glob("*.txt")}
    assert left == {os.path.basename(path) for path in paths}
    assert os.path.basename(stray) not in left
    for path in paths:
        assert time.time() - (vault_dir / path).stat().st_mtime < DAY, "its age begins again with who shows it"


async def test_a_session_that_is_saved_and_in_use_keeps_its_files_without_being_closed(vault_dir):
    """The process is killed after today's turn; tomorrow's start knows nothing of the saved state."""
    reme = reme_over(vault_dir, 4_000, retention_days=30)
    agent = agent_of(reme, ScriptedModel(default="Fine."))
    await agent.memory.add([user("go"), calls("a"), result("a", output=LONG)])
    await reme.compaction.keep_within_window(agent.memory)
    (path,) = results(reme)
    age(reme, path, 40)
    await agent(user("a turn today"))
    assert await cleaned(vault_dir) == {path}


async def test_a_journal_of_an_active_session_keeps_what_it_points_to_and_an_old_one_does_not(vault_dir):
    reme = reme_over(vault_dir, 4_000)
    paths = {}
    for name in ("active", "asleep"):
        memory = reme.get_in_memory_memory(name)
        await memory.add([user(f"go {name}"), calls("a"), result("a", output=f"{name} {LONG}")])
        before = results(reme)
        await memory.clear_content()
        (paths[name],) = results(reme) - before
        age(reme, paths[name], 40)
    age(reme, "session/dialog/asleep.jsonl", 35)
    assert await cleaned(vault_dir) == {paths["active"]}


async def test_only_files_of_our_own_making_are_removed(vault_dir):
    reme = reme_over(vault_dir, 4_000)
    ours = await stored(reme, LONG, 400)
    folder = reme.vault.root / "session" / "tool_result"
    digits = "0123456789abcdef"
    others = {
        f"{digits}.txt": "a name like ours, other content",
        "notes.txt": "put here by hand",
        f"{digits.upper()}.txt": "capital letters",
        f"{digits}.txt.bak": "a copy",
    }
    for name, text in others.items():
        (folder / name).write_text(text, "utf-8")
        age(reme, f"session/tool_result/{name}", 400)
    (folder / "deeper").mkdir()
    deeper = folder / "deeper" / os.path.basename(ours)
    deeper.write_text(LONG, "utf-8")
    age(reme, f"session/tool_result/deeper/{deeper.name}", 400)
    note = reme.vault.root / "daily" / "2020-01-01.md"
    note.parent.mkdir()
    note.write_text("old", "utf-8")
    age(reme, "daily/2020-01-01.md", 2_000)
    await cleaned(vault_dir)
    assert not (reme.vault.root / ours).exists()
    assert {path.name for path in folder.iterdir()} >= set(others)
    assert deeper.exists()
    assert note.exists()


async def test_a_result_that_is_stored_again_is_young_again(vault_dir):
    reme = reme_over(vault_dir, 4_000)
    path = await stored(reme, LONG, 40)
    assert (await reme.vault.store_result(LONG)).path == path
    assert await cleaned(vault_dir) == {path}


async def test_a_clean_up_that_fails_stops_neither_start_nor_close(vault_dir, monkeypatch, caplog):
    reme = reme_over(vault_dir, 4_000, retention_days=30)
    path = await stored(reme, LONG, 40)

    def broken(*_, **__):
        raise RuntimeError("a defect")

    monkeypatch.setattr("agentscope_reme.vault.expiry.expire_results", broken)
    await reme.start()
    await reme.close()
    assert (vault_dir / path).exists()
    assert "clean" in caplog.text


async def test_starting_with_retention_makes_no_vault(vault_dir):
    assert await cleaned(vault_dir) == set()
    assert not vault_dir.exists()


@pytest.mark.parametrize("session_id", ["Ünïcode/✓", "s1"])
async def test_pictures_and_pointers_in_metadata_count_too(vault_dir, session_id):
    reme = reme_over(vault_dir, 4_000, retention_days=30)
    memory = reme.get_in_memory_memory(session_id)
    stored_one = await reme.vault.store_result(b"\x89PNG\x00", ".png")
    await memory.add(user(f"[image moved to {stored_one.path} (5 bytes)]"))
    age(reme, stored_one.path, 40)
    other = await stored(reme, LONG, 40)
    message = user("short")
    message.metadata = {"reme_tool_results": {"a": {"path": other}}}
    await memory.add(message)
    await reme.close()
    assert (vault_dir / stored_one.path).exists()
    assert (vault_dir / other).exists()


def test_pointers_are_found_wherever_they_stand():
    a, b = "session/tool_result/0123456789abcdef.txt", f"session/tool_result/{'ab' * 32}.png"
    value = {"x": [f"see {a}, and", ("t", {"y": b})], "n": 7, "z": None, "short": "session/tool_result/12.txt"}
    assert results_in(value) == {a, b}
