"""Reading front matter: what is a block, what its values are, and that nothing in it can hurt."""

import json
from datetime import date, datetime, timedelta, timezone

import pytest

from agentscope_reme.vault.frontmatter import parse, text_list, text_of


def block(*lines: str) -> str:
    return "\n".join(["---", *lines, "---", "body", ""])


def value(line: str) -> object:
    note = parse(block(line))
    assert note.front.error is None
    return next(iter(note.front.data.values()))


# --- What is a block --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "data", "body", "body_line"),
    [
        ("---\na: 1\n---", {"a": 1}, "", 3),
        ("---\n---\nb", {}, "b", 3),
        ("--- \na: 1\n---  \nb", {"a": 1}, "b", 4),
        ("---\t\na: 1\n---\t\nb", {"a": 1}, "b", 4),
        ("---\na: 1\n...\nb", {"a": 1}, "b", 4),
        ("---\r\na: 1\r\n---\r\nb\r\n", {"a": 1}, "b\r\n", 4),
        ("---\n# nothing but a comment\n---\nb", {}, "b", 4),
        ("---\n\n\n---\nb", {}, "b", 5),
        ("---", {}, "---", 1),
        ("---\n", {}, "---\n", 1),
        ("", {}, "", 1),
        ("---\na: 1\nno end\n", {}, "---\na: 1\nno end\n", 1),
        ("----\na: 1\n---\nb", {}, "----\na: 1\n---\nb", 1),
        (" ---\na: 1\n---\nb", {}, " ---\na: 1\n---\nb", 1),
        ("x\n---\na: 1\n---\n", {}, "x\n---\na: 1\n---\n", 1),
        ("\n---\na: 1\n---\n", {}, "\n---\na: 1\n---\n", 1),
    ],
)
def test_a_block_lies_between_two_lines_of_three_dashes(text: str, data: dict, body: str, body_line: int) -> None:
    note = parse(text)
    assert (note.front.data, note.front.error) == (data, None)
    assert (note.body, note.body_line) == (body, body_line)


def test_dashes_inside_values_and_rules_in_the_body_end_nothing() -> None:
    body = "text\n\n---\n\nmid\n\n------- Warning -------\n\n---\n\nend\n"
    note = parse(f"---\ntitle: a --- b\ndesc: |\n  x\n  ---\n  y\n---\n{body}")
    assert note.front.data == {"title": "a --- b", "desc": "x\n---\ny\n"}
    assert note.body == body
    assert note.body_line == 8


def test_a_byte_order_mark_hides_neither_front_matter_nor_heading() -> None:
    note = parse("\ufeff---\ntitle: A\n---\n# H\nbody\n")
    assert note.front.data == {"title": "A"}
    assert note.body == "# H\nbody\n"
    assert note.body_line == 4
    assert parse("\ufeff# H\nbody\n").body == "# H\nbody\n"


@pytest.mark.parametrize(
    "text",
    [
        "---\nA paragraph between two rules.\n---\nmore\n",
        '---\nA paragraph, *with* [marks] that are no YAML: "x" y\n---\nmore\n',
        "---\n- a\n- list\n---\nmore\n",
        "---\n[[Link]]\n---\nmore\n",
        "---\n# Heading\n\nA paragraph\n---\nmore\n",
    ],
)
def test_text_between_two_rules_stays_in_the_body(text: str) -> None:
    note = parse(text)
    assert note.front.data == {}
    assert note.front.error is None
    assert note.body == text


