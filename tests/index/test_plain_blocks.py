"""Blocks that are read without the Markdown parser are those the parser finds."""

import subprocess
import sys
from unittest.mock import patch

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agentscope_reme.index import markdown_blocks
from agentscope_reme.index.markdown_blocks import Block, read_blocks
from agentscope_reme.index.plain_blocks import Start, read_plain
from agentscope_reme.vault.frontmatter import parse
from tests.vault.real_vault import real_notes

_ROWS = (
    "# h", "## h2 ##", "text", "plain | bar", "a | b", "- item", "- it | em", "  - nested", "\t- tab", "* star",
    "1. one", "2. two", "3) three", "   1. in", "10. ten", "> quote", "> - q", "- > q", "```", "```py", "~~~",
    "``` a ` b", "    code", "\tcode", " \tcode", "| a | b |", "|---|---|", "---", "--", "===", "=", "-", "*", "1.",
    "- ", "-     five", "-      six", "- [ ] todo", "#tag", "#", "####### 7", "***", "___", "* * *", "", "", " ",
    "\t", "<div>", "</div>", "<!-- x", "-->", "<!-- y -->", "<!-- y --> z", "<b>in</b>", "  text", "     text5",
    "\u3000x", "\xa0x", "- \u3000x", "-\xa0x", "2023 year", "2023. x", "3.5 km", "1234567890. x", ". x", ") x", ".x",
    "**bold** x", "** x", "`c` x", "~~s~~ x", "_u_ x", "+1 x", "--x", "- 2023-01-01 x", "- # h", "- - x", "- ---",
    "- ```", "[x]: y", "[[a|b]]", "|", "-|-", ":-:", "x" * 2100, "- " + "x" * 2100, "<!--" + " " * 2000 + "-->",
    "\x0b", "\u0663. x", "- \u0663. x", "=> x", "- item\r", "text\r", "\r", "```\r", "---\r",
)  # fmt: skip
rows = st.one_of(
    st.sampled_from(_ROWS),
    st.tuples(
        st.integers(0, 6).map(" ".__mul__), st.sampled_from(["- ", "* ", "+   ", "1. ", "2. ", "1) ", "> ", ""]),
        st.sampled_from(_ROWS),
    ).map("".join),
)  # fmt: skip


def parsed(text: list[str]) -> list[Block]:
    """The blocks as the parser alone finds them."""
    with patch.object(markdown_blocks, "read_plain", lambda text, begin, starts: (begin, len(text))):
        return read_blocks(text)


@example(["- a", "  2. b", "  1. c", "2. d"])
@example(["10) a", "    - b", "    c", "", "    d"])
@example(["- a", "", "", "  b", "- c", " d", "# e"])
@example(["text", "- item", "---", "a | b", "-"])
@given(st.lists(rows, max_size=14))
def test_plain_blocks_are_those_of_the_parser(text: list[str]) -> None:
    assert read_blocks(text) == parsed(text)


def test_the_blocks_of_a_real_vault_are_those_of_the_parser_which_few_notes_need() -> None:
    notes = [parse(text).body.split("\n") for _, text in real_notes()]
    needed = 0
    for text in notes:
        assert read_blocks(text) == parsed(text)
        starts: list[Start] = []
        needed += read_plain([row.rstrip("\r") for row in text], 0, starts)[0] < len(text)
    assert needed <= len(notes) / 10


@pytest.mark.parametrize("doubtful", ["<div>", "> quote", "| a |\n|---|", "- ", "\tcode"])
def test_a_row_in_doubt_leaves_the_rest_of_a_note_plain(doubtful: str) -> None:
    text = f"# One\n\n- a\n- b\n\nend\n\n{doubtful}\n\n# Two\n\ntext\n- c".split("\n")
    assert read_blocks(text) == parsed(text)
    starts: list[Start] = []
    at, doubt = read_plain(text, 0, starts)
    assert (text[at], text[doubt]) == (doubtful.split("\n")[0],) * 2
    assert read_plain(text, text.index("# Two"), starts)[0] == len(text)


def test_rows_are_read_once_however_many_of_them_are_in_doubt() -> None:
    text = ["- item", "  > quote"] * 2_000
    looks = 0

    def counted(text: list[str], begin: int, starts: list[Start]) -> tuple[int, int]:
        nonlocal looks
        at, doubt = read_plain(text, begin, starts)
        looks += max(at, doubt) - begin + 1
        return at, doubt

    with patch.object(markdown_blocks, "read_plain", counted):
        assert len(read_blocks(text)) == len(text)
    assert looks <= 3 * len(text)


def test_a_plain_note_is_read_without_loading_the_parser() -> None:
    program = (
        "import sys; from agentscope_reme.index.chunker import read_document;"
        r"found = read_document('a.md', '---\ntitle: T\n---\n# H\n\ntext\n\n- a\n  - b\n\n```\ncode\n```\n');"
        "assert found.headings == ('H',) and len(found.units) == 3, found.units;"
        "assert 'mistletoe' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
