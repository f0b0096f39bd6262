"""Which day a passage is of: that of its file, or of the heading it stands under."""

import pytest

from agentscope_reme.index.chunker import read_document
from agentscope_reme.index.note_fields import heading_day, path_date
from agentscope_reme.index.reading import day_text, read_entries
from agentscope_reme.index.tokenizer import Tokenizer


@pytest.mark.parametrize(
    ("headings", "stem", "day"),
    [
        (("Log", "2026-03-17"), "log", "2026-03-17"),
        (("Log", "2026-03-17 Tuesday", "Evening"), "log", "2026-03-17"),
        (("2026-03-16", "17 March 2026"), "log", "2026-03-17"),
        (("2026", "March 17"), "log", "2026-03-17"),
        (("2026年", "3月17日"), "log", "2026-03-17"),
        (("三月十七日",), "2026年日记", "2026-03-17"),
        (("2025年", "3月17日"), "2026年日记", "2025-03-17"),
        (("3月17日",), "diary", ""),
        (("2025年", "2月29日"), "diary", ""),
        (("From 2026-03-16 to 2026-03-17",), "log", ""),
        (("2026-03-16 and 2026-03-18",), "log", ""),
        (("Version 1.2.3", "Chapter 7"), "2026", ""),
        (("March",), "2026", ""),
        ((), "2026-03-17", ""),
    ],
)
def test_the_innermost_heading_with_a_day_counts(headings: tuple[str, ...], stem: str, day: str) -> None:
    assert heading_day(headings, stem) == day


@pytest.mark.parametrize(
    ("path", "front", "day"),
    [
        ("log.md", "", "2026-03-17"),
        ("log.md", "created: 2026-01-01", "2026-03-17"),
        ("log.md", "date: 2026-01-01", "2026-01-01"),
        ("daily/2026-03-05.md", "", "2026-03-05"),
        ("daily/2026-03-05/plan.md", "created: 2026-01-01", "2026-03-05"),
    ],
)
def test_a_file_of_a_day_keeps_it_and_a_log_has_those_of_its_headings(path: str, front: str, day: str) -> None:
    text = (
        f"---\n{front}\n---\n# Log\n\n## 2026-03-17\n\nThe ferry leaves.\n"
        if front
        else "## 2026-03-17\n\nThe ferry.\n"
    )
    _, units = read_entries(path, text.encode(), Tokenizer())
    assert {day_text(unit.day) for unit in units if "ferri" in unit.terms} == {day}


def test_what_stands_before_the_first_day_is_of_the_day_it_was_created() -> None:
    text = "---\ncreated: 2026-01-01\n---\nAbout the ferry.\n\n## 2026-03-17\n\nThe tram.\n"
    _, units = read_entries("log.md", text.encode(), Tokenizer())
    assert [day_text(unit.day) for unit in units] == ["2026-01-01", "2026-03-17", "2026-03-17"][: len(units)]


@pytest.mark.parametrize(
    ("path", "day"),
    [
        ("journals/2026_03_17.md", "2026-03-17"),
        ("a/2026/03/17.md", "2026-03-17"),
        ("2026-03/17 b.md", "2026-03-17"),
        ("2026/03-17.md", "2026-03-17"),
        ("2026/02/30.md", ""),
        ("2026/13/01.md", ""),
        ("2026/03/170.md", ""),
        ("2026-01-05/2026/03/17/x.md", "2026-03-17"),
        ("log_2026_03_17_b.md", "2026-03-17"),
        ("12026_03_17.md", ""),
        ("2026_03.md", ""),
    ],
)
def test_days_in_paths(path: str, day: str) -> None:
    assert path_date(path) == day
    assert read_document(path, "text").date == day
