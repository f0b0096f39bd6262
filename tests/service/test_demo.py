"""The demo, whole: what it prints is true, what it keeps is there, and it fails when an answer cites nothing."""

import asyncio
import contextlib
import io
import itertools
import logging
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from agentscope_reme.errors import ReMeError
from agentscope_reme.service import demo, demo_data
from agentscope_reme.service.demo_checks import citation_checks, unpaired_calls, vault_leaves
from agentscope_reme.vault.notes import Vault
from tests.support.answers import call
from tests.support.chat_rules import message_text
from tests.support.openai_stub import OpenAIStub, Refusal
from tests.support.scripted_model import ScriptedModel


@dataclass(frozen=True)
class Run:
    """One run of the whole demo in plain lines."""

    code: int
    out: str
    vault: Path


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    vault = tmp_path_factory.mktemp("demo") / "vault"
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        code = asyncio.run(demo.run_demo(plain=True, vault_dir=vault))
    return Run(code, printed.getvalue(), vault)


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first day and a half of the conversation, and one question."""
    whole = demo_data.load_conversation()
    part = replace(whole, turns=whole.turns[:22], questions=whole.questions[2:])
    monkeypatch.setattr(demo_data, "load_conversation", lambda: part)


def test_it_succeeds_and_is_plain(run: Run) -> None:
    assert run.code == 0
    assert "FAIL" not in run.out
    assert "not a language model" in run.out
    assert not re.search("[\x1b\u2500-\u259f]", run.out)


def test_every_compaction_is_shown_and_its_lines_are_in_the_journal(run: Run) -> None:
    sizes = re.findall(r"\*\* compaction \d+: ([\d,]+) -> ([\d,]+) of 8,000 tokens", run.out)
    assert len(sizes) >= 3
    assert all(int(after.replace(",", "")) < int(before.replace(",", "")) for before, after in sizes)
    moved = [
        tuple(map(int, found))
        for found in re.findall(
            r"(\d+) messages?, word for word, to session/dialog/studio-move.jsonl lines (\d+)-(\d+)", run.out
        )
    ]
    assert len(moved) == len(sizes)
    assert moved[0][1] == 1
    assert all(count == last - first + 1 for count, first, last in moved)
    assert all(earlier[2] + 1 == later[1] for earlier, later in itertools.pairwise(moved))
    journal = (run.vault / "session/dialog/studio-move.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(journal) == moved[-1][2]


def test_nothing_was_lost_and_nothing_was_too_large(run: Run) -> None:
    said, left, here = map(int, re.search(r"(\d+) messages: (\d+) in the journal, (\d+) still in", run.out).groups())
    assert said == left + here
    assert "none lost, none twice" in run.out
    largest = int(re.search(r"largest context ever sent had ([\d,]+)", run.out)[1].replace(",", ""))
    assert 4_000 < largest <= 8_000


def test_long_tool_results_are_whole_in_the_vault(run: Run) -> None:
    stored = re.findall(r"the whole result is in (session/tool_result/\S+)", run.out)
    assert stored
    texts = [(run.vault / path).read_text(encoding="utf-8") for path in stored]
    assert demo_data.kiln_log(27) in texts


def test_the_second_session_answers_from_the_first_with_lines_that_hold_the_words(run: Run) -> None:
    second = run.out.partition("A week later")[2]
    answers = re.split(r"\nQ\d  ", second)[1:]
    facts = (("Brückner", "1,000 kg"), ("4 月 11 日", "28 天"), ("E_TC_OPEN", "TC-4471"))
    for answer, expected in zip(answers, facts, strict=True):
        cited = re.search(r"\[(\S+):(\d+)-(\d+)\]", answer)
        lines = (run.vault / cited[1]).read_text(encoding="utf-8").split("\n")[int(cited[2]) - 1 : int(cited[3])]
        for fact in expected:
            assert fact in answer.partition("memory_search")[2]
            assert any(fact in line for line in lines)


def test_the_agent_wrote_what_it_was_asked_to_remember(run: Run) -> None:
    core = (run.vault / "MEMORY.md").read_text(encoding="utf-8")
    assert core.count("\n") == 3
    assert "G-12" in core


def test_the_tree_names_what_is_there(run: Run) -> None:
    tree = run.out.partition("The vault: plain files")[2]
    for name in ("MEMORY.md", "daily/", "studio-move.jsonl", "tool_result/", "history/", "metadata/"):
        assert name in tree
    assert str(run.vault) in tree


def test_the_vault_it_keeps_can_be_searched_by_the_command_it_names(
    run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    from agentscope_reme.service.cli import make_app

    assert "agentscope-reme search" in run.out
    with pytest.raises(SystemExit) as done:
        make_app()(["search", "How heavy is the big kiln?", "--vault", str(run.vault)])
    assert not done.value.code
    assert "780 kg" in capsys.readouterr().out


async def test_without_a_folder_nothing_stays_and_it_says_so(
    short: None, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert await demo.run_demo(plain=True) == 0
    assert "removed" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []


async def test_a_folder_that_holds_something_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "mine.md").write_text("mine")
    with pytest.raises(ReMeError, match="not an empty folder"):
        await demo.run_demo(plain=True, vault_dir=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.md"]


async def test_an_answer_that_cites_nothing_is_a_failure(
    short: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], vault_dir: Path
) -> None:
    monkeypatch.setattr(demo, "OfflineModel", lambda: ScriptedModel(default="I think it was a loose wire. " * 12))
    assert await demo.run_demo(plain=True, vault_dir=vault_dir) == 1
    assert "FAIL  the answer cites no lines" in capsys.readouterr().out


class Provider:
    """A language model at a provider: searches, cites, writes checkpoints."""

    def __call__(self, request: dict[str, Any]) -> Any:
        if not request.get("tools"):
            return "\n\n".join(
                f"## {name}\n- moving the studio"
                for name in ("Goal", "Constraints", "Progress", "Key Decisions", "Next Steps", "Critical Context")
            )
        last = request["messages"][-1]
        text = message_text(last)
        if last["role"] == "tool":
            source = re.search(r'source="([^"]+)"', text)
            return f"It is in {source[1]}." if source else "It stands out."
        if "read_kiln_log" in text:
            return call("read_kiln_log", firing=27)
        return call("memory_search", query=text) if text.endswith("?") else "Noted. " * 20


@pytest.mark.parametrize("model", ["", "some-model"])
async def test_with_a_key_it_runs_on_that_model(
    short: None, model: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], vault_dir: Path
) -> None:
    with OpenAIStub(default=Provider()) as stub:
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        monkeypatch.setenv("OPENAI_BASE_URL", stub.base_url)
        assert await demo.run_demo(plain=True, vault_dir=vault_dir, model_name=model) == 0
    assert not stub.refused
    assert {request["model"] for request in stub.chat_requests()} == {model or "gpt-4.1-mini"}
    out = capsys.readouterr().out
    assert stub.base_url in out
    assert "not a language model" not in out
    assert re.search(r"takes their place: \d+ lines in 6 sections", out)


async def test_a_model_that_cannot_be_reached_is_one_sentence(
    short: None, monkeypatch: pytest.MonkeyPatch, vault_dir: Path
) -> None:
    with OpenAIStub(default=Refusal(401, "wrong key")) as stub:
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        monkeypatch.setenv("OPENAI_BASE_URL", stub.base_url)
        with pytest.raises(ReMeError, match="wrong key"):
            await demo.run_demo(plain=True, vault_dir=vault_dir)


def test_the_engine_follows_the_keys_and_names_its_model(monkeypatch: pytest.MonkeyPatch) -> None:
    offline = demo.choose_engine()
    assert (type(offline.model).__name__, offline.is_language_model) == ("OfflineModel", False)
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    openai = demo.choose_engine("gpt-x")
    assert (type(openai.model).__name__, openai.model.model_name, openai.is_language_model) == (
        "OpenAIChatModel",
        "gpt-x",
        True,
    )
    monkeypatch.setenv("DASHSCOPE_API_KEY", "none")
    dashscope = demo.choose_engine()
    assert (type(dashscope.model).__name__, type(dashscope.formatter).__name__) == (
        "DashScopeChatModel",
        "DashScopeChatFormatter",
    )
    assert dashscope.model.model_name in dashscope.about


async def test_citations_are_checked_against_the_files(vault_dir: Path) -> None:
    vault = Vault(vault_dir)
    await vault.write("a.md", "one\n- 09:00 Wen: the key is **blue**\nthree\n")
    good = await citation_checks("It says “Wen: the key is blue” [a.md:1-3].", vault)
    assert [holds for _, holds in good] == [True]
    assert "line 2" in good[0][0]
    assert not all(holds for _, holds in await citation_checks("“the key is red” [a.md:1-3]", vault))
    assert not all(holds for _, holds in await citation_checks("see b.md:1-2", vault))
    assert not all(holds for _, holds in await citation_checks("see a.md:40-41", vault))
    assert not all(holds for _, holds in await citation_checks("the key is blue", vault))


def test_unpaired_calls_are_counted() -> None:
    asked = {"role": "assistant", "tool_calls": [{"id": "a"}, {"id": "b"}]}
    assert unpaired_calls([asked, {"role": "tool", "tool_call_id": "a"}]) == 1
    assert unpaired_calls([{"role": "tool", "tool_call_id": "a"}]) == 1
    assert unpaired_calls([asked, *({"role": "tool", "tool_call_id": name} for name in "ab")]) == 0


def test_a_long_folder_is_named_in_part_and_counted(tmp_path: Path) -> None:
    folder = tmp_path / "session" / "tool_result"
    folder.mkdir(parents=True)
    for number in range(20):
        (folder / f"{number:02d}.txt").write_bytes(b"x" * 100)
    leaves = vault_leaves(tmp_path)
    assert [leaf.name for leaf in leaves if leaf.depth == 0] == ["session/"]
    assert leaves[-1].name == "15 more"
    assert leaves[-1].about == "1.5 kB"


def test_the_log_level_is_as_before_when_it_has_ended(run: Run) -> None:
    assert run.code == 0
    assert logging.getLogger("agentscope_reme").level == logging.NOTSET
