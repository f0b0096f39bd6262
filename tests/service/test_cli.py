"""The command line as a user meets it: a fresh process, what it prints where, and its exit codes."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from agentscope_reme import __version__
from agentscope_reme.jobs.registry import jobs
from agentscope_reme.service.cli import asked_for, make_app


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str


Run = Callable[..., Done]


@pytest.fixture
def reme(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command in this process: ``reme("read", "a.md", vault=path)``."""

    def run(*arguments: str, vault: Path | None = None) -> Done:
        code: object = 0
        try:
            make_app(asked_for(list(arguments)))(
                [*arguments, *(["--vault", str(vault)] if vault else [])], prog_name="agentscope-reme"
            )
        except SystemExit as done:
            code = done.code or 0
        printed = capsys.readouterr()
        return Done(int(str(code)), printed.out, printed.err)

    return run


def process(*arguments: str, stdin: str = "", cwd: Path | None = None, **env: str) -> Done:
    """Run a command in a fresh process."""
    done = subprocess.run(
        [sys.executable, "-m", "agentscope_reme.service.cli", *arguments],
        input=stdin.encode(),
        capture_output=True,
        cwd=cwd,
        env={**os.environ, "PYTHONIOENCODING": "utf-8", **env},
        timeout=120,
        check=False,
    )
    return Done(done.returncode, done.stdout.decode(), done.stderr.decode())


@pytest.fixture
def vault(vault_dir: Path) -> Path:
    (vault_dir / "daily").mkdir(parents=True)
    (vault_dir / "daily" / "2026-03-11.md").write_text(
        "---\ntags: [move]\n---\n# Move\n\nWe booked Brückner for the move.\n\n搬家定在四月十一日。\n", encoding="utf-8"
    )
    (vault_dir / "MEMORY.md").write_text("- The big kiln weighs 780 kg.\n", encoding="utf-8")
    return vault_dir


def test_search_prints_where_and_what_and_never_loads_agentscope(vault: Path) -> None:
    script = (
        "import sys; from agentscope_reme.service.cli import asked_for, make_app\n"
        "try: make_app()(['search', 'which movers booked', '--vault', sys.argv[1]])\n"
        "except SystemExit as done: code = done.code\n"
        "loaded = {name.split('.')[0] for name in sys.modules}\n"
        "print(code, sorted(loaded & {'agentscope', 'jieba', 'openai', 'dashscope', 'transformers', 'mistletoe'}))"
    )
    assert process("search", "build the index", "--vault", str(vault)).code == 0
    done = subprocess.run([sys.executable, "-c", script, str(vault)], capture_output=True, check=True, timeout=120)
    printed = done.stdout.decode()
    assert "daily/2026-03-11.md:" in printed
    assert "We booked Brückner for the move." in printed
    assert printed.splitlines()[-1] == "0 []"


def test_search_as_json_is_the_whole_result(reme: Run, vault: Path) -> None:
    result = json.loads(reme("search", "搬家定在哪天", "--json", "--limit", "1", vault=vault).out)
    assert result["status"] == "ok"
    assert len(result["hits"]) == 1
    assert result["hits"][0]["source"].startswith("daily/2026-03-11.md:")
    assert "四月十一日" in result["hits"][0]["text"]


def test_search_filters_and_says_when_nothing_is_left(reme: Run, vault: Path) -> None:
    assert "MEMORY.md" in reme("search", "kiln", vault=vault).out
    done = reme("search", "kiln", "--path", "daily", vault=vault)
    assert (done.code, done.out) == (0, "")
    assert done.err.strip()
    assert "Brückner" in reme("search", "booked", "--tag", "move", vault=vault).out
    assert reme("search", "booked", "--tag", "other", vault=vault).out == ""


def test_read_prints_the_text_alone_and_the_page_beside_it(reme: Run, vault: Path) -> None:
    done = reme("read", "daily/2026-03-11.md", "--start-line", "4", "--end-line", "4", vault=vault)
    assert done.out == "# Move\n"
    assert "lines 4-4 of 8" in done.err


