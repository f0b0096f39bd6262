"""The operation auto_memory: messages from a caller or from a journal, and on the command line from files."""

import io
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from agentscope_reme import ReMe
from agentscope_reme.errors import ReMeError
from agentscope_reme.jobs.registry import jobs
from agentscope_reme.jobs.text import as_text
from agentscope_reme.service.cli import asked_for, make_app
from tests.support.scripted_model import ScriptedModel

TALK = [
    {"role": "user", "content": "Jon lost his job today.", "created_at": "2023-01-19T08:00:00"},
    {"role": "assistant", "content": "I am sorry to hear that.", "created_at": "2023-01-19T08:01:00"},
]


async def run(vault_dir: Path, *arguments: Any, **options: Any) -> Any:
    async with ReMe(vault_dir) as reme:
        return await jobs()["auto_memory"](reme, **({"messages": arguments[0]} if arguments else {}), **options)


def command(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code: object = 0
    try:
        make_app(asked_for(["auto_memory"]))(["auto_memory", *arguments], prog_name="agentscope-reme")
    except SystemExit as done:
        code = done.code or 0
    printed = capsys.readouterr()
    return int(str(code)), printed.out, printed.err


@pytest.mark.parametrize("given", [TALK, {"messages": TALK}])
async def test_messages_become_a_card_of_their_day(vault_dir: Path, given: Any) -> None:
    done = await run(vault_dir, given, session_id="locomo")
    assert done.success
    assert done.metadata["date"] == "2023-01-19"
    assert "Jon lost his job" in (vault_dir / done.metadata["path"]).read_text("utf-8")


async def test_one_message_is_a_conversation(vault_dir: Path) -> None:
    assert (await run(vault_dir, TALK[0])).metadata["n_messages"] == 1


async def test_the_journal_of_a_session_stands_for_its_messages(vault_dir: Path) -> None:
    await run(vault_dir, TALK, session_id="s", date="2020-01-01")
    done = await run(vault_dir, session_id="s")
    assert done.metadata["path"].startswith("daily/2023-01-19/")
    lines = (vault_dir / "session/dialog/s.jsonl").read_text("utf-8").splitlines()
    assert len(lines) == 2
    again = await run(vault_dir, [json.loads(line) for line in lines], session_id="s")
    assert again.metadata["modified"] is False


@pytest.mark.parametrize(
    ("given", "said"), [((), "Give the messages"), (("text",), "list of messages"), (({"messages": 3},), "list")]
)
async def test_what_is_no_conversation_is_refused(vault_dir: Path, given: tuple[Any, ...], said: str) -> None:
    with pytest.raises(ReMeError, match=said):
        await run(vault_dir, *given)
    assert not vault_dir.exists()


async def test_a_session_without_a_journal_is_named(vault_dir: Path) -> None:
    with pytest.raises(ReMeError, match="no journal of session 'nobody'"):
        await run(vault_dir, session_id="nobody")


@pytest.mark.parametrize("form", ["file", "lines", "stdin", "inline"])
def test_the_command_reads_json_and_json_lines(
    vault_dir: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    form: str,
) -> None:
    text = "\n".join(map(json.dumps, TALK)) if form == "lines" else json.dumps(TALK, indent=1)
    file = tmp_path / "talk.json"
    file.write_text("\ufeff" + text, "utf-8")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    given = {"stdin": "-", "inline": text}.get(form, str(file))
    code, out, _ = command(capsys, given, "--session-id", "s", "--vault", str(vault_dir), "--json")
    assert code == 0
    assert json.loads(out)["metadata"]["n_messages"] == 2


@pytest.mark.parametrize(
    ("given", "said"), [("no-such-file", "no file"), ("{broken", "neither JSON nor"), ('[{"a": 1}]', "message 1")]
)
def test_the_command_says_what_is_wrong(
    vault_dir: Path, capsys: pytest.CaptureFixture[str], given: str, said: str
) -> None:
    code, out, err = command(capsys, given, "--vault", str(vault_dir))
    assert (code, out) == (1, "")
    assert said in err
    assert not vault_dir.exists()


async def test_status_tells_of_pending_work_and_of_what_was_set_aside(vault_dir: Path) -> None:
    async with ReMe(vault_dir) as reme:
        await reme.vault.write("a.md", "x")
        reme.queue.add("of a later version", {})
        lost = reme.queue.add("auto_memory", {})
        for _ in range(5):
            reme.queue.begin(lost)
            reme.queue.failed(lost, "the model is down")
        status = await jobs()["status"](reme)
        assert status.model == ""
        assert status.pending == 1
        assert status.set_aside == ((lost, "auto_memory", "the model is down"),)
        shown = as_text(status).body
        assert "none: cards quote what was said" in shown
        assert f"set aside     auto_memory {lost}: the model is down" in re.sub(
            r"(?m)^(set aside) +", r"\1     ", shown
        )
        reme.chat_model = ScriptedModel()
        assert (await jobs()["status"](reme)).model == "scripted"
