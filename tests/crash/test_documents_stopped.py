"""Stopped at any system call, reading documents and recording turns end, done again, as if they had never been stopped.

As in test_stopped_anywhere: a killed process, and a power cut; every step with ``-m slow``, some of them always.
"""

import asyncio
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from agentscope.message import Msg

from agentscope_reme import ReMe
from agentscope_reme.pipelines.auto_resource import auto_resource, unread
from agentscope_reme.vault import Vault
from tests.pipelines.documents import PLAN, REPORT, planner_of, points, put, vault_at

from .stopped import dies_at
from .test_stopped_anywhere import Files, files

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")

DAY = "2026-11-20"
PATH = f"resource/{DAY}/report.md"
OTHER = "resource/plan.txt"


def planner() -> Any:
    by_document = {PATH: "Anna Huber decided to close the Basel office.", OTHER: "负责人是王小明。"}

    def answer(request: Any) -> Any:
        path = PATH if PATH in request.text else OTHER
        return points((by_document[path], [1, 2]), name="Basel" if path == PATH else "上线")

    return planner_of(default=answer)[0]


def read_all(vault: Vault, by_model: bool) -> None:
    changes = unread(vault)
    asyncio.run(auto_resource(vault, changes, planner=planner() if by_model else None))


def fresh(root: Path) -> Vault:
    return vault_at(root, **{f"{DAY}__report_md": REPORT, "plan_txt": PLAN})


def read_once(root: Path) -> Vault:
    vault = fresh(root)
    read_all(vault, False)
    return vault


def changed(root: Path) -> Vault:
    vault = read_once(root)
    put(vault, PATH, REPORT.replace("4,200", "5,300"))
    return vault


def annotated(root: Path) -> Vault:
    vault = changed(root)
    vault.append_sync(f"daily/{DAY}/quarterly-report.md", "\nMy own words.\n")
    return vault


def removed(root: Path) -> Vault:
    vault = read_once(root)
    (root / PATH).unlink()
    return vault


def moved(root: Path) -> Vault:
    vault = read_once(root)
    (root / PATH).rename(root / "resource" / "lease.md")
    return vault


STATES: dict[str, Callable[[Path], Vault]] = {
    "new": fresh,
    "changed": changed,
    "annotated": annotated,
    "removed": removed,
    "moved": moved,
}


def outcome(tmp_path: Path, state: str, by_model: bool) -> Files:
    vault = STATES[state](tmp_path / "undisturbed")
    read_all(vault, by_model)
    return files(vault.root)


def stop_everywhere(tmp_path: Path, state: str, by_model: bool, power: bool, stride: int) -> int:
    expected = outcome(tmp_path, state, by_model)
    STATES[state](tmp_path / "origin")
    step = 0
    while True:
        root = tmp_path / "stopped"
        shutil.rmtree(root, ignore_errors=True)
        shutil.copytree(tmp_path / "origin", root, copy_function=shutil.copy2)
        if not dies_at(step, lambda root=root: read_all(vault_at(root), by_model), power=power):
            return step
        vault = vault_at(root)
        read_all(vault, by_model)
        assert files(root) == expected, f"step {step}"
        assert unread(vault) == []
        step += stride


@pytest.mark.parametrize("power", [False, True], ids=["killed", "power"])
@pytest.mark.parametrize("state", STATES)
def test_reading_documents_is_finished_by_the_next_run(tmp_path, state, power):
    assert stop_everywhere(tmp_path, state, False, power, 19) > 0


@pytest.mark.slow
@pytest.mark.parametrize("by_model", [False, True], ids=["rules", "model"])
@pytest.mark.parametrize("power", [False, True], ids=["killed", "power"])
@pytest.mark.parametrize("state", STATES)
def test_reading_documents_is_finished_after_every_step(tmp_path, state, power, by_model):
    assert stop_everywhere(tmp_path, state, by_model, power, 1) > 10


def said(text: str) -> Msg:
    message = Msg("user", text, "user", timestamp="2026-11-20 10:00:00.000")
    message.id = f"id-{len(text)}"
    return message


TURNS = ["I prefer the night train to Vienna, please always book that.", "My sister Anna arrives on 3 May 2027."]


def record(root: Path) -> None:
    async def main() -> None:
        reme = ReMe(root, timezone="UTC", record_turns=10)
        for text in TURNS:
            await reme.recorder.record("s1", [said(text)])

    asyncio.run(main())


def go_on(root: Path) -> None:
    """What the next process does."""

    async def main() -> None:
        async with ReMe(root, timezone="UTC", watch="off") as reme:
            await reme.await_summary_tasks(30)
            assert reme.queue.pending() == []

    asyncio.run(main())


@pytest.mark.parametrize(
    ("power", "stride"),
    [
        (False, 5),
        (True, 5),
        pytest.param(False, 1, marks=pytest.mark.slow),
        pytest.param(True, 1, marks=pytest.mark.slow),
    ],
)
def test_what_was_recorded_has_its_card_in_the_end(tmp_path, power, stride):
    step, seen = 0, 0
    while True:
        root = tmp_path / f"stopped-{step}"
        died = dies_at(step, lambda root=root: record(root), power=power)
        journal = root / "session/dialog/s1.jsonl"
        lines = journal.read_text("utf-8").split("\n")[:-1] if journal.exists() else []
        if root.exists():
            go_on(root)
        cards = "".join(path.read_text("utf-8") for path in (root / "daily").glob("*/*.md"))
        for text in TURNS[: len([line for line in lines if line.endswith("}")])]:
            assert text[:30] in cards, f"step {step}"
            seen += 1
        if not died:
            break
        step += stride
    assert seen > 2
