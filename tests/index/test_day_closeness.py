"""Closeness of many days at once is that of each alone."""

from datetime import date

import numpy as np
import pytest

from agentscope_reme.index.dates import closeness, find_dates
from agentscope_reme.index.day_closeness import closeness_by_day
from agentscope_reme.index.reading import day_number, day_text

EVERY_DAY = np.arange(day_number("2021-06-01"), day_number("2025-03-01"))


@pytest.mark.parametrize(
    "text",
    [
        "what happened on 2023-05-08",
        "in March 2022",
        "plans for 2024",
        "on May 8",
        "on 29 February",
        "at New Year, December 30 and January 2",
        "yesterday and last week",
        "from 3 to 9 May 2023",
        "五月八日",
        "上周三",
    ],
)
def test_closeness_of_many_days_is_that_of_each_alone(text):
    mentions = find_dates(text, date(2023, 7, 12))
    assert mentions
    one_by_one = [closeness(mentions, day_text(day)) for day in EVERY_DAY.tolist()]
    assert closeness_by_day(mentions)(EVERY_DAY).tolist() == one_by_one
    assert max(one_by_one) > 0


def test_no_days_and_days_before_any_calendar_are_answered():
    near = closeness_by_day(find_dates("2023-05-08"))
    assert near(np.zeros(0, np.int32)).tolist() == []
    assert near(np.array([0, day_number("0001-01-02"), day_number("9999-12-30")])).tolist() == [0.0, 0.0, 0.0]
