"""Reading, writing, appending, editing and listing notes, byte for byte."""

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentscope_reme.errors import (
    EditNotUnique,
    FrontMatterError,
    NoteChanged,
    NoteError,
    NoteExists,
    NoteNotFound,
    PathError,
)
from agentscope_reme.vault import Vault
from agentscope_reme.vault.edits import append_text, replace_once

PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + bytes(range(256)) * 4


@pytest.fixture
def vault(tmp_path: Path) -> Vault:
    return Vault(tmp_path / "vault")


def put(vault: Vault, path: str, data: bytes) -> Path:
    """A file as another program left it."""
    place = vault.root / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(data)
    return place


# --- reading ------------------------------------------------------------------------------------------------------


async def test_a_page_is_a_range_of_lines_1_based_and_inclusive(vault: Vault) -> None:
    await vault.write("a.md", "one\ntwo\nthree\nfour\n")
    page = await vault.read("a.md", 2, 3)
    assert (page.text, page.start_line, page.end_line, page.total_lines) == ("two\nthree\n", 2, 3, 4)
    assert page.next_line == 4
    assert (await vault.read("a.md", 4)).next_line is None
    assert (await vault.read("a.md")).text == "one\ntwo\nthree\nfour\n"


@pytest.mark.parametrize(
    ("start", "end", "text"),
    [(0, None, "one\ntwo\n"), (-5, 1, "one\n"), (3, None, ""), (99, 120, ""), (2, 1, ""), (1, 0, ""), (2, 99, "two\n")],
)
def test_a_range_beyond_the_file_is_empty_and_has_the_total(
    vault: Vault, start: int, end: int | None, text: str
) -> None:
    vault.write_sync("a.md", "one\ntwo\n")
    page = vault.read_sync("a.md", start, end)
    assert page.text == text
    assert page.total_lines == 2
    if not text:
        assert page.end_line < page.start_line
    if page.end_line >= 2 or start > 2:
        assert page.next_line is None


@pytest.mark.parametrize(
    ("data", "lines"),
    [
        (b"", 0),
        (b"\n", 1),
        (b"a", 1),
        (b"a\n", 1),
        (b"a\n\n", 2),
        ("a\r\nb\u2028c\x0cd\r\ne\n".encode(), 3),
        ("\u0085\u2029\x0b\x1c\n".encode(), 1),
        (b"a\rb\n", 1),
    ],
)
def test_lines_are_counted_on_line_feeds_alone(vault: Vault, data: bytes, lines: int) -> None:
    put(vault, "a.md", data)
    page = vault.read_sync("a.md")
    assert page.total_lines == lines
    assert page.next_line is None
    assert page.text == data.decode()
    assert [vault.read_sync("a.md", n, n).text for n in range(1, lines + 1)] == data.decode().split("\n")[:lines] or (
        "".join(vault.read_sync("a.md", n, n).text for n in range(1, lines + 1)) == data.decode()
    )


def all_pages(vault: Vault, path: str, max_bytes: int) -> list[str]:
    line, column, pages = 1, 0, []
    while True:
        page = vault.read_sync(path, line, max_bytes=max_bytes, column=column)
        pages.append(page.text)
        if page.next_line is None:
            return pages
        assert (page.next_line, page.cut_column or 0) > (line, column)
        line, column = page.next_line, page.cut_column or 0


@given(
    st.lists(st.text(alphabet="a尾🎉é\u0301\u200d \r字👨", max_size=30), max_size=12),
    st.integers(1, 60),
    st.sampled_from(["\n", "\r\n"]),
)
def test_pages_joined_are_the_file_and_each_fits(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str], max_bytes: int, end: str
) -> None:
    vault = Vault(tmp_path_factory.mktemp("vault"))
    text = end.join(lines)
    put(vault, "a.md", text.encode())
    pages = all_pages(vault, "a.md", max_bytes)
    assert "".join(pages) == text
    assert all(len(page.encode()) <= max(max_bytes, 32 * 4) for page in pages)


