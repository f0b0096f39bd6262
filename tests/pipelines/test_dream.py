"""A dream: what daily notes hold comes into long-term notes, once, with its sources, and nothing is lost on the way."""

import asyncio
import json
from pathlib import Path

import pytest

from agentscope_reme import ReMe
from agentscope_reme.pipelines.auto_dream import MOST_WAITING, TRIES
from agentscope_reme.pipelines.dream_sources import MAX_PIECES
from agentscope_reme.pipelines.dream_undo import undo_run
from agentscope_reme.pipelines.proactive import proactive
from agentscope_reme.vault.frontmatter import parse
from tests.support.scripted_model import ScriptedModel

from .dreams import (
    TODAY,
    Script,
    about_first,
    by_note,
    dream,
    failing,
    files,
    found,
    index_of,
    notes_below,
    place,
    state,
    unit,
    vault_at,
    write_card,
)

KILN = "Ann: I decided to fire the kiln at 1240 degrees."


def one_card(root: Path, **fields: str):
    vault = vault_at(root)
    path = write_card(vault, TODAY, "kiln", KILN, "Ann: The clay comes from Westerwald.", **fields)
    kiln = unit("kiln temperature", "Ann fires the kiln at 1240 degrees.", place(vault, path, "1240 degrees"))
    clay = unit("clay", "Ann's clay comes from Westerwald.", place(vault, path, "Westerwald"), category="wiki")
    return vault, path, kiln, clay


async def test_a_statement_becomes_a_note_that_says_where_it_is_from(vault_dir: Path) -> None:
    vault, path, kiln, clay = one_card(vault_dir)
    done = await dream(vault, Script(lambda user: found([kiln, clay])))
    assert done.success
    assert done.metadata["created"] == ["digest/personal/kiln-temperature.md", "digest/wiki/clay.md"]
    note = parse(notes_below(vault_dir)["digest/personal/kiln-temperature.md"])
    assert note.front.data["name"] == "kiln temperature"
    assert note.front.data["trust"] == "user"
    assert note.front.data["valid_from"] == TODAY
    assert note.front.data["description"] == "Ann fires the kiln at 1240 degrees."
    assert "- Ann fires the kiln at 1240 degrees. ^d" in note.body
    assert f"source: [[{path}|{TODAY} Ann]]" in note.body


async def test_a_unit_says_note_lines_version_day_and_speaker_of_its_evidence(vault_dir: Path) -> None:
    vault, path, kiln, _ = one_card(vault_dir)
    version = vault.stat_sync(path).version
    done = await dream(vault, Script(lambda user: found([kiln])))
    (evidence,) = done.metadata["units"][0]["evidence"]
    assert evidence["path"] == path
    assert evidence["version"] == version
    assert evidence["start_line"] == kiln["evidence"][0]["start_line"]
    assert (evidence["date"], evidence["speaker"]) == (TODAY, "Ann")


async def test_running_it_again_changes_nothing_and_asks_nothing(vault_dir: Path) -> None:
    vault, _, kiln, clay = one_card(vault_dir)
    script = Script(lambda user: found([kiln, clay], [{"title": "pottery", "evidence": kiln["evidence"]}]))
    await dream(vault, script)
    before, asked = files(vault_dir), len(script.asked)
    again = await dream(vault, script)
    assert again.success
    assert files(vault_dir) == before
    assert len(script.asked) == asked


async def test_reading_a_changed_note_again_says_nothing_twice(vault_dir: Path) -> None:
    """What the note said before is extracted again, in the same words or in others, and stands there already."""
    vault, path, kiln, _ = one_card(vault_dir)
    await dream(vault, Script(lambda user: found([kiln])))
    before = notes_below(vault_dir)
    vault.append_sync(path, "and a word more")
    script = Script(lambda user: found([kiln]))
    again = await dream(vault, script)
    assert notes_below(vault_dir) == before
    assert not script.of("Decision"), "nothing has to be decided on what is written there"
    assert again.metadata["skipped"][0]["reason"] == "it stands there already"


async def test_without_a_model_it_says_so_and_changes_nothing(vault_dir: Path) -> None:
    one_card(vault_dir)
    before = files(vault_dir)
    done = await ReMe(vault_dir).auto_dream()
    assert not done.success
    assert "needs a chat model" in done.answer
    assert files(vault_dir) == before


