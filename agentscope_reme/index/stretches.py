"""What is known of each stretch of units (a file, or 64 units of a long one), so that most need not be looked into.

Kept file by file: a change costs what the changed file costs, whatever the size of the vault.
"""

import numpy as np
from numpy.typing import NDArray

from .columns import Growing, grown
from .keyword_columns import Ints

# A file counts as one stretch, like a sitting of a conversation; a longer one as several of this many units.
STRETCH = 64

_FIELDS = {
    "file": np.int32,  # id of its file
    "place": np.int32,  # of its first unit
    "size": np.int32,  # units; 0 when its file is gone
    "length": np.int32,  # terms
    "shortest": np.int32,  # least blurred length of its units, in twentieths
    "flags": np.uint8,  # of any of its units
    "before": np.int32,  # the stretch before it in the file, -1 for none
    "after": np.int32,
    "joined": np.bool_,  # whether there is one before or after it
}


class Stretches:
    """Stretches by id. Not thread-safe: the owner holds a lock."""

    def __init__(self) -> None:
        self._table = Growing(_FIELDS)
        self._first: Ints = np.full(64, -1, np.int32)  # of each file
        self.count = 0  # ids given
        self.living = 0
        self.total = 0  # terms in living ones

    def column(self, name: str) -> Ints:
        """A field of every stretch, removed ones included."""
        return self._table[name][: self.count]

    def columns(self) -> tuple[Ints, ...]:
        """What compiled loops read, in their order: the first stretch by file, then fields of every stretch."""
        table, count = self._table, self.count
        file, length, shortest, flags, before, after, joined, place, size = (
            table[name][:count]
            for name in ("file", "length", "shortest", "flags", "before", "after", "joined", "place", "size")
        )
        return self._first, file, length, shortest, flags, before, after, joined.view(np.uint8), place, size

    @property
    def alive(self) -> NDArray[np.bool_]:
        """Which stretches belong to a file that is there."""
        return self.column("size") > 0

    def of_files(self, files: Ints) -> Ints:
        """The stretches of some living files, in no order."""
        first = self._first.take(files, mode="clip")  # its last one is of no file
        found = [first[first >= 0]]
        some = found[0][self.joined[found[0]]]
        while len(some):
            some = self.column("after")[some]
            some = some[some >= 0]
            found.append(some)
        return np.concatenate(found) if len(found) > 1 else found[0]

    @property
    def joined(self) -> NDArray[np.bool_]:
        """Which stretches have another one beside them."""
        joined: NDArray[np.bool_] = self._table["joined"][: self.count]
        return joined

    def ids_for(self, old: Ints, units: int) -> Ints:
        """Ids for a file of some units that has had ``old`` so far: those, and new ones."""
        more = -(-units // STRETCH) - len(old)
        return np.append(old, np.arange(self.count, self.count + max(0, more))).astype(np.int32)

    def remove(self, ids: Ints) -> None:
        """Forget some."""
        size, length, file = (self._table[name] for name in ("size", "length", "file"))
        if len(ids) == 1:  # of most files: numbers take less time than arrays of one
            at = int(ids[0])
            self.living -= int(size[at] > 0)
            self.total -= int(length[at])
            size[at] = length[at] = 0
            self._first[file[at]] = -1
            return
        self.living -= int(np.count_nonzero(size[ids]))
        self.total -= int(length[ids].sum())
        size[ids] = length[ids] = 0
        self._first[file[ids]] = -1

    def set_file(self, ids: Ints, file: int, place: int, lengths: Ints, blurred: Ints, flags: Ints) -> None:
        """Set a file's stretches; the arrays run over its units in file order."""
        if len(ids) == 1:
            self._set_one(int(ids[0]), file, place, lengths, blurred, flags)
            return
        begins = np.arange(0, len(lengths), STRETCH)
        self._set(ids, np.full(len(ids), file), begins, begins + place, lengths, blurred, flags)

    def set_all(self, counts: Ints, places: Ints, lengths: Ints, blurred: Ints, flags: Ints) -> Ints:
        """Start over with files of ``counts`` units; the arrays run over all units, file after file.

        Returns the stretch of each unit.
        """
        self.__init__()  # type: ignore[misc]
        return self.add_files(0, counts, places, lengths, blurred, flags)

    def add_files(self, file: int, counts: Ints, places: Ints, lengths: Ints, blurred: Ints, flags: Ints) -> Ints:
        """Add files of ``counts`` units with ids from ``file`` on; the arrays run over their units, file after file.

        Returns the stretch of each unit.
        """
        first = self.count
        if len(counts) == 1 and 0 < len(lengths) <= STRETCH:  # a note that was saved
            self._set_one(first, file, int(places[0]), lengths, blurred, flags)
            return np.full(len(lengths), first, np.int32)
        per_file = -(-counts // STRETCH)
        files = np.repeat(np.arange(file, file + len(counts)), per_file)
        number = np.arange(len(files)) - np.repeat(np.cumsum(per_file) - per_file, per_file)
        begins = np.repeat(np.cumsum(counts) - counts, per_file) + number * STRETCH
        ids = np.arange(first, first + len(files), dtype=np.int32)
        self._set(ids, files, begins, places[begins], lengths, blurred, flags)
        return np.repeat(ids, self.column("size")[first:])

    def _set_one(self, at: int, file: int, place: int, lengths: Ints, blurred: Ints, flags: Ints) -> None:
        """A file of one stretch, as most are."""
        table = self._table
        table.reserve(at + 1)
        self.count = max(self.count, at + 1)
        self.living += int(table["size"][at] == 0)
        length = int(lengths.sum())
        self.total += length - int(table["length"][at])
        values = (
            file,
            place,
            len(lengths),
            length,
            int(blurred.min()),
            int(np.bitwise_or.reduce(flags)),
            -1,
            -1,
            False,
        )
        for name, value in zip(_FIELDS, values, strict=True):
            table[name][at] = value
        self._first = grown(self._first, file + 2, -1)
        self._first[file] = at

    def _set(self, ids: Ints, file: Ints, begins: Ints, place: Ints, lengths: Ints, blurred: Ints, flags: Ints) -> None:
        if not len(ids):
            return
        table = self._table
        table.reserve(int(ids[-1]) + 1)
        self.count = max(self.count, int(ids[-1]) + 1)
        self.living += int(np.count_nonzero(table["size"][ids] == 0))
        self.total -= int(table["length"][ids].sum())
        table["file"][ids], table["place"][ids] = file, place
        table["size"][ids] = np.diff(np.append(begins, len(lengths)))
        table["length"][ids] = np.add.reduceat(lengths, begins)
        table["shortest"][ids] = np.minimum.reduceat(blurred, begins)
        table["flags"][ids] = np.bitwise_or.reduceat(flags, begins)
        follows = file[1:] == file[:-1]
        table["before"][ids] = np.append(-1, np.where(follows, ids[:-1], -1))
        table["after"][ids] = np.append(np.where(follows, ids[1:], -1), -1)
        table["joined"][ids] = (table["before"][ids] >= 0) | (table["after"][ids] >= 0)
        opens = np.append(True, ~follows)
        self._first = grown(self._first, int(file.max()) + 2, -1)
        self._first[file[opens]] = ids[opens]
        self.total += int(table["length"][ids].sum())
