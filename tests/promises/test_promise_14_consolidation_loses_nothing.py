"""P14: consolidation never deletes or rewrites a source note, bounds what it may remove, logs it, and can be undone.

A model that answers at random, from any action on any note with any text, stands in for the worst one there is.
"""

import asyncio
import random
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentscope_reme.pipelines.dream_undo import undo_run
from agentscope_reme.vault import Vault
from tests.pipelines.dreams import Script, dream, files, found, notes_below, place, unit, vault_at, write_card

DAYS = ("2026-03-06", "2026-03-07", "2026-03-08", "2026-03-09", "2026-03-10")
SAID = (
    "Ann likes oolong tea.",
    "Ann does not like oolong tea.",
    "Ann fires the kiln at 1240 degrees.",
    "Ann fires the kiln at 1260 degrees.",
    "Bob fires the kiln at 1240 degrees.",
    "The kiln is electric.",
    "小王喜欢喝茶。",
    "小王不喜欢喝茶。",
)
MINE = "---\ntitle: mine  # keep\n---\nWords of my own, *as they are*.  \n\n- a list\n"


def erratic(seed: int, vault: Vault) -> Script:
    """A model that picks actions, targets, statements and wordings by chance, some of them out of thin air."""
    chance = random.Random(seed)

    def extract(user: str) -> dict[str, Any]:
        shown = re.findall(r'<note path="([^"]+)"', user)
        units = []
        for path in shown:
            text = vault.read_bytes(path).decode()
            for statement in SAID:
                if f": {statement}" in text:
                    units.append(unit(chance.choice(["tea", "kiln", "x"]), statement, place(vault, path, statement)))
        chance.shuffle(units)
        return found(units)

    def decide(user: str) -> dict[str, Any]:
        paths = [*re.findall(r'<note path="([^"]+)"', user), "digest/wiki/none.md", "MEMORY.md", ""]
        held = [*re.findall(r"\[(d[0-9a-f]{8})\]", user), "d00000000", ""]
        return {
            "action": chance.choice(["create", "corroborate", "refine", "correct", "refine", "correct"]),
            "target": chance.choice(paths),
            "statement_id": chance.choice(held),
            "statement": chance.choice([*SAID, "", "Nothing.", "Ann"]),
            "related": chance.sample(paths, k=min(2, len(paths))),
        }

    return Script(extract, decide)


def prepare(root: Path, seed: int) -> Vault:
    chance = random.Random(seed)
    vault = vault_at(root)
    vault.write_sync("digest/personal/mine.md", MINE)
    vault.write_sync("MEMORY.md", MINE)
    for day in DAYS:
        write_card(vault, day, "card", *(f"Ann: {one}" for one in chance.sample(SAID, k=3)))
    return vault


async def dream_all(vault: Vault, seed: int) -> list[str]:
    """Dreams until nothing waits; the ids of the runs."""
    script, runs = erratic(seed, vault), []
    for _ in range(12):
        done = await dream(vault, script, max_units=4)
        assert done.success, done.answer
        runs += [done.metadata["run_id"]] if done.metadata["run_id"] else []
        if not done.metadata["waiting"] and not done.metadata["left"]:
            return runs
    raise AssertionError("it does not end")


@given(st.integers(0, 10_000))
@settings(max_examples=6)
@pytest.mark.slow
def test_promise_14_whatever_a_model_answers_no_source_changes_and_no_statement_is_lost(
    tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    root = tmp_path_factory.mktemp("vault")
    vault = prepare(root, seed)
    sources = {path: data for path, data in files(root, "daily", "MEMORY.md").items() if path.count("/") != 1}
    asyncio.run(dream_all(vault, seed))
    after = files(root)
    assert {path: after.get(path) for path in sources} == sources
    assert after["digest/personal/mine.md"].startswith(MINE.encode())
    whole = "\n".join(notes_below(root).values())
    said = {one for one in SAID if any(f": {one}".encode() in data for data in sources.values())}
    # Each stands there in its words: as current, as earlier, or as another wording of what is the same.
    assert {one for one in said if f"{one} ^d" not in whole and f"said as: {one}" not in whole} == set()


@given(st.integers(0, 10_000))
@settings(max_examples=4)
@pytest.mark.slow
def test_promise_14_every_run_can_be_undone_the_newest_first(
    tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    root = tmp_path_factory.mktemp("vault")
    vault = prepare(root, seed)
    before = files(root, "digest")
    runs = asyncio.run(dream_all(vault, seed))
    assert runs
    for run in reversed(runs):
        text = vault.read_bytes(f"history/runs/{run}.md").decode()
        changed = {entry.path for entry in vault.history_sync(limit=1000) if entry.group == run}
        assert all(f"[[{path}]]" in text for path in changed)
        back = asyncio.run(undo_run(vault, run))
        assert back.success or not changed, back.answer
    assert files(root, "digest") == before


async def test_promise_14_what_a_note_says_of_another_day_is_never_removed_by_refining_it(tmp_path: Path) -> None:
    """Twenty refinements of one statement: each word that counted is still there."""
    vault = vault_at(tmp_path)
    kinds = ["oolong", "jasmine", "sencha", "rooibos", "assam", "pu-erh", "matcha", "chai", "mate", "hojicha"]
    path = write_card(vault, DAYS[-1], "tea", *(f"Ann: Ann drinks {kind} tea." for kind in kinds))
    units = [unit("tea", f"Ann drinks {kind} tea.", place(vault, path, kind)) for kind in kinds]

    def decide(user: str) -> dict[str, Any]:
        held = re.search(r'<note path="([^"]+)".*?\[(d[0-9a-f]{8})\]', user, re.DOTALL)
        if held is None:
            return {"action": "create"}
        return {"action": "refine", "target": held[1], "statement_id": held[2], "statement": "Ann drinks tea."}

    await dream(vault, Script(lambda user: found(units), decide), max_units=20)
    (text,) = notes_below(tmp_path).values()
    assert all(kind in text for kind in kinds)
