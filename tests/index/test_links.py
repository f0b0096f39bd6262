"""Walks, loose links and neighbours as an index answers them; moves that ask it are those that read every file."""

import shutil
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentscope_reme import ReMe, ReMeConfig
from agentscope_reme.errors import NoteNotFound, ReMeError
from agentscope_reme.index import Index
from agentscope_reme.index.texts import PackedTexts
from agentscope_reme.vault import Vault


def chain(put, length: int) -> None:
    for number in range(length):
        put(f"{number}.md", f"---\nname: n{number}\ndescription: d{number}\n---\nnext:: [[{number + 1}.md]]\n")


# --- walks --------------------------------------------------------------------------------------------------------


async def test_a_walk_names_each_note_with_its_way(put, open_index):
    chain(put, 3)
    found = await open_index().traverse("1.md")
    assert (found.path, found.more) == ("1.md", False)
    out, back = found.notes
    assert (out.path, out.direction, out.via, out.predicate, out.line) == ("2.md", "out", "1.md", "next", 5)
    assert (out.name, out.description, out.exists) == ("n2", "d2", True)
    assert (back.path, back.direction, back.via, back.line) == ("0.md", "in", "1.md", 5)


async def test_depth_and_direction_bound_a_walk(put, open_index):
    chain(put, 30)
    index = open_index()

    async def met(*args) -> list[tuple[str, int]]:
        return [(note.path, note.depth) for note in (await index.traverse("10.md", *args)).notes]

    assert await met(0) == []
    assert await met(2, "out") == [("11.md", 1), ("12.md", 2)]
    assert await met(2, "in") == [("9.md", 1), ("8.md", 2)]
    assert await met(2, "forward") == await met(2, "out")
    assert await met(2, "backward") == await met(2, "in")
    assert len(await met(1000, "out")) == 10, "ten links are as far as a walk goes"
    assert await met(-5) == []


async def test_a_walk_ends_at_its_limit_and_says_so(put, open_index):
    put("hub.md", "\n".join(f"[[{number}.md]]" for number in range(50)))
    for number in range(50):
        put(f"{number}.md", "[[hub.md]]\n")
    index = open_index()
    assert ((await index.traverse("hub.md", limit=50)).more, (await index.traverse("hub.md", limit=49)).more) == (
        False,
        True,
    )
    assert len((await index.traverse("hub.md", 5, limit=7)).notes) == 7
    assert (await index.traverse("hub.md", limit=0)).notes == ()


async def test_a_linked_note_that_is_not_there_is_named_and_pictures_are_not(put, open_index):
    put("a.md", "[[ghost.md]] ![[pic.png]] [[https://x.y]] [[../../etc/passwd]] [[#here]]\n")
    (ghost,) = (await open_index().traverse("a.md", 3)).notes
    assert (ghost.path, ghost.exists, ghost.name) == ("ghost.md", False, "")


async def test_a_walk_may_start_at_a_name_that_one_note_has(put, open_index):
    put("x/Note.md", "[[y/other.md]]\n")
    put("y/other.md", "---\naliases: [三哥]\n---\n")
    put("a/Same.md", "")
    put("b/Same.md", "")
    index = open_index()
    assert (await index.traverse("note")).path == "x/Note.md"
    assert (await index.traverse("三哥")).path == "y/other.md"
    with pytest.raises(NoteNotFound, match=r"a/Same\.md, b/Same\.md"):
        await index.traverse("same")
    with pytest.raises(NoteNotFound, match="no ghost"):
        await index.traverse("ghost")


# --- loose links and neighbours -----------------------------------------------------------------------------------


