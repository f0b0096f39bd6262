"""The passage that holds what was asked for comes before a note that is only linked beside it."""

import pytest

IDENTIFIERS = ["ERR-4711", "qzxf", "ABC-123", "+49 171 2345678", "三硝基甲苯"]


async def paths(index, query: str, **more) -> list[str]:
    return [hit.path for hit in (await index.search(query, **more)).hits]


@pytest.mark.parametrize("word", IDENTIFIERS)
async def test_the_only_passage_with_a_word_comes_before_all_notes_that_are_linked_there(put, open_index, word):
    links = " ".join(f"[[note {number}]]" for number in range(8))
    put("digest/diary.md", f"# Diary\n\nOn Monday {word} was seen. {links}\n")
    for number in range(8):
        put(f"digest/note {number}.md", f"Something else, told by number {number}.\n")
    assert (await paths(open_index(), word, limit=3))[0] == "digest/diary.md"


async def test_what_is_linked_still_comes_next_and_before_what_has_less(put, open_index):
    put("digest/a.md", "The pump failed with ERR-4711, so we called [[b]].\n")
    put("digest/b.md", "Open on weekdays.\n")
    put("digest/c.md", "A pump for the garden.\n")
    assert (await paths(open_index(), "pump ERR-4711"))[:2] == ["digest/a.md", "digest/b.md"]


async def test_a_note_whose_name_is_asked_for_comes_before_passages_that_name_it(put, open_index):
    put("digest/Tiramisu.md", "Mascarpone and coffee.\n")
    for number in range(4):
        put(f"digest/{number}.md", f"On day {number} we had [[Tiramisu]] again.\n")
    assert (await paths(open_index(), "tiramisu"))[0] == "digest/Tiramisu.md"


async def test_where_no_passage_holds_all_words_links_count_in_full(put, open_index):
    put("digest/a.md", "The firm is [[b]].\n")
    put("digest/c.md", "Mended by [[b]].\n")
    put("digest/b.md", "Open on weekdays.\n")
    assert (await paths(open_index(), "firm mended"))[0] == "digest/b.md"


async def test_a_holder_that_the_filter_leaves_out_holds_nothing_down(put, open_index):
    put("daily/2026-03-01.md", "ERR-4711 again: see [[b]].\n")
    put("digest/b.md", "Open on weekdays.\n")
    assert await paths(open_index(), "ERR-4711", filter={"path": "digest/"}) == ["digest/b.md"]
