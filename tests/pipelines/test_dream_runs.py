"""A run as one thing: what its log says, taking it back, forgetting what it rests on, completing it after a crash."""

import json
from pathlib import Path

import pytest

from agentscope_reme import ReMe
from agentscope_reme.pipelines.dream_undo import undo_run

from .dreams import (
    TODAY,
    Script,
    about_first,
    dream,
    files,
    found,
    notes_below,
    place,
    state,
    unit,
    vault_at,
    write_card,
)


class Crash(BaseException):
    """As if the process ended here."""


async def a_run(root: Path, **options):
    vault = vault_at(root)
    vault.write_sync("digest/personal/tea.md", "My own words.\n")
    path = write_card(vault, TODAY, "card", "Ann: I like oolong tea.", "Ann: I fire the kiln at 1240 degrees.")
    units = [
        unit("tea", "Ann likes oolong tea.", place(vault, path, "oolong")),
        unit("kiln", "Ann fires the kiln at 1240 degrees.", place(vault, path, "1240")),
    ]
    topics = [{"title": "oolong", "evidence": [place(vault, path, "oolong")]}]

    def decide(user: str):
        return about_first("refine")(user) if "oolong" in user.split("</unit>")[0] else {"action": "create"}

    script = Script(lambda user: found(units, topics), decide)
    return vault, path, await dream(vault, script, **options), script


async def test_the_log_of_a_run_names_each_file_and_decision_and_how_to_take_it_back(
    vault_dir: Path,
) -> None:
    vault, path, done, _ = await a_run(vault_dir)
    text = vault.read_bytes(done.metadata["log"]).decode()
    assert f"agentscope-reme undo {done.metadata['run_id']}" in text
    assert "- changed [[digest/personal/tea.md]]" in text
    assert "- created [[digest/personal/kiln.md]]" in text
    assert f"- created [[daily/{TODAY}/interests.yaml]]" in text
    assert f"- read {path}" in text
    assert "- refine digest/personal/tea.md: Ann likes oolong tea." in text
    entries = [entry for entry in vault.history_sync() if entry.group == done.metadata["run_id"]]
    assert {entry.path for entry in entries} == {
        "digest/personal/tea.md", "digest/personal/kiln.md", f"daily/{TODAY}/interests.yaml"
    }  # fmt: skip
    assert all(entry.actor == "pipeline" and entry.reason.startswith("dream ") for entry in entries)


async def test_a_whole_run_is_taken_back_and_can_be_brought_again(vault_dir: Path) -> None:
    vault, _, _, script = await a_run(vault_dir)
    root = vault.root
    before = {"digest/personal/tea.md": b"My own words.\n"}
    after = files(root, "digest", f"daily/{TODAY}/interests")
    back = await undo_run(vault)
    assert back.success
    assert set(back.metadata["paths"]) == {
        "digest/personal/tea.md",
        "digest/personal/kiln.md",
        f"daily/{TODAY}/interests.yaml",
    }
    assert files(root, "digest", f"daily/{TODAY}/interests") == before
    assert not (await undo_run(vault)).success
    asked = len(script.asked)
    assert (await dream(vault, script)).success
    assert len(script.asked) == asked, "what was taken back is not put there again by the next run"
    newest = vault.history_sync(limit=1)[0]
    vault.undo_sync(newest.group)
    assert files(root, "digest", f"daily/{TODAY}/interests") == after


async def test_a_run_whose_notes_have_changed_since_is_not_taken_back_by_half(vault_dir: Path) -> None:
    vault, _, done, _ = await a_run(vault_dir)
    vault.append_sync("digest/personal/kiln.md", "and my own word")
    before = files(vault_dir, "digest", "daily")
    back = await undo_run(vault, done.metadata["run_id"])
    assert not back.success
    assert "digest/personal/kiln.md has changed" in back.answer
    assert files(vault_dir, "digest", "daily") == before
    assert not (await undo_run(vault, "20200101T000000-00000000")).success


async def test_the_newest_run_is_meant_also_when_other_things_changed_after_it(vault_dir: Path) -> None:
    vault, _, done, _ = await a_run(vault_dir)
    vault.write_sync("note.md", "x")
    back = await undo_run(vault)
    assert back.metadata["run_id"] == done.metadata["run_id"]
    assert vault.read_bytes("note.md") == b"x"


async def test_forgetting_a_note_takes_it_out_of_what_a_dream_remembers(vault_dir: Path) -> None:
    """P15: what waits, what was read and what the logs say of a note goes with it."""
    vault, path, _, _ = await a_run(vault_dir, max_units=1)
    other = write_card(vault, "2026-03-09", "other", "Lin: The glaze is celadon.")
    glaze = unit("glaze", "Lin's glaze is celadon.", place(vault, other, "celadon"))
    await dream(vault, Script(lambda user: found([glaze])), max_units=0)
    assert "1240" in json.dumps(state(vault))
    async with ReMe(vault_dir) as reme:
        await reme.forget(path)
    kept = json.dumps(state(vault))
    assert "1240" not in kept
    assert path not in kept
    assert "celadon" in kept, "what is said of other notes stays"
    logs = "".join(files(vault_dir, "history/runs")[name].decode() for name in files(vault_dir, "history/runs"))
    assert path not in logs
    assert "oolong tea" not in logs
    again = await dream(vault, Script())
    assert again.metadata["created"] == ["digest/personal/glaze.md"]


async def test_forgetting_a_folder_means_the_notes_in_it_and_no_namesake(vault_dir: Path) -> None:
    vault, _, _, _ = await a_run(vault_dir)
    page = f"daily/{TODAY}.md"
    vault.append_sync(page, "A line of my own.")
    await dream(vault, Script())
    assert page in state(vault)["notes"]
    async with ReMe(vault_dir) as reme:
        await reme.forget(f"daily/{TODAY}")
    assert list(state(vault)["notes"]) == [page]


@pytest.mark.parametrize("by", ["model", "no model"])
@pytest.mark.parametrize("edited", [False, True])
async def test_an_interrupted_run_is_completed_without_asking_again(vault_dir: Path, edited: bool, by: str) -> None:
    vault = vault_at(vault_dir)
    path = write_card(vault, TODAY, "card", "Ann: I like oolong tea.", "Ann: I fire the kiln at 1240 degrees.")
    units = [
        unit("tea", "Ann likes oolong tea.", place(vault, path, "oolong")),
        unit("kiln", "Ann fires the kiln at 1240 degrees.", place(vault, path, "1240")),
    ]
    real = vault.change

    def change(name: str, *args, **kwargs):
        if "kiln" in name:
            raise Crash
        return real(name, *args, **kwargs)

    vault.change = change  # type: ignore[method-assign]
    with pytest.raises(Crash):
        await dream(vault, Script(lambda user: found(units)))
    assert list(notes_below(vault_dir)) == ["digest/personal/tea.md"]
    fresh = vault_at(vault_dir)
    if edited:
        fresh.append_sync("digest/personal/tea.md", "Mine.")
    script = Script()
    done = await dream(fresh, script if by == "model" else None)
    assert done.metadata["resumed"] in done.answer
    assert done.success == (by == "model")
    assert not script.asked
    texts = notes_below(vault_dir)
    assert sorted(texts) == ["digest/personal/kiln.md", "digest/personal/tea.md"]
    assert texts["digest/personal/tea.md"].count("Ann likes oolong tea. ^") == 1
    assert texts["digest/personal/tea.md"].endswith("Mine.\n" if edited else "-->\n")
    if not edited:
        assert (await undo_run(fresh)).success, "the two halves are one run"
        assert not notes_below(vault_dir)
