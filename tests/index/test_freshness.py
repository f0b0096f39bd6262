"""How current a search is: own writes at once, others' after a look or when the watcher tells."""

import asyncio
import threading
import time

import pytest

from agentscope_reme import ReMe
from agentscope_reme.index import freshness, watch
from agentscope_reme.index.sync import Sync
from agentscope_reme.index.watch import Watcher

from .watching import StubEvents, until, until_async


@pytest.fixture(autouse=True)
def _look_before_every_search(monkeypatch):
    monkeypatch.setattr(freshness, "RECONCILE_SECONDS", 0.0)
    monkeypatch.setattr(freshness, "RECONCILE_SHARE", float("inf"))
    monkeypatch.setattr(watch, "HEARTBEAT", 0.1)


@pytest.fixture
def scans(monkeypatch):
    """Counts how often all files were looked at."""
    counted: list[float] = []
    scan = Sync.scan

    def counting(self, **kwargs):
        counted.append(time.monotonic())
        return scan(self, **kwargs)

    monkeypatch.setattr(Sync, "scan", counting)
    return counted


@pytest.fixture
async def watched_index(vault_dir, open_index, monkeypatch):
    """An index that follows a watcher whose events come from a stub."""
    vault_dir.mkdir(exist_ok=True)
    StubEvents.made, StubEvents.fails = [], None
    monkeypatch.setattr(watch, "FileEvents", StubEvents)
    monkeypatch.setattr(watch, "why_no_events", lambda root: "")
    started: list[Watcher] = []

    async def start(quiet: float = 0.05, **settings):
        index = open_index(**settings)
        watcher = Watcher(index.vault, quiet=quiet)
        started.append(watcher)
        await asyncio.to_thread(watcher.start)
        index.follow(watcher)
        await index.sync()
        return index, watcher

    yield start
    for watcher in started:
        await asyncio.to_thread(watcher.stop)


async def found(index, query: str) -> list[str]:
    return sorted({hit.path for hit in (await index.search(query, 100, token_budget=100_000)).hits})


# --- with a watcher -----------------------------------------------------------------------------------------------


async def test_while_a_watcher_is_live_a_search_does_not_look_at_all_files(put, watched_index, scans):
    put("a.md", "The ferry leaves at nine.\n")
    index, _ = await watched_index()
    before = len(scans)
    for _ in range(5):
        assert await found(index, "ferry") == ["a.md"]
    assert len(scans) == before
    assert index.status()["watched"]


async def test_what_the_watcher_tells_is_read_without_a_search(put, vault_dir, watched_index, scans):
    put("a.md", "The ferry leaves at nine.\n")
    put("gone.md", "The ferry is gone.\n")
    index, _ = await watched_index()
    put("a.md", "The tram leaves at ten.\n")
    put("b.md", "The tram is late.\n")
    (vault_dir / "gone.md").unlink()
    for path in ("a.md", "b.md", "gone.md"):
        StubEvents.made[-1].noticed(path, False)
    before = len(scans)
    await until_async(lambda: index.graph.paths() == {"a.md", "b.md"})
    assert await found(index, "tram") == ["a.md", "b.md"]
    assert await found(index, "ferry") == []
    assert len(scans) == before


async def test_a_search_in_the_quiet_window_sees_what_was_noticed(put, watched_index):
    index, watcher = await watched_index(quiet=30.0)
    put("a.md", "The ferry leaves at nine.\n")
    StubEvents.made[-1].noticed("a.md", False)
    await until_async(watcher.waiting)
    assert await found(index, "ferry") == ["a.md"]


async def test_a_search_amid_many_changes_has_read_them_or_says_that_it_has_not(put, watched_index):
    index, _ = await watched_index(quiet=30.0)
    for number in range(300):
        put(f"{number}.md", "The ferry leaves at nine.\n")
        StubEvents.made[-1].noticed(f"{number}.md", False)
    result = await index.search("ferry", 1)
    if result.status == "stale":  # a machine too busy to read 300 files in five seconds
        assert "still to be read" in result.note
    else:
        assert index.status()["files"] == 300


async def test_one_look_is_taken_after_the_events_were_interrupted(put, watched_index, scans):
    index, watcher = await watched_index()
    put("a.md", "The ferry leaves at nine.\n")
    StubEvents.made[-1].alive = False
    await until_async(lambda: len(StubEvents.made) == 2 and watcher.live)
    before = len(scans)
    for _ in range(3):
        assert await found(index, "ferry") == ["a.md"]
    assert len(scans) == before + 1


async def test_when_the_watcher_stops_a_search_looks_itself_again(put, watched_index, scans):
    index, watcher = await watched_index()
    await asyncio.to_thread(watcher.stop)
    put("a.md", "The ferry leaves at nine.\n")
    assert await found(index, "ferry") == ["a.md"]
    assert not index.status()["watched"]


