"""What a search reads of the vault: the files it shows, each once."""

import json
from pathlib import Path

import pytest

from agentscope_reme.index import derived
from agentscope_reme.index.packing import count_tokens


@pytest.fixture
def files_read(open_index, monkeypatch):
    """An index, and the paths of the files that are read through its vault from the time of asking on."""

    async def start():
        index, read = open_index(), []
        await index.sync()
        real = index.vault.storage.read
        monkeypatch.setattr(index.vault.storage, "read", lambda path: read.append(path) or real(path))
        return index, read

    return start


async def test_a_search_reads_the_notes_it_shows_and_each_once(put, files_read):
    for number in range(30):
        put(f"digest/{number}.md", f"# Zebra {number}\n\n" + f"Zebra number {number} grazes.\n\n" * 3)
    index, read = await files_read()
    hits = (await index.search("zebra grazes", limit=5)).hits
    assert len(hits) == 5
    assert sorted(read) == sorted({hit.path for hit in hits})


async def test_lines_of_a_file_with_other_line_ends_are_shown_with_ours(put, files_read):
    put("digest/a.md", "# Zebra\r\n\r\nThe zebra grazes,\r\nand rests.\r\n")
    index, _ = await files_read()
    assert "grazes,\nand rests." in (await index.search("zebra grazes")).hits[0].text


async def test_a_file_that_changed_unseen_is_read_again_and_shown_as_it_is(put, files_read, vault_dir: Path):
    put("digest/a.md", "The zebra grazes at dawn.\n")
    index, _ = await files_read()
    put("digest/a.md", "The zebra grazes at dusk.\n")
    assert [hit.text for hit in (await index.search("zebra grazes")).hits] == ["The zebra grazes at dusk."]


@pytest.mark.parametrize(
    ("begin", "piece", "end"),
    [
        ("start ", "lorem ipsum dolor ", "walrus"), ("", "Same sentence again. ", "The last one has a walrus."),
        ("", "同样的一句话。", "最后是 walrus。"), ("```js\n", "var a=function(b){return};", "walrus()\n```"),
        ("| a |\n|---|\n| ", "same words here ", "walrus |"), ("![](data:image/png;base64,", "iVBORw0KGg", ") walrus"),
    ],
)  # fmt: skip
async def test_a_long_line_that_repeats_itself_is_shown_where_it_answers(put, open_index, begin, piece, end):
    put("a.md", begin + piece * 2_000 + end + "\n")
    for limit in (1, 2, 5):
        hits = (await open_index().search("walrus", limit=limit)).hits
        assert "walrus" in hits[0].text
        assert sum(count_tokens(hit.text) for hit in hits) <= limit * 300 + 10


@pytest.mark.parametrize("gap", ["\n" * 50_000, "---\n\n" * 3_000, (" " * 5_000 + "\n") * 10, "# \n\n" * 3_000])
async def test_what_says_nothing_between_two_passages_does_not_fill_the_result(put, open_index, gap):
    put("a.md", f"# Day\n\nThe zebra eats at dawn.\n\n{gap}\n\nThe zebra sleeps at noon.\n")
    hits = (await open_index().search("zebra", limit=2)).hits
    assert "eats at dawn" in (text := "\n".join(hit.text for hit in hits))
    assert "sleeps at noon" in text
    assert count_tokens(text) <= 2 * 300


async def test_headings_between_passages_are_shown(put, open_index):
    put("a.md", "\n".join(f"## Day {number}\n\nThe zebra eats grass {number}.\n" for number in range(5)))
    assert "## Day 3" in (await open_index().search("zebra grass", limit=1)).hits[0].text


@pytest.fixture
def taken_apart(monkeypatch) -> list[str]:
    """Paths of the files that are taken apart from now on, to be indexed or to be shown."""
    from agentscope_reme.index import chunker

    paths: list[str] = []
    real = chunker.read_document
    monkeypatch.setattr(
        chunker, "read_document", lambda path, *args, **kw: paths.append(path) or real(path, *args, **kw)
    )
    return paths


