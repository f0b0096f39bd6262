"""Dates: every notation is one date, and questions about time mean the right days."""

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentscope_reme.index.dates import DateMention, asks_when, closeness, find_dates, has_time_words

WEDNESDAY = date(2023, 5, 24)
_MONTHS = "January February March April May June July August September October November December".split()  # noqa: SIM905
_NUMERALS = [
    "",
    *"一二三四五六七八九十",
    *(f"十{n}" for n in "一二三四五六七八九"),
    "二十",
    *(f"二十{n}" for n in "一二三四五六七八九"),
    "三十",
    "三十一",
]


def one(text: str, today: date | None = None) -> DateMention:
    [mention] = find_dates(text, today)
    return mention


def days(text: str, today: date = WEDNESDAY) -> tuple[str, str]:
    mention = one(text, today)
    return mention.first, mention.last


def notations(day: date) -> list[str]:
    y, m, d, name = day.year, day.month, day.day, _MONTHS[day.month - 1]
    ordinal = f"{d}{'th' if 10 < d < 20 else {1: 'st', 2: 'nd', 3: 'rd'}.get(d % 10, 'th')}"
    digits = "".join("〇一二三四五六七八九"[int(digit)] for digit in str(y))
    return [
        f"{y}-{m:02d}-{d:02d}", f"{y}/{m}/{d}", f"{y}.{m:02d}.{d:02d}", f"{y} {m:02d} {d:02d}", f"{y}-{m}-{d}",
        f"{d} {name} {y}", f"{d} {name[:3]} {y}", f"{name} {d}, {y}", f"{name[:3]}. {d} {y}",
        f"{name.lower()} {ordinal}, {y}",
        f"the {ordinal} of {name}, {y}", f"{name.upper()} {d} {y}", f"{d}.{m}.{y}",
        f"{y}年{m}月{d}日", f"{y} 年 {m} 月 {d} 号", f"{digits}年{_NUMERALS[m]}月{_NUMERALS[d]}日",
        f"{y}-{m:02d}-{d:02d}T10:00:00Z",
    ]  # fmt: skip


@given(st.dates(date(1900, 1, 1), date(2099, 12, 31)))
def test_every_notation_of_a_day_is_that_day(day: date) -> None:
    for text in [*notations(day), *([day.strftime("%Y%m%d")])]:
        mention = one(f"so {text} it was")
        assert (mention.first, mention.last) == (day.isoformat(), day.isoformat()), text
        assert mention.tokens[0] == day.isoformat(), text
        assert (mention.grain, mention.year, mention.month, mention.day) == ("day", day.year, day.month, day.day)


@given(st.dates(date(2000, 1, 1), date(2000, 12, 31)))
def test_a_day_without_a_year_is_that_day_of_any_year(day: date) -> None:
    name = _MONTHS[day.month - 1]
    for text in (
        f"on {name} {day.day}",
        f"on {day.day} {name}",
        f"{day.month}月{day.day}日",
        f"{_NUMERALS[day.month]}月{_NUMERALS[day.day]}号",
    ):
        mention = one(text)
        assert (mention.first, mention.last) == ("", "")
        assert mention.tokens == (f"--{day:%m-%d}", f"--{day:%m}"), text


@pytest.mark.parametrize(
    ("text", "grain", "first", "last", "token"),
    [
        ("May 2023", "month", "2023-05-01", "2023-05-31", "2023-05"),
        ("in may, 2023", "month", "2023-05-01", "2023-05-31", "2023-05"),
        ("2024-02", "month", "2024-02-01", "2024-02-29", "2024-02"),
        ("2023年12月份", "month", "2023-12-01", "2023-12-31", "2023-12"),
        ("2023年3月初", "range", "2023-03-01", "2023-03-10", "2023-03"),
        ("2023年2月底", "range", "2023-02-21", "2023-02-28", "2023-02"),
        ("in 2023", "year", "2023-01-01", "2023-12-31", "2023"),
        ("2023年", "year", "2023-01-01", "2023-12-31", "2023"),
        ("in June", "month", "", "", "--06"),
        ("三月份", "month", "", "", "--03"),
        ("5/18/2023", "day", "2023-05-18", "2023-05-18", "2023-05-18"),
        ("18/5/2023", "day", "2023-05-18", "2023-05-18", "2023-05-18"),
        ("5/8/2023", "day", "2023-05-08", "2023-05-08", "2023-05-08"),
        ("8.5.2023", "day", "2023-05-08", "2023-05-08", "2023-05-08"),
    ],
)
def test_months_years_and_parts(text: str, grain: str, first: str, last: str, token: str) -> None:
    mention = one(text)
    assert (mention.grain, mention.first, mention.last, mention.tokens[0]) == (grain, first, last, token)


@pytest.mark.parametrize(
    "text",
    [
        "2023-02-30", "2023-13-01", "you may go",
        "May I come?", "march on", "they march 8 miles", "20 may attend", "3个月",
        "v2023.1.2", "1.2.3", "call 555-1234", "2048x1536", "$2000", "the second week", "月亮", "mar the finish",
        "Jan said so", "2000%", "version 2023.1", "", "年年月月", "99月", "30月2日",
    ],
)  # fmt: skip
def test_what_only_looks_like_a_date_is_none(text: str) -> None:
    assert find_dates(text) == ()


