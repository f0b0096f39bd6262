"""A memory that is not ours: what the hook does with it, and what it says that it cannot."""

import json
import logging

import pytest
from agentscope.memory import InMemoryMemory, MemoryBase
from agentscope.message import Msg

from agentscope_reme import ReMeInMemoryMemory
from agentscope_reme.errors import ConfigError
from tests.hooks.agents import agent_of, assert_requests_are_fine, checkpoint, look, reme_over, user
from tests.memory.conversations import calls, result, said
from tests.support.scripted_model import ScriptedModel

WINDOW = 4_000


class Subclass(InMemoryMemory):
    """A user's own class over the stock one."""


class Minimal(MemoryBase):
    """No more than the interface: messages are made anew each time they are asked for, as from a database."""

    def __init__(self):
        super().__init__()
        self.rows = []

    async def add(self, memories, marks=None, **kwargs):
        listed = [memories] if isinstance(memories, Msg) else memories or []
        marks = [marks] if isinstance(marks, str) else list(marks or [])
        self.rows += [
            (json.dumps(message.to_dict()), [str(getattr(m, "value", m)) for m in marks]) for message in listed
        ]

    async def delete(self, msg_ids, **kwargs):
        before = len(self.rows)
        self.rows = [row for row in self.rows if json.loads(row[0])["id"] not in msg_ids]
        return before - len(self.rows)

    async def delete_by_mark(self, mark, **kwargs):
        wanted = [mark] if isinstance(mark, str) else mark
        wanted = {str(getattr(one, "value", one)) for one in wanted}
        before = len(self.rows)
        self.rows = [row for row in self.rows if wanted.isdisjoint(row[1])]
        return before - len(self.rows)

    async def update_messages_mark(self, new_mark, old_mark=None, msg_ids=None):
        for text, marks in self.rows:
            if msg_ids is None or json.loads(text)["id"] in msg_ids:
                marks.append(new_mark)
        return 0

    async def size(self):
        return len(self.rows)

    async def clear(self):
        self.rows = []

    async def get_memory(self, mark=None, exclude_mark=None, prepend_summary=True, **kwargs):
        exclude_mark = str(getattr(exclude_mark, "value", exclude_mark))
        shown = [
            Msg.from_dict(json.loads(text))
            for text, marks in self.rows
            if (mark is None or mark in marks) and exclude_mark not in marks
        ]
        if prepend_summary and self._compressed_summary:
            return [Msg("user", self._compressed_summary, "user"), *shown]
        return shown


def talk(count=40):
    return [user("talk " * 150) if i % 2 == 0 else said("talk " * 150) for i in range(count)]


KINDS = pytest.mark.parametrize("kind", [Subclass, Minimal])


@KINDS
async def test_messages_are_journalled_and_replaced_by_a_checkpoint_in_an_envelope(vault_dir, kind, caplog):
    reme = reme_over(vault_dir, WINDOW, ScriptedModel(default=checkpoint("Go on.")))
    model = ScriptedModel(default="Fine. " * 40)
    memory = kind()
    with caplog.at_level(logging.WARNING):
        agent = agent_of(reme, model, look, memory=memory, session_id="theirs")
        assert agent.memory is memory, "it is not replaced"
        await memory.add(talk())
        for i in range(12):
            await agent(user(f"question {i} " * 30))
    assert_requests_are_fine(model, WINDOW)
    assert caplog.text.count("not a ReMeInMemoryMemory") == 1
    assert "reme.attach(agent)" in caplog.text
    last = model.last.role_text("user")
    assert last.count("<conversation-checkpoint>") == 1
    journal = reme.vault.journal("theirs")
    left = {line.id for line in journal.read()}
    here = {message.id for message in await memory.get_memory(prepend_summary=False)}
    assert not left & here
    assert len(left | here) == 40 + 24


@KINDS
async def test_its_messages_are_never_changed_in_place(vault_dir, kind):
    reme = reme_over(vault_dir, 40_000, ScriptedModel(default=checkpoint()), recent_tool_results=1)
    memory = kind()
    model = ScriptedModel(default="Fine.")
    agent = agent_of(reme, model, memory=memory)
    given = [user("go")]
    for i in range(5):
        given += [calls(f"c{i}"), result(f"c{i}", output=f"result {i} " + "row, " * 1_500)]
    await memory.add(given)
    texts = {message.id: json.dumps(message.to_dict()["content"]) for message in given}
    await agent(user("and now?"))
    for message in await memory.get_memory(prepend_summary=False):
        assert texts.get(message.id, json.dumps(message.content)) == json.dumps(message.content)
    assert not (reme.vault.root / "session" / "tool_result").exists() or not list(
        (reme.vault.root / "session" / "tool_result").glob("*")
    ), "nothing is offloaded from a memory that cannot take the pointer"


@KINDS
async def test_hints_stay_where_agentscope_put_them(vault_dir, kind):
    reme = reme_over(vault_dir, WINDOW, ScriptedModel(default=checkpoint()))
    memory = kind()
    agent = agent_of(reme, ScriptedModel(default="Fine."), memory=memory)
    await memory.add(talk())
    await memory.add(user("a hint"), marks="hint")
    await agent(user("and now?"))
    assert "a hint" in agent.model.last.text
    assert "a hint" not in str([line.msg for line in reme.stand_in(memory).journal.read()])


