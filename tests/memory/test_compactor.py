"""Compactor: messages -> checkpoint, or a reason why not. And the checkpoint that needs no model."""

import asyncio
import json
import string
import time

import pytest
from agentscope.formatter import OpenAIChatFormatter
from agentscope.message import Msg
from hypothesis import given
from hypothesis import strategies as st

from agentscope_reme.memory.checkpoint import (
    _IDENTIFIER,
    Accepted,
    Rejected,
    accept,
    identifiers,
    parse_sections,
    render_sections,
    without_thinking,
)
from agentscope_reme.memory.compactor import Checkpoint, Compactor
from agentscope_reme.memory.envelope import _HAN, envelope_text, language_of, user_language, without_envelope
from agentscope_reme.memory.extractive import extractive_checkpoint, sentences_of
from agentscope_reme.memory.transcript import pieces, rendered, shortened
from agentscope_reme.models import Failed
from tests.hooks.agents import ByteCounter, checkpoint
from tests.memory.conversations import calls, result, said, user
from tests.support.scripted_model import Later, ScriptedModel


async def count(text):
    return ByteCounter().count_text(text)


async def condense(model, messages, previous="", **options):
    options = {"language": "en", "cap": 400, "window": 8_000, "replaced_tokens": 10_000, "count": count, **options}
    formatter = OpenAIChatFormatter() if model is not None else None
    return await Compactor(model, formatter, timeout=options.pop("timeout", 10)).checkpoint(
        messages, previous, **options
    )


async def extract(messages, previous="", cap=400, language="en"):
    return await extractive_checkpoint(messages, previous, cap=cap, count=count, language=language)


# --- With a model -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("with_formatter", [False, True])
async def test_any_chat_model_streaming_or_not_makes_a_checkpoint(stream, with_formatter):
    model = ScriptedModel([checkpoint("Done well.")], stream=stream)
    compactor = Compactor(model, OpenAIChatFormatter() if with_formatter else None)
    outcome = await compactor.checkpoint(
        [user("do it")], language="en", cap=400, window=8_000, replaced_tokens=10_000, count=count
    )
    assert outcome == Checkpoint(checkpoint("Done well.").strip(), "model")
    assert model.last.tools is None
    assert model.last.structured_model is None
    assert [message["role"] for message in model.last.messages] == ["system", "user"]


async def test_the_previous_checkpoint_goes_along_without_its_marks():
    model = ScriptedModel(default=checkpoint())
    previous = envelope_text("<!-- extractive -->\n## Goal\nBuild.", path="x", language="en", inside_turn=True)
    await condense(model, [user("go on")], previous)
    text = model.last.role_text("user")
    assert "## Goal\nBuild." in text
    assert "extractive" not in text
    assert "conversation-checkpoint" not in text
    assert "covers both" in text
    await condense(model, [user("go on")])
    assert "previous-checkpoint" not in model.last.role_text("user")


async def test_names_that_the_model_dropped_are_put_back_within_the_cap():
    model = ScriptedModel(default=checkpoint())
    said_by_user = "See /srv/app/main.py, ticket X-9001, https://example.com/a?b=1; ValueError: bad column"
    outcome = await condense(model, [user(said_by_user), said("Look at /not/from/the/user.txt")])
    for name in ("/srv/app/main.py", "X-9001", "https://example.com/a?b=1", "ValueError: bad column"):
        assert name in outcome.text
    assert "/not/from/the/user.txt" not in outcome.text
    crowded = [user(" ".join(f"/data/file_{i}.bin" for i in range(500)))]
    outcome = await condense(model, crowded, cap=200)
    assert await count(outcome.text) <= 200
    assert "/data/file_0.bin" in outcome.text


async def test_names_of_the_checkpoint_before_are_kept_over_many_rounds():
    model = ScriptedModel(default=checkpoint())
    previous = checkpoint(facts="- order A-2291 for 木星")
    for i in range(6):
        outcome = await condense(model, [user(f"round {i}")], previous)
        previous = outcome.text
    assert "A-2291" in previous
    assert previous.count("A-2291") == 1


