"""P7: a crash at any point leaves the old file or the new one, and no temporary file that is indexed.

The process is stopped before each call that changes the disk in turn (a write is made half), once as a killed process
and once as a power cut that also loses what was not synced.
"""

import asyncio
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentscope_reme import ReMe
from agentscope_reme.vault import JournalRecord, Vault
from agentscope_reme.vault.storage import Storage
from tests.crash.stopped import dies_at

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")

OLD, NEW = b"old walnut line\n" * 40, b"new cherry line\n" * 90
LOG = b'{"n":1}\n{"n":2}\n'


def every_step(
    tmp_path: Path, prepare: Callable[[Path], Any], action: Callable[[Path], Any], check: Callable[[Path], Any]
) -> int:
    """Stop ``action`` before its k-th changing call, for every k and both kinds of crash; how many were tried."""
    template = tmp_path / "template"
    prepare(template)
    tried = 0
    for power in (False, True):
        for step in range(500):
            root = tmp_path / "vault"
            shutil.rmtree(root, ignore_errors=True)
            if template.exists():
                shutil.copytree(template, root)
            died = dies_at(step, lambda root=root: action(root), power=power)  # type: ignore[misc]
            check(root)
            tried += 1
            if not died:
                break
        else:
            raise AssertionError("the action does not end")
    return tried


def searched(root: Path) -> list[tuple[str, str]]:
    """What a fresh process finds of the words in play."""

    async def find() -> list[tuple[str, str]]:
        async with ReMe(root) as reme:
            hits = [*(await reme.search("walnut", 20)).hits, *(await reme.search("cherry", 20)).hits]
            listed = await reme.vault.list("", recursive=True)
            return [(hit.path, hit.text) for hit in hits] + [(entry.path, "") for entry in listed.entries]

    return asyncio.run(find())


@pytest.mark.slow
def test_promise_07_replace_leaves_the_old_bytes_or_the_new_ones(tmp_path: Path) -> None:
    outcomes: set[bytes] = set()

    def check(root: Path) -> None:
        data = (root / "notes" / "n.md").read_bytes()
        assert data in (OLD, NEW)
        outcomes.add(data)
        names = {path for path, _ in searched(root)}
        assert names == {"notes/n.md"}
        word = "walnut" if data == OLD else "cherry"
        assert all(word in text for _, text in searched(root) if text)

    tried = every_step(
        tmp_path,
        lambda root: Storage(root).replace("notes/n.md", OLD),
        lambda root: Storage(root).replace("notes/n.md", NEW),
        check,
    )
    assert outcomes == {OLD, NEW}
    assert tried > 8


@pytest.mark.slow
def test_promise_07_a_new_file_is_there_whole_or_not_at_all(tmp_path: Path) -> None:
    def check(root: Path) -> None:
        file = root / "notes" / "n.md"
        assert not file.exists() or file.read_bytes() == NEW
        if root.exists():
            assert {path for path, _ in searched(root)} <= {"notes/n.md"}

    tried = every_step(
        tmp_path, lambda root: None, lambda root: Storage(root).replace("notes/n.md", NEW, expect=None), check
    )
    assert tried > 8


def test_promise_07_append_keeps_every_old_line_and_adds_whole_lines_or_a_stump(tmp_path: Path) -> None:
    line = b'{"n":3,"text":"' + b"x" * 200 + b'"}\n'

    def check(root: Path) -> None:
        data = (root / "log.jsonl").read_bytes()
        assert data.startswith(LOG)
        assert (LOG + line).startswith(data)
        # Whoever writes next begins on a fresh line.
        Storage(root).append("log.jsonl", b'{"n":4}\n')
        lines = (root / "log.jsonl").read_bytes().split(b"\n")
        assert lines[:2] == LOG.split(b"\n")[:2]
        assert lines[-2:] == [b'{"n":4}', b""]

    tried = every_step(
        tmp_path,
        lambda root: Storage(root).append("log.jsonl", LOG),
        lambda root: Storage(root).append("log.jsonl", line),
        check,
    )
    assert tried > 4


