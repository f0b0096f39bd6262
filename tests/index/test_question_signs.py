"""A question is read the same, whether it is looked through for everything or for what its characters may stand for."""

import unicodedata
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentscope_reme.index import query_terms, question_signs
from agentscope_reme.index.question_signs import EVERYTHING, FORM, normalised_with, signs_of
from agentscope_reme.index.simplified import simplified
from agentscope_reme.index.tokenizer import Tokenizer
from agentscope_reme.index.words import normalised

TODAY = date(2026, 3, 18)
TOKENIZER = Tokenizer()
# What each part of the reader of questions looks for, one or more of each kind.
SAID = """
when|How long ago|什么时候|何时|哪一年|几号|多久前|几月|何日|啥时候|yesterday|last Friday|3 weeks ago|in March
the week of 3 May|Q1 2026|昨天|上周三|去年5月|前天|三天前|大后天|今晚|2026-03-01|3月5日
2026年|二〇二六年|１２月|٣月|一季度|上半年|年底
月初|春天|寒假|中秋节|国庆
第三周|本周一到周三|3号|前几天|最近|近期|半年前|同期
五百元|第3章|三楼|3万|U盘|25 000|138 0013 8000|"the zebra"|“斑马吃草”|「河边」|《笔记》
小明|the zebra grazes|，|：|（x）|臺灣|ﬁ|e\u0301|か\u3099|\u00ad|\u2010
K|ſ|İ|一|中|这|来|，时|C++|foo_bar.py|😀|Ⅷ|½|데이터|ไทย
"""
PARTS = [*SAID.strip().replace("\n", "|").split("|"), " ", "、", "。", "?"]


@pytest.fixture(scope="module")
def everything():
    """Questions are looked through for everything."""
    patch = pytest.MonkeyPatch()

    def read(text: str):
        for module in (question_signs, query_terms):
            patch.setattr(module, "signs_of", lambda _: EVERYTHING)
        try:
            return TOKENIZER.query(text, TODAY)
        finally:
            patch.undo()

    return read


@pytest.mark.parametrize("text", PARTS)
def test_what_a_part_says_is_found_by_its_signs(everything, text):
    assert TOKENIZER.query(text, TODAY) == everything(text)


@given(text=st.lists(st.one_of(st.sampled_from(PARTS), st.characters()), max_size=7).map("".join))
def test_a_question_is_read_the_same_by_its_signs(everything, text):
    assert TOKENIZER.query(text, TODAY) == everything(text)


def test_characters_that_stay_as_they_are_do_so_side_by_side():
    stay = [chr(code) for code in range(0x110000) if not signs_of(chr(code)) & FORM]
    text = "".join(stay)
    assert normalised_with(text, signs_of(text))[0] == normalised(text)
    assert unicodedata.is_normalized("NFKC", normalised(text))
    # Each beside each kind of those that others might join.
    for other in "aA中か、“0":
        text = "".join(char + other for char in stay)
        assert normalised_with(text, signs_of(text))[0] == normalised(text)


def test_what_is_normalised_is_so_for_good():
    assert all(simplified(char) == char for char in map(simplified, map(chr, range(0x3400, 0xFB00))))


def test_signs_of_more_characters_than_are_remembered_are_told_all_the_same(monkeypatch):
    monkeypatch.setattr(question_signs, "_MOST_KNOWN", 3)
    text = "abc中午3号，臺"
    once = signs_of(text)
    assert signs_of(text[::-1]) == once == signs_of(text)
