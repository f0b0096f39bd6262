"""Names of files in a question: what is looked at letter by letter is little, and nothing is missed by it."""

from math import sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentscope_reme.index import titles
from agentscope_reme.index.corpus import Corpus
from agentscope_reme.index.entries import FileEntry
from agentscope_reme.index.titles import Titles

NAMES = st.text("ab 笔记c", min_size=0, max_size=5)


def vault(*names: tuple[str, ...]) -> Corpus:
    """Files with a title and aliases each."""
    corpus = Corpus()
    for number, (title, *aliases) in enumerate(names):
        corpus.put(FileEntry(f"{number}.md", 0, 0, 0, 0, "0" * 64, title=title, aliases=tuple(aliases)), [])
    return corpus


def worth(finder: Titles, corpus: Corpus, text: str) -> list[float]:
    numbers = np.array([entry.id for entry in corpus.files.values()])
    return [round(value, 6) for value in finder.worth(corpus, numbers, text)]


def in_length(chinese: int, latin: int) -> float:
    return round(sqrt(chinese + latin / 2.5), 6)


def test_the_longest_name_that_stands_in_the_question_counts():
    corpus = vault(("笔记", "读书笔记"), ("ferry", "ferry plan"), ("音乐",))
    assert worth(Titles(), corpus, "我的读书笔记") == [in_length(4, 0), 0, 0]
    assert worth(Titles(), corpus, "the ferry plan of may") == [0, in_length(0, 10), 0]


@pytest.mark.parametrize("text", ["ferryman", "aferry", "a ferry2"])
def test_a_latin_name_inside_a_word_is_none(text):
    assert worth(Titles(), vault(("ferry",)), text) == [0]


def test_a_file_that_gets_another_name_answers_to_it():
    corpus, finder = vault(("otter",), ("river",)), Titles()
    assert worth(finder, corpus, "an otter here") == [in_length(0, 5), 0]
    corpus.put(FileEntry("0.md", 0, 0, 0, 0, "0" * 64, title="heron"), [])
    assert sorted(worth(finder, corpus, "an otter here")) == [0, 0]
    assert sorted(worth(finder, corpus, "a heron here")) == [0, in_length(0, 5)]
    corpus.rename("1.md", "heron lake.md")
    assert sorted(worth(finder, corpus, "at heron lake")) == [in_length(0, 5), in_length(0, 10)]


def test_names_whose_ends_do_not_stand_in_the_question_are_not_compared(monkeypatch):
    corpus, finder = vault(*((f"笔记{number:03d}号",) for number in range(200))), Titles()
    question = "笔记007号和什么"
    first = worth(finder, corpus, question)
    looked: list[int] = []
    real = titles._names
    monkeypatch.setattr(titles, "_names", lambda entry: looked.append(1) or real(entry))
    assert worth(finder, corpus, question) == first
    assert sum(value > 0 for value in first) == 1
    assert len(looked) <= 40  # all begin alike; a tenth or so end alike, or has the number of what does


@settings(deadline=None, max_examples=60)
@given(st.lists(st.lists(NAMES, min_size=1, max_size=4), min_size=1, max_size=6), st.lists(NAMES, max_size=6))
def test_what_is_known_of_earlier_questions_changes_no_answer(names, words):
    corpus, finder = vault(*map(tuple, names)), Titles()
    for text in ["".join(words), *words, " ".join(words), "".join(reversed(words))]:
        text = text.casefold()
        assert worth(finder, corpus, text) == worth(Titles(), corpus, text)
