"""The index follows the files, whoever changes them; one bad file stops nothing."""

import asyncio
import errno
import json
import os
import shutil
import sys
import time
from pathlib import Path

import pytest

from agentscope_reme.errors import StateError
from agentscope_reme.index import Index, freshness
from agentscope_reme.index.store import is_gone
from agentscope_reme.vault.paths import Folder


async def found(index, query: str, limit: int = 100) -> list[str]:
    return sorted({hit.path for hit in (await index.search(query, limit, token_budget=100_000)).hits})


def passes(index) -> int:
    return index._opened().sync.passes


@pytest.fixture(autouse=True)
def _look_before_every_search(monkeypatch):
    monkeypatch.setattr(freshness, "RECONCILE_SECONDS", 0.0)
    monkeypatch.setattr(freshness, "RECONCILE_SHARE", float("inf"))


# --- read your writes ---------------------------------------------------------------------------------------------


async def test_a_note_is_found_as_soon_as_it_is_written(open_index, monkeypatch):
    monkeypatch.setattr(freshness, "RECONCILE_SECONDS", 3600.0)
    index = open_index()
    await index.search("anything")
    change = await index.vault.write("a.md", "The ferry leaves at nine.\n")
    assert await found(index, "ferry") == ["a.md"]
    await index.vault.write("a.md", "The tram leaves at ten.\n", change.version)
    assert await found(index, "ferry") == []
    assert await found(index, "tram") == ["a.md"]
    assert passes(index) == 2


async def test_a_version_of_a_file_is_read_into_terms_once(open_index):
    index = open_index()
    await index.vault.write("a.md", "The ferry leaves at nine.\n")
    for _ in range(3):
        await index.search("ferry")
    await index.sync()
    assert passes(index) == 1


async def test_a_turn_of_the_journal_is_found_as_soon_as_it_is_added(open_index, monkeypatch):
    from agentscope_reme.vault import JournalRecord

    monkeypatch.setattr(freshness, "RECONCILE_SECONDS", 3600.0)
    index = open_index()
    await index.search("anything")
    message = {"id": "m1", "name": "user", "role": "user", "content": "The ferry leaves at nine.", "metadata": None,
               "timestamp": "2026-03-02 10:00:00"}  # fmt: skip
    index.vault.journal("s1").append([JournalRecord(msg=message)])
    assert await found(index, "ferry") == ["session/dialog/s1.jsonl"]


async def test_a_growing_journal_is_not_read_again(put, open_index, vault_dir, monkeypatch):
    from agentscope_reme.index import reading

    def line(number: int) -> str:
        message = {"id": f"m{number}", "name": "Ann", "role": "user", "content": f"Message number{number} of the talk."}
        return json.dumps({"id": f"m{number}", "seq": number, "msg": message, "marks": [], "tokens": 5}) + "\n"

    put("session/dialog/s.jsonl", "".join(map(line, range(5000))))
    put("other.md", "Unrelated.\n")
    index = open_index()
    await index.sync()
    read: list[int] = []
    real = reading.unit_entries

    def counted(document, *args, **kwargs):
        read.append(len(document.units))
        return real(document, *args, **kwargs)

    monkeypatch.setattr(reading, "unit_entries", counted)
    for number in range(5000, 5003):
        with (vault_dir / "session/dialog/s.jsonl").open("a", encoding="utf-8") as journal:
            journal.write(line(number))
        hit = (await index.search(f"number{number}", 1)).hits[0]
        assert hit.start_line <= number + 1 <= hit.end_line
        assert f"number{number} " in hit.text
    assert read == [1, 1, 1]


async def test_much_that_is_added_to_a_journal_is_read_step_by_step(put, open_index, vault_dir, monkeypatch):
    from agentscope_reme.index import extended
    from agentscope_reme.index.verification import differences

    def line(number: int) -> str:
        message = {"id": f"m{number}", "name": "Ann", "role": "user", "content": f"Message number{number} of the talk."}
        return json.dumps({"id": f"m{number}", "seq": number, "msg": message, "marks": [], "tokens": 5}) + "\n"

    monkeypatch.setattr(extended, "STEP_BYTES", 1_000)
    put("session/dialog/s.jsonl", line(0))
    index = open_index()
    await index.sync()
    read: list[int] = []
    real = extended.read_more
    monkeypatch.setattr(
        extended, "read_more", lambda path, data, *args, **kw: read.append(len(data)) or real(path, data, *args, **kw)
    )
    with (vault_dir / "session/dialog/s.jsonl").open("a", encoding="utf-8") as journal:
        journal.write("".join(map(line, range(1, 60))))
        journal.write(line(60)[:20])  # the last line is still being written
    hit = (await index.search("number59", 1)).hits[0]
    assert "number59 " in hit.text
    assert len(read) > 5
    assert max(read) < 1_000 + 2 * len(line(59))
    put("session/dialog/s.jsonl", "".join(map(line, range(61))))
    assert "number60 " in (await index.search("number60", 1)).hits[0].text
    fresh = Index(index.vault, index.config)
    await fresh.sync()
    assert differences(index._opened().store.corpus, fresh._opened().store.corpus) == []
    await fresh.close()