async def test_without_a_model_the_topics_are_those_of_the_units_that_wait(vault_dir: Path) -> None:
    """Chosen by rules, in a run that can be taken back; the units go on waiting."""
    vault, path, kiln, clay = one_card(vault_dir)
    again = {**clay, "name": "Clay", "statement": "The clay of Ann comes from Westerwald."}
    await dream(vault, Script(lambda user: found([kiln, clay, again])), max_units=1)
    waiting = state(vault)["waiting"]
    done = await dream(vault, None)
    assert not done.success
    assert "needs a chat model" in done.answer
    assert [(topic["title"], topic["paths"]) for topic in done.metadata["topics"]] == [("clay", [path])]
    assert (await proactive(vault, date=TODAY)).metadata["topics"][0]["evidence"] == (
        "10:01 Ann: The clay comes from Westerwald"
    )
    assert state(vault)["waiting"] == waiting
    before = files(vault_dir, "daily", "digest", "history/pipelines")
    assert not (await dream(vault, None)).success
    assert files(vault_dir, "daily", "digest", "history/pipelines") == before
    assert (await undo_run(vault, done.metadata["run_id"])).success
    assert (await proactive(vault, date=TODAY)).metadata["topics"] == []


async def test_a_model_that_is_down_leaves_topics_of_what_waits(vault_dir: Path) -> None:
    vault, _, kiln, clay = one_card(vault_dir)
    await dream(vault, Script(lambda user: found([kiln, clay])), max_units=1)
    write_card(vault, TODAY, "more", "Ann: I like oolong tea.")
    done = await dream(vault, Script(lambda user: failing(), lambda user: failing()))
    assert not done.success
    assert [topic["title"] for topic in done.metadata["topics"]] == ["clay"]
    assert [one["name"] for one in done.metadata["waiting"]] == ["clay"]


async def test_an_empty_folder_is_no_failure_and_stays_empty(vault_dir: Path) -> None:
    done = await dream(vault_at(vault_dir), Script())
    assert done.success
    assert not vault_dir.exists()


@pytest.mark.parametrize("date", ["../../x", "2026-3-1", "2026-02-30", "yesterday", "/etc"])
async def test_what_is_no_date_is_refused(vault_dir: Path, date: str) -> None:
    vault, *_ = one_card(vault_dir)
    before = files(vault_dir)
    done = await dream(vault, Script(), date=date)
    assert not done.success
    assert "is not a date" in done.answer
    assert files(vault_dir) == before


async def test_an_agents_model_is_asked_through_the_planner(vault_dir: Path) -> None:
    """Prose and a fence around the JSON, as models write it; the whole way through ReMe."""
    _vault, path, kiln, _ = one_card(vault_dir)
    told = f"Here is what I found:\n\n```json\n{json.dumps(found([kiln]))}\n```\nHope it helps!"
    model = ScriptedModel([told, json.dumps({"action": "create", "reason": "new"})])
    async with ReMe(vault_dir, chat_model=model, timezone="UTC") as reme:
        done = await reme.auto_dream(date=TODAY)
        assert done.metadata["created"] == ["digest/personal/kiln-temperature.md"]
        hits = (await reme.search("at how many degrees does Ann fire the kiln")).hits
        assert hits[0].path in ("digest/personal/kiln-temperature.md", path)
        assert (await reme.undo_run()).success
        assert not notes_below(vault_dir)


# --- what waits, and what was read ------------------------------------------------------------------------------------


async def test_units_beyond_the_limit_wait_and_are_not_asked_for_again(vault_dir: Path) -> None:
    vault = vault_at(vault_dir)
    words = ["oak", "elm", "ash", "fir", "yew", "box", "bay"]
    path = write_card(vault, TODAY, "wood", *(f"Ann: I bought {word} timber." for word in words))
    units = [unit(f"{word} timber", f"Ann bought {word} timber.", place(vault, path, word)) for word in words]
    script = Script(lambda user: found(units))
    first = await dream(vault, script, max_units=3)
    assert [one["name"] for one in first.metadata["waiting"]] == [f"{word} timber" for word in words[3:]]
    assert len(notes_below(vault_dir)) == 3
    await dream(vault, script, max_units=3)
    last = await dream(vault, script, max_units=3)
    assert last.metadata["waiting"] == []
    assert {name.split("/")[2] for name in notes_below(vault_dir)} == {f"{word}-timber.md" for word in words}
    assert len(script.of("Extraction")) == 1


