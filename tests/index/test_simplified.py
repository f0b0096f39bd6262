"""Traditional and simplified characters: a note is found by both, whatever it and the question are written in."""

from datetime import date

import pytest

from agentscope_reme.index.asking import is_idle, only_asks
from agentscope_reme.index.chinese import carries_content
from agentscope_reme.index.dates import find_dates, has_time_words
from agentscope_reme.index.simplified import simplified
from agentscope_reme.index.tokenizer import Tokenizer
from agentscope_reme.pipelines.facts import kind_of

MINUTES = "董事會決定關閉臺北辦公室，員工轉為遠端工作。補償方案由人資部門負責。\n"


@pytest.mark.parametrize(
    ("traditional", "simple"),
    [
        ("會議紀錄", "会议纪录"), ("飛往臺北", "飞往台北"), ("頭髮", "头发"), ("發現", "发现"), ("麵條", "面条"),
        ("為什麼還沒給妳打電話", "为什么还没给你打电话"), ("餅乾", "饼干"), ("瞭解", "了解"),
    ],
)  # fmt: skip
def test_a_word_has_the_same_terms_in_both(traditional, simple):
    assert simplified(traditional) == simple
    assert Tokenizer().terms(traditional) == Tokenizer().terms(simple) != []
    assert Tokenizer().query(traditional).terms == Tokenizer().query(simple).terms


@pytest.mark.parametrize("text", ["", "plain", "会议纪录，飞往台北 🎉", "東", "a 會 b 議"])
def test_a_text_keeps_its_length_and_is_the_same_the_second_time(text):
    assert len(simplified(text)) == len(text)
    assert simplified(simplified(text)) == simplified(text)


@pytest.mark.parametrize(
    "query", ["台北办公室为什么关闭", "臺北辦公室", "员工补偿", "補償方案", "会议纪录", "會議紀錄"]
)
async def test_a_note_is_found_by_either_and_shown_as_it_was_written(put, open_index, query):
    put("會議紀錄.md", MINUTES)
    put("花园.md", "番茄在温室里，三月种的。\n")
    result = await open_index().search(query)
    assert (result.status, result.hits[0].path, result.hits[0].text) == ("ok", "會議紀錄.md", MINUTES.strip())


async def test_a_single_character_finds_the_other_form(put, open_index):
    put("a.md", "家裡的貓喜歡曬太陽。\n")
    put("b.md", "河边有水獭。\n")
    assert [hit.path for hit in (await open_index().search("猫")).hits] == ["a.md"]


async def test_a_name_that_stands_whole_in_the_question_counts_in_either(put, open_index):
    put("旅行計劃.md", "四月飛往大阪。\n")
    put("清单.md", "旅行要带的：护照。计划要写的：预算，旅行的计划，计划，旅行，计划。\n")
    assert (await open_index().search("旅行计划在哪里")).hits[0].path == "旅行計劃.md"


def test_function_words_say_nothing_in_either():
    assert not carries_content(simplified("什麼"))
    assert Tokenizer().query("這個為什麼").content_terms == Tokenizer().query("这个为什么").content_terms


def test_dates_and_times_are_read_in_either():
    today = date(2026, 3, 18)
    for traditional, simple in (
        ("三月五號", "三月五号"),
        ("上週三", "上周三"),
        ("後天", "后天"),
        ("3個月後", "3个月后"),
    ):
        assert find_dates(traditional, today) == find_dates(simple, today)
        assert find_dates(f"{traditional}開會", today) == find_dates(f"{simple}开会", today)
    assert find_dates("上週三", today)
    assert has_time_words("上週開會")


@pytest.mark.parametrize("text", ["這件事是誰負責的？", "什麼時候開會", "你知道為什麼嗎"])
def test_what_only_asks_is_known_in_either(text):
    assert only_asks(text)
    assert only_asks(simplified(text))


def test_small_talk_and_decisions_are_known_in_either():
    assert is_idle("謝謝！記住了")
    assert kind_of("我們決定關閉辦公室") == kind_of("我们决定关闭办公室") == "decision"


@pytest.mark.slow
def test_words_of_a_users_dictionary_may_be_traditional(tmp_path):
    pytest.importorskip("jieba")
    words = tmp_path / "words.txt"
    words.write_text("\ufeff濾網清洗劑 100 n\n", encoding="utf-8")
    tokenizer = Tokenizer("jieba", words)
    assert "滤网清洗剂" in tokenizer.terms("買濾網清洗劑一瓶")
    assert tokenizer.terms("买滤网清洗剂一瓶") == tokenizer.terms("買濾網清洗劑一瓶")
