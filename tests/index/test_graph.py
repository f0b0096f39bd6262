"""The link graph: what leads where, whatever the order in which files came and went."""

import asyncio
import marshal
from contextlib import nullcontext
from types import SimpleNamespace
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentscope_reme import ReMeConfig
from agentscope_reme.index import Index, link_records
from agentscope_reme.index.graph import Edge, LinkGraph, Step
from agentscope_reme.index.link_records import packed_links
from agentscope_reme.index.texts import Texts
from agentscope_reme.models import FileLink
from agentscope_reme.vault import Vault
from agentscope_reme.vault.link_target import LinkRule
from agentscope_reme.vault.numbered_paths import NumberedPaths
from agentscope_reme.vault.pieces import Pieces
from agentscope_reme.vault.wikilink import parse_links

PATHS = ["a.md", "b.md", "x/a.md", "x/Note.md", "张三.md", "pic.png", "x/e\u0301.md", "x/\u00e9.md"]
TARGETS = [
    *PATHS,
    "a",
    "A",
    "note",
    "Note.md",
    "x/a",
    "x/note",
    "ghost",
    "ghost.md",
    "三哥",
    "",
    "https://x.y",
    "../out.md",
    "pic.png",
]
NAMES = [(), ("三哥",), ("Ghost", "a")]


def graph(
    files: dict[str, str], rule: LinkRule = "literal", names: dict[str, tuple[str, ...]] | None = None
) -> LinkGraph:
    built = LinkGraph(rule)
    for path, text in files.items():
        built.set_file(path, parse_links(text, path), (names or {}).get(path, ()))
    return built


def ends(edges: tuple[Edge, ...]) -> list[tuple[str, str | None]]:
    return [(edge.link.source_path, edge.target) for edge in edges]


def test_out_and_in_links_of_a_file_in_order() -> None:
    built = graph({"b.md": "x [[a.md]]", "a.md": "[[c.md]]\n[[b.md#part|shown]]", "c.md": "kind:: [[a.md]]"})
    assert ends(built.outlinks("a.md")) == [("a.md", "c.md"), ("a.md", "b.md")]
    assert ends(built.inlinks("a.md")) == [("b.md", "a.md"), ("c.md", "a.md")]
    assert built.inlinks("a.md")[1].link.predicate == "kind"
    assert built.outlinks("a.md")[1].link.alias == "shown"


def test_a_literal_target_is_not_completed() -> None:
    built = graph({"a.md": "[[b]] [[B.md]] [[b.md]]", "b.md": ""})
    assert [edge.target for edge in built.outlinks("a.md")] == [None, None, "b.md"]
    assert len(built.inlinks("b.md")) == 1


def test_an_obsidian_target_is_a_name_or_an_alias() -> None:
    names = {"people/zs.md": ("张三", "三哥", "Zhang San")}
    built = graph({"a.md": "[[张三]] [[三哥]] [[zhang san]] [[ZS]]", "people/zs.md": ""}, "obsidian", names)
    assert [edge.target for edge in built.outlinks("a.md")] == ["people/zs.md"] * 4
    assert len(built.inlinks("people/zs.md")) == 4
    assert built.unresolved() == ()


def test_inlinks_may_be_asked_by_the_other_rule() -> None:
    built = graph({"a.md": "[[Topic]]", "notes/Topic.md": ""})
    assert built.inlinks("notes/Topic.md") == ()
    assert ends(built.inlinks("notes/Topic.md", rule="obsidian")) == [("a.md", "notes/Topic.md")]


def test_unresolved_links_are_those_to_missing_ambiguous_and_outside_files() -> None:
    text = "[[ghost.md]] [[../../etc/passwd]] [[https://x.y]] ![[pic.png]] [[#here]] [[a.md]]"
    assert [edge.link.target_path for edge in graph({"a.md": text}).unresolved()] == ["../../etc/passwd", "ghost.md"]
    both = graph({"x/n.md": "", "y/n.md": "", "a.md": "[[n]]"}, "obsidian")
    [edge] = both.unresolved()
    assert edge.resolution.candidates == ("x/n.md", "y/n.md")


