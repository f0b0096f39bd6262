"""The offline model's rules: what is a question, which tool is meant, which line answers."""

import pytest

from agentscope_reme.index.tokenizer import Tokenizer
from agentscope_reme.models import NotePage, SearchHit, SearchResult
from agentscope_reme.quoting import page_text, search_text
from agentscope_reme.service import offline_answers as answers


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("How heavy is the kiln?", "How heavy is the kiln?"),
        ("老陈的电话是多少？", "老陈的电话是多少？"),
        ("Good. And what did v1.2 cost? Thanks.", "And what did v1.2 cost?"),
        ("窑到了。哪天能用？", "哪天能用？"),
        ("which movers did we book", "which movers did we book"),
        ("The kiln weighs 780 kg.", ""),
        ("What I want is a red door, and I will paint it on Monday." * 4, ""),
        ("地坪要干 28 天。", ""),
    ],
)
def test_questions_are_told_from_statements(text: str, question: str) -> None:
    assert answers.question_in(text) == question


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("Remember: the key is under B3.", "the key is under B3."),
        ("please remember that Ilse is vegetarian", "Ilse is vegetarian"),
        ("记住：釉料 G-12 含铅。", "釉料 G-12 含铅。"),
        ("Do you remember the key?", ""),
        ("I remember the key.", ""),
    ],
)
def test_what_to_keep_for_good_is_recognised(text: str, fact: str) -> None:
    assert answers.fact_to_remember(text) == fact


def tool(name: str, **properties: dict) -> dict:
    return {"type": "function", "function": {"name": name, "parameters": {"type": "object", "properties": properties}}}


@pytest.mark.parametrize(
    ("text", "call"),
    [
        ("Run `read_log` for firing 27, please.", ("read_log", {"firing": 27})),
        ("跑一下 read_log，firing 28。", ("read_log", {"firing": 28})),
        ("list_stock for the glaze room", ("list_stock", {"room": "glaze"})),
        ("list_stock in `north wing`", ("list_stock", {"place": "north wing"})),
        ("my_read_log_2 is broken", None),
        ("read the log", None),
    ],
)
def test_a_tool_is_called_when_its_name_stands_in_the_message(text: str, call: tuple | None) -> None:
    stock = tool("list_stock", room={"type": "string", "enum": ["glaze", "kiln"]}, place={"type": "string"})
    tools = [tool("read_log", firing={"type": "integer"}), stock]
    assert answers.tool_asked_for(text, tools) == call


RESULT = search_text(
    SearchResult(
        "ok",
        (
            SearchHit(
                "daily/2026-03-11/movers.md",
                12,
                14,
                "Change of plan: we booked Brückner because its tail lift takes 1,000 kg.\nThe weather is fine.",
                0.9,
                title="Movers",
                date="2026-03-11",
            ),
            SearchHit(
                "session/dialog/s1.jsonl",
                40,
                41,
                "Wen: Which movers did we book?\n"
                "Remy: The memory vault says: “we booked Adler” [daily/2026-03-10/x.md:3-3]\n"
                "Wen: Adler asks 3,180 and leaves the kiln to us; we go with Adler.",
                0.8,
                kind="journal",
            ),
            SearchHit("digest/搬家.md", 7, 7, "搬家日期最后定在 4 月 11 日星期六。", 0.7),
        ),
    )
)


def test_search_results_are_split_at_their_citations() -> None:
    found = answers.passages(RESULT)
    assert [item.source for item in found] == [
        "daily/2026-03-11/movers.md:12-14",
        "session/dialog/s1.jsonl:40-41",
        "digest/搬家.md:7-7",
    ]
    assert "Brückner" in found[0].text
    assert "Adler asks" in found[1].text


@pytest.mark.parametrize(
    ("question", "source", "words"),
    [
        ("Which movers did we book?", "daily/2026-03-11/movers.md:12-14", "Brückner"),
        ("搬家定在哪一天？", "digest/搬家.md:7-7", "4 月 11 日"),
        ("what does Adler ask", "session/dialog/s1.jsonl:40-41", "3,180"),
    ],
)
def test_the_line_that_answers_is_quoted_not_the_question_or_an_earlier_quotation(
    question: str, source: str, words: str
) -> None:
    tokenizer = Tokenizer()
    best = answers.best_lines(
        tokenizer.query(question).content_terms, tokenizer.terms, answers.passages(RESULT), limit=1
    )
    assert best[0].source == source
    assert words in best[0].text


def test_nothing_in_common_means_no_quotation() -> None:
    assert answers.best_lines(["zebra"], Tokenizer().terms, answers.passages(RESULT)) == []


def test_a_long_line_is_clipped_to_the_sentences_that_match() -> None:
    tokenizer = Tokenizer()
    line = "Filler words stand here. " * 30 + "The order number is TC-4471. It comes on Friday. " + "More filler. " * 30
    text = answers.clipped(line, tokenizer.query("order number").content_terms, tokenizer.terms)
    assert "TC-4471" in text
    assert len(text) <= 420


def test_errors_and_totals_stand_out_of_a_long_result() -> None:
    lines = [f"12:{i:02d} INFO fine" for i in range(60)]
    lines[40] = "12:40 ERROR E_TC_OPEN at 1043 °C"
    assert answers.what_stands_out("\n".join(lines)) == ["12:40 ERROR E_TC_OPEN at 1043 °C"]
    assert answers.what_stands_out("only this") == ["only this"]
    assert answers.what_stands_out("") == []


def test_the_stored_full_text_is_found_in_a_shortened_result() -> None:
    notice = "[... 9,000 bytes left out; the full text is in `session/tool_result/ab12.txt`, 300 lines]"
    assert answers.stored_at(notice) == "session/tool_result/ab12.txt"
    assert answers.stored_at("nothing was left out") == ""


def test_a_point_in_a_number_or_path_ends_no_sentence() -> None:
    assert answers.sentences("It is 3.60 m, see a/b.pdf. Next. 第一。第二") == [
        "It is 3.60 m, see a/b.pdf.",
        "Next.",
        "第一。",
        "第二",
    ]


def test_the_lines_of_a_file_are_read_out_of_what_the_read_tool_says() -> None:
    page = page_text(NotePage("MEMORY.md", "- a\n\n- b <x>\n", 1, 3, 3, 12, "abc"))
    assert answers.lines_of_file(page) == ["- a", "- b <x>"]
    assert answers.lines_of_file("Error: there is no MEMORY.md in the vault") == []
