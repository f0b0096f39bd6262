"""Registration of the memory tools on an AgentScope ``Toolkit``."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from ..errors import ConfigError
from ..memory.vault_tools import names_in
from .tools import MemoryTools

if TYPE_CHECKING:
    from agentscope.tool import Toolkit

    from ..reme import ReMe

DEFAULT_TOOLS = ("memory_search", "read", "edit", "write")
ALL_TOOLS = (*DEFAULT_TOOLS, "append", "list")
_READING = ("memory_search", "read", "list")


def register_memory_tools(
    toolkit: "Toolkit",
    reme: "ReMe",
    tools: Sequence[str] = DEFAULT_TOOLS,
    group_name: str = "basic",
    prefix: str = "",
    namesake_strategy: Literal["raise", "override", "skip", "rename"] = "raise",
) -> "Toolkit":
    """Give an agent tools over its memory vault, and return the toolkit.

    Registering the same tools of the same memory again does nothing.

    Args:
        toolkit: Where the tools are registered.
        reme: Whose vault they work on.
        tools: Which of ``memory_search``, ``read``, ``edit``, ``write``, ``append``, ``list``.
        group_name: A tool group; made, and active, when it does not exist.
        prefix: Put before each name, where another tool has it already.
        namesake_strategy: What AgentScope does when another tool has the name.

    Raises:
        ConfigError: There is no such tool.
        ValueError: Another tool has one of the names and the strategy is ``raise``; nothing has been registered.
    """
    unknown = [name for name in tools if name not in ALL_TOOLS]
    if unknown:
        raise ConfigError(f"tools: {', '.join(map(repr, unknown))} unknown; there are {', '.join(ALL_TOOLS)}")
    wanted = {f"{prefix}{name}": name for name in dict.fromkeys(tools)}
    present = {name: _owner(toolkit, name) for name in wanted if name in toolkit.tools}
    taken = [name for name, owner in present.items() if owner is None or owner.reme is not reme]
    if taken and namesake_strategy == "raise":
        raise ValueError(
            f"the toolkit already has a tool named {', '.join(map(repr, taken))}; "
            'pass prefix="memory_" or another namesake_strategy'
        )
    if group_name != "basic" and group_name not in toolkit.groups:
        toolkit.create_tool_group(group_name, "Search, read and write the long-term memory vault.", active=True)
    bound = MemoryTools(reme, {name: shown for shown, name in wanted.items()})
    for shown, name in wanted.items():
        if shown in present and shown not in taken:
            continue
        toolkit.register_tool_function(
            getattr(bound, name), group_name=group_name, func_name=shown, namesake_strategy=namesake_strategy
        )
    # By the names under which they are there now: a namesake that stays is not ours, a renamed tool is.
    for shown in toolkit.tools:
        owner = _owner(toolkit, shown)
        if owner is not None and owner.reme is reme and toolkit.tools[shown].original_func.__name__ in _READING:
            reme.tool_results.reading_tools.add(shown)
    reme.tool_names = names_in(toolkit, reme)
    return toolkit


def _owner(toolkit: Any, name: str) -> MemoryTools | None:
    function = getattr(toolkit.tools[name], "original_func", None)
    owner = getattr(function, "__self__", None)
    return owner if isinstance(owner, MemoryTools) else None
