"""What stands in quotation marks is asked for in this order: passages that have it so come before those that do not."""

import pytest

# The question, a passage that quotes it, and one that has the same words, and more often.
QUOTATIONS = [
    (
        'where was "connection reset by peer"',
        "The log has connection reset by peer, at nine, after the long night in which nobody slept.",
        "The peer: a reset, a connection, a reset, a connection. Peer, peer, reset, connection, connection.",
    ),
    (
        '"red kiln" glaze',
        "We fired the red kiln, which stands behind the house of the neighbours, with the new glaze.",
        "The kiln is red. A glaze for a kiln: red glaze, blue glaze, kiln glaze, red glaze.",
    ),
    (
        "“ERR-4711 timeout” again",
        "On the gateway we saw ERR-4711 timeout again and then nothing more for the rest of the day.",
        "A timeout, and again a timeout: ERR-4711. ERR-4711 again, timeout again, again a timeout.",
    ),
    (
        "“张伟的合同”在哪",
        "今天下午在办公室整理了很久，最后在柜子的最下面一层找到了张伟的合同，放进了蓝色的文件夹里。",
        "合同给张伟。张伟看合同，合同退回张伟。张伟，合同。",
    ),
    (
        "《深度工作》 笔记",
        "这个月在地铁上断断续续地读完了深度工作，作者说要把手机放在另一个房间，笔记还没有写完。",
        "工作有深度。深度笔记，工作笔记，笔记的深度，工作的深度。",
    ),
    (
        "「绿灯闪烁」 路由器",
        "家里的网络又断了，打电话问了客服，客服说绿灯闪烁表示正在连接，路由器要等五分钟再试一次。",
        "路由器的绿灯。闪烁的路由器，绿灯，路由器闪烁。",
    ),
    (
        '"cold start" and "the pump failed"',
        "After the cold start of last week the pump failed, and the crew came with the long ladder.",
        "A start, cold. Failed, failed, a pump. The pump, the start: cold, the pump, failed: start.",
    ),
]


async def paths(index, query: str, **more) -> list[str]:
    return [hit.path for hit in (await index.search(query, **more)).hits]


@pytest.mark.parametrize(("question", "quoting", "apart"), QUOTATIONS)
async def test_who_quotes_gets_the_passage_that_has_it_so(put, open_index, question, quoting, apart):
    put("a.md", f"{apart}\n")
    put("b.md", f"{quoting}\n")
    assert await paths(open_index(), question) == ["b.md", "a.md"]


@pytest.mark.parametrize(("question", "quoting", "apart"), QUOTATIONS[:3])
async def test_it_can_be_switched_off(put, open_index, question, quoting, apart):
    put("a.md", f"{apart}\n")
    put("b.md", f"{quoting}\n")
    assert (await paths(open_index(ranking={"phrases": 0}), question))[0] == "a.md"


async def test_a_note_called_like_one_of_the_words_comes_after(put, open_index):
    put("Peer.md", "Whom we exchange routes with.\n")
    put("log.md", "Again: connection reset by peer.\n")
    assert await paths(open_index(), 'the peer says "connection reset by peer" today') == ["log.md", "Peer.md"]


async def test_a_long_question_that_quotes_in_passing_still_means_the_note_it_names(put, open_index):
    put("Tiramisu.md", "Mascarpone.\n")
    put("log.md", "A cold start.\n")
    for number, word in enumerate(
        ["oven", "savoiardi", "guests", "birthday", "saturday", "neighbour", "coffee", "bowl"]
    ):
        put(f"{number}.md", f"Something of the {word}.\n")
    question = (
        'neighbour, guests, birthday: how much coffee, savoiardi, what bowl for tiramisu? It was "a cold start", oven'
    )
    assert (await paths(open_index(), question))[0] == "Tiramisu.md"


async def test_a_note_with_the_quoted_title_is_first(put, open_index):
    put("books/深度工作.md", "纽波特写的书。\n")
    put("daily/2026-03-01.md", "在读深度工作，第三章。\n")
    assert (await paths(open_index(), "《深度工作》"))[0] == "books/深度工作.md"


async def test_two_quotations_are_each_looked_for(put, open_index):
    put("one.md", "It was a cold start, and the pump gave up at noon.\n")
    put("both.md", "It was a cold start. At noon the pump failed, again, as it did when the last frost came.\n")
    put("none.md", "The start, cold. Failed, failed, a pump. The pump, the start: cold.\n")
    found = await paths(open_index(), '"cold start" "pump failed"')
    assert found == ["both.md", "one.md", "none.md"]


@pytest.mark.parametrize("question", ['"kiln"', '"the kiln"', 'kiln 5" by 6"', '"kiln', "《窑》 kiln"])
async def test_marks_around_one_word_or_none_change_nothing(put, open_index, question):
    put("a.md", "The kiln is red, 5 by 6.\n")
    put("b.md", "A kiln. A kiln.\n\nSomething else.\n")
    with_phrases, without = open_index(), open_index(ranking={"phrases": 0})
    found = [(hit.path, hit.score) for hit in (await with_phrases.search(question)).hits]
    assert found == [(hit.path, hit.score) for hit in (await without.search(question)).hits]
    assert found


async def test_words_that_follow_each_other_only_across_passages_are_no_quotation(put, open_index):
    put("a.md", "They spoke of the red\n\nkiln and of rain.\n")
    put("b.md", "A kiln, red. A red, red kiln shed.\n")
    assert (await paths(open_index(), '"red kiln"'))[0] == "b.md"


async def test_what_was_removed_or_changed_is_quoted_no_more(put, open_index):
    put("a.md", "A reset of the peer, a connection.\n")
    changed = put("b.md", "There was connection reset by peer.\n")
    put("c.md", "There was connection reset by peer, too, and a lot of words that make this one longer.\n")
    index = open_index()
    assert (await paths(index, '"connection reset by peer"'))[:2] == ["b.md", "c.md"]
    changed.write_text("Peer, reset, connection.\n", encoding="utf-8")
    await index.sync()
    assert (await paths(index, '"connection reset by peer"'))[0] == "c.md"
    (changed.parent / "c.md").unlink()
    await index.sync()
    assert set(await paths(index, '"connection reset by peer"')) == {"a.md", "b.md"}
