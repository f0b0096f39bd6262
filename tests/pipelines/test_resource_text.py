"""Documents of every kind are read in passages that say where they stand."""

import io

import pytest

from agentscope_reme.errors import NoteError
from agentscope_reme.pipelines.resource_card import card_by_rules
from agentscope_reme.pipelines.resource_text import READ_BYTES, SUFFIXES, is_readable, read_resource
from agentscope_reme.vault import Vault
from tests.pipelines.documents import REPORT, docx_of, pdf_of, zip_bomb


def reading(vault_dir, name, content):
    data = content if isinstance(content, bytes) else content.encode("utf-8")
    return read_resource(Vault(vault_dir), f"resource/{name}", data)


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("a.md", REPORT, (3, 3, "Revenue rose")),
        ("a.txt", "one\n\nthe lease ends\n", (3, 3, "the lease ends")),
        ("a.json", '{"lease": {"ends": "2027-05-03"}}', (1, 1, "2027-05-03")),
        ("a.jsonl", '{"a": 1}\n{"lease": "ends"}\n', (1, 2, "lease")),
        ("a.csv", "name,age\nAnna,3\n", (1, 2, "Anna,3")),
        ("a.tsv", "name\tage\nAnna\t3\n", (1, 2, "Anna")),
        ("a.yaml", "lease:\n  ends: soon\n", (1, 2, "ends: soon")),
        (
            "a.html",
            "<body><h1>Lease</h1>\n<p>It <b>ends</b> soon.</p><script>no()</script></body>",
            (2, 2, "ends"),
        ),
        ("A.MD", "# T\n\nthe lease ends\n", (3, 3, "the lease ends")),
    ],
)
def test_text_formats_are_read_with_their_lines(vault_dir, name, content, expected):
    first, last, text = expected
    found = [block for block in reading(vault_dir, name, content).blocks if text in block.text]
    assert [(block.first, block.last) for block in found] == [(first, last)]
    assert "no()" not in reading(vault_dir, name, content).text


@pytest.mark.parametrize(
    ("name", "content", "rows", "columns"),
    [
        ("a.csv", "name,age\n" + "Anna,3\n" * 500, 500, ("name", "age")),
        ("a.csv", '"a, b","c\nd"\n1,2\n', 1, ("a, b", "c d")),
        ("a.csv", 'name;price, net;day\n"Huber; Bob";1.200,50;03.05.2026\n', 1, ("name", "price, net", "day")),
        ("a.csv", "name\tprice\nAnna\t1,5\nBob\t2,5\n", 2, ("name", "price")),
        ("a.csv", "sep=|\r\nname|price;net\r\nAnna|1,5\r\n", 1, ("name", "price;net")),
        ("a.csv", "only one column\n1,5\n", 1, ("only one column",)),
        ("a.tsv", "a,b,c\td\n1\t2\n", 1, ("a,b,c", "d")),
        ("a.jsonl", '{"x": 1, "y": 2}\n' * 3, 3, ("x", "y")),
        ("a.json", '[{"x": 1}, {"x": 2}]', 0, ("x",)),
        ("a.yaml", "name: x\nsteps:\n  - inner: 1\n", 0, ("name", "steps")),
        ("a.json", "{broken", 0, ()),
        ("a.json", "[" * 100_000, 0, ()),
    ],
)
def test_tables_and_records_are_counted_and_their_columns_named(vault_dir, name, content, rows, columns):
    found = reading(vault_dir, name, content)
    assert (found.rows, found.columns) == (rows, columns)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "gb18030"])
def test_other_encodings_are_read_as_they_are_meant(vault_dir, encoding):
    text = "我们决定在十二月上线新系统，负责人是王小明。" * 3
    assert text in reading(vault_dir, "a.txt", text.encode(encoding)).text


def test_a_pdf_is_read_by_pages(vault_dir):
    found = reading(vault_dir, "a.pdf", pdf_of("The lease ends in May.", "Nobody wants it.", title="The lease"))
    assert found.title == "The lease"
    assert found.place == "page"
    assert [(block.first, block.text) for block in found.blocks] == [
        (1, "The lease ends in May."),
        (2, "Nobody wants it."),
    ]


def test_a_word_document_is_read_with_its_headings_and_tables(vault_dir):
    data = docx_of(
        ("Heading 1", "The lease"), ("Normal", "It ends in May."), ("Heading 2", "Rent"), ("Normal", "It is 900 EUR."),
        table=[["month", "rent"], ["May", "900"]],
    )  # fmt: skip
    found = reading(vault_dir, "a.docx", data)
    held = {block.text: block.headings for block in found.blocks}
    assert held["It ends in May."] == ("The lease",)
    assert held["It is 900 EUR."] == ("The lease", "Rent")
    assert held["May | 900"] == ("The lease", "Rent")


