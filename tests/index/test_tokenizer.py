"""Terms: what of two texts is the same, and what is not."""

import io
import logging
import os
import re
import subprocess
import sys
import threading
from contextlib import redirect_stderr, redirect_stdout
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentscope_reme.index.english import irregular_forms
from agentscope_reme.index.identifiers import Compound, compound_terms, split_compound
from agentscope_reme.index.tokenizer import Tokenizer, terms_with_char
from agentscope_reme.index.words import words_of

tokenizer = Tokenizer()
terms = tokenizer.terms


def shared(query: str, text: str) -> float:
    """The weight of a question's terms that stand in a text."""
    asked, have = tokenizer.query(query), set(terms(text))
    return sum(weight for term, weight in zip(asked.terms, asked.weights, strict=True) if term in have)


# --- English ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("running", "runs"),
        ("went", "go"),
        ("going", "gone"),
        ("children", "child"),
        ("Caroline's", "caroline"),
        ("Caroline’s", "caroline"),
        ("STRASSE", "straße"),
        ("LLMs", "llm"),
        ("llms", "LLM"),
        ("1,200,000", "1200000"),
        ("e-mail", "email"),
        ("ice-cream", "icecream"),
        ("U.S.A.", "USA"),
        ("Ann's", "(Ann)"),
    ],
)
def test_forms_of_a_word_share_a_term(one: str, other: str) -> None:
    assert set(terms(one)) & set(terms(other))


@pytest.mark.parametrize(
    ("one", "other"), [("universe", "unrelated"), ("X-900", "X-901"), ("3.14", "3.15"), ("US", "us")]
)
def test_different_words_share_none(one: str, other: str) -> None:
    assert not set(terms(one)) & (set(terms(other)) - {"x"})


def test_irregular_forms_have_one_base() -> None:
    forms = irregular_forms()
    assert len(forms) >= 100
    assert not set(forms) & set(forms.values())


def test_function_words_are_left_out_unless_nothing_else_is_left() -> None:
    assert terms("I don't know what the weather is") == ["know", "weather"]
    assert terms("to be or not to be") == ["to", "be", "or", "not", "to", "be"]
    assert terms("!!! ???") == []


def test_order_and_repeats_are_kept() -> None:
    assert terms("red cars and red boats") == ["red", "car", "red", "boat"]


def test_a_country_in_capitals_is_no_pronoun() -> None:
    assert set(terms("the US economy")) & set(terms("moved to the U.S. in May"))
    assert terms("tell us more about it") == ["tell", "more"]


# --- Identifiers --------------------------------------------------------------------------------------------------

NOTES = ("v1.2.3", "v1.2.4", "get_user_name", "getUserName", "E_CONN_0x80070005")


@pytest.mark.parametrize(
    "identifier", [*NOTES, "X-900", "ops@example.com", "src/main.py", "C++", "C#", "node.js", "192.168.0.1"]
)
def test_an_identifier_finds_its_own_text_before_its_likes(identifier: str) -> None:
    others = {*NOTES, "X-901", "dev@example.com", "src/main.rs", "C", "F#", "node", "192.168.0.7"} - {identifier}
    own = shared(identifier, f"see {identifier} here")
    assert own > max(shared(identifier, f"see {other} here") for other in others)


@pytest.mark.parametrize(
    ("part", "whole"),
    [
        ("user name", "get_user_name"),
        ("username", "get_user_name"),
        ("user name", "getUserName"),
        ("username", "getUserName"),
        ("getusername", "getUserName"),
        ("v1.2", "v1.2.3"),
        ("1.2.3", "v1.2.3"),
        ("V1.2.3", "v1.2.3"),
        ("0x80070005", "E_CONN_0x80070005"),
        ("conn", "E_CONN_0x80070005"),
        ("example.com", "ops@example.com"),
        ("ops", "ops@example.com"),
        ("main.py", "src/main.py"),
        ("main", "src/main.py"),
        ("github.com", "https://github.com/foo/bar?x=1"),
        ("bar", "https://github.com/foo/bar?x=1"),
        ("python", "python3"),
        ("X900", "X-900"),
        ("server", "HTTPServer"),
        ("phone", "iPhone"),
        ("well known", "well-known"),
        ("mother", "mother-in-law"),
        ("passwd", "/etc/passwd"),
        ("vector", "std::vector<int>"),
        ("Users", "C:\\Users\\ann"),
        ("8443", "8443/tcp"),
        ("C", "C++"),
        ("13800138000", "138-0013-8000"),
    ],
)
def test_parts_find_an_identifier(part: str, whole: str) -> None:
    assert shared(part, f"text with {whole}, and more") > 0


