"""The names of ReMe 0.3 that a program may use, one test for each row of `docs/seed-compat.md`, "Lifecycle"."""

import asyncio
import inspect
import json
import re
import warnings
from pathlib import Path

import pytest
from agentscope.tool import Toolkit, ToolResponse

from agentscope_reme import ReMe
from agentscope_reme.errors import ReMeError
from agentscope_reme.memory.plan import plan
from tests.hooks.agents import ByteCounter, agent_of, checkpoint, reme_over, user
from tests.memory.conversations import calls, result, said
from tests.support.scripted_model import ScriptedModel


def talk(count, words=60):
    return [(user if i % 2 == 0 else said)(f"turn {i} " + "word " * words) for i in range(count)]


def frozen(messages):
    return json.dumps([message.to_dict() for message in messages])


def parameters(function):
    return {name: one.default for name, one in inspect.signature(function).parameters.items() if name != "self"}


async def test_row_start_and_close(vault_dir):
    reme = reme_over(vault_dir, 4_000, write_memory_on_compaction=True)
    assert await reme.start() is reme
    assert await reme.start() is reme
    reme.add_async_summary_task(messages=[user("My locker is number 4417.")])
    await reme.close()
    await reme.close()
    assert "4417" in "".join(path.read_text("utf-8") for path in vault_dir.glob("daily/*/*.md"))
    async with ReMe(vault_dir) as again:
        assert (await again.search("locker")).hits


def test_row_constructor(vault_dir):
    toolkit, counter = Toolkit(), ByteCounter()
    model = ScriptedModel(default=checkpoint())
    reme = ReMe(
        vault_dir,
        chat_model=model,
        formatter=None,
        token_counter=counter,
        toolkit=toolkit,
        max_input_length=64_000,
        compact_ratio=0.6,
        language="zh",
        timezone="Asia/Shanghai",
        retention_days=7,
    )
    assert (reme.config.max_input_length, reme.config.compact_ratio, reme.config.language) == (64_000, 0.6, "zh")
    assert (reme.chat_model, reme.config.retention_days, reme.config.timezone) == (model, 7, "Asia/Shanghai")
    assert {"memory_search", "read", "edit", "write"} <= {
        schema["function"]["name"] for schema in toolkit.get_json_schemas()
    }
    plain = ReMe()
    assert (plain.config.vault_dir, plain.config.max_input_length, plain.config.compact_ratio) == (
        Path(".reme"),
        128_000,
        0.7,
    )
    assert plain.config.language == "auto"


async def test_row_constructor_a_toolkit_is_equipped_once_also_when_its_agent_is_attached(vault_dir):
    toolkit = Toolkit()
    reme = reme_over(vault_dir, 4_000, toolkit=toolkit)
    before = toolkit.get_json_schemas()
    agent_of(reme, ScriptedModel(default="Fine."), toolkit=toolkit, memory_tools=("memory_search", "read"))
    assert toolkit.get_json_schemas() == before


def test_row_constructor_older_names(tmp_path):
    with pytest.warns(DeprecationWarning, match="is called") as told:
        reme = ReMe(working_dir=tmp_path, memory_compact_ratio=0.5, tool_result_threshold=1_000)
    assert [warning.filename for warning in told] == [__file__] * 3  # the caller's line: Python hides it elsewhere
    assert (reme.config.vault_dir, reme.config.compact_ratio, reme.config.old_max_bytes) == (tmp_path, 0.5, 1_000)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ReMe(tmp_path, compact_ratio=0.5, old_max_bytes=1_000)


async def test_row_update_params(vault_dir):
    reme = reme_over(vault_dir, 40_000, ScriptedModel(default=checkpoint()))
    memory = reme.get_in_memory_memory("s1")
    await memory.add(talk(40))
    await reme.compaction.keep_within_window(memory)
    assert len(memory.content) == 40
    with pytest.warns(DeprecationWarning, match="is called") as told:
        reme.update_params(max_input_length=3_000, memory_compact_ratio=0.5, language="zh")
    assert [warning.filename for warning in told] == [__file__]
    await reme.compaction.keep_within_window(memory)
    assert len(memory.content) < 40
    assert plan(memory, 0).trigger == 1_500
    assert "不是新的请求" in str((await memory.get_memory())[0].content)


