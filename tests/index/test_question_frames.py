"""What only makes a text a question is not searched for."""

import pytest

from agentscope_reme.index.question_frames import LONGEST_FRAMED, without_frame
from agentscope_reme.index.tokenizer import Tokenizer

tokenizer = Tokenizer()

CHINESE = [
    "{}是什么意思",
    "请问{}",
    "请问，{}是什么？",
    "什么是{}",
    "{}有哪些",
    "帮我查一下{}",
    "麻烦帮我找一下关于{}的笔记，谢谢",
    "告诉我{}怎么回事",
    "{}怎么用",
    "{}咋办呢",
    "我想知道{}怎么样了",
    "能不能给我介绍一下{}",
    "你能说说{}吗",
    "跟我讲讲{}呗",
    "{}的意思是什么",
    "如何{}",
    "为什么要{}",
    "你还记得{}吗？",
    "我之前记录过{}的内容吗",
    "{}和什么有关系",
    "有没有关于{}的资料",
    "{}到底是什么东西",
    "{}的主要内容是什么",
    "{}应该怎么做",
    "哪篇笔记讲{}",
    "哪里提到过{}",
    "{}讲的是什么",
    "{}是干嘛的",
    "{}在哪里出现过",
    "我写过{}没有",
    "我之前记过什么关于{}的内容",
    "{}，我当时怎么写的",
    "{}有几种",
    "{}是何时",
    "總結一下{}",
]
ENGLISH = [
    "What is {}?",
    "what does {} mean?",
    "How does {} work",
    "Tell me about {}",
    "can you find my notes about {}, please",
    "Could you please search for {}",
    "do you remember {}?",
    "what did I write about {}",
    "What have we said about {}",
    "remind me about {}",
    "show me everything on {}",
    "Is there anything about {}?",
    "where did I mention {}",
    "look up {} please",
    "I’d like to know more about {}",
    "I'm looking for {}",
    "give me a summary of {}",
    "have I ever said anything about {}?",
    "Hi, quick question: {}?",
    "explain {} to me",
    "summarize {}",
    "please list all notes on {}",
    "any details regarding {}?",
    "what's the latest on {}",
    "refresh my memory on {}",
    "which note talks about {}",
    "is {} mentioned anywhere",
]


@pytest.mark.parametrize("frame", CHINESE)
@pytest.mark.parametrize("subject", ["赌徒谬误", "番茄工作法"])
def test_a_chinese_question_is_about_its_subject(frame: str, subject: str) -> None:
    assert set(tokenizer.query(frame.format(subject)).terms) == set(tokenizer.query(subject).terms)


@pytest.mark.parametrize("frame", [*CHINESE, *ENGLISH])
def test_a_question_about_a_foreign_word_is_about_this_word(frame: str) -> None:
    assert tokenizer.query(frame.format(" Redis ")).terms == tokenizer.query("Redis").terms


@pytest.mark.parametrize("frame", ENGLISH)
def test_an_english_question_is_about_its_subject(frame: str) -> None:
    assert tokenizer.query(frame.format("violin lessons")).terms == tokenizer.query("violin lessons").terms


@pytest.mark.parametrize(
    ("query", "content"),
    [
        ("目的是什么", {"目的"}),
        ("猫怎么了", {"猫"}),
        ("钱是什么", {"钱"}),
        ("密码在哪里", {"密码"}),
        ("我以前住在哪里", {"住在"}),
        ("怎么做蛋糕", {"做蛋", "蛋糕"}),
        ("谁负责发票", {"负责", "责发", "发票"}),
        ("Docker 和 K8s 有什么区别", {"docker", "k8s", "区别"}),
        ("我最近看了谁的演唱会", {"最近", "近看", "演唱", "唱会"}),
        ("What did I say about US visas", {"US", "visa"}),
        ("what do I need for the visa", {"visa"}),
        ("tell me about 张伟的合同", {"张伟", "合同"}),
        ("请问 what is RAG", {"rag"}),
    ],
)
def test_what_is_asked_about_stays(query: str, content: set[str]) -> None:
    asked = tokenizer.query(query)
    assert set(asked.content_terms) == content


@pytest.mark.parametrize(
    "subject",
    [
        "list comprehension", "search engine", "check valve", "check in online", "write off debts", "give up smoking",
        "file for divorce", "need for speed", "help desk ticket", "think about vacation", "memory leak in worker",
        "information security policy", "say hello to Anna", "find /etc/hosts", "show databases", "why is IT slow",
        "查询优化", "说明书", "介绍信", "总结报告", "搜索引擎", "找工作", "看电影", "多少钱", "能看电影的地方",
        "请说普通话的人", "我的猫", "什么歌",
    ],
)  # fmt: skip
def test_a_subject_that_begins_like_a_question_is_none(subject: str) -> None:
    assert without_frame(subject) == subject


@pytest.mark.parametrize(
    "text",
    [
        "请问",
        "什么是",
        "怎么办",
        "谢谢",
        "是什么意思",
        "tell me more",
        "thanks",
        "what did I say",
        "notes",
        "who said no",
    ],
)
def test_a_text_that_only_asks_is_searched_for_as_it_stands(text: str) -> None:
    assert tokenizer.query(text).terms


def test_what_is_quoted_stays() -> None:
    assert "意思" in tokenizer.query("请问“是什么意思”怎么读").terms
    assert "tell" in tokenizer.query('who wrote "tell me about it"').terms
    assert without_frame("《什么是数学》讲了什么").startswith("《什么是数学》")


def test_a_long_text_is_no_question() -> None:
    text = "请问" + "赌徒谬误" * (LONGEST_FRAMED // 4)
    assert len(text) > LONGEST_FRAMED
    assert without_frame(text) == text


async def test_what_something_means_is_found_by_what_it_is(put, open_index) -> None:
    put("acid.md", "# 数据库\n\nACID：原子性、一致性、隔离性、持久性。\n")
    for number in range(12):
        put(f"note{number}.md", f"# 记录{number}\n\n这句话的意思是什么，请问谁知道？我不懂它是什么意思。\n")
    index = open_index()
    for query in ("ACID 是什么意思", "请问ACID是什么意思？", "请问 ACID 的意思是什么"):
        result = await index.search(query)
        assert [hit.path for hit in result.hits][:1] == ["acid.md"]
        assert result.status == "ok"
    assert (await index.search("是什么意思")).hits


async def test_a_polite_question_has_the_hits_of_its_subject(put, open_index) -> None:
    put("violin.md", "# Music\n\nThe violin lessons begin in May.\n")
    for number in range(12):
        put(f"note{number}.md", f"# Talk {number}\n\nCan you please search my notes? A quick question: tell me more.\n")
    index = open_index()
    plain = [(hit.path, hit.score) for hit in (await index.search("violin lessons")).hits]
    for query in ("Hi, quick question: violin lessons?", "could you please search my notes for violin lessons"):
        result = await index.search(query)
        assert [(hit.path, hit.score) for hit in result.hits] == plain
        assert result.status == "ok"


async def test_what_was_talked_about_on_a_day_asks_for_the_day(put, open_index) -> None:
    put("daily/2026-03-16.md", "# Monday\n\nNew tyres for the van.\n")
    put("daily/2026-03-17.md", "# Tuesday\n\nThe plumber comes at nine.\n")
    put("other.md", "# Other\n\nWhat we talk about when we talk about rain.\n")
    result = await open_index().search("what did we talk about yesterday?")
    assert result.hits[0].path == "daily/2026-03-17.md"
    assert result.status == "ok"
