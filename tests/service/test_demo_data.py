"""The conversation and the data of the demo: what the story says is what the tools return."""

import re

import pytest

from agentscope_reme.service import demo_data as data
from agentscope_reme.service.offline_answers import language_of, tool_asked_for

TOOLS = ("read_kiln_log", "list_inventory", "compare_quotes")


def test_the_conversation_is_long_bilingual_in_order_and_asks_at_the_end() -> None:
    conversation = data.load_conversation()
    turns = conversation.turns
    assert len(turns) >= 60
    assert [turn.time for turn in turns] == sorted({turn.time for turn in turns})
    assert len({turn.date for turn in turns}) >= 4
    chinese = sum(language_of(turn.text) == "zh" for turn in turns)
    assert len(turns) / 5 < chinese < len(turns) / 2
    assert len(conversation.questions) == 3
    assert {language_of(question) for question in conversation.questions} == {"en", "zh"}


def test_the_story_uses_each_tool_and_the_results_are_long() -> None:
    schemas = [{"type": "function", "function": {"name": name, "parameters": {}}} for name in TOOLS]
    asked = [tool_asked_for(turn.text, schemas) for turn in data.load_conversation().turns]
    assert {call[0] for call in asked if call} == set(TOOLS)
    assert sum(call is not None for call in asked) >= 6
    results = [data.kiln_log(27), data.kiln_log(28), data.quotes("movers"), data.quotes("insurance")]
    results += [data.inventory(room) for room in ("glaze", "wheel", "kiln")]
    assert all(len(result) > 3_000 for result in results)


def test_data_is_the_same_on_each_call() -> None:
    assert data.kiln_log(27) == data.kiln_log(27)
    assert data.inventory("glaze") == data.inventory("glaze")


def test_the_log_says_what_the_story_says_of_it() -> None:
    assert "2026-03-09 02:47 ERROR E_TC_OPEN: thermocouple T2 reads open circuit at 1043 °C" in data.kiln_log(27)
    readings = re.findall(r"T1\s+([\d.]+) \| T2\s+([\d.]+)", data.kiln_log(28))
    assert max(abs(float(one) - float(two)) for one, two in readings) < 3
    assert "ERROR" not in data.kiln_log(28)
    assert "1061 °C" in data.kiln_log(28)


@pytest.mark.parametrize(
    ("kind", "firm", "euros"),
    [
        ("movers", "Adler", 3180),
        ("movers", "Brückner", 3950),
        ("movers", "Halm", 2740),
        ("insurance", "Nordstern", 240),
    ],
)
def test_offers_add_up_to_what_the_story_quotes(kind: str, firm: str, euros: int) -> None:
    assert data.total(kind, firm) == euros
    assert f"TOTAL {firm}: {euros:,} euros" in data.quotes(kind)


def test_the_sums_of_the_story_are_right() -> None:
    texts = [turn.text for turn in data.load_conversation().turns]
    for text in texts:
        found = re.search(
            r"(?:sum so far is|Let me do the money).*?((?:[\d,]+\D+?)+)(?:that is|That makes) ([\d,]+)", text
        )
        if found:
            parts = [int(number.replace(",", "")) for number in re.findall(r"\d[\d,]*", found[1])]
            assert sum(parts) == int(found[2].replace(",", "")), text
    assert sum("that is 5,626" in text or "That makes 12,566" in text for text in texts) == 2


@pytest.mark.parametrize("answer", [data.kiln_log(99), data.inventory("roof"), data.quotes("pizza")])
def test_what_does_not_exist_is_said_with_what_does(answer: str) -> None:
    assert answer.startswith("There ")
    assert any(known in answer for known in ("27", "glaze", "movers"))
