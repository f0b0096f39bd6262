"""What is compiled of that which lies around ranking gives what the form in Python gives."""

import os
import platform
import subprocess
import sys
from dataclasses import FrozenInstanceError
from math import inf
from zlib import crc32

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentscope_reme.index import excerpts, files, packing
from agentscope_reme.index import made as made_module
from agentscope_reme.index.compiled import form, kernels
from agentscope_reme.index.entries import FileEntry
from agentscope_reme.index.files import Files, FilesById
from agentscope_reme.index.made import made
from agentscope_reme.models import LinkedNote, SearchHit
from agentscope_reme.vault.opening import read_file
from agentscope_reme.vault.storage import Storage

pytestmark = pytest.mark.skipif(kernels is None, reason=f"there is no compiled form: {form}")

TEXTS = st.text(st.one_of(st.characters(), st.sampled_from("_ -—、。\n\u3000aAßİǅ中あア가Ⅷ²½٣\u0301\ufb01\U00020000")))


@pytest.fixture
def in_python(monkeypatch):
    for module in (packing, made_module):
        monkeypatch.setattr(module, "kernels", None)


def test_every_character_is_a_word_or_none_and_a_token_or_a_quarter():
    for code in range(0x110000):
        for text in (chr(code), f"A{chr(code)}_b {chr(code)}z"):
            assert kernels.squashed(text) == packing.squashed(text), hex(code)
            assert kernels.count_tokens(text) == packing.count_tokens(text), hex(code)


@given(TEXTS)
def test_words_and_tokens_of_a_text(text):
    assert kernels.squashed(text) == packing.squashed(text)
    assert kernels.count_tokens(text) == packing.count_tokens(text)


@given(
    st.lists(st.text("ab中", max_size=9), max_size=6), st.text("ab中", max_size=9), st.integers(0, 7), st.integers(0, 5)
)
def test_a_text_that_says_the_same_is_found(said, words, begin, alike):
    expected = packing.first_alike(words, said, begin, alike, 2)
    assert kernels.first_alike(words, said, begin, alike, 2) == expected


@given(
    st.lists(st.tuples(st.integers(0, 3), st.sampled_from([0.0, 0.1, 0.2, 0.5, 0.7, 0.9, 1.0])), max_size=40),
    st.integers(0, 5),
)
def test_the_order_in_which_passages_get_a_place(passages, most):
    passages.sort(key=lambda one: -one[1])
    places, scores = [file for file, _ in passages], [score for _, score in passages]
    compiled = packing.best_files_first(places, scores, most)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(packing, "kernels", None)
        assert packing.best_files_first(places, scores, most) == compiled


SAYINGS = ("the zebra grazes", "the zebra grazes at dawn by the river", "10:05 The zebra grazes at dawn by the river.")
SAYINGS += ("\u6591\u9a6c" * 9, "walrus " * 200, "a", "***")


@st.composite
def what_is_ranked(draw):
    """Places, an order of them, and what is read at each: an excerpt or None."""
    places = draw(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 8)), unique=True, max_size=24))
    read = []
    for file, number in places:
        text, day = draw(st.sampled_from(SAYINGS)), draw(st.sampled_from([0, 0, 5, 6]))
        score = draw(st.sampled_from([0.1, 0.5, 0.5, 0.9]))
        excerpt = packing.Excerpt(f"{file}.md", number, number, number + 1, text, score, "", day, file == 3)
        read.append(excerpt if draw(st.integers(0, 9)) else None)
    return places, draw(st.permutations(range(len(places)))), read


def cut(excerpt, tokens):
    shorter = excerpt.text[: tokens * 4]
    return excerpt._replace(text=shorter, clipped=True) if packing.count_tokens(shorter) <= tokens else None


@given(what_is_ranked(), st.integers(-1, 6), st.integers(-5, 2_500), st.sampled_from([80, 400]))
def test_the_excerpts_of_a_result(ranked, limit, budget, most_chars):
    places, order, read = ranked
    asked = []

    def packed():
        asked.append([])
        groups = packing.pack(
            places, order, lambda at: asked[-1].append(at) or read[at], limit, budget, cut, most_chars
        )
        return [(group.file, group.best, group.excerpts, group.page) for group in groups]

    compiled = packed()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(packing, "kernels", None)
        assert packed() == compiled
    assert asked[0] == asked[1]


