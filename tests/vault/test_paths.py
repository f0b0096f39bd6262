"""No path, in no operation, reaches a file outside the vault or one that a vault may not hold."""

import os
import re
import shutil
import threading
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentscope_reme.errors import NoteExists, NoteNotFound, PathError, ReMeError
from agentscope_reme.vault import Vault
from agentscope_reme.vault.layout import is_ignored, is_nameable, session_file_name, slug
from agentscope_reme.vault.paths import parse_path, unportable

from .hostile import FILE_OPERATIONS, HOSTILE, NO_FILE, OPERATIONS

SECRET = "SECRET_MARKER outside the vault"


@pytest.fixture
def vault(tmp_path: Path) -> Iterator[Vault]:
    """A vault with a note in it, beside a folder that shares its name's beginning; both unchanged afterwards."""
    outside = tmp_path / "vault_secret"
    outside.mkdir()
    (outside / "s.md").write_text(SECRET)
    (tmp_path / "secret.md").write_text(SECRET)
    vault = Vault(tmp_path / "vault")
    vault.write_sync("kept.md", "kept\n")
    vault.write_sync("a/b.md", "b\n")
    before = snapshot(tmp_path)
    yield vault
    assert snapshot(tmp_path) == before


def snapshot(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


@pytest.mark.parametrize("path", HOSTILE, ids=lambda path: ascii(path)[:40])
def test_a_hostile_path_is_refused_by_every_operation_with_a_sentence(vault: Vault, path: str) -> None:
    for name, operation in OPERATIONS.items():
        if name == "history" and unportable_only(path):
            continue  # looks a name up in its log, not on the disk
        with pytest.raises(PathError) as raised:
            operation(vault, path)
        sentence = str(raised.value)
        assert 20 < len(sentence) < 400, name
        assert sentence.isprintable(), "control characters of the path are not handed on"


def unportable_only(path: str) -> bool:
    try:
        return unportable(parse_path(path, folder=True)) is not None
    except PathError:
        return False


def test_the_table_is_as_large_as_promised() -> None:
    assert len(set(HOSTILE)) == len(HOSTILE) >= 60


@pytest.mark.parametrize("path", NO_FILE)
def test_where_a_file_is_meant_no_folder_is_taken(vault: Vault, path: str) -> None:
    for operation in FILE_OPERATIONS.values():
        with pytest.raises(PathError):
            operation(vault, path)


@pytest.mark.parametrize("path", ["", ".", "./"])
def test_the_root_is_neither_deleted_nor_moved(vault: Vault, path: str) -> None:
    with pytest.raises(PathError, match="root"):
        vault.delete_sync(path)
    with pytest.raises(PathError, match="root"):
        vault.move_sync(path, "elsewhere")


@pytest.mark.parametrize(
    "path",
    [
        "metadata/x.md",
        "Metadata/x.md",
        "METADATA/vault.lock",
        "history/log.jsonl",
        "History/x",
        "session/dialog/s.jsonl",
        "session/tool_result/x.txt",
        "resource/2026-01-01/report.md",
        "RESOURCE/x.md",
        "./metadata/x.md",
        "metadata//x.md",
        "meta\u200cdata/x.md",
        "\ufeffhistory/log.jsonl",
        ".g\u200dit/hooks/pre-commit",
        "\u200b.git/config",
        "reme_metadata/index.pkl",
        "reme_session/dialog/s.jsonl",
        "metadata",
        "history",
        "session",
        "resource",
        ".git/hooks/pre-commit",
        ".obsidian/plugins/x/main.js",
        ".env",
        "a/.hidden/x.md",
        "node_modules/x/index.md",
        "a/note.md~",
        "~$x.docx",
        ".#lock.md",
        ".reme-tmp-1-2",
        "note.sync-conflict-20260101-120000-ABC.md",
    ],
)
def test_what_the_system_or_a_tool_owns_is_written_by_nobody_else(vault: Vault, path: str) -> None:
    for name in ("write", "write_agent", "write_pipeline", "append", "delete", "move_from", "move_to"):
        with pytest.raises(PathError):
            OPERATIONS[name](vault, path)


LEFT = [
    *("#a.md#", "##", "~a.md", "a.md~", "~", "a.tmp", ".tmp", "a.swp", "a.swx", "a.part", "a.crdownload", "a\n.tmp"),
    *("4913", "Thumbs.db", "desktop.ini", ".#a.md", "a.sync-conflict-1.md"),
]
KEPT = ["#", "#a.md", "a.md#", "a~b.md", "a.tmp.md", "a.TMP", "4913.md", "thumbs.db", "x-desktop.ini", "part"]


@pytest.mark.parametrize("name", [*LEFT, *KEPT])
@pytest.mark.parametrize("path", ["{}", "folder/{}", "{}/note.md"])
def test_what_an_editor_or_a_download_leaves_is_ignored_and_nothing_like_it(name: str, path: str) -> None:
    assert is_ignored(path.format(name)) == (name in LEFT)


@pytest.mark.parametrize(("length", "fits"), [(1024, True), (1025, False)])
@pytest.mark.parametrize("letter", ["a", "é", "记", "\U0001f300"])
def test_a_path_that_is_longer_than_a_disk_holds_cannot_be_named(letter: str, length: int, fits: bool) -> None:
    path = letter * (length // len(letter.encode()))
    assert is_nameable(path + "a" * (length - len(path.encode()))) is fits


@pytest.mark.parametrize("path", ["./kept.md", "kept.md", ".//kept.md", "././kept.md"])
def test_harmless_spellings_of_a_path_are_one_path(vault: Vault, path: str) -> None:
    assert vault.read_sync(path).path == "kept.md"


def test_what_the_system_owns_can_be_read(vault: Vault) -> None:
    assert "kept.md" in vault.read_sync("history/log.jsonl").text


# --- symbolic links -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("link", "target", "path"),
    [
        ("out.md", "../secret.md", "out.md"),
        ("out", "../vault_secret", "out/s.md"),
        ("out", "/etc", "out/hostname"),
        ("a/up", "../..", "a/up/secret.md"),
        ("a/up", "..", "a/up/up2/secret.md"),
        ("loop", "loop", "loop/x.md"),
        ("one", "two", "one/x.md"),
    ],
)
def test_a_link_out_of_the_vault_or_in_a_circle_is_not_followed(
    tmp_path: Path, link: str, target: str, path: str
) -> None:
    (tmp_path / "vault_secret").mkdir()
    (tmp_path / "vault_secret" / "s.md").write_text(SECRET)
    (tmp_path / "secret.md").write_text(SECRET)
    vault = Vault(tmp_path / "vault")
    vault.write_sync("kept.md", "kept\n")
    vault.write_sync("a/b.md", "b\n")
    (vault.root / link).symlink_to(target)
    if link == "one":
        (vault.root / "two").symlink_to("one")
    if path.startswith("a/up/up2"):
        (vault.root / "up2").symlink_to("..")
    on_the_link = ("history", "delete", "move_from") if path == link else ("history",)
    for name in OPERATIONS.keys() - set(on_the_link):
        with pytest.raises(PathError):
            OPERATIONS[name](vault, path)
    if path == link:
        vault.delete_sync(path)  # the link itself is the vault's and may go
        assert not (vault.root / link).is_symlink()
    assert (tmp_path / "secret.md").read_text() == SECRET
    assert (tmp_path / "vault_secret" / "s.md").read_text() == SECRET
    assert sorted(entry.name for entry in (tmp_path / "vault_secret").iterdir()) == ["s.md"]


def test_a_link_inside_the_vault_is_followed_and_stays_a_link(tmp_path: Path) -> None:
    vault = Vault(tmp_path / "vault")
    vault.write_sync("real/note.md", "one\n")
    (vault.root / "short").symlink_to("real")
    (vault.root / "alias.md").symlink_to(vault.root / "real" / "note.md")
    assert vault.read_sync("short/note.md").text == "one\n"
    assert vault.edit_sync("alias.md", "one", "two").path == "real/note.md"
    assert (vault.root / "alias.md").is_symlink()
    assert (vault.root / "real" / "note.md").read_text() == "two\n"


def test_a_link_into_a_system_folder_does_not_make_it_writable(tmp_path: Path) -> None:
    vault = Vault(tmp_path / "vault")
    vault.write_sync("kept.md", "kept\n")
    (vault.root / "door").symlink_to("metadata")
    (vault.root / "log.md").symlink_to("history/log.jsonl")
    for path in ("door/x.md", "log.md"):
        with pytest.raises(PathError):
            vault.append_sync(path, "x", actor="agent")


def test_a_vault_whose_root_is_a_link_works(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    vault = Vault(tmp_path / "link")
    vault.write_sync("a/b.md", "x\n")
    assert vault.read_sync("a/b.md").text == "x\n"
    assert (tmp_path / "real" / "a" / "b.md").exists()


@pytest.mark.skipif(os.open not in os.supports_dir_fd, reason="this system opens by path only")
def test_a_link_swapped_in_while_a_note_is_used_never_leads_out(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "note.md").write_text(SECRET)
    vault = Vault(tmp_path / "vault")
    vault.write_sync("door/note.md", "inside\n")
    stop = threading.Event()

    def swap() -> None:
        door, kept = vault.root / "door", vault.root / "kept"
        while not stop.is_set():
            door.rename(kept)
            try:
                door.symlink_to(outside)
                door.unlink()
            except FileExistsError:  # a writer has made the folder again meanwhile
                shutil.rmtree(door)
            while kept.exists():
                try:
                    kept.rename(door)
                except OSError:
                    shutil.rmtree(door, ignore_errors=True)

    swapper = threading.Thread(target=swap)
    swapper.start()
    try:
        read = set()
        for number in range(300):
            try:
                read.add(vault.read_sync("door/note.md").text.split(" ")[0])
                vault.write_sync("door/note.md", f"inside {number}\n", overwrite=True)
            except ReMeError:
                continue
    finally:
        stop.set()
        swapper.join()
    assert (outside / "note.md").read_text() == SECRET
    assert sorted(path.name for path in outside.iterdir()) == ["note.md"]
    assert not any("SECRET" in text for text in read)


# --- names --------------------------------------------------------------------------------------------------------


def test_a_name_is_found_in_either_unicode_form_and_made_in_nfc(tmp_path: Path) -> None:
    vault = Vault(tmp_path / "vault")
    nfc, nfd = unicodedata.normalize("NFC", "café é.md"), unicodedata.normalize("NFD", "café é.md")
    assert vault.write_sync(nfd, "made\n").path == nfc
    assert [entry.name for entry in vault.root.glob("*.md")] == [nfc]
    assert vault.read_sync(nfd).text == "made\n"
    (vault.root / unicodedata.normalize("NFD", "été.md")).write_text("from a Mac\n")
    assert vault.read_sync("été.md").text == "from a Mac\n"
    vault.append_sync("été.md", "more")
    assert len(list(vault.root.glob("*t*.md"))) == 1


@pytest.mark.parametrize("name", ["é" * 100, "각" * 80, "ế" * 80])
def test_a_name_that_is_too_long_in_another_unicode_form_can_be_used(tmp_path: Path, name: str) -> None:
    vault = Vault(tmp_path)
    vault.write_sync(f"{name}.md", "one\n")
    assert vault.read_sync(f"{name}.md").text == "one\n"
    vault.append_sync(f"{name}.md", "two")
    vault.move_sync(f"{name}.md", f"d/{name}.md")
    assert vault.delete_sync(f"d/{name}.md").kind == "removed"


@pytest.mark.parametrize("twin", ["Note.md", "NOTE.MD", "note.MD"])
def test_a_second_name_that_differs_only_in_case_is_not_made(tmp_path: Path, twin: str) -> None:
    vault = Vault(tmp_path / "vault")
    vault.write_sync("note.md", "first\n")
    vault.write_sync("other.md", "second\n")
    for attempt in (
        lambda: vault.write_sync(twin, "x", overwrite=True),
        lambda: vault.append_sync(twin, "x"),
        lambda: vault.move_sync("other.md", twin),
    ):
        with pytest.raises((PathError, NoteExists)):
            attempt()
    assert vault.read_sync("note.md").text == "first\n"
    assert vault.read_sync("other.md").text == "second\n"


def test_a_note_can_be_renamed_to_another_case_of_its_name(tmp_path: Path) -> None:
    vault = Vault(tmp_path / "vault")
    vault.write_sync("note.md", "[[note.md]]\n")
    assert vault.move_sync("note.md", "Note.md").path == "Note.md"
    assert [path.name for path in vault.root.glob("*.md")] == ["Note.md"]
    assert vault.read_sync("Note.md").text == "[[Note.md]]\n"


def test_a_chinese_name_of_255_bytes_is_kept_and_one_more_is_refused(tmp_path: Path) -> None:
    vault = Vault(tmp_path / "vault")
    name = "超" * 84 + ".md"  # 255 bytes, more with any suffix for a temporary file
    assert vault.write_sync(name, "long\n").path == name
    assert vault.edit_sync(name, "long", "longer").kind == "changed"
    assert vault.delete_sync(name).kind == "removed"
    assert vault.undo_sync().path == name
    with pytest.raises(PathError, match="255 bytes"):
        vault.write_sync("超" * 84 + "x.md", "long\n")


@pytest.mark.skipif(os.name == "nt", reason="this system cannot hold such names")
def test_a_note_whose_name_some_systems_cannot_hold_is_read_if_it_is_there(tmp_path: Path) -> None:
    vault = Vault(tmp_path / "vault")
    vault.root.mkdir()
    (vault.root / "Who is it?.md").write_text("a friend\n")
    assert vault.read_sync("Who is it?.md").text == "a friend\n"
    assert vault.edit_sync("Who is it?.md", "friend", "neighbour").kind == "changed"
    with pytest.raises(PathError):
        vault.read_sync("Who is it not?.md")


def test_a_missing_vault_is_read_as_empty_and_not_made(tmp_path: Path) -> None:
    vault = Vault(tmp_path / "none")
    assert vault.list_sync().entries == ()
    assert vault.list_sync(recursive=True).total == 0
    assert vault.history_sync() == ()
    assert vault.journal("s").read() == []
    with pytest.raises(NoteNotFound):
        vault.read_sync("a.md")
    with pytest.raises(NoteNotFound):
        vault.edit_sync("a.md", "x", "y")
    assert not (tmp_path / "none" / "a.md").exists()


def test_reading_makes_no_folder(tmp_path: Path) -> None:
    vault = Vault(tmp_path / "none")
    for operation in ("read", "list", "stat", "read_image", "frontmatter_read"):
        try:
            OPERATIONS[operation](vault, "a.md")
        except NoteNotFound:
            continue
    assert not vault.root.exists()


# --- file names from ids and texts --------------------------------------------------------------------------------

pieces = st.sampled_from(
    ["a", "b.md", ".", "..", "...", "~", "~$", ":", "\\", " ", "\n", "\x7f", "\u202e", "笔", "笔" * 86, "é"]
)
paths_of_any_kind = st.lists(pieces | st.just("/") | st.characters(), max_size=8).map("".join)


@given(paths_of_any_kind, st.booleans())
def test_a_simple_path_is_read_as_any_other(path: str, folder: bool) -> None:
    def read() -> tuple[str, ...] | str:
        try:
            return parse_path(path, folder=folder)
        except PathError as error:
            return str(error)

    with mock.patch("agentscope_reme.vault.paths._SIMPLE", re.compile("(?!)")):
        as_any_other = read()
    assert read() == as_any_other


ids = st.one_of(
    st.text(max_size=40),
    st.text(alphabet="aA.-_~/\\:e\u0301é", max_size=6),
    st.sampled_from(
        ["", "a", "A", "con", "CON", "nul.x", "a.", ".a", "..", "a/b", "a~b", "x" * 300, "é", "e\u0301", "é"]
    ),
)


@given(ids, ids)
def test_two_session_ids_never_share_a_file(one: str, other: str) -> None:
    first, second = session_file_name(one), session_file_name(other)
    if one != other:
        assert unicodedata.normalize("NFD", first).casefold() != unicodedata.normalize("NFD", second).casefold()
    for name in (first, second):
        file = f"{name}.jsonl"
        assert unportable(parse_path(file)) is None
        assert not is_ignored(file)
        assert "/" not in name
        assert len(file.encode()) <= 128


def test_a_plain_session_id_is_its_own_file_name() -> None:
    assert session_file_name("chat-2026.03_a") == "chat-2026.03_a"
    assert session_file_name("会话-1").startswith("会话-1~")


@given(st.text(max_size=200), st.integers(16, 120))
def test_a_slug_is_a_portable_file_name_within_its_bytes(text: str, max_bytes: int) -> None:
    name = slug(text, max_bytes)
    assert name
    assert len(name.encode()) <= max_bytes
    assert parse_path(f"{name}.md") == (f"{name}.md",)
    assert unportable((f"{name}.md",)) is None
    assert not is_ignored(f"{name}.md")
    assert slug(name, max_bytes) == name


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Weekly Plan: Q3/Q4?", "weekly-plan-q3-q4"),
        ("会议纪要（三月）", "会议纪要-三月"),
        ("🎉 party 🎉", "party"),
        ("CON", "con-note"),
        ("a..b", "a.b"),
        ("", "untitled"),
        ("***", "untitled"),
    ],
)
def test_a_slug_keeps_what_can_be_read(text: str, name: str) -> None:
    assert slug(text) == name


