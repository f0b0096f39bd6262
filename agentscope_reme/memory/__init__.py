"""Working memory: what the model sees inside one conversation.

May import the vault, the index and AgentScope; not the pipelines, hooks or tools.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .compactor import Compactor
    from .in_memory import ReMeInMemoryMemory
    from .session import ReMeSession
    from .tool_result import ToolResultCompactor

__all__ = ["Compactor", "ReMeInMemoryMemory", "ReMeSession", "ToolResultCompactor"]

# Resolved on use: only the memory itself needs AgentScope, and importing that takes more than a second.
_HOME = {
    "Compactor": ".compactor",
    "ReMeInMemoryMemory": ".in_memory",
    "ReMeSession": ".session",
    "ToolResultCompactor": ".tool_result",
}


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name], __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
