"""Journals, text, JSON, tables of values, YAML and HTML as units; what a file says about itself."""

import json
from datetime import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentscope_reme.index.chunker import read_document

JOURNAL = "session/dialog/s1.jsonl"


def message(content: Any, name: str = "Ann", timestamp: str = "2026-03-01 10:00:00.000", **more: Any) -> dict[str, Any]:
    return {"id": "m", "name": name, "role": "user", "content": content, "metadata": {}, "timestamp": timestamp, **more}


def line(msg: dict[str, Any], marks: list[str] | None = None) -> str:
    record = {
        "id": msg["id"],
        "seq": 1,
        "msg": msg,
        "marks": marks or [],
        "tokens": 3,
        "left_at": "2026-03-02T00:00:00Z",
    }
    return json.dumps(record, ensure_ascii=False) + "\n"


def turns(text: str, path: str = JOURNAL) -> list[tuple[int, str, str, str]]:
    return [(unit.start_line, unit.speaker, unit.date, unit.text) for unit in read_document(path, text).units]


# --- Journals -----------------------------------------------------------------------------------------------------


def test_a_turn_is_a_line_with_its_speaker_day_and_text() -> None:
    text = line(message("hello\nthere")) + line(
        message([{"type": "text", "text": "你好"}], "小王", "2026-03-02T09:00:00+08:00")
    )
    document = read_document(JOURNAL, text)
    assert document.kind == "journal"
    assert document.title == "s1"
    assert turns(text) == [(1, "Ann", "2026-03-01", "hello\nthere"), (2, "小王", "2026-03-02", "你好")]
    assert (document.chunks[0].start_line, document.chunks[0].end_line) == (1, 2)


def test_damaged_lines_and_values_that_are_no_messages_are_passed_over() -> None:
    text = line(message("one")) + '{"id":"2","msg":{"role":"us\n[]\nnull\n7\n{"a": 1}\n\n' + line(message("two"))
    assert [(number, said) for number, _, _, said in turns(text)] == [(1, "one"), (8, "two")]


@pytest.mark.parametrize("marks", [["recall"], ["hint"], ["compressed", "recall"]])
def test_injected_messages_are_left_out_by_mark(marks: list[str]) -> None:
    assert turns(line(message("injected"), marks) + line(message("said"), ["compressed"])) == [
        (2, "Ann", "2026-03-01", "said")
    ]


def test_injected_messages_are_left_out_by_name() -> None:
    assert turns(line(message("injected", "long_term_memory"))) == []


def test_calls_results_and_media_are_short() -> None:
    blocks = [
        {"type": "thinking", "thinking": "secret thoughts"},
        {"type": "text", "text": "look"},
        {"type": "tool_use", "id": "c", "name": "search", "input": {"query": "余额", "pages": list(range(500))}},
        {"type": "tool_result", "id": "c", "name": "search", "output": "begin " + "x" * 9000 + " end"},
        {"type": "tool_result", "id": "c", "name": "read", "output": [{"type": "text", "text": "inner"}]},
        {
            "type": "tool_result",
            "id": "c",
            "name": "r",
            "output": {"$file": "session/tool_result/ab.txt", "as": "text", "size": 9},
        },
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "QUJD" * 1000}},
    ]
    [unit, *more] = read_document(JOURNAL, line(message(blocks))).units
    text = "\n".join(u.text for u in (unit, *more))
    assert text.startswith('look\nsearch("query": "余额"')
    assert "secret" not in text
    assert "QUJD" not in text
    assert "[image]" in text
    assert "inner" in text
    assert "session/tool_result/ab.txt" in text
    assert "begin" in text
    assert " end" in text
    assert len(text) < 3_000


def test_what_a_tool_answered_is_the_tools() -> None:
    result = message([{"type": "tool_result", "id": "c", "name": "f", "output": "42 otters"}], "system")
    assert turns(line(result)) == [(1, "tool", "2026-03-01", "42 otters")]


_json = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=5)
    | st.sampled_from(["text", "tool_use", "tool_result", "image"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "type",
                    "text",
                    "output",
                    "input",
                    "name",
                    "role",
                    "content",
                    "msg",
                    "marks",
                    "timestamp",
                    "metadata",
                    "$file",
                ]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from(["id", "msg", "marks", "content", "role", "name", "timestamp"]), _json))
