"""A filter asks each file once, and what came, changed, moved or went since is as the files say."""

from unicodedata import normalize

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentscope_reme.index import filtered, filters, freshness
from agentscope_reme.index.filtered import Filtered


@pytest.fixture(autouse=True)
def _look_before_every_search(monkeypatch):
    monkeypatch.setattr(freshness, "RECONCILE_SECONDS", 0.0)
    monkeypatch.setattr(freshness, "RECONCILE_SHARE", float("inf"))


def note(tag: str, status: str = "open") -> str:
    return f"---\ntags: [{tag}]\nstatus: {status}\n---\nThe ferry leaves at nine.\n"


async def paths(index, **wanted) -> set[str]:
    return {hit.path for hit in (await index.search("ferry", 50, filter=wanted)).hits}


async def test_files_that_come_change_move_and_go_are_filtered_by_what_they_say_now(put, open_index, vault_dir):
    for name in ("a", "b", "x/c"):
        put(f"{name}.md", note("blue"))
    index = open_index()
    assert await paths(index, tags="blue") == {"a.md", "b.md", "x/c.md"}
    assert await paths(index, tags="red") == set()
    put("a.md", note("red"))
    put("d.md", note("red", "closed"))
    (vault_dir / "b.md").unlink()
    (vault_dir / "x" / "c.md").rename(vault_dir / "c.md")
    assert await paths(index, tags="blue") == {"c.md"}
    assert await paths(index, tags=["red"]) == {"a.md", "d.md"}
    assert await paths(index, tags="red", status="closed") == {"d.md"}
    assert await paths(index, path="x") == set()
    assert await paths(index, path="c") == {"c.md"}
    index._opened().store.corpus.tidy(always=True)  # all have other numbers
    assert await paths(index, tags="blue") == {"c.md"}
    assert await paths(index, tags="red", status="closed") == {"d.md"}


async def test_files_are_told_by_kind_and_by_folder_without_asking_each(put, open_index, vault_dir, asked):
    put("a.md", note("blue"))
    put("x/b.md", note("blue"))
    put("xy.md", note("blue"))
    put("resource/c.txt", "The ferry leaves at nine.\n")
    index = open_index()
    assert await paths(index, kind="note") == {"a.md", "x/b.md", "xy.md"}
    assert await paths(index, kind=["resource", "journal"]) == {"resource/c.txt"}
    assert await paths(index, kind="journal") == set()
    assert await paths(index, kind=["none of them"]) == set()
    assert await paths(index, path="x/") == {"x/b.md"}
    assert await paths(index, path=["x", "resource"], kind="note") == {"x/b.md", "xy.md"}
    (vault_dir / "a.md").rename(vault_dir / "x" / "a.md")
    put("x/d.md", note("red"))
    (vault_dir / "xy.md").unlink()
    assert await paths(index, path="x") == {"x/a.md", "x/b.md", "x/d.md"}
    assert await paths(index, kind="note") == {"x/a.md", "x/b.md", "x/d.md"}
    assert asked == []


@pytest.fixture
def asked(monkeypatch):
    """The files that a filter was asked of, in this order."""
    paths: list[str] = []
    real = filters._check

    def check(key, values):
        holds = real(key, values)
        return lambda entry: paths.append(entry.path) or holds(entry)

    monkeypatch.setattr(filters, "_check", check)
    return paths


async def test_a_file_is_asked_once_until_it_changes(put, open_index, asked):
    for name in "abc":
        put(f"{name}.md", note("blue"))
    index = open_index()
    assert await paths(index, tags="blue") == {"a.md", "b.md", "c.md"}
    put("b.md", note("blue", "closed"))
    assert await paths(index, tags="blue") == {"a.md", "b.md", "c.md"}
    assert sorted(asked) == ["a.md", "b.md", "b.md", "c.md"]


async def test_no_file_is_asked_again_when_files_have_other_numbers(put, open_index, vault_dir, asked):
    for number in range(6):
        put(f"{number}.md", note("blue" if number % 2 else "red", f"s{number % 3}"))
    index = open_index()
    assert await paths(index, tags="blue") == {"1.md", "3.md", "5.md"}
    assert await paths(index, status="s1") == {"1.md", "4.md"}
    (vault_dir / "0.md").unlink()
    put("3.md", note("red", "s1"))
    (vault_dir / "x").mkdir()
    (vault_dir / "1.md").rename(vault_dir / "x" / "1.md")
    assert await paths(index, tags="blue") == {"x/1.md", "5.md"}
    corpus = index._opened().store.corpus
    before = [entry.id for entry in corpus.files.living()]
    asked.clear()
    corpus.tidy(always=True)
    assert [entry.id for entry in corpus.files.living()] != before
    assert await paths(index, tags="blue") == {"x/1.md", "5.md"}
    assert asked == []
    assert await paths(index, status="s1") == {"x/1.md", "3.md", "4.md"}
    assert asked == ["3.md"], "the one that this filter has not been asked of, since it was read anew"
    await index.persist()
    assert await paths(index, tags="blue", status="s1") == {"x/1.md"}
    assert asked == ["3.md"]


