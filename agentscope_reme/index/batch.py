"""Many files' entries as a few arrays: what is read in one go is put into the corpus in one go.

Terms stand as numbers of a list of the batch's own, so that each distinct term is looked up once for all its
occurrences, and nothing is an object of its own that an array can hold. That is also how one process hands a batch to
another.
"""

import marshal
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..models import FileLink
from .entries import UNIT_FIELDS, FileEntry, UnitEntry
from .keyword_columns import Ints
from .numbered import Numbered, in_order_of_use, numbered
from .numbered import unpacked as texts_of

# Fields of a unit that are numbers already; "section" and "speaker" are made here.
PLAIN = ("first", "last", "begin", "stop", "check", "day", "flags", "text")
_ENTRY = (
    "path", "size", "mtime", "ctime", "checked", "digest", "encoding", "kind", "title", "day", "description", "tags",
    "aliases", "front", "lines", "fault", "sections",
)  # fmt: skip
_LINK = tuple(name for name in FileLink.__slots__ if name != "source_path")


@dataclass(frozen=True, slots=True)
class Batch:
    """Files as they go into the corpus: fields of each, then all units, labels and links, file after file.

    ``units`` and ``links`` say how many of them each file has. Entries hold no labels and no anchors: those are in the
    arrays.
    """

    entries: list[FileEntry]
    units: Ints
    terms: Numbered  # of the units
    columns: dict[str, Ints]  # fields of the units; a speaker is a number of ``speakers``
    speakers: list[str]
    labels: Numbered
    links: Ints
    targets: list[str]  # of the links
    anchors: Numbered  # words around the links

    def __len__(self) -> int:
        return len(self.entries)

    def without(self, paths: frozenset[str]) -> "Batch":
        """The same batch, some files left out."""
        keep = np.array([entry.path not in paths for entry in self.entries], bool)
        if keep.all():
            return self
        units, links = np.repeat(keep, self.units), np.repeat(keep, self.links)
        columns = {name: column[units] for name, column in self.columns.items()}
        spoken = columns["speaker"] >= 0
        speaking, columns["speaker"][spoken] = in_order_of_use(columns["speaker"][spoken])
        return Batch(
            [entry for entry in self.entries if entry.path not in paths],
            self.units[keep],
            self.terms.only(units),
            columns,
            [self.speakers[number] for number in speaking.tolist()],
            self.labels.only(keep),
            self.links[keep],
            [target for target, stays in zip(self.targets, links.tolist(), strict=True) if stays],
            self.anchors.only(links),
        )


def collect(read: Sequence[tuple[FileEntry, Sequence[UnitEntry]]]) -> Batch:
    """Files and their units as a batch; the entries' labels and anchors are moved into it, their sections are set."""
    entries = [entry for entry, _ in read]
    units = [unit for _, found in read for unit in found]
    columns = {name: np.array([getattr(unit, name) for unit in units], UNIT_FIELDS[name]) for name in PLAIN}
    speakers: dict[str, int] = {"": -1}
    columns["speaker"] = np.array([speakers.setdefault(unit.speaker, len(speakers) - 1) for unit in units], np.int32)
    sections: list[int] = []
    for entry, found in read:
        known: dict[tuple[str, ...], int] = {}
        sections += [known.setdefault(unit.headings, len(known)) for unit in found]
        entry.sections = tuple(known)
    columns["section"] = np.array(sections, np.int32)
    anchors = [anchor for entry in entries for anchor in entry.anchors]
    batch = Batch(
        entries,
        np.array([len(found) for _, found in read], np.int64),
        numbered(unit.terms for unit in units),
        columns,
        list(speakers)[1:],
        numbered(entry.labels for entry in entries),
        np.array([len(entry.anchors) for entry in entries], np.int64),
        [anchor.target for anchor in anchors],
        numbered(anchor.terms for anchor in anchors),
    )
    for entry in entries:
        entry.labels = entry.anchors = ()
    return batch


def packed(batch: Batch) -> bytes:
    """A batch for another process on this machine, never for a disk."""
    return marshal.dumps(
        (
            [[getattr(entry, name) for name in _ENTRY] for entry in batch.entries],
            [[[getattr(link, name) for name in _LINK] for link in entry.links] for entry in batch.entries],
            batch.units.tobytes(),
            batch.terms.packed(),
            {name: column.tobytes() for name, column in batch.columns.items()},
            batch.speakers,
            batch.labels.packed(),
            batch.links.tobytes(),
            batch.targets,
            batch.anchors.packed(),
        )
    )


def unpacked(data: bytes) -> Batch:
    """The inverse of :func:`packed`."""
    entries, links, units, terms, columns, speakers, labels, counts, targets, anchors = marshal.loads(data)
    return Batch(
        [_entry(fields, found) for fields, found in zip(entries, links, strict=True)],
        np.frombuffer(units, np.int64),
        texts_of(*terms),
        {name: np.frombuffer(column, UNIT_FIELDS[name]) for name, column in columns.items()},
        speakers,
        texts_of(*labels),
        np.frombuffer(counts, np.int64),
        targets,
        texts_of(*anchors),
    )


def _entry(fields: list[Any], links: list[list[Any]]) -> FileEntry:
    entry = FileEntry(**dict(zip(_ENTRY, fields, strict=True)))
    entry.links = tuple(FileLink(entry.path, *link) for link in links)
    return entry