# --- Values -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("k: 1", 1),
        ("k: -12", -12),
        ("k: 1.5", 1.5),
        ("k: 1.0e+16", 1e16),
        ("k: true", True),
        ("k: False", False),
        ("k: null", None),
        ("k: ~", None),
        ("k:", None),
        ("k: 2026-03-16", date(2026, 3, 16)),
        ("k: 2026-03-16T10:00:00+08:00", datetime(2026, 3, 16, 10, tzinfo=timezone(timedelta(hours=8)))),
        ("k: 2026-03-16 10:00:00", datetime(2026, 3, 16, 10)),
        ("k: [1, a, true]", [1, "a", True]),
        ("k: {a: 1}", {"a": 1}),
        ("k: >-\n  folded\n  text", "folded text"),
        # What a number, a boolean or a date would mangle is text.
        ("k: no", "no"),
        ("k: on", "on"),
        ("k: 0123", "0123"),
        ("k: 1.10", "1.10"),
        ("k: +86", "+86"),
        ("k: 1_000", "1_000"),
        ("k: 0x1F", "0x1F"),
        ("k: 12:34:56", "12:34:56"),
        ("k: 1234e567", "1234e567"),
        ("k: 7e10", "7e10"),
        ("k: .inf", ".inf"),
        ("k: 2026-13-40", "2026-13-40"),
        ("k: 2026-02-30", "2026-02-30"),
        ("k: 0.1234567890123456789", "0.1234567890123456789"),
        ("k: !!str 12", "12"),
        ("k: !custom 12", 12),
        ("k: !!python/object:os.system x", "x"),
    ],
)
def test_a_value_keeps_what_was_typed(line: str, expected: object) -> None:
    found = value(line)
    assert found == expected
    assert type(found) is type(expected)


def test_an_integer_longer_than_python_reads_is_text() -> None:
    digits = "9" * 5000
    assert value(f"k: {digits}") == digits


@pytest.mark.parametrize("written", ["2026", "1984", "no", "yes", "null", "1.10", "2026-03-16", "true", "0123"])
def test_titles_names_tags_and_aliases_are_text_whatever_they_look_like(written: str) -> None:
    note = parse(block(f"title: {written}", f"name: {written}", f"tags: [{written}]", f"aliases:\n  - {written}"))
    assert note.front.data == {"title": written, "name": written, "tags": [written], "aliases": [written]}


def test_nothing_is_no_title() -> None:
    assert parse(block("title:", "name: ~", "tags: null")).front.data == {"title": None, "name": None, "tags": None}


def test_keys_are_text_in_any_script() -> None:
    note = parse("---\n1: one\n标题: 测试\ncontent: hi\nhandler: z\n2026-01-01: x\ntrue: y\n? [a, b]\n: list\n---\nb\n")
    assert note.front.data == {
        "1": "one",
        "标题": "测试",
        "content": "hi",
        "handler": "z",
        "2026-01-01": "x",
        "true": "y",
        "[a, b]": "list",
    }
    assert note.body == "b\n"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("related: [[Alpha]]", "[[Alpha]]"),
        ("related: [[Alpha|the first]]", "[[Alpha|the first]]"),
        ("related: [[Smith, John]]", "[[Smith, John]]"),
        ("related: [[Note#Part]]", "[[Note#Part]]"),
        ('related: "[[Alpha]]"', "[[Alpha]]"),
        ("related:\n  - [[Alpha]]\n  - '[[Beta|b]]'", ["[[Alpha]]", "[[Beta|b]]"]),
        ("related: [[[Alpha]], [[Beta]]]", ["[[Alpha]]", "[[Beta]]"]),
        ("matrix: [[1, 2]]", [[1, 2]]),
        ("matrix: [[1, 2], [3, 4]]", [[1, 2], [3, 4]]),
        ("created: {{date}}", "{{date}}"),
    ],
)
def test_an_unquoted_wikilink_is_the_text_of_the_link(line: str, expected: object) -> None:
    assert value(line) == expected


def test_the_last_of_two_equal_keys_counts_and_the_note_says_so() -> None:
    note = parse("---\ntitle: A\ntitle: B\n---\n")
    assert note.front.data == {"title": "B"}
    assert len(note.warnings) == 1
    assert "'title'" in note.warnings[0]
    assert parse(block("title: A")).warnings == ()


def test_a_scalar_may_be_repeated_by_an_alias() -> None:
    assert parse(block("a: &x hello", "b: *x", "c: [*x, *x]")).front.data == {
        "a": "hello",
        "b": "hello",
        "c": ["hello", "hello"],
    }


