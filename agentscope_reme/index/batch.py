"""Many files' entries as a few arrays: what is read in one go is put into the corpus in one go.

Terms stand as numbers (:mod:`.numbered`), and nothing is an object of its own that an array can hold. That is also how
one process hands a batch to another.
"""

import marshal
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..models import FileLink
from .entries import UNIT_FIELDS, FileEntry, UnitEntry
from .keyword_columns import Ints
from .numbered import MOST_TERMS, Glossary, Numbered, Terms, in_order_of_use, numbered

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

    @property
    def fits(self) -> bool:
        """Whether the parts belong together."""
        files, units, links = len(self.entries), int(self.units.sum()), int(self.links.sum())
        rows = [len(column) for column in self.columns.values()]
        texts = ((self.terms, units), (self.labels, files), (self.anchors, links))
        return (
            len(self.units) == len(self.links) == files
            and rows == [units] * len(rows)
            and len(self.targets) == links
            and all(len(one.lengths) == count and int(one.lengths.sum()) == len(one.ids) for one, count in texts)
            and int(self.columns["speaker"].max(initial=-1)) < len(self.speakers)
        )

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


Read = tuple[FileEntry, Sequence[UnitEntry]]


def collect(read: Sequence[Read], terms: Sequence[Terms | None] = (None, None, None)) -> Batch:
    """Files and their units as a batch; the entries' labels and anchors are moved into it, their sections are set.

    ``terms`` are those of a reader: of units, labels and links (see :func:`.numbered`).
    """
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
        numbered((unit.terms for unit in units), terms[0]),
        columns,
        list(speakers)[1:],
        numbered((entry.labels for entry in entries), terms[1]),
        np.array([len(entry.anchors) for entry in entries], np.int64),
        [anchor.target for anchor in anchors],
        numbered((anchor.terms for anchor in anchors), terms[2]),
    )
    for entry in entries:
        entry.labels = entry.anchors = ()
    return batch


class Sender:
    """Packs batches for a :class:`Receiver` in another process on this machine, never for a disk."""

    def __init__(self) -> None:
        self._terms = [Terms(), Terms(), Terms()]

    def packed(self, read: Sequence[Read]) -> bytes:
        """Files and their units as bytes."""
        self._terms = [Terms() if len(terms) > MOST_TERMS else terms for terms in self._terms]
        batch = collect(read, self._terms)
        texts = (batch.terms, batch.labels, batch.anchors)
        return marshal.dumps(
            (
                [[getattr(entry, name) for name in _ENTRY] for entry in batch.entries],
                [[[getattr(link, name) for name in _LINK] for link in entry.links] for entry in batch.entries],
                batch.units.tobytes(),
                {name: column.tobytes() for name, column in batch.columns.items()},
                batch.speakers,
                batch.links.tobytes(),
                batch.targets,
                [terms.news() for terms in self._terms],
                [(one.ids.tobytes(), one.lengths.tobytes()) for one in texts],
            )
        )


class Receiver:
    """Unpacks what one :class:`Sender` has packed: all of it, in that order."""

    def __init__(self) -> None:
        self._glossaries = [Glossary(), Glossary(), Glossary()]

    def unpacked(self, data: bytes) -> Batch:
        """The next batch. Raises ValueError, TypeError or EOFError for what is none, as of another release."""
        entries, links, units, columns, speakers, counts, targets, news, texts = marshal.loads(data)
        for at, (first, terms) in enumerate(news):
            if first == 0:  # the sender starts over
                self._glossaries[at] = Glossary()
            self._glossaries[at].add(first, terms)
        terms, labels, anchors = (
            Numbered(glossary, np.frombuffer(ids, np.int32), np.frombuffer(lengths, np.int32))
            for glossary, (ids, lengths) in zip(self._glossaries, texts, strict=True)
        )
        batch = Batch(
            [_entry(fields, found) for fields, found in zip(entries, links, strict=True)],
            np.frombuffer(units, np.int64),
            terms,
            {name: np.frombuffer(columns[name], UNIT_FIELDS[name]) for name in (*PLAIN, "section", "speaker")},
            speakers,
            labels,
            np.frombuffer(counts, np.int64),
            targets,
            anchors,
        )
        if not batch.fits:
            raise ValueError("the parts of a batch do not belong together")
        return batch


def _entry(fields: list[Any], links: list[list[Any]]) -> FileEntry:
    entry = FileEntry(**dict(zip(_ENTRY, fields, strict=True)))
    entry.links = tuple(FileLink(entry.path, *link) for link in links)
    return entry
