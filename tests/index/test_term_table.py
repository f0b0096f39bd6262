"""Terms that come in batches of many have the numbers they would have one by one, whatever else is asked meanwhile."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentscope_reme.index.batch import Receiver
from agentscope_reme.index.bundle import Sender
from agentscope_reme.index.corpus import Corpus
from agentscope_reme.index.entries import FileEntry, UnitEntry
from agentscope_reme.index.vocabulary import Vocabulary, packed

# CRC-32 is the same for the first two, and for the next two.
TWINS = ["plumless", "buckeroo", "codding", "gnu"]
WORDS = [f"w{number}" for number in range(8_000)]
terms = st.one_of(
    st.text(st.characters(exclude_characters="\n"), max_size=4), st.sampled_from([*TWINS, "", "猫", "\udc80"])
)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("lines"), st.lists(terms, min_size=1, max_size=30, unique=True)),
        st.tuples(st.just("many"), st.integers(0, 5_000)),
        st.tuples(st.just("numbers"), st.lists(terms, max_size=5)),
        st.tuples(st.sampled_from(["settle", "names", "holding", "restart"]), st.none()),
        st.tuples(st.just("keep"), st.integers(0, 255)),
    ),
    max_size=12,
)


@given(steps, st.lists(terms, max_size=4))
def test_terms_told_by_lines_have_one_number_each(sequence, strangers):
    vocabulary, model = Vocabulary(), dict[str, int]()
    for kind, value in sequence:
        match kind:
            case "lines" | "many":
                asked = value if kind == "lines" else [*TWINS, *WORDS[value : value + 3_000]]
                expected = [model.setdefault(term, len(model)) for term in asked]
                assert vocabulary.numbers_of_lines(packed(asked)[:-1]).tolist() == expected
                assert vocabulary.takes_much
            case "numbers":
                assert vocabulary.numbers(value) == [model.setdefault(term, len(model)) for term in value]
            case "settle":
                vocabulary.settle()
                assert not vocabulary.takes_much
            case "names":
                assert vocabulary.names() == list(model)
            case "holding":
                wanted = [at for term, at in model.items() if "猫" in term and len(term) > 1 and term[0] >= " "]
                assert vocabulary.holding("猫").tolist() == wanted
            case "keep":
                kept = [term for at, term in enumerate(model) if value >> (at % 8) & 1]
                vocabulary.keep(np.array([model[term] for term in kept], np.int64))
                model = {term: at for at, term in enumerate(kept)}
            case "restart":
                vocabulary = Vocabulary(vocabulary.packed())
        assert len(vocabulary) == len(model)
        for term in [*list(model)[:5], *list(model)[-5:], *TWINS, *strangers]:
            assert vocabulary.get(term) == model.get(term)
            assert (term in vocabulary) == (term in model)
    assert vocabulary.names() == list(model)


@pytest.fixture
def batches():
    """What two readers tell in turn: many terms, most of them new, some that the other has told."""
    senders, out = [Sender(), Sender()], []
    for number in range(6):
        words = [*TWINS, *(f"w{at}" for at in range(number * 2_000, number * 2_000 + 4_000))]
        units = [UnitEntry(tuple(words[at::40]), at + 1, at + 1, -1, -1, 0, 0, "", 0) for at in range(40)]
        entry = FileEntry(f"{number}.md", 1, 1, 1, 1, "d" * 64, labels=("river", f"w{number}"))
        out.append((number % 2, senders[number % 2].packed([(entry, units)]), units))
    return out


def test_an_index_of_large_batches_is_that_of_single_files_and_keeps_no_table(batches):
    many, one = Corpus(), Corpus()
    receivers = [Receiver(), Receiver()]
    tables = []
    for number, (reader, data, units) in enumerate(batches):
        many.put_batch(receivers[reader].unpacked(data))
        tables.append(many.units._terms.takes_much)
        one.put(FileEntry(f"{number}.md", 1, 1, 1, 1, "d" * 64, labels=("river", f"w{number}")), units)
        assert many.units.names() == one.units.names() if number == 3 else True  # asked amid it
        for term in ("w1", f"w{number * 2_000 + 3_999}", *TWINS, "other"):
            assert [part.tolist() for part in many.units.postings(term)] == [
                part.tolist() for part in one.units.postings(term)
            ]
    assert tables == [False, False, True, True, True, True], "what a reader tells first may be all it tells"
    many.tidy(bulk=True)
    assert many.units._terms.takes_much
    many.tidy()
    assert not many.units._terms.takes_much
    stored = [{name: np.asarray(value).tolist() for name, value in corpus.dump()[2].items()} for corpus in (many, one)]
    assert stored[0] == stored[1]


def test_large_batches_are_numbered_by_bytes_also_when_later_ones_are_unpacked_already(batches, monkeypatch):
    told: list[int] = []
    real = Vocabulary.numbers_of_lines
    monkeypatch.setattr(
        Vocabulary, "numbers_of_lines", lambda self, lines: told.append(lines.count(b"\n") + 1) or real(self, lines)
    )
    receivers, one, many = [Receiver(), Receiver()], Corpus(), Corpus()
    for batch in [receivers[reader].unpacked(data) for reader, data, _ in batches]:
        many.put_batch(batch)
    assert told == [4_000] * 4, "all but what each reader tells first"
    for number, (_, _, units) in enumerate(batches):
        one.put(FileEntry(f"{number}.md", 1, 1, 1, 1, "d" * 64, labels=("river", f"w{number}")), units)
    assert many.units.names() == one.units.names()