def test_a_limit_and_a_budget_may_be_larger_than_any_number_of_a_processor():
    excerpt = packing.Excerpt("a.md", 0, 1, 1, "zebra", 0.5)
    groups = packing.pack([(0, 0)], [0], lambda _: excerpt, 10**30, 10**30, cut, 400)
    assert [group.excerpts for group in groups] == [[excerpt]]


@pytest.mark.usefixtures("in_python")
def test_a_value_that_is_made_is_one_that_was_called_for():
    values = ("a.md", "A", "", "in", "b.md", 3, "cites", 1, True)
    assert kernels.made(LinkedNote, values) == made(LinkedNote, values) == LinkedNote(*values)
    hit = kernels.made(SearchHit, ("a.md", 1, 2, "text", 0.5, "A", ("B",), "", "note", (), (), {"trust": 1}, ()))
    assert hit.source == "a.md:1-2"
    assert hit.metadata == {"trust": 1}
    with pytest.raises(FrozenInstanceError):
        hit.score = inf
    with pytest.raises(TypeError, match="13 fields"):
        kernels.made(SearchHit, values)


@pytest.mark.parametrize("kind", ["b", "B", "h", "H", "i", "I", "l", "q"])
def test_rows_of_columns_of_any_width(kind):
    values = np.array([0, 1, 127, np.iinfo(kind).max, np.iinfo(kind).min], kind)
    other = np.array([5, 4, 3, 2, 1], np.int32)
    row, slowly = kernels.rows_of([values, other]), in_python_rows([values, other])
    assert [row(at) for at in range(5)] == [slowly(at) for at in range(5)]
    for at in (-1, 5):
        with pytest.raises(IndexError):
            row(at)


def in_python_rows(columns):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(excerpts, "kernels", None)
        return excerpts.rows_of(columns)


@given(st.lists(st.integers(0, 4)), st.lists(st.binary(min_size=9, max_size=9), min_size=5, max_size=5))
def test_rows_taken_together_and_digests_that_differ(rows, digests):
    columns = [np.arange(5, dtype=np.int16) * 7 - 3, np.arange(5, dtype=np.int32)]
    data = bytearray(b"".join(digests))
    assert kernels.taken(columns, rows) == [column.take(rows).tolist() for column in columns]
    begins = {number: digests[number][:8] for number in rows}
    assert kernels.all_differ(data, rows, 9) == (len(set(begins.values())) == len(begins))
    for number in (-1, 5):
        with pytest.raises(IndexError):
            kernels.all_differ(data, [number], 9)
        with pytest.raises(IndexError):
            kernels.taken(columns, [number])


@given(st.lists(st.integers(0, 5)), st.lists(st.sampled_from("ab"), min_size=6, max_size=6))
def test_files_with_the_same_bytes_are_told(numbers, digests):
    known = Files()
    known.put_all([FileEntry(f"{at}.md", 1, 1, 1, 1, digest * 64) for at, digest in enumerate(digests)])
    compiled = FilesById(known).alike(numbers)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "kernels", None)
        assert FilesById(known).alike(numbers) == compiled


def test_columns_that_hold_no_rows_of_whole_numbers_are_refused():
    with pytest.raises(ValueError, match="kind d"):
        kernels.rows_of([np.zeros(1)])(0)
    with pytest.raises(ValueError, match="one dimension"):
        kernels.rows_of([np.zeros((2, 2), np.int32)])
    with pytest.raises(ValueError, match="at most 16"):
        kernels.rows_of([np.zeros(2, np.int32)] * 17)
    with pytest.raises(TypeError):
        kernels.rows_of([None])


@given(
    st.lists(st.sampled_from(["a", "\r\n", "\r", "\n", "\0", "\u7b14", "\U0001f600"]), max_size=9).map("".join),
    st.integers(0, 12),
    st.integers(0, 40),
)
def test_bytes_of_a_file_are_shown_as_text_when_they_are_those_that_were_indexed(text, begin, size):
    data = text.encode()
    piece = data[begin : begin + size]
    for check in (crc32(piece), crc32(piece) ^ 1):
        expected = excerpts._shown(piece) if check == crc32(piece) else None
        try:
            assert kernels.checked_text(data, begin, begin + size, check) == expected
        except UnicodeDecodeError:
            assert piece.decode("utf-8", "ignore").encode() != piece


