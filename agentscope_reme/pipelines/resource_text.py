"""The text of a document in ``resource/``, in blocks that say where they stand. PDF and Word need the extra `docs`."""

import csv
import io
import json
import re
import time
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, Literal

from ..errors import NoteError
from ..vault.encoding import clean_text

if TYPE_CHECKING:
    from ..vault import Vault

TEXTS = (
    ".md", ".markdown", ".txt", ".text", ".rst", ".log", ".json", ".jsonl", ".ndjson", ".csv", ".tsv", ".yaml", ".yml",
    ".html", ".htm", ".xhtml",
)  # fmt: skip
DOCUMENTS = (".pdf", ".docx")
SUFFIXES = (*TEXTS, *DOCUMENTS)
"""What is read. Other files in ``resource/`` are left alone."""

READ_BYTES = 16 * 1024 * 1024
"""Most bytes of a text that are read; of a larger one the start."""

DOCUMENT_BYTES = 64 * 1024 * 1024
"""Largest PDF or Word document that is opened."""

_UNPACKED_BYTES = 256 * 1024 * 1024
_MOST_PAGES = 2_000
_SECONDS = 120.0

_COMMENT = re.compile(r"(?<!`)((`+)(?!`).+?(?<!`)\2(?!`))|<!--.*?-->", re.DOTALL)
_SEPARATORS = ",;\t|"
_SAYS_SEPARATOR = re.compile(r"sep=([^\w\s\"]|\t)\r?\n")
_MOST_COLUMNS = 30
_NAME_CHARS = 60
_PART = re.compile(r"^\[Part \d+/\d+\]\s*")
_PART_NUMBER = re.compile(r"\[Part (\d+)/\d+\]")
_CODE_STARTS = ("```", "~~~", "    ", "\t")
_YAML_KEY = re.compile(r"^([\w.-][\w .-]*?)[ \t]*:(?=[ \t\r\n]|$)", re.MULTILINE)

Place = Literal["line", "page", "paragraph"]


class UnreadableDocument(NoteError):
    """A document whose bytes cannot be read, whatever is tried: damaged, encrypted, too large, no text."""


class ReaderMissing(NoteError):
    """What reads this kind of document is not installed."""


@dataclass(frozen=True, slots=True)
class Block:
    """A passage of a document. ``first`` and ``last`` are lines, pages or paragraphs, counted from 1.

    ``code`` says that it is a block of code, or a part of one, in a Markdown text.
    """

    first: int
    last: int
    text: str
    headings: tuple[str, ...] = ()
    code: bool = False


@dataclass(frozen=True, slots=True)
class Reading:
    """What a document says. ``partial`` is "" or says what of it was not read.

    Of a table or of records ``rows`` is how many there are, and ``columns`` what each of them tells.
    """

    path: str
    title: str
    blocks: tuple[Block, ...]
    place: Place = "line"
    size: int = 0
    partial: str = ""
    rows: int = 0
    columns: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """All blocks, a line between them."""
        return "\n".join(block.text for block in self.blocks)


def is_readable(path: str) -> bool:
    """Whether this is a kind of file that is read, by its name."""
    return PurePosixPath(path).suffix.lower() in SUFFIXES


def read_resource(vault: "Vault", path: str, data: bytes) -> Reading:
    """Read a document; blocking.

    Args:
        vault: Where it lies.
        path: Its path in the vault; the suffix decides how it is read.
        data: Its bytes.

    Raises:
        UnreadableDocument: It cannot be read; the message says why, and what would help.
        ReaderMissing: What reads it is not installed; the message says what to install.
    """
    suffix = PurePosixPath(path).suffix.lower()
    if suffix not in DOCUMENTS:
        return _read_text(path, data)
    if len(data) > DOCUMENT_BYTES:
        why = f"{path} has {len(data):,} bytes, more than the {DOCUMENT_BYTES:,} that are opened"
        raise UnreadableDocument(why, path)
    reader = _read_pdf if suffix == ".pdf" else _read_docx
    try:
        return reader(path, data)
    except ImportError as error:
        raise ReaderMissing(
            f"{path}: {suffix[1:]} documents need the extra `docs` (pip install 'agentscope-reme[docs]'): {error}", path
        ) from error
    except NoteError:
        raise
    except Exception as error:  # readers of foreign formats fail in ways of their own
        raise UnreadableDocument(f"{path} cannot be read ({type(error).__name__}: {error})", path) from error


