"""A search does not find its own echo: recalled text in journals, and notes that only copy."""

import json
import re

import pytest

from agentscope_reme.index.asking import asks, is_idle, only_asks, states_nothing
from agentscope_reme.index.chunker import read_document
from agentscope_reme.index.entries import ASKS, REPEATS
from agentscope_reme.index.reading import read_entries
from agentscope_reme.index.recalled import quotes_vault, statement_digest
from agentscope_reme.index.tokenizer import Tokenizer
from agentscope_reme.models import NotePage, SearchHit, SearchResult
from agentscope_reme.quoting import page_text, search_text

JOURNAL = "session/dialog/s1.jsonl"


def line(content, role="user", name=None):
    message = {"id": "m", "role": role, "name": name or role, "content": content, "timestamp": "2026-03-02 10:00:00"}
    return json.dumps({"id": "m", "seq": 1, "msg": message, "marks": []}, ensure_ascii=False)


def call(name, text="", **arguments):
    content = [{"type": "text", "text": text}] if text else []
    return line([*content, {"type": "tool_use", "id": "c1", "name": name, "input": arguments}], "assistant", "Remy")


def result(name, output):
    output = [{"type": "text", "text": output}] if isinstance(output, str) else output
    return line([{"type": "tool_result", "id": "c1", "name": name, "output": output}], "system")


def turns(*lines):
    return [unit.text for unit in read_document(JOURNAL, "\n".join(lines) + "\n").units]


def flags(path, text):
    """The flags of a file's units, each behind the unit's first words."""
    _, units = read_entries(path, text.encode(), Tokenizer())
    shown = [unit.text for unit in read_document(path, text).units]
    return dict(zip(shown, (unit.flags for unit in units), strict=True))


HIT = SearchHit(path="daily/2026-03-01/oven.md", start_line=3, end_line=4, text="The oven is from Hansen.", score=0.5)
FOUND = search_text(SearchResult("ok", (HIT,)))
NOTHING = search_text(SearchResult("none", (), "nothing shares a word with the query"))
PAGE = page_text(NotePage("digest/oven.md", "The oven is from Hansen.", 1, 1, 9, 900, "ab12", next_line=2))


# --- Calls and results of the memory's own tools ----------------------------------------------------------------------


@pytest.mark.parametrize("prefix", ["", "memory_", "vault-", "my.vault."])
@pytest.mark.parametrize("suffix", ["", "_x7Kq2"])
@pytest.mark.parametrize(
    ("name", "arguments", "output"),
    [
        ("memory_search", {"query": "Where is the oven from?", "max_results": 5}, FOUND),
        ("memory_search", {"query": "Where is the oven from?"}, NOTHING),
        (
            "memory_search",
            {"query": ["odd"], "limit": "many"},
            "Error: TypeError: odd. Nothing was changed by this call.",
        ),
        ("read", {"path": "digest/oven.md"}, PAGE),
        ("read", {"path": "session/tool_result/0123456789abcdef.txt", "start_line": 40}, PAGE),
        ("list", {}, "daily/\nMEMORY.md (120 bytes)\nand 7 more; list a folder below"),
        ("list", {"path": "daily", "recursive": True}, "Nothing is there."),
    ],
)
def test_what_the_reading_tools_were_asked_and_answered_is_not_found_again(prefix, suffix, name, arguments, output):
    tool = f"{prefix}{name}{suffix}"
    assert turns(call(tool, **arguments), result(tool, output)) == []


def test_text_beside_a_call_stays():
    assert turns(call("memory_search", "Let me look.", query="oven")) == ["Let me look."]


@pytest.mark.parametrize(
    ("name", "arguments", "told"),
    [
        ("write", {"path": "digest/oven.md", "content": "The oven is from Hansen."}, 'write("path": "digest/oven.md")'),
        ("edit", {"path": "MEMORY.md", "old": "tea", "new": "coffee"}, 'edit("path": "MEMORY.md")'),
        ("memory_append", {"content": "The oven is from Hansen."}, "memory_append()"),
    ],
)
def test_of_a_note_that_was_written_the_journal_tells_only_where(name, arguments, told):
    done = result(name, "Created digest/oven.md (version 0a1b2c).")
    assert turns(call(name, **arguments), done) == [told]


