"""One file's bytes become the entries of the index: fields, units, terms, and where each unit's bytes lie."""

import hashlib
import re
import zlib
from collections.abc import Iterable
from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING, Any

from .asking import states_nothing
from .embedding_text import NO_TEXT, embedded_text, text_key
from .entries import (
    ALIAS,
    ASKS,
    CORRECTS,
    DESCRIPTION,
    HEAD,
    HEADING,
    HEADING_ONLY,
    REPEATS,
    TAG,
    TIME_WORDS,
    TITLE,
    FileEntry,
    UnitEntry,
)
from .link_words import anchors_of
from .note_fields import heading_day, says_its_day, stem_of
from .recalled import copied_lines, is_copied, quotes_vault
from .simplified import simplified
from .survey import Survey
from .time_words import ANYTHING, SIGNS, WORDS, has_time_words, holds_any, lower_case

if TYPE_CHECKING:
    from .chunker import Document, Unit
    from .tokenizer import Tokenizer

MAX_FILE_BYTES = 64 * 1024 * 1024
LABEL_TOKENS = 4_000  # of one file; a note with thousands of headings is found by its text
FRONT_TOKENS = 200
_EPOCH = date(1970, 1, 1).toordinal()

_PART_MARK = re.compile(r"\[Part \d+/\d+\]")
_NOT_FRONT = frozenset({"name", "title", "tags", "aliases", "alias", "description"})
# When a note was written is no date that it is about; a deadline or a birthday is.
_WRITTEN = frozenset(
    {
        "date", "day", "created", "createdat", "datecreated", "creationdate", "ctime", "updated", "updatedat",
        "dateupdated", "lastupdated", "modified", "modifiedat", "datemodified", "lastmodified", "lastmod", "mtime",
        "edited", "published", "publishedat", "publishdate", "datepublished", "timestamp", "validfrom", "validto",
    }
)  # fmt: skip
# A passage that says it replaces what was said before.
_CORRECTS = re.compile(
    r"\b(?:correction|corrected|no longer|changed? (?:to|from)|switched (?:to|from)|moved (?:to|from)"
    r"|updated to|replaced (?:by|with)|supersedes?|instead of|not .{1,40} any ?more)\b"
)
# What any match of it holds.
_CORRECTS_HINTS = ("correct", "no longer", "change", "ed to", "ed from", "replaced", "supersede", "instead of", "more")
_CORRECTS_HINT = re.compile("|".join(_CORRECTS_HINTS))
_CORRECTS_CHINESE = re.compile(r"更正|纠正|勘误|改为|改成|改记|改到|改用|换成了|不再|已(?:经)?(?:改|换|迁)|以此为准")


def day_number(day: str) -> int:
    """Days since 1970-01-01 of ``YYYY-MM-DD``; 0 for what is no date."""
    if not day:
        return 0
    try:
        return date.fromisoformat(day[:10]).toordinal() - _EPOCH
    except ValueError:
        return 0


def day_text(number: int) -> str:
    """The inverse of :func:`day_number`; "" for 0."""
    return date.fromordinal(number + _EPOCH).isoformat() if number else ""


def decode(data: bytes) -> tuple[str, str, str, str]:
    """Text as it is indexed, the same text with undecoded bytes, its encoding, and what is wrong with it.

    Both texts have the same characters at the same places; the second turns back into the bytes and is "" for other
    encodings than UTF-8. The fault is "" when there is none.
    """
    from ..vault.encoding import SAMPLE_BYTES, decode_exact, display, kind_of

    kind = kind_of(data[:SAMPLE_BYTES], whole=len(data) <= SAMPLE_BYTES)
    if kind.encoding == "utf-8":
        exact = decode_exact(data)
        text = display(exact)
        damaged = not kind.exact or (text != exact and "\x00" not in exact)
        fault = "not valid UTF-8; searched with the damaged characters replaced" if damaged else ""
        return text, exact, "utf-8", fault
    if kind.encoding == "binary":
        return "", "", "binary", "binary content, not text"
    text = data.decode(kind.encoding, "replace")
    return display(text), "", kind.encoding, f"not UTF-8; searched as {kind.encoding}, save it as UTF-8 to edit it"


