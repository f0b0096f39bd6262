"""Many files put at once make the index that they make one by one, also when another process has read them."""

import marshal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentscope_reme.index import bundle
from agentscope_reme.index import numbered as numbered_texts
from agentscope_reme.index.batch import Receiver, collect
from agentscope_reme.index.bundle import Sender
from agentscope_reme.index.corpus import Corpus
from agentscope_reme.index.entries import UNIT_FIELDS, FileEntry, UnitEntry
from agentscope_reme.index.keyword import KeywordIndex
from agentscope_reme.index.link_words import Anchor
from agentscope_reme.index.numbered import numbered
from agentscope_reme.index.vocabulary import Vocabulary
from agentscope_reme.models import FileLink

WORDS = ["river", "otter", "花园", "\x00head", "x\u2028y", "\udc80", *(f"w{number}" for number in range(90))]
words = st.lists(st.sampled_from(WORDS), max_size=8).map(tuple)
units = st.builds(
    lambda terms, day, speaker, headings, flags: UnitEntry(
        terms, 1, 2, -1, -1, 0xFFFFFFFF, day, speaker, flags, headings, 1 << 60
    ),
    words,
    st.integers(0, 20_000),
    st.sampled_from(["", "Ann", "Ben"]),
    st.sampled_from([(), ("One",), ("One", "Two")]),
    st.integers(0, 31),
)
anchors = st.builds(Anchor, st.sampled_from(["a", "b.md", "c/d"]), words.filter(bool), st.just(()))
front = st.dictionaries(st.sampled_from(["pinned", "k"]), st.one_of(st.booleans(), st.text(max_size=3)), max_size=2)
PATHS = [f"{name}.md" for name in "abcdefgh"]


@st.composite
def files(draw, path):
    links = (
        (FileLink(path, "b", None, "why", "B", True, 3, "10x10"), FileLink(path, "c/d")) if draw(st.booleans()) else ()
    )
    entry = FileEntry(
        path, 10, 1 << 60, 2, 3, "d" * 64, title=draw(st.sampled_from(["", "T"])), front=draw(front), links=links,
        fault=draw(st.sampled_from(["", "broken"])), aliases=("A",), lines=4, labels=draw(words),
        anchors=tuple(draw(st.lists(anchors, max_size=3))),
    )  # fmt: skip
    # A file of many units is divided into stretches.
    return entry, draw(st.lists(units, max_size=4)) * draw(st.sampled_from([1, 1, 1, 1, 20]))


@st.composite
def histories(draw):
    """Lists of files, no path twice in one."""
    out = []
    for _ in range(draw(st.integers(1, 4))):
        paths = draw(st.lists(st.sampled_from(PATHS), unique=True, max_size=5))
        out.append([draw(files(path)) for path in paths])
    return out


def copy(read):
    """The same files; putting an entry changes it."""
    return [(FileEntry(**{name: getattr(entry, name) for name in FileEntry.__slots__}), found) for entry, found in read]


def told(corpus: Corpus) -> dict[str, object]:
    """Everything a corpus holds, its numbers included."""
    state = {name: corpus.column(name).tolist() for name in UNIT_FIELDS}
    state |= {name: corpus.stretches.column(name).tolist() for name in ("file", "place", "size", "length", "shortest")}
    state |= {name: getattr(corpus, name) for name in ("revision", "renames", "speakers", "speaking", "places")}
    state |= {name: sorted(getattr(corpus, name)) for name in ("telling", "faulty")}
    state["arrays"] = [corpus.slot_at.tolist(), corpus.blurred_lengths.tolist(), corpus.blurred.total]
    state["files"] = [
        (entry.path, entry.id, entry.start, entry.slots.tolist(), entry.label_slot, entry.voices, entry.sections)
        for entry in corpus.files.values()
    ]
    state["fields"] = [
        (entry.front, entry.links, entry.title, entry.aliases, entry.mtime, entry.lines, entry.is_preferred)
        for entry in corpus.files.values()
    ]
    state["links"] = [corpus.anchors.links_of(path) for path in corpus.files]
    return state


def stored(corpus: Corpus) -> dict[str, list[int]]:
    return {name: np.asarray(values).tolist() for name, values in corpus.dump()[1].items()}


@given(histories(), st.sets(st.sampled_from(PATHS), max_size=2))
def test_a_batch_is_put_as_its_files_are_one_by_one(history, removed):
    one, many, piped = Corpus(), Corpus(), Corpus()
    sender, receiver = Sender(), Receiver()
    for read in history:
        for entry, found in copy(read):
            one.put(entry, found)
        many.put_batch(collect(copy(read)))
        piped.put_batch(receiver.unpacked(sender.packed(copy(read))))
    assert told(one) == told(many) == told(piped)
    for path in removed:
        assert one.remove(path) == many.remove(path) == piped.remove(path)
    assert stored(one) == stored(many) == stored(piped)
    assert told(one) == told(many) == told(piped)


