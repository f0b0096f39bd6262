"""What operations return that no lower layer has a value for."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Status:
    """How the vault and its index are. ``index`` holds what the index says of itself; empty when there is no vault."""

    version: str
    vault: str
    exists: bool
    index: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class HelpText:
    """Operations, each with what it does."""

    operations: tuple[tuple[str, str], ...]