def unpacked(monkeypatch) -> list[int]:
    """How many links each call unpacks from now on."""
    counts: list[int] = []

    def loads(data):
        found = marshal.loads(data)
        counts.append(len(found))
        return found

    monkeypatch.setattr(link_records, "marshal", SimpleNamespace(loads=loads, dumps=marshal.dumps))
    return counts


def test_the_links_of_a_note_are_unpacked_once_for_all_that_lead_nowhere(monkeypatch) -> None:
    built = graph({"a.md": "\n".join(f"[[ghost {number}.md]]" for number in range(200)), "b.md": "[[ghost 3.md]]"})
    counts = unpacked(monkeypatch)
    found = built.unresolved()
    assert [(edge.link.source_path, edge.link.line) for edge in found] == [
        *(("a.md", line) for line in range(1, 201)),
        ("b.md", 1),
    ]
    assert sorted(counts) == [1, 200]


def test_of_a_note_with_very_many_links_a_few_are_unpacked_together(monkeypatch) -> None:
    monkeypatch.setattr(link_records, "TOGETHER", 10)
    text = "\n".join(f"[[note {number}.md]]" for number in range(95))
    built = graph({"a.md": text, "b.md": "[[a.md]]"})
    links = parse_links(text, "a.md")
    assert built.links("a.md") == links
    assert packed_links(links) == packed_links(built.links("a.md"))
    counts = unpacked(monkeypatch)
    assert [one.path for one in built.neighbours("a.md", 3)] == ["note 0.md", "note 1.md", "note 2.md", "b.md"]
    assert len(built.traverse("a.md", 1, "out", 5)) == 6
    assert max(counts) == 10
    assert sum(counts) < 95
    built.set_file("a.md", parse_links("[[b.md]]", "a.md"))
    assert ends(built.unresolved()) == []
    assert ends(built.outlinks("a.md")) == [("a.md", "b.md")]


def test_a_link_resolves_once_its_file_exists_and_no_longer_when_it_is_gone() -> None:
    built = graph({"a.md": "[[later.md]]"})
    assert len(built.unresolved()) == 1
    built.set_file("later.md")
    assert ends(built.inlinks("later.md")) == [("a.md", "later.md")]
    built.remove_file("later.md")
    assert len(built.unresolved()) == 1
    assert built.inlinks("later.md") == ()


def test_a_file_that_is_set_again_has_only_its_new_links() -> None:
    built = graph({"a.md": "[[b.md]] [[b.md]]", "b.md": "", "c.md": ""})
    assert len(built.inlinks("b.md")) == 2
    built.set_file("a.md", parse_links("[[c.md]]", "a.md"))
    assert built.inlinks("b.md") == ()
    assert ends(built.inlinks("c.md")) == [("a.md", "c.md")]
    built.remove_file("a.md")
    built.remove_file("never there.md")
    assert built.inlinks("c.md") == ()


def test_a_link_to_its_own_note_is_no_inlink() -> None:
    built = graph({"a.md": "[[#part]] [[a.md]]"})
    assert built.inlinks("a.md") == ()


def test_traverse_meets_each_file_once_nearest_first() -> None:
    built = graph(
        {"a.md": "[[b.md]] [[c.md]]", "b.md": "[[d.md]] [[a.md]]", "c.md": "[[d.md]]", "d.md": "[[e.md]]", "e.md": ""}
    )
    steps = built.traverse("a.md", depth=2, direction="out")
    assert [(step.path, step.depth) for step in steps] == [("a.md", 0), ("b.md", 1), ("c.md", 1), ("d.md", 2)]
    assert steps[3].edge is not None
    assert steps[3].edge.link.source_path == "b.md"
    assert [step.path for step in built.traverse("d.md", 1, "in")] == ["d.md", "b.md", "c.md"]
    assert [step.path for step in built.traverse("d.md", 1)] == ["d.md", "e.md", "b.md", "c.md"]
    assert [step.path for step in built.traverse("a.md", 0)] == ["a.md"]
    assert built.traverse("no.md") == ()


def test_traverse_shows_missing_files_and_stops_there() -> None:
    steps = graph({"a.md": "[[ghost.md]] [[https://x.y]] [[../out.md]]"}).traverse("a.md", 3, "out")
    assert [(step.path, step.exists) for step in steps] == [("a.md", True), ("ghost.md", False)]


