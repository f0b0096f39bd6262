"""What a memory shows of its content: messages by mark, histories that arrived broken repaired for the model."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .ledger import Entry, Ledger
from .window import repaired

if TYPE_CHECKING:
    from agentscope.message import Msg


class View:
    """The messages of one content list as they are shown. The repaired whole is made once until the content changes."""

    def __init__(self) -> None:
        self._shown: tuple[Sequence[Entry], int, list[Msg]] | None = None

    def forget(self) -> None:
        """Make the repaired whole again the next time, after messages were changed in place."""
        self._shown = None

    def visible(self, content: list[Entry], ledger: Ledger, mark: str | None, hidden: "set[str | None]") -> "list[Msg]":
        """Return the messages of ``content``.

        Args:
            content: Messages and their marks.
            ledger: The account of this content.
            mark: Only messages with this mark, as they are stored; None for all, repaired.
            hidden: Messages with one of these marks are left out.
        """
        if mark is None and not any(ledger.marks.get(one) for one in hidden if one):
            if ledger.sound:
                return [message for message, _ in content]
            if self._shown is None or self._shown[0] is not content or self._shown[1] != len(content):
                self._shown = (content, len(content), repaired([message for message, _ in content]))
            return list(self._shown[2])
        chosen = [
            message
            for message, marks in content
            if (mark is None or mark in marks) and not any(one in marks for one in hidden)
        ]
        return chosen if mark is not None else repaired(chosen)
