"""Faults that users reported, group 7: where chunks begin and end, and what lines a hit names."""

from pathlib import Path

import pytest

from agentscope_reme import ReMe
from agentscope_reme.index.chunker import read_document


def headings(text: str) -> list[str]:
    return list(read_document("note.md", text).headings)


@pytest.mark.parametrize(
    "text",
    [
        "# Real\n\n~~~~sh\n# not a heading\n~~~\n# still code\n~~~~\n\n# Next\n",
        "# Real\n\n   ```sh\n   # not a heading\n   ```\n\n# Next\n",
        "# Real\n\n- item\n\n  ```\n  # not a heading\n  ```\n\n# Next\n",
        "# Real\n\n> ```\n> # not a heading\n> ```\n\n# Next\n",
        "# Real\n\n````\n```\n# not a heading\n````\n\n# Next\n",
    ],
)
def test_c7_01_a_comment_in_a_fence_is_no_heading(text: str) -> None:
    assert headings(text) == ["Real", "Next"]


async def test_c7_02_after_a_fence_that_is_never_closed_everything_is_still_found(vault_dir: Path) -> None:
    filler = "".join(f"row {number} of the listing\n" for number in range(300))
    text = f"# A\n```\ncode\n\n## B\ntext b walnut\n{filler}last line otter\n"
    document = read_document("note.md", text, chunk_chars=1_200)
    assert all(len(chunk.text) <= 1_200 for chunk in document.chunks)
    assert {line for chunk in document.chunks for line in range(chunk.start_line, chunk.end_line + 1)} >= set(
        range(6, 308)
    )
    async with ReMe(vault_dir) as reme:
        await reme.vault.write("note.md", text)
        for word, line in (("walnut", 6), ("otter", 307)):
            hit = (await reme.search(word)).hits[0]
            assert word in hit.text
            assert hit.start_line <= line <= hit.end_line


def test_c7_04_a_long_table_is_cut_between_rows_each_piece_with_its_header() -> None:
    rows = [f"| name{number} | {number} | city{number} |" for number in range(300)]
    text = "Table of people\n\n| name | age | city |\n|---|---|---|\n" + "\n".join(rows) + "\n"
    document = read_document("note.md", text)
    pieces = [unit for unit in document.units if "name7" in unit.text or "| name" in unit.text]
    assert len(pieces) > 10
    shown = [
        line for unit in pieces for line in unit.text.split("\n") if line.startswith("| name") and "age" not in line
    ]
    assert shown == rows
    for unit in pieces:
        whole = f"{unit.context}\n{unit.text}"
        assert whole.count("| name | age | city |") == 1
        first = next(line for line in unit.text.split("\n") if line.startswith("| name") and "age" not in line)
        assert unit.start_line <= 5 + rows.index(first) <= unit.end_line
    assert sum("Table of people" in f"{unit.context}{unit.text}" for unit in document.units) == 1


def test_c7_05_underlined_headings_rules_and_the_lines_of_the_file() -> None:
    text = "---\na: 1\nb: 2\nc: 3\n---\nTitle\n=====\n\npara\n\n---\n\n```\nx\n```\n---\n\nSub\n---\ntext\n"
    document = read_document("note.md", text)
    assert list(document.headings) == ["Title", "Sub"]
    (unit,) = [unit for unit in document.units if unit.text == "text"]
    assert unit.headings == ("Title", "Sub")
    assert (unit.start_line, text.split("\n")[unit.start_line - 1]) == (20, "text")


@pytest.mark.parametrize("text", ["a\r\nb\u2028c\x0cd\r\ne walnut\n", "a\x85b\nc\u2029\ne walnut", "\n\ne walnut\n"])
async def test_c7_06_lines_are_counted_on_line_feeds_only(vault_dir: Path, text: str) -> None:
    async with ReMe(vault_dir) as reme:
        vault_dir.mkdir(parents=True)
        (vault_dir / "note.md").write_text(text, encoding="utf-8", newline="")
        (hit,) = (await reme.search("walnut")).hits
        lines = text.split("\n")
        assert hit.end_line == next(number for number, line in enumerate(lines, 1) if "walnut" in line)
        page = await reme.vault.read("note.md", start_line=hit.end_line, end_line=hit.end_line)
        assert "e walnut" in page.text


@pytest.mark.parametrize("text", ["", "\n", "\n\n"])
def test_c7_06_an_empty_file_has_no_units(text: str) -> None:
    assert read_document("note.md", text).units == ()


async def test_c7_07_a_hit_shows_the_lines_that_match_and_not_the_top_of_the_file(vault_dir: Path) -> None:
    lines = [f"Paragraph {number} about nothing in particular.\n" for number in range(1, 81)]
    lines[49] = "The spare key hangs behind the walnut clock.\n"
    async with ReMe(vault_dir) as reme:
        await reme.vault.write("note.md", "".join(lines))
        (hit, *_) = (await reme.search("spare key walnut clock")).hits
        assert "behind the walnut clock" in hit.text
        assert hit.start_line <= 50 <= hit.end_line


async def test_c7_09_empty_repeated_and_deep_sections_are_all_found(vault_dir: Path) -> None:
    nested = "".join("  " * level + f"- level{level} walnut\n" for level in range(12))
    text = f"# 2026-01-26\n\n# 2026-01-27\n\ntext\n\n# Log\nferry a\n# Log\nferry b\n###### deep\nbelow\n\n{nested}"
    document = read_document("note.md", text)
    assert list(document.headings) == ["2026-01-26", "2026-01-27", "Log", "Log", "deep"]
    assert len({chunk.id for chunk in document.chunks}) == len(document.chunks)
    assert [unit.headings for unit in document.units if unit.text in ("ferry a", "ferry b")] == [("Log",), ("Log",)]
    assert next(unit for unit in document.units if unit.text == "below").headings == ("Log", "deep")
    async with ReMe(vault_dir) as reme:
        await reme.vault.write("note.md", text)
        for heading, line in (("2026-01-26", 1), ("2026-01-27", 5), ("deep", 12)):
            hits = (await reme.search(heading)).hits
            assert any(hit.start_line <= line <= hit.end_line for hit in hits), heading
        hits = (await reme.search("Log ferry", limit=10)).hits
        assert {line for hit in hits for line in range(hit.start_line, hit.end_line + 1)} >= {8, 10}
        assert (await reme.search("level11")).hits