def read_entries(
    path: str,
    data: bytes,
    tokenizer: "Tokenizer",
    *,
    chunk_chars: int = 1200,
    embed_toc: bool = True,
    uncut: bool = False,
) -> tuple[FileEntry, list[UnitEntry]]:
    """A file as entries, its times still unset. Never raises on content.

    With ``uncut``, Chinese in units and around links is left to be cut into pairs (:mod:`.uncut`).
    """
    from .chunker import Unit, read_document

    text, exact, encoding, fault = decode(data)
    document = read_document(path, text, chunk_chars=chunk_chars, embed_toc=embed_toc, with_chunks=False)
    front, survey = document.front_matter, Survey(text)
    entry = FileEntry(
        path=path,
        size=len(data),
        mtime=0,
        ctime=0,
        checked=0,
        digest=hashlib.sha256(data).hexdigest(),
        encoding=encoding,
        kind=document.kind,
        title=document.title,
        day=day_number(document.date),
        description=document.description,
        tags=document.tags,
        aliases=document.aliases,
        front=plain(front.data),
        links=document.links,
        lines=data.count(b"\n"),
        fault=fault or (f"front matter: {front.error}" if front.error else ""),
        labels=tuple(label_terms(document, tokenizer)),
        anchors=tuple(anchors_of(survey, document.links, tokenizer, uncut=uncut)),
    )
    units = unit_entries(document, data, survey, exact, tokenizer, embed_toc=embed_toc, uncut=uncut)
    if not units and encoding != "binary" and document.kind != "journal":
        # Nothing but front matter, or nothing at all: the file can still be found by its name and fields.
        last = min(entry.lines + (not text.endswith("\n")), 20)
        whole = Unit(1, last, "\n".join(text.split("\n")[:last]).strip())
        document = replace(document, units=(whole,))
        units = unit_entries(document, data, survey, exact, tokenizer, embed_toc=embed_toc, uncut=uncut)
    return entry, units


def read_more(path: str, data: bytes, tokenizer: "Tokenizer", *, base: int, first_line: int) -> list[UnitEntry] | None:
    """The units of lines that were added to a journal; None when they are not UTF-8 text."""
    from .chunker import read_document

    text, exact, encoding, fault = decode(data)
    if encoding != "utf-8" or fault:
        return None
    document = read_document(path, text, first_line=first_line, with_chunks=False)
    return unit_entries(document, data, Survey(text), exact, tokenizer, base=base, first_line=first_line)


