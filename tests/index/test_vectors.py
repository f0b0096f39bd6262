"""A second arm of vectors: what it finds, what it costs, and that a search never fails or waits for it."""

import asyncio
import logging
import random
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from agentscope_reme import ReMe, ReMeConfig
from agentscope_reme.errors import ConfigError
from agentscope_reme.index import Index, embedding, vectors_file, vectors_upkeep
from agentscope_reme.vault import Vault
from tests.support.embedding import FakeEmbedding, unreachable

ROOT = Path(__file__).resolve().parents[2]
PETS = "# Home\n\nOur cat Minka sleeps all day.\n\nThe roof was mended in May.\n"
WORK = "# Work\n\nThe invoice for the ladder goes to Jonas.\n\nMeetings are on Tuesday.\n"
OTHERS = "# Others\n\n" + "\n\n".join(f"Sentence number {n} about nothing in particular." for n in range(12)) + "\n"


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    """Pauses between attempts take no time."""
    monkeypatch.setattr(embedding, "PAUSES", (0.0, 0.0, 0.0))
    monkeypatch.setattr(vectors_upkeep, "FIRST_PAUSE", 0.02)
    monkeypatch.setattr(vectors_upkeep, "LOOK_SECONDS", 0.05)


@pytest.fixture
async def open_with(vault_dir: Path):
    """Open an index with an embedding model; all are closed at the end."""
    opened: list[Index] = []

    def start(model=None, root: Path = vault_dir, **settings) -> Index:
        settings = {"embedding_wait": 10.0, **settings}
        index = Index(Vault(root), ReMeConfig(vault_dir=root, **settings), embedding_model=model)
        opened.append(index)
        return index

    yield start
    for index in opened:
        await index.close()


@pytest.fixture
def three_notes(put):
    put("pets.md", PETS)
    put("work.md", WORK)
    put("others.md", OTHERS)


def state(index: Index) -> dict:
    return index.status()["vectors"]


# --- what it finds ------------------------------------------------------------------------------------------------


async def test_a_question_in_other_words_finds_its_note(three_notes, open_with):
    words = await open_with().search("which animal")
    assert words.status == "none"
    found = await open_with(FakeEmbedding()).search("which animal")
    assert found.hits[0].path == "pets.md"
    assert "Minka" in found.hits[0].text
    assert found.status in ("ok", "weak")


async def test_a_question_in_another_language_finds_its_note(three_notes, open_with):
    assert (await open_with(FakeEmbedding()).search("宠物")).hits[0].path == "pets.md"


async def test_words_still_find_what_words_find(three_notes, open_with):
    index = open_with(FakeEmbedding())
    assert (await index.search("Jonas ladder")).hits[0].path == "work.md"
    assert (await index.search("Jonas ladder")).status == "ok"


async def test_what_is_near_nothing_and_shares_no_word_finds_nothing(three_notes, open_with):
    found = await open_with(FakeEmbedding(dimensions=512)).search("quantum chromodynamics lattice")
    assert found.status == "none"
    assert found.hits == ()


async def test_a_note_is_found_by_its_meaning_at_once_after_it_was_written(three_notes, open_with):
    index = open_with(FakeEmbedding())
    await index.embed()
    await index.vault.write("trip.md", "On Friday I take the train to Hangzhou.\n")
    assert (await index.search("railway")).hits[0].path == "trip.md"


async def test_the_only_word_and_an_identifier_are_proof_enough_where_all_texts_are_equally_near(open_with, put):
    for number in range(12):
        put(f"note{number}.md", f"The boiler number {number} is blue and calls serve_forever now and then.\n")
    index = open_with(FakeEmbedding(change=lambda vectors: [[1.0] * 64 for _ in vectors]))
    await index.embed()
    for asked in ("boiler", "which boiler", "serve_forever"):
        assert (await index.search(asked)).status == "ok", asked


async def test_the_filter_holds_for_what_vectors_find(three_notes, open_with, put):
    put("archive/cat.md", "A kitten came by.\n")
    index = open_with(FakeEmbedding())
    found = await index.search("animal", filter={"path": "archive"})
    assert {hit.path for hit in found.hits} == {"archive/cat.md"}


