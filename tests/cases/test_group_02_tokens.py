"""Faults of group 2 that users of such systems reported: token counting."""

import functools
import json
import math
import re

import pytest
from agentscope.message import Msg
from agentscope.model._model_usage import ChatUsage
from agentscope.token import TokenCounterBase
from agentscope.tool import Toolkit

from agentscope_reme.memory.tokens import EstimateCounter, QwenCounter, TokenBudget
from agentscope_reme.models import Compacted
from tests.hooks.agents import ByteCounter, agent_of, checkpoint, reme_over, response, user
from tests.memory.conversations import calls, result, said
from tests.support.scripted_model import ScriptedModel

SENTENCE = "这是一个用于估算的中文句子。"


@functools.cache
def exact() -> QwenCounter:
    return QwenCounter()


COUNTERS = [EstimateCounter, exact]


# --- C2-01, C2-02: Chinese --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("counter", COUNTERS)
@pytest.mark.parametrize(
    "text",
    [
        SENTENCE * 200,
        "项目代号已经改成北辰，下周三之前要把全部接口文档交给测试组确认。" * 50,
        "記憶體與檔案系統的差異需要在設計文件裡說明清楚。" * 50,
        "昨日の会議で決まったことを、もう一度確認してください。" * 50,
    ],
)
def test_c2_01_chinese_and_japanese_are_near_one_token_a_character(counter, text):
    # The band of the estimate is 0.6 to 1.6 tokens a Han character; the exact count of a modern vocabulary is a little
    # below that for common words.
    lowest = 0.6 if counter is EstimateCounter else 0.45
    han = len(re.findall(r"[\u3400-\u9fff]", text))
    assert lowest * han <= counter().count_text(text) <= 1.6 * len(text)


def test_c2_01_the_estimate_follows_the_exact_count_of_chinese():
    for text in [SENTENCE * 200, "氨基酸、蛋白质与酶的催化机理" * 50]:
        assert EstimateCounter().count_text(text) == pytest.approx(exact().count_text(text), rel=0.15), text[:16]


@pytest.mark.parametrize("counter", COUNTERS)
def test_c2_01_mixed_text_lies_between_its_parts(counter):
    count = counter().count_text
    chinese, english = SENTENCE * 40, "this is a sentence for an estimate, and a long one. " * 16
    mixed = chinese + english
    assert count(mixed) == pytest.approx(count(chinese) + count(english), rel=0.1)
    assert count(mixed) > len(mixed) / 4 * 1.3, "not four characters a token"


@pytest.mark.parametrize("counter", COUNTERS)
@pytest.mark.parametrize(
    ("text", "characters"),
    [("ＡＢＣ１２３，价格１００元" * 50, 14 * 50), ("𠮷野家" * 100, 300), ("𠮷" * 300, 300), ("😀" * 200, 200)],
)
def test_c2_01_wide_and_astral_characters_are_neither_free_nor_doubled(counter, text, characters):
    assert 0.3 * characters <= counter().count_text(text) <= 4 * characters


def test_c2_01_the_estimate_stays_near_the_exact_count_on_everyday_text():
    estimate = EstimateCounter()
    samples = [
        SENTENCE * 30,
        "The quick brown fox jumps over the lazy dog; it was 17 degrees on 2026-03-05. " * 20,
        "def count(text: str) -> int:\n    return len(text.split())\n" * 20,
        json.dumps([{"id": i, "path": f"/srv/data/item_{i}.json", "ok": True} for i in range(60)]),
        "用户 user_42 在 2026-03-05 提交了 PR #1388，CI 报 E_CONN_0x80070005。" * 20,
    ]
    for text in samples:
        assert estimate.count_text(text) == pytest.approx(exact().count_text(text), rel=0.15), text[:40]


async def test_c2_01_a_chinese_conversation_is_folded_at_the_threshold_of_the_same_count(vault_dir):
    reme = reme_over(vault_dir, 8_000, ScriptedModel(default=checkpoint()), token_counter=EstimateCounter())
    memory = reme.get_in_memory_memory("s1")
    folded_at = None
    for i in range(60):
        await memory.add([user(SENTENCE * 10), said(SENTENCE * 10)])
        before = (await memory.estimate_tokens()).estimated_tokens
        if isinstance(await reme.compaction.keep_within_window(memory), Compacted):
            folded_at = before
            break
        assert before <= 5_600, i
    assert folded_at is not None
    assert 5_600 < folded_at <= 8_000
    kept = await memory.budget.messages([message for message, _ in memory.content])
    assert kept <= 5_600 // 4 + 300, "the tail is measured with the same counter as the trigger"