@pytest.mark.parametrize("tail", ["🎉", "👨‍👩‍👧", "é", "e\u0301", "🇩🇪", "👍🏽"])
def test_a_page_never_takes_a_character_apart(vault: Vault, tail: str) -> None:
    for size in range(4, 40):
        text = "x" * (size - 1) + tail + "尾" * 50
        put(vault, "a.md", text.encode())
        pages = all_pages(vault, "a.md", size)
        assert "".join(pages) == text
        assert all("\ufffd" not in page for page in pages)
        if size > len(tail.encode()):
            assert any(tail in page for page in pages)


def test_a_line_of_5_mb_is_read_in_pages(vault: Vault) -> None:
    text = "超长的一行 and " * 250_000
    put(vault, "long.md", (text + "\nafter\n").encode())
    page = vault.read_sync("long.md")
    assert len(page.text.encode()) <= 16_384
    assert (page.total_lines, page.next_line) == (2, 1)
    assert page.cut_column == len(page.text)
    further = vault.read_sync("long.md", 1, column=page.cut_column or 0)
    assert text.startswith(page.text + further.text)
    assert vault.read_sync("long.md", 2).text == "after\n"
    end = vault.read_sync("long.md", 1, column=len(text) - 3)
    assert end.text == text[-3:] + "\nafter\n"


def test_a_huge_file_is_not_loaded_for_a_page(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    place = put(vault, "log.md", b"0123456789abcde\n")
    with place.open("r+b") as file:
        file.truncate(300 * 1024 * 1024)
        file.seek(0, os.SEEK_END)
        file.write(b"\nthe end\n")
    largest = 0
    real = os.read

    def read(descriptor: int, size: int) -> bytes:
        nonlocal largest
        data = real(descriptor, size)
        largest = max(largest, len(data))
        return data

    monkeypatch.setattr(os, "read", read)
    page = vault.read_sync("log.md", max_bytes=1000)
    assert largest <= 1 << 20
    assert page.size == 300 * 1024 * 1024 + 9
    assert len(page.text) <= 1000


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (PNG, "image/png"),
        (b"\xff\xd8\xff\xe0" + bytes(500), "image/jpeg"),
        (b"GIF89a" + bytes(300), "image/gif"),
        (b"RIFF\x00\x00\x00\x00WEBP" + bytes(300), "image/webp"),
        (b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n", "application/pdf"),
        (bytes(range(256)) * 10, "binary"),
        (b"\x7fELF\x02\x01\x01" + bytes(200), "binary"),
    ],
)
def test_what_is_no_text_is_said_to_be_binary(vault: Vault, data: bytes, says: str) -> None:
    put(vault, "a.md", data)
    page = vault.read_sync("a.md")
    assert page.encoding == "binary"
    assert says in page.text
    assert len(page.text) < 200
    assert page.size == len(data)
    for attempt in (lambda: vault.edit_sync("a.md", "IHDR", "x"), lambda: vault.append_sync("a.md", "x")):
        with pytest.raises(NoteError, match="binary"):
            attempt()
    assert (vault.root / "a.md").read_bytes() == data


@pytest.mark.parametrize(
    ("text", "encoding", "shown"),
    [
        ("你好，世界\n今天天气很好\n", "gbk", "gb18030"),
        ("你好，world\n", "gb18030", "gb18030"),
        ("你好\nabc\n", "utf-16", "utf-16-le"),
        ("你好\nabc\n", "utf-16-be", "utf-16-be"),
        ("plain ascii words\n", "utf-16-le", "utf-16-le"),
    ],
)
def test_other_encodings_are_shown_and_never_saved_as_something_else(
    vault: Vault, text: str, encoding: str, shown: str
) -> None:
    data = ("\ufeff" + text).encode(encoding) if encoding == "utf-16-be" else text.encode(encoding)
    put(vault, "a.md", data)
    page = vault.read_sync("a.md")
    assert (page.text, page.encoding, page.total_lines) == (text, shown, text.count("\n"))
    word = text.split("\n")[0][:2]
    for attempt in (
        lambda: vault.edit_sync("a.md", word, "xx"),
        lambda: vault.append_sync("a.md", "更多"),
        lambda: vault.frontmatter_update_sync("a.md", {"a": 1}),
    ):
        with pytest.raises(NoteError, match="not UTF-8"):
            attempt()
    assert (vault.root / "a.md").read_bytes() == data
    front = vault.frontmatter_read_sync("a.md")
    assert front.data == {}
    assert front.error is not None


