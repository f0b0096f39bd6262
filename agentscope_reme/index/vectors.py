"""The second arm of a search: vectors beside words.

Words alone answer while there is no model, no answer from it or no vector yet; a search says so and never fails for it.
"""

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..errors import ConfigError
from ..models import SearchResult, VectorReport
from .embedding import Asked, Embedder, EmbeddingFault, EmbeddingModel, WrongDimensions
from .vectors_upkeep import VectorUpkeep

if TYPE_CHECKING:
    from ..config import ReMeConfig
    from ..vault.notes import Vault
    from .corpus import Corpus
    from .fusion import Dense
    from .opened import Opened

LONGEST_QUESTION = 2_000  # characters; words behind are not looked at either
# Below this share of texts with vectors a search says that its second arm is still growing.
WHOLE = 0.95
_REFUSAL = "the embedding model does not take them"


class VectorArm:
    """Vectors of one index, made by one model. Making one touches nothing and starts nothing."""

    def __init__(
        self,
        vault: "Vault",
        config: "ReMeConfig",
        model: EmbeddingModel,
        opened: "Callable[[], Opened | None]",
        scanned: Callable[[], bool],
    ) -> None:
        self._config, self._opened = config, opened
        self.embedder = Embedder(
            model,
            batch=config.embedding_batch,
            question_prefix=config.embedding_query_prefix,
            text_prefix=config.embedding_text_prefix,
        )
        self.upkeep = VectorUpkeep(vault, config, self.embedder, opened, scanned)
        self._rows: tuple[Any, Any] | None = None

    async def ask(self, question: str) -> Asked:
        """The vector of a question, and time for the vectors of a few new texts, within ``embedding_wait`` seconds."""
        until = time.monotonic() + self._config.embedding_wait
        self.upkeep.start()
        # What a service can be sent: no endless text, and no half of a character.
        text = question[:LONGEST_QUESTION].encode("utf-8", "replace").decode("utf-8")
        text = await asyncio.to_thread(self._without_names, text)
        asked = await self.embedder.ask(text, max(0.0, until - time.monotonic()), self._config.embedding_wait)
        if asked.vector is not None:
            await self.upkeep.settled(max(0.0, until - time.monotonic()))
        return asked

    def dense(self, corpus: "Corpus", asked: Asked | None) -> "Dense | None":
        """The cosines of the units of a corpus with a question. The caller holds the store's lock."""
        import numpy as np

        from .fusion import Dense, fusion_of

        table = self.upkeep.table
        if asked is None or asked.vector is None or table is None or not table.count:
            return None
        while True:
            order = table.orders
            state = (id(corpus), corpus.revision, corpus.numbering, table.changes)
            if self._rows is None or self._rows[0] != state:
                self._rows = (state, table.rows(corpus.column("text").astype(np.int64, copy=False)))
            dense = Dense(table.cosines(asked.vector), self._rows[1], fusion_of(self._config))
            if table.orders == order:  # rows that have come meanwhile do no harm
                return dense

    def judged(self, result: SearchResult, asked: Asked | None) -> SearchResult:
        """A result that says when words alone, or not all vectors, have answered."""
        if asked is None or result.status == "stale":
            return result
        trouble = asked.fault or self._trouble()
        if not trouble:
            return result
        note = f"found by words alone: {trouble}" if asked.fault or not self.upkeep.share else trouble
        return replace(result, status="degraded", note=f"{note}; {result.note}" if result.note else note)

    def _trouble(self) -> str:
        upkeep = self.upkeep
        if upkeep.table is None:
            return upkeep.fault or "no passage has a vector yet"
        if upkeep.share >= WHOLE:
            return ""
        missing = f"{upkeep.without} of {upkeep.texts} passages have no vector"
        if upkeep.fault:
            return f"{missing}: {upkeep.fault}"
        return f"{missing}: {_REFUSAL}" if len(upkeep.refused) == upkeep.without else f"{missing} yet"

    def _without_names(self, question: str) -> str:
        from .embedding_text import without_names

        opened = self._opened()
        if opened is None:
            return question
        with opened.store.lock:
            names = opened.retriever.persons()
        return without_names(question, names) or question

    async def complete(self, before: int) -> VectorReport:
        """Wait until every text has its vector, or the model does not work; ``before`` were embedded already.

        Raises ConfigError when the model's vectors have another length than it says.
        """
        upkeep, began = self.upkeep, time.monotonic()
        fault = ""
        try:
            await upkeep.complete()
        except WrongDimensions as error:
            raise ConfigError(str(error)) from error
        except EmbeddingFault as error:
            fault = str(error)
        return VectorReport(
            texts=upkeep.texts,
            embedded=upkeep.embedded - before,
            missing=upkeep.without,
            fault=fault or (_REFUSAL if upkeep.refused else ""),
            seconds=time.monotonic() - began,
        )

    def status(self) -> dict[str, Any]:
        """What is embedded, by which model, and what is wrong; computes nothing."""
        upkeep = self.upkeep
        return {
            "model": self.embedder.model.model_name,
            "dimensions": self.embedder.dimensions,
            "precision": self._config.embedding_precision,
            "texts": upkeep.texts,
            "embedded": upkeep.texts - upkeep.without,
            "share": round(upkeep.share, 3),
            "running": upkeep.running,
            "refused": len(upkeep.refused),
            "calls": self.embedder.calls,
            "persisted": upkeep.persisted,
            "damage": upkeep.damage,
            "replaced": upkeep.replaced,
            "error": upkeep.fault or self.embedder.fault,
        }
