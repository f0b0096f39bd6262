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


@pytest.mark.parametrize(
    ("written", "asked"),
    [
        ("db\u2011prod\u20112", "db-prod-2"), ("Wi\u2011Fi", "wifi"), ("Wi\u2010Fi", "wi-fi"),
        ("inter\u00adnational", "international"), ("pass\u200bword", "password"), ("\ufeffzebra", "zebra"),
    ],
)  # fmt: skip
async def test_signs_that_are_not_seen_or_look_alike_make_no_other_word(put, open_index, written, asked):
    put("a.md", f"See {written} here.\n")
    put("b.md", "Otters at the lake.\n")
    for query in (asked, written):
        result = await open_index().search(query)
        assert (result.status, [hit.path for hit in result.hits]) == ("ok", ["a.md"])
    assert written.strip("\ufeff") in result.hits[0].text


COMMIT = "9fceb02d0ae598e95dc970b74767f19372d61af8"


@pytest.mark.parametrize("query", ["9fceb02", "9fceb02d", "9fceb02d0ae5", COMMIT, COMMIT.upper()])
async def test_a_commit_is_found_by_the_beginning_of_its_hash(put, open_index, query):
    put("a.md", f"Commit {COMMIT} broke the build.\n")
    put("b.md", "Otters at the lake, number 9 of 02.\n")
    result = await open_index().search(query)
    assert (result.status, result.hits[0].path) == ("ok", "a.md")


async def test_a_short_hash_is_found_by_the_whole_one(put, open_index):
    put("a.md", "Commit 9fceb02 broke the build.\n")
    put("b.md", "Otters at the lake.\n")
    assert (await open_index().search(COMMIT)).hits[0].path == "a.md"
