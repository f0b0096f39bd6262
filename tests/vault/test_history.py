"""What changed, by whom, why; and the way back."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from agentscope_reme.errors import NoteChanged, NoteError, NoteExists, NoteNotFound, PathError, ReMeError
from agentscope_reme.vault import Vault
from agentscope_reme.vault.history import Change
from agentscope_reme.vault.purging import purge
from agentscope_reme.vault.retention import prune


class Clock:
    def __init__(self) -> None:
        self.time = datetime(2026, 3, 16, 9, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.time


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def vault(tmp_path: Path, clock: Clock) -> Vault:
    return Vault(tmp_path / "vault", timezone="Asia/Shanghai", clock=clock)


def notes(vault: Vault) -> dict[str, str]:
    found = vault.list_sync("", recursive=True, limit=1000)
    return {entry.path: (vault.root / entry.path).read_bytes().decode() for entry in found.entries}


def trash(vault: Vault) -> list[Path]:
    return [path for path in (vault.root / "history" / "trash").rglob("*") if path.is_file()]


# --- the record ---------------------------------------------------------------------------------------------------


async def test_each_change_is_recorded_with_who_why_and_what(vault: Vault) -> None:
    await vault.write("a.md", "one\n", actor="agent", reason="the user asked")
    await vault.append("a.md", "two", actor="pipeline")
    await vault.edit("a.md", "one", "1")
    await vault.write("a.md", "1\ntwo\n", overwrite=True)
    newest, middle, first = await vault.history()
    assert [entry.kind for entry in (first, middle, newest)] == ["created", "appended", "changed"]
    assert [entry.actor for entry in (first, middle, newest)] == ["agent", "pipeline", "user"]
    assert first.reason == "the user asked"
    assert first.time == "2026-03-16T17:00:00+08:00"
    assert first.old is None
    assert (first.new, middle.new) == (middle.old, newest.old)
    assert len({entry.id for entry in (first, middle, newest)}) == 3


def test_history_is_of_a_note_or_of_a_folder(vault: Vault) -> None:
    for path in ("a/one.md", "a/two.md", "b.md"):
        vault.write_sync(path, "x\n")
    vault.move_sync("b.md", "a/three.md")
    assert [entry.path for entry in vault.history_sync("a/one.md")] == ["a/one.md"]
    assert [entry.path for entry in vault.history_sync("a")] == ["b.md", "a/two.md", "a/one.md"]
    assert [entry.path for entry in vault.history_sync("b.md")] == ["b.md", "b.md"]
    assert len(vault.history_sync(limit=2)) == 2
    assert vault.history_sync("none.md") == ()


def test_a_refused_change_leaves_no_entry(vault: Vault) -> None:
    vault.write_sync("a.md", "one\n")
    for attempt in (
        lambda: vault.write_sync("a.md", "x\n"),
        lambda: vault.edit_sync("a.md", "nothing", "x"),
        lambda: vault.delete_sync("none.md"),
        lambda: vault.move_sync("none.md", "b.md"),
        lambda: vault.write_sync("a.md", "one\n", overwrite=True),
    ):
        try:
            attempt()
        except NoteError:
            continue
    assert [entry.kind for entry in vault.history_sync()] == ["created"]


def test_who_wrote_last_need_not_read_the_log_and_sees_when_another_left_an_entry_in_it(
    vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    vault.write_sync("a.md", "one\n")
    with monkeypatch.context() as patch:
        patch.setattr(vault.log, "_last", lambda: pytest.fail("the log was read"))
        vault.write_sync("a.md", "two\n", overwrite=True)
    Vault(vault.root).log.record([Change("b.md", "created", None, b"x")], actor="agent", reason="")  # and it dies
    vault.write_sync("a.md", "three\n", overwrite=True)
    assert [entry.path for entry in vault.history_sync()] == ["a.md"] * 3
    assert [record.entry.kind for record in vault.log.records()] == ["created", "changed", "created", "void", "changed"]


def test_what_a_model_gives_as_a_reason_cannot_break_the_log(vault: Vault) -> None:
    vault.write_sync("a.md", "x\n", reason='line\nbreak "quote" \ud83d\x00' + "y" * 100_000)
    vault.write_sync("b.md", "x\n")
    entries = vault.history_sync()
    assert len(entries) == 2
    assert len(entries[1].reason) <= 500


def test_unreadable_lines_of_the_log_lose_themselves_only(vault: Vault) -> None:
    vault.write_sync("a.md", "x\n")
    with (vault.root / "history" / "log.jsonl").open("ab") as file:
        file.write(b'null\n{"id": 1}\n[]\n\xff\n{"id":"x","ti')
    vault.write_sync("b.md", "x\n")
    assert [entry.path for entry in Vault(vault.root).history_sync()] == ["b.md", "a.md"]


# --- undo ---------------------------------------------------------------------------------------------------------


def test_undo_restores_the_bytes_before_each_kind_of_change(vault: Vault) -> None:
    states = [notes(vault)]
    for change in (
        lambda: vault.write_sync("a.md", "one\r\ntwo"),
        lambda: vault.append_sync("a.md", "three"),
        lambda: vault.edit_sync("a.md", "two", "zwei"),
        lambda: vault.frontmatter_update_sync("a.md", {"tags": ["x"]}),
        lambda: vault.move_sync("a.md", "d/b.md"),
        lambda: vault.write_sync("d/b.md", "new\n", overwrite=True),
        lambda: vault.write_sync("d/c.md", "see [[d/b.md]]\n"),
        lambda: vault.move_sync("d/b.md", "d/e.md"),
        lambda: vault.delete_sync("d"),
    ):
        change()
        states.append(notes(vault))
    assert states[-1] == {}
    for before in reversed(states[:-1]):
        vault.undo_sync()
        assert notes(vault) == before
    with pytest.raises(NoteNotFound):
        vault.undo_sync()


def test_an_undo_is_recorded_and_can_be_undone(vault: Vault) -> None:
    vault.write_sync("a.md", "one\n")
    change = vault.edit_sync("a.md", "one", "two", actor="agent")
    undone = vault.undo_sync(change.history_id, actor="user", reason="not what I meant")
    assert (undone.path, undone.kind) == ("a.md", "changed")
    assert vault.read_sync("a.md").text == "one\n"
    entry = vault.history_sync()[0]
    assert (entry.of, entry.actor, entry.reason) == (change.history_id, "user", "not what I meant")
    vault.undo_sync(undone.history_id)
    assert vault.read_sync("a.md").text == "two\n"


def test_undo_refuses_when_the_note_has_changed_since(vault: Vault) -> None:
    vault.write_sync("a.md", "one\n")
    change = vault.edit_sync("a.md", "one", "two")
    (vault.root / "a.md").write_text("the user's own words\n")
    with pytest.raises(NoteChanged, match="changed since"):
        vault.undo_sync(change.history_id)
    assert vault.read_sync("a.md").text == "the user's own words\n"
    (vault.root / "a.md").unlink()
    with pytest.raises(NoteChanged):
        vault.undo_sync(change.history_id)


def test_undo_of_an_older_change_asks_for_the_later_ones_first(vault: Vault) -> None:
    vault.write_sync("a.md", "one\n")
    first = vault.edit_sync("a.md", "one", "two")
    vault.edit_sync("a.md", "two", "three")
    with pytest.raises(NoteChanged, match="later changes"):
        vault.undo_sync(first.history_id)


def test_undo_of_what_is_undone_or_unknown_is_refused(vault: Vault) -> None:
    change = vault.write_sync("a.md", "one\n")
    vault.undo_sync(change.history_id)
    with pytest.raises(NoteError, match="undone already"):
        vault.undo_sync(change.history_id)
    with pytest.raises(NoteNotFound):
        vault.undo_sync("20990101T000000-ffffffff")


@pytest.mark.parametrize("size", [100, 50_000])
def test_a_damaged_content_is_not_restored(vault: Vault, size: int) -> None:
    vault.write_sync("a.md", random_text(size))
    vault.write_sync("a.md", "two\n", overwrite=True)
    log = vault.root / "history" / "log.jsonl"
    objects = list((vault.root / "history" / "objects").glob("*.zst"))
    assert len(objects) == (1 if size > 4096 else 0), "small contents stand in the log"
    if objects:
        objects[0].write_bytes(objects[0].read_bytes()[:-8] + b"damaged!")
    else:
        kept = json.loads(log.read_bytes().splitlines()[1])["kept"]
        log.write_bytes(log.read_bytes().replace(kept.encode(), kept[:-8].encode() + b"AAAAAAA="))
    with pytest.raises(NoteError, match="damaged"):
        vault.undo_sync()
    if objects:
        objects[0].unlink()
        with pytest.raises(NoteNotFound, match="no longer kept"):
            vault.undo_sync()
    assert vault.read_sync("a.md").text == "two\n"


def random_text(size: int) -> str:
    import os

    return os.urandom(size // 2).hex()


def test_kept_contents_are_compressed_and_large_ones_kept_once(vault: Vault) -> None:
    text, noise = "the same line again and again\n" * 10_000, random_text(20_000)
    for _ in range(3):
        vault.write_sync("a.md", text, overwrite=True)
        vault.write_sync("a.md", noise, overwrite=True)
    assert len(list((vault.root / "history" / "objects").glob("*.zst"))) == 1
    assert sum(path.stat().st_size for path in (vault.root / "history").rglob("*") if path.is_file()) < 20_000


def test_a_change_that_was_refused_at_the_last_moment_is_not_in_the_history(
    vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    from agentscope_reme.vault.storage import Storage

    vault.write_sync("a.md", "one\n")

    def full(self: Storage, path: str, data: bytes, **kwargs: object) -> str:
        raise NoteError(f"{path}: the disk is full; nothing was changed", path)

    for attempt in (lambda: vault.edit_sync("a.md", "one", "two"), lambda: vault.move_sync("a.md", "b.md")):
        with monkeypatch.context() as patch:
            patch.setattr(Storage, "replace", full)
            with pytest.raises(NoteError, match="disk is full"):
                attempt()
        assert [entry.kind for entry in vault.history_sync()] == ["created"]
    assert vault.undo_sync().kind == "removed"
    assert notes(vault) == {}


# --- delete -------------------------------------------------------------------------------------------------------


def test_a_deleted_note_is_in_the_trash_and_comes_back(vault: Vault) -> None:
    vault.write_sync("a/b.md", "text\n")
    change = vault.delete_sync("a/b.md", reason="not needed")
    assert (change.path, change.kind, change.version) == ("a/b.md", "removed", "")
    assert notes(vault) == {}
    assert [path.read_text() for path in trash(vault)] == ["text\n"]
    assert vault.undo_sync(change.history_id).kind == "created"
    assert notes(vault) == {"a/b.md": "text\n"}
    assert trash(vault) == []


def test_a_deleted_folder_comes_back_whole(vault: Vault) -> None:
    vault.write_sync("a/b.md", "1\n")
    vault.write_sync("a/c/d.md", "2\n")
    (vault.root / "a" / ".hidden").write_text("3")
    (vault.root / "a" / "pic.png").write_bytes(b"\x89PNG")
    (vault.root / "a" / "link.md").symlink_to("b.md")
    heard: list[tuple[str, str]] = []
    vault.subscribe(lambda path, kind: heard.append((path, kind)))
    change = vault.delete_sync("a")
    assert not (vault.root / "a").exists()
    assert ("a/c/d.md", "removed") in heard
    vault.undo_sync(change.history_id)
    assert (vault.root / "a" / ".hidden").read_text() == "3"
    assert (vault.root / "a" / "link.md").is_symlink()
    assert ("a/c/d.md", "created") in heard


def test_delete_tells_which_links_now_lead_nowhere(vault: Vault) -> None:
    vault.write_sync("a/tea.md", "[[a/tea.md]] [[a/pot.md]]\n")
    vault.write_sync("a/pot.md", "[[a/tea.md]]\n")
    vault.write_sync("x.md", "first\n[[a/tea.md|the tea]] `[[a/tea.md]]`\n")
    vault.write_sync("y.md", '---\nrelated: "[[a/pot.md]]"\n---\n[[a/teapot.md]]\n')
    change = vault.delete_sync("a")
    assert [(link.source_path, link.target_path, link.line) for link in change.links] == [
        ("x.md", "a/tea.md", 2),
        ("y.md", "a/pot.md", 2),
    ]


def test_a_note_deleted_twice_under_one_name_is_kept_twice(vault: Vault) -> None:
    ids = []
    for text in ("first\n", "second\n"):
        vault.write_sync("a.md", text)
        ids.append(vault.delete_sync("a.md").history_id)
    assert sorted(path.read_text() for path in trash(vault)) == ["first\n", "second\n"]
    vault.undo_sync(ids[0])
    assert vault.read_sync("a.md").text == "first\n"
    with pytest.raises(NoteExists, match="exists again"):
        vault.undo_sync(ids[1])


def test_deleting_a_link_leaves_what_it_points_to(vault: Vault) -> None:
    vault.write_sync("a.md", "x\n")
    (vault.root / "b.md").symlink_to("a.md")
    change = vault.delete_sync("b.md")
    assert notes(vault) == {"a.md": "x\n"}
    vault.undo_sync(change.history_id)
    assert (vault.root / "b.md").is_symlink()


# --- move ---------------------------------------------------------------------------------------------------------


def project(vault: Vault) -> None:
    vault.write_sync("a/Project X.md", "# X\n[[a/Project X.md#H|me]]\n")
    vault.write_sync("b/Project X.md", "other\n")
    vault.write_sync("Project X Plan.md", "plan\n")
    vault.write_sync(
        "note.md",
        '---\r\nup: "[[a/Project X.md]]" # why\r\n---\r\n'
        "[[a/Project X.md]] [[b/Project X.md|B]] [[Project X Plan.md]] [[a/Project X.md#H^b]] ![[a/Project X.md|x]]\r\n"
        "`[[a/Project X.md]]` and a/Project X.md\r\n",
    )


def test_move_retargets_the_links_that_led_to_the_note_and_nothing_else(vault: Vault) -> None:
    project(vault)
    change = vault.move_sync("a/Project X.md", "a/Orion.md")
    assert (change.path, change.kind, change.failed) == ("a/Orion.md", "moved", ())
    assert notes(vault) == {
        "a/Orion.md": "# X\n[[a/Orion.md#H|me]]\n",
        "b/Project X.md": "other\n",
        "Project X Plan.md": "plan\n",
        "note.md": '---\r\nup: "[[a/Orion.md]]" # why\r\n---\r\n'
        "[[a/Orion.md]] [[b/Project X.md|B]] [[Project X Plan.md]] [[a/Orion.md#H^b]] ![[a/Orion.md|x]]\r\n"
        "`[[a/Project X.md]]` and a/Project X.md\r\n",
    }
    assert len([link for link in change.links if link.source_path == "note.md"]) == 4
    before = notes(vault)
    vault.undo_sync()
    assert "a/Project X.md" in notes(vault)
    vault.undo_sync(vault.history_sync()[0].id)
    assert notes(vault) == before


def test_move_follows_the_obsidian_rule_where_it_is_set(tmp_path: Path) -> None:
    vault = Vault(tmp_path, link_rule="obsidian")
    vault.write_sync("a/Tea.md", "x\n")
    vault.write_sync("note.md", "[[Tea]] [[tea.md]] [[a/Tea]]\n")
    vault.move_sync("a/Tea.md", "b/Coffee.md")
    assert vault.read_sync("note.md").text == "[[Coffee]] [[Coffee.md]] [[b/Coffee]]\n"


def test_a_folder_moves_with_its_links(vault: Vault) -> None:
    vault.write_sync("p/one.md", "[[p/two.md]] [[x.md]]\n")
    vault.write_sync("p/deep/two.md", "[[p/one.md]]\n")
    vault.write_sync("p/two.md", "2\n")
    (vault.root / "p" / "pic.png").write_bytes(b"\x89PNG\x00")
    vault.write_sync("x.md", "[[p/one.md]] ![[p/pic.png]]\n")
    before = {e.path for e in vault.list_sync("", recursive=True).entries}
    change = vault.move_sync("p", "archive/q")
    assert change.kind == "moved"
    assert not (vault.root / "p").exists()
    assert vault.read_sync("archive/q/one.md").text == "[[archive/q/two.md]] [[x.md]]\n"
    assert vault.read_sync("archive/q/deep/two.md").text == "[[archive/q/one.md]]\n"
    assert vault.read_sync("x.md").text == "[[archive/q/one.md]] ![[archive/q/pic.png]]\n"
    assert (vault.root / "archive" / "q" / "pic.png").read_bytes() == b"\x89PNG\x00"
    vault.undo_sync(change.history_id)
    assert {e.path for e in vault.list_sync("", recursive=True).entries} == before
    assert vault.read_sync("x.md").text == "[[p/one.md]] ![[p/pic.png]]\n"


def test_what_a_moved_folder_leaves_behind_is_named(vault: Vault) -> None:
    vault.write_sync("d/a.md", "x\n")
    (vault.root / "d" / "link.md").symlink_to("a.md")
    change = vault.move_sync("d", "e")
    assert vault.read_sync("e/a.md").text == "x\n"
    assert [path for path, _ in change.failed] == ["d"]
    assert (vault.root / "d" / "link.md").is_symlink()


def test_a_note_moves_into_a_folder_under_its_own_name(vault: Vault) -> None:
    vault.write_sync("a.md", "x\n")
    vault.write_sync("d/b.md", "x\n")
    assert vault.move_sync("a.md", "d").path == "d/a.md"
    assert vault.move_sync("d/a.md", "new/").path == "new/a.md"
    assert vault.move_sync("new/a.md", "").path == "a.md"


def test_a_move_never_replaces_a_note(vault: Vault) -> None:
    vault.write_sync("a.md", "a\n")
    vault.write_sync("b.md", "b\n")
    vault.write_sync("copy.md", "a\n")
    vault.write_sync("x.md", "[[a.md]]\n")
    before = notes(vault)
    for target in ("b.md", "copy.md", "a.md"):
        with pytest.raises(NoteExists):
            vault.move_sync("a.md", target)
    vault.write_sync("d/e.md", "e\n")
    with pytest.raises(PathError, match="into itself"):
        vault.move_sync("d", "d/inner")
    assert {path: text for path, text in notes(vault).items() if path != "d/e.md"} == before


def test_a_name_no_link_can_hold_is_refused_while_links_lead_there(vault: Vault) -> None:
    vault.write_sync("a.md", "x\n")
    vault.write_sync("b.md", "[[a.md]]\n")
    change = None
    try:
        change = vault.move_sync("a.md", "c#d.md")
    except ReMeError:
        assert notes(vault) == {"a.md": "x\n", "b.md": "[[a.md]]\n"}
    if change is not None:
        assert change.failed


def test_a_note_whose_links_cannot_be_changed_is_named_and_stops_nothing(vault: Vault) -> None:
    vault.write_sync("a.md", "x\n")
    vault.write_sync("good.md", "[[a.md]]\n")
    vault.write_sync("locked.md", "[[a.md]]\n")
    (vault.root / "locked.md").chmod(0o444)
    (vault.root / "gbk.md").write_bytes("你好 [[a.md]] 你好".encode("gbk"))
    change = vault.move_sync("a.md", "b.md")
    assert sorted(path for path, _ in change.failed) == ["gbk.md", "locked.md"]
    assert all(reason for _, reason in change.failed)
    assert vault.read_sync("good.md").text == "[[b.md]]\n"
    (vault.root / "locked.md").chmod(0o644)
    again = vault.move_sync("a.md", "b.md")
    assert (again.kind, [path for path, _ in again.failed]) == ("moved", ["gbk.md"])
    assert vault.read_sync("locked.md").text == "[[b.md]]\n"
    vault.undo_sync(again.history_id)
    assert vault.read_sync("locked.md").text == "[[a.md]]\n"
    assert vault.read_sync("b.md").text == "x\n"


def test_move_asks_the_index_for_inbound_links_when_there_is_one(vault: Vault) -> None:
    class Index:
        def notes_naming(self, targets: set[str]) -> list[str]:
            return ["x.md"] if "a.md" in targets else []

    vault.write_sync("a.md", "1\n")
    vault.write_sync("x.md", "[[a.md]]\n")
    vault.write_sync("y.md", "[[a.md]]\n")
    vault.inlinks = Index()
    vault.move_sync("a.md", "b.md")
    assert notes(vault) == {"b.md": "1\n", "x.md": "[[b.md]]\n", "y.md": "[[a.md]]\n"}


# --- bounds and forgetting ----------------------------------------------------------------------------------------


def test_old_history_is_let_go_and_notes_are_not(vault: Vault, clock: Clock) -> None:
    vault.write_sync("a.md", "one\n")
    vault.write_sync("a.md", "two\n", overwrite=True)
    vault.write_sync("b.md", "b\n")
    vault.delete_sync("b.md")
    clock.time += timedelta(days=100)
    vault.write_sync("a.md", "three\n", overwrite=True)
    removed = prune(vault.log)
    assert [path.split("/")[:2] for path in removed] == [["history", "trash"]]
    assert trash(vault) == []
    assert [entry.kind for entry in vault.history_sync()] == ["changed"]
    vault.undo_sync()
    assert notes(vault) == {"a.md": "two\n"}
    assert prune(vault.log) == []


def test_writing_alone_keeps_the_history_within_its_days_and_bytes(
    vault: Vault, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    vault.write_sync("a.md", "one\n")
    vault.write_sync("a.md", "two\n", overwrite=True)
    clock.time += timedelta(days=120)
    Vault(vault.root, clock=clock).write_sync("a.md", "three\n", overwrite=True)
    assert [entry.time[:10] for entry in vault.history_sync()] == ["2026-07-14"], "a process that makes one change"
    monkeypatch.setattr("agentscope_reme.vault.retention.KEEP_BYTES", 20_000)
    monkeypatch.setattr("agentscope_reme.vault.files.LOOK_EVERY", 10)
    for number in range(60):
        vault.write_sync("a.md", "".join(str(number * digit) for digit in range(3_000)), overwrite=True)
    size = sum(path.stat().st_size for path in (vault.root / "history").rglob("*") if path.is_file())
    assert size < 150_000, "a process that makes many; each content is several KB"
    assert notes(vault)["a.md"].startswith("059118177")


def undo_all(vault: Vault) -> None:
    while True:
        vault.undo_sync()


@pytest.mark.parametrize("size", [5_000, 20_000])
def test_history_stays_within_its_bytes_and_lets_the_oldest_go_first(vault: Vault, size: int) -> None:
    for number in range(10):
        vault.write_sync("a.md", f"{number} {random_text(size)}", overwrite=True)
    prune(vault.log, max_bytes=size * 2)
    kept = sum(path.stat().st_size for path in (vault.root / "history").rglob("*") if path.is_file())
    assert size / 2 < kept < size * 3.5
    assert len(vault.history_sync()) == 10, "that something was changed is still known"
    vault.undo_sync()
    assert vault.read_sync("a.md").text.startswith("8 ")
    with pytest.raises(NoteNotFound, match="no longer kept"):
        undo_all(vault)


def test_a_purged_note_leaves_nothing_in_the_history(vault: Vault) -> None:
    vault.write_sync("a.md", "shared\n")
    vault.write_sync("b.md", "shared\n")
    for path in ("a.md", "b.md"):
        vault.write_sync(path, f"SECRET of {path}\n", overwrite=True)
        vault.write_sync(path, "later\n", overwrite=True)
    vault.move_sync("a.md", "d/c.md")
    vault.delete_sync("d")
    assert purge(vault.log, ["a.md", "d"]).files
    log = (vault.root / "history" / "log.jsonl").read_text()
    assert log.count('"kept"') == 2, "the contents that b.md had before"
    assert '"a.md"' not in log
    assert "d/c.md" not in log
    assert trash(vault) == []
    assert {entry.path for entry in vault.history_sync()} == {"b.md"}
    vault.undo_sync()
    vault.undo_sync()
    assert notes(vault) == {"b.md": "shared\n"}, "what another note needs is kept"


# --- any sequence -------------------------------------------------------------------------------------------------


class Histories(RuleBasedStateMachine):
    """Whatever is done, undoing all of it in reverse gives the empty vault, through the same states."""

    names = st.sampled_from(["a.md", "b.md", "d/a.md", "d/e/c.md"])
    folders = st.sampled_from(["a.md", "b.md", "d", "d/e"])

    def __init__(self) -> None:
        super().__init__()
        import tempfile

        self.folder = tempfile.TemporaryDirectory()
        self.vault = Vault(self.folder.name)
        self.states: list[dict[str, str]] = []

    def attempt(self, change: str, *args: object) -> None:
        before = notes(self.vault)
        try:
            outcome = getattr(self.vault, change)(*args)
        except ReMeError:
            assert notes(self.vault) == before, "a refused change changes nothing"
            return
        if outcome.kind != "unchanged":
            self.states.append(before)

    @rule(
        path=names, text=st.sampled_from(["x\n", "[[a.md]]\n", "[[d/a.md]] [[b.md]]\r\n", "---\nup: '[[b.md]]'\n---\n"])
    )
    def write(self, path: str, text: str) -> None:
        self.attempt("write_sync", path, text, None, True)

    @rule(path=names)
    def append(self, path: str) -> None:
        self.attempt("append_sync", path, "more [[d/e/c.md]]")

    @rule(path=folders)
    def delete(self, path: str) -> None:
        self.attempt("delete_sync", path)

    @rule(path=folders, goal=st.sampled_from(["a.md", "d/a.md", "d", "z", "z/y.md"]))
    def move(self, path: str, goal: str) -> None:
        self.attempt("move_sync", path, goal)

    @rule()
    def undo(self) -> None:
        if self.states:
            self.vault.undo_sync()
            assert notes(self.vault) == self.states.pop()

    @invariant()
    def the_log_can_be_read(self) -> None:
        for line in (Path(self.folder.name) / "history" / "log.jsonl").read_text().splitlines() if self.states else ():
            json.loads(line)

    def teardown(self) -> None:
        while self.states:
            self.undo()
        self.folder.cleanup()


TestHistories = Histories.TestCase
TestHistories.settings = settings(max_examples=15, stateful_step_count=12, deadline=None)


@pytest.mark.slow
class TestHistoriesAtLength(Histories.TestCase):  # type: ignore[misc]
    settings = settings(max_examples=150, stateful_step_count=18, deadline=None)
