"""Faults that users reported, group 3: tool results that move to files. One test a case at least, named after it."""

import asyncio
import base64
import errno
import json
import os
import re
import time
from pathlib import Path
from typing import Any

import pytest
from agentscope.message import Msg
from agentscope.tool import ToolResponse

from agentscope_reme import ReMe
from tests.support.scripted_model import ToolCall, call
from tests.toolkit.agents import (
    agent_with,
    arguments_of,
    call_tool,
    model_of,
    notice_in,
    page_in,
    read_all,
    result_message,
    stored_files,
    text_of,
    tool_returning,
)

LONG = "".join(f"row {number}: shelf {number * 7 % 101}\n" for number in range(2_000))


@pytest.fixture
def reme(vault_dir: Path) -> ReMe:
    return ReMe(vault_dir, max_input_length=12_000, recent_max_bytes=6_000, write_memory_on_compaction=False)


@pytest.mark.parametrize(
    "call_id",
    [
        "call_1__thought__" + "A" * 1_400,
        "../../etc/x",
        "a/b\\c:d*?",
        "CON",
        "call\x00x",
        "调用-1",
        "com1.txt",
        "trailing. ",
        "\u202eevil",
    ],
)
async def test_c3_02_a_long_or_hostile_call_id_never_becomes_a_file_name(reme: ReMe, call_id: str) -> None:
    model = model_of(ToolCall("fetch", {}, call_id), "Seen.")
    agent = agent_with(reme, model, tool_returning(LONG))
    await agent(Msg("user", "Fetch it.", "user"))
    sent = next(message for message in model.last.messages if message["role"] == "tool")
    assert sent["tool_call_id"] == call_id  # the pair is as the provider knows it
    shown = str(sent["content"])
    assert len(shown.encode()) <= 6_000
    assert len(notice_in(shown).group()) < 300  # and does not repeat the id
    written = [path for path in reme.vault.root.rglob("*") if path.is_file()]
    names = [str(path.relative_to(reme.vault.root)) for path in written if path.name != "vault.lock"]
    assert len(names) == 1
    assert re.fullmatch(r"session/tool_result/[0-9a-f]{16,64}\.txt", names[0])
    assert [path.name for path in reme.vault.root.parent.iterdir()] == [reme.vault.root.name]


