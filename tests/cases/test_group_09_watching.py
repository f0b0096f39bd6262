"""Faults that users reported, C9-01 to C9-09: editors, sync tools, deaf mounts, odd files, with a watcher running."""

import asyncio
import errno
import os
import random
import shutil
from collections.abc import AsyncIterator, Callable
from hashlib import sha256
from pathlib import Path

import pytest

from agentscope_reme import ReMe
from agentscope_reme.index import watch
from tests.index.watching import Heard, StubEvents, until_async

Put = Callable[[str, str | bytes], Path]


@pytest.fixture(autouse=True)
def _quick(monkeypatch) -> None:
    monkeypatch.setattr(watch, "HEARTBEAT", 0.1)


@pytest.fixture
def put(vault_dir: Path) -> Put:
    def write(path: str, text: str | bytes) -> Path:
        target = vault_dir / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8"))
        return target

    return write


@pytest.fixture
async def started(vault_dir: Path) -> AsyncIterator[Callable]:
    """A started ReMe that watches by events; skipped where there are none."""
    opened: list[ReMe] = []

    async def start(*, events: bool = True, **settings: object) -> ReMe:
        vault_dir.mkdir(exist_ok=True)
        reme = await ReMe(vault_dir, **{"watch_quiet": 0.05, **settings}).start()
        opened.append(reme)
        if events and reme.watcher.state != "events":
            pytest.skip(f"no events here: {reme.watcher.state}")
        return reme

    yield start
    for reme in opened:
        await reme.close()


@pytest.fixture
def stub(monkeypatch) -> type[StubEvents]:
    StubEvents.made, StubEvents.fails = [], None
    monkeypatch.setattr(watch, "FileEvents", StubEvents)
    monkeypatch.setattr(watch, "why_no_events", lambda root: "")
    return StubEvents


def indexed(reme: ReMe) -> set[str]:
    return set(reme.index._opened().store.corpus.files)


def on_disk(root: Path) -> set[str]:
    return {
        path.relative_to(root).as_posix()
        for path in root.rglob("*.md")
        if path.is_file() and path.relative_to(root).parts[0] not in ("metadata", "history")
    }


async def found(reme: ReMe, query: str) -> list[str]:
    return sorted({hit.path for hit in (await reme.search(query, 100, token_budget=100_000)).hits})


@pytest.mark.parametrize("sequence", ["sibling", "outside", "backup"])
async def test_c9_01_an_atomic_save_leaves_one_entry_with_its_links_and_identity(put, vault_dir, started, sequence):
    put("a.md", "---\nname: The ferry\nid: 42\n---\nOld ferry.\n")
    put("b.md", "See [[a.md]].\n")
    put("c.md", "Also [[a.md]].\n")
    reme = await started()
    heard = Heard()
    reme.watcher.subscribe(heard)
    links = [(vault_dir / name).read_bytes() for name in ("b.md", "c.md")]
    text = "---\nname: The ferry\nid: 42\n---\nNew ferry.\n"
    if sequence == "sibling":
        put("a.md.tmp", text).replace(vault_dir / "a.md")
    elif sequence == "outside":
        outside = vault_dir.parent / "save"
        outside.write_text(text)
        outside.replace(vault_dir / "a.md")
    else:
        (vault_dir / "a.md").rename(vault_dir / "a.md~")
        put("a.md", text)
        (vault_dir / "a.md~").unlink()
    await until_async(lambda: "a.md" in heard.paths)
    (hit,) = [hit for hit in (await reme.search("new ferry")).hits if hit.path == "a.md"]
    assert "New ferry" in hit.text
    assert hit.title == "The ferry"
    assert hit.inlinks == ("b.md", "c.md")
    assert indexed(reme) == {"a.md", "b.md", "c.md"}
    assert heard.paths == {"a.md"}
    assert [(vault_dir / name).read_bytes() for name in ("b.md", "c.md")] == links
    assert await found(reme, "old") == []