@pytest.mark.parametrize(
    ("name", "whole"),
    [
        ("array_equal", "np.array_equal"),
        ("arrayequal", "np.array_equal"),
        ("serve_forever", "httpd.serve_forever()"),
        ("foo_bar", "foo_bar.baz()"),
        ("my-file", "my-file.tar.gz"),
        ("foo-bar", "https://sub.foo-bar.com/x"),
        ("get_new", "self._get_new"),
        ("self", "self._get_new"),
        ("py", "marshmallow/__init__.py"),
    ],
)
def test_a_name_between_dots_is_a_term_of_its_own(name: str, whole: str) -> None:
    assert set(terms(name)[:1]) <= set(terms(f"text with {whole}, and more"))


def test_a_number_between_dots_is_no_name() -> None:
    assert "4-rc1" not in terms("v1.2.4-rc1")
    assert "4_5" not in terms("10.4_5.6")


def test_a_question_about_c_plus_plus_is_not_one_about_c() -> None:
    assert tokenizer.query("C++").content_terms == ("c++",)
    assert shared("C++", "the C language") == 0
    assert shared("C#", "note C") == 0


def test_words_at_a_sentence_joint_are_found_one_by_one() -> None:
    assert {"end", "then"} <= set(terms("the end.Then more"))
    assert {"wait", "stop"} <= set(terms("wait...stop"))


def test_a_very_long_compound_keeps_its_words_only() -> None:
    found = terms("-".join(f"part{n}x" for n in range(500)))
    assert "part499x" in found
    assert all(len(term) < 100 for term in found)


# --- Chinese and other scripts ------------------------------------------------------------------------------------


@pytest.mark.parametrize("query", ["滤网", "清洗", "空调滤网", "清洗滤网", "周末"])
def test_chinese_words_inside_a_run_are_found(query: str) -> None:
    note = "客厅空调滤网该清洗了，周末处理"
    assert shared(query, note) > shared(query, "客厅沙发套该换新了，下月处理")


@pytest.mark.parametrize("query", ["ABC123", "abc123", "100元", "ＡＢＣ１２３", "file", "1", "价格"])
def test_compatibility_forms_are_the_same_in_text_and_question(query: str) -> None:
    note = "型号ＡＢＣ１２３，价格１００元 ﬁle ①"
    asked = tokenizer.query(query)
    assert set(asked.content_terms) <= set(terms(note))


def test_mixed_runs_are_split_at_the_script_border() -> None:
    assert terms("obsidian插件") == ["obsidian", "插件"]
    assert terms("用Python写的") == ["用", "python", "写的"]


def test_a_single_character_is_itself_and_is_looked_for_inside_runs() -> None:
    asked = tokenizer.query("猫")
    assert asked.single_chars == ("猫",)
    vocabulary = {*terms("家里养了一只小猫咪"), *terms("狗")}
    assert sorted(terms_with_char("猫", vocabulary)) == ["小猫", "猫咪"]
    assert terms("猫") == ["猫"]


@pytest.mark.parametrize("letter", ["R", "C", "x"])
def test_single_letters_are_words(letter: str) -> None:
    assert shared(letter, f"statistics in {letter} are fun") == 1


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("コンピュータ", "新しいコンピューターを買う"),
        ("食べ", "昨日寿司を食べた"),
        ("한국어", "한국어는 어렵다"),
        ("ไทย", "ภาษาไทยยาก"),
        ("हिन्दी", "मुझे हिन्दी पसंद है"),
        ("café", "cafe\u0301 au lait"),
        ("ПРИВЕТ", "привет мир"),
        ("ｶﾅ", "カナ"),
    ],
)
def test_other_scripts_are_found(query: str, text: str) -> None:
    assert shared(query, text) > 0


