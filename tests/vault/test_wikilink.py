"""What is a link in a note: the grammar, and the places where brackets are no links."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentscope_reme.errors import PathError
from agentscope_reme.models import FileLink
from agentscope_reme.vault.frontmatter import parse
from agentscope_reme.vault.wikilink import front_matter_links, is_linkable, parse_links, render

from .real_vault import real_notes


def targets(text: str) -> list[str]:
    return [link.target_path for link in parse_links(text, "note.md")]


def link(target: str = "", **fields: object) -> FileLink:
    return FileLink("note.md", target, **{"line": 1, **fields})  # type: ignore[arg-type]


# --- The grammar ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[[Note]]", link("Note")),
        ("[[ Note ]]", link("Note")),
        ("[[daily/2026-03-16/登录 决定.md]]", link("daily/2026-03-16/登录 决定.md")),
        ("[[Note#H one|x]]", link("Note", target_anchor="H one", alias="x")),
        ("[[Note#^b1]]", link("Note", target_anchor="^b1")),
        ("[[Note#A#B]]", link("Note", target_anchor="A#B")),
        ("[[Note# ]]", link("Note")),
        ("[[#Local]]", link("", target_anchor="Local")),
        ("[[Note|]]", link("Note")),
        ("[[a|b|c]]", link("a", alias="b|c")),
        ("[[Note|100]]", link("Note", alias="100")),
        ("![[pic.png]]", link("pic.png", embed=True)),
        ("![[pic.png|100]]", link("pic.png", embed=True, size="100")),
        ("![[pic.png|100x50]]", link("pic.png", embed=True, size="100x50")),
        ("![[pic.png|a caption|100]]", link("pic.png", embed=True, alias="a caption", size="100")),
        ("![[pic.png|a caption]]", link("pic.png", embed=True, alias="a caption")),
        ("![[Note#^b1]]", link("Note", target_anchor="^b1", embed=True)),
        (r"| a | [[b\|c]] |", link("b", alias="c")),
        (r"| ![[b.png\|c\|100]] |", link("b.png", alias="c", embed=True, size="100")),
        ("[[A]]]", link("A")),
        ("[[A [[B]] ]]", link("B")),
        ("[[[A]]]", link("A")),
        ("[[C:\\x]]", link("C:\\x")),
        ("[[https://example.com/a]]", link("https://example.com/a")),
        ("[[../../etc/passwd]]", link("../../etc/passwd")),
        ("word[[Note]]word", link("Note")),
        ("见[[Note]]。", link("Note")),
        ("[[2026]]", link("2026")),
        ("[[0]]", link("0")),
    ],
)
def test_a_link_is_taken_apart(text: str, expected: FileLink) -> None:
    assert parse_links(text, "note.md") == (expected,)


@pytest.mark.parametrize(
    "text",
    ["[[]]", "[[ ]]", "[[|x]]", "[[#]]", "[[A\nB]]", "[[A", "A]]", "[ [A]]", "[[A] ]", "array[[0]]", "f(x)[[1, 2]]",
     "a[0][[1]]", r"\[[Escaped]]", r"!\[[Escaped]]", r"\\\[[Escaped]]", "[[A\r\nB]]"],
)  # fmt: skip
def test_what_is_no_link(text: str) -> None:
    assert targets(text) == []


def test_only_an_odd_backslash_escapes() -> None:
    assert targets(r"\\[[A]] \[[B]] \\\[[C]] \\\\[[D]]") == ["A", "D"]
    assert parse_links(r"\![[A]]", "note.md") == (link("A"),)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("up:: [[A]]", ["up"]),
        ("up::[[A]]", ["up"]),
        ("- up:: [[A]], [[B]] and [[C]]", ["up", "up", "up"]),
        ("> 1. [ ] up:: [[A]]", ["up"]),
        ("**part of**:: [[A]]", ["part of"]),
        ("相关:: [[A]]", ["相关"]),
        ("text [rel:: [[A]]] and [[B]]", ["rel", None]),
        ("text (rel:: [[A]]) and [[B]]", ["rel", None]),
        ("text [rel:: [[A]], [[B]]] [[C]]", ["rel", "rel", None]),
        ("up:: [rel:: [[A]]] [[B]]", ["rel", "up"]),
        ("[rel:: [[A]]\n[[B]]", ["rel", None]),
        ("see std::vector [[A]]", [None]),
        ("[[A]] up:: [[B]]", [None, None]),
        ("up:: x\n[[A]]", [None]),
        ("`up:: ` [[A]]", [None]),
    ],
)
def test_a_predicate_stands_at_the_start_of_a_line_or_in_brackets(text: str, expected: list[str | None]) -> None:
    assert [found.predicate for found in parse_links(text, "note.md")] == expected


def test_lines_are_those_of_the_file() -> None:
    text = "---\na: 1\n---\n[[A]]\r\n\n```\nx\n```\n[[B]] [[C]]\n"
    note = parse(text)
    links = parse_links(note.body, "note.md", note.body_line)
    assert [(found.target_path, found.line) for found in links] == [("A", 4), ("B", 9), ("C", 9)]
    assert all("[[" + found.target_path in text.split("\n")[found.line - 1] for found in links)


# --- Where brackets are no links --------------------------------------------------------------------------------------


def test_code_comments_and_escapes_hold_no_links() -> None:
    text = (
        "Use `- part_of [[Inline]]` and ``x `[[Tick]]` y``.\n"
        "```md\n[[Fenced]]\n```\n"
        "    [[Indented]]\n\n"
        "<!-- [[Comment]] --> \\[[Escaped]] [[Real]]\n"
    )
    assert targets(text) == ["Real"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("~~~\n[[A]]\n```\n[[B]]\n~~~\n[[C]]", ["C"]),
        ("````\n```\n[[A]]\n````\n[[C]]", ["C"]),
        ("```\n[[A]]", []),
        ("``` a`b\n[[A]]", ["A"]),
        ("   ```\n[[A]]\n   ```\n[[B]]", ["B"]),
        ("- item\n  ```\n  [[A]]\n  ```\n  [[B]]", ["B"]),
        ("- item\n  ```\n[[A]]", ["A"]),
        ("> ```\n> [[A]]\n\n[[B]]", ["B"]),
        ("> ```\n> [[A]]\n[[B]]", ["B"]),
        ("text\n    [[A]]", ["A"]),
        ("text\n\n    [[A]]\n\n[[B]]", ["B"]),
        ("\t[[A]]", []),
        ("- item\n\n    [[A]]", ["A"]),
        ("- item\n    - nested [[A]]\n        - deeper [[B]]", ["A", "B"]),
        ("1. item\n\n       [[A]]", []),
        ("- a\n\n-     [[A]]", []),
        ("- \t[[A]]", ["A"]),
        ("# T\n    [[A]]", []),
        ("`a\nb [[A]]` [[B]]", ["B"]),
        ("`a\n\nb` [[A]]", ["A"]),
        ("- `a\n- b` [[A]]", ["A"]),
        ("| ` | [[A]] |\n|---|---|\n| ` | [[B]] |", ["A", "B"]),
        ("`` ` `` [[A]] `", ["A"]),
        ("\\` [[A]] `", ["A"]),
        ("`[[A]]\\` [[B]]", ["B"]),
        ("[[a `b]] c` [[D]]", ["D"]),
        ("<!-- a\n\n[[A]]\n```\n--> [[B]]\n[[C]]", ["B", "C"]),
        ("<!-- never closed\n\n[[A]]", []),
        ("text <!-- never closed [[A]]\n\n[[B]]", ["A", "B"]),
        ("`<!--` [[A]] `-->`", ["A"]),
        ("```\n<!--\n```\n[[A]]", ["A"]),
        ("<!-- x --> [[A]] <!-- [[B]] --> [[C]]", ["A", "C"]),
        ("<!--> [[A]] -->", ["A"]),
        ("a ` b\n`<!--` [[A]]\n`<!--` [[B]]", ["B"]),
        ("a ` b\n`<!--` [[A]]\na ` b", []),
        ("text <!-- [[A]]\n[[B]] --> [[C]]", ["C"]),
        ("text <!-- [[A]]\n\n--> [[B]]", ["A", "B"]),
        ("text\n<!-- [[A]]\n--> `[[B]]\n[[C]]` [[D]]", ["B", "C", "D"]),
        ("- <!-- [[A]]\n\n  [[B]]\n[[C]]", ["C"]),
        ("> <!-- [[A]]\n[[B]]", ["B"]),
        ("    <!-- [[A]]\n[[B]]", ["B"]),
        ("text\n    <!-- [[A]]\n[[B]] --> [[C]]", ["C"]),
        ("\\<!-- [[A]] -->", ["A"]),
    ],
)
def test_code_and_comments_end_where_markdown_says(text: str, expected: list[str]) -> None:
    assert targets(text) == expected


LINES = [
    *("para [[N]]", "[[N]]", "    [[N]]", "- item [[N]]", "  [[N]]", "> quote [[N]]", "```", "~~~", "  ```", "", ""),
    *("1. [[N]]", "2) [[N]]", "\t[[N]]", "- ```", "> ```", "a ` b", "c ` [[N]]", "# [[N]]", "---", "      [[N]]"),
    *("> - [[N]]", "-", "-\t[[N]]", "``` x", "````", "   [[N]]", "===", "    - [[N]]", "  - [[N]]", ">", "+ [[N]]"),
    *("10. [[N]]", "``a ` [[N]] ``", "   ```", "     ```", "-     [[N]]", "* * *", "\t\t[[N]]", ">\t[[N]]", "1)"),
    *(">     [[N]]", "- > [[N]]", "  > [[N]]", "<!-- [[N]] -->", "<!--", "-->", "`<!--` [[N]]", "text"),
    *("text <!-- [[N]]", "[[N]] <!-- [[N]] --> `", "- <!-- [[N]]", "> <!--", "> -->", "  -->", "    <!-- [[N]]"),
]


@given(st.lists(st.sampled_from(LINES), min_size=1, max_size=8))
def test_links_are_where_a_markdown_parser_sees_text(lines: list[str]) -> None:
    markdown = pytest.importorskip("markdown_it", reason="the reference parser is not installed")
    text = "\n".join(line.replace("N", str(number)) for number, line in enumerate(lines))
    seen = []
    for block in markdown.MarkdownIt("commonmark").parse(text):
        for inline in block.children or ():
            if inline.type == "text":
                # Not `targets`: a piece of text that begins with `<!--` is no comment, but would be one by itself.
                seen += re.findall(r"\[\[([0-9]+)\]\]", inline.content)
    assert targets(text) == seen


def test_links_of_a_real_vault_are_those_a_markdown_parser_sees() -> None:
    markdown = pytest.importorskip("markdown_it", reason="the reference parser is not installed")
    # Extensions off: to wikilinks, `[^1]: text [[Link]]` is a footnote and not the definition of a reference.
    parser = markdown.MarkdownIt("commonmark").disable(
        ["reference", "link", "image", "autolink", "html_block", "escape"]
    )
    total = 0
    for path, text in real_notes():
        body = parse(text).body
        seen = []
        for block in parser.parse(body):
            inlines = [inline.content if inline.type == "text" else "\n" for inline in block.children or ()]
            seen += targets("".join(inlines))
        assert targets(body) == seen, path
        total += len(seen)
    assert total > 2500


# --- Hostile input ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    ["[[" * 50_000, "`[[" * 30_000, "[a:: [[" * 20_000, "<!-- [[" * 20_000, "]]" * 50_000, "![[" * 30_000,
     "[[x]]" + "".join("`" * i + " " for i in range(1, 500)), "- " * 30_000 + "[[", ">" * 30_000 + "`[[",
     "[[" + "a" * 200_000, "a:: " * 30_000 + "[[", "\\" * 100_000 + "[[x]]", "[[x]]" + "    \n" * 30_000 + "`",
     ("- " * 500 + "\n") + "\n" * 30_000 + "`[[", "[[a\n" * 30_000, "x <!-- [[" * 20_000,
     "[" * 100_000, "(" + "a" * 100_000 + "[["],
    ids=lambda text: text[:8] + "…",
)  # fmt: skip
def test_hostile_text_is_read_in_time(text: str) -> None:
    # Quadratic reading of these takes minutes: that the test ends is what is tested.
    assert len(parse_links(text, "note.md")) <= 1


# --- Rendering --------------------------------------------------------------------------------------------------------

words = st.text(st.sampled_from("abcZ 0189.-_/'()é你好😀:,&+=@~"), min_size=1, max_size=12).map(str.strip).filter(bool)
plain_targets = words.filter(is_linkable)
keys = st.from_regex(r"[a-z你][a-z0-9 /-]{0,8}", fullmatch=True).map(str.strip)
aliases = words.filter(lambda text: not text.replace("x", "").isdecimal())


@st.composite
def links(draw: st.DrawFn) -> FileLink:
    embed = draw(st.booleans())
    target = draw(plain_targets)
    anchor = draw(st.none() | words | words.map("^".__add__))
    return FileLink(
        source_path="note.md",
        target_path=draw(st.sampled_from([target, ""])) if anchor else target,
        target_anchor=anchor,
        predicate=draw(st.none() | keys),
        alias=draw(st.none() | aliases),
        embed=embed,
        line=1,
        size=draw(st.none() | st.sampled_from(["100", "100x50"])) if embed else None,
    )


@given(st.lists(links(), max_size=6), st.sampled_from([" ", " text, ", "\n", "\n\n- ", "。"]))
def test_rendered_links_parse_back(given_links: list[FileLink], between: str) -> None:
    text = between.join(map(render, given_links))
    found = parse_links(text, "note.md")
    assert [render(one) for one in found] == [render(one) for one in given_links]
    expected = [
        FileLink(**{**{f: getattr(one, f) for f in one.__dataclass_fields__}, "line": back.line})
        for one, back in zip(given_links, found, strict=True)
    ]
    assert list(found) == expected


@pytest.mark.parametrize("target", ["a]b", "[a", "a|b", "C# notes.md", "a\nb", "a`b", " a", "a ", "a\\", "<!--"])
def test_a_path_that_no_link_can_name_is_refused(target: str) -> None:
    assert not is_linkable(target)
    with pytest.raises(PathError, match="wikilink"):
        render(FileLink("note.md", target))


# --- Front matter -----------------------------------------------------------------------------------------------------


def test_links_in_front_matter_count_and_have_their_key_as_predicate() -> None:
    note = parse(
        '---\nrelated: [[Alpha]]\nup:\n  - "[[Beta|b]]"\n  - plain\ndeep: {x: ["see ![[C#h]]"]}\nn: 1\n---\nx\n'
    )
    assert front_matter_links(note.front, "note.md", note.raw) == (
        FileLink("note.md", "Alpha", predicate="related", line=2),
        FileLink("note.md", "Beta", predicate="up", alias="b", line=4),
        FileLink("note.md", "C", target_anchor="h", predicate="deep", embed=True, line=6),
    )
    assert {found.line for found in front_matter_links(note.front, "note.md")} == {1}


def test_unreadable_front_matter_has_no_links() -> None:
    assert front_matter_links(parse("---\nup: [[Alpha]]s\n---\n").front, "note.md") == ()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("an `open [[x]]\nspan` ends on the next line", []),
        ("an `open [[x]]\n\nspan` does not", ["x"]),
        ("[[x]]\n\n```\n[[in code]]\n``\n~~~\n    ```\n[[still]]\n```\n[[y]] `c`\n\n    [[indented]]", ["x", "y"]),
        ("- item\n  ```\n  [[in code]]\nleft\n[[y]]\n", ["y"]),
        ("plain\nlines\n\u3000\n    [[lazy or code]]\n", []),
        ("plain\nlines\n    [[lazy]]\n", ["lazy"]),
        ("<!-- [[hidden]]\nstill --> [[y]]\n[[z]] `a`", ["y", "z"]),
    ],
)
def test_what_follows_the_last_link_still_tells_whether_it_is_code(text, found):
    assert [link.target_path for link in parse_links(text, "n.md")] == found