async def test_loose_links_say_what_is_wrong_with_each(put, open_index):
    put("a.md", "[[ghost]]\n[[same]]\n[[../out.md]] [[https://x.y]] ![[pic.png]]\n")
    put("x/same.md", "")
    put("y/same.md", "")
    literal = [(link.path, link.line, link.target, link.kind) for link in await open_index().loose_links()]
    assert literal == [
        ("a.md", 1, "ghost", "unresolved"), ("a.md", 2, "same", "unresolved"), ("a.md", 3, "../out.md", "outside"),
    ]  # fmt: skip
    obsidian = await open_index(link_resolution="obsidian").loose_links()
    assert [(link.target, link.kind, link.candidates) for link in obsidian] == [
        ("ghost", "unresolved", ()),
        ("same", "ambiguous", ("x/same.md", "y/same.md")),
        ("../out.md", "outside", ()),
    ]


async def test_a_note_that_comes_or_goes_changes_what_is_loose(put, vault_dir, open_index):
    put("a.md", "[[b.md]]\n")
    index = open_index()
    assert len(await index.loose_links()) == 1
    await index.vault.write("b.md", "Here.\n")
    assert await index.loose_links() == ()
    await index.vault.delete("b.md")
    assert [link.target for link in await index.loose_links()] == ["b.md"]


async def test_hits_come_with_at_most_ten_neighbours_a_direction_and_their_names(put, open_index):
    put("hub.md", "The walnut kiln. " + " ".join(f"[[out/{number:02}.md]]" for number in range(30)))
    for number in range(30):
        put(f"out/{number:02}.md", f"---\nname: out {number}\ndescription: about {number}\n---\n")
        put(f"in/{number:02}.md", f"made_by:: [[hub.md]]\n{'[[hub.md]] ' * 3}")
    hits = (await open_index().search("walnut kiln", 100)).hits
    (hit,) = [hit for hit in hits if hit.path == "hub.md"]
    assert hit.outlinks == tuple(f"out/{number:02}.md" for number in range(10))
    assert hit.inlinks == tuple(f"in/{number:02}.md" for number in range(10))
    assert len(hit.linked) == 20
    assert (hit.linked[3].name, hit.linked[3].description) == ("out 3", "about 3")
    assert {note.predicate for note in hit.linked if note.direction == "in"} == {"made_by"}


async def test_by_the_obsidian_rule_neighbours_are_what_the_names_stand_for(put, open_index):
    put("a.md", "The walnut kiln. [[note]] [[same]]\n")
    put("x/Note.md", "[[A]]\n")
    put("x/same.md", "")
    put("y/same.md", "")
    (hit,) = [hit for hit in (await open_index(link_resolution="obsidian").search("kiln")).hits if hit.path == "a.md"]
    assert hit.outlinks == ("x/Note.md", "same")
    assert hit.inlinks == ("x/Note.md",)
    assert [note.exists for note in hit.linked] == [True, False, True]


# --- moves and deletes that ask the index -------------------------------------------------------------------------


@pytest.fixture
def read_notes(monkeypatch):
    """Which notes were looked into for links."""
    from agentscope_reme.vault import inbound, relocation

    read: list[str] = []
    text_of = inbound.text_of

    def counted(files, path):
        read.append(path)
        return text_of(files, path)

    monkeypatch.setattr(inbound, "text_of", counted)
    monkeypatch.setattr(relocation, "text_of", counted)
    return read


async def test_a_move_reads_only_the_notes_that_may_link(vault_dir: Path, put, read_notes):
    for number in range(40):
        put(f"{number}.md", f"target is a word here, and [[other{number}.md]]\n")
    put("target.md", "x\n")
    put("links.md", "[[target.md]]\n")
    reme = ReMe(vault_dir)
    await reme.index.sync()
    change = await reme.vault.move("target.md", "moved.md")
    assert [link.source_path for link in change.links] == ["links.md"]
    assert read_notes == ["links.md"]
    assert (vault_dir / "links.md").read_text() == "[[moved.md]]\n"
    deleted = await reme.vault.delete("moved.md")
    assert [link.source_path for link in deleted.links] == ["links.md"]
    await reme.close()


