"""ReMe: one object that owns a vault and plugs it into agents."""

import asyncio
import logging
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any
from uuid import uuid4
from weakref import WeakKeyDictionary, WeakSet

from .config import ReMeConfig
from .errors import ConfigError, ReMeError, StateError
from .facade import WorkingMemoryAPI
from .forgetting import Forgetting
from .memory.compaction import Compaction, Left
from .memory.compactor import Compactor
from .memory.kept_results import let_expire
from .memory.lock import LoopLock
from .memory.tokens import TokenBudget
from .memory.tool_result import ToolResultCompactor
from .models import CompactionEvent, Response, SearchResult
from .vault.layout import METADATA

if TYPE_CHECKING:
    from pathlib import Path

    from agentscope.tool import ToolResponse

    from .index import Index
    from .memory.in_memory import ReMeInMemoryMemory
    from .vault import Vault

logger = logging.getLogger(__name__)

# What an open vault and its index were made with.
_FIXED = ("vault_dir", "timezone", "link_resolution", "chunk_chars", "embed_toc", "chinese", "ignore")

# Names of the systems this one is compatible with -> ours.
_ALIASES = {
    "working_dir": "vault_dir",
    "memory_compact_ratio": "compact_ratio",
    "tool_result_threshold": "old_max_bytes",
}


