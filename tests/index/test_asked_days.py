"""Which days a question asks for: what somebody means who asks on a Wednesday in March 2026."""

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentscope_reme.index.asked_days import asked_days, first_and_last
from agentscope_reme.index.dates import closeness, find_dates
from agentscope_reme.index.feasts import feast_named
from agentscope_reme.index.lunar_days import MID_AUTUMN, NEW_YEAR, lunar_day
from agentscope_reme.index.tokenizer import Tokenizer
from agentscope_reme.index.words import normalised

WEDNESDAY = date(2026, 3, 18)


def meant(text: str, today: date = WEDNESDAY) -> tuple[str, str] | None:
    days = first_and_last(text, today)
    return None if days is None else (days[0].isoformat(), days[1].isoformat())


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("what did we do on Friday", "2026-03-13", "2026-03-13"),
        ("Friday's meeting", "2026-03-13", "2026-03-13"),
        ("what did we do Wednesday", "2026-03-18", "2026-03-18"),
        ("the meeting on Friday last week", "2026-03-13", "2026-03-13"),
        ("Tuesday of last week", "2026-03-10", "2026-03-10"),
        ("last week on Tuesday", "2026-03-10", "2026-03-10"),
        ("the Friday before last", "2026-03-06", "2026-03-06"),
        ("the week before last", "2026-03-02", "2026-03-08"),
        ("the weekend before last", "2026-03-07", "2026-03-08"),
        ("over the weekend", "2026-03-14", "2026-03-15"),
        ("Monday to Wednesday", "2026-03-16", "2026-03-18"),
        ("between Monday and Wednesday", "2026-03-16", "2026-03-18"),
        ("since Monday", "2026-03-16", "2026-03-18"),
        ("the week of 9 March", "2026-03-09", "2026-03-15"),
        ("the week of 2026-03-11", "2026-03-09", "2026-03-15"),
        ("the week starting March 4", "2026-03-04", "2026-03-10"),
        ("2026-W12", "2026-03-16", "2026-03-22"),
        ("week 12 of 2026", "2026-03-16", "2026-03-22"),
        ("last week of May", "2025-05-25", "2025-05-31"),
        ("the first week of February", "2026-02-01", "2026-02-07"),
        ("上周的星期二", "2026-03-10", "2026-03-10"),
        ("周五开了什么会", "2026-03-13", "2026-03-13"),
        ("看一下周五的安排", "2026-03-13", "2026-03-13"),
        ("星期三", "2026-03-18", "2026-03-18"),
        ("周末做了什么", "2026-03-14", "2026-03-15"),
        ("上周一到周三", "2026-03-09", "2026-03-11"),
        ("周一至周五", "2026-03-16", "2026-03-20"),
        ("3月11日那周", "2026-03-09", "2026-03-15"),
        ("2026年第12周", "2026-03-16", "2026-03-22"),
        ("3月第二周", "2026-03-08", "2026-03-14"),
        ("上一周", "2026-03-09", "2026-03-15"),
    ],
)  # fmt: skip
def test_weeks_and_weekdays(text: str, first: str, last: str) -> None:
    assert meant(text) == (first, last)


