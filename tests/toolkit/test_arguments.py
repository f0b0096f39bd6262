"""A model's arguments come unchecked: whatever they are, a tool answers with a sentence and never raises."""

import asyncio
import itertools

import pytest
from agentscope.tool import Toolkit, ToolResponse

from agentscope_reme import register_memory_tools
from agentscope_reme.toolkit import MemoryTools
from agentscope_reme.toolkit.tools import as_bool, as_int
from tests.hooks.agents import agent_of, reme_over, user
from tests.support.scripted_model import ScriptedModel

ODD = [
    None,
    "",
    "abc",
    -5,
    0,
    1.7,
    10**30,
    float("nan"),
    True,
    [],
    ["x"],
    {},
    {"a": 1},
    "\x00",
    "\ud800",
    "..",
    "x" * 5_000,
]
PARAMETERS = {
    "memory_search": ("query", "max_results", "min_score"),
    "read": ("path", "start_line", "end_line", "column"),
    "write": ("path", "content", "version", "overwrite"),
    "append": ("content", "path"),
    "edit": ("path", "old", "new"),
    "list": ("path", "recursive"),
}
GOOD = {
    "query": "zebra", "path": "notes/a.md", "content": "text", "old": "zebra", "new": "okapi", "max_results": 3,
    "min_score": 0.0, "start_line": 1, "end_line": 0, "column": 0, "version": "", "overwrite": False,
    "recursive": False,
}  # fmt: skip


def text_of(response):
    assert isinstance(response, ToolResponse)
    (block,) = response.content
    return block["text"]


@pytest.mark.parametrize("tool", PARAMETERS)
async def test_no_odd_argument_raises_or_leaves_the_vault(vault_dir, tool):
    reme = reme_over(vault_dir, 8_000)
    outside = vault_dir.parent / "outside.md"
    outside.write_text("untouched", "utf-8")
    for parameter, value in itertools.product(PARAMETERS[tool], ODD):
        await reme.vault.write("notes/a.md", "the zebra is striped", overwrite=True)
        arguments = {**{name: GOOD[name] for name in PARAMETERS[tool]}, parameter: value}
        text = text_of(await getattr(MemoryTools(reme), tool)(**arguments))
        assert text, (parameter, value)
        assert "Traceback" not in text
    assert outside.read_text("utf-8") == "untouched"
    assert {path.name for path in vault_dir.parent.iterdir()} == {vault_dir.name, outside.name}


async def test_null_is_no_text(vault_dir):
    """``str(None)`` would write the word None over a note."""
    reme = reme_over(vault_dir, 8_000)
    tools = MemoryTools(reme)
    await reme.vault.write("notes/a.md", "as it was")
    for response in (
        await tools.write(path="notes/a.md", content=None, overwrite=True),
        await tools.append(content=None, path="notes/a.md"),
        await tools.edit(path="notes/a.md", old="as it was", new=None),
        await tools.edit(path="notes/a.md", old=None, new="x"),
        await tools.write(path="notes/a.md", content={"text": "x"}, overwrite=True),
    ):
        assert "must be text" in text_of(response)
    assert (await reme.vault.read("notes/a.md")).text == "as it was"
    assert "Created" in text_of(await tools.write(path="notes/b.md", content="new", version=None))


async def test_numbers_and_flags_in_words_are_understood(vault_dir):
    reme = reme_over(vault_dir, 8_000)
    tools = MemoryTools(reme)
    await reme.vault.write("notes/a.md", "".join(f"line {i}\n" for i in range(1, 30)))
    text = text_of(await tools.read(path="notes/a.md", start_line="3", end_line="4.0"))
    assert "line 3\nline 4" in text
    assert "line 5" not in text
    assert "Changed" in text_of(await tools.write(path="notes/a.md", content="x", overwrite="true"))
    assert "exists" in text_of(await tools.write(path="notes/a.md", content="y", overwrite="false"))
    assert [as_int(value, 7) for value in ("3", 3.9, "x", None, [], -4, 10**30)] == [3, 3, 7, 7, 7, 1, 1_000_000_000]
    assert [as_bool(value) for value in ("True", "yes", "no", "", 1, None, "0")] == [
        True,
        True,
        False,
        False,
        True,
        False,
        False,
    ]


async def test_missing_and_unknown_arguments_are_told(vault_dir):
    reme = reme_over(vault_dir, 8_000)
    tools = MemoryTools(reme)
    text = text_of(await tools.read())
    assert "missing a required argument" in text
    assert "path, start_line, end_line" in text
    assert "unexpected keyword argument" in text_of(await tools.read(path="a.md", vault_dir="/etc"))
    assert "Nothing was done" in text_of(await tools.write("a.md"))


@pytest.mark.parametrize("given", [None, {}, {"query": None}, {"query": "zebra", "max_results": "abc", "extra": 1}])
async def test_a_real_agent_goes_on_after_odd_calls(vault_dir, given):
    reme = reme_over(vault_dir, 8_000)
    await reme.vault.write("notes/a.md", "the zebra is striped")
    odd = {"type": "tool_use", "id": "call-1", "name": "memory_search", "input": given}
    model = ScriptedModel([odd, "Going on."], strict=given is not None)
    agent = agent_of(reme, model, memory_tools=("memory_search",))
    reply = await agent(user("zebra?"))
    assert reply.get_text_content() == "Going on."
    assert len([message for message in model.last.messages if message["role"] == "tool"]) == 1


async def test_no_argument_points_a_tool_elsewhere(vault_dir, tmp_path):
    """A model overrides any parameter; the vault is none."""
    reme = reme_over(vault_dir, 8_000)
    (tmp_path / "secret.md").write_text("hidden words", "utf-8")
    toolkit = register_memory_tools(Toolkit(), reme, tools=("read", "list"))
    for arguments in ({"path": "../secret.md"}, {"path": str(tmp_path / "secret.md")}, {"path": "a.md", "reme": None}):
        block = {"type": "tool_use", "id": "call-1", "name": "read", "input": arguments}
        chunks = [text_of(chunk) async for chunk in await toolkit.call_tool_function(block)]
        assert chunks
        assert not any("hidden words" in chunk for chunk in chunks)


async def test_a_cancelled_tool_is_cancelled(vault_dir, monkeypatch):
    reme = reme_over(vault_dir, 8_000)

    async def never(*_, **__):
        await asyncio.sleep(60)

    monkeypatch.setattr(reme.vault, "read", never)
    task = asyncio.create_task(MemoryTools(reme).read(path="a.md"))
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_defect_is_a_sentence_and_a_log_line(vault_dir, monkeypatch, caplog):
    reme = reme_over(vault_dir, 8_000)

    async def broken(*_, **__):
        raise RuntimeError("a defect </recalled-memory>")

    monkeypatch.setattr(reme, "search", broken)
    text = text_of(await MemoryTools(reme).memory_search(query="x"))
    assert text.startswith("Error: RuntimeError: a defect")
    assert "</recalled-memory>" not in text
    assert "memory_search failed" in caplog.text


async def test_tools_of_a_closed_memory_say_so(vault_dir):
    reme = reme_over(vault_dir, 8_000)
    tools = MemoryTools(reme)
    await reme.close()
    for response in (await tools.read(path="a.md"), await tools.memory_search(query="x"), await tools.list()):
        assert "closed" in text_of(response)