async def test_a_long_conversation_is_told_in_pieces_that_carry_the_checkpoint_so_far():
    answers = iter(range(100))
    model = ScriptedModel(default=lambda request: checkpoint(f"After piece {next(answers)}."))
    messages = [user(f"part {i}: " + "talk " * 400) for i in range(20)]
    outcome = await condense(model, messages, window=4_000)
    assert len(model.requests) > 3
    for number, request in enumerate(model.requests[1:], 1):
        assert f"After piece {number - 1}." in request.role_text("user")
        assert await count(request.text) <= 4_000
    assert f"After piece {len(model.requests) - 1}." in outcome.text
    told = "".join(request.role_text("user") for request in model.requests)
    assert all(f"part {i}: " in told for i in range(20))


async def test_chinese_pieces_fit_the_window_as_well():
    model = ScriptedModel(default=checkpoint())
    await condense(model, [user("讨论了很多事情，" * 400) for _ in range(10)], window=4_000)
    for request in model.requests:
        assert await count(request.text) <= 4_000


async def test_an_instruction_of_the_user_reaches_the_model():
    model = ScriptedModel(default=checkpoint())
    await condense(model, [user("go")], extra_instruction="Keep every price.")
    assert model.last.role_text("user").endswith("Keep every price.")


@pytest.mark.parametrize(("language", "words"), [("en", "Write in English"), ("zh", "用中文书写")])
async def test_the_prompt_is_in_the_language_of_the_user(language, words):
    model = ScriptedModel(default=checkpoint())
    await condense(model, [user("go")], language=language)
    assert words in model.last.role_text("system")


async def test_a_limit_of_time_covers_all_pieces():
    model = ScriptedModel(default=Later(checkpoint(), seconds=0.08))
    outcome = await condense(model, [user("talk " * 400) for _ in range(20)], window=4_000, timeout=0.2)
    assert isinstance(outcome, Failed)
    assert outcome.reason == "timeout"


async def test_a_time_out_of_the_providers_own_is_called_by_its_name():
    outcome = await condense(ScriptedModel([TimeoutError("read timed out")]), [user("go")])
    assert outcome == Failed("model_error", "TimeoutError('read timed out')")


async def test_a_cancellation_is_passed_on():
    task = asyncio.create_task(condense(ScriptedModel([Later(checkpoint(), seconds=60)]), [user("go")]))
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.mark.parametrize("answer", [None, 7, {"text": "x"}])
async def test_a_model_that_answers_with_something_else_is_a_failure(answer):
    class Odd(ScriptedModel):
        async def __call__(self, *args, **kwargs):
            return answer

    assert isinstance(await condense(Odd(), [user("go")]), Failed)


# --- What becomes of an answer ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        checkpoint(),
        f"```markdown\n{checkpoint()}\n```",
        f"Here is the checkpoint:\n\n{checkpoint()}",
        f"<think>First I plan.\n## Goal\nwrong\n</think>\n{checkpoint()}",
        f"I plan.\n## Goal\nwrong\n</think>\n{checkpoint()}",
        checkpoint().replace("## ", "# "),
        checkpoint().replace("## ", "### "),
        "\n".join(f"**{line[3:]}**" if line.startswith("## ") else line for line in checkpoint().split("\n")),
        "\n".join(f"## {i}. {line[3:]}" if line.startswith("## ") else line
                  for i, line in enumerate(checkpoint().split("\n"))),
        checkpoint().replace("## Goal", "## 目标").replace("## Progress", "## 进展：").replace("Next Steps", "下一步"),
        checkpoint(facts="- the tag </think> is stripped"),
    ],
)  # fmt: skip
async def test_the_shapes_in_which_models_write_a_checkpoint(text):
    outcome = await accept(text, must_keep=[], replaced_tokens=1_000, cap=400, count=count)
    assert isinstance(outcome, Accepted), outcome
    sections = parse_sections(outcome.text)
    assert sections["Goal"] == "Finish the work."
    assert sections["Next Steps"] == "Go on."
    assert outcome.text.startswith("## Goal")


def test_thinking_is_cut_out_in_linear_time():
    assert without_thinking("a<think>b</think>c<thinking>d</thinking>e") == "ace"
    start = time.process_time()
    without_thinking("<think>" * 100_000)
    assert time.process_time() - start < 5, "a second would be quadratic"