def test_the_week_of_a_sunday_is_the_one_that_ends_with_it_or_begins_with_it() -> None:
    spans = {(one.first, one.last) for one in asked_days("the week of 3 May 2026", WEDNESDAY).dates}
    assert spans == {("2026-04-27", "2026-05-03"), ("2026-05-03", "2026-05-09")}


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("in March", "2026-03-01", "2026-03-31"),
        ("in April", "2025-04-01", "2025-04-30"),
        ("last March", "2025-03-01", "2025-03-31"),
        ("last May", "2025-05-01", "2025-05-31"),
        ("this May", "2026-05-01", "2026-05-31"),
        ("May last year", "2025-05-01", "2025-05-31"),
        ("in March of last year", "2025-03-01", "2025-03-31"),
        ("early March", "2026-03-01", "2026-03-10"),
        ("mid-March", "2026-03-11", "2026-03-20"),
        ("late March", "2025-03-21", "2025-03-31"),
        ("the end of February", "2026-02-21", "2026-02-28"),
        ("the end of last month", "2026-02-21", "2026-02-28"),
        ("the start of the year", "2026-01-01", "2026-03-31"),
        ("late 2025", "2025-10-01", "2025-12-31"),
        ("March 5-7", "2026-03-05", "2026-03-07"),
        ("from March 5 to 7", "2026-03-05", "2026-03-07"),
        ("5 to 7 March 2025", "2025-03-05", "2025-03-07"),
        ("March 28 to April 2", "2025-03-28", "2025-04-02"),
        ("from November to February", "2025-11-01", "2026-02-28"),
        ("since March 5", "2026-03-05", "2026-03-18"),
        ("since last week", "2026-03-09", "2026-03-18"),
        ("on the 15th", "2026-03-15", "2026-03-15"),
        ("the 31st", "2026-01-31", "2026-01-31"),
        ("on the 3rd of last month", "2026-02-03", "2026-02-03"),
        ("on 3/5", "2026-03-05", "2026-03-05"),
        ("on 25/12", "2025-12-25", "2025-12-25"),
        ("月初", "2026-03-01", "2026-03-10"),
        ("月底", "2026-02-21", "2026-02-28"),
        ("年初", "2026-01-01", "2026-03-31"),
        ("年底", "2025-10-01", "2025-12-31"),
        ("去年年底", "2025-10-01", "2025-12-31"),
        ("2024年初", "2024-01-01", "2024-03-31"),
        ("上一个月", "2026-02-01", "2026-02-28"),
        ("15号那天", "2026-03-15", "2026-03-15"),
        ("3月5日到7日", "2026-03-05", "2026-03-07"),
        ("3月28日到4月2日", "2025-03-28", "2025-04-02"),
        ("26年2月", "2026-02-01", "2026-02-28"),
        ("自3月以来", "2026-03-01", "2026-03-18"),
        ("今年以来", "2026-01-01", "2026-03-18"),
    ],
)  # fmt: skip
def test_months_and_their_parts(text: str, first: str, last: str) -> None:
    assert meant(text) == (first, last)


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("Q1", "2026-01-01", "2026-03-31"),
        ("in Q4", "2025-10-01", "2025-12-31"),
        ("Q3 2024", "2024-07-01", "2024-09-30"),
        ("2024Q3", "2024-07-01", "2024-09-30"),
        ("the third quarter of last year", "2025-07-01", "2025-09-30"),
        ("last quarter", "2025-10-01", "2025-12-31"),
        ("last quarter of 2024", "2024-10-01", "2024-12-31"),
        ("this quarter", "2026-01-01", "2026-03-31"),
        ("H1 2025", "2025-01-01", "2025-06-30"),
        ("the second half of last year", "2025-07-01", "2025-12-31"),
        ("上季度", "2025-10-01", "2025-12-31"),
        ("第四季度", "2025-10-01", "2025-12-31"),
        ("2024年三季度", "2024-07-01", "2024-09-30"),
        ("去年第一季度", "2025-01-01", "2025-03-31"),
        ("上半年", "2026-01-01", "2026-06-30"),
        ("下半年", "2025-07-01", "2025-12-31"),
        ("去年上半年", "2025-01-01", "2025-06-30"),
        ("last summer", "2025-06-01", "2025-08-31"),
        ("last winter", "2025-12-01", "2026-02-28"),
        ("in the spring", "2026-03-01", "2026-05-31"),
        ("last spring", "2025-03-01", "2025-05-31"),
        ("in the summer of 2024", "2024-06-01", "2024-08-31"),
        ("autumn last year", "2025-09-01", "2025-11-30"),
        ("去年夏天", "2025-06-01", "2025-08-31"),
        ("今年春天", "2026-03-01", "2026-05-31"),
        ("2024年秋", "2024-09-01", "2024-11-30"),
        ("夏天", "2025-06-01", "2025-08-31"),
        ("暑假", "2025-07-01", "2025-08-31"),
    ],
)  # fmt: skip
def test_quarters_halves_and_seasons(text: str, first: str, last: str) -> None:
    assert meant(text) == (first, last)


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("at Christmas", "2025-12-24", "2025-12-26"),
        ("on Christmas Day", "2025-12-25", "2025-12-25"),
        ("Christmas 2023", "2023-12-24", "2023-12-26"),
        ("next Christmas", "2026-12-24", "2026-12-26"),
        ("New Year's Eve", "2025-12-31", "2025-12-31"),
        ("Thanksgiving", "2025-11-27", "2025-11-27"),
        ("Easter 2024", "2024-03-29", "2024-04-01"),
        ("Memorial Day 2023", "2023-05-29", "2023-05-29"),
        ("Mother's Day", "2025-05-11", "2025-05-11"),
        ("Chinese New Year", "2026-02-16", "2026-02-23"),
        ("春节", "2026-02-16", "2026-02-23"),
        ("去年春节", "2025-01-28", "2025-02-04"),
        ("過年回家", "2026-02-16", "2026-02-23"),
        ("除夕", "2026-02-16", "2026-02-16"),
        ("大年初三", "2026-02-19", "2026-02-19"),
        ("元宵节", "2026-03-03", "2026-03-03"),
        ("中秋", "2025-10-06", "2025-10-06"),
        ("2024年中秋节", "2024-09-17", "2024-09-17"),
        ("端午节", "2025-05-31", "2025-05-31"),
        ("国庆节去了哪里", "2025-10-01", "2025-10-07"),
        ("五一", "2025-05-01", "2025-05-05"),
        ("23年国庆", "2023-10-01", "2023-10-07"),
        ("双十一", "2025-11-11", "2025-11-11"),
    ],
)  # fmt: skip
def test_feasts_are_the_last_ones_unless_a_year_is_named(text: str, first: str, last: str) -> None:
    assert meant(text) == (first, last)


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("a few days ago", "2026-03-11", "2026-03-17"),
        ("the other day", "2026-03-11", "2026-03-17"),
        ("recently", "2026-03-04", "2026-03-18"),
        ("recent meetings", "2026-03-04", "2026-03-18"),
        ("in the past week", "2026-03-11", "2026-03-18"),
        ("in the last month", "2026-02-16", "2026-03-18"),
        ("last month", "2026-02-01", "2026-02-28"),
        ("the last 24 hours", "2026-03-17", "2026-03-18"),
        ("half a year ago", "2025-09-01", "2025-09-30"),
        ("a fortnight ago", "2026-03-02", "2026-03-08"),
        ("thirteen days ago", "2026-03-05", "2026-03-05"),
        ("three days back", "2026-03-15", "2026-03-15"),
        ("a year ago today", "2025-03-18", "2025-03-18"),
        ("this time last year", "2025-03-08", "2025-03-28"),
        ("two weeks from now", "2026-03-30", "2026-04-05"),
        ("前几天", "2026-03-11", "2026-03-17"),
        ("几天前", "2026-03-11", "2026-03-17"),
        ("这几天", "2026-03-12", "2026-03-18"),
        ("最近的会议记录", "2026-03-04", "2026-03-18"),
        ("近半年", "2025-09-16", "2026-03-18"),
        ("前三天", "2026-03-15", "2026-03-17"),
        ("半年前", "2025-09-01", "2025-09-30"),
        ("三日前", "2026-03-15", "2026-03-15"),
        ("今晨", "2026-03-18", "2026-03-18"),
        ("前晚", "2026-03-16", "2026-03-16"),
        ("去年的今天", "2025-03-18", "2025-03-18"),
        ("去年同期", "2025-03-08", "2025-03-28"),
    ],
)  # fmt: skip
def test_so_long_ago(text: str, first: str, last: str) -> None:
    assert meant(text) == (first, last)


