"""Front matter of plain keys, read without the YAML parser: whatever is read that way is what the parser reads."""

from datetime import date

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from agentscope_reme.vault.frontmatter import parse
from agentscope_reme.vault.plain_block import read_plain_block
from agentscope_reme.vault.yaml_block import read_block

KEYS = ["title", "tags", "aliases", "date", "date created", "标签", "a-b", "supersedes", "x.y", "null", "1", "<<"]
TEXT = (
    "rye bread¦0123¦12¦1.10¦1e3¦true¦no¦null¦~¦2024-05-08¦2024-05-08 10:00:00¦12:30¦a: b¦a:b¦a:¦a #b¦a#b¦#a¦[[Alpha]]"
    "¦\"[[Alpha|b]]\"¦'it''s'¦\"a\\nb\"¦'a¦\"¦-¦- a¦[a, b c]¦[a,b]¦[a, 'b']¦[]¦[a¦{a: 1}¦&a b¦*a¦!t a¦|¦>¦@a¦`a`¦%a¦?"
    "¦? a¦-5¦🐤 duck¦§ toc¦∑¦中文，标点¦a,b¦a\tb¦a ¦ a¦a\\b¦a ]¦_a¦a\u00a0b¦\u2028¦https://a.b/c?d=e#f¦a\x85b¦\ufeff"
    "¦\ud800¦x'y\"z¦2024-13-40¦0x10¦.5¦+1¦=¦a:\u3000b¦---"
)
WORDS = TEXT.split("¦")
values = st.one_of(st.sampled_from(WORDS), st.text(alphabet=" ab1:#-[],'\"{}\\中🐤\u2190&*|>", max_size=12))
rows = st.one_of(
    st.builds("{}{}{}".format, st.sampled_from(KEYS), st.sampled_from([": ", ":", ":  ", " : "]), values),
    st.builds("{}- {}".format, st.sampled_from(["", "  ", "    ", "\t"]), values),
    st.sampled_from(
        ["", "  ", "# note", "tags:", "aliases:", "title:", "key: ", "tags: []", "words", "  words", "---"]
    ),
)


@settings(max_examples=12 * settings.default.max_examples)
@given(st.lists(rows, max_size=6), st.sampled_from(["\n", "\n", "\r\n"]), st.booleans())
@example(["tags:", "- a", "tags:", "- b"], "\n", True)
@example(["tags:", "  - a", "- b"], "\n", True)
@example(["tags: null", "title: null", "x: null"], "\n", True)
def test_what_is_read_as_plain_is_what_the_parser_reads(lines: list[str], end: str, closed: bool) -> None:
    source = end.join(lines) + (end if closed else "")
    found = read_plain_block(source)
    if found is None:
        return
    block = read_block(source)
    assert (block.error, block.is_mapping, block.warnings) == (None, True, ())
    assert found == block.data
    assert [*map(repr, found.items())] == [*map(repr, block.data.items())]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("title: 2026\ncount: 2026\n", {"title": "2026", "count": 2026}),
        ("date created: 2022-07-14\ntags:\n  - 待办/某天\n  - b c\n",
         {"date created": date(2022, 7, 14), "tags": ["待办/某天", "b c"]}),
        ("up: \"[[Alpha]]\"\naliases: [no, 7]\nempty:\nstars: [4, 4.5]\n",
         {"up": "[[Alpha]]", "aliases": ["no", "7"], "empty": None, "stars": [4, 4.5]}),
        ("url: https://a.b/c\ntime: 10:30\ntags: []\n", {"url": "https://a.b/c", "time": "10:30", "tags": []}),
    ],
)  # fmt: skip
def test_everyday_front_matter_needs_no_parser(source: str, expected: dict[str, object]) -> None:
    assert read_plain_block(source) == expected
    assert parse(f"---\n{source}---\nbody\n").front.data == expected


@pytest.mark.parametrize(
    "source",
    ["", "words\n", "a: 1\na: 2\n", "a: b # c\n", "a: |\n  b\n", "a:\n  b: c\n", "a: b: c\n", "a: [[b]]\n", "a:\tb\n"],
)
def test_what_may_mean_something_else_is_left_to_the_parser(source: str) -> None:
    assert read_plain_block(source) is None


def test_a_block_of_very_many_values_is_left_to_the_parser() -> None:
    assert read_plain_block("tags:\n" + "- a\n" * 20_000) is None