@pytest.mark.parametrize("counter", COUNTERS)
async def test_c2_02_a_text_costs_the_same_in_every_place(counter):
    budget = TokenBudget(counter())
    text = (SENTENCE + "字段 user_id=42；") * 2_500
    alone = await budget.text(text)
    messages = [
        user(text),
        Msg("user", [{"type": "text", "text": text}], "user"),
        said(text),
        result("a", output=text),
        result("a", output=[{"type": "text", "text": text}]),
        Msg("Remy", [{"type": "thinking", "thinking": text}], "assistant"),
    ]
    for message in messages:
        assert abs(await budget.message(message) - alone) <= 60
    arguments = calls("a", content=text)
    assert await budget.message(arguments) == pytest.approx(alone, rel=0.1)


@pytest.mark.parametrize("place", ["what the user said", "tool result"])
async def test_c2_02_what_the_provider_reports_overrides_the_count(vault_dir, place):
    """A Chinese result of 60 000 characters: 85 000 real tokens are 85 000, in every kind of block, and not 122 000."""
    text = SENTENCE * 4_300
    real = 0.9 * len(text)

    class Provider(ScriptedModel):
        async def __call__(self, *args, **kwargs):
            response = await super().__call__(*args, **kwargs)
            response.usage = ChatUsage(round(real), 5, 0.1)
            return response

    reme = reme_over(vault_dir, 128_000, token_counter=EstimateCounter())
    agent = agent_of(reme, reme.metered(Provider(default="Fine.")))
    if place == "tool result":
        await agent.memory.add([user("look"), calls("a"), result("a", output=text)])
    else:
        await agent.memory.add(user(text))
    await agent(user("and now?"))
    assert (await agent.memory.estimate_tokens()).estimated_tokens == pytest.approx(real, rel=0.03)


# --- C2-03: special tokens --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "The file ends with <|endoftext|> and <|im_start|>system",
        "<|im_end|>",
        "<|im_end|>\n<|im_start|>assistant\n<|fim_prefix|><|fim_middle|>",
        "<think></think><tool_call></tool_call>",
    ],
)
@pytest.mark.parametrize("counter", [None, *COUNTERS])
async def test_c2_03_special_tokens_are_plain_text(vault_dir, text, counter):
    reme = reme_over(vault_dir, 8_000, token_counter=counter and counter())
    model = ScriptedModel(default="Fine.")
    agent = agent_of(reme, model)
    await agent(user(text))
    assert model.last.messages[-1]["content"][0]["text"] == text
    assert agent.memory.content[0][0].content == text
    assert await reme.budget.text(text) >= 3


def test_c2_03_a_special_token_is_not_counted_as_one():
    assert exact().count_text("<|endoftext|>") > 1


# --- C2-05: media -----------------------------------------------------------------------------------------------------


def picture(**source):
    return {"type": "image", "source": source}


@pytest.mark.parametrize("price", [1_000, 1_600, 5_000])
async def test_c2_05_a_picture_has_a_price_whatever_its_size_and_place(price):
    budget = TokenBudget(ByteCounter(), media_tokens=price)
    small = picture(type="base64", media_type="image/png", data="iVBORw0KGgo=")
    large = picture(type="base64", media_type="image/png", data="A" * 2_500_000)
    linked = picture(type="url", url="https://example.com/" + "x" * 500)
    inline = picture(type="url", url="data:image/png;base64," + "A" * 1_000_000)
    costs = [await budget.message(Msg("user", [block], "user")) for block in (small, large, linked, inline)]
    assert len(set(costs)) == 1
    assert price <= costs[0] <= price + 40
    inside = [await budget.message(result("a", output=[block])) for block in (small, large, linked, inline)]
    assert len(set(inside)) == 1
    assert price <= inside[0] <= price + 60
    for kind in ("audio", "video"):
        block = {**small, "type": kind}
        assert price <= await budget.message(Msg("user", [block], "user")) <= price + 40


async def test_c2_05_a_large_picture_does_not_compact_every_turn(vault_dir):
    reme = reme_over(vault_dir, 20_000)
    memory = reme.get_in_memory_memory("s1")
    await memory.add(Msg("user", [picture(type="base64", media_type="image/png", data="A" * 2_500_000)], "user"))
    for _ in range(5):
        await memory.add(said("seen"))
        outcome = await reme.compaction.keep_within_window(memory)
        assert not isinstance(outcome, Compacted)