def test_valid_json_of_any_shape_is_no_obstacle(record: dict[str, Any]) -> None:
    text = json.dumps({"id": "x", "msg": record}) + "\n" + json.dumps(record) + "\n" + line(message("last"))
    assert turns(text)[-1] == (3, "Ann", "2026-03-01", "last")


def test_results_inside_results_are_followed_for_a_few_levels_only() -> None:
    content: Any = "innermost"
    for _ in range(300):
        content = [{"type": "tool_result", "output": content}, {"type": "text", "text": "outer"}]
    [(_, _, _, said)] = turns(line(message(content)))
    assert "outer" in said
    assert "innermost" not in said


def test_a_long_turn_is_marked_pieces_of_one_line() -> None:
    document = read_document(JOURNAL, line(message("A sentence. " * 400)) + line(message("short")))
    parts = [unit for unit in document.units if unit.start_line == 1]
    assert len(parts) > 3
    assert [unit.context for unit in parts] == [f"[Part {n + 1}/{len(parts)}]" for n in range(len(parts))]
    assert {unit.speaker for unit in parts} == {"Ann"}


@pytest.mark.parametrize(
    ("fields", "day"),
    [
        ({"timestamp": "2026-03-01 10:00:00"}, "2026-03-01"),
        ({"timestamp": None, "created_at": "2025-12-31T23:59:59Z"}, "2025-12-31"),
        ({"timestamp": None, "metadata": {"createdAt": "2024-02-29"}}, "2024-02-29"),
        ({"timestamp": 1_700_000_000}, "2023-11-14"),
        ({"timestamp": 1_700_000_000_000}, "2023-11-14"),
        ({"timestamp": None}, ""),
        ({"timestamp": "yesterday"}, ""),
        ({"timestamp": "2023-02-30"}, ""),
        ({"timestamp": 1e300}, ""),
        ({"timestamp": ["2026-03-01"]}, ""),
    ],
)
def test_a_turns_day_is_that_of_its_own_time_or_unknown(fields: dict[str, Any], day: str) -> None:
    assert [date for _, _, date, _ in turns(line({**message("x"), **fields}))] == [day]


def test_lone_surrogates_in_a_journal_can_be_stored() -> None:
    text = json.dumps({"id": "1", "msg": message("bad \ud83d and 😀")}) + "\n"
    [(_, _, _, said)] = turns(text)
    said.encode("utf-8")
    assert "😀" in said


def test_a_journal_of_plain_messages_from_an_older_vault_is_read() -> None:
    text = json.dumps(message("old one")) + "\n" + json.dumps(message("old two")) + "\n"
    document = read_document("dialog/2026-01-05.jsonl", text)
    assert document.kind == "journal"
    assert document.date == "2026-01-05"
    assert [unit.text for unit in document.units] == ["old one", "old two"]


def test_new_lines_of_a_journal_are_read_with_their_numbers_in_the_file() -> None:
    whole = "".join(line(message(f"turn {n}")) for n in range(20))
    tail = "".join(whole.splitlines(keepends=True)[15:])
    document = read_document(JOURNAL, tail, first_line=16)
    assert document.units == read_document(JOURNAL, whole).units[15:]


def test_messages_in_a_resource_are_turns_and_other_jsonl_is_text() -> None:
    chat = read_document("resource/chat.jsonl", json.dumps(message("hi")) + "\n")
    assert (chat.kind, [unit.speaker for unit in chat.units]) == ("resource", ["Ann"])
    rows = read_document("resource/rows.jsonl", '{"city": "Oslo"}\n{"city": "Rome"}\n')
    assert "Oslo" in rows.units[0].text
    assert rows.units[0].speaker == ""


# --- Other formats ------------------------------------------------------------------------------------------------