async def test_a_link_that_another_program_has_just_written_follows_a_move(vault_dir: Path, put):
    put("target.md", "x\n")
    put("late.md", "[[nothing.md]]\n")
    reme = ReMe(vault_dir)
    await reme.index.sync()
    put("late.md", "[[target.md]] \n")  # same size, within the clock's grain
    put("new.md", "[[target.md]]\n")
    change = await reme.vault.move("target.md", "moved.md")
    assert sorted(link.source_path for link in change.links) == ["late.md", "new.md"]
    await reme.close()


async def test_a_file_the_index_could_not_read_is_looked_into(vault_dir: Path, put, monkeypatch):
    from agentscope_reme.index import sync

    monkeypatch.setattr(sync, "MAX_FILE_BYTES", 100)
    put("target.md", "x\n")
    put("long.md", "[[target.md]]\n" + "word " * 100)
    reme = ReMe(vault_dir)
    await reme.index.sync()
    change = await reme.vault.move("target.md", "moved.md")
    assert [link.source_path for link in change.links] == ["long.md"]
    await reme.close()


async def test_a_move_finds_what_a_watcher_has_not_been_told_yet(vault_dir: Path, put, monkeypatch):
    from agentscope_reme.index.watch_events import FileEvents

    put("target.md", "x\n")
    async with ReMe(vault_dir) as reme:
        await reme.index.sync()
        if not reme.index.status()["watched"]:
            pytest.skip("this system tells of no changes, so that there is no watcher to wait for")
        monkeypatch.setattr(FileEvents, "dispatch", lambda self, event: None)
        put("new.md", "[[target.md]]\n")
        change = await reme.vault.move("target.md", "moved.md")
        assert [link.source_path for link in change.links] == ["new.md"]


async def test_without_an_index_that_is_sure_the_files_are_read(vault_dir: Path, put, monkeypatch):
    put("target.md", "x\n")
    put("links.md", "[[target.md]]\n")
    reme = ReMe(vault_dir)
    assert reme.index.notes_naming(["target.md"]) is None, "nothing has been looked at yet"
    await reme.index.sync()
    assert reme.index.notes_naming(["target.md"]) == {"links.md"}
    monkeypatch.setattr(type(reme.index._freshness), "catch_up", lambda self, seconds: "it is behind")
    assert reme.index.notes_naming(["target.md"]) is None
    change = await reme.vault.move("target.md", "moved.md")
    assert [link.source_path for link in change.links] == ["links.md"]
    await reme.close()
    assert Index(Vault(vault_dir), ReMeConfig(ignore=("links.md",))).notes_naming(["moved.md"]) is None


@pytest.mark.parametrize("error", [TimeoutError(), OSError("the disk is gone")])
async def test_when_what_changed_cannot_be_read_the_files_are_read(vault_dir: Path, put, monkeypatch, error):
    from agentscope_reme.index.freshness import Freshness

    def refused(self, seconds):
        raise error

    put("target.md", "x\n")
    put("links.md", "[[target.md]]\n")
    reme = ReMe(vault_dir)
    await reme.index.sync()
    with monkeypatch.context() as patch:
        patch.setattr(Freshness, "read_changed", refused)
        assert reme.index.notes_naming(["target.md"]) is None
        change = await reme.vault.move("target.md", "moved.md")
    assert [link.source_path for link in change.links] == ["links.md"]
    await reme.close()


async def test_a_move_while_the_index_is_written_ends(vault_dir: Path, put):
    """Each waits for nothing that the other holds."""
    import asyncio

    for number in range(30):
        put(f"{number}.md", f"[[{(number + 1) % 30}.md]] text {number}\n")
    reme = ReMe(vault_dir)
    await reme.index.sync()

    async def save() -> None:
        for _ in range(20):
            await reme.index.persist()

    async def rename() -> None:
        for number in range(10):
            await reme.vault.move(f"{number}.md", f"moved/{number}.md")

    async with asyncio.timeout(60):
        await asyncio.gather(save(), rename(), *(reme.search("text") for _ in range(20)))
    assert await reme.index.verify() == ()
    await reme.close()