def unit_entries(
    document: "Document",
    data: bytes,
    survey: Survey,
    exact: str,
    tokenizer: "Tokenizer",
    *,
    embed_toc: bool = True,
    base: int = 0,
    first_line: int = 1,
    uncut: bool = False,
) -> list[UnitEntry]:
    """The units of a document; ``data`` (see :func:`decode`) is the file from byte ``base``, line ``first_line`` on."""
    spans = _Spans(data, survey, exact, base, first_line)
    day = day_number(document.date)
    journal = document.kind == "journal"
    copied = frozenset[str]()
    if not journal:
        copied = copied_lines(document.path, str(document.front_matter.data.get("generator") or ""), survey.text)
    heading_terms: dict[tuple[str, ...], tuple[str, ...]] = {}
    log = not (journal or says_its_day(document.path, document.front_matter))
    days: dict[tuple[str, ...], int] = {}
    stem = stem_of(document.path)
    out = []
    for unit in document.units:
        path = unit.headings if embed_toc else unit.headings[-1:]
        if path not in heading_terms:
            found = dict.fromkeys(term for heading in path for term in tokenizer.terms(heading))
            heading_terms[path] = tuple(HEADING + term for term in found)
        if log and unit.headings not in days:
            days[unit.headings] = day_number(heading_day(unit.headings, stem)) or day
        at = -1 if journal else spans.place_of(unit)
        end = at + len(unit.text)
        may_hold = survey.holds(at, end) if at >= 0 else ANYTHING
        text = unit.text if may_hold == ANYTHING else survey.normal[at:end]
        stretches: list[str] | None = [] if uncut else None
        terms = tokenizer.terms(text, may_hold, stretches)
        if journal and unit.speaker:
            terms = tokenizer.terms(unit.speaker) + terms
        extra = heading_terms[path]
        if unit.context and (context := _PART_MARK.sub(" ", unit.context)).strip():
            extra += tuple(HEADING + term for term in dict.fromkeys(tokenizer.terms(context)))
        begin, stop, check = spans.of_lines(unit) if journal else spans.of_text(at, end)
        flags = unit_flags(unit, text, may_hold)
        flags |= turn_flags(unit.text) if journal else REPEATS * is_copied(unit.text, copied)
        out.append(
            UnitEntry(
                terms=(*terms, *extra),
                first=unit.start_line,
                last=unit.end_line,
                begin=begin,
                stop=stop,
                check=check,
                day=day_number(unit.date) or days.get(unit.headings, day),
                speaker=unit.speaker,
                flags=flags,
                headings=unit.headings,
                text=NO_TEXT if flags & HEADING_ONLY else text_key(embedded_text(unit.speaker, unit.text)),
                stretches=stretches or (),
            )
        )
    return out


def unit_flags(unit: "Unit", text: str | None = None, may_hold: int = ANYTHING) -> int:
    """What is known of a unit before anyone asks; ``text`` and ``may_hold`` are what a survey has of it, if any."""
    flags, text = 0, unit.text if text is None else text
    if may_hold:
        flags = TIME_WORDS if has_time_words(text, may_hold) else 0
        if _corrects(text, may_hold):
            flags |= CORRECTS
    if unit.headings and unit.text.strip().strip("#=-\n ") == unit.headings[-1].strip():
        flags |= HEADING_ONLY
    return flags


def _corrects(text: str, may_hold: int) -> bool:
    ascii_only = text.isascii()
    if may_hold & WORDS:
        lower = lower_case(text)
        if holds_any(lower, _CORRECTS_HINTS, _CORRECTS_HINT, ascii_only) and _CORRECTS.search(lower):
            return True
    if ascii_only or not may_hold & SIGNS:
        return False
    return _CORRECTS_CHINESE.search(simplified(text) if may_hold == ANYTHING else text) is not None


def turn_flags(text: str) -> int:
    """What a turn of a journal is, next to a statement of the same words: it only asks or greets, or it quotes."""
    return (ASKS if states_nothing(text) else 0) | (REPEATS if quotes_vault(text) else 0)