async def test_a_torn_last_line_is_completed_without_being_found_twice(put, open_index, vault_dir):
    whole = json.dumps({"id": "m", "seq": 0, "msg": {"id": "m", "name": "Ann", "content": "The ferry is late."}}) + "\n"
    put("session/dialog/s.jsonl", whole[:30])
    index = open_index()
    assert await found(index, "ferry") == []
    put("session/dialog/s.jsonl", whole)
    assert await found(index, "ferry") == ["session/dialog/s.jsonl"]
    assert index.status()["units"] == 1


# --- other programs -----------------------------------------------------------------------------------------------


async def test_changes_of_other_programs_are_found_by_the_next_search(put, open_index, vault_dir):
    index = open_index()
    put("a.md", "The ferry leaves at nine.\n")
    assert await found(index, "ferry") == ["a.md"]
    put("a.md", "The tram! leaves at nine.\n")  # same size, within the clock's grain
    assert await found(index, "ferry") == []
    assert await found(index, "tram") == ["a.md"]
    (vault_dir / "a.md").rename(vault_dir / "b.md")
    assert await found(index, "tram") == ["b.md"]
    (vault_dir / "b.md").unlink()
    assert await found(index, "tram") == []
    assert index.status()["files"] == 0


async def test_a_look_at_the_folder_is_taken_at_most_once_a_second(put, open_index, monkeypatch):
    monkeypatch.setattr(freshness, "RECONCILE_SECONDS", 3600.0)
    index = open_index()
    await index.search("ferry")
    put("a.md", "The ferry leaves at nine.\n")
    assert await found(index, "ferry") == []
    await index.sync()
    assert await found(index, "ferry") == ["a.md"]


async def test_an_editors_atomic_saves_leave_one_entry_and_its_links(put, open_index, vault_dir):
    put("a.md", "Old ferry.\n")
    put("b.md", "See [[a.md]].\n")
    put("c.md", "Also [[a.md]].\n")
    index = open_index()
    assert await found(index, "ferry") == ["a.md"]

    async def as_it_should_be(word: str) -> None:
        assert await found(index, word) == ["a.md"]
        assert index.status()["files"] == 3
        assert [edge.link.source_path for edge in index.graph.inlinks("a.md")] == ["b.md", "c.md"]

    put("a.md.tmp", "First ferry.\n").replace(vault_dir / "a.md")
    await as_it_should_be("first")
    outside = vault_dir.parent / "save"
    outside.write_text("Second ferry.\n")
    outside.replace(vault_dir / "a.md")
    await as_it_should_be("second")
    (vault_dir / "a.md").rename(vault_dir / "a.md~")
    put("a.md", "Third ferry.\n")
    await as_it_should_be("third")
    (vault_dir / "a.md~").unlink()
    await as_it_should_be("third")


async def test_a_renamed_folder_and_one_moved_in_are_as_a_fresh_scan_sees_them(put, open_index, vault_dir, tmp_path):
    for number in range(50):
        put(f"d/{number}.md", f"Ferry {number}.\n")
        other = tmp_path / "moved" / f"{number}.md"
        other.parent.mkdir(exist_ok=True)
        other.write_text(f"Ferry m{number}.\n")
    index = open_index()
    assert len(await found(index, "ferry")) == 50
    (vault_dir / "d").rename(vault_dir / "d2")
    shutil.move(tmp_path / "moved", vault_dir / "e")
    (vault_dir / "d2/1.md").rename(vault_dir / "d2/one.md")
    (vault_dir / "d2").rename(vault_dir / "d3")
    expected = sorted(path.relative_to(vault_dir).as_posix() for path in vault_dir.rglob("*.md"))
    assert await found(index, "ferry") == expected
    assert sorted(index._opened().store.corpus.files) == expected


