"""The examples, run as a user runs them: a fresh process, an empty folder, no key."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def run(name: str, folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / name)],
        cwd=folder,
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout


def test_quickstart_answers_in_a_second_session_from_the_vault(tmp_path: Path) -> None:
    out = run("quickstart.py", tmp_path)
    assert "“the spare key hangs behind the blue boiler, number 4471.” [MEMORY.md:1-1]" in out
    assert "ok: MEMORY.md:1-1" in out
    assert "4471" in (tmp_path / ".reme" / "MEMORY.md").read_text(encoding="utf-8")


def test_quickstart_runs_again_on_the_vault_it_made(tmp_path: Path) -> None:
    run("quickstart.py", tmp_path)
    assert "4471" in run("quickstart.py", tmp_path)


def test_hooks_by_hand_compacts_and_still_answers_about_the_beginning(tmp_path: Path) -> None:
    out = run("hooks_by_hand.py", tmp_path)
    assert "compacted: " in out
    assert "L-101" in out.rsplit("memory_search", 1)[-1]
    assert "session/dialog/s2.jsonl:" in out
    assert (tmp_path / ".reme" / "session" / "dialog" / "s2.jsonl").is_file()


@pytest.mark.parametrize("name", sorted(path.name for path in EXAMPLES.glob("*.py")))
def test_every_example_is_run_by_a_test(name: str) -> None:
    assert name in Path(__file__).read_text(encoding="utf-8")
