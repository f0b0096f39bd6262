"""What a target stands for, by the literal rule and by Obsidian's."""

from contextlib import nullcontext
from itertools import permutations
from unicodedata import normalize
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentscope_reme.vault import link_target
from agentscope_reme.vault.wikilink import LinkIndex, Resolution, is_attachment, resolve, respell

PATHS = ("Topic/Note.md", "Other/note.md", "README.md", "a/Same.md", "b/Same.md", "img/pic.png", "deep/er/Leaf.md")


def obsidian(target: str) -> Resolution:
    return resolve(target, PATHS, "obsidian")


@pytest.mark.parametrize("target", PATHS)
def test_the_literal_rule_takes_a_path_and_nothing_else(target: str) -> None:
    assert resolve(target, PATHS) == Resolution("found", target)
    name = target.rpartition("/")[2]
    for near in (target.removesuffix(".md").removesuffix(".png"), target.swapcase(), f"./{target}", f"x/{target}"):
        assert resolve(near, PATHS).kind == "unresolved", near
    assert resolve(name, PATHS).kind == ("found" if name == target else "unresolved")


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("Topic/Note.md", Resolution("found", "Topic/Note.md")),
        ("Topic/Note", Resolution("found", "Topic/Note.md")),
        ("topic/note", Resolution("found", "Topic/Note.md")),
        ("Note", Resolution("found", "Topic/Note.md")),
        ("note", Resolution("found", "Other/note.md")),
        ("Note.md", Resolution("found", "Topic/Note.md")),
        ("NOTE", Resolution("ambiguous", None, ("Other/note.md", "Topic/Note.md"))),
        ("readme", Resolution("found", "README.md")),
        ("Same", Resolution("ambiguous", None, ("a/Same.md", "b/Same.md"))),
        ("b/Same", Resolution("found", "b/Same.md")),
        ("pic.png", Resolution("found", "img/pic.png")),
        ("pic", Resolution("unresolved")),
        ("er/Leaf", Resolution("found", "deep/er/Leaf.md")),
        ("r/Leaf", Resolution("unresolved")),
        ("nothing", Resolution("unresolved")),
    ],
)
def test_the_obsidian_rule(target: str, expected: Resolution) -> None:
    assert obsidian(target) == expected


def test_the_answer_does_not_depend_on_the_order_of_the_files() -> None:
    paths = ("b/Same.md", "a/Same.md", "Same", "a/SAME.md")
    answers = {resolve("same", order, "obsidian") for order in permutations(paths)}
    assert len(answers) == 1


def test_names_in_other_unicode_forms_are_the_same_names() -> None:
    composed, decomposed = "caf\u00e9.md", "cafe\u0301.md"
    for rule in ("literal", "obsidian"):
        assert resolve(composed, [decomposed], rule) == Resolution("found", decomposed)
        assert resolve(decomposed, [composed], rule) == Resolution("found", composed)
        assert resolve(composed, [composed, decomposed], rule).path in (composed, None)
    assert resolve(composed, [composed, decomposed]) == Resolution("found", composed)


@pytest.mark.parametrize("target", ["张三", "三哥", "zhang san", "Zhang San", "ZHANG SAN", "zs", "people/zs"])
def test_aliases_and_titles_answer_after_file_names(target: str) -> None:
    index = LinkIndex(["people/zs.md"], {"people/zs.md": ["张三", "三哥", "Zhang San"]})
    assert resolve(target, index, "obsidian") == Resolution("found", "people/zs.md")
    index.add("三哥.md")
    assert resolve("三哥", index, "obsidian") == Resolution("found", "三哥.md")
    assert resolve("三哥", index).kind == "unresolved"


def test_an_alias_of_two_notes_is_ambiguous() -> None:
    index = LinkIndex(["a.md", "b.md"], {"a.md": ["x"], "b.md": ["X"]})
    assert resolve("x", index, "obsidian") == Resolution("ambiguous", None, ("a.md", "b.md"))


def test_an_index_follows_the_files() -> None:
    index = LinkIndex()
    index.add("a.md", ["old"])
    index.add("a.md", ["new"])
    assert resolve("old", index, "obsidian").kind == "unresolved"
    assert resolve("new", index, "obsidian").path == "a.md"
    assert "a.md" in index
    assert len(index) == 1
    index.remove("a.md")
    index.remove("a.md")
    assert len(index) == 0
    assert {resolve(target, index, "obsidian").kind for target in ("a.md", "a", "new")} == {"unresolved"}


@pytest.mark.parametrize("rule", ["literal", "obsidian"])
@pytest.mark.parametrize(
    ("target", "kind"),
    [
        ("../../etc/passwd", "outside"),
        ("..", "outside"),
        ("a/../../b", "outside"),
        ("a\\..\\b", "outside"),
        ("/etc/passwd", "outside"),
        ("\\\\server\\share", "outside"),
        ("~/notes", "outside"),
        ("C:\\x", "outside"),
        ("c:/x", "outside"),
        ("file:///etc/passwd", "outside"),
        ("a\x00b", "outside"),
        ("https://example.com", "external"),
        ("obsidian://open?x", "external"),
        ("mailto:a@example.com", "external"),
        ("..hidden.md", "unresolved"),
        ("a..b/c.md", "unresolved"),
        ("re:Invent", "unresolved"),
    ],
)
def test_addresses_and_ways_out_are_never_files(target: str, kind: str, rule: str) -> None:
    assert resolve(target, [target, "etc/passwd", "passwd"], rule).kind in (
        (kind,) if kind != "unresolved" else ("found",)
    )
    assert resolve(target, [], rule).kind == kind