def test_an_emoji_is_a_term_whatever_its_skin_and_style() -> None:
    assert terms("sea🎉🎉 👍🏽 ❤️ 👨‍👩‍👧 🇺🇸") == ["sea", "🎉", "🎉", "👍", "❤", "👨‍👩‍👧", "🇺🇸"]
    assert shared("👍", "great 👍🏿") == 1


@pytest.mark.parametrize(
    ("query", "content"),
    [
        ("我的生日是哪天", {"生日"}),
        ("我对什么过敏", {"过敏"}),
        ("现在的路由器密码", {"现在", "路由", "由器", "器密", "密码"}),
        ("目的是什么", {"目的"}),
        ("我的猫", {"猫"}),
        ("有多少个", {"有", "多", "少", "个"}),
    ],
)
def test_content_words_of_a_chinese_question_are_without_its_grammar(query: str, content: set[str]) -> None:
    assert set(tokenizer.query(query).content_terms) == content


def test_a_question_of_function_words_alone_says_so() -> None:
    assert tokenizer.query("的").stop_only
    assert tokenizer.query("the of").stop_only
    assert not tokenizer.query("the cat").stop_only
    assert not tokenizer.query("我的猫").stop_only
    assert not tokenizer.query("").stop_only
    assert tokenizer.query("!!! ???").terms == ()


def test_pairs_phrases_and_dates_of_a_question() -> None:
    asked = tokenizer.query('What did Ann say about the "red kiln of Bob" on 8 May 2023?')
    assert asked.content_terms == ("ann", "say", "red", "kiln", "bob", "2023-05-08")
    assert asked.pairs[:3] == (("ann", "say"), ("say", "red"), ("red", "kiln"))
    assert asked.phrases == (("red", "kiln", "bob"),)
    assert asked.dates[0].first == "2023-05-08"
    assert set(asked.date_terms) == {"2023-05-08", "--05-08"}
    assert not asked.asks_when
    assert tokenizer.query("When did Ann move?").asks_when


def test_words_for_a_day_are_looked_for_but_are_no_content() -> None:
    asked = tokenizer.query("昨天做了什么", date(2026, 3, 18))
    assert asked.content_terms == ()
    assert asked.dates[0].first == "2026-03-17"
    assert asked.terms == ("2026-03-17",), "who asks for nothing else wants that day, not another day's yesterday"
    asked = tokenizer.query("昨天的会议", date(2026, 3, 18))
    assert {"昨天", "2026-03-17"} <= set(asked.terms)
    assert tokenizer.query("meeting last week", date(2026, 3, 18)).content_terms == ("meet",)


# --- Dates --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "notation",
    [
        "2023-05-08",
        "2023 05 08",
        "2023/5/8",
        "20230508",
        "8 May 2023",
        "May 8th, 2023",
        "2023年5月8日",
        "二〇二三年五月八日",
        "２０２３年５月８日",
    ],
)
def test_a_date_is_one_term_in_every_notation(notation: str) -> None:
    assert tokenizer.query(f"meeting on {notation}").content_terms == ("meet", "2023-05-08")
    for other in ("2023-05-08", "on May 8, 2023.", "（2023年5月8日）"):
        assert "2023-05-08" in terms(f"x {other} y")
        assert shared(notation, other) > shared(notation, "2023-05-09")


@pytest.mark.parametrize("query", ["May 2023", "2023年5月", "2023-05", "May 8", "5月8日", "in May", "5月", "2023"])
def test_a_part_of_a_date_finds_the_whole(query: str) -> None:
    assert shared(query, "done on 2023-05-08 at last") > 0


def test_a_date_inside_a_name_leaves_the_name_whole() -> None:
    found = terms("see daily/2023-05-08/plan.md")
    assert "daily/2023-05-08/plan.md" in found
    assert "plan.md" in found
    assert "2023-05-08" in found


# --- The tokenizer itself -----------------------------------------------------------------------------------------