def test_text_is_read_by_paragraphs_and_logs_by_a_few_lines() -> None:
    text = read_document("resource/a.txt", "first\nparagraph\n\n\nsecond\n")
    assert [(unit.text, unit.start_line, unit.end_line) for unit in text.units] == [
        ("first\nparagraph", 1, 2), ("second", 5, 5),
    ]  # fmt: skip
    log = "".join(f"2026-03-01 10:00:{n:02d} ERROR E_CONN_{n} refused\n" for n in range(60))
    for path in ("resource/a.log", "resource/a.txt"):
        units = read_document(path, log).units
        assert len(units) > 5
        [unit] = [unit for unit in units if "E_CONN_37 " in unit.text]
        assert unit.start_line <= 38 <= unit.end_line


def test_escaped_json_is_searchable_as_text() -> None:
    document = read_document("resource/a.json", json.dumps({"city": "北京", "face": "😀"}, indent=1))
    assert '"北京"' in document.units[0].text
    assert "😀" in document.units[0].text
    assert (document.units[0].start_line, document.units[0].end_line) == (1, 4)
    minified = read_document("resource/b.json", json.dumps({f"key{n}": "value " * 5 for n in range(200)}))
    assert len(minified.units) > 3
    assert all(len(unit.text) <= 1200 for unit in minified.units)


def test_half_a_surrogate_pair_in_json_stays_as_it_is_written() -> None:
    document = read_document("resource/a.json", '{"a": "\\ud83d", "b": "\\u4e2d"}')
    assert document.units[0].text == '{"a": "\\ud83d", "b": "中"}'


@pytest.mark.parametrize(("suffix", "mark"), [("csv", ","), ("tsv", "\t")])
def test_records_of_a_table_keep_together_under_their_header(suffix: str, mark: str) -> None:
    rows = [f'n{n}{mark}"two\nlines {n}"' for n in range(200)]
    text = "\n".join([f"name{mark}note", *rows]) + "\n"
    document = read_document(f"resource/a.{suffix}", text)
    assert len(document.units) > 3
    for number, unit in enumerate(document.units):
        assert unit.text.count('"') % 2 == 0
        assert (f"name{mark}note" in unit.context) == (number > 0)
        assert "\n".join(text.split("\n")[unit.start_line - 1 : unit.end_line]) == unit.text


def test_a_table_with_an_unclosed_quotation_mark_is_read_by_lines() -> None:
    text = 'a,b\n"open,1\n' + "".join(f"row{n},{n}\n" for n in range(300))
    document = read_document("resource/a.csv", text)
    assert all(len(unit.text) <= 1200 for unit in document.units)
    assert any("row299" in unit.text for unit in document.units)


def test_yaml_is_read_by_entries() -> None:
    text = "first:\n" + "".join(f"  - item {n} of the list\n" for n in range(25)) + "second:\n  topic: reactor\n"
    document = read_document("daily/2026-03-01/interests.yaml", text)
    assert document.date == "2026-03-01"
    [unit] = [unit for unit in document.units if "reactor" in unit.text]
    assert unit.text.startswith("second:")


def test_html_is_read_as_visible_text_under_its_headings() -> None:
    text = (
        "<!DOCTYPE html><html><head><title>The page</title><style>p {color: red}</style>\n"
        "<script>var hidden = 1;</script><body>\n<!-- a comment --><h1>Top</h1>\n"
        "<p>A <b>bold</b>\nword &amp; more</p>\n<h2>Sub</h2><ul><li>one<li>two</ul>"
    )
    document = read_document("resource/2026-03-01/page.html", text)
    assert (document.title, document.date, document.headings) == ("The page", "2026-03-01", ("Top", "Sub"))
    found = {unit.text: (unit.start_line, unit.end_line, unit.headings) for unit in document.units}
    assert found["A bold word & more"] == (4, 5, ("Top",))
    assert found["two"] == (6, 6, ("Top", "Sub"))
    assert not any("hidden" in unit or "color" in unit or "comment" in unit for unit in found)


@pytest.mark.parametrize("text", ["<a " * 20_000, "<!--" * 20_000, "<a b='" * 10_000, "<!-- a --!>" * 10_000 + "end"])
def test_broken_html_is_read(text: str) -> None:
    document = read_document("resource/a.html", text)
    assert all(len(unit.text) <= 1200 for unit in document.units)
    assert text.endswith("end") == any("end" in unit.text for unit in document.units)