async def test_what_waits_rests_on_what_the_files_still_say(vault_dir: Path) -> None:
    vault, path, kiln, clay = one_card(vault_dir)
    await dream(vault, Script(lambda user: found([kiln, clay])), max_units=1)
    vault.edit_sync(path, "The clay comes from Westerwald.", "The clay comes from Limoges.")
    done = await dream(vault, Script(lambda user: found()))
    assert done.metadata["waiting"] == []
    assert list(notes_below(vault_dir)) == ["digest/personal/kiln-temperature.md"]


async def test_a_note_edited_while_the_model_thinks_is_read_by_the_next_run(vault_dir: Path) -> None:
    vault, path, kiln, _clay = one_card(vault_dir)

    def extract(user: str):
        vault.append_sync(path, "- 11:00 Ann: The glaze is celadon.")
        return found([kiln])

    await dream(vault, Script(extract))
    script = Script(lambda user: found([unit("glaze", "Ann's glaze is celadon.", place(vault, path, "celadon"))]))
    again = await dream(vault, script)
    assert "The glaze is celadon." in script.of("Extraction")[0].user
    assert again.metadata["created"] == ["digest/personal/glaze.md"]


async def test_days_on_which_no_dream_ran_are_caught_up(vault_dir: Path) -> None:
    vault = vault_at(vault_dir)
    days = ["2025-12-24", "2026-02-01", "2026-03-09"]
    paths = [write_card(vault, day, f"card{day}", f"Ann: I met Lin on the {day} train.") for day in days]
    script = Script(lambda user: found())
    done = await dream(vault, script)
    assert done.metadata["read"] == [paths[2], paths[0], paths[1]], "the last days first, then the oldest"
    assert not (await dream(vault, script)).metadata["read"]


async def test_a_date_and_a_number_of_days_say_what_is_read(vault_dir: Path) -> None:
    vault = vault_at(vault_dir)
    paths = {
        day: write_card(vault, day, "card", "Ann: I met Lin.") for day in ("2026-03-07", "2026-03-08", "2026-03-09")
    }
    done = await dream(vault, Script(), date="2026-03-08")
    assert done.metadata["read"] == [paths["2026-03-07"], paths["2026-03-08"]]
    assert done.metadata["outside"] == 1
    assert (await dream(vault, Script(), date="2026-03-09", scan_days=1)).metadata["read"] == [paths["2026-03-09"]]


async def test_what_somebody_writes_on_a_days_page_is_read_and_its_list_of_cards_is_not(vault_dir: Path) -> None:
    vault, _, _kiln, _ = one_card(vault_dir)
    vault.append_sync(f"daily/{TODAY}.md", "Remember the glaze recipe of Lin.", actor="agent")
    script = Script(lambda user: found())
    done = await dream(vault, script)
    assert f"daily/{TODAY}.md" in done.metadata["read"]
    assert "glaze recipe of Lin" in script.asked[0].user
    assert "[[daily/" not in script.asked[0].user
    write_card(vault, TODAY, "another", "Ann: The wheel is broken.")
    vault_page = await dream(vault, Script(lambda user: found()))
    assert vault_page.metadata["read"] == [f"daily/{TODAY}/another.md"], "a new line in the list is no new page"


async def test_a_long_note_is_read_in_pieces_over_several_runs(vault_dir: Path) -> None:
    vault = vault_at(vault_dir)
    lines = [f"Ann: Pot number {number} broke because of {'the draught ' * 30}" for number in range(700)]
    path = write_card(vault, TODAY, "long", *lines)
    script, runs = Script(lambda user: found()), 0
    while path in (await dream(vault, script)).metadata["left"]:
        runs += 1
        assert runs < 20
    assert runs > 1
    assert max(len(one.user) for one in script.asked) < 30_000
    shown = "\n".join(one.user for one in script.asked)
    assert [shown.count(f"Pot number {number} ") for number in range(700)] == [1] * 700


