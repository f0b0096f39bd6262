"""ReMeInMemoryMemory as a drop-in for the stock class, and what it adds."""

import asyncio
import copy
import json

import pytest
from agentscope.agent._react_agent import _MemoryMark
from agentscope.memory import InMemoryMemory
from agentscope.message import Msg
from hypothesis import example, given
from hypothesis import strategies as st

from agentscope_reme import ReMeInMemoryMemory
from agentscope_reme.errors import StateError
from agentscope_reme.memory.window import is_sound
from tests.hooks.agents import ByteCounter, checkpoint, reme_over, user
from tests.memory.conversations import calls, result, said
from tests.support.scripted_model import ScriptedModel

MARKS = ["mine", "hint", "other"]
POOL = [user(f"message {i}") for i in range(8)]

operations = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.lists(st.sampled_from(range(8)), max_size=3, unique=True),
                  st.sampled_from([None, "mine", "hint", ["mine", "other"]]), st.booleans()),
        st.tuples(st.just("delete"), st.lists(st.sampled_from(range(8)), max_size=3)),
        st.tuples(st.just("delete_by_mark"), st.sampled_from(["mine", "hint", ["hint", "other"], "absent"])),
        st.tuples(st.just("mark"), st.sampled_from([None, "mine", "hint"]), st.sampled_from([None, "mine", "other"]),
                  st.none() | st.lists(st.sampled_from(range(8)), max_size=3)),
        st.tuples(st.just("clear")),
        st.tuples(st.just("summary"), st.sampled_from(["", "A summary."])),
    ),
    max_size=20,
)  # fmt: skip


async def apply(memory, operation):
    name, *rest = operation
    if name == "add":
        chosen, marks, duplicates = rest
        await memory.add([POOL[i] for i in chosen], copy.deepcopy(marks), duplicates)
        return None
    if name == "delete":
        return await memory.delete([POOL[i].id for i in rest[0]])
    if name == "delete_by_mark":
        return await memory.delete_by_mark(copy.deepcopy(rest[0]))
    if name == "mark":
        new, old, ids = rest
        return await memory.update_messages_mark(new, old, None if ids is None else [POOL[i].id for i in ids])
    if name == "clear":
        return await memory.clear()
    return await memory.update_compressed_summary(rest[0])


async def view(memory):
    shown = {}
    for mark in (None, *MARKS):
        for exclude in (None, *MARKS):
            messages = await memory.get_memory(mark, exclude, prepend_summary=False)
            shown[mark, exclude] = [message.id for message in messages]
    with_summary = await memory.get_memory()
    return shown, len(with_summary), await memory.size(), [(m.id, sorted(marks)) for m, marks in memory.content]


@given(operations)
def test_it_does_what_the_stock_class_does(sequence):
    async def go():
        ours, stock = ReMeInMemoryMemory(), InMemoryMemory()
        for operation in sequence:
            assert await apply(ours, operation) == await apply(stock, operation)
            assert await view(ours) == await view(stock)

    asyncio.run(go())


@given(operations)
@example([("add", [0], ["mine", "other"], False), ("mark", "mine", "other", None)])
def test_its_account_is_the_one_made_from_nothing(sequence):
    async def go():
        memory = ReMeInMemoryMemory(budget=None)
        memory.budget._text = ByteCounter()
        for operation in sequence:
            await apply(memory, operation)
            assert await memory.message_tokens() == await memory.budget.messages([m for m, _ in memory.content])
            ledger = memory.ledger
            assert +ledger.ids == +type(ledger.ids)(message.id for message, _ in memory.content)
            assert +ledger.marks == +type(ledger.marks)(mark for _, marks in memory.content for mark in marks)
            assert ledger.sound == is_sound([message for message, _ in memory.content])

    asyncio.run(go())


