"""The compaction of one memory: count, cut, checkpoint, journal, swap. One transaction (P1, P2, P5).

Until the messages are in the journal and the checkpoint is accepted, nothing changes; then messages and checkpoint are
swapped in one step. Every path ends in an outcome, never in an exception, except that a cancellation passes through.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import TYPE_CHECKING, Any

from ..models import Compacted, CompactionEvent, CompactionOutcome, Failed, Skipped
from .blocks import is_injected
from .compactor import Checkpoint, Compactor
from .envelope import envelope_text, user_language
from .ledger import Entry
from .owed import Owed, owed_to, owing
from .pacing import aside
from .plan import MESSAGE_FRAME, Plan, plan
from .reporting import Left, Reporter
from .shrinking import shrink
from .state import SummaryNote
from .tokens import MESSAGE_OVERHEAD
from .tool_result import ToolResultCompactor
from .transcript import tells
from .upkeep import adopt_foreign_marks, age_results
from .window import Cut, bare_cut, cut

if TYPE_CHECKING:
    from agentscope.message import Msg

    from .in_memory import ReMeInMemoryMemory

logger = logging.getLogger(__name__)

# The generator of a checkpoint that stays, because nothing that was said is folded.
UNCHANGED = "unchanged"
# Messages that a step near the threshold looks at again; all of them before anything is folded.
LOOKED_AT = 100
NO_USE = ("nothing_to_fold", "nothing_to_gain")


@dataclass(frozen=True)
class Fold:
    """What one compaction takes out, and what it puts in its place has to do. ``replaced`` is in tokens."""

    entries: tuple[Entry, ...]
    told: tuple["Msg", ...]
    previous: str
    replaced: int
    overflow: bool
    inside_turn: bool
    since: str


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
        self.reporter = Reporter(on_event, on_left)
        self.language = language

    def __deepcopy__(self, memo: dict[int, Any]) -> "Compaction":
        return self

    async def keep_within_window(
        self,
        memory: "ReMeInMemoryMemory",
        *,
        system_prompt: str = "",
        schemas: str = "",
        beside: str = "",
        own: str = "",
    ) -> CompactionOutcome:
        """Do what one reasoning step needs: age tool results, and compact when the threshold is passed.

        Args:
            memory: The agent's memory.
            system_prompt: What will be sent as the system prompt.
            schemas: The tool schemas, as JSON.
            beside: What agent and formatter add to the messages for this request only, after this.
            own: The agent's name, by which it is known what others asked of it.
        """
        async with memory.lock:
            memory.own_name = own or memory.own_name
            memory.breaker.next_step()
            memory.begin_step()
            fixed = await memory.budget.fixed(system_prompt) + await memory.budget.fixed(schemas)
            fixed += MESSAGE_FRAME if system_prompt else 0
            fixed += await memory.budget.fixed(beside) + MESSAGE_OVERHEAD if beside else 0
            memory.fixed_tokens = fixed
            sizes = plan(memory, fixed)
            if fixed > sizes.window:
                before = await self._total(memory, sizes)
                self.reporter.tell(
                    memory, "window_too_small", "system prompt and tool schemas alone exceed the window", before
                )
                return Skipped("window_too_small")
            await adopt_foreign_marks(memory)
            aged = await age_results(memory, self.results)
            before = await self._total(memory, sizes)
            if before > sizes.trigger * 0.9 and memory.ledger.total > 0:
                due = before > sizes.trigger
                await memory.ledger.find_changes(memory.content, most=None if due else LOOKED_AT)
                before = await self._total(memory, sizes)
            if before > sizes.trigger:
                return await self._compact(memory, sizes, before, "threshold", aged)
            if aged:
                self.reporter.tell(memory, "offloaded", "old tool results", before, offloaded=aged)
            return await self._pay(memory, sizes, before) or Skipped("below_threshold")

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
        await memory.message_tokens()
        entries = list(memory.content)
        costs = memory.ledger.costs(entries)
        division = await aside(
            len(entries), cut, entries, costs, sizes.reserve, memory.own_name, self.results.running.ids(), sizes.unseen
        )
        outcome = await self._fold(memory, sizes, entries, division, reason, extra_instruction)
        offloaded = list(aged)
        # A checkpoint that failed changes nothing while the window holds what there is.
        if not (isinstance(outcome, Failed) or (isinstance(outcome, Skipped) and outcome.reason not in NO_USE)):
            offloaded += await self._shrink(memory, sizes)
        for standing in (True, False):
            if await self._total(memory, sizes) <= sizes.window:
                break
            offloaded += await self._shrink(memory, sizes)
            if await self._total(memory, sizes) <= sizes.window:
                break
            entries = list(memory.content)
            bare = bare_cut(entries, standing=standing, own=memory.own_name, running=self.results.running.ids())
            more = await self._fold(memory, sizes, entries, bare, "last_resort")
            outcome = _joined(outcome, more)
            offloaded += await self._shrink(memory, sizes, hard=sizes.window)
        after = await self._total(memory, sizes)
        if isinstance(outcome, Compacted):
            outcome = replace(
                outcome, tokens_before=before, tokens_after=after, reason=reason, seconds=perf_counter() - started
            )
        self.reporter.report(memory, sizes, outcome, reason, before, after, offloaded, perf_counter() - started)
        return outcome

    async def _shrink(self, memory: "ReMeInMemoryMemory", sizes: Plan, hard: int | None = None) -> list[str]:
        return await shrink(
            memory,
            self.results,
            target=(hard or sizes.trigger) - sizes.fixed,
            hard=(hard or sizes.hard) - sizes.fixed,
            window=sizes.window - sizes.fixed,
        )

    async def _fold(
        self,
        memory: "ReMeInMemoryMemory",
        sizes: Plan,
        entries: Sequence[Entry],
        division: Cut,
        reason: str,
        extra_instruction: str = "",
    ) -> CompactionOutcome:
        if memory.journal is None:
            return Failed("no_vault", "this memory has no vault to write to; nothing is folded")
        fold = await self._measured(memory, sizes, [entries[i] for i in division.fold], division.inside_turn, reason)
        if fold is None:
            return Skipped("nothing_to_fold")
        checkpoint = await self._checkpoint(memory, sizes, fold, reason, extra_instruction)
        if isinstance(checkpoint, (Failed, Skipped)):
            return checkpoint
        if not _still_there(memory, fold):
            return Failed("changed_meanwhile", "messages or checkpoint were changed by others; next step tries again")
        try:
            await memory.write_journal(fold.entries)
        except Exception as error:
            return Failed("journal_write", str(error))
        # Also while it was written a session may have been loaded, messages deleted.
        if not _still_there(memory, fold):
            return Failed("changed_meanwhile", "messages or checkpoint were changed by others; next step tries again")
        memory.swap(fold.entries, checkpoint.text, self._note(memory, fold, checkpoint))
        self.reporter.hand_on(memory, fold.entries)
        path = memory.journal.path
        return Compacted(0, 0, len(fold.entries), path, reason, checkpoint.generator)

    async def _measured(
        self, memory: "ReMeInMemoryMemory", sizes: Plan, entries: Sequence[Entry], inside_turn: bool, reason: str
    ) -> Fold | None:
        """Return what is to be folded; None when it is not worth it."""
        new = sum(memory.ledger.costs(entries))
        summary = await memory.summary_tokens()
        overflow = await self._total(memory, sizes) > sizes.window
        # A checkpoint that someone else wrote may be longer than any of ours; then it alone is condensed.
        bloated = overflow and summary > 2 * sizes.cap + await self._frame_tokens(memory)
        if not entries and not bloated:
            return None
        if not overflow and reason == "threshold" and new < sizes.worthwhile:
            return None
        told = tuple(message for message, marks in entries if not is_injected(message, marks))
        since = str(memory.content[-1][0].timestamp or "") if memory.content else memory.summary_note.since
        previous = memory.get_compressed_summary()
        return Fold(tuple(entries), told, previous, new + summary, overflow, inside_turn, since)

    async def _checkpoint(
        self, memory: "ReMeInMemoryMemory", sizes: Plan, fold: Fold, reason: str, extra_instruction: str
    ) -> Checkpoint | Failed | Skipped:
        said = [message for message in fold.told if tells(message)]
        if fold.entries and not said:  # nothing that a checkpoint could tell: recalled text, empty turns
            return Checkpoint(fold.previous, UNCHANGED)
        failure: Failed | Skipped = Skipped("waiting_to_retry")
        # After the frame of an envelope, where there was none before.
        replaced = max(1, fold.replaced - await self._frame_tokens(memory))
        if reason != "last_resort" and said and (self.compactor.model is None or memory.breaker.allows()):
            owed = await self._owed(memory) or Owed((), 0, fold.previous)
            outcome = await self._asked(
                memory, sizes, [*owed.messages, *said], owed.base, replaced + owed.tokens, extra_instruction
            )
            if isinstance(outcome, Checkpoint):
                return await self._if_shorter(memory, outcome, replaced)
            failure = outcome
        if not fold.overflow:
            return failure
        short = await self.compactor.extract(
            said, fold.previous, language=self._language(memory), cap=sizes.cap, count=memory.budget.text
        )
        return await self._if_shorter(memory, short, replaced)

    async def _asked(
        self,
        memory: "ReMeInMemoryMemory",
        sizes: Plan,
        messages: Sequence["Msg"],
        previous: str,
        replaced: int,
        extra_instruction: str = "",
    ) -> Checkpoint | Failed:
        """Ask the compactor, and keep account of whether its model answers."""
        config, breaker = memory.config, memory.breaker
        outcome = await self.compactor.checkpoint(
            messages,
            previous,
            language=self._language(memory),
            cap=sizes.cap,
            window=sizes.window,
            replaced_tokens=replaced,
            count=memory.budget.text,
            extra_instruction=extra_instruction,
        )
        if self.compactor.model is None:
            return outcome
        if isinstance(outcome, Checkpoint):
            breaker.succeeded()
        else:
            if outcome.reason == "timeout":
                memory.summary_note.owed.clear()  # it is what took too long, or will the next time
            breaker.failed(limit=config.breaker_failures, steps=config.breaker_steps, seconds=config.breaker_seconds)
            logger.warning("No checkpoint for session %s: %s (%s).", memory.session_id, outcome.reason, outcome.error)
        return outcome

    async def _if_shorter(
        self, memory: "ReMeInMemoryMemory", checkpoint: Checkpoint, replaced: int
    ) -> Checkpoint | Skipped:
        if checkpoint.generator == "model" or await memory.budget.text(checkpoint.text) < replaced:
            return checkpoint
        return Skipped("nothing_to_gain")

    async def _pay(self, memory: "ReMeInMemoryMemory", sizes: Plan, before: int) -> CompactionOutcome | None:
        """Have the model make a checkpoint again that was made without it; None when there is none, or not yet."""
        if self.compactor.model is None or not memory.summary_note.owed or not memory.breaker.allows():
            return None
        started = perf_counter()
        previous, note = memory.get_compressed_summary(), memory.summary_note
        owed = await self._owed(memory)
        if owed is None:  # forgotten, on another disk, too much: what there is stays
            memory.set_summary(previous, replace(note, owed=[], base=""))
            return None
        outcome = await self._asked(memory, sizes, owed.messages, owed.base, max(sizes.cap + 1, owed.tokens))
        if isinstance(outcome, Failed):
            self.reporter.tell(memory, "failed", f"{outcome.reason}: {outcome.error}", before)
            return outcome
        if memory.get_compressed_summary() != previous:
            return Failed("changed_meanwhile", "the checkpoint was changed by others")
        memory.set_summary(outcome.text, replace(note, generator=outcome.generator, owed=[], base=""))
        after, seconds = await self._total(memory, sizes), perf_counter() - started
        path = memory.journal.path if memory.journal else ""
        self.reporter.tell(memory, "compacted", "redone", before, after, seconds=seconds, paths=(path,))
        return Compacted(before, after, 0, path, "redone", outcome.generator, seconds)

    # --- parts --------------------------------------------------------------------------------------------------

    async def _owed(self, memory: "ReMeInMemoryMemory") -> Owed | None:
        if self.compactor.model is None:
            return None
        try:
            return await owed_to(memory)
        except Exception as error:
            logger.warning("What a checkpoint of session %s lacks cannot be read (%s).", memory.session_id, error)
            return None

    async def _total(self, memory: "ReMeInMemoryMemory", sizes: Plan) -> int:
        return sizes.fixed + await memory.summary_tokens() + await memory.message_tokens()

    async def _frame_tokens(self, memory: "ReMeInMemoryMemory") -> int:
        journal = memory.journal
        empty = envelope_text(
            "",
            path=journal.path if journal else "",
            language=self._language(memory),
            inside_turn=True,
            tools=memory.tools,
        )
        return await memory.budget.fixed(empty) + 8

    def _language(self, memory: "ReMeInMemoryMemory") -> str:
        if self.language in ("en", "zh"):
            return self.language
        default = memory.summary_note.language or "en"
        return user_language((message for message, _ in memory.content[-200:]), default)

    def _note(self, memory: "ReMeInMemoryMemory", fold: Fold, checkpoint: Checkpoint) -> SummaryNote:
        before = memory.summary_note
        note = SummaryNote(self._language(memory), fold.inside_turn, checkpoint.generator, fold.since)
        if checkpoint.generator == UNCHANGED:
            return before
        if checkpoint.generator == "model" or self.compactor.model is None:
            return note
        return owing(note, before, fold.previous, [message.id for message in fold.told])


def _still_there(memory: "ReMeInMemoryMemory", fold: Fold) -> bool:
    """Whether others have left the checkpoint and every folded message as they were."""
    present = {id(message) for message, _ in memory.content}
    return memory.get_compressed_summary() == fold.previous and all(id(one) in present for one, _ in fold.entries)


def _joined(first: CompactionOutcome, second: CompactionOutcome) -> CompactionOutcome:
    """What two folds of one run did together."""
    if isinstance(second, Compacted) and isinstance(first, Compacted):
        return replace(second, moved=first.moved + second.moved)
    return second if isinstance(second, Compacted) else first
