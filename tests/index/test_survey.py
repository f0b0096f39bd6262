"""One look over a whole text tells what its parts need not be searched for, and never hides anything from them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentscope_reme.index import tokenizer as tokenizing
from agentscope_reme.index.chunker import Unit
from agentscope_reme.index.dates import find_dates, has_time_words
from agentscope_reme.index.reading import read_entries, unit_flags
from agentscope_reme.index.survey import Survey
from agentscope_reme.index.time_words import ANYTHING, SIGNS, WORDS
from agentscope_reme.index.tokenizer import Tokenizer
from agentscope_reme.index.words import normalised

SAID = """
2023-05-08 2023年5月8日 二〇二三年 十二月三十一日 5月初 3/4/2022 2022/11 20230508 1999 19:30 7：15 2点 8日 3号 月 年 12
昨天 今晚 前天 后天 这周 上个月 下星期 周三 星期天 三天前 刚才 最近 去年 明年
更正 纠正 勘误 改为 改成 改用 换成了 不再 已经改 已换 以此为准 改 已 天 周 前
may May 5 march mayor January sept Oct yesterday today Monday weekend ago lastweek tomorrow
correction supersedes replaced by correct more change ed to from
， ： （ ！ - / . : [[ ]] 猫 笔记 的 後天 這週 兩天前 改為 換成了 會議 筆記
note v1.2 é … ① ２ ３ ０ ｍａｙ ٣ ٢٠٢٣ ५ Σ ς İ ı ſ ﬁ 👍 の か\u3099 e\u0301 ᠑
"""
PHRASES = (
    "last week",
    "two days",
    "in March",
    "no longer",
    "not now any more",
    "instead of",
    "moved to",
    "changed from",
)
FRAGMENTS = [*SAID.split(), *PHRASES, "\xa0", " ", "\n"]
TEXTS = st.lists(st.sampled_from(FRAGMENTS), max_size=14).map("".join)


@given(TEXTS, st.integers(0, 60), st.integers(0, 60))
def test_what_a_part_is_said_to_lack_it_lacks(text, begin, size):
    survey = Survey(text)
    part = text[begin : begin + size]
    may_hold = survey.holds(begin, begin + len(part))
    plain = Tokenizer()
    if may_hold == ANYTHING:
        return
    known = survey.normal[begin : begin + size]
    assert known == normalised(part)
    assert find_dates(known, may_hold=may_hold) == find_dates(known)
    assert has_time_words(known, may_hold) == has_time_words(part)
    assert unit_flags(Unit(1, 1, part), known, may_hold) == unit_flags(Unit(1, 1, part))
    assert plain.terms(known, may_hold) == Tokenizer().terms(part)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("我们在山上喝茶", 0),
        ("我们在 Berlin 喝茶 42", 0),
        ("我们在5月8日喝茶", SIGNS),
        ("我们说 yesterday 喝茶", WORDS),
        ("我们不再喝茶 instead of", SIGNS | WORDS),
        ("We drink tea on the mountain", ANYTHING),
        ("我们喝茶…", ANYTHING),
        ("我们喝茶！[[Tee]]", ANYTHING),
    ],
)
def test_what_is_found_in_a_text(text, found):
    assert Survey(text).holds(0, len(text)) == found


def test_only_the_part_with_a_date_has_one():
    text = "山上的茶。\n\n2023-05-08 下雨。\n\n山下的茶。"
    survey = Survey(text)
    at = text.index("2023")
    assert survey.holds(0, at) == 0
    assert survey.holds(at + 2, at + 6) == SIGNS, "the end of what was found is enough"
    assert survey.holds(text.index("山下"), len(text)) == 0


def test_rows_are_those_between_line_breaks():
    assert Survey("").rows == [0, 1]
    assert Survey("a\n\nbc\n").rows == [0, 2, 3, 6, 7]


def test_parts_without_a_date_are_not_searched_for_one(monkeypatch):
    searched = []
    real = tokenizing.find_dates

    def counted(text, *args, **kwargs):
        searched.append(text)
        return real(text, *args, **kwargs)

    monkeypatch.setattr(tokenizing, "find_dates", counted)
    paragraphs = [
        f"第{char}段写的是山上的茶和茶园里的雨，喝茶的人都在山上等着看日出，等了很久，茶也凉了，雨还没有停，人们还在等。"
        for char in "甲乙丙丁戊"
    ]
    note = "\n\n".join(
        [
            *paragraphs,
            "我们在2023年5月8日下山，山下也在下雨，雨下得很大，我们在茶园里等了很久，后来才慢慢地走回家去，到家已是傍晚。",
        ]
    )
    read_entries("n.md", note.encode(), Tokenizer())
    assert [text for text in searched if "茶" in text] == [note.split("\n\n")[-1].replace("，", ",")]
