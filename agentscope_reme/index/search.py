"""The index of one vault: searchable at once, always current, and gone without loss when it is deleted."""

import asyncio
import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from datetime import datetime
from typing import TYPE_CHECKING, Any

from ..errors import ReMeError, StateError
from ..models import IndexReport, NodeHit, SearchResult

if TYPE_CHECKING:
    from ..config import ReMeConfig
    from ..vault.notes import Vault
    from .boosts import Weights
    from .graph import LinkGraph
    from .retrieval import Request, Retriever
    from .sync import Store, Sync
    from .tokenizer import Tokenizer

log = logging.getLogger(__name__)

# Raise it with every change after which the same files may give another index.
_CONTENT = 4
# Seconds between two looks at the folder before a search; a look may take a twentieth of the time.
RECONCILE_SECONDS = 1.0
RECONCILE_SHARE = 0.05
# Unsaved changes (files) after which the index is written while the process goes on.
SAVE_AFTER = 500


class Index:
    """Search over a vault. Making one touches nothing on disk and imports nothing heavy; the first search opens it."""

    def __init__(
        self,
        vault: "Vault",
        config: "ReMeConfig",
        *,
        clock: Callable[[], datetime] | None = None,
        weights: "Weights | None" = None,
    ) -> None:
        self.vault, self.config = vault, config
        self._clock = clock or vault.now
        self._weights = weights
        self._opening = threading.Lock()
        self._open: _Opened | None = None
        self._job_lock = threading.Lock()
        self._job: Future[IndexReport] | None = None
        self._scanned = -1.0  # monotonic time at which the last scan ended
        self._scan_seconds = 0.0
        self._scan_error = ""
        self._pending: set[str] = set()
        self._pending_lock = threading.Lock()
        self._closed = False
        vault.subscribe(self._on_change)

    def __deepcopy__(self, memo: dict[int, Any]) -> "Index":
        return self  # an agent that is copied goes on with the same index

    @property
    def graph(self) -> "LinkGraph":
        """The links of the vault. Opens the index when that has not happened; blocking then."""
        return self._opened().store.graph

    async def search(
        self,
        query: str,
        limit: int = 5,
        min_score: float | None = None,
        filter: dict[str, Any] | None = None,
        token_budget: int | None = None,
    ) -> SearchResult:
        """Passages that answer ``query``, best first.

        At most ``limit`` hits and ``token_budget`` tokens of text (default: 300 a hit). Scores lie between 0 and 1,
        higher is better, and are comparable between searches; ``min_score`` is a floor. ``filter``: ``path`` prefix,
        ``tags``, ``kind``, ``since``, ``until``, or any key of the front matter; it is applied before the best are
        chosen. Raises ConfigError for a filter that cannot be read and StateError after ``close()``.
        """
        from .retrieval import Request

        self._must_be_open()
        if not query.strip():
            return SearchResult("none", note="the query is empty; ask with words", query=query)
        behind = await self._wait_until_current()
        result = await asyncio.to_thread(self._find, Request(query, limit, min_score, filter, token_budget))
        if behind:
            note = f"{behind}; {result.note}" if result.note else behind
            return SearchResult("stale", result.hits, note, query, result.evidence)
        return result

    async def node_search(self, query: str, limit: int = 10) -> list[NodeHit]:
        """Notes of ``digest/`` that answer ``query``, best first, with name and description and without text.

        Only digest notes are ranked. An empty list means that none shares a content word with the query.
        """
        self._must_be_open()
        await self._wait_until_current()
        return await asyncio.to_thread(self._find_nodes, query, limit)

    async def sync(self) -> IndexReport:
        """Look at every file now and take in what has changed."""
        self._must_be_open()
        await asyncio.to_thread(self._drain)
        return await _result(self._start_scan(fresh=True))

    async def reindex(self) -> IndexReport:
        """Forget the index, the stored one too, and build it from the files."""
        self._must_be_open()
        return await asyncio.to_thread(self._rebuild)

    async def verify(self) -> tuple[str, ...]:
        """Compare the index with one that is built from the files now; a sentence for each file that differs.

        Takes as long as ``reindex()`` and changes nothing. A file that changes meanwhile may be named.
        """
        self._must_be_open()
        await self.sync()
        return await asyncio.to_thread(self._compare)

    async def persist(self) -> bool:
        """Write the index to disk now; False when this process may not (another one does) or cannot."""
        self._must_be_open()
        return await asyncio.to_thread(self._save, True)

    async def close(self) -> None:
        """Write what has not been written and let go of the lock. Safe to call twice."""
        if self._closed:
            return
        self._closed = True
        await asyncio.to_thread(self._shut)

    def status(self) -> dict[str, Any]:
        """What is on, stale or failed; computes nothing and opens nothing."""
        opened = self._open
        job = self._job
        running = job is not None and not job.done()
        out: dict[str, Any] = {
            "opened": opened is not None,
            "files": 0,
            "units": 0,
            "indexed_share": 1.0 if self._scanned >= 0 and not running else 0.0,
            "fresh": self._scanned >= 0 and not running and not self._pending,
            "scanning": running,
            "persisted": False,
            "writer": False,
            "damage": "",
            "error": self._scan_error,
            "failed": (),
            "closed": self._closed,
        }
        if opened is not None:
            corpus = opened.store.corpus
            out |= {
                "files": len(corpus.files),
                "units": corpus.units.count,
                "persisted": opened.saved == corpus.revision,
                "writer": opened.lock.held,
                "damage": opened.damage,
                "failed": opened.store.faults(),
            }
            if running:
                out["indexed_share"] = round(opened.sync.progress.share, 3)
        return out

    # --- opening and closing --------------------------------------------------------------------------------------

    def _must_be_open(self) -> None:
        if self._closed:
            raise StateError("the index is closed; make a new one to search again")

    def _opened(self) -> "_Opened":
        with self._opening:
            if self._open is None:
                self._open = _Opened.load(self.vault, self.config, self._weights)
            return self._open

    def _shut(self) -> None:
        job = self._job
        if job is not None:
            try:
                job.result(self.config.close_timeout)
            except Exception as error:
                log.warning("closing while the index is being brought up to date: %s", error)
        opened = self._open
        if opened is None:
            return
        self._save(False)
        opened.lock.release()

    def _save(self, always: bool) -> bool:
        """Write the index if this process may and there is something to write."""
        from . import snapshot

        opened = self._opened()
        with opened.saving:
            with opened.store.lock:
                corpus = opened.store.corpus
                stamps = opened.sync.restamped
                if opened.saved == corpus.revision and stamps < 50 and not always:
                    return True
                if not corpus.files and not opened.stored:
                    return True  # nothing to keep: an empty vault stays untouched
                if not opened.lock.acquire():
                    return False
                try:
                    snapshot.save(self.vault.storage, corpus, opened.fingerprint)
                except (ReMeError, OSError) as error:
                    log.warning("the index could not be stored: %s", error)
                    return False
                opened.saved, opened.stored = corpus.revision, True
                opened.sync.restamped = 0
            return True

    def _rebuild(self) -> IndexReport:
        from . import snapshot

        old = self._opened()
        with old.saving:
            if old.stored and old.lock.acquire():
                snapshot.discard(self.vault.storage)
        fresh = _Opened.empty(self.vault, self.config, self._weights, old.tokenizer, old.lock)
        report = fresh.sync.scan(every=True, stop=lambda: self._closed)
        with self._opening:
            self._open = fresh
        self._scanned = time.monotonic()
        self._save(True)
        return report

    def _compare(self) -> tuple[str, ...]:
        from .verification import differences

        opened = self._opened()
        fresh = _Opened.empty(self.vault, self.config, self._weights, opened.tokenizer, opened.lock)
        fresh.sync.scan(every=True, stop=lambda: self._closed)
        with opened.store.lock:
            return tuple(differences(opened.store.corpus, fresh.store.corpus))

    # --- staying current ------------------------------------------------------------------------------------------

    def _on_change(self, path: str, kind: str) -> None:
        """The vault has changed a file, on whatever thread: looked at before the next search."""
        with self._pending_lock:
            self._pending.add(path)

    def _drain(self) -> None:
        with self._pending_lock:
            paths, self._pending = self._pending, set()
        if paths:
            self._opened().sync.check(sorted(paths))

    async def _wait_until_current(self) -> str:
        """Wait for a look at the files, if one is due; what is to be said when it is not over in time."""
        pause = max(RECONCILE_SECONDS, self._scan_seconds / RECONCILE_SHARE)
        running = self._job is not None and not self._job.done()
        if self._scanned >= 0 and not running and time.monotonic() - self._scanned < pause:
            return ""
        job = self._start_scan()
        try:
            await _result(job, self.config.search_wait)
        except TimeoutError:
            opened = self._open
            share = opened.sync.progress.share if opened is not None else 0.0
            return f"the index is behind the files: {share:.0%} of them have been looked at"
        except Exception as error:
            return f"the files could not be looked at ({error}); this is what was known before"
        return ""

    def _start_scan(self, fresh: bool = False) -> "Future[IndexReport]":
        """The scan under way, or a new one; ``fresh`` starts one after that."""
        with self._job_lock:
            previous = self._job
            if previous is not None and not previous.done() and not fresh:
                return previous
            job: Future[IndexReport] = Future()
            self._job = job
            # A daemon: an interpreter that ends does not wait for an index that can be built again.
            thread = threading.Thread(target=self._scan, args=(job, previous), name="reme-index", daemon=True)
            thread.start()
            return job

    def _scan(self, job: "Future[IndexReport]", previous: "Future[IndexReport] | None") -> None:
        try:
            if previous is not None:
                previous.exception()  # one at a time
            started = time.monotonic()
            opened = self._opened()
            report = opened.sync.scan(stop=lambda: self._closed)
            self._scan_seconds = time.monotonic() - started
            self._scanned = time.monotonic()
            self._scan_error = ""
        except BaseException as error:
            self._scan_error = f"{type(error).__name__}: {error}"
            log.warning("the vault could not be scanned: %s", self._scan_error)
            job.set_exception(error)
            return
        job.set_result(report)
        if opened.store.corpus.revision - max(0, opened.saved) >= SAVE_AFTER and not self._closed:
            self._save(False)

    def _find(self, request: "Request") -> SearchResult:
        opened = self._opened()
        self._drain()
        today = self._clock().date()
        for _ in range(3):
            with opened.store.lock:
                result, changed = opened.retriever.search(request, today)
            if not changed:
                break
            opened.sync.check(sorted(changed))
        return result

    def _find_nodes(self, query: str, limit: int) -> list[NodeHit]:
        from .nodes import find_nodes

        opened = self._opened()
        self._drain()
        with opened.store.lock:
            return find_nodes(opened.retriever, opened.store.corpus, query, limit, self._clock().date())


