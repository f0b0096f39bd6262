"""Two statements that exclude each other are not the same, however many words they share."""

import re
from pathlib import Path

import pytest

from agentscope_reme.pipelines.dream_claims import differences, says_more
from agentscope_reme.pipelines.memory_part import Addition, Item, MemoryPart, merged
from agentscope_reme.pipelines.opposites import opposed

from .dreams import Script, about_first, by_note, dream, notes_below, place, unit, vault_at, write_card

OPPOSED = [
    ("Ann loves coffee in the morning.", "Ann hates coffee in the morning."),
    ("The shop is open on Sundays.", "The shop is closed on Sundays."),
    ("Backups run before the deploy.", "Backups run after the deploy."),
    ("The trip takes 3 hours.", "The trip takes 3 days."),
    ("The trip takes three hours.", "The trip takes 3 weeks."),
    ("Ann runs 3 km daily.", "Ann runs 3 miles daily."),
    ("Ann lives in the red house.", "Ann lives in the blue house."),
    ("The stand-up is on Tuesday.", "The stand-up is on Thursday."),
    ("我住在北京", "我住在上海"),
    ("会议在周三上午举行。", "会议在周三下午举行。"),
    ("安喜欢喝咖啡。", "安讨厌喝咖啡。"),
    ("跑步机用了三年", "跑步机用了三个月"),
    ("房租是 900 欧元", "房租是 900 美元"),
    ("允许访问外网", "禁止访问外网"),
]


@pytest.mark.parametrize(("one", "other"), OPPOSED)
def test_what_excludes_each_other_differs(one: str, other: str) -> None:
    assert differences(one, other)
    assert says_more(other, one)
    assert opposed(one, other) == opposed(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Ann loves coffee.", "Ann enjoys coffee."),
        ("Ann likes tea.", "Ann has a shop."),
        ("The shop opens at nine and closes at five.", "The shop closes at five."),
        ("Ann swims in the morning and in the evening.", "Ann swims in the evening."),
        ("It takes 3 hours a day.", "It takes 3 hours."),
        ("5月3日交付", "五月交付"),
        ("从北京搬到上海", "搬到上海"),
        ("我喜欢北京", "我最爱北京"),
        ("Ann moved from a red house.", "Ann moved."),
    ],
)
def test_what_may_both_be_true_is_not_opposed(one: str, other: str) -> None:
    assert not opposed(one, other)
    assert not opposed(other, one)


def lines(root: Path) -> tuple[list[str], list[str]]:
    """What a digest note holds now, and what it held earlier."""
    text = "".join(notes_below(root).values()).partition("<!-- reme:begin dream -->")[2]
    now, _, before = text.replace("## 以前", "## Earlier").partition("## Earlier")
    return _statements(now), _statements(before)


def _statements(part: str) -> list[str]:
    return re.findall(r"^- (.+) \^d\w{8}$", part, re.MULTILINE)


async def told(root: Path, first: str, second: str, action: str, **fields: str) -> tuple[list[str], list[str]]:
    vault = vault_at(root)
    for day, statement in (("2026-03-08", first), ("2026-03-09", second)):
        path = write_card(vault, day, "card", f"Ann: {statement}")
        found = by_note({day: [unit("the matter", statement, place(vault, path, statement))]})
        done = await dream(vault, Script(found, about_first(action, **fields)))
        assert done.success
    return lines(root)


@pytest.mark.parametrize(("first", "second"), OPPOSED)
async def test_a_repetition_that_says_the_contrary_is_a_correction(vault_dir: Path, first: str, second: str) -> None:
    """The model takes it for the same; both are kept, the later one as what holds now."""
    assert await told(vault_dir, first, second, "corroborate") == ([second], [first])


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Ann loves coffee in the morning.", "Ann hates coffee in the morning."),
        ("安喜欢喝咖啡。", "安讨厌喝咖啡。"),
        ("项目已完成", "项目未完成"),
        ("跑步机用了三年", "跑步机用了四年"),
        ("Ann owns two cats.", "Ann owns 3 cats."),
    ],
)
async def test_a_refinement_that_says_the_contrary_is_a_correction(vault_dir: Path, first: str, second: str) -> None:
    assert await told(vault_dir, first, second, "refine", statement=second) == ([second], [first])


async def test_a_refinement_with_another_time_of_day_stands_beside_it(vault_dir: Path) -> None:
    first, second = "Ann swims in the morning.", "Ann swims in the evening."
    assert await told(vault_dir, first, second, "refine") == ([first, second], [])


def test_an_item_that_differs_in_one_word_of_many_is_no_repetition_on_a_card() -> None:
    words = "Anna sends the quarterly report of the Basel office with all signed contracts to Bob {} the meeting"
    known = Item("fact", words.format("before"), "Mira")
    new = Item("fact", words.format("after"), "Mira")
    assert merged(MemoryPart((known,)), [Addition(new)]).items == (known, new)
    kept = merged(MemoryPart(), [Addition(known)])
    (item,) = merged(MemoryPart(kept.items, kept=kept.kept), [Addition(new, replaces=known.text)]).items
    assert item.text == new.text
    assert item.earlier == (f"Mira: {known.text}",)
