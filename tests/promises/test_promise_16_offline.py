"""P16: a fresh offline install with no key works: import, write, search, compact, read back, in an empty folder."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

# No user state, no key, and every attempt to reach anything but this process fails and is told on.
_FENCE = """
import socket, sys
def refuse(*args, **kwargs):
    sys.stderr.write("NETWORK " + repr(args[-1:]) + "\\n")
    raise OSError("there is no network")
socket.socket.connect = refuse
socket.socket.connect_ex = refuse
socket.getaddrinfo = refuse
socket.create_connection = refuse
"""

_PROGRAM = (
    _FENCE
    + """
import asyncio, json
from agentscope_reme import ReMe
from agentscope_reme.memory.tokens import TokenBudget
from agentscope.message import Msg

async def main():
    out = {}
    async with ReMe(max_input_length=2_000) as reme:
        assert not reme.vault.root.exists()
        await reme.vault.write("MEMORY.md", "- The spare key hangs behind the blue boiler. 备用钥匙在蓝色锅炉后面。\\n")
        out["english"] = [hit.source for hit in (await reme.search("where is the spare key")).hits]
        out["chinese"] = [hit.source for hit in (await reme.search("备用钥匙")).hits]
        memory = reme.get_in_memory_memory("s1")
        await memory.add(Msg("user", "Remember: the courier's code word is walnut-7319.", "user"))
        for number in range(60):
            await memory.add(Msg("user", f"Delivery {number} goes to dock {number % 7}. " * 4, "user"))
            await memory.add(Msg("Remy", f"Delivery {number} is noted.", "assistant"))
            await reme.compaction.keep_within_window(memory)
        use = await memory.estimate_tokens()
        out["tokens"] = use.estimated_tokens
        out["summary"] = bool(memory.get_compressed_summary())
        out["counter"] = reme.budget.name
        await reme.await_summary_tasks()
        found = await reme.search("courier code word")
        out["found"] = [hit.path.split("/")[0] for hit in found.hits if "walnut-7319" in hit.text]
        out["tool"] = (await reme.memory_search("courier code word")).content[0]["text"]
    return out

print(json.dumps(asyncio.run(main())))
"""
)


@pytest.fixture
def fresh(tmp_path: Path) -> tuple[Path, dict[str, str]]:
    """An empty working folder, and an environment with an empty home and no key."""
    home, work = tmp_path / "home", tmp_path / "work"
    home.mkdir()
    work.mkdir()
    kept = ("PATH", "PYTHONPATH", "SYSTEMROOT", "LANG", "TMPDIR", "VIRTUAL_ENV")
    env = {name: os.environ[name] for name in kept if name in os.environ}
    return work, {**env, "HOME": str(home), "USERPROFILE": str(home), "PYTHONIOENCODING": "utf-8"}


def run(fresh: tuple[Path, dict[str, str]], *arguments: str) -> "subprocess.CompletedProcess[str]":
    work, env = fresh
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=work,
        env=env,
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )


def test_promise_16_import_write_search_and_compaction_work_offline_without_a_key(
    fresh: tuple[Path, dict[str, str]],
) -> None:
    done = run(fresh, "-c", _PROGRAM)
    assert done.returncode == 0, done.stderr
    assert "NETWORK" not in done.stderr
    out = json.loads(done.stdout.splitlines()[-1])
    assert out["english"] == ["MEMORY.md:1-1"]
    assert out["chinese"] == ["MEMORY.md:1-1"]
    assert out["summary"]
    assert out["counter"] == "qwen"  # the vocabulary that ships with a dependency, not an estimate
    assert out["tokens"] <= 2_000
    assert set(out["found"]) & {"session", "daily"}
    assert "walnut-7319" in out["tool"]
    work, env = fresh
    assert [path.name for path in work.iterdir()] == [".reme"]
    left = [path for path in Path(env["HOME"]).rglob("*") if path.is_file()]
    assert left == [], "something was written into the user's home"


def test_promise_16_the_command_line_works_offline_without_a_key(fresh: tuple[Path, dict[str, str]]) -> None:
    def command(*arguments: str) -> "subprocess.CompletedProcess[str]":
        program = _FENCE + "import sys\nfrom agentscope_reme.service.cli import main\nmain()"
        return run(fresh, "-c", program, *arguments)

    written = command("write", "notes/boat.md", "The walnut boat lies at pier seven. 小船停在七号码头。\n")
    assert written.returncode == 0, written.stderr
    for query in ("walnut boat", "码头"):
        found = command("search", query, "--json")
        assert found.returncode == 0, found.stderr
        assert [hit["source"] for hit in json.loads(found.stdout)["hits"]] == ["notes/boat.md:1-1"], found.stdout
    read = command("read", "notes/boat.md")
    assert read.stdout.startswith("The walnut boat")
    for done in (written, found, read):
        assert "NETWORK" not in done.stderr


def test_promise_16_an_empty_vault_can_be_asked_and_stays_empty(fresh: tuple[Path, dict[str, str]]) -> None:
    program = """
import asyncio
from agentscope_reme import ReMe
async def main():
    async with ReMe() as reme:
        print((await reme.search("anything")).status)
asyncio.run(main())
"""
    done = run(fresh, "-c", _FENCE + program)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["none"]
    assert list(fresh[0].iterdir()) == []
