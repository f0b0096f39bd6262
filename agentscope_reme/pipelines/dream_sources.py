"""The daily notes a dream reads: which have changed since they were read last, and what of them a model is shown.

A note's version is that of the text that is read. Of a day's page that is what stands outside its list of cards, so
that a new card does not make the page new.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date as Date
from datetime import timedelta
from typing import TYPE_CHECKING, Literal

from ..errors import NoteError, ReMeError
from ..vault.daily import INDEX_PART
from ..vault.encoding import decode_exact, kind_of
from ..vault.frontmatter import parse, text_of
from ..vault.generated import with_generated_part
from ..vault.layout import DAILY, iter_files
from ..vault.opening import read_all
from ..vault.storage import version_of
from .dream_instructions import LEFT_OUT, instructs

if TYPE_CHECKING:
    from ..vault import Vault

Trust = Literal["external", "agent", "user"]

PIECE_CHARS = 24_000
"""Most characters of notes in one request to the model."""

MAX_PIECES = 4
"""Most requests for extraction in one run; what is left is read by the next run."""

MAX_NOTE_BYTES = 4 * 1024 * 1024
"""Larger notes are not read, which the run reports."""

_ORDER: tuple[Trust, ...] = ("external", "agent", "user")
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_SAID = re.compile(r"[-*] (?:(\d{4}-\d\d-\d\d)(?: \d\d:\d\d)? |(\d\d:\d\d) )?([^:：\n]{1,50})[:：] (?=\S)")


@dataclass(frozen=True, slots=True)
class Source:
    """A daily note as it was read. ``lines`` are those with text, by their number in the file (1-based).

    ``by_pipeline`` says that auto_memory wrote it: what stands before the colon of an item is then who said it.
    """

    path: str
    version: str
    day: str
    name: str
    description: str
    trust: Trust
    by_pipeline: bool
    lines: Mapping[int, str]

    def text(self, first: int, last: int) -> str:
        """Lines ``first`` to ``last`` of what may be shown."""
        return "\n".join(self.lines[number] for number in sorted(self.lines) if first <= number <= last)

    def said(self, first: int, last: int) -> tuple[str, str]:
        """Who said the first of these lines, "" when the note does not tell, and on which day."""
        for number in sorted(self.lines):
            if first <= number <= last and (found := _SAID.match(self.lines[number])):
                dated = found.group(1) or found.group(2)
                if dated or self.by_pipeline:
                    return found.group(3).strip(), found.group(1) or self.day
        return "", self.day


@dataclass(frozen=True, slots=True)
class Piece:
    """Lines of a note that go into one request; ``ends`` says that they are its last."""

    source: Source
    first: int
    last: int
    ends: bool

    @property
    def text(self) -> str:
        """Its lines as they are in the note."""
        return self.source.text(self.first, self.last)

    def halves(self) -> "list[Piece]":
        """The piece in two, between its lines; nothing when it is one line."""
        numbers = [number for number in sorted(self.source.lines) if self.first <= number <= self.last]
        if len(numbers) < 2:
            return []
        middle = len(numbers) // 2
        return [
            Piece(self.source, numbers[0], numbers[middle - 1], False),
            Piece(self.source, numbers[middle], self.last, self.ends),
        ]

    def shown(self, language: str) -> str:
        """The lines with their numbers; those that read as instructions to a model are left out."""
        external = self.source.trust == "external"
        rows = []
        for number in sorted(self.source.lines):
            if self.first <= number <= self.last:
                line = self.source.lines[number]
                rows.append(f"{number}| {LEFT_OUT[language] if instructs(line, external=external) else line}")
        return "\n".join(rows)


@dataclass(frozen=True, slots=True)
class Scan:
    """What a look at the daily notes found. ``versions`` are of all notes that could be read, by path.

    ``changed`` are to be read now, in that order. ``gone`` were read once and are no longer there.
    ``failed`` could not be read, with the reason. ``moved`` are new paths of notes that were read under another one,
    with their versions. ``outside`` counts changed notes that the asked days leave out.
    """

    changed: tuple[Source, ...]
    versions: Mapping[str, str]
    gone: tuple[str, ...]
    failed: tuple[tuple[str, str], ...]
    moved: Mapping[str, str]
    outside: int = 0


def least(trusts: Iterable[Trust]) -> Trust:
    """What a text may claim that was made of texts with these."""
    return min(trusts, key=_ORDER.index, default="external")


def trust_of(value: object) -> Trust:
    """What a note says about itself: nothing counts as an agent's, an unknown word as external."""
    if value is None:
        return "agent"
    said = text_of(value).strip().casefold()
    return next((known for known in _ORDER if known == said), "external")