class Numbered:
    """What a filter sees of an index: the files by id, None for one that went."""

    def __init__(self) -> None:
        self.by_id: list[tuple[int, str] | None] = []
        self.order: list[int] = []

    def __len__(self) -> int:
        return len(self.by_id)

    def __getitem__(self, number: int) -> tuple[int, str] | None:
        return self.by_id[number]


@given(st.data())
def test_after_any_changes_and_numberings_a_filter_says_what_each_file_says(data):
    files, kept, asked = Numbered(), Filtered(), []
    steps = st.sampled_from(["put", "put", "go", "move", "number", "ask a", "ask b"])
    for at, step in enumerate(data.draw(st.lists(steps, max_size=40))):
        if step == "put":
            files.order.append(len(files.by_id))
            files.by_id.append((at, data.draw(st.sampled_from(["a", "b", "ab", ""]))))
        elif step == "number":
            kept.renumber(np.array(files.order, np.int64))
            files.by_id, files.order = [files.by_id[number] for number in files.order], list(range(len(files.order)))
        elif step in ("go", "move") and files.order:
            number = files.order.pop(data.draw(st.integers(0, len(files.order) - 1)))
            if step == "move":
                files.order.append(number)
            else:
                files.by_id[number] = None
        elif step.startswith("ask"):
            letter = step[-1]

            def check(said, letter=letter):
                asked.append((*said, letter))
                return letter in said[1]

            mask = kept.mask((letter,), files, check)
            assert len(mask) == len(files)
            assert [bool(mask[number]) for number in files.order] == [
                letter in files.by_id[number][1] for number in files.order
            ]
    assert len(asked) == len(set(asked)), "a file was asked twice"


async def test_what_is_kept_of_filters_is_bounded(put, open_index, monkeypatch):
    monkeypatch.setattr(filtered, "_MOST_KEPT", 3)
    put("a.md", note("blue"))
    index = open_index()
    for number in range(10):
        assert await paths(index, status=f"s{number}") == set()
    assert await paths(index, status="open") == {"a.md"}
    assert len(index._opened().store.corpus.filtered) == 3


async def test_a_whole_number_is_the_same_with_and_without_its_point(put, open_index):
    put("a.md", "---\nrating: 3\n---\nThe ferry leaves at nine.\n")
    put("b.md", "---\nrating: 3.0\n---\nThe ferry leaves at ten.\n")
    put("c.md", "---\nrating: 3.5\n---\nThe ferry leaves at noon.\n")
    index = open_index()
    for rating in (3, 3.0, "3"):
        assert await paths(index, rating=rating) == {"a.md", "b.md"}
    assert await paths(index, rating="3.0") == {"b.md"}
    assert await paths(index, rating=3.5) == {"c.md"}


@pytest.mark.parametrize("form", ["NFC", "NFD"])
async def test_accents_may_be_written_either_way(put, open_index, form):
    put(normalize("NFD", "café/menü.md"), normalize("NFD", note("crème", "fermé")))
    index = open_index()
    for wanted in ({"tags": "crème"}, {"status": "fermé"}, {"path": "café/"}, {"path": ["x", "café/menü.md"]}):
        asked = {
            key: normalize(form, value) if isinstance(value, str) else [normalize(form, one) for one in value]
            for key, value in wanted.items()
        }
        assert await paths(index, **asked) == {normalize("NFD", "café/menü.md")}, asked
    assert await paths(index, path=normalize(form, "thé/")) == set()


@pytest.mark.parametrize(
    ("query", "wanted", "said"),
    [
        ("ferry", {"path": "nowhere/"}, "the filter allows nothing"),
        ("ferry", {"tags": []}, "the filter allows nothing"),
        ("ferry", {"since": "2026-03-06", "until": "2026-03-01"}, "the filter allows nothing"),
        ("airship", {"tags": "blue"}, "nothing that the filter allows shares a word"),
        ("airship", None, "nothing shares a word"),
        ("the of", None, "function words"),
        ("去年八月", None, "or is from the day it asks for"),
    ],
)
async def test_an_empty_result_says_what_it_means(put, open_index, query, wanted, said):
    put("daily/2026-03-05.md", note("blue"))
    result = await open_index().search(query, filter=wanted)
    assert (result.status, result.hits) == ("none", ())
    assert said in result.note


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ("home", 1),
        ("home/", 1),
        ("#Home/", 1),
        (" home ", 1),
        ("home/heating/", 1),
        ("hom", 0),
        ("", 0),
        ("/", 0),
        ("#", 0),
    ],
)
async def test_a_tag_is_written_with_or_without_its_signs(put, open_index, wanted, found):
    put("a.md", note("home/heating"))
    assert len((await open_index().search("ferry", filter={"tags": wanted})).hits) == found