@pytest.fixture
def read_plain(vault_dir):
    vault_dir.mkdir(parents=True, exist_ok=True)
    root = os.fsencode(os.path.realpath(vault_dir)) + b"/"
    return lambda path: kernels.read_plain(root, path)


def _opens_without_links() -> bool:
    return sys.platform == "linux" and tuple(map(int, platform.release().split(".")[:2])) >= (5, 6)


@pytest.mark.skipif(not _opens_without_links(), reason="other systems walk to every file")
def test_a_plain_file_is_read_in_one_step(put, vault_dir, read_plain):
    for path, data in {
        "a.md": b"zebra",
        "b/c d.md": b"",
        "b/\u7b14\u8bb0.md": b"\x00\xff\r\n",
        "b.md": b"x" * 32_768,
    }.items():
        put(path, data)
        assert read_plain(path) == read_file(vault_dir, path) == data


def test_what_is_no_plain_file_is_left_to_the_walk(put, vault_dir, read_plain):
    put("b/a.md", "zebra")
    put("long.md", b"x" * 32_769)
    (vault_dir / "link.md").symlink_to("b/a.md")
    (vault_dir / "folder").symlink_to("b")
    os.mkfifo(vault_dir / "pipe.md")
    odd = ["", "/", "/etc/passwd", "..", "../b/a.md", "b/../b/a.md", "./b/a.md", "b//a.md", "b/", "b/.", "b", "C:/a.md"]
    odd += ["none.md", "link.md", "folder/a.md", "pipe.md", "long.md", "a\x00.md", "~/a.md", "b\\a.md", "a\udc80.md"]
    for path in (*odd, "x" * 241, None, 5, b"b/a.md"):
        assert read_plain(path) is None, path


@pytest.mark.parametrize("code", [0x1F, 0x7F, 0x9F, 0x2028, 0x2029, 0x202E, 0x2066, 0x2069, ord(":"), ord("~")])
def test_a_name_that_no_path_may_have_is_left_to_the_walk(vault_dir, read_plain, code):
    vault_dir.mkdir(parents=True, exist_ok=True)
    (vault_dir / f"a{chr(code)}.md").write_bytes(b"zebra")
    assert read_plain(f"a{chr(code)}.md") is None


def test_a_vault_behind_a_link_is_walked_to(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "a.md").write_bytes(b"zebra")
    (tmp_path / "vault").symlink_to("real")
    asked = []
    for name, told in (("vault", []), ("real", [(os.fsencode(tmp_path / "real") + b"/", "a.md")])):
        storage = Storage(tmp_path / name)
        storage.read_plain_files_by(lambda root, path: asked.append((root, path)))
        assert storage.read("a.md") == b"zebra"
        assert asked == told


# Has the system answer openat2 (437) as one does that has no such call (38), which a process cannot take back.
_WITHOUT_THE_CALL = """
import ctypes, sys
from pathlib import Path
from agentscope_reme.index.compiled import kernels
from agentscope_reme.vault.storage import Storage

class Step(ctypes.Structure):
    _fields_ = [("code", ctypes.c_ushort), ("jt", ctypes.c_ubyte), ("jf", ctypes.c_ubyte), ("k", ctypes.c_uint)]

class Program(ctypes.Structure):
    _fields_ = [("size", ctypes.c_ushort), ("steps", ctypes.POINTER(Step))]

steps = (Step * 4)((0x20, 0, 0, 0), (0x15, 0, 1, 437), (0x06, 0, 0, 0x00050000 | 38), (0x06, 0, 0, 0x7FFF0000))
system = ctypes.CDLL(None)
if system.prctl(38, 1, 0, 0, 0) or system.prctl(22, 2, ctypes.byref(Program(4, steps)), 0, 0):
    sys.exit(77)
root = sys.argv[1]
assert [kernels.read_plain(root.encode() + b"/", "a.md") for _ in range(2)] == [None, None]
storage = Storage(Path(root))
storage.read_plain_files_by(kernels.read_plain)
assert storage.read("a.md") == b"zebra"
"""


@pytest.mark.skipif(sys.platform != "linux", reason="others have no such call")
def test_files_are_walked_to_where_the_system_has_no_call_that_follows_no_link(put, vault_dir):
    put("a.md", "zebra")
    command = [sys.executable, "-c", _WITHOUT_THE_CALL, os.path.realpath(vault_dir)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode == 77:
        pytest.skip("no filter of the system's calls here")
    assert done.returncode == 0, done.stderr