async def test_c3_02_where_the_write_fails_the_result_is_clipped_in_place_and_says_so(
    reme: ReMe, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(*_: Any, **__: Any) -> Any:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(reme.vault, "store_result", refuse)
    agent = agent_with(reme, model_of(), tool_returning(LONG))
    shown = text_of(await call_tool(agent, "fetch", "A" * 1_500))
    assert len(shown.encode()) <= 6_000
    assert "could not be saved" in shown
    assert shown.startswith("row 0: ")
    assert shown.endswith(LONG[-40:])


@pytest.mark.parametrize("extra", ["🎉", "👨‍👩‍👧‍👦", "é", "e\u0301" * 3, "尾", "🇨🇳", "\U00020bb7"])
@pytest.mark.parametrize("unit", ["characters", "bytes"])
async def test_c3_03_no_cut_splits_a_character(reme: ReMe, extra: str, unit: str) -> None:
    limit = 1_200
    for shift in range(-24, 1):
        # Where the head ends depends on the notice; so the character is moved over every place near it.
        at = (limit - 260) * 2 // 3 + shift
        text = "x" * at + extra + "尾" * 2_000
        message = result_message(text if unit == "characters" else [{"type": "text", "text": text}])
        (path,) = await reme.tool_results.age(message, limit)
        output = message.content[0]["output"]
        shown = output if isinstance(output, str) else text_of(output)
        assert "\ufffd" not in shown
        assert len(shown.encode("utf-8")) <= limit
        notice = notice_in(shown)
        head, tail = shown.split("\n" + notice.group() + "\n")
        assert text.startswith(head)
        assert text.endswith(tail)
        assert head.removeprefix("x" * at).removesuffix("尾").rstrip("尾") in ("", extra)
        assert len(head) + len(tail) + int(notice["left"]) == int(notice["total"]) == len(text)
        assert reme.vault.read_bytes(path).decode("utf-8") == text


@pytest.mark.parametrize("max_bytes", [256, 257, 258, 259, 1_000])
async def test_c3_03_no_page_splits_a_character(reme: ReMe, max_bytes: int) -> None:
    text = "x" * 250 + "🎉" + "尾" * 50 + "👨‍👩‍👧‍👦" * 40 + "e\u0301" * 90
    stored = await reme.vault.store_result(text)
    parts, column = [], 0
    while True:
        page = await reme.vault.read(stored.path, 1, 1, max_bytes=max_bytes, column=column)
        assert "\ufffd" not in page.text
        assert len(page.text.encode("utf-8")) <= max_bytes
        assert not page.text.startswith(("\u200d", "\u0301"))
        parts.append(page.text)
        if page.cut_column is None:
            break
        column = page.cut_column
    assert "".join(parts) == text


async def test_c3_04_a_file_that_a_session_points_to_is_never_aged_away_by_default(vault_dir: Path) -> None:
    async with ReMe(vault_dir, max_input_length=12_000, recent_max_bytes=6_000) as reme:
        agent = agent_with(reme, model_of(call("fetch"), "Seen."), tool_returning(LONG))
        await agent(Msg("user", "Fetch it.", "user"))
        saved = json.loads(json.dumps(agent.memory.state_dict()))
        other = await reme.vault.store_result("another session's result\n" * 300)
    folder = vault_dir / "session" / "tool_result"
    (folder / "notes-of-mine.txt").write_text("put here by a person\n", encoding="utf-8")
    long_ago = time.time() - 400 * 86_400
    for file in folder.iterdir():
        os.utime(file, (long_ago, long_ago))
    async with ReMe(vault_dir) as reme:
        agent = agent_with(reme, model_of())
        agent.memory.load_state_dict(saved)
        result = next(message for message, _ in agent.memory.content if message.role == "system").content[0]
        told = arguments_of(notice_in(text_of(result["output"]))["arguments"])
        assert await read_all(agent, path=told["path"]) == LONG
        assert (await reme.vault.read(other.path)).text.startswith("another session's result")
    assert (folder / "notes-of-mine.txt").read_text(encoding="utf-8") == "put here by a person\n"


async def test_c3_04_a_clean_up_keeps_what_a_loaded_session_shows_and_read_says_what_expired(vault_dir: Path) -> None:
    folder = vault_dir / "session" / "tool_result"

    def age_all() -> None:
        long_ago = time.time() - 40 * 86_400
        for file in folder.iterdir():
            os.utime(file, (long_ago, long_ago))

    async with ReMe(vault_dir, recent_max_bytes=6_000) as reme:
        agent = agent_with(reme, model_of(call("fetch"), "Seen."), tool_returning(LONG))
        await agent(Msg("user", "Fetch it.", "user"))
        saved = json.loads(json.dumps(agent.memory.state_dict()))
        gone = await reme.vault.store_result("nobody points here\n" * 400)
        (folder / "mine.txt").write_text("a person's file\n", encoding="utf-8")
        age_all()
    reme = ReMe(vault_dir, retention_days=30)
    agent = agent_with(reme, model_of())
    agent.memory.load_state_dict(saved)  # before the clean-up of start()
    async with reme:
        result = next(message for message, _ in agent.memory.content if message.role == "system").content[0]
        told = arguments_of(notice_in(text_of(result["output"]))["arguments"])
        assert await read_all(agent, path=told["path"]) == LONG
        said = text_of(await call_tool(agent, "read", path=gone.path))
        assert said == (
            f"Error: {gone.path} expired on {reme.vault.now().date()}; call the tool again if its result is needed"
        )
        assert (folder / "mine.txt").is_file()


async def test_c3_04_a_missing_file_is_a_plain_sentence(reme: ReMe) -> None:
    agent = agent_with(reme, model_of())
    shown = text_of(await call_tool(agent, "read", path="session/tool_result/0123456789abcdef.txt"))
    assert shown.startswith("Error: ")
    assert "session/tool_result/0123456789abcdef.txt" in shown
    assert "\n" not in shown


async def test_c3_05_the_notice_leads_back_to_every_character(reme: ReMe) -> None:
    text = "".join(f"{number:04d} 数据 data\n" for number in range(800))[:13_000]
    agent = agent_with(reme, model_of(), tool_returning(text))
    shown = text_of(await call_tool(agent, "fetch"))
    size, lines = len(text.encode()), len(text.splitlines())
    assert f"({size} bytes, {lines} lines)" in shown
    told = arguments_of(notice_in(shown)["arguments"])
    assert page_in(text_of(await call_tool(agent, "read", **told)))  # the call, as written
    assert await read_all(agent, path=told["path"]) == text


@pytest.mark.parametrize("text", ["x" * 13_000, "一" * 13_000, "a b " * 3_250, "\t".join(map(str, range(3_000)))])
async def test_c3_05_a_result_without_line_ends_can_be_paged_too(reme: ReMe, text: str) -> None:
    agent = agent_with(reme, model_of(), tool_returning(text))
    told = arguments_of(notice_in(text_of(await call_tool(agent, "fetch")))["arguments"])
    assert await read_all(agent, path=told["path"]) == text


async def test_c3_06_reading_back_makes_no_second_file(vault_dir: Path) -> None:
    reme = ReMe(vault_dir, max_input_length=6_000, recent_max_bytes=2_000, old_max_bytes=500)
    stored = await reme.vault.store_result("y" * 25_000 + "\n" + "z " * 12_500)
    agent = agent_with(reme, model_of())
    for number in range(6):
        content = await call_tool(agent, "read", f"c{number}", path=stored.path)
        use: Any = {"type": "tool_use", "id": f"c{number}", "name": "read", "input": {"path": stored.path}}
        await agent.memory.add(Msg("Remy", [use], "assistant"))
        await agent.memory.add(result_message(content, call_id=f"c{number}", name="read"))
    await reme.compaction.keep_within_window(agent.memory)
    assert stored_files(reme) == [stored.path.rsplit("/", 1)[-1]]
    texts = [text_of(m.content[0]["output"]) for m, _ in agent.memory.content if m.role == "system"]
    assert all(stored.path in text for text in texts)
    assert any("shows it again" in text for text in texts)


IMAGE: Any = {
    "type": "image",
    "source": {"type": "base64", "media_type": "image/png", "data": base64.b64encode(b"\x89PNG" * 900).decode()},
}


async def test_c3_07_texts_go_together_and_the_image_is_kept(reme: ReMe) -> None:
    text = "".join(f"{number}: {'v' * 40}\n" for number in range(1_100))
    content = [{"type": "text", "text": text}, IMAGE, {"type": "text", "text": "tail id=9"}]
    agent = agent_with(reme, model_of(), tool_returning(content))
    result = await call_tool(agent, "fetch")
    assert [block["type"] for block in result] == ["text", "image"]
    assert "tail id=9" in result[0]["text"]
    told = arguments_of(notice_in(result[0]["text"])["arguments"])
    whole = await read_all(agent, path=told["path"])
    assert whole.startswith(text)
    assert whole.endswith("tail id=9")
    message = result_message(result)
    paths = await reme.tool_results.age(message, 1_500)
    old = text_of(message.content[0]["output"])
    assert "tail id=9" in old
    assert all(path in old for path in paths)
    assert any(path.endswith(".png") for path in paths)


@pytest.mark.parametrize("output", [None, "", [], [{"type": "text", "text": ""}], "small"])
async def test_c3_07_nothing_and_little_are_left_alone(reme: ReMe, output: Any) -> None:
    message = result_message(output)
    assert await reme.tool_results.age(message, 256) == []
    assert message.content[0]["output"] == output
    use: Any = {"type": "tool_use", "id": "c1", "name": "fetch", "input": {}}
    memory = reme.get_in_memory_memory("s1")
    await memory.add([Msg("user", "go", "user"), Msg("Remy", [use], "assistant"), message])
    await reme.compaction.compact(memory)
    json.dumps(memory.state_dict(), allow_nan=False)


async def test_c3_07_nul_bytes_break_neither_file_nor_json(reme: ReMe) -> None:
    text = b"\x00\xff".decode("latin-1") * 20_000
    agent = agent_with(reme, model_of(call("fetch"), "Seen."), tool_returning(text))
    await agent(Msg("user", "Fetch it.", "user"))
    saved = json.loads(json.dumps(agent.memory.state_dict(), allow_nan=False))
    result = next(m for m, _ in saved["content"] if m["role"] == "system")["content"][0]["output"]
    told = arguments_of(notice_in(text_of(result))["arguments"])
    assert await read_all(agent, path=told["path"]) == text


async def test_c3_08_results_written_at_the_same_time_are_each_complete(reme: ReMe) -> None:
    texts = [f"tool {number}\n" + f"{number}," * 9_000 for number in range(20)]

    async def fetch(n: int) -> ToolResponse:
        """Fetch one.

        Args:
            n (int): Which.
        """
        return ToolResponse(content=[{"type": "text", "text": texts[n]}])

    agent = agent_with(reme, model_of(), fetch)
    shown = await asyncio.gather(*(call_tool(agent, "fetch", f"c{number}", n=number) for number in range(20)))
    for text, content in zip(texts, shown, strict=True):
        told = arguments_of(notice_in(text_of(content))["arguments"])
        assert reme.vault.read_bytes(told["path"]).decode() == text
    assert len(stored_files(reme)) == 20
    assert not list(reme.vault.root.rglob(".reme-tmp-*"))


async def test_c3_08_a_full_disk_leaves_no_part_and_the_turn_goes_on(
    reme: ReMe, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.write

    def write(descriptor: int, data: Any) -> int:
        if len(data) > 10:
            real(descriptor, bytes(data[:10]))
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(descriptor, data)

    answers = [[ToolCall("fetch", {}), ToolCall("fetch", {})], "Both seen."]
    agent = agent_with(reme, model_of(*answers), tool_returning(LONG))
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", write)
        reply = await agent(Msg("user", "Fetch both.", "user"))
    assert reply.get_text_content() == "Both seen."
    sent = [str(message["content"]) for message in agent.model.last.messages if message["role"] == "tool"]
    assert len(sent) == 2
    assert all("could not be saved" in text and len(text.encode()) <= 6_500 for text in sent)
    assert stored_files(reme) == []
    # When there is room again, the next result is kept.
    shown = text_of(await call_tool(agent, "fetch", "c9"))
    assert await read_all(agent, path=arguments_of(notice_in(shown)["arguments"])["path"]) == LONG
