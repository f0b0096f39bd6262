"""The files and units that can be found right now, as arrays: what ranking reads and snapshots store.

Every unit has a *slot* (its number in the keyword index) and a *place*: units of one file stand at consecutive places
in file order, with a gap of four between files, so that a unit's neighbours are found by adding to its place and a
file's edge needs no test. Places of changed files are given anew at the end and closed up at a merge.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .anchors import Anchor, Anchors
from .entries import BLUR, REACH, STRETCH, UNIT_FIELDS, FileEntry, UnitEntry
from .keyword import KeywordIndex
from .keyword_columns import Ints, distinct


class Corpus:
    """Files by path, units by slot. Not thread-safe: the owner holds a lock."""

    def __init__(self) -> None:
        self.units = KeywordIndex(1.2, 0.75)
        self.labels = KeywordIndex(1.2, 0.75, positions=False)
        self.anchors = Anchors()
        self.files: dict[str, FileEntry] = {}
        self.by_id: list[FileEntry | None] = []
        self.speakers: list[str] = []
        self._speaker_ids: dict[str, int] = {}
        self._table = {name: np.zeros(64, kind) for name, kind in UNIT_FIELDS.items()}
        self._label_file = np.zeros(64, np.int32)
        self._stretch_length = np.zeros(64, np.int64)
        self._stretch_ids = 0
        self.stretches = 0
        self.places = REACH
        self._slot_at = np.full(64, -1, np.int32)
        self._blurred = np.zeros(64, np.int64)
        self.blurred_total = 0
        self.revision = 0  # raised by every change
        self.stretch_cache: tuple[tuple[int, int], object] | None = None
        self.naming = 0  # raised when a path, title or alias comes or goes
        self.numbering = 0  # raised when file ids, slots or speakers get new numbers

    # --- what ranking reads ---------------------------------------------------------------------------------------

    def column(self, name: str) -> Ints:
        """A field of every slot, dead ones included."""
        return self._table[name][: self.units.slots]

    @property
    def slot_at(self) -> Ints:
        """The slot at each place, -1 in gaps; ``REACH`` places longer than the last file."""
        return self._slot_at[: self.places + REACH]

    @property
    def blurred_lengths(self) -> Ints:
        """Length of the unit at each place with its neighbours' shares, in twentieths of a term."""
        return self._blurred[: self.places + REACH]

    @property
    def stretch_lengths(self) -> Ints:
        """Terms of each stretch by its id, 0 for removed ones; ``stretches`` is how many are left."""
        return self._stretch_length[: self._stretch_ids]

    def path_of(self, slot: int) -> str:
        """The path of a living unit's file."""
        entry = self.by_id[int(self._table["file"][slot])]
        return entry.path if entry is not None else ""

    def label_files(self, slots: Ints) -> Ints:
        """The file ids that slots of the label index belong to."""
        return self._label_file[slots]

    # --- changes --------------------------------------------------------------------------------------------------

    def put(self, entry: FileEntry, units: Sequence[UnitEntry]) -> None:
        """Add a file, or replace what is known of it."""
        self.revision += 1
        old = self.files.get(entry.path)
        naming = self.naming
        self.remove(entry.path)
        if old is not None and (old.title, old.aliases) == (entry.title, entry.aliases):
            self.naming = naming
        entry.id = len(self.by_id)
        self.by_id.append(entry)
        if old is None:
            self.naming += 1
        self.files[entry.path] = entry
        entry.slots = np.zeros(0, np.int32)
        entry.voices = frozenset()
        entry.sections = {}
        entry.label_slot = self.labels.add([entry.labels])[0]
        self._label_file = _grown(self._label_file, entry.label_slot + 1)
        self._label_file[entry.label_slot] = entry.id
        self.anchors.put(entry.path, entry.anchors)
        entry.labels = entry.anchors = ()
        self._append(entry, units)

    def extend(self, path: str, units: Sequence[UnitEntry]) -> None:
        """Add units at the end of a file that is known; the caller updates the entry's other fields."""
        self.revision += 1
        self._append(self.files[path], units)

    def remove(self, path: str) -> bool:
        """Forget a file and its units."""
        entry = self.files.pop(path, None)
        if entry is None:
            return False
        self.revision += 1
        self.naming += 1
        self._clear_places(entry)
        self.units.remove(entry.slots)
        self.labels.remove([entry.label_slot])
        self.anchors.remove(path)
        gone = distinct(self._table["stretch"][entry.slots])
        self._stretch_length[gone] = 0
        self.stretches -= len(gone)
        self.by_id[entry.id] = None
        return True

    def tidy(self, *, always: bool = False, bulk: bool = False) -> bool:
        """Merge the keyword indexes when that pays, or ``always``; slots, places and file ids may change.

        ``bulk`` says that much more is about to come and few will ask meanwhile.
        """
        self.anchors.tidy(always=always, bulk=bulk)
        if not always and not (self.units.needs_merge(bulk=bulk) or self.labels.needs_merge(bulk=bulk)):
            return False
        mapping = self.units.merge(drop_terms=True)
        if mapping is not None:
            keep = mapping >= 0
            for column in self._table.values():
                kept = column[: len(keep)][keep]
                column[: len(kept)] = kept
            for entry in self.files.values():
                entry.slots = mapping[entry.slots].astype(np.int32)
        mapping = self.labels.merge(drop_terms=True)
        if mapping is not None:
            kept = self._label_file[: len(mapping)][mapping >= 0]
            self._label_file[: len(kept)] = kept
            for entry in self.files.values():
                entry.label_slot = int(mapping[entry.label_slot])
        self._renumber()
        return True

    # --- snapshots ------------------------------------------------------------------------------------------------

    def dump(self) -> tuple[list[FileEntry], dict[str, Any]]:
        """Files and arrays, for a snapshot; merges first. Nothing of a removed file is in them."""
        self.tidy(always=True)
        entries = list(self.files.values())
        arrays: dict[str, Any] = {f"unit.{name}": self.column(name) for name in UNIT_FIELDS if name != "place"}
        arrays["file.slots"] = np.concatenate([entry.slots for entry in entries] or [np.zeros(0, np.int32)])
        arrays["file.units"] = np.array([len(entry.slots) for entry in entries], np.int32)
        arrays["file.label"] = np.array([entry.label_slot for entry in entries], np.int32)
        targets, more = self.anchors.dump([entry.path for entry in entries])
        arrays["file.anchors"] = more["slots"]
        for entry, names in zip(entries, targets, strict=True):
            entry.anchors = tuple(Anchor(name, ()) for name in names)
        for prefix, index in (("units", self.units), ("labels", self.labels), ("anchors", self.anchors.index)):
            terms, columns = index.dump()
            arrays[f"{prefix}.terms"] = np.frombuffer("\n".join(terms).encode("utf-8", "surrogatepass"), np.uint8)
            arrays |= {f"{prefix}.{name}": column for name, column in columns.items()}
        return entries, arrays

    @classmethod
    def load(cls, entries: list[FileEntry], speakers: list[str], arrays: dict[str, Any]) -> "Corpus":
        """The inverse of :meth:`dump`. Raises ValueError when the parts do not belong together."""
        corpus = cls()
        indexes = {}
        for prefix, constants in (("units", (1.2, 0.75)), ("labels", (1.2, 0.75)), ("anchors", (1.2, 0.3))):
            text = arrays[f"{prefix}.terms"].tobytes().decode("utf-8", "surrogatepass")
            columns = {name: arrays[f"{prefix}.{name}"] for name in ("counts", "slots", "tf", "positions", "lengths")}
            terms = text.split("\n") if text else []
            indexes[prefix] = KeywordIndex.load(terms, columns, *constants, positions=prefix == "units")
        corpus.units, corpus.labels = indexes["units"], indexes["labels"]
        targets = [[anchor.target for anchor in entry.anchors] for entry in entries]
        paths = [entry.path for entry in entries]
        corpus.anchors = Anchors.load(indexes["anchors"], paths, targets, arrays["file.anchors"])
        corpus._table = {
            name: arrays[f"unit.{name}"] if name != "place" else np.zeros(corpus.units.slots, np.int32)
            for name in UNIT_FIELDS
        }
        sizes, slots = arrays["file.units"], arrays["file.slots"]
        if len(sizes) != len(entries) or int(sizes.sum()) != len(slots) or len(slots) != corpus.units.slots:
            raise ValueError("the files and units of the index do not belong together")
        if any(len(column) != corpus.units.slots for column in corpus._table.values()):
            raise ValueError("the columns of the index have different lengths")
        voices = corpus._table["speaker"]
        for name in speakers:
            corpus.speaker_id(name)
        stops = np.cumsum(sizes)
        for entry, stop, size, label in zip(
            entries, stops.tolist(), sizes.tolist(), arrays["file.label"].tolist(), strict=True
        ):
            entry.slots = slots[stop - size : stop]
            entry.label_slot = label
            entry.voices = frozenset(voices[entry.slots].tolist()) - {-1} if speakers else frozenset()
            corpus.files[entry.path] = entry
        corpus._label_file = np.zeros(max(64, corpus.labels.slots), np.int32)
        corpus._renumber()
        return corpus

    # --- inside ---------------------------------------------------------------------------------------------------

    def _append(self, entry: FileEntry, units: Sequence[UnitEntry]) -> None:
        added = self.units.add([unit.terms for unit in units])
        for name in self._table:
            self._table[name] = _grown(self._table[name], added.stop)
        span = slice(added.start, added.stop)
        table = self._table
        for name in ("first", "last", "begin", "stop", "check", "day", "flags", "text"):
            table[name][span] = [getattr(unit, name) for unit in units]
        table["file"][span] = entry.id
        table["number"][span] = np.arange(len(entry.slots), len(entry.slots) + len(units))
        table["speaker"][span] = [self.speaker_id(unit.speaker) for unit in units]
        sections = entry.sections
        table["section"][span] = [sections.setdefault(unit.headings, len(sections)) for unit in units]
        entry.voices |= set(table["speaker"][span].tolist()) - {-1}
        self._set_stretches(entry, added)
        slots = np.append(entry.slots, np.arange(added.start, added.stop, dtype=np.int32))
        last = len(entry.slots) > 0 and entry.start + len(entry.slots) + REACH == self.places
        self._clear_places(entry)
        entry.slots = slots
        if not last:
            entry.start = self.places
        self.places = entry.start + len(slots) + REACH
        self._slot_at = _grown(self._slot_at, self.places + REACH, -1)
        self._blurred = _grown(self._blurred, self.places + REACH)
        self._set_places(entry)

    def _set_stretches(self, entry: FileEntry, added: range) -> None:
        """Give units that were just added to the end of a file to its last stretch and to new ones."""
        numbers = np.arange(len(entry.slots), len(entry.slots) + len(added)) // STRETCH
        old = -(-len(entry.slots) // STRETCH)
        ids = numbers - old + self._stretch_ids
        if len(entry.slots):
            ids[numbers < old] = self._table["stretch"][entry.slots[-1]]
        new = max(0, int(numbers[-1]) + 1 - old) if len(numbers) else 0
        self._stretch_ids += new
        self.stretches += new
        self._stretch_length = _grown(self._stretch_length, self._stretch_ids)
        self._table["stretch"][added.start : added.stop] = ids
        np.add.at(self._stretch_length, ids, self.units.lengths[added.start : added.stop])

    def speaker_id(self, name: str) -> int:
        """A number for a speaker's name, -1 for none."""
        if not name:
            return -1
        number = self._speaker_ids.get(name)
        if number is None:
            number = self._speaker_ids[name] = len(self.speakers)
            self.speakers.append(name)
        return number

    def _clear_places(self, entry: FileEntry) -> None:
        span = slice(entry.start, entry.start + len(entry.slots))
        self.blurred_total -= int(self._blurred[span].sum())
        self._slot_at[span] = -1
        self._blurred[span] = 0

    def _set_places(self, entry: FileEntry) -> None:
        count = len(entry.slots)
        span = slice(entry.start, entry.start + count)
        self._slot_at[span] = entry.slots
        self._table["place"][entry.slots] = np.arange(entry.start, entry.start + count)
        lengths = np.zeros(count + 2 * REACH, np.int64)
        lengths[REACH : REACH + count] = self.units.lengths[entry.slots]
        self._blurred[span] = blur(lengths)[REACH : REACH + count]
        self.blurred_total += int(self._blurred[span].sum())

    def _renumber(self) -> None:
        """Close up file ids, places and speakers."""
        self.numbering += 1
        entries = list(self.files.values())
        spoken = self.column("speaker")
        used = distinct(spoken[spoken >= 0])
        spoken[spoken >= 0] = np.searchsorted(used, spoken[spoken >= 0])
        new_number = {old: new for new, old in enumerate(used.tolist())}
        self.speakers = [self.speakers[old] for old in used.tolist()]
        self._speaker_ids = {name: number for number, name in enumerate(self.speakers)}
        for entry in entries:
            entry.voices = frozenset(new_number[old] for old in entry.voices)
        self.by_id = list(entries)
        counts = np.array([len(entry.slots) for entry in entries], np.int64)
        starts = REACH + np.concatenate(([0], np.cumsum(counts + REACH)))
        slots = np.concatenate([entry.slots for entry in entries] or [np.zeros(0, np.int32)])
        files = np.repeat(np.arange(len(entries), dtype=np.int32), counts)
        for number, entry in enumerate(entries):
            entry.id, entry.start = number, int(starts[number])
        self.places = int(starts[-1])
        begins = np.repeat(starts[:-1] - (np.cumsum(counts) - counts), counts)
        places = np.arange(len(slots)) + begins
        self._slot_at = np.full(self.places + REACH + 64, -1, np.int32)
        self._slot_at[places] = slots
        self._table["place"][slots] = places
        self._table["file"][slots] = files
        lengths = np.zeros(len(self._slot_at), np.int64)
        lengths[places] = self.units.lengths[slots]
        self._blurred = np.where(self._slot_at >= 0, blur(lengths), 0)
        self.blurred_total = int(self._blurred.sum())
        per_file = -(-counts // STRETCH)
        begins = np.repeat(np.cumsum(per_file) - per_file, counts)
        stretch = begins + self._table["number"][slots] // STRETCH
        self._table["stretch"][slots] = stretch
        self._stretch_ids = self.stretches = int(per_file.sum())
        self._stretch_length = np.zeros(self._stretch_ids + 64, np.int64)
        np.add.at(self._stretch_length, stretch, self.units.lengths[slots])
        self._label_file[np.array([entry.label_slot for entry in entries], np.int64)] = np.arange(len(entries))


def blur(values: Ints) -> Ints:
    """Each value with its neighbours' shares, in twentieths. The first and last ``REACH`` values must be 0."""
    out = values * BLUR[0]
    for distance in range(1, REACH + 1):
        out[distance:] += values[:-distance] * BLUR[distance]
        out[:-distance] += values[distance:] * BLUR[distance]
    return out


def _grown(values: NDArray[Any], size: int, fill: int = 0) -> NDArray[Any]:
    if size <= len(values):
        return values
    return np.append(values, np.full(max(size, 2 * len(values)) - len(values), fill, values.dtype))