@given(histories(), st.sets(st.sampled_from(PATHS)))
def test_a_batch_without_some_files_is_the_batch_of_the_others(history, left_out):
    some, others = Corpus(), Corpus()
    for read in history:
        some.put_batch(collect(copy(read)).without(frozenset(left_out)))
        others.put_batch(collect(copy([one for one in read if one[0].path not in left_out])))
    assert told(some) == told(others)
    assert stored(some) == stored(others), "no term of what was left out is known either"


@given(histories(), st.lists(st.sampled_from(["lost", "unused", "over", "put"]), max_size=4))
def test_batches_of_a_reader_are_understood_whatever_became_of_those_before(history, fates):
    one, piped = Corpus(), Corpus()
    sender, receiver = Sender(), Receiver()
    for read, fate in zip(history, [*fates, *["put"] * 4], strict=False):
        with pytest.MonkeyPatch.context() as patch:
            if fate == "over":
                patch.setattr(bundle, "MOST_TERMS", 3)  # the reader starts over
            if fate in ("over", "put"):
                patch.setattr(numbered_texts, "_PIECE", 4)  # what it tells comes in several pieces
            found = receiver.unpacked(sender.packed(copy(read)))
        if fate == "unused":
            for corpus in (one, piped):
                corpus.tidy(always=True)  # numbers change where terms are gone
        if fate != "lost":
            one.put_batch(collect(copy(read)))
            piped.put_batch(found)
    assert told(one) == told(piped)
    assert stored(one) == stored(piped)


@pytest.mark.parametrize("part", [2, 3, 4, 5, 6, 8])
def test_what_another_release_packs_is_refused_before_anything_of_it_is_put(part):
    unit = UnitEntry(("otter",), 1, 1, -1, -1, 0, 0, "Ann", 0)
    entry = FileEntry("a.md", 1, 1, 1, 1, "d" * 64, labels=("river",), anchors=(Anchor("b", ("bank",)),))
    parts = list(marshal.loads(Sender().packed([(entry, [unit])])))
    assert Receiver().unpacked(marshal.dumps(tuple(parts))).fits
    match parts[part]:
        case bytes(column):
            parts[part] = column * 2
        case dict(columns):
            parts[part] = columns | {"begin": columns["begin"] * 2}
        case [(ids, lengths, stretches), *others]:
            parts[part] = [(ids * 2, lengths, stretches), *others]
        case _:
            parts[part] = []
    with pytest.raises(ValueError, match="belong together"):
        Receiver().unpacked(marshal.dumps(tuple(parts)))


def test_a_term_is_looked_up_once_for_all_texts_of_a_batch(monkeypatch):
    asked: list[str] = []
    real = Vocabulary.numbers
    monkeypatch.setattr(Vocabulary, "numbers", lambda self, terms: asked.extend(terms) or real(self, terms))
    KeywordIndex().add([["otter", "river"], ["river", "river"], ["otter"]] * 100)
    assert asked == ["otter", "river"]


def test_no_call_takes_all_the_terms_that_a_large_file_brings(monkeypatch):
    monkeypatch.setattr(numbered_texts, "_PIECE", 50)
    taken: list[int] = []
    real = Vocabulary.numbers
    monkeypatch.setattr(Vocabulary, "numbers", lambda self, terms: taken.append(len(terms)) or real(self, terms))
    unit = UnitEntry(tuple(f"term{number}" for number in range(200)), 1, 1, -1, -1, 0, 0, "", 0)
    corpus = Corpus()
    corpus.put_batch(Receiver().unpacked(Sender().packed([(FileEntry("a.md", 1, 1, 1, 1, "d" * 64), [unit])])))
    assert sum(taken) == 200
    assert max(taken) < 10
    assert corpus.units.names() == [f"term{number}" for number in range(200)]


def test_a_term_of_a_reader_is_looked_up_once_for_all_its_batches(monkeypatch):
    asked: list[str] = []
    real = Vocabulary.numbers
    monkeypatch.setattr(Vocabulary, "numbers", lambda self, terms: asked.extend(terms) or real(self, terms))
    corpus, sender, receiver = Corpus(), Sender(), Receiver()
    for number in range(3):
        unit = UnitEntry(("otter", f"new{number}", "otter"), 1, 1, -1, -1, 0, 0, "", 0)
        entry = FileEntry(f"{number}.md", 1, 1, 1, 1, "d" * 64, labels=("river",))
        corpus.put_batch(receiver.unpacked(sender.packed([(entry, [unit] * 5)])))
    assert asked == ["river", "otter", "new0", "new1", "new2"]
    assert corpus.units.names() == ["otter", "new0", "new1", "new2"]


def test_terms_of_texts_that_are_left_out_are_not_added():
    texts = numbered([["a", "b"], ["b", "c", "b"], [], ["d"]])
    for keep, names in (([1, 1, 1, 1], ["a", "b", "c", "d"]), ([0, 1, 1, 1], ["b", "c", "d"]), ([0, 0, 1, 0], [])):
        index = KeywordIndex()
        index.add_numbered(texts.only(np.array(keep, bool)))
        assert index.names() == names
        assert index.scores(["b"]).tolist() == index.scores(["b", "x"]).tolist()