async def test_c9_03_folders_renamed_and_moved_in_are_as_a_fresh_scan_sees_them(put, vault_dir, tmp_path, started):
    for number in range(50):
        put(f"d/{number}.md", f"Ferry d{number}. [[d/{(number + 1) % 50}.md]]\n")
        outside = tmp_path / "moved" / "deep" / f"{number}.md"
        outside.parent.mkdir(parents=True, exist_ok=True)
        outside.write_text(f"Ferry m{number}.\n")
    reme = await started()
    (vault_dir / "d").rename(vault_dir / "d2")
    shutil.move(tmp_path / "moved", vault_dir / "in")
    put("p/x.md", "Ferry x.\n")
    (vault_dir / "p/x.md").rename(vault_dir / "p/y.md")
    (vault_dir / "p").rename(vault_dir / "q")
    await until_async(lambda: indexed(reme) == on_disk(vault_dir))
    assert len(indexed(reme)) == 101
    assert "q/y.md" in indexed(reme)
    assert await reme.index.verify() == ()
    # The rule: links go by path; what another program renames leaves them as they were written.
    assert len(await reme.index.loose_links()) == 50


@pytest.mark.slow
async def test_c9_05_touching_a_thousand_notes_reads_nothing_into_terms_and_writes_nothing(put, vault_dir, started):
    for number in range(1000):
        put(f"{number % 20}/{number}.md", f"Ferry {number}.\n")
    reme = await started()
    heard = Heard()
    reme.watcher.subscribe(heard)
    passes = reme.index._opened().sync.passes
    before = {path: path.read_bytes() for path in vault_dir.rglob("*.md")}
    for path in before:
        os.utime(path)
    await until_async(lambda: len(heard.paths) == 1000 and reme.index.status()["fresh"])
    report = await reme.index.sync()
    assert (report.added, report.changed, report.removed) == (0, 0, 0)
    assert reme.index._opened().sync.passes == passes
    assert {path: path.read_bytes() for path in vault_dir.rglob("*.md")} == before
    assert await reme.vault.history() == ()


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EMFILE])
async def test_c9_06_when_watching_cannot_start_files_are_looked_at_and_the_status_says_why(put, stub, started, code):
    stub.fails = OSError(code, "inotify watch limit reached")
    reme = await started(events=False)
    assert reme.index.status()["watch"] == f"polling: [Errno {code}] inotify watch limit reached"
    assert not reme.index.status()["watched"]
    put("a.md", "The ferry leaves at nine.\n")
    await reme.index.sync()
    assert await found(reme, "ferry") == ["a.md"]


async def test_c9_06_watching_goes_on_after_a_restart_and_after_the_folder_was_made_anew(put, vault_dir, started):
    put("a.md", "The ferry leaves at nine.\n")
    reme = await started()
    await asyncio.to_thread(reme.watcher.stop)
    assert reme.index.status()["watch"] == "stopped"
    put("a.md", "The tram leaves at ten.\n")
    await asyncio.to_thread(reme.watcher.start)
    await until_async(lambda: reme.index.status()["watch"] == "events")
    put("b.md", "The tram is late.\n")
    await until_async(lambda: "b.md" in indexed(reme))
    assert await found(reme, "tram") == ["a.md", "b.md"]
    shutil.rmtree(vault_dir)
    await until_async(lambda: reme.index.status()["watch"] == "no folder" and not indexed(reme))
    put("c.md", "The tram is back.\n")
    await until_async(lambda: reme.index.status()["watch"] == "events" and "c.md" in indexed(reme))
    assert await found(reme, "tram") == ["c.md"]


async def test_c9_07_without_events_a_change_is_found_by_the_look_in_between_or_by_sync(put, stub, started):
    reme = await started(reconcile_seconds=0.1)
    put("a.md", "The ferry leaves at nine.\n")  # and no event
    await until_async(lambda: "a.md" in indexed(reme))
    assert await found(reme, "ferry") == ["a.md"]
    put("b.md", "The ferry is late.\n")
    assert (await reme.index.sync()).failed == ()
    assert await found(reme, "ferry") == ["a.md", "b.md"]
    put("c.md", "The ferry is gone.\n")
    await until_async(lambda: "c.md" in indexed(reme))
    await until_async(lambda: reme.index.status()["watch"].startswith("polling: "))


