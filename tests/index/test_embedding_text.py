"""What is embedded: the same words are the same text wherever they stand; questions go without speakers' names."""

import pytest

from agentscope_reme.index.embedding_text import NO_TEXT, embedded_text, text_key, without_names


def test_white_space_and_line_ends_make_no_other_text():
    assert embedded_text("", "two  lines\r\nof text ") == embedded_text("", "two lines\nof   text")


def test_composed_and_decomposed_letters_are_the_same():
    assert embedded_text("", "cafe\u0301") == embedded_text("", "caf\u00e9")


def test_a_turn_has_its_speaker_once_whatever_marks_it():
    assert embedded_text("Ann", "**Ann**: I moved to Oslo.") == embedded_text("Ann", "I moved to Oslo.")
    assert embedded_text("Ann", "I moved to Oslo.") == "Ann: I moved to Oslo."


@pytest.mark.parametrize("text", ["", "   ", "---", "* * *", "…！"])
def test_what_has_no_letter_is_not_embedded(text):
    assert text_key(embedded_text("", text)) == NO_TEXT


def test_a_key_is_a_64_bit_number_that_depends_on_the_text_alone():
    assert text_key("one") == text_key("one") != text_key("two")
    assert -(2**63) <= text_key("one") < 2**63


@pytest.mark.parametrize(
    ("question", "left"),
    [
        ("What did Caroline's sister say to Melanie?", "What did sister say to ?"),
        ("what did caroline paint", "what did paint"),
        ("小林昨天说了什么", "昨天说了什么"),
        ("Does Dr Chen like tea?", "Does Dr like tea?"),
        ("Where is the carol sung?", "Where is the carol sung?"),
    ],
)
def test_names_of_speakers_leave_a_question(question, left):
    assert without_names(question, ["Caroline", "Melanie", "小林", "Wei Chen"]) == left


def test_a_question_of_nothing_but_names_leaves_nothing():
    assert without_names("Caroline?", ["Caroline"]) == ""
