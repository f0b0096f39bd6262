"""Numbers are the same number in every spelling, and what a text says with them may be repeated in other figures."""

import unicodedata
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentscope_reme.pipelines.dream_claims import differences, invented, only_numbers_differ
from agentscope_reme.pipelines.quantities import also_said, numbers_in, without_numbers
from agentscope_reme.vault import Vault

from .talk import message
from .test_auto_memory_model import item, plan, remember, scripted

SAID_ON = "2026-03-10"  # a Tuesday


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("三百二十元，要两三天", {"320", "2", "3"}),
        ("一百零五人，七八个组", {"105", "7", "8"}),
        ("两三百块，三四十人", {"200", "300", "30", "40"}),
        ("预算三万", {"30000"}),
        ("一亿两千万元", {"120000000"}),
        ("一万五，三百二，3.5 万", {"15000", "320", "35000"}),
        ("第十二章，百分之五十", {"12", "50"}),
        ("30 千米，3 千克", {"30", "3"}),
        ("一个，一起，万一，千万别忘，十分好，百元", set()),
        ("two thousand five hundred and twenty-five", {"2525"}),
        ("two dozen eggs, a hundred times, five six", {"24", "100", "5", "6"}),
        ("30k, 1.5 million, 2 dozen", {"30000", "1500000", "24"}),
        ("1,234,567 and 1,5 and 3,4,5", {"1234567", "1.5", "3", "4", "5"}),
        ("the third of one", {"3"}),
        ("v1.2.3 at 10:30, 007, 0.50", {"1.2", "3", "10", "30", "7", "0.5"}),
        ("1. first\n2. second", set()),
    ],
)
def test_numbers_are_read_in_every_spelling(text: str, found: set[str]) -> None:
    assert numbers_in(unicodedata.normalize("NFKC", text)) == found


@given(st.text(alphabet="〇零一二两三四五六七八九十百千万亿第个年月天块半点刻折 0123456789,.:-kpm", max_size=20))
def test_any_row_of_numerals_is_read(text: str) -> None:
    assert all(found.replace(".", "", 1).isdecimal() for found in numbers_in(text))
    assert all(Decimal(found).is_finite() for found in also_said(text))
    assert without_numbers(text).count("#") <= len(text)
    assert not invented(text, [text], [SAID_ON])


@pytest.mark.parametrize(
    "text", ["one " * 50_000, "一" * 50_000 + "个", "1," * 50_000, "一万" * 30_000, "三点" * 30_000]
)
def test_long_rows_of_numbers_cost_linear_time(text: str) -> None:
    assert numbers_in(text) or also_said(text) or "one" in text


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("The meeting is at 15:00.", "the meeting is at 3 pm"),
        ("会议 15:00 开始", "会议下午三点开始"),
        ("晚饭 20:30", "晚上八点半吃饭"),
        ("It starts at 9:30.", "it starts at half past nine"),
        ("It ends at 9:45 or 12:00.", "it ends at quarter to ten or at noon"),
        ("预算 30000 元", "预算三万"),
        ("预算 3 万元", "预算为 30000 元"),
        ("The budget is 30,000 euros.", "budget: 30k"),
        ("The budget is 1.5 million.", "1,500,000 euros"),
        ("25 people come.", "twenty-five people come"),
        ("Twenty-five people come.", "25 people"),
        ("1,000 steps", "一千步"),
        ("It takes 90 minutes.", "an hour and a half"),
        ("要 2.5 小时，休息 30 分钟", "要两个半小时，休息半小时"),
        ("50% and 15 minutes", "百分之五十，一刻钟"),
        ("It is 1.5 litres on the 3rd floor.", "1,5 litres on the third floor"),
        ("Rent is due on 2026-03-15.", "the rent is due on the 15th"),
        ("房租 2026-04-15 交", "房租15号交"),
        ("周四 2026-03-12 聚餐", "周四聚餐"),
        ("2026-03-31 交付", "月底交付"),
        ("On 2025-12-25 they met.", "they met last Christmas"),
        ("2026-10-01 放假", "国庆放假"),
        ("5 月 3 日见", "5/3 见"),
    ],
)
def test_what_was_said_may_be_noted_in_other_figures(statement: str, said: str) -> None:
    assert invented(statement, [said], [SAID_ON]) == []


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("The meeting is at 17:00.", "the meeting is at 3 pm"),
        ("预算 30 万", "预算三万"),
        ("5 million", "5 thousand"),
        ("25 people come.", "twenty people come"),
        ("Dinner is on 2026-03-25.", "dinner on Thursday"),
        ("Dinner is on 2026-03-25.", "dinner tomorrow"),
        ("房租 2026-05-15 交", "房租15号交"),
        ("It is in 2019.", "I moved last year"),
        ("三百二十元", "三百元"),
    ],
)
def test_what_was_not_said_is_invented(statement: str, said: str) -> None:
    assert invented(statement, [said], [SAID_ON])


def test_another_spelling_is_no_difference_and_another_number_is_the_only_one() -> None:
    assert differences("The kiln costs 30k.", "The kiln costs thirty thousand.") == frozenset()
    assert differences("预算是三百二十元", "预算是 320 元") == frozenset()
    assert only_numbers_differ("跑步机用了三年", "跑步机用了 4 年")
    assert only_numbers_differ("It costs two hundred euros.", "It costs 250 euros.")
    assert not only_numbers_differ("It costs 250 euros.", "It costs 250 euros.")
    assert not only_numbers_differ("It costs 250 euros.", "It takes 260 days.")


async def test_a_card_of_a_conversation_with_large_chinese_numbers_is_written(vault_dir) -> None:
    vault = Vault(vault_dir, timezone="UTC")
    model = scripted(plan(item("预算是三百二十元，要两三天。"), name="预算"))
    done = await remember(vault, model, message("预算三百二十元，大概两三天。"))
    assert done.success
    assert "预算是三百二十元，要两三天。" in (vault.root / done.metadata["path"]).read_text()
    assert done.metadata["refused"] == []