async def test_sync_looks_at_all_files_in_any_case(put, watched_index):
    index, _ = await watched_index()
    put("a.md", "The ferry leaves at nine.\n")  # and no event
    report = await index.sync()
    assert report.added == 1
    assert await found(index, "ferry") == ["a.md"]


async def test_own_writes_are_found_at_once_and_read_once_although_the_watcher_tells_of_them(watched_index):
    index, watcher = await watched_index()
    change = await index.vault.write("a.md", "The ferry leaves at nine.\n")
    StubEvents.made[-1].noticed("a.md", False)
    assert await found(index, "ferry") == ["a.md"]
    await index.vault.write("a.md", "The tram leaves at ten.\n", change.version)
    StubEvents.made[-1].noticed("a.md", False)
    assert await found(index, "tram") == ["a.md"]
    await until_async(lambda: not watcher.waiting())
    await index.sync()
    assert index._opened().sync.passes == 2


# --- several threads ----------------------------------------------------------------------------------------------


async def test_a_search_waits_for_what_another_thread_is_about_to_read(put, open_index, monkeypatch):
    index = open_index()
    await index.search("anything")
    reading, go_on = threading.Event(), threading.Event()
    check = Sync.check

    def slow(self, paths):
        reading.set()
        assert go_on.wait(20)
        return check(self, paths)

    monkeypatch.setattr(Sync, "check", slow)
    await index.vault.write("a.md", "The ferry leaves at nine.\n")
    first = asyncio.create_task(found(index, "ferry"))
    await asyncio.to_thread(reading.wait, 20)
    second = asyncio.create_task(found(index, "ferry"))
    await asyncio.sleep(0.05)
    go_on.set()
    assert await first == await second == ["a.md"]


async def test_a_file_made_while_the_folder_is_looked_at_stays(put, open_index, monkeypatch):
    for number in range(5):
        put(f"{number}.md", "The tram leaves at ten.\n")
    index = open_index()
    read = Sync._read
    written: list[str] = []

    def writing(self, path, counts):
        if not written:
            written.append(path)
            index.vault.change("new.md", lambda old, kind: b"The ferry leaves at nine.\n", actor="user", reason="")
            index._freshness.read_changed()
        return read(self, path, counts)

    monkeypatch.setattr(Sync, "_read", writing)
    await index.sync()
    assert written
    assert "new.md" in index.graph
    assert await found(index, "ferry") == ["new.md"]


@pytest.mark.parametrize("way", ["look_again", "catch_up"])
async def test_whoever_looks_at_all_files_once_more_is_told_why_that_was_not_done(put, open_index, monkeypatch, way):
    put("a.md", "The ferry leaves at nine.\n")
    index = open_index()
    await index.sync()
    scan, go_on, state = Sync.scan, threading.Event(), index._freshness

    def slow(self, **kwargs):
        assert go_on.wait(20)
        return scan(self, **kwargs)

    def failing(self, **kwargs):
        raise OSError("the disk is gone")

    def closing(self, **kwargs):
        index._closed = True
        return scan(self, **kwargs)

    look = getattr(state, way)
    put("b.md", "The ferry is late.\n")
    assert await asyncio.to_thread(look, 20) == ""
    assert "b.md" in index.graph
    monkeypatch.setattr(Sync, "scan", slow)
    assert "the index is behind the files: 100% of them have been looked at" in await asyncio.to_thread(look, 0.01)
    assert "have been looked at" in await asyncio.to_thread(look, -1)
    go_on.set()
    monkeypatch.setattr(Sync, "scan", failing)
    assert "could not be looked at (the disk is gone)" in await asyncio.to_thread(look, 20)
    monkeypatch.setattr(Sync, "scan", closing)
    assert "closed before" in await asyncio.to_thread(look, 20)
    index._closed = False


async def test_catching_up_is_not_done_while_changes_are_unread_and_takes_no_longer_than_said(
    put, open_index, monkeypatch
):
    put("a.md", "The ferry leaves at nine.\n")
    index = open_index()
    await index.sync()
    given: list[float] = []
    monkeypatch.setattr(index._freshness, "read_changed", lambda seconds: given.append(seconds) or 3)
    said = await asyncio.to_thread(index._freshness.catch_up, 20)
    assert said == "the index is behind the files: 3 that have changed are still to be read"
    assert given[0] < 20


