"""Faults that users reported, group 5: front matter, in files and through the vault. Named after the cases."""

import os
import stat
import threading
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from agentscope_reme import ReMe
from agentscope_reme.errors import FrontMatterError


@pytest.fixture
def reme(vault_dir: Path) -> ReMe:
    return ReMe(vault_dir)


def put(reme: ReMe, path: str, data: bytes | str) -> Path:
    """A file as another program leaves it in the vault."""
    file = reme.vault.root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data.encode("utf-8") if isinstance(data, str) else data)
    return file


async def front(reme: ReMe, path: str) -> dict[str, Any]:
    found = await reme.vault.frontmatter_read(path)
    assert found.error is None
    return found.data


async def found(reme: ReMe, query: str) -> list[str]:
    return [hit.path for hit in (await reme.search(query)).hits]


BOM = b"\xef\xbb\xbf"


async def test_c5_01_a_byte_order_mark_hides_nothing_and_stays_one(reme: ReMe, vault_dir: Path) -> None:
    file = put(reme, "n.md", BOM + b"---\ntitle: Apricot\n---\n# Heading\nwalnut body\n")
    put(reme, "h.md", BOM + b"# Quince heading\nmedlar body\n")
    async with reme:
        assert await front(reme, "n.md") == {"title": "Apricot"}
        (hit,) = (await reme.search("walnut")).hits
        assert (hit.source, hit.title, hit.headings) == ("n.md:5-5", "Apricot", ("Heading",))
        (hit,) = (await reme.search("medlar")).hits
        assert (hit.source, hit.headings) == ("h.md:2-2", ("Quince heading",))
        await reme.vault.frontmatter_update("n.md", {"reviewed": True})
        await reme.vault.frontmatter_update("h.md", {"reviewed": True})
        await reme.vault.append("n.md", "more")
        await reme.vault.edit("n.md", "walnut", "hazel")
    for path in ("n.md", "h.md"):
        data = (vault_dir / path).read_bytes()
        assert data.startswith(BOM + b"---\n")
        assert data.count(BOM) == 1
        assert data.count(b"---\n") == 2
    assert file.read_bytes() == BOM + b"---\ntitle: Apricot\nreviewed: true\n---\n# Heading\nhazel body\nmore\n"


MALFORMED = '---\ntitle: Boiler\nsummary: "the "new" one"\ntags: [home, 暖气]\n---\nServiced in May.\n'


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (MALFORMED, 3),
        ("---\na:\n\tb: 1\n---\nServiced in May.\n", 3),
        ("---\nok: 1\nkey: `C:\\agent\\x`\n---\nServiced in May.\n", 3),
        ("---\nok: 1\ntitle: Foo: bar\n---\nServiced in May.\n", 3),
        ("---\nok: 1\ntitle: *Italic*\n---\nServiced in May.\n", 3),
        ('---\na: "x\x07y"\n---\nServiced in May.\n', 2),
        ("---\na: [1, 2\n---\nServiced in May.\n", 3),
    ],
)
async def test_c5_03_malformed_yaml_is_never_rewritten_and_hides_no_body(reme: ReMe, text: str, line: int) -> None:
    file = put(reme, "boiler.md", text)
    async with reme:
        changes = (
            lambda: reme.vault.frontmatter_update("boiler.md", {"reviewed": True}),
            lambda: reme.vault.frontmatter_delete("boiler.md", ["title"]),
        )
        for change in changes:
            with pytest.raises(FrontMatterError, match=rf"boiler\.md.*line {line}\b"):
                await change()
        assert file.read_bytes() == text.encode("utf-8")
        unreadable = await reme.vault.frontmatter_read("boiler.md")
        assert (unreadable.data, f"line {line}" in str(unreadable.error)) == ({}, True)
        assert "Serviced in May." in (await reme.vault.read("boiler.md")).text
        assert await found(reme, "Serviced") == ["boiler.md"]
        assert await reme.vault.history() == ()


async def test_c5_04_one_bad_file_stops_nothing_after_it(reme: ReMe) -> None:
    words = ["apricot", "banana", "cherry", "damson", "elder", "fig"]
    for number, word in enumerate(words[:5], 1):
        head = "key: `C:\\agent\\x`" if number == 3 else "key: fine"
        put(reme, f"{number}.md", f"---\n{head}\n---\nAbout {word}.\n")
    async with reme:
        report = await reme.index.sync()
        assert [path for path, _ in report.failed] == ["3.md"]
        assert "line 2" in report.failed[0][1]
        await reme.vault.write("6.md", "About fig.\n")
        for number, word in enumerate(words, 1):
            assert await found(reme, word) == [f"{number}.md"]
        put(reme, "3.md", "---\nkey: mended\n---\nAbout cherry.\n")
        assert (await reme.index.sync()).failed == ()
        assert (await reme.search("cherry", filter={"key": "mended"})).hits


