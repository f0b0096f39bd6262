"""P13: a pipeline that is killed anywhere and run again ends with every note once: nothing lost, nothing doubled."""

import asyncio
import os
import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from agentscope_reme.pipelines.agent import TOOL, Planner
from agentscope_reme.pipelines.auto_memory import auto_memory
from agentscope_reme.pipelines.queue import Queue
from agentscope_reme.pipelines.worker import Worker
from agentscope_reme.vault import Vault
from agentscope_reme.vault.dialog import lines_of
from agentscope_reme.vault.layout import TEMP_PREFIX
from tests.crash.stopped import dies_at
from tests.support.scripted_model import Request, ScriptedModel, call

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")

NOW = datetime(2026, 4, 1, 2, 0, tzinfo=UTC)
FIRST = [
    {"role": "user", "content": "My flight to Lisbon leaves on May 30, seat 14C.", "created_at": "2023-05-24 10:02:00"},
    {"role": "assistant", "content": "Noted.", "created_at": "2023-05-24 10:02:10"},
]
SECOND = [{"role": "user", "content": "The seat is 15A now, dinner is at eight.", "created_at": "2023-05-24 11:00:00"}]
Files = dict[str, Any]


def vault_at(root: Path) -> Vault:
    return Vault(root, timezone="UTC", clock=lambda: NOW)


def plan(name: str, *items: tuple[str, int | None]) -> Any:
    made = [{"kind": "fact", "text": text, "sources": [1], "replaces": replaces} for text, replaces in items]
    return call(TOOL, name=name, description=f"about {name}", items=made)


def answer(request: Request) -> Any:
    """What a model says that is asked the same thing again."""
    if "15A" not in request.role_text("user"):
        return plan("Flight", ("Seat 14C on the flight to Lisbon.", None))
    seen = "Seat 14C on the flight" in request.role_text("user")
    return plan(
        "Trip to Lisbon", ("Seat 15A on the flight to Lisbon.", 1 if seen else None), ("Dinner at eight.", None)
    )


def run(root: Path, messages: list[dict[str, Any]], *, model: bool) -> None:
    planner = Planner(ScriptedModel(default=answer)) if model else None
    done = asyncio.run(auto_memory(vault_at(root), messages, planner=planner, session_id="s"))
    assert done.success, done.answer


def queued(root: Path) -> None:
    """The same by way of the queue: what is pending is done, whoever added it."""
    vault = vault_at(root)
    planner = Planner(ScriptedModel(default=answer))

    async def handler(payload: Any) -> Any:
        return await auto_memory(vault, payload["messages"], planner=planner, session_id="s")

    async def work() -> None:
        queue = Queue(vault)
        if not queue.pending() and not (root / "daily").exists():
            queue.add("auto_memory", {"messages": FIRST})
        worker = Worker(queue, {"auto_memory": handler})
        worker.wake()
        await worker.settled()
        await worker.stop()

    asyncio.run(work())


def notes(root: Path) -> Files:
    """Cards, pages and what can be read of journals; the history says more of an interrupted run."""
    found: Files = {}
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root).as_posix()
        if not path.is_file() or path.name.startswith(TEMP_PREFIX) or name.startswith(("history/", "metadata/")):
            continue
        # A journal may hold the stump of a line, which its readers pass over.
        lines = lines_of(vault_at(root).storage, name)
        found[name] = [(line.id, line.seq, line.msg) for line in lines] if lines else path.read_bytes()
    return found


def prepare_card(root: Path) -> None:
    run(root, FIRST, model=True)
    (card,) = (root / "daily" / "2023-05-24").glob("*.md")
    vault_at(root).write_sync("mine.md", f"[[{card.relative_to(root).as_posix()}]]\n")


CASES: dict[str, tuple[Callable[[Path], None], Callable[[Path], None]]] = {
    "first": (lambda root: None, lambda root: run(root, FIRST, model=True)),
    "without_model": (lambda root: None, lambda root: run(root, FIRST, model=False)),
    "update_and_rename": (prepare_card, lambda root: run(root, SECOND, model=True)),
    "improved": (
        lambda root: run(root, FIRST, model=False),
        lambda root: run(root, SECOND, model=True),
    ),
    "queued": (lambda root: None, queued),
}


def cases() -> list[Any]:
    """At every step each, and at every ninth of one in the default run."""
    every = [(name, power, 1) for name in CASES for power in (False, True)]
    return [("first", False, 9), *(pytest.param(*one, marks=[pytest.mark.slow]) for one in every)]


@pytest.mark.parametrize(("name", "power", "stride"), cases())
def test_promise_13_a_conversation_ends_with_the_same_card_wherever_it_is_killed(
    tmp_path: Path, name: str, power: bool, stride: int
) -> None:
    prepare, action = CASES[name]
    plain = tmp_path / "plain"
    prepare(plain)
    before = notes(plain)
    action(plain)
    expected = notes(plain)
    assert expected != before
    step = 0
    while True:
        root = tmp_path / "killed"
        prepare(root)
        stopped = dies_at(step, lambda root=root: action(root), power=power)  # type: ignore[misc]
        action(root)
        assert notes(root) == expected, f"killed at step {step}"
        action(root)
        assert notes(root) == expected, f"and run once more after step {step}"
        shutil.rmtree(root)
        if not stopped:
            break
        step += stride
    assert step > 20
