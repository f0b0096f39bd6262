"""Stopped at any system call, an operation leaves each file old or new, and done again it is done.

A process is killed at the k-th call that changes the disk, for every k; once as a killed process (what was written is
there), once as a power cut (what was not synced is gone).
"""

import json
import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from agentscope_reme.errors import NoteError, NoteNotFound, ReMeError
from agentscope_reme.vault import JournalRecord, Vault
from agentscope_reme.vault.daily import daily_list, write_card
from agentscope_reme.vault.dialog import pointers_in
from agentscope_reme.vault.forgetting import forget
from agentscope_reme.vault.ingestion import ingest
from agentscope_reme.vault.layout import TEMP_PREFIX, iter_files
from agentscope_reme.vault.purging import purge
from agentscope_reme.vault.retention import prune

from .stopped import dies_at

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")

Files = dict[str, bytes]
_MACHINERY = ("history/", "metadata/")


def files(root: Path) -> Files:
    """Notes, journals and results, also those that a listing leaves out; not the leftovers of dead writers."""
    found = {}
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root).as_posix()
        if path.is_file() and not name.startswith(_MACHINERY) and not path.name.startswith(TEMP_PREFIX):
            found[name] = path.read_bytes()
    return found


def prepared(root: Path) -> Vault:
    vault = Vault(root)
    vault.write_sync("a.md", "# A\n[[a.md#top]] one\n")
    vault.write_sync("x.md", "see [[a.md]] and [[d/b.md]]\n")
    vault.write_sync("y.md", "---\nup: '[[a.md]]'\n---\ntext\n")
    vault.write_sync("d/b.md", "[[a.md]]\n")
    vault.write_sync("d/c.md", "[[d/b.md]]\n")
    vault.journal("s").append([JournalRecord(message("m1", "first"))])
    return vault


def message(id: str, content: Any) -> dict[str, Any]:
    return {"id": id, "name": "u", "role": "user", "content": content, "metadata": {}, "timestamp": "t"}


def result(id: str, text: str) -> dict[str, Any]:
    return message(id, [{"type": "tool_result", "id": id, "name": "f", "output": text}])


OPERATIONS: dict[str, Callable[[Vault], Any]] = {
    "create": lambda vault: again(NoteError, lambda: vault.write_sync("new/deep/n.md", "new\n", overwrite=True)),
    "overwrite": lambda vault: vault.write_sync("a.md", "other\n" * 50, overwrite=True),
    "append": lambda vault: once(vault, "a.md", "more", lambda: vault.append_sync("a.md", "more")),
    "edit": lambda vault: once(vault, "a.md", "two", lambda: vault.edit_sync("a.md", "one", "two")),
    "frontmatter_update": lambda vault: vault.frontmatter_update_sync("y.md", {"tags": ["t"]}),
    "journal": lambda vault: vault.journal("s").append(
        [JournalRecord(each) for each in (message("m1", "first"), message("m2", "x"), result("m3", "r" * 5000))]
    ),
    "journal_new": lambda vault: vault.journal("t").append([JournalRecord(result("m3", "r" * 5000))]),
    "journal_drop": lambda vault: vault.journal("s").drop(["m1"]),
    "store_result": lambda vault: vault.store_result_sync("z" * 9000),
    "delete": lambda vault: again(NoteNotFound, lambda: vault.delete_sync("a.md")),
    "delete_folder": lambda vault: again(NoteNotFound, lambda: vault.delete_sync("d")),
    "move": lambda vault: vault.move_sync("a.md", "m/z.md"),
    "move_folder": lambda vault: vault.move_sync("d", "e"),
    "card": lambda vault: card(vault, "tea"),
    "unlink": lambda vault: again(NoteNotFound, lambda: forget(vault, "a.md", lambda line: "", unlink_others=True)),
    "ingest": lambda vault: ingest(vault, __file__, name="doc.md", date=DAY),
}  # fmt: skip
QUICK = ("create", "overwrite", "append", "journal", "delete", "move", "card")
DAY = "2026-03-16"


def card(vault: Vault, name: str) -> Any:
    """The card of a conversation, and the day's page that lists it."""
    return write_card(vault, DAY, {"name": name, "description": "about it", "session_id": "s"}, f"{name} was had")


