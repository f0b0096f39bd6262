"""Hooks that plug the memory into an AgentScope agent.

May import everything below; nothing imports them but ``reme``.
"""

from .compaction import MemoryCompactionHook, builtin_compression
from .recall import RecallHook
from .recording import RecordingHook

__all__ = ["MemoryCompactionHook", "RecallHook", "RecordingHook", "builtin_compression"]
