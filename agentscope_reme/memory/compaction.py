"""The compaction of one memory: count, cut, checkpoint, journal, swap. One transaction (P1, P2, P5).

Until the messages are in the journal and the checkpoint is accepted, nothing changes; then messages and checkpoint are
swapped in one step. Every path ends in an outcome, never in an exception, except that a cancellation passes through.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any

from ..models import Compacted, CompactionEvent, CompactionOutcome, Failed, Skipped
from .blocks import COMPRESSED, HINT, RECALL, blocks_of, results_of
from .compactor import Checkpoint, Compactor
from .envelope import envelope_text, user_language
from .shrinking import shrink
from .state import SummaryNote
from .tool_result import ToolResultCompactor
from .window import Cut, cut

if TYPE_CHECKING:
    from agentscope.message import Msg

    from .in_memory import ReMeInMemoryMemory

logger = logging.getLogger(__name__)

# A checkpoint that is not going to free this share of the window is not worth a call.
LEAST_GAIN = 0.02


@dataclass(frozen=True)
class Plan:
    """The sizes of one step, all in tokens and all by the same counter (P4)."""

    window: int
    fixed: int
    trigger: int
    reserve: int
    cap: int


@dataclass(frozen=True)
class Left:
    """What has just left the context of a session, for whoever writes it into notes."""

    session_id: str
    messages: tuple[dict[str, Any], ...]


def plan(memory: "ReMeInMemoryMemory", fixed: int) -> Plan:
    """Work out when to compact and how much stays.

    The threshold is ``window x ratio``. Where system prompt and schemas take most of it, compaction starts later, half
    way between them and the window: a threshold they alone exceed would fold the last message at every step.
    """
    config = memory.config
    window = memory.max_input_length
    threshold = int(window * memory.compact_ratio)
    trigger = max(threshold, fixed + (window - fixed) // 2)
    room = max(0, trigger - fixed)
    reserve = min(config.memory_compact_reserve, threshold // 4, room // 3)
    cap = min(config.summary_max_tokens, window // 8, room // 3)
    return Plan(window, fixed, trigger, reserve, cap)


class Compaction:
    """Keeps memories within their windows. Holds no state of any one memory.

    Args:
        compactor: Makes checkpoints.
        results: Bounds tool results.
        on_event: Called with every :class:`~agentscope_reme.models.CompactionEvent`; what it raises is logged.
        on_left: Called with what has left a context, after it is durable.
        language: ``auto`` follows the user.
    """

    def __init__(
        self,
        compactor: Compactor,
        results: ToolResultCompactor,
        *,
        on_event: Callable[[CompactionEvent], None] | None = None,
        on_left: Callable[[Left], None] | None = None,
        language: str = "auto",
    ) -> None:
        self.compactor = compactor
        self.results = results
        self.on_event = on_event
        self.on_left = on_left
        self.language = language

    def __deepcopy__(self, memo: dict[int, Any]) -> "Compaction":
        return self

    async def keep_within_window(
        self, memory: "ReMeInMemoryMemory", *, system_prompt: str = "", schemas: str = ""
    ) -> CompactionOutcome:
        """Do what one reasoning step needs: age tool results, and compact when the threshold is passed.

        Args:
            memory: The agent's memory.
            system_prompt: What will be sent as the system prompt.
            schemas: The tool schemas, as JSON.
        """
        async with memory.lock:
            memory.breaker.next_step()
            await self._adopt_foreign_marks(memory)
            aged = await self._age_results(memory)
            fixed = await memory.budget.fixed(system_prompt) + await memory.budget.fixed(schemas)
            fixed += MESSAGE_FRAME if system_prompt else 0
            memory.fixed_tokens = fixed
            sizes = plan(memory, fixed)
            before = await self._total(memory, sizes)
            if fixed > sizes.window:
                self._tell(memory, "window_too_small", "system prompt and tool schemas alone exceed the window", before)
                return Skipped("window_too_small")
            if before > sizes.trigger * 0.9 and memory.ledger.total > 0:
                memory.ledger.find_changes(memory.content)
                before = await self._total(memory, sizes)
            if before <= sizes.trigger:
                if aged:
                    self._tell(memory, "offloaded", "old tool results", before, offloaded=aged)
                return Skipped("below_threshold")
            return await self._compact(memory, sizes, before, "threshold", aged)

    async def compact(self, memory: "ReMeInMemoryMemory", *, extra_instruction: str = "") -> CompactionOutcome:
        """Compact now, whatever the fill: what a user asks for with ``/compact``."""
        async with memory.lock:
            sizes = plan(memory, memory.fixed_tokens)
            before = await self._total(memory, sizes)
            return await self._compact(memory, sizes, before, "requested", [], extra_instruction)

    # --- the transaction ----------------------------------------------------------------------------------------

    async def _compact(
        self,
        memory: "ReMeInMemoryMemory",
        sizes: Plan,
        before: int,
        reason: str,
        aged: list[str],
        extra_instruction: str = "",
    ) -> CompactionOutcome:
        started = perf_counter()
        outcome = await self._fold(memory, sizes, before, reason, extra_instruction)
        after = await self._total(memory, sizes)
        shrunk: list[str] = []
        if after > sizes.window or (after > sizes.trigger and not isinstance(outcome, Failed)):
            shrunk = await shrink(
                memory, self.results, target=sizes.trigger - sizes.fixed, hard=_hard(sizes) - sizes.fixed
            )
            after = await self._total(memory, sizes)
        offloaded = [*aged, *shrunk]
        seconds = perf_counter() - started
        if isinstance(outcome, Compacted):
            journal = memory.journal
            self._tell(
                memory, "compacted", reason, before, after, outcome.moved, offloaded, seconds,
                (journal.path if journal else "",),
            )  # fmt: skip
            return Compacted(before, after, outcome.moved, outcome.journal_path, reason, outcome.generator, seconds)
        if isinstance(outcome, Failed):
            self._tell(memory, "failed", f"{outcome.reason}: {outcome.error}", before, after, 0, offloaded, seconds)
        elif offloaded:
            self._tell(memory, "offloaded", "long results and texts", before, after, 0, offloaded, seconds)
        if after > sizes.window:
            logger.warning("Session %s is still %d tokens in a window of %d.", memory.session_id, after, sizes.window)
        return outcome

    async def _fold(
        self, memory: "ReMeInMemoryMemory", sizes: Plan, before: int, reason: str, extra_instruction: str
    ) -> CompactionOutcome:
        if memory.journal is None:
            return Failed("no_vault", "this memory has no vault to write to; nothing is folded")
        entries = list(memory.content)
        costs = [memory.ledger.cost(message) for message, _ in entries]
        division: Cut = cut(entries, costs, sizes.reserve)
        folded = [entries[i] for i in division.fold]
        previous = memory.get_compressed_summary()
        replaced = sum(costs[i] for i in division.fold) + (await memory.summary_tokens() if previous else 0)
        overflow = before > sizes.window
        if not folded or (not overflow and reason == "threshold" and replaced < sizes.window * LEAST_GAIN):
            return Skipped("nothing_to_fold")
        told = [message for message, marks in folded if RECALL not in marks and HINT not in marks]
        generation, at_start = memory.generation, previous
        checkpoint = await self._checkpoint(memory, sizes, told, previous, replaced, overflow, extra_instruction)
        if isinstance(checkpoint, (Failed, Skipped)):
            return checkpoint
        if memory.get_compressed_summary() != at_start or memory.generation != generation:
            still = {id(message) for message, _ in memory.content}
            if memory.get_compressed_summary() != at_start or any(id(message) not in still for message, _ in folded):
                return Failed(
                    "changed_meanwhile", "messages or checkpoint were changed by others; next step tries again"
                )
        try:
            await memory.write_journal(folded)
        except Exception as error:
            return Failed("journal_write", str(error))
        if memory.get_compressed_summary() != at_start:
            return Failed("changed_meanwhile", "the checkpoint was changed by others; next step tries again")
        memory.swap(folded, checkpoint.text, await self._note(memory, checkpoint, entries, division.inside_turn))
        self._hand_on(memory, folded)
        return Compacted(before, 0, len(folded), memory.journal.path, reason, checkpoint.generator)

    async def _checkpoint(
        self,
        memory: "ReMeInMemoryMemory",
        sizes: Plan,
        told: Sequence["Msg"],
        previous: str,
        replaced: int,
        overflow: bool,
        extra_instruction: str,
    ) -> Checkpoint | Failed | Skipped:
        config, breaker = memory.config, memory.breaker
        cap = max(48, sizes.cap)
        replaced -= await self._frame_tokens(memory)
        failure: Failed | Skipped = Skipped("waiting_to_retry")
        if self.compactor.model is None or breaker.allows():
            outcome = await self.compactor.checkpoint(
                told,
                previous,
                language=self._language(memory),
                cap=cap,
                window=sizes.window,
                replaced_tokens=max(1, replaced),
                count=memory.budget.text,
                extra_instruction=extra_instruction,
            )
            if isinstance(outcome, Checkpoint):
                if self.compactor.model is not None:
                    breaker.succeeded()
                return await self._if_shorter(memory, outcome, replaced, overflow)
            failure = outcome
            breaker.failed(limit=config.breaker_failures, steps=config.breaker_steps, seconds=config.breaker_seconds)
            logger.warning("No checkpoint for session %s: %s (%s).", memory.session_id, outcome.reason, outcome.error)
        if not overflow:
            return failure
        return await self.compactor.extract(told, previous, cap=cap, count=memory.budget.text)

    async def _if_shorter(
        self, memory: "ReMeInMemoryMemory", checkpoint: Checkpoint, replaced: int, overflow: bool
    ) -> Checkpoint | Skipped:
        if overflow or checkpoint.generator == "model" or await memory.budget.text(checkpoint.text) < replaced:
            return checkpoint
        return Skipped("nothing_to_gain")

    # --- parts --------------------------------------------------------------------------------------------------

    async def _total(self, memory: "ReMeInMemoryMemory", sizes: Plan) -> int:
        return sizes.fixed + await memory.summary_tokens() + await memory.message_tokens()

    async def _frame_tokens(self, memory: "ReMeInMemoryMemory") -> int:
        journal = memory.journal
        empty = envelope_text(
            "", path=journal.path if journal else "", language=self._language(memory), inside_turn=True
        )
        return await memory.budget.fixed(empty) + 8

    def _language(self, memory: "ReMeInMemoryMemory") -> str:
        if self.language in ("en", "zh"):
            return self.language
        default = memory.summary_note.language or "en"
        return user_language((message for message, _ in memory.content[-200:]), default)

    async def _note(
        self, memory: "ReMeInMemoryMemory", checkpoint: Checkpoint, entries: Sequence[Any], inside_turn: bool
    ) -> SummaryNote:
        since = str(entries[-1][0].timestamp or "")
        return SummaryNote(self._language(memory), inside_turn, checkpoint.generator, since)

    async def _adopt_foreign_marks(self, memory: "ReMeInMemoryMemory") -> None:
        """Journal and take out messages that someone else marked ``compressed`` under a summary of theirs."""
        if not memory.ledger.marks.get(COMPRESSED) or not memory.get_compressed_summary() or memory.journal is None:
            return
        marked = [entry for entry in memory.content if COMPRESSED in entry[1]]
        try:
            await memory.write_journal(marked)
        except Exception as error:
            logger.warning("Messages marked compressed could not be journalled (%s); they stay.", error)
            return
        memory.remove(marked)

    async def _age_results(self, memory: "ReMeInMemoryMemory") -> list[str]:
        """Bound the results that are no longer recent; those no assistant message has followed yet stay recent."""
        fresh = memory.ledger.fresh_results
        unseen = 0
        for message, _ in reversed(memory.content):
            if message.role == "assistant":
                break
            unseen += 1 if any(True for _ in results_of(message)) else 0
        paths: list[str] = []
        while len(fresh) > max(self.results.recent_tool_results, unseen):
            message, inputs = fresh.popleft()
            if memory.vault is None:
                continue
            try:
                moved = await self.results.age(message, self.results.old_max_bytes, inputs)
            except Exception:
                logger.exception("Old tool results could not be bounded; they stay as they are.")
                continue
            if moved:
                memory.ledger.changed(message)
                memory.forget_view()
                paths += moved
        return paths

    def _hand_on(self, memory: "ReMeInMemoryMemory", folded: Sequence[Any]) -> None:
        if self.on_left is None:
            return
        messages = tuple(
            {**message.to_dict(), "content": [dict(block) for block in blocks_of(message)], "marks": list(marks)}
            for message, marks in folded
        )
        try:
            self.on_left(Left(memory.session_id, messages))
        except Exception:
            logger.exception("What left the context could not be handed on; it is in the journal.")

    def _tell(
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


# What a provider adds around the system prompt.
MESSAGE_FRAME = 4


def _hard(sizes: Plan) -> int:
    """Above this even a user's own words are moved to a file: half way between threshold and window."""
    return (sizes.trigger + sizes.window) // 2