async def test_c9_08_hidden_junk_and_own_files_are_not_indexed_and_feed_no_loop(put, vault_dir, started):
    junk = [
        ".git/x.md", ".obsidian/x.md", ".trash/x.md", "node_modules/x/x.md", "a.sync-conflict-20260101-1-ABC.md",
        ".#a.md", "~$a.md", "a (Ann's conflicted copy 2026-03-01).md", "a (SFConflict ann@x.org 2026-03-01).md",
        "a（冲突副本 2026-03-01）.md", "a-DESKTOP-1A2B3C4.md", "a_conflict-20260301-120000.md",
    ]  # fmt: skip
    for path in junk:
        put(path, "The ferry leaves at nine.\n")
    put("a.md", "The ferry leaves at nine.\n")
    (vault_dir / "x.md").mkdir()
    put("x.md/inside.md", "The ferry inside.\n")
    os.mkfifo(vault_dir / "p.md")
    with (vault_dir / "huge.md").open("wb") as huge:
        huge.truncate(2 << 30)
    reme = await started()
    assert await found(reme, "ferry") == ["a.md", "x.md/inside.md"]
    assert [path for path, _ in reme.index.status()["failed"]] == ["huge.md"]
    heard = Heard()
    reme.watcher.subscribe(heard)
    for _ in range(10):
        await reme.index.persist()
    for path in junk:
        put(path, "The ferry again.\n")
    put("last.md", "The ferry at last.\n")
    await until_async(lambda: "last.md" in heard.paths)
    assert heard.paths == {"last.md"}


async def test_c9_09_links_end_the_scan_index_each_note_once_and_nothing_outside(put, vault_dir, tmp_path, started):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.md").write_text("The ferry is secret.\n")
    put("a.md", "The ferry leaves at nine.\n")
    (vault_dir / "loop").symlink_to(vault_dir)
    (vault_dir / "ext").symlink_to(outside)
    (vault_dir / "dup.md").symlink_to(vault_dir / "a.md")
    (vault_dir / "out.md").symlink_to(outside / "secret.md")
    reme = await started()
    assert await found(reme, "ferry") == ["a.md"]
    await reme.vault.write("dup.md", "The ferry through a link.\n", overwrite=True)
    assert await found(reme, "ferry") == ["a.md"]
    heard = Heard()
    reme.watcher.subscribe(heard)
    (outside / "secret.md").write_text("The ferry is more secret.\n")
    (vault_dir / "dup2.md").symlink_to(vault_dir / "a.md")
    put("loop/a.md", "The ferry by way of the loop.\n")
    await until_async(lambda: "a.md" in heard.paths)
    assert await found(reme, "ferry") == ["a.md"]
    assert await found(reme, "secret") == []
    assert indexed(reme) == {"a.md"}
    assert await reme.index.verify() == ()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
async def test_c9_03_whatever_other_programs_do_the_index_ends_as_a_fresh_scan(put, vault_dir, tmp_path, started, seed):
    """Random saves, renames, moves and deletions of files and folders, as fast as the disk takes them."""
    chance = random.Random(seed)
    reme = await started()
    for step in range(150):
        files = sorted(path for path in vault_dir.rglob("*.md") if "metadata" not in path.parts)
        folders = sorted({path.parent for path in files} - {vault_dir})
        kind = chance.random()
        if kind < 0.4 or not files:
            folder = chance.choice(["", "x/", "x/y/", "z/"])
            put(f"{folder}{chance.randrange(15)}.md", f"Ferry {step}.\n")
        elif kind < 0.55:
            chance.choice(files).unlink()
        elif kind < 0.7:
            target = vault_dir / chance.choice(["", "x", "w"]) / f"r{chance.randrange(10)}.md"
            target.parent.mkdir(exist_ok=True)
            chance.choice(files).replace(target)
        elif kind < 0.8 and folders:
            shutil.rmtree(chance.choice(folders))
        elif folders:
            folder, target = chance.choice(folders), vault_dir / f"f{step}"
            folder.rename(target)
        if chance.random() < 0.1:
            await reme.search("ferry")
    corpus = reme.index._opened().store.corpus

    def texts() -> dict[str, str]:
        return {path: corpus.files[path].digest for path in indexed(reme)}

    await until_async(
        lambda: texts() == {path: sha256((vault_dir / path).read_bytes()).hexdigest() for path in on_disk(vault_dir)}
    )
    before = texts()
    await reme.index.sync()
    assert texts() == before
    assert await reme.index.verify() == ()
