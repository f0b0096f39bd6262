"""Columns hold what was written to them, in as few bytes as that needs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentscope_reme.index.columns import fitted, roomy
from agentscope_reme.index.corpus import Corpus
from agentscope_reme.index.entries import REACH, SMALL_FIELDS, UNIT_FIELDS, FileEntry, UnitEntry

LIMITS = [-1, 0, 127, 128, -128, -129, 32_767, 32_768, 2**31 - 1]
numbers = st.one_of(st.integers(-1, 3), st.sampled_from(LIMITS), st.integers(-(2**31), 2**31 - 1))


@given(st.lists(numbers, max_size=8), st.lists(numbers, max_size=8))
def test_a_column_has_room_for_what_comes_and_no_more(first, more):
    column = fitted(np.array(first, np.int32))
    assert column.tolist() == first
    wider = roomy(column, min(more, default=0), max(more, default=0))
    assert wider.tolist() == first
    assert fitted(np.array([*first, *more], np.int32)).dtype == np.promote_types(wider.dtype, np.int8)
    out = np.concatenate((wider, np.zeros(len(more), wider.dtype)))
    out[len(first) :] = more
    assert out.tolist() == [*first, *more]


def unit(line: int, speaker: str = "", headings: tuple[str, ...] = ()) -> UnitEntry:
    return UnitEntry(("w",), line, line, line * 70, line * 70 + 50, 7, 0, speaker, 0, headings)


def entry(path: str) -> FileEntry:
    return FileEntry(path, 1, 1, 1, 1, "d" * 64)


@pytest.mark.parametrize("merged", [False, True])
def test_units_of_long_files_and_of_many_speakers_stand_beside_those_of_short_ones(merged):
    corpus = Corpus()
    corpus.put(entry("short.md"), [unit(1)])
    corpus.tidy(always=True)
    assert {corpus.column(name).itemsize for name in SMALL_FIELDS} == {1}
    long = [unit(40_000 + number, f"voice {number}", (f"part {number}",)) for number in range(300)]
    corpus.put(entry("long.md"), long[:200])
    corpus.extend("long.md", long[200:])
    if merged:
        corpus = Corpus.load(*corpus.dump())
    rows = {name: corpus.column(name)[corpus.files["long.md"].slots].tolist() for name in UNIT_FIELDS}
    assert rows["number"] == rows["section"] == rows["speaker"] == list(range(300))
    assert rows["first"] == rows["last"] == list(range(40_000, 40_300))
    assert rows["begin"] == [line * 70 for line in rows["first"]]
    assert rows["stop"] == [line * 70 + 50 for line in rows["first"]]
    assert corpus.column("number")[corpus.files["short.md"].slots].tolist() == [0]
    assert corpus.column("number").itemsize == 2


def test_a_text_too_long_for_two_bytes_is_as_near_to_its_neighbours_as_any():
    """Lengths of units with their neighbours' shares, and places of more units than two bytes tell apart."""
    corpus, other = Corpus(), Corpus()
    corpus.put(entry("short.md"), [unit(1), unit(2)])
    few = corpus.blurred_lengths[:-REACH]
    assert few.dtype == np.uint16
    long = [unit(1), UnitEntry(("w",) * 5_000, 2, 2, 0, 0, 7, 0, "", 0, ())]
    for one in (corpus, other):
        one.put(entry("long.md"), long)
    assert int(corpus.blurred_lengths.max()) > 65_535
    assert corpus.blurred_lengths.tolist()[: len(few)] == few.tolist()
    assert corpus.blurred_lengths.tolist()[len(few) :] == other.blurred_lengths.tolist()[REACH:]
    assert corpus.blurred.total == int(corpus.blurred_lengths.sum())
    corpus.extend("short.md", [unit(3)])
    corpus.tidy(always=True)
    assert int(corpus.blurred_lengths.max()) > 65_535
    assert corpus.blurred.total == int(corpus.blurred_lengths.sum())
    assert corpus.scratch(9).dtype == np.int16
    wide = corpus.scratch(40_000)
    assert wide.dtype == np.int32
    assert corpus.scratch(9) is wide
    assert set(wide.tolist()) == {-1}
