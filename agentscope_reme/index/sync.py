"""The corpus follows the files: what is new, changed or gone is found by size and time and proved by the bytes."""

import hashlib
import logging
import os
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from ..errors import NoteNotFound, ReMeError
from ..models import IndexReport
from ..vault.layout import JOURNALS, RESOURCE, UNINDEXED, is_ignored, iter_files
from ..vault.storage import read_all
from .corpus import Corpus
from .entries import FileEntry, UnitEntry
from .moved import Contents, links_from, reads_alike
from .read_ahead import ReadAhead, helpers_for
from .reading import MAX_FILE_BYTES, read_entries, read_more

if TYPE_CHECKING:
    from ..config import ReMeConfig
    from ..vault.notes import Vault
    from .graph import LinkGraph
    from .tokenizer import Tokenizer

log = logging.getLogger(__name__)

NOTES = (".md", ".markdown")
RESOURCES = (*NOTES, ".txt", ".log", ".json", ".jsonl", ".csv", ".tsv", ".yaml", ".yml", ".html", ".htm")
# A file changed this shortly before it was read may change again within the clock's grain and keep its time and size.
GRAIN_NS = 2_000_000_000


def is_indexed(path: str) -> bool:
    """Whether a file of this vault-relative path belongs into the index (ignore rules apart)."""
    suffix = PurePosixPath(path).suffix.lower()
    if any(path == folder or path.startswith(folder + "/") for folder in UNINDEXED):
        return False
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