async def test_when_too_many_units_wait_no_more_notes_are_read(vault_dir: Path) -> None:
    vault = vault_at(vault_dir)
    many = range(MOST_WAITING)
    path = write_card(vault, TODAY, "wood", *(f"Ann: I bought {number + 100} planks." for number in many))
    units = [unit(f"planks {n}", f"Ann bought {n + 100} planks.", place(vault, path, f" {n + 100} ")) for n in many]
    await dream(vault, Script(lambda user: found(units)), max_units=0)
    other = write_card(vault, "2026-03-09", "other", "Ann: I met Lin.")
    script = Script(lambda user: found())
    done = await dream(vault, script, max_units=0)
    assert done.metadata["left"] == [other]
    assert not script.asked
    assert (await dream(vault, script, max_units=5)).metadata["left"] == [other]
    assert (await dream(vault, script, max_units=5)).metadata["read"] == [other]


async def test_what_the_model_failed_on_is_tried_again_and_the_rest_is_done(vault_dir: Path) -> None:
    vault, _path, kiln, _ = one_card(vault_dir)
    outside = write_card(vault, TODAY, "web", "A kiln needs a flue.", trust="external")

    def extract(user: str):
        return failing() if "web.md" in user else found([kiln])

    done = await dream(vault, Script(extract))
    assert not done.success
    assert "the provider is down" in done.answer
    assert outside in done.answer
    assert done.metadata["created"] == ["digest/personal/kiln-temperature.md"]
    assert (await dream(vault, Script(lambda user: found()))).metadata["read"] == [outside]


async def test_a_unit_without_a_decision_waits(vault_dir: Path) -> None:
    vault, _, kiln, clay = one_card(vault_dir)
    script = Script(
        lambda user: found([kiln, clay]), lambda user: failing("timeout") if "1240" in user else {"action": "create"}
    )
    done = await dream(vault, script)
    assert not done.success
    assert list(notes_below(vault_dir)) == ["digest/wiki/clay.md"]
    assert (await dream(vault, Script())).metadata["created"] == ["digest/personal/kiln-temperature.md"]


async def test_units_without_a_decision_keep_no_other_from_its_turn(vault_dir: Path) -> None:
    vault = vault_at(vault_dir)
    words = ["oak", "elm", "ash", "fir"]
    path = write_card(vault, TODAY, "wood", *(f"Ann: I bought {word} timber." for word in words))
    units = [unit(f"{word} timber", f"Ann bought {word} timber.", place(vault, path, word)) for word in words]

    def decide(user: str):
        return failing("malformed") if "bought oak" in user or "bought elm" in user else {"action": "create"}

    script = Script(lambda user: found(units), decide)
    await dream(vault, script, max_units=2)
    await dream(vault, script, max_units=2)
    assert list(notes_below(vault_dir)) == ["digest/personal/ash-timber.md", "digest/personal/fir-timber.md"]


async def test_a_unit_that_never_gets_a_decision_becomes_a_note_in_the_end(vault_dir: Path) -> None:
    vault, _, kiln, _ = one_card(vault_dir)
    script = Script(lambda user: found([kiln]), lambda user: failing("malformed"))
    for _ in range(TRIES - 1):
        assert not (await dream(vault, script)).success
        assert not notes_below(vault_dir)
    done = await dream(vault, script)
    assert done.success
    assert done.metadata["created"] == ["digest/personal/kiln-temperature.md"]
    assert "no usable decision" in done.answer


async def test_a_unit_waits_as_long_as_the_model_is_down(vault_dir: Path) -> None:
    vault, _, kiln, _ = one_card(vault_dir)
    script = Script(lambda user: found([kiln]), lambda user: failing("model"))
    for _ in range(TRIES + 2):
        assert not (await dream(vault, script)).success
    assert not notes_below(vault_dir)


async def test_notes_that_the_model_makes_no_plan_of_are_read_after_the_others(vault_dir: Path) -> None:
    """Each fills a request, and a run makes so many: without that, nothing else would ever be read."""
    vault = vault_at(vault_dir)
    bad = [
        write_card(vault, TODAY, f"a{number}", *(f"Ann: poison {at} {'x' * 500}" for at in range(30)))
        for number in range(MAX_PIECES + 1)
    ]
    good = write_card(vault, TODAY, "b", "Ann: I like oolong tea.")
    script = Script(lambda user: failing("malformed") if "poison" in user else found())
    first = await dream(vault, script)
    assert good in first.metadata["left"]
    second = await dream(vault, script)
    assert second.metadata["read"] == [good]
    assert set(second.metadata["left"]) == set(bad)


# --- runs, and each other ---------------------------------------------------------------------------------------------


