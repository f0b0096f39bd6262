"""ToolResultCompactor: as middleware, by age, and as a function on messages."""

import copy
import json
import threading

import pytest
from agentscope.message import Msg
from agentscope.tool import Toolkit, ToolResponse
from hypothesis import given
from hypothesis import strategies as st

from agentscope_reme.memory import clipping
from agentscope_reme.memory.clipping import Pointer, byte_length, clipped, clipped_aside, without_ansi
from agentscope_reme.memory.entering import STATE_KEY
from agentscope_reme.memory.running import current_window
from tests.hooks.agents import kept_files, reme_over, response, user
from tests.hooks.conversations import PICTURE
from tests.memory.conversations import calls, result, said

LONG = "row, " * 8_000


async def called(toolkit, name, **arguments):
    """The chunks that a call of a tool gives."""
    block = {"type": "tool_use", "id": "call-1", "name": name, "input": arguments}
    return [chunk async for chunk in await toolkit.call_tool_function(block)]


def toolkit_of(reme, *tools):
    toolkit = Toolkit()
    for tool in tools:
        toolkit.register_tool_function(tool)
    reme.tool_results.install(toolkit)
    return toolkit


def texts(chunk):
    return "\n".join(block.get("text", "") for block in chunk.content)


# --- Where a result enters --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("window", [2_000, 8_000, 128_000])
async def test_a_result_is_bounded_by_bytes_and_by_a_quarter_of_the_window(vault_dir, window):
    async def much() -> object:
        """Get much."""
        return response("row, " * 40_000)

    reme = reme_over(vault_dir, window)
    (chunk,) = await called(toolkit_of(reme, much), "much")
    shown = texts(chunk)
    assert byte_length(shown) <= 51_200
    assert await reme.budget.text(shown) <= window // 4
    assert kept_files(reme) == "row, " * 40_000


async def test_the_window_is_that_of_the_agent_whose_step_it_is(vault_dir):
    async def much() -> object:
        """Get much."""
        return response(LONG)

    reme = reme_over(vault_dir, 128_000)
    toolkit = toolkit_of(reme, much)
    token = current_window.set(2_000)
    try:
        (chunk,) = await called(toolkit, "much")
    finally:
        current_window.reset(token)
    assert await reme.budget.text(texts(chunk)) <= 500


async def test_a_short_result_passes_as_the_same_object(vault_dir):
    given = response("short")

    async def little() -> object:
        """Get little."""
        return given

    reme = reme_over(vault_dir, 8_000)
    (chunk,) = await called(toolkit_of(reme, little), "little")
    assert chunk is given
    assert not vault_dir.exists()


@pytest.mark.parametrize("same_object", [False, True])
async def test_a_tool_that_streams_is_stored_once_whole(vault_dir, same_object):
    async def trickle() -> object:
        """Trickle."""
        growing = ToolResponse(content=[])
        for i in range(4):
            part = {"type": "text", "text": f"part {i} " + "row, " * 2_000}
            if same_object:
                growing.content.append(part)
                yield growing
            else:
                growing = ToolResponse(content=[*growing.content, part])
                yield growing

    reme = reme_over(vault_dir, 8_000)
    chunks = await called(toolkit_of(reme, trickle), "trickle")
    assert all(byte_length(texts(chunk)) < 8_000 for chunk in chunks)
    last = texts(chunks[-1])
    assert "session/tool_result/" in last
    (path,) = (vault_dir / "session" / "tool_result").glob("*.txt")
    assert all(f"part {i} " in path.read_text("utf-8") for i in range(4))


async def test_an_error_of_the_tool_is_the_tools(vault_dir):
    async def breaks() -> object:
        """Break."""
        yield response(LONG)
        raise ValueError("half way")

    reme = reme_over(vault_dir, 8_000)
    toolkit = toolkit_of(reme, breaks)
    seen = []

    async def use():
        block = {"type": "tool_use", "id": "call-1", "name": "breaks", "input": {}}
        async for chunk in await toolkit.call_tool_function(block):
            seen.append(texts(chunk))

    with pytest.raises(ValueError, match="half way"):
        await use()
    assert "session/tool_result/" in seen[-1]
    assert kept_files(reme) == LONG


async def test_a_counter_that_fails_does_not_stop_a_tool(vault_dir, monkeypatch):
    async def much() -> object:
        """Get much."""
        return response(LONG)

    reme = reme_over(vault_dir, 8_000)

    async def broken(text):
        raise RuntimeError("a defect")

    monkeypatch.setattr(reme.tool_results._budget, "text", broken)
    (chunk,) = await called(toolkit_of(reme, much), "much")
    assert texts(chunk) == LONG, "passed on whole"


async def test_middleware_of_others_goes_on_around_it(vault_dir):
    async def much() -> object:
        """Get much."""
        return response(LONG)

    seen = []

    async def watch(kwargs, next_handler):
        async for chunk in await next_handler(**kwargs):
            seen.append(len(texts(chunk)))
            yield chunk

    reme = reme_over(vault_dir, 8_000)
    toolkit = Toolkit()
    toolkit.register_tool_function(much)
    toolkit.register_middleware(watch)
    assert reme.tool_results.install(toolkit)
    assert not reme.tool_results.install(toolkit)
    assert not reme.tool_results.install(copy.deepcopy(toolkit)), "a copy has it already"
    (chunk,) = await called(toolkit, "much")
    assert "session/tool_result/" in texts(chunk)
    assert seen == [len(texts(chunk))]