def test_damaged_utf_8_is_shown_and_its_bytes_survive_an_edit(vault: Vault) -> None:
    data = "早上好\n坏的字节：".encode() + b"\xff\xfe" + "\n晚上好，各位\n".encode()
    put(vault, "a.md", data)
    assert "坏的字节：\ufffd\ufffd\n" in vault.read_sync("a.md").text
    vault.edit_sync("a.md", "晚上好", "晚安")
    assert (vault.root / "a.md").read_bytes() == data.replace("晚上好".encode(), "晚安".encode())


def test_bytes_of_no_known_encoding_are_shown_and_refused_for_edits(vault: Vault) -> None:
    put(vault, "a.md", "déjà vu à la carte, ça va très bien\n".encode("cp850"))
    page = vault.read_sync("a.md")
    assert "vu" in page.text
    assert "\ufffd" in page.text
    with pytest.raises(NoteError, match="not UTF-8"):
        vault.edit_sync("a.md", "vu", "x")
    with pytest.raises(NoteError, match="could not be shown"):
        vault.write_sync("a.md", page.text, page.version)


def test_a_nul_in_a_note_is_shown_as_a_replacement_and_does_not_make_it_binary(vault: Vault) -> None:
    put(vault, "a.md", b"a normal line\nwith a \x00 in it\nand more text\n")
    page = vault.read_sync("a.md")
    assert page.encoding == "utf-8"
    assert "with a \ufffd in it" in page.text
    vault.edit_sync("a.md", "and more", "and much more")
    assert b"a \x00 in it" in (vault.root / "a.md").read_bytes()


def test_a_byte_order_mark_is_not_shown_and_stays(vault: Vault) -> None:
    put(vault, "a.md", b"\xef\xbb\xbf# Title\r\nbody\r\n")
    page = vault.read_sync("a.md")
    assert page.text == "# Title\r\nbody\r\n"
    vault.edit_sync("a.md", "# Title\nbody", "# Title\nmore")
    assert (vault.root / "a.md").read_bytes() == b"\xef\xbb\xbf# Title\r\nmore\r\n"
    vault.append_sync("a.md", "end")
    vault.write_sync("a.md", "all new\n", vault.read_sync("a.md").version)
    assert (vault.root / "a.md").read_bytes() == b"\xef\xbb\xbfall new\n"


@pytest.mark.parametrize("path", ["missing.md", "no/such/folder.md", "folder", "p.md"])
def test_what_is_not_there_is_said_to_be_missing(vault: Vault, path: str) -> None:
    vault.write_sync("folder/x.md", "x\n")
    os.mkfifo(vault.root / "p.md")
    with pytest.raises(NoteNotFound) as raised:
        vault.read_sync(path)
    assert raised.value.path == path


def test_a_picture_is_given_as_base64_within_a_bound(vault: Vault) -> None:
    import base64

    put(vault, "a.png", PNG)
    image = vault.read_image_sync("a.png")
    assert (image.media_type, image.size, base64.b64decode(image.data)) == ("image/png", len(PNG), PNG)
    with pytest.raises(NoteError, match="bytes"):
        vault.read_image_sync("a.png", max_bytes=100)
    vault.write_sync("a.md", "not a picture\n")
    with pytest.raises(NoteError, match="not a PNG"):
        vault.read_image_sync("a.md")


# --- writing ------------------------------------------------------------------------------------------------------


async def test_a_note_is_made_and_its_folders_with_it(vault: Vault) -> None:
    change = await vault.write("digest/wiki/tea.md", "Tea.\n")
    assert (change.path, change.kind) == ("digest/wiki/tea.md", "created")
    assert (await vault.read("digest/wiki/tea.md")).version == change.version