async def test_many_changes_that_are_not_read_in_time_make_a_result_stale(put, watched_index, monkeypatch):
    put("old.md", "The ferry leaves at nine.\n")
    index, _ = await watched_index(search_wait=0.05)
    started, go_on = threading.Event(), threading.Event()
    check = Sync.check

    def slow(self, paths):
        started.set()
        assert go_on.wait(20)
        return check(self, paths)

    monkeypatch.setattr(Sync, "check", slow)
    for number in range(200):
        put(f"{number}.md", "The ferry is late.\n")
        StubEvents.made[-1].noticed(f"{number}.md", False)
    await asyncio.to_thread(started.wait, 20)
    try:
        result = await index.search("ferry")
    finally:
        go_on.set()
    assert result.status == "stale"
    assert "still to be read" in result.note
    assert [hit.path for hit in result.hits] == ["old.md"]
    await until_async(lambda: index.status()["fresh"] and index.status()["files"] == 201)


async def test_a_change_that_could_not_be_read_is_not_forgotten(put, watched_index, monkeypatch):
    index, _ = await watched_index()
    check = Sync.check
    failing = [True]

    def fails(self, paths):
        if failing:
            failing.clear()
            raise MemoryError("boom")
        return check(self, paths)

    monkeypatch.setattr(Sync, "check", fails)
    put("a.md", "The ferry leaves at nine.\n")
    StubEvents.made[-1].noticed("a.md", False)
    await until_async(lambda: not failing)
    assert await found(index, "ferry") == ["a.md"]


# --- times that lie -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shift", [-10 * 365 * 86_400, 10 * 365 * 86_400])
async def test_files_with_times_far_in_the_past_or_future_are_followed(put, open_index, shift):
    import os

    index = open_index()
    when = time.time() + shift
    for text, size in (("The ferry leaves.\n", 1), ("The trams! leave.\n", 2), ("The buses? leave.\n", 3)):
        os.utime(put("a.md", text), (when, when))
        assert await found(index, text.split()[1].strip("!?")) == ["a.md"], size
    assert await found(index, "ferry") == []


async def test_the_same_size_and_the_same_time_do_not_hide_a_change(put, open_index):
    import os

    index = open_index()
    os.utime(put("a.md", "The ferry leaves.\n"), ns=(10**18, 10**18))
    assert await found(index, "ferry") == ["a.md"]
    os.utime(put("a.md", "The trams leave!!\n"), ns=(10**18, 10**18))
    assert await found(index, "ferry") == []
    assert await found(index, "trams") == ["a.md"]


async def test_a_clock_that_is_set_back_hides_no_change(put, open_index, monkeypatch):
    from agentscope_reme.index import sync

    hour = 3_600 * 10**9
    with monkeypatch.context() as patch:
        patch.setattr(sync.time, "time_ns", lambda now=time.time_ns: now() + hour)
        put("a.md", "The ferry leaves.\n")
        index = open_index()
        assert await found(index, "ferry") == ["a.md"]
    for word in ("trams", "buses", "boats"):
        put("a.md", f"The {word} leave!!\n")
        assert await found(index, word) == ["a.md"]
    assert await found(index, "ferry") == []
    assert await index.verify() == ()


async def test_a_disk_whose_clock_is_slow_and_coarse_hides_no_change(put, open_index, monkeypatch):
    """Its times are ten minutes behind, and all changes of the test fall into one tick."""
    from agentscope_reme.index import stamps

    index = open_index()
    await index.sync()
    tick = time.time_ns() - 600 * 10**9
    monkeypatch.setattr(stamps, "times", lambda status: (tick, tick))
    for path in ("old.md", "new.md"):
        put(path, "The ferry leaves.\n")
        assert await found(index, "ferry") == [path]
        put(path, "The trams leave!!\n")
        assert await found(index, "trams") == [path]
        (index.vault.root / path).unlink()
    passes = index._opened().sync.passes
    for _ in range(3):
        await index.sync()
    assert index._opened().sync.passes <= passes + 2, "and what does not change is read into terms once"


async def test_a_note_renamed_in_case_only_has_its_new_name_alone(put, vault_dir, open_index):
    put("Note.md", "The ferry leaves at nine.\n")
    index = open_index()
    assert await found(index, "ferry") == ["Note.md"]
    (vault_dir / "Note.md").rename(vault_dir / "note.md")
    assert await found(index, "ferry") == ["note.md"]
    await index.vault.move("note.md", "NOTE.md")
    assert await found(index, "ferry") == ["NOTE.md"]


async def test_on_a_disk_that_takes_both_spellings_a_note_is_known_by_its_own(put, open_index, monkeypatch):
    from contextlib import contextmanager

    put("note.md", "The ferry leaves at nine.\n")
    index = open_index()
    await index.sync()
    opened = index.vault.storage.opened

    @contextmanager
    def either(path):
        with opened("note.md" if path.casefold() == "note.md" else path) as file:
            yield file

    monkeypatch.setattr(index.vault.storage, "opened", either)
    index._opened().sync.check(["NOTE.md", "Note.md"])
    assert index.status()["files"] == 1
    assert await found(index, "ferry") == ["note.md"]