_SLOW = [pytest.param(name, marks=pytest.mark.slow) for name in ("append", "frontmatter")]


@pytest.mark.parametrize("change", ["write", "edit", *_SLOW])
def test_promise_07_a_change_of_a_note_is_made_or_not_and_can_be_undone(tmp_path: Path, change: str) -> None:
    before = "---\ntags: [a]\n---\nwalnut table\n"
    changes: dict[str, Callable[[Vault], Any]] = {
        "write": lambda vault: vault.write_sync("n.md", "cherry table\n", overwrite=True),
        "append": lambda vault: vault.append_sync("n.md", "cherry chair"),
        "edit": lambda vault: vault.edit_sync("n.md", "walnut", "cherry"),
        "frontmatter": lambda vault: vault.frontmatter_update_sync("n.md", {"title": "cherry"}),
    }
    done = tmp_path / "done"
    Vault(done).write_sync("n.md", before)
    changes[change](Vault(done))
    after = (done / "n.md").read_text(encoding="utf-8")

    def check(root: Path) -> None:
        data = (root / "n.md").read_text(encoding="utf-8")
        assert data in (before, after)
        vault = Vault(root)
        if data == after:
            vault.undo_sync()
            assert vault.read_sync("n.md").text == before
        assert {entry.path for entry in vault.list_sync("", recursive=True).entries} == {"n.md"}

    every_step(
        tmp_path, lambda root: Vault(root).write_sync("n.md", before), lambda root: changes[change](Vault(root)), check
    )


@pytest.mark.slow
def test_promise_07_a_journal_line_never_points_to_a_result_that_is_not_there(tmp_path: Path) -> None:
    def message(number: int) -> JournalRecord:
        block = {"type": "tool_result", "id": f"c{number}", "name": "t", "output": f"{number}" * 5_000}
        return JournalRecord({"id": f"m{number}", "name": "system", "role": "system", "content": [block]})

    def check(root: Path) -> None:
        lines = Vault(root).journal("s").read(expand=True)
        assert [line.id for line in lines] == [f"m{number}" for number in range(len(lines))]
        assert len(lines) >= 1
        for number, line in enumerate(lines):
            assert line.msg["content"][0]["output"] == f"{number}" * 5_000
        Vault(root).journal("s").append([message(number) for number in range(4)])
        assert [line.id for line in Vault(root).journal("s").read()] == ["m0", "m1", "m2", "m3"]

    every_step(
        tmp_path,
        lambda root: Vault(root).journal("s").append([message(0)]),
        lambda root: Vault(root).journal("s").append([message(number) for number in range(4)]),
        check,
    )


def test_promise_07_a_leftover_is_neither_indexed_nor_listed_and_goes_with_the_next_write(tmp_path: Path) -> None:
    root = tmp_path / "vault"
    Vault(root).write_sync("notes/n.md", "walnut\n")
    assert dies_at(_step_after_temporary(root, tmp_path), lambda: Storage(root).replace("notes/n.md", NEW))
    left = [path for path in (root / "notes").iterdir() if path.name != "n.md"]
    assert len(left) == 1
    assert {path for path, _ in searched(root)} == {"notes/n.md"}
    Vault(root).write_sync("notes/other.md", "x\n")
    assert not left[0].exists()


def _step_after_temporary(root: Path, tmp_path: Path) -> int:
    """The first step at which a crash leaves a temporary file behind."""
    probe = tmp_path / "probe"
    for step in range(100):
        shutil.rmtree(probe, ignore_errors=True)
        shutil.copytree(root, probe)
        dies_at(step, lambda: Storage(probe).replace("notes/n.md", NEW))
        if len(list((probe / "notes").iterdir())) > 1:
            return step
    raise AssertionError("no crash leaves anything behind")