async def test_an_existing_note_is_replaced_only_by_who_has_seen_it(vault: Vault) -> None:
    await vault.write("a.md", "three entries\n")
    with pytest.raises(NoteExists, match="append"):
        await vault.write("a.md", "one new line\n")
    page = await vault.read("a.md")
    (vault.root / "a.md").write_text("the user's editor was faster\n")
    with pytest.raises(NoteChanged, match="changed since you read it"):
        await vault.write("a.md", "mine\n", version=page.version)
    assert (await vault.read("a.md")).text == "the user's editor was faster\n"
    page = await vault.read("a.md")
    assert (await vault.write("a.md", "mine\n", version=page.version)).kind == "changed"
    assert (await vault.write("a.md", "mine\n", overwrite=True)).kind == "unchanged"
    (vault.root / "a.md").unlink()
    with pytest.raises(NoteChanged, match="removed"):
        await vault.write("a.md", "mine\n", version=page.version)


def test_a_full_sha_256_is_a_version_too_and_a_made_up_one_is_not(vault: Vault) -> None:
    import hashlib

    vault.write_sync("a.md", "one\n")
    vault.write_sync("a.md", "two\n", hashlib.sha256(b"one\n").hexdigest())
    for wrong in ("", "x", vault.read_sync("a.md").version[:8], "0" * 16):
        with pytest.raises((NoteChanged, NoteExists)):
            vault.write_sync("a.md", "three\n", wrong)


@pytest.mark.parametrize(
    "marker",
    [
        "[… 480 bytes omitted …]",
        "[truncated]",
        "[1,200 lines left out]",
        "[120 of 500 characters left out here; the disk is full]",
    ],
)
def test_text_that_was_left_out_of_a_view_is_not_saved_over_the_note(vault: Vault, marker: str) -> None:
    vault.write_sync("a.md", "start\n" + "line\n" * 100 + "end\n")
    with pytest.raises(NoteError, match="left out"):
        vault.write_sync("a.md", f"start\n{marker}\nend\n", overwrite=True)
    with pytest.raises(NoteError, match="left out"):
        vault.edit_sync("a.md", "start", f"start\n{marker}")
    vault.write_sync("b.md", f"how it looks: {marker}\n")
    assert vault.edit_sync("b.md", f"looks: {marker}", f"looks (was): {marker}").kind == "changed"


def test_an_ellipsis_in_brackets_is_ordinary_text(vault: Vault) -> None:
    vault.write_sync("a.md", "old\n")
    quote = 'He said "we […] will see [...]" [… as ever]\n'
    assert vault.write_sync("a.md", quote, overwrite=True).kind == "changed"
    assert vault.edit_sync("a.md", "will see [...]", "shall see [... and hear]").kind == "changed"


@pytest.mark.parametrize(
    ("before", "added", "after"),
    [
        (b"a\r\nb\r\nc", "d", b"a\r\nb\r\nc\r\nd"),
        (b"a\nb\n", "c", b"a\nb\nc\n"),
        (b"a\nb\n", "c\n", b"a\nb\nc\n"),
        (b"a\nb", "c\n", b"a\nb\nc\n"),
        (b"a\nb", "\nc", b"a\nb\nc"),
        (b"a\r\n", "b\nc", b"a\r\nb\r\nc\r\n"),
        (b"a\n", "\n## New\n", b"a\n\n## New\n"),
        (b"", "first", b"first\n"),
        (b"\xef\xbb\xbf", "first", b"\xef\xbb\xbffirst\n"),
        (b"a\n", "", b"a\n"),
    ],
)
def test_append_neither_glues_lines_nor_adds_blank_ones(vault: Vault, before: bytes, added: str, after: bytes) -> None:
    put(vault, "a.md", before)
    vault.append_sync("a.md", added)
    assert (vault.root / "a.md").read_bytes() == after


def test_append_without_a_path_goes_to_the_page_of_the_day(tmp_path: Path) -> None:
    midnight_in_london = datetime(2026, 3, 16, 23, 30, tzinfo=UTC)
    vault = Vault(tmp_path, timezone="Asia/Shanghai", clock=lambda: midnight_in_london)
    assert vault.append_sync("", "bought tea").path == "daily/2026-03-17.md"
    vault.append_sync("", "bought milk")
    assert vault.read_sync("daily/2026-03-17.md").text == "bought tea\nbought milk\n"