@given(
    st.sampled_from([".md", ".txt", ".log", ".json", ".jsonl", ".csv", ".tsv", ".yaml", ".html", ".py", ""]),
    st.text(alphabet=st.characters(exclude_categories=()), max_size=300)
    | st.lists(
        st.sampled_from(['"', ",", "\n", "\r", "{", "}", "<p>", "<", "\\u", "00e4", ": ", "- ", "x", "中", "\t"])
    ).map("".join),
)
def test_any_content_of_any_suffix_is_read(suffix: str, text: str) -> None:
    for folder in ("resource/", "session/dialog/", ""):
        document = read_document(f"{folder}file{suffix}", text)
        count = text.count("\n") + 1
        assert all(1 <= unit.start_line <= unit.end_line <= count for unit in document.units)
        assert all(0 < len(unit.text) <= 1200 for unit in document.units)


# --- What a file says about itself --------------------------------------------------------------------------------


def test_fields_come_from_the_front_matter() -> None:
    text = (
        "---\nname: Port list\ndescription: what is allowed\ntags: [net, '#ops']\naliases: ports\n"
        "date: 2026-02-03\n---\n"
        "# Heading\n\ntext with #inline/tag and a #1 and C#\n"
    )
    document = read_document("digest/wiki/ports.md", text)
    assert document.title == "Port list"
    assert document.description == "what is allowed"
    assert document.tags == ("net", "ops", "inline/tag")
    assert document.aliases == ("ports",)
    assert document.date == "2026-02-03"
    assert document.kind == "note"


@pytest.mark.parametrize(
    ("path", "text", "title"),
    [
        ("a/允许端口.md", "text", "允许端口"),
        ("a/b.md", "# Real title\n\ntext", "Real title"),
        ("a/b.md", "text\n\n# Later heading\n", "b"),
        ("a/b.md", "---\ntitle: 2026\n---\n# H\n", "2026"),
        ("a/b.md", "---\nname:\n---\n# H\n", "H"),
    ],
)
def test_the_title_is_given_or_the_opening_heading_or_the_files_name(path: str, text: str, title: str) -> None:
    assert read_document(path, text).title == title


@pytest.mark.parametrize(
    ("path", "front", "day"),
    [
        ("daily/2026-03-01/card.md", "", "2026-03-01"),
        ("daily/2026-03-01.md", "created: 2026-04-01T10:00:00+08:00", "2026-03-01"),
        ("daily/2026-03-01/card.md", "date: 2026-02-01", "2026-02-01"),
        ("memory/2026-03-01.md", "", "2026-03-01"),
        ("notes/2022 07 18.md", "", "2022-07-18"),
        ("notes/20220718.md", "", "2022-07-18"),
        ("digest/a.md", "created: 2026-04-01T10:00:00+08:00", "2026-04-01"),
        ("Cards/a.md", "date created: 2023-02-14", "2023-02-14"),
        ("digest/a.md", "date: soon", ""),
        ("digest/a.md", "", ""),
        ("digest/2026-02-30.md", "", ""),
    ],
)
def test_the_day_is_given_or_in_the_path_or_that_of_creation(path: str, front: str, day: str) -> None:
    assert read_document(path, f"---\n{front}\n---\ntext\n").date == day


def test_a_date_value_of_any_type_is_a_day() -> None:
    assert read_document("a.md", "---\ndate: 2026-03-01 10:00:00\n---\nx").date == "2026-03-01"
    assert datetime.fromisoformat(read_document("a.md", "---\ndate: 1 March 2026\n---\nx").date) == datetime(2026, 3, 1)


def test_links_of_body_and_front_matter_have_their_lines() -> None:
    document = read_document(
        "a.md", "---\nrelated: '[[Front]]'\n---\ntext [[Body]]\n\n```\n[[Code]]\n```\n[[Last#h|x]]\n"
    )
    assert [(link.target_path, link.line) for link in document.links] == [("Front", 2), ("Body", 4), ("Last", 9)]


def test_a_file_below_resource_is_a_resource() -> None:
    assert read_document("resource/a.md", "x").kind == "resource"