def _read_text(path: str, data: bytes) -> Reading:
    from ..index.chunker import MARKDOWN, read_document
    from ..index.reading import decode

    shown, partial = data, ""
    if len(data) > READ_BYTES:
        shown = data[: data.rfind(b"\n", 0, READ_BYTES) + 1 or READ_BYTES]
        partial = f"{len(shown):,} of {len(data):,} bytes"
    text, _, encoding, _ = decode(shown)
    if encoding == "binary":
        raise UnreadableDocument(f"{path} holds no text", path)
    text = text.removeprefix("\ufeff")
    suffix = PurePosixPath(path).suffix.lower()
    document = read_document(path, text)
    blocks = [
        Block(unit.start_line, unit.end_line, _PART.sub("", _with_context(unit.text, unit.context)), unit.headings)
        for unit in document.units
    ]
    if suffix in MARKDOWN:
        contexts = (unit.context for unit in document.units)
        blocks = _seen_by_readers(_with_code(zip(blocks, contexts, strict=True)), text)
    rows, columns = _shape(suffix, text)
    told = tuple(block for block in blocks if block.text.strip())
    return Reading(path, document.title, told, "line", len(data), partial, rows, columns)


def _seen_by_readers(blocks: Iterable[Block], text: str) -> list[Block]:
    """The passages of a Markdown text without what nobody sees who reads it: comments, broken front matter."""
    from ..vault.frontmatter import parse

    note = parse(text)
    below = [block for block in blocks if note.raw is None or block.first >= note.body_line]
    return [block if block.code else replace(block, text=_uncommented(block.text)) for block in below]


def _with_code(blocks: Iterable[tuple[Block, str]]) -> Iterator[Block]:
    """The passages of a Markdown text with which of them are code. Of code in parts only the first has its fence."""
    code = False
    for block, context in blocks:
        goes_on = code and (part := _PART_NUMBER.match(context)) is not None and part[1] != "1"
        code = goes_on or block.text.startswith(_CODE_STARTS)
        yield replace(block, code=code)


def _uncommented(text: str) -> str:
    if "<!--" not in text:
        return text
    if "-->" not in text and text.lstrip(" >*+-").startswith("!--", 1):
        return ""  # it hides all that follows
    # Behind the line of the last end nothing is looked for, which would take quadratic time.
    end = text.find("\n", text.rfind("-->")) if "-->" in text else 0
    end = len(text) if end < 0 else end
    return _COMMENT.sub(lambda found: " " if found[1] is None else found[0], text[:end]) + text[end:]


def _shape(suffix: str, text: str) -> tuple[int, tuple[str, ...]]:
    """How many rows or records there are, and their columns or keys; of a single record its keys."""
    if suffix in (".csv", ".tsv"):
        told = _SAYS_SEPARATOR.match(text)
        text = text[told.end() :] if told else text
        try:
            table = csv.reader(io.StringIO(text), delimiter=told[1] if told else _separator(text, suffix))
            head = next(table, [])
            return sum(1 for row in table if row), _names(head)
        except csv.Error:
            return 0, ()
    if suffix in (".jsonl", ".ndjson"):
        lines = [line for line in text.split("\n") if line.strip()]
        return len(lines), _keys(lines[0]) if lines else ()
    if suffix == ".json":
        return 0, _keys(text)
    if suffix in (".yaml", ".yml"):
        return 0, _names(match.group(1) for match in _YAML_KEY.finditer(text))
    return 0, ()


