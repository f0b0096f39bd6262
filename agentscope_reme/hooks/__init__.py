"""Hooks that plug the memory into an AgentScope agent.

May import everything below; nothing imports them but ``reme``.
"""

from .compaction import MemoryCompactionHook, builtin_compression

__all__ = ["MemoryCompactionHook", "builtin_compression"]
