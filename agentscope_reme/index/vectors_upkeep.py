"""A table of vectors, kept in line with an index in the background: what is new is embedded, what is gone dropped."""

import asyncio
import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import TYPE_CHECKING

from ..errors import ReMeError
from .embedding import Embedder, EmbeddingFault
from .freshness import result_of

if TYPE_CHECKING:
    from ..config import ReMeConfig
    from ..vault.notes import Vault
    from .opened import Opened
    from .vectors_table import Numbers, VectorTable
    from .vectors_texts import Place

log = logging.getLogger(__name__)

# Seconds between two looks at whether the index has changed.
LOOK_SECONDS = 0.5
# Seconds that a model which does not work is left alone; doubled each time, up to the second.
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0
# New vectors after which they are stored while the work goes on, and the share of those that are there already.
SAVE_AFTER, SAVE_SHARE = 256, 0.1
LONGEST_GOODBYE = 2.0  # seconds
# Seconds that vectors of texts that are gone are kept: text that is cut here and pasted there needs no new ones.
GRACE_SECONDS = 60.0


class VectorUpkeep:
    """The table of one index and the work on it. Making one touches nothing; :meth:`start` starts the work.

    ``opened`` gives the open index or None; ``scanned`` says whether all files have been looked at. ``texts`` is how
    many different texts there are, ``without`` how many of them have no vector, ``refused`` the keys of those that the
    model does not take. ``fault`` is why the work cannot go on, "" when it can.
    """

    def __init__(
        self,
        vault: "Vault",
        config: "ReMeConfig",
        embedder: Embedder,
        opened: "Callable[[], Opened | None]",
        scanned: Callable[[], bool],
    ) -> None:
        self._vault, self._config, self._embedder = vault, config, embedder
        self._opened, self._scanned = opened, scanned
        self._lock = threading.Lock()
        self._saving = threading.Lock()
        self._work: Future[None] | None = None
        self._wanted: asyncio.Event | None = None
        self._soon: list[Future[None]] = []  # who waits for the vectors of a few texts
        self._end: list[Future[None]] = []  # who waits for all of them
        self._state: tuple[int, int] | None = None  # of the corpus that the table is in line with
        self._unsaved = 0
        self._unused_since = 0.0  # monotonic time, 0 while every vector is used
        self._adding = threading.Lock()
        self.table: VectorTable | None = None
        self.texts = self.without = self.embedded = 0
        self.refused: set[int] = set()
        self.running = False
        self.fault = self.damage = self.replaced = ""

    @property
    def share(self) -> float:
        """How many of the texts have vectors."""
        return 1 - self.without / self.texts if self.texts else 1.0

    @property
    def persisted(self) -> bool:
        """Whether all vectors are on disk."""
        return self.table is not None and not self._unsaved

    # --- from any thread ------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Begin, unless that has happened."""
        with self._lock:
            if self._work is None:
                try:
                    self._work = self._embedder.thread.run(self._keep_up())
                except RuntimeError:
                    log.debug("the index is closed; no vectors are made any more")

    async def settled(self, seconds: float) -> None:
        """Wait for the vectors of a few new texts; not for those of many, and not for a model that does not work."""
        opened = self._opened()
        if opened is None or self.fault or _state_of(opened) == self._state:
            return
        try:
            await result_of(self._waiter(self._soon), seconds)
        except (TimeoutError, EmbeddingFault):
            return

    async def complete(self) -> None:
        """Wait until every text has its vector. Raises EmbeddingFault when the model does not work."""
        waiter = self._waiter(self._end)
        self.start()
        await result_of(waiter)

    def drop_unused(self) -> int:
        """Drop the vectors of texts that are gone; how many."""
        from .vectors_texts import keys_of

        opened = self._opened()
        if opened is None:
            return 0
        table = self._loaded()
        with self._adding:
            with opened.store.lock:
                keys = keys_of(opened.store.corpus)
            gone = table.keep(keys)
        self._unsaved += gone
        self._unused_since = 0.0
        return gone

    def save(self) -> bool:
        """Store the vectors if this process may and there is something to store; whether what is stored is current."""
        from . import vectors_file

        opened, table = self._opened(), self.table
        if opened is None or table is None:
            return False
        with self._saving:
            unsaved = self._unsaved
            if not unsaved:
                return True
            if not opened.lock.acquire():
                return False
            try:
                vectors_file.save(self._vault.storage, table, self._embedder.name)
            except (ReMeError, OSError) as error:
                log.warning("the vectors could not be stored: %s", error)
                return False
            self._unsaved -= unsaved
            return True

    def drop_and_save(self) -> bool:
        """Store the vectors without those of texts that are gone; whether what is stored is current."""
        if self._scanned():
            self.drop_unused()
        return self.save()

    def close(self, seconds: float) -> None:
        """Stop, and store what there is. Waits for a call of the model that cannot be interrupted, but not for long."""
        self._embedder.thread.close(min(seconds, LONGEST_GOODBYE))
        self._release(self._all(), EmbeddingFault("the index is closed"))
        if self.table is not None:
            self.drop_and_save()

    def _waiter(self, waiting: "list[Future[None]]") -> "Future[None]":
        waiter: Future[None] = Future()
        with self._lock:
            waiting.append(waiter)

        def wake() -> None:
            if self._wanted is not None:
                self._wanted.set()

        self._embedder.thread.call_soon(wake)
        return waiter

    def _all(self) -> "list[Future[None]]":
        with self._lock:
            return [*self._soon, *self._end]

    def _release(self, chosen: "list[Future[None]]", error: Exception | None = None) -> None:
        with self._lock:
            for waiting in (self._soon, self._end):
                waiting[:] = [one for one in waiting if one not in chosen]
        for one in chosen:
            if not one.done():
                if error is None:
                    one.set_result(None)
                else:
                    one.set_exception(error)

    # --- on the model's thread ------------------------------------------------------------------------------------

    async def _keep_up(self) -> None:
        self._wanted = asyncio.Event()
        pause = FIRST_PAUSE
        while True:
            asked = self._all()
            try:
                await self._catch_up()
                pause = FIRST_PAUSE
            except Exception as error:  # whatever happens here must not end the work for good
                if "cannot schedule new futures" in str(error):
                    return  # the program ends and nobody has closed the index: threads take no work any more
                await self._rest(error, pause, asked)
                pause = min(2 * pause, LONGEST_PAUSE)
            if not self._all():
                if self._unused_since and time.monotonic() - self._unused_since > GRACE_SECONDS:
                    await asyncio.to_thread(self.drop_and_save)
                self._wanted.clear()
                try:
                    async with asyncio.timeout(LOOK_SECONDS):
                        await self._wanted.wait()
                except TimeoutError:
                    continue

    async def _rest(self, error: Exception, seconds: float, asked: "list[Future[None]]") -> None:
        """Leave a model alone that does not work, unless somebody has asked for all vectors since the attempt began.

        ``asked`` are those who had asked before it; a failure of that time is no answer to the others.
        """
        self.running = False
        if isinstance(error, EmbeddingFault):
            said = str(error)
            if said != self.fault:
                log.warning("%s; search goes on by words", said)
        else:
            log.exception("vectors could not be brought up to date", exc_info=error)
            said = f"vectors could not be made ({type(error).__name__}: {error})"
        self.fault = said
        with self._lock:
            done = [*self._soon, *(one for one in self._end if one in asked)]
        self._release(done, error if isinstance(error, EmbeddingFault) else EmbeddingFault(said))
        if not self._all():
            await asyncio.sleep(seconds)

    async def _catch_up(self) -> None:
        """Embed what has no vector, if the index has changed since that was last done."""
        with self._lock:
            soon, end = list(self._soon), list(self._end)
        if end and self.refused:
            self.refused, self._state = set(), None  # whoever waits for all is worth another attempt
        opened = self._opened()
        if opened is None:
            self._release([*soon, *end])
            return
        state = _state_of(opened)
        if state != self._state:
            places = await asyncio.to_thread(self._places, opened)
            self.running = bool(places)
            if len(places) > 2 * self._embedder.batch:
                self._release(soon)
            await self._embed(opened, places)
            self.running, self.fault, self._state = False, "", state
            await asyncio.to_thread(self._tidy)
        self._release([*soon, *end])

    def _places(self, opened: "Opened") -> "list[Place]":
        from .vectors_texts import keys_of, places_without

        table = self._loaded()
        with opened.store.lock:
            corpus = opened.store.corpus
            keys = keys_of(corpus)
            self.refused &= set(keys.tolist())
            places = places_without(corpus, table, self.refused)
            self.texts, self.without = len(keys), len(places) + len(self.refused)
        return places

    async def _embed(self, opened: "Opened", places: "list[Place]") -> None:
        from .vectors_texts import TextReader

        table, size = self._loaded(), self._embedder.batch
        reader = TextReader(self._vault, opened.store, self._config.chunk_chars)
        for begin in range(0, len(places), size):
            texts = await asyncio.to_thread(reader.read, places[begin : begin + size])
            if not texts:
                continue
            vectors = await self._embedder.embed(list(texts.values()))
            good = {key: vector for key, vector in zip(texts, vectors, strict=True) if vector is not None}
            self.refused |= texts.keys() - good.keys()
            if good:
                await asyncio.to_thread(self._add, opened, good)
            self.embedded += len(good)
            self.without -= len(good)
            if self._unsaved >= max(SAVE_AFTER, SAVE_SHARE * table.count):
                await asyncio.to_thread(self.save)
            # A question's turn: a model that holds this thread while it works would keep it waiting otherwise.
            await asyncio.sleep(0)

    def _add(self, opened: "Opened", vectors: "dict[int, Numbers]") -> None:
        """Take in vectors of texts that are still there: none that was forgotten meanwhile comes back."""
        import numpy as np

        from .vectors_texts import keys_of

        with self._adding:
            with opened.store.lock:
                there = np.isin(np.array(list(vectors)), keys_of(opened.store.corpus)).tolist()
            kept = {key: vector for (key, vector), is_there in zip(vectors.items(), there, strict=True) if is_there}
            if kept:
                self._loaded().add(list(kept), np.stack(list(kept.values())))
                self._unsaved += len(kept)

    def _tidy(self) -> None:
        unused = self._scanned() and self._loaded().count > self.texts - self.without
        self._unused_since = (self._unused_since or time.monotonic()) if unused else 0.0
        if self._unsaved >= SAVE_AFTER:
            self.save()

    def _loaded(self) -> "VectorTable":
        """The table, read from disk the first time."""
        from . import vectors_file
        from .vectors_table import VectorTable

        with self._saving:
            if self.table is None:
                size, precision = self._embedder.dimensions, self._config.embedding_precision
                found = vectors_file.load(self._vault.root, self._embedder.name, size, precision)
                self.damage, self.replaced = found.damage, found.other
                if found.damage:
                    log.warning("the stored vectors of %s: %s; they are made again", self._vault.root, found.damage)
                    opened = self._opened()
                    if opened is not None and opened.lock.acquire():
                        vectors_file.set_aside(self._vault.root)
                self.table = found.table or VectorTable(size, precision)
            return self.table


def _state_of(opened: "Opened") -> tuple[int, int]:
    corpus = opened.store.corpus
    return id(corpus), corpus.revision