class Sync:
    """Brings a store in line with a vault; every method blocks and is for worker threads."""

    def __init__(self, vault: "Vault", config: "ReMeConfig", tokenizer: "Tokenizer", store: Store) -> None:
        self._vault, self._config, self._tokenizer, self.store = vault, config, tokenizer, store
        self._ignore = tuple(dict.fromkeys((*vault.ignore, *config.ignore)))
        self.progress = Progress()
        self.passes = 0  # how many files have been read into terms
        self.restamped = 0  # how many known files only have new times since the index was stored
        self._looked = 0  # when the last look at all files began, in nanoseconds
        self._contents: Contents | None = None  # made when the first unknown file is met
        self._ahead: ReadAhead | None = None
        self._free = threading.Condition()
        self._busy: set[str] = set()  # files that are being read: whoever comes second finds them known

    def scan(self, *, every: bool = False, stop: Callable[[], bool] = lambda: False) -> IndexReport:
        """Look at every file; ``every`` proves each by its bytes, whatever size and time say."""
        started = time.perf_counter()
        looking = time.time_ns()
        counts = Counts()
        files = list(self._listed())
        self.progress = Progress(total=len(files))
        seen = {path for path, _ in files}
        bulk = len(files) > len(self.store.corpus.files) + 500
        with self._reading_ahead(files):
            for path, status in files:
                if stop():
                    return self._report(counts, started)
                self._check(path, status, counts, every)
                with self.store.lock:
                    self.store.corpus.tidy(bulk=bulk)
                self.progress.done += 1
        with self.store.lock:
            unseen = [path for path in (*self.store.corpus.files, *self.store.failed) if path not in seen]
        # Gone, or made since the folder was listed, or in a folder that could not be read.
        self._check_all(unseen, counts)
        self._looked = looking
        with self.store.lock:
            self.store.corpus.tidy()
        return self._report(counts, started)

    def check(self, paths: Collection[str]) -> IndexReport:
        """Look at some files by their bytes; a path that the index does not hold files of is passed over."""
        started = time.perf_counter()
        counts = Counts()
        self._check_all(paths, counts)
        with self.store.lock:
            self.store.corpus.tidy()
        return self._report(counts, started)

    def _check_all(self, paths: Iterable[str], counts: Counts) -> None:
        for path in dict.fromkeys(paths):
            if is_indexed(path) and not is_ignored(path, self._ignore):
                self._check(path, None, counts, True)
            else:
                self._drop(path, counts)

    def _drop(self, path: str, counts: Counts) -> None:
        with self.store.lock:
            self._forget(path, counts)
            self.store.failed.pop(path, None)

    def _listed(self) -> Iterable[tuple[str, os.stat_result]]:
        for path, status in iter_files(self._vault.root, suffixes=RESOURCES, extra_globs=self._ignore):
            if is_indexed(path):
                yield path, status

    def _report(self, counts: Counts, started: float) -> IndexReport:
        return IndexReport(
            added=counts.added,
            changed=counts.changed,
            removed=counts.removed,
            unchanged=counts.unchanged,
            failed=self.store.faults(),
            seconds=time.perf_counter() - started,
        )

    def _check(self, path: str, status: os.stat_result | None, counts: Counts, by_bytes: bool) -> None:
        known = self.store.corpus.files.get(path)
        if known is not None and status is not None and not by_bytes and _looks_same(known, status):
            counts.unchanged += 1
            return
        if status is not None and status.st_size > MAX_FILE_BYTES:
            self._fail(path, _too_large(status.st_size), counts)
            return
        with self._alone(path):
            real = self._read(path, counts)
        if real != path:  # a link, or another spelling on a disk that takes both: known by its own name
            self._drop(path, counts)
            self._check_all([real], counts)

    @contextmanager
    def _reading_ahead(self, files: list[tuple[str, os.stat_result]]) -> Iterator[None]:
        """Have other processes read the new ones among many files meanwhile."""
        config = self._config
        new = [(path, status.st_size) for path, status in files if path not in self.store.corpus.files]
        helpers = helpers_for(config.index_processes, sum(size for _, size in new if size <= MAX_FILE_BYTES))
        if not helpers:
            yield
            return
        settings = {"chunk_chars": config.chunk_chars, "embed_toc": config.embed_toc, "chinese": config.chinese}
        ahead = self._ahead = ReadAhead(self._vault.root, [path for path, _ in new], settings, helpers)
        try:
            yield
        finally:
            self._ahead = None
            ahead.close()

    @contextmanager
    def _alone(self, path: str) -> Iterator[None]:
        """One thread at a time reads a file, so that a content is read into terms once."""
        with self._free:
            self._free.wait_for(lambda: path not in self._busy)
            self._busy.add(path)
        try:
            yield
        finally:
            with self._free:
                self._busy.discard(path)
                self._free.notify_all()

    def _read(self, path: str, counts: Counts) -> str:
        """Take in a file; its own name, and nothing is done when that is another."""
        checked = time.time_ns()
        try:
            with self._vault.storage.opened(path) as (descriptor, status, real):
                if real != path:
                    return real
                if status.st_size > MAX_FILE_BYTES:
                    self._fail(path, _too_large(status.st_size), counts)
                    return path
                data = read_all(descriptor, status.st_size)
        except NoteNotFound:
            self._drop(path, counts)
            return path
        except (ReMeError, OSError) as error:
            self._fail(path, f"cannot be read: {error}", counts)
            return path
        try:
            self._take(path, data, status, checked, counts)
        except Exception as error:  # one file must never keep the others from being found
            log.exception("%s could not be indexed", path)
            self._fail(path, f"could not be indexed ({type(error).__name__}: {error})", counts)
        return path

    def _take(self, path: str, data: bytes, status: os.stat_result, checked: int, counts: Counts) -> None:
        with self.store.lock:
            known = self.store.corpus.files.get(path)
            before = (known.digest, known.size, known.lines, known.fault) if known is not None else None
        digest = hashlib.sha256(data).hexdigest()
        mtime, ctime = _times(status)
        looked = known.checked if known is not None else self._looked
        if ctime < looked - GRAIN_NS and (before is None or before[0] != digest):
            # Changed since it was looked at, at a time before that: the disk's clock is behind, so its times prove
            # nothing as soon as for others. The file is read once more.
            checked = min(checked, ctime)
        times = (mtime, ctime, checked)
        if before is None and self._moved_here(path, digest, times):
            counts.added += 1
            counts.removed += 1
            return
        if before is not None and before[0] == digest:
            with self.store.lock:
                if known is not None:
                    self.restamped += (known.mtime, known.ctime) != times[:2]
                    known.mtime, known.ctime, known.checked = times
                self.store.failed.pop(path, None)
            counts.unchanged += 1
            return
        self.passes += 1
        if before is not None and path.startswith(JOURNALS) and self._extend(path, data, before, times):
            counts.changed += 1
            return
        read = self._ahead.take(path, data) if self._ahead is not None else None
        entry, units = read or read_entries(
            path, data, self._tokenizer, chunk_chars=self._config.chunk_chars, embed_toc=self._config.embed_toc
        )
        entry.mtime, entry.ctime, entry.checked = times
        with self.store.lock:
            self._put(entry, units)
            self.store.failed.pop(path, None)
        if before is None:
            counts.added += 1
        else:
            counts.changed += 1

    def _moved_here(self, path: str, digest: str, times: tuple[int, int, int]) -> bool:
        """Take over what is known of a file that is gone and had these bytes; False when it must be read."""
        with self.store.lock:
            files = self.store.corpus.files
            if self._contents is None:
                self._contents = Contents((entry.digest, entry.path) for entry in files.values())
            for old in self._contents.like(digest, path):
                known = files.get(old)
                if known is None or known.digest != digest:
                    self._contents.discard(digest, old)
                elif reads_alike(old, path) and not os.path.lexists(self._vault.root / old):
                    break  # no copy, and not the same name in other letters
            else:
                return False
            if path in files:
                return False  # another thread has read it
            self.store.corpus.rename(old, path)
            known.links = links_from(path, known.links)
            known.mtime, known.ctime, known.checked = times
            self._contents.discard(digest, old)
            self._contents.add(digest, path)
            self.store.graph.remove_file(old)
            self.store.graph.set_file(path, known.links, (known.title, *known.aliases))
            self.store.failed.pop(old, None)
            self.store.failed.pop(path, None)
        return True

    def _extend(self, path: str, data: bytes, before: tuple[str, int, int, str], times: tuple[int, int, int]) -> bool:
        """Add a journal's new lines; False when it did not only grow by whole lines."""
        digest, size, lines, fault = before
        if fault or size == 0 or len(data) <= size or data[size - 1] != 0x0A:
            return False
        running = hashlib.sha256(data[:size])
        if running.hexdigest() != digest:
            return False
        running.update(data[size:])
        more = read_more(path, data[size:], self._tokenizer, base=size, first_line=lines + 1)
        if more is None:
            return False
        with self.store.lock:
            known = self.store.corpus.files.get(path)
            if known is None or known.digest != digest:
                return False
            self.store.corpus.extend(path, more)
            known.size, known.digest = len(data), running.hexdigest()
            known.lines = lines + data.count(b"\n", size)
            known.mtime, known.ctime, known.checked = times
        return True

    def _put(self, entry: FileEntry, units: list[UnitEntry]) -> None:
        self.store.corpus.put(entry, units)
        if self._contents is not None:
            self._contents.add(entry.digest, entry.path)
        self.store.graph.set_file(entry.path, entry.links, (entry.title, *entry.aliases))

    def _forget(self, path: str, counts: Counts) -> None:
        if self.store.corpus.remove(path):
            self.store.graph.remove_file(path)
            counts.removed += 1

    def _fail(self, path: str, reason: str, counts: Counts) -> None:
        with self.store.lock:
            self._forget(path, counts)
            self.store.failed[path] = reason


def _looks_same(known: FileEntry, status: os.stat_result) -> bool:
    same = (known.size, known.mtime, known.ctime) == (status.st_size, *_times(status))
    return same and max(known.mtime, known.ctime) < known.checked - GRAIN_NS


def _times(status: os.stat_result) -> tuple[int, int]:
    """When a file's content and its status changed, by the clock of the disk it lies on."""
    return status.st_mtime_ns, status.st_ctime_ns


def _too_large(size: int) -> str:
    return f"{size / 1_048_576:.0f} MB; files over {MAX_FILE_BYTES >> 20} MB are not indexed"
