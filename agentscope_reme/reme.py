"""ReMe: one object that owns a vault and plugs it into agents."""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self
from uuid import uuid4
from weakref import WeakKeyDictionary, WeakSet

from .agents import Agents
from .config import FIXED_SETTINGS, ReMeConfig, renamed
from .documents import Documents
from .errors import ConfigError, ReMeError, StateError
from .facade import WorkingMemoryAPI
from .forgetting import Forgetting
from .knowledge import Knowledge
from .loading import loaded
from .memory.kept_results import let_expire
from .memory.tokens import START_WAITS, TokenBudget
from .models import CompactionEvent, NodeHit, SearchResult, Traversal
from .vault.layout import METADATA

if TYPE_CHECKING:
    from pathlib import Path

    from agentscope.tool import ToolResponse

    from .index import Index
    from .index.watch import Watcher
    from .memory.compaction import Compaction
    from .memory.tool_result import ToolResultCompactor
    from .vault import Vault

logger = logging.getLogger(__name__)

# What the first uses import.
_USED = (
    *("vault.notes", "vault.dialog", "index.watch", "index.search", "index.opened", "index.retrieval"),
    *("memory.compaction", "memory.tool_result"),
)


class ReMe(Agents, WorkingMemoryAPI, Knowledge, Documents, Forgetting):
    """A vault, its index, and the working memory of the agents attached to it.

    It opens its vault on first use and makes no folder before the first write. Use it as an asynchronous context
    manager, or call :meth:`close` at the end; :meth:`start` only does early what the first use would do.

    Args:
        vault_dir: Folder of the vault.
        chat_model: Any AgentScope chat model, for checkpoints; without one they are extractive.
        formatter: The formatter that belongs to ``chat_model``.
        embedding_model: Any AgentScope embedding model, or ``"local"`` for the one of the ``local-embedding`` extra;
            search then compares meanings beside words. Without one it compares words.
        token_counter: An AgentScope ``TokenCounterBase``, a :class:`~agentscope_reme.memory.tokens.TextCounter`, or the
            name or folder of a Hugging Face tokenizer; the Qwen vocabulary by default.
        toolkit: A ``Toolkit`` that gets the memory tools and whose results are bounded, as :meth:`attach` does it for
            an agent's own.
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
        embedding_model: Any = None,
        token_counter: Any = None,
        toolkit: Any = None,
        on_event: Callable[[CompactionEvent], None] | None = None,
        config: ReMeConfig | None = None,
        **settings: Any,
    ) -> None:
        if vault_dir is not None:
            settings["vault_dir"] = vault_dir
        self.config = ReMeConfig.of(**{**(config.model_dump() if config else {}), **renamed(settings)})
        self.chat_model = chat_model
        self.formatter = formatter
        self.embedding_model = _embedding_model(embedding_model)
        self.budget = TokenBudget(token_counter, self.config.media_tokens)
        self.on_event = on_event
        self._vault: Vault | None = None
        self._index: Index | None = None
        self._watcher: Watcher | None = None
        self._compaction: Compaction | None = None
        self.tool_names: dict[str, str] = {}  # of the tools as they were last registered
        self._tool_results: ToolResultCompactor | None = None
        self._memories: WeakSet[Any] = WeakSet()
        self._stand_ins: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
        self.successors: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()  # of stock memories that were replaced
        self._warned: WeakKeyDictionary[Any, set[str]] = WeakKeyDictionary()
        self._functional_session = uuid4().hex
        self._closed = False
        if toolkit is not None:
            from .toolkit import register_memory_tools

            register_memory_tools(toolkit, self)
            self.tool_results.install(toolkit)

    def __deepcopy__(self, memo: dict[int, Any]) -> "ReMe":
        return self

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
            raise ConfigError(
                f"{folder} is a vault itself (it has {found}); give a folder that holds only users' vaults"
            )
        return cls(folder / scope_folder(user_id), **settings)

    # --- life -----------------------------------------------------------------------------------------------------

    async def __aenter__(self) -> "ReMe":
        try:
            return await self.start()
        except BaseException:  # nothing comes by ``__aexit__`` that could not come in: no watcher stays behind
            try:
                await self.close()
            except Exception:
                logger.warning("A ReMe that could not be started was not closed either.", exc_info=True)
            raise

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    async def start(self) -> "ReMe":
        """Do early what the first use does: load the vocabulary, bring the index up to date. Safe to call again."""
        self._open()
        await loaded(*_USED)
        await self.budget.ready(START_WAITS)
        await asyncio.to_thread(self.watcher.start)  # before the scan, so that no change falls between the two
        self.index.follow(self.watcher)
        if self.vault.root.is_dir():
            if (self.vault.root / METADATA).is_dir():  # somebody has written here before
                await asyncio.to_thread(self._tidy)
            await let_expire(self.vault, self._memories, self.config.retention_days)
            with suppress(StateError):  # a folder that cannot be read: every search says so until it can be
                await self.index.sync()
        await self._begin_background()
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
        """Finish background work within ``close_timeout`` seconds, persist the index, stop. Safe to call twice.

        Work that is not done by then stays pending: the next ReMe that starts on this vault does it.
        """
        if self._closed:
            return
        if self._watcher is not None:
            await asyncio.to_thread(self._watcher.stop)
        if self._recorder is not None:
            await self._recorder.flush()
        await self._end_background()
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

            self._index = Index(self.vault, self.config, embedding_model=self.embedding_model)
            self.vault.inlinks = self._index
        return self._index

    @property
    def watcher(self) -> "Watcher":
        """Tells which files other programs change; started by :meth:`start`, stopped by :meth:`close`."""
        self._open()
        if self._watcher is None:
            from .index.watch import Watcher

            config = self.config
            self._watcher = Watcher(
                self.vault,
                quiet=config.watch_quiet,
                mode=config.watch,
                poll_seconds=config.poll_seconds,
                reconcile_seconds=config.reconcile_seconds,
            )
        return self._watcher

    @property
    def tool_results(self) -> "ToolResultCompactor":
        """Bounds tool results, as middleware and by age."""
        if self._tool_results is None:
            from .memory.tool_result import ToolResultCompactor

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
    def compaction(self) -> "Compaction":
        """Keeps working memories within their windows."""
        if self._compaction is None:
            from .memory.compaction import Compaction
            from .memory.compactor import Compactor

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

    # --- settings -------------------------------------------------------------------------------------------------

    def guidance(self, language: str | None = None, toolkit: Any = None, prefix: str = "") -> str:
        """Return under 200 tokens for a system prompt: when to search, where to write, what the vault is.

        Args:
            language: ``en`` or ``zh``; the configured language, English where that is ``auto``.
            toolkit: Whose tools are named; by default as they were last registered, on whichever toolkit.
            prefix: What they will be registered with, where that is still to come.
        """
        from .toolkit.guidance import guidance_text

        chosen = language or self.config.language
        return guidance_text(self, chosen if chosen in ("en", "zh") else "en", toolkit, prefix)

    def update_params(self, **settings: Any) -> None:
        """Change settings at run time, such as ``max_input_length``, ``compact_ratio``, ``language``.

        Memories follow at their next step. What the vault was opened with (its folder, zone, index) cannot be changed.

        Raises:
            ConfigError: A setting is unknown or cannot be used; nothing was changed.
        """
        changes = renamed({name: value for name, value in settings.items() if value is not None})
        for name in FIXED_SETTINGS:
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
        return await (await self._searched()).search(query, limit, min_score, filter, token_budget)

    async def node_search(self, query: str, limit: int = 10) -> list[NodeHit]:
        """Search the long-term notes of ``digest/`` alone; each with name and description, without text."""
        return await (await self._searched()).node_search(query, limit)

    async def traverse(self, path: str, depth: int = 1, direction: str = "both", limit: int = 100) -> Traversal:
        """Walk along links from a note, nearest notes first.

        Args:
            path: Vault-relative path, or a name that one note alone answers to.
            depth: How many links far, at most ten.
            direction: ``out`` (what it links to), ``in`` (what links to it) or ``both``.
            limit: Most notes.

        Raises:
            NoteNotFound: There is no such note.
        """
        return await (await self._searched()).traverse(path, depth, direction, limit)

    async def _searched(self) -> "Index":
        if self._index is None:
            await loaded("vault.notes", "index.search", "index.opened", "index.retrieval")
        return self.index

    async def memory_search(self, query: str, max_results: int = 5, min_score: float | None = None) -> "ToolResponse":
        """Search, and return what the tool of this name returns to an agent. Never raises for an odd argument."""
        from .toolkit import MemoryTools

        return await MemoryTools(self).memory_search(query, max_results, min_score or 0.0)


def _embedding_model(given: Any) -> Any:
    if given == "local":
        from .index.embedding_local import LocalModel

        return LocalModel()
    if given is None or (callable(given) and hasattr(given, "model_name") and hasattr(given, "dimensions")):
        return given
    raise ConfigError(f'embedding_model: {given!r} is neither an AgentScope embedding model nor "local"')
