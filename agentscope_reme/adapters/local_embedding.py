"""The local embedding model as an embedding model of AgentScope."""

import asyncio
import time
from typing import Any

from agentscope.embedding import EmbeddingModelBase, EmbeddingResponse, EmbeddingUsage

from ..index.embedding_local import LocalModel


class LocalEmbedding(LocalModel, EmbeddingModelBase):
    """multilingual-e5-small inside this process: no key, no network. Needs the extra ``local-embedding``.

    Serves ``ReMe(embedding_model=LocalEmbedding())`` (the same as ``embedding_model="local"``) and whatever else takes
    an AgentScope embedding model. Linux on x86-64 and ARM, macOS on ARM.

    Raises:
        ConfigError: The extra is not installed.
    """

    supported_modalities = ["text"]  # noqa: RUF012 (the interface's)

    async def __call__(self, text: list[Any], **_: Any) -> EmbeddingResponse:
        """Embed passages: strings or text blocks.

        Args:
            text: The texts.
        """
        return await self._respond(text, question=False)

    async def embed_question(self, text: list[Any]) -> EmbeddingResponse:
        """Embed questions, for which the model was trained apart."""
        return await self._respond(text, question=True)

    async def _respond(self, text: list[Any], *, question: bool) -> EmbeddingResponse:
        began = time.perf_counter()
        texts = [one if isinstance(one, str) else str(one["text"]) for one in text]
        rows = await asyncio.to_thread(self.encode, texts, question=question)
        usage = EmbeddingUsage(time=time.perf_counter() - began)
        return EmbeddingResponse(embeddings=[row.tolist() for row in rows], usage=usage)