@pytest.mark.parametrize(
    "text",
    [
        "on Fridays", "every Friday", "the second half of the match", "the third quarter of the game", "in Spring Boot",
        "Easter eggs", "the last week of school", "the most recent release",
        "in recent years", "3/5 of the team", "on the 15th floor", "May I come",
        "每周五的例会", "一周一次的例会", "15号楼", "3号线怎么走", "离家最近的超市", "最近一次体检", "五一广场",
        "超过年龄限制", "一年中最好的", "以前天天跑步", "目前天气", "早上周会改时间", "日本周刊",
    ],
)  # fmt: skip
def test_what_only_looks_like_a_time_is_none(text: str) -> None:
    assert asked_days(normalised(text), WEDNESDAY).dates == ()


def test_so_many_years_ago_are_no_year_with_its_number() -> None:
    assert meant("2025年前") == ("2025-01-01", "2025-12-31")
    assert meant("5月前完成") == ("2025-05-01", "2025-05-31"), "before May, not five months ago"
    assert meant("5个月前") == ("2025-10-01", "2025-10-31")


@pytest.mark.parametrize(
    ("today", "text", "first", "last"),
    [
        (date(2026, 1, 1), "last quarter", "2025-10-01", "2025-12-31"),
        (date(2026, 1, 1), "on Friday", "2025-12-26", "2025-12-26"),
        (date(2026, 1, 1), "周末", "2025-12-27", "2025-12-28"),
        (date(2026, 1, 1), "last winter", "2024-12-01", "2025-02-28"),
        (date(2026, 1, 1), "this winter", "2025-12-01", "2026-02-28"),
        (date(2026, 1, 1), "in December", "2025-12-01", "2025-12-31"),
        (date(2024, 2, 29), "a year ago today", "2023-02-28", "2023-02-28"),
        (date(2024, 2, 29), "2月29日", "2024-02-29", "2024-02-29"),
        (date(2025, 2, 28), "Feb 29", "2024-02-29", "2024-02-29"),
        (date(2024, 3, 31), "the end of last month", "2024-02-21", "2024-02-29"),
        (date(2024, 3, 31), "in the last month", "2024-03-01", "2024-03-31"),
        (date(2026, 12, 28), "2026-W53", "2026-12-28", "2027-01-03"),
        (date(2026, 12, 31), "春节", "2026-02-16", "2026-02-23"),
        (date(2026, 10, 2), "国庆", "2026-10-01", "2026-10-07"),
    ],
)
def test_turns_of_months_and_years(today: date, text: str, first: str, last: str) -> None:
    assert meant(text, today) == (first, last)


