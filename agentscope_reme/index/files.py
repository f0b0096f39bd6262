"""What the index knows of each file, in little memory: numbers in columns, the rest as bytes.

An object for a file is made when somebody asks for one. A search needs a few files of thousands; and what is no object
is nothing for the garbage collector to look at.
"""

from array import array
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from itertools import chain, compress
from operator import attrgetter
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from ..vault.numbered_paths import NumberedPaths
from ..vault.pieces import FoldedPieces, Pieces
from .compiled import kernels
from .entries import FileEntry
from .keyword_columns import Ints
from .known_file import COLUMNS, ENDS, NAMED, KnownFile, Rows
from .link_records import TOGETHER, packed_records, records_in
from .packed_file import DIGEST, card_of, digest_of, packed, rest_of

__all__ = ["Files", "FilesById", "KnownFile"]

_LATER = ("first", "units", *ENDS)
_STORED = tuple(name for name in COLUMNS if name not in ("start", "first", "units"))


class Files(Mapping[str, KnownFile]):
    """The files of a corpus by path, in the order in which they were last put. Not thread-safe."""

    def __init__(self) -> None:
        self._rows = Rows()

    def __getitem__(self, path: str) -> KnownFile:
        rows = self._rows
        number = rows.paths.known(path)
        if number is None:
            raise KeyError(path)
        return KnownFile(rows, number)

    def get(self, path: str, default: Any = None) -> KnownFile | Any:
        """The file at a path. Needs no lock: what comes back is one state of it."""
        rows = self._rows  # once: another thread may number the files anew
        number = rows.paths.known(path)
        return default if number is None else KnownFile(rows, number)

    def id_of(self, path: str) -> int:
        """The id of the file at a path, -1 where there is none."""
        number = self._rows.paths.known(path)
        return -1 if number is None else number

    def __contains__(self, path: object) -> bool:
        return isinstance(path, str) and self._rows.paths.known(path) is not None

    def __iter__(self) -> Iterator[str]:
        return map(self._rows.paths.__getitem__, self._rows.living())

    def __len__(self) -> int:
        return self._rows.paths.living

    @property
    def paths_by_id(self) -> NumberedPaths:
        """The path of each id, also of files that went. Not to be changed."""
        return self._rows.paths

    @property
    def links_by_id(self) -> Pieces:
        """The links of each file, packed, also of files that went. Not to be changed."""
        return self._rows.links

    def living(self) -> Iterator[KnownFile]:
        """All files in their order; nothing may be put or removed meanwhile."""
        rows = self._rows
        return (KnownFile(rows, number) for number in rows.living())

    def heard(self) -> list[KnownFile]:
        """The files in which somebody speaks."""
        return [self._known(number) for number in list(self._rows.voices) if self._rows.paths.lives(number)]

    def _known(self, number: int) -> KnownFile:
        return KnownFile(self._rows, number)

    def put(self, entry: FileEntry) -> KnownFile:
        """Add a file under a new id, behind all others; what is known of its path is forgotten first."""
        self.put_all((entry,))
        return KnownFile(self._rows, len(self._rows.paths) - 1)

    def put_all(self, entries: Sequence[FileEntry]) -> None:
        """The same of some files, whose paths differ."""
        rows, first = self._rows, len(self._rows.paths)
        digests = b"".join([digest_of(entry.digest) for entry in entries])
        pieces = [entry.packed or packed(entry) for entry in entries]
        for entry in entries:
            self._forget(entry.path)
        for name, column in rows.columns.items():
            if name in _LATER:
                column.frombytes(bytes(column.itemsize * len(entries)))
                continue
            values = map(attrgetter(name), entries)
            column.extend([rows.number_of(name, value) for value in values] if name in NAMED else values)
        rows.digests += digests
        for number, (entry, (card, rest, links)) in enumerate(zip(entries, pieces, strict=True), first):
            rows.cards.append(card)
            rows.rests.append(rest)
            rows.links.append(links)
            if entry.fault:
                rows.faults[number] = entry.fault
            rows.paths.add(entry.path)  # last: whoever finds the file finds all of it
            known = KnownFile(rows, number)
            known.slots, known.voices = np.asarray(entry.slots, np.int32), entry.voices

    def rename(self, path: str, new_path: str) -> KnownFile:
        """Give a file another path, behind all others."""
        rows, number = self._rows, self[path].id
        rows.paths.rename(number, new_path)
        rows.behind.pop(number, None)
        rows.behind[number] = len(rows.paths)
        self.set_name_ends(number, [0] * len(ENDS))
        return KnownFile(self._rows, number)

    def remove(self, path: str) -> None:
        """Forget a file. Its id is not given again before the next numbering."""
        if not self._forget(path):
            raise KeyError(path)

    def _forget(self, path: str) -> bool:
        number = self._rows.paths.forget(path)
        if number is not None:
            self._rows.behind.pop(number, None)
        return number is not None

    def expect(self, many: bool) -> None:
        """Say whether many files are about to come."""
        self._rows.paths.expect(many)

    def dump(self) -> tuple[Iterator[dict[str, Any]], dict[str, Ints], dict[str, list[str]]]:
        """For a snapshot: what each file says as JSON values, columns of numbers, and what some of them stand for.

        Call :meth:`renumber` first, so that nothing of a removed file is in them.
        """
        rows = self._rows
        if len(self) != len(rows.paths):
            raise ValueError("renumber before dumping: removed files would be kept")
        columns = {f"file.{name}": np.array(rows.columns[name]) for name in _STORED}
        columns["file.digest"] = np.frombuffer(bytes(rows.digests), np.uint8)
        records = chain.from_iterable(map(_records, self.living()))
        return records, columns, {name: list(rows.known[name]) for name in NAMED}

    @classmethod
    def load(cls, records: Iterable[dict[str, Any]], columns: dict[str, Ints], names: dict[str, list[str]]) -> "Files":
        """The inverse of :meth:`dump`; slots are still to be set. Raises ValueError when the parts do not fit."""
        files = cls()
        rows = files._rows
        records = iter(records)

        def path_of(record: dict[str, Any]) -> str:
            for _ in range(record.get("more", 0)):
                if (part := next(records, None)) is None:
                    raise ValueError("the index ends within a file")
                for name, values in part.items():
                    record[name] += values
            if record.get("fault"):
                rows.faults[len(rows.links)] = record["fault"]
            tags, aliases = (tuple(record.get(name, ())) for name in ("tags", "aliases"))
            front, sections = record.get("front", {}), tuple(map(tuple, record.get("sections", ())))
            said = (record.get("title", ""), record.get("description", ""), tags, aliases)
            rows.cards.append(card_of(said, front, sections))
            rows.rests.append(rest_of(front, sections))
            rows.links.append(packed_records(record.get("links", ())))
            return cast("str", record["path"])

        rows.paths = NumberedPaths.packed(map(path_of, records))  # raises ValueError for a path that comes twice
        rows.settle()
        size = len(rows.paths)
        for name, kind in COLUMNS.items():
            values = columns[f"file.{name}"] if name in _STORED else np.zeros(size, np.int64)
            rows.columns[name] = array(kind, values.astype(array(kind).typecode).tobytes())
        rows.digests = bytearray(columns["file.digest"].tobytes())
        rows.known = {name: list(names[name]) for name in NAMED}
        fits = all(len(column) == size for column in rows.columns.values())
        named = all(max(rows.columns[name], default=0) < max(1, len(rows.known[name])) for name in NAMED)
        if not fits or not named or len(rows.digests) != DIGEST * size:
            raise ValueError("the files of the index and their columns do not belong together")
        return files

    def column(self, name: str) -> Ints:
        """A column of numbers of the living files, in their order; a copy."""
        values = np.array(self._rows.columns[name])
        living = self._rows.living()
        return values if isinstance(living, range) else values[np.array(living, np.int64)]

    def set_column(self, name: str, values: Ints) -> None:
        """Set a column; as many values as there are living files, in their order."""
        column, living = self._rows.columns[name], self._rows.living()
        at = slice(None) if isinstance(living, range) else np.array(living, np.int64)
        np.frombuffer(column, column.typecode)[at] = values  # no number becomes an object, which would leave holes

    def of_kinds(self, kinds: Container[object]) -> NDArray[np.bool_]:
        """Which files are of some kinds, by id; of those that went, anything."""
        rows = self._rows
        wanted = np.array([kind in kinds for kind in rows.known["kind"]], bool)
        return wanted[np.array(rows.columns["kind"], np.int64)]

    def name_ends(self, numbers: Ints) -> Ints:
        """How the names of some files begin and end, by their ids: a row for each name, 0 where nobody looked."""
        columns = self._rows.columns
        return np.array([np.frombuffer(columns[name], np.uint32).take(numbers) for name in ENDS])

    def name_end(self, number: int) -> int:
        """How the first name of the file with an id begins and ends."""
        return int(self._rows.columns[ENDS[0]][number])

    def columns_of_name_ends(self) -> list[Any]:
        """The same of all files, by id, as the arrays that hold them."""
        columns = self._rows.columns
        return [columns[name] for name in ENDS]

    def set_name_ends(self, number: int, ends: Sequence[int]) -> None:
        """Keep how the names of the file with an id begin and end, until it is renamed."""
        for name, value in zip(ENDS, ends, strict=True):
            self._rows.columns[name][number] = value

    def slots(self) -> Ints:
        """The slots of all living files, one file after the other."""
        counts, firsts = self.column("units").astype(np.int64), self.column("first").astype(np.int64)
        begins = np.cumsum(counts) - counts
        out = np.arange(int(counts.sum())) + np.repeat(firsts - begins, counts)
        if self._rows.scattered:
            at = dict(zip(self._rows.living(), begins.tolist(), strict=True))
            for number, slots in self._rows.scattered.items():
                if number in at:
                    out[at[number] : at[number] + len(slots)] = slots
        return out.astype(np.int32)

    def set_slots(self, slots: Ints, counts: Ints) -> None:
        """Set the slots of all living files, ``counts`` of each, one file after the other."""
        ends = np.cumsum(counts)
        scattered = self._rows.scattered = {}
        firsts, lasts = np.zeros(len(counts), np.int64), np.zeros(len(counts), np.int64)
        some = counts > 0
        firsts[some], lasts[some] = slots[(ends - counts)[some]], slots[ends[some] - 1]
        self.set_column("first", firsts)
        self.set_column("units", counts)
        apart = np.flatnonzero(some & (lasts - firsts != counts - 1))
        if len(apart):
            ids = list(self._rows.living())
            for at in apart.tolist():
                scattered[ids[at]] = np.array(slots[ends[at] - counts[at] : ends[at]], np.int32)

    def renumber(self) -> Ints:
        """Give the living files new ids from 0 on, in their order, and return the old ones in this order.

        Objects of before show what was.
        """
        old, living = self._rows, self._rows.living()
        if isinstance(living, range) or living == list(range(len(old.paths))):
            old.paths.settle()
            return np.arange(len(old.paths))
        ids = list(living)
        rows = Rows()
        new = {number: at for at, number in enumerate(ids)}
        rows.known = old.known
        rows.cards, rows.rests = Pieces(map(old.cards.__getitem__, ids)), FoldedPieces(map(old.rests.__getitem__, ids))
        rows.paths = NumberedPaths.packed(map(old.paths.__getitem__, ids))
        rows.links = Pieces(map(old.links.__getitem__, ids))
        for name, column in old.columns.items():
            rows.columns[name] = array(COLUMNS[name], [column[number] for number in ids])
        digests = np.frombuffer(bytes(old.digests), np.uint8).reshape(-1, DIGEST)
        rows.digests = bytearray(digests[ids].tobytes())
        for name in ("faults", "voices", "scattered"):
            values = getattr(old, name)
            setattr(rows, name, {new[number]: value for number, value in values.items() if number in new})
        self._rows = rows
        return np.array(ids, np.int64)