def test_write_append_edit_and_stat_work_and_are_found_by_the_next_search(reme: Run, vault_dir: Path) -> None:
    assert "created" in reme("write", "digest/kiln.md", "Cone six.", vault=vault_dir).out
    done = process("append", "digest/kiln.md", "-", "--vault", str(vault_dir), stdin="第二行：素烧\n")
    assert (done.code, done.err) == (0, "")
    assert reme("edit", "digest/kiln.md", "six", "eight", vault=vault_dir).code == 0
    assert (vault_dir / "digest/kiln.md").read_text(encoding="utf-8") == "Cone eight.\n第二行：素烧\n"
    assert "digest/kiln.md:" in reme("search", "素烧", vault=vault_dir).out
    assert json.loads(reme("stat", "digest/kiln.md", "--json", vault=vault_dir).out)["encoding"] == "utf-8"


@pytest.mark.parametrize("line", ["- a list item", "- handle", "---", "--json is an option", "-h", "* 星号"])
def test_a_text_may_begin_with_a_dash(reme: Run, vault_dir: Path, line: str) -> None:
    done = reme("append", "list.md", line, vault=vault_dir)
    assert (done.code, done.err) == (0, "")
    assert (vault_dir / "list.md").read_text(encoding="utf-8") == f"{line}\n"


@pytest.mark.parametrize(
    "command",
    [("append", "--content", "a thought"), ("write", "--path=a.md", "text"), ("edit", "--old", "one", "two")],
)
def test_an_option_that_there_is_not_never_becomes_a_note(reme: Run, vault_dir: Path, command: tuple[str, ...]) -> None:
    done = reme(*command, vault=vault_dir)
    assert done.code == 2
    assert f"no such option: {command[1]}" in done.err
    assert not vault_dir.exists()


def test_an_existing_note_is_not_replaced_unseen(reme: Run, vault: Path) -> None:
    done = reme("write", "MEMORY.md", "gone", vault=vault)
    assert done.code == 1
    assert "exists" in done.err
    version = json.loads(reme("stat", "MEMORY.md", "--json", vault=vault).out)["version"]
    assert reme("write", "MEMORY.md", "- new\n", "--version", version, vault=vault).code == 0
    assert (vault / "MEMORY.md").read_text(encoding="utf-8") == "- new\n"
    assert reme("write", "MEMORY.md", "- newer\n", "--overwrite", vault=vault).code == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ("read", "nope.md"),
        ("read", "../outside.md"),
        ("read", "/etc/passwd"),
        ("read", "daily"),
        ("stat", "nope.md"),
        ("edit", "MEMORY.md", "not there", "x"),
        ("append", "session/x.md", "x"),
        ("write", "a\tb.md", "x"),
        ("list", "nope"),
        ("help", "nope"),
    ],
)
def test_what_cannot_be_done_is_one_sentence_and_exit_code_1(
    reme: Run, vault: Path, arguments: tuple[str, ...]
) -> None:
    done = reme(*arguments, vault=vault)
    assert (done.code, done.out) == (1, "")
    assert done.err.strip()
    assert "Traceback" not in done.err


