"""Rewriting changes the characters of targets and no others."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentscope_reme.errors import PathError
from agentscope_reme.models import FileLink
from agentscope_reme.vault.frontmatter import parse
from agentscope_reme.vault.wikilink import front_matter_links, parse_links, resolve, respell, rewrite

from .real_vault import real_notes


def renaming(old: str, new: str) -> object:
    return lambda link: new if link.target_path == old else None


def test_only_links_that_lead_to_the_file_change_and_keep_their_form() -> None:
    paths = ["a/Project X.md", "b/Project X.md", "Project X Plan.md", "hub.md"]
    old, new = "a/Project X.md", "a/Orion.md"
    text = (
        "[[a/Project X]] [[b/Project X|B]] [[Project X Plan]] [[a/Project X#H^b]] ![[ a/Project X |100]]\r\n"
        "`[[a/Project X]]` \\[[a/Project X]] up:: [[a/Project X.md|the a/Project X]] [[Project X]]\n"
    )

    def moved(link: FileLink) -> str | None:
        found = resolve(link.target_path, paths, "obsidian", "hub.md")
        return respell(link.target_path, old, new, paths, "obsidian") if found.path == old else None

    assert rewrite(text, moved, "hub.md") == (
        "[[a/Orion]] [[b/Project X|B]] [[Project X Plan]] [[a/Orion#H^b]] ![[ a/Orion |100]]\r\n"
        "`[[a/Project X]]` \\[[a/Project X]] up:: [[a/Orion.md|the a/Project X]] [[Project X]]\n"
    )


def test_rewriting_again_changes_nothing() -> None:
    text = "[[a.md]] [[b.md]]"
    once = rewrite(text, renaming("a.md", "c.md"))
    assert once == "[[c.md]] [[b.md]]"
    assert rewrite(once, renaming("a.md", "c.md")) == once


def test_an_anchor_of_the_same_note_can_be_left_alone() -> None:
    assert rewrite("[[#Local]] [[a]]", lambda link: "b" if link.target_path else None) == "[[#Local]] [[b]]"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('up: "[[a.md]]" # [[a.md]]', 'up: "[[new name.md]]" # [[a.md]]'),
        ("up: [[a.md]]", "up: [[new name.md]]"),
        ("up:\n  - '[[a.md|x]]'   # c\n  - [[b.md]]", "up:\n  - '[[new name.md|x]]'   # c\n  - [[b.md]]"),
        ("up: see [[a.md#h]] and [[b.md]]", "up: see [[new name.md#h]] and [[b.md]]"),
        ("up: {x: ['[[a.md]]']}", "up: {x: ['[[new name.md]]']}"),
        ("title: a.md", "title: a.md"),
    ],
)
def test_links_in_front_matter_change_in_place(old: str, new: str) -> None:
    text = f"\ufeff---\r\nz:  1 # keep\r\n{old}\r\n---\r\n[[a.md]] x\r\n"
    changed = rewrite(text, renaming("a.md", "new name.md"))
    assert changed == text.replace(old, new).replace("---\r\n[[a.md]]", "---\r\n[[new name.md]]")


@pytest.mark.parametrize("name", ["it's.md", 'say "hi".md', "a, b.md", "a: b.md", "{x}.md", "back\\slash.md"])
@pytest.mark.parametrize("line", ["up: '[[a.md]]'", 'up: "[[a.md]]"', "up: [[a.md]]", "up: [x, '[[a.md]]']"])
def test_a_name_that_means_something_to_yaml_is_still_the_target(name: str, line: str) -> None:
    text = f"---\nz:  1 # keep\n{line}\n---\nbody [[a.md]]\n"
    changed = rewrite(text, renaming("a.md", name))
    note = parse(changed)
    assert [link.target_path for link in front_matter_links(note.front, "")] == [name]
    assert changed.startswith("---\nz:  1 # keep\n")
    assert note.body == f"body [[{name}]]\n"


def test_front_matter_that_cannot_be_read_stays_as_it_is() -> None:
    text = "---\nup: [[a.md]]s\n---\n[[a.md]]\n"
    assert rewrite(text, renaming("a.md", "b.md")) == "---\nup: [[a.md]]s\n---\n[[b.md]]\n"


@pytest.mark.parametrize("target", ["a#b", "a|b", "a]]b", " a", "", "a\nb"])
def test_a_target_that_no_link_can_name_is_refused(target: str) -> None:
    with pytest.raises(PathError):
        rewrite("[[a.md]]", lambda link: target)
    with pytest.raises(PathError):
        rewrite("---\nup: '[[a.md]]'\n---\n", lambda link: target)


def test_should_change_gets_links_with_their_place() -> None:
    seen: list[FileLink] = []

    def look(link: FileLink) -> None:
        seen.append(link)

    text = "---\nup: '[[a]]'\n---\nrel:: [[b]]\n![[c|x]]\n"
    assert rewrite(text, look, "n.md") == text
    assert [(link.source_path, link.target_path, link.predicate, link.line) for link in seen] == [
        ("n.md", "b", "rel", 4),
        ("n.md", "c", None, 5),
        ("n.md", "a", "up", 1),
    ]


pieces = st.sampled_from(
    ["[[a.md]]", "[[ a.md#x|y ]]", "![[a.md|10]]", "[[b.md]]", "`[[a.md]]`", "\\[[a.md]]", "text ", "\n", "\r\n",
     "    ", "- ", "> ", "```\n", "<!-- ", " -->", "k:: ", "[k:: ", "] ", "`", "[[", "]]", "a.md"]
)  # fmt: skip


@given(st.lists(pieces, max_size=14).map("".join))
def test_rewriting_changes_the_targets_and_nothing_else(text: str) -> None:
    before = parse_links(text, "n.md")
    changed = rewrite(text, renaming("a.md", "longer name.md"))
    after = parse_links(changed, "n.md")
    renamed = ["longer name.md" if link.target_path == "a.md" else link.target_path for link in before]
    assert [link.target_path for link in after] == renamed
    assert [(link.line, link.alias, link.predicate, link.embed) for link in after] == [
        (link.line, link.alias, link.predicate, link.embed) for link in before
    ]
    assert changed.replace("longer name.md", "a.md") == text
    assert rewrite(changed, renaming("longer name.md", "a.md")) == text


def test_every_note_of_a_real_vault_can_be_rewritten_and_back() -> None:
    for path, text in real_notes():
        there = rewrite(text, lambda link: f"moved/{link.target_path}" if link.target_path else None, path)
        back = rewrite(there, lambda link: link.target_path.removeprefix("moved/") or None, path)
        assert back == text, path
