"""The entry in the log and the new file go to the disk at the same time, and the change waits for both."""

import errno
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentscope_reme.errors import NoteError
from agentscope_reme.vault import Vault, syncing
from agentscope_reme.vault.changelog import LOG
from agentscope_reme.vault.layout import TEMP_PREFIX
from agentscope_reme.vault.storage import Storage
from agentscope_reme.vault.syncing import Syncs

WAIT = 10


@pytest.fixture
def vault(tmp_path: Path) -> Vault:
    vault = Vault(tmp_path / "vault")
    vault.write_sync("a.md", "one\n")
    return vault


def what(vault: Vault, descriptor: int) -> str:
    """Which file a descriptor is of: ``log``, ``folder``, ``file``."""
    status = os.fstat(descriptor)
    if status.st_ino == (vault.root / LOG).stat().st_ino:
        return "log"
    return "folder" if status.st_ino == vault.root.stat().st_ino else "file"


def syncing_by(monkeypatch: pytest.MonkeyPatch, vault: Vault, sync: Callable[[str, Callable[[], None]], None]) -> None:
    """Have ``sync(which file, real sync)`` called for each sync."""
    real = os.fsync
    monkeypatch.setattr(os, "fsync", lambda descriptor: sync(what(vault, descriptor), lambda: real(descriptor)))


def refusing(*names: str) -> Callable[[str, Callable[[], None]], None]:
    def sync(name: str, real: Callable[[], None]) -> None:
        if name in names:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        real()

    return sync


def leftovers(vault: Vault) -> list[Path]:
    return [path for path in vault.root.rglob("*") if path.name.startswith(TEMP_PREFIX)]


def test_a_file_is_replaced_once_its_entry_and_its_bytes_are_on_the_disk(
    vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []

    def sync(name: str, real: Callable[[], None]) -> None:
        if name == "log":
            time.sleep(0.05)  # the slower one by far
        real()
        done.append(name)

    replace = os.replace

    def replaced(*args: Any, **kwargs: Any) -> None:
        done.append("rename")
        replace(*args, **kwargs)

    syncing_by(monkeypatch, vault, sync)
    monkeypatch.setattr(os, "replace", replaced)
    vault.write_sync("a.md", "two\n", overwrite=True)
    assert done == ["file", "log", "rename", "folder"]


def test_neither_waits_for_the_other(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    under_way = {"log": threading.Event(), "file": threading.Event()}
    met: list[bool] = []

    def sync(name: str, real: Callable[[], None]) -> None:
        if name in under_way:
            under_way[name].set()
            met.extend(other.wait(WAIT) for other in under_way.values())
        real()

    syncing_by(monkeypatch, vault, sync)
    vault.write_sync("a.md", "two\n", overwrite=True)
    assert met == [True] * 4
    assert vault.read_sync("a.md").text == "two\n"


@pytest.mark.parametrize("refused", [("log",), ("file",), ("log", "file")])
@pytest.mark.parametrize("path", ["a.md", "new.md"])
def test_what_the_disk_refuses_is_no_change(
    vault: Vault, monkeypatch: pytest.MonkeyPatch, refused: tuple[str, ...], path: str
) -> None:
    before = (vault.root / LOG).read_bytes()
    with monkeypatch.context() as patch:
        syncing_by(patch, vault, refusing(*refused))
        with pytest.raises(NoteError, match="nothing was changed"):
            vault.write_sync(path, "two\n", overwrite=True)
    assert vault.read_sync("a.md").text == "one\n"
    assert not (vault.root / "new.md").exists()
    assert not leftovers(vault)
    assert [entry.path for entry in vault.history_sync()] == ["a.md"]
    if "log" in refused:
        assert (vault.root / LOG).read_bytes() == before
    for other in (Vault(vault.root), vault):  # also for a process that has not seen it
        assert [entry.kind for entry in other.history_sync()] == ["created"]
    change = vault.write_sync(path, "three\n", overwrite=True)
    assert vault.history_sync(path)[0].id == change.history_id
    vault.undo_sync(change.history_id)
    assert vault.read_sync("a.md").text == "one\n"


def test_a_change_that_is_refused_before_leaves_no_entry(vault: Vault) -> None:
    (vault.root / "a.md").chmod(0o444)
    with pytest.raises(NoteError, match="write-protected"):
        vault.write_sync("a.md", "two\n", overwrite=True)
    assert [entry.kind for entry in vault.history_sync()] == ["created"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_changes_files_too(vault: Vault) -> None:
    vault.write_sync("a.md", "two\n", overwrite=True)  # the thread runs
    child = os.fork()
    if child == 0:
        status = 1
        try:
            vault.write_sync("a.md", "three\n", overwrite=True)
            status = 0
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert vault.read_sync("a.md").text == "three\n"
    vault.write_sync("a.md", "four\n", overwrite=True)
    assert [entry.kind for entry in vault.history_sync("a.md")] == ["changed"] * 3 + ["created"]


def test_a_thread_that_has_nothing_to_do_ends_and_another_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(syncing, "_IDLE_SECONDS", 0.05)
    began: list[threading.Thread] = []
    start = threading.Thread.start

    def started(thread: threading.Thread) -> None:
        began.append(thread)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", started)
    syncs = Syncs()
    with (tmp_path / "file").open("wb") as file:
        for _ in range(3):
            syncs.begin(file.fileno()).wait()
            began[-1].join(WAIT)
            assert not began[-1].is_alive()
        assert len(began) == 3
        for _ in range(200):  # handed over about when the thread ends
            time.sleep(0.0005)
            syncs.begin(file.fileno()).wait()


def test_where_no_thread_can_begin_files_are_synced_all_the_same(
    storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread at interpreter shutdown")

    synced: list[int] = []
    real = os.fsync
    monkeypatch.setattr(threading.Thread, "start", refused)
    monkeypatch.setattr(os, "fsync", lambda descriptor: (synced.append(descriptor), real(descriptor)))
    with storage.lock():
        assert storage.begin_append("log.jsonl", b"{}\n").finish() == 0
    assert synced
    assert storage.read("log.jsonl") == b"{}\n"


def test_a_descriptor_that_cannot_be_synced_says_so_to_who_waits() -> None:
    read, write = os.pipe()
    try:
        begun = Syncs().begin(write)
        with pytest.raises(OSError, match="Invalid argument"):
            begun.wait()
        with pytest.raises(OSError, match="Invalid argument"):
            begun.wait()
    finally:
        os.close(read)
        os.close(write)


@pytest.fixture
def storage(tmp_path: Path) -> Storage:
    return Storage(tmp_path / "storage")