async def test_a_superseded_note_stands_below_also_when_vectors_find_it(open_with, put):
    put("others.md", OTHERS)
    put("a.md", "---\nsuperseded_by: b.md\n---\nThe cat is called Minka.\n")
    put("b.md", "The cat is called Moritz.\n")
    found = await open_with(FakeEmbedding()).search("animal")
    assert [hit.path for hit in found.hits][:2] == ["b.md", "a.md"]


async def test_in_a_large_vault_leaving_out_what_no_arm_puts_first_changes_no_hit(open_with, put, monkeypatch):
    from agentscope_reme.index import ranking

    rnd = random.Random(7)
    words = [
        "otter",
        "river",
        "bridge",
        "alarm",
        "garden",
        "ferry",
        "cat",
        "kitten",
        "invoice",
        "bill",
        "train",
        "glad",
    ]
    for number in range(400):
        put(f"{number}.md", "\n\n".join(" ".join(rnd.choices(words, k=rnd.randint(2, 9))) for _ in range(3)) + "\n")
    monkeypatch.setattr(ranking, "CANDIDATES", 40)
    index = open_with(FakeEmbedding())
    await index.embed()
    whole = ranking.rank
    for query in (
        "which animal",
        "ferry across the river",
        "pay the bill",
        "railway alarm",
        "happy otter in the garden",
    ):
        few = (await index.search(query, limit=8)).hits
        with monkeypatch.context() as patch:
            patch.setattr(ranking, "rank", lambda *given: whole(*given, everything=True))
            assert (await index.search(query, limit=8)).hits == few


@pytest.mark.parametrize("fusion", ["sum", "rrf", "reme-0.3", "reme-0.4"])
async def test_every_fusion_finds_by_words_and_by_meaning(three_notes, open_with, fusion):
    index = open_with(FakeEmbedding(), fusion=fusion)
    assert (await index.search("animal")).hits[0].path == "pets.md"
    assert (await index.search("Meetings on Tuesday")).hits[0].path == "work.md"


async def test_names_of_speakers_are_left_out_of_the_embedded_question_only(open_with, put):
    put(
        "talk.md",
        "**Caroline**: I adopted a kitten.\n\n**Melanie**: Wonderful!\n\n**Caroline**: He is called Moritz.\n",
    )
    model = FakeEmbedding()
    found = await open_with(model).search("Which animal does Caroline have?")
    assert "Which animal does have?" in model.texts
    assert found.hits[0].path == "talk.md"
    assert "Caroline: I adopted a kitten." in model.texts


async def test_prefixes_are_put_before_questions_and_texts(three_notes, open_with):
    model = FakeEmbedding()
    index = open_with(model, embedding_query_prefix="query: ", embedding_text_prefix="passage: ")
    await index.search("animal")
    assert "query: animal" in model.texts
    assert "passage: Our cat Minka sleeps all day." in model.texts


# --- what it costs ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [
        lambda root: (root / "pets.md").write_text("A new first line.\n\n" + PETS),
        lambda root: (root / "pets.md").write_text(PETS.replace("# Home", "# House\n\n## Animals")),
        lambda root: (root / "pets.md").rename(root / "renamed.md"),
        lambda root: (root / "pets.md").write_bytes(PETS.replace("\n", "\r\n").encode()),
        lambda root: ((root / "pets.md").unlink(), (root / "work.md").write_text(WORK + "\n" + PETS)),
        lambda root: (root / "pets.md").write_text("---\ntags: [x]\n---\n" + PETS),
    ],
    ids=["a line above", "other headings", "another name", "other line ends", "into another note", "front matter"],
)
async def test_text_that_only_moved_is_not_embedded_again(three_notes, open_with, vault_dir, change):
    model = FakeEmbedding()
    index = open_with(model)
    await index.embed()
    before = len(model.texts)
    change(vault_dir)
    await index.embed()
    assert set(model.texts[before:]) <= {"A new first line."}
    assert (await index.search("animal")).hits