def label_terms(document: "Document", tokenizer: "Tokenizer") -> list[str]:
    """Terms of a file's name, title, aliases, headings, tags, description and other front matter, by weight."""
    stem = document.path.rsplit("/", 1)[-1].rsplit(".", 1)[0]
    titles = dict.fromkeys(tokenizer.terms(document.title))
    fields: list[tuple[int, Iterable[str]]] = [
        (TITLE, titles),
        (ALIAS, [t for alias in document.aliases for t in tokenizer.terms(alias)]),
        (ALIAS, [term for term in dict.fromkeys(tokenizer.terms(stem)) if term not in titles]),
        (HEAD, _first_different((tokenizer.terms(heading) for heading in document.headings), LABEL_TOKENS // HEAD + 1)),
        (TAG, [term for tag in document.tags for term in tokenizer.terms(tag)]),
        (DESCRIPTION, tokenizer.terms(document.description)),
        (1, tokenizer.terms(" \n".join(_values(document.front_matter.data)))[:FRONT_TOKENS]),
    ]
    out: list[str] = []
    for weight, terms in fields:
        for term in terms:
            out.extend([term] * weight)
    return out[:LABEL_TOKENS]


def _first_different(texts: Iterable[list[str]], most: int) -> Iterable[str]:
    """The different terms of some texts, in order; so many of them are enough."""
    found: dict[str, None] = {}
    for terms in texts:
        found |= dict.fromkeys(terms)
        if len(found) >= most:
            break
    return found


def plain(value: Any, depth: int = 0) -> Any:
    """Front matter as JSON values, for filters: dates as ``YYYY-MM-DD``, what has no JSON form as text."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if value == value and abs(value) != float("inf") else str(value)
    if isinstance(value, date):
        return value.isoformat()
    if depth < 4 and isinstance(value, dict):
        return {str(key): plain(item, depth + 1) for key, item in list(value.items())[:200]}
    if depth < 4 and isinstance(value, list | tuple | set | frozenset):
        return [plain(item, depth + 1) for item in list(value)[:200]]
    return str(value)[:1_000]


def _bare(key: Any) -> str:
    return "".join(filter(str.isalnum, str(key).casefold()))


def _values(data: dict[str, Any]) -> Iterable[str]:
    for key, value in data.items():
        if str(key) in _NOT_FRONT:
            continue
        for item in value if isinstance(value, list | tuple) else (value,):
            if isinstance(item, str | int | float) and not isinstance(item, bool):
                yield str(item)[:500]
            elif isinstance(item, date) and _bare(key) not in _WRITTEN:
                yield item.isoformat()[:10]
            elif isinstance(item, dict):
                yield from (str(one)[:500] for one in item.values() if isinstance(one, str))


class _Spans:
    """Where units lie in the bytes of a file."""

    def __init__(self, data: bytes, survey: Survey, exact: str, base: int, first_line: int) -> None:
        self._data, self._survey, self._exact, self._base, self._first = data, survey, exact, base, first_line
        self._ascii = exact.isascii()
        self._byte_lines: list[int] | None = None
        self._at = (0, 0)  # a character and the byte it begins at
        self._behind = 0  # where the unit before ends

    def place_of(self, unit: "Unit") -> int:
        """The character at which a unit begins whose text stands in the file as it is; -1 otherwise."""
        if not self._exact or not unit.text:
            return -1
        rows, text = self._survey.rows, self._survey.text
        row = unit.start_line - self._first
        if not 0 <= row < len(rows) - 1:
            return -1
        end = rows[min(unit.end_line - self._first + 1, len(rows) - 1)]
        # The pieces of one long line follow each other: look behind the one before first.
        found = text.find(unit.text, max(rows[row], self._behind), end)
        if found < 0:
            found = text.find(unit.text, rows[row], end)
        if found >= 0:
            self._behind = found + len(unit.text)
        return found

    def of_text(self, begin: int, end: int) -> tuple[int, int, int]:
        """Bytes of these characters; (-1, -1, 0) when ``begin`` is -1."""
        if begin < 0:
            return -1, -1, 0
        start, stop = self._bytes(begin), self._bytes(end)
        return start + self._base, stop + self._base, zlib.crc32(self._data[start:stop])

    def of_lines(self, unit: "Unit") -> tuple[int, int, int]:
        """Bytes of the lines a unit was read from."""
        if self._byte_lines is None:
            self._byte_lines = [0, *(match.end() for match in re.finditer(b"\n", self._data))]
        lines = self._byte_lines
        start = lines[min(unit.start_line - self._first, len(lines) - 1)]
        row = unit.end_line - self._first + 1
        stop = lines[row] if row < len(lines) else len(self._data)
        return start + self._base, stop + self._base, zlib.crc32(self._data[start:stop])

    def _bytes(self, character: int) -> int:
        if self._ascii:
            return character
        at, byte = self._at if self._at[0] <= character else (0, 0)
        byte += len(self._exact[at:character].encode("utf-8", "surrogateescape"))
        self._at = (character, byte)
        return byte
