"""ReMeInMemoryMemory: AgentScope's ``InMemoryMemory`` whose past lies in the vault and not in the process."""

import logging
from collections.abc import Sequence
from copy import deepcopy
from typing import TYPE_CHECKING, Any
from uuid import uuid4
from weakref import WeakSet

from agentscope.memory import InMemoryMemory
from agentscope.message import Msg

from ..config import ReMeConfig
from ..errors import StateError
from ..vault.encoding import clean_text
from . import state as saved_state
from .blocks import COMPRESSED, RECALL, with_text_ids
from .breaker import Breaker
from .envelope import envelope_id, envelope_text, without_envelope
from .history import TokenEstimate, history_text, token_estimate
from .ledger import Entry, Ledger
from .left import compressed_messages, left_messages
from .lock import LoopLock
from .marks import mark_list, plain_mark
from .requests import make_ready
from .running import Step
from .state import SummaryNote, note_of_caller
from .tokens import TokenBudget
from .tombstones import Tombstones
from .vault_tools import VaultTools
from .view import View

if TYPE_CHECKING:
    from ..vault import Vault
    from ..vault.dialog import Journal
    from .tool_result import ToolResultCompactor

logger = logging.getLogger(__name__)


class ReMeInMemoryMemory(InMemoryMemory):
    """A drop-in ``InMemoryMemory`` that stays bounded: what is folded away leaves ``content`` and lies in the journal.

    Usually made by :meth:`agentscope_reme.ReMe.get_in_memory_memory`. Methods, marks and the shape of ``state_dict``
    are those of the stock class; states of either load into the other.

    Args:
        vault: Where the journal lies. Without one the memory works, and nothing is ever folded.
        session_id: Names the journal; a new random one by default. A loaded state brings its own.
        config: Defaults of the product where None.
        budget: Counts tokens; shared between memories.
        max_input_length: Window of this agent's model, in tokens; the configuration's where None.
        compact_ratio: Share of the window at which compaction starts; the configuration's where None.
    """

    changes_in_place = True  # not where a memory only stands in for another one
    next_refresh = float("-inf")  # when kept_results looks after its files again, by the monotonic clock

    def __init__(
        self,
        vault: "Vault | None" = None,
        *,
        session_id: str | None = None,
        config: ReMeConfig | None = None,
        budget: TokenBudget | None = None,
        max_input_length: int | None = None,
        compact_ratio: float | None = None,
    ) -> None:
        self._content: list[Entry] = []
        self._ledger = Ledger()
        super().__init__()
        self.vault = vault
        # As a saved state will have it, so that the journal's name stays the same.
        self.session_id = clean_text(session_id, keep_nul=True) if session_id else uuid4().hex
        self.config = config or ReMeConfig.of()
        self.budget = budget or TokenBudget(media_tokens=self.config.media_tokens)
        self._own_window, self._own_ratio = self.config.own_window(max_input_length, compact_ratio)
        self._tombstones, self._note, self.tools = Tombstones(), SummaryNote(), VaultTools()
        self._envelope: Msg | None = None
        # The message that opened the turn, and how many steps it has had.
        self.steps: tuple[str, int] = ("", 0)
        self._view = View()
        self.fixed_tokens = 0
        self.breaker, self.lock = Breaker(), LoopLock()
        self.own_name = ""  # of the agent whose step was the last
        self.last_step: Step | None = None
        self._journal: Journal | None = None
        # Knows what was cut from results where they entered, until the message says it itself.
        self.tool_results: ToolResultCompactor | None = None
        # The memories that follow the same settings; a copy is one of them.
        self.siblings: WeakSet[Any] = WeakSet()

    def __deepcopy__(self, memo: dict[int, Any]) -> "ReMeInMemoryMemory":
        """Copy the conversation; vault, counter and journal stay shared, the account and the lock are new."""
        copied = type(self).__new__(type(self))
        memo[id(self)] = copied
        shared = {"vault", "config", "budget", "_journal", "tool_results", "siblings"}
        fresh = {"lock": LoopLock(), "_ledger": Ledger(), "_view": View(), "breaker": Breaker()}
        fresh |= {"_envelope": None, "last_step": None}
        for name, value in self.__dict__.items():
            copied.__dict__[name] = fresh[name] if name in fresh else value if name in shared else deepcopy(value, memo)
        self.siblings.add(copied)
        return copied

    def __copy__(self) -> "ReMeInMemoryMemory":
        return deepcopy(self)

    def __reduce__(self) -> Any:
        """Pickle what a state holds. The vault stays here: the hook of a ReMe gives the memory its own again."""
        own = {"config": self.config, "max_input_length": self._own_window, "compact_ratio": self._own_ratio}
        return saved_state.unpickled, (type(self), own, self.state_dict())

    # --- content --------------------------------------------------------------------------------------------------

    @property
    def content(self) -> list[Entry]:
        """``(message, marks)`` in order. Changing the list from outside is noticed at the next step."""
        return self._content

    @content.setter
    def content(self, value: list[Entry]) -> None:
        self._content = value
        self._ledger.rebuild(value)

    @property
    def ledger(self) -> Ledger:
        """The running account of the content, brought up to date."""
        if not self._ledger.follows(self._content):
            self._ledger.rebuild(self._content)
        return self._ledger

    @property
    def max_input_length(self) -> int:
        """The window, in tokens."""
        return self._own_window or self.config.max_input_length

    @property
    def compact_ratio(self) -> float:
        """Share of the window at which compaction starts."""
        return self._own_ratio or self.config.compact_ratio

    def set_window(self, max_input_length: int | None = None, compact_ratio: float | None = None) -> None:
        """Set what this agent's model has of its own; None leaves it. ConfigError for what is none."""
        window, ratio = self.config.own_window(max_input_length, compact_ratio)
        self._own_window, self._own_ratio = window or self._own_window, ratio or self._own_ratio

    @property
    def journal(self) -> "Journal | None":
        """The journal of this conversation, or None without a vault."""
        if self.vault is not None and (self._journal is None or self._journal.session_id != self.session_id):
            self._journal = self.vault.journal(self.session_id)
        return self._journal

    async def add(
        self,
        memories: Msg | list[Msg] | None,
        marks: str | list[str] | None = None,
        allow_duplicates: bool = False,
        **kwargs: Any,
    ) -> None:
        """Add copies of messages. Those already here, or folded away earlier, are not added again."""
        if memories is None:
            return
        ledger, ids, added = self.ledger, set[str](), list[Msg]()
        for message in [memories] if isinstance(memories, Msg) else memories:
            known = message.id in ledger.ids or message.id in self._tombstones or message.id in ids
            if allow_duplicates or not known:
                ids.add(message.id)
                added.append(message)
        entries = [(with_text_ids(deepcopy(message)), mark_list(marks)) for message in added]
        for entry in entries:  # all, or none when one cannot be
            if self.tool_results is not None:
                self.tool_results.entering.stamp(entry[0])
            self._content.append(entry)
            ledger.append(*entry)

    def take_over(self, stock: InMemoryMemory) -> None:
        """Add what a stock memory has and this one has not, object for object; its summary where there is none here."""
        known = set(self.ledger.ids)
        self.content = self._content + [
            (message, mark_list(list(marks)))
            for message, marks in stock.content
            if message.id not in known and message.id not in self._tombstones
        ]
        summary = str(getattr(stock, "_compressed_summary", "") or "")
        if summary and not self._compressed_summary:
            self.set_summary(summary, note_of_caller(summary))

    async def delete_by_mark(self, mark: str | list[str], **kwargs: Any) -> int:
        """Remove messages by their marks; return how many. Called by AgentScope at every step.

        Raises:
            TypeError: A mark is not text.
        """
        wanted = mark_list(mark)
        before = len(self._content)
        ledger = self.ledger
        # Hints are the newest messages: they are taken off the end, and nothing has to be counted again.
        while self._content and not set(wanted).isdisjoint(self._content[-1][1]):
            if not ledger.drop_last(self._content):
                break
            self._view.forget()
        if any(ledger.marks.get(one) for one in wanted):
            self.content = [entry for entry in self._content if set(wanted).isdisjoint(entry[1])]
        return before - len(self._content)

    async def clear(self) -> None:
        """Remove all messages, as the stock class does: nothing is written anywhere, the summary stays."""
        self.content = []

    async def clear_content(self) -> int:
        """Write all messages to the journal, then remove them; return how many. The summary stays.

        Unlike a compaction this leaves no tombstones: what is added again comes in. When the journal cannot be written
        the error is raised and nothing is removed.
        """
        async with self.lock:
            count = len(self._content)
            entries = list(self._content)
            await self.write_journal(entries)
            self.remove(entries, tombstones=False)
            return count

    async def update_messages_mark(
        self, new_mark: str | None, old_mark: str | None = None, msg_ids: list[str] | None = None
    ) -> int:
        """Add, change or remove marks, as the stock class does."""
        changed = await super().update_messages_mark(new_mark, old_mark, msg_ids)
        # Also after none: replacing a mark by one that is there already is not counted, and takes the old one away.
        self._ledger.rebuild(self._content)
        self._view.forget()
        return changed

    async def mark_messages_compressed(self, messages: Sequence[Msg]) -> int:
        """Write these messages to the journal and take them out of the context; return how many were here."""
        async with self.lock:
            wanted = {message.id for message in messages}
            entries = [entry for entry in self._content if entry[0].id in wanted]
            await self.write_journal(entries)
            self.remove(entries)
            return len(entries)

    # --- what the model sees --------------------------------------------------------------------------------------

    async def get_memory(
        self,
        mark: str | None = None,
        exclude_mark: str | None = None,
        prepend_summary: bool = True,
        **kwargs: Any,
    ) -> list[Msg]:
        """Return the messages, the checkpoint first.

        Messages marked ``compressed`` are left out when there is a summary that covers them; ``mark="compressed"``
        reads them, and those that left the context, from the journal. Histories that arrived broken are shown repaired;
        what is stored is not touched.

        Raises:
            TypeError: A mark is not text.
        """
        mark, exclude_mark = plain_mark(mark), plain_mark(exclude_mark)
        if mark == COMPRESSED:
            return await compressed_messages(self)
        asked = mark is None and await make_ready(self)
        messages = self._view.visible(self._content, self.ledger, mark, self._hidden({exclude_mark}), over=asked)
        if prepend_summary and self._compressed_summary.strip():
            return [self.envelope(), *messages]
        return messages

    def _hidden(self, marks: "set[str | None]") -> "set[str | None]":
        return (marks - {None, COMPRESSED}) | ({COMPRESSED} if self._compressed_summary else set())

    def begin_step(self) -> None:
        """Note that a reasoning step begins: calls that have no result by now are shown as interrupted."""
        self._view.begin(self._content)

    def envelope(self) -> Msg:
        """The message in which the checkpoint reaches the model; the same id and bytes until the checkpoint changes."""
        if self._envelope is None:
            journal = self.journal
            text = envelope_text(
                self._compressed_summary,
                path=journal.path if journal is not None else "",
                language=self._note.language if self._note.language in ("en", "zh") else "en",
                inside_turn=self._note.inside_turn,
                tools=self.tools,
            )
            self._envelope = Msg("user", text, "user", timestamp=self._note.since or None)
            self._envelope.id = envelope_id(text)
        return self._envelope

    def name_tools(self, tools: VaultTools) -> None:
        """Note the names under which the agent has the tools that read the vault; the envelope says them."""
        if tools != self.tools:
            self.tools, self._envelope = tools, None

    def get_compressed_summary(self) -> str:
        """Return the checkpoint as it is stored, without its envelope."""
        return str(self._compressed_summary)

    async def update_compressed_summary(self, summary: str) -> None:
        """Replace the checkpoint; "" removes it. Messages stay as they are."""
        self.set_summary(summary, note_of_caller(summary))

    async def left_messages(self, ids: Sequence[str] | None = None) -> list[Msg]:
        """Return the journalled messages, or those with these ids: whole, as they were last, in the order they left."""
        return await left_messages(self.journal, ids) if self.journal is not None else []

    # --- tokens ---------------------------------------------------------------------------------------------------

    async def message_tokens(self) -> int:
        """Return the tokens of all messages, and of what closes calls nobody answered; only new ones are counted."""
        return await self.ledger.settle(self.budget) + await self._view.added(self._content, self.ledger, self.budget)

    async def summary_tokens(self) -> int:
        """Return the tokens of the checkpoint in its envelope; 0 without one."""
        if not self._compressed_summary.strip():
            return 0
        return await self.budget.fixed(str(self.envelope().content)) + 8

    async def estimate_tokens(self, max_input_length: int | None = None) -> TokenEstimate:
        """Return the use of the window; see :class:`~agentscope_reme.memory.history.TokenEstimate`."""
        return await token_estimate(self, max_input_length or self.max_input_length)

    async def get_history_str(self, max_input_length: int | None = None) -> str:
        """Return the conversation as readable text, with the tokens of each message."""
        return history_text(await self.estimate_tokens(max_input_length))

    # --- the parts of a compaction --------------------------------------------------------------------------------

    async def write_journal(self, entries: Sequence[Entry]) -> None:
        """Write messages to the journal, durably; those already there are not written again. Raises when it cannot.

        Recalled text is not: nobody said it, and it stands in the vault already.
        """
        journal = self.journal
        if journal is None:
            raise StateError("this memory has no vault; nothing can leave it. Make it with reme.get_in_memory_memory()")
        if not entries:
            return
        from ..vault.dialog import JournalRecord

        await self.ledger.settle(self.budget)
        kept = [
            (message, tuple(marks), self._ledger.cost(message)) for message, marks in entries if RECALL not in marks
        ]
        # One after the other while they are written: thousands at once would have the collector stop everything.
        await journal.add(JournalRecord(message.to_dict(), marks, tokens) for message, marks, tokens in kept)

    def remove(self, entries: Sequence[Entry], *, tombstones: bool = True) -> None:
        """Take these very objects out of the content, whatever has come in meanwhile."""
        gone = {id(message) for message, _ in entries}
        if tombstones:
            for message, _ in entries:
                self._tombstones.add(message.id)
            self._tombstones.bound(self.config.tombstones)
        self.content = [entry for entry in self._content if id(entry[0]) not in gone]

    def forget_view(self) -> None:
        """Drop the repaired view, after messages were changed in place."""
        self._view.forget()

    def set_summary(self, summary: str, note: SummaryNote) -> None:
        """Replace the checkpoint and what is known about it, in one step; an envelope around or in it is taken off."""
        self._compressed_summary = without_envelope(summary)
        self._note = note
        self._envelope = None

    def swap(self, entries: Sequence[Entry], summary: str, note: SummaryNote) -> None:
        """Take messages out and put the checkpoint that covers them in: one step, nothing awaited in between."""
        self.set_summary(summary, note)
        self.remove(entries)

    @property
    def summary_note(self) -> SummaryNote:
        """What is known about the checkpoint beside its text."""
        return self._note

    # --- state ----------------------------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """Return the memory as strict JSON values that share nothing with it."""
        converted: list[str] = []
        result = saved_state.dump(super().state_dict(), self.session_id, self._tombstones.text(), self._note, converted)
        if converted:
            logger.info("Saved as JSON with changed values: %s", "; ".join(converted[:20]))
        return result

    def load_state_dict(self, state_dict: dict[str, Any], strict: bool = True) -> None:
        """Load a state of this class, of the stock one or of an older shape; missing keys take their defaults.

        Raises:
            StateError: A value has the wrong type; the memory is as it was.
        """
        loaded = saved_state.read(state_dict)
        self.content = loaded.content
        self.session_id = loaded.session_id or self.session_id
        self._tombstones = loaded.tombstones
        self.set_summary(loaded.summary, loaded.note)
        self.breaker = Breaker()
