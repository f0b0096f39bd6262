"""One replace and one append for the whole product: durable, all or nothing, compare-and-swap."""

import errno
import json
import os
import shutil
import stat
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentscope_reme.errors import NoteChanged, NoteError, NoteExists, NoteNotFound, PathError
from agentscope_reme.vault import Vault
from agentscope_reme.vault.changelog import LOG
from agentscope_reme.vault.encoding import clean_text
from agentscope_reme.vault.jsonable import dumps, is_jsonable, to_jsonable
from agentscope_reme.vault.storage import ANY, Storage, version_of


@pytest.fixture
def storage(tmp_path: Path) -> Storage:
    return Storage(tmp_path / "vault")


def temporaries(root: Path) -> list[str]:
    return [str(path) for path in root.rglob("*") if "reme-tmp" in path.name]


def test_replace_writes_what_was_given_and_returns_its_version(storage: Storage) -> None:
    version = storage.replace("a/b.md", b"one\n")
    assert storage.read("a/b.md") == b"one\n"
    assert version == version_of(b"one\n")
    assert temporaries(storage.root) == []


def test_replace_compares_what_is_there_with_what_the_writer_saw(storage: Storage) -> None:
    seen = storage.replace("a.md", b"one\n", expect=None)
    with pytest.raises(NoteExists):
        storage.replace("a.md", b"two\n", expect=None)
    (storage.root / "a.md").write_bytes(b"the user's editor\n")
    with pytest.raises(NoteChanged, match="changed since you read it"):
        storage.replace("a.md", b"two\n", expect=seen)
    assert storage.read("a.md") == b"the user's editor\n"
    storage.replace("a.md", b"two\n", expect=version_of(b"the user's editor\n"))
    storage.replace("a.md", b"three\n", expect=ANY)
    (storage.root / "a.md").unlink()
    with pytest.raises(NoteChanged, match="removed"):
        storage.replace("a.md", b"four\n", expect=version_of(b"three\n"))
    assert not (storage.root / "a.md").exists()
    assert temporaries(storage.root) == []