@pytest.mark.parametrize(
    ("name", "arguments", "output"),
    [
        ("read", {"path": "/etc/oven.conf"}, "heat = 230"),
        ("read", {"path": "src/oven.py"}, "def heat(): ..."),
        ("read", {"path": "notes.md", "encoding": "utf-8"}, "The oven is from Hansen."),
        ("read", {"url": "https://example.com/oven"}, "An oven for sale"),
        ("write", {"path": "C:\\oven.md", "content": "hot"}, "ok"),
        ("list", {"path": "/srv"}, "oven.conf\nbread.conf"),
        ("spread", {"path": "digest/oven.md"}, "butter"),
        ("read_file", {"path": "digest/oven.md"}, "The oven is from Hansen."),
        ("search", {"query": "oven"}, "three shops sell ovens"),
        ("edit", {"path": "oven.md", "instruction": "hotter"}, "Changed."),
    ],
)
def test_tools_of_others_stay_also_under_the_same_names(name, arguments, output):
    told, said = turns(call(name, **arguments), result(name, output))
    assert told.startswith(f"{name}(")
    assert said == output
    assert all(str(value).replace("\\", "\\\\") in told for value in arguments.values())


def test_results_are_known_by_their_fences_whatever_the_tool_is_called():
    assert turns(result("ask_the_archive", FOUND)) == []
    assert turns(result("", PAGE)) == []
    assert turns(result("helper_agent", f"The helper says: from Bergen.\n{FOUND}")) == ["The helper says: from Bergen."]


@pytest.mark.parametrize("cut", [120, 200, len(FOUND) - 3])
def test_a_result_that_was_cut_short_is_still_known(cut):
    assert turns(result("vaultread", FOUND[:cut] + "\n[90 of 900 characters left out here]")) == []
    stored = {"$file": "session/tool_result/0123456789abcdef.txt", "as": "text", "size": 9000, "preview": FOUND[:cut]}
    assert turns(result("memory_search", [{"type": "text", "text": stored}])) == []
    assert turns(result("memory_search", stored)) == []


def test_passages_copied_into_an_answer_are_left_out_and_the_answer_is_not():
    answer = f"It is from Hansen.\n{FOUND}\nShall I call them?"
    (said,) = turns(line([{"type": "text", "text": answer}], "assistant", "Remy"))
    assert "It is from Hansen." in said
    assert "Shall I call them?" in said
    assert "recalled-memory" not in said
    assert turns(line(answer, "assistant")) == turns(line([{"type": "text", "text": answer}], "assistant"))


def test_a_talk_about_the_fences_is_no_recall():
    said = "Why does <recalled-memory> have a source, and <vault-file a path?"
    assert turns(line(said)) == [said]


def test_a_turn_is_read_alike_alone_and_in_its_journal():
    """A search reads one line again, and new lines are indexed as they come."""
    lines = [
        line("Where is the oven from?"),
        call("memory_search", "Let me look.", query="oven"),
        result("memory_search", FOUND),
        line("From Hansen [daily/2026-03-01/oven.md:3-4]", "assistant", "Remy"),
        call("read", path="src/oven.py"),
    ]
    assert turns(*lines) == [text for one in lines for text in turns(one)]
    whole = flags(JOURNAL, "\n".join(lines) + "\n")
    assert whole == {text: flag for one in lines for text, flag in flags(JOURNAL, one + "\n").items()}


