"""Memory for AgentScope agents, kept as files their user owns.

The public names are resolved on first use: importing this package imports neither AgentScope nor any other heavy
library, so that the command line starts at once.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ._version import __version__

if TYPE_CHECKING:
    from .adapters import LocalEmbedding, ReMeLongTermMemory
    from .config import ReMeConfig
    from .hooks import MemoryCompactionHook, RecallHook, RecordingHook
    from .memory import ReMeInMemoryMemory, ReMeSession, ToolResultCompactor
    from .models import SearchHit, SearchResult
    from .reme import ReMe
    from .toolkit import register_memory_tools

_HOME = {
    "LocalEmbedding": ".adapters",
    "ReMe": ".reme",
    "ReMeConfig": ".config",
    "ReMeInMemoryMemory": ".memory",
    "ReMeLongTermMemory": ".adapters",
    "ReMeSession": ".memory",
    "MemoryCompactionHook": ".hooks",
    "RecallHook": ".hooks",
    "RecordingHook": ".hooks",
    "ToolResultCompactor": ".memory",
    "register_memory_tools": ".toolkit",
    "SearchResult": ".models",
    "SearchHit": ".models",
}

__all__ = [
    "LocalEmbedding",
    "MemoryCompactionHook",
    "ReMe",
    "ReMeConfig",
    "ReMeInMemoryMemory",
    "ReMeLongTermMemory",
    "ReMeSession",
    "RecallHook",
    "RecordingHook",
    "SearchHit",
    "SearchResult",
    "ToolResultCompactor",
    "__version__",
    "register_memory_tools",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name], __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
