"""Plugging a :class:`~agentscope_reme.ReMe` into agents: their working memories, tools and hooks."""

import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

from .errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path
    from weakref import WeakKeyDictionary, WeakSet

    from .adapters.recorder import Recorder
    from .config import ReMeConfig
    from .memory.in_memory import ReMeInMemoryMemory
    from .memory.tokens import TokenBudget
    from .memory.tool_result import ToolResultCompactor
    from .models import Response
    from .vault import Vault

logger = logging.getLogger(__name__)


class Agents:
    """What lets a :class:`~agentscope_reme.ReMe` serve agents; a part of it, not used alone."""

    config: "ReMeConfig"
    budget: "TokenBudget"
    _vault: "Vault | None"
    _memories: "WeakSet[Any]"
    _stand_ins: "WeakKeyDictionary[Any, Any]"
    _warned: "WeakKeyDictionary[Any, set[str]]"
    _recorder: "Recorder | None" = None

    if TYPE_CHECKING:

        @property
        def vault(self) -> "Vault": ...
        @property
        def tool_results(self) -> "ToolResultCompactor": ...
        def _open(self) -> None: ...
        async def _remember(self, payload: "Mapping[str, Any]") -> "Response": ...

    @classmethod
    def for_scope(cls, root: "str | Path", user_id: str, **settings: Any) -> Self:
        """Make the memory of one user, or of one agent: a vault of its own in ``root``, which no other id reaches.

        Args:
            root: A folder that holds nothing but such vaults.
            user_id: Any text. It is encoded into a folder name, differently for different ids, whatever it holds.
            settings: As for a :class:`ReMe`.

        Raises:
            ConfigError: The id is empty or no text, or ``root`` is a vault itself, whose owner would see all of them.
        """
        from pathlib import Path

        from .vault.layout import MEMORY_FILE, VAULT_FOLDERS, scope_folder

        if not isinstance(user_id, str) or not user_id.strip():
            raise ConfigError(f"user_id: {user_id!r} names nobody; without an id all would share one memory")
        folder = Path(root)
        if found := next((name for name in (MEMORY_FILE, *sorted(VAULT_FOLDERS)) if (folder / name).exists()), None):
            raise ConfigError(f"{folder} is a vault itself (it has {found}); give one that holds only users' vaults")
        return cls(folder / scope_folder(user_id), **settings)  # type: ignore[call-arg]

    @property
    def recorder(self) -> "Recorder":
        """Keeps what is said in the sessions of this object; what the recording hook and long-term memory use."""
        from .adapters.recorder import Recorder

        self._open()
        if self._recorder is None:
            self._recorder = Recorder(self)  # type: ignore[arg-type]
        return self._recorder

    async def _take_up(self, payload: "Mapping[str, Any]") -> "Response":
        """Do what a batch of recorded turns has to have done."""
        ids = await self.recorder.take_up(payload)
        return await self._remember({"session_id": payload.get("session_id"), "ids": ids})

    def get_in_memory_memory(
        self,
        session_id: str | None = None,
        *,
        max_input_length: int | None = None,
        compact_ratio: float | None = None,
    ) -> "ReMeInMemoryMemory":
        """Return a new working memory over this vault.

        Args:
            session_id: Names the conversation's journal; a new random one by default.
            max_input_length: Window of this agent's model, in tokens, where it differs.
            compact_ratio: Share of it at which compaction starts, where it differs.
        """
        from .memory.in_memory import ReMeInMemoryMemory

        memory = ReMeInMemoryMemory(
            self.vault,
            session_id=session_id,
            config=self.config,
            budget=self.budget,
            max_input_length=max_input_length,
            compact_ratio=compact_ratio,
        )
        self.adopt(memory)
        return memory

    def attach(
        self,
        agent: Any,
        session_id: str | None = None,
        *,
        tools: Sequence[str] = ("memory_search", "read", "edit", "write"),
        prefix: str = "",
        max_input_length: int | None = None,
        compact_ratio: float | None = None,
        recall: bool | None = None,
        record: bool | None = None,
    ) -> "ReMeInMemoryMemory | Any":
        """Give an agent this memory: working memory, tools and hooks. Doing it again changes nothing.

        A stock ``InMemoryMemory`` is replaced and its messages stay, object for object. Any other memory is kept: the
        hook then does what that memory allows and says once what it cannot.

        Args:
            agent: A ``ReActAgent`` or another agent with ``pre_reasoning`` hooks.
            session_id: Names the conversation's journal.
            tools: Which memory tools the agent gets.
            prefix: Put before the tools' names, where the agent has tools of these names already.
            max_input_length: Window of this agent's model, where it differs.
            compact_ratio: Share of it at which compaction starts, where it differs.
            recall: Put what the vault holds about each message before it (:class:`~agentscope_reme.hooks.RecallHook`).
                None, the default, leaves it as it is: off at first; False switches it off again.
            record: Journal each turn and write what is worth keeping into cards, in the background
                (:class:`~agentscope_reme.hooks.RecordingHook`). None and False as above.

        Returns:
            The agent's memory.

        Raises:
            ConfigError: The agent has no such hooks, or its memory is another session's or another vault's. Nothing was
                changed.
            ValueError: The agent has tools of these names that are not ours. Nothing was changed.
        """
        from .attachment import attach

        self._open()
        return attach(
            self,  # type: ignore[arg-type]
            agent,
            session_id,
            tools=tools,
            prefix=prefix,
            max_input_length=max_input_length,
            compact_ratio=compact_ratio,
            recall=recall,
            record=record,
        )

    def metered(self, model: Any) -> Any:
        """Return a chat model whose provider's reported usage corrects this one's token counts.

        It is the model in everything else: attributes, tools, ``structured_model``, streaming. Give it to the agent in
        the model's place. Counts, reports and the threshold then follow the provider's own count within 0.8 to 2.0
        times the counter's; ``reme.budget.correction`` says where it is. Without this nothing is wrapped.

        Args:
            model: An AgentScope chat model.
        """
        from .memory.metering import metered

        return metered(model, self.budget)

    def adopt(self, memory: Any) -> None:
        """Give a memory that was made by hand this one's vault, settings and counter, where it has none yet."""
        if memory.vault is None:
            memory.vault, memory.config, memory.budget = self.vault, self.config, self.budget
        memory.tool_results = memory.tool_results or self.tool_results
        memory.siblings = self._memories
        self._memories.add(memory)

    def shares_vault(self, memory: Any) -> bool:
        """Say whether a memory has no vault yet, or lies in this one."""
        return memory.vault is None or memory.vault.root == (self._vault or self.vault).root

    def known_stand_in(self, memory: Any) -> Any:
        """Return the stand-in of a memory that is not ours, if it has one."""
        return self._stand_ins.get(memory)

    def stand_in(self, memory: Any, session_id: str | None = None) -> Any:
        """Return the working memory that stands in for one that is not ours; the same for the same memory."""
        from .hooks.foreign import StandIn

        known = self._stand_ins.get(memory)
        if known is None:
            known = StandIn(self.vault, session_id=session_id, config=self.config, budget=self.budget)
            self._stand_ins[memory] = known
            self._memories.add(known)
        return known

    def warn_once(self, owner: Any, text: str | None) -> None:
        """Log a warning about an agent, the first time it is said."""
        said = self._warned.setdefault(owner, set())
        if text and text not in said:
            said.add(text)
            logger.warning("%s: %s", getattr(owner, "name", type(owner).__name__), text)