def _separator(text: str, suffix: str) -> str:
    """What stands between the cells of a table: that which gives its head most columns, a comma before a semicolon.

    Programs write what is customary where they run, also into a file that is called ``.csv``.
    """
    if suffix == ".tsv":
        return "\t"
    return max(_SEPARATORS, key=lambda mark: len(next(csv.reader(io.StringIO(text), delimiter=mark), [])))


def _keys(text: str) -> tuple[str, ...]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return ()
    first = value[0] if isinstance(value, list) and value else value
    return _names(first) if isinstance(first, dict) else ()


def _names(found: Iterable[str]) -> tuple[str, ...]:
    """Names of columns, each as one short line, not too many."""
    kept = dict.fromkeys(" ".join(clean_text(str(one)).split())[:_NAME_CHARS] for one in islice(found, _MOST_COLUMNS))
    return tuple(one for one in kept if one)


def _with_context(text: str, context: str) -> str:
    """A row with the head of its table, where the reader gives one."""
    return f"{context.strip()}\n{text}" if context.strip() and "\n" not in context.strip() else text


def _read_pdf(path: str, data: bytes) -> Reading:
    from pypdf import PdfReader

    reader = PdfReader(io.BytesIO(data))
    if reader.is_encrypted and not reader.decrypt(""):
        raise UnreadableDocument(f"{path} is encrypted; put in a copy without a password", path)
    begun, blocks, count = time.monotonic(), [], len(reader.pages)
    read = 0
    for number, page in enumerate(reader.pages, 1):
        if number > _MOST_PAGES or time.monotonic() - begun > _SECONDS:
            break
        read = number
        text = clean_text(page.extract_text() or "").strip()
        blocks += [Block(number, number, part) for part in _paragraphs(text)]
    title = clean_text(str((reader.metadata.title if reader.metadata else "") or "")).strip()
    partial = "" if read == count else f"{read} of {count} pages"
    return Reading(path, title or PurePosixPath(path).stem, tuple(blocks), "page", len(data), partial)


def _read_docx(path: str, data: bytes) -> Reading:
    from docx import Document

    with zipfile.ZipFile(io.BytesIO(data)) as packed:
        if sum(entry.file_size for entry in packed.infolist()) > _UNPACKED_BYTES:
            raise UnreadableDocument(f"{path} unpacks to more than {_UNPACKED_BYTES:,} bytes", path)
    document = Document(io.BytesIO(data))
    headings: list[str] = []
    blocks: list[Block] = []
    title = clean_text(str(document.core_properties.title or "")).strip()
    for number, item in enumerate(document.iter_inner_content(), 1):
        if hasattr(item, "rows"):
            blocks += [Block(number, number, row, tuple(headings)) for row in _rows(item)]
            continue
        text = clean_text(item.text).strip()
        if not text:
            continue
        style = str(getattr(item.style, "name", "") or "")
        if style == "Title" or style.startswith("Heading"):
            level = int(style[8:]) if style[8:].isdigit() else 0
            headings[max(0, level - 1) :] = [text]
            title = title or (text if level < 2 else "")
        blocks.append(Block(number, number, text, tuple(headings)))
    return Reading(path, title or PurePosixPath(path).stem, tuple(blocks), "paragraph", len(data))


def _rows(table: Any) -> Iterator[str]:
    """The rows of a Word table, each in one line; what tables inside its cells say stands in these."""
    for row in table.rows:
        # A merged cell is given once for each column that it spans; two cells may say the same.
        cells = {id(cell._tc): cell for cell in row.cells}.values()
        told = [" ".join(_of_cell(cell)) for cell in cells]
        if any(told):
            yield " | ".join(told)


def _of_cell(cell: Any) -> Iterator[str]:
    for item in cell.iter_inner_content():
        if hasattr(item, "rows"):
            yield from _rows(item)
        elif text := clean_text(item.text).strip():
            yield text


def _paragraphs(text: str) -> Iterator[str]:
    """A page in parts, at blank lines."""
    for part in text.split("\n\n"):
        if part.strip():
            yield part.strip()