def scan(vault: "Vault", date: str, scan_days: int, read: Mapping[str, str], *, all_days: bool) -> Scan:
    """Look at all daily notes. ``read`` are the versions that were read before, by path.

    To be read are those that differ: first those of the ``scan_days`` days up to ``date``, then, with ``all_days``, the
    rest, so that nothing is lost to a day on which no dream ran; oldest first.
    """
    last = Date.fromisoformat(date)
    first = last - timedelta(days=max(1, scan_days) - 1)
    versions: dict[str, str] = {}
    moved: dict[str, str] = {}
    window: list[Source] = []
    others: list[Source] = []
    failed: list[tuple[str, str]] = []
    left = {path: version for path, version in read.items() if not vault.storage.exists(path)}
    for path, day in _daily_notes(vault):
        try:
            text, version = _text_of(vault, path)
        except ReMeError as error:
            failed.append((path, str(error)))
            continue
        versions[path] = version
        if path not in read and version in left.values():
            moved[path] = version
        elif read.get(path) != version:
            inside = first <= Date.fromisoformat(day) <= last
            (window if inside else others).append(_source(path, day, text, version))
    changed = [*_by_day(window), *(_by_day(others) if all_days else ())]
    gone = tuple(sorted(left))
    return Scan(tuple(changed), versions, gone, tuple(failed), moved, 0 if all_days else len(others))


def read_source(vault: "Vault", path: str, day: str) -> Source:
    """Read a daily note. NoteError when it is not there, too large, or not UTF-8."""
    return _source(path, day, *_text_of(vault, path))


def _text_of(vault: "Vault", path: str) -> tuple[str, str]:
    """What is read of a note, and the version of that."""
    with vault.storage.opened(path) as (descriptor, status, _):
        if status.st_size > MAX_NOTE_BYTES:
            raise NoteError(f"{path} is larger than {MAX_NOTE_BYTES:,} bytes and is not read", path)
        data = read_all(descriptor, status.st_size)
    if not kind_of(data).exact:
        raise NoteError(f"{path} is not UTF-8 and is not read", path)
    text = decode_exact(data)
    if not _is_page(path):
        return text, version_of(data)
    text = with_generated_part(text, INDEX_PART, "")
    return text, version_of(text.encode("utf-8", "surrogateescape"))


def _source(path: str, day: str, text: str, version: str) -> Source:
    note = parse(text)
    keys = note.front.data
    body = _COMMENT.sub(lambda found: "\n" * found.group().count("\n"), note.body.replace("\r\n", "\n"))
    lines = {number: line for number, line in enumerate(body.split("\n"), note.body_line) if line.strip()}
    if _is_page(path) and all(line.lstrip().startswith("#") for line in lines.values()):
        lines = {}  # a heading that nobody wrote anything under
    return Source(
        path=path,
        version=version,
        day=day,
        name=text_of(keys.get("name")).strip() or path.rpartition("/")[2].removesuffix(".md"),
        description=text_of(keys.get("description")).strip(),
        trust=trust_of(keys.get("trust")) if note.front.error is None else "external",
        by_pipeline=text_of(keys.get("generator")).startswith(("extractive@", "model@")),
        lines=lines,
    )


def _is_page(path: str) -> bool:
    """Whether this is the page of a day, and not one of its notes."""
    return path.count("/") == 1


def requests(sources: Sequence[Source], done: Mapping[str, int]) -> list[list[Piece]]:
    """Divide notes into requests of at most ``PIECE_CHARS``; ``done`` are the last lines read before, by path.

    What came from outside is read apart, so that it cannot talk about the rest. A long line is shown alone, whole.
    """
    batches: list[list[Piece]] = []
    for outside in (False, True):
        room = 0
        for source in sources:
            if (source.trust == "external") != outside:
                continue
            for piece, size in _pieces(source, done.get(source.path, 0)):
                if size > room:
                    batches.append([])
                    room = PIECE_CHARS
                batches[-1].append(piece)
                room -= size
    return batches


def _pieces(source: Source, done: int) -> Iterator[tuple[Piece, int]]:
    numbers = [number for number in sorted(source.lines) if number > done]
    start, size = 0, 0
    for place, number in enumerate(numbers):
        cost = len(source.lines[number]) + 8
        if size + cost > PIECE_CHARS and place > start:
            yield Piece(source, numbers[start], numbers[place - 1], False), size
            start, size = place, 0
        size += cost
    if numbers:
        yield Piece(source, numbers[start], numbers[-1], True), min(size, PIECE_CHARS)


def _daily_notes(vault: "Vault") -> Iterator[tuple[str, str]]:
    """The notes and pages of days, each with its day. What is not dated is no daily note."""
    for path, _ in iter_files(vault.root, DAILY, suffixes=(".md",), extra_globs=vault.ignore):
        day = path.split("/")[1].removesuffix(".md")
        try:
            if Date.fromisoformat(day).isoformat() == day:
                yield path, day
        except ValueError:
            continue


def _by_day(sources: Iterable[Source]) -> list[Source]:
    return sorted(sources, key=lambda source: (source.day, source.path))
