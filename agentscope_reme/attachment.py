"""How an agent gets its memory: working memory, tools and hook, or none of them."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from .errors import ConfigError

if TYPE_CHECKING:
    from .reme import ReMe

HOOK_NAME = "agentscope_reme"
RECALL_HOOK, RECORD_HOOK = "agentscope_reme_recall", "agentscope_reme_record"


def attach(
    reme: "ReMe",
    agent: Any,
    session_id: str | None,
    *,
    tools: Sequence[str],
    prefix: str,
    max_input_length: int | None,
    compact_ratio: float | None,
    recall: bool | None = None,
    record: bool | None = None,
) -> Any:
    """See :meth:`ReMe.attach`. Everything that can be refused is refused before anything is changed."""
    from .hooks import MemoryCompactionHook, RecallHook, RecordingHook, builtin_compression
    from .memory.in_memory import ReMeInMemoryMemory
    from .toolkit import register_memory_tools

    if "pre_reasoning" not in getattr(agent, "supported_hook_types", ()):
        raise ConfigError(
            f"{type(agent).__name__} has no pre_reasoning hooks; attach a ReActAgent, or call "
            "reme.compaction.keep_within_window(memory) before each request yourself"
        )
    max_input_length, compact_ratio = reme.config.own_window(max_input_length, compact_ratio)
    present, toolkit = agent.memory, getattr(agent, "toolkit", None)
    _refuse_others_memory(reme, present, session_id)
    memory = _memory_for(reme, present, session_id, max_input_length, compact_ratio)
    if toolkit is not None and tools:
        register_memory_tools(toolkit, reme, tools=tools, prefix=prefix)
    if memory is not present:
        agent.memory = memory
        if agent.memory is not memory:
            raise ConfigError(f"{type(agent).__name__} does not let its memory be replaced")
    if isinstance(memory, ReMeInMemoryMemory):
        if memory.vault is None:
            memory.session_id = session_id or memory.session_id
        reme.adopt(memory)
        memory.set_window(max_input_length, compact_ratio)
    if toolkit is not None:
        reme.tool_results.install(toolkit)
    agent.register_instance_hook("pre_reasoning", HOOK_NAME, MemoryCompactionHook(reme))
    reme.warn_once(agent, builtin_compression(agent))
    _join_long_term(reme, agent, memory, recall)
    _switch(agent, "pre_reply", RECALL_HOOK, recall, lambda: RecallHook(reme))
    _switch(agent, "post_reply", RECORD_HOOK, record, lambda: RecordingHook(reme))
    return memory


def _join_long_term(reme: "ReMe", agent: Any, memory: Any, recall: bool | None) -> None:
    """Make an agent's own long-term memory, where that is ours too, a part of the same session."""
    from .adapters.long_term import ReMeLongTermMemory

    long_term = getattr(agent, "long_term_memory", None)
    if not isinstance(long_term, ReMeLongTermMemory) or long_term.reme is not reme:
        return
    session = getattr(memory, "session_id", None) or reme.stand_in(memory).session_id
    long_term.session_id = session
    if recall and getattr(agent, "_static_control", False):
        reme.warn_once(
            agent,
            "its long_term_memory looks up each message as well as recall=True; use long_term_memory_mode="
            '"agent_control", or recall=False',
        )


def _switch(agent: Any, kind: str, name: str, on: bool | None, hook: Callable[[], Any]) -> None:
    """Register a hook, or remove it; None leaves it as it is. Others of that kind keep their places."""
    present = name in getattr(agent, f"_instance_{kind}_hooks", {})
    if on and not present:
        agent.register_instance_hook(kind, name, hook())
    elif on is False and present:
        agent.remove_instance_hook(kind, name)


def _refuse_others_memory(reme: "ReMe", memory: Any, session_id: str | None) -> None:
    from .memory.in_memory import ReMeInMemoryMemory

    if not isinstance(memory, ReMeInMemoryMemory):
        known = reme.known_stand_in(memory)
        if known is None:
            return
        memory = known
    if not reme.shares_vault(memory):
        raise ConfigError(
            f"the agent's memory belongs to the vault {memory.vault.root}, not to {reme.vault.root}; "
            "nothing was changed"
        )
    if memory.vault is not None and session_id is not None and session_id != memory.session_id:
        raise ConfigError(
            f"the agent's memory belongs to session {memory.session_id!r}, not {session_id!r}; "
            "make a new memory with reme.get_in_memory_memory(session_id=...)"
        )


def _memory_for(
    reme: "ReMe", present: Any, session_id: str | None, max_input_length: int | None, compact_ratio: float | None
) -> Any:
    from agentscope.memory import InMemoryMemory

    from .memory.in_memory import ReMeInMemoryMemory

    if isinstance(present, ReMeInMemoryMemory):
        return present
    if type(present) is InMemoryMemory:
        memory = reme.successors.get(present)
        # Agents that shared the stock one share ours, unless their sessions are to be two.
        if memory is None or session_id not in (None, memory.session_id):
            memory = reme.get_in_memory_memory(
                session_id, max_input_length=max_input_length, compact_ratio=compact_ratio
            )
            reme.successors.setdefault(present, memory)
        memory.take_over(present)
        return memory
    reme.stand_in(present, session_id).set_window(max_input_length, compact_ratio)
    return present