async def test_settings_changed_at_run_time_reach_toolkits_that_have_it(vault_dir):
    async def much() -> object:
        """Get much."""
        return response(LONG)

    reme = reme_over(vault_dir, 128_000, recent_max_bytes=2_000)
    toolkit = toolkit_of(reme, much)
    assert byte_length(texts((await called(toolkit, "much"))[0])) <= 2_000
    reme.update_params(recent_max_bytes=100_000)
    reme.tool_results.install(toolkit)
    assert texts((await called(toolkit, "much"))[0]) == LONG


# --- By age -----------------------------------------------------------------------------------------------------------


def history(count, size=5_000):
    rounds = [
        one for i in range(count) for one in (calls(f"c{i}"), result(f"c{i}", output=f"{i} " + "r, " * (size // 3)))
    ]
    return [user("go"), *rounds]


async def test_older_results_become_shorter_and_the_newest_three_stay(vault_dir):
    reme = reme_over(vault_dir, 128_000)
    memory = reme.get_in_memory_memory("s1")
    await memory.add([*history(6), said("done")])
    await reme.compaction.keep_within_window(memory)
    outputs = [m.content[0]["output"] for m, _ in memory.content if m.get_content_blocks("tool_result")]
    sizes = [byte_length(output) for output in outputs]
    assert all(size <= 3_000 for size in sizes[:3])
    assert all(size > 4_900 for size in sizes[3:])
    assert len(list((vault_dir / "session" / "tool_result").glob("*.txt"))) == 3


async def test_results_that_the_agent_has_not_seen_yet_are_not_old(vault_dir):
    reme = reme_over(vault_dir, 128_000)
    memory = reme.get_in_memory_memory("s1")
    ids = [f"p{i}" for i in range(8)]
    await memory.add([user("go"), calls(*ids), *(result(one, output="r, " * 1_700) for one in ids)])
    await reme.compaction.keep_within_window(memory)
    assert not vault_dir.exists()
    await memory.add(said("read them"))
    await reme.compaction.keep_within_window(memory)
    assert len([m for m, _ in memory.content if "session/tool_result/" in str(m.content)]) == 5


async def test_aging_is_said_in_the_metadata_and_doing_it_again_changes_nothing(vault_dir):
    reme = reme_over(vault_dir, 128_000)
    memory = reme.get_in_memory_memory("s1")
    await memory.add([*history(5), said("done")])
    await reme.compaction.keep_within_window(memory)
    aged = next(m for m, _ in memory.content if m.get_content_blocks("tool_result"))
    state = aged.metadata[STATE_KEY]["c0"]
    assert state["path"].startswith("session/tool_result/")
    assert state["path"] in aged.content[0]["output"]
    before = json.dumps(memory.state_dict())
    for _ in range(3):
        await reme.compaction.keep_within_window(memory)
    assert json.dumps(memory.state_dict()) == before


# --- As a function ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("keep", [None, 0, 1, 10])
async def test_the_messages_given_are_not_changed(vault_dir, keep):
    reme = reme_over(vault_dir, 128_000)
    messages = [*history(5), said("done"), Msg("user", [dict(PICTURE)], "user")]
    before = [json.dumps(message.to_dict()) for message in messages]
    out = await reme.compact_tool_result(messages, keep)
    assert [json.dumps(message.to_dict()) for message in messages] == before
    assert [message.id for message in out] == [message.id for message in messages]
    changed = [i for i, (one, other) in enumerate(zip(out, messages, strict=True)) if one is not other]
    assert changed == [2, 4, 6, 8, 10][: 5 - min(5, 3 if keep is None else keep)]
    again = await reme.compact_tool_result(out, keep)
    assert [json.dumps(message.to_dict()) for message in again] == [json.dumps(message.to_dict()) for message in out]


# --- Long texts beside the event loop ---------------------------------------------------------------------------------


@given(st.lists(st.sampled_from(["\x1b", "[", "]", "31", "m", "\x07", "\\", "a", "\n", "0;title"])).map("".join))
def test_control_sequences_are_taken_out_alike_in_one_part_and_in_many(text):
    whole = clipping._ANSI.sub("", text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(clipping, "PART_CHARS", 1)
        assert without_ansi(text) == whole


async def test_a_long_text_is_clipped_in_a_thread_in_parts_as_it_would_be_at_once(monkeypatch):
    text = "\x1b[31mred\x1b[0m line\n" * 40_000
    pointer, longest = Pointer("session/tool_result/x.txt", len(text), 40_001), 0
    expected = clipped(text, 3_000, pointer)
    threads, parts = [], clipping._parts

    def watched(given):
        nonlocal longest
        threads.append(threading.current_thread() is threading.main_thread())
        for part in parts(given):
            longest = max(longest, len(part))
            yield part

    monkeypatch.setattr(clipping, "_parts", watched)
    assert await clipped_aside(text, 3_000, pointer) == expected
    assert threads == [False]
    assert 0 < longest < clipping.PART_CHARS + 100
