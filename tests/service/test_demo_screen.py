"""Both screens show every part, and show text as it is."""

import io
import re
from collections.abc import Callable

import pytest
from rich.cells import cell_len
from rich.console import Console

from agentscope_reme.service import demo_screen as shown
from agentscope_reme.service.demo_screen import Answered, Folding, Gauge, Leaf, PlainScreen, RichScreen, Screen, ToolUse

STRANGE = "path [red]not markup[/] 搬家 [x.md:1-2]"


def show_everything(screen: Screen) -> None:
    screen.title("A title", [STRANGE])
    screen.part("A part")
    screen.day("2026-03-09")
    screen.turn("08:05", STRANGE + " and more" * 30, Gauge(1234, 8000))
    screen.step("tool", STRANGE)
    folding = Folding(
        3, Gauge(5740, 8000), Gauge(2000, 8000), 24, "session/dialog/a.jsonl", 1, 24, 941, "x", (STRANGE,)
    )
    screen.folding(folding)
    screen.checks([("holds", True), ("holds not", False)])
    screen.answered(1, Answered(STRANGE, "words", f"“quote” {STRANGE}", (("cited", True),)))
    screen.tree(
        "/vault", [Leaf(0, "a/", ""), Leaf(1, "搬家.md", "a note"), Leaf(1, "b.md", "another"), Leaf(0, "c", "x")]
    )
    screen.end([STRANGE])


@pytest.fixture
def plain(capsys: pytest.CaptureFixture[str]) -> str:
    show_everything(PlainScreen())
    return capsys.readouterr().out


def rich_text() -> str:
    file = io.StringIO()
    show_everything(RichScreen(Console(file=file, force_terminal=True, width=100, color_system="standard")))
    return re.sub(r"\x1b\[[0-9;]*m", "", file.getvalue())


def test_plain_lines_have_no_colour_and_no_boxes(plain: str) -> None:
    assert "\x1b" not in plain
    assert not re.search("[\u2500-\u259f]", plain)


@pytest.mark.parametrize("get", [rich_text, None])
def test_every_part_is_shown_and_text_is_not_taken_for_markup(get: Callable[[], str] | None, plain: str) -> None:
    text = get() if get else plain
    for word in (
        "A title",
        "A part",
        "Monday 9 March 2026",
        "08:05",
        "1,234",
        "5,740",
        "2,000",
        "941",
        "搬家.md",
        "/vault",
    ):
        assert word in text
    assert "session/dialog/a.jsonl lines 1-24" in text
    assert text.count("[red]not markup[/]") >= 6
    assert "holds not" in text


def test_a_check_that_fails_looks_different(plain: str) -> None:
    assert "ok    holds\n" in plain
    assert "FAIL  holds not\n" in plain
    assert "✗ holds not" in rich_text()


def test_the_plain_tree_is_aligned_although_chinese_is_wide(plain: str) -> None:
    columns = {
        cell_len(line.removesuffix(about))
        for line in plain.splitlines()
        for about in ("a note", "another")
        if line.endswith(f" {about}")
    }
    assert len(columns) == 1


@pytest.mark.parametrize(("tokens", "bar"), [(0, ""), (1, "▇"), (4000, "▇" * 5), (8000, "▇" * 10), (9000, "▇" * 10)])
def test_the_gauge_shows_how_full_the_window_is(tokens: int, bar: str) -> None:
    assert Gauge(tokens, 8000).bar() == bar


@pytest.mark.parametrize(
    ("text", "cells"), [("short", 10), ("a longer line of text", 10), ("中文字符很宽所以要数清楚", 11)]
)
def test_a_line_is_clipped_by_what_it_takes_on_the_screen(text: str, cells: int) -> None:
    assert cell_len(shown.clip(text, cells)) <= cells
    assert shown.clip("a\n b", 10) == "a b"


def test_a_tool_result_says_what_stayed_and_where_the_rest_is() -> None:
    assert ToolUse("f(x=1)", 900, 900, "").lines() == ["f(x=1): 900 bytes"]
    assert ToolUse("f()", 36900, 2700, "session/tool_result/a.txt").lines() == [
        "f(): 36.9 kB, 2.7 kB of it stay",
        "the whole result is in session/tool_result/a.txt",
    ]


def test_output_that_is_no_terminal_is_plain() -> None:
    assert isinstance(shown.screen(plain=False), PlainScreen)