async def test_two_dreams_at_once_integrate_each_unit_once(vault_dir: Path) -> None:
    vault, _, kiln, clay = one_card(vault_dir)
    other = vault_at(vault_dir)
    script = Script(lambda user: found([kiln, clay]))
    done = await asyncio.gather(dream(vault, script), dream(other, script))
    assert all(one.success for one in done)
    assert len(script.of("Extraction")) == 1
    assert sorted(notes_below(vault_dir)) == ["digest/personal/kiln-temperature.md", "digest/wiki/clay.md"]
    assert all(text.count("- Ann") == 1 for text in notes_below(vault_dir).values())


async def test_a_run_of_another_process_is_waited_for_and_then_named(vault_dir: Path) -> None:
    from filelock import FileLock

    vault, _, kiln, _ = one_card(vault_dir)
    before = files(vault_dir)
    with FileLock(vault.storage.lock_file("auto_dream.lock")):
        done = await dream(vault, Script(lambda user: found([kiln])), lock_wait=0.0)
    assert not done.success
    assert "another run of auto_dream is at work" in done.answer
    assert files(vault_dir) == before


async def test_a_dream_that_is_cancelled_has_changed_nothing_and_loses_nothing(vault_dir: Path) -> None:
    vault, _, kiln, _ = one_card(vault_dir)
    thinking = asyncio.Event()

    class Slow(Script):
        async def plan(self, *args, **kwargs):
            thinking.set()
            await asyncio.sleep(60)

    before = files(vault_dir, "daily/2026-03-10/", "digest", "history/pipelines")
    task = asyncio.create_task(dream(vault, Slow()))
    await thinking.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert files(vault_dir, "daily/2026-03-10/", "digest", "history/pipelines") == before
    assert (await dream(vault, Script(lambda user: found([kiln])), lock_wait=0.0)).metadata["created"]


async def test_a_state_that_cannot_be_read_is_kept_aside_and_costs_no_note(vault_dir: Path) -> None:
    vault, _, kiln, _ = one_card(vault_dir)
    script = Script(lambda user: found([kiln]))
    await dream(vault, script)
    before = notes_below(vault_dir)
    (vault_dir / "history/pipelines/auto_dream.json").write_text("{not json", encoding="utf-8")
    done = await dream(vault, script)
    assert done.success
    assert notes_below(vault_dir) == before
    assert (vault_dir / "history/pipelines/auto_dream.json.damaged").read_text(encoding="utf-8") == "{not json"


async def test_notes_that_are_gone_are_named_with_the_long_term_notes_that_cite_them(vault_dir: Path) -> None:
    vault, path, kiln, _ = one_card(vault_dir)
    await dream(vault, Script(lambda user: found([kiln])))
    before = notes_below(vault_dir)
    vault.delete_sync(path)
    done = await dream(vault, Script())
    assert done.metadata["gone"] == [path]
    assert done.metadata["unsourced"] == [f"digest/personal/kiln-temperature.md cites {path}"]
    assert notes_below(vault_dir) == before
    assert path not in state(vault)["notes"]


async def test_the_loop_stays_free_while_a_dream_reads_and_writes(vault_dir: Path) -> None:
    """File work is in threads: a task beside it gets its turns while the files are read."""
    vault, _, kiln, _ = one_card(vault_dir)
    threads = set()
    real = vault.read_bytes

    def read_bytes(path: str) -> bytes:
        import threading

        threads.add(threading.current_thread() is threading.main_thread())
        return real(path)

    vault.read_bytes = read_bytes  # type: ignore[method-assign]
    index = index_of(vault)
    from agentscope_reme.pipelines.auto_dream import auto_dream

    await auto_dream(vault, index, planner=Script(lambda user: found([kiln])))
    await index.close()
    assert threads == {False}


async def test_the_model_is_shown_the_hint_and_digest_notes_as_data(vault_dir: Path) -> None:
    vault, path, kiln, _ = one_card(vault_dir)
    await dream(vault, Script(lambda user: found([kiln])))
    vault.append_sync(path, "- 11:00 Ann: I fire the kiln at 1260 degrees now.")
    hotter = unit("kiln", "Ann fires the kiln at 1260 degrees.", place(vault, path, "1260"))
    script = Script(by_note({"kiln": [hotter]}), about_first("correct"))
    await dream(vault, script, hint="look for </hint> temperatures")
    extraction, decision = script.of("Extraction")[0], script.of("Decision")[0]
    assert "temperatures" in extraction.user
    assert extraction.user.count("</hint>") == 1
    assert "Ann fires the kiln at 1240 degrees." in decision.user
    for one in script.asked:
        assert "1240" not in one.system
        assert "temperatures" not in one.system


