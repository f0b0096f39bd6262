"""Parallel writers, in one process and in several, lose nothing; readers see whole files only."""

import asyncio
import multiprocessing
import threading
import time
from pathlib import Path

import pytest

from agentscope_reme.errors import NoteChanged, ReMeError
from agentscope_reme.vault import JournalRecord, Vault
from agentscope_reme.vault.history import History, Recording

spawn = multiprocessing.get_context("spawn")


@pytest.fixture
def vault(tmp_path: Path) -> Vault:
    return Vault(tmp_path / "vault")


def append_lines(root: str, writer: str, count: int) -> None:
    vault = Vault(root)
    for number in range(count):
        vault.append_sync("log.md", f"{writer} {number}")


def edit_numbers(root: str, numbers: list[int]) -> None:
    vault = Vault(root)
    for number in numbers:
        vault.edit_sync("table.md", f"| {number:02d} | open |", f"| {number:02d} | done |")


def journal_messages(root: str, start: int, count: int) -> None:
    journal = Vault(root).journal("shared")
    for number in range(start, start + count):
        journal.append([JournalRecord({"id": f"m{number}", "role": "user", "name": "u", "content": str(number)})])


def in_processes(*jobs: tuple) -> None:  # type: ignore[type-arg]
    processes = [spawn.Process(target=function, args=args) for function, *args in jobs]
    for process in processes:
        process.start()
    for process in processes:
        process.join(120)
    assert [process.exitcode for process in processes] == [0] * len(processes)


async def test_20_parallel_appends_to_one_note_lose_nothing(vault: Vault) -> None:
    await asyncio.gather(*(vault.append("log.md", f"line {number}") for number in range(20)))
    lines = vault.read_sync("log.md").text.splitlines()
    assert sorted(lines) == sorted(f"line {number}" for number in range(20))
    assert len(vault.history_sync()) == 20


async def test_20_parallel_edits_of_one_note_lose_nothing(vault: Vault) -> None:
    vault.write_sync("table.md", "".join(f"| {number:02d} | open |\n" for number in range(20)))
    await asyncio.gather(
        *(vault.edit("table.md", f"| {number:02d} | open |", f"| {number:02d} | done |") for number in range(20))
    )
    assert vault.read_sync("table.md").text == "".join(f"| {number:02d} | done |\n" for number in range(20))


def test_two_processes_append_and_edit_and_nothing_is_lost(vault: Vault) -> None:
    vault.write_sync("table.md", "".join(f"| {number:02d} | open |\n" for number in range(20)))
    root = str(vault.root)
    in_processes(
        (append_lines, root, "one", 20),
        (append_lines, root, "two", 20),
        (edit_numbers, root, list(range(0, 20, 2))),
        (edit_numbers, root, list(range(1, 20, 2))),
    )
    lines = vault.read_sync("log.md").text.splitlines()
    assert sorted(lines) == sorted(f"{writer} {number}" for writer in ("one", "two") for number in range(20))
    for writer in ("one", "two"):
        assert [line for line in lines if line.startswith(writer)] == [f"{writer} {number}" for number in range(20)]
    assert "open" not in vault.read_sync("table.md").text
    assert len(vault.history_sync(limit=1000)) == 1 + 40 + 20


def test_two_processes_journal_one_session_each_message_once(vault: Vault) -> None:
    root = str(vault.root)
    in_processes((journal_messages, root, 0, 20), (journal_messages, root, 10, 20), (journal_messages, root, 0, 30))
    lines = vault.journal("shared").read()
    assert sorted(line.id for line in lines) == sorted(f"m{number}" for number in range(30))
    assert [line.seq for line in lines] == list(range(1, 31))
    assert vault.journal("shared").bad_lines == 0


async def test_parallel_writes_of_one_version_let_one_through(vault: Vault) -> None:
    version = (await vault.write("a.md", "start\n")).version
    outcomes = await asyncio.gather(
        *(vault.write("a.md", f"writer {number}\n", version=version) for number in range(20)), return_exceptions=True
    )
    refused = [outcome for outcome in outcomes if isinstance(outcome, NoteChanged)]
    assert len(refused) == 19
    assert "changed since you read it" in str(refused[0])


