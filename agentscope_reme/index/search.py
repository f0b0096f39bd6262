"""The index of one vault: searchable at once, always current, and gone without loss when it is deleted."""

import asyncio
import threading
import time
from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Any

from ..errors import StateError
from ..loading import loaded
from ..models import IndexReport, NodeHit, SearchResult
from .arguments import check_number, check_search, check_text
from .freshness import Freshness, result_of
from .links import LinkQuestions
from .own_thread import OwnThread
from .vectors_questions import VectorQuestions

if TYPE_CHECKING:
    from ..config import ReMeConfig, Weights
    from ..vault.notes import Vault
    from .embedding import EmbeddingModel
    from .graph import LinkGraph
    from .opened import Opened
    from .retrieval import Request
    from .sync import Sync
    from .watch import Watcher


class Index(LinkQuestions, VectorQuestions):
    """Search over a vault. Making one touches nothing on disk and imports nothing heavy; the first search opens it."""

    def __init__(
        self,
        vault: "Vault",
        config: "ReMeConfig",
        *,
        clock: Callable[[], datetime] | None = None,
        weights: "Weights | None" = None,
        embedding_model: "EmbeddingModel | None" = None,
    ) -> None:
        self.vault, self.config = vault, config
        self._clock = clock or vault.now
        self._weights = weights
        self._opening = threading.Lock()
        self._open: Opened | None = None
        self._closed = False
        self._working: Sync | None = None  # what builds an index beside the open one
        self._freshness = Freshness(vault.root, self._opened, lambda: self._closed)
        vault.subscribe(self._freshness.changed)
        self._thread = OwnThread("reme-search")
        self._request: type[Request] | None = None  # its class, once the module that searches is loaded
        self._vectors = self._arm(embedding_model) if embedding_model is not None else None

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
        chosen. Raises ConfigError for a filter or another argument that cannot be read, StateError after ``close()``.
        """
        self._must_be_open()
        check_search(query, limit, min_score, filter, token_budget)
        if not query.strip():
            return SearchResult("none", note="the query is empty; ask with words", query=query)
        behind = await self._freshness.wait_until_current(self.config.search_wait)
        if self._request is None:
            self._request = (await loaded("index.retrieval")).Request
        asked = await self._asked(query) if self._vectors is not None else None
        request = self._request(query, limit, min_score, filter, token_budget, asked)
        result = await self._thread.run(self._find, request, behind, self._patience())
        return result if self._vectors is None else self._vectors.judged(result, asked)

    async def node_search(self, query: str, limit: int = 10) -> list[NodeHit]:
        """Notes of ``digest/`` that answer ``query``, best first, with name and description and without text.

        Only digest notes are ranked. An empty list means that none shares a content word with the query.
        """
        self._must_be_open()
        check_text("query", query)
        check_number("limit", limit)
        await self._freshness.wait_until_current(self.config.search_wait)
        return await self._thread.run(self._find_nodes, query, limit, self._patience())

    async def sync(self) -> IndexReport:
        """Look at every file now and take in what has changed."""
        self._must_be_open()
        await asyncio.to_thread(self._freshness.read_changed)
        report = await result_of(self._freshness.start_scan(fresh=True))
        if self._vectors is not None:
            self._vectors.upkeep.start()
        return report

    def follow(self, watcher: "Watcher") -> None:
        """Have a watcher say which files change; while it is live, a search looks at no others."""
        self._freshness.follow(watcher)

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
        return await asyncio.to_thread(self._persist)

    @property
    def progress(self) -> tuple[int, int]:
        """How many files the work under way has looked at, and how many there are; (0, 0) before it has counted.

        Where vectors are made, how many passages have one, and how many there are.
        """
        if self._vectors is not None and self._vectors.upkeep.running:
            return self._vectors.upkeep.texts - self._vectors.upkeep.without, self._vectors.upkeep.texts
        working = self._working
        done = working.progress if working is not None else self._freshness.progress
        return done.done, done.total

    async def close(self) -> None:
        """Write what has not been written and let go of the lock. Safe to call twice."""
        if self._closed:
            return
        self._closed = True
        await asyncio.to_thread(self._shut)
        self._thread.close()

    def status(self) -> dict[str, Any]:
        """What is on, stale or failed; computes nothing and opens nothing."""
        opened, freshness = self._open, self._freshness
        running = freshness.scanning
        out: dict[str, Any] = {
            "opened": opened is not None,
            "files": 0,
            "units": 0,
            "indexed_share": 1.0 if freshness.scanned >= 0 and not running else 0.0,
            "fresh": freshness.scanned >= 0 and not running and not freshness.behind,
            "scanning": running,
            "watch": freshness.watch_state,
            "watched": freshness.watched,
            "persisted": False,
            "writer": False,
            "damage": "",
            "error": freshness.error,
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
        if self._vectors is not None:
            out["vectors"] = self._vectors.status()
        return out

    # --- opening and closing --------------------------------------------------------------------------------------

    def _must_be_open(self) -> None:
        if self._closed:
            raise StateError("the index is closed; make a new one to search again")

    def _opened(self) -> "Opened":
        opened = self._open
        if opened is not None:
            return opened
        with self._opening:
            if self._open is None:
                from .opened import Opened

                self._open = Opened.load(self.vault, self.config, self._weights)
                self._open.retriever.vectors = self._vectors
            return self._open

    def _shut(self) -> None:
        self._freshness.finish(self.config.close_timeout)
        if self._vectors is not None:
            self._vectors.upkeep.close(self.config.close_timeout)
        opened = self._open
        if opened is not None:
            opened.save(False)
            opened.lock.release()

    def _rebuild(self) -> IndexReport:
        from . import snapshot
        from .opened import Opened
        from .store import must_be_readable

        must_be_readable(self.vault.root)
        old = self._opened()
        with old.saving:
            if old.stored and old.lock.acquire():
                snapshot.discard(self.vault.storage)
        fresh = Opened.empty(self.vault, self.config, self._weights, old.tokenizer, old.lock)
        fresh.retriever.vectors = self._vectors
        self._working = fresh.sync
        report = fresh.sync.scan(every=True, stop=lambda: self._closed)
        self._working = None
        with self._opening:
            self._open = fresh
        fresh.sync.scan(stop=lambda: self._closed)  # what has changed meanwhile was read into the old one
        self._freshness.scanned = time.monotonic()
        fresh.save(True)
        return report

    def _compare(self) -> tuple[str, ...]:
        from .links import graph_differences
        from .opened import Opened
        from .verification import differences

        opened = self._opened()
        fresh = Opened.empty(self.vault, self.config, self._weights, opened.tokenizer, opened.lock)
        self._working = fresh.sync
        fresh.sync.scan(every=True, stop=lambda: self._closed)
        self._working = None
        with opened.store.lock:
            return tuple(differences(opened.store.corpus, fresh.store.corpus)) + graph_differences(opened.store)

    def _persist(self) -> bool:
        opened = self._opened()
        if self._vectors is not None:
            self._vectors.upkeep.drop_and_save()
        return opened.save(True)

    # --- searching ------------------------------------------------------------------------------------------------

    def _find(self, request: "Request", behind: str, until: float) -> SearchResult:
        opened = self._opened()
        unread = self._freshness.read_rest(until - time.monotonic())
        behind = behind or unread
        today = self._clock().date()
        looked = False
        for _ in range(3):
            with opened.store.lock:
                result, changed = opened.retriever.search(request, today)
            if not changed:
                break
            opened.sync.check(sorted(changed))
            with opened.store.lock:
                gone = any(path not in opened.store.corpus.files for path in changed)
            if gone and not looked:  # renamed this moment, perhaps: what it says must not be missing from the answer
                looked = True
                behind = self._freshness.look_again(until - time.monotonic()) or behind
        if not behind:
            return result
        note = f"{behind}; {result.note}" if result.note else behind
        return SearchResult("stale", result.hits, note, request.query, result.evidence)

    def _find_nodes(self, query: str, limit: int, until: float) -> list[NodeHit]:
        from .nodes import find_nodes

        opened = self._opened()
        self._freshness.read_changed(until - time.monotonic())
        with opened.store.lock:
            return find_nodes(opened.retriever, opened.store.corpus, query, limit, self._clock().date())
