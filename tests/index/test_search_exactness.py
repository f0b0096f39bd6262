"""P9: after any sequence of changes an index answers like one that was built from scratch."""

import asyncio
import json
import shutil
import tempfile
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentscope_reme import ReMeConfig
from agentscope_reme.index import Index
from agentscope_reme.models import IndexReport, SearchResult
from agentscope_reme.vault import Vault

NAMES = ["a.md", "b.md", "daily/2026-03-05.md", "daily/2026-03-06/card.md", "MEMORY.md", "c/d/e.md"]
JOURNALS = ["session/dialog/one.jsonl", "session/dialog/two.jsonl"]
WORDS = ["otter", "river", "bridge", "alarm", "garden", "钥匙", "花园", "密码", "get_user_name", "2026-03-05", "Ann"]
QUERIES = [
    "otter river",
    "花园的密码在哪",
    "What did Ann say about the garden on March 5?",
    "get_user_name",
    "alarm bridge",
    '"river bridge" garden',
]

sentence = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(lambda words: " ".join(words) + ".")
turn_of = st.tuples(st.sampled_from(["Ann", "Otter"]), sentence).map("**{0[0]}**: {0[1]}".format)
body = st.lists(st.one_of(sentence, turn_of), max_size=6).map("\n\n".join)
front = st.sampled_from(["", "---\ntags: [garden]\n---\n", "---\nsupersedes: a.md\n---\n", "---\nbad: [\n---\n"])
title = st.sampled_from(["", "# Otter garden\n\n", "# River\n\n## Bridge\n\n"])
note = st.tuples(front, title, body).map("".join)
change = st.one_of(
    st.tuples(st.just("write"), st.sampled_from(NAMES), note),
    st.tuples(st.just("vault write"), st.sampled_from(NAMES[:4]), note),
    st.tuples(st.just("delete"), st.sampled_from(NAMES + JOURNALS), st.just("")),
    st.tuples(st.just("move"), st.sampled_from(NAMES), st.sampled_from(NAMES)),
    st.tuples(st.just("turn"), st.sampled_from(JOURNALS), sentence),
    st.tuples(st.just("search"), st.sampled_from(QUERIES), st.just("")),
    st.tuples(st.just("merge"), st.just(""), st.just("")),
    st.tuples(st.just("restart"), st.just(""), st.just("")),
)


def open_index(root: Path) -> Index:
    now = datetime(2026, 3, 18, 12, tzinfo=UTC)
    return Index(Vault(root, timezone="UTC", clock=lambda: now), ReMeConfig(vault_dir=root))


async def answers(index: Index) -> list[SearchResult]:
    """Every query in several shapes."""
    out = []
    for query in QUERIES:
        out += [await index.search(query, 3), await index.search(query, 50, token_budget=5_000)]
        out.append(await index.search(query, 5, filter={"path": "daily/"}))
    return out


def turn(number: int, text: str) -> str:
    message = {"id": f"m{number}", "name": "Ann", "role": "user", "content": text, "timestamp": "2026-03-06 10:00:00"}
    return json.dumps({"id": f"m{number}", "seq": number, "msg": message, "marks": [], "tokens": 1}) + "\n"


async def play(root: Path, changes: list[tuple[str, str, str]]) -> list[SearchResult]:
    index = open_index(root)
    for number, (kind, name, value) in enumerate(changes):
        path = root / name
        if kind == "write":
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(value, encoding="utf-8")
        elif kind == "vault write":
            await index.vault.write(name, value, overwrite=True)
        elif kind == "delete":
            path.unlink(missing_ok=True)
        elif kind == "move" and path.exists() and name != value:
            (root / value).parent.mkdir(parents=True, exist_ok=True)
            path.replace(root / value)
        elif kind == "turn":
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("a", encoding="utf-8") as file:
                file.write(turn(number, value))
        elif kind == "search":
            await index.search(name)
        elif kind == "merge":
            await index.sync()
            with index._opened().store.lock:
                index._opened().store.corpus.tidy(always=True)
        elif kind == "restart":
            await index.close()
            index = open_index(root)
    await index.sync()
    found = await answers(index)
    await index.close()
    return found


async def compare(changes: list[tuple[str, str, str]]) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        old, new = Path(scratch) / "old", Path(scratch) / "new"
        old.mkdir()
        found = await play(old, changes)
        shutil.copytree(old, new, ignore=shutil.ignore_patterns("metadata"))
        fresh = open_index(new)
        expected = await answers(fresh)
        await fresh.close()
        assert [result.hits for result in found] == [result.hits for result in expected]
        assert [result.status for result in found] == [result.status for result in expected]


@given(st.lists(change, min_size=4, max_size=14))
@settings(max_examples=20)
def test_any_sequence_of_changes_gives_the_hits_of_an_index_built_from_scratch(changes):
    asyncio.run(compare(changes))


@pytest.mark.slow
@given(st.lists(change, min_size=10, max_size=60))
@settings(max_examples=300)
def test_long_sequences_of_changes_too(changes):
    asyncio.run(compare(changes))


async def test_a_thousand_edits_give_the_hits_of_an_index_built_from_scratch():
    changes = [
        ("write", f"n/{number % 40}.md", f"# Otter {number % 7}\n\nRiver {number}. 花园{number % 5}号。")
        for number in range(1000)
    ]
    await compare(changes)


async def test_storing_the_index_changes_no_answer(tmp_path):
    (tmp_path / "a.md").write_text("The spare key hangs in the shed.\n")
    (tmp_path / "b.md").write_text("**Ann**: The spare key, again.\n\n**Bob**: Which spare key?\n")
    (tmp_path / "c.md").write_text("---\nsupersedes: a.md\n---\nThe spare key is under the mat.\n")
    (tmp_path / "MEMORY.md").write_text("The spare key opens the shed.\n")
    index = open_index(tmp_path)
    await index.search("spare key")
    (tmp_path / "b.md").unlink()
    await index.sync()
    before = [(await index.search("spare key")).hits, (await index.search("What did Bob say about the key?")).hits]
    assert await index.persist()
    after = [(await index.search("spare key")).hits, (await index.search("What did Bob say about the key?")).hits]
    await index.close()
    assert after == before
    assert [hit.path for hit in before[0] if "superseded" in hit.metadata] == ["a.md"]


async def test_verify_finds_nothing_in_an_index_that_followed_the_files_and_names_what_differs(tmp_path):
    import random

    rnd = random.Random(3)
    index = open_index(tmp_path)
    for number in range(60):
        path = tmp_path / f"n{rnd.randint(0, 20)}.md"
        path.write_text(
            f"# Note {number}\n\n**Ann**: see [[n{rnd.randint(0, 20)}]] about otter {number}.\n\nEnd {number}.\n"
        )
        if number % 7 == 0:
            await index.search("otter")
        if number % 20 == 0:
            await index.persist()
    (tmp_path / "n3.md").write_text("Gone soon.\n")
    await index.sync()
    (tmp_path / "n3.md").unlink()
    assert await index.verify() == ()
    corpus = index._opened().store.corpus
    column = corpus._table["first"]
    victim = next(iter(corpus.files))
    column[corpus.files[victim].slots[0]] += 1
    lost = sorted(corpus.files)[-1]
    corpus.remove(lost)
    index._opened().sync._listed = lambda: iter(())  # nothing new is seen meanwhile
    index._opened().sync.scan = lambda **_: IndexReport()
    assert await index.verify() == (
        f"{victim}: its passages differ from the file's",
        f"{lost}: not in the index",
        f"{lost}: in the graph of links, but not in the index",
    )
    await index.close()