async def test_an_answer_is_refused_with_its_reason():
    async def reason(text, **options):
        options = {"must_keep": [], "replaced_tokens": 1_000, "cap": 400, "count": count, **options}
        outcome = await accept(text, **options)
        return outcome.reason if isinstance(outcome, Rejected) else "accepted"

    assert await reason("") == "empty"
    assert await reason("<think>only this</think>") == "empty"
    assert await reason("Sure! Here you go.") == "no_sections"
    assert await reason(checkpoint(facts="x " * 2_000)) == "oversized"
    assert await reason(checkpoint(), replaced_tokens=20) == "not_shorter"
    assert await reason(render_sections({})) == "empty"


NASTY = {
    "letters": "a" * 200_000,
    "base64": "".join(string.ascii_letters[i * 7 % 52] for i in range(200_000)),
    "dots": "a." * 100_000,
    "dashes": "a-" * 100_000,
    "slashes": "a/" * 100_000,
    "underscores": "a_" * 100_000,
    "digits": "1" * 200_000,
    "at": "a@" * 100_000,
    "errors": "xError" * 30_000,
    "han": "汉" * 200_000,
    "spaces": " " * 200_000,
    "urls": "http://" * 30_000,
}


@pytest.mark.parametrize("kind", NASTY)
def test_a_pasted_blob_of_any_shape_is_read_in_linear_time(kind):
    """Forty thousand letters in a row took a minute once, on the event loop."""
    start = time.process_time()
    identifiers([NASTY[kind]])
    list(sentences_of(NASTY[kind]))
    parse_sections(NASTY[kind])
    without_envelope(NASTY[kind])
    assert time.process_time() - start < 20, "quadratic: it would take half an hour"


@pytest.mark.parametrize("depth", [1, 3, 8, 400])
def test_an_envelope_inside_an_envelope_is_taken_off_for_good(depth):
    fence = "conversation-checkpoint"
    text = "a <" + "conversation-" * depth + fence + "checkpoint" * depth + "> b" * depth
    for _ in range(depth):
        text = text.replace(fence, f"<{fence}>", 1) if depth < 10 else text
    plain = without_envelope(text)
    assert without_envelope(plain) == plain
    assert f"<{fence}" not in plain


def test_names_numbers_and_error_lines_are_found_once_each():
    text = (
        "see src/main.py and C:\\a\\b.txt, ~/n/a.md, https://a.b/c?d=1, ops@example.com, E_CONN_42, v1.2.3, X-900, "
        "get_user_name, 2026-03-05, port 8443, 文件src/索引.py 订单A-1234号.\nTypeError: no\nsee src/main.py again"
    )
    found = identifiers([text])
    expected = [
        "src/main.py", "C:\\a\\b.txt", "~/n/a.md", "https://a.b/c?d=1", "ops@example.com", "E_CONN_42", "v1.2.3",
        "X-900", "get_user_name", "2026-03-05", "8443", "A-1234", "TypeError: no",
    ]  # fmt: skip
    assert [name for name in expected if name not in found] == []
    assert len(found) == len(set(found))
    assert identifiers(["nothing here, really, of 42 or 7"]) == []


@given(st.text(alphabet="aB1_./\\@-+~:vhtps 汉é\u3000\u00a0\t\n\x1c,", max_size=60))
def test_names_are_those_of_the_pattern_read_over_the_whole_text(text):
    """It is read by the parts that may hold one, which is faster."""
    found = [match.group(0).rstrip(".,:;-/") for match in _IDENTIFIER.finditer(text)]
    assert identifiers([text]) == [name for name in dict.fromkeys(found) if len(name) >= 3]


# --- Without a model --------------------------------------------------------------------------------------------------


async def test_it_sorts_what_was_said_into_the_sections():
    messages = [
        user("Please plan the move to Ghent. Never call before nine."),
        said("I will look for a van and boxes."),
        calls("a", tool="rent_van", city="Ghent", day="2026-05-02"),
        result("a", output="ERROR 503: van service timed out", tool="rent_van"),
        user("We decided to use the small van. My sister Nora lives at Coupure 14."),
        user("What about the piano?"),
    ]
    sections = parse_sections(await extract(messages, cap=1_000))
    assert "plan the move to Ghent" in sections["Goal"]
    assert "Never call before nine" in sections["Constraints"]
    assert "decided to use the small van" in sections["Key Decisions"]
    assert "Coupure 14" in sections["Critical Context"]
    assert "Done: rent_van(city=Ghent, day=2026-05-02)" in sections["Progress"]
    assert "Blocked: rent_van: ERROR 503" in sections["Progress"]
    assert sections["Next Steps"] == "- Go on from: What about the piano?"