async def test_row_inheritance(vault_dir):
    class MemoryManager(ReMe):
        async def pre_reasoning_hook(self, messages, *args, **kwargs):
            self.asked = len(messages)
            return await super().pre_reasoning_hook(messages, *args, **kwargs)

    manager = MemoryManager(vault_dir, token_counter=ByteCounter())
    kept, summary = await manager.pre_reasoning_hook(talk(4))
    assert (manager.asked, len(kept), summary) == (4, 4, "")
    assert isinstance(manager, ReMe)


async def test_row_compact_memory(vault_dir):
    model = ScriptedModel([checkpoint("One."), checkpoint("Two."), RuntimeError("500"), RuntimeError("500")])
    reme = reme_over(vault_dir, 8_000, model)
    messages = talk(6)
    before = frozen(messages)
    text = await reme.compact_memory(messages, "## Goal\nBefore.")
    assert isinstance(text, str)
    assert "One." in text
    answer = await reme.compact_memory(
        messages,
        previous_summary="",
        language="zh",
        max_input_length=8_000,
        compact_ratio=0.7,
        return_dict=True,
        add_thinking_block=True,
        extra_instruction="Keep every name.",
    )
    assert set(answer) == {"user_message", "history_compact", "is_valid"}
    assert answer["is_valid"]
    assert "Keep every name." in model.last.text
    with pytest.raises(ReMeError, match="500"):
        await reme.compact_memory(messages)
    failed = await reme.compact_memory(messages, return_dict=True)
    assert failed == {"user_message": "", "history_compact": "", "is_valid": False}
    assert frozen(messages) == before


async def test_row_compact_tool_result(vault_dir):
    reme = reme_over(vault_dir, 40_000)
    messages = [one for i in range(6) for one in (calls(f"c{i}"), result(f"c{i}", output=f"row {i}, " * 2_000))]
    before = frozen(messages)
    bounded = await reme.compact_tool_result(messages)
    assert frozen(messages) == before
    assert len(bounded) == len(messages)
    assert len(frozen(bounded)) < len(before) / 1.5
    assert frozen(await reme.compact_tool_result(bounded)) == frozen(bounded)


async def test_row_check_context(vault_dir):
    reme = reme_over(vault_dir, 4_000)
    messages = talk(60)
    fold, keep, valid = await reme.check_context(messages, memory_compact_threshold=2_000, memory_compact_reserve=500)
    assert fold + keep == messages
    assert fold
    assert keep
    assert valid is True
    assert await reme.check_context(messages[:2]) == ([], messages[:2], True)
    assert await reme.check_context([]) == ([], [], True)


async def test_row_pre_reasoning_hook(vault_dir):
    reme = reme_over(vault_dir, 4_000, ScriptedModel(default=checkpoint("Go on.")))
    messages = talk(60)
    before = frozen(messages)
    kept, summary = await reme.pre_reasoning_hook(
        messages=messages,
        system_prompt="You help.",
        compressed_summary="## Goal\nBefore.",
        max_input_length=3_000,
        compact_ratio=0.7,
        memory_compact_reserve=500,
        enable_tool_result_compact=True,
        tool_result_compact_keep_n=3,
    )
    assert frozen(messages) == before
    assert 0 < len(kept) < 60
    assert "Go on." in summary
    assert kept[-1] is messages[-1]
    defaults = parameters(reme.pre_reasoning_hook)
    assert (defaults["system_prompt"], defaults["compressed_summary"]) == ("", "")
    assert defaults["enable_tool_result_compact"] is True