def test_a_folder_that_cannot_be_written_is_one_sentence(reme: Run, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    done = reme("write", "a.md", "x", vault=tmp_path / "file")
    assert (done.code, done.out) == (1, "")
    assert "Traceback" not in done.err
    assert done.err.strip()


@pytest.mark.parametrize(
    "arguments",
    [("search",), ("nope",), ("search", "x", "--limit", "many"), ("list", "--sort-by", "x"), ("read", "-x")],
)
def test_a_wrong_command_is_exit_code_2(reme: Run, arguments: tuple[str, ...]) -> None:
    done = reme(*arguments)
    assert (done.code, done.out) == (2, "")
    assert "Usage" in done.err


@pytest.mark.parametrize("operation", ["search", "read", "list", "stat", "reindex"])
def test_reading_a_vault_that_is_not_there_says_so_and_makes_nothing(reme: Run, tmp_path: Path, operation: str) -> None:
    arguments = [operation, *(["x"] if operation in ("search", "read", "stat") else [])]
    done = reme(*arguments, vault=tmp_path / "nothing")
    assert done.code == 1
    assert "no vault" in done.err
    assert list(tmp_path.iterdir()) == []


def test_status_of_no_vault_and_of_one(reme: Run, tmp_path: Path, vault: Path) -> None:
    assert "not there yet" in reme("status", vault=tmp_path / "nothing").out
    status = json.loads(reme("status", "--json", vault=vault).out)
    assert status["exists"]
    assert status["index"]["files"] == 2
    assert "files" in reme("status", vault=vault).out


def test_the_vault_can_be_named_by_the_environment_and_is_dot_reme_by_default(
    reme: Run, vault: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REME_VAULT", str(vault))
    assert "780 kg" in reme("search", "kiln").out
    monkeypatch.delenv("REME_VAULT")
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    monkeypatch.chdir(folder)
    assert reme("write", "a.md", "x").code == 0
    assert (folder / ".reme" / "a.md").is_file()


def test_reindex_and_list_report_what_they_did(reme: Run, vault: Path) -> None:
    assert "2 added" in reme("reindex", vault=vault).out
    listed = reme("list", "--recursive", vault=vault).out
    assert "MEMORY.md" in listed
    assert "daily/2026-03-11.md" in listed


def test_a_terminal_that_cannot_show_chinese_still_gets_an_answer(vault: Path) -> None:
    done = process("search", "搬家", "--vault", str(vault), PYTHONIOENCODING="ascii")
    assert done.code == 0
    assert "daily/2026-03-11.md" in done.out


def test_version_and_help(reme: Run) -> None:
    assert reme("--version").out.strip() == __version__
    assert reme("version").out.strip() == __version__
    shown = reme("--help").out
    assert all(f" {name} " in shown for name in [*jobs(), "demo"])
    assert "status" in reme("help", "search").out


@pytest.mark.parametrize("name", list(jobs()))
def test_every_operation_has_a_command_with_its_parameters(reme: Run, name: str) -> None:
    shown = reme(name, "--help").out
    for parameter in jobs()[name].parameters:
        assert (parameter.name if parameter.positional else "--" + parameter.name.replace("_", "-")) in shown
    assert "--json" in shown
    assert "--vault" in shown


@pytest.mark.parametrize("name", list(jobs()))
def test_a_command_that_is_made_alone_is_the_one_that_is_made_with_the_others(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = []
    for app in (make_app(asked_for([name, "--help"])), make_app()):
        with pytest.raises(SystemExit) as done:
            app([name, "--help"], prog_name="agentscope-reme")
        texts.append((done.value.code, capsys.readouterr()))
    assert texts[0] == texts[1]
    assert f"agentscope-reme {name}" in texts[0][1].out


@pytest.mark.parametrize(
    "arguments", [[], ["--help"], ["-h"], ["--version"], ["serch", "x"], ["demo"], ["--help", "search"]]
)
def test_what_begins_with_no_operation_is_for_the_whole_command_line(arguments: list[str]) -> None:
    assert asked_for(arguments) is None


def test_an_empty_name_of_a_vault_is_no_name_for_the_folder_one_stands_in(tmp_path: Path) -> None:
    (tmp_path / "note.md").write_text("The ferry leaves.\n")
    for command in (("search", "ferry"), ("reindex",), ("write", "new.md", "text")):
        done = process(*command, "--vault", "", cwd=tmp_path)
        assert done.code == 2, command
        assert "no folder" in done.err
    assert [path.name for path in tmp_path.iterdir()] == ["note.md"]
    assert process("search", "ferry", "--vault", ".", cwd=tmp_path).code == 0


def test_a_file_is_no_vault_and_no_write_would_make_one_there(tmp_path: Path, reme: Run) -> None:
    note = tmp_path / "note.md"
    note.write_text("The ferry leaves.\n")
    done = reme("search", "ferry", vault=note)
    assert done.code == 1
    assert done.err == f"{note} is a file, not a folder; name the folder of a vault with --vault or REME_VAULT.\n"
