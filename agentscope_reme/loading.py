"""Importing a part of the package without holding an event loop."""

import asyncio
from importlib import import_module
from typing import Any


async def loaded(*names: str) -> Any:
    """Return the last of these modules, named below the package (``pipelines.auto_dream``), all of them imported.

    A thread imports them: what a module brings with it takes longer, the first time, than an event loop may be held.
    """
    return await asyncio.to_thread(_load, names)


def _load(names: tuple[str, ...]) -> Any:
    return [import_module(f"{__package__}.{name}") for name in names][-1]
