"""The running account of a memory's content: a step costs what is new, and the account is the one made from nothing."""

import asyncio
import time

from agentscope.message import Msg
from hypothesis import given
from hypothesis import strategies as st

from agentscope_reme.memory.ledger import Ledger, weight
from agentscope_reme.memory.tokens import TokenBudget
from agentscope_reme.memory.window import closed, is_sound, repaired
from tests.hooks.agents import ByteCounter
from tests.memory.conversations import calls, histories, result, said, user


class Counting(ByteCounter):
    def __init__(self):
        self.asked = []

    def count_text(self, text):
        self.asked.append(text)
        return super().count_text(text)


async def settled(ledger, counter=None):
    return await ledger.settle(TokenBudget(counter or ByteCounter()))


@given(histories, st.data())
def test_appending_taking_off_and_making_anew_agree(messages, data):
    async def go():
        ledger, content = Ledger(), []
        for message in messages:
            marks = data.draw(st.sampled_from([[], ["hint"], ["a", "b"]]))
            content.append((message, marks))
            ledger.append(message, marks)
            if data.draw(st.booleans()):
                await settled(ledger)
            if data.draw(st.integers(0, 3)) == 0 and not ledger.drop_last(content):
                content.pop()
                ledger.rebuild(content)
            fresh = Ledger()
            fresh.rebuild(content)
            assert ledger.follows(content)
            assert (ledger.ids, ledger.marks) == (fresh.ids, fresh.marks)
            assert ledger.sound == fresh.sound == is_sound([m for m, _ in content])
            assert await settled(ledger) == await settled(fresh)
            if content and ledger.sound:
                assert [m for m, _ in ledger.fresh_results] == [m for m, _ in fresh.fresh_results]

    asyncio.run(go())


async def test_a_message_is_counted_once_and_again_only_when_it_changed():
    counter, ledger = Counting(), Ledger()
    content = [(user("a " * 50), []), (said("b " * 50), [])]
    for entry in content:
        ledger.append(*entry)
    total = await settled(ledger, counter)
    assert len(counter.asked) == 2
    ledger.rebuild(content)
    ledger.rebuild(content[::-1])
    assert await settled(ledger, counter) == total
    assert len(counter.asked) == 2, "costs of messages that stay are kept"
    content[0][0].content = "changed, and longer than it was " * 20
    ledger.rebuild(content)
    await ledger.find_changes(content)
    assert await settled(ledger, counter) > total
    assert len(counter.asked) == 3


async def test_a_message_replaced_in_the_list_is_found():
    ledger, content = Ledger(), [(user("a"), []), (user("b"), []), (user("c"), [])]
    for entry in content:
        ledger.append(*entry)
    await settled(ledger)
    content[1] = (user("much longer than what stood here before " * 20), [])
    assert ledger.follows(content), "neither length nor last message say so"
    await ledger.find_changes(content)
    assert await settled(ledger) > 250
    assert ledger.ids[content[1][0].id] == 1


async def test_a_few_messages_at_a_time_are_looked_at_until_all_are():
    ledger, content = Ledger(), [(user(f"message {i}"), []) for i in range(25)]
    for entry in content:
        ledger.append(*entry)
    before = await settled(ledger)
    for message, _ in content:
        message.content += ", and more than there was before"
    grown = []
    for _ in range(3):
        await ledger.find_changes(content, most=10)
        grown.append(await settled(ledger))
    assert before < grown[0] < grown[1] < grown[2]
    await ledger.find_changes(content)
    assert await settled(ledger) == grown[2]


async def test_a_change_in_place_changes_the_weight():
    for message, change in (
        (user("text"), lambda m: setattr(m, "content", "longer text")),
        (said("text"), lambda m: m.content[0].update(text="longer text")),
        (calls("a", q="x"), lambda m: m.content[0]["input"].update(q="longer")),
        (result("a", output="x"), lambda m: m.content[0].update(output="longer")),
        (result("a", output=[{"type": "text", "text": "x"}]), lambda m: m.content[0]["output"][0].update(text="long")),
        (Msg("Remy", [{"type": "thinking", "thinking": "x"}], "assistant"),
         lambda m: m.content[0].update(thinking="longer")),
    ):  # fmt: skip
        before = weight(message)
        change(message)
        assert weight(message) > before


async def test_a_message_that_leaves_while_it_is_counted_is_not_entered():
    released = asyncio.Event()

    class Slow(TokenBudget):
        async def raw_message(self, message):
            await released.wait()
            return 7

    ledger, content = Ledger(), [(user("a"), []), (user("b"), [])]
    for entry in content:
        ledger.append(*entry)
    counting = asyncio.create_task(ledger.settle(Slow(ByteCounter())))
    await asyncio.sleep(0)
    del content[1]
    ledger.rebuild(content)
    released.set()
    assert await counting == 7
    assert ledger.total == 7


async def test_others_get_their_turn_while_a_large_memory_is_counted():
    class Slow(ByteCounter):
        def count_text(self, text):
            time.sleep(0.002)
            return super().count_text(text)

    ledger = Ledger()
    for i in range(60):
        ledger.append(user(f"message {i}"), [])
    turns = 0

    async def others(counting):
        nonlocal turns
        while not counting.done():
            turns += 1
            await asyncio.sleep(0)

    counting = asyncio.create_task(ledger.settle(TokenBudget(Slow())))
    await others(counting)
    assert await counting > 60
    assert turns > 5


def test_calls_and_results_are_not_taken_off_the_end():
    for last in (calls("x"), result("x")):
        ledger, content = Ledger(), []
        for message in (user("go"), calls("x"), result("x"))[: 1 if last.role == "assistant" else 2]:
            content.append((message, []))
            ledger.append(message, [])
        content.append((last, ["hint"]))
        ledger.append(last, ["hint"])
        assert not ledger.drop_last(content)
        assert content[-1][0] is last


def test_results_wait_with_the_arguments_of_their_calls():
    ledger = Ledger()
    for message in (user("go"), calls("a", path="session/tool_result/x.txt"), result("a")):
        ledger.append(message, [])
    ((message, inputs),) = ledger.fresh_results
    assert inputs == {"a": {"path": "session/tool_result/x.txt"}}


async def test_messages_that_come_as_equals_each_time_are_counted_once():
    """Memories in a data base make their messages anew whenever they are asked."""
    ledger, counter = Ledger(), Counting()
    messages = [user(f"message {i} " + "word " * 20) for i in range(10)]
    ledger.rebuild([(message, []) for message in messages])
    total = await settled(ledger, counter)
    assert len(counter.asked) == 10
    again = [Msg.from_dict(message.to_dict()) for message in messages]
    ledger.rebuild([(message, []) for message in again])
    assert await settled(ledger, counter) == total
    assert len(counter.asked) == 10
    changed = [Msg.from_dict(message.to_dict()) for message in messages]
    changed[3].content = changed[3].content.replace("word", "日本語")
    ledger.rebuild([(message, []) for message in changed])
    assert await settled(ledger, counter) > total
    assert len(counter.asked) == 11


@given(histories, st.booleans())
def test_the_calls_it_knows_to_be_unanswered_are_those_that_a_repair_closes(messages, over):
    ledger = Ledger()
    for message in messages:
        ledger.append(message, [])
    known = [closed(message, found).to_dict() for message, found in ledger.unanswered(over=over)]
    ids = {message.id for message in messages}
    shown = [message.to_dict() for message in repaired(messages, over=over) if message.id not in ids]
    if not over and is_sound(messages):
        assert shown == []
    else:
        assert known == shown