async def test_a_file_whose_text_is_escaped_is_taken_apart_once_for_many_searches(put, open_index, taken_apart):
    put("resource/a.html", "".join(f"<p>The zebra &amp; {number} others.</p>\n" for number in range(9)))
    put(
        "resource/b.txt",
        "\n\n".join(f"Das Z\u00e4hlwerk {number} l\u00e4uft f\u00fcr uns." for number in range(9)).encode("cp1252"),
    )
    index = open_index()
    await index.sync()
    taken_apart.clear()
    for number in range(5):
        assert f"zebra & {number}" in (await index.search(f"zebra {number}")).hits[0].text
        assert f"Z\u00e4hlwerk {number}" in (await index.search(f"Z\u00e4hlwerk {number}")).hits[0].text
    assert sorted(taken_apart) == ["resource/a.html", "resource/b.txt"]
    put("resource/a.html", "<p>Another zebra &lt; 7.</p>\n")
    await index.sync()
    taken_apart.clear()
    assert (await index.search("zebra")).hits[0].text == "Another zebra < 7."
    assert taken_apart == ["resource/a.html"]


async def test_texts_that_were_taken_apart_are_kept_within_bounds(put, open_index, taken_apart, monkeypatch):
    monkeypatch.setattr(derived, "KEPT_BYTES", 120)
    for name in "abc":
        put(f"resource/{name}.html", f"<p>The {name * 5} zebra &amp; {'other ' * 8}</p>\n")
    index = open_index()
    await index.sync()
    taken_apart.clear()
    for name in "abbca":
        assert f"{name * 5} zebra &" in (await index.search(name * 5, 1)).hits[0].text
    assert [path[9] for path in taken_apart] == ["a", "b", "c", "a"]


async def test_a_long_turn_is_taken_apart_once_for_all_its_passages(put, open_index, taken_apart):
    parts = " ".join(
        f"The zebra {number} grazes far away from all the others, near the river." for number in range(200)
    )
    message = {"id": "m", "name": "Ann", "role": "user", "content": parts}
    put("session/dialog/s.jsonl", json.dumps({"id": "m", "seq": 0, "msg": message, "marks": [], "tokens": 5}) + "\n")
    index = open_index()
    await index.sync()
    taken_apart.clear()
    hits = (await index.search("zebra grazes river", 5, token_budget=4_000)).hits
    assert sum(hit.text.count("zebra") for hit in hits) > 50
    assert len(taken_apart) <= 2  # once by its line, and where another text was shown between


MEETING = """# Weekly

## Attendees
Ines, Pavel, Noor

## Notes
- Pavel: the nightly export failed because of the row lock.
- Noor wants to retire the build box.

## Actions
- [ ] Pavel: move the export
- [x] Noor: list the jobs of the build box
- [ ] Ines: ask about the export
"""


async def test_a_note_in_which_some_lines_begin_with_names_is_shown_with_its_own_lines(put, open_index):
    put("weekly.md", MEETING)
    (hit,) = (await open_index().search("what did Pavel say about the export and the build box")).hits
    assert hit.text == "\n".join(MEETING.splitlines()[hit.start_line - 1 : hit.end_line])
    assert "## Actions" in hit.text


@pytest.mark.parametrize("limit", [1, 5])
async def test_a_task_with_a_name_is_shown_with_its_box(put, open_index, limit):
    tasks = "- [ ] Pavel: move the export\n- [x] Noor: list the jobs\n- [X] Noor: tell Pavel\n1. [ ] Pavel: count\n"
    put("tasks.md", tasks)
    for query, line in (("move export", "- [ ] Pavel: move the export"), ("list jobs", "- [x] Noor: list the jobs")):
        hits = (await open_index().search(query, limit=limit)).hits
        assert line in hits[0].text.splitlines()
        assert set(hits[0].text.splitlines()) <= set(tasks.splitlines())