@pytest.mark.parametrize("moment", ["recorded", "on the disk"])
def test_an_edit_made_while_the_users_editor_saves_is_refused_or_seen(
    vault: Vault, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    """The editor takes no lock. It saves after the edit has read the note and before it is replaced."""
    vault.write_sync("a.md", "- tea\n- milk\n")
    owner, name = (History, "begin") if moment == "recorded" else (Recording, "finish")
    real = getattr(owner, name)

    def editor_saves(*args: object, **kwargs: object) -> object:
        out = real(*args, **kwargs)
        (vault.root / "a.md").write_text("- tea\n- milk\n- what the user just typed\n")
        return out

    monkeypatch.setattr(owner, name, editor_saves)
    with pytest.raises(NoteChanged, match="changed since you read it"):
        vault.edit_sync("a.md", "- tea", "- coffee")
    assert vault.read_sync("a.md").text == "- tea\n- milk\n- what the user just typed\n"
    assert [entry.kind for entry in vault.history_sync()] == ["created"]


def test_a_reader_sees_the_old_note_or_the_new_one(vault: Vault) -> None:
    texts = {letter * 5000 + "\n" for letter in "ab"}
    vault.write_sync("a.md", "a" * 5000 + "\n")
    seen: set[str] = set()
    stop = threading.Event()

    def read() -> None:
        while not stop.is_set():
            seen.add((vault.root / "a.md").read_text())

    reader = threading.Thread(target=read)
    reader.start()
    for number in range(150):
        vault.storage.replace("a.md", ("ab"[number % 2] * 5000 + "\n").encode())
    stop.set()
    reader.join()
    assert seen <= texts


async def test_a_cancelled_write_is_finished_or_not_begun(vault: Vault) -> None:
    await vault.write("a.md", "old\n")
    for delay in (0, 0.0005, 0.001, 0.002, 0.005):
        task = asyncio.create_task(vault.write("a.md", f"new {delay}\n", overwrite=True))
        await asyncio.sleep(delay)
        before = task.done()
        task.cancel()
        try:
            await task
        except asyncio.CancelledError:
            assert not before
        text = vault.read_sync("a.md").text
        await asyncio.sleep(0.02)
        assert vault.read_sync("a.md").text == text, "nothing is written after the caller was told"
    with vault.storage.lock():
        pass


async def test_the_event_loop_is_not_held_by_reads_and_writes(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each operation runs on another thread than the loop's."""
    loop_thread = threading.get_ident()
    used: set[int] = set()
    for name in ("replace", "append", "opened"):
        real = getattr(type(vault.storage), name)

        def call(*args: object, _real: object = real, **kwargs: object) -> object:
            used.add(threading.get_ident())
            return _real(*args, **kwargs)  # type: ignore[operator]

        monkeypatch.setattr(type(vault.storage), name, call)
    await vault.write("a.md", "x\n")
    await vault.read("a.md")
    await vault.append("a.md", "y")
    await vault.edit("a.md", "x", "z")
    await vault.stat("a.md")
    await vault.move("a.md", "b.md")
    await vault.delete("b.md")
    await vault.undo()
    await vault.history()
    await vault.store_result("x" * 5000)
    await vault.journal("s").add([JournalRecord({"id": "m", "role": "user", "name": "u", "content": "x"})])
    assert used
    assert loop_thread not in used


def hold_and_die(root: str, ready: str) -> None:
    import os

    with Vault(root).storage.lock():
        Path(ready).write_text("")
        os._exit(1)


def test_a_writer_that_died_with_the_lock_stops_nobody(vault: Vault, tmp_path: Path) -> None:
    vault.write_sync("a.md", "x\n")
    process = spawn.Process(target=hold_and_die, args=(str(vault.root), str(tmp_path / "ready")))
    process.start()
    process.join(60)
    assert (tmp_path / "ready").exists()
    assert vault.append_sync("a.md", "y").kind == "changed"


def write_until_stopped(root: str, ready: str) -> None:
    vault = Vault(root)
    number = 0
    while True:
        vault.write_sync("busy.md", f"{number} " * 2000 + f"end {number}\n", overwrite=True)
        vault.append_sync("log.md", f"line {number}")
        if number == 3:
            Path(ready).write_text("")
        number += 1


@pytest.mark.parametrize("attempt", range(3))
def test_a_killed_writer_leaves_whole_files_and_a_readable_history(vault: Vault, tmp_path: Path, attempt: int) -> None:
    ready = tmp_path / f"ready{attempt}"
    process = spawn.Process(target=write_until_stopped, args=(str(vault.root), str(ready)))
    process.start()
    while not ready.exists():
        assert process.is_alive()
        time.sleep(0.01)
    time.sleep(0.01 * attempt)
    process.kill()
    process.join(30)
    text = vault.read_sync("busy.md", max_bytes=1 << 20).text
    number = text.split(" ")[0]
    assert text == f"{number} " * 2000 + f"end {number}\n"
    lines = vault.read_sync("log.md", max_bytes=1 << 20).text.splitlines()
    assert lines == [f"line {number}" for number in range(len(lines))]
    vault.append_sync("log.md", "after")
    assert not [entry for entry in vault.list_sync("", recursive=True).entries if "tmp" in entry.path]
    for entry in vault.history_sync("log.md")[:3]:
        try:
            vault.undo_sync(entry.id)
        except ReMeError as error:
            pytest.fail(str(error))
