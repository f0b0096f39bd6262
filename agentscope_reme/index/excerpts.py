"""The text of units, read from the files when it is shown and checked against what was indexed."""

from collections.abc import Callable, Sequence
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, cast
from zlib import crc32

from ..errors import ReMeError
from ..vault.encoding import shown_text
from .compiled import kernels
from .corpus import Corpus
from .derived import DerivedTexts
from .files import KnownFile
from .packing import ELLIPSIS, SMALLEST_CLIP, Excerpt, Group, clip_text, count_tokens
from .speakers import is_task, spoken
from .texts import PackedTexts

if TYPE_CHECKING:
    from ..vault.notes import Vault
    from .chunker import Unit
    from .keyword_columns import Ints

SMALL_FILE = 262_144  # bytes; a larger one is read in pieces
# Chunks' worth of bytes that may stand between two passages of a hit and are shown with them: headings, blank lines,
# rules. A thousand blank lines are left out.
MOST_BETWEEN = 2

# As ``Excerpt(...)``, in a third of the time: all fields are given, in their order.
_excerpt = cast("Callable[[tuple[Any, ...]], Excerpt]", partial(tuple.__new__, Excerpt))

_ROW = ("file", "number", "first", "last", "begin", "stop", "check", "speaker", "day")


class SeenFile:
    """A file as one search sees it: what would be looked up again for each of its units."""

    __slots__ = ("_shown", "data", "entry", "is_journal", "is_small", "kind", "path", "was_read")

    def __init__(self, entry: KnownFile) -> None:
        self.entry, self.path, self.kind = entry, entry.path, entry.kind
        self.is_journal = self.kind == "journal"
        self.is_small = entry.size <= SMALL_FILE
        self.was_read = False
        self.data: bytes | None = None  # None, once it was read, when it could not be
        self._shown: tuple[str, dict[str, Any], Any] | None = None

    def shown(self) -> tuple[str, dict[str, Any], Any]:
        """Its title, front matter and heading paths, as far as they are shown (:attr:`.KnownFile.shown`)."""
        shown = self._shown
        if shown is None:
            shown = self._shown = self.entry.shown
        return shown


