"""Commands about links, nodes and health, as a person types them."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from agentscope_reme.service.cli import asked_for, make_app

Answer = tuple[int, str, str]
Run = Callable[..., Answer]


@pytest.fixture
def run(vault_dir: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command on the vault: exit code, what was printed, what was remarked."""

    def command(*arguments: str, vault: Path = vault_dir) -> Answer:
        code: object = 0
        try:
            make_app(asked_for(list(arguments)))([*arguments, "--vault", str(vault)], prog_name="agentscope-reme")
        except SystemExit as done:
            code = done.code or 0
        printed = capsys.readouterr()
        return int(str(code)), printed.out, printed.err

    return command


@pytest.fixture
def notes(vault_dir: Path) -> Path:
    for path, text in {
        "digest/wiki/kiln.md": "---\nname: Kiln\ndescription: how it is fired\n---\n"
        "made_of:: [[digest/wiki/wood.md]]\n",
        "digest/wiki/wood.md": "---\nname: Wood\n---\nWalnut, see [[ghost.md]].\n",
        "daily/2026-03-11.md": "Fired the kiln: [[digest/wiki/kiln.md]]\n",
        "daily/2026-03-11 (conflicted copy 2026-03-12).md": "Fired the kiln twice.\n",
    }.items():
        (vault_dir / path).parent.mkdir(parents=True, exist_ok=True)
        (vault_dir / path).write_text(text, encoding="utf-8")
    return vault_dir


def test_node_search_finds_digest_notes_only(run: Run, notes: Path) -> None:
    code, out, _ = run("node_search", "fired kiln")
    assert code == 0
    assert [line.split("  ")[1:] for line in out.splitlines()] == [["digest/wiki/kiln.md", "Kiln", "how it is fired"]]
    hits = json.loads(run("node_search", "fired kiln", "--json")[1])
    assert [set(hit) for hit in hits] == [{"path", "name", "description", "score"}]


def test_traverse_walks_as_far_and_in_the_direction_asked_for(run: Run, notes: Path) -> None:
    _, out, _ = run("traverse", "kiln", "--depth", "2")
    assert out.splitlines() == [
        "digest/wiki/kiln.md",
        "  → made_of: digest/wiki/wood.md  Wood",
        "  ← daily/2026-03-11.md  2026-03-11",
        "    → ghost.md  (no note at this path)  (via digest/wiki/wood.md)",
    ]
    found = json.loads(run("traverse", "digest/wiki/kiln.md", "--direction", "in", "--json")[1])
    assert ([note["path"] for note in found["notes"]], found["more"]) == (["daily/2026-03-11.md"], False)
    code, _, err = run("traverse", "nowhere.md")
    assert (code, "nowhere.md" in err) == (1, True)
    assert run("traverse", "kiln", "--direction", "sideways")[0] == 2


def test_doctor_names_loose_links_and_conflict_copies_and_is_content(run: Run, notes: Path) -> None:
    code, out, err = run("doctor")
    assert code == 0
    assert "is what the files give" in out
    assert "digest/wiki/wood.md:4 to ghost.md: there is no note at this path" in err
    assert "conflict copy, not indexed: daily/2026-03-11 (conflicted copy 2026-03-12).md" in err


def test_health_check_answers_for_a_vault_that_is_there_one_that_is_not_and_one_that_cannot_be(
    run: Run, notes: Path, tmp_path: Path
) -> None:
    assert run("health_check")[:2] == (0, run("health_check")[1])
    assert "well" in run("health_check")[1]
    code, out, _ = run("health_check", vault=tmp_path / "later")
    assert (code, "not there yet" in out, (tmp_path / "later").exists()) == (0, True, False)
    file = tmp_path / "file"
    file.write_text("no folder")
    code, out, err = run("health_check", vault=file)
    assert (code, "not well" in out, "is not a folder" in err) == (1, True, True)


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser can write everywhere")
def test_health_check_says_when_the_vault_cannot_be_written(run: Run, notes: Path) -> None:
    notes.chmod(0o500)
    try:
        code, _, err = run("health_check")
    finally:
        notes.chmod(0o700)
    assert (code, "cannot be written" in err) == (1, True)


def test_health_check_says_when_nothing_can_be_written_beside_the_notes(run: Run, notes: Path) -> None:
    own = notes / "metadata"
    shutil.rmtree(own, ignore_errors=True)
    own.write_text("not ours")
    code, _, err = run("health_check")
    assert (code, f"{own} is not a folder" in err) == (1, True)
    assert run("write", "new.md", "text")[0] == 1, "it says what a write would meet"
    own.unlink()
    assert run("health_check")[0] == 0


def test_health_check_says_when_the_vault_or_its_index_is_somebody_elses(
    run: Run, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = notes / "metadata"
    own.mkdir(exist_ok=True)
    access = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: path != own and access(path, mode))
    code, _, err = run("health_check")
    assert (code, err) == (1, f"{own} cannot be written\n")
    monkeypatch.setattr(os, "access", lambda path, mode: path != notes and access(path, mode))
    code, _, err = run("health_check")
    assert (code, f"{notes} cannot be read" in err) == (1, True)


def test_reindex_prints_no_bar_where_nobody_watches(run: Run, notes: Path) -> None:
    code, out, err = run("reindex")
    assert (code, "3 added" in out, "Indexing" in err) == (0, True, False)


def test_a_command_takes_settings(run: Run, vault_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    vault_dir.mkdir(parents=True, exist_ok=True)
    (vault_dir / "plan.md").write_text("See [[Kiln]].\n", encoding="utf-8")
    (vault_dir / "Kiln.md").write_text("# Kiln\n", encoding="utf-8")
    assert "no note at this path" in run("traverse", "plan.md")[1]
    assert run("traverse", "plan.md", "--set", "link_resolution=obsidian")[1].splitlines()[1] == "  → Kiln.md  Kiln"
    assert run("write", "list.md", "- one", "--set", "chunk_chars=reme", "--set", "ignore=[drafts/*]")[0] == 0
    monkeypatch.setenv("REME_SET", "link_resolution=obsidian watch_quiet=0.5")
    assert run("traverse", "plan.md")[1].splitlines()[1] == "  → Kiln.md  Kiln"


@pytest.mark.parametrize(
    ("setting", "reason"),
    [
        ("link_resolution", "KEY=VALUE"),
        ("link_resolution=web", "literal"),
        ("link_resolutoin=obsidian", "link_resolution"),
        ("quiet=1", "no such setting"),
        ("chunk_chars=3", "200"),
        ("vault_dir=elsewhere", "--vault"),
    ],
)
def test_a_setting_that_cannot_be_used_is_a_wrong_command(run: Run, notes: Path, setting: str, reason: str) -> None:
    code, out, err = run("search", "kiln", "--set", setting)
    assert (code, out) == (2, "")
    assert reason in err
    assert "--set" in err
