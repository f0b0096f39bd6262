"""Nodes: the digest notes a question is about, by name and description."""

import pytest

from agentscope_reme.errors import StateError


def node(name: str, description: str, body: str = "") -> str:
    return f"---\nname: {name}\ndescription: {description}\n---\n{body}\n"


async def test_digest_notes_come_with_name_and_description_and_without_text(put, open_index):
    put("digest/wiki/kiln.md", node("Walnut kiln", "How the kiln is fired", "Fire it slowly."))
    put("digest/wiki/ferry.md", node("Ferry", "When the ferry leaves"))
    (hit,) = await open_index().node_search("firing the kiln")
    assert (hit.path, hit.name, hit.description) == ("digest/wiki/kiln.md", "Walnut kiln", "How the kiln is fired")
    assert 0 < hit.score < 1


@pytest.mark.parametrize("body", ["", "Unrelated text.\n"])
async def test_a_node_is_found_by_its_name_and_by_its_description_alone(put, open_index, body):
    put("digest/wiki/a.md", node("kubernetes rollout", "容器平滑升级", body))
    index = open_index()
    for query in ("kubernetes", "rollout", "平滑升级"):
        assert [hit.path for hit in await index.node_search(query)] == ["digest/wiki/a.md"]


async def test_other_notes_do_not_crowd_out_the_nodes(put, open_index):
    for number in range(150):
        put(f"daily/2026-03-01/{number}.md", f"# Kubernetes rollout {number}\n\nkubernetes rollout kubernetes\n")
    for number in range(12):
        put(f"digest/procedure/{number}.md", node(f"step {number}", "mentions the rollout once", "text\n" * 20))
    found = await open_index().node_search("kubernetes rollout", limit=12)
    assert sorted(hit.path for hit in found) == sorted(f"digest/procedure/{number}.md" for number in range(12))


async def test_one_long_note_does_not_take_the_places_of_others(put, open_index):
    put("digest/wiki/long.md", node("long", "long", "\n\n".join(f"The kiln is hot, part {n}." for n in range(900))))
    for number in range(5):
        put(f"digest/wiki/{number}.md", node(f"n{number}", "", f"{'word ' * 60} kiln."))
    found = await open_index().node_search("kiln is hot part", limit=6)
    assert len(found) == 6
    assert len({hit.path for hit in found}) == 6


async def test_best_first_limited_and_empty_when_nothing_answers(put, open_index):
    put("digest/wiki/a.md", node("ferry timetable", "ferry timetable", "The ferry timetable."))
    put("digest/wiki/b.md", node("harbour", "boats", "A ferry among others."))
    put("digest/personal/photo.txt", "ferry timetable")
    index = open_index()
    found = await index.node_search("ferry timetable")
    assert [hit.path for hit in found] == ["digest/wiki/a.md", "digest/wiki/b.md"]
    assert found[0].score > found[1].score
    assert len(await index.node_search("ferry", limit=1)) == 1
    for nothing in ("zeppelin", "", "   ", "!!!"):
        assert await index.node_search(nothing) == []


async def test_a_node_without_front_matter_goes_by_its_heading_or_file_name(put, open_index):
    put("digest/wiki/a.md", "# The walnut kiln\n\nHot.\n")
    put("digest/wiki/walnut-tree.md", "It grows.\n")
    found = await open_index().node_search("walnut")
    assert {hit.path: hit.name for hit in found} == {
        "digest/wiki/a.md": "The walnut kiln",
        "digest/wiki/walnut-tree.md": "walnut-tree",
    }
    assert all(hit.description == "" for hit in found)


async def test_nodes_written_just_now_are_found_and_a_closed_index_says_so(open_index):
    index = open_index()
    await index.vault.write("digest/wiki/a.md", node("walnut", "kiln"))
    assert [hit.name for hit in await index.node_search("walnut")] == ["walnut"]
    await index.close()
    with pytest.raises(StateError):
        await index.node_search("walnut")