@pytest.mark.parametrize("bad", [7, ["a", 7], {"a": 1}])
async def test_marks_of_a_wrong_type_raise_what_the_stock_class_raises(bad):
    for memory in (ReMeInMemoryMemory(), InMemoryMemory()):
        with pytest.raises(TypeError):
            await memory.add(user("x"), marks=bad)
        assert await memory.size() == 0
        if not isinstance(bad, list):
            with pytest.raises(TypeError):
                await memory.get_memory(mark=bad)
            with pytest.raises(TypeError):
                await memory.get_memory(exclude_mark=bad)


async def test_agentscopes_own_marks_are_plain_text_here():
    memory = ReMeInMemoryMemory()
    await memory.add(user("a"), marks=_MemoryMark.HINT)
    await memory.add(user("b"), marks=[_MemoryMark.COMPRESSED, "mine"])
    await memory.add(user("c"))
    assert [marks for _, marks in memory.content] == [["hint"], ["compressed", "mine"], []]
    assert all(type(mark) is str for _, marks in memory.content for mark in marks)
    for mark in (_MemoryMark.HINT, "hint"):
        assert [m.content for m in await memory.get_memory(exclude_mark=mark)] == ["b", "c"]
        assert [m.content for m in await memory.get_memory(mark=mark)] == ["a"]
    assert await memory.delete_by_mark(_MemoryMark.HINT) == 1
    assert [m.content for m in await memory.get_memory()] == ["b", "c"]


async def test_what_is_added_is_a_copy():
    memory = ReMeInMemoryMemory()
    given, marks = Msg("user", [{"type": "text", "text": "a"}], "user"), ["mine"]
    await memory.add(given, marks=marks)
    given.content[0]["text"] = "changed"
    marks.append("more")
    assert memory.content[0][0].content == [{"type": "text", "text": "a"}]
    assert memory.content[0][1] == ["mine"]


async def test_of_messages_that_cannot_all_be_added_none_is():
    memory = ReMeInMemoryMemory()
    for bad in (None, "text"):
        with pytest.raises(AttributeError):
            await memory.add([user("one"), bad])
    assert await memory.size() == 0
    assert await memory.message_tokens() == 0


async def test_the_same_message_is_in_it_once_also_within_one_call():
    memory = ReMeInMemoryMemory()
    message = user("a")
    await memory.add([message, message])
    await memory.add(message)
    await memory.add(None)
    assert await memory.size() == 1
    await memory.add(message, allow_duplicates=True)
    assert await memory.size() == 2


async def test_changes_of_the_list_from_outside_are_noticed():
    memory = ReMeInMemoryMemory()
    await memory.add([user("a"), user("b")])
    await memory.message_tokens()
    memory.content.append((user("behind its back"), []))
    assert [m.content for m in await memory.get_memory()] == ["a", "b", "behind its back"]
    assert (await memory.estimate_tokens()).total_messages == 3
    del memory.content[0]
    memory.content = [*memory.content, (calls("x"), []), (user("orphan"), [])]
    shown = await memory.get_memory()
    assert len(shown) == 5, "the open call is closed in what is shown"
    assert len(memory.content) == 4


async def test_the_repaired_view_follows_hints_that_come_and_go():
    memory = ReMeInMemoryMemory()
    await memory.add([calls("x"), user("it was interrupted")])
    for i in range(3):
        await memory.add(user(f"hint {i}"), marks="hint")
        assert [m.content for m in await memory.get_memory()][-1] == f"hint {i}"
        assert len(await memory.get_memory()) == 4
        await memory.delete_by_mark("hint")
        assert [m.content for m in await memory.get_memory()][-1] == "it was interrupted"


