"""Words that are spelled in two ways: British and American English, with and without a hyphen."""

import pytest

from agentscope_reme.index.spelling import one_spelling
from agentscope_reme.index.tokenizer import Tokenizer


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("colour", "color"), ("favourite colours", "favorite colors"), ("neighbourhood", "neighborhood"),
        ("organise", "organize"), ("organisation", "organization"), ("Summarised", "summarized"),
        ("serialisability", "serializability"), ("criticise", "criticize"), ("analyse", "analyze"),
        ("travelling", "traveling"), ("cancelled", "canceled"), ("modelling", "modeling"), ("theatre", "theater"),
        ("kilometres", "kilometers"), ("tyre pressure", "tire pressure"), ("grey", "gray"), ("programme", "program"),
        ("licence", "license"), ("practised", "practiced"), ("jewellery", "jewelry"),
    ],
)  # fmt: skip
def test_a_word_has_the_same_terms_in_both_spellings(one, other):
    assert Tokenizer().terms(one) == Tokenizer().terms(other) != []


@pytest.mark.parametrize(
    "word",
    ["advise", "promise", "surprised", "otherwise", "noise", "raising", "sunrise", "precise", "imprecise", "exercise",
     "paradise", "hour", "four", "court", "journey", "called", "taller", "controlled", "hundred", "before", "square",
     "missing", "crises", "irises", "wise"],
)  # fmt: skip
def test_words_with_one_spelling_stay(word):
    assert one_spelling(word) == word


@pytest.mark.parametrize(
    ("word", "stem"), [("precise", "precision"), ("organise", "organizing"), ("colour", "coloured")]
)
def test_forms_of_a_word_still_share_their_stem(word, stem):
    assert Tokenizer().terms(word) == Tokenizer().terms(stem)


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("wi-fi", "Guest wifi: the key is on the fridge."), ("wifi", "Guest wi-fi: the key is on the fridge."),
        ("e-mail", "Her email is on the card."), ("email", "Her e-mail is on the card."),
        ("follow-up", "The followup is in June."), ("colour of the hall", "The hall gets a new color in May."),
    ],
)  # fmt: skip
async def test_a_note_is_found_by_the_other_spelling(put, open_index, query, text):
    put("a.md", f"{text}\n")
    put("b.md", "Otters at the lake.\n")
    result = await open_index().search(query)
    assert (result.status, [hit.path for hit in result.hits]) == ("ok", ["a.md"])


async def test_who_has_both_parts_of_a_word_with_a_hyphen_is_still_found(put, open_index):
    put("a.md", "A well known baker.\n")
    put("b.md", "Otters at the lake.\n")
    assert [hit.path for hit in (await open_index().search("well-known")).hits] == ["a.md"]
