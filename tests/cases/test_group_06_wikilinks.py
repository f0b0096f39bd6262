"""Faults that users reported, group 6: wikilinks in graph, rename and search. Named after the cases."""

from pathlib import Path
from typing import Any

import pytest

from agentscope_reme import ReMe
from agentscope_reme.vault.wikilink import parse_links, rewrite


def vault_of(vault_dir: Path, rule: Any = "literal", **notes: str) -> ReMe:
    for path, text in notes.items():
        put(vault_dir, path, text)
    return ReMe(vault_dir, link_resolution=rule)


def put(root: Path, path: str, text: str) -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(text, encoding="utf-8", newline="")


async def edges(reme: ReMe, path: str) -> list[tuple[str, str | None]]:
    """The links of a note: what is written, and the file it leads to."""
    await reme.index.sync()
    return [(edge.link.target_path, edge.target) for edge in reme.index.graph.outlinks(path)]


async def backlinks(reme: ReMe, path: str) -> list[str]:
    await reme.index.sync()
    return [edge.link.source_path for edge in reme.index.graph.inlinks(path)]


CODE = """Use `- part_of [[Inline]]` and ``x `[[Tick]]` y``.
```md
[[Fenced]]
```
    [[Indented]]

<!-- [[Comment]] --> \\[[Escaped]] [[Real]]
"""


async def test_c6_01_code_comments_and_escapes_hold_no_links_for_anyone(vault_dir: Path) -> None:
    names = ("Inline", "Tick", "Fenced", "Indented", "Comment", "Escaped", "Real")
    text = CODE
    for name in names:
        text = text.replace(f"[[{name}]]", f"[[{name}.md]]")
    async with vault_of(vault_dir, **{"n.md": text, **{f"{name}.md": "x\n" for name in names}}) as reme:
        assert await edges(reme, "n.md") == [("Real.md", "Real.md")]
        for name in names:
            change = await reme.vault.move(f"{name}.md", f"moved/{name}.md")
            assert [link.target_path for link in change.links] == (["Real.md"] if name == "Real" else [])
        assert (vault_dir / "n.md").read_text(encoding="utf-8") == text.replace("[[Real.md]]", "[[moved/Real.md]]")
        assert await backlinks(reme, "moved/Real.md") == ["n.md"]


async def test_c6_04_anchors_blocks_embeds_and_sizes_are_taken_apart(vault_dir: Path) -> None:
    text = "[[Note#H one|x]] [[Note#^b1]] [[#Local]] [[Note#A#B]] ![[pic.png|100]] ![[pic.png|100x50]] ![[Note#^b1]]\n"
    links = parse_links(text, "n.md")
    assert [(link.target_path, link.target_anchor, link.alias, link.size, link.embed) for link in links] == [
        ("Note", "H one", "x", None, False),
        ("Note", "^b1", None, None, False),
        ("", "Local", None, None, False),
        ("Note", "A#B", None, None, False),
        ("pic.png", None, None, "100", True),
        ("pic.png", None, None, "100x50", True),
        ("Note", "^b1", None, None, True),
    ]
    async with vault_of(vault_dir, "obsidian", **{"n.md": text, "Note.md": "x\n"}) as reme:
        assert await backlinks(reme, "n.md") == [], "a place in the same note is no backlink"
        assert await backlinks(reme, "Note.md") == ["n.md"] * 4
        assert not [edge for edge in reme.index.graph.unresolved() if edge.link.target_path == "pic.png"]


RENAMED = """---
up: "[[a/Project X.md]]"
---
[[a/Project X.md]] [[b/Project X.md|B]] [[Project X Plan.md]] [[a/Project X.md#H^b]] ![[a/Project X.md|see]]
`[[a/Project X.md]]` a/Project X.md
"""


@pytest.mark.parametrize("rule", ["literal", "obsidian"])
async def test_c6_05_only_links_that_led_to_the_note_change(vault_dir: Path, rule: str) -> None:
    spell = (lambda text: text) if rule == "literal" else (lambda text: text.replace(".md", ""))
    notes = {
        "a/Project X.md": spell("I am [[a/Project X.md]]\n"),
        "b/Project X.md": "b\n",
        "Project X Plan.md": "plan\n",
        "n.md": spell(RENAMED),
    }
    async with vault_of(vault_dir, rule, **notes) as reme:
        (vault_dir / "gbk.md").write_bytes("[[a/Project X.md]] 你好".encode("gbk"))
        change = await reme.vault.move("a/Project X.md", "a/Orion.md")
        expected = (
            RENAMED.replace('up: "[[a/Project X', 'up: "[[a/Orion')
            .replace("\n[[a/Project X.md]]", "\n[[a/Orion.md]]")
            .replace("a/Project X.md#H^b", "a/Orion.md#H^b")
            .replace("![[a/Project X.md|see]]", "![[a/Orion.md|see]]")
        )
        assert (vault_dir / "n.md").read_text(encoding="utf-8") == spell(expected)
        assert (vault_dir / "a" / "Orion.md").read_text(encoding="utf-8") == spell("I am [[a/Orion.md]]\n")
        assert [path for path, _ in change.failed] == ["gbk.md"]
        again = await reme.vault.move("a/Project X.md", "a/Orion.md")
        assert again.kind == "unchanged"
        assert (vault_dir / "n.md").read_text(encoding="utf-8") == spell(expected)
        await reme.vault.undo()
        assert (vault_dir / "n.md").read_text(encoding="utf-8") == spell(RENAMED)