async def test_touched_files_are_hashed_but_not_read_into_terms(put, open_index, vault_dir):
    for number in range(200):
        put(f"{number}.md", f"Ferry {number}.\n")
    index = open_index()
    await index.sync()
    before = passes(index)
    later = time.time() + 100
    for number in range(200):
        os.utime(vault_dir / f"{number}.md", (later, later))
    report = await index.sync()
    assert (report.added, report.changed, report.unchanged) == (0, 0, 200)
    assert passes(index) == before


async def test_the_root_may_go_and_come_back(put, open_index, vault_dir):
    put("a.md", "The ferry leaves at nine.\n")
    index = open_index()
    assert await found(index, "ferry") == ["a.md"]
    shutil.rmtree(vault_dir)
    assert await found(index, "ferry") == []
    put("b.md", "The ferry leaves at ten.\n")
    assert await found(index, "ferry") == ["b.md"]


async def test_deleted_text_never_comes_back(put, open_index, vault_dir):
    put("a.md", "JWT tokens expire after an hour.\n")
    put("b.md", "JWT tokens are signed.\n")
    index = open_index()
    assert len(await found(index, "JWT", 1)) == 1
    (vault_dir / "a.md").unlink()
    assert await found(index, "JWT", 1) == ["b.md"]
    (vault_dir / "b.md").rename(vault_dir / "c.md")
    assert await found(index, "JWT", 1) == ["c.md"]
    put("a.md", "Something else.\n")
    assert await found(index, "expire") == []
    await index.close()
    index = open_index()
    assert await found(index, "JWT", 1) == ["c.md"]
    assert await found(index, "expire") == []
    assert index.status()["files"] == 2


async def test_a_file_that_changes_during_a_search_is_looked_at_again(put, open_index, monkeypatch):
    put("a.md", "The ferry leaves at nine.\n")
    index = open_index()
    await index.sync()
    monkeypatch.setattr(freshness, "RECONCILE_SECONDS", 3600.0)
    put("a.md", "Ahead of it: the ferry leaves at ten.\n")
    (hit,) = (await index.search("ferry")).hits
    assert hit.text == "Ahead of it: the ferry leaves at ten."


# --- files that cannot be used ------------------------------------------------------------------------------------


async def test_one_bad_file_stops_nothing_and_is_listed(put, open_index):
    for number in (1, 2, 4, 5):
        put(f"{number}.md", f"Ferry {number}.\n")
    put("3.md", "---\nkey: `C:\\agent\\x`\n---\nFerry 3.\n")
    index = open_index()
    report = await index.sync()
    assert report.added == 5
    assert [path for path, _ in report.failed] == ["3.md"]
    assert "front matter" in report.failed[0][1]
    put("6.md", "Ferry 6.\n")
    assert await found(index, "ferry") == [f"{number}.md" for number in range(1, 7)]
    put("3.md", "---\nkey: fine\n---\nFerry 3.\n")
    report = await index.sync()
    assert (report.changed, report.failed) == (1, ())
    assert await found(index, "fine") == ["3.md"]


@pytest.mark.parametrize(
    ("data", "reason", "query"),
    [
        ("渡轮九点出发，请准时到达码头。\n".encode("gb18030"), "gb18030", "渡轮"),
        ("渡轮九点出发".encode("utf-16"), "utf-16", "渡轮"),
        ("渡輪九點出發，請準時到達碼頭。\n".encode("big5"), "cp950", "渡輪"),
        ("Die Fähre fährt um neun, größere Fähren später.\n".encode("latin-1"), "cp1252", "Fähre"),
        (b"The ferry \xff\xfe leaves \x80\x81\x82\x83\x84 at nine.\n", "UTF-8", "ferry"),
        (bytes(range(256)) * 40, "binary", None),
    ],
)
async def test_other_encodings_are_listed_and_do_not_stop_the_rest(put, open_index, vault_dir, data, reason, query):
    put("bad.md", data)
    put("good.md", "The ferry leaves at nine. 渡轮 渡輪 Fähre\n")
    index = open_index()
    report = await index.sync()
    assert [path for path, _ in report.failed] == ["bad.md"]
    assert reason in report.failed[0][1]
    assert "good.md" in await found(index, query or "ferry")
    if query:
        assert "bad.md" in await found(index, query)
    assert (vault_dir / "bad.md").read_bytes() == data


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser can read every file")
async def test_an_unreadable_file_is_listed(put, open_index):
    put("a.md", "The ferry leaves at nine.\n").chmod(0)
    put("b.md", "The ferry leaves at ten.\n")
    index = open_index()
    report = await index.sync()
    assert [path for path, _ in report.failed] == ["a.md"]
    assert await found(index, "ferry") == ["b.md"]


