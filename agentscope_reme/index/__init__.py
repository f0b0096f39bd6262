"""Derived from the files, and disposable: chunks, terms, keyword scores, links, search.

Everything here can be deleted and is built again. Knows the vault, not AgentScope.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..weights import Weights
    from .graph import LinkGraph
    from .search import Index

_HOME = {"Index": ".search", "LinkGraph": ".graph", "Weights": "..weights"}

__all__ = ["Index", "LinkGraph", "Weights"]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name], __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