def again(settled: type[ReMeError], operation: Callable[[], Any]) -> Any:
    """An operation that says so when there is nothing left to do."""
    try:
        return operation()
    except settled:
        return None


def once(vault: Vault, path: str, mark: str, operation: Callable[[], Any]) -> Any:
    """What a caller does who does not know whether the first attempt succeeded: look, then do it."""
    return None if mark in vault.read_sync(path).text else operation()


def cases(quick: tuple[str, ...], names: Any) -> list[Any]:
    return [
        pytest.param(name, power, marks=[] if name in quick and not power else [pytest.mark.slow])
        for name in names
        for power in (False, True)
    ]


def every_step(
    tmp_path: Path, template: Path, action: Callable[[Vault], Any], check: Callable[[Vault], None], power: bool
) -> int:
    """Stop ``action`` at each step in turn, each time on a fresh copy; returns the number of steps."""
    for step in range(2000):
        root = tmp_path / "try"
        shutil.rmtree(root, ignore_errors=True)
        shutil.copytree(template, root, symlinks=True)
        died = dies_at(step, lambda root=root: action(Vault(root)), power=power)  # type: ignore[misc]
        check(Vault(root))
        Vault(root).storage.sweep()
        assert not [path for path in root.rglob("*") if path.name.startswith(TEMP_PREFIX)]
        if not died:
            return step
    raise AssertionError("the action does not end")


def whole(vault: Vault, before: Files, after: Files) -> None:
    """Each file is as before or as after; nothing else is listed; every record can be read."""
    present = files(vault.root)
    for name, data in present.items():
        allowed = [state[name] for state in (before, after) if name in state]
        if name.startswith("session/dialog/"):
            assert data.startswith(before.get(name, b"")) or data in allowed, name
        else:
            assert data in allowed, f"{name} is neither old nor new"
    listed = {name for name, _ in iter_files(vault.root, skip=("metadata",))}
    assert not [name for name in listed if "reme-tmp" in name]
    for line in vault.journal("s").read():
        assert line.msg["content"]
        for pointer in pointers_in(line.msg):
            assert pointer in present, "a line points to what is not there"
    for entry in vault.history_sync(limit=1000):
        assert json.dumps(entry.id)


@pytest.mark.parametrize(("name", "power"), cases(QUICK, OPERATIONS))
def test_an_operation_stopped_anywhere_leaves_whole_files_and_can_be_done_again(
    tmp_path: Path, name: str, power: bool
) -> None:
    template = tmp_path / "template"
    before = files(prepared(template).root)
    done = tmp_path / "done"
    shutil.copytree(template, done)
    OPERATIONS[name](Vault(done))
    after = files(done)
    assert after != before

    def check(vault: Vault) -> None:
        whole(vault, before, after)
        if name == "move":
            links_lead_somewhere(vault)
        OPERATIONS[name](vault)
        assert without_times(files(vault.root)) == without_times(after)

    steps = every_step(tmp_path, template, OPERATIONS[name], check, power)
    assert steps >= 4, "the shim sees the calls"


def without_times(found: Files) -> Files:
    """Journal lines without when they were written, and without stumps, which stay and are passed over."""

    def lines(data: bytes) -> bytes:
        kept = []
        for line in data.split(b"\n"):
            with suppress(ValueError):
                kept.append(json.dumps({**json.loads(line), "left_at": ""}))
        return "\n".join(kept).encode()

    return {name: lines(data) if name.endswith(".jsonl") else data for name, data in found.items()}


def links_lead_somewhere(vault: Vault) -> None:
    for path in ("x.md", "y.md", "d/b.md"):
        text = vault.read_sync(path).text
        targets = [target for target in ("a.md", "m/z.md") if f"[[{target}]]" in text]
        assert targets, path
        for target in targets:
            assert vault.storage.exists(target), f"{path} links to {target}, which is not there"


