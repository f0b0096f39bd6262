"""What is kept of files reads as it was put, whatever came, went and was stored meanwhile."""

import copy

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentscope_reme.index import packed_file
from agentscope_reme.index.entries import FileEntry
from agentscope_reme.index.files import Files, FilesById, Marked
from agentscope_reme.index.packed_file import section_in
from agentscope_reme.models import FileLink

PATHS = ["a.md", "b.md", "x/a.md", "张三.md", "MEMORY.md"]
texts = st.text(max_size=5)
words = st.lists(texts, max_size=2).map(tuple)
values = st.one_of(st.none(), st.booleans(), st.integers(), texts, st.lists(texts, max_size=2), st.floats(0, 1))


@st.composite
def entries(draw) -> FileEntry:
    path = draw(st.sampled_from(PATHS))
    slots = sorted(draw(st.sets(st.integers(0, 9), max_size=4)))
    links = [
        FileLink(path, *draw(st.tuples(texts, *[st.none() | texts] * 3, st.booleans(), st.integers(0, 9))))
        for _ in range(draw(st.integers(0, 2)))
    ]
    number = st.integers(0, 2**62)
    return FileEntry(
        path, draw(number), draw(number), draw(number), draw(number), f"{draw(number):064x}",
        encoding=draw(st.sampled_from(["utf-8", "gb18030"])), kind=draw(st.sampled_from(["note", "journal"])),
        title=draw(texts), day=draw(st.integers(0, 20_000)), description=draw(texts), tags=draw(words),
        aliases=draw(words), front=draw(st.dictionaries(texts, values, max_size=2)), links=tuple(links),
        lines=draw(st.integers(0, 9)), fault=draw(texts), label_slot=draw(st.integers(0, 9)), start=4,
        slots=np.array(slots, np.int32), voices=draw(st.frozensets(st.integers(0, 3), max_size=2)),
        sections=tuple(draw(st.lists(words, max_size=2))),
    )  # fmt: skip


FIELDS = tuple(name for name in FileEntry.__slots__ if name not in ("labels", "anchors", "slots", "packed", "tells"))


def same(known, entry: FileEntry, fields: tuple[str, ...] = FIELDS) -> bool:
    return [getattr(known, name) for name in fields] == [getattr(entry, name) for name in fields]


steps = st.lists(
    st.one_of(
        entries(),
        st.tuples(st.sampled_from(["remove", "renumber", "store"]), st.sampled_from(PATHS)),
        st.tuples(st.sampled_from(PATHS), st.sampled_from(PATHS)),
    ),
    max_size=12,
)


@given(steps)
def test_files_read_as_they_were_put_whatever_came_and_went(steps):
    files, plain = Files(), {}
    for step in steps:
        if isinstance(step, FileEntry):
            files.put(step)
            plain.pop(step.path, None)
            plain[step.path] = step
        elif step[0] == "remove":
            if plain.pop(step[1], None) is not None:
                files.remove(step[1])
        elif step[0] == "renumber":
            files.renumber()
            assert [known.id for known in files.living()] == list(range(len(plain)))
        elif step[0] == "store":
            files.renumber()
            records, columns, names = files.dump()
            records = copy.deepcopy(list(records))
            slots, counts, heard = files.slots(), files.column("units"), [known.id for known in files.heard()]
            voices = {number: FilesById(files)[number].voices for number in heard}
            files = Files.load(records, columns, names)
            files.set_slots(slots, counts)
            for number, speaking in voices.items():
                FilesById(files)[number].voices = speaking
            files.set_column("start", np.full(len(plain), 4))
        elif step[0] in plain and step[1] not in plain:
            entry = plain[step[1]] = plain.pop(step[0])
            entry.path = step[1]
            entry.links = tuple(FileLink(step[1], *_said(link)) for link in entry.links)
            files.rename(*step)
    assert list(files) == list(plain)
    for path, entry in plain.items():
        known = files[path]
        assert same(known, entry)
        assert known.slots.tolist() == entry.slots.tolist()
        assert FilesById(files)[known.id] == known
        assert known.tells == (
            path == "MEMORY.md" or entry.front.get("pinned") is True or bool({"valid_to"} & entry.front.keys())
        )
    assert files.slots().tolist() == [slot for entry in plain.values() for slot in entry.slots.tolist()]
    assert {known.path for known in files.heard()} == {path for path, entry in plain.items() if entry.voices}


def _said(link: FileLink) -> list[object]:
    return [getattr(link, name) for name in FileLink.__slots__ if name != "source_path"]


def entry(path: str, **changes) -> FileEntry:
    return FileEntry(path, 1, 2, 3, 4, changes.pop("digest", "0" * 64), **changes)


def test_files_put_together_are_as_those_put_one_by_one_and_none_is_there_when_one_cannot_be_kept():
    together, apart = Files(), Files()
    some = [
        entry(f"{name}.md", title=name, kind=kind, fault="half" * (name == "b")) for name, kind in ("ax", "by", "cx")
    ]
    for number, one in enumerate(some):
        one.slots = np.arange(3 * number, 3 * number + number)
    together.put(entry("b.md"))
    apart.put(entry("b.md"))
    together.put_all(some)
    for one in some:
        apart.put(one)
    assert list(together) == list(apart) == ["a.md", "b.md", "c.md"]
    assert together.slots().tolist() == apart.slots().tolist() == [3, 6, 7]
    for path in together:
        mine, other = together[path], apart[path]
        assert (mine.id, mine.card, mine.kind, mine.fault, mine.size) == (
            other.id, other.card, other.kind, other.fault, other.size,
        )  # fmt: skip
    with pytest.raises(ValueError, match="no SHA-256"):
        together.put_all([entry("d.md"), entry("e.md", digest="00")])
    assert list(together) == ["a.md", "b.md", "c.md"]
    together.put(entry("f.md"))
    assert together["f.md"].mtime == 2


