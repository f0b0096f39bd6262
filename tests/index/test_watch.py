"""The watcher: other programs' changes in settled batches, with events, without them, and when they fail."""

import errno
import logging
import os
import shutil
import threading
from pathlib import Path

import pytest

from agentscope_reme.index import watch, watch_events
from agentscope_reme.index.watch import Watcher
from agentscope_reme.vault import JournalRecord, Vault

from .watching import Heard, StubEvents, until


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    monkeypatch.setattr(watch, "HEARTBEAT", 0.1)


@pytest.fixture
def watched(vault_dir: Path):
    """Start a watcher over the vault and listen to it; all are stopped at the end."""
    started: list[Watcher] = []

    def start(**settings: object) -> tuple[Watcher, Heard]:
        vault = settings.pop("vault", None) or Vault(vault_dir)
        watcher = Watcher(vault, **{"quiet": 0.05, **settings})  # type: ignore[arg-type]
        started.append(watcher)
        heard = Heard()
        watcher.subscribe(heard)
        watcher.start()
        return watcher, heard

    yield start
    for watcher in started:
        watcher.stop()


@pytest.fixture
def events(vault_dir: Path, watched):
    """The same with the system's events; skipped where there are none."""
    vault_dir.mkdir(exist_ok=True)

    def start(**settings: object) -> tuple[Watcher, Heard]:
        watcher, heard = watched(**settings)
        if watcher.state != "events":
            pytest.skip(f"no events here: {watcher.state}")
        return watcher, heard

    return start


@pytest.fixture
def stub(vault_dir: Path, monkeypatch):
    """Events come from a stub."""
    vault_dir.mkdir(exist_ok=True)
    StubEvents.made, StubEvents.fails = [], None
    monkeypatch.setattr(watch, "FileEvents", StubEvents)
    monkeypatch.setattr(watch, "why_no_events", lambda root: "")
    return StubEvents


def settled(put, heard: Heard) -> set[str]:
    """All that was told up to now: a last file is made, and waited for."""
    put("last.md", "last")
    until(lambda: "last.md" in heard.paths)
    return heard.paths - {"last.md"}


# --- events -------------------------------------------------------------------------------------------------------


def test_files_that_come_change_and_go_are_told(put, vault_dir, events):
    put("a.md", "a")
    put("b/c.md", "c")
    _, heard = events()
    put("a.md", "other")
    (vault_dir / "b/c.md").unlink()
    put("new/folder/d.pdf", b"%PDF")
    assert settled(put, heard) == {"a.md", "b/c.md", "new/folder/d.pdf"}


def test_what_was_there_before_is_not_told(put, events):
    put("a.md", "a")
    _, heard = events()
    assert settled(put, heard) == set()


@pytest.mark.parametrize("save", ["beside", "from outside", "with a backup"])
def test_an_editors_atomic_save_is_a_change_of_the_note_and_of_nothing_else(put, vault_dir, events, save):
    put("a.md", "old")
    _, heard = events()
    if save == "beside":
        put("a.md.tmp", "new").replace(vault_dir / "a.md")
    elif save == "from outside":
        outside = vault_dir.parent / "outside"
        outside.write_text("new")
        outside.replace(vault_dir / "a.md")
    else:
        (vault_dir / "a.md").rename(vault_dir / "a.md~")
        put("a.md", "new")
        (vault_dir / "a.md~").unlink()
    assert settled(put, heard) == {"a.md"}


def test_folders_that_are_renamed_moved_in_and_moved_out_are_told_file_by_file(put, vault_dir, tmp_path, events):
    for number in range(50):
        put(f"d/{number}.md", "d")
        put(f"out/deep/{number}.md", "o")
    inside = tmp_path / "inside" / "deep"
    inside.mkdir(parents=True)
    for number in range(50):
        (inside / f"{number}.md").write_text("i")
    _, heard = events()
    (vault_dir / "d").rename(vault_dir / "d2")
    (vault_dir / "out").rename(tmp_path / "gone")
    (tmp_path / "inside").rename(vault_dir / "in")
    folders = ("d", "d2", "out/deep", "in/deep")
    expected = {f"{folder}/{number}.md" for folder in folders for number in range(50)}
    until(lambda: expected <= heard.paths)
    assert settled(put, heard) == expected


