"""Embedding models for tests: the same text gives the same vector, words of one meaning point the same way."""

import asyncio
import hashlib
import re
import threading
import time
from collections.abc import Callable, Sequence

import numpy as np
from agentscope.embedding import EmbeddingModelBase, EmbeddingResponse, EmbeddingUsage

# Words that mean the same to the model.
MEANINGS = [
    {"cat", "animal", "pet", "kitten", "猫", "宠物"},
    {"invoice", "bill", "pay", "payment", "发票", "账单"},
    {"train", "railway", "trip", "travel", "高铁", "出差"},
    {"doctor", "physician", "clinic", "医生"},
    {"happy", "glad", "joyful"},
]
_WORD = re.compile(r"[a-z0-9]+|[\u4e00-\u9fff]")


def _direction(word: str, dimensions: int) -> np.ndarray:
    seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:8], "little")
    return np.random.default_rng(seed).normal(size=dimensions)


def meaning(text: str, dimensions: int) -> list[float]:
    """The sum of the directions of a text's words; a word with a meaning has that of its meaning."""
    text = text.lower()
    words = _WORD.findall(text)
    out = np.full(dimensions, 1e-3)
    for word in words:
        shared = next((n for n, group in enumerate(MEANINGS) if word in group), None)
        out += _direction(f"meaning {shared}" if shared is not None else word, dimensions) * (
            1 if shared is None else 3
        )
    for number, group in enumerate(MEANINGS):
        found = [one for one in group if len(one) > 1 and not one.isascii() and one in text]
        out += 3 * len(found) * _direction(f"meaning {number}", dimensions)
    return out.tolist()


class FakeEmbedding(EmbeddingModelBase):
    """Counts what it is asked. ``fault`` is called with the texts of each call and may raise; ``delay`` in seconds.

    ``size`` is the length of its vectors when that is not what it says. ``change`` alters the vectors before they are
    returned. ``block`` holds the thread instead of awaiting, as an SDK without asynchronous calls does.
    """

    supported_modalities = ["text"]  # noqa: RUF012

    def __init__(
        self,
        dimensions: int = 64,
        *,
        name: str = "fake",
        size: int | None = None,
        fault: Callable[[Sequence[str]], None] | None = None,
        change: Callable[[list[list[float]]], list[list[float]]] | None = None,
        delay: float = 0.0,
        block: bool = False,
    ) -> None:
        super().__init__(name, dimensions)
        self.size, self.fault, self.change, self.delay, self.block = size or dimensions, fault, change, delay, block
        self.calls: list[list[str]] = []
        self.threads: set[str] = set()

    @property
    def texts(self) -> list[str]:
        """Every text that was asked for, in order."""
        return [text for call in self.calls for text in call]

    async def __call__(self, text: list[str], **_: object) -> EmbeddingResponse:
        self.calls.append(list(text))
        self.threads.add(threading.current_thread().name)
        if self.delay and self.block:
            time.sleep(self.delay)  # noqa: ASYNC251 (that is the point)
        elif self.delay:
            await asyncio.sleep(self.delay)
        if self.fault is not None:
            self.fault(text)
        vectors = [meaning(one, self.size) for one in text]
        if self.change is not None:
            vectors = self.change(vectors)
        return EmbeddingResponse(embeddings=vectors, usage=EmbeddingUsage(time=0.0))


def unreachable(_: Sequence[str]) -> None:
    """A fault: the service does not answer."""
    raise ConnectionError("connection refused")