def test_offsets_name_the_text_of_the_date() -> None:
    text = "中文，从 2023年5月8日 起；until June 3rd, 2024."
    assert [text[m.begin : m.stop] for m in find_dates(text)] == ["2023年5月8日", "June 3rd, 2024"]


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("from 2023-05-01 to 2023-05-07", "2023-05-01", "2023-05-07"),
        ("2023年5月1日到2023年5月7日", "2023-05-01", "2023-05-07"),
        ("between May 2023 and July 2023", "2023-05-01", "2023-07-31"),
        ("2023-05-01 ~ 2023-05-07", "2023-05-01", "2023-05-07"),
    ],
)
def test_two_dates_with_to_between_are_a_range(text: str, first: str, last: str) -> None:
    assert (one(text).grain, one(text).first, one(text).last) == ("range", first, last)


def test_two_yearless_days_are_a_range_of_any_year_and_others_stay_two() -> None:
    mention = one("5月8号到5月10号")
    assert (mention.day, mention.last_day) == (8, 10)
    assert closeness((mention,), "2021-05-09") == 1
    assert len(find_dates("2023-05-07 and 2023-05-09")) == 2
    assert len(find_dates("2023-05-09 to 2023-05-01")) == 2


# --- Relative dates -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("yesterday", "2023-05-23", "2023-05-23"),
        ("The day before yesterday", "2023-05-22", "2023-05-22"),
        ("what did I do day before yesterday", "2023-05-22", "2023-05-22"),
        ("the day after tomorrow", "2023-05-26", "2023-05-26"),
        ("plans for day after tomorrow", "2023-05-26", "2023-05-26"),
        ("tomorrow", "2023-05-25", "2023-05-25"),
        ("last night", "2023-05-23", "2023-05-23"),
        ("last week", "2023-05-15", "2023-05-21"),
        ("this week", "2023-05-22", "2023-05-28"),
        ("next week", "2023-05-29", "2023-06-04"),
        ("last weekend", "2023-05-20", "2023-05-21"),
        ("last month", "2023-04-01", "2023-04-30"),
        ("last year", "2022-01-01", "2022-12-31"),
        ("last Friday", "2023-05-19", "2023-05-19"),
        ("last Wednesday", "2023-05-17", "2023-05-17"),
        ("on Wednesday", "2023-05-24", "2023-05-24"),
        ("on Monday", "2023-05-22", "2023-05-22"),
        ("this Friday", "2023-05-26", "2023-05-26"),
        ("next Wednesday", "2023-05-31", "2023-05-31"),
        ("3 days ago", "2023-05-21", "2023-05-21"),
        ("a week ago", "2023-05-15", "2023-05-21"),
        ("two months ago", "2023-03-01", "2023-03-31"),
        ("in the last 7 days", "2023-05-17", "2023-05-24"),
        ("over the past two weeks", "2023-05-10", "2023-05-24"),
        ("in 3 days", "2023-05-27", "2023-05-27"),
        ("昨天", "2023-05-23", "2023-05-23"),
        ("前天", "2023-05-22", "2023-05-22"),
        ("大前天", "2023-05-21", "2023-05-21"),
        ("后天", "2023-05-26", "2023-05-26"),
        ("今晚", "2023-05-24", "2023-05-24"),
        ("上周", "2023-05-15", "2023-05-21"),
        ("上周三", "2023-05-17", "2023-05-17"),
        ("下周三", "2023-05-31", "2023-05-31"),
        ("这周五", "2023-05-26", "2023-05-26"),
        ("上个星期天", "2023-05-21", "2023-05-21"),
        ("上周末", "2023-05-20", "2023-05-21"),
        ("上上周", "2023-05-08", "2023-05-14"),
        ("上个月", "2023-04-01", "2023-04-30"),
        ("上个月底", "2023-04-21", "2023-04-30"),
        ("本月3号", "2023-05-03", "2023-05-03"),
        ("去年", "2022-01-01", "2022-12-31"),
        ("去年5月", "2022-05-01", "2022-05-31"),
        ("去年12月25日", "2022-12-25", "2022-12-25"),
        ("三天前", "2023-05-21", "2023-05-21"),
        ("两个月前", "2023-03-01", "2023-03-31"),
        ("最近三天", "2023-05-21", "2023-05-24"),
        ("过去两个星期", "2023-05-10", "2023-05-24"),
    ],
)
def test_relative_dates_are_read_on_the_given_day(text: str, first: str, last: str) -> None:
    assert days(text) == (first, last)
    assert one(text, WEDNESDAY).relative


def test_relative_dates_are_none_without_a_clock() -> None:
    assert find_dates("yesterday, last week, 上周三") == ()


def test_two_relative_dates_of_a_sentence_are_both_found() -> None:
    found = find_dates("昨天和小王开会，下周三交付", WEDNESDAY)
    assert [mention.first for mention in found] == ["2023-05-23", "2023-05-31"]