def test_a_file_renamed_just_before_its_folder_ends_under_its_last_name(put, vault_dir, events):
    put("d/a.md", "a")
    _, heard = events()
    (vault_dir / "d/a.md").rename(vault_dir / "d/b.md")
    (vault_dir / "d").rename(vault_dir / "e")
    until(lambda: "e/b.md" in heard.paths)
    put("e/b.md", "changed where it is now")
    assert {"d/a.md", "e/b.md"} <= settled(put, heard)


def test_files_in_a_folder_made_a_moment_ago_are_told(put, events):
    _, heard = events()
    for number in range(20):
        put(f"x/{number}/y/z/{number}.md", "deep")
    expected = {f"x/{number}/y/z/{number}.md" for number in range(20)}
    until(lambda: expected <= heard.paths)


def test_ignored_and_internal_files_are_not_told(put, vault_dir, events):
    _, heard = events(ignore=("drafts",))
    for path in (
        ".git/index", ".obsidian/workspace.json", "node_modules/x/readme.md", ".trash/a.md", "drafts/a.md",
        "metadata/index/index.jsonl.zst", "history/log.jsonl", "session/tool_result/0a.txt", "a.sync-conflict-1.md",
        ".#a.md", "~$a.docx", "a.md.swp", ".reme-tmp-1-2",
    ):  # fmt: skip
        put(path, "noise")
    assert settled(put, heard) == set()


def test_what_the_vault_writes_for_itself_is_not_told_and_its_notes_are(put, vault_dir, events):
    vault = Vault(vault_dir)
    _, heard = events(vault=vault)
    message = {"id": "m1", "name": "user", "role": "user", "content": "Hello.", "metadata": None}
    for number in range(5):
        vault.journal("s1").append([JournalRecord(msg={**message, "id": f"m{number}"})])
    vault.change("note.md", lambda old, kind: b"mine", actor="user", reason="")
    assert settled(put, heard) == {"note.md"}
    put("session/dialog/other.jsonl", "{}\n")
    until(lambda: "session/dialog/other.jsonl" in heard.paths)


def test_links_are_not_followed_out_of_the_vault_and_do_not_loop(put, vault_dir, tmp_path, events):
    outside = tmp_path / "outside"
    outside.mkdir()
    put("a.md", "a")
    (vault_dir / "loop").symlink_to(vault_dir)
    (vault_dir / "ext").symlink_to(outside)
    _, heard = events()
    (outside / "secret.md").write_text("secret")
    put("loop/a.md", "through the link")
    assert settled(put, heard) == {"a.md"}


def test_a_vault_that_is_a_link_is_watched(put, tmp_path, events, vault_dir):
    link = tmp_path / "link"
    link.symlink_to(vault_dir)
    _, heard = events(vault=Vault(link))
    put("d/a.md", "a")
    assert settled(put, heard) == {"d/a.md"}


# --- batches and listeners ----------------------------------------------------------------------------------------


def test_many_events_of_a_moment_are_one_batch(stub, watched, put):
    _, heard = watched(quiet=1.0)
    for number in range(50):
        stub.made[-1].noticed(f"{number % 5}.md", False)
    until(lambda: heard.paths == {f"{number}.md" for number in range(5)})
    assert len(heard.batches) <= 2  # one, unless this thread had to wait for its turn that long


def test_a_file_that_never_rests_is_told_all_the_same(stub, watched):
    _, heard = watched(quiet=0.1)
    end = threading.Event()

    def write() -> None:
        while not end.wait(0.02):
            stub.made[-1].noticed("busy.md", False)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        until(lambda: heard.batches)
    finally:
        end.set()
        writer.join()


def test_a_listener_that_fails_is_logged_and_does_not_keep_others_from_hearing(stub, watched, caplog):
    watcher, heard = watched()
    later = Heard()

    def fails(paths: frozenset[str]) -> None:
        raise RuntimeError("boom")

    watcher.subscribe(fails)
    watcher.subscribe(later)
    for path in ("a.md", "b.md"):
        stub.made[-1].noticed(path, False)
        until(lambda path=path: path in later.paths)
    assert heard.paths == {"a.md", "b.md"}
    assert "boom" in caplog.text


