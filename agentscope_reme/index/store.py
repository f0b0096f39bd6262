"""What is kept current, which files belong into it, and how far a look at them is."""

import errno
import os
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import StateError
from ..vault.layout import JOURNALS, RESOURCE, UNINDEXED
from .corpus import Corpus
from .entries import FileEntry, UnitEntry

if TYPE_CHECKING:
    from .graph import LinkGraph

NOTES = (".md", ".markdown")
RESOURCES = (*NOTES, ".txt", ".log", ".json", ".jsonl", ".csv", ".tsv", ".yaml", ".yml", ".html", ".htm")
_UNINDEXED = tuple(f"{folder}/" for folder in UNINDEXED)
_NO_SUCH_FILE = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG})
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


def is_extended(path: str) -> bool:
    """Whether a file grows by whole lines that are read alone: a note in the journals' folder does not."""
    return path.endswith(".jsonl") and path.startswith(JOURNALS)


def is_gone(path: Path) -> bool:
    """Whether there is no such file: one that cannot be looked at, as of a disk that is away, may still be there."""
    try:
        path.lstat()
    except OSError as error:
        return error.errno in _NO_SUCH_FILE
    except ValueError:
        return True  # no name that a file can have
    return False


def must_be_readable(root: Path) -> None:
    """Raises StateError for a vault whose files cannot be listed; one that is not there (yet) has none."""
    try:
        os.scandir(root).close()
    except FileNotFoundError:
        return
    except NotADirectoryError as error:
        raise StateError(f"{root} is a file, not a folder; no vault can be there") from error
    except OSError as error:
        raise StateError(f"the folder {root} cannot be read: {error.strerror or error}") from error


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
    """What is kept current: the corpus and the links, under one lock.

    ``failed`` are files that could not be read, ``closed`` folders that could not at the last look, each with why.
    """

    corpus: Corpus
    graph: "LinkGraph"
    failed: dict[str, str] = field(default_factory=dict)
    closed: dict[str, str] = field(default_factory=dict)
    lock: threading.RLock = field(default_factory=threading.RLock)

    def faults(self) -> tuple[tuple[str, str], ...]:
        """Files and folders that are not, or not wholly, in the index, with reasons."""
        with self.lock:
            partly = {path: self.corpus.files[path].fault for path in self.corpus.faulty}
            return tuple(sorted((partly | self.failed | self.closed).items()))


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
