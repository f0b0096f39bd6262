"""One thing in several notations: whoever asks in one finds the note that has it in another, before its likes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentscope_reme.index.beside_han import in_numerals, value_of
from agentscope_reme.index.spaced_numbers import spaced_numbers
from agentscope_reme.index.tokenizer import Tokenizer

tokenizer = Tokenizer()
terms = tokenizer.terms

NOTES = {
    "baker": "Müller runs the bakery next to the station.",
    "dairy": "Bauer runs the dairy next to the church.",
    "tax": "Frau Schroeder from the tax office called.",
    "dogs": "Herr Schneider from the dog office called.",
    "runtime": "We upgraded Node.js on all build agents in spring.",
    "java": "We upgraded the JDK on all build agents in autumn.",
    "nuxt": "Pages are rendered by nuxtjs behind the CDN.",
    "roof": "The roofer wants 25 000 euros with scaffolding.",
    "heating": "The plumber wants 18 500 euros with the boiler.",
    "kitchen": "The kitchen cost 12'400 francs with the oven.",
    "deposit": "Paid to the landlord: 3.600,00 EUR.",
    "backup": "The backup disk holds 10GB of photos.",
    "scratch": "The scratch disk holds 20 GB of video.",
    "game": "The PlayStation 5 needs a cable with HDMI 2.1 on it.",
    "old game": "The PlayStation 4 needs a cable of its own.",
    "cpp": "C++ templates give shorter errors with concepts.",
    "csharp": "C# records are equal by value.",
    "dentist": "Dentist: 030 1234567, closed on Wednesdays.",
    "plumber": "Plumber: +49 30 7654321, also at night.",
    "vet": "Vet: (212) 555-0187, ask for Dr. Lee.",
    "wang": "王师傅电话：138 0013 8001，修空调。",
    "li": "李医生电话：139 1111 2222，周三出诊。",
    "card": "The company card is 4000 1234 5678 4242.",
    "account": "The landlord's account is DE89 3704 0044 0532 0130 00.",
    "moths": "A guide to moths, ISBN 9780306406157.",
    "spiders": "A guide to spiders, ISBN 978-3-16-148410-0.",
    "count": "`max_retry_count` is read once at the start.",
    "delay": "`max_retry_delay` is read at each call.",
    "class": "The class `nav-bar-item` has the hover colour.",
    "hooks": "`git commit --no-verify` leaves the hooks out.",
    "chapter 2": "第二章讲的是光合作用。",
    "chapter 3": "第3章讲的是细胞分裂。",
    "chapter 12": "第十二章讲的是遗传规律。",
    "room": "会议室有三十把椅子。",
    "hall": "大厅有四十把椅子。",
    "gift": "捐了五百元给流浪猫。",
    "scooter": "电动车花了三千二百元。",
    "budget": "预算是3万元，不含运费。",
    "metro": "地铁十号线换乘四号线。",
    "shirt": "T恤和短裤放在抽屉里。",
    "skirt": "裙子和长裤放在柜子里。",
    "stick": "照片都在U盘里。",
    "visitors in June": "The site had 1.6k visitors, fewer than hoped.",
    "visitors in May": "The site had 1.5k visitors, more than hoped.",
    "walk": "Walked 12,500 steps along the coast.",
    "hike": "Walked 13,500 steps along the coast.",
    "rye": "Rye flour: 3.5 kg for the whole week, from the mill.",
    "wheat": "Wheat flour: 2.5 kg for the whole week, from the mill.",
    "servers": "The servers have dotnet and nothing else installed.",
    "laptops": "The laptops have perl and nothing else installed.",
}
ASKED = [
    ("Mueller bakery", "baker"),
    ("Mueller", "baker"),
    ("muller", "baker"),
    ("Schröder tax office", "tax"),
    ("nodejs upgrade", "runtime"),
    ("Nuxt.js", "nuxt"),
    ("25000 euros", "roof"),
    ("25,000", "roof"),
    ("25'000", "roof"),
    ("18500", "heating"),
    ("12400", "kitchen"),
    ("3600", "deposit"),
    ("10 GB disk", "backup"),
    ("20GB disk", "scratch"),
    ("20gb", "scratch"),
    ("PlayStation5 cable", "game"),
    ("hdmi2.1", "game"),
    ("cpp templates", "cpp"),
    ("csharp records", "csharp"),
    ("0301234567", "dentist"),
    ("030-1234567", "dentist"),
    ("030/1234567", "dentist"),
    ("+49 30 1234567", "dentist"),
    ("030 7654321", "plumber"),
    ("0049307654321", "plumber"),
    ("2125550187", "vet"),
    ("+1 212 555 0187", "vet"),
    ("212-555-0187", "vet"),
    ("13800138001", "wang"),
    ("138-0013-8001", "wang"),
    ("139 1111 2222", "li"),
    ("4000123456784242", "card"),
    ("4000-1234-5678-4242", "card"),
    ("DE89370400440532013000", "account"),
    ("978-0-306-40615-7", "moths"),
    ("9783161484100", "spiders"),
    ("maxRetryCount", "count"),
    ("max-retry-count", "count"),
    ("maxretrycount", "count"),
    ("MAX_RETRY_DELAY", "delay"),
    ("navBarItem", "class"),
    ("nav_bar_item", "class"),
    ("--no-verify", "hooks"),
    ("第2章", "chapter 2"),
    ("第三章", "chapter 3"),
    ("第12章讲什么", "chapter 12"),
    ("30把椅子", "room"),
    ("捐了500元", "gift"),
    ("3200元", "scooter"),
    ("预算30000元", "budget"),
    ("10号线", "metro"),
    ("4号线", "metro"),
    ("T 恤 抽屉", "shirt"),
    ("T恤", "shirt"),
    ("u盘照片", "stick"),
    ("1500 visitors", "visitors in May"),
    ("1,500 visitors", "visitors in May"),
    ("12.5k steps", "walk"),
    ("12.5K steps", "walk"),
    ("3,5 kg", "rye"),
    ("3,50 kg", "rye"),
    (".NET installed", "servers"),
]


async def test_what_is_asked_for_in_one_notation_is_found_in_another(put, open_index):
    for name, text in NOTES.items():
        put(f"{name}.md", f"{text}\n")
    index, missed = open_index(), []
    for question, name in ASKED:
        result = await index.search(question, limit=3)
        if result.status != "ok" or result.hits[0].path != f"{name}.md":
            missed.append((question, result.status, [hit.path for hit in result.hits]))
    assert missed == []


@pytest.mark.parametrize(
    ("text", "joined"),
    [
        ("25 000 euros", {"25000"}),
        ("1 204 567 inhabitants", {"1204567"}),
        ("030 1234567", {"0301234567", "301234567"}),
        ("+49 30 7654321", {"49307654321", "307654321"}),
        ("+49 (0)30 7654321", {"49307654321", "307654321"}),
        ("0049 30 7654321", {"49307654321", "307654321"}),
        ("(212) 555-0187", {"2125550187"}),
        ("139 1111 2222", {"13911112222"}),
        ("GB29 NWBK 6016 1331 9268 19", {"gb29nwbk60161331926819"}),
    ],
)
def test_a_number_in_groups_is_also_one_piece(text, joined):
    assert joined <= {term for number in spaced_numbers(text) for term in number.joined}
    assert joined <= set(terms(f"call {text}, please"))


@pytest.mark.parametrize(
    "text", ["5 10 15", "2023 12 people", "1 2 3 4 5 6 7 8", "room 302 1200 seats", "1. 25 kg", "12:30 14:45", "3.5 20"]
)
def test_numbers_in_a_row_are_not_one(text):
    assert list(spaced_numbers(text)) == []


@given(st.integers(1, 999_999))
def test_a_number_in_numerals_is_that_number(number):
    for form in in_numerals(number):
        assert value_of(form) == number


@pytest.mark.parametrize(
    ("numerals", "value"),
    [
        ("十", 10),
        ("二十三", 23),
        ("两百", 200),
        ("一千零五", 1005),
        ("三万", 30_000),
        ("二〇二一", 2021),
        ("一亿", 100_000_000),
    ],
)
def test_numerals_are_read(numerals, value):
    assert value_of(numerals) == value


@pytest.mark.parametrize("numerals", ["百百", "一二十", "十千", "万万"])
def test_numerals_that_are_no_number_are_none(numerals):
    assert value_of(numerals) is None


@pytest.mark.parametrize(("one", "other"), [("Straße", "Strasse"), ("Ålesund", "Aalesund"), ("Bjørn", "Bjoern")])
def test_a_word_is_found_with_two_letters_for_one(one, other):
    assert set(terms(one)) & set(terms(other))


def test_two_letters_are_not_taken_for_one():
    assert not set(terms("blue Sue")) & set(terms("blu Su"))


@pytest.mark.parametrize(("one", "other"), [("E1042", "E1043"), ("B12", "B6"), ("X-900", "X-901"), ("T恤", "T台")])
def test_what_differs_in_a_sign_is_another_thing(one, other):
    asked = tokenizer.query(one)
    own, like = set(terms(f"see {one}")), set(terms(f"see {other}"))
    weights = dict(zip(asked.terms, asked.weights, strict=True))
    assert sum(weights.get(term, 0) for term in own) > sum(weights.get(term, 0) for term in like)


async def test_an_identifier_is_found_before_notes_that_are_called_like_a_part_of_it(put, open_index):
    put("jobs/main.md", "The worker begins in `src/worker/main.py` and forks.\n")
    put("main.md", "# main\n\nThe program begins in `src/app/main.py`.\n")
    put("session.md", "# session\n\n`SessionTokenStore` forgets tokens after an hour.\n")
    put("cache.md", "`SessionTokenCache` forgets tokens after a minute.\n")
    index = open_index()
    for question, path in [
        ("src/worker/main.py", "jobs/main.md"),
        ("session_token_cache", "cache.md"),
        ("SessionTokenStore", "session.md"),
    ]:
        assert (await index.search(question)).hits[0].path == path
