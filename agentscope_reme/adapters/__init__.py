"""Other doors to the same vault: long-term memory of AgentScope, typed memories.

May import vault, index, memory and pipelines.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .long_term import ReMeLongTermMemory

__all__ = ["ReMeLongTermMemory"]


def __getattr__(name: str) -> Any:
    if name == "ReMeLongTermMemory":
        return import_module(".long_term", __name__).ReMeLongTermMemory
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