@given(st.text(alphabet="ab\r\n", max_size=12), st.text(alphabet="xy\n", max_size=8))
def test_append_keeps_what_was_there(before: str, added: str) -> None:
    result = append_text(before, added)
    assert result.startswith(before)
    if added and before:
        assert before.endswith("\n") or result[len(before) :].startswith(("\n", "\r\n"))


# --- editing ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "old", "new", "after"),
    [
        (b"a\r\nb\r\nc", "a\nb", "a\nB\nx", b"a\r\nB\r\nx\r\nc"),
        (b"a\nb\r\nc\nd\n", "b\nc", "B\nC", b"a\nB\r\nC\nd\n"),
        (b"a\r\nb\nc\r\n", "b", "x\ny", b"a\r\nx\ny\nc\r\n"),
        (b"a\nb\nc\n", "a\r\nb", "A\r\nB", b"A\nB\nc\n"),
        (b"one line", "one", "first\nsecond", b"first\nsecond line"),
        (b"keep\nlast", "last", "end", b"keep\nend"),
        ("空调滤网\n".encode(), "滤网", "遥控器", "空调遥控器\n".encode()),
        (b"x\n\n\ny\n", "x\n\n\ny", "x\ny", b"x\ny\n"),
    ],
)
def test_an_edit_changes_its_passage_and_no_other_byte(
    vault: Vault, before: bytes, old: str, new: str, after: bytes
) -> None:
    put(vault, "a.md", before)
    vault.edit_sync("a.md", old, new)
    assert (vault.root / "a.md").read_bytes() == after


def test_an_edit_of_a_passage_that_stands_twice_is_refused_with_the_lines(vault: Vault) -> None:
    put(vault, "a.md", b"- likes tea\n- plays chess\n- likes tea\n")
    with pytest.raises(EditNotUnique, match="2 times") as raised:
        vault.edit_sync("a.md", "likes tea", "likes coffee")
    assert (raised.value.count, raised.value.lines) == (2, (1, 3))
    assert (vault.root / "a.md").read_bytes() == b"- likes tea\n- plays chess\n- likes tea\n"
    vault.edit_sync("a.md", "plays chess\n- likes tea", "plays chess\n- likes coffee")
    with pytest.raises(EditNotUnique):
        replace_once("aaa", "aa", "b")


@pytest.mark.parametrize("old", ["- likes green tea ", "- likes green tea，and", "- Likes green tea", "likes gren tea"])
def test_an_edit_of_a_passage_that_is_not_there_shows_the_closest_lines(vault: Vault, old: str) -> None:
    put(vault, "a.md", b"# Facts\n\n- plays chess\n- likes green tea\n- owns a boat\n")
    with pytest.raises(EditNotUnique, match="line 4: - likes green tea") as raised:
        vault.edit_sync("a.md", old, "x")
    assert raised.value.count == 0
    assert 4 in raised.value.lines
    assert "nothing was changed" in str(raised.value)


def test_an_edit_quoted_from_a_clipped_view_is_recognised(vault: Vault) -> None:
    put(vault, "a.md", b"a long line of text that was clipped when it was shown\n")
    with pytest.raises(EditNotUnique, match="left out"):
        vault.edit_sync("a.md", "a long line [truncated]", "x")


@pytest.mark.parametrize(("old", "new"), [("", "x"), ("tea", "tea"), ("a\nb", "a\r\nb")])
def test_an_edit_that_cannot_be_meant_is_refused(vault: Vault, old: str, new: str) -> None:
    put(vault, "a.md", b"tea\na\nb\n")
    with pytest.raises(NoteError):
        vault.edit_sync("a.md", old, new)
    assert (vault.root / "a.md").read_bytes() == b"tea\na\nb\n"


def test_a_hostile_edit_is_bounded_in_time(vault: Vault) -> None:
    put(vault, "a.md", b"a" * 200_000 + b"\n")
    with pytest.raises(EditNotUnique):
        vault.edit_sync("a.md", "a" * 1000, "b")
    with pytest.raises(EditNotUnique):
        vault.edit_sync("a.md", "a" * 1000 + "b", "c")


