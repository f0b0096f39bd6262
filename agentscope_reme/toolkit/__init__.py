"""The tools an agent calls, and how they are registered. May import everything below them."""

from .register import DEFAULT_TOOLS, register_memory_tools
from .tools import MemoryTools

__all__ = ["DEFAULT_TOOLS", "MemoryTools", "register_memory_tools"]
