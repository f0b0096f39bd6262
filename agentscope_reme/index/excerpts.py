"""The text of units, read from the files when it is shown and checked against what was indexed."""

import zlib
from collections.abc import Callable
from typing import TYPE_CHECKING

from ..errors import ReMeError
from ..vault.encoding import decode_exact, display
from .corpus import Corpus
from .files import KnownFile
from .packing import ELLIPSIS, SMALLEST_CLIP, Excerpt, Group, clip_text, count_tokens
from .reading import decode
from .speakers import spoken

if TYPE_CHECKING:
    from ..vault.notes import Vault
    from .chunker import Unit

SMALL_FILE = 262_144  # bytes; a larger one is read in pieces


class ExcerptReader:
    """Reads units for one search: each file once. ``stale`` collects the files that are not what was indexed."""

    def __init__(
        self, vault: "Vault", corpus: Corpus, chunk_chars: int, score_sentence: Callable[[str], float]
    ) -> None:
        self._vault, self._corpus, self._chunk_chars = vault, corpus, chunk_chars
        self._score_sentence = score_sentence
        self._whole: dict[str, bytes | None] = {}
        self._derived: dict[str, tuple[Unit, ...]] = {}
        self.stale: set[str] = set()

    def excerpt(self, slot: int, score: float) -> Excerpt | None:
        """A unit as it is shown; None when its file has changed since, or the unit has no text."""
        corpus = self._corpus
        entry = corpus.by_id[int(corpus.column("file")[slot])]
        if entry is None:
            return None
        text = self.unit_text(entry, slot)
        if text is None:
            self.stale.add(entry.path)
            return None
        speaker_id = int(corpus.column("speaker")[slot])
        speaker = corpus.speakers[speaker_id] if speaker_id >= 0 else ""
        if not text and len(entry.slots) == 1:
            text = entry.title  # an empty note has nothing else to show
        shown = spoken(speaker, text).strip("\n")
        if not shown.strip():
            return None
        return Excerpt(
            path=entry.path,
            number=int(corpus.column("number")[slot]),
            first=int(corpus.column("first")[slot]),
            last=int(corpus.column("last")[slot]),
            text=shown,
            score=score,
            speaker=speaker,
            day=int(corpus.column("day")[slot]),
            journal=entry.kind == "journal",
        )

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
        """The text of a hit: the file's own lines, or turn by turn where they were dressed or cut."""
        parts = sorted(group.excerpts, key=lambda excerpt: excerpt.number)
        entry = self._corpus.files[group.path]
        # Between the statements of a long-term note stand lines that are no text: where each of them is said.
        stated = str(entry.front.get("generator") or "").startswith("dream@")
        plain = not stated and not any(part.speaker or part.clipped for part in parts)
        if len(parts) > 1 and plain and entry.kind != "journal":
            first, last = (entry.slots[parts[at].number] for at in (0, -1))
            begin, stop = int(self._corpus.column("begin")[first]), int(self._corpus.column("stop")[last])
            data = self._bytes(entry, begin, stop) if 0 <= begin < stop else None
            if data is not None:
                return display(decode_exact(data)).replace("\r\n", "\n").strip("\n")
        apart = "\n" if stated or all(part.speaker for part in parts) else "\n\n"
        return apart.join(part.text for part in parts)

    def unit_text(self, entry: KnownFile, slot: int) -> str | None:
        """The text of a unit as it was indexed; None when its file has changed since."""
        corpus = self._corpus
        begin, stop = int(corpus.column("begin")[slot]), int(corpus.column("stop")[slot])
        if begin < 0:
            return self._derived_text(entry, int(corpus.column("number")[slot]))
        data = self._bytes(entry, begin, stop)
        if data is None or zlib.crc32(data) != int(corpus.column("check")[slot]):
            return None
        text = display(decode_exact(data))
        if entry.kind == "journal":
            from .chunker import read_document

            first = int(corpus.column("first")[slot])
            units = read_document(entry.path, text, first_line=first, with_chunks=False).units
            part = self._part_of_line(entry, slot)
            return units[part].text if part < len(units) else None
        return text.replace("\r\n", "\n")

    def _part_of_line(self, entry: KnownFile, slot: int) -> int:
        """Which unit of its line this is: a long turn has several."""
        begins = self._corpus.column("begin")
        number = first = int(self._corpus.column("number")[slot])
        while first > 0 and begins[entry.slots[first - 1]] == begins[slot]:
            first -= 1
        return number - first

    def _derived_text(self, entry: KnownFile, number: int) -> str | None:
        """A unit whose text does not stand in the file as it is: the file is read again."""
        if entry.path not in self._derived:
            import hashlib

            from .chunker import read_document

            try:
                data = self._vault.storage.read(entry.path)
            except (ReMeError, OSError):
                return None
            if hashlib.sha256(data).hexdigest() != entry.digest:
                return None
            text = decode(data)[0]
            document = read_document(entry.path, text, chunk_chars=self._chunk_chars, with_chunks=False)
            self._derived[entry.path] = document.units
        units = self._derived[entry.path]
        return units[number].text if number < len(units) else ""

    def _bytes(self, entry: KnownFile, begin: int, stop: int) -> bytes | None:
        import os

        if entry.size > SMALL_FILE:
            try:
                with self._vault.storage.opened(entry.path) as (descriptor, _, _):
                    return os.pread(descriptor, stop - begin, begin)
            except (ReMeError, OSError):
                return None
        if entry.path not in self._whole:
            try:
                self._whole[entry.path] = self._vault.storage.read(entry.path)
            except (ReMeError, OSError):
                self._whole[entry.path] = None
        data = self._whole[entry.path]
        return None if data is None else data[begin:stop]
