"""What is kept current, which files belong into it, and how far a look at them is."""

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..vault.layout import JOURNALS, RESOURCE, UNINDEXED
from .corpus import Corpus
from .entries import FileEntry, UnitEntry

if TYPE_CHECKING:
    from .graph import LinkGraph

NOTES = (".md", ".markdown")
RESOURCES = (*NOTES, ".txt", ".log", ".json", ".jsonl", ".csv", ".tsv", ".yaml", ".yml", ".html", ".htm")
_UNINDEXED = tuple(f"{folder}/" for folder in UNINDEXED)
# New files that are put into the corpus together, at most.
TOGETHER = 100
TOGETHER_BYTES = 400_000


def is_indexed(path: str) -> bool:
    """Whether a file of this vault-relative path belongs into the index (ignore rules apart)."""
    if path in UNINDEXED or path.startswith(_UNINDEXED):
        return False
    name = path.rpartition("/")[2]
    dot = name.rfind(".")
    suffix = name[dot:].lower() if 0 < dot < len(name) - 1 else ""
    if suffix in NOTES:
        return True
    if suffix == ".jsonl" and path.startswith(JOURNALS):
        return True
    return path.startswith(f"{RESOURCE}/") and suffix in RESOURCES


@dataclass(slots=True)
class Counts:
    """What a pass has done so far."""

    added: int = 0
    changed: int = 0
    removed: int = 0
    unchanged: int = 0


@dataclass(slots=True)
class Progress:
    """How far a scan is; ``total`` is 0 until the folder has been listed."""

    done: int = 0
    total: int = 0

    @property
    def share(self) -> float:
        return self.done / self.total if self.total else 0.0


@dataclass(slots=True)
class Store:
    """What is kept current: the corpus and the links, under one lock; ``failed`` are files that could not be read."""

    corpus: Corpus
    graph: "LinkGraph"
    failed: dict[str, str] = field(default_factory=dict)
    lock: threading.RLock = field(default_factory=threading.RLock)

    def faults(self) -> tuple[tuple[str, str], ...]:
        """Files that are not, or not wholly, in the index, with reasons."""
        with self.lock:
            partly = {path: self.corpus.files[path].fault for path in self.corpus.faulty}
            return tuple(sorted((partly | self.failed).items()))


@dataclass(slots=True)
class Gathered:
    """New files that a scan has read and that are put into the corpus together, by path; ``counts`` are the scan's."""

    counts: Counts
    files: dict[str, tuple[FileEntry, list[UnitEntry]]] = field(default_factory=dict)
    size: int = 0  # bytes

    def add(self, entry: FileEntry, units: list[UnitEntry]) -> bool:
        """Add a file; whether there are enough now."""
        self.files[entry.path] = (entry, units)
        self.size += entry.size
        return len(self.files) >= TOGETHER or self.size >= TOGETHER_BYTES

    def take(self) -> list[tuple[FileEntry, list[UnitEntry]]]:
        """All of them; none is left."""
        taken = list(self.files.values())
        self.files, self.size = {}, 0
        return taken
