"""Relative dates beside a statement: what they mean, and when nobody can know."""

from datetime import date

import pytest

from agentscope_reme.pipelines.weekdays import with_dates

WEDNESDAY = date(2023, 5, 24)


def notes(text: str, day: date | None = WEDNESDAY) -> str:
    dated = with_dates(text, day)
    assert dated.startswith(text)
    return dated[len(text) :].strip(" ()")


@pytest.mark.parametrize(
    "text",
    [
        "I meet Ann on Thursday",
        "Thursday is fine",
        "The report is due on Friday.",
        "周四交报告",
        "星期天休息",
        "礼拜三见",
        "I swim every Thursday",
        "We meet on Thursdays",
        "每周四开会",
        "周一到周五上班",
        "I met Ann on Thursday and Bob on Sunday",
    ],
)
def test_a_weekday_without_a_direction_is_not_resolved(text: str) -> None:
    assert notes(text) == ""


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("next Thursday", "next Thursday = 2023-06-01"),
        ("I met Ann last Thursday", "last Thursday = 2023-05-18"),
        ("this Friday we eat out", "this Friday = 2023-05-26"),
        ("下周四交报告", "下周四 = 2023-06-01"),
        ("上周四交的", "上周四 = 2023-05-18"),
        ("这周四交", "这周四 = 2023-05-25"),
        ("昨天和小王开会，下周三交付", "昨天 = 2023-05-23; 下周三 = 2023-05-31"),
        ("Yesterday it rained; I go on Friday", "Yesterday = 2023-05-23"),
    ],
)
def test_a_direction_resolves_it(text: str, found: str) -> None:
    assert notes(text) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Next week I am in Oslo, back on Thursday", "Next week = 2023-05-29–2023-06-04; on Thursday = 2023-06-01"),
        ("On Thursday of next week", "On Thursday = 2023-06-01; next week = 2023-05-29–2023-06-04"),
        ("Next Tuesday I fly, back on Thursday", "Next Tuesday = 2023-05-30; on Thursday = 2023-06-01"),
        ("Tomorrow, Thursday, we open", "Tomorrow = 2023-05-25; Thursday = 2023-05-25"),
        ("下周我去苏州，周四回来", "下周 = 2023-05-29–2023-06-04; 周四 = 2023-06-01"),
        ("明天周四，记得开会", "明天 = 2023-05-25; 周四 = 2023-05-25"),
        ("上周三到周五我在北京", "上周三 = 2023-05-17; 周五 = 2023-05-19"),
        # Two directions, or one that does not reach it: nobody knows.
        ("Last week I rested, next week I work, on Thursday I call", "Last week = 2023-05-15–2023-05-21; "
         "next week = 2023-05-29–2023-06-04"),
        ("I call on Thursday and rest next week", "next week = 2023-05-29–2023-06-04"),
        ("Next Thursday I fly, on Tuesday I pack", "Next Thursday = 2023-06-01; on Tuesday = 2023-05-30"),
        ("下周三出发，周一收拾", "下周三 = 2023-05-31; 周一 = 2023-05-29"),
        ("last Friday I left; on Sunday I came back", "last Friday = 2023-05-19; on Sunday = 2023-05-21"),
    ],
)  # fmt: skip
def test_the_rest_of_the_statement_may_fix_the_direction(text: str, found: str) -> None:
    assert notes(text) == found


def test_without_a_day_nothing_is_resolved() -> None:
    assert notes("yesterday, and next Thursday", None) == ""


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("去年今天我们在巴黎", "去年今天 = 2022-05-24"),
        ("明年的今天见", "明年的今天 = 2024-05-24"),
        ("A year ago today we met, and tomorrow we part", "A year ago today = 2022-05-24; tomorrow = 2023-05-25"),
        ("Last year, and today as well", "Last year = 2022; today = 2023-05-24"),
        ("去年去了北京，今天回来", "去年 = 2022; 今天 = 2023-05-24"),
    ],
)
def test_this_day_of_another_year_is_one_day(text: str, found: str) -> None:
    assert notes(text) == found


def test_a_day_that_the_other_year_has_not_and_a_week_that_is_not_the_last_one_get_no_date() -> None:
    assert notes("去年今天我们在巴黎", date(2024, 2, 29)) == ""
    assert notes("大上周去了北京，上周回来") == "上周 = 2023-05-15–2023-05-21"
    assert notes("大上个月去了北京") == ""
