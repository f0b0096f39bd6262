"""P13: a dream that is killed anywhere and run again ends with every note once: nothing lost, nothing doubled.

The process is stopped before each call that changes the disk in turn (a write is made half), once as a killed process
and once as a power cut. Then it is run again, and what there is then is compared with an undisturbed run.
"""

import asyncio
import os
import re
import shutil
from pathlib import Path

import pytest

from agentscope_reme.pipelines.auto_dream import auto_dream
from agentscope_reme.vault import Vault
from tests.crash.stopped import dies_at
from tests.pipelines.dreams import TODAY, Script, files, found, index_of, place, unit, vault_at, write_card

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")

MINE = "---\nname: tea   # mine\n---\n# Tea\nMy own words.\n"


def prepare(root: Path) -> None:
    """Two cards, and a digest note that its user wrote."""
    vault = vault_at(root)
    write_card(vault, "2026-03-09", "tea", "Ann: I like oolong tea.")
    write_card(
        vault, TODAY, "kiln", "Ann: I fire the kiln at 1240 degrees.", "Ann: I fire the kiln at 1260 degrees now."
    )
    vault.write_sync("digest/personal/tea.md", MINE)


def script_for(vault: Vault) -> Script:
    """A model that changes one note, makes another and corrects it, and names a topic."""
    kiln, tea = f"daily/{TODAY}/kiln.md", "daily/2026-03-09/tea.md"
    units = [
        unit("tea", "Ann likes oolong tea.", place(vault, tea, "oolong")),
        unit("kiln", "Ann fires the kiln at 1240 degrees.", place(vault, kiln, "1240")),
        unit("kiln", "Ann fires the kiln at 1260 degrees.", place(vault, kiln, "1260")),
    ]
    topics = [{"title": "kiln temperatures", "evidence": [place(vault, kiln, "1260")]}]

    def decide(user: str):
        if "oolong" in user.split("</unit>")[0]:
            return {"action": "refine", "target": "digest/personal/tea.md"}
        held = re.search(r'<note path="(digest/personal/kiln[^"]*)".*?\[(d[0-9a-f]{8})\]', user, re.DOTALL)
        return {"action": "correct", "target": held[1], "statement_id": held[2]} if held else {"action": "create"}

    return Script(lambda user: found(units, topics) if "kiln.md" in user else found(), decide)


def run(root: Path) -> Script:
    vault = vault_at(root)
    script = script_for(vault)
    done = asyncio.run(auto_dream(vault, index_of(vault), planner=script))
    assert done.success, done.answer
    return script


def outcome(root: Path) -> dict[str, bytes]:
    """Notes and topics, and what was read and what waits; not what dead writers left, which is swept later."""
    vault_at(root).storage.sweep()
    return files(root, "digest", "daily", "history/pipelines")


def stopped_everywhere(tmp_path: Path, power: bool, stride: int) -> int:
    template, done = tmp_path / "template", tmp_path / "done"
    prepare(template)
    shutil.copytree(template, done)
    run(done)
    expected, sources = outcome(done), files(template, "daily")
    assert {"digest/personal/kiln.md", "digest/personal/tea.md", f"daily/{TODAY}/interests.yaml"} <= set(expected)
    for step in range(0, 2000, stride):
        root = tmp_path / "try"
        shutil.rmtree(root, ignore_errors=True)
        shutil.copytree(template, root)
        died = dies_at(step, lambda root=root: run(root), power=power)  # type: ignore[misc]
        between = files(root, "digest", "daily")
        assert {path: between[path] for path in sources if path.count("/") == 2} == {
            path: data for path, data in sources.items() if path.count("/") == 2
        }
        assert between["digest/personal/tea.md"].startswith(MINE.encode())
        run(root)
        assert outcome(root) == expected, f"stopped at call {step}"
        again = run(root)
        assert not again.asked, "a third run finds nothing left to do"
        assert outcome(root) == expected
        if not died:
            return step
    raise AssertionError("the run does not end")


def test_promise_13_a_dream_stopped_at_some_calls_and_run_again_has_every_note_once(tmp_path: Path) -> None:
    assert stopped_everywhere(tmp_path, power=False, stride=29) > 30


@pytest.mark.slow
@pytest.mark.parametrize("power", [False, True])
def test_promise_13_a_dream_stopped_at_any_call_and_run_again_has_every_note_once(tmp_path: Path, power: bool) -> None:
    assert stopped_everywhere(tmp_path, power, stride=1) > 30


def test_promise_13_a_run_that_was_stopped_and_completed_is_taken_back_as_one(tmp_path: Path) -> None:
    """Stopped after its first note was written: both halves have one id."""
    prepare(tmp_path / "template")
    before = files(tmp_path / "template", "digest")
    for step in range(0, 2000, 3):
        root = tmp_path / "try"
        shutil.rmtree(root, ignore_errors=True)
        shutil.copytree(tmp_path / "template", root)
        assert dies_at(step, lambda root=root: run(root)), "it is stopped before it is done"  # type: ignore[misc]
        written = files(root, "digest")
        if written != before and len(written) == 1:
            break
    run(root)
    assert len(files(root, "digest")) == 2
    from agentscope_reme.pipelines.dream_undo import undo_run

    assert asyncio.run(undo_run(vault_at(root))).success
    assert files(root, "digest") == before
