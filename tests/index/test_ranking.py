"""What ranking adds to the words of a unit, each part alone, bounded and with a switch."""

import asyncio
from datetime import UTC, datetime

import pytest

from agentscope_reme import ReMe, ReMeConfig
from agentscope_reme.errors import ConfigError
from agentscope_reme.index import Index, Weights
from agentscope_reme.vault import Vault

CLOCK = lambda: datetime(2026, 3, 18, 12, 0, tzinfo=UTC)  # noqa: E731


@pytest.fixture
def search(vault_dir):
    """Search a vault of the given files: ``search(files, query, **weights)`` returns the hits."""

    def run(files: dict[str, str], query: str, limit: int = 10, **weights: float):
        for path, text in files.items():
            target = vault_dir / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")

        async def go():
            vault = Vault(vault_dir, timezone="UTC", clock=CLOCK)
            index = Index(vault, ReMeConfig(vault_dir=vault_dir), weights=Weights(**weights))
            try:
                return (await index.search(query, limit)).hits
            finally:
                await index.close()

        return asyncio.run(go())

    return run


def scores(hits) -> dict[str, float]:
    out: dict[str, float] = {}
    for hit in hits:
        out[hit.path] = max(hit.score, out.get(hit.path, 0.0))
    return out


def raw(score: float) -> float:
    """A score's odds: what was summed and multiplied, in units of the best that words alone can reach."""
    return score / (1 - score)


def test_the_paragraphs_around_a_word_share_in_it(search):
    paragraphs = ["Opening remarks without it.", *["Filler about nothing."] * 5, "We hired a falcon trainer."]
    paragraphs += ["She starts soon.", *["Filler about nothing."] * 6]
    hits = search({"a.md": "\n\n".join(paragraphs) + "\n"}, "falcon", limit=20)
    text = "\n".join(hit.text for hit in hits)
    assert hits[0].text.startswith("We hired a falcon trainer.") or "falcon trainer" in hits[0].text
    assert "She starts soon." in text
    assert "Opening remarks" not in text


def test_words_in_the_order_of_the_question_count_more_than_the_same_words_apart(search):
    files = {
        "a.md": "The garden was flat and green, and the fee for a hose was low.\n",
        "b.md": "The green garden hose was low and flat and for a fee.\n",
    }
    hits = search(files, "green garden hose")
    assert hits[0].path == "b.md"
    without = scores(search(files, "green garden hose", pairs=0))
    assert without["a.md"] == pytest.approx(without["b.md"], abs=0.02)


def test_the_day_asked_for_comes_first_and_the_factor_is_at_most_three(search):
    text = "The team met about the budget.\n"
    files = {f"daily/2026-03-{day:02d}/meeting.md": text for day in (2, 5, 28)}
    question = "What did the team say about the budget on March 5, 2026?"
    found = scores(search(files, question))
    plain = scores(search(files, question, date=0))
    assert max(found, key=found.get) == "daily/2026-03-05/meeting.md"
    assert len(set(plain.values())) == 1
    for path, score in found.items():
        assert 1 <= raw(score) / raw(plain[path]) <= 3.0001


def test_what_the_person_named_says_comes_before_what_is_said_to_them(search):
    files = {
        "a.md": "**Ann**: The violin concert was great.\n\n**Bob**: The violin concert was great.\n",
        "b.md": "**Bob**: Ann, the violin concert was great.\n\n**Cid**: I was not there.\n",
    }
    hits = search(files, "What did Ann think of the violin concert?", pairs=0, session=0)
    assert hits[0].text.startswith("Ann:")
    off = search(files, "What did Ann think of the violin concert?", pairs=0, session=0, speaker=0)
    assert raw(hits[0].score) / raw(scores(off)["a.md"]) == pytest.approx(1.7, rel=0.1)


def test_a_file_in_which_only_those_named_speak_gets_no_speaker_boost(search):
    files = {"a.md": "**Ann**: The violin concert was great.\n\n**Ann**: It rained.\n"}
    with_boost = scores(search(files, "What did Ann think of the violin concert?"))
    without = scores(search(files, "What did Ann think of the violin concert?", speaker=0))
    assert with_boost == without


def test_a_question_for_a_time_prefers_a_paragraph_that_names_one(search):
    files = {"a.md": "We painted the fence yesterday.\n", "b.md": "We painted the fence together.\n"}
    assert search(files, "When was the fence painted?", pairs=0)[0].path == "a.md"
    found = scores(search(files, "When was the fence painted?", pairs=0))
    off = scores(search(files, "When was the fence painted?", pairs=0, when=0))
    assert raw(found["a.md"]) / raw(off["a.md"]) == pytest.approx(1.4, rel=0.01)
    assert found["b.md"] == off["b.md"]


def test_a_title_that_stands_in_the_question_brings_its_note_first(search):
    files = {
        "wiki/zettelkasten.md": "# Zettelkasten\n\nSlips of paper in a box.\n",
        "wiki/other.md": "# Other\n\nSomeone said zettelkasten, zettelkasten and zettelkasten again.\n",
    }
    assert search(files, "how do I start a zettelkasten")[0].path == "wiki/zettelkasten.md"


def test_heading_words_find_the_section_below_them(search):
    files = {
        "a.md": "# Setup\n\n## Windows\n\nDownload the file and run it.\n\n## Plan 9\n\nBuild it from source.\n",
        "b.md": "# Notes\n\nSource of all evil.\n",
    }
    hits = search(files, "setup plan 9 source")
    assert hits[0].path == "a.md"
    assert "Build it from source." in hits[0].text