async def test_the_same_text_in_many_notes_is_embedded_once(open_with, put):
    for number in range(30):
        put(f"{number}.md", "The same sentence everywhere.\n")
    model = FakeEmbedding()
    await open_with(model).embed()
    assert model.texts == ["The same sentence everywhere."]


async def test_a_restart_embeds_nothing(three_notes, open_with):
    await (one := open_with(FakeEmbedding())).embed()
    await one.close()
    model = FakeEmbedding()
    index = open_with(model)
    assert (await index.embed()).embedded == 0
    assert (await index.search("animal")).hits[0].path == "pets.md"
    assert model.texts == ["animal"]


async def test_building_the_index_anew_keeps_the_vectors(three_notes, open_with):
    model = FakeEmbedding()
    index = open_with(model)
    await index.embed()
    before = len(model.texts)
    await index.reindex()
    assert (await index.embed()).embedded == 0
    assert len(model.texts) == before


async def test_a_question_asked_again_is_embedded_once(three_notes, open_with):
    model = FakeEmbedding()
    index = open_with(model)
    for _ in range(3):
        await index.search("animal")
    assert model.texts.count("animal") == 1


async def test_texts_go_in_batches_no_larger_than_asked_or_than_the_model_takes(three_notes, open_with):
    model = FakeEmbedding()
    await open_with(model, embedding_batch=5).embed()
    assert max(map(len, model.calls)) == 5
    small = FakeEmbedding(name="small")
    small.batch_size_limit = 3
    await open_with(small, embedding_batch=5).embed()
    assert max(map(len, small.calls)) == 3


@pytest.mark.parametrize("limit", [None, 0, -1, "ten"])
async def test_what_is_no_limit_of_a_batch_limits_none(three_notes, open_with, limit):
    model = FakeEmbedding()
    model.batch_size_limit = limit
    index = open_with(model, embedding_batch=8)
    assert (await index.embed()).missing == 0
    assert max(map(len, model.calls)) == 8


async def test_a_model_that_blocks_is_called_on_a_thread_of_its_own(three_notes, open_with):
    model = FakeEmbedding(delay=0.01, block=True)
    await open_with(model).search("animal")
    assert model.threads == {"reme-embedding"}


async def test_vectors_of_deleted_texts_are_dropped(three_notes, open_with, vault_dir):
    index = open_with(FakeEmbedding())
    await index.embed()
    count = index._vectors.upkeep.table.count
    (vault_dir / "pets.md").unlink()
    await index.sync()
    await index.persist()
    assert index._vectors.upkeep.table.count == count - 2
    assert vectors_file.any_model(vault_dir)[1].count == count - 2


async def test_vectors_of_deleted_texts_are_dropped_in_passing_after_a_while(
    three_notes, open_with, vault_dir, monkeypatch
):
    monkeypatch.setattr(vectors_upkeep, "GRACE_SECONDS", 0.0)
    index = open_with(FakeEmbedding())
    await index.embed()
    count = index._vectors.upkeep.table.count
    (vault_dir / "pets.md").unlink()
    await index.sync()
    for _ in range(200):
        if (found := vectors_file.any_model(vault_dir)) and found[1].count == count - 2:
            break
        await asyncio.sleep(0.05)
    else:
        pytest.fail("the vectors stayed")


# --- when the model fails -----------------------------------------------------------------------------------------


async def test_without_an_answer_words_alone_answer_and_say_so(three_notes, open_with):
    index = open_with(FakeEmbedding(fault=unreachable))
    found = await index.search("Jonas ladder")
    assert found.status == "degraded"
    assert "connection refused" in found.note
    assert found.hits[0].path == "work.md"
    assert "connection refused" in state(index)["error"]
    assert (await index.search("animal")).hits == ()


async def test_a_model_that_comes_back_is_used_again(three_notes, open_with):
    model = FakeEmbedding(fault=unreachable)
    index = open_with(model)
    assert (await index.search("animal")).status == "degraded"
    model.fault = None
    await index.embed()
    found = await index.search("animal")
    assert found.hits[0].path == "pets.md"
    assert found.status != "degraded"
    assert state(index)["error"] == ""