async def test_row_the_documented_loop(vault_dir):
    """`pre_reasoning_hook`, `clear_content`, `add`: what was kept comes back in, once, and what left stays out."""
    reme = reme_over(vault_dir, 2_000, ScriptedModel(default=checkpoint("Go on.")))
    memory = reme.get_in_memory_memory("loop")
    summary, spoken = "", []
    for i in range(20):
        question = user(f"question {i} " + "word " * 40)
        spoken.append(question.id)
        await memory.add(question)
        given = await memory.get_memory()
        kept, summary = await reme.pre_reasoning_hook(given, "You help.", summary)
        await memory.clear_content()
        await memory.add(kept)
        shown = await memory.get_memory()
        assert [message.id for message in shown] == [message.id for message in kept]
        assert shown[-1].id == question.id
        size = (await memory.estimate_tokens(2_000))["messages_tokens"] + ByteCounter().count_text(summary)
        assert size <= 2_000
        answer = said(f"answer {i} " + "word " * 40)
        spoken.append(answer.id)
        await memory.add(answer)
    assert "Go on." in summary
    assert len(memory.content) < 40
    await memory.clear_content()
    assert [line.id for line in memory.journal.read()] == spoken, "each message once, in order, in one journal"
    assert len(list((vault_dir / "session" / "dialog").glob("*.jsonl"))) == 1


async def test_row_summary_tasks(vault_dir):
    reme = reme_over(vault_dir, 4_000)
    path = await reme.summary_memory([user("Our lawyer is Ines Kestrel.")])
    assert "Ines Kestrel" in (vault_dir / path).read_text("utf-8")
    assert reme.add_async_summary_task(messages=[user("The rollback script is ops/roll_4417.sh.")]) is None
    told = await reme.await_summary_tasks()
    assert isinstance(told, str)
    assert told
    assert (await reme.search("rollback script")).hits
    assert await reme.await_summary_tasks() == ""
    await reme.close()


async def test_row_summary_tasks_a_wait_can_be_cancelled(vault_dir):
    reme = reme_over(vault_dir, 4_000)
    reme.add_async_summary_task(messages=[user("Our lawyer is Ines Kestrel.")])
    task = asyncio.create_task(reme.await_summary_tasks())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await reme.close()


async def test_row_memory_search(vault_dir):
    reme = reme_over(vault_dir, 4_000)
    await reme.vault.write("notes/keys.md", "The spare key hangs behind the blue boiler.")
    found = await reme.memory_search("spare key", max_results=5)
    assert isinstance(found, ToolResponse)
    assert "blue boiler" in found.content[0]["text"]
    floor = await reme.memory_search("spare key", max_results=5, min_score=1e9)
    assert "blue boiler." not in floor.content[0]["text"].split("\n")[0]
    assert isinstance(await reme.memory_search("", max_results="abc"), ToolResponse)  # type: ignore[arg-type]


async def test_row_get_in_memory_memory_and_estimate_tokens(vault_dir):
    reme = reme_over(vault_dir, 4_000)
    memory = reme.get_in_memory_memory()
    await memory.add(talk(4))
    stats = await memory.estimate_tokens(max_input_length=2_000)
    assert set(stats) >= {
        "total_messages",
        "compressed_summary_tokens",
        "messages_tokens",
        "estimated_tokens",
        "max_input_length",
        "context_usage_ratio",
        "messages_detail",
    }
    assert stats["total_messages"] == stats.total_messages == len(stats["messages_detail"]) == 4
    assert stats["context_usage_ratio"] == pytest.approx(100 * stats["estimated_tokens"] / 2_000)
    assert stats["max_input_length"] == 2_000
    assert json.loads(json.dumps(stats))["messages_tokens"] == stats.messages_tokens


async def test_row_get_history_str(vault_dir):
    memory = reme_over(vault_dir, 4_000).get_in_memory_memory("s1")
    await memory.add([user("What is the plan?"), said("To build it.")])
    text = await memory.get_history_str()
    assert "What is the plan?" in text
    assert "To build it." in text
    assert re.search(r"tokens: \d+ of 4000 \(\d+\.\d %\)", text)
    assert len(re.findall(r"\d+ tokens\)", text)) == 2


async def test_row_trigger(vault_dir):
    """No hidden factor: at `max_input_length * compact_ratio`, not before."""
    reme = reme_over(vault_dir, 4_000, ScriptedModel(default=checkpoint()))
    memory = reme.get_in_memory_memory("s1")
    while (await memory.message_tokens()) <= 2_800 - 70:
        await memory.add(user("word " * 20))
        await reme.compaction.keep_within_window(memory)
        assert not memory.get_compressed_summary()
    assert await memory.message_tokens() > 4_000 * 0.7 * 0.95
    while (await memory.message_tokens()) <= 2_800:
        await memory.add(user("word " * 20))
    await reme.compaction.keep_within_window(memory)
    assert memory.get_compressed_summary()