async def test_a_file_that_cannot_be_indexed_is_listed(put, open_index, monkeypatch):
    from agentscope_reme.index import sync

    real = sync.read_entries

    def fails(path, *args, **kwargs):
        if path == "a.md":
            raise RuntimeError("boom")
        return real(path, *args, **kwargs)

    monkeypatch.setattr(sync, "read_entries", fails)
    put("a.md", "The ferry leaves at nine.\n")
    put("b.md", "The ferry leaves at ten.\n")
    index = open_index()
    report = await index.sync()
    assert report.failed == (("a.md", "could not be indexed (RuntimeError: boom)"),)
    assert await found(index, "ferry") == ["b.md"]


async def test_a_huge_file_is_listed_without_being_read(put, open_index, vault_dir):
    put("a.md", "The ferry leaves at nine.\n")
    with (vault_dir / "huge.md").open("wb") as file:
        file.truncate(2 << 30)
    index = open_index()
    report = await index.sync()
    assert [path for path, _ in report.failed] == ["huge.md"]
    assert "2048 MB" in report.failed[0][1]
    assert await found(index, "ferry") == ["a.md"]


async def test_files_that_vanish_during_the_scan_are_passed_over(put, open_index, monkeypatch):
    from agentscope_reme.index import sync

    for number in range(50):
        put(f"{number:02d}.md", f"Ferry {number}.\n")
    index = open_index()
    real = sync.iter_files

    def listed(root, *args, **kwargs):
        files = list(real(root, *args, **kwargs))
        for path, _ in files[::2]:
            (root / path).unlink()
        return iter(files)

    monkeypatch.setattr(sync, "iter_files", listed)
    report = await index.sync()
    assert (report.added, report.failed) == (25, ())


# --- which files --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    [
        ".git/a.md", ".obsidian/a.md", ".trash/a.md", "node_modules/a.md", "a.sync-conflict-20260101-120000.md",
        "~$a.md", ".#a.md", "a.md~", "metadata/a.md", "history/a.md", "session/tool_result/a.md",
        "session/tool_result/a.txt", "a.txt", "a.pdf", "secret/a.md", "notes/draft-a.md",
    ],
)  # fmt: skip
async def test_what_is_not_indexed(put, open_index, path):
    put(path, "The ferry leaves at nine.\n")
    put("real.md", "The ferry leaves at ten.\n")
    assert await found(open_index(ignore=("secret", "draft-*")), "ferry") == ["real.md"]


@pytest.mark.parametrize(
    "path",
    ["a.md", "deep/er/b.md", "memory/2026-01-02.md", "resource/report.txt", "resource/2026-01-02/table.csv", "A.MD"],
)
async def test_what_is_indexed(put, open_index, path):
    put(path, "The ferry leaves at nine.\n")
    assert await found(open_index(), "ferry") == [path]


async def test_strange_things_in_the_folder_do_no_harm(put, open_index, vault_dir, tmp_path):
    put("a.md", "The ferry leaves at nine.\n")
    (vault_dir / "x.md").mkdir()
    put("x.md/inside.md", "The ferry inside.\n")
    os.mkfifo(vault_dir / "p.md")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/o.md").write_text("The ferry outside.\n")
    (vault_dir / "loop").symlink_to(vault_dir)
    (vault_dir / "ext").symlink_to(tmp_path / "outside")
    (vault_dir / "dup.md").symlink_to(vault_dir / "a.md")
    index = open_index()
    assert await found(index, "ferry") == ["a.md", "x.md/inside.md"]
    await index.vault.write("dup.md", "The ferry through a link.\n", overwrite=True)
    assert await found(index, "ferry") == ["a.md", "x.md/inside.md"]
    assert await found(index, "through a link") == ["a.md"]


async def test_the_index_in_the_vault_does_not_feed_itself(put, open_index):
    put("a.md", "The ferry leaves at nine.\n")
    index = open_index()
    await index.search("ferry")
    for _ in range(5):
        assert await index.persist()
        await index.search("ferry")
    assert passes(index) == 1


# --- the event loop -----------------------------------------------------------------------------------------------