def test_memory_md_ranks_first_among_equals(search):
    text = "The spare key hangs in the shed.\n"
    files = {"a.md": text, "MEMORY.md": text + "\nMore.\n", "b/pinned.md": "---\npinned: true\n---\n" + text}
    for weights in ({}, {"memory": 0.0}):
        hits = search({"z.md": "Nothing here.\n", **files}, "where is the spare key", **weights)
        assert hits[0].path in ("MEMORY.md", "b/pinned.md")


@pytest.mark.parametrize(
    "mark",
    ["supersedes: daily/2026-01-05.md", "supersedes: '[[daily/2026-01-05]]'", "supersedes: [daily/2026-01-05.md]"],
)
def test_a_superseded_note_comes_after_the_one_that_replaces_it(search, mark):
    files = {
        "daily/2026-01-05.md": "路由器密码贴在柜门上。路由器在玄关,路由器很稳定。\n",
        "daily/2026-03-01.md": f"---\n{mark}\n---\n路由器密码记在保险箱。\n",
    }
    hits = search(files, "路由器密码在哪")
    assert [hit.path for hit in hits] == ["daily/2026-03-01.md", "daily/2026-01-05.md"]
    assert hits[1].metadata["superseded"] is True
    assert "superseded" not in hits[0].metadata


def test_a_correction_comes_before_the_statement_it_corrects(search):
    files = {
        "daily/2026-01-05.md": "路由器密码贴在柜门上。路由器在玄关，路由器很稳定。\n",
        "daily/2026-03-01.md": "更正：路由器密码改记在保险箱。\n",
    }
    hits = search(files, "路由器密码在哪")
    assert [(hit.path, hit.date) for hit in hits] == [
        ("daily/2026-03-01.md", "2026-03-01"),
        ("daily/2026-01-05.md", "2026-01-05"),
    ]


def test_a_note_whose_validity_has_ended_is_demoted(search):
    files = {
        "a.md": "---\nvalid_to: 2026-03-17\n---\nThe parking permit is number 12.\n",
        "b.md": "The parking permit is number 77.\n",
        "c.md": "---\nvalid_to: 2026-03-18\n---\nThe parking permit is number 33.\n",
    }
    found = scores(search(files, "parking permit number"))
    assert found["a.md"] < min(found["b.md"], found["c.md"])


def test_a_lasting_fact_is_not_buried_under_recent_mentions(search):
    files = {f"daily/2026-02-{day:02d}.md": f"今天忙，路过生日蛋糕店，买了{day}个面包。\n" for day in range(1, 29)}
    files["digest/personal/birthday.md"] = "生日 5 月 20 日\n"
    assert "digest/personal/birthday.md" in [hit.path for hit in search(files, "我的生日是哪天")[:3]]


def test_scores_lie_between_zero_and_one_and_fall_along_the_result(search):
    files = {f"n/{number}.md": "apple " * number + "pear\n" for number in range(1, 9)}
    hits = search(files, "apple pear", limit=8)
    values = [hit.score for hit in hits]
    assert len(values) == 8
    assert values == sorted(values, reverse=True)
    assert all(0 < value < 1 for value in values)


def test_every_weight_can_be_switched_off(search):
    files = {"MEMORY.md": "# Plan\n\n**Ann**: Correction: we meet on 2026-03-05, not in May.\n\n**Bob**: Fine.\n"}
    off = dict.fromkeys(Weights.model_fields, 0.0)
    assert search(files, "When does Ann meet?", **off)


def test_ties_go_by_path_and_line(search):
    text = "Otters swim.\n\n" + "\n\n".join(["Filler."] * 10) + "\n\nOtters swim well.\n"
    files = {name: text.replace("swim", f"swim {name[0]}x{name[0]}") for name in ("c.md", "a.md", "b.md")}
    hits = search(files, "otters", limit=20, labels=0)
    ends = [(hit.path, hit.start_line) for hit in hits if "Otters" in hit.text]
    assert len({hit.score for hit in hits if "Otters" in hit.text}) == 2
    assert sorted(ends[:3]) == ends[:3]
    assert sorted(ends[3:]) == ends[3:]


async def test_weights_are_settings_and_one_that_is_zero_is_off(tmp_path):
    for number, day in enumerate(("2026-03-01", "2026-03-08")):
        note = tmp_path / f"daily/{day}/talk.md"
        note.parent.mkdir(parents=True)
        note.write_text(f"The ferry left{' at noon' * number}.\n", encoding="utf-8")

    async def first(**ranking):
        async with ReMe(vault_dir=tmp_path, ranking=ranking) as reme:
            hits = (await reme.search("which ferry left on 8 March 2026")).hits
            return hits[0].date, [hit.score for hit in hits]

    assert (await first())[0] == "2026-03-08"
    plain_date, plain_scores = await first(date=0)
    assert plain_date == "2026-03-01"
    assert (await first(date=0, pairs=0))[1] != plain_scores


@pytest.mark.parametrize(
    ("ranking", "named"),
    [({"dat": 0}, "ranking.dat"), ({"asks": 1.5}, "ranking.asks"), ({"pairs": -1}, "ranking.pairs")],
)
def test_a_weight_that_does_not_exist_or_is_out_of_bounds_is_named(ranking, named):
    with pytest.raises(ConfigError, match=named):
        ReMeConfig.of(ranking=ranking)


def test_chunk_sizes_have_names():
    assert ReMeConfig.of(chunk_chars="reme").chunk_chars == 10_000
    assert ReMeConfig.of(chunk_chars="default").chunk_chars == ReMeConfig().chunk_chars == 1_200
    with pytest.raises(ConfigError, match="chunk_chars"):
        ReMeConfig.of(chunk_chars="huge")