async def test_however_many_units_a_model_gives_none_is_dropped(vault_dir: Path) -> None:
    vault = vault_at(vault_dir)
    path = write_card(vault, TODAY, "wood", *(f"Ann: I bought {number + 100} planks." for number in range(45)))
    units = [unit(f"p{n}", f"Ann bought {n + 100} planks.", place(vault, path, f" {n + 100} ")) for n in range(45)]
    done = await dream(vault, Script(lambda user: found(units)), max_units=2)
    assert len(done.metadata["integrated"]) + len(done.metadata["waiting"]) == 45


async def test_a_note_that_was_only_moved_is_not_read_again(vault_dir: Path) -> None:
    vault, path, kiln, _ = one_card(vault_dir)
    await dream(vault, Script(lambda user: found([kiln])))
    vault.move_sync(path, f"daily/{TODAY}/oven.md")
    script = Script()
    done = await dream(vault, script)
    assert not script.of("Extraction")
    assert done.metadata["read"] == []
    (text,) = notes_below(vault_dir).values()
    assert f"[[daily/{TODAY}/oven.md|" in text
    assert not (await dream(vault, script)).metadata["gone"]


async def test_a_request_that_is_too_long_for_the_model_is_divided(vault_dir: Path) -> None:
    vault = vault_at(vault_dir)
    words = [f"Ann: Pot {number} is blue." for number in range(40)]
    paths = [write_card(vault, TODAY, name, *words) for name in ("a", "b")]
    script = Script(lambda user: failing("too_long") if user.count("| - ") > 25 else found())
    done = await dream(vault, script)
    assert done.success, done.answer
    assert done.metadata["read"] == paths
    answered = [one.user for one in script.of("Extraction") if one.user.count("| - ") <= 25]
    assert [sum(f"Pot {number} is" in user for user in answered) for number in range(40)] == [2] * 40


async def test_a_note_of_which_the_model_makes_no_plan_keeps_no_other_from_being_read(vault_dir: Path) -> None:
    vault = vault_at(vault_dir)
    paths = [write_card(vault, TODAY, f"card{number}", f"Ann: Pot {number} is blue.") for number in range(6)]
    script = Script(lambda user: failing("malformed") if "Pot 4 " in user else found())
    done = await dream(vault, script)
    assert not done.success
    assert done.metadata["left"] == [paths[4]]
    assert set(done.metadata["read"]) == {path for path in paths if path != paths[4]}


async def test_of_a_long_note_the_model_sees_the_statements_that_matter(vault_dir: Path) -> None:
    vault = vault_at(vault_dir)
    many = [
        f"Pot {number} is of clay from quarry {number}, glazed on a rainy day and fired slowly." for number in range(60)
    ]
    path = write_card(vault, "2026-03-09", "pots", *(f"Ann: {one}" for one in many))
    units = [unit("pots", one, place(vault, path, one)) for one in many]
    await dream(vault, Script(lambda user: found(units), about_first("refine")), max_units=200)
    later = write_card(vault, TODAY, "pots", "Ann: Pot 57 is of clay from quarry 9, as it turned out.")
    claim = unit("pots", "Pot 57 is of clay from quarry 9.", place(vault, later, "Pot 57"))
    script = Script(by_note({TODAY: [claim]}), about_first("refine"))
    await dream(vault, script)
    (asked,) = script.of("Decision")
    assert "Pot 57 is of clay from quarry 57," in asked.user
    assert len(asked.user) < 5_000


async def test_a_decision_is_asked_for_with_a_bounded_number_of_notes(vault_dir: Path) -> None:
    vault = vault_at(vault_dir)
    words = [f"Ann bought plank {number} of oak." for number in range(30)]
    path = write_card(vault, TODAY, "wood", *(f"Ann: {one}" for one in words))
    units = [unit(f"plank {n}", one, place(vault, path, one)) for n, one in enumerate(words)]
    script = Script(lambda user: found(units))
    await dream(vault, script, max_units=40)
    assert len(notes_below(vault_dir)) == 30
    assert max(one.user.count("<note ") for one in script.of("Decision")) <= 12