TARGETS = "[[note]] [[Topic/Note]] [[Note.md]] [[ Note ]] [[Topic/Note.md]] [x](Topic/Note.md) [y](My%20Note.md#a)\n"


async def test_c6_06_resolution_is_exact_then_by_case_and_never_guesses(vault_dir: Path) -> None:
    notes = {"Topic/Note.md": "1\n", "Other/note.md": "2\n", "n.md": TARGETS}
    async with vault_of(vault_dir, "obsidian", **notes) as reme:
        assert await edges(reme, "n.md") == [
            ("note", "Other/note.md"),
            ("Topic/Note", "Topic/Note.md"),
            ("Note.md", "Topic/Note.md"),
            ("Note", "Topic/Note.md"),
            ("Topic/Note.md", "Topic/Note.md"),
        ]
        put(vault_dir, "Third/Note.md", "3\n")
        found = dict(await edges(reme, "n.md"))
        assert found["Note"] is None, "two notes answer, so neither does"
        assert found["Topic/Note"] == "Topic/Note.md"
    before = sorted(path for path in vault_dir.rglob("*.md"))
    async with ReMe(vault_dir) as literal:
        assert await edges(literal, "n.md") == [
            ("note", None),
            ("Topic/Note", None),
            ("Note.md", None),
            ("Note", None),
            ("Topic/Note.md", "Topic/Note.md"),
        ]
    assert sorted(path for path in vault_dir.rglob("*.md")) == before, "looking a link up made a file"


@pytest.mark.parametrize(
    ("text", "targets"),
    [
        ("[[A [[B]] ]]", ["B"]),
        ("[[]]", []),
        ("[[ ]]", []),
        ("[[|x]]", []),
        ("[[A\nB]]", []),
        ("[[A]]]", ["A"]),
        ("array[[0]]", []),
        ("[[a|b|c]]", ["a"]),
    ],
)
async def test_c6_07_broken_brackets_have_a_stated_result(vault_dir: Path, text: str, targets: list[str]) -> None:
    async with vault_of(vault_dir, **{"n.md": text + "\n"}) as reme:
        assert [target for target, _ in await edges(reme, "n.md")] == targets


@pytest.mark.parametrize(
    "unit", ["[[", "]]", "[[a|", "![[", "[[#", "k:: [[", "`[[", "<!-- [[", "\\[[", "[[a]][", "[(", "- [[ ", "[[a\n"]
)
def test_c6_07_hostile_text_ends_and_loses_nothing(unit: str) -> None:
    """A reading in quadratic time would not end within the patience of anyone."""
    text = unit * 50_000
    assert all("[[" not in link.target_path for link in parse_links(text, "n.md"))
    assert rewrite(text, lambda link: None, "n.md") == text


async def test_c6_08_links_to_nowhere_and_outside_stay_text_and_touch_nothing(vault_dir: Path) -> None:
    text = (
        "[[../../etc/passwd]] [[C:\\x]] [[https://x.example/y]] [[digest/wiki/planned.md]] [[/etc/passwd]] [[~/.ssh]]\n"
    )
    put(vault_dir.parent, "secret.md", "lighthouse-5512\n")
    async with vault_of(vault_dir, "obsidian", **{"n.md": text + "[[../secret.md]]\n"}) as reme:
        found = await edges(reme, "n.md")
        assert [target for _, target in found] == [None] * 7
        unresolved = {edge.link.target_path for edge in reme.index.graph.unresolved()}
        assert "digest/wiki/planned.md" in unresolved
        assert "https://x.example/y" not in unresolved, "an address is external"
        steps = {step.path for step in reme.index.graph.traverse("n.md", depth=3)}
        assert steps == {"n.md", "digest/wiki/planned.md"}, "a planned note is a step, what is outside is none"
        assert (await reme.search("lighthouse 5512")).status == "none"
        await reme.vault.move("n.md", "m.md")
        assert (vault_dir / "m.md").read_text(encoding="utf-8") == text + "[[../secret.md]]\n"
    assert sorted(path.name for path in vault_dir.rglob("*.md")) == ["m.md"]


@pytest.mark.parametrize("aliases", ["[三哥, Zhang San]", "\n  - 三哥\n  - Zhang San"])
async def test_c6_09_titles_and_aliases_answer_in_graph_rename_and_search(vault_dir: Path, aliases: str) -> None:
    notes = {
        "people/zs.md": f"---\ntitle: 张三\naliases: {aliases}\n---\nWorks on the ferry.\n",
        "n.md": "[[张三]] [[三哥]] [[zhang san]] [[zs]]\n",
    }
    async with vault_of(vault_dir, "obsidian", **notes) as reme:
        assert [target for _, target in await edges(reme, "n.md")] == ["people/zs.md"] * 4
        for query in ("张三", "三哥", "Zhang San"):
            assert "people/zs.md" in [hit.path for hit in (await reme.search(query)).hits]
        await reme.vault.move("people/zs.md", "people/zhang-san.md")
        text = (vault_dir / "n.md").read_text(encoding="utf-8")
        assert text == "[[张三]] [[三哥]] [[zhang san]] [[zhang-san]]\n"
        assert [target for _, target in await edges(reme, "n.md")] == ["people/zhang-san.md"] * 4


async def test_c6_09_an_alias_given_as_plain_text_works_too(vault_dir: Path) -> None:
    notes = {"zs.md": "---\naliases: 三哥\n---\nx\n", "n.md": "[[三哥]]\n"}
    async with vault_of(vault_dir, "obsidian", **notes) as reme:
        assert await edges(reme, "n.md") == [("三哥", "zs.md")]