class FilesById:
    """The files of a corpus by id, None for one that went."""

    __slots__ = ("_files",)

    def __init__(self, files: Files) -> None:
        self._files = files

    def __len__(self) -> int:
        return len(self._files._rows.paths)

    def alike(self, numbers: list[int]) -> list[int]:
        """Those of some files whose SHA-256 begins, in its first 64 bits, with what another one's begins with."""
        digests = self._files._rows.digests
        if kernels is not None and kernels.all_differ(digests, numbers, DIGEST):
            return []
        words = memoryview(digests).cast("Q")
        kinds = dict.fromkeys(numbers)
        found = [words[DIGEST // 8 * number] for number in kinds]
        if len(set(found)) == len(found):
            return []
        counts = Counter(found)
        return [number for number, word in zip(kinds, found, strict=True) if counts[word] > 1]

    def __getitem__(self, number: int) -> KnownFile | None:
        rows = self._files._rows
        return KnownFile(rows, number) if rows.paths.lives(number) else None


def _records(known: KnownFile) -> Iterator[dict[str, Any]]:
    """What a file says, without what is empty; after it ``more`` records with more of its long lists."""
    title, description, tags, aliases = known.card
    said: dict[str, Any] = {
        "title": title, "description": description, "tags": tags, "aliases": aliases, "front": known.front,
        "sections": known.sections, "links": records_in(known.packed_links), "fault": known.fault,
    }  # fmt: skip
    rest = []
    for name in ("sections", "links"):
        if len(said[name]) > TOGETHER:  # one line would be written and read in one call
            rest += [{name: said[name][at : at + TOGETHER]} for at in range(TOGETHER, len(said[name]), TOGETHER)]
            said[name] = said[name][:TOGETHER]
    said["more"] = len(rest)
    yield {"path": known.path} | {name: value for name, value in said.items() if value}
    yield from rest


class Marked:
    """Paths that somebody has met. Of a file of the corpus that stays as it is, that is a byte."""

    def __init__(self, files: Files) -> None:
        self._rows = files._rows
        self._flags = bytearray(len(self._rows.paths))
        self._paths: set[str] = set()
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def __contains__(self, path: str) -> bool:
        if path in self._paths:
            return True
        number = self._rows.paths.known(path)
        if number is not None and number < len(self._flags):
            return self._flags[number] > 0
        return path in compress(self._rows.paths, self._flags)  # put again since

    def missing(self, files: Files) -> Iterator[str]:
        """The paths of all files that nobody has met."""
        rows = files._rows
        flags = self._flags if rows is self._rows else b""
        for number in rows.living():
            if (number >= len(flags) or not flags[number]) and (path := rows.paths[number]) not in self:
                yield path

    def add(self, path: str) -> None:
        """Mark a path, whatever becomes of its file."""
        self._count += 1
        self._paths.add(path)

    def add_same(self, known: KnownFile) -> None:
        """Mark the path of a file."""
        if known._rows is not self._rows or known.id >= len(self._flags):  # files were numbered anew meanwhile
            self.add(known.path)
            return
        self._count += 1
        self._flags[known.id] = 1
