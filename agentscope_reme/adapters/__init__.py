"""Other doors to the same vault: long-term memory of AgentScope, typed memories.

May import vault, index, memory and pipelines.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .local_embedding import LocalEmbedding
    from .long_term import ReMeLongTermMemory

_HOME = {"LocalEmbedding": ".local_embedding", "ReMeLongTermMemory": ".long_term"}

__all__ = ["LocalEmbedding", "ReMeLongTermMemory"]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name], __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
