"""What the vault can use from above it, as protocols; without them it looks through the files itself."""

from collections.abc import Callable, Iterable
from typing import Protocol

from ..models import FileLink

ChangeListener = Callable[[str, str], None]
"""Called with (vault-relative path, kind) after each durable change, on the thread that made it. Kinds: ``created``,
``changed``, ``removed``. What it raises is logged."""


class InlinkSource(Protocol):
    """Knows which notes link to a path."""

    def inlinks(self, path: str) -> Iterable[FileLink]:
        """Links whose target is ``path``, with the notes they stand in."""
        ...