async def test_row_tool_results(vault_dir):
    """The last three up to 50 KiB and a quarter of the window, older ones to 3 000 bytes, kept without an end."""
    reme = reme_over(vault_dir, 128_000)
    config = reme.config
    assert (config.recent_tool_results, config.recent_max_bytes, config.old_max_bytes) == (3, 51_200, 3_000)
    assert config.retention_days is None
    messages = [one for i in range(5) for one in (calls(f"c{i}"), result(f"c{i}", output="row, " * 20_000))]
    sizes = [len(str(message.content[0]["output"])) for message in (await reme.compact_tool_result(messages))[1::2]]
    assert all(size < 3_600 for size in sizes[:2])
    assert all(40_000 < size < 53_000 for size in sizes[2:])


async def test_row_the_notice_of_a_clipped_result(vault_dir):
    reme = reme_over(vault_dir, 40_000)
    [_, clipped] = await reme.compact_tool_result([calls("a"), result("a", output="row\n" * 20_000)], keep_n=0)
    text = str(clipped.content[0]["output"])
    path = re.search(r"session/tool_result/[0-9a-f]+\.txt", text)
    assert path
    assert "80000" in text.replace(" ", "").replace(",", "").replace("_", "")
    assert "20000" in text.replace(" ", "").replace(",", "").replace("_", "")
    assert "start_line" in text or "read" in text
    assert (vault_dir / path[0]).read_text() == "row\n" * 20_000


async def test_row_the_cut_parts_neither_turn_nor_pair(vault_dir):
    reme = reme_over(vault_dir, 4_000)
    messages = []
    for i in range(12):
        messages += [
            user(f"turn {i} " + "word " * 30),
            calls(f"a{i}", f"b{i}"),
            result(f"a{i}"),
            result(f"b{i}"),
            said("ok " * 40),
        ]
    for reserve in range(50, 1_200, 90):
        fold, keep, valid = await reme.check_context(messages, 500, reserve)
        assert valid
        assert sorted([*fold, *keep], key=messages.index) == messages
        tail = messages[messages.index(fold[-1]) + 1 :]
        assert tail
        assert tail[0].role != "system", "no result without its call"
        if sum([await reme.budget.message(message) for message in messages[-5:]]) <= reserve:
            assert tail[0].role == "user", "at a turn where one fits"
            assert keep == tail
        else:
            assert keep == [messages[-5], *tail], "the request, and what of its turn fits"


async def test_row_the_flow_of_the_hook(vault_dir):
    """Tool results, checkpoint, journal, card: in this order, and each only after the one before."""
    order = []
    model = ScriptedModel(default=lambda request: order.append("checkpoint") or checkpoint())
    reme = reme_over(vault_dir, 3_000, model, write_memory_on_compaction=True)
    memory = reme.get_in_memory_memory("s1")
    reme.vault.subscribe(lambda path, kind: order.append(path.split("/")[0] + "/" + path.split("/")[1][:6]))
    swap, age = memory.swap, reme.tool_results.age

    def swapping(*args):
        order.append("mark")
        return swap(*args)

    async def ageing(*args, **kwargs):
        order.append("tool results")
        return await age(*args, **kwargs)

    memory.swap, reme.tool_results.age = swapping, ageing
    await memory.add([user("My locker is number 4417."), *talk(10)])
    for i in range(5):
        await memory.add([calls(f"c{i}"), result(f"c{i}", output="row, " * 1_500)])
    await memory.add([said("done"), user("go on")])
    await reme.compaction.keep_within_window(memory)
    await reme.await_summary_tasks()
    first = [order.index(step) for step in ("tool results", "checkpoint", "session/dialog", "mark")]
    assert first == sorted(first)
    cards = [i for i, step in enumerate(order) if step.startswith("daily/")]
    assert cards
    assert min(cards) > order.index("mark")
    await reme.close()