async def test_who_asks_for_all_vectors_while_an_attempt_fails_gets_another_attempt(
    three_notes, open_with, monkeypatch
):
    begun, joined = threading.Event(), threading.Event()

    def down(_):
        begun.set()
        assert joined.wait(30)
        raise ConnectionError("down")

    model = FakeEmbedding(fault=down)
    index = open_with(model)
    upkeep = index._vectors.upkeep
    join, rest = upkeep._waiter, upkeep._rest

    def joining(waiting):
        waiter = join(waiting)
        joined.set()
        return waiter

    def resting(*given):
        model.fault = None
        return rest(*given)

    monkeypatch.setattr(upkeep, "_waiter", joining)
    monkeypatch.setattr(upkeep, "_rest", resting)
    async with asyncio.timeout(30):
        await index.sync()
        assert await asyncio.to_thread(begun.wait, 30)
        report = await index.embed()
    assert (report.missing, report.fault) == (0, "")


async def test_a_search_does_not_wait_for_a_model_that_hangs(three_notes, open_with):
    index = open_with(FakeEmbedding(delay=3600), embedding_wait=0.1)
    found = await index.search("Jonas ladder")
    assert found.status == "degraded"
    assert "did not answer within 0.1 s" in found.note
    assert found.hits[0].path == "work.md"


async def test_a_slow_model_is_not_asked_again_at_once(three_notes, open_with):
    model = FakeEmbedding(delay=3600)
    index = open_with(model, embedding_wait=0.3)
    await index.search("Jonas ladder")
    asked = len(model.texts)
    found = await index.search("another question about Jonas")
    assert found.status == "degraded"
    assert "another question about Jonas" not in model.texts[asked:]


async def test_an_answer_that_comes_late_serves_the_next_search(three_notes, open_with):
    model = FakeEmbedding(delay=0.2)
    index = open_with(model, embedding_wait=0.05)
    assert (await index.search("animal")).status == "degraded"
    await index.embed()
    await asyncio.sleep(0.3)
    found = await index.search("animal")
    assert found.status != "degraded"
    assert model.texts.count("animal") == 1


async def test_a_search_that_is_cancelled_is_cancelled(three_notes, open_with):
    index = open_with(FakeEmbedding(delay=3600))
    task = asyncio.create_task(index.search("animal"))
    await asyncio.sleep(0.3)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_model_whose_call_was_cancelled_inside_is_one_that_fails_and_may_come_back(three_notes, open_with):
    def cancelled(_):
        raise asyncio.CancelledError

    model = FakeEmbedding(fault=cancelled)
    index = open_with(model)
    found = await index.search("Jonas ladder")
    assert (found.status, found.hits[0].path) == ("degraded", "work.md")
    assert "broke off its own call" in found.note
    async with asyncio.timeout(30):
        assert "broke off its own call" in (await index.embed()).fault
        model.fault = None
        assert (await index.embed()).missing == 0
    assert (await index.search("animal")).hits[0].path == "pets.md"


class Panic(BaseException):
    """What a library in Rust raises when it gives up: no ``Exception``."""


class Wordless(Exception):
    def __str__(self) -> str:
        raise ValueError("this has no words")


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (Panic("index out of bounds"), "failed: Panic: index out of bounds"),
        (SystemExit(3), "failed: SystemExit: 3"),
        (TimeoutError("no answer in 5 s"), "failed: TimeoutError: no answer in 5 s"),
        (TimeoutError(), "failed: TimeoutError"),
        (Wordless(), "failed: Wordless"),
    ],
)
async def test_whatever_a_model_raises_it_is_named_and_the_model_may_come_back(three_notes, open_with, error, said):
    def failing(_):
        raise error

    model = FakeEmbedding(fault=failing)
    index = open_with(model)
    found = await index.search("Jonas ladder")
    assert (found.status, found.hits[0].path) == ("degraded", "work.md")
    assert found.note == f"found by words alone: the embedding model fake {said}"
    async with asyncio.timeout(30):
        assert (await index.embed()).fault == f"the embedding model fake {said}"
        model.fault = None
        assert (await index.embed()).missing == 0
    assert (await index.search("animal")).hits[0].path == "pets.md"