@given(st.text(st.sampled_from("ab.:/\\\\~\x00\nh ") | st.characters(), min_size=1, max_size=8))
def test_what_is_no_address_at_first_sight_is_none(target: str) -> None:
    known = link_target._OUTSIDE.match(target) or link_target._EXTERNAL.match(target)
    assert link_target.may_be_address(target) or not known


def test_a_place_in_the_same_note_is_the_note_itself() -> None:
    assert resolve("", PATHS, source_path="README.md") == Resolution("self", "README.md")


@pytest.mark.parametrize(
    ("target", "expected"),
    [("pic.png", True), ("a/b.PDF", True), ("Note", False), ("Note.md", False), ("v1.2", False), ("a.b/Note", False)],
)
def test_a_missing_picture_is_no_missing_note(target: str, expected: bool) -> None:
    assert is_attachment(target) is expected


@pytest.mark.parametrize(
    ("target", "old", "new", "expected"),
    [
        ("a/Project X", "a/Project X.md", "a/Orion.md", "a/Orion"),
        ("a/Project X.md", "a/Project X.md", "a/Orion.md", "a/Orion.md"),
        ("Unique", "a/Unique.md", "b/Orion.md", "Orion"),
        ("Unique.md", "a/Unique.md", "b/Orion.md", "Orion.md"),
        ("unique", "a/Unique.md", "b/Orion.md", "Orion"),
        ("Unique", "a/Unique.md", "b/Taken.md", "b/Taken"),
        ("alias of it", "a/Unique.md", "b/Orion.md", "alias of it"),
        ("pic.png", "img/pic.png", "img/new.png", "new.png"),
    ],
)
def test_a_renamed_target_keeps_its_style(target: str, old: str, new: str, expected: str) -> None:
    paths = ["a/Project X.md", "b/Project X.md", "Project X Plan.md", "a/Unique.md", "c/Taken.md", "img/pic.png"]
    assert respell(target, old, new, paths, "obsidian") == expected
    assert respell(old, old, new, paths) == new
    after = [path for path in paths if path != old] + [new]
    if expected != target:
        assert resolve(expected, after, "obsidian").path == new


SPELLINGS = [
    "a.md", "A.md", "x/a.md", "X/A.md", "a.md.md", "b", "b.md", "x/b", "e\u0301.md", "\u00e9.md", "x/\u00c9.md", "a",
    "x/a", "B", "E\u0301", "ss.md", "\u00df", ".md", "",
]  # fmt: skip


def plain_answer(target: str, files: dict[str, tuple[str, ...]]) -> list[str]:
    """The rule, read from the top over all files."""

    def fold(text: str) -> str:
        return normalize("NFC", text).casefold()

    exact, folded = normalize("NFC", target), fold(target)
    base = folded.rpartition("/")[2]
    near = sorted(path for path in files if fold(path).rpartition("/")[2] in (base, base + ".md"))
    steps = [
        *([path for path in files if path == one] for one in (exact, exact + ".md")),
        *([path for path in files if normalize("NFC", path) == one] for one in (exact, exact + ".md")),
        *([path for path in files if fold(path) == one] for one in (folded, folded + ".md")),
        [path for path in near if f"/{normalize('NFC', path)}".endswith((f"/{exact}", f"/{exact}.md"))],
        [path for path in near if f"/{fold(path)}".endswith((f"/{folded}", f"/{folded}.md"))],
        [path for path, names in files.items() if folded in {fold(name.strip()) for name in names}],
    ]
    order = [0, 2, 1, 3, 4, 5, 6, 7, 8]  # a spelling as it is, in any composition, then with the suffix
    return sorted(next((steps[at] for at in order if steps[at]), []))


@pytest.mark.parametrize("hashes", ["as they are", "all the same"])
@given(
    changes=st.lists(
        st.tuples(st.sampled_from(SPELLINGS), st.none() | st.lists(st.sampled_from([*SPELLINGS, " B "]), max_size=2)),
        max_size=12,
    )
)
def test_after_any_changes_every_spelling_is_answered_by_the_rule(hashes, changes):
    constant = mock.patch("agentscope_reme.vault.link_target.hash_of", return_value=7)
    with constant if hashes == "all the same" else nullcontext():
        index, files = LinkIndex(), {}
        for path, names in changes:
            if names is None:
                index.remove(path)
                files.pop(path, None)
            else:
                index.add(path, names)
                files[path] = tuple(names)
        assert len(index) == len(files)
        for target in (spelling for spelling in SPELLINGS if spelling):
            found = plain_answer(target, files)
            assert index.obsidian(target) == found
            assert index.the_one(target) == (found[0] if len(found) == 1 else None)
            if target in files:
                assert index.literal(target) == [target]
            else:
                same = [path for path in files if normalize("NFC", path) == normalize("NFC", target)]
                assert index.literal(target) == sorted(same)