def test_traverse_is_bounded_on_a_hub() -> None:
    files = {f"n{n}.md": "[[hub.md]]" for n in range(500)} | {"hub.md": "".join(f"[[n{n}.md]] " for n in range(500))}
    assert len(graph(files).traverse("hub.md", 5, limit=10)) == 11
    assert len(graph(files).traverse("hub.md", 5)) == 101


def test_a_walk_does_not_read_the_links_of_a_hub_for_each_note_that_it_links() -> None:
    files = {f"n{n}.md": "[[hub.md]]" for n in range(50)} | {"hub.md": "".join(f"[[n{n}.md]] " for n in range(50))}
    read = mock.Mock(side_effect=link_records.links_to)
    with mock.patch("agentscope_reme.index.graph.links_to", read):
        assert len(graph(files).traverse("hub.md", 5)) == 51
        assert len(graph(files).traverse("n7.md", 5)) == 51
    assert read.call_count < 10


def test_a_file_whose_links_stay_gets_its_other_names() -> None:
    graph = LinkGraph("obsidian")
    links = parse_links("[[b]] [[New]]", "a.md")
    graph.set_file("b.md")
    for names, leads_to in (((), None), (("New",), "a.md"), (("Newer",), None), (("Other", "New"), "a.md")):
        graph.set_file("a.md", links, names)
        assert graph.resolve("New").path == leads_to
        assert [edge.link.target_path for edge in graph.inlinks("b.md")] == ["b"]


@pytest.mark.parametrize("hashes", ["as they are", "all the same"])
@pytest.mark.parametrize("rule", ["literal", "obsidian"])
@given(
    changes=st.lists(
        st.tuples(
            st.sampled_from(PATHS),
            st.none() | st.tuples(st.lists(st.sampled_from(TARGETS), max_size=4), st.sampled_from(NAMES)),
        ),
        max_size=12,
    )
)
def test_after_any_changes_the_answers_are_those_of_a_graph_built_anew(
    rule: LinkRule, hashes: str, changes: list[tuple[str, tuple[list[str], tuple[str, ...]] | None]]
) -> None:
    constant = mock.patch("agentscope_reme.index.graph.hash_of", return_value=7)
    with constant if hashes == "all the same" else nullcontext():
        compare_with_a_new_graph(rule, changes)


def compare_with_a_new_graph(
    rule: LinkRule, changes: list[tuple[str, tuple[list[str], tuple[str, ...]] | None]]
) -> None:
    changed, files = LinkGraph(rule), {}
    for path, content in changes:
        if content is None:
            changed.remove_file(path)
            files.pop(path, None)
        else:
            links = tuple(FileLink(path, target, line=number) for number, target in enumerate(content[0], 1))
            changed.set_file(path, links, content[1])
            files[path] = (links, content[1])
    anew, at_once = LinkGraph(rule), LinkGraph(rule)
    for path in sorted(files, reverse=True):
        anew.set_file(path, *files[path])
    linked = Pieces(packed_links(links) for links, _ in files.values())
    # Texts of targets that are known: some of those that are met, and others.
    known = Texts(TARGETS[::2], packed=True)
    at_once.fill(NumberedPaths(files), linked, (names for _, names in files.values()), known)
    compare(changed, anew, files)
    compare(at_once, anew, files)


def compare(
    changed: LinkGraph, anew: LinkGraph, files: dict[str, tuple[tuple[FileLink, ...], tuple[str, ...]]]
) -> None:
    assert len(changed) == len(files)
    assert changed.unresolved() == anew.unresolved()
    for target in TARGETS:
        assert changed.softly(target) == anew.resolve(target, rule="obsidian").path
    for path in PATHS:
        assert changed.outlinks(path) == anew.outlinks(path)
        assert changed.inlinks(path) == anew.inlinks(path)
        assert changed.traverse(path, 3) == anew.traverse(path, 3)
        if path in changed:
            inward = {
                edge.link.source_path: Step(edge.link.source_path, 1, edge) for edge in changed.inlinks(path)[::-1]
            }
            assert set(changed.traverse(path, 1, "in")[1:]) == set(inward.values())
        # In-links are the out-links of all files, read the other way round.
        leading = [
            edge
            for source in sorted(files)
            if source != path
            for edge in changed.outlinks(source)
            if edge.target == path
        ]
        assert list(changed.inlinks(path)) == leading
        # Neighbours are the same, each file once in a direction, by its first link.
        out = {edge.target or edge.link.target_path: edge for edge in changed.outlinks(path) if leads(edge, path)}
        into = {edge.link.source_path for edge in leading}
        for most in (10, 1):
            found = changed.neighbours(path, most)
            assert changed.neighbours(path, most, packed_links(changed.links(path))) == found
            assert [one.path for one in found if one.direction == "out"] == list(out)[:most]
            assert [one.path for one in found if one.direction == "in"] == sorted(into)[:most]
            for one in found:
                assert one.exists == (one.path in files)
                links = changed.outlinks(path if one.direction == "out" else one.path)
                assert one.line in {edge.link.line for edge in links if edge.target in (path, one.path, None)}