def test_who_has_unsubscribed_hears_no_more(stub, watched):
    watcher, heard = watched()
    other = Heard()
    end = watcher.subscribe(other)
    end()
    end()
    stub.made[-1].noticed("a.md", False)
    until(lambda: heard.batches)
    assert other.batches == []


def test_what_waits_for_the_quiet_window_can_be_asked_for(stub, watched):
    watcher, heard = watched(quiet=30.0)
    stub.made[-1].noticed("a.md", False)
    stub.made[-1].noticed("folder", True)
    until(lambda: watcher.waiting() == {"a.md"})
    assert watcher.take_news() == {"a.md"}
    assert watcher.take_news() == set()
    assert watcher.waiting() == {"a.md"}
    stub.made[-1].noticed("a.md", False)
    assert watcher.take_news() == {"a.md"}
    assert heard.batches == []


# --- starting, stopping, and the folder ---------------------------------------------------------------------------


def test_a_stopped_watcher_is_silent_and_one_started_again_tells_what_it_missed(put, events):
    put("a.md", "a")
    watcher, heard = events()
    watcher.stop()
    watcher.stop()
    assert (watcher.state, watcher.live) == ("stopped", False)
    put("a.md", "changed meanwhile")
    put("b.md", "b")
    watcher.start()
    watcher.start()
    until(lambda: heard.paths == {"a.md", "b.md"})
    put("c.md", "c")
    until(lambda: "c.md" in heard.paths)
    assert watcher.state == "events"


def test_no_thread_is_left_after_a_stop(events):
    before = set(threading.enumerate())
    watcher, _ = events()
    begun = set(threading.enumerate()) - before
    assert "reme-watch" in {thread.name for thread in begun}
    watcher.stop()
    # The library may keep the one thread that reads from the system for the next observer.
    until(lambda: sum(thread.is_alive() for thread in begun) <= 1)


def test_a_folder_that_is_removed_and_made_again_is_watched_again(put, vault_dir, events):
    put("a.md", "a")
    watcher, heard = events()
    shutil.rmtree(vault_dir)
    until(lambda: watcher.state == "no folder")
    assert not watcher.live
    until(lambda: "a.md" in heard.paths)
    put("b.md", "b")
    until(lambda: "b.md" in heard.paths)
    until(lambda: watcher.state == "events")
    assert settled(put, heard) == {"a.md", "b.md"}


def test_a_vault_that_is_not_there_yet_is_watched_from_its_first_note_on(vault_dir, watched, put):
    vault = Vault(vault_dir)
    watcher, heard = watched(vault=vault)
    assert (watcher.state, vault_dir.exists()) == ("no folder", False)
    vault.change("a.md", lambda old, kind: b"first", actor="user", reason="")
    until(lambda: watcher.state != "no folder")
    put("b.md", "by another program")
    until(lambda: "b.md" in heard.paths)


def test_events_are_taken_before_the_first_look(stub, watched, monkeypatch):
    looked: list[int] = []
    look = Watcher._look
    monkeypatch.setattr(Watcher, "_look", lambda self: (looked.append(len(stub.made)), look(self))[1])
    watched()
    assert looked == [1]


# --- no events, or not all ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EMFILE])
def test_without_events_the_files_are_looked_at(stub, watched, put, caplog, code):
    stub.fails = OSError(code, "limit reached")
    with caplog.at_level(logging.WARNING):
        watcher, heard = watched(poll_seconds=0.05)
    assert "limit reached" in caplog.text
    assert watcher.state.startswith("polling: ")
    assert not watcher.live
    put("a.md", "a")
    until(lambda: "a.md" in heard.paths)
    put("a.md", "another")
    until(lambda: len(heard.batches) > 1)
    os.remove(put("b/c.md", "c"))
    put("d.md", "d")
    until(lambda: "d.md" in heard.paths)
    assert "limit reached" in watcher.state