@given(st.text(max_size=60))
def test_an_accepted_path_stays_below_the_root(path: str) -> None:
    try:
        names = parse_path(path)
    except PathError:
        return
    root = Path("/vault/root")
    joined = os.path.normpath(root.joinpath(*names))
    assert Path(joined).parts[:3] == root.parts
    assert "/".join(names) == "/".join(parse_path("/".join(names)))


@pytest.mark.parametrize(
    "name",
    [
        "note (Anna's conflicted copy 2026-03-01).md", "note (conflicted copy).md", "note (Case Conflict 1).md",
        "note (Anna's case conflict).md", "note (Unicode Encoding Conflict).md", "note (Selective Sync Conflict).md",
        "note (Copie en conflit de Anna 2026-03-01).md", "note (In Konflikt stehende Kopie von Anna 2026-03-01).md",
        "note (Copia en conflicto de Anna 2026-03-01).md", "note (copia in conflitto di Anna 2026-03-01).md",
        "note (C\u00f3pia em conflito de Anna 2026-03-01).md", "note (Co\u0301pia em conflito de Anna 2026-03-01).md",
        "note (Anna 的衝突複本 2026-03-01).md", "note (Anna 的冲突副本 2026-03-01).md", "note（冲突副本）.md",
        "note (Annaの競合コピー 2026-03-01).md", "note (Anna의 충돌된 사본 2026-03-01).md",
        "note (конфликтующая копия Anna 2026-03-01).md", "note [conflicted].md", "note [Conflict].md",
        "note (conflict 2).md", "note (Anna's conflict copy 2026-03-01).md", "note (SFConflict a@x.org 2026-03-01).md",
        "note (# Edit conflict 2026-03-01 abc1234 #).md", "note (# Name clash 2026-03-01 abc1234 #).md",
        "note_conflict-20260301-101112.md", "note_Anna_Mar-01-101112-2026_Conflict.md", "note-DESKTOP-AB12CD3-2.md",
        "note_BACKUP_4711.md", "note_LOCAL_4711.md", "note.sync-conflict-20260301-101112-ABCDEFG.md",
        "@eaDir/note.md", "#recycle/old/note.md", "#snapshot/daily/note.md", "@Recycle/note.md",
    ],
)  # fmt: skip
def test_names_that_sync_programs_give_to_the_losing_version_are_ignored(name: str) -> None:
    assert is_ignored(name)


