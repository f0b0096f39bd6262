"""Faults that users reported, where vectors take part: C8-08, C9-05, C9-12, C11-14, C12-06, C12-07, C12-08."""

import asyncio
import os
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from agentscope_reme import ReMe
from agentscope_reme.errors import ConfigError, StateError
from agentscope_reme.index import embedding, vectors_upkeep
from tests.support.embedding import FakeEmbedding, unreachable

WORDS = ["tomato", "shelf", "ladder", "garden", "invoice", "river", "bridge", "alarm", "violin", "market", "ferry"]
WORDS += ["otter", "roof", "lamp"]


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setattr(embedding, "PAUSES", (0.0, 0.0, 0.0))
    monkeypatch.setattr(vectors_upkeep, "FIRST_PAUSE", 0.02)


@pytest.fixture
def notes(vault_dir: Path) -> Path:
    vault_dir.mkdir()
    for number, word in enumerate(WORDS):
        (vault_dir / f"n{number}.md").write_text(f"About the {word}, note {number}.\n", encoding="utf-8")
    (vault_dir / "pets.md").write_text("Our cat Minka sleeps all day.\n", encoding="utf-8")
    return vault_dir


def opened(root: Path, model: object, **settings: object) -> ReMe:
    return ReMe(root, embedding_model=model, **{"embedding_wait": 20, **settings})


# --- C9-12: the embedding model changed, or returns what it should not --------------------------------------------


async def test_c9_12_another_size_of_vectors_is_never_mixed_in_and_they_are_made_again(notes: Path) -> None:
    async with opened(notes, FakeEmbedding(300)) as reme:
        assert (await reme.index.embed()).missing == 0
    async with opened(notes, FakeEmbedding(768)) as reme:
        found = await reme.search("tomato")
        assert found.hits[0].path == "n0.md"
        assert (await reme.index.embed()).missing == 0
        assert (await reme.search("which animal")).hits[0].path == "pets.md"
        status = reme.index.status()["vectors"]
        assert (status["dimensions"], status["share"]) == (768, 1.0)
        assert "300 dimensions" in status["replaced"]


@pytest.mark.parametrize("dimensions", [None, 0, -3, "many", True, 1.5])
async def test_c9_12_a_model_that_does_not_say_its_dimensions_is_refused_at_once(
    notes: Path, dimensions: object
) -> None:
    model = FakeEmbedding()
    model.dimensions = dimensions  # type: ignore[assignment]
    reme, before = opened(notes, model), set(threading.enumerate())
    with pytest.raises(ConfigError, match="dimensions="):
        async with reme:
            await reme.search("tomato")
    assert "reme-watch" not in {thread.name for thread in set(threading.enumerate()) - before}
    with pytest.raises(StateError, match="is closed"):
        await reme.search("tomato")


async def test_c9_12_one_text_without_a_vector_costs_no_other_text_its_own(notes: Path) -> None:
    class Leaky(FakeEmbedding):
        async def __call__(self, text, **kwargs):
            response = await super().__call__(text, **kwargs)
            response.embeddings = [
                None if "tomato" in one else row for one, row in zip(text, response.embeddings, strict=True)
            ]
            return response

    async with opened(notes, Leaky()) as reme:
        report = await reme.index.embed()
        assert (report.missing, report.texts) == (1, len(WORDS) + 1)
        assert (await reme.search("which animal")).hits[0].path == "pets.md"


async def test_c9_12_arrays_that_are_no_vectors_are_refused_without_advice_that_does_not_help(notes: Path) -> None:
    async with opened(notes, FakeEmbedding(8, change=lambda rows: [[row] for row in rows])) as reme:
        found = await reme.search("tomato")
        assert (found.status, found.hits[0].path) == ("degraded", "n0.md")
        assert "(1, 8)" in found.note
        with pytest.raises(ConfigError, match="lists of 8 numbers"):
            await reme.index.embed()


@pytest.mark.parametrize("size", [1e38, 1e-300])
@pytest.mark.filterwarnings("error::RuntimeWarning")
async def test_c9_12_numbers_of_any_size_are_a_direction(notes: Path, size: float) -> None:
    async with opened(notes, FakeEmbedding(change=lambda rows: [[v * size for v in row] for row in rows])) as reme:
        assert (await reme.index.embed()).missing == 0
        assert (await reme.search("which animal")).hits[0].path == "pets.md"