@pytest.mark.parametrize("power", [pytest.param(power, marks=pytest.mark.slow) for power in (False, True)])
def test_a_card_that_gets_another_name_is_one_card_whatever_was_stopped(tmp_path: Path, power: bool) -> None:
    """Card, links to it, and the day's page: in between there is one card, and each link leads to it or to its copy."""
    template = tmp_path / "template"
    vault = prepared(template)
    path = card(vault, "tea").path
    vault.write_sync("x.md", f"had [[{path}]]\n", overwrite=True)
    done = tmp_path / "done"
    shutil.copytree(template, done)
    card(Vault(done), "coffee")
    after = files(done)
    assert f"daily/{DAY}/coffee.md" in after

    def check(vault: Vault) -> None:
        target = vault.read_sync("x.md").text.split("[[")[1].split("]]")[0]
        assert "was had" in vault.read_sync(target).text
        card(vault, "coffee")
        assert [one.path for one in daily_list(vault, DAY)] == [f"daily/{DAY}/coffee.md"]
        assert files(vault.root) == after

    assert every_step(tmp_path, template, lambda vault: card(vault, "coffee"), check, power) > 20


@pytest.mark.parametrize(
    ("name", "power"),
    cases(("overwrite", "delete"), ["create", "overwrite", "append", "delete", "delete_folder", "move"]),
)
def test_an_undo_stopped_anywhere_can_be_done_again(tmp_path: Path, name: str, power: bool) -> None:
    template = tmp_path / "template"
    vault = prepared(template)
    before = files(vault.root)
    outcome = OPERATIONS[name](vault)
    after = files(vault.root)

    def undo(vault: Vault) -> None:
        try:
            vault.undo_sync(outcome.history_id)
        except NoteError as error:
            if "undone already" not in str(error):
                raise

    def check(vault: Vault) -> None:
        whole(vault, before, after)
        undo(vault)
        assert files(vault.root) == before

    assert every_step(tmp_path, template, undo, check, power) >= 4


@pytest.mark.parametrize("power", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_whatever_was_stopped_what_happened_can_be_undone(tmp_path: Path, power: bool) -> None:
    """Between the log and the note: an entry whose change did not happen is not offered for undo."""
    template = tmp_path / "template"
    before = files(prepared(template).root)
    names = [entry.id for entry in Vault(template).history_sync()]

    def check(vault: Vault) -> None:
        vault.write_sync("other.md", "the next writer\n")
        changes = [entry for entry in vault.history_sync("a.md") if entry.id not in names]
        changed = files(vault.root)["a.md"] != before["a.md"]
        assert len(changes) == (1 if changed else 0)
        if changed:
            vault.undo_sync(changes[0].id)
        assert files(vault.root)["a.md"] == before["a.md"]

    every_step(tmp_path, template, lambda vault: vault.edit_sync("a.md", "one", "two"), check, power)


@pytest.mark.slow
@pytest.mark.parametrize("power", [False, True])
def test_pruning_stopped_anywhere_loses_no_note_and_can_be_done_again(tmp_path: Path, power: bool) -> None:
    template = tmp_path / "template"
    vault = prepared(template)
    vault.write_sync("a.md", "other\n", overwrite=True)
    vault.delete_sync("d")
    before = files(vault.root)

    def check(vault: Vault) -> None:
        assert files(vault.root) == before
        prune(vault.log, max_bytes=0)
        assert not list((vault.root / "history" / "objects").rglob("*.zst"))
        purge(vault.log, ["a.md"])
        assert vault.history_sync("a.md") == ()

    every_step(
        tmp_path, template, lambda vault: (prune(vault.log, max_bytes=0), purge(vault.log, ["a.md"])), check, power
    )


def test_the_shim_stops_where_it_is_told(tmp_path: Path) -> None:
    def two_files() -> None:
        for name in ("one", "two"):
            descriptor = os.open(tmp_path / name, os.O_WRONLY | os.O_CREAT)
            os.write(descriptor, b"12345678")
            os.fsync(descriptor)
            os.close(descriptor)

    def stopped(step: int, power: bool) -> tuple[bool, int | None, int | None]:
        paths = [tmp_path / name for name in ("one", "two")]
        for path in paths:
            path.unlink(missing_ok=True)
        died = dies_at(step, two_files, power=power)
        first, second = (path.stat().st_size if path.exists() else None for path in paths)
        return died, first, second

    assert [stopped(step, power=False) for step in range(5)] == [
        (True, None, None), (True, 4, None), (True, 8, None), (True, 8, 4), (False, 8, 8),
    ]  # fmt: skip
    assert [stopped(step, power=True) for step in range(7)] == [
        (True, None, None), (True, 0, None), (True, 0, None), (True, 8, None), (True, 8, 0), (True, 8, 0),
        (False, 8, 8),
    ], "a sync counts where the power goes"  # fmt: skip