class ReMe(WorkingMemoryAPI, Forgetting):
    """A vault, its index, and the working memory of the agents attached to it.

    It opens its vault on first use and makes no folder before the first write. Use it as an asynchronous context
    manager, or call :meth:`close` at the end; :meth:`start` only does early what the first use would do.

    Args:
        vault_dir: Folder of the vault.
        chat_model: Any AgentScope chat model, for checkpoints; without one they are extractive.
        formatter: The formatter that belongs to ``chat_model``.
        token_counter: An AgentScope ``TokenCounterBase`` or a :class:`~agentscope_reme.memory.tokens.TextCounter`; the
            Qwen vocabulary by default.
        on_event: Called with each :class:`~agentscope_reme.models.CompactionEvent`.
        config: A whole configuration; ``settings`` override its fields.
        **settings: Every field of :class:`~agentscope_reme.ReMeConfig`.

    Raises:
        ConfigError: A setting is unknown or cannot be used; the message names it.
    """

    def __init__(
        self,
        vault_dir: "str | Path | None" = None,
        *,
        chat_model: Any = None,
        formatter: Any = None,
        token_counter: Any = None,
        on_event: Callable[[CompactionEvent], None] | None = None,
        config: ReMeConfig | None = None,
        **settings: Any,
    ) -> None:
        if vault_dir is not None:
            settings["vault_dir"] = vault_dir
        self.config = ReMeConfig.of(**{**(config.model_dump() if config else {}), **_renamed(settings)})
        self.chat_model = chat_model
        self.formatter = formatter
        self.budget = TokenBudget(token_counter, self.config.media_tokens)
        self.on_event = on_event
        self._vault: Vault | None = None
        self._index: Index | None = None
        self._compaction: Compaction | None = None
        self._tool_results: ToolResultCompactor | None = None
        self._memories: WeakSet[Any] = WeakSet()
        self._stand_ins: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
        self._warned: WeakKeyDictionary[Any, set[str]] = WeakKeyDictionary()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._writing = LoopLock()
        self._functional_session = uuid4().hex
        self._closed = False

    def __deepcopy__(self, memo: dict[int, Any]) -> "ReMe":
        return self

    # --- life -----------------------------------------------------------------------------------------------------

    async def __aenter__(self) -> "ReMe":
        return await self.start()

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    async def start(self) -> "ReMe":
        """Do early what the first use does: load the vocabulary, bring the index up to date. Safe to call again."""
        self._open()
        await self.budget.ready()
        if self.vault.root.is_dir():
            if (self.vault.root / METADATA).is_dir():  # somebody has written here before
                await asyncio.to_thread(self._tidy)
            await let_expire(self.vault, self._memories, self.config.retention_days)
            await self.index.sync()
        return self

    def _tidy(self) -> None:
        """Remove what dead writers left, and let go of old history. A vault that cannot be written stays as it is."""
        from .vault.retention import prune

        try:
            self.vault.storage.sweep()
            prune(self.vault.log)
        except (ReMeError, OSError) as error:
            logger.info("The vault was not tidied (%s).", error)

    async def close(self) -> None:
        """Finish background cards within ``close_timeout`` seconds, persist the index, stop. Safe to call twice."""
        if self._closed:
            return
        await self.await_summary_tasks(self.config.close_timeout)
        waiting = self._tasks_here()
        for task in waiting:
            task.cancel()
        if waiting:
            await asyncio.gather(*waiting, return_exceptions=True)
        if self._vault is not None:
            await let_expire(self._vault, self._memories, self.config.retention_days)
        if self._index is not None:
            await self._index.close()
        self._closed = True

    def _open(self) -> None:
        if self._closed:
            raise StateError("this ReMe is closed; make a new one")

    # --- parts ----------------------------------------------------------------------------------------------------

    @property
    def vault(self) -> "Vault":
        """The files: ``read``, ``write``, ``append``, ``edit``, ``list``, journals."""
        self._open()
        if self._vault is None:
            from .vault import Vault

            config = self.config
            self._vault = Vault(
                config.vault_dir,
                timezone=config.timezone,
                read_max_bytes=config.read_max_bytes,
                ignore=config.ignore,
                link_rule=config.link_resolution,
            )
        return self._vault

    @property
    def index(self) -> "Index":
        """What is searched; derived from the files, disposable."""
        self._open()
        if self._index is None:
            from .index import Index

            self._index = Index(self.vault, self.config)
        return self._index

    @property
    def tool_results(self) -> ToolResultCompactor:
        """Bounds tool results, as middleware and by age."""
        if self._tool_results is None:
            config = self.config
            self._tool_results = ToolResultCompactor(
                self.vault,
                recent_tool_results=config.recent_tool_results,
                recent_max_bytes=config.recent_max_bytes,
                old_max_bytes=config.old_max_bytes,
                budget=self.budget,
                window=config.max_input_length,
            )
        return self._tool_results

    @property
    def compaction(self) -> Compaction:
        """Keeps working memories within their windows."""
        if self._compaction is None:
            compactor = Compactor(
                self.chat_model,
                self.formatter,
                timeout=self.config.compaction_timeout,
                add_thinking_block=self.config.add_thinking_block,
            )
            self._compaction = Compaction(
                compactor, self.tool_results, on_event=self._tell, on_left=self._left, language=self.config.language
            )
        return self._compaction

    def _tell(self, event: CompactionEvent) -> None:
        if self.on_event is not None:
            self.on_event(event)

    # --- agents ---------------------------------------------------------------------------------------------------

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
    ) -> "ReMeInMemoryMemory | Any":
        """Give an agent this memory: working memory, tools and hook. Doing it again changes nothing.

        A stock ``InMemoryMemory`` is replaced and its messages stay, object for object. Any other memory is kept: the
        hook then does what that memory allows and says once what it cannot.

        Args:
            agent: A ``ReActAgent`` or another agent with ``pre_reasoning`` hooks.
            session_id: Names the conversation's journal.
            tools: Which memory tools the agent gets.
            prefix: Put before the tools' names, where the agent has tools of these names already.
            max_input_length: Window of this agent's model, where it differs.
            compact_ratio: Share of it at which compaction starts, where it differs.

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
            self,
            agent,
            session_id,
            tools=tools,
            prefix=prefix,
            max_input_length=max_input_length,
            compact_ratio=compact_ratio,
        )

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

    def guidance(self, language: str | None = None) -> str:
        """Return under 200 tokens for a system prompt: when to search, where to write, what the vault is.

        Args:
            language: ``en`` or ``zh``; the configured language, English where that is ``auto``.
        """
        from .prompts import load_prompt

        chosen = language or self.config.language
        return load_prompt("guidance", chosen if chosen in ("en", "zh") else "en")

    def update_params(self, **settings: Any) -> None:
        """Change settings at run time, such as ``max_input_length``, ``compact_ratio``, ``language``.

        Memories follow at their next step. What the vault was opened with (its folder, zone, index) cannot be changed.

        Raises:
            ConfigError: A setting is unknown or cannot be used; nothing was changed.
        """
        changes = _renamed({name: value for name, value in settings.items() if value is not None})
        for name in _FIXED:
            if name in changes:
                raise ConfigError(f"{name}: an open vault keeps what it was opened with; make a new ReMe")
        config = self.config = ReMeConfig.of(**{**self.config.model_dump(), **changes})
        self._compaction = None
        self.budget.media_tokens = config.media_tokens
        # The same object: toolkits have it as their middleware.
        self.tool_results.configure(
            config.recent_tool_results, config.recent_max_bytes, config.old_max_bytes, config.max_input_length
        )
        for memory in self._memories:
            memory.config = self.config

    # --- search ---------------------------------------------------------------------------------------------------

    async def search(
        self,
        query: str,
        limit: int = 5,
        min_score: float | None = None,
        filter: dict[str, Any] | None = None,
        token_budget: int | None = None,
    ) -> SearchResult:
        """Search notes, cards and journals.

        Args:
            query: Words or a question, Chinese or English.
            limit: Most hits.
            min_score: Leave out what scores below; None leaves nothing out.
            filter: ``path`` prefix, ``tags``, ``since`` and ``until`` dates, any front-matter key.
            token_budget: Most tokens of text in all hits together.
        """
        return await self.index.search(query, limit, min_score, filter, token_budget)

    async def memory_search(self, query: str, max_results: int = 5, min_score: float | None = None) -> "ToolResponse":
        """Search, and return what the tool of this name returns to an agent. Never raises for an odd argument."""
        from .toolkit import MemoryTools

        return await MemoryTools(self).memory_search(query, max_results, min_score or 0.0)

    # --- what left a context --------------------------------------------------------------------------------------

    def _left(self, left: Left) -> None:
        if self.config.write_memory_on_compaction and not self._closed:
            self._background(self._write_card(left.messages, left.session_id))

    async def _write_card(self, messages: Sequence[dict[str, Any]], session_id: str) -> Response:
        from .pipelines.auto_memory import write_extractive_card

        async with self._writing:
            return await write_extractive_card(
                self.vault, messages, session_id=session_id, language=self.config.language
            )


def _renamed(settings: dict[str, Any]) -> dict[str, Any]:
    """Translate the names of compatible systems, with a warning."""
    out = {}
    for name, value in settings.items():
        if name in _ALIASES:
            warnings.warn(f"{name} is called {_ALIASES[name]} here", DeprecationWarning, stacklevel=4)
        out[_ALIASES.get(name, name)] = value
    return out
