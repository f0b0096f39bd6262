"""States that are damaged or made up: one typed error that names the key, and the memory as it was."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from agentscope.message import Msg
from agentscope.session import JSONSession
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentscope_reme import ReMeInMemoryMemory
from agentscope_reme.errors import StateError
from agentscope_reme.vault import Vault

GOOD: dict[str, Any] = {"id": "m1", "name": "u", "role": "user", "content": "a", "metadata": {}, "timestamp": "t"}


def message(**changes: Any) -> dict[str, Any]:
    return {**GOOD, **changes}


HOSTILE: list[tuple[str, Any]] = [
    ("a memory state", None),
    ("a memory state", []),
    ("a memory state", "text"),
    ("a memory state", 5),
    ("_compressed_summary", {"_compressed_summary": 5}),
    ("_compressed_summary", {"_compressed_summary": ["x"]}),
    ("content", {"content": {"m1": GOOD}}),
    ("content", {"content": "text"}),
    ("content", {"content": 3}),
    ("content[0]", {"content": ["text"]}),
    ("content[0]", {"content": [None]}),
    ("content[0]", {"content": [[]]}),
    ("content[0]", {"content": [[GOOD]]}),
    ("content[0]", {"content": [[GOOD, [], 1]]}),
    ("content[0][0]", {"content": [["text", []]]}),
    ("content[0][0]", {"content": [[None, []]]}),
    ("content[0][1]", {"content": [[GOOD, "compressed"]]}),
    ("content[0][1]", {"content": [[GOOD, {"compressed": True}]]}),
    ("content[0][1]", {"content": [[GOOD, 7]]}),
    ("content[0][1][1]", {"content": [[GOOD, ["a", 5]]]}),
    ("content[0][1][0]", {"content": [[GOOD, [None]]]}),
    ("content[1]", {"content": [GOOD, {}]}),
    ("content[0]", {"content": [{"id": "x"}]}),
    ("content[0].id", {"content": [message(id=["m1"])]}),
    ("content[0].id", {"content": [message(id={})]}),
    ("content[0].id", {"content": [message(id=5)]}),
    ("content[0].name", {"content": [message(name=5)]}),
    ("content[0].timestamp", {"content": [message(timestamp=17)]}),
    ("content[0].metadata", {"content": [message(metadata="x")]}),
    ("content[0].metadata", {"content": [message(metadata=[1])]}),
    ("content[0]", {"content": [message(role="alien")]}),
    ("content[0]", {"content": [message(role=None)]}),
    ("content[0]", {"content": [message(content=None)]}),
    ("content[0]", {"content": [message(content={"type": "text", "text": "a"})]}),
    ("content[0].content[0]", {"content": [message(content=["text"])]}),
    ("content[0].content[1]", {"content": [message(content=[{"type": "text", "text": "a"}, None])]}),
    ("content[0].content[0].type", {"content": [message(content=[{"type": ["text"]}])]}),
    ("content[0].content[0].id", {"content": [message(content=[{"type": "tool_use", "id": ["c"], "name": "n"}])]}),
    ("content[0].content[0].name", {"content": [message(content=[{"type": "tool_use", "id": "c", "name": {}}])]}),
    ("reme", {"reme": "x"}),
    ("reme", {"reme": []}),
    ("reme.session_id", {"reme": {"session_id": 5}}),
    ("reme.session_id", {"reme": {"session_id": ["../x"]}}),
    ("reme.tombstones", {"reme": {"tombstones": "m1"}}),
    ("reme.tombstones", {"reme": {"tombstones": "AAAAAAAAA==="}}),
    ("reme.tombstones", {"reme": {"tombstones": "AAAAAAA="}}),
    ("reme.tombstones", {"reme": {"tombstones": {"m1": 1}}}),
    ("reme.tombstones[1]", {"reme": {"tombstones": ["m1", ["m2"]]}}),
    ("reme.summary", {"reme": {"summary": "x"}}),
    ("reme.summary.language", {"reme": {"summary": {"language": 5}}}),
    ("reme.summary.inside_turn", {"reme": {"summary": {"inside_turn": "yes"}}}),
    ("reme.summary.since", {"reme": {"summary": {"since": {"at": 1}}}}),
]


async def a_memory(vault: Vault) -> ReMeInMemoryMemory:
    memory = ReMeInMemoryMemory(vault, session_id="s1")
    folded = Msg("user", "folded", "user")
    await memory.add([folded, Msg("user", "kept", "user")], marks=["mine"])
    await memory.mark_messages_compressed([folded])
    await memory.update_compressed_summary("## Goal\nkeep")
    return memory


async def everything(memory: ReMeInMemoryMemory) -> tuple[Any, ...]:
    return (
        json.dumps(memory.state_dict(), sort_keys=True),
        [id(message) for message, _ in memory.content],
        memory.session_id,
        await memory.message_tokens(),
        [message.to_dict() for message in await memory.get_memory()],
        (await memory.get_memory())[0].id,
    )


@pytest.mark.parametrize(("key", "state"), HOSTILE, ids=[f"{key}-{n}" for n, (key, _) in enumerate(HOSTILE)])
@pytest.mark.parametrize("strict", [True, False])
async def test_a_wrong_type_is_one_error_that_names_the_key_and_changes_nothing(
    vault_dir: Path, key: str, state: Any, strict: bool
) -> None:
    memory = await a_memory(Vault(vault_dir))
    before = await everything(memory)
    with pytest.raises(StateError) as caught:
        memory.load_state_dict(copy.deepcopy(state), strict=strict)
    told = str(caught.value)
    assert told.startswith(key), told
    assert told.endswith("nothing was loaded")
    assert await everything(memory) == before


async def test_a_bad_message_after_good_ones_changes_nothing(vault_dir: Path) -> None:
    memory = await a_memory(Vault(vault_dir))
    before = await everything(memory)
    state = {"content": [[message(id=f"m{number}"), []] for number in range(50)] + [[message(role="alien"), []]]}
    with pytest.raises(StateError, match=r"^content\[50\]\[0\]"):
        memory.load_state_dict(state)
    assert await everything(memory) == before


async def test_a_very_deep_state_is_refused_or_loaded_and_never_half_loaded(vault_dir: Path) -> None:
    memory = await a_memory(Vault(vault_dir))
    before = await everything(memory)
    deep: Any = "x"
    for _ in range(5_000):
        deep = {"d": deep}
    with pytest.raises(StateError, match=r"^content\[0\]"):
        memory.load_state_dict({"content": [message(metadata=deep)]})
    assert await everything(memory) == before


@pytest.mark.parametrize(
    "damage", [b"", b"null", b"[]", b'{"memory": {"content": [[{"id"', b'{"memory": null}', b"\xff"]
)
async def test_a_damaged_session_file_is_an_error_and_stays_on_the_disk(
    vault_dir: Path, tmp_path: Path, damage: bytes
) -> None:
    """Damaged is not absent: loading raises, the memory is as it was, the file is there to be looked at."""
    memory = await a_memory(Vault(vault_dir))
    before = await everything(memory)
    file = tmp_path / "s1.json"
    file.write_bytes(damage)
    session = JSONSession(str(tmp_path))
    if damage == b"[]":
        await session.load_session_state("s1", memory=memory)  # AgentScope finds no module in it, and says nothing
    else:
        with pytest.raises((StateError, ValueError, TypeError)):
            await session.load_session_state("s1", memory=memory)
    assert await everything(memory) == before
    assert file.read_bytes() == damage
    await session.load_session_state("absent", memory=memory)
    assert await everything(memory) == before


# --- any damage at all ----------------------------------------------------------------------------------------------

_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats(allow_nan=False) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


def places(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [at]
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        found += places(item, (*at, key))
    return found


def with_value(state: Any, at: tuple[Any, ...], value: Any) -> Any:
    if not at:
        return value
    changed = copy.copy(state)
    changed[at[0]] = with_value(state[at[0]], at[1:], value)
    return changed


def a_full_state() -> dict[str, Any]:
    use = {"type": "tool_use", "id": "c1", "name": "look", "input": {"q": "x"}}
    result = {"type": "tool_result", "id": "c1", "name": "look", "output": [{"type": "text", "text": "found"}]}
    return {
        "_compressed_summary": "## Goal\nx",
        "content": [
            [message(id="m1"), ["hint"]],
            [message(id="m2", role="assistant", content=[{"type": "text", "text": "b"}, use]), []],
            [message(id="m3", role="system", content=[result]), []],
            message(id="m4"),
        ],
        "reme": {
            "version": 1,
            "session_id": "s9",
            "tombstones": ["m0"],
            "summary": {"language": "zh", "inside_turn": True, "generator": "model", "since": "2026-03-16 10:00:00"},
        },
    }


@given(data=st.data(), value=_JSON)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_any_value_anywhere_loads_into_a_usable_memory_or_changes_nothing(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, value: Any
) -> None:
    state = a_full_state()
    at = data.draw(st.sampled_from(places(state)))
    damaged = with_value(state, at, value)
    memory = ReMeInMemoryMemory(session_id="s1")
    await memory.add(Msg("user", "kept", "user"))
    await memory.update_compressed_summary("old")
    before = await everything(memory)
    refusal = ""
    try:
        memory.load_state_dict(damaged)
    except StateError as error:
        refusal = str(error)
    if refusal:
        assert refusal.endswith("nothing was loaded")
        assert await everything(memory) == before
        return
    # What loads can be worked with: shown, counted, marked, added to, saved strictly and loaded again.
    await memory.get_memory()
    await memory.get_memory(mark="hint")
    await memory.add(Msg("user", "next", "user"))
    assert (await memory.estimate_tokens()).estimated_tokens > 0
    await memory.get_history_str()
    saved = json.loads(json.dumps(memory.state_dict(), allow_nan=False))
    again = ReMeInMemoryMemory()
    again.load_state_dict(saved)
    assert again.state_dict() == saved