# --- What cannot be read ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('---\ntitle: Boiler\nsummary: "the "new" one"\ntags: [home]\n---\nServiced in May.\n', 3),
        ("---\na:\n\tb: 1\n---\nServiced in May.\n", 3),
        ('---\nok: 1\na: "x\x07y"\n---\nServiced in May.\n', 3),
        ("---\nok: 1\n\nkey: `C:\\agent\\x`\n---\nServiced in May.\n", 4),
        ("---\ntitle: Foo: bar\n---\nServiced in May.\n", 2),
        ("---\ntitle: *Italic*\n---\nServiced in May.\n", 2),
        ("---\nup: [[Alpha]]s\n---\nServiced in May.\n", 2),
        ("---\ntitle Boiler\ntags: [a]\n---\nServiced in May.\n", 3),
        ("---\na: [1, 2\n---\nServiced in May.\n", 3),
        ("\ufeff---\r\na: 1\r\n b: 2\r\n---\r\nServiced in May.\n", 3),
    ],
)
def test_unreadable_yaml_names_its_line_and_hides_no_body(text: str, line: int) -> None:
    note = parse(text)
    assert note.front.data == {}
    assert note.front.error is not None
    assert note.front.error.startswith(f"line {line}: ")
    assert note.body == "Serviced in May.\n"
    assert note.raw is not None


def test_the_body_may_hold_anything() -> None:
    note = parse("---\na: 1\n---\nx\x00y\x07 \ud800 \ufffe\n")
    assert note.front.data == {"a": 1}
    assert note.body == "x\x00y\x07 \ud800 \ufffe\n"


def test_a_lone_surrogate_in_a_value_does_no_harm() -> None:
    note = parse("---\ntitle: 你好\udce4\nx: 1\n---\nbody")
    assert note.front.error is None
    assert note.front.data == {"title": "你好\ufffd", "x": 1}


BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "\n".join(
    f"{chr(98 + i)}: &{chr(98 + i)} [{','.join(['*' + chr(97 + i)] * 9)}]" for i in range(8)
)


@pytest.mark.parametrize(
    "yaml",
    [
        BOMB,
        "a: " + "[" * 3000 + "]" * 3000,
        "a: " + "{x: " * 200 + "1" + "}" * 200,
        "\n".join("  " * i + "k:" for i in range(200)),
        "a: " + "- " * 100 + "x",
        "a: &a [*a]",
        "a: &a\n  b: *a",
        "a: *nowhere",
        "a: " + "x" * 5_000_000,
        "a: [" + "1," * 20_000 + "1]",
    ],
    ids=["bomb", "brackets", "braces", "indents", "dashes", "itself", "itself in a mapping", "nowhere", "5 MB", "many"],
)
def test_a_block_beyond_the_bounds_is_unreadable_and_nothing_more(yaml: str) -> None:
    note = parse(f"---\n{yaml}\n---\nthe body\n")
    assert note.front.error is not None
    assert note.front.data == {}
    assert note.body == "the body\n"


def test_what_was_read_can_be_serialised_in_bounded_space() -> None:
    note = parse(block("a: &a [1, 2, 3]", "b: &b [*a, *a]", "c: [*b, *b]"))
    assert note.front.data["c"] == [[[1, 2, 3]] * 2] * 2
    assert len(json.dumps(note.front.data)) < 200


# --- Views ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "key", "expected"),
    [
        ("tags: [home, 暖气]", "tags", ("home", "暖气")),
        ("tags: home", "tags", ("home",)),
        ("tags: home, '#暖气'", "tags", ("home", "'#暖气'")),
        ('tags: "home, #暖气 #home"', "tags", ("home", "暖气")),
        ("aliases: Zhang San", "aliases", ("Zhang San",)),
        ("aliases: [三哥, Zhang San, 三哥]", "aliases", ("三哥", "Zhang San")),
        ("aliases:", "aliases", ()),
        ("other: 1", "aliases", ()),
        ("supersedes: [2026-01-01, x]", "supersedes", ("2026-01-01", "x")),
    ],
)
def test_a_text_and_a_list_of_texts_read_alike(line: str, key: str, expected: tuple[str, ...]) -> None:
    assert text_list(parse(block(line)).front, key) == expected


def test_a_value_as_words_to_search_for() -> None:
    front = parse(block("a: [1, true, {k: v}, ~, [x]]", "b: 2026-03-16")).front
    assert text_of(front.data["a"]) == "1 true k v x"
    assert text_of(front.data["b"]) == "2026-03-16"
    assert text_of(None) == ""
