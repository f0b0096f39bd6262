"""A document's lines are put together where they were only broken to fit a width."""

import pytest

from agentscope_reme.pipelines.resource_card import card_by_rules
from agentscope_reme.pipelines.resource_text import read_resource
from agentscope_reme.pipelines.wrapped_lines import breaks_of, joined_lines
from agentscope_reme.vault import Vault
from tests.pipelines.documents import pdf_of

LETTER = """The committee met on the third of May and, after a long
discussion, decided to close the Basel office. Anna Huber
will look for a tenant.
"""


@pytest.mark.parametrize("name", ["a.md", "a.txt", "a.rst", "A.MARKDOWN"])
def test_a_paragraph_that_was_wrapped_is_told_in_whole_sentences(vault_dir, name):
    card = card_by_rules(read_resource(Vault(vault_dir), f"resource/{name}", LETTER.encode()))
    assert [point.text for point in card.points] == [
        "The committee met on the third of May and, after a long discussion, decided to close the Basel office.",
        "Anna Huber will look for a tenant.",
    ]
    assert card.description == card.points[0].text
    assert card.lists["names"] == ("Basel", "Anna Huber")


def test_a_name_and_a_day_on_two_lines_are_found(vault_dir):
    text = "We have agreed on all points with Mr Bob\nLee, who will sign the whole contract on May\n3, 2027 in Oslo.\n"
    card = card_by_rules(read_resource(Vault(vault_dir), "resource/a.md", text.encode()))
    assert "Bob Lee" in " ".join(card.lists["names"])
    assert card.lists["dates"] == ("2027-05-03",)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("one\ntwo", ["one two"]),
        ("- first item that\n  goes on\n- second", ["- first item that goes on", "- second"]),
        ("1. first\n2. second\n   goes on", ["1. first", "2. second goes on"]),
        ("> a quote\n> that goes on", ["> a quote that goes on"]),
        ("hard break  \nnext\nand on", ["hard break  ", "next and on"]),
        ("hard break\\\nnext", ["hard break\\", "next"]),
        ("| a | b |\n|---|---|\n| 1 | 2 |", ["| a | b |", "|---|---|", "| 1 | 2 |"]),
        ("# Heading\ntext", ["# Heading", "text"]),
        ("会议决定在\n十二月上线。", ["会议决定在十二月上线。"]),
        ("使用 Orion\n系统和\nPostgres", ["使用 Orion 系统和 Postgres"]),
        ("a\n\nb", ["a", "", "b"]),
        ("", [""]),
    ],
)
def test_lines_of_a_paragraph_of_markdown_are_one(text, expected):
    assert joined_lines(text, "soft") == expected


@pytest.mark.parametrize(
    "text",
    [
        "milk\neggs\nbread\nbutter",
        "Anna Huber\nMarktgasse 12\n4051 Basel",
        "Dear Ann,\nThe kiln is repaired.\nBest,\nLin",
        "Name: Ann\nPlace: Basel\nPhone: 061 123 45 67",
        "2026-05-01 The kiln was lit and held for hours:\n2026-05-02 It was opened.",
        "- one\n- two\n- three",
        "The kiln was lit on the first of May, early.\nIt was opened on the second, when it was cold.",
        "牛奶\n鸡蛋\n面包",
    ],
)
def test_lines_of_plain_text_that_are_not_full_stay_lines(text):
    assert joined_lines(text, "full") == text.split("\n")


def test_a_full_line_of_chinese_goes_on():
    text = "我们在昨天的会议上决定从十二月起在巴塞尔的办公室\n里使用新的系统，由王小明负责。"
    assert joined_lines(text, "full") == [text.replace("\n", "")]


def test_a_log_and_records_are_read_line_by_line():
    assert [breaks_of(f"resource/a{suffix}") for suffix in (".log", ".csv", ".json", ".docx")] == ["hard"] * 4
    line = "2026-05-03 10:00:00 ERROR E_CONN_42 failed and nobody knows why"
    assert joined_lines(f"{line}\n{line}", "hard") == [line, line]


def test_a_pdf_is_told_in_whole_sentences(vault_dir):
    data = pdf_of("The lease of the office in Basel ends on the third\nof May, and nobody wants it.")
    found = read_resource(Vault(vault_dir), "resource/a.pdf", data)
    assert "\n" in found.text, "or there is nothing to put together"
    told = [point.text for point in card_by_rules(found).points]
    assert told == ["The lease of the office in Basel ends on the third of May, and nobody wants it."]


def test_very_long_passages_cost_linear_time():
    text = "\n".join(["word " * 12] * 50_000)
    assert len(joined_lines(text, "full")) == 1