@given(st.dates(), st.sampled_from([
    "last quarter", "上季度", "Q1", "last winter", "春节", "Easter", "late March", "年底", "the week before last",
    "最近", "a few months ago", "周一到周三", "the 31st", "Feb 29", "3月28日到4月2日", "半年前", "去年今天",
    "since March", "the week of 31 December", "the Friday before last", "in the last year", "last May", "暑假",
    "十年半前", "2月30日到31日",
]))  # fmt: skip
def test_every_day_can_be_today(today: date, text: str) -> None:
    for mention in asked_days(text, today).dates:
        assert mention.first <= mention.last
        assert 0 < mention.likely <= 1
        assert 0 <= closeness((mention,), today.isoformat()) <= 1


def test_of_several_years_the_last_that_has_come_is_the_nearest_and_others_count() -> None:
    asked = asked_days("in March", WEDNESDAY).dates
    near = [closeness(asked, day) for day in ("2026-03-05", "2025-03-05", "2019-03-05", "2026-05-05")]
    assert near[0] == 1
    assert near[0] > near[1] == near[2] > 0.9
    assert near[3] == 0
    christmas = asked_days("at Christmas", WEDNESDAY).dates
    assert closeness(christmas, "2025-12-25") == 1 > closeness(christmas, "2024-12-25") > 0.9


@pytest.mark.parametrize("year", range(2000, 2051))
def test_lunar_feasts_lie_where_the_moon_is_new_or_full(year: int) -> None:
    new_year, mid_autumn = lunar_day(year, NEW_YEAR), lunar_day(year, MID_AUTUMN)
    assert new_year is not None
    assert mid_autumn is not None
    assert date(year, 1, 21) <= new_year <= date(year, 2, 21)
    assert date(year, 9, 7) <= mid_autumn <= date(year, 10, 8)
    month = 29.530588853
    new_moon = date(2000, 1, 6)  # 18:14 UTC
    for day, phase in ((new_year, 0.0), (mid_autumn - timedelta(days=14), 0.0)):
        age = ((day - new_moon).days - 0.3) % month - phase
        assert min(age, month - age) < 1.2, "within the moon's irregularity of the mean new moon"


def test_a_feast_outside_of_the_table_is_not_known() -> None:
    assert lunar_day(1999, NEW_YEAR) is None
    assert lunar_day(2051, NEW_YEAR) is None
    assert asked_days("2060年春节", WEDNESDAY).dates != ()
    assert [feast_named("easter")(year) for year in (2000, 2038)] == [
        (date(2000, 4, 21), date(2000, 4, 24)),
        (date(2038, 4, 23), date(2038, 4, 26)),
    ]


def test_a_question_that_names_a_time_and_nothing_else_is_told() -> None:
    tokenizer = Tokenizer()
    for text in (
        "what happened in 2025",
        "上半年做了什么",
        "what did we discuss last month",
        "at Christmas",
        "第一季度的总结",
    ):
        assert tokenizer.query(text, WEDNESDAY).only_dates, text
    for text in ("what did Anna say last month", "去年夏天的预算", "zeppelin in March", "who are you"):
        assert not tokenizer.query(text, WEDNESDAY).only_dates, text


def test_words_that_a_note_may_have_stay_words_of_the_question() -> None:
    query = Tokenizer().query("presents for Christmas 2024", WEDNESDAY)
    assert "christma" in query.content_terms or "christmas" in query.content_terms
    assert [one.first for one in query.dates] == ["2024-12-24"]


def test_relative_dates_in_statements_are_none_where_a_longer_word_ends() -> None:
    for text in (
        "以前天天跑步",
        "早上周会改时间",
        "日本周刊",
        "half a year ago",
        "2025年前",
        "the last week of school",
    ):
        assert not any(one.relative for one in find_dates(text, WEDNESDAY)), text
    assert [one.first for one in find_dates("他说明天开会", WEDNESDAY)] == ["2026-03-19"]
    assert [one.first for one in find_dates("截至今天", WEDNESDAY)] == ["2026-03-18"]


@pytest.mark.parametrize("text", ["春节" * 1000, "q1 " * 600, "最近" * 900, "3月5日" * 400, "on Friday, " * 200])
def test_what_is_named_again_and_again_is_asked_for_once(text: str) -> None:
    once, often = asked_days(text[:9], WEDNESDAY), asked_days(text, WEDNESDAY)
    assert [(one.first, one.last) for one in often.dates] == [(one.first, one.last) for one in once.dates]
    assert len(often.named) <= 2


def test_a_question_asks_for_a_hundred_dates_at_most() -> None:
    days = " ".join((WEDNESDAY + timedelta(days=shift)).isoformat() for shift in range(150))
    assert len(asked_days(days, WEDNESDAY).dates) == 100