@given(
    st.text(alphabet="ab\r\n中", max_size=20), st.text(alphabet="xy", min_size=1, max_size=3),
    st.text(alphabet="ab\r\n中", max_size=20), st.text(alphabet="uv\n", max_size=6),
)  # fmt: skip
def test_an_edit_keeps_what_stands_around_its_passage(before: str, old: str, after: str, new: str) -> None:
    result = replace_once(before + old + after, old, new)
    assert result.startswith(before)
    assert result.endswith(after)
    assert result[len(before) : len(result) - len(after)].replace("\r\n", "\n") == new


# --- who may write what -------------------------------------------------------------------------------------------


def test_an_agent_cannot_give_itself_trust_or_an_origin(vault: Vault) -> None:
    vault.write_sync(
        "a.md",
        "---\nname: A\ntrust: user\nsession_id: s1\nsource_conversation: x\ncreated: 2020-01-01\n---\nbody\n",
        actor="agent",
    )
    assert vault.frontmatter_read_sync("a.md").data == {"name": "A"}
    put(vault, "web.md", b"---\nname: W\ntrust: external\nsession_id: s2\n---\nfrom the web\n")
    vault.edit_sync("web.md", "trust: external", "trust: user", actor="agent")
    assert vault.frontmatter_read_sync("web.md").data["trust"] == "external"
    vault.edit_sync("web.md", "trust: external\n", "", actor="agent")
    assert vault.frontmatter_read_sync("web.md").data["trust"] == "external"
    vault.write_sync("web.md", "# New text\n", overwrite=True, actor="agent")
    front = vault.frontmatter_read_sync("web.md").data
    assert (front["trust"], front["session_id"]) == ("external", "s2")
    for key in ("trust", "session_id", "source_resource", "created"):
        with pytest.raises(NoteError, match=key):
            vault.frontmatter_update_sync("web.md", {key: "user"}, actor="agent")
        with pytest.raises(NoteError, match=key):
            vault.frontmatter_delete_sync("web.md", [key], actor="agent")


def test_an_agent_may_lower_trust_and_a_user_may_set_it(vault: Vault) -> None:
    put(vault, "a.md", b"---\ntrust: agent\n---\nx\n")
    vault.edit_sync("a.md", "trust: agent", "trust: external", actor="agent")
    assert vault.frontmatter_read_sync("a.md").data["trust"] == "external"
    vault.frontmatter_update_sync("a.md", {"trust": "user"})
    assert vault.frontmatter_read_sync("a.md").data["trust"] == "user"


def test_an_agent_cannot_make_front_matter_unreadable(vault: Vault) -> None:
    put(vault, "a.md", b"---\ntrust: external\n---\nx\n")
    with pytest.raises(FrontMatterError):
        vault.edit_sync("a.md", "trust: external", 'trust: "user" "', actor="agent")
    assert vault.frontmatter_read_sync("a.md").data == {"trust": "external"}


def test_front_matter_is_changed_key_by_key(vault: Vault) -> None:
    put(vault, "a.md", b'---\r\nzeta: 1\r\nalpha: "two" # why\r\n---\r\nb\r\n')
    vault.frontmatter_update_sync("a.md", {"alpha": 3})
    assert (vault.root / "a.md").read_bytes() == b"---\r\nzeta: 1\r\nalpha: 3 # why\r\n---\r\nb\r\n"
    vault.frontmatter_delete_sync("a.md", "zeta")
    assert vault.frontmatter_read_sync("a.md").data == {"alpha": 3}
    with pytest.raises(NoteNotFound):
        vault.frontmatter_update_sync("none.md", {"a": 1})


# --- listing ------------------------------------------------------------------------------------------------------