@pytest.mark.parametrize("end", [SystemExit(3), KeyboardInterrupt()])
async def test_c9_12_a_model_that_ends_the_program_ends_a_call(notes: Path, end: BaseException) -> None:
    ends = True

    def fault(texts: Sequence[str]) -> None:
        if ends:
            raise end

    async with opened(notes, FakeEmbedding(fault=fault)) as reme:
        found = await reme.search("tomato")
        assert (found.status, found.hits[0].path) == ("degraded", "n0.md")
        assert type(end).__name__ in found.note
        ends = False
        assert (await reme.index.embed()).missing == 0
        assert (await reme.search("which animal")).hits[0].path == "pets.md"


async def test_c9_12_vectors_of_the_wrong_length_are_refused_with_both_numbers(notes: Path) -> None:
    async with opened(notes, FakeEmbedding(768, size=300)) as reme:
        found = await reme.search("tomato")
        assert (found.status, found.hits[0].path) == ("degraded", "n0.md")
        assert "300" in found.note
        assert "768" in found.note
        with pytest.raises(ConfigError, match="300 numbers, but its dimensions are 768"):
            await reme.index.embed()
        assert reme.index.status()["vectors"]["embedded"] == 0


async def test_c9_12_numbers_that_are_none_never_reach_a_score(notes: Path) -> None:
    def spoilt(vectors: list[list[float]]) -> list[list[float]]:
        return [[float("nan")] * len(one) for one in vectors]

    async with opened(notes, FakeEmbedding(change=spoilt)) as reme:
        found = await reme.search("tomato")
        assert (found.status, found.hits[0].path) == ("degraded", "n0.md")
        assert all(0 <= hit.score <= 1 for hit in found.hits)


def by_text(texts: Sequence[str]) -> None:
    if any(int(text.split()[-1].strip(".")) % 3 == 2 for text in texts if "note" in text):
        raise RuntimeError("this one is refused")


async def test_c9_12_an_error_for_every_third_text_leaves_the_others_their_vectors(notes: Path) -> None:
    async with opened(notes, FakeEmbedding(fault=by_text)) as reme:
        report = await reme.index.embed()
        assert report.missing == len([n for n in range(len(WORDS)) if n % 3 == 2])
        assert (await reme.search("which animal")).hits[0].path == "pets.md"
        assert (await reme.search("ladder")).hits[0].path == "n2.md"
        assert reme.index.status()["vectors"]["refused"] == report.missing


# --- C11-14: configured, but it never runs -----------------------------------------------------------------------


async def test_c11_14_an_endpoint_that_cannot_be_reached_is_said_and_words_answer(notes: Path) -> None:
    reme = opened(notes, FakeEmbedding(fault=unreachable))
    found = await reme.search("tomato")  # without start()
    assert (found.status, found.hits[0].path) == ("degraded", "n0.md")
    assert "connection refused" in found.note
    assert "connection refused" in reme.index.status()["vectors"]["error"]
    await reme.close()


async def test_c11_14_vectors_are_made_also_when_nobody_calls_start(notes: Path) -> None:
    reme = opened(notes, FakeEmbedding())
    assert (await reme.search("which animal")).hits[0].path == "pets.md"
    assert reme.index.status()["vectors"]["share"] == 1.0
    await reme.close()


# --- C9-05: clean-up of times by sync tools -----------------------------------------------------------------------


async def test_c9_05_touching_a_thousand_notes_embeds_nothing(vault_dir: Path) -> None:
    vault_dir.mkdir()
    for number in range(1_000):
        (vault_dir / f"n{number}.md").write_text(f"Note {number}.\n", encoding="utf-8")
    model = FakeEmbedding()
    async with opened(vault_dir, model) as reme:
        await reme.index.embed()
        assert len(set(model.texts)) == len(model.texts) == 1_000
        later = time.time_ns() + 10**9
        for path in vault_dir.glob("*.md"):
            os.utime(path, ns=(later, later))
        assert (await reme.index.embed()).embedded == 0
        assert len(model.texts) == 1_000


# --- C8-08: deleted or renamed notes ------------------------------------------------------------------------------


async def test_c8_08_a_deleted_note_is_not_found_by_its_meaning_either(notes: Path) -> None:
    async with opened(notes, FakeEmbedding()) as reme:
        (notes / "kitten.md").write_text("A kitten was here.\n", encoding="utf-8")
        await reme.index.sync()
        assert {hit.path for hit in (await reme.search("animal", limit=2)).hits} == {"pets.md", "kitten.md"}
        (notes / "kitten.md").unlink()
        await reme.index.sync()
        assert [hit.path for hit in (await reme.search("animal", limit=2)).hits][:1] == ["pets.md"]
        (notes / "pets.md").rename(notes / "c.md")
        await reme.index.sync()
        assert (await reme.search("animal", limit=1)).hits[0].path == "c.md"
        (notes / "c.md").write_text("About something else entirely.\n", encoding="utf-8")
        await reme.index.sync()
        found = await reme.search("animal", limit=5)
        assert not any("Minka" in hit.text or "kitten" in hit.text for hit in found.hits)
    async with opened(notes, FakeEmbedding()) as reme:
        found = await reme.search("animal", limit=5)
        assert not any("Minka" in hit.text or "kitten" in hit.text for hit in found.hits)