@given(st.text(max_size=60))
def test_a_text_asked_for_in_its_own_words_is_found(text: str) -> None:
    asked, have = tokenizer.query(text), set(terms(text))
    for group in asked.groups:
        assert set(group) & have or set(group) <= set(asked.single_chars)
    assert len(asked.terms) == len(set(asked.terms)) == len(asked.weights)
    assert set(asked.content_terms) <= set(asked.terms)


@given(
    st.sampled_from(["plain", "Plain", "PLAIN", "x", "C++", "C#", "US", "getUserName", "v1.2.3", "a_b", "北京"]),
    st.text("""!"$%&'()*,-./:;<=>?@[\\]^_`{|}~，。「」…""", max_size=4),
    st.text("""!"$%&()*,;<=>?[\\]^`{|}~，。「」…""", max_size=4),
)
def test_signs_around_a_word_are_no_part_of_it(word: str, before: str, after: str) -> None:
    assert terms(f"{before}{word}{after}") == terms(word)
    assert terms(f"see {before}{word}{after} there") == [*terms("see"), *terms(word)]


def test_terms_do_not_depend_on_what_was_read_before() -> None:
    text = "getUserName and get_user_name ran in 东京都 on 8 May 2023"
    expected = Tokenizer().terms(text)
    used = Tokenizer()
    for number in range(40_000):
        used.terms(f"word{number}")
    assert used.terms(text) == used.terms(text) == expected