def test_a_folder_is_listed_without_what_is_no_note(vault: Vault) -> None:
    vault.write_sync("a/one.md", "1\n")
    vault.write_sync("a/two.md", "22\n")
    vault.write_sync("a/deep/three.md", "333\n")
    for junk in (".git/x.md", ".obsidian/y.md", ".trash/z.md", "node_modules/n.md", "a/note.sync-conflict-1.md",
                 "a/.#lock", "a/~$x.md", "a/old.md~", "a/.hidden.md"):  # fmt: skip
        put(vault, junk, b"junk\n")
    put(vault, "a/pic.png", PNG)
    (vault.root / "x.md").mkdir()
    os.mkfifo(vault.root / "p.md")
    (vault.root / "loop").symlink_to(".")
    (vault.root / "a" / "dup.md").symlink_to("one.md")
    (vault.root / "ext").symlink_to("/etc")
    assert [entry.path for entry in vault.list_sync("a").entries] == ["a/deep", "a/one.md", "a/pic.png", "a/two.md"]
    found = vault.list_sync("", recursive=True)
    assert [entry.path for entry in found.entries] == ["a/deep/three.md", "a/one.md", "a/pic.png", "a/two.md"]
    assert found.total == 4
    assert [entry.path for entry in vault.list_sync("a", extensions="md").entries] == ["a/one.md", "a/two.md"]
    assert [entry.path for entry in vault.list_sync("a", extensions=[".PNG"]).entries] == ["a/pic.png"]
    assert [entry.size for entry in vault.list_sync("a", extensions=["md"], sort_by="size").entries] == [3, 2]
    limited = vault.list_sync("", recursive=True, limit=1)
    assert (len(limited.entries), limited.total) == (1, 4)
    assert Vault(vault.root, ignore=("a/deep/*", "*.png")).list_sync("", recursive=True).total == 2


def test_what_is_listed_can_be_read(vault: Vault) -> None:
    for name in ("a\\b.md", "tab\t.md", "bell\x07.md", "~draft.md", "ok?.md", "中文.md", "\u202egnp.md", ".x.md"):
        put(vault, name, b"text\n")
    put(vault, "d/" * 300 + "deep.md", b"text\n")
    (vault.root / os.fsdecode(b"latin-\xe9.md")).write_bytes(b"text\n")
    for recursive in (True, False):
        for entry in vault.list_sync("", recursive=recursive).entries:
            if entry.kind == "file":
                assert vault.read_sync(entry.path).text == "text\n"
    found = {entry.path for entry in vault.list_sync("", recursive=True).entries}
    assert {"ok?.md", "中文.md"} <= found
    assert len([path for path in found if "/" not in path]) == 2


def test_a_folder_swapped_for_a_link_while_it_is_listed_shows_nothing_outside(tmp_path: Path) -> None:
    import threading

    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "SECRET.md").write_text("x")
    vault = Vault(tmp_path / "vault")
    vault.write_sync("door/in/note.md", "x\n")
    stop = threading.Event()

    def swap() -> None:
        door, kept = vault.root / "door", vault.root / "kept"
        while not stop.is_set():
            door.rename(kept)
            door.symlink_to(outside)
            door.unlink()
            kept.rename(door)

    swapper = threading.Thread(target=swap)
    swapper.start()
    seen: set[str] = set()
    try:
        for _ in range(300):
            seen |= {entry.path for entry in vault.list_sync("", recursive=True).entries}
            try:
                seen |= {entry.path for entry in vault.list_sync("door").entries}
            except (NoteNotFound, PathError):
                continue
    finally:
        stop.set()
        swapper.join()
    assert not [path for path in seen if "SECRET" in path]


def test_a_listing_can_be_sorted_by_time(vault: Vault) -> None:
    for number, name in enumerate(["b.md", "a.md", "c.md"]):
        vault.write_sync(name, "x\n")
        os.utime(vault.root / name, (1_700_000_000 + number, 1_700_000_000 + number))
    assert [e.path for e in vault.list_sync("", extensions="md", sort_by="modified").entries] == [
        "c.md",
        "a.md",
        "b.md",
    ]
    assert all(entry.modified.tzinfo is not None for entry in vault.list_sync().entries)


