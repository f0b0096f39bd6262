"""Who speaks is told without a rule of its own for each name."""

import re

import pytest

from agentscope_reme.index.chunker import read_document
from agentscope_reme.index.entries import ALIAS, HEAD, TITLE
from agentscope_reme.index.reading import LABEL_TOKENS, label_terms
from agentscope_reme.index.speakers import spoken
from agentscope_reme.index.tokenizer import Tokenizer


@pytest.mark.parametrize(
    ("speaker", "text", "shown"),
    [
        ("Ann", "Ann: hello", "Ann: hello"),
        ("Ann", "**Ann**: hello", "Ann: hello"),
        ("Ann", "- [10:30] __Ann:__ hello", "Ann: hello"),
        ("Ann", "2023-05-08 10:30 - Ann ： hello", "Ann: hello"),
        ("Ann", "Ann and Ben: hello", "Ann: Ann and Ben: hello"),
        ("Ann", "so says Ann: hello", "Ann: so says Ann: hello"),
        ("1", "1. 1: hello", "1: hello"),
        ("A-1", "> A-1: A-1: hello", "A-1: A-1: hello"),
        ("张三", "张三：你好", "张三: 你好"),
        ("Ann", "", "Ann:"),
        ("", "Ann: hello", "Ann: hello"),
    ],
)
def test_a_turn_is_shown_with_its_speaker_once(speaker: str, text: str, shown: str) -> None:
    assert spoken(speaker, text) == shown


def test_a_thousand_names_need_no_expression_each(monkeypatch) -> None:
    spoken("Ann", "Ann: hello")  # what is compiled once

    def refused(*_: object) -> None:
        raise AssertionError("an expression is compiled for a name")

    monkeypatch.setattr(re, "compile", refused)
    for number in range(1_000):
        assert spoken(f"Ann{number}", f"Ann{number}: hello") == f"Ann{number}: hello"


def test_of_very_many_headings_so_many_are_read_into_terms_as_a_note_is_found_by() -> None:
    asked: list[str] = []

    class Counting(Tokenizer):
        def terms(self, text: str, *args: int) -> list[str]:
            asked.append(text)
            return super().terms(text, *args)

    text = "".join(f"# Heading{number}\n\n" for number in range(5_000))
    found = label_terms(read_document("a.md", text), Counting())
    assert len(found) == LABEL_TOKENS
    assert len(asked) < LABEL_TOKENS
    plain = Tokenizer()
    headings = dict.fromkeys(term for number in range(5_000) for term in plain.terms(f"Heading{number}"))
    named = [(term, TITLE) for term in dict.fromkeys(plain.terms("Heading0"))] + [
        (term, ALIAS) for term in plain.terms("a")
    ]
    every = [term for term, weight in (*named, *((term, HEAD) for term in headings)) for _ in range(weight)]
    assert found == every[:LABEL_TOKENS]


TALK = (
    "**Noor**: The build box goes in October.\n\n**Pavel**: Then the jobs have to move.\n\n**Noor**: I have a list.\n"
)
NOOR = "---\naliases: [Noor]\n---\n# Noor Rahmani\nBuild engineer. Vegetarian.\n"


async def test_who_asks_about_somebody_who_speaks_and_of_whom_there_is_a_note_gets_it(put, open_index):
    put("talk.md", TALK)
    put("people/Noor Rahmani.md", NOOR)
    put("soup.md", "Lentils, carrots and cumin.\n")
    result = await open_index().search("what does Noor eat")
    assert (result.status, result.hits[0].path) == ("weak", "people/Noor Rahmani.md")
    result = await open_index().search("what does Pavel eat")
    assert (result.status, result.hits) == ("none", ())


async def test_a_name_alone_is_no_hit_and_the_note_says_so(put, open_index):
    put("talk.md", TALK)
    result = await open_index().search("what does Noor eat")
    assert (result.status, result.hits) == ("none", ())
    assert result.note == "nothing shares a word with the query other than a name"
    assert (await open_index().search("what do cats eat")).note == "nothing shares a word with the query"
