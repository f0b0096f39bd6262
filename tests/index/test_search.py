"""What a search answers: the right note, with its place and text, and an honest status when there is none."""

import json

import pytest

from agentscope_reme.errors import ConfigError, StateError
from agentscope_reme.index import Index
from agentscope_reme.index.packing import count_tokens


async def first(index: Index, query: str) -> str:
    result = await index.search(query)
    return result.hits[0].path if result.hits else ""


# --- the words of Chinese and English, identifiers ----------------------------------------------------------------


@pytest.mark.parametrize("query", ["滤网", "清洗", "空调滤网", "清洗滤网"])
async def test_chinese_words_inside_a_run_are_found(put, open_index, query):
    put("a.md", "客厅空调滤网该清洗了，周末处理\n")
    put("b.md", "客厅的沙发该换了，周末再说\n")
    assert await first(open_index(), query) == "a.md"


@pytest.mark.parametrize(
    ("query", "path"),
    [
        ("v1.2.3", "v3.md"),
        ("v1.2.4", "v4.md"),
        ("get_user_name", "snake.md"),
        ("getUserName", "camel.md"),
        ("E_CONN_0x80070005", "error.md"),
        ("0x80070005", "error.md"),
        ("ops@example.com", "mail.md"),
        ("src/main.py", "file.md"),
        ("C++", "cpp.md"),
        ("C#", "csharp.md"),
        ("allow 5353 8443", "ports.md"),
        ('allow = ["8443/tcp", "5353/udp"]', "ports.md"),
    ],
)
async def test_an_identifier_finds_its_own_note_first(put, open_index, query, path):
    for name, text in {
        "v3": "We run v1.2.3 here.",
        "v4": "We run v1.2.4 there.",
        "snake": "Call get_user_name first.",
        "camel": "Call getUserName first.",
        "error": "It fails with E_CONN_0x80070005 again.",
        "mail": "Write to ops@example.com about it.",
        "file": "Start it with src/main.py as before.",
        "cpp": "Written in C++ by hand.",
        "csharp": "Written in C# by hand.",
        "ports": 'allow = ["8443/tcp", "5353/udp"]',
    }.items():
        put(f"{name}.md", text + "\n")
    assert await first(open_index(), query) == path


@pytest.mark.parametrize("query", ["ABC123", "abc123", "100元", "ＡＢＣ１２３"])
async def test_full_width_text_is_found_and_shown_as_it_stands(put, open_index, query):
    put("a.md", "型号ＡＢＣ１２３，价格１００元\n")
    hits = (await open_index().search(query)).hits
    assert [hit.text for hit in hits] == ["型号ＡＢＣ１２３，价格１００元"]


@pytest.mark.parametrize(
    ("query", "path"),
    [
        ('allow = ["8443/tcp"]', "允许端口清单.md"),
        ("允许 8443", "允许端口清单.md"),
        ("允许端口清单", "允许端口清单.md"),
        ("firewall", "允许端口清单.md"),
        ("5353 8443", "允许端口清单.md"),
        ("owner-team-blue", "允许端口清单.md"),
    ],
)
async def test_title_tags_file_name_and_other_fields_are_searched(put, open_index, query, path):
    put("允许端口清单.md", '---\ntags: [firewall]\nowner: owner-team-blue\n---\nallow = ["8443/tcp", "5353/udp"]\n')
    put("b.md", "Ports in general; nothing is 允许 here.\n")
    assert await first(open_index(), query) == path


@pytest.mark.parametrize(("query", "path"), [("猫", "cat.md"), ("R", "r.md"), ("🎉", "party.md")])
async def test_a_query_of_one_character_finds_notes_with_it(put, open_index, query, path):
    put("cat.md", "大猫咪在睡觉\n")
    put("r.md", "The model was fitted in R last week.\n")
    put("party.md", "Done 🎉 at last\n")
    assert await first(open_index(), query) == path


# --- honesty ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("query", ["", "   ", "\n", "!!! ???", "……"])
async def test_a_query_without_words_gives_none_and_says_why(put, open_index, query):
    put("a.md", "Some text about the house.\n")
    result = await open_index().search(query)
    assert (result.status, result.hits) == ("none", ())
    assert "query" in result.note


async def test_nothing_in_common_gives_none(put, open_index):
    put("a.md", "Some text about the house.\n")
    result = await open_index().search("quantum chromodynamics")
    assert (result.status, result.hits) == ("none", ())
    assert "shares" in result.note