async def test_closing_does_not_wait_for_a_model_that_hangs(three_notes, open_with):
    index = open_with(FakeEmbedding(delay=3600), embedding_wait=0.05)
    await index.search("animal")
    await index.close()
    assert index.status()["closed"]


async def test_a_question_of_any_length_and_with_half_characters_can_be_sent(three_notes, open_with):
    model = FakeEmbedding()
    index = open_with(model)
    assert (await index.search("animal \ud800 " + "and so on " * 5_000)).status != "degraded"
    sent = max(model.texts, key=len)
    assert len(sent) <= 2_000
    assert sent.encode("utf-8")


async def test_vectors_of_another_length_than_the_model_says_are_a_clear_error(three_notes, open_with):
    index = open_with(FakeEmbedding(dimensions=64, size=32))
    with pytest.raises(ConfigError, match=r"vectors of 32 numbers, but its dimensions are 64"):
        await index.embed()
    found = await index.search("Jonas ladder")
    assert found.status == "degraded"
    assert "dimensions=32" in found.note
    assert found.hits[0].path == "work.md"
    assert "dimensions=32" in state(index)["error"]
    assert state(index)["embedded"] == 0


async def test_a_text_the_model_refuses_does_not_keep_the_others_from_their_vectors(three_notes, open_with):
    def refuses(texts):
        if any("roof" in text for text in texts):
            raise ValueError("this text is not allowed")

    index = open_with(FakeEmbedding(fault=refuses))
    report = await index.embed()
    assert report.missing == 1
    assert report.fault
    assert (await index.search("animal")).hits[0].path == "pets.md"
    assert state(index)["refused"] == 1
    assert (await index.search("roof May")).hits[0].path == "pets.md"


async def test_every_third_call_that_fails_is_made_again(three_notes, open_with):
    calls = []

    def every_third(texts):
        calls.append(texts)
        if len(calls) % 3 == 0:
            raise TimeoutError("try again")

    index = open_with(FakeEmbedding(fault=every_third), embedding_batch=2)
    assert (await index.embed()).missing == 0


async def test_numbers_that_are_none_make_no_vector(three_notes, open_with):
    def spoilt(vectors):
        return [[float("nan")] * len(vector) if n == 0 else vector for n, vector in enumerate(vectors)]

    index = open_with(FakeEmbedding(change=spoilt), embedding_batch=4)
    report = await index.embed()
    assert 0 < report.missing < report.texts
    assert np.isfinite(index._vectors.upkeep.table.dump()[1]).all()
    assert (await index.search("roof May")).hits[0].path == "pets.md"


async def test_rows_that_cannot_be_made_numbers_are_no_vectors(three_notes, open_with):
    class Attached(list):
        """A row of a tensor that still records what is done with it."""

        def __array__(self, *_: object, **__: object) -> np.ndarray:
            raise RuntimeError("call detach() first")

    index = open_with(FakeEmbedding(change=lambda vectors: [Attached(vector) for vector in vectors]))
    found = await index.search("Jonas ladder")
    assert (found.status, found.hits[0].path) == ("degraded", "work.md")
    assert found.note == "found by words alone: the embedding model fake returned no numbers for the question"
    report = await index.embed()
    assert report.missing == report.texts
    assert report.fault == "the embedding model does not take them"


async def test_fewer_vectors_than_texts_are_not_taken_for_others(three_notes, open_with):
    index = open_with(FakeEmbedding(change=lambda vectors: vectors[:1] if len(vectors) > 1 else vectors))
    await index.embed()
    found = await index.search("animal")
    assert found.hits[0].path == "pets.md"


# --- another model, damage, several processes ----------------------------------------------------------------------


