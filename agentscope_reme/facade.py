"""The functional interface to working memory, for agents that are not ``ReActAgent``.

Functions on lists of messages; none of them changes what it was given.
"""

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .errors import ReMeError
from .models import Failed

if TYPE_CHECKING:
    from weakref import WeakSet

    from agentscope.message import Msg

    from .config import ReMeConfig
    from .memory.compaction import Compaction
    from .memory.in_memory import ReMeInMemoryMemory
    from .memory.tokens import TokenBudget
    from .memory.tool_result import ToolResultCompactor
    from .vault import Vault

logger = logging.getLogger(__name__)


class WorkingMemoryAPI:
    """What :class:`~agentscope_reme.ReMe` offers beside hooks; a part of it, not used alone."""

    config: "ReMeConfig"
    budget: "TokenBudget"
    _functional_session: str
    _memories: "WeakSet[Any]"

    if TYPE_CHECKING:

        @property
        def vault(self) -> "Vault": ...
        @property
        def compaction(self) -> "Compaction": ...
        @property
        def tool_results(self) -> "ToolResultCompactor": ...

    # --- context ----------------------------------------------------------------------------------------------------

    async def compact_tool_result(self, messages: "Sequence[Msg]", keep_n: int | None = None) -> "list[Msg]":
        """Return the messages with long tool results moved to files; those given are not changed.

        Args:
            messages: A conversation.
            keep_n: How many of the newest results count as recent; the configured number by default.
        """
        return await self.tool_results.compact(messages, recent=keep_n)

    async def check_context(
        self,
        messages: "Sequence[Msg]",
        memory_compact_threshold: int | None = None,
        memory_compact_reserve: int | None = None,
    ) -> "tuple[list[Msg], list[Msg], bool]":
        """Divide a conversation: ``(messages_to_compact, messages_to_keep, is_valid)``.

        Args:
            messages: A conversation.
            memory_compact_threshold: Tokens from which something is compacted; the configured share of the window.
            memory_compact_reserve: Tokens of recent messages to keep; the configured ones, at most a quarter of the
                threshold.

        Nothing is to be compacted below the threshold. ``is_valid`` says that no call is parted from its result.
        """
        from .memory.window import cut, is_sound

        config = self.config
        threshold, reserve = memory_compact_threshold, memory_compact_reserve
        if threshold is None:
            threshold = int(config.max_input_length * config.compact_ratio)
        if reserve is None:
            reserve = min(config.memory_compact_reserve, threshold // 4)
        costs = [await self.budget.message(message) for message in messages]
        if sum(costs) <= threshold:
            return [], list(messages), True
        division = cut([(message, []) for message in messages], costs, min(reserve, threshold))
        keep = [messages[i] for i in division.keep]
        return [messages[i] for i in division.fold], keep, is_sound(keep)

    async def compact_memory(
        self,
        messages: "Sequence[Msg]",
        previous_summary: str = "",
        *,
        language: str | None = None,
        max_input_length: int | None = None,
        compact_ratio: float | None = None,
        return_dict: bool = False,
        add_thinking_block: bool = True,
        extra_instruction: str = "",
    ) -> str | dict[str, Any]:
        """Return a checkpoint of the messages and the previous one. Never an error text.

        Args:
            messages: What is condensed.
            previous_summary: The checkpoint so far.
            language: ``en``, ``zh``, or ``auto`` for the user's.
            max_input_length: Window of the model, in tokens.
            compact_ratio: Accepted for compatibility; the length of a checkpoint follows from the window.
            return_dict: Return ``{"user_message", "history_compact", "is_valid"}`` and raise nothing.
            add_thinking_block: Give thinking blocks to the model, as plain text.
            extra_instruction: What is to be kept or left out.

        Raises:
            ReMeError: No checkpoint could be made (without ``return_dict``).
        """
        from .memory.compactor import Compactor
        from .memory.envelope import envelope_text, user_language
        from .memory.plan import LEAST_CAP

        config = self.config
        window = config.own_window(max_input_length, None)[0] or config.max_input_length
        chosen = language if language in ("en", "zh") else config.language
        chosen = chosen if chosen in ("en", "zh") else user_language(messages)
        compactor = self.compaction.compactor
        if add_thinking_block != config.add_thinking_block:
            compactor = Compactor(
                compactor.model,
                compactor.formatter,
                timeout=config.compaction_timeout,
                add_thinking_block=add_thinking_block,
            )
        outcome: Any = Failed("nothing_to_summarise")
        if messages:
            cap = max(LEAST_CAP, min(config.summary_max_tokens, window // 8))
            outcome = await compactor.checkpoint(
                messages,
                previous_summary,
                language=chosen,
                cap=cap,
                window=window,
                replaced_tokens=cap + 1,  # asked for as such: a short conversation may well be shorter than this
                count=self.budget.text,
                extra_instruction=extra_instruction,
            )
        if isinstance(outcome, Failed):
            if return_dict:
                return {"user_message": "", "history_compact": "", "is_valid": False}
            raise ReMeError(f"no checkpoint: {outcome.reason} {outcome.error}".strip())
        if return_dict:
            shown = envelope_text(outcome.text, path="", language=chosen, inside_turn=False)
            return {"user_message": shown, "history_compact": outcome.text, "is_valid": True}
        return str(outcome.text)

    async def pre_reasoning_hook(
        self,
        messages: "Sequence[Msg]",
        system_prompt: str = "",
        compressed_summary: str = "",
        *,
        max_input_length: int | None = None,
        compact_ratio: float | None = None,
        memory_compact_reserve: int | None = None,
        enable_tool_result_compact: bool = True,
        tool_result_compact_keep_n: int | None = None,
        session_id: str = "",
    ) -> "tuple[list[Msg], str]":
        """Return ``(messages, summary)`` that fit the window, without touching what was given.

        What is folded is in the journal before it is left out of the result. Messages that stay as they are come back
        as the same objects. A history that arrives broken comes back repaired: calls that nobody answered are closed as
        interrupted, and results without a call and empty turns are in the journal only.

        Args:
            messages: A conversation.
            system_prompt: Counted with it.
            compressed_summary: The checkpoint so far.
            max_input_length: Window of the model, in tokens.
            compact_ratio: Share of it at which compaction starts.
            memory_compact_reserve: Tokens of recent messages to keep.
            enable_tool_result_compact: Move long tool results to files first.
            tool_result_compact_keep_n: How many of the newest results count as recent.
            session_id: Names the journal of this conversation. Without one it is that of the memory of this object
                which holds these messages, or else one that all calls share.
        """
        given = list(messages)
        if enable_tool_result_compact:
            given = await self.compact_tool_result(given, tool_result_compact_keep_n)
        memory = self._scratch(given, compressed_summary, max_input_length, compact_ratio, memory_compact_reserve)
        memory.session_id = session_id or self._session_of(messages) or self._functional_session
        given_as = {id(copied): message for (copied, _), message in zip(memory.content, given, strict=True)}
        await self.compaction.keep_within_window(memory, system_prompt=system_prompt)
        shown = [(message, given_as.get(id(message), message)) for message in await _repaired(memory)]
        kept = [one if one.content != other.content else other for one, other in shown]
        return kept, memory.get_compressed_summary()

    def _session_of(self, messages: "Sequence[Msg]") -> str:
        """The session of the one memory that holds the newest of these messages, "" when none or several do."""
        newest = messages[-1].id if messages else None
        holders = {memory.session_id for memory in self._memories if memory.ledger.ids.get(newest)}
        return str(holders.pop()) if len(holders) == 1 else ""

    def _scratch(
        self,
        messages: "Sequence[Msg]",
        summary: str,
        window: int | None,
        ratio: float | None,
        reserve: int | None,
    ) -> "ReMeInMemoryMemory":
        from copy import deepcopy

        from .memory.in_memory import ReMeInMemoryMemory
        from .memory.state import SummaryNote

        config = self.config
        if reserve is not None:
            config = config.of(**{**config.model_dump(), "memory_compact_reserve": reserve})
        memory = ReMeInMemoryMemory(
            self.vault, config=config, budget=self.budget, max_input_length=window, compact_ratio=ratio
        )
        memory.content = [(deepcopy(message), []) for message in messages]
        if summary:
            memory.set_summary(summary, SummaryNote(generator="caller"))
        return memory


async def _repaired(memory: "ReMeInMemoryMemory") -> "list[Msg]":
    """Return the messages as a model may see them; what that leaves out or shortens is journalled first."""
    shown = await memory.get_memory(prepend_summary=False)
    whole = {id(message) for message in shown}
    changed = [entry for entry in memory.content if id(entry[0]) not in whole]
    try:
        await memory.write_journal(changed)
    except Exception as error:
        logger.warning("What a repair leaves out could not be journalled (%s); it stays as it is.", error)
        return [message for message, _ in memory.content]
    return shown