@pytest.mark.parametrize("query", ["the of", "的"])
async def test_function_words_alone_never_return_some_notes(put, open_index, query):
    put("a.md", "Some text about the house of cards.\n")
    put("b.md", "我的房子的门\n")
    result = await open_index().search(query)
    assert result.status == "none" or all(query in hit.text for hit in result.hits)


def one_in_long_text(word: str) -> str:
    return " ".join(f"word{number}" for number in range(150)) + f" {word} and so on\n"


@pytest.mark.parametrize(
    ("query", "word"),
    [
        ("pluggy", "pluggy"),  # the only word asked for
        ("np.frombuffer", "np.frombuffer"),
        ("where is unpack_bits called", "unpack_bits"),
        ("update_reservation", "update_reservation_flights"),
        ("E_CONN", "E_CONN_0x80070005"),
        ("main.py", "src/main.py"),
        ("10.0.0.1", "10.0.0.1"),
    ],
)
async def test_a_name_that_stands_in_a_hit_is_no_weak_match_however_long_the_text_is(put, open_index, query, word):
    put("long.md", one_in_long_text(word))
    for number in range(40):
        put(f"n{number}.md", f"kettle {number}\n")
    result = await open_index().search(query)
    assert (result.status, result.hits[0].path) == ("ok", "long.md")
    assert query.split()[-2 if "called" in query else 0] in result.hits[0].text


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("who bought the kettle at 10:30 from the harbour master", "10:30"),  # a time is no name
        ("who sold the well-known kettle of the harbour master", "well-known"),  # nor are ordinary words
        ("has YouTube lent the harbour master the turquoise kettle", "YouTube"),
        ("which U.S. harbour master bought the turquoise kettle", "U.S."),
    ],
)
async def test_a_word_with_a_mark_in_it_is_not_taken_for_such_a_name(put, open_index, query, text):
    put("long.md", one_in_long_text(text))
    for number in range(40):
        put(f"n{number}.md", f"the {'harbour' if number % 2 else 'master'} {number}\n")
    result = await open_index().search(query, filter={"path": "long.md"})
    assert result.status in ("weak", "none")


async def test_one_shared_word_of_many_is_weak(put, open_index):
    for number in range(40):
        put(f"n{number}.md", f"Topic {number}: the weather in town was mild and the market was open.\n")
    index = open_index()
    result = await index.search("which neural transformer architectures outperform baselines across weather corpora")
    assert result.status == "weak"
    assert result.hits
    assert result.note
    assert (await index.search("weather in town")).status == "ok"


@pytest.mark.parametrize("query", ["which host is the production database on", "production backups every quarter"])
@pytest.mark.parametrize("others", [0, 1, 5])
async def test_most_of_what_is_asked_for_is_no_weak_match_in_a_vault_of_few_notes(put, open_index, query, others):
    put("a.md", "The production database runs on db-prod-2; backups go to S3 every night at two.\n")
    for number in range(others):
        put(f"{number}.md", f"Otters were seen at lake {number} in the early hours, two of them asleep on the bank.\n")
    result = await open_index().search(query)
    assert (result.status, result.hits[0].path) == ("ok", "a.md")
    assert (await open_index().search("is the staging database of Berlin backed up weekly")).status == "weak"


async def test_half_of_a_question_is_no_weak_match_in_a_vault_of_one_note(put, open_index):
    put("MEMORY.md", "- The invoice goes to Ms. Okafor, by Friday.\n")
    assert (await open_index().search("who gets the invoice")).status == "ok"


async def test_an_empty_or_missing_folder_gives_none_and_creates_nothing(vault_dir, open_index):
    index = open_index()
    assert (await index.search("anything")).status == "none"
    assert (await index.sync()).added == 0
    await index.close()
    assert not vault_dir.exists()
    vault_dir.mkdir()
    index = open_index()
    assert (await index.search("anything")).status == "none"
    await index.close()
    assert list(vault_dir.iterdir()) == []


async def test_empty_notes_are_no_error_and_notes_that_come_back_are_found(put, open_index):
    for number in range(3):
        put(f"{number}.md", "")
    index = open_index()
    assert (await index.search("text", limit=10)).hits == ()
    note = put("one.md", "A text.\n")
    await index.sync()
    assert len((await index.search("text", limit=10)).hits) == 1
    note.unlink()
    await index.sync()
    assert (await index.search("text")).status == "none"
    put("one.md", "A text.\n")
    await index.sync()
    assert (await index.search("text")).status == "ok"