@pytest.mark.parametrize(
    "today",
    [date(2024, 2, 29), date(2024, 3, 31), date(2023, 1, 1), date(2023, 12, 31), date(1, 1, 1), date(9999, 12, 31)],
)
def test_turns_of_months_and_years_are_no_obstacle(today: date) -> None:
    for text in ("last month", "next month", "上个月", "去年2月", "in the last 3 months", "9999 years ago", "大前天"):
        for mention in find_dates(text, today):
            assert mention.first <= mention.last
            assert mention.first or not mention.relative
    assert all(mention.first == "" for mention in find_dates("去年2月29日", date(2024, 3, 1)))


# --- Nearness -----------------------------------------------------------------------------------------------------


def test_the_day_asked_for_is_nearest_then_its_neighbours_then_the_days_after() -> None:
    asked = find_dates("2023-05-08")
    near = [closeness(asked, (date(2023, 5, 8) + timedelta(days=shift)).isoformat()) for shift in range(0, 32)]
    assert near[0] == 1
    assert near[1] == closeness(asked, "2023-05-07") > near[2]
    assert near[2:11] == [pytest.approx(0.6 - 0.04 * shift) for shift in range(2, 11)]
    assert set(near[11:31]) == {0.2}
    assert near[31] == 0
    assert closeness(asked, "2023-04-18") == 0.2
    assert closeness(asked, "2023-04-17") == 0


def test_a_month_reaches_into_the_next_and_a_year_weighs_little() -> None:
    may = find_dates("in May 2023")
    assert [closeness(may, day) for day in ("2023-05-31", "2023-06-10", "2023-06-20", "2023-07-01", "2023-04-30")] == [
        1,
        0.5,
        0.25,
        0,
        0,
    ]
    assert [closeness(find_dates("in 2023"), day) for day in ("2023-12-31", "2024-01-01")] == [0.3, 0]


def test_a_yearless_date_is_near_in_any_year_also_across_new_year() -> None:
    assert closeness(find_dates("on March 5"), "2026-03-05") == 1
    assert closeness(find_dates("3月初"), "2024-03-07") == 1
    assert closeness(find_dates("in December"), "2024-01-10") == 0.5
    assert closeness(find_dates("December 31"), "2024-01-01") == 0.97
    assert closeness(find_dates("2月29日"), "2023-02-28") == 0


def test_no_date_or_no_day_is_not_near() -> None:
    assert closeness((), "2023-05-08") == 0
    assert closeness(find_dates("2023-05-08"), "") == 0
    assert closeness(find_dates("2023-05-08"), "soon") == 0


@given(st.dates(), st.sampled_from(["May 8", "5月", "2月29日", "2024-02-29", "last week", "3月底", "1999"]))
def test_nearness_is_a_share(day: date, text: str) -> None:
    assert 0 <= closeness(find_dates(text, WEDNESDAY), day.isoformat()) <= 1


# --- Questions and words about time -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    ["When did Ann move?", "what date was it", "In which month did he go", "Which year?", "How long ago was it",
     "On what day", "我什么时候去的北京", "哪天交付", "生日是几月几号", "And when?"],
)  # fmt: skip
def test_questions_for_a_time_are_recognised(text: str) -> None:
    assert asks_when(text)


@pytest.mark.parametrize(
    "text", ["What did she say when he came?", "Which book did she read", "谁去了北京", "whenever it was", ""]
)
def test_other_questions_are_not(text: str) -> None:
    assert not asks_when(text)


@pytest.mark.parametrize(
    "text",
    ["I went yesterday", "Last week was fun", "two days ago", "see you on Friday", "in 2019", "back in May",
     "the other day", "at 10:30", "昨天去了", "上周三", "三年前", "5月见"],
)  # fmt: skip
def test_words_for_a_time_are_recognised(text: str) -> None:
    assert has_time_words(text)
    assert has_time_words(text.upper())


@pytest.mark.parametrize("text", ["You may go", "It was great", "march on", "他来了", ""])
def test_text_without_a_time_has_none(text: str) -> None:
    assert not has_time_words(text)


def test_letters_that_count_as_others_when_case_does_not_matter_change_nothing_else() -> None:
    assert has_time_words("la\u017ft week")
    assert not has_time_words("\u0130ago"), "the end of a word is no word"
    [mention] = find_dates("5 \u017fept 2024 \u0130")
    assert (mention.first, mention.begin, mention.stop) == ("2024-09-05", 0, 11)


@given(st.text("0123456789年月日〇二三十-/. xMay五", max_size=14), st.integers(0, 3))
def test_dates_do_not_depend_on_what_stands_a_line_before(text: str, before: int) -> None:
    lead = ("\n", "plain words\n", "。。。\n", "no digits here, nothing\n")[before]
    moved = [(m.begin - len(lead), m.stop - len(lead), m.tokens) for m in find_dates(lead + text)]
    assert moved == [(m.begin, m.stop, m.tokens) for m in find_dates("\n" + text) for m in [_shifted(m, -1)]]


def _shifted(mention: DateMention, by: int) -> DateMention:
    return mention._replace(begin=mention.begin + by, stop=mention.stop + by)