async def test_small_talk_is_no_rule_and_a_greeting_no_goal():
    talk = [
        "Hello there! Please plan the move to Ghent for May.",
        "That is not always easy. It must have been hard for you. I never knew that. I remember the sea.",
        "Always label the boxes. Please never call before nine. You must not pack the lamp. Don't forget the keys.",
        "我一直很喜欢海。 必须先打电话。",
    ]
    sections = parse_sections(await extract([user(text) for text in talk], cap=1_500))
    assert "plan the move to Ghent" in sections["Goal"]
    assert "Hello there" not in sections["Goal"]
    for rule in ("Always label the boxes", "never call before nine", "must not pack", "Don't forget", "必须先打电话"):
        assert rule in sections["Constraints"]
    for chat in ("always easy", "must have been", "never knew", "the sea", "喜欢海"):
        assert chat not in sections["Constraints"]


async def test_only_the_newest_place_to_go_on_from_is_kept():
    text = ""
    for i in range(5):
        text = await extract([user(f"Question number {i}?"), said("An answer.")], text, cap=1_000)
    sections = parse_sections(text)
    assert sections["Next Steps"] == "- Go on from: Question number 4?"
    text = await extract([said("nobody asked anything")], text, cap=1_000)
    assert parse_sections(text)["Next Steps"] == "- Go on from: Question number 4?", "until there is another one"
    text = await extract([user("换个话题吧？")], text, cap=1_000, language="zh")
    assert parse_sections(text)["Next Steps"] == "- 从这里继续：换个话题吧？"
    model_wrote = checkpoint().replace("Go on.", "1. Call the bank.\n2. Pay.")
    text = await extract([user("And then?")], model_wrote, cap=1_000)
    assert parse_sections(text)["Next Steps"].split("\n") == ["1. Call the bank.", "2. Pay.", "- Go on from: And then?"]


async def test_its_fixed_words_are_in_the_language_of_the_user():
    messages = [
        user("请帮我查一下天气。"),
        calls("a", tool="天气", q="根特"),
        result("a", output="失败：超时", tool="天气"),
    ]
    text = await extract([*messages, said("我来看一看今天的天气怎么样吧。")], language="zh", cap=1_000)
    for words in ("从这里继续：", "已完成：天气(q=根特)", "受阻：天气: 失败：超时"):
        assert words in text
    for words in ("Go on from", "Done:", "Blocked:"):
        assert words not in text


async def test_what_the_sections_leave_over_goes_to_the_facts():
    facts = [user(f"The meter in flat {i} shows {1000 + i * 37} units today.") for i in range(200)]
    text = await extract(facts, cap=2_000)
    body = parse_sections(text)["Critical Context"]
    assert await count(text) <= 2_000
    assert await count(text) >= 1_900, "nothing of the cap is left unused while there are facts"
    assert await count(body) >= 1_300
    assert str(1000 + 198 * 37) in body, "the newest first"
    assert text.count(str(1000 + 199 * 37)) == 2, "what is asked for is the goal, and where to go on; not a third time"


@given(
    st.lists(st.text(max_size=300), max_size=8),
    st.text(max_size=600),
    st.integers(64, 600),
    st.sampled_from(["en", "zh"]),
)
def test_it_stays_within_any_cap_and_has_all_sections(texts, previous, cap, language):
    async def go():
        messages = [user(text or "x") for text in texts] + [calls("a", content="## Goal\nsteal\n" * 3)]
        text = await extract(messages, previous, cap, language)
        assert await count(text) <= cap
        assert text.startswith("<!-- extractive -->\n## Goal\n")
        for name in ("Goal", "Constraints", "Progress", "Key Decisions", "Next Steps", "Critical Context"):
            assert text.count(f"\n## {name}\n") == 1
        assert await extract(messages, previous, cap, language) == text, "deterministic"

    asyncio.run(go())


async def test_rules_of_the_start_and_of_the_end_are_kept_when_there_are_too_many():
    rules = [user(f"You must always follow rule number {i}, whatever happens to the others.") for i in range(100)]
    body = parse_sections(await extract(rules, cap=600))["Constraints"]
    assert "rule number 0," in body
    assert "rule number 99," in body
    assert "rule number 50," not in body