async def test_a_floor_that_rejects_everything_names_the_best(put, open_index):
    put("a.md", "阳台种了番茄\n")
    put("b.md", "车库换了灯\n")
    index = open_index()
    best = (await index.search("番茄")).hits[0]
    assert best.path == "a.md"
    result = await index.search("番茄", min_score=0.99)
    assert (result.status, result.hits) == ("none", ())
    assert "a.md:1" in result.note
    assert f"{best.score:.3f}" in result.note
    assert (await index.search("番茄", min_score=best.score)).hits[0] == best


@pytest.mark.parametrize("limit", [0, -3])
async def test_no_room_is_said_to_be_no_room(put, open_index, limit):
    put("a.md", "Some text about the house.\n")
    result = await open_index().search("house", limit=limit)
    assert result.status == "none"
    assert "limit" in result.note


async def test_use_after_close_is_a_state_error_and_closing_twice_is_none(put, open_index):
    put("a.md", "text\n")
    index = open_index()
    await index.search("text")
    await index.close()
    await index.close()
    with pytest.raises(StateError):
        await index.search("text")


# --- passages -----------------------------------------------------------------------------------------------------


async def test_a_hit_shows_the_lines_it_names(put, open_index):
    text = "---\r\nname: Long\r\n---\r\n# Top\r\n\r\nIntro.\r\n\r\n" + "\r\n\r\n".join(
        f"Paragraph {number} about turnips and line\u2028separators." for number in range(30)
    )
    put("a.md", text)
    put("b.md", "\n\n\nOnly this about beetroot.\nAnd a second line.\n")
    index = open_index()
    for query in ("Paragraph 17 turnips", "beetroot"):
        for hit in (await index.search(query)).hits:
            page = await index.vault.read(hit.path, hit.start_line, hit.end_line)
            assert page.text.replace("\r\n", "\n").strip("\n") == hit.text
            assert hit.source == f"{hit.path}:{hit.start_line}-{hit.end_line}"
    assert (await index.search("beetroot")).hits[0].source == "b.md:4-5"


async def test_neighbours_are_one_hit_and_no_line_is_shown_twice(put, open_index):
    steps = [f"Step {number}: the kiln is fired at {900 + number} degrees." for number in range(12)]
    put("a.md", "\n\n".join(steps) + "\n")
    hits = (await open_index().search("kiln degrees", limit=5)).hits
    lines = [line for hit in hits for line in range(hit.start_line, hit.end_line + 1)]
    assert len(lines) == len(set(lines))
    assert len(hits) == 1


async def test_turns_read_as_speaker_and_text(put, open_index):
    put("a.md", "**Ann**: Where is the ladder?\n\n**Bob**: Behind the shed, as always.\n")
    (hit,) = (await open_index().search("ladder shed")).hits
    assert hit.text == "Ann: Where is the ladder?\nBob: Behind the shed, as always."
    assert (hit.start_line, hit.end_line) == (1, 3)


async def test_labels_of_facts_are_shown_as_they_stand_and_count_as_words_that_were_asked_for(put, open_index):
    put("booking.md", "# Booking\n\n- **Payment Method**: gift card, as ever\n- **Seats**: two on the aisle\n")
    for number in range(20):
        put(f"n{number}.md", f"The hotel number {number} has a pool and a garden by the sea.\n")
    index = open_index()
    hit = (await index.search("payment method")).hits[0]
    assert hit.text == "- **Payment Method**: gift card, as ever\n- **Seats**: two on the aisle"
    # Were it the name of a person, the hotel alone would be asked for.
    result = await index.search("which payment method did the inspector of the hotel distrust")
    assert result.status == "weak"


async def test_a_journal_is_searched_by_turns(put, open_index):
    def line(number: int, name: str, text: str) -> str:
        message = {"id": f"m{number}", "name": name, "role": "user", "content": text, "timestamp": "2026-03-02 10:00"}
        return json.dumps({"id": f"m{number}", "seq": number, "msg": message, "marks": [], "tokens": 5}) + "\n"

    turns = ["Hello there.", "The wifi code is marmalade-42.", "Thanks, noted."]
    put("session/dialog/s1.jsonl", "".join(line(n, "Ann", text) for n, text in enumerate(turns)))
    hit = (await open_index().search("wifi code")).hits[0]
    assert (hit.path, hit.kind, hit.date) == ("session/dialog/s1.jsonl", "journal", "2026-03-02")
    assert "Ann: The wifi code is marmalade-42." in hit.text
    assert hit.start_line <= 2 <= hit.end_line
    assert '"seq"' not in hit.text


