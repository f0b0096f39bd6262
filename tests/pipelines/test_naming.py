"""What cards are called: by their topic, in a few whole words."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentscope_reme.pipelines.evidence import Said
from agentscope_reme.pipelines.naming import MAX_NAME, NAME_BYTES, description_of, is_telling, shortened, title_of
from agentscope_reme.pipelines.statements import Statement, chosen, statements_of
from agentscope_reme.vault.daily import NAME_BYTES as FILE_NAME_BYTES
from agentscope_reme.vault.layout import slug

DAY = "2023-05-24"


def named(*texts: str, day: str = DAY) -> str:
    said = [Said(text, "user", day, f"10:{at:02}", date.fromisoformat(DAY)) for at, text in enumerate(texts)]
    return title_of(chosen(statements_of(said)))


@pytest.mark.parametrize(
    ("texts", "name"),
    [
        (["Good morning!", "I moved to Oslo with Ann.", "good"], "I moved to Oslo with Ann"),
        (["Hi Remy!", "The weather is nice.", "Hansen in Bergen delivers the oven on May 3."],
         "Hansen in Bergen delivers the oven on May 3"),
        (["Thanks, that sounds great!", "My sister works at the harbour."], "My sister works at the harbour"),
        (["Parking: level 3 of the garage in Storgata"], "level 3 of the garage in Storgata"),
        (["turn 0: We met Ann in Oslo."], "We met Ann in Oslo"),
        (["Remember: the key lies at Lin's place"], "the key lies at Lin's place"),
        (["I like trains. [shares a picture: a photo of a very long train with Ann]"], "I like trains"),
        (["你好，我叫张志强，很高兴认识你。", "最近我在学习射击。"], "我叫张志强"),
        (["这些建议非常实用，我很感激。", "下周我们去云台山旅行。"], "我们去云台山旅行"),
        (["今天我学会了做一道新菜，叫做回锅肉，味道很好。"], "我学会了做一道新菜，叫做回锅肉"),
        (["昨天我看了一部电影，《银河补习班》。"], "我看了一部电影，《银河补习班》"),
        (["但是我在这个周末要去苏州。"], "我要去苏州"),
        (["你好，朋友。今天想跟你聊聊我的健身计划。", "我觉得不错。"], "想跟你聊聊我的健身计划"),
    ],
)  # fmt: skip
def test_a_card_is_called_by_what_was_said_about_its_topic(texts: list[str], name: str) -> None:
    assert named(*texts) == name


def test_the_clause_whose_words_come_back_names_the_card() -> None:
    said = [
        "I walked home late.",
        "The new oven bakes well.",
        "Rye bread from the oven sells.",
        "An oven needs a flue.",
    ]
    assert "oven" in named(*said)


@pytest.mark.parametrize("texts", [["Parking"], ["turn-0"], ["good", "It's good"], ["停车"], ["42"], ["Good. Fine."]])
def test_one_word_is_no_name(texts: list[str]) -> None:
    name = named(*texts)
    assert not is_telling(name.partition(" (")[0])
    assert name.endswith(f" ({DAY})")
    assert slug(name) not in ("parking", "turn-0", "good", "untitled")


def test_short_statements_name_a_card_together() -> None:
    assert named("turn-0", "turn-1", "turn-2") == "turn-0, turn-1, turn-2"
    assert named("停车", "三楼") == "停车，三楼"


def test_without_a_day_a_short_statement_is_the_name() -> None:
    assert title_of([Statement("123", "user")]) == "123"
    assert title_of([]) == ""


def test_names_are_cut_between_words_and_fit_a_file_name() -> None:
    english = named(
        "I decided to order the second oven from Hansen in Bergen as soon as the money from Voss has arrived"
    )
    assert english.endswith("…")
    assert len(english) <= MAX_NAME
    assert "I decided to order the second oven from Hansen in Bergen as soon".startswith(english[:-1])
    assert english[:-1].split()[-1] in ("Bergen", "as", "in", "Hansen")
    assert NAME_BYTES <= FILE_NAME_BYTES


@pytest.mark.parametrize(
    "marked",
    [
        "我们在会议室讨论了关于新产品发布会的时间安排|以及嘉宾邀请名单和场地布置方案",
        "这个电影主要讲述了一个失业家庭父亲克里斯·加纳|为了生存和养育儿子而奋斗的故事",
        "把服务器从Debian十一升级到十二以后我们再|把数据库迁移到PostgreSQL十六",
        "他最近在看一本叫做|《百年孤独与其他几个很长很长的故事》的书",
    ],
)  # fmt: skip
def test_chinese_names_are_cut_between_phrases(marked: str) -> None:
    kept = marked.partition("|")[0] + "…"
    assert shortened(marked.replace("|", ""), MAX_NAME, NAME_BYTES) == kept
    assert slug(kept, NAME_BYTES) == slug(kept, 10_000)


@given(st.text("abc XYZ，。中文的了和《》-—…é😀 ", max_size=150), st.integers(2, 60))
def test_what_is_shortened_fits_and_is_a_beginning(text: str, most: int) -> None:
    short = shortened(text, most, NAME_BYTES)
    assert len(short) <= most
    assert len(short.encode()) <= NAME_BYTES
    assert short == text or (short.endswith("…") and text.startswith(short[:-1]))


def test_a_name_does_not_depend_on_the_order_in_which_statements_came() -> None:
    said = ["I moved to Oslo.", "I work at the harbour.", "My boat is red.", "Ann visits in May.", "我住在苏州"]
    statements = statements_of(Said(text, "user", DAY, "10:00") for text in said)
    assert len({title_of(statements[at:] + statements[:at]) for at in range(5)}) == 1


def test_a_description_is_short_and_without_resolved_dates() -> None:
    statements = statements_of(
        [
            Said("昨天和小王开会", "user", DAY, "10:00", date.fromisoformat(DAY)),
            Said("我喜欢喝茶。" * 40, "user", DAY, "10:01"),
        ]
    )
    described = description_of(statements, "zh")
    assert len(described) <= 120
    assert "2023" not in described
