"""P15: forgetting is complete: what a dream remembers of a note goes with it."""

import json
from pathlib import Path

from agentscope_reme import ReMe
from tests.pipelines.dreams import TODAY, Script, dream, found, notes_below, place, state, unit, vault_at, write_card
from tests.promises.test_promise_15_forgetting import SECRET, holders


async def test_promise_15_what_waits_of_a_forgotten_note_and_what_the_logs_say_of_it_is_gone(tmp_path: Path) -> None:
    vault = vault_at(tmp_path)
    path = write_card(vault, TODAY, "card", f"Ann: The safe opens with {SECRET}.", "Ann: I like oolong tea.")
    units = [
        unit("tea", "Ann likes oolong tea.", place(vault, path, "oolong")),
        unit("safe", f"The safe opens with {SECRET}.", place(vault, path, SECRET)),
    ]
    topics = [{"title": f"the safe and {SECRET}", "evidence": [place(vault, path, SECRET)]}]
    done = await dream(vault, Script(lambda user: found(units, topics)), max_units=1)
    assert len(done.metadata["waiting"]) == 1
    assert SECRET in json.dumps(state(vault))
    async with ReMe(tmp_path) as reme:
        await reme.forget(path)
        await reme.forget(f"daily/{TODAY}/interests.yaml")
    assert holders(tmp_path) == []
    assert path not in json.dumps(state(vault))
    assert list(notes_below(tmp_path)) == ["digest/personal/tea.md"], "what was made of another line is another note"


async def test_promise_15_a_forgotten_long_term_note_is_in_no_log(tmp_path: Path) -> None:
    vault = vault_at(tmp_path)
    path = write_card(vault, TODAY, "card", f"Ann: The safe opens with {SECRET}.")
    claim = unit("safe", f"The safe opens with {SECRET}.", place(vault, path, SECRET))
    await dream(vault, Script(lambda user: found([claim])))
    async with ReMe(tmp_path) as reme:
        await reme.forget("digest/personal/safe.md")
    held = [name for name in holders(tmp_path) if not name.startswith("metadata/")]
    assert held == [path], "the card it was made of is still there, and in the index"