async def test_a_statement_in_card_and_journal_is_shown_once(put, open_index):
    said = "My locker at the station has the number 4417, remember that."
    message = {"id": "m", "name": "user", "role": "user", "content": said, "timestamp": "2026-03-02 10:00:00"}
    put("session/dialog/s1.jsonl", json.dumps({"id": "m", "seq": 0, "msg": message, "marks": [], "tokens": 5}) + "\n")
    put("daily/2026-03-02/card.md", f"---\nname: Card\ncreated: 2026-03-02\n---\n- 10:00 user: {said}\n")
    hits = (await open_index().search("locker number station", limit=10)).hits
    assert sum("4417" in hit.text for hit in hits) == 1


async def test_the_same_words_on_another_day_are_a_second_occurrence(put, open_index):
    for day in ("2026-03-02", "2026-03-09"):
        put(f"daily/{day}/card.md", "Bob was late for the planning meeting again.\n")
    hits = (await open_index().search("who was late for planning", limit=10)).hits
    assert sorted(hit.date for hit in hits) == ["2026-03-02", "2026-03-09"]


async def test_the_token_budget_is_kept_and_long_paragraphs_are_clipped_around_the_match(put, open_index):
    filler = "Sentence about nothing in particular. "
    for number in range(10):
        put(f"n{number}.md", f"{filler * 40}The heron nests in tree {number}. {filler * 40}\n")
    result = await open_index().search("where does the heron nest", limit=10, token_budget=300)
    assert 0 < sum(len(hit.text) for hit in result.hits) <= 300 * 4
    for hit in result.hits:
        assert "heron nests" in hit.text
    (hit,) = (await open_index().search("where does the heron nest", limit=10, token_budget=60)).hits
    assert "heron nests" in hit.text
    assert hit.text.startswith("…")
    assert hit.text.endswith("…")
    assert len(hit.text) <= 60 * 4
    assert hit.metadata["clipped"] is True


async def test_chinese_characters_count_one_token_each(put, open_index):
    put("a.md", "苍鹭在树上筑巢。" * 100 + "\n")
    (hit,) = (await open_index().search("苍鹭筑巢", token_budget=100)).hits
    assert len(hit.text) <= 100


async def test_the_top_of_the_file_is_not_shown_for_a_match_below(put, open_index):
    put("a.md", "# Title\n\n" + "Preface words.\n\n" * 40 + "## Deep\n\nThe password is swordfish.\n")
    hit = (await open_index().search("swordfish password")).hits[0]
    assert "swordfish" in hit.text
    assert hit.start_line > 40
    assert hit.headings == ("Title", "Deep")


async def test_several_notes_are_heard_before_the_second_passage_of_one(put, open_index):
    gap = "\n\n" + "Filler.\n\n" * 8
    put("a.md", gap.join(f"Otters number {n} at the lake." for n in range(8)) + "\n")
    for name in ("b", "c", "d"):
        put(f"{name}.md", f"Otters were seen by {name} at the lake today.\n")
    hits = (await open_index().search("otters at the lake", limit=5)).hits
    assert {hit.path for hit in hits} == {"a.md", "b.md", "c.md", "d.md"}


# --- time ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def march(put):
    for day in range(1, 32):
        put(f"daily/2026-03-{day:02d}.md", f"写了第{day}号记录。Wrote entry {day}.\n")
    put("wiki/plain.md", "An undated page about entries in general.\n")


@pytest.mark.parametrize(
    ("query", "paths"),
    [
        ("昨天做了什么", ["daily/2026-03-17.md"]),
        ("2026-03-05", ["daily/2026-03-05.md"]),
        ("what happened on March 5", ["daily/2026-03-05.md"]),
        ("上周三", ["daily/2026-03-11.md"]),
    ],
)
async def test_the_notes_of_a_day_answer_a_question_for_it_without_shared_words(march, open_index, query, paths):
    result = await open_index().search(query)
    assert result.status == "ok"
    assert [hit.path for hit in result.hits][: len(paths)] == paths


async def test_a_question_for_last_week_brings_its_days_first(march, open_index):
    hits = (await open_index().search("上周的记录", limit=5)).hits
    assert {hit.date for hit in hits} <= {f"2026-03-{day:02d}" for day in range(8, 17)}


# --- filters ------------------------------------------------------------------------------------------------------


@pytest.fixture
def library(put):
    for number in range(100):
        put(f"crowd/{number}.md", "The zebra, the zebra and the zebra.\n")
    front = "---\ntags: [animal/zebra, Park]\nstatus: Done\nrank: 3\nwho: [ann, bob]\n---\n"
    put("mine/one.md", front + "A zebra was seen.\n")
    put("daily/2026-03-05.md", "A zebra ran by.\n")