@KINDS
async def test_what_is_pinned_stays_word_for_word_and_recalled_text_is_not_journalled(vault_dir, kind):
    reme = reme_over(vault_dir, WINDOW, ScriptedModel(default=checkpoint()))
    memory = kind()
    agent = agent_of(reme, ScriptedModel(default="Fine."), memory=memory)
    await memory.add(user("Standing: ask Bob before anything is deleted."), marks="pinned")
    await memory.add(Msg("recalled_memory", "a passage of a note", "user"), marks="recall")
    await memory.add(talk())
    await agent(user("and now?"))
    kept = await memory.get_memory(prepend_summary=False)
    assert kept[0].get_text_content() == "Standing: ask Bob before anything is deleted."
    assert "Standing: ask Bob before anything is deleted." in agent.model.last.text
    journal = str([line.msg for line in reme.stand_in(memory).journal.read()])
    assert "talk talk" in journal
    assert "a passage of a note" not in journal
    assert "a passage of a note" not in agent.model.last.text


@KINDS
async def test_a_summary_that_others_wrote_is_carried_on(vault_dir, kind):
    summariser = ScriptedModel(default=checkpoint())
    reme = reme_over(vault_dir, WINDOW, summariser)
    memory = kind()
    agent = agent_of(reme, ScriptedModel(default="Fine."), memory=memory)
    await memory.update_compressed_summary("# Task Overview\nBuild the bridge.")
    await memory.add(talk())
    await agent(user("and now?"))
    assert "Build the bridge." in summariser.requests[0].text
    await memory.update_compressed_summary("They replaced it.")
    await memory.add(talk())
    await agent(user("and now?"))
    assert any("They replaced it." in request.text for request in summariser.requests)


async def test_with_builtin_compression_messages_are_marked_and_not_deleted(vault_dir):
    from agentscope.agent import ReActAgent
    from agentscope.token import CharTokenCounter

    reme = reme_over(vault_dir, WINDOW, ScriptedModel(default=checkpoint()))
    memory = Subclass()
    config = ReActAgent.CompressionConfig(
        enable=True, agent_token_counter=CharTokenCounter(), trigger_threshold=10**9, keep_recent=2
    )
    model = ScriptedModel(default="Fine.")
    agent = agent_of(reme, model, memory=memory, compression_config=config)
    await memory.add(talk())
    await agent(user("and now?"))
    assert_requests_are_fine(model, WINDOW)
    assert len(memory.content) == 42
    assert sum("compressed" in marks for _, marks in memory.content) > 10


async def test_the_checkpoint_reaches_the_memory_before_messages_leave_it(vault_dir):
    """Killed between the two, a summary and its messages are both there, and the next step has no double lines."""

    class Dies(Subclass):
        async def delete(self, msg_ids, **kwargs):
            raise RuntimeError("killed")

    reme = reme_over(vault_dir, WINDOW, ScriptedModel(default=checkpoint()))
    memory = Dies()
    agent = agent_of(reme, ScriptedModel(default="Fine.", strict=False), memory=memory, session_id="s1")
    await memory.add(talk())
    await agent(user("and now?"))
    assert len(memory.content) == 42
    assert "conversation-checkpoint" in memory._compressed_summary
    Dies.delete = InMemoryMemory.delete
    await agent(user("and now?"))
    lines = reme.vault.journal("s1").read()
    assert len({line.id for line in lines}) == len(lines)
    assert len(memory.content) < 42


async def test_another_session_for_the_same_memory_is_refused(vault_dir):
    reme = reme_over(vault_dir, WINDOW)
    memory = Subclass()
    agent = agent_of(reme, ScriptedModel(), memory=memory, session_id="one")
    with pytest.raises(ConfigError, match="session"):
        reme.attach(agent, session_id="two", tools=())


async def test_a_memory_that_raises_does_not_stop_the_turn(vault_dir, caplog):
    class Broken(Subclass):
        async def get_memory(self, mark=None, **kwargs):
            if mark == "hint":
                raise RuntimeError("the database is gone")
            return await super().get_memory(mark, **kwargs)

    reme = reme_over(vault_dir, WINDOW)
    agent = agent_of(reme, ScriptedModel(default="Fine."), memory=Broken())
    reply = await agent(user("hello"))
    assert reply.get_text_content() == "Fine."
    assert "the database is gone" in caplog.text


async def test_a_subclass_of_ours_is_ours(vault_dir):
    class Ours(ReMeInMemoryMemory):
        """A user's own class over ours."""

    reme = reme_over(vault_dir, WINDOW, ScriptedModel(default=checkpoint()))
    memory = Ours()
    agent = agent_of(reme, ScriptedModel(default="Fine."), memory=memory)
    await memory.add(talk())
    await agent(user("and now?"))
    assert agent.memory is memory
    assert memory.get_compressed_summary()