@pytest.mark.parametrize("together", [2, 3, 7, 100])
def test_heading_paths_read_as_they_were_put_however_many_are_packed_together(monkeypatch, together):
    monkeypatch.setattr(packed_file, "TOGETHER", together)
    paths = tuple((f"Part {number // 3}", f"Head {number}") for number in range(10))
    files = Files()
    known = files.put(entry("a.md", front={"made": "2024-01-01"}))
    known.sections = paths
    front, kept = known.front_and_sections
    assert (front, known.sections) == ({"made": "2024-01-01"}, paths)
    assert [section_in(kept, number) for number in range(-1, 12)] == [(), *paths, (), ()]


def test_what_is_changed_of_a_file_is_changed_for_all_who_ask():
    files = Files()
    known = files.put(entry("a.md"))
    known.mtime, known.digest, known.lines = 10**18, "f" * 64, 7
    known.slots, known.sections = np.array([3, 9], np.int32), (("Head",),)
    again = files["a.md"]
    assert (again.mtime, again.digest, again.lines) == (10**18, "f" * 64, 7)
    assert again.slots.tolist() == [3, 9]
    assert section_in(again.front_and_sections[1], 0) == ("Head",)
    assert section_in(again.front_and_sections[1], 1) == ()


def test_an_object_of_before_shows_what_was():
    files = Files()
    files.put(entry("a.md"))
    old = files.put(entry("b.md", title="b"))
    files.remove("a.md")
    files.renumber()
    old.mtime = 99
    assert (old.path, old.title) == ("b.md", "b")
    assert files["b.md"].mtime == 2
    assert files["b.md"].id == 0


def test_values_of_classes_of_their_own_are_kept_by_their_json_form():
    class Name(str):
        __slots__ = ()

    files = Files()
    assert files.put(entry("a.md", front={"who": Name("Ann")})).front == {"who": "Ann"}


def test_parts_that_do_not_belong_together_are_refused():
    files = Files()
    files.put(entry("a.md"))
    records, columns, names = files.dump()
    records = list(records)
    wrong = [
        (records * 2, columns, names),
        ([], columns, names),
        (records, columns | {"file.mtime": np.zeros(2, np.int64)}, names),
        (records, columns | {"file.digest": np.zeros(31, np.uint8)}, names),
        (records, columns | {"file.kind": np.ones(1, np.int64)}, names),
    ]
    for parts in wrong:
        with pytest.raises(ValueError, match="belong together"):
            Files.load(*parts)
    files.remove("a.md")
    with pytest.raises(ValueError, match="renumber"):
        files.dump()


@given(
    st.lists(entries(), max_size=6),
    st.lists(st.tuples(st.sampled_from(["put", "mark", "remove", "renumber"]), entries()), max_size=12),
)
def test_what_was_met_stays_met_whatever_is_put_meanwhile(first, steps):
    files = Files()
    for entry in first:
        files.put(entry)
    marked, plain = Marked(files), []
    for step, entry in steps:
        known = files.get(entry.path)
        if step == "put":
            files.put(entry)
        elif step == "remove" and known is not None:
            files.remove(entry.path)
        elif step == "renumber":
            files.renumber()
        elif step == "mark":
            if known is not None:
                marked.add_same(known)
            else:
                marked.add(entry.path)
            plain.append(entry.path)
        assert [path for path in PATHS if path in marked] == [path for path in PATHS if path in plain]
        assert len(marked) == len(plain)
        assert list(marked.missing(files)) == [path for path in files if path not in plain]


def test_files_that_stay_as_they_are_are_met_in_a_byte_each():
    files = Files()
    for number in range(3_000):
        files.put(FileEntry(f"{number}.md", 1, 1, 1, 1, "d" * 64))
    marked = Marked(files)
    for known in files.living():
        marked.add_same(known)
    assert len(marked._paths) == 0
    assert len(marked._flags) == 3_000
    assert all(path in marked for path in files)
    assert "other.md" not in marked


def test_files_of_the_same_bytes_are_told():
    files = Files()
    numbers = [files.put(entry(path, digest=digest * 64)).id for path, digest in (("a", "1"), ("b", "2"), ("c", "1"))]
    by_id = FilesById(files)
    assert by_id.alike(numbers) == [numbers[0], numbers[2]]
    assert by_id.alike(numbers[:2]) == []
    assert by_id.alike(numbers[:1] * 2) == []  # one file is no copy of itself
    assert by_id.alike([]) == []


@pytest.mark.parametrize(
    ("front", "sections", "is_bare"),
    [
        ({}, (), True), ({"tags": ["a"]}, ((),), True), ({"trust": 0}, ((),), False), ({}, ((), ("A",)), False),
        ({"generator": "dream@1"}, (), False),
    ],
)  # fmt: skip
def test_what_a_search_need_not_read_of_a_file_is_not_read(front, sections, is_bare):
    files = Files()
    known = files.put(FileEntry("a.md", 1, 1, 1, 1, "d" * 64, title="A", front=front, sections=sections))
    whole = ("A", front, sections)
    assert known.shown == (("A", {}, ()) if is_bare else whole)
    for changed in (((), ("B",)), ((),)):  # as of a journal that grows
        known.sections = changed
        assert known.shown == (("A", {}, ()) if changed == ((),) and is_bare_front(front) else ("A", front, changed))
        assert known.front == front


def is_bare_front(front: dict) -> bool:
    return "trust" not in front and "generator" not in front
