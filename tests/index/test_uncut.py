"""Chinese that a reader leaves uncut has the terms, in the index as well, that it would have had cut."""

from itertools import chain

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentscope_reme.index import batch, bundle
from agentscope_reme.index.batch import Receiver
from agentscope_reme.index.bundle import Sender
from agentscope_reme.index.corpus import Corpus
from agentscope_reme.index.entries import FileEntry
from agentscope_reme.index.reading import read_entries
from agentscope_reme.index.run_pairs import PAIR, PairNumbers, ids_with_pairs, spelled
from agentscope_reme.index.tokenizer import Tokenizer
from agentscope_reme.index.uncut import RUN, cut, together
from agentscope_reme.index.vocabulary import Vocabulary

# Han at both ends of their ranges, kana, signs that end no stretch and such as do, words, dates, other scripts. The
# last two are written with four bytes in UTF-16; NFKC makes the one before them of a sign that is not.
PIECES = [
    *(
        "猫",
        "水獭在河边",
        "一",
        "\u9fff",
        "\u3400",
        "々",
        "〇",
        "カタカナ",
        "の",
        "，",
        "。",
        " ",
        "\n",
        "「",
        "」",
        "-",
    ),
    *(
        "otter",
        "get_user_name",
        "3.14",
        "2023-05-08",
        "五月八日",
        "the",
        "한국어",
        "ภาษา",
        "🦦",
        "é",
        "\x01",
        "\0",
        "\udc80",
    ),
    *("\ufacf", "\U00020000", "\U0002ffff水"),
]
texts = st.lists(st.sampled_from(PIECES), max_size=25).map("".join)
tokenizer = Tokenizer()


def uncut(text: str) -> tuple[list[str], list[str]]:
    stretches: list[str] = []
    return tokenizer.terms(text, stretches=stretches), stretches


@given(texts)
def test_terms_and_stretches_cut_later_are_the_terms(text):
    terms, stretches = uncut(text)
    assert terms.count(RUN) == len(stretches)
    assert cut(terms, stretches) == tokenizer.terms(text)


def test_a_chinese_text_is_left_uncut_but_for_its_words_and_dates():
    assert uncut("水獭，在河边 otter 于2023-05-08，睡觉。") == (
        [RUN, "otter", RUN, *("2023-05-08", "2023-05", "2023", "--05-08", "--05"), RUN],
        ["水獭,在河边 ", "于", "睡觉。"],
    )


@given(st.lists(texts, max_size=6), st.integers(1, 40))
def test_pairs_made_of_characters_are_those_made_of_text(written, most):
    read = [uncut(text) for text in written]
    stretches = together(stretch for _, found in read for stretch in found)
    if stretches is None:
        assert any(ord(char) > 0xFFFF for _, found in read for stretch in found for char in stretch)
        return
    words: list[str] = []
    ids = []
    for term in (term for terms, _ in read for term in terms):
        ids.append(-1 if term == RUN else len(words))
        words += [term] if term != RUN else []
    lengths = np.array([len(terms) for terms, _ in read], np.int32)
    found, sizes = ids_with_pairs(np.array(ids, np.int32), lengths, stretches, most)
    pairs = iter(spelled(found[found >= PAIR]))
    expected = [tokenizer.terms(text)[:most] for text in written]
    assert sizes.tolist() == list(map(len, expected))
    assert [next(pairs) if one >= PAIR else words[one] for one in found.tolist()] == [*chain(*expected)]


@pytest.mark.parametrize("marks", [0, 1, 3])
def test_stretches_that_have_no_places_are_refused(marks):
    stretches = together(["水獭", "猫"])
    assert stretches is not None
    ids = np.array([0, *[-1] * marks], np.int32)
    with pytest.raises(ValueError, match="belong together"):
        ids_with_pairs(ids, np.array([len(ids)]), stretches, 10)


