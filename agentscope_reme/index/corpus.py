"""The files and units that can be found right now, as arrays: what ranking reads and snapshots store.

Every unit has a *slot* (its number in the keyword index) and a *place*: units of one file stand at consecutive places
in file order, with a gap of four between files, so that a unit's neighbours are found by adding to its place and a
file's edge needs no test. Places of changed files are given anew at the end and closed up at a merge.
"""

from collections import Counter, deque
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from .anchors import Anchors
from .batch import Batch, collect
from .blurred import BlurredLengths
from .bundle import PLAIN
from .columns import fitted, grown, make_room
from .entries import REACH, SMALL_FIELDS, UNIT_FIELDS, FileEntry, UnitEntry, blur
from .files import Files, FilesById, KnownFile
from .filtered import Filtered
from .keyword import KeywordIndex
from .keyword_columns import Ints, distinct
from .link_records import targets_in
from .own_memory import room_for
from .stretches import STRETCH, Stretches

_MUTE = frozenset[int]()


class Corpus:
    """Files by path, units by slot. Not thread-safe: the owner holds a lock."""

    def __init__(self) -> None:
        self.units = KeywordIndex(1.2, 0.75)
        self.labels = KeywordIndex(1.2, 0.75, positions=False)
        self.anchors = Anchors()
        self.files = Files()
        self.by_id = FilesById(self.files)
        self.telling: set[str] = set()  # paths of files that say something which counts in ranking
        self.faulty: set[str] = set()  # paths of files of which a part could not be used
        self.speakers: list[str] = []
        self.speaking: Counter[int] = Counter()  # in how many files each of them speaks
        self._speaker_ids: dict[str, int] = {}
        self._table = {name: np.zeros(64, kind) for name, kind in UNIT_FIELDS.items()}
        self._label_file = np.zeros(64, np.int32)
        self.stretches = Stretches()
        self.places = REACH
        self._slot_at, self._scratch = np.full(64, -1, np.int32), np.full(64, -1, np.int16)
        self.blurred = BlurredLengths()
        self.revision = 0  # raised by every change
        # Names of the files that came, went or got other names lately, and how many changes of names there were.
        self.renamed: deque[tuple[str, ...]] = deque(maxlen=1_000)
        self.renames = 0
        self.filtered = Filtered()
        self.numbering = 0  # raised when file ids, slots or speakers get new numbers

    # --- what ranking reads ---------------------------------------------------------------------------------------

    def column(self, name: str) -> Ints:
        """A field of every slot, dead ones included."""
        return self._table[name][: self.units.slots]

    @property
    def slot_at(self) -> Ints:
        """The slot at each place, -1 in gaps; ``REACH`` places longer than the last file."""
        return self._slot_at[: self.places + REACH]

    def scratch(self, most: int) -> Ints:
        """A number up to ``most`` by place for whoever needs one for a moment; all -1 before and after."""
        kind = np.int16 if most <= 0x7FFF else np.int32
        if len(self._scratch) < self.places + REACH or not np.can_cast(kind, self._scratch.dtype):
            self._scratch = room_for(len(self._slot_at), kind)
            self._scratch.fill(-1)
        return self._scratch

    @property
    def blurred_lengths(self) -> Ints:
        """Length of the unit at each place with its neighbours' shares, in twentieths of a term."""
        return self.blurred[: self.places + REACH]

    def path_of(self, slot: int) -> str:
        """The path of a living unit's file."""
        entry = self.by_id[int(self._table["file"][slot])]
        return entry.path if entry is not None else ""

    def label_files(self, slots: Ints) -> Ints:
        """The file ids that slots of the label index belong to."""
        return self._label_file.take(slots)

    @property
    def label_file(self) -> Ints:
        """The file id of each slot of the label index."""
        return self._label_file

    # --- changes --------------------------------------------------------------------------------------------------

    def put(self, entry: FileEntry, units: Sequence[UnitEntry]) -> None:
        """Add a file, or replace what is known of it."""
        self.put_batch(collect([(entry, units)]))

    def put_batch(self, batch: Batch) -> None:
        """Add files, or replace what is known of them; the index is the same as if each had come by itself."""
        entries, counts = batch.entries, batch.units
        for entry in entries:
            self.revision += 1
            old = self.files.get(entry.path)
            known: tuple[str, ...] = ()
            if old is not None:
                known = _names(old)
                self._remove(entry.path)
            if known != _names(entry):
                self._note_names(known + _names(entry))
            if entry.fault:
                self.faulty.add(entry.path)
            if entry.tells:
                self.telling.add(entry.path)
        first = len(self.by_id)
        labels = self.labels.add_numbered(batch.labels)
        self._label_file = grown(self._label_file, labels.stop)
        self._label_file[labels.start : labels.stop] = np.arange(first, first + len(entries))
        self.anchors.add([entry.path for entry in entries], batch.links, batch.targets, batch.anchors)
        added = self.units.add_numbered(batch.terms)
        ends = counts.cumsum()
        numbers = np.arange(len(added)) - (ends - counts).repeat(counts)
        fields = {name: batch.columns[name] for name in (*PLAIN, "section", "speaker")} | {"number": numbers}
        if batch.speakers:
            fields["speaker"] = np.array([*map(self.speaker_id, batch.speakers), -1])[batch.columns["speaker"]]
        fields["file"] = np.arange(first, first + len(entries)).repeat(counts)
        table = self._add_rows(added, fields)
        slots = np.arange(added.start, added.stop, dtype=np.int32)
        begins = self.places + (counts + REACH).cumsum() - counts - REACH
        for number, (entry, end, count, begin) in enumerate(
            zip(entries, ends.tolist(), counts.tolist(), begins.tolist(), strict=True)
        ):
            entry.label_slot = labels.start + number
            entry.slots, entry.start = slots[end - count : end], begin
            entry.voices = frozenset(table["speaker"][end - count : end].tolist()) - {-1} if batch.speakers else _MUTE
            self.speaking.update(entry.voices)
        self.files.put_all(entries)
        self._place(table, slots, begins.repeat(counts) + numbers, counts)

    def _add_rows(self, slots: range, fields: dict[str, Ints]) -> dict[str, Ints]:
        """Set fields of new units; returns the rows of these, to set the others."""
        make_room(self._table, fields, SMALL_FIELDS)
        for name, column in self._table.items():
            self._table[name] = grown(column, slots.stop)
        rows = {name: column[slots.start : slots.stop] for name, column in self._table.items()}
        for name, values in fields.items():
            rows[name][:] = values
        return rows

    def _place(self, table: dict[str, Ints], slots: Ints, places: Ints, counts: Ints) -> None:
        """Put the units of new files, file after file, behind all others; ``table`` is their rows."""
        before = self.places
        self.places += int(counts.sum()) + REACH * len(counts)
        self._slot_at = grown(self._slot_at, self.places + REACH, -1)
        self._slot_at[places] = slots
        table["place"][:] = places
        lengths, near = self.units.lengths[slots], places - before + REACH
        row = np.zeros(self.places - before + 2 * REACH, np.int64)
        row[near] = lengths
        blurred = blur(row)[near]
        self.blurred.set(places, blurred, self.places + REACH)
        file = len(self.by_id) - len(counts)
        table["stretch"][:] = self.stretches.add_files(file, counts, places, lengths, blurred, table["flags"])

    def extend(self, path: str, units: Sequence[UnitEntry]) -> None:
        """Add units at the end of a file that is known; the caller updates the entry's other fields."""
        self.revision += 1
        self._append(self.files[path], units)

    def rename(self, path: str, new_path: str) -> None:
        """Give a file another path, at which none is known; what was read of it must not depend on the path."""
        self.revision += 1
        self.telling.discard(path)
        self.faulty.discard(path)
        self._note_names(_names(self.files[path]))
        entry = self.files.rename(path, new_path)
        self._note_names(_names(entry))
        if entry.fault:
            self.faulty.add(new_path)
        if entry.tells:
            self.telling.add(new_path)
        self.anchors.rename(path, new_path)

    def remove(self, path: str) -> bool:
        """Forget a file and its units."""
        entry = self.files.get(path)
        if entry is None:
            return False
        self._note_names(_names(entry))
        self._remove(path)
        return True

    def _note_names(self, names: tuple[str, ...]) -> None:
        self.renamed.append(names)
        self.renames += 1

    def _remove(self, path: str) -> None:
        entry = self.files.get(path)
        if entry is None:
            return
        self.files.remove(path)
        self.revision += 1
        self._clear_places(entry)
        self.units.remove(entry.span)
        self.labels.remove(range(entry.label_slot, entry.label_slot + 1))
        self.anchors.remove(path)
        self.stretches.remove(distinct(self._table["stretch"][entry.slots]))
        self.telling.discard(path)
        self.faulty.discard(path)
        if voices := entry.voices:
            self.speaking.subtract(voices)

    def tidy(self, *, always: bool = False, bulk: bool = False) -> bool:
        """Merge the keyword indexes when that pays, or ``always``; slots, places and file ids may change.

        ``bulk`` says that much more is about to come and few will ask meanwhile.
        """
        self.files.expect(bulk)
        self.anchors.tidy(always=always, bulk=bulk)
        if not always and not (self.units.needs_merge(bulk=bulk) or self.labels.needs_merge(bulk=bulk)):
            return False
        mapping = self.units.merge(drop_terms=True)
        if mapping is not None:
            self._table = {name: column[: len(mapping)][mapping >= 0] for name, column in self._table.items()}
            self.files.set_slots(mapping[self.files.slots()], self.files.column("units"))
        mapping = self.labels.merge(drop_terms=True)
        if mapping is not None:
            kept = self._label_file[: len(mapping)][mapping >= 0]
            self._label_file[: len(kept)] = kept
            self.files.set_column("label_slot", mapping[self.files.column("label_slot")])
        self._renumber()
        return True

    # --- snapshots ------------------------------------------------------------------------------------------------

    def dump(self) -> tuple[Iterable[dict[str, Any]], dict[str, list[str]], dict[str, Any]]:
        """Files as JSON values, what numbers stand for, and arrays, for a snapshot; merges first.

        Nothing of a removed file is in them.
        """
        self.tidy(always=True)
        records, arrays, names = self.files.dump()
        arrays |= {
            f"unit.{name}": self.column(name).astype(kind) for name, kind in UNIT_FIELDS.items() if name != "place"
        }
        arrays["file.slots"], arrays["file.units"] = self.files.slots(), self.files.column("units")
        names |= {"speakers": self.speakers}
        targets = (target for known in self.files.living() for target in targets_in(known.packed_links))
        arrays |= self.anchors.dump(list(self.files), targets, self.renames)
        for prefix, index in (("units", self.units), ("labels", self.labels), ("anchors", self.anchors.index)):
            terms, columns = index.dump()
            arrays[f"keyword.{prefix}.terms"] = np.frombuffer(terms, np.uint8)
            arrays |= {f"keyword.{prefix}{name}": column for name, column in columns.items()}
        return records, names, arrays

    @classmethod
    def load(cls, records: Iterable[dict[str, Any]], names: dict[str, Any], arrays: dict[str, Any]) -> "Corpus":
        """The inverse of :meth:`dump`. Raises ValueError when the parts do not belong together."""
        corpus = cls()
        indexes = {}
        for name, constants in (("units", (1.2, 0.75)), ("labels", (1.2, 0.75)), ("anchors", (1.2, 0.3))):
            prefix = f"keyword.{name}"
            columns = {key[len(prefix) :]: arrays.pop(key) for key in list(arrays) if key.startswith(f"{prefix}.")}
            terms = columns.pop(".terms")
            terms = terms.base if isinstance(terms.base, bytes) else terms.tobytes()  # no second copy
            indexes[name] = KeywordIndex.load(terms, columns, *constants, positions=name == "units")
        corpus.units, corpus.labels = indexes["units"], indexes["labels"]
        corpus.files = Files.load(records, arrays, names)
        corpus.by_id = FilesById(corpus.files)
        corpus.anchors = Anchors.load(indexes["anchors"], corpus.files.paths_by_id, arrays)
        corpus._table = {
            name: arrays[f"unit.{name}"] if name != "place" else np.zeros(corpus.units.slots, np.int32)
            for name in UNIT_FIELDS
        }
        sizes, slots = arrays["file.units"], arrays["file.slots"]
        if len(sizes) != len(corpus.files) or int(sizes.sum()) != len(slots) or len(slots) != corpus.units.slots:
            raise ValueError("the files and units of the index do not belong together")
        if any(len(column) != corpus.units.slots for column in corpus._table.values()):
            raise ValueError("the columns of the index have different lengths")
        corpus.files.set_slots(slots, sizes)
        for name in names["speakers"]:
            corpus.speaker_id(name)
        spoken = corpus._table["speaker"]
        heard: dict[int, set[int]] = {}
        for slot in np.flatnonzero(spoken >= 0).tolist():
            heard.setdefault(int(corpus._table["file"][slot]), set()).add(int(spoken[slot]))
        for entry in corpus.files.living():
            if entry.id in heard:
                entry.voices = frozenset(heard[entry.id])
            if entry.fault:
                corpus.faulty.add(entry.path)
            if entry.tells:
                corpus.telling.add(entry.path)
        corpus._label_file = np.zeros(max(64, corpus.labels.slots), np.int32)
        corpus._renumber()
        return corpus

    # --- inside ---------------------------------------------------------------------------------------------------

    def _append(self, entry: KnownFile, units: Sequence[UnitEntry]) -> None:
        added = self.units.add([unit.terms for unit in units])
        sections = {path: number for number, path in enumerate(entry.sections)}
        fields = {name: np.array([getattr(unit, name) for unit in units], UNIT_FIELDS[name]) for name in PLAIN}
        fields["file"] = np.full(len(units), entry.id)
        fields["number"] = np.arange(len(entry.slots), len(entry.slots) + len(units))
        fields["speaker"] = np.array([self.speaker_id(unit.speaker) for unit in units])
        fields["section"] = np.array([sections.setdefault(unit.headings, len(sections)) for unit in units])
        table = self._add_rows(added, fields)
        entry.sections = tuple(sections)
        voices = set(table["speaker"].tolist()) - {-1} - entry.voices
        if voices:
            entry.voices |= voices
            self.speaking.update(voices)
        table["stretch"][:] = -1
        slots = np.append(entry.slots, np.arange(added.start, added.stop, dtype=np.int32))
        last = len(entry.slots) > 0 and entry.start + len(entry.slots) + REACH == self.places
        self._clear_places(entry)
        entry.slots = slots
        if not last:
            entry.start = self.places
        self.places = entry.start + len(slots) + REACH
        self._slot_at = grown(self._slot_at, self.places + REACH, -1)
        self._set_places(entry)
        self._set_stretches(entry)

    def _set_stretches(self, entry: KnownFile) -> None:
        """Divide a file's units, whose places are set, into stretches."""
        table, slots, stretches = self._table, entry.slots, self.stretches
        known = len(slots) - np.count_nonzero(table["stretch"][slots] < 0)
        ids = stretches.ids_for(distinct(table["stretch"][slots[:known]]), len(slots))
        table["stretch"][slots] = np.repeat(ids, STRETCH)[: len(slots)]
        blurred = self.blurred[entry.start : entry.start + len(slots)]
        stretches.set_file(ids, entry.id, entry.start, self.units.lengths[slots], blurred, table["flags"][slots])

    def speaker_id(self, name: str) -> int:
        """A number for a speaker's name, -1 for none."""
        if not name:
            return -1
        number = self._speaker_ids.get(name)
        if number is None:
            number = self._speaker_ids[name] = len(self.speakers)
            self.speakers.append(name)
        return number

    def _clear_places(self, entry: KnownFile) -> None:
        span = slice(entry.start, entry.start + entry.units)
        self._slot_at[span] = -1
        self.blurred.clear(span)

    def _set_places(self, entry: KnownFile) -> None:
        count = len(entry.slots)
        span = slice(entry.start, entry.start + count)
        self._slot_at[span] = entry.slots
        self._table["place"][entry.slots] = np.arange(entry.start, entry.start + count)
        lengths = np.zeros(count + 2 * REACH, np.int64)
        lengths[REACH : REACH + count] = self.units.lengths[entry.slots]
        self.blurred.set(span, blur(lengths)[REACH : REACH + count], self.places + REACH)

    def _renumber(self) -> None:
        """Close up file ids, places and speakers."""
        self.numbering += 1
        for name in SMALL_FIELDS:
            self._table[name] = fitted(self._table[name])
        self.filtered.renumber(self.files.renumber())
        spoken = self.column("speaker")
        used = distinct(spoken[spoken >= 0])
        spoken[spoken >= 0] = np.searchsorted(used, spoken[spoken >= 0])
        new_number = {old: new for new, old in enumerate(used.tolist())}
        self.speakers = [self.speakers[old] for old in used.tolist()]
        self._speaker_ids = {name: number for number, name in enumerate(self.speakers)}
        self.speaking = Counter()
        for entry in self.files.heard():
            entry.voices = frozenset(new_number[old] for old in entry.voices)
            self.speaking.update(entry.voices)
        counts = self.files.column("units").astype(np.int64)
        starts = REACH + np.concatenate(([0], np.cumsum(counts + REACH)))
        slots = self.files.slots()
        self.files.set_column("start", starts[:-1])
        self.places = int(starts[-1])
        places = np.arange(len(slots)) + np.repeat(starts[:-1] - (np.cumsum(counts) - counts), counts)
        self._slot_at = np.full(self.places + REACH + 64, -1, np.int32)
        self._slot_at[places] = slots
        self._table["place"][slots] = places
        self._table["file"][slots] = np.repeat(np.arange(len(counts), dtype=np.int32), counts)
        lengths = np.zeros(len(self._slot_at), np.int64)
        lengths[places] = self.units.lengths[slots]
        self.blurred.start_over(np.where(self._slot_at >= 0, blur(lengths), 0))
        self._table["stretch"][slots] = self.stretches.set_all(
            counts, places, self.units.lengths[slots], self.blurred[places], self._table["flags"][slots]
        )
        self._label_file[self.files.column("label_slot")] = np.arange(len(counts))


def _names(entry: FileEntry | KnownFile) -> tuple[str, ...]:
    """What a link may call a file."""
    return (entry.path, entry.title, *entry.aliases)