# --- Questions --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "Who takes the night shift at the bakery?",
        "what did we order",
        "when does the night shift start",
        "Hey Mel! How have you been?",
        "Good morning! What did we decide yesterday?",
        "In Oslo, where do we buy ovens?",
        "The oven, when was it ordered?",
        "Can you tell me when Lin moved to Oslo?",
        "What's my sister's name? And where does she live?",
        "Tell me what Lin said about ovens.",
        "Remind me what we decided",
        "烤箱的保修期是几年？",
        "烤箱的保修期是几年",
        "关于烤箱，保修期是几年？",
        "请问林师傅什么时候上班？",
        "谁值夜班",
        "告诉我烤箱的保修期",
        "你好，请问保修期多久？😀",
    ],
)
def test_a_bare_question_is_told_from_a_statement(text):
    assert only_asks(text)
    assert flags(JOURNAL, line(text) + "\n")[text] & ASKS


@pytest.mark.parametrize(
    "text",
    [
        "Lin takes the night shift",
        "When I lived in Oslo, I worked at the harbour.",
        "What a nice day.",
        "Which is why we chose the blue one.",
        "Will called me.",
        "Do not touch the oven.",
        "I really don't like coriander. What do you suggest?",
        "I moved to Oslo, can you find me a bakery?",
        "We decided on Postgres, right?",
        "Can you book a table for Ann's birthday on May 3?",
        "Could you remember that I am away on Friday?",
        "Remind me to call Lin at 5",
        "我不喜欢香菜，有什么推荐吗？",
        "林师傅上周请了病假，谁来顶班？",
        "我忘了密码是什么",
        "无论谁来都行",
        "我知道你喜欢猫",
        "https://example.com/?",
    ],
)
def test_what_may_be_a_statement_is_one(text):
    assert not states_nothing(text) or text.startswith("http")
    assert text.startswith("http") or not flags(JOURNAL, line(text) + "\n")[text] & ASKS


@pytest.mark.parametrize(
    "text", ["Good morning, Remy!", "Thanks Mel!", "你好，小李", "早上好，朋友。", "好的，谢谢", "Noted."]
)
def test_small_talk_states_nothing_and_asks_nothing(text):
    assert is_idle(text)
    assert states_nothing(text)
    assert not only_asks(text)


@pytest.mark.parametrize("text", ["Hi, I'm Bob", "你好，我叫李明", "Thanks to Ann we won", "no, 15"])
def test_a_greeting_does_not_hide_what_follows(text):
    assert not states_nothing(text)


def test_a_long_text_that_ends_in_a_question_is_no_question():
    assert not states_nothing("Is it? " * 200)
    assert not asks("I have a bakery, a mill, and an oven from Hansen in Bergen, and you?")


def test_questions_are_told_from_statements_in_notes_nowhere():
    """A note that holds a question holds it because somebody wrote it down."""
    assert flags("digest/open.md", "Who takes the night shift?\n") == {"Who takes the night shift?": 0}


# --- Quotations -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "The memory vault says:\n“user: Lin takes the night shift from Monday on.” [session/dialog/s1.jsonl:3-3]",
        "记忆库里写着：\n“林师傅说烤箱的保修期是三年。” [session/dialog/s1.jsonl:5-13]",
        "Lin does (daily/2026-03-01/bakery.md:3-5).",
        "根据 daily/2026-03-01/面包房.md:3-5，林师傅值夜班。",
        "See MEMORY.md:2-2.",
    ],
)
def test_an_answer_that_mostly_quotes_the_vault_is_known(text):
    assert quotes_vault(text)
    assert flags(JOURNAL, line(text, "assistant") + "\n")[text] & REPEATS


@pytest.mark.parametrize(
    "text",
    [
        "Lin takes the night shift.",
        "“Never again”, said Lin.",
        "The fault is in src/oven.py:42, where the heat is read twice.",
        "At 10:30-11:00 we meet. The file is README.md.",
        "I checked it (daily/2026-03-01/bakery.md:3-5). Since then Lin has moved to Bergen, the oven was sold, and "
        "the night shift belongs to Ann, who starts at ten on the first of May.",
    ],
)
def test_an_answer_of_its_own_is_no_quotation(text):
    assert not quotes_vault(text)