@given(st.lists(st.lists(st.integers(0, 3_000), unique=True), max_size=6), st.integers(-1, 4))
def test_a_pair_keeps_its_number_until_terms_have_others(asked, renumbered):
    vocabulary, known, model = Vocabulary(), PairNumbers(), dict[int, int]()
    for number, values in enumerate(asked):
        # Pairs whose places are close together, and all over the table.
        pairs = PAIR + (np.array(values, np.int64) * 0x144CBC89 + (0x4E00 << 16)) % (1 << 32)
        if number == renumbered:
            vocabulary.keep(np.zeros(0, np.int64))
            model = {}
        found = known.of(pairs, vocabulary)
        assert found.tolist() == [model.get(pair, -1) for pair in pairs.tolist()]
        new = pairs[found < 0]
        numbers = np.arange(len(model), len(model) + len(new))
        known.add(new, numbers)
        model |= zip(new.tolist(), numbers.tolist(), strict=True)
        assert known.of(pairs, vocabulary).tolist() == [model[pair] for pair in pairs.tolist()]


notes = st.tuples(texts, st.lists(texts, max_size=3)).map(
    lambda parts: "# Head 标题\n\n" + "\n\n".join([parts[0], *(f"{text} [[other]] {text}" for text in parts[1])])
)
histories = st.lists(st.lists(notes, max_size=4), min_size=1, max_size=4)


def read(path: str, note: str, *, left_uncut: bool):
    return read_entries(path, note.encode("utf-8", "replace"), tokenizer, uncut=left_uncut)


@given(histories, st.lists(st.sampled_from(["lost", "renumbered", "over", "put"]), max_size=4), st.booleans())
def test_an_index_of_what_readers_leave_uncut_is_that_of_cut_terms(history, fates, limited):
    """Two readers in turn, some batches lost, terms numbered anew on either side, long texts."""
    one, piped = Corpus(), Corpus()
    pairs = [PairNumbers() for _ in range(3)]
    senders, receivers = [Sender(), Sender()], [Receiver(pairs), Receiver(pairs)]
    with pytest.MonkeyPatch.context() as patch:
        if limited:
            patch.setattr(bundle, "LIMIT", 20)
            patch.setattr(batch, "LIMIT", 20)
        for number, (written, fate) in enumerate(zip(history, [*fates, *["put"] * 4], strict=False)):
            files = [(f"{number}-{at}.md", note) for at, note in enumerate(written)]
            patch.setattr(bundle, "MOST_TERMS", 3 if fate == "over" else 300_000)
            sent = senders[number % 2].packed([read(path, note, left_uncut=True) for path, note in files])
            found = receivers[number % 2].unpacked(sent)
            if fate == "renumbered":
                for corpus in (one, piped):
                    for path in list(corpus.files)[::2]:
                        corpus.remove(path)
                    corpus.tidy(always=True)
            if fate != "lost":
                for path, note in files:
                    one.put(*read(path, note, left_uncut=False))
                piped.put_batch(found)
    assert one.units.names() == piped.units.names()
    stored = [{name: np.asarray(value).tolist() for name, value in corpus.dump()[2].items()} for corpus in (one, piped)]
    assert stored[0] == stored[1]


def test_many_new_pairs_and_words_at_once_have_numbers_as_they_are_met(monkeypatch):
    """Also where a reader had to cut some of them: a stretch of a batch had a character of four bytes."""
    monkeypatch.setattr("agentscope_reme.index.numbered._MANY", 10)
    one, piped, sender, receiver = Corpus(), Corpus(), Sender(), Receiver()
    for number in range(6):
        words = "".join(f"word{number}{at} {chr(0x4E00 + number * 40 + at)}水獭{chr(0x5E00 + at)} " for at in range(30))
        note = f"{words}\n\n[[a]] {words}" + "\U00020000水" * (number in (1, 4))
        one.put(*read(f"{number}.md", note, left_uncut=False))
        piped.put_batch(receiver.unpacked(sender.packed([read(f"{number}.md", note, left_uncut=True)])))
        assert piped.units._terms.takes_much == (number > 0)
    assert one.units.names() == piped.units.names()
    assert one.anchors.index.names() == piped.anchors.index.names()


def test_a_pair_is_not_told_by_a_reader():
    entry = FileEntry("a.md", 1, 1, 1, 1, "d" * 64)
    _, units = read("a.md", "水獭在河边", left_uncut=True)
    data = Sender().packed([(entry, units)])
    assert "水獭在河边".encode("utf-16-le") in data
    assert "水獭".encode() not in data