class ExcerptReader:
    """Reads units for one search: each file once. ``stale`` collects the files that are not what was indexed.

    The corpus must not change between two excerpts.
    """

    def __init__(
        self,
        vault: "Vault",
        corpus: Corpus,
        chunk_chars: int,
        score_sentence: Callable[[str], float],
        derived: DerivedTexts | None = None,
    ) -> None:
        self._vault, self._corpus, self._chunk_chars = vault, corpus, chunk_chars
        self._score_sentence = score_sentence
        self._row: Callable[[int], list[int]] | None = None  # of a unit by its slot, in the order of _ROW
        self._files: dict[int, SeenFile] = {}  # by id
        self._derived: dict[str, PackedTexts] = {}
        self._texts = derived or DerivedTexts()
        self._line: tuple[str, int, tuple[Unit, ...]] = ("", -1, ())  # of a journal, which was taken apart last
        self.stale: set[str] = set()

    def excerpt(self, slot: int, score: float) -> Excerpt | None:
        """A unit as it is shown; None when its file has changed since, or the unit has no text."""
        corpus = self._corpus
        row = self._row
        if row is None:
            row = self._row = rows_of([corpus.column(name) for name in _ROW])
        file_id, number, first, last, begin, stop, check, speaker_id, day = row(slot)
        file = self._files.get(file_id)
        if file is None:
            entry = corpus.by_id[file_id]
            if entry is None:
                return None
            file = self._files[file_id] = SeenFile(entry)
        if begin < 0 or file.is_journal:
            text = self.unit_text(file.entry, slot)
        else:
            text = self._text(file, begin, stop, check)
        if text is None:
            self.stale.add(file.path)
            return None
        speaker = corpus.speakers[speaker_id] if speaker_id >= 0 else ""
        if not text and file.entry.units == 1:
            text = file.entry.title  # an empty note has nothing else to show
        is_turn = speaker and not ("[" in text and is_task(text))  # most turns hold no bracket
        shown = (spoken(speaker, text) if is_turn else text).strip("\n")
        if not shown or shown.isspace():
            return None
        return _excerpt((file.path, number, first, last, shown, score, speaker, day, file.is_journal, False))

    def clip(self, excerpt: Excerpt, tokens: int) -> Excerpt | None:
        """The part of an excerpt that answers best, within a number of tokens, marked where it was cut."""
        chars = tokens * 4
        for _ in range(8):
            begin, end = clip_text(excerpt.text, max(1, chars - 2), self._score_sentence)
            kept = excerpt.text[begin:end].strip()
            text = (ELLIPSIS if begin else "") + kept + (ELLIPSIS if end < len(excerpt.text) else "")
            if count_tokens(text) <= tokens:
                break
            chars = chars * 3 // 4
        else:
            return None
        if count_tokens(kept) < SMALLEST_CLIP // 2:
            return None
        in_lines = excerpt.last - excerpt.first == excerpt.text.count("\n")
        first = excerpt.first + excerpt.text[:begin].count("\n") if in_lines else excerpt.first
        last = first + excerpt.text[begin:end].rstrip("\n").count("\n") if in_lines else excerpt.last
        return excerpt._replace(text=text, first=first, last=last, clipped=True)

    def joined(self, group: Group) -> str:
        """The text of a hit: the file's own lines, or turn by turn where all are turns, or one was cut."""
        if len(group.excerpts) == 1:
            return group.excerpts[0].text
        parts = sorted(group.excerpts, key=attrgetter("number"))
        file = self.file(group)
        # Between the statements of a long-term note stand lines that are no text: where each of them is said.
        stated = str(file.shown()[1].get("generator") or "").startswith("dream@")
        said = all(part.speaker for part in parts)
        plain = not (stated or said or any(part.clipped for part in parts))
        if plain and not file.is_journal:
            first, last = file.entry.slot_of(parts[0].number), file.entry.slot_of(parts[-1].number)
            begin, stop = self._corpus.column("begin").item(first), self._corpus.column("stop").item(last)
            near = 0 <= begin < stop and self._near(file.entry, parts, stop - begin)
            data = self._bytes(file, begin, stop) if near else None
            if data is not None:
                return _shown(data).strip("\n")
        apart = "\n" if stated or said else "\n\n"
        return apart.join(part.text for part in parts)

    def _near(self, entry: KnownFile, parts: Sequence[Excerpt], size: int) -> bool:
        """Whether little stands between any two parts of a hit, which lie in ``size`` bytes of their file."""
        most = MOST_BETWEEN * max(self._chunk_chars, 400)
        if size <= most:
            return True
        slots = [entry.slot_of(part.number) for part in parts]
        begins, stops = (self._corpus.column(name)[slots].tolist() for name in ("begin", "stop"))
        return all(below - above <= most for above, below in zip(stops, begins[1:], strict=False))

    def unit_text(self, entry: KnownFile, slot: int) -> str | None:
        """The text of a unit as it was indexed; None when its file has changed since."""
        corpus = self._corpus
        begin, stop, check = (corpus.column(name).item(slot) for name in ("begin", "stop", "check"))
        if begin < 0:
            return self._derived_text(entry, corpus.column("number").item(slot))
        data = self._checked(self._file(entry), begin, stop, check)
        if data is None:
            return None
        if entry.kind != "journal":
            return _shown(data)
        units, part = self._units_of_line(entry, begin, data), self._part_of_line(entry, slot)
        return units[part].text if part < len(units) else None

    def _units_of_line(self, entry: KnownFile, begin: int, data: bytes) -> "tuple[Unit, ...]":
        """The units of a journal's line, which begins at a byte; a long one has many, which are asked for in turn."""
        if self._line[:2] != (entry.path, begin):
            from .chunker import read_document

            self._line = (entry.path, begin, read_document(entry.path, shown_text(data), with_chunks=False).units)
        return self._line[2]

    def _checked(self, file: SeenFile, begin: int, stop: int, check: int) -> bytes | None:
        """Some bytes of a file; None when they are not those that were indexed."""
        data = self._bytes(file, begin, stop)
        return data if data is not None and crc32(data) == check else None

    def _text(self, file: SeenFile, begin: int, stop: int, check: int) -> str | None:
        """Some bytes of a file as text that may be shown; None when they are not those that were indexed."""
        if kernels is not None and file.is_small:
            whole = file.data if file.was_read else self._whole(file)
            if whole is None:
                return None
            try:
                text: str | None = kernels.checked_text(whole, begin, stop, check)
            except UnicodeDecodeError:
                return _shown(whole[begin:stop])
            return text
        data = self._checked(file, begin, stop, check)
        return None if data is None else _shown(data)

    def _part_of_line(self, entry: KnownFile, slot: int) -> int:
        """Which unit of its line this is: a long turn has several."""
        begins = self._corpus.column("begin")
        number = first = int(self._corpus.column("number")[slot])
        while first > 0 and begins[entry.slot_of(first - 1)] == begins[slot]:
            first -= 1
        return number - first

    def _derived_text(self, entry: KnownFile, number: int) -> str | None:
        """A unit whose text does not stand in the file as it is: the file is read again."""
        if entry.path not in self._derived:
            import hashlib

            try:
                data = self._vault.storage.read(entry.path)
            except (ReMeError, OSError):
                return None
            if hashlib.sha256(data).hexdigest() != entry.digest:
                return None
            self._derived[entry.path] = self._texts.of(entry.path, data, entry.digest, self._chunk_chars)
        texts = self._derived[entry.path]
        return texts[number] if number < len(texts) else ""

    def file(self, group: Group) -> SeenFile:
        """The file of a group of excerpts that were read here."""
        return self._files[group.file]

    def _file(self, entry: KnownFile) -> SeenFile:
        file = self._files.get(entry.id)
        if file is None:
            file = self._files[entry.id] = SeenFile(entry)
        return file

    def _bytes(self, file: SeenFile, begin: int, stop: int) -> bytes | None:
        if not file.is_small:
            return self._piece(file.path, begin, stop)
        data = file.data if file.was_read else self._whole(file)
        return None if data is None else data[begin:stop]

    def _whole(self, file: SeenFile) -> bytes | None:
        file.was_read = True
        try:
            file.data = self._vault.storage.read(file.path)
        except (ReMeError, OSError):
            file.data = None
        return file.data

    def _piece(self, path: str, begin: int, stop: int) -> bytes | None:
        import os

        try:
            with self._vault.storage.opened(path) as (descriptor, _, _):
                return os.pread(descriptor, stop - begin, begin)
        except (ReMeError, OSError):
            return None


def rows_of(columns: "list[Ints]") -> Callable[[int], list[int]]:
    """What reads a row of some columns, which must not change meanwhile."""
    if kernels is not None:
        row: Callable[[int], list[int]] = kernels.rows_of(columns)
        return row
    fields = [column.item for column in columns]
    return lambda slot: [field(slot) for field in fields]


def taken(columns: "list[Ints]", rows: list[int]) -> list[list[int]]:
    """Of each of some columns the numbers in some rows."""
    if kernels is not None:
        found: list[list[int]] = kernels.taken(columns, rows)
        return found
    return [column.take(rows).tolist() for column in columns]


def _shown(data: bytes) -> str:
    """Bytes of a file as text that may be shown."""
    text = shown_text(data)
    return text.replace("\r\n", "\n") if "\r" in text else text