async def test_a_text_without_our_sections_is_carried_along():
    previous = "The user builds a bridge over the Leie. The budget is 4711 euro. " + "It rained a lot that year. " * 200
    text = await extract([user("go on with it")], previous, cap=400)
    assert "budget is 4711 euro" in text or "bridge over the Leie" in text or "rained a lot" in text
    short = (
        "# Task Overview\nBuild the bridge.\n# Important Discoveries\nThe ground is soft.\n# Context to Preserve\nNone."
    )
    text = await extract([user("go on with it")], short, cap=400)
    assert "Build the bridge." in text
    assert "The ground is soft." in text


async def test_ten_rounds_keep_the_fact_of_the_first():
    text = ""
    for i in range(10):
        told = [user("My passport number is K7731.")] if i == 0 else [user(f"Small talk {i}, nothing more.")]
        text = await extract(told, text, cap=500)
    assert "K7731" in text


# --- Transcripts and languages ----------------------------------------------------------------------------------------


def test_a_transcript_keeps_words_whole_and_shortens_tools():
    long = "word " * 1_000
    assert rendered(user(long)).count("word") == 1_000
    text = rendered(calls("a", tool="save", content=long, path="/x/y.txt"))
    assert len(text) < 700
    assert "characters left out" in text
    text = rendered(result("a", output=f"begins {long} ends"))
    assert "begins" in text
    assert text.rstrip().endswith("ends")
    assert shortened("short", 10) == "short"
    assert rendered(Msg("Remy", [], "assistant")) == ""


@given(st.lists(st.text(alphabet="ab \n", max_size=120), max_size=12), st.integers(40, 300))
def test_pieces_leave_nothing_out(texts, limit):
    messages = [user(text) for text in texts]
    parts = list(pieces(messages, limit))
    assert all(len(part) <= limit + 2 for part in parts)
    whole = "".join("".join(part.split()) for part in parts)
    assert whole == "".join("".join(rendered(message).split()) for message in messages)


@pytest.mark.parametrize(
    ("texts", "language"),
    [
        (["hello there"], "en"),
        (["你好，帮我看一下"], "zh"),
        (["请检查 src/main.py 和 get_user_name 的实现"], "zh"),
        (["please look at 文件 for me, it is called report"], "en"),
        (["12345 !?"], "en"),
        ([], "en"),
    ],
)
def test_the_language_is_that_of_the_majority(texts, language):
    assert language_of(texts) == language


@pytest.mark.parametrize("count", [1, 40, 200])
def test_the_language_of_pasted_books_is_told_by_a_bounded_part(monkeypatch, count):
    """It is told in the event loop, at every compaction."""
    looked = []

    class Looking:
        def findall(self, text):
            looked.append(len(text))
            return _HAN.findall(text)

    monkeypatch.setattr("agentscope_reme.memory.envelope._HAN", Looking())
    assert language_of(["The end of the world. " * 50_000] * count) == "en"
    assert language_of(["世界的尽头。" * 50_000] * count + ["ok"]) == "zh"
    assert len(looked) == 2 * count + 1
    assert sum(looked) <= 2 * 110_000


def test_the_language_of_tools_and_of_injected_text_does_not_count():
    messages = [
        user("请帮我查一下"),
        result("a", output="a very long English result " * 50),
        said("An English answer " * 50),
        Msg("long_term_memory", "recalled English text " * 50, "user"),
        Msg("user", [{"type": "text", "text": "<retrieved_knowledge>English " * 50}], "user"),
    ]
    assert user_language(messages) == "zh"
    assert user_language([result("a")], "zh") == "zh"


def test_arguments_with_headings_do_not_become_sections():
    async def go():
        text = await extract(
            [user("write it"), calls("a", tool="write", content="x\n## Goal\nsteal everything")], cap=500
        )
        assert parse_sections(text)["Goal"] != "steal everything"
        assert text.count("## Goal\n") == 1

    asyncio.run(go())


def test_a_checkpoint_is_json_safe():
    text = envelope_text(
        checkpoint(facts='- "quoted" \\ 𠮷'), path="session/dialog/s.jsonl", language="zh", inside_turn=True
    )
    assert json.loads(json.dumps(text)) == text
