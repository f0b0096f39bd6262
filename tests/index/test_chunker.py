"""Markdown notes as units and chunks: sections, exact lines, and structure that is not cut."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentscope_reme.index.chunker import Document, Unit, read_document
from tests.vault.real_vault import real_notes

_BITS = (
    "# H\n", "## H two\n", "text ", "A b. C d! ", "\n", "\n\n", "- item\n", "  - nested\n", "* star\n", "1. one\n",
    "> quote\n", "```\n", "~~~~\n", "    code\n", "\t- tab\n", "| a | b |\n", "|---|---|\n", "---\n", "===\n", "-\n",
    "<!-- x\n", "-->\n", "<div>\n", "**Ann**: hi\n", "Bob: yo\n", "\r\n", "\u2028", "\x0c", "😀", "👨‍👩‍👧",
    "中文。句子，", "e\u0301", "[[a|b]]", "[x]: y\n", "\\", "`c`", "  \n", "x" * 1500, "\ufeff", "\x00", "\ud800",
)  # fmt: skip
markdown = st.lists(st.sampled_from(_BITS), max_size=40).map("".join)
# Whether "Bob:" is a speaker or a label depends on how much of the whole note is talk.
undialogued = st.lists(st.sampled_from([bit for bit in _BITS if "yo" not in bit]), max_size=40).map("".join)


def note(text: str, **options: int | bool) -> Document:
    return read_document("notes/a.md", text, **options)  # type: ignore[arg-type]


def unit_with(document: Document, words: str) -> Unit:
    [unit] = [unit for unit in document.units if words in unit.text]
    return unit


def lines(text: str, unit: Unit) -> str:
    return "\n".join(text.split("\n")[unit.start_line - 1 : unit.end_line])


# --- Headings -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "# Real\n\n~~~~sh\n# not a heading\n~~~\n# still code\n~~~~\n\n# Next\n",
        "# Real\n\n   ```\n# not a heading\n   ```\n\n# Next\n",
        "# Real\n\n- item\n\n  ```\n  # not a heading\n  ```\n\n# Next\n",
        "# Real\n\n> ```\n> # not a heading\n> ```\n\n# Next\n",
        "# Real\n\n```\n```python\n# not a heading\n```\n\n# Next\n",
        "# Real\n\n<!--\n# not a heading\n-->\n\n# Next\n",
        "# Real\n\n    # not a heading\n\n#not a heading\n\n# Next\n",
        "# Real\r\n\r\n~~~\r\n# not a heading\r\n~~~\r\n\r\n# Next\r\n",
    ],
)
def test_a_hash_inside_code_or_a_comment_is_no_heading(text: str) -> None:
    document = note(text)
    assert document.headings == ("Real", "Next")
    assert {unit.headings for unit in document.units if "not a heading" in unit.text} == {("Real",)}


def test_an_unclosed_fence_keeps_all_text_searchable_in_bounded_pieces() -> None:
    text = "# A\n```\ncode\n\n## B\ntext b\n" + "".join(f"row {n} of the rest\n" for n in range(300))
    document = note(text)
    assert unit_with(document, "text b").start_line <= 6 <= unit_with(document, "text b").end_line
    assert lines(text, unit_with(document, "row 299 of")).endswith("row 299 of the rest")
    assert all(len(unit.text) <= 1200 for unit in document.units)
    assert len(document.units) > 5


def test_setext_headings_and_rules_are_told_apart_and_lines_count_the_front_matter() -> None:
    text = "---\na: 1\nb: 2\nc: 3\n---\nTitle\n=====\n\npara\n\n---\n\n```\nx\n```\n---\n\nSub\n---\ntext\n"
    document = note(text)
    assert document.headings == ("Title", "Sub")
    assert unit_with(document, "text").headings == ("Title", "Sub")
    assert text.split("\n")[unit_with(document, "text").start_line - 1] == "text"
    assert unit_with(document, "x\n").headings == ("Title",)


def test_heading_only_sections_are_searchable_and_same_titles_stay_apart() -> None:
    text = "# 2026-01-26\n\n# 2026-01-27\n\ntext\n\n# Log\na\n# Log\nb\n###### deep\n"
    document = note(text)
    assert document.headings == ("2026-01-26", "2026-01-27", "Log", "Log", "deep")
    paths = [(unit.text, unit.headings) for unit in document.units]
    assert paths == [
        ("# 2026-01-26", ("2026-01-26",)),
        ("text", ("2026-01-27",)),
        ("a", ("Log",)),
        ("b", ("Log",)),
        ("###### deep", ("Log", "deep")),
    ]
    logs = [chunk for chunk in document.chunks if chunk.text.startswith("# Log")]
    assert [chunk.text for chunk in logs] == ["# Log\na", "# Log\nb"]
    assert len({chunk.id for chunk in document.chunks}) == len(document.chunks)


def test_a_heading_stays_with_its_first_content() -> None:
    document = note("# Top\n\n## Sub\n\nfirst\n\nsecond\n")
    [chunk] = document.chunks
    assert chunk.text == "## Sub\n\nfirst\n\nsecond"
    assert (chunk.start_line, chunk.end_line) == (3, 7)
    assert chunk.metadata["headings"] == ("Top", "Sub")


def test_heading_text_is_without_its_markup() -> None:
    document = note("# **Bold** [[page|shown]] and [site](http://x.y) #\n\n## `code` ^block-1\n\ntext\n")
    assert document.headings == ("Bold shown and site", "code")


def test_a_chunk_never_crosses_a_heading() -> None:
    document = note("".join(f"# S{n}\n\nphrase {n}\n\n" for n in range(10)))
    assert len(document.chunks) == 10
    shrunk = note("".join(f"# S{n}\n\nphrase {n}\n\n" for n in range(5)))
    assert len(shrunk.chunks) == 5
    assert {chunk.id for chunk in shrunk.chunks} < {chunk.id for chunk in document.chunks}


# --- Lists, tables, code, long text -------------------------------------------------------------------------------


def test_list_items_are_units_and_short_neighbours_share_one() -> None:
    document = note("- a\n- b\n- " + "long item " * 12 + "\n- c\n")
    assert [unit.text.count("\n") for unit in document.units] == [1, 0, 0]


def test_a_list_nested_twelve_levels_keeps_every_line_and_number() -> None:
    text = "".join("  " * level + f"- level {level} " + "word " * 20 + "\n" for level in range(12))
    document = note(text)
    for level in range(12):
        unit = unit_with(document, f"level {level} word")
        assert (unit.start_line, unit.end_line) == (level + 1, level + 1)


def test_an_item_that_begins_on_the_next_line_has_right_lines() -> None:
    document = note("intro\n\n-\n  first of item\n\n  - nested " + "word " * 20 + "\n")
    assert unit_with(document, "nested").start_line == 6


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_a_long_table_is_split_between_rows_and_each_piece_has_the_header(newline: str) -> None:
    rows = [f"| name{n} | {n} | city{n} |" for n in range(300)]
    head = ["Table of people:", "", "| name | age | city |", "|---|---|---|"]
    text = newline.join([*head, *rows, "", "after"]) + newline
    document = note(text)
    pieces = [unit for unit in document.units if "| name" in unit.text or "| city" in unit.text]
    assert len(pieces) > 10
    assert pieces[0].text.startswith("| name | age | city |")
    for number, unit in enumerate(pieces):
        assert unit.context.startswith(f"[Part {number + 1}/{len(pieces)}]")
        assert ("| name | age | city |" in unit.context) == (number > 0)
        assert all(row.strip().startswith("|") and row.strip().endswith("|") for row in unit.text.split("\n"))
        assert lines(text, unit).rstrip("\r") == unit.text
    assert sum(unit.text.count("city") for unit in pieces) == 301
    assert [unit.text for unit in document.units if "Table of people" in unit.text] == ["Table of people:"]


def test_a_table_right_below_its_caption_is_a_table() -> None:
    document = note("Caption\n| a | b |\n|---|---|\n" + "".join(f"| {n} | {'x' * 50} |\n" for n in range(40)))
    assert [unit.text for unit in document.units if "Caption" in unit.text] == ["Caption"]
    assert all("| a | b |" in unit.context for unit in document.units[2:])


def test_rows_after_a_blank_line_keep_the_header() -> None:
    document = note("| name | age |\n|---|---|\n| ann | 1 |\n\n| bob | 2 |\n\n| eve | 3 |\n\nafter | all\n")
    assert [(unit.text, unit.context) for unit in document.units][1:] == [
        ("| bob | 2 |", "| name | age |\n|---|---|"),
        ("| eve | 3 |", "| name | age |\n|---|---|"),
        ("after | all", ""),
    ]


def test_a_long_line_is_split_at_sentence_ends() -> None:
    text = "这是第一句话，讲的是天气。" * 400
    document = note(text)
    assert len(document.units) > 3
    assert all(unit.text.endswith("。") for unit in document.units)
    assert "".join(unit.text for unit in document.units) == text
    assert document.units[0].context == f"[Part 1/{len(document.units)}]"
    assert {(unit.start_line, unit.end_line) for unit in document.units} == {(1, 1)}


def test_a_visible_character_is_never_split() -> None:
    family = "👨‍👩‍👧"
    document = note(family * 1000)
    assert all(len(unit.text) % len(family) == 0 for unit in document.units)
    accented = note("e\u0301" * 3000)
    assert all(unit.text.startswith("e") and unit.text.endswith("\u0301") for unit in accented.units)


def test_code_is_split_by_lines() -> None:
    text = "```python\n" + "".join(f"value_{n} = compute({n})\n" for n in range(200)) + "```\n"
    document = note(text)
    assert len(document.units) > 3
    for unit in document.units:
        assert lines(text, unit) == unit.text


# --- Lines --------------------------------------------------------------------------------------------------------


def test_only_newlines_count_as_lines() -> None:
    document = note("a\r\nb\u2028c\x0cd\r\ne\n\nlast\n")
    assert unit_with(document, "last").start_line == 5
    assert unit_with(document, "b\u2028c\x0cd").end_line == 3


@pytest.mark.parametrize("text", ["", "\n", "\n\n", "   ", "\ufeff", "---\n---\n"])
def test_a_file_without_text_has_no_units_and_no_chunks(text: str) -> None:
    document = note(text)
    assert document.units == ()
    assert document.chunks == ()


def test_a_phrase_deep_in_a_note_is_found_with_its_own_lines() -> None:
    text = "".join(f"line {n}\n" if n != 50 else "the unique phrase\n" for n in range(1, 81))
    for separated in (text, text.replace("\n", "\n\n")):
        unit = unit_with(note(separated), "the unique phrase")
        assert "the unique phrase" in lines(separated, unit)


def test_unreadable_front_matter_hides_neither_itself_nor_the_body() -> None:
    document = note("---\nproject: [apollo\n---\nbody\n")
    assert document.front_matter.error
    assert unit_with(document, "apollo").start_line == 1
    assert unit_with(document, "body").start_line == 4


def test_a_note_of_front_matter_alone_has_something_to_show() -> None:
    document = note("---\ntitle: Ports\nproject: apollo\n---\n")
    assert "apollo" in document.units[0].text


def test_marks_of_generated_parts_are_not_text() -> None:
    document = note("<!-- reme:begin statements -->\n- kept\n<!-- reme:end statements -->\n")
    assert [unit.text for unit in document.units] == ["- kept"]


# --- Dialogue in notes --------------------------------------------------------------------------------------------


def test_speakers_of_dialogue_paragraphs_are_known() -> None:
    document = note("**Ann**: hi there\n\n**Bob Ray**: hello\n\n**小王**：你好\n\n__Eve:__ hey\n")
    assert [unit.speaker for unit in document.units] == ["Ann", "Bob Ray", "小王", "Eve"]
    assert document.units[0].text == "**Ann**: hi there"


def test_turns_on_following_lines_are_units_of_their_own() -> None:
    document = note("Ann: hi\nBob: hello\nand more\nAnn: bye\nBob: bye\n")
    assert [(unit.speaker, unit.start_line, unit.end_line) for unit in document.units] == [
        ("Ann", 1, 1), ("Bob", 2, 3), ("Ann", 4, 4), ("Bob", 5, 5),
    ]  # fmt: skip


def test_speakers_in_list_items_and_behind_times_are_known() -> None:
    document = note(
        "- 10:32 **Ann**: first\n- [2026-03-01 10:33] Bob: second\n- **Ann** (10:34): third\n- Bob: fourth\n"
    )
    assert [unit.speaker for unit in document.units] == ["Ann", "Bob", "Ann", "Bob"]


def test_bold_labels_of_a_list_of_facts_are_no_speakers() -> None:
    facts = "- **Payment Method**: Gift card\n- **Price:** 20\n1. **项目**：最小执行单位\n* __Owner__: Lin\n"
    assert {unit.speaker for unit in note(facts).units} == {""}
    talk = "- **Ann**: hi\n- **Bob**: hello\n- **Ann**: bye\n- **Bob**: bye\n"
    assert [unit.speaker for unit in note(talk).units] == ["Ann", "Bob", "Ann", "Bob"]
    assert [unit.speaker for unit in note("- **User**: hi\n").units] == ["User"]


@pytest.mark.parametrize(
    "text",
    [
        "Note: read this first\n\nWarning: hot\n\nNote: again\n",
        "Plain text here.\n\nMore text.\n\nEven more.\n\nResult: fine\n\nCity: Paris\n",
        "See https://example.com: it is there\n",
        "注意：不要删除\n\n注意：不要改名\n",
    ],
)
def test_labels_are_no_speakers(text: str) -> None:
    assert {unit.speaker for unit in note(text).units} == {""}


# --- Chunks -------------------------------------------------------------------------------------------------------


def test_chunk_ids_do_not_depend_on_lines_or_white_space() -> None:
    text = "# A\n\nfirst paragraph\n\n# B\n\nsecond   paragraph\n"
    moved = "---\ntitle: x\n---\n\nnew intro\n\n" + text.replace("second   paragraph", "second\nparagraph")
    before = {chunk.id: chunk for chunk in note(text).chunks}
    after = {chunk.id: chunk for chunk in note(moved).chunks}
    assert set(before) < set(after)
    assert all(before[key].start_line != after[key].start_line for key in before)


def test_equal_chunks_of_a_file_are_numbered_and_headings_are_part_of_the_identity() -> None:
    ids = [chunk.id for chunk in note("# A\n\nsame\n\n# A\n\nsame\n\n# B\n\nsame\n").chunks]
    assert ids[1] == f"{ids[0]}-2"
    assert ids[2].split("-")[0] != ids[0]


def test_the_heading_path_can_be_left_out_of_the_table_of_contents() -> None:
    text = "---\ntitle: Plan\n---\n# Top\n\n## Sub\n\ntext\n"
    assert note(text).chunks[0].metadata["toc"] == "Plan > Top > Sub"
    assert note(text, embed_toc=False).chunks[0].metadata["toc"] == ""


@given(markdown, st.sampled_from([200, 1200, 10_000]))
def test_units_and_chunks_lie_where_they_say_and_keep_their_bounds(text: str, chunk_chars: int) -> None:
    document = note(text, chunk_chars=chunk_chars)
    rows = text.split("\n")
    for unit in document.units:
        assert unit.text in "\n".join(rows[unit.start_line - 1 : unit.end_line])
        assert 0 < len(unit.text) <= min(chunk_chars, 1200)
        assert unit.text.strip()
    for chunk in document.chunks:
        assert chunk.text in "\n".join(rows[chunk.start_line - 1 : chunk.end_line])
        assert len(chunk.text) <= chunk_chars
    assert len({chunk.id for chunk in document.chunks}) == len(document.chunks)
    covered = [
        n for chunk in document.chunks for n in range(chunk.metadata["units"][0], chunk.metadata["units"][1] + 1)
    ]
    assert covered == list(range(len(document.units)))


@given(markdown)
def test_no_word_of_a_note_is_lost(text: str) -> None:
    document = note(text)
    kept = " ".join((*(unit.text for unit in document.units), *document.headings, str(document.front_matter.data)))
    missing = {word for word in re.findall(r"[^\W\d_]{2,}", text) if len(word) < 100 and word not in kept}
    assert not missing


@given(undialogued, st.lists(st.sampled_from(["intro\n\n", "\n", "- x\n\n"]), min_size=1, max_size=3).map("".join))
def test_text_inserted_above_a_heading_changes_no_chunk_below_it(text: str, above: str) -> None:
    body = "# Start\n\ncontent\n\n" + text
    before = [chunk.id for chunk in note(body).chunks]
    after = [chunk.id for chunk in note(above + body).chunks]
    assert after[len(after) - len(before) :] == before


@pytest.mark.parametrize(
    "text",
    [
        "".join(" " * (2 * level) + "- a\n" for level in range(400)),
        "".join(" " * (2 * (n // 2)) + ("- a\n" if n % 2 else "* a\n") for n in range(60)) * 10,
        ">" * 5000 + " a\n",
        "- " * 5000 + "a\n",
        "# " + "[a](" * 20_000 + "\n\ntext\n",
        "# " + " " * 50_000 + "x\n",
        "<!--\n" * 5000,
        "|" * 50_000 + "\n|-|-|\n",
        "[a]: b\n" * 10_000,
        "🇺🇸" * 20_000,
        "**" * 50_000,
    ],
    ids=[
        "nested",
        "alternating",
        "quotes",
        "dashes",
        "links",
        "spaces",
        "comments",
        "pipes",
        "definitions",
        "flags",
        "stars",
    ],
)
def test_hostile_structure_is_read_in_bounded_pieces(text: str) -> None:
    document = note(text)
    assert all(len(unit.text) <= 1200 for unit in document.units)


def test_units_of_a_real_vault_lie_where_they_say() -> None:
    for path, text in real_notes():
        rows = text.split("\n")
        document = read_document(path, text)
        for unit in document.units:
            assert unit.text in "\n".join(rows[unit.start_line - 1 : unit.end_line]), path