async def test_a_first_scan_that_takes_long_gives_a_stale_answer_with_its_share(put, open_index, monkeypatch):
    from agentscope_reme.index import sync

    for number in range(10):
        put(f"{number}.md", f"Ferry {number}.\n")
    real, gate = sync.read_entries, asyncio.Event()
    loop = asyncio.get_running_loop()

    def slow(path, *args, **kwargs):
        if path == "5.md":
            asyncio.run_coroutine_threadsafe(gate.wait(), loop).result()
        return real(path, *args, **kwargs)

    monkeypatch.setattr(sync, "read_entries", slow)
    index = open_index(search_wait=0.05)
    assert (await index.search("ferry")).status == "stale"
    while index.status()["indexed_share"] < 0.5:  # noqa: ASYNC110 - a scan in a thread sets no event
        await asyncio.sleep(0.01)
    result = await index.search("ferry", 100, token_budget=10_000)
    assert result.status == "stale"
    assert "50%" in result.note
    assert {hit.path for hit in result.hits} == {f"{number}.md" for number in range(5)}
    assert index.status()["scanning"] is True
    assert index.status()["indexed_share"] == 0.5
    gate.set()
    await index.sync()
    assert len(await found(index, "ferry")) == 10
    assert (await index.search("ferry")).status == "ok"


async def test_the_loop_runs_on_while_a_vault_is_indexed(put, open_index):
    for number in range(300):
        put(f"{number}.md", "\n\n".join(f"Ferry {number} {word} leaves at nine." for word in range(20)) + "\n")
    index = open_index()
    ticks = 0
    done = asyncio.Event()

    async def tick() -> None:
        nonlocal ticks
        while not done.is_set():
            await asyncio.sleep(0.001)
            ticks += 1

    ticker = asyncio.create_task(tick())
    await index.sync()
    done.set()
    await ticker
    assert ticks > 5


async def test_a_cancelled_search_is_cancelled_and_the_next_one_works(put, open_index):
    put("a.md", "The ferry leaves at nine.\n")
    index = open_index()
    task = asyncio.create_task(index.search("ferry"))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await found(index, "ferry") == ["a.md"]


async def test_many_searches_at_once_share_one_scan(put, open_index):
    for number in range(30):
        put(f"{number}.md", f"Ferry {number}.\n")
    index = open_index()
    results = await asyncio.gather(*(index.search("ferry") for _ in range(20)))
    assert {result.status for result in results} == {"ok"}
    assert all(result.hits == results[0].hits for result in results)
    assert passes(index) == 30


async def test_a_file_whose_folder_became_a_file_is_gone_and_no_fault(put, vault_dir, open_index):
    put("a.md/in.md", "Otters.\n")
    index = open_index()
    await index.sync()
    (vault_dir / "a.md/in.md").unlink()
    (vault_dir / "a.md").rmdir()
    put("a.md", "Herons.\n")
    assert (await index.sync()).failed == ()
    assert [hit.path for hit in (await index.search("otters herons")).hits] == ["a.md"]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows makes no such file")
async def test_a_file_named_like_a_device_is_gone_when_it_is_removed(put, open_index):
    device = put("nul.md", "Otters.\n")
    index = open_index()
    assert [hit.path for hit in (await index.search("otters")).hits] == ["nul.md"]
    device.unlink()
    assert (await index.sync()).failed == ()
    assert (await index.search("otters")).status == "none"


# --- what cannot be read ------------------------------------------------------------------------------------------


async def test_a_note_in_the_journals_folder_that_grows_is_read_as_a_note(put, open_index):
    put("session/dialog/about.md", "# Ferry\n\nIt leaves at nine.\n")
    index = open_index()
    assert await found(index, "ferry") == ["session/dialog/about.md"]
    put("session/dialog/about.md", "# Ferry\n\nIt leaves at nine.\n\n## Tram\n\nIt leaves at ten.\n")
    hit = (await index.search("tram ten")).hits[0]
    assert hit.source == "session/dialog/about.md:3-7"
    assert await index.verify() == ()


async def test_a_vault_that_is_a_file_is_said_to_be_none(tmp_path, open_index):
    (tmp_path / "notes").write_text("The ferry leaves at nine.\n")
    index = open_index(tmp_path / "notes")
    result = await index.search("ferry")
    assert (result.status, result.hits) == ("stale", ())
    assert "is a file, not a folder" in result.note
    assert "is a file, not a folder" in index.status()["error"]
    for ask in (index.sync, index.reindex, index.verify):
        with pytest.raises(StateError, match="is a file, not a folder"):
            await ask()