async def test_c5_06_values_are_what_was_typed_and_written_texts_read_back(reme: ReMe) -> None:
    lines = ["title: 2026", "country: no", "id: 0123", "version: 1.10", "mac: 12:34:56", "empty: ~"]
    file = put(reme, "n.md", "\n".join(["---", *lines, "---", "walnut", ""]))
    async with reme:
        read = await front(reme, "n.md")
        assert read == {
            "title": "2026", "country": "no", "id": "0123", "version": "1.10", "mac": "12:34:56", "empty": None,
        }  # fmt: skip
        assert await found(reme, "2026") == ["n.md"]
        for text in (
            "no",
            "0123",
            "1.10",
            "2026-03-16",
            "null",
            "yes",
            "~",
            "0x1f",
            "12:34:56",
            "1e3",
            "",
            "a: b",
            "# x",
        ):
            await reme.vault.frontmatter_update("n.md", {"新的": text})
            assert (await front(reme, "n.md"))["新的"] == text
        assert file.read_text(encoding="utf-8").split("\n")[1:7] == lines


async def test_c5_06_titles_that_look_like_values_are_titles(reme: ReMe) -> None:
    for number, title in enumerate(("1984", "null", "yes", "1.10", "2026-02-30", "true")):
        put(reme, f"{number}.md", f"---\ntitle: {title}\n---\nwalnut number {number}\n")
    async with reme:
        titles = {hit.path: hit.title for hit in (await reme.search("walnut", limit=10)).hits}
    assert titles["0.md"] == "1984"
    assert titles["2.md"] == "yes"
    assert titles["3.md"] == "1.10"
    assert titles["4.md"] == "2026-02-30"
    assert titles["5.md"] == "true"


@pytest.mark.parametrize("end", [b"\r\n", b""], ids=["newline at the end", "none"])
async def test_c5_07_only_the_line_of_the_key_changes(reme: ReMe, end: bytes) -> None:
    file = put(reme, "n.md", b'---\r\nzeta: 1\r\nalpha: "two" # why\r\nmid: x # stays\r\n---\r\nb' + end)
    await reme.vault.frontmatter_update("n.md", {"alpha": 3})
    assert file.read_bytes() == b"---\r\nzeta: 1\r\nalpha: 3 # why\r\nmid: x # stays\r\n---\r\nb" + end


async def test_c5_08_keys_of_any_kind_are_text_and_chinese_is_not_escaped(reme: ReMe) -> None:
    file = put(reme, "n.md", "---\n1: one\n标题: 测试\ncontent: hi\nhandler: z\n2026-01-01: x\n---\nb\n")
    assert await front(reme, "n.md") == {"1": "one", "标题": "测试", "content": "hi", "handler": "z", "2026-01-01": "x"}
    await reme.vault.frontmatter_update("n.md", {"标题": "新", "metadata": "m", "1": "eins", "作者": "张三"})
    text = file.read_text(encoding="utf-8")
    assert "标题: 新\n" in text
    assert "作者: 张三\n" in text
    assert text.endswith("---\nb\n")
    assert (await front(reme, "n.md"))["1"] == "eins"


async def test_c5_09_dashes_end_the_block_only_on_a_line_of_their_own(reme: ReMe) -> None:
    body = "text walnut\n\n---\n\nmid hazel\n\n------- Warning -------\n\n---\n\nend almond\n"
    put(reme, "n.md", f"---\ntitle: a --- b\ndesc: |\n  x\n  ---\n  y\n---\n{body}")
    put(reme, "late.md", "intro\n\n---\nkey: pecan\n---\n")
    async with reme:
        assert await front(reme, "n.md") == {"title": "a --- b", "desc": "x\n---\ny\n"}
        for word in ("walnut", "hazel", "Warning", "almond"):
            assert await found(reme, word) == ["n.md"]
        assert await front(reme, "late.md") == {}
        assert await found(reme, "pecan") == ["late.md"]


@pytest.mark.parametrize(
    ("text", "data", "after"),
    [
        ("---\na: 1\n---", {"a": 1}, "---\na: 1\nk: v\n---"),
        ("---\n---\nb", {}, "---\nk: v\n---\nb"),
        ("--- \na: 1\n---  \nb", {"a": 1}, "--- \na: 1\nk: v\n---  \nb"),
        ("---\na: 1\n...\nb", {"a": 1}, "---\na: 1\nk: v\n...\nb"),
        ("---", {}, "---\nk: v\n---\n---"),
        ("---\na: 1\nnever closed\n", {}, "---\nk: v\n---\n---\na: 1\nnever closed\n"),
    ],
)
async def test_c5_10_fences_are_read_by_one_rule_and_kept(reme: ReMe, text: str, data: dict, after: str) -> None:
    file = put(reme, "n.md", text)
    assert await front(reme, "n.md") == data
    await reme.vault.frontmatter_update("n.md", {"k": "v"})
    assert file.read_text(encoding="utf-8") == after
    await reme.vault.frontmatter_delete("n.md", ["k"])
    assert (await front(reme, "n.md")) == data