def test_cells_that_say_the_same_and_tables_within_tables_are_read(vault_dir):
    from docx import Document

    document = Document()
    table = document.add_table(2, 3)
    for cell, text in zip(table.rows[0].cells, ("oak", "3", "3"), strict=True):
        cell.text = text
    table.cell(1, 0).merge(table.cell(1, 1)).text = "in all"
    inner = table.cell(1, 2).add_table(1, 2)
    inner.cell(0, 0).text, inner.cell(0, 1).text = "six", "boards"
    stream = io.BytesIO()
    document.save(stream)
    found = reading(vault_dir, "a.docx", stream.getvalue())
    assert [block.text for block in found.blocks] == ["oak | 3 | 3", "in all | six | boards"]


def test_a_word_document_is_called_by_its_title_and_told_of_by_what_stands_below_its_headings(vault_dir):
    data = docx_of(
        ("Title", "Lease of the Basel office"), ("Heading 1", "Term"), ("Normal", "It ends on 2027-05-03."),
        ("Heading 1", "Rent"), ("Normal", "The rent is 900 EUR a month."), ("Normal", "It is paid in advance."),
    )  # fmt: skip
    card = card_by_rules(reading(vault_dir, "a.docx", data))
    assert card.name == "Lease of the Basel office"
    assert card.description == "It ends on 2027-05-03."
    assert [point.text for point in card.points] == ["It ends on 2027-05-03.", "The rent is 900 EUR a month."]
    assert [point.text for point in card.headings] == ["Lease of the Basel office", "Term", "Rent"]


HIDDEN = """---
summary: "the "new" one"
---
# Boiler

<!-- one line -->
The boiler <!-- within --> is blue; `<!-- code -->` is a comment.

<!-- many

lines

-->
> It was serviced <!-- in a quote --> in May.

```html
<!-- in code -->
```

- Ann has the key.
  <!-- in an item -->

<!-- without an end

and all that follows
"""


def test_what_no_reader_of_a_markdown_text_sees_is_no_part_of_it(vault_dir):
    found = reading(vault_dir, "a.md", HIDDEN)
    for unseen in ("new", "one line", "within", "many", "lines", "a quote", "in an item", "without", "follows"):
        assert unseen not in found.text, unseen
    assert "`<!-- code -->` is a comment" in found.text
    assert "<!-- in code -->" in found.text
    assert [block.first for block in found.blocks] == [7, 14, 16, 20], "lines are those of the file"
    told = [point.text for point in card_by_rules(found).points]
    assert told[0] == "The boiler is blue;"
    assert not any("```" in text or "reme" in text or "in code" in text for text in told)


@pytest.mark.parametrize(
    "text", ["<!-- " * 100_000, "--> " + "<!-- " * 100_000, "`<!-- ` " * 60_000, "` <!-- --> " * 40_000]
)
def test_hostile_comments_are_read_in_linear_time(vault_dir, text):
    assert reading(vault_dir, "a.md", f"Words first.\n\n{text}\n").blocks[0].text == "Words first."


def test_a_byte_order_mark_is_no_part_of_the_first_column(vault_dir):
    assert reading(vault_dir, "a.csv", "\ufeffname,qty\ntea,3\n".encode()).columns == ("name", "qty")


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("a.pdf", b"%PDF-1.4 and then nothing", "cannot be read"),
        ("a.docx", b"PK\x03\x04 no zip", "cannot be read"),
        ("a.pdf", b"", "cannot be read"),
        ("a.txt", b"\x89PNG\r\n\x1a\n\x00\x00", "holds no text"),
        ("a.md", bytes(range(256)) * 50, "holds no text"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_path(vault_dir, name, data, said):
    with pytest.raises(NoteError, match=said) as caught:
        reading(vault_dir, name, data)
    assert f"resource/{name}" in str(caught.value)


@pytest.mark.slow
def test_a_document_that_unpacks_to_too_much_is_not_unpacked(vault_dir):
    with pytest.raises(NoteError, match="unpacks to more than"):
        reading(vault_dir, "a.docx", zip_bomb())


@pytest.mark.parametrize("missing", ["pypdf", "docx"])
def test_without_the_extra_the_message_says_what_to_install(vault_dir, missing, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, missing, None)
    name, data = ("a.pdf", pdf_of("x")) if missing == "pypdf" else ("a.docx", b"PK\x03\x04")
    with pytest.raises(NoteError, match=r"agentscope-reme\[docs\]"):
        reading(vault_dir, name, data)


def test_of_a_very_large_text_the_start_is_read_in_whole_lines(vault_dir):
    line = "a line of forty characters and no more.\n"
    found = reading(vault_dir, "a.log", line * (READ_BYTES // len(line) + 1_000))
    assert found.partial.endswith("bytes")
    assert all(one == line.strip() for block in found.blocks for one in block.text.split("\n"))


def test_what_is_read_is_told_by_its_name(vault_dir):
    assert all(is_readable(f"resource/a{suffix}") for suffix in SUFFIXES)
    assert not any(is_readable(f"resource/{name}") for name in ("a.png", "a", "a.exe", ".md.zip", "a.mp4"))