async def test_a_disk_that_is_away_for_a_while_takes_no_note_out_of_the_search_unsaid(
    put, open_index, vault_dir, monkeypatch
):
    put("a.md", "The ferry leaves at nine.\n")
    index = open_index()
    assert await found(index, "ferry") == ["a.md"]
    away, scandir = True, os.scandir

    def refused(path=".", *rest):
        if away and isinstance(path, os.PathLike | str) and os.fspath(path) == str(vault_dir):
            raise OSError(errno.ENOTCONN, "Transport endpoint is not connected")
        return scandir(path, *rest)

    monkeypatch.setattr(os, "scandir", refused)
    result = await index.search("ferry")
    assert result.status == "stale"
    assert "Transport endpoint is not connected" in result.note
    assert [hit.path for hit in result.hits] == ["a.md"]
    with pytest.raises(StateError, match="cannot be read"):
        await index.reindex()
    away = False
    result = await index.search("ferry")
    assert (result.status, [hit.path for hit in result.hits]) == ("ok", ["a.md"])


def test_a_file_is_gone_only_when_the_system_says_so(tmp_path, monkeypatch):
    assert is_gone(tmp_path / "a.md")
    assert is_gone(tmp_path / ("x" * 5_000))
    (tmp_path / "a.md").write_text("x")
    assert not is_gone(tmp_path / "a.md")
    assert is_gone(tmp_path / "a.md" / "b.md")
    for number, gone in ((errno.EACCES, False), (errno.EIO, False), (errno.ESTALE, False), (errno.ENOENT, True)):

        def refused(self, number=number):
            raise OSError(number, os.strerror(number))

        monkeypatch.setattr(Path, "lstat", refused)
        assert is_gone(tmp_path / "a.md") is gone


@pytest.mark.parametrize("folder", [False, True])
async def test_a_note_that_is_renamed_between_two_searches_is_found_under_its_new_name(
    put, open_index, vault_dir, monkeypatch, folder
):
    monkeypatch.setattr(freshness, "RECONCILE_SECONDS", 3600.0)
    put("n/a.md", "The ferry leaves at nine.\n")
    put("b.md", "The tram leaves at ten.\n")
    index = open_index()
    assert await found(index, "ferry") == ["n/a.md"]
    if folder:
        (vault_dir / "n").rename(vault_dir / "m")
    else:
        (vault_dir / "n/a.md").rename(vault_dir / "n/c.md")
    read = passes(index)
    result = await index.search("ferry")
    assert (result.status, [hit.path for hit in result.hits]) == ("ok", ["m/a.md" if folder else "n/c.md"])
    (vault_dir / result.hits[0].path).unlink()
    result = await index.search("ferry")
    assert (result.status, result.hits) == ("none", ())
    assert passes(index) <= read + 1  # a name in other letters may be read; nothing else is


async def test_a_folder_that_cannot_be_read_is_named_until_it_can(put, open_index, monkeypatch):
    put("a.md", "The ferry leaves at nine.\n")
    put("locked/b.md", "The ferry is full.\n")
    child, closed = Folder.child, True

    def refusing(self, name):
        if closed and name == "locked":
            raise PermissionError(errno.EACCES, "Permission denied", name)
        return child(self, name)

    monkeypatch.setattr(Folder, "child", refusing)
    index = open_index()
    report = await index.sync()
    assert report.failed == (("locked/", "the folder cannot be read: Permission denied"),)
    assert index.status()["failed"] == report.failed
    assert await found(index, "ferry") == ["a.md"]
    closed = False
    assert (await index.sync()).failed == ()
    assert await found(index, "ferry") == ["a.md", "locked/b.md"]


@pytest.mark.parametrize("seconds", [-(10**11), -(10**9), 0, 10**10, 10**11])
async def test_a_file_from_a_far_year_is_found_and_followed_like_any_other(put, open_index, vault_dir, seconds):
    put("a.md", "The ferry leaves at nine.\n")
    put("b.md", "The ferry is full.\n")
    os.utime(vault_dir / "b.md", (seconds, seconds))
    index = open_index()
    assert await found(index, "ferry") == ["a.md", "b.md"]
    assert index.status()["failed"] == ()
    put("b.md", "The tram's full.\n\n\n")
    os.utime(vault_dir / "b.md", (seconds, seconds))
    assert await found(index, "tram") == ["b.md"]
    await index.persist()
    later = open_index()
    assert await found(later, "tram") == ["b.md"]
    assert await later.verify() == ()