# --- C12-06: the scale of scores ---------------------------------------------------------------------------------


@pytest.mark.parametrize("fusion", ["sum", "rrf", "reme-0.3", "reme-0.4"])
async def test_c12_06_scores_of_words_and_vectors_are_bounded_and_in_order(vault_dir: Path, fusion: str) -> None:
    vault_dir.mkdir()
    (vault_dir / "a.md").write_text("阳台种了番茄\n", encoding="utf-8")
    (vault_dir / "b.md").write_text("车库换了灯\n", encoding="utf-8")
    for number in range(8):
        (vault_dir / f"n{number}.md").write_text(f"第{number}条，番茄和别的东西。\n", encoding="utf-8")
    async with opened(vault_dir, FakeEmbedding(), fusion=fusion) as reme:
        hits = (await reme.search("番茄", limit=9)).hits
        scores = [hit.score for hit in hits]
        assert scores == sorted(scores, reverse=True)
        assert all(0 < score < 1 for score in scores)
        assert "b.md" not in {hit.path for hit in hits[:9]}


# --- C12-07: leaks between vaults ---------------------------------------------------------------------------------


async def test_c12_07_vaults_that_share_a_model_share_no_vectors(tmp_path: Path) -> None:
    model = FakeEmbedding()
    for name, text in (("a", "The cat's SECRET_MARKER is 4711.\n"), ("b", "The roof was mended.\n")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "n.md").write_text(text, encoding="utf-8")
    async with opened(tmp_path / "a", model) as one, opened(tmp_path / "b", model) as other:
        assert "SECRET_MARKER" in (await one.search("animal")).hits[0].text
        found = await other.search("animal")
        assert not any("SECRET" in hit.text for hit in found.hits)
        assert other.index.status()["vectors"]["texts"] == 1


async def test_c12_07_a_filter_is_applied_before_the_best_are_chosen(vault_dir: Path) -> None:
    for number in range(100):
        (vault_dir / "outside").mkdir(parents=True, exist_ok=True)
        (vault_dir / f"outside/{number}.md").write_text(f"The cat, the kitten, the pet {number}.\n", encoding="utf-8")
    (vault_dir / "inside").mkdir()
    (vault_dir / "inside/one.md").write_text("Some animal was seen near the house.\n", encoding="utf-8")
    async with opened(vault_dir, FakeEmbedding()) as reme:
        await reme.index.embed()
        found = await reme.search("kitten", filter={"path": "inside"})
        assert [hit.path for hit in found.hits] == ["inside/one.md"]


# --- C12-08: exact strings stay first ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "query", ['allow = ["8443/tcp", "5353/udp"]', "允许 8443", "允许端口清单", "防火墙", "ports-2026", "5353 8443"]
)
async def test_c12_08_an_exact_string_stays_first_when_vectors_speak_for_others(notes: Path, query: str) -> None:
    text = '---\nname: 允许端口清单\ntags: [防火墙]\n---\nallow = ["8443/tcp", "5353/udp"]\n'
    (notes / "ports-2026.md").write_text(text, encoding="utf-8")
    for number in range(20):
        near = f"Ports are allowed or denied, line {number}: 端口 {8000 + number}\n"
        (notes / f"p{number}.md").write_text(near, encoding="utf-8")
    async with opened(notes, FakeEmbedding()) as reme:
        assert (await reme.search(query)).hits[0].path == "ports-2026.md"


# --- group 11: cancelled while the model is asked ----------------------------------------------------------------


async def test_c11_14_a_search_that_is_given_up_leaves_the_next_one_whole(notes: Path) -> None:
    gate = asyncio.Event()

    def slow(texts: Sequence[str]) -> None:
        gate.set()

    model = FakeEmbedding(fault=slow, delay=0.2)
    async with opened(notes, model) as reme:
        task = asyncio.create_task(reme.search("animal"))
        await asyncio.sleep(0.1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (await reme.search("animal")).hits[0].path == "pets.md"
