"""What is known of a unit's text before anyone asks: a correction, a time, a heading alone."""

import pytest

from agentscope_reme.index.chunker import Unit
from agentscope_reme.index.entries import CORRECTS, HEADING_ONLY, TIME_WORDS
from agentscope_reme.index.reading import unit_flags


@pytest.mark.parametrize(
    "text",
    [
        "Correction: the oven is the left one", "she corrected the price", "we no longer bake rye",
        "the day was changed to Friday", "it changes from here, change from rye to oat", "he switched to oat",
        "they moved from Oslo", "updated to 4.2", "replaced by a kettle", "replaced with a kettle",
        "this note supersedes the other", "oat instead of rye", "not on Mondays any more", "not there anymore",
        "更正：烤箱在左边", "会议改到周五", "她不再喝咖啡", "地址已经迁到新城", "已改", "以此为准",
    ],
)  # fmt: skip
def test_a_text_that_replaces_what_was_said_is_known(text: str) -> None:
    assert unit_flags(Unit(1, 1, text)) & CORRECTS
    assert unit_flags(Unit(1, 1, text.upper())) & CORRECTS
    assert unit_flags(Unit(1, 1, f"。{text}。")) & CORRECTS


@pytest.mark.parametrize(
    "text",
    ["she is correct", "loose change", "moved by the song", "an instead", "nothing more", "改了", "more to Oslo", ""],
)
def test_other_texts_are_no_corrections(text: str) -> None:
    assert not unit_flags(Unit(1, 1, text)) & CORRECTS


def test_a_time_and_a_heading_alone_are_known() -> None:
    assert unit_flags(Unit(1, 1, "we met last week")) == TIME_WORDS
    assert unit_flags(Unit(1, 1, "# Rye ", headings=("Rye",))) == HEADING_ONLY
    assert unit_flags(Unit(1, 1, "rye bread", headings=("Rye",))) == 0