async def test_the_checkpoint_reaches_the_model_in_the_same_bytes_until_it_changes(vault_dir):
    reme = reme_over(vault_dir, 8_000)
    memory = reme.get_in_memory_memory("s1")
    await memory.add(user("a"))
    await memory.update_compressed_summary(checkpoint("One."))
    first = (await memory.get_memory())[0].to_dict()
    await memory.add(said("b"))
    await memory.get_memory(mark="mine")
    assert (await memory.get_memory())[0].to_dict() == first
    twin = copy.deepcopy(memory)
    assert (await twin.get_memory())[0].to_dict() == first
    loaded = reme.get_in_memory_memory()
    loaded.load_state_dict(json.loads(json.dumps(memory.state_dict())))
    assert (await loaded.get_memory())[0].to_dict() == first
    await memory.update_compressed_summary(checkpoint("Two."))
    second = (await memory.get_memory())[0].to_dict()
    assert second["id"] != first["id"]
    assert memory.get_compressed_summary() == checkpoint("Two.").strip()
    await memory.update_compressed_summary("")
    assert next(m.content for m in await memory.get_memory()) == "a"


async def test_an_envelope_that_comes_back_as_a_summary_is_unwrapped(vault_dir):
    reme = reme_over(vault_dir, 8_000)
    memory = reme.get_in_memory_memory("s1")
    await memory.update_compressed_summary(checkpoint("One."))
    envelope = memory.envelope().get_text_content()
    stock = InMemoryMemory()
    await stock.update_compressed_summary(envelope)
    loaded = reme.get_in_memory_memory("s1")
    loaded.load_state_dict({"_compressed_summary": envelope, "content": []})
    assert loaded.get_compressed_summary() == memory.get_compressed_summary()
    loaded.take_over(stock)
    assert loaded.get_compressed_summary() == memory.get_compressed_summary()
    await loaded.update_compressed_summary(envelope)
    assert loaded.envelope().get_text_content() == envelope


async def test_folded_messages_are_read_back_in_order_and_do_not_come_back(vault_dir):
    reme = reme_over(vault_dir, 4_000)
    memory = reme.get_in_memory_memory("s1")
    messages = [user(f"{i} " + "talk " * 100) for i in range(30)]
    await memory.add(messages)
    await reme.compaction.keep_within_window(memory)
    left = [message.id for message, _ in memory.content]
    gone = [message for message in messages if message.id not in left]
    assert gone
    back = await memory.get_memory(mark="compressed")
    assert [message.to_dict() for message in back] == [message.to_dict() for message in gone]
    await memory.add(messages)
    assert [message.id for message, _ in memory.content] == left
    await memory.add(gone[0], allow_duplicates=True)
    assert memory.content[-1][0].id == gone[0].id


async def test_only_a_compaction_leaves_tombstones(vault_dir):
    reme = reme_over(vault_dir, 4_000)
    memory = reme.get_in_memory_memory("s1")
    message = user("again")
    for remove in (lambda: memory.delete([message.id]), memory.clear, memory.clear_content):
        await memory.add(message)
        await remove()
        assert await memory.size() == 0
        await memory.add(message)
        assert await memory.size() == 1
        await memory.clear()
    await memory.add(message)
    assert await memory.mark_messages_compressed([message, user("not here")]) == 1
    await memory.add(message)
    assert await memory.size() == 0


async def test_tombstones_are_bounded_oldest_first(vault_dir):
    reme = reme_over(vault_dir, 4_000, tombstones=3)
    memory = reme.get_in_memory_memory("s1")
    messages = [user(str(i)) for i in range(5)]
    for message in messages:
        await memory.add(message)
        await memory.mark_messages_compressed([message])
    await memory.add(messages)
    assert [m.content for m, _ in memory.content] == ["0", "1"]


async def test_clear_content_journals_and_keeps_the_checkpoint(vault_dir):
    reme = reme_over(vault_dir, 4_000)
    memory = reme.get_in_memory_memory("s1")
    await memory.add([user("a"), said("b")])
    await memory.update_compressed_summary(checkpoint())
    assert await memory.clear_content() == 2
    assert await memory.size() == 0
    assert memory.get_compressed_summary()
    assert next(line.msg["content"] for line in memory.journal.read()) == "a"
    assert await memory.clear_content() == 0


