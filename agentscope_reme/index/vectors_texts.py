"""Which texts of a corpus are to have vectors, and the texts themselves, read from the files when they are embedded."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .embedding_text import NO_TEXT, embedded_text, text_key
from .keyword_columns import distinct
from .vectors_table import Keys, VectorTable

if TYPE_CHECKING:
    from ..vault.notes import Vault
    from .corpus import Corpus
    from .excerpts import ExcerptReader
    from .files import KnownFile
    from .store import Store


@dataclass(frozen=True, slots=True)
class Place:
    """Where a text stands: the unit ``number`` of a file. ``key`` is that of the text."""

    path: str
    number: int
    key: int


def keys_of(corpus: "Corpus") -> Keys:
    """The keys of all texts that are to have vectors, each once, ascending."""
    keys = distinct(corpus.column("text")[corpus.units.alive])
    return keys[keys != NO_TEXT]


def keys_only_in(corpus: "Corpus", files: Iterable[str], lines: Mapping[str, Collection[int]]) -> Keys:
    """Keys of texts that stand in these files, or in these lines of others, and nowhere else."""
    column, first, alive = corpus.column("text"), corpus.column("first"), corpus.units.alive.copy()
    slots = [corpus.files[path].slots for path in files if path in corpus.files]
    for path, numbers in lines.items():
        if path in corpus.files:
            own = corpus.files[path].slots
            slots.append(own[np.isin(first[own], list(numbers))])
    if not slots:
        return np.zeros(0, np.int64)
    inside = np.concatenate(slots)
    alive[inside] = False
    keys = distinct(column[inside])
    return keys[(keys != NO_TEXT) & ~np.isin(keys, column[alive])]


def places_without(corpus: "Corpus", table: VectorTable, left_out: set[int]) -> list[Place]:
    """A place of each text without a vector, those of recently changed files first."""
    missing = set(table.missing(keys_of(corpus)).tolist()) - left_out
    if not missing:
        return []
    column = corpus.column("text")
    found: list[Place] = []
    for entry in sorted(corpus.files.values(), key=lambda entry: (-entry.mtime, entry.path)):
        for number, key in enumerate(column[entry.slots].tolist()):
            if key in missing:
                missing.discard(key)
                found.append(Place(entry.path, number, key))
        if not missing:
            break
    return found


class TextReader:
    """Reads texts file by file; a file is kept as long as the next text stands in it. For one thread."""

    def __init__(self, vault: "Vault", store: "Store", chunk_chars: int) -> None:
        self._vault, self._store, self._chunk_chars = vault, store, chunk_chars
        self._entry: KnownFile | None = None
        self._reader: ExcerptReader | None = None

    def read(self, places: Sequence[Place]) -> dict[int, str]:
        """Texts by key; what does not stand there any more is left out."""
        out = {}
        for place in places:
            with self._store.lock:
                text = self._text(place)
            if text and text_key(text) == place.key:
                out[place.key] = text
        return out

    def _text(self, place: Place) -> str:
        from .excerpts import ExcerptReader

        corpus = self._store.corpus
        entry = corpus.files.get(place.path)
        if entry is None or place.number >= len(entry.slots):
            return ""
        slot = int(entry.slots[place.number])
        if int(corpus.column("text")[slot]) != place.key:
            return ""
        if self._reader is None or entry != self._entry:
            self._entry, self._reader = entry, ExcerptReader(self._vault, corpus, self._chunk_chars, lambda _: 0.0)
        text = self._reader.unit_text(entry, slot)
        speaker = int(corpus.column("speaker")[slot])
        return embedded_text(corpus.speakers[speaker] if speaker >= 0 else "", text) if text else ""