def test_vaults_of_older_systems_open_as_they_are(vault: Vault) -> None:
    old = {
        "MEMORY.md": b"# Facts\n",
        "memory/2026-01-05.md": "路由器密码贴在柜门上\n".encode(),
        "dialog/2026-01-05.jsonl": b'{"id": "1", "content": "hi"}\n',
        "tool_result/ab12.txt": b"a long result\n",
        "tool_results/cd34.txt": b"another\n",
        "reme_metadata/bm25_index.pkl": b"\x80\x04cos\nsystem\n",
        "reme_session/dialog/s.jsonl": b'{"id": "2"}\n',
        "session/dialog/Old Session.jsonl": b'{"id": "3"}\n',
        "daily/2026-01-05/card.md": b"---\nname: card\n---\nx\n",
        "digest/wiki/tea.md": b"[[daily/2026-01-05/card.md]]\n",
    }
    for path, data in old.items():
        put(vault, path, data)
    found = {entry.path for entry in vault.list_sync("", recursive=True).entries}
    machinery = {path for path in old if path.startswith(("tool_result", "reme_metadata"))}
    assert found == set(old) - machinery
    for path, data in old.items():
        if not path.endswith(".pkl"):
            assert vault.read_sync(path).text.encode() == data
    assert vault.read_sync("reme_metadata/bm25_index.pkl").path == "reme_metadata/bm25_index.pkl"
    assert {path: (vault.root / path).read_bytes() for path in old} == old
    assert not (vault.root / "metadata").exists()


def test_listing_what_is_not_a_folder_says_so(vault: Vault) -> None:
    vault.write_sync("a.md", "x\n")
    with pytest.raises(NoteNotFound, match="file"):
        vault.list_sync("a.md")
    with pytest.raises(NoteNotFound):
        vault.list_sync("none")
    with pytest.raises(NoteError, match="sort_by"):
        vault.list_sync(sort_by="colour")  # type: ignore[arg-type]


async def test_the_status_of_a_note_has_its_version(vault: Vault) -> None:
    change = await vault.write("a.md", "x\n")
    status = await vault.stat("a.md")
    assert (status.kind, status.size, status.version, status.encoding) == ("file", 2, change.version, "utf-8")
    assert (await vault.stat("")).kind == "folder"
    with pytest.raises(NoteNotFound):
        await vault.stat("none.md")


# --- being told, being copied -------------------------------------------------------------------------------------


def test_listeners_hear_of_each_durable_change_and_cannot_stop_it(
    vault: Vault, caplog: pytest.LogCaptureFixture
) -> None:
    heard: list[tuple[str, str, str]] = []

    def listen(path: str, kind: str) -> None:
        place = vault.root / path
        heard.append((path, kind, place.read_text() if place.exists() else ""))
        raise RuntimeError("a broken index")

    vault.subscribe(listen)
    vault.write_sync("a.md", "1\n")
    vault.write_sync("a.md", "1\n", overwrite=True)
    vault.append_sync("a.md", "2")
    vault.move_sync("a.md", "b.md")
    vault.delete_sync("b.md")
    vault.undo_sync()
    assert heard == [
        ("a.md", "created", "1\n"),
        ("a.md", "changed", "1\n2\n"),
        ("b.md", "created", "1\n2\n"),
        ("a.md", "removed", ""),
        ("b.md", "removed", ""),
        ("b.md", "created", "1\n2\n"),
    ]
    assert "a broken index" in caplog.text


def test_a_copied_agent_goes_on_with_the_same_vault(vault: Vault) -> None:
    from copy import deepcopy

    journal = vault.journal("s")
    assert deepcopy({"vault": vault, "journal": journal}) == {"vault": vault, "journal": journal}
    assert vault.journal("s") is journal
    assert vault.journal("S") is not journal


def test_dates_follow_the_configured_zone(tmp_path: Path) -> None:
    late = datetime(2026, 3, 16, 23, 30, tzinfo=UTC)
    assert (
        Vault(tmp_path, timezone="Asia/Shanghai", clock=lambda: late).now().isoformat() == "2026-03-17T07:30:00+08:00"
    )
    naive = Vault(tmp_path, timezone="Asia/Shanghai", clock=lambda: datetime(2026, 3, 16, 9, 0))
    assert naive.now().isoformat() == "2026-03-16T09:00:00+08:00"
    assert Vault(tmp_path).now().tzinfo is not None


def test_paths_of_system_folders_are_named_in_the_refusal(vault: Vault) -> None:
    with pytest.raises(PathError, match=r"metadata/ is written by the system only"):
        vault.write_sync("metadata/x.md", "x")