async def test_a_folder_renamed_during_a_look_is_found_by_the_next(put, vault_dir, open_index, monkeypatch):
    for number in range(30):
        put(f"d/{number}.md", "The ferry leaves at nine.\n")
        put(f"e/{number}.md", "The ferry is late.\n")
    index = open_index()
    read = Sync._read
    renamed: list[str] = []

    def renaming(self, path, counts):
        if not renamed and path.startswith("e/"):
            renamed.append(path)
            (vault_dir / "e").rename(vault_dir / "c")
        return read(self, path, counts)

    monkeypatch.setattr(Sync, "_read", renaming)
    report = await index.sync()
    assert renamed
    assert report.failed == ()
    expected = sorted(f"{folder}/{number}.md" for folder in "cd" for number in range(30))
    assert await found(index, "ferry") == expected
    assert index.status()["files"] == 60


# --- through ReMe -------------------------------------------------------------------------------------------------


async def test_a_started_reme_watches_until_it_is_closed(vault_dir, put):
    from agentscope_reme import ReMe

    vault_dir.mkdir()
    before = {thread.name for thread in threading.enumerate()}
    reme = ReMe(vault_dir, watch_quiet=0.05)
    await reme.start()
    await reme.start()
    watcher = reme.watcher
    if watcher.state != "events":
        await reme.close()
        pytest.skip(f"no events here: {watcher.state}")
    told: list[frozenset[str]] = []
    watcher.subscribe(told.append)
    put("a.md", "The ferry leaves at nine.\n")
    await until_async(lambda: told)
    assert [hit.path for hit in (await reme.search("ferry")).hits] == ["a.md"]
    assert reme.index.status()["watched"]
    await reme.close()
    assert watcher.state == "stopped"
    until(lambda: "reme-watch" not in {thread.name for thread in threading.enumerate()} - before)


@pytest.mark.parametrize("watch_mode", ["poll", "off"])
async def test_without_events_a_reme_is_as_current(vault_dir, put, watch_mode):
    from agentscope_reme import ReMe

    async with ReMe(vault_dir, watch=watch_mode) as reme:
        put("a.md", "The ferry leaves at nine.\n")
        assert [hit.path for hit in (await reme.search("ferry")).hits] == ["a.md"]
        put("a.md", "The tram leaves at ten.\n")
        assert (await reme.search("ferry")).status == "none"


async def test_a_reme_that_was_not_started_watches_nothing_and_is_current(vault_dir, put):
    from agentscope_reme import ReMe

    before = set(threading.enumerate())  # another test's may not have ended
    reme = ReMe(vault_dir)
    put("a.md", "The ferry leaves at nine.\n")
    assert [hit.path for hit in (await reme.search("ferry")).hits] == ["a.md"]
    begun = {thread.name for thread in set(threading.enumerate()) - before}
    assert "reme-watch" not in begun, begun
    await reme.close()


@pytest.mark.parametrize("setting", ["watch", "watch_quiet", "poll_seconds", "reconcile_seconds"])
def test_how_a_vault_is_watched_cannot_be_changed_behind_its_back(vault_dir, setting):
    from agentscope_reme import ReMe
    from agentscope_reme.errors import ConfigError

    with pytest.raises(ConfigError, match=setting):
        ReMe(vault_dir).update_params(**{setting: "off" if setting == "watch" else 5.0})


async def test_how_long_the_first_reading_took_does_not_put_off_the_next_look(put, open_index, scans, monkeypatch):
    monkeypatch.setattr(freshness, "RECONCILE_SHARE", 1e-9)  # a look waits for ages after one that took long
    index = open_index()
    for number in range(30):
        put(f"{number}.md", f"Otters at lake {number}.\n")
    await found(index, "otters")
    put("0.md", "Herons instead.\n")
    assert await found(index, "herons") == ["0.md"]
    assert len(scans) == 2
    put("1.md", "Geese instead.\n")
    assert await found(index, "geese") == []


async def test_a_vault_that_is_moved_away_is_said_to_be_gone_and_gets_no_new_folder(vault_dir) -> None:
    vault_dir.mkdir()
    (vault_dir / "a.md").write_text("The ferry leaves.\n")
    away = vault_dir.with_name("away")
    reme = ReMe(vault_dir)
    assert (await reme.search("ferry")).status == "ok"
    assert await reme.index.persist() is True
    vault_dir.rename(away)
    await reme.index.sync()
    result = await reme.search("ferry")
    assert (result.status, result.hits) == ("none", ())
    assert f"{vault_dir} is not there any more" in result.note
    assert await reme.index.persist() is False
    await reme.close()
    assert not vault_dir.exists()
    async with ReMe(vault_dir) as new:
        assert "not there any more" not in (await new.search("ferry")).note, "one that has never been there"
        away.rename(vault_dir)
        await new.index.sync()
        assert [hit.path for hit in (await new.search("ferry")).hits] == ["a.md"]