def leads(edge: Edge, path: str) -> bool:
    """Whether a link leads to another note, be it one that is not there."""
    kind, target = edge.resolution.kind, edge.link.target_path
    return edge.target not in (None, path) or (kind in ("unresolved", "ambiguous") and target != "pic.png")


def test_a_neighbour_tells_where_its_first_link_stands_and_as_what() -> None:
    built = graph({"a.md": "about:: [[b.md]]\n\n[[b.md|again]]\n", "b.md": "x\n\nsee [[a.md]] (part_of:: [[a.md]])\n"})
    out, into = built.neighbours("a.md")
    assert (out.path, out.direction, out.line, out.predicate) == ("b.md", "out", 1, "about")
    assert (into.path, into.direction, into.line, into.exists) == ("b.md", "in", 3, True)
    assert built.neighbours("a.md", 0) == ()


def test_by_the_obsidian_rule_a_name_in_another_normal_form_leads_to_the_composed_one() -> None:
    decomposed, composed = "e\u0301.md", "\u00e9.md"
    built = graph({decomposed: "", composed: "", "a.md": f"[[{decomposed}]]"}, "obsidian")
    assert [one.path for one in built.neighbours("a.md")] == [composed]


def test_a_literal_link_in_another_normal_form_leads_in_and_one_in_other_letters_does_not() -> None:
    decomposed, composed = "e\u0301.md", "\u00e9.md"
    built = graph({composed: "", "a.md": f"[[{decomposed}]]", "b.md": "[[\u00c9.md]]", "c.md": f"[[x/{composed}]]"})
    assert [(one.path, one.direction) for one in built.neighbours(composed)] == [("a.md", "in")]


def test_of_two_paths_in_two_normal_forms_each_has_the_literal_links_that_are_spelled_like_it() -> None:
    decomposed, composed = "e\u0301.md", "\u00e9.md"
    built = graph({composed: "", decomposed: "", "a.md": f"[[{composed}]]", "b.md": f"[[{decomposed}]]"})
    assert [one.path for one in built.neighbours(composed)] == ["a.md"]
    assert [one.path for one in built.neighbours(decomposed)] == ["b.md"]


def test_an_opened_graph_has_the_targets_texts_once_with_the_words_around_links(tmp_path):
    """Those of links in the front matter too, which have no words around them; after changes each has its own."""
    (tmp_path / "a.md").write_text("---\nsee: '[[only in front]]'\n---\nA word [[b]] and [[张三]] beside.\n", "utf-8")
    (tmp_path / "b.md").write_text("Nothing links from here.\n", "utf-8")
    built = Index(Vault(tmp_path), ReMeConfig(vault_dir=tmp_path))
    asyncio.run(_synced(built))
    index = Index(Vault(tmp_path), ReMeConfig(vault_dir=tmp_path))
    opened = index._opened()
    assert opened.store.corpus.files
    graph, anchors = opened.store.graph, opened.store.corpus.anchors
    assert {text for _, text in graph._texts.living()} == {"b", "张三", "only in front"}
    assert graph._texts.names._pieces._state[0] is anchors.targets.names._pieces._state[0]
    assert [edge.link.target_path for edge in graph.outlinks("a.md")] == ["only in front", "b", "张三"]
    graph.set_file("a.md", ())
    assert {text for _, text in graph._texts.living()} == set()
    assert {"b", "张三"} <= {text for _, text in anchors.targets.living()}
    asyncio.run(index.close())


async def _synced(index: Index) -> None:
    await index.sync()
    await index.close()