NAMES = ["a.md", "A.md", "b.md", "x/a.md", "x/b.md", "y/Note.md", "日记.md", "x/n.md.md", "resource/r.md", "d/1/a.md"]
TARGETS = [
    *NAMES,
    "a",
    "b",
    "note",
    "x/a",
    "n.md",
    "n",
    "日记",
    "ghost.md",
    "a.md#part",
    "resource/r",
    " a.md ",
    "./a.md",
]
NOTES = st.dictionaries(
    st.sampled_from(NAMES),
    st.lists(
        st.one_of(
            st.sampled_from(TARGETS).map(lambda target: f"kind:: [[{target}|shown]]"),
            st.sampled_from(TARGETS).map(lambda target: f"`[[{target}]]` text [[{target}]]"),
            st.sampled_from(TARGETS).map(lambda target: f"<!-- [[{target}]] --> ![[{target}]]"),
            st.just("words only: a.md"),
        ),
        max_size=4,
    ),
    min_size=2,
)


@given(
    notes=NOTES,
    fronts=st.sets(st.sampled_from(NAMES)),
    source=st.sampled_from([*NAMES, "x", "d"]),
    target=st.sampled_from(["new.md", "z/new.md", "z/"]),
    rule=st.sampled_from(["literal", "obsidian"]),
)
@settings(max_examples=40)
def test_a_move_that_asks_the_index_is_one_that_reads_every_file(tmp_path_factory, notes, fronts, source, target, rule):
    import asyncio

    base = tmp_path_factory.mktemp("move")
    for path, lines in notes.items():
        file = base / "plain" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        front = "---\nup: '[[a.md]]'\naliases: [b, note]\n---\n" if path in fronts else ""
        file.write_text(front + "\n".join(lines) + "\n", encoding="utf-8")
    shutil.copytree(base / "plain", base / "asked")

    def outcome(vault: Vault) -> tuple[object, ...]:
        try:
            change = vault.move_sync(source, target)
            said: object = (change.path, change.kind, change.links, change.failed)
        except ReMeError as error:
            said = type(error).__name__
        files = sorted(path for path in vault.root.rglob("*.md") if "history" not in path.parts)
        return said, [(path.relative_to(vault.root).as_posix(), path.read_bytes()) for path in files]

    async def asking() -> tuple[object, ...]:
        reme = ReMe(base / "asked", link_resolution=rule)
        await reme.index.sync()
        try:
            assert reme.index.notes_naming(["a.md"]) is not None
            return await asyncio.to_thread(outcome, reme.vault)
        finally:
            await reme.close()

    assert asyncio.run(asking()) == outcome(Vault(base / "plain", link_rule=rule))


# --- the graph is part of what is compared ------------------------------------------------------------------------


async def test_a_graph_that_is_not_what_the_files_say_is_found_by_comparing(put, open_index):
    put("a.md", "[[b.md]] ![[pic.png|100x50]]\n")
    put("b.md", "kind:: [[a.md]]\n")
    index = open_index()
    assert await index.verify() == ()
    await index.close()
    index = open_index()
    assert await index.verify() == (), "what was stored is all that was read"
    assert index._opened().sync.passes == 0
    index.graph.set_file("b.md", ())
    index.graph.set_file("ghost.md", ())
    assert await index.verify() == (
        "b.md: its links in the graph are not those it was read with",
        "ghost.md: in the graph of links, but not in the index",
    )
    await index.reindex()
    assert await index.verify() == ()


async def test_the_texts_of_targets_are_kept_packed_by_the_graph_and_with_the_words_around_links(put, open_index):
    put("a.md", "Otters live near [[the far bank]] of the river.\n")
    index = open_index()
    await index.sync()
    store = index._opened().store
    for kept in (store.graph._texts, store.corpus.anchors._targets):
        assert list(kept.living()) == [(0, "the far bank")]
        assert isinstance(kept.names, PackedTexts), "no object for each of them"
