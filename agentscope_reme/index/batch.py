"""Many files' entries as a few arrays: what is read in one go is put into the corpus in one go.

Terms stand as numbers (:mod:`.numbered`), and nothing is an object of its own that an array can hold. That is also how
one process hands a batch to another.
"""

import marshal
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .bundle import ENTRY, LIMIT, PLAIN, Read, Terms, bundle
from .entries import UNIT_FIELDS, FileEntry
from .keyword_columns import Ints
from .numbered import Glossary, Numbered, in_order_of_use, known
from .packed_file import Packed
from .run_pairs import PairNumbers, ids_with_pairs

_IN_ORDER = 10  # fields that are sent in the order in which an entry has them


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


def collect(read: Sequence[Read]) -> Batch:
    """Files and their units as a batch; the entries' labels and anchors are moved into it, and they are packed."""
    terms = (Terms(), Terms(), Terms())
    made = bundle(read, terms)
    units, labels, anchors = (known(ids, lengths, of) for (ids, lengths, _), of in zip(made.texts, terms, strict=True))
    return Batch(
        made.entries,
        np.frombuffer(made.units, np.int64),
        units,
        {name: np.frombuffer(column, UNIT_FIELDS[name]) for name, column in made.columns.items()},
        made.speakers,
        labels,
        np.frombuffer(made.links, np.int64),
        made.targets,
        anchors,
    )


class Receiver:
    """Unpacks what one :class:`~.bundle.Sender` has packed: all of it, in that order.

    ``pairs`` of units, labels and links may be there once for several receivers.
    """

    def __init__(self, pairs: Sequence[PairNumbers] | None = None) -> None:
        self._pairs = pairs or [PairNumbers() for _ in range(3)]
        self._glossaries = [Glossary(of) for of in self._pairs]

    def unpacked(self, data: bytes) -> Batch:
        """The next batch. Raises ValueError, TypeError or EOFError for what is none, as of another release."""
        entries, packed, units, columns, speakers, counts, targets, news, texts = marshal.loads(data)
        for at, (first, terms) in enumerate(news):
            if first == 0:  # the sender starts over
                self._glossaries[at] = Glossary(self._pairs[at])
            self._glossaries[at].add(first, terms)
        terms, labels, anchors = (
            _numbered(glossary, *parts) for glossary, parts in zip(self._glossaries, texts, strict=True)
        )
        batch = Batch(
            [_entry(*fields) for fields in zip(entries, packed, strict=True)],
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


def _numbered(glossary: Glossary, ids: bytes, lengths: bytes, stretches: bytes) -> Numbered:
    found: Ints = np.frombuffer(ids, np.int32)
    sizes: Ints = np.frombuffer(lengths, np.int32)
    if int(sizes.sum()) == len(found) and (stretches or int(found.min(initial=0)) < 0):
        found, sizes = ids_with_pairs(found, sizes, stretches, LIMIT)
    return Numbered(glossary, found, sizes)


def _entry(fields: tuple[Any, ...], packed: tuple[bytes, ...]) -> FileEntry:
    entry = FileEntry(*fields[:_IN_ORDER])
    for name, value in zip(ENTRY[_IN_ORDER:], fields[_IN_ORDER:], strict=True):
        setattr(entry, name, value)
    entry.packed = Packed(*packed)
    return entry