def test_looking_can_be_asked_for(put, watched, vault_dir):
    put("a.md", "a")
    watcher, heard = watched(mode="poll", poll_seconds=0.05)
    assert watcher.state == "polling"
    put(".git/x", "ignored")
    (vault_dir / "a.md").rename(vault_dir / "b.md")
    until(lambda: heard.paths == {"a.md", "b.md"})


def test_a_watcher_that_is_off_does_nothing(put, watched):
    before = threading.active_count()
    watcher, _ = watched(mode="off")
    assert (watcher.state, watcher.live, watcher.looks) == ("off", False, 0)
    assert threading.active_count() == before


@pytest.mark.parametrize("kind", ["nfs4", "cifs", "9p", "virtiofs", "fuse.sshfs", "fuse"])
def test_a_file_system_that_changes_elsewhere_is_looked_at(vault_dir, watched, put, monkeypatch, kind):
    vault_dir.mkdir()
    monkeypatch.setattr(watch_events, "_file_system", lambda root: kind)
    watcher, heard = watched(poll_seconds=0.05)
    assert kind in watcher.state
    put("a.md", "a")
    until(lambda: "a.md" in heard.paths)


def test_what_no_event_told_is_found_by_the_look_in_between_and_twice_ends_the_trust(stub, watched, put):
    watcher, heard = watched(reconcile_seconds=0.05)
    assert watcher.live
    since = watcher.live_since
    put("a.md", "a")
    until(lambda: "a.md" in heard.paths)
    assert watcher.live_since > since, "whoever relied on the events looks again"
    put("b.md", "b")
    until(lambda: "b.md" in heard.paths)
    until(lambda: watcher.state.startswith("polling: "))
    assert "incomplete" in watcher.state


def test_a_look_that_only_finds_what_events_told_keeps_the_trust(stub, watched, put):
    watcher, heard = watched(reconcile_seconds=0.05, quiet=0.1)
    for number in range(3):
        put(f"d/{number}.md", "a")
        stub.made[-1].noticed(f"d/{number}.md", False)
        until(lambda number=number: f"d/{number}.md" in heard.paths)
    looks = watcher.looks
    until(lambda: watcher.looks > looks + 3)
    assert (watcher.state, len(stub.made)) == ("events", 1)


def test_events_that_end_are_taken_up_again(stub, watched, put):
    watcher, heard = watched()
    stub.made[-1].alive = False
    put("a.md", "while nobody listened")
    until(lambda: "a.md" in heard.paths)
    assert len(stub.made) == 2
    stub.made[-1].noticed("b.md", False)
    until(lambda: "b.md" in heard.paths)
    assert watcher.live


def test_so_many_events_that_some_may_be_lost_end_in_a_look_at_all_files(stub, watched, put, monkeypatch):
    monkeypatch.setattr(watch, "burst", lambda: 100)
    watcher, heard = watched()
    put("never/told.md", "its event was dropped")
    for number in range(200):
        stub.made[0].noticed(f".git/objects/{number}", False)
    until(lambda: heard.paths == {"never/told.md"})
    assert len(stub.made) == 2, "folders made meanwhile may lack their watch"
    assert watcher.live


def test_ignored_events_over_a_long_time_are_no_burst(stub, watched, put, monkeypatch):
    monkeypatch.setattr(watch, "burst", lambda: 100)
    monkeypatch.setattr(watch, "HEARTBEAT", 0.02)
    watcher, heard = watched()
    for number in range(5):
        for _ in range(50):
            stub.made[0].noticed("metadata/x", False)
        stub.made[0].noticed(f"{number}.md", False)
        until(lambda number=number: f"{number}.md" in heard.paths)
    assert (len(stub.made), watcher.looks) == (1, 1)


def test_making_a_watcher_imports_nothing_heavy():
    import subprocess
    import sys

    program = (
        "import sys; from agentscope_reme.index.watch import Watcher; from agentscope_reme.vault import Vault; "
        "Watcher(Vault('x')); print(sorted({'numpy', 'bm25s', 'watchdog', 'agentscope'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
