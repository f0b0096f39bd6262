"""A filter asks each file once, and what came, changed, moved or went since is as the files say."""

from unicodedata import normalize

import pytest

from agentscope_reme.index import filters, freshness


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


async def test_a_file_is_asked_once_until_it_changes(put, open_index, monkeypatch):
    asked = []
    real = filters._check

    def check(key, values):
        holds = real(key, values)
        return lambda entry: asked.append(entry.path) or holds(entry)

    monkeypatch.setattr(filters, "_check", check)
    for name in "abc":
        put(f"{name}.md", note("blue"))
    index = open_index()
    assert await paths(index, tags="blue") == {"a.md", "b.md", "c.md"}
    put("b.md", note("blue", "closed"))
    assert await paths(index, tags="blue") == {"a.md", "b.md", "c.md"}
    assert sorted(asked) == ["a.md", "b.md", "b.md", "c.md"]


async def test_what_is_kept_of_filters_is_bounded(put, open_index, monkeypatch):
    monkeypatch.setattr(filters, "_MOST_KEPT", 3)
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