class _Opened:
    """What an index holds once it is open."""

    def __init__(
        self,
        store: "Store",
        sync: "Sync",
        retriever: "Retriever",
        tokenizer: "Tokenizer",
        lock: Any,
        fingerprint: str,
    ) -> None:
        self.store, self.sync, self.retriever, self.tokenizer = store, sync, retriever, tokenizer
        self.lock = lock
        self.fingerprint = fingerprint
        self.saving = threading.Lock()
        self.saved = -1  # revision of the corpus that is on disk
        self.stored = False
        self.damage = ""

    @classmethod
    def empty(
        cls, vault: "Vault", config: "ReMeConfig", weights: "Weights | None", tokenizer: "Tokenizer", lock: Any
    ) -> "_Opened":
        from .boosts import Weights
        from .corpus import Corpus
        from .graph import LinkGraph
        from .retrieval import Retriever
        from .sync import Store, Sync

        store = Store(Corpus(), LinkGraph(config.link_resolution))
        retriever = Retriever(vault, store, tokenizer, weights or Weights(), config.chunk_chars)
        settings = f"{_CONTENT}|{config.chunk_chars}|{config.embed_toc}|{tokenizer.fingerprint}"
        return cls(store, Sync(vault, config, tokenizer, store), retriever, tokenizer, lock, settings)

    @classmethod
    def load(cls, vault: "Vault", config: "ReMeConfig", weights: "Weights | None") -> "_Opened":
        from . import snapshot
        from .tokenizer import Tokenizer

        tokenizer = Tokenizer(config.chinese)
        tokenizer.warm()
        opened = cls.empty(vault, config, weights, tokenizer, snapshot.WriterLock(vault.root))
        loaded = snapshot.load(vault.storage, opened.fingerprint)
        opened.stored = (vault.root / snapshot.INDEX).exists()
        opened.damage = loaded.damage
        if loaded.damage:
            log.warning("the stored index of %s %s; it is built again from the files", vault.root, loaded.damage)
            if opened.lock.acquire():
                snapshot.set_aside(vault.root)
        if loaded.corpus is not None:
            opened.store.corpus = loaded.corpus
            opened.saved = loaded.corpus.revision
            for entry in loaded.corpus.files.values():
                opened.store.graph.set_file(entry.path, entry.links, (entry.title, *entry.aliases))
        return opened


async def _result(job: "Future[IndexReport]", seconds: float | None = None) -> IndexReport:
    """Wait for a thread's result without a chain of futures that outlives the event loop."""
    loop = asyncio.get_running_loop()
    done = asyncio.Event()

    def wake(_: "Future[IndexReport]") -> None:
        try:
            loop.call_soon_threadsafe(done.set)
        except RuntimeError:
            log.debug("whoever waited for the scan has gone")

    job.add_done_callback(wake)
    async with asyncio.timeout(seconds):  # wait_for of Python 3.11 loses a cancellation that meets the end of the scan
        await done.wait()
    return job.result()
