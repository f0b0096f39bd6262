"""Changing single keys: the lines of the key change, every other byte stays, and what was written reads back."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, timedelta, timezone
from io import StringIO

import frontmatter
import pytest
from ruamel.yaml import YAML

from agentscope_reme.errors import FrontMatterError
from agentscope_reme.vault.frontmatter import compose, delete_keys, parse, set_keys

NOTE = """---
zeta: 1   # first
# about alpha
alpha: "two" # why
list:
  - a   # one
  - 'b'

text: |
  line
    more

flow: [x, y] # end
last: end
---
# Body

alpha: not me
"""


@pytest.mark.parametrize(
    ("changes", "old", "new"),
    [
        ({"alpha": 3}, 'alpha: "two" # why', "alpha: 3 # why"),
        ({"zeta": "no"}, "zeta: 1   # first", 'zeta: "no"   # first'),
        ({"alpha": None}, 'alpha: "two" # why', "alpha: ~ # why"),
        ({"flow": ["x", "z"]}, "flow: [x, y] # end", "flow: [x, z] # end"),
        ({"flow": "one"}, "flow: [x, y] # end", "flow: one # end"),
        ({"list": ["c"]}, "list:\n  - a   # one\n  - 'b'\n", "list:\n  - c\n"),
        ({"list": "short"}, "list:\n  - a   # one\n  - 'b'\n", "list: short\n"),
        ({"text": "a\nb\n"}, "text: |\n  line\n    more\n", "text: |\n  a\n  b\n"),
        ({"text": "flat"}, "text: |\n  line\n    more\n", "text: flat\n"),
        ({"new": "x"}, "last: end\n", "last: end\nnew: x\n"),
        ({"alpha": "[[Link]]"}, 'alpha: "two" # why', 'alpha: "[[Link]]" # why'),
        ({"zeta": [1, "[[Link]]"]}, "zeta: 1   # first", 'zeta:\n  - 1\n  - "[[Link]]"'),
    ],
)
def test_only_the_lines_of_the_key_change(changes: dict, old: str, new: str) -> None:
    assert NOTE.count(old) == 1
    assert set_keys(NOTE, changes) == NOTE.replace(old, new)


@pytest.mark.parametrize(
    ("keys", "gone"),
    [
        (["alpha"], 'alpha: "two" # why\n'),
        (["list"], "list:\n  - a   # one\n  - 'b'\n"),
        (["text"], "text: |\n  line\n    more\n"),
        (["zeta", "unknown"], "zeta: 1   # first\n"),
        (["last"], "last: end\n"),
        (["unknown"], ""),
    ],
)
def test_deleting_takes_the_lines_of_the_key_and_no_other(keys: list[str], gone: str) -> None:
    assert delete_keys(NOTE, keys) == (NOTE.replace(gone, "") if gone else NOTE)


def test_line_ends_comment_order_and_the_missing_final_newline_stay() -> None:
    text = '---\r\nzeta: 1\r\nalpha: "two" # why\r\n---\r\nb\r\nc'
    assert set_keys(text, {"alpha": 3}) == text.replace('"two"', "3")
    assert set_keys(text, {"k": ["a", "b"]}) == text.replace("why\r\n", "why\r\nk:\r\n  - a\r\n  - b\r\n")
    assert delete_keys(text, ["zeta"]) == text.replace("zeta: 1\r\n", "")


def test_a_multi_line_text_in_a_crlf_note_reads_back_with_line_feeds() -> None:
    text = set_keys("---\r\na: 1\r\n---\r\nb", {"m": "one\ntwo\n"})
    assert "\n" not in text.replace("\r\n", "")
    assert parse(text).front.data["m"] == "one\ntwo\n"


@pytest.mark.parametrize("text", ["\ufeff---\ntitle: A\n---\n# H\nbody\n", "\ufeff# H\nbody\n"])
def test_a_byte_order_mark_stays_alone_and_first_and_the_block_is_one(text: str) -> None:
    changed = set_keys(text, {"reviewed": True})
    assert changed.startswith("\ufeff---\n")
    assert changed.count("\ufeff") == 1
    assert changed.count("---\n") == 2
    assert changed.endswith("---\n# H\nbody\n")
    assert parse(changed).front.data["reviewed"] is True


@pytest.mark.parametrize("fence", ["---", "---  ", "..."])
def test_the_closing_fence_stays_as_it_was_written(fence: str) -> None:
    assert set_keys(f"--- \na: 1\n{fence}\nb", {"a": 2, "c": 3}) == f"--- \na: 2\nc: 3\n{fence}\nb"
    assert set_keys(f"---\na: 1\n{fence}", {"a": 2}) == f"---\na: 2\n{fence}"


def test_a_note_without_front_matter_gets_a_block_with_its_line_ends() -> None:
    assert set_keys("# T\r\nx\r\n", {"a": 1}) == "---\r\na: 1\r\n---\r\n# T\r\nx\r\n"
    assert set_keys("", {"a": 1}) == "---\na: 1\n---\n"
    assert set_keys("---", {"a": 1}) == "---\na: 1\n---\n---"
    assert set_keys("---\n---\nb", {"a": 1}) == "---\na: 1\n---\nb"
    rule = "---\nprose\n---\nmore\n"
    assert set_keys(rule, {"a": 1}) == f"---\na: 1\n---\n{rule}"
    assert parse(set_keys(rule, {"a": 1})).body == rule


def test_no_change_is_no_change() -> None:
    assert set_keys(NOTE, {}) == NOTE
    assert set_keys(NOTE, {"zeta": 1, "alpha": "two", "list": ["a", "b"], "text": "line\n  more\n"}) == NOTE
    assert delete_keys("no block", ["a"]) == "no block"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("---\na: 1\n---\nbody", "body"),
        ("\ufeff---\r\na: 1\r\n---\r\nbody\r\n", "\ufeffbody\r\n"),
        ("---\na: 1\n---", ""),
        ("---\na:\n  - 1\n...\n\nbody", "\nbody"),
        ("---\n# mine\na: 1\n---\nbody", "---\n# mine\n---\nbody"),
        ("---\na: 1\n\n---\nbody", "---\n\n---\nbody"),
        ("---\na: 1\n---\n---\nb: 2\n---\n", "---\n---\n---\nb: 2\n---\n"),
        ("---\na: 1\n---\n---\nb: [\n---\n", "---\n---\n---\nb: [\n---\n"),
        ("---\na: 1\n---\n---\ntext\n---\n", "---\ntext\n---\n"),
    ],
)
def test_a_block_goes_with_its_last_line(text: str, expected: str) -> None:
    assert delete_keys(text, ["a"]) == expected
    assert parse(expected).body == parse(text).body


TRICKY_TEXTS = [
    *(
        "no",
        "yes",
        "on",
        "Off",
        "y",
        "N",
        "true",
        "null",
        "Null",
        "~",
        "",
        " ",
        "0123",
        "1.10",
        "1e3",
        "12:34:56",
        "0x1F",
    ),
    *(
        "2026-03-16",
        "2026-03-16T10:00:00Z",
        ".inf",
        "-",
        "?",
        ":",
        "- x",
        "? x",
        "a: b",
        "a:",
        ": a",
        "a #b",
        "#b",
        "[a",
        "{a",
    ),
    *("]", "}", ",", "a, b", "&a", "*a", "!a", "|", ">", "'", '"', "%a", "@a", "`a`", "=", "<<", "---", "...", "--- a"),
    *(
        "[[Alpha]]",
        "![[a b.png|100]]",
        "{{date}}",
        "C:\\agent\\x",
        'say "hi"',
        "it's",
        "a\tb",
        "\tb",
        " lead",
        "trail ",
    ),
    *(
        "a\nb",
        "a\nb\n",
        "a\n\n",
        "\na",
        "\n",
        " a\nb",
        "a\n  b\n",
        "a \nb",
        "# x\n# y",
        "a\r\nb",
        "a\rb",
        "\x85",
        "a\u2028b",
    ),
    *(
        "\x00",
        "\x07",
        "\x1b[0m",
        "\ufeff",
        "\u200b",
        "\ufffe",
        "标题：测试",
        "😀👨‍👩‍👧",
        "é",
        "𠮷",
        "word " * 200,
        "长" * 2000,
    ),
]


@pytest.mark.parametrize("text", TRICKY_TEXTS, ids=ascii)
def test_a_text_reads_back_as_the_same_text_here_and_in_other_readers(text: str) -> None:
    for start in ("---\nk: old # c\nother: 1\n---\nbody\n", "---\r\nother: 1\r\n---\r\nbody\r\n", "body\n"):
        changed = set_keys(start, {"k": text, "标题": [text, {"in": text}], "title": text})
        note = parse(changed)
        assert note.front.data["k"] == text
        assert note.front.data["标题"] == [text, {"in": text}]
        assert note.front.data["title"] == text
        assert changed.endswith("body\r\n" if "\r\n" in start else "body\n")
        others = frontmatter.loads(changed).metadata
        assert (others["k"], others["标题"], others["title"]) == (text, [text, {"in": text}], text)
        assert "标题:" in changed


@pytest.mark.parametrize(
    "value",
    [
        *(None, True, False, 0, -1, 10**30, 1.5, -0.25, 1e20, 1e-9, 1.1, 123456789.123),
        *(date(2026, 3, 16), datetime(2026, 3, 16, 10, 30), datetime(2026, 3, 16, 10, 30, 5, 120)),
        datetime(2026, 3, 16, 10, 30, tzinfo=timezone(timedelta(hours=8))),
        datetime(2026, 3, 16, 10, 30, tzinfo=UTC),
        *([], {}, [[]], [{}], {"a": []}, ["x", None, 1, True], [["a", "b"], ["c"]], {"a": {"b": [1, {"c": "[[x]]"}]}}),
        *(("t", "u"), [date(2026, 1, 1), "2026-01-01"], {"键": "值", "1": 2, "a: b": "c"}),
    ],
    ids=repr,
)
def test_a_value_reads_back_equal_and_of_the_same_type(value: object) -> None:
    expected = list(value) if isinstance(value, tuple) else value
    for start in ("---\nk: old # c\nz: 1\n---\nb", "---\nk: [old] # c\nz: 1\n---\nb", "---\nk:\n- old\nz: 1\n---\nb"):
        found = parse(set_keys(start, {"k": value})).front.data["k"]
        assert found == expected
        assert type(found) is type(expected)
        if isinstance(expected, datetime):
            assert found.isoformat() == expected.isoformat()
    assert frontmatter.loads(set_keys("b", {"k": value})).metadata["k"] == expected


def test_an_aware_time_reads_as_a_time_in_other_readers() -> None:
    stamp = datetime(2026, 3, 16, 10, 30, tzinfo=timezone(timedelta(hours=8)))
    assert frontmatter.loads(set_keys("b", {"k": stamp})).metadata["k"] == stamp


def test_a_number_under_a_text_key_is_written_as_text() -> None:
    assert set_keys("---\ntitle: old\n---\n", {"title": 2026}) == '---\ntitle: "2026"\n---\n'
    assert parse(set_keys("", {"tags": [1, "a"], "aliases": True})).front.data == {
        "tags": ["1", "a"],
        "aliases": "true",
    }


@pytest.mark.parametrize("value", [object(), {1, 2}, float("nan"), float("inf"), b"x", {1: 2}, {"": 1}, 10**400])
def test_a_value_that_cannot_be_written_is_refused_by_name(value: object) -> None:
    with pytest.raises(FrontMatterError, match=r"k|key"):
        set_keys(NOTE, {"k": value})


def test_a_value_that_holds_itself_is_refused() -> None:
    loop: list = []
    loop.append(loop)
    with pytest.raises(FrontMatterError):
        set_keys(NOTE, {"k": loop})


def test_a_lone_surrogate_is_replaced_and_an_emoji_is_not() -> None:
    changed = set_keys("", {"k": "你好\udce4\ud83d", "e": "😀", "p": "\ud83d\ude00"})
    assert parse(changed).front.data == {"k": "你好\ufffd\ufffd", "e": "😀", "p": "😀"}
    changed.encode()


# --- Refusals ---------------------------------------------------------------------------------------------------------

BOILER = '---\ntitle: Boiler\nsummary: "the "new" one"\ntags: [home, 暖气]\n---\nServiced in May.\n'


@pytest.mark.parametrize(
    "text", [BOILER, "---\na:\n\tb: 1\n---\nx", "---\na: &a [*a]\n---\nx", '---\na: "\x07"\n---\nx']
)
def test_front_matter_that_cannot_be_read_is_not_changed(text: str) -> None:
    with pytest.raises(FrontMatterError, match=r"line \d"):
        set_keys(text, {"reviewed": True})
    with pytest.raises(FrontMatterError, match=r"line \d"):
        delete_keys(text, ["title"])


def test_the_refusal_names_the_line_of_the_file() -> None:
    with pytest.raises(FrontMatterError, match="line 3"):
        set_keys(BOILER, {"reviewed": True})


# --- Odd blocks -------------------------------------------------------------------------------------------------------


def test_of_two_equal_keys_the_one_that_counts_is_changed_and_both_stay() -> None:
    text = "---\ntitle: A\nx: 1\ntitle: B # c\n---\n"
    assert set_keys(text, {"title": "C"}) == "---\ntitle: A\nx: 1\ntitle: C # c\n---\n"
    assert set_keys(text, {"x": 2}) == text.replace("x: 1", "x: 2")
    assert delete_keys(text, ["title"]) == "---\nx: 1\n---\n"


def test_keys_that_look_like_numbers_are_found_by_their_text() -> None:
    text = "---\n1: one\n标题: 测试\n2026-01-01: x\n---\nb\n"
    assert set_keys(text, {"1": "uno", "2026-01-01": "z", "标题": "改"}) == (
        "---\n1: uno\n标题: 改\n2026-01-01: z\n---\nb\n"
    )


def test_an_indented_block_gets_new_keys_in_line() -> None:
    text = "---\n  a: 1\n  b: 2\n---\nx"
    assert set_keys(text, {"c": ["d"], "a": 3}) == "---\n  a: 3\n  b: 2\n  c:\n    - d\n---\nx"


def test_a_block_that_is_one_flow_mapping_can_be_changed() -> None:
    text = '---\n{"title": "A", "n": 1}\n---\nx'
    changed = set_keys(text, {"title": "B", "k": [1]})
    assert parse(changed).front.data == {"title": "B", "n": 1, "k": [1]}
    assert changed.endswith("\n---\nx")
    assert parse(delete_keys(text, ["n"])).front.data == {"title": "A"}


def test_a_change_that_would_break_an_alias_is_refused() -> None:
    text = "---\na: &x one\nb: *x\n---\n"
    with pytest.raises(FrontMatterError):
        set_keys(text, {"a": "two"})
    with pytest.raises(FrontMatterError):
        delete_keys(text, ["a"])
    assert set_keys(text, {"b": "two"}) == "---\na: &x one\nb: two\n---\n"


def test_values_spread_over_lines_are_replaced_whole() -> None:
    text = "---\na: one\n  two\nb: [x,\n  y]\nc: 'q\n\n  r'\n? d\n: e\nf:\n  g\nh: 1\n---\n"
    for key in "abcdf":
        changed = set_keys(text, {key: "new"})
        assert parse(changed).front.data == {**parse(text).front.data, key: "new"}
        assert "h: 1\n" in changed
    assert parse(delete_keys(text, ["a", "b", "c", "d", "f"])).front.data == {"h": 1}


# --- New notes --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("body", ["", "text\n", "# T", "---\na: 1\n---\nx", "---\n", "\n\nx", "no\r\nmix\n"])
@pytest.mark.parametrize("front", [{}, {"name": "x"}, {"name": "登录", "tags": ["a", "b"], "n": 1}])
def test_a_composed_note_reads_back(front: dict, body: str) -> None:
    note = parse(compose(front, body))
    assert note.front.data == front
    assert note.body == body


def test_notes_are_changed_in_threads_at_the_same_time() -> None:
    values = [{"k": ["x" * i, {"deep": [i, None, 1.5]}], "d": date(2026, 1, 1 + i % 28)} for i in range(200)]
    with ThreadPoolExecutor(8) as threads:
        changed = list(threads.map(lambda value: set_keys(NOTE, value), values))
    for text, value in zip(changed, values, strict=True):
        data = parse(text).front.data
        assert {key: data[key] for key in value} == value


def test_other_users_of_ruamel_keep_their_own_spellings() -> None:
    set_keys(NOTE, {"k": None})
    out = StringIO()
    YAML().dump({"nothing": None, "number": 1e20}, out)
    assert "~" not in out.getvalue()