def test_a_file_that_appears_at_the_last_moment_is_not_overwritten(
    storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = os.link

    def late(*args: Any, **kwargs: Any) -> None:
        (storage.root / "a.md").write_bytes(b"the user's editor\n")
        link(*args, **kwargs)

    monkeypatch.setattr(os, "link", late)
    with pytest.raises(NoteExists):
        storage.replace("a.md", b"ours\n", expect=None)
    assert storage.read("a.md") == b"the user's editor\n"
    assert temporaries(storage.root) == []


def test_a_disk_without_hard_links_takes_new_files_too(storage: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*args: Any, **kwargs: Any) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", refused)
    storage.replace("a.md", b"one\n", expect=None)
    with pytest.raises(NoteExists):
        storage.replace("a.md", b"two\n", expect=None)
    assert storage.read("a.md") == b"one\n"


@pytest.mark.skipif(os.name == "nt", reason="modes of POSIX")
def test_the_mode_of_a_replaced_file_is_kept(storage: Storage) -> None:
    storage.replace("a.md", b"one\n")
    (storage.root / "a.md").chmod(0o640)
    storage.replace("a.md", b"two\n")
    assert stat.S_IMODE((storage.root / "a.md").stat().st_mode) == 0o640


@pytest.mark.skipif(os.name == "nt", reason="modes of POSIX")
def test_a_new_file_has_the_mode_the_user_asks_for_with_umask(storage: Storage) -> None:
    previous = os.umask(0o027)
    try:
        storage.replace("a.md", b"one\n")
    finally:
        os.umask(previous)
    assert stat.S_IMODE((storage.root / "a.md").stat().st_mode) == 0o640


def test_a_note_its_user_made_read_only_is_not_written(storage: Storage) -> None:
    storage.replace("a.md", b"one\n")
    (storage.root / "a.md").chmod(0o444)
    with pytest.raises(NoteError, match="write-protected"):
        storage.replace("a.md", b"two\n")
    assert storage.read("a.md") == b"one\n"


@pytest.mark.parametrize("kind", ["fifo", "folder"])
def test_what_is_no_file_is_neither_read_nor_replaced(storage: Storage, kind: str) -> None:
    storage.replace("other.md", b"x")
    place = storage.root / "p.md"
    os.mkfifo(place) if kind == "fifo" else place.mkdir()
    with pytest.raises(NoteNotFound):
        storage.read("p.md")
    with pytest.raises(NoteError):
        storage.replace("p.md", b"x")
    with pytest.raises(NoteError):
        storage.append("p.md", b"x\n")


def test_a_file_made_between_two_looks_is_read(storage: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    exists = storage.exists

    def appears(path: str, **options: bool) -> bool:
        if not exists(path):
            storage.replace(path, b"another writer's\n")
        return exists(path, **options)

    monkeypatch.setattr(storage, "exists", appears)
    assert storage.read_if_any("a.md") == b"another writer's\n"
    monkeypatch.undo()
    assert storage.read_if_any("b.md") is None
    (storage.root / "folder").mkdir()
    with pytest.raises(NoteNotFound, match="folder"):
        storage.read_if_any("folder")


def test_append_begins_on_a_fresh_line_after_the_stump_of_one(storage: Storage) -> None:
    storage.append("log.jsonl", b'{"a":1}\n')
    with (storage.root / "log.jsonl").open("ab") as file:
        file.write(b'{"role":"user","con')
    assert storage.append("log.jsonl", b'{"a":2}\n') == len(b'{"a":1}\n{"role":"user","con\n')
    assert storage.read("log.jsonl") == b'{"a":1}\n{"role":"user","con\n{"a":2}\n'


# --- the disk refuses ---------------------------------------------------------------------------------------------


def failing(monkeypatch: pytest.MonkeyPatch, name: str, code: int, after_bytes: int = 0) -> None:
    """Have one call of ``os`` fail; ``write`` first takes some bytes."""
    real = getattr(os, name)
    left = [after_bytes]

    def call(*args: Any, **kwargs: Any) -> Any:
        if name == "write" and left[0] > 0:
            taken = bytes(args[1])[: left[0]]
            left[0] -= len(taken)
            return real(args[0], taken)
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, name, call)


@pytest.mark.parametrize(
    ("call", "code", "says"),
    [
        ("write", errno.ENOSPC, "disk is full"),
        ("write", errno.EDQUOT, "disk is full"),
        ("write", errno.EIO, "nothing was changed"),
        ("fsync", errno.EIO, "nothing was changed"),
        ("replace", errno.EROFS, "cannot be written"),
        ("replace", errno.EACCES, "cannot be written"),
    ],
)
def test_a_refused_replace_leaves_the_old_file_and_no_temporary(
    storage: Storage, monkeypatch: pytest.MonkeyPatch, call: str, code: int, says: str
) -> None:
    storage.replace("a.md", b"the old text\n")
    with monkeypatch.context() as patch:
        failing(patch, call, code, after_bytes=10)
        with pytest.raises(NoteError, match=says) as raised:
            storage.replace("a.md", b"a new text that is longer\n")
    assert raised.value.path == "a.md"
    assert "nothing was changed" in str(raised.value)
    assert storage.read("a.md") == b"the old text\n"
    assert temporaries(storage.root) == []


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
def test_a_refused_append_leaves_the_log_as_it_was(
    storage: Storage, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    storage.append("log.jsonl", b'{"a":1}\n')
    with monkeypatch.context() as patch:
        failing(patch, "write", code, after_bytes=4)
        with pytest.raises(NoteError):
            storage.append("log.jsonl", b'{"a":2,"b":"long enough"}\n')
        with pytest.raises(NoteError):
            storage.append("new.jsonl", b'{"a":2,"b":"long enough"}\n')
    assert storage.read("log.jsonl") == b'{"a":1}\n'
    assert not storage.exists("new.jsonl")
    assert storage.append("log.jsonl", b'{"a":3}\n') == 8


def test_a_vault_that_cannot_be_written_is_read_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    vault = Vault(tmp_path / "vault")
    vault.write_sync("a.md", "one\n")
    real = os.open

    def read_only(path: Any, flags: int, *args: Any, **kwargs: Any) -> int:
        if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            raise OSError(errno.EROFS, "Read-only file system")
        return real(path, flags, *args, **kwargs)

    monkeypatch.setattr(os, "open", read_only)
    assert Vault(vault.root).read_sync("a.md").text == "one\n"
    for attempt in (
        lambda: Vault(vault.root).write_sync("a.md", "two\n", overwrite=True),
        lambda: Vault(vault.root).append_sync("a.md", "two"),
        lambda: Vault(vault.root).store_result_sync("x" * 10),
    ):
        with pytest.raises(NoteError, match="cannot be written"):
            attempt()
    assert vault.read_sync("a.md").text == "one\n"


def test_a_history_that_cannot_be_written_stops_the_change_of_the_note(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    vault = Vault(tmp_path / "vault")
    vault.write_sync("a.md", "one\n")
    real, log = os.write, vault.root / LOG

    def full(descriptor: int, data: bytes) -> int:
        if os.fstat(descriptor).st_ino == log.stat().st_ino:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(descriptor, data)

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(NoteError, match="disk is full"):
        vault.edit_sync("a.md", "one", "two")
    assert vault.read_sync("a.md").text == "one\n"


def test_a_vault_deleted_while_it_is_used_is_made_again_by_the_next_write(tmp_path: Path) -> None:
    import shutil

    vault = Vault(tmp_path / "vault")
    vault.write_sync("a/b.md", "one\n")
    shutil.rmtree(vault.root)
    with pytest.raises(NoteNotFound):
        vault.read_sync("a/b.md")
    assert vault.list_sync("", recursive=True).total == 0
    assert vault.write_sync("a/b.md", "two\n").kind == "created"
    assert vault.read_sync("a/b.md").text == "two\n"


def test_the_folder_of_the_lock_is_looked_at_again_where_it_is_another(storage: Storage, tmp_path: Path) -> None:
    storage.replace("a.md", b"one")
    folder, outside = storage.root / "metadata", tmp_path / "outside"
    shutil.rmtree(folder)
    storage.replace("a.md", b"two")
    assert (folder / "vault.lock").is_file()
    shutil.rmtree(folder)
    outside.mkdir()
    folder.symlink_to(outside)
    with pytest.raises(PathError, match="leads out of the vault"):
        storage.replace("a.md", b"three")
    assert storage.read("a.md") == b"two"
    assert list(outside.iterdir()) == []


def test_leftovers_of_a_writer_that_died_are_removed_and_never_listed(storage: Storage) -> None:
    storage.replace("a/b.md", b"x")
    left = storage.root / "a" / ".reme-tmp-12345-aabbccddeeff"
    left.write_bytes(b"half")
    vault = Vault(storage.root)
    assert [entry.path for entry in vault.list_sync("a").entries] == ["a/b.md"]
    assert all("reme-tmp" not in entry.path for entry in vault.list_sync(recursive=True).entries)
    vault.append_sync("a/b.md", "more")
    assert not left.exists()


def test_a_lock_of_a_dead_process_does_not_stop_a_writer(tmp_path: Path) -> None:
    vault = Vault(tmp_path / "vault")
    vault.write_sync("a.md", "x\n")
    child = os.fork()
    if child == 0:
        try:
            with Vault(vault.root).storage.lock():
                os._exit(0)  # dies with the lock
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert vault.append_sync("a.md", "y").kind == "changed"


def test_readers_do_not_wait_for_a_writer(tmp_path: Path) -> None:
    vault = Vault(tmp_path / "vault")
    vault.write_sync("a.md", "x\n")
    done = threading.Event()

    def read() -> None:
        vault.read_sync("a.md")
        vault.list_sync()
        vault.history_sync()
        vault.journal("s").read()
        done.set()

    with vault.storage.lock():
        reader = threading.Thread(target=read)
        reader.start()
        assert done.wait(10)
    reader.join()


def test_a_rename_follows_the_sync_of_the_data_and_is_synced_itself(
    storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Power may fail at any time: the order of the calls is what makes the file old or new."""
    storage.replace("a.md", b"one\n")
    calls: list[str] = []
    descriptors: dict[int, str] = {}

    def spy(name: str, label: Callable[..., str]) -> None:
        real = getattr(os, name)

        def call(*args: Any, **kwargs: Any) -> Any:
            result = real(*args, **kwargs)
            calls.append(label(result, *args))
            return result

        monkeypatch.setattr(os, name, call)

    def opened(descriptor: int, path: Any, *rest: Any) -> str:
        descriptors[descriptor] = "temporary" if "reme-tmp" in str(path) else "folder or file"
        return f"open {descriptors[descriptor]}"

    spy("open", opened)
    spy("write", lambda result, descriptor, data: f"write {descriptors.get(descriptor)}")
    spy("fsync", lambda result, descriptor: f"fsync {descriptors.get(descriptor)}")
    spy("replace", lambda *args: "rename")
    storage.replace("a.md", b"two\n")
    own = [call for call in calls if "temporary" in call or call == "rename" or call.startswith("fsync")]
    assert own == ["open temporary", "write temporary", "fsync temporary", "rename", "fsync folder or file"]


# --- what can be stored -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("你好\udce4\ud83d", "你好\ufffd\ufffd"),
        ("\ud83d\ude00", "😀"),
        ("😀 👨‍👩‍👧 é e\u0301", "😀 👨‍👩‍👧 é e\u0301"),
        ("a\x00b", "a\ufffdb"),
        ("\ud83d", "\ufffd"),
        ("\ude00\ud83d", "\ufffd\ufffd"),
        ("plain", "plain"),
    ],
)
def test_lone_surrogates_and_nul_have_one_rule(text: str, clean: str, tmp_path: Path) -> None:
    assert clean_text(text) == clean
    vault = Vault(tmp_path / "vault")
    vault.write_sync("a.md", text)
    vault.append_sync("a.md", text)
    assert vault.read_sync("a.md").text == f"{clean}\n{clean}"
    assert (vault.root / "a.md").read_bytes().decode("utf-8") == f"{clean}\n{clean}"
    vault.journal("s").append([record({"id": text, "content": text, "role": "user", "name": "u"})])
    message = vault.journal("s").read()[0].msg
    assert message["content"] == clean_text(text, keep_nul=True)


def record(message: dict[str, Any]) -> Any:
    from agentscope_reme.vault import JournalRecord

    return JournalRecord(message)


class _Money:
    def __str__(self) -> str:
        return "12 €"


class _Broken:
    def __str__(self) -> str:
        raise RuntimeError("no text")


def test_every_value_becomes_strict_json_by_the_stated_rules() -> None:
    import enum
    from collections import OrderedDict, deque
    from dataclasses import dataclass
    from datetime import UTC, date, datetime, time, timedelta
    from decimal import Decimal
    from pathlib import PurePosixPath
    from uuid import UUID

    import numpy
    from pydantic import BaseModel

    class Colour(enum.Enum):
        RED = "red"

    class Model(BaseModel):
        when: date
        n: float = float("inf")

    @dataclass
    class Point:
        x: int
        tags: frozenset[str]

    values: dict[Any, tuple[Any, Any]] = {
        "when": (datetime(2026, 3, 16, tzinfo=UTC), "2026-03-16T00:00:00+00:00"),
        "day": (date(2026, 3, 16), "2026-03-16"),
        "time": (time(9, 30), "09:30:00"),
        "span": (timedelta(minutes=2), 120.0),
        "p": (PurePosixPath("a"), "a"),
        "s": ({1}, [1]),
        "many": ({"b", "a"}, ["a", "b"]),
        "n": (float("nan"), None),
        "inf": (-float("inf"), None),
        "bytes": (b"text", "text"),
        "binary": (b"\xff\x00", "/wA="),
        "tuple": ((1, 2), [1, 2]),
        "deque": (deque([1]), [1]),
        "ordered": (OrderedDict(a=1), {"a": 1}),
        "enum": (Colour.RED, "red"),
        "decimal": (Decimal("1.10"), "1.10"),
        "uuid": (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        "array": (numpy.array([[1, 2]]), [[1, 2]]),
        "scalar": (numpy.float32(0.5), 0.5),
        "nan": (numpy.float64("nan"), None),
        "model": (Model(when=date(2026, 1, 1)), {"when": "2026-01-01", "n": None}),
        "point": (Point(1, frozenset({"x"})), {"x": 1, "tags": ["x"]}),
        "object": (_Money(), "12 €"),
        "broken": (_Broken(), "<_Broken>"),
        "surrogate": ("a\ud83d", "a\ufffd"),
        "nul": ("a\x00", "a\x00"),
        "big": (10**30, 10**30),
        "long": (10**5_000, hex(10**5_000)),
        "true": (True, True),
        "none": (None, None),
    }
    for name, (value, wanted) in values.items():
        assert to_jsonable(value) == wanted, name
        assert json.loads(dumps(value)) == wanted, name
        assert to_jsonable(to_jsonable(value)) == to_jsonable(value), name
        assert not is_jsonable(value) or (to_jsonable(value) == value and json.loads(json.dumps(value)) == value), name
        assert is_jsonable(to_jsonable(value)), name
    keys = {1: "a", date(2026, 1, 1): "b", None: "c", False: "d", (1, "x"): "e", "k\ud83d": "f"}
    assert list(to_jsonable(keys)) == ["1", "2026-01-01", "null", "false", '[1, "x"]', "k\ufffd"]


def test_conversions_can_be_listed() -> None:
    converted: list[str] = []
    to_jsonable({"when": {"at": [float("nan")]}, "ok": 1, "p": Path("a")}, converted)
    assert [line.split(":")[0] for line in converted] == ["when.at[0]", "p"]


@pytest.mark.parametrize("odd", [{1: "a"}, {"k\ud83d": 1}, [(1,)], ["\udce4"], {"a": [float("nan")]}, [10**5_000]])
def test_what_is_not_json_yet_is_told_from_what_is(odd: Any) -> None:
    assert not is_jsonable(odd)
    assert is_jsonable({"a": [1, 2.5, None, True, {"汉😀": "é\x00"}], "b": {}})


def test_values_inside_themselves_or_too_deep_do_not_stop_a_save() -> None:
    loop: dict[str, Any] = {"a": 1}
    loop["self"] = loop
    assert json.loads(dumps(loop)) == {"a": 1, "self": None}
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    assert json.loads(dumps(deep))[0][0] is not None


def test_a_file_that_a_link_leads_to_or_that_is_too_large_is_not_read_at_once(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "real/a.md").write_bytes(b"tea")
    (tmp_path / "linked").symlink_to(tmp_path / "real", target_is_directory=True)
    (tmp_path / "b.md").symlink_to(tmp_path / "real/a.md")
    storage = Storage(tmp_path)
    found = storage.read_unlinked("real/a.md", 3)
    assert found is not None
    assert (found[0], found[1].st_size) == (b"tea", 3)
    assert storage.read_unlinked("real/a.md", 2) is None
    assert storage.read_unlinked("linked/a.md", 3) is None
    assert storage.read_unlinked("b.md", 3) is None
    with pytest.raises(NoteNotFound):
        storage.read_unlinked("real", 3)
    with pytest.raises(NoteNotFound):
        storage.read_unlinked("c.md", 3)
    with pytest.raises(PathError):
        storage.read_unlinked("../c.md", 3)