@pytest.mark.parametrize(
    "name",
    [
        "conflict.md", "Conflict of interest.md", "Armed conflict (Syria).md", "The Conflict (film).md",
        "Rome (conflict).md", "note (conflict of interest).md", "resolving conflicts (git).md", "冲突管理.md",
        "冲突（心理学）.md", "（冲突的文件处理流程）.md", "merge_conflict_notes.md", "plan_LOCAL_2026.md",
        "budget_BASE_2025.md", "report_BACKUP_2024.md", "DESKTOP-notes.md", "Ideologie (Konflikt).md",
        "Verwandte (in Konflikten).md", "names (clash of the titans).md", "#1 priority/note.md",
    ],
)  # fmt: skip
def test_ordinary_names_with_such_words_are_not(name: str) -> None:
    assert not is_ignored(name)


@pytest.mark.parametrize(
    ("pattern", "path", "ignored"),
    [
        ("private/journal", "private/journal/2026/x.md", True),
        ("private/journal/", "private/journal/x.md", True),
        ("private/journal", "other/private/journal/x.md", False),
        ("drafts/", "a/drafts/x.md", True),
        ("/drafts", "drafts/x.md", True),
        ("/drafts/", "a/drafts/x.md", False),
        ("./drafts", "drafts/x.md", True),
        ("**/drafts/**", "drafts/x.md", True),
        ("**/drafts/**", "a/b/drafts/x.md", True),
        ("**/*.private.md", "x.private.md", True),
        ("a/**/x.md", "a/x.md", True),
        ("a/**/x.md", "a/b/c/x.md", True),
        ("*.private.md", "a/b/x.private.md", True),
        ("drafts", "drafts.md", False),
        ("drafts", "Drafts/x.md", False),
        ("", "a.md", False),
        ("/", "a.md", False),
        ("归档", "旧/归档/x.md", True),
    ],
)
def test_globs_name_files_folders_and_places(pattern: str, path: str, ignored: bool) -> None:
    assert is_ignored(path, (pattern,)) == ignored