async def test_another_model_s_vectors_are_not_mixed_in_and_words_answer_meanwhile(three_notes, open_with):
    await (old := open_with(FakeEmbedding(dimensions=300))).embed()
    await old.close()
    gate = FakeEmbedding(dimensions=768, name="new", fault=unreachable)
    index = open_with(gate)
    found = await index.search("Jonas ladder")
    assert (found.status, found.hits[0].path) == ("degraded", "work.md")
    gate.fault = None
    report = await index.embed()
    assert report.missing == 0
    assert index._vectors.upkeep.table.dimensions == 768
    assert "fake (300 dimensions)" in state(index)["replaced"]
    assert (await index.search("animal")).hits[0].path == "pets.md"
    await index.close()
    assert vectors_file.any_model(index.vault.root)[0] == "new"


async def test_another_model_of_the_same_length_is_another_model(three_notes, open_with):
    await (old := open_with(FakeEmbedding(name="one"))).embed()
    await old.close()
    model = FakeEmbedding(name="two")
    assert (await open_with(model).embed()).embedded == len(model.texts) > 0


@pytest.mark.parametrize("change", [{"dimensions": 12, "size": 12}, {"model_name": "other"}])
async def test_a_model_that_is_changed_while_it_is_used_is_not_mixed_in(three_notes, open_with, put, change):
    model = FakeEmbedding(dimensions=8, name="one")
    await (index := open_with(model)).embed()
    for name, value in change.items():
        setattr(model, name, value)
    put("late.md", "The late train was cancelled.\n")
    found = await index.search("Jonas ladder")
    assert (found.status, found.hits[0].path) == ("degraded", "work.md")
    assert "the embedding model one with dimensions=8 has become" in found.note
    assert "open the vault anew" in (await index.embed()).fault
    await index.close()
    again = open_with(model)
    assert (await again.embed()).missing == 0
    assert state(again)["replaced"] == "one (8 dimensions)"
    assert (await again.search("Jonas ladder")).hits[0].path == "work.md"


