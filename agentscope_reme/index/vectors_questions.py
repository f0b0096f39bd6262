"""What an index is asked about its vectors."""

import asyncio
from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING

from ..models import IndexReport, VectorReport

if TYPE_CHECKING:
    from ..config import ReMeConfig
    from ..vault.notes import Vault
    from .embedding import Asked, EmbeddingModel
    from .freshness import Freshness
    from .opened import Opened
    from .vectors import VectorArm


class VectorQuestions:
    """What gives an :class:`~agentscope_reme.index.Index` its second arm; a part of it, not used alone."""

    vault: "Vault"
    config: "ReMeConfig"
    _freshness: "Freshness"
    _open: "Opened | None"
    _vectors: "VectorArm | None"

    if TYPE_CHECKING:

        def _opened(self) -> "Opened": ...
        async def sync(self) -> IndexReport: ...

    async def embed(self) -> VectorReport | None:
        """Look at every file and wait until each text has its vector; None without an embedding model.

        Raises ConfigError when the model's vectors have another length than its ``dimensions``. A model that does not
        work is no error here: the report says so.
        """
        before = self._vectors.upkeep.embedded if self._vectors is not None else 0
        await self.sync()
        return await self._vectors.complete(before) if self._vectors is not None else None

    async def vectors_of(self, files: Iterable[str], lines: Mapping[str, Collection[int]]) -> int:
        """How many vectors belong to texts of these files, and of these lines of others, that stand nowhere else."""
        return await asyncio.to_thread(self._count_vectors, tuple(files), lines)

    async def forget_vectors(self) -> bool:
        """Drop the vectors of texts that are gone, here and on disk, whoever made them; whether none is left there."""
        return await asyncio.to_thread(self._forget_vectors)

    # --- inside ---------------------------------------------------------------------------------------------------

    def _arm(self, model: "EmbeddingModel") -> "VectorArm":
        from .vectors import VectorArm

        return VectorArm(self.vault, self.config, model, lambda: self._open, lambda: self._freshness.scanned >= 0)

    async def _asked(self, query: str) -> "Asked | None":
        """The question's vector, where there is a second arm."""
        if self._vectors is None:
            return None
        # Vectors of what has just been written are waited for, which needs it to be known.
        await asyncio.to_thread(self._freshness.read_changed, self.config.search_wait)
        return await self._vectors.ask(query)

    def _count_vectors(self, files: tuple[str, ...], lines: Mapping[str, Collection[int]]) -> int:
        from . import vectors_file
        from .vectors_texts import keys_only_in

        store = self._opened().store
        with store.lock:
            keys = keys_only_in(store.corpus, files, lines)
        missing = keys
        if self._vectors is not None and self._vectors.upkeep.table is not None:
            missing = self._vectors.upkeep.table.missing(missing)
        if stored := vectors_file.any_model(self.vault.root):  # it may be another model's
            missing = stored[1].missing(missing)
        return len(keys) - len(missing)

    def _forget_vectors(self) -> bool:
        from . import vectors_file
        from .vectors_texts import keys_of

        opened = self._opened()
        with opened.store.lock:
            keys = keys_of(opened.store.corpus)
        if self._vectors is not None:
            self._vectors.upkeep.drop_and_save()
        if not vectors_file.anything(self.vault.root):
            return True
        return opened.lock.acquire() and vectors_file.forget(self.vault.storage, keys)
