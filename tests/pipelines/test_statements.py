"""Which statements a card keeps, how it prints them, and that they can be read back."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentscope_reme.index.asking import is_idle
from agentscope_reme.pipelines.evidence import Said
from agentscope_reme.pipelines.facts import identifiers_of, kind_of, names_of
from agentscope_reme.pipelines.naming import title_of
from agentscope_reme.pipelines.statements import (
    MAX_CHARS,
    MAX_PIECES,
    MAX_STATEMENTS,
    Statement,
    chosen,
    dates_in,
    read_statements,
    render_statements,
    statements_of,
)

DAY = "2023-05-24"


def words_of(*texts: str) -> list[str]:
    return [one.words for one in statements_of(Said(text, "user", DAY, "10:00") for text in texts)]


# --- Kinds and facts --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("We decided to use PostgreSQL", "decision"),
        ("we've finally agreed on the blue one", "decision"),
        ("Let's go with option B", "decision"),
        ("决定用方案二", "decision"),
        ("那就改用 Svelte 吧", "decision"),
        ("I prefer dark mode", "preference"),
        ("My favourite tea is oolong", "preference"),
        ("I really don't like coriander. What do you suggest?", "preference"),
        ("我不喜欢香菜，有什么推荐吗？", "preference"),
        ("Never feed the dog nuts", "preference"),
        ("Always use pnpm", "preference"),
        ("Paris! Never had a chance to visit it.", "other"),
        ("Never mind, it works now", "other"),
        ("以后都用中文回答", "preference"),
        ("Remember that my flight is at 9", "remember"),
        ("Could you remember that I am away on Friday?", "remember"),
        ("记住：周五不在", "remember"),
        ("别忘了交水电费", "remember"),
        ("Did we decide to use PostgreSQL?", "other"),
        ("你喜欢红色吗？", "other"),
        ("The meeting went well", "other"),
        ("She looks like her mother", "other"),
        ("今天开会了", "other"),
    ],
)
def test_decisions_preferences_and_things_to_remember_are_recognised(text: str, kind: str) -> None:
    assert kind_of(text) == kind


@pytest.mark.parametrize(
    "text",
    ["hi", "Hello!", "thanks a lot", "OK, thanks", "好的，谢谢", "嗯嗯", "哈哈哈", "收到！", "go on", "...", "👍", "？",
     "", "/compact", "/new now", "好的 谢谢 再见"],
)  # fmt: skip
def test_small_talk_and_commands_are_no_statements(text: str) -> None:
    assert is_idle(text)
    assert words_of(text, "I live in Oslo") == ["I live in Oslo"]


@pytest.mark.parametrize(
    "text", ["no, 15", "OK so the port is 8443", "谢谢，密码是 1234", "/etc/hosts is wrong", "Hi, I'm Bob"]
)
def test_a_polite_word_does_not_hide_a_fact(text: str) -> None:
    assert words_of(text) == [text]


@pytest.mark.parametrize(
    "text",
    [
        "Where is the oven from?",
        "what can you do",
        "Hey! How was the trip to Voss?",
        "Did we decide to use PostgreSQL?",
        "烤箱的保修期是几年？",
        "你喜欢红色吗",
        "Can you tell me who Ann is?",
        "告诉我烤箱的保修期",
    ],
)
def test_a_bare_question_is_no_statement(text: str) -> None:
    assert words_of(text, "I live in Oslo") == ["I live in Oslo"]
    assert words_of(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "Could you remember that I am away on Friday?",
        "I moved to Oslo, can you find me a bakery?",
        "Can you book a table for Ann's birthday on May 3?",
        "我不喜欢香菜，有什么推荐吗？",
        "We decided on Postgres, right?",
    ],
)
def test_a_question_that_tells_something_is_a_statement(text: str) -> None:
    assert words_of(text) == [text]


REQUESTS = [
    "Please run `compare_quotes` for insurance.",
    "Run compare_quotes again",
    "Can you call get_weather for Oslo?",
    "Now use the weather tool for Oslo",
    "Please list the files in the vault",
    "请运行 `list_files`",
    "再调用一次天气工具",
]


@pytest.mark.parametrize("text", REQUESTS)
def test_a_request_to_run_a_tool_is_kept_only_where_there_is_nothing_else(text: str) -> None:
    alone = statements_of([Said(text, "user", DAY, "10:00")])
    fact = statements_of([Said("I live in Oslo", "user", DAY, "10:01")])
    assert chosen([*alone, *fact]) == chosen([*fact, *alone]) == fact
    assert chosen(alone) == alone


@pytest.mark.parametrize(
    "text",
    [
        "Run `make test` before each commit.",
        "Use pnpm instead of npm",
        "Call Lin at 5",
        "Run 5 km with Ann on Sundays",
        "Start the night shift at ten",
        "以后都用天气工具查天气",
        "I run compare_quotes every morning. It costs 3 euros.",
    ],
)
def test_what_reads_like_a_request_and_tells_more_is_a_statement(text: str) -> None:
    kept = chosen(statements_of(Said(one, "user", DAY, "10:00") for one in (text, "I live in Oslo")))
    assert text in {one.words for one in kept}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("昨天和小王开会", ["小王"]),
        ("我叫李明，住在苏州", ["李明"]),
        ("王老师和张经理来了", ["王老师", "张经理"]),
        ("欧阳老师和裘经理来了", ["欧阳老师", "裘经理"]),
        ("车间主任和单位经理来了", []),
        ("在看《何以笙箫默》", ["何以笙箫默"]),
        ("小时候的小区", []),
        ("小米和元宝都用 Orion-X", ["Orion-X"]),
        ("My name is Bob Lee. We met Alice in New York.", ["Bob Lee", "Alice", "New York"]),
        ("Today The Meeting was fine. It rained. On Monday I left.", ["Meeting"]),
        ("iPhone", []),
        ("GPT-4 is slower than LLaMA", ["GPT-4", "LLaMA"]),
        ("see https://Example.com/Foo-Bar", []),
        ("we saw ERROR E_CONN_42 in C:\\Users\\ann\\Notes and Foo_bar", ["ERROR"]),
    ],
)
def test_names_are_recognised_by_rules(text: str, names: list[str]) -> None:
    assert list(names_of(text)) == names


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (
            "见 https://example.com/a?b=1。配置在/etc/orion/app.yaml，",
            ["https://example.com/a?b=1", "/etc/orion/app.yaml"],
        ),
        ("mail a.b@example.com, ticket ABC-123 at 9f3b2c1d", ["a.b@example.com", "ABC-123", "9f3b2c1d"]),
        ("edit src/app/main.py and setup.cfg, ~/x/y", ["src/app/main.py", "~/x/y"]),
        ("C:\\agent\\x 和 v1.2.3", ["C:\\agent\\x", "v1.2.3"]),
        ("预算 3000 元，涨了 12%，$1,250.50", ["3000", "$1,250.50"]),
        ("2023-05-24 10:02 和 2023年5月", []),
        ("分类：现在做/在做/要做，年总结/月总结", []),
        ("数据在 /数据/目录/a，日志在/var/log/x", ["/数据/目录/a", "/var/log/x"]),
        ("[https://example.com/a](https://example.com/b)", ["https://example.com/a", "https://example.com/b"]),
        ("E_CONN_42 and PROJ-ABC-7, not MAX_SIZE", ["E_CONN_42", "PROJ-ABC-7"]),
        ("and/or 1/2 a 5 b", []),
        ("(https://example.com/x)", ["https://example.com/x"]),
    ],
)
def test_paths_addresses_ids_and_numbers_are_recognised(text: str, found: list[str]) -> None:
    assert list(identifiers_of(text)) == found


# --- The choice -------------------------------------------------------------------------------------------------------


def test_with_too_many_statements_the_ones_with_facts_are_kept_in_order() -> None:
    facts = [
        "我们决定改用 Orion-X",
        "记住：钥匙在 302 室",
        "I prefer tea",
        "My sister is called Ann",
        "路由器密码是 88231",
    ]
    chat = [f"the weather was rather nice again, wasn't it, day {'x' * i}" for i in range(60)]
    said = [*chat[:30], *facts[:3], *chat[30:], *facts[3:]]
    kept = chosen(statements_of(Said(text, "user", DAY, f"{i // 60:02}:{i % 60:02}") for i, text in enumerate(said)))
    assert len(kept) == MAX_STATEMENTS
    assert set(facts) <= {one.words for one in kept}
    rest = [one.time for one in kept if kind_of(one.words) == "other"]
    assert rest == sorted(rest)


def test_a_pasted_log_does_not_fill_the_card() -> None:
    log = "\n".join(f"2023-05-24 10:02:{i:02} ERROR code {i} in /var/log/app-{i}.log" for i in range(200))
    kept = chosen(statements_of([Said(log, "user", DAY, "10:00"), Said("I prefer tea", "user", DAY, "10:01")]))
    assert len(kept) <= MAX_PIECES + 1
    assert "I prefer tea" in {one.words for one in kept}


def test_pasted_code_is_left_out_and_the_words_around_it_are_not() -> None:
    assert words_of("The port is 8443:\n```py\nx = 1\nif x:\n    y()\n```\nremember that") == [
        "The port is 8443: remember that"
    ]


def test_a_repeated_statement_is_kept_once() -> None:
    assert (
        len(chosen(statements_of([Said("我住在苏州", "user", DAY, "10:00"), Said("我住在苏州", "user", DAY, "11:00")])))
        == 1
    )


@given(st.text(string.printable + "，。！？中文字😀", max_size=2000))
def test_statements_are_pieces_of_what_was_said(text: str) -> None:
    said = " ".join(text.split()).replace("<!--", "&lt;!--")
    for words in words_of(text):
        assert len(words) <= MAX_CHARS + text.count("<!--") * 4
        assert "".join(words.split()) in "".join(said.split()) or "```" in text or "~~~" in text or "\x0b" in text
        assert "\n" not in words


def test_a_long_message_is_cut_between_sentences_and_words() -> None:
    sentence = "第{}点：我们决定把服务器的端口改成八千四百四十三，并且通知所有人。"
    pieces = words_of("".join(sentence.format(i) for i in range(30)))
    assert len(pieces) > 1
    assert all(len(piece) <= MAX_CHARS and piece.endswith("。") and piece.startswith("第") for piece in pieces)
    english = words_of("I prefer " + "very long words indeed " * 40)
    assert all(set(piece.split()) <= {"I", "prefer", "very", "long", "words", "indeed"} for piece in english)
    assert max(map(len, words_of("我喜欢" + "长" * 900))) == MAX_CHARS


# --- Printing and reading back ----------------------------------------------------------------------------------------

speakers = st.text("abcXYZ小王 .-", min_size=1, max_size=10).map(str.strip).filter(bool)
word_texts = (
    st.text(
        string.ascii_letters + string.digits + " .,:;()=-[]#*_`'\"<>/!?决定我喜欢记住昨天明天，。",
        min_size=1,
        max_size=60,
    )
    .map(lambda text: " ".join(text.split()))
    .filter(bool)
)
statements = st.builds(
    Statement,
    words=word_texts,
    speaker=speakers,
    day=st.just(""),
    time=st.just(""),
) | st.builds(
    Statement,
    words=word_texts,
    speaker=speakers,
    day=st.sampled_from(["2023-05-23", DAY]),
    time=st.sampled_from(["", "09:59", "10:02", "23:00"]),
)


@given(st.lists(statements, max_size=12), st.sampled_from(["en", "zh"]))
def test_a_printed_card_reads_back(given_statements: list[Statement], language: str) -> None:
    kept = chosen(given_statements)
    text = render_statements(kept, DAY, language)
    found = read_statements(text, DAY)
    assert (found.statements, found.foreign, found.language) == (kept, [], language if kept else None)
    assert render_statements(chosen(found.statements), DAY, language) == text


def test_cards_with_colons_behind_their_lists_are_read() -> None:
    """As they were written before: "- Names: Ann" reads like a speaker when it is searched."""
    text = render_statements([Statement("I met Ann in Oslo on 2023-05-20", "user", DAY, "10:00")], DAY, "en")
    assert "- Names — Ann, Oslo\n- Dates — 2023-05-20" in text
    for one in (text, text.replace(" — ", ": ")):
        assert read_statements(one, DAY).foreign == []


def test_a_card_remembers_a_bounded_number_of_statements() -> None:
    seen = [f"{number:08x}" for number in range(1000)]
    assert read_statements(render_statements([], DAY, "en", seen), DAY).seen == tuple(seen[-300:])


@given(st.lists(statements, max_size=50), st.lists(statements, max_size=50))
def test_merging_cards_loses_nothing_that_one_card_would_keep(first: list[Statement], second: list[Statement]) -> None:
    whole = {one.words for one in chosen([*first, *second])}
    merged = chosen([*chosen(first), *chosen(second)])
    assert {one.words for one in merged} == whole
    assert chosen([*merged, *second]) == merged


def test_lines_of_the_user_inside_a_card_are_told_apart() -> None:
    text = render_statements([Statement("I prefer tea", "user", DAY, "10:00")], DAY, "en")
    found = read_statements(text + "\nmine\n- a list of mine\n## My heading", DAY)
    assert [one.words for one in found.statements] == ["I prefer tea"]
    assert found.foreign == ["mine", "- a list of mine", "## My heading"]


def test_days_are_listed_and_long_spans_are_not() -> None:
    texts = ["昨天见面 (昨天 = 2023-05-23)", "on May 3, 2024", "last year (last year = 2022)", "in May 2023"]
    assert dates_in(Statement(text, "user") for text in texts) == ["2023-05-23", "2024-05-03"]
    week = Statement("a picnic last week (last week = 2023-06-26–2023-07-02)", "user")
    assert dates_in([week]) == ["2023-06-26–2023-07-02"], "nobody named its first day"


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("我们决定改用 Orion-X，放弃 Svelte。", "我们决定改用 Orion-X"),
        ("昨天和小王开会，下周三交付", "和小王开会"),
        ("Hi, AI companion. I like sci-fi movies a lot.", "I like sci-fi movies a lot"),
        ("123", "123"),
    ],
)
def test_a_title_is_a_telling_clause_without_relative_dates(text: str, title: str) -> None:
    assert title_of([Statement(text, "user")]).rstrip(".") == title
