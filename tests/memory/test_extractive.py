"""What a checkpoint without a model keeps of a conversation, and in which words."""

import pytest

from agentscope_reme.memory.checkpoint import parse_sections
from agentscope_reme.memory.extractive import extractive_checkpoint
from agentscope_reme.memory.statements import is_firm, is_passing, section_of, weight_of
from tests.hooks.agents import ByteCounter
from tests.memory.conversations import calls, result, said, user


async def count(text):
    return ByteCounter().count_text(text)


async def extract(messages, previous="", cap=400, language="en"):
    return await extractive_checkpoint(messages, previous, cap=cap, count=count, language=language)


async def test_a_day_stands_once_before_what_was_said_on_it():
    first = [
        user("My locker is number 4417.", timestamp="2026-03-02 09:00:00"),
        user("Nora Vale keeps the key.", timestamp="2026-03-02 10:00:00"),
        user("The spare is with Tom Reed.", timestamp="2026-03-05 10:00:00"),
        user("go on", timestamp="2026-03-05 11:00:00"),
    ]
    text = await extract(first, cap=900)
    assert parse_sections(text)["Critical Context"].split("\n") == [
        "- (2026-03-02) Nora Vale keeps the key.",
        "- (2026-03-05) The spare is with Tom Reed.",
    ]
    assert parse_sections(text)["Goal"].split("\n")[0] == "- (2026-03-02) My locker is number 4417."
    more = [user("go on"), user("Ada Moss has one too.", timestamp="2026-03-05 12:00:00"), user("go on")]
    again = await extract(more, text, cap=900)
    body = parse_sections(again)["Critical Context"]
    assert body.count("(2026-03-05)") == 1
    assert body.index("(2026-03-02)") < body.index("Nora Vale") < body.index("(2026-03-05)") < body.index("Ada Moss")


async def test_a_sentence_is_told_once_however_often_it_was_said():
    text = ""
    for i in range(6):
        told = [user(f"Step {i}, please."), user("My flat is 12b."), user("And then?")]
        text = await extract([*told, said("Noted.")], text, cap=900)
    assert parse_sections(text)["Critical Context"].count("My flat is 12b.") == 1


async def test_what_the_agent_found_out_is_kept_after_what_people_said():
    talk = [
        user("Find out what is wrong with the water, please."),
        user("The leak is in the cellar of Nora Vale."),
        said("I can help you with that. The valve is listed in parts/valve_77.md, page 214. It may rain."),
        said("We decided to order from Brandt Supply instead of Kolm."),
        user("thanks"),
    ]
    sections = parse_sections(await extract(talk, cap=900))
    assert "Remy (agent): The valve is listed in parts/valve_77.md, page 214." in sections["Critical Context"]
    assert "Brandt Supply" in sections["Key Decisions"]
    assert "I can help" not in "".join(sections.values())
    many = [said(f"File src/part_{i}.py has {100 + i} lines of code in it.") for i in range(200)]
    sections = parse_sections(await extract([*talk[:2], *many, user("go on")], cap=500))
    assert "cellar of Nora Vale" in sections["Critical Context"], "the user's word goes first"
    assert "src/part_199.py" in sections["Critical Context"]
    assert "src/part_0.py" not in sections["Critical Context"]


async def test_facts_of_the_first_round_stay_through_ten_rounds_of_work():
    text = ""
    for i in range(10):
        planted = [
            user("By the way, the rollback script is ops/roll/tansy_4417.sh. The client's lawyer is Ines Kestrel."),
            user("供应商的联系人是裴知微。客户的项目代号是韩山雀。这个季度的报销上限是 1858 元。"),
        ]
        work = [
            user(f"Please look at module {i}. I'd like to see what it does, please."),
            calls(f"c{i}", path=f"src/module_{i}.py"),
            result(f"c{i}", output=f"def run_{i}(): pass\n" * 40),
            said(f"Module {i} defines the handler run_{i} in src/module_{i}.py and nothing else."),
        ]
        text = await extract([*(planted if i == 0 else []), *work], text, cap=1_000)
        assert await count(text) <= 1_000
    for fact in ("tansy_4417", "Ines Kestrel", "裴知微", "韩山雀", "1858"):
        assert fact in text, fact


@pytest.mark.parametrize(
    ("sentence", "section"),
    [
        ("Never call before nine.", "Constraints"),
        ("周会一律改到周四。", "Constraints"),
        ("We decided to use the small van.", "Key Decisions"),
        ("定了，首页用蓝色方案。", "Key Decisions"),
        ("Our lawyer is Ines.", "Critical Context"),
        ("客户的项目代号是山雀。", "Critical Context"),
        ("日志以后都写到 /var/log/x。", "Critical Context"),
        ("Is our lawyer Ines?", None),
        ("客户的项目代号是什么？", None),
        ("It rained.", None),
        ("是的。", None),
    ],
)
def test_what_a_sentence_is(sentence, section):
    assert section_of(sentence) == section


def test_a_name_or_number_weighs_more_than_what_is_said_in_passing():
    assert weight_of("The port is 5432.") > weight_of("My head hurts.") > weight_of("I'd like to change my seat.")
    assert is_passing("Yes, please cancel it.")
    assert not is_passing("No is the answer of Nora Vale.")
    assert is_firm("The port is 5432.")
    assert not is_firm("Is the port 5432?")


@pytest.mark.parametrize(
    "rule",
    [
        "Never go there.", "Please never go.", "ALWAYS ask first.", "and don't wait", "We dont know, so dont ask.",
        "Do not go.", "You must not go.", "You MUST go.", "Only use tabs.", "These are the Rules.", "My PREFERENCES:",
        "Make sure it runs.", "Please use tabs.", "Please Stop that.", "Remember the keys.", "You should always ask.",
        "不要去。", "请记住这个。", "记得带钥匙。", "我们约定好了。", "我更喜欢茶。", "一律用中文。",
    ],
)  # fmt: skip
def test_rules_are_recognised_however_they_are_written(rule):
    assert section_of(rule) == "Constraints"


@pytest.mark.parametrize(
    "decision",
    [
        "We DECIDED it.", "A deciding vote.", "Let's go there.", "lets take two", "We'll use tabs.", "We Will Go.",
        "go with blue", "Going with blue.", "I chose tea.", "You choose.", "Tea Instead of milk.", "Agreed.",
        "Settled!", "就用这个", "改用茶", "改成红的", "选择茶", "选了茶", "定了", "确定去",
        "敲定了", "同意", "改为周三", "决定去",
    ],
)  # fmt: skip
def test_decisions_are_recognised_however_they_are_written(decision):
    assert section_of(decision) == "Key Decisions"


@pytest.mark.parametrize(
    "chat", ["It never rained.", "That must be hard.", "It must have been.", "I remember the sea."]
)
def test_what_only_sounds_like_a_rule_is_none(chat):
    assert section_of(chat) != "Constraints"