# --- C2-06: odd counters ----------------------------------------------------------------------------------------------


class Odd(TokenCounterBase):
    def __init__(self, answer):
        self.answer = answer

    async def count(self, messages, **kwargs):
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer


class OddText:
    name = "odd"

    def __init__(self, answer):
        self.answer = answer

    def count_text(self, text):
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer


@pytest.mark.parametrize("kind", [Odd, OddText])
@pytest.mark.parametrize("answer", [None, -5, math.nan, math.inf, "12", KeyError("content"), True, [3]])
async def test_c2_06_an_odd_answer_of_a_counter_is_replaced_by_the_estimate(vault_dir, kind, answer):
    reme = reme_over(vault_dir, 2_000, token_counter=kind(answer))
    model = ScriptedModel(default="Fine.")
    agent = agent_of(reme, model)
    await agent.memory.add([calls("a"), result("a", output="text " * 30)])
    await agent(user("hello " * 100))
    estimate = await agent.memory.estimate_tokens()
    total = estimate.estimated_tokens
    assert isinstance(total, int)
    assert total > 100
    assert all(isinstance(one["total_tokens"], int) and one["total_tokens"] > 0 for one in estimate.messages_detail)
    assert len(model.requests) == 1


async def test_c2_06_one_odd_message_does_not_spoil_the_others(vault_dir):
    class Picky(OddText):
        def count_text(self, text):
            if "cursed" in text:
                raise KeyError("cursed")
            return len(text)

    budget = TokenBudget(Picky(None))
    fine, cursed = await budget.message(user("x" * 300)), await budget.message(user("cursed " * 100))
    assert fine >= 300
    assert cursed < 300, "the estimate"


async def test_c2_06_counters_of_agentscope_count(vault_dir):
    class Words(TokenCounterBase):
        async def count(self, messages, tools=None, **kwargs):
            return sum(len(message["content"].split()) for message in messages)

    reme = reme_over(vault_dir, 1_000, ScriptedModel(default=checkpoint()), token_counter=Words())
    memory = reme.get_in_memory_memory("s1")
    await memory.add([user("word " * 50) for _ in range(20)])
    assert (await memory.estimate_tokens()).messages_tokens == pytest.approx(20 * (51 + 10), abs=20)
    outcome = await reme.compaction.keep_within_window(memory)
    assert isinstance(outcome, Compacted)
    assert outcome.tokens_after < 1_000


# --- C2-07: everything counts -----------------------------------------------------------------------------------------


def toolkit_of(tokens: int) -> Toolkit:
    """Tools whose schemas have about this many tokens by the counter by hand."""
    toolkit = Toolkit()
    for i in range(10):

        async def tool(q: str = "") -> object:
            return response(q)

        tool.__doc__ = f"Tool {i}. " + "It does many things. " * (tokens * 3 // 10 // 21)
        toolkit.register_tool_function(tool, func_name=f"tool_{i}")
    return toolkit


async def test_c2_07_tool_schemas_and_system_prompt_count(vault_dir):
    events = []
    reme = reme_over(vault_dir, 20_000, ScriptedModel(default=checkpoint()), compact_ratio=0.8, on_event=events.append)
    model = ScriptedModel(default="Fine.")
    agent = agent_of(reme, model, toolkit=toolkit_of(7_000), sys_prompt="Rule. " * 1_000)
    schemas = ByteCounter().count_text(json.dumps(agent.toolkit.get_json_schemas(), ensure_ascii=False))
    assert 6_500 < schemas < 9_000
    await agent.memory.add([user("talk " * 600) for _ in range(8)])
    estimate = await agent.memory.estimate_tokens()
    assert estimate.messages_tokens < 9_000, "alone they are far below the threshold of 16 000"
    await agent(user("go"))
    assert [event.kind for event in events] == ["compacted"]
    after = await agent.memory.estimate_tokens()
    assert after.fixed_tokens == pytest.approx(schemas + 2_000, abs=20)
    assert after.estimated_tokens == after.fixed_tokens + after.messages_tokens + after.compressed_summary_tokens
    assert events[0].tokens_before > 16_000


async def test_c2_07_the_same_messages_without_tools_do_not_compact(vault_dir):
    events = []
    reme = reme_over(vault_dir, 20_000, ScriptedModel(default=checkpoint()), compact_ratio=0.8, on_event=events.append)
    agent = agent_of(reme, ScriptedModel(default="Fine."))
    await agent.memory.add([user("talk " * 600) for _ in range(8)])
    await agent(user("go"))
    assert events == []
