"""What a run did, for a callback and the log; what left a context, for whoever writes it into notes."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..models import Compacted, CompactionEvent, CompactionOutcome, Failed
from .blocks import blocks_of
from .ledger import Entry
from .plan import Plan

if TYPE_CHECKING:
    from .in_memory import ReMeInMemoryMemory

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Left:
    """What has just left the context of a session, and is in its journal."""

    session_id: str
    entries: tuple[Entry, ...]

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of the messages."""
        return tuple(str(message.id) for message, _ in self.entries)

    @property
    def messages(self) -> tuple[dict[str, Any], ...]:
        """The messages as plain values, with their marks; made when asked for, since thousands take their time."""
        return tuple(
            {**message.to_dict(), "content": [dict(block) for block in blocks_of(message)], "marks": list(marks)}
            for message, marks in self.entries
        )


class Reporter:
    """Tells of compactions. What a callback raises is logged and goes no further.

    Args:
        on_event: Called with every :class:`~agentscope_reme.models.CompactionEvent`.
        on_left: Called with what has left a context, after it is durable.
    """

    def __init__(
        self,
        on_event: Callable[[CompactionEvent], None] | None = None,
        on_left: Callable[[Left], None] | None = None,
    ) -> None:
        self.on_event = on_event
        self.on_left = on_left

    def hand_on(self, memory: "ReMeInMemoryMemory", folded: Sequence[Entry]) -> None:
        """Hand on what has left."""
        if self.on_left is None or not folded:
            return
        try:
            self.on_left(Left(memory.session_id, tuple(folded)))
        except Exception:
            logger.exception("What left the context could not be handed on; it is in the journal.")

    def report(
        self,
        memory: "ReMeInMemoryMemory",
        sizes: Plan,
        outcome: CompactionOutcome,
        reason: str,
        before: int,
        after: int,
        offloaded: list[str],
        seconds: float,
    ) -> None:
        """Tell how a run ended; ``before``, ``after`` in tokens, ``offloaded`` the files that texts were moved to."""
        if isinstance(outcome, Compacted):
            paths = (outcome.journal_path,)
            self.tell(memory, "compacted", reason, before, after, outcome.moved, offloaded, seconds, paths)
        elif isinstance(outcome, Failed):
            self.tell(memory, "failed", f"{outcome.reason}: {outcome.error}", before, after, 0, offloaded, seconds)
        elif offloaded:
            self.tell(memory, "offloaded", "long results and texts", before, after, 0, offloaded, seconds)
        if after > sizes.window and not isinstance(outcome, Failed):
            why = "what has to stay does not fit beside system prompt and tool schemas"
            self.tell(memory, "window_too_small", why, before, after)

    def tell(
        self,
        memory: "ReMeInMemoryMemory",
        kind: Any,
        reason: str,
        before: int,
        after: int | None = None,
        moved: int = 0,
        offloaded: Sequence[str] = (),
        seconds: float = 0.0,
        paths: Sequence[str] = (),
    ) -> None:
        """Send one event and log it. ``kind`` is that of the event."""
        event = CompactionEvent(
            kind, memory.session_id, reason, before, before if after is None else after, moved, len(offloaded),
            tuple(path for path in (*paths, *offloaded) if path), seconds,
        )  # fmt: skip
        logger.log(
            logging.WARNING if kind in ("failed", "window_too_small") else logging.INFO,
            "%s: %s, %d -> %d tokens, %d messages moved, %d texts offloaded, session %s",
            kind, reason, before, event.tokens_after, moved, len(offloaded), memory.session_id,
        )  # fmt: skip
        if self.on_event is not None:
            try:
                self.on_event(event)
            except Exception:
                logger.exception("The callback for compaction events raised.")
