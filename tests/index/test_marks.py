"""Marks on letters: a word is found with and without those that are often left out; others make another letter."""

import pytest

from agentscope_reme.index.tokenizer import Tokenizer


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Müller", "Muller"), ("résumé", "resume"), ("e\u0301cole", "école"), ("São Paulo", "sao paulo"),
        ("Łódź", "lodz"), ("Øresund", "oresund"), ("Hà Nội", "ha noi"), ("nǐ hǎo", "ni hao"), ("œuvre", "oeuvre"),
        ("Αθήνα", "Αθηνα"), ("İstanbul", "istanbul"), ("ＣＡＦÉ", "cafe"),
        ("Ёлка", "елка"), ("שָׁלוֹם", "שלום"), ("مُحَمَّد", "محمد"), ("أحمد", "احمد"), ("محـــمد", "محمد"),
    ],
)  # fmt: skip
def test_a_word_has_the_same_terms_with_and_without_its_marks(one, other):
    marked, plain = Tokenizer().terms(one), Tokenizer().terms(other)
    # Beside them, with two letters for an umlaut.
    assert [term for term in marked if term not in ("mueller", "oeresund")] == plain != []


@pytest.mark.parametrize(("one", "other"), [("йод", "иод"), ("が", "か"), ("हिन्दी", "हनद")])
def test_a_mark_that_makes_another_letter_stays(one, other):
    assert Tokenizer().terms(one) != Tokenizer().terms(other)


def test_a_word_that_is_a_function_word_without_its_marks_is_one_of_its_own():
    assert Tokenizer().terms("du thé") == ["du", "the"]
    assert Tokenizer().query("thé").content_terms == ("the",)


@pytest.mark.parametrize("query", ["muller", "MÜLLER", "Muller Koln", "kö\u0308ln"])
async def test_a_note_is_found_either_way(put, open_index, query):
    put("a.md", "Anna Müller lives in Köln.\n")
    put("b.md", "Otters at the lake.\n")
    assert [hit.path for hit in (await open_index().search(query)).hits] == ["a.md"]