@pytest.mark.parametrize(
    ("wanted", "path"),
    [
        ({"path": "mine/"}, "mine/one.md"),
        ({"path": ["nowhere/", "mine/"]}, "mine/one.md"),
        ({"tags": "park"}, "mine/one.md"),
        ({"tags": ["#animal"]}, "mine/one.md"),
        ({"status": "done"}, "mine/one.md"),
        ({"rank": 3}, "mine/one.md"),
        ({"who": ["bob"]}, "mine/one.md"),
        ({"since": "2026-03-01"}, "daily/2026-03-05.md"),
        ({"until": "2026-03-05"}, "daily/2026-03-05.md"),
        ({"since": "March 2026", "until": "March 2026"}, "daily/2026-03-05.md"),
    ],
)
async def test_a_filter_is_applied_before_the_best_are_chosen(library, open_index, wanted, path):
    result = await open_index().search("zebra", limit=3, filter=wanted)
    assert [hit.path for hit in result.hits] == [path]


@pytest.mark.parametrize(
    "wanted", [{"path": "nowhere/"}, {"status": "open"}, {"since": "2026-03-06"}, {"missing": "x"}]
)
async def test_a_filter_that_allows_nothing_gives_none(library, open_index, wanted):
    result = await open_index().search("zebra", filter=wanted)
    assert (result.status, result.hits) == ("none", ())
    assert "filter" in result.note


async def test_a_date_that_cannot_be_read_is_refused(library, open_index):
    with pytest.raises(ConfigError, match="soonish"):
        await open_index().search("zebra", filter={"since": "soonish"})


# --- vaults apart -------------------------------------------------------------------------------------------------


async def test_a_vault_knows_nothing_of_another_in_the_same_process(tmp_path, put, open_index):
    put("a.md", "SECRET_MARKER belongs to the outer vault.\n")
    inner = tmp_path / "inner"
    inner.mkdir()
    (inner / "b.md").write_text("Nothing to see.\n")
    outer_index, inner_index = open_index(), open_index(inner)
    assert (await outer_index.search("SECRET_MARKER")).hits
    assert (await inner_index.search("SECRET_MARKER")).status == "none"


async def test_a_copy_of_the_index_is_the_index(open_index):
    import copy

    index = open_index()
    assert copy.deepcopy(index) is index


async def test_a_note_without_a_word_is_found_by_its_name(put, open_index):
    put("notes/walnut table.md", "")
    put("notes/blank.md", "\n\n")
    put("notes/other.md", "Something about a table.\n")
    index = open_index()
    (first, *_) = (await index.search("walnut table")).hits
    assert (first.path, first.start_line, first.text) == ("notes/walnut table.md", 1, "walnut table")
    assert (await index.search("otter")).hits == ()
    put("notes/walnut table.md", "It stands in the hall.\n")
    await index.sync()
    assert (await index.search("walnut table")).hits[0].text == "It stands in the hall."


@pytest.mark.parametrize(
    "query", ["2026-04-01", "what is due on April 1, 2026", "4月1日到期的", "harbourmaster Lindqvist"]
)
async def test_dates_and_mappings_of_the_front_matter_are_found(put, open_index, query):
    put("a.md", "---\ndue: 2026-04-01\nowner: {name: Lindqvist, at: harbourmaster}\n---\nPaint the boat.\n")
    put("b.md", "---\ndue: 2026-05-01\nowner: {name: Okafor}\n---\nPaint the fence.\n")
    assert await first(open_index(), query) == "a.md"


async def test_the_day_a_note_was_written_is_no_word_of_it(put, open_index):
    put("a.md", "---\nDate-Modified: 2026-04-01\nupdated_at: 2026-04-01 10:00:00\n---\nPaint the boat.\n")
    assert (await open_index().search("2026-04-01")).status == "none"


@pytest.mark.parametrize("budget", [5, 20, 50, 200, 1_000])
@pytest.mark.parametrize("word", ["ferry", "渡轮"])
async def test_what_stands_between_passages_counts_in_the_token_budget(put, open_index, budget, word):
    heading = "a heading that is rather long" if word == "ferry" else "比下面的短句还要长得多的一个标题"
    for name in "abc":
        put(f"{name}.md", "".join(f"## {number} {heading}\n\n{word} {number} {name}.\n\n" for number in range(60)))
    index = open_index()
    result = await index.search(word, 10, token_budget=budget)
    assert result.hits
    assert sum(count_tokens(hit.text) for hit in result.hits) <= budget
    for hit in result.hits:
        lines = (index.vault.root / hit.path).read_text().split("\n")[hit.start_line - 1 : hit.end_line]
        assert hit.text.strip("…") in "\n".join(lines)
