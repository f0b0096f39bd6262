"""Importing a part of the package without holding an event loop."""

import asyncio
import sys
from importlib import import_module
from typing import Any


async def loaded(*names: str) -> Any:
    """Return the last of these modules, named below the package (``pipelines.auto_dream``), all of them imported.

    A thread imports them: what a module brings with it takes longer, the first time, than an event loop may be held.
    Later calls only look them up.
    """
    return _load(names) if all(map(_is_there, names)) else await asyncio.to_thread(_load, names)


def _load(names: tuple[str, ...]) -> Any:
    return [import_module(f"{__package__}.{name}") for name in names][-1]


def _is_there(name: str) -> bool:
    """Whether a module is imported, and no other thread still at it."""
    module = sys.modules.get(f"{__package__}.{name}")
    return module is not None and not getattr(module.__spec__, "_initializing", False)