# --- Notes that copy --------------------------------------------------------------------------------------------------

CARD = """---
name: The bakery
generator: {generator}
---
Mine: user: Lin takes the night shift

<!-- reme:begin statements -->
## What was said

- 10:02 user: Lin takes the night shift
- 10:05 user: The oven is from Bergen
- I added this line

## Mentioned

- Names — Lin
- Dates — 2026-03-02
<!-- reme:seen {seen} -->
<!-- reme:end statements -->
"""


def card(generator="extractive@1"):
    seen = " ".join(statement_digest(words) for words in ("Lin takes the night shift", "The oven is from Voss"))
    return CARD.format(generator=generator, seen=seen)


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_a_card_without_a_model_repeats_the_journal_except_where_the_user_changed_it(newline):
    found = flags("daily/2026-03-01/bakery.md", card().replace("\n", newline))
    repeated = {text.replace("\r", "") for text, flag in found.items() if flag & REPEATS}
    assert repeated == {"- 10:02 user: Lin takes the night shift", "- Names — Lin\n- Dates — 2026-03-02"}
    assert "- 10:05 user: The oven is from Bergen" in found


def test_what_a_model_wrote_repeats_nothing_and_what_it_left_of_the_statements_does():
    by_model = re.sub(r"(reme:(?:begin|end)) statements", r"\1 memory", card("model@1"))
    assert not any(flag & REPEATS for flag in flags("daily/2026-03-01/bakery.md", by_model).values())
    left = flags("daily/2026-03-01/bakery.md", card("model@1"))
    assert left["- 10:02 user: Lin takes the night shift"] & REPEATS


def test_the_list_on_a_days_page_repeats_its_cards_and_what_the_user_wrote_there_does_not():
    text = (
        "# 2026-03-01\n\n- [[daily/2026-03-01/bakery.md]] — mine\n\n<!-- reme:begin cards -->\n"
        "- [[daily/2026-03-01/bakery.md|The bakery]] — Lin takes the night shift\n<!-- reme:end cards -->\n"
    )
    found = flags("daily/2026-03-01.md", text)
    assert [text for text, flag in found.items() if flag & REPEATS] == [
        "- [[daily/2026-03-01/bakery.md|The bakery]] — Lin takes the night shift"
    ]
    assert not any(flag & REPEATS for flag in flags("projects/list.md", text).values())


# --- Together ---------------------------------------------------------------------------------------------------------


TALK = [
    ("When does the night shift at the bakery start, and who takes it?",
     "Lin said on the phone that from Monday on she takes over the night shift, which starts at ten."),
    ("烤箱的保修期是几年？保修期从哪天算起？", "林师傅今天送来了新烤箱，他说烤箱保修三年，从三月一号算起。"),
]  # fmt: skip


@pytest.mark.parametrize(("question", "source"), TALK)
async def test_asking_again_and_again_keeps_the_source_first(put, open_index, question, source):
    about = ["Good morning!", "The walls are yellow.", source, "The flour comes from Voss.", "面粉是从沃斯来的。"]
    put("session/dialog/s0.jsonl", "\n".join(map(line, about)) + "\n")
    index = open_index()
    for number in range(1, 6):
        found = await index.search(question, limit=5)
        hit = found.hits[0]
        assert hit.path == "session/dialog/s0.jsonl"
        assert source in hit.text
        lines = [
            line(question),
            call("memory_search", query=question),
            result("memory_search", search_text(found)),
            line(f"“{source}” [{hit.path}:{hit.start_line}-{hit.end_line}]", "assistant", "Remy"),
            line("thanks!"),
        ]
        put(f"session/dialog/s{number}.jsonl", "\n".join(lines) + "\n")
        await index.sync()
    found = await index.search(question, limit=20)
    assert {hit.path for hit in found.hits} > {"session/dialog/s0.jsonl"}
    assert not any(re.search("recalled-memory|memory_search", hit.text) for hit in found.hits)
