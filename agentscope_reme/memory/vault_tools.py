"""The names under which an agent has the tools that read its vault, for notices that tell it what to call."""

from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class VaultTools:
    """The names of the tools as the agent has them; "" for one that it does not have."""

    search: str = "memory_search"
    read: str = "read"


# Those of the agent whose step is running, for who clips its results without knowing whose they are.
current_tools: ContextVar[VaultTools] = ContextVar("agentscope_reme_tools", default=VaultTools())  # noqa: B039


def tools_in(toolkit: Any, reme: Any) -> VaultTools:
    """Return the names of the tools that find and open what lies in the vault of ``reme``; see :func:`names_in`."""
    found = names_in(toolkit, reme)
    return VaultTools(found.get("memory_search", ""), found.get("read", ""))


def names_in(toolkit: Any, reme: Any) -> dict[str, str]:
    """Return the tools of ``reme`` that are active in an AgentScope ``Toolkit``, each with the name it has there."""
    found: dict[str, str] = {}
    groups = getattr(toolkit, "groups", None) or {}
    for name, tool in (getattr(toolkit, "tools", None) or {}).items():
        function = getattr(tool, "original_func", None)
        group = groups.get(getattr(tool, "group", "basic"))
        if getattr(getattr(function, "__self__", None), "reme", None) is reme and getattr(group, "active", True):
            found[getattr(function, "__name__", "")] = name
    return found
