"""What the vault can use from above it, as protocols; without them it looks through the files itself."""

from collections.abc import Callable, Collection
from typing import Protocol

ChangeListener = Callable[[str, str], None]
"""Called with (vault-relative path, kind) after each durable change, on the thread that made it. Kinds: ``created``,
``changed``, ``removed``. What it raises is logged."""


class InlinkSource(Protocol):
    """Knows which notes link to which files."""

    def notes_naming(self, targets: Collection[str]) -> Collection[str] | None:
        """The notes in which a link to one of ``targets`` may stand, as the files are now; None when it cannot tell.

        A note too many costs reading it; one too few leaves its links behind.
        """
        ...
