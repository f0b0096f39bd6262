"""Names of files in a question: what is looked at letter by letter is little, and nothing is missed by it."""

from math import sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentscope_reme.index import titles
from agentscope_reme.index.corpus import Corpus
from agentscope_reme.index.entries import FileEntry
from agentscope_reme.index.titles import look_at_names, names_worth

NAMES = st.text("ab 笔记c", min_size=0, max_size=5)


def vault(*names: tuple[str, ...]) -> Corpus:
    """Files with a title and aliases each."""
    corpus = Corpus()
    for number, (title, *aliases) in enumerate(names):
        corpus.put(FileEntry(f"{number}.md", 0, 0, 0, 0, "0" * 64, title=title, aliases=tuple(aliases)), [])
    return corpus


def worth(corpus: Corpus, text: str) -> list[float]:
    numbers = np.array([entry.id for entry in corpus.files.values()])
    return [round(value, 6) for value in names_worth(corpus, numbers, text)]


def in_length(chinese: int, latin: int) -> float:
    return round(sqrt(chinese + latin / 2.5), 6)


def test_the_longest_name_that_stands_in_the_question_counts():
    corpus = vault(("笔记", "读书笔记"), ("ferry", "ferry plan"), ("音乐",))
    assert worth(corpus, "我的读书笔记") == [in_length(4, 0), 0, 0]
    assert worth(corpus, "the ferry plan of may") == [0, in_length(0, 10), 0]


@pytest.mark.parametrize("text", ["ferryman", "aferry", "a ferry2"])
def test_a_latin_name_inside_a_word_is_none(text):
    assert worth(vault(("ferry",)), text) == [0]


def test_a_file_that_gets_another_name_answers_to_it():
    corpus = vault(("otter",), ("river",))
    assert worth(corpus, "an otter here") == [in_length(0, 5), 0]
    corpus.put(FileEntry("0.md", 0, 0, 0, 0, "0" * 64, title="heron"), [])
    assert sorted(worth(corpus, "an otter here")) == [0, 0]
    assert sorted(worth(corpus, "a heron here")) == [0, in_length(0, 5)]
    corpus.rename("1.md", "heron lake.md")
    assert sorted(worth(corpus, "at heron lake")) == [in_length(0, 5), in_length(0, 10)]


def test_names_whose_ends_do_not_stand_in_the_question_are_not_compared(monkeypatch):
    corpus = vault(*((f"笔记{number:03d}号",) for number in range(200)))
    question = "笔记007号和什么"
    first = worth(corpus, question)
    looked: list[int] = []
    real = titles._names
    monkeypatch.setattr(titles, "_names", lambda entry: looked.append(1) or real(entry))
    assert worth(corpus, question) == first
    assert sum(value > 0 for value in first) == 1
    assert len(looked) <= 40  # all begin alike; a tenth or so end alike, or has the number of what does


@pytest.fixture
def named(monkeypatch) -> list[str]:
    """The paths of files whose names are looked at."""
    looked: list[str] = []
    real = titles._names
    monkeypatch.setattr(titles, "_names", lambda entry: looked.append(entry.path) or real(entry))
    return looked


def test_a_stored_index_has_how_names_begin_and_end(named):
    corpus = vault(("otter", "river", "a fourth name", "lake"), ("heron",), ("x",), ("白鹭",))
    look_at_names(corpus)
    assert named == ["0.md", "1.md", "2.md", "3.md"]
    corpus = Corpus.load(*corpus.dump())
    named.clear()
    assert worth(corpus, "a heron here, 白鹭") == [0, in_length(0, 5), 0, in_length(2, 0)]
    assert named == ["0.md", "1.md", "3.md"]  # four names are too many to be kept
    assert worth(corpus, "nothing of it") == [0, 0, 0, 0]
    named.clear()
    look_at_names(corpus)
    assert named == ["0.md"]


def test_what_is_known_of_names_stays_with_its_file(named):
    corpus = vault(*((f"heron{number}",) for number in range(5)))
    look_at_names(corpus)
    corpus.remove("1.md")
    corpus.rename("2.md", "swan.md")
    corpus.put(FileEntry("0.md", 0, 0, 0, 0, "0" * 64, title="goose"), [])
    corpus.tidy(always=True)  # which numbers files anew
    named.clear()
    look_at_names(corpus)
    assert sorted(named) == ["0.md", "swan.md"]
    found = dict(zip(corpus.files, worth(corpus, "heron3 heron2 heron1 swan goose"), strict=True))
    six = in_length(0, 6)
    assert found == {"3.md": six, "4.md": 0, "swan.md": six, "0.md": in_length(0, 5)}


@settings(deadline=None, max_examples=60)
@given(st.lists(st.lists(NAMES, min_size=1, max_size=4), min_size=1, max_size=6), st.lists(NAMES, max_size=6))
def test_what_is_known_of_earlier_questions_changes_no_answer(names, words):
    corpus, known = vault(*map(tuple, names)), vault(*map(tuple, names))
    look_at_names(known)
    for text in ["".join(words), *words, " ".join(words), "".join(reversed(words))]:
        text = text.casefold()
        fresh = worth(vault(*map(tuple, names)), text)
        assert worth(corpus, text) == worth(known, text) == fresh


@pytest.mark.parametrize("text", ["src/ferry/main.py", "the ferry_plan", "git --no-ferry"])
def test_a_plain_name_inside_an_identifier_is_none(text):
    assert worth(vault(("ferry",)), text) == [0]


@pytest.mark.parametrize("text", ["a ferry and src/main.py", "我们用ferry写main.py了", "the ferry-house", "ferry?"])
def test_a_name_beside_an_identifier_or_in_a_word_with_a_hyphen_is_one(text):
    assert worth(vault(("ferry",)), text) == [in_length(0, 5)]
