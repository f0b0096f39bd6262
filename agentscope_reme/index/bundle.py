"""What was read of some files as flat arrays of the standard library: a process that only reads needs no numpy.

Texts stand as numbers of a list of terms of their own: each distinct term is looked up once for all its occurrences.
A process that reads many batches for another (:mod:`.read_ahead`) numbers their terms through and tells each term once:
:class:`Terms` is at its end, :class:`~.numbered.Glossary` at the other.
"""

import marshal
from array import array
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, count, islice
from operator import attrgetter

from .entries import UNIT_FIELDS, FileEntry, UnitEntry, tells
from .packed_file import packed
from .uncut import RUN, cut, together

# Fields of a unit that are numbers already; "section" and "speaker" are made here.
PLAIN = ("first", "last", "begin", "stop", "check", "day", "flags", "text")
# Fields of a file that are no part of what is packed of it, or are needed beside.
ENTRY = (
    "path", "size", "mtime", "ctime", "checked", "digest", "encoding", "kind", "title", "day", "aliases", "lines",
    "fault", "tells",
)  # fmt: skip
LIMIT = 0xFFFF  # terms of one text: positions and frequencies are uint16
# A reader starts over with numbering beyond this many terms, which take about 110 bytes each.
MOST_TERMS = 300_000

_numbers_of, _fields_of = attrgetter(*PLAIN), attrgetter(*ENTRY)

Read = tuple[FileEntry, Sequence[UnitEntry]]
# Of all occurrences in order, how many each text has, and the stretches for which -1 stands among the former.
Numbers = tuple["array[int]", "array[int]", bytes]


class Terms(defaultdict[str, int]):
    """Numbers of terms, in the order in which they are first asked for; with ``uncut`` -1 for ``RUN``."""

    def __init__(self, *, uncut: bool = False) -> None:
        super().__init__(count().__next__)
        if uncut:
            self[RUN] = -1
        self._others, self._told = len(self), 0

    def news(self) -> tuple[int, bytes]:
        """The terms that are new since this was last asked, for :meth:`~.numbered.Glossary.add`."""
        first, self._told = self._told, len(self) - self._others
        new = list(islice(reversed(self), self._told - first))
        return first, "\n".join(reversed(new)).encode("utf-8", "surrogatepass")


def numbers_in(texts: Iterable[Sequence[str]], terms: Terms, stretches: Sequence[Sequence[str]] = ()) -> Numbers:
    """Texts as numbers, with the stretches of each that are still to be cut.

    What a text has beyond 65 535 terms is left out; where something is to be cut, by whoever does that.
    """
    if (data := together(chain.from_iterable(stretches))) is None:
        data, texts = b"", map(cut, texts, stretches)
    kept = list(texts) if data else [text if len(text) <= LIMIT else text[:LIMIT] for text in texts]
    ids = array("i", list(map(terms.__getitem__, chain.from_iterable(kept))))
    return ids, array("i", list(map(len, kept))), data


@dataclass(frozen=True, slots=True)
class Bundle:
    """Files as :class:`~.batch.Batch` has them, in arrays that another process can be sent."""

    entries: list[FileEntry]
    units: "array[int]"  # how many each file has
    columns: dict[str, "array[int]"]
    speakers: list[str]
    links: "array[int]"  # how many each file has
    targets: list[str]
    texts: tuple[Numbers, Numbers, Numbers]  # of units, labels and links


def bundle(read: Sequence[Read], terms: Sequence[Terms]) -> Bundle:
    """Files and their units; the entries' labels and anchors are moved into arrays, and they are packed.

    ``terms`` are those of a reader: of units, labels and links.
    """
    entries = [entry for entry, _ in read]
    units = [unit for _, found in read for unit in found]
    rows = zip(*map(_numbers_of, units), strict=True) if units else ([] for _ in PLAIN)
    columns = {name: array(UNIT_FIELDS[name], list(row)) for name, row in zip(PLAIN, rows, strict=True)}
    speakers: dict[str, int] = {"": -1}
    columns["speaker"] = array(
        UNIT_FIELDS["speaker"], [speakers.setdefault(unit.speaker, len(speakers) - 1) for unit in units]
    )
    sections: list[int] = []
    for entry, found in read:
        known: dict[tuple[str, ...], int] = {}
        sections += [known.setdefault(unit.headings, len(known)) for unit in found]
        entry.sections = tuple(known)
        entry.packed, entry.tells = packed(entry), tells(entry.path, entry.front)
    columns["section"] = array(UNIT_FIELDS["section"], sections)
    anchors = [anchor for entry in entries for anchor in entry.anchors]
    made = Bundle(
        entries,
        array("q", [len(found) for _, found in read]),
        columns,
        list(speakers)[1:],
        array("q", [len(entry.anchors) for entry in entries]),
        [anchor.target for anchor in anchors],
        (
            numbers_in([unit.terms for unit in units], terms[0], [unit.stretches for unit in units]),
            numbers_in([entry.labels for entry in entries], terms[1]),
            numbers_in([anchor.terms for anchor in anchors], terms[2], [anchor.stretches for anchor in anchors]),
        ),
    )
    for entry in entries:
        entry.labels = entry.anchors = ()
    return made


class Sender:
    """Packs batches for a :class:`~.batch.Receiver` in another process on this machine, never for a disk."""

    def __init__(self) -> None:
        self._terms = [Terms(uncut=True) for _ in range(3)]

    def packed(self, read: Sequence[Read]) -> bytes:
        """Files and their units as bytes."""
        self._terms = [Terms(uncut=True) if len(terms) > MOST_TERMS else terms for terms in self._terms]
        made = bundle(read, self._terms)
        return marshal.dumps(
            (
                [_fields_of(entry) for entry in made.entries],
                [tuple(entry.packed or ()) for entry in made.entries],
                made.units.tobytes(),
                {name: column.tobytes() for name, column in made.columns.items()},
                made.speakers,
                made.links.tobytes(),
                made.targets,
                [terms.news() for terms in self._terms],
                [(ids.tobytes(), lengths.tobytes(), data) for ids, lengths, data in made.texts],
            )
        )
