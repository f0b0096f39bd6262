"""The corpus follows the files: what is new, changed or gone is found by size and time and proved by the bytes."""

import hashlib
import logging
import os
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ..errors import NoteNotFound, ReMeError
from ..models import IndexReport
from ..vault.layout import is_ignored, iter_files
from ..vault.storage import read_all
from . import stamps
from .batch import Batch, collect
from .entries import FileEntry, UnitEntry
from .extended import extend
from .files import KnownFile, Marked
from .moved import Contents, reads_alike
from .read_ahead import LARGE_BYTES, Intake, ReadAhead, read_apart
from .reader_process import Identity, identity
from .reading import MAX_FILE_BYTES, read_entries
from .store import RESOURCES, Counts, Gathered, Progress, Store, is_extended, is_gone, is_indexed

if TYPE_CHECKING:
    from ..config import ReMeConfig
    from ..vault.notes import Vault
    from .tokenizer import Tokenizer

log = logging.getLogger(__name__)


class Sync:
    """Brings a store in line with a vault; every method blocks and is for worker threads."""

    def __init__(self, vault: "Vault", config: "ReMeConfig", tokenizer: "Tokenizer", store: Store) -> None:
        self._vault, self._config, self._tokenizer, self.store = vault, config, tokenizer, store
        self._ignore = tuple(dict.fromkeys((*vault.ignore, *config.ignore)))
        self._settings = {"chunk_chars": config.chunk_chars, "embed_toc": config.embed_toc, "chinese": config.chinese}
        self.progress = Progress()
        self.passes = 0  # how many files have been read into terms
        self.restamped = 0  # how many known files only have new times since the index was stored
        self._looked = 0  # when the last look at all files began, in nanoseconds
        self._contents: Contents | None = None  # made when the first unknown file is met
        self._met: set[str] | None = None  # while a scan is under way: what has been looked at since it began
        self._gathered: Gathered | None = None  # while a scan is under way
        self._free = threading.Condition()
        self._busy: set[str] = set()  # files that are being read: whoever comes second finds them known

    def scan(self, *, every: bool = False, stop: Callable[[], bool] = lambda: False) -> IndexReport:
        """Look at every file; ``every`` proves each by its bytes, whatever size and time say."""
        started = time.perf_counter()
        looking = time.time_ns()
        counts = Counts()
        with self.store.lock:
            seen = Marked(self.store.corpus.files)
        files = []  # those that need more than a look: nothing is kept of the others, which are nearly always all
        with self._reading_ahead() as ahead, self._gathering(counts):
            for path, status in self._listed():
                if stop():
                    return self._report(counts, started)
                known = self.store.corpus.files.get(path)
                if known is not None and not every and stamps.looks_same(known, status):
                    counts.unchanged += 1
                    seen.add_same(known)
                    continue
                seen.add(path)
                files.append((path, status))
                if known is None and status.st_size <= MAX_FILE_BYTES:
                    ahead.expect(path, status.st_size)
            ahead.expect_no_more()
            self.progress = Progress(counts.unchanged, len(seen))
            bulk = len(seen) > len(self.store.corpus.files) + 500
            tidied, put = -1, frozenset[str]()
            with self.store.lock:
                some_gone = next(seen.missing(self.store.corpus.files), None) is not None
            for path, status in files:
                if stop():
                    return self._report(counts, started)
                if (intake := ahead.take(path, stop)) is not None:
                    put = self._put_read(intake, counts, some_gone)
                    del intake  # with what its reader has told so far
                if path not in put:
                    self._check(path, status, counts, every)
                if tidied != self.store.corpus.revision:
                    with self.store.lock:
                        self._tidy(bulk=bulk)
                        tidied = self.store.corpus.revision
                self.progress.done += 1
        with self.store.lock:
            unseen = [*seen.missing(self.store.corpus.files), *(path for path in self.store.failed if path not in seen)]
        # Gone, or made since the folder was listed, or in a folder that could not be read.
        self._check_all(unseen, counts)
        self._looked = looking
        with self.store.lock:
            self._tidy()
        return self._report(counts, started)

    def check(self, paths: Collection[str]) -> IndexReport:
        """Look at some files by their bytes; a path that the index does not hold files of is passed over."""
        started = time.perf_counter()
        counts = Counts()
        self._check_all(paths, counts)
        with self.store.lock:
            self._tidy()
        return self._report(counts, started)

    def _tidy(self, *, bulk: bool = False) -> None:
        """Merge what pays; ``bulk`` says that many more files are about to come. The caller holds the lock."""
        self.store.graph.expect(bulk)
        self.store.corpus.tidy(bulk=bulk)

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
        closed: dict[str, str] = {}
        found = iter_files(self._vault.root, suffixes=RESOURCES, extra_globs=self._ignore, closed=closed)
        yield from (one for one in found if is_indexed(one[0]))
        self.store.closed = closed

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
        if known is not None and status is not None and not by_bytes and stamps.looks_same(known, status):
            counts.unchanged += 1
            return
        if status is not None and status.st_size > MAX_FILE_BYTES:
            self._fail(path, _too_large(status.st_size), counts)
            return
        with self._alone(path):
            if self._met is not None:
                self._met.add(path)
            if self._gathered is not None and path in self._gathered.files:
                self.settle()
            real = self._read(path, counts)
        if real != path:  # a link, or another spelling on a disk that takes both: known by its own name
            self._drop(path, counts)
            self._check_all([real], counts)

    @contextmanager
    def _reading_ahead(self) -> Iterator[ReadAhead]:
        """Have other processes read the new ones among many files meanwhile."""
        self._met = set()
        ahead = ReadAhead(self._vault.root, self._settings, self._config.index_processes)
        try:
            yield ahead
        finally:
            self._met = None
            ahead.close()

    @contextmanager
    def _gathering(self, counts: Counts) -> Iterator[None]:
        """Put new files of a scan into the corpus several at a time."""
        self._gathered = Gathered(counts)
        try:
            yield
        finally:
            self.settle()
            self._gathered = None

    def settle(self) -> None:
        """Put what a scan has read into the corpus, so that it can be found."""
        with self.store.lock:
            gathered = self._gathered
            if gathered is None or not gathered.files:
                return
            read = gathered.take()
            try:
                self._put(collect(read))
                return
            except Exception:
                log.exception("%d files could not be indexed together", len(read))
        gathered.counts.added -= len(read)
        one_by_one = Counts()
        for entry, _ in read:
            self._read(entry.path, one_by_one)
        gathered.counts.added += one_by_one.added

    def _put_read(self, intake: Intake, counts: Counts, some_gone: bool) -> frozenset[str]:
        """Put files that a helper has read into the corpus; their paths. The others must be looked at."""
        root = str(self._vault.root)
        stale = {
            entry.path
            for entry, seen in zip(intake.batch.entries, intake.identities, strict=True)
            if not self._is_still(root, entry, seen)
        }
        try:
            with self.store.lock:
                known, met = self.store.corpus.files, self._met or ()
                for entry in intake.batch.entries:
                    path = entry.path
                    if path in known or path in met or (some_gone and self._moved_from(entry.digest, path)):
                        stale.add(path)
                batch = intake.batch.without(frozenset(stale))
                self._put(batch)
        except Exception:
            log.exception("%d files could not be indexed together", len(intake.batch))
            return frozenset()
        self.passes += len(batch)
        counts.added += len(batch)
        return frozenset(entry.path for entry in batch.entries)

    def _is_still(self, root: str, entry: FileEntry, seen: Identity) -> bool:
        """Whether a file is the one that was read, by all that can be told without reading; sets the entry's times."""
        try:
            status = os.lstat(f"{root}/{entry.path}")
        except OSError:
            return False
        entry.mtime, entry.ctime = stamps.times(status)
        entry.checked = self._read_at(entry.checked, entry.ctime)
        return identity(status) == seen

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
            if is_gone(self._vault.root / path):  # and its name or folder is now one that is refused
                self._drop(path, counts)
            else:
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
        mtime, ctime = stamps.times(status)
        if before is None or before[0] != digest:
            checked = self._read_at(checked, ctime, known)
        times = (mtime, ctime, checked)
        if before is None and self._moved_here(path, digest, times):
            counts.added += 1
            counts.removed += 1
            return
        if before is not None and before[0] == digest:
            with self.store.lock:
                known = self.store.corpus.files.get(path)  # once more: files may have been numbered anew
                if known is not None and known.digest == digest:
                    self.restamped += (known.mtime, known.ctime) != times[:2]
                    known.mtime, known.ctime, known.checked = times
                self.store.failed.pop(path, None)
            counts.unchanged += 1
            return
        self.passes += 1
        if before is not None and is_extended(path) and extend(self.store, self._tokenizer, path, data, before, times):
            counts.changed += 1
            return
        gathered = self._gathered
        if before is not None or gathered is None or gathered.counts is not counts or len(data) >= LARGE_BYTES:
            batch = self._read_alone(path, data, digest)
            [entry] = batch.entries
            entry.mtime, entry.ctime, entry.checked = times
            with self.store.lock:
                self._put(batch)
            counts.added += before is None
            counts.changed += before is not None
            return
        entry, units = self._entries(path, data)
        entry.mtime, entry.ctime, entry.checked = times
        counts.added += 1
        with self.store.lock:
            enough = gathered.add(entry, units)
        if enough:
            self.settle()

    def _read_alone(self, path: str, data: bytes, digest: str) -> Batch:
        """One file's content as a batch; a large one is read by another process, so that this one goes on meanwhile."""
        batch = read_apart(self._vault.root, self._settings, self._config.index_processes, path, len(data))
        if batch is not None and batch.entries[0].digest == digest:
            return batch
        return collect([self._entries(path, data)])

    def _entries(self, path: str, data: bytes) -> tuple[FileEntry, list[UnitEntry]]:
        config = self._config
        return read_entries(path, data, self._tokenizer, chunk_chars=config.chunk_chars, embed_toc=config.embed_toc)

    def _read_at(self, checked: int, ctime: int, known: KnownFile | None = None) -> int:
        """When a file with new content counts as read that was read at ``checked``."""
        looked = known.checked if known is not None else self._looked
        # Changed since it was looked at, at a time before that: the disk's clock is behind, so its times prove nothing
        # as soon as for others. The file is read once more.
        return min(checked, ctime) if ctime < looked - stamps.GRAIN_NS else checked

    def _moved_from(self, digest: str, path: str) -> str | None:
        """A file that is gone, had these bytes and is read alike under another path. The caller holds the lock."""
        files = self.store.corpus.files
        if self._contents is None:
            self._contents = Contents((entry.digest, entry.path) for entry in files.values())
        for old in self._contents.like(digest, path):
            known = files.get(old)
            if known is None or known.digest != digest:
                self._contents.discard(digest, old)
            elif reads_alike(old, path) and not os.path.lexists(self._vault.root / old):
                return old  # no copy, and not the same name in other letters
        return None

    def _moved_here(self, path: str, digest: str, times: tuple[int, int, int]) -> bool:
        """Take over what is known of a file that is gone and had these bytes; False when it must be read."""
        with self.store.lock:
            files = self.store.corpus.files
            old = self._moved_from(digest, path)
            if old is None or self._contents is None or path in files:
                return False  # or another thread has read it
            known = files[old]
            self.store.corpus.rename(old, path)
            known.mtime, known.ctime, known.checked = times
            self._contents.discard(digest, old)
            self._contents.add(digest, path)
            self.store.graph.remove_file(old)
            self.store.graph.set_file(path, known.packed_links, (known.title, *known.aliases))
            self.store.failed.pop(old, None)
            self.store.failed.pop(path, None)
        return True

    def _put(self, batch: Batch) -> None:
        self.store.corpus.put_batch(batch)
        for entry in batch.entries:
            if self._contents is not None:
                self._contents.add(entry.digest, entry.path)
            links = entry.packed.links if entry.packed is not None else entry.links  # the bytes once for both
            self.store.graph.set_file(entry.path, links, (entry.title, *entry.aliases))
            self.store.failed.pop(entry.path, None)

    def _forget(self, path: str, counts: Counts) -> None:
        if self.store.corpus.remove(path):
            self.store.graph.remove_file(path)
            counts.removed += 1

    def _fail(self, path: str, reason: str, counts: Counts) -> None:
        with self.store.lock:
            self._forget(path, counts)
            self.store.failed[path] = reason


def _too_large(size: int) -> str:
    return f"{size / 1_048_576:.0f} MB; files over {MAX_FILE_BYTES >> 20} MB are not indexed"
