"""The pages say what is so: their programs run, their links lead somewhere, their tables are those of the code."""

import ast
import asyncio
import importlib
import inspect
import re
import shlex
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
READMES = (ROOT / "README.md", ROOT / "README_ZH.md")
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])

_FENCE = re.compile(r"^(?P<indent> *)(?P<mark>`{3,}|~{3,})(?P<info>[^\n`]*)\n(?P<body>.*?)^ *(?P=mark) *$", re.S | re.M)
_LINK = re.compile(r"(?<!!)\[[^\]\n]*\]\((?P<target>[^)\s]+)\)")


@dataclass(frozen=True)
class Block:
    """A fenced block of a page; ``line`` is where its first line of content stands."""

    language: str
    body: str
    line: int


def name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def fenced(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    return [
        Block((match["info"].split() or [""])[0], match["body"], text[: match.start("body")].count("\n") + 1)
        for match in _FENCE.finditer(text)
    ]


def prose(page: Path) -> str:
    """The page without its fenced blocks and code spans."""
    return re.sub(r"`[^`\n]*`", "", _FENCE.sub("", page.read_text(encoding="utf-8")))


def section(page: Path, begin: str) -> str:
    """What stands between ``<!-- begin: begin -->`` and its end."""
    text = page.read_text(encoding="utf-8")
    return text.partition(f"<!-- {begin}: begin -->")[2].partition(f"<!-- {begin}: end -->")[0]


def script(module: str):
    sys.path.insert(0, str(ROOT / "scripts"))
    try:
        return importlib.import_module(module)
    finally:
        sys.path.pop(0)


# --- Programs -----------------------------------------------------------------------------------------------------


def python_pages() -> list[Path]:
    return [page for page in PAGES if any(block.language == "python" for block in fenced(page))]


@pytest.mark.parametrize("page", python_pages(), ids=name)
async def test_every_python_block_of_a_page_runs(page, tmp_path, monkeypatch):
    """The blocks of one page run in order and share their names, in an empty folder, with a model that just answers."""
    from agentscope.formatter import OpenAIChatFormatter

    from .support.scripted_model import ScriptedModel

    monkeypatch.chdir(tmp_path)
    names = {"__name__": "page", "model": ScriptedModel(default="Noted."), "formatter": OpenAIChatFormatter()}
    for block in fenced(page):
        if block.language != "python":
            continue
        source = "\n" * (block.line - 1) + block.body
        code = compile(source, str(page), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        result = eval(code, names)  # noqa: S307, RUF100 - our own pages
        if inspect.iscoroutine(result):
            await asyncio.wait_for(result, 60)


def test_the_readmes_begin_with_two_commands_and_the_program():
    for page in READMES:
        commands, program = fenced(page)[:2]
        assert commands.language == "bash"
        assert commands.body.split("\n")[:2] == [
            "pip install -e . && agentscope-reme demo",
            'pip install -e ".[test]" && pytest',
        ]
        assert program.language == "python"
        assert "reme.attach(agent" in program.body
        assert page.read_text(encoding="utf-8").splitlines().index("```python") < 20


# --- Commands -----------------------------------------------------------------------------------------------------


def commands(page: Path) -> list[str]:
    """Every command in the shell blocks of a page, one for each side of ``&&``; comments and prompts are dropped."""
    found = []
    for block in fenced(page):
        if block.language not in ("bash", "sh", "console", "shell"):
            continue
        for line in block.body.splitlines():
            line = line.removeprefix("$ ").strip()
            for part in re.split(r"&&", line):
                words = shlex.split(part, comments=True)
                if words:
                    found.append(shlex.join(words))
    return found


def ci_commands() -> set[str]:
    """Every line of .ci/run that is one plain command."""
    found = set()
    for line in (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines():
        try:
            found.add(shlex.join(shlex.split(line, comments=True)))
        except ValueError:  # a quotation that spans lines
            continue
    return found


def command_line_calls(page: Path) -> list[str]:
    """The calls of ``agentscope-reme`` on a page that this test can run: all but the demo, which .ci/run runs."""
    return [call for call in commands(page) if call.split()[0] == "agentscope-reme" and call.split()[1] != "demo"]


@pytest.mark.parametrize("page", [*READMES, ROOT / "CONTRIBUTING.md"], ids=name)
def test_every_other_command_of_a_page_is_run_by_the_build(page):
    here = set(command_line_calls(page))
    missing = [command for command in commands(page) if command not in ci_commands() and command not in here]
    assert not missing, f"neither .ci/run nor a test runs: {missing}"


# Both READMEs show the same calls, which then run once.
CALLS = {tuple(command_line_calls(page)): name(page) for page in READMES}


@pytest.mark.parametrize("calls", CALLS, ids=CALLS.values())
@pytest.mark.slow
def test_every_call_of_the_command_line_on_a_page_works(calls, tmp_path):
    """They run in order, as a reader would type them, in one folder that holds nothing but the report."""
    (tmp_path / "report.md").write_text("# Kiln report\n\nFiring 27 ended at 1043 degrees.\n", encoding="utf-8")
    program = "import sys; from agentscope_reme.service.cli import main; sys.exit(main())"
    assert calls
    for call in calls:
        words = [sys.executable, "-c", program, *shlex.split(call)[1:]]
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, f"{call}\n{done.stdout}\n{done.stderr}"
        assert done.stdout.strip(), call


def test_the_build_ends_with_the_test_command_of_the_readme():
    last_line = (ROOT / ".ci" / "run").read_text(encoding="utf-8").strip().splitlines()[-1]
    for page in READMES:
        tests = [line for block in fenced(page) if block.language == "bash" for line in block.body.splitlines()]
        assert 'pip install -e ".[test]" && pytest' in tests
    assert last_line == "pytest"


# --- Links --------------------------------------------------------------------------------------------------------


def anchors(page: Path) -> set[str]:
    """The anchors that GitHub makes of a page's headings."""
    headings = re.findall(r"^#{1,6} +(.+?) *#*$", _FENCE.sub("", page.read_text(encoding="utf-8")), re.M)
    return {re.sub(r"[^\w\- ]", "", re.sub(r"[`*]", "", heading)).lower().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_link_to_a_file_of_ours_leads_somewhere(page):
    faults = []
    for match in _LINK.finditer(prose(page)):
        target, _, anchor = match["target"].partition("#")
        if re.match(r"[a-z]+:", target):
            continue
        file = (page.parent / target).resolve() if target else page
        present = file.exists() and file.is_relative_to(ROOT)
        if not present or (anchor and file.suffix == ".md" and anchor not in anchors(file)):
            faults.append(match["target"])
    assert not faults, faults


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_pages_name_no_place_outside_the_repository(page):
    text = page.read_text(encoding="utf-8")
    outside = re.findall(r"(?<![\w.])/(?:home|root|tmp|work|opt|mnt|Users)/[\w.-]+", text)
    if page in READMES:
        outside += re.findall(r"\.\./\S+", text)
    assert not outside


def test_the_readmes_lead_to_every_page():
    for page in READMES:
        text = page.read_text(encoding="utf-8")
        targets = {match["target"].partition("#")[0] for match in _LINK.finditer(text)}
        unreachable = {name(path) for path in (ROOT / "docs").glob("*.md")} - targets
        assert not unreachable, f"{name(page)} does not lead to {unreachable}"


# --- Tables that repeat what stands in the code -------------------------------------------------------------------


@pytest.mark.parametrize("module", ["promises", "config_table", "module_list"])
def test_generated_pages_are_current(module):
    command = [sys.executable, str(ROOT / "scripts" / f"{module}.py"), "--check"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, f"run python scripts/{module}.py\n{done.stdout}{done.stderr}"


@pytest.mark.slow
def test_the_readmes_show_what_the_demo_prints():
    command = [sys.executable, str(ROOT / "scripts" / "demo_output.py"), "--check"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, f"run python scripts/demo_output.py\n{done.stdout}{done.stderr}"


def test_a_promise_that_holds_has_tests_and_a_planned_one_has_none():
    promises = script("promises")
    tests = promises.tests_by_promise()
    assert [promise.number for promise in promises.PROMISES] == list(range(1, 17))
    for promise in promises.PROMISES:
        if promise.state == "planned":
            assert not tests[promise.number], f"P{promise.number} is called planned, but has tests"
        else:
            assert tests[promise.number], f"P{promise.number} is said to hold, but nothing tests it"
        assert bool(promise.open) == (promise.state == "in part") == bool(promise.open_zh)


def test_every_test_of_a_promise_carries_its_number():
    for path in (ROOT / "tests" / "promises").rglob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
                assert re.match(r"test_promise_(0[1-9]|1[0-6])_\w+", node.name), f"{path.name}: {node.name}"


def requirements(text: str) -> set[str]:
    """Every ``name>=1`` of a text, without spaces."""
    return {match.replace(" ", "") for match in re.findall(r"`([A-Za-z][\w.-]*(?:\[\w+\])?>=[\w.,<>=]+)`", text)}


@pytest.mark.parametrize("page", READMES, ids=name)
def test_the_table_of_dependencies_is_that_of_the_project(page):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = {name: needed for name, needed in project["optional-dependencies"].items() if name not in ("test", "all")}
    declared = {
        one.split(";")[0].strip()
        for one in [*project["dependencies"], *(one for all in extras.values() for one in all)]
    }
    assert requirements(page.read_text(encoding="utf-8")) == declared


def test_both_readmes_have_the_same_parts():
    def shape(page: Path) -> list[tuple[int, str]]:
        text = _FENCE.sub(lambda match: f"```{match['info'].strip()}", page.read_text(encoding="utf-8"))
        return [(len(match[1]), match[2]) for match in re.finditer(r"^(#+|```)(\w*)", text, re.M)]

    def code(page: Path) -> list[str]:
        """The programs, without the words that are translated: comments and what is said to the agent."""
        programs = [block.body for block in fenced(page) if block.language == "python"]
        return [ast.dump(ast.parse(re.sub(r'Msg\("user", "[^"]*"', 'Msg("user", ""', text))) for text in programs]

    english, chinese = READMES
    assert shape(english) == shape(chinese)
    assert code(english) == code(chinese)
    assert commands(english) == commands(chinese)


def test_decisions_are_numbered_and_say_context_decision_and_consequences():
    pages = sorted((ROOT / "docs" / "decisions").glob("*.md"))
    assert [int(page.name[:4]) for page in pages] == list(range(1, len(pages) + 1))
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert text.startswith(f"# {int(page.name[:4])}. ")
        for part in ("**Context.**", "**Decision.**", "**Consequences.**"):
            assert part in text, f"{page.name} lacks {part}"


# --- Moving over --------------------------------------------------------------------------------------------------


def seed_rows() -> list[tuple[str, str, str]]:
    """The rows of docs/seed-compat.md: the name there, what it is here, whether it exists."""
    rows = []
    for line in (ROOT / "docs" / "seed-compat.md").read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split(" | ")]
        if line.startswith("| ") and len(cells) == 3 and cells[0] != "ReMe":
            rows.append((cells[0], cells[1], cells[2].rstrip("| ").strip()))
    return rows


def test_every_row_of_the_migration_table_says_whether_it_exists():
    rows = seed_rows()
    assert len(rows) > 40
    for there, _here, state in rows:
        assert re.match(r"(now|planned|in part(: .+)?)$", state), f"{there}: {state!r}"


def test_the_migration_table_calls_present_what_is_there_and_planned_what_is_not():
    from agentscope_reme import ReMe, ReMeInMemoryMemory

    for there, here, state in seed_rows():
        members = set(re.findall(r"`(?:reme\.)?([a-z_]+)\(", there + here))
        missing = {member for member in members if not (hasattr(ReMe, member) or hasattr(ReMeInMemoryMemory, member))}
        if state == "now":
            assert not missing, f"called present, but not there: {missing}"
        elif state == "planned":
            assert missing == members, f"called planned, but there: {members - missing}"


def test_settings_named_on_pages_exist():
    from agentscope_reme import ReMeConfig

    named = set()
    for page in PAGES:
        named |= set(
            re.findall(r"`((?:max|min|old|recent|compact|summary|chunk|read|retention|embed)_\w+)=", page.read_text())
        )
    assert named <= set(ReMeConfig.model_fields) | {"max_results", "min_score"}, named