async def test_c5_11_links_in_values_are_links_and_written_ones_are_quoted(reme: ReMe) -> None:
    file = put(reme, "n.md", '---\nrelated: [[Alpha]]\nup:\n  - "[[Beta|b]]"\n---\nx\n')
    async with reme:
        await reme.index.sync()
        edges = reme.index.graph.outlinks("n.md")
        assert [(edge.link.target_path, edge.link.predicate) for edge in edges] == [
            ("Alpha", "related"),
            ("Beta", "up"),
        ]
        assert (await front(reme, "n.md"))["related"] == "[[Alpha]]"
        await reme.vault.frontmatter_update("n.md", {"next": "[[Gamma]]", "more": ["[[Delta]]"]})
        text = file.read_text(encoding="utf-8")
        assert 'next: "[[Gamma]]"' in text or "next: '[[Gamma]]'" in text
        assert (await front(reme, "n.md"))["more"] == ["[[Delta]]"]


async def test_c5_12_of_two_equal_keys_neither_line_is_dropped(reme: ReMe) -> None:
    file = put(reme, "n.md", "---\ntitle: A\ntitle: B\n---\nx\n")
    assert (await front(reme, "n.md"))["title"] == "B"
    await reme.vault.frontmatter_update("n.md", {"k": "v"})
    assert file.read_text(encoding="utf-8") == "---\ntitle: A\ntitle: B\nk: v\n---\nx\n"


async def test_c5_12_a_nul_in_the_body_stops_nothing(reme: ReMe) -> None:
    file = put(reme, "n.md", b"---\na: 1\n---\nwalnut \x00 body\n")
    async with reme:
        assert await found(reme, "walnut") == ["n.md"]
        await reme.vault.frontmatter_update("n.md", {"a": 2})
    assert file.read_bytes() == b"---\na: 2\n---\nwalnut \x00 body\n"


def bombs() -> dict[str, str]:
    levels = ["l0: &l0 [x, x, x, x, x, x, x, x, x]"]
    levels += [f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 9)}]" for n in range(1, 9)]
    return {
        "aliases": "\n".join(levels),
        "nested": "a: " + "[" * 3000 + "]" * 3000,
        "itself": "a: &a [*a]",
        "large": "a: " + "x" * 5_000_000,
        "mappings": "a: " + "{b: " * 2000 + "1" + "}" * 2000,
        "many keys": "\n".join(f"k{n}: 1" for n in range(100_000)),
    }


@pytest.mark.parametrize("name", bombs())
async def test_c5_13_a_bomb_is_unreadable_front_matter_and_nothing_more(reme: ReMe, name: str) -> None:
    file = put(reme, "bomb.md", f"---\n{bombs()[name]}\n---\nThe walnut body.\n")
    put(reme, "good.md", "---\ntitle: fine\n---\nThe hazel body.\n")
    before = file.read_bytes()
    async with reme:
        report = await reme.index.sync()
        assert [path for path, _ in report.failed] == ["bomb.md"]
        assert (await reme.vault.frontmatter_read("bomb.md")).error
        assert "bomb.md" in await found(reme, "walnut")
        assert await found(reme, "hazel") == ["good.md"]
        with pytest.raises(FrontMatterError):
            await reme.vault.frontmatter_update("bomb.md", {"k": 1})
        assert file.read_bytes() == before


async def test_c5_14_a_reader_sees_the_old_note_or_the_new_one_and_link_and_mode_stay(reme: ReMe) -> None:
    texts = [f"---\nk: {number}\n---\n" + f"{number} " * 4000 + "\n" for number in (1, 2)]
    file = put(reme, "n.md", texts[0])
    file.chmod(0o600)
    (reme.vault.root / "link.md").symlink_to("n.md")
    seen: set[str] = set()
    stop = threading.Event()

    def look() -> None:
        while not stop.is_set():
            seen.add(file.read_text(encoding="utf-8"))

    reader = threading.Thread(target=look)
    reader.start()
    try:
        for number in range(150):
            await reme.vault.write("link.md", texts[number % 2], overwrite=True)
    finally:
        stop.set()
        reader.join()
    assert seen <= set(texts)
    assert (reme.vault.root / "link.md").is_symlink()
    assert stat.S_IMODE(os.stat(file).st_mode) == 0o600
    assert [path for path in reme.vault.root.rglob("*") if "tmp" in path.name] == []


async def test_c5_06_dates_stay_dates_and_times_keep_their_offset(reme: ReMe) -> None:
    put(reme, "n.md", "---\nday: 2026-03-16\n---\nx\n")
    assert (await front(reme, "n.md"))["day"] == date(2026, 3, 16)
    await reme.vault.frontmatter_update("n.md", {"next": date(2026, 3, 17), "text": "2026-03-17"})
    read = await front(reme, "n.md")
    assert (read["next"], read["text"]) == (date(2026, 3, 17), "2026-03-17")