async def test_without_a_vault_it_works_and_nothing_is_ever_folded():
    memory = ReMeInMemoryMemory()
    await memory.add([user("a"), said("b")])
    assert memory.journal is None
    assert await memory.get_memory(mark="compressed") == []
    with pytest.raises(StateError, match="no vault"):
        await memory.clear_content()
    with pytest.raises(StateError):
        await memory.mark_messages_compressed([memory.content[0][0]])
    assert await memory.size() == 2
    assert "[1] **user**" in await memory.get_history_str()


async def test_messages_marked_by_others_are_hidden_only_under_a_summary(vault_dir):
    reme = reme_over(vault_dir, 4_000)
    memory = reme.get_in_memory_memory("s1")
    await memory.add([user("a"), user("b")])
    await memory.update_messages_mark("compressed", msg_ids=[memory.content[0][0].id])
    assert [m.content for m in await memory.get_memory(exclude_mark="compressed")] == ["a", "b"]
    await memory.update_compressed_summary(checkpoint())
    assert [m.content for m in await memory.get_memory()][1:] == ["b"]
    assert [m.content for m in await memory.get_memory(mark="compressed")] == ["a"]
    await reme.compaction.keep_within_window(memory)
    assert [m.content for m, _ in memory.content] == ["b"]
    assert [m.content for m in await memory.get_memory(mark="compressed")] == ["a"]


async def test_history_and_estimate_tell_the_same(vault_dir):
    reme = reme_over(vault_dir, 4_000)
    memory = reme.get_in_memory_memory("s1")
    await memory.add([user("a question"), calls("x", q="q"), result("x", output="an answer " * 30)])
    await memory.add(said("done"), marks="mine")
    estimate = await memory.estimate_tokens()
    assert estimate.total_messages == 4
    assert estimate["context_usage_ratio"] == pytest.approx(100 * estimate.estimated_tokens / 4_000)
    text = await memory.get_history_str()
    assert f"tokens: {estimate.estimated_tokens} of 4000" in text
    assert "[mine]" in text
    assert "calls look" in text
    assert (await memory.estimate_tokens(2_000)).max_input_length == 2_000
    with pytest.raises(AttributeError):
        _ = estimate.no_such_key


def test_one_memory_is_used_in_one_event_loop_after_the_other(vault_dir):
    reme = reme_over(vault_dir, 4_000, ScriptedModel(default=checkpoint()))
    memory = reme.get_in_memory_memory("s1")

    async def turn(i):
        await memory.add([user(f"{i} " + "talk " * 300) for _ in range(4)])
        await asyncio.gather(*(reme.compaction.keep_within_window(memory) for _ in range(3)))

    for i in range(4):
        asyncio.run(turn(i))
    assert memory.get_compressed_summary()
    assert len(memory.journal.read()) + len(memory.content) == 16


async def test_an_empty_memory_counts_as_one():
    assert ReMeInMemoryMemory()
    assert not hasattr(ReMeInMemoryMemory, "__len__")


async def test_a_long_broken_history_that_changes_while_it_is_repaired_is_shown_as_it_is_then():
    memory = ReMeInMemoryMemory()
    await memory.add([message for i in range(400) for message in (user("go"), calls(f"a{i}"), said("interrupted"))])
    await memory.message_tokens()
    memory.begin_step()
    for change in ("add", "delete", "in place"):
        counting = asyncio.create_task(memory.message_tokens())
        await asyncio.sleep(0)
        if change == "add":
            await memory.add([calls("late"), said("late")])
        elif change == "delete":
            await memory.delete([memory.content[0][0].id])
        else:
            memory.content[1][0].content = "nothing is called"
            memory.ledger.changed(memory.content[1][0])
            memory.forget_view()
        await counting
        shown = await memory.get_memory()
        assert is_sound(shown)
        stored = {message.id for message, _ in memory.content}
        assert [message.id for message in shown if message.id in stored] == [m.id for m, _ in memory.content]
        assert await memory.message_tokens() == sum([await memory.budget.message(message) for message in shown])