@pytest.mark.parametrize("damage", [b"", b"\x80\x04K\x01.", b"half"])
async def test_damaged_vectors_are_set_aside_and_made_again(three_notes, open_with, vault_dir, damage, caplog):
    await (old := open_with(FakeEmbedding())).embed()
    await old.close()
    path = vault_dir / vectors_file.VECTORS
    path.write_bytes(damage if damage != b"half" else path.read_bytes()[: path.stat().st_size // 2])
    model = FakeEmbedding()
    index = open_with(model)
    with caplog.at_level(logging.WARNING):
        assert (await index.embed()).embedded == len(model.texts) > 0
    assert (vault_dir / vectors_file.DAMAGED).exists()
    assert state(index)["damage"]
    assert "made again" in caplog.text


async def test_vectors_that_were_made_before_closing_are_not_made_again(open_with, put):
    for number in range(60):
        put(f"{number}.md", f"Text number {number}.\n")
    model = FakeEmbedding(delay=0.02)
    index = open_with(model, embedding_batch=2)
    await index.sync()
    for _ in range(1_000):
        if state(index)["embedded"]:
            break
        await asyncio.sleep(0.01)
    await index.close()
    made = vectors_file.any_model(index.vault.root)[1].count
    assert 0 < made < 60
    rest = FakeEmbedding()
    assert (await open_with(rest).embed()).missing == 0
    assert len(rest.texts) == 60 - made


async def test_only_the_passage_that_changed_is_embedded(three_notes, open_with, put):
    model = FakeEmbedding()
    index = open_with(model)
    await index.embed()
    before = len(model.texts)
    put("pets.md", PETS.replace("May", "June"))
    await index.embed()
    assert model.texts[before:] == ["The roof was mended in June."]


async def test_many_searches_at_once_share_one_model(three_notes, open_with):
    model = FakeEmbedding(delay=0.01)
    index = open_with(model)
    await index.embed()
    questions = ["which animal", "who pays the bill", "Jonas ladder", "the roof in May"] * 10
    found = await asyncio.gather(*(index.search(question, limit=1) for question in questions))
    assert [one.hits[0].path for one in found] == ["pets.md", "work.md", "work.md", "pets.md"] * 10


async def test_of_two_processes_one_stores_vectors_and_both_use_them(three_notes, open_with, vault_dir):
    one, other = open_with(FakeEmbedding()), open_with(FakeEmbedding())
    await one.embed()
    await one.persist()
    await other.embed()
    assert await other.persist() is False
    assert (await other.search("animal")).hits[0].path == "pets.md"
    before = (vault_dir / vectors_file.VECTORS).stat().st_mtime_ns
    await other.close()
    assert (vault_dir / vectors_file.VECTORS).stat().st_mtime_ns == before


async def test_an_index_closed_before_it_looked_at_the_files_drops_no_vector(three_notes, open_with, vault_dir):
    await (old := open_with(FakeEmbedding())).embed()
    await old.close()
    count = vectors_file.any_model(vault_dir)[1].count
    index = open_with(FakeEmbedding())
    await index.close()
    assert vectors_file.any_model(vault_dir)[1].count == count


async def test_while_vectors_are_made_a_search_says_how_many_are_missing(open_with, put):
    for number in range(100):
        put(f"{number}.md", f"Text number {number} about Jonas.\n")
    model = FakeEmbedding()

    def first_batch_only(texts):
        if texts != ["Jonas"] and len(model.calls) > 2:
            raise ConnectionError("busy")

    model.fault = first_batch_only
    index = open_with(model, embedding_batch=10)
    found = await index.search("Jonas")
    for _ in range(100):
        found = await index.search("Jonas")
        if state(index)["embedded"]:
            break
        await asyncio.sleep(0.02)
    assert found.status == "degraded"
    assert "of 100 passages have no vector" in found.note
    assert 0 < state(index)["share"] < 1
    model.fault = None
    await index.embed()
    assert state(index)["share"] == 1
    assert (await index.search("Jonas")).status == "ok"


# --- ReMe ---------------------------------------------------------------------------------------------------------


async def test_a_reme_with_a_model_has_it_in_its_search_and_status(three_notes, vault_dir):
    async with ReMe(vault_dir, embedding_model=FakeEmbedding(), embedding_wait=10) as reme:
        assert (await reme.search("animal")).hits[0].path == "pets.md"
        assert reme.index.status()["vectors"]["model"] == "fake"


async def test_without_a_model_there_are_no_vectors(three_notes, vault_dir):
    async with ReMe(vault_dir) as reme:
        await reme.search("animal")
        assert "vectors" not in reme.index.status()
        assert await reme.index.embed() is None
    assert not (vault_dir / vectors_file.VECTORS).exists()


@pytest.mark.parametrize("given", ["nearby", 5, object(), print])
def test_what_is_no_embedding_model_is_refused(vault_dir, given):
    with pytest.raises(ConfigError, match="embedding_model"):
        ReMe(vault_dir, embedding_model=given)


def test_what_an_index_was_opened_with_cannot_be_changed(vault_dir):
    with pytest.raises(ConfigError, match="fusion"):
        ReMe(vault_dir).update_params(fusion="rrf")


async def test_searching_an_empty_folder_makes_none(vault_dir):
    async with ReMe(vault_dir, embedding_model=FakeEmbedding()) as reme:
        assert (await reme.search("animal")).status == "none"
    assert not vault_dir.exists()


UNCLOSED = """
import asyncio, sys
from agentscope_reme import ReMe
from tests.support.embedding import FakeEmbedding

async def main():
    reme = ReMe(sys.argv[1], embedding_model=FakeEmbedding(delay=0.05, block=True), embedding_batch=1)
    print((await reme.search("Jonas ladder")).hits[0].path)

asyncio.run(main())
"""


@pytest.mark.slow
def test_a_program_that_ends_without_closing_ends_quietly(three_notes, vault_dir):
    done = subprocess.run(
        [sys.executable, "-c", UNCLOSED, str(vault_dir)], capture_output=True, text=True, timeout=60, cwd=ROOT
    )
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "work.md", "")