def test_a_tokenizer_is_shared_by_threads() -> None:
    texts = [f"The children of number {n} were running to house_{n} 小猫{n}咪" for n in range(300)]
    expected = [Tokenizer().terms(text) for text in texts]
    one, found = Tokenizer(), {}

    def work(name: int) -> None:
        found[name] = [one.terms(text) for text in texts]

    threads = [threading.Thread(target=work, args=(name,)) for name in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(found[name] == expected for name in range(4))


def test_importing_and_making_a_tokenizer_loads_no_dictionary() -> None:
    code = (
        "import sys; from agentscope_reme.index.tokenizer import Tokenizer; Tokenizer(); Tokenizer('jieba');"
        "Tokenizer().query('滤网 and more');"
        "print(sorted({'jieba', 'numpy', 'bm25s', 'mistletoe', 'agentscope'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# --- jieba --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def jieba_tokenizer() -> Tokenizer:
    pytest.importorskip("jieba")
    return Tokenizer("jieba")


def test_jieba_gives_long_words_and_the_short_ones_inside(jieba_tokenizer: Tokenizer) -> None:
    found = jieba_tokenizer.terms("小明硕士毕业于中国科学院计算所")
    assert {"中国", "科学", "科学院", "中国科学院", "计算所"} <= set(found)
    assert jieba_tokenizer.query("科学院").content_terms == ("科学", "学院", "科学院")


def test_jieba_is_loaded_without_a_word_and_without_a_shared_cache(tmp_path: Path) -> None:
    pytest.importorskip("jieba")
    planted = tmp_path / "jieba.cache"
    planted.write_bytes(b"not a dictionary")
    script = "from agentscope_reme.index.tokenizer import Tokenizer as T; t = T('jieba'); t.warm(); t.terms('清洗滤网')"
    env = os.environ | {"TMPDIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=env, check=True)
    assert done.stdout == ""
    assert done.stderr == ""
    assert planted.read_bytes() == b"not a dictionary"
    assert [path.name for path in tmp_path.iterdir()] == ["jieba.cache"]


def test_jieba_that_is_absent_is_survivable(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setitem(sys.modules, "jieba", None)
    with caplog.at_level(logging.WARNING):
        assert Tokenizer("jieba").terms("清洗滤网") == terms("清洗滤网")
    assert "jieba" in caplog.text


@pytest.mark.slow
def test_a_user_dictionary_is_used_and_a_bad_one_is_survivable(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    pytest.importorskip("jieba")
    words = tmp_path / "words.txt"
    words.write_text("滤网清洗剂 100 n\n", encoding="utf-8")
    assert "滤网清洗剂" in Tokenizer("jieba", words).terms("买滤网清洗剂一瓶")
    words.write_bytes("滤网清洗剂 100 n\n".encode("gbk"))
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err), caplog.at_level(logging.WARNING):
        assert Tokenizer("jieba", words).terms("清洗滤网")
        assert Tokenizer("jieba", tmp_path / "absent.txt").terms("清洗滤网")
    assert out.getvalue() == ""
    assert "words.txt" in caplog.text
    assert "absent.txt" in caplog.text


def test_two_threads_may_cut_at_once(jieba_tokenizer: Tokenizer) -> None:
    fresh, found = Tokenizer("jieba"), []
    threads = [threading.Thread(target=lambda: found.append(fresh.terms("客厅空调滤网该清洗了"))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [jieba_tokenizer.terms("客厅空调滤网该清洗了")] * 3


def test_the_fingerprint_changes_with_whatever_changes_terms(tmp_path: Path) -> None:
    words = tmp_path / "words.txt"
    words.write_text("滤网 100 n\n", encoding="utf-8")
    before = [Tokenizer().fingerprint, Tokenizer("jieba").fingerprint, Tokenizer("jieba", words).fingerprint]
    assert len(set(before)) == 3
    assert before[2] == Tokenizer("jieba", words).fingerprint
    words.write_text("滤网 100 n\n清洗剂 100 n\n", encoding="utf-8")
    assert Tokenizer("jieba", words).fingerprint not in before
    assert Tokenizer().fingerprint == before[0]


ASCII_WORDS = st.text(st.sampled_from("aAbBZ09.-_/\\:@&',+#[( "), max_size=24)


@given(ASCII_WORDS)
def test_words_in_ascii_are_those_of_any_text(piece):
    assert list(words_of(piece)) == list(words_of(f"{piece} é"))[:-1]


@given(st.text(st.sampled_from("aAbSsBZ09.-_/\\:@&',+#[(=%"), min_size=1, max_size=24))
def test_a_name_gives_the_same_terms_whatever_stands_around_it(piece):
    """The names in a piece are remembered by themselves; read anew each time they give the same."""
    fresh = Tokenizer()
    anew: list[str] = []
    for word in words_of(piece):
        anew += compound_terms(word, fresh.plain) if isinstance(word, Compound) else [fresh.plain_or_capital(word)]
    assert fresh.analyse(piece) == [term for term in anew if term]
    assert fresh.analyse(f"({piece})") == fresh.analyse(f"[{piece}]")


@given(st.lists(st.sampled_from(["hat", "hats", "(hat)", "the", "user_name", "'user_name'", "猫山", "①"]), max_size=12))
def test_how_much_is_remembered_changes_no_terms(words):
    text = " ".join(words)
    little, much = Tokenizer(most_known=2), Tokenizer()
    for part in (*words, text, text):
        assert little.terms(part) == much.terms(part)
    assert max(len(little._words), len(little._plain), len(little._short)) <= 2


@given(st.text(st.sampled_from("abCDE1"), min_size=1, max_size=12))
def test_capitals_and_digits_part_a_word(word):
    """A part begins at a capital behind another sign, and at the last of three capitals before two small letters."""
    found = split_compound(word)
    parts = {part for part in re.split(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z][A-Z])(?=[A-Z][a-z]{2})", word) if part}
    if found is not None and len(parts) > 1:
        assert {part.casefold() for part in parts} - {found.whole} <= set(found.parts)
    if found is None:
        assert len(parts) == 1 or word.isupper() or word.islower()


@given(
    st.lists(st.text(st.sampled_from("猫山茶の々カ"), min_size=1, max_size=5), min_size=1, max_size=6),
    st.lists(
        st.sampled_from(["，", "。", " ", "\n", "、", "：“", "——", " - ", "_", "[", "·", "←"]), min_size=6, max_size=6
    ),
)
def test_signs_between_runs_of_chinese_make_no_pair(runs, signs):
    text = "".join(run + sign for run, sign in zip(runs, signs, strict=False))
    expected = [run[at : at + 2] for run in runs for at in range(max(1, len(run) - 1))]
    assert Tokenizer().terms(text) == expected
