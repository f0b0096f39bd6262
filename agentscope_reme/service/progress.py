"""A bar on a terminal for work that goes through many files."""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from rich.console import Console

_SECONDS = 0.1  # between two looks at how far the work is
T = TypeVar("T")


async def with_bar(
    work: Awaitable[T],
    title: str,
    so_far: Callable[[], tuple[int, int]],
    console: "Console | None" = None,
    after: float = 0.0,
) -> T:
    """Do the work and show how far it is, on standard error; where that is no terminal, only do it.

    ``so_far`` gives how many files are done and how many there are (0 as long as nobody knows). Work that is done
    within ``after`` seconds shows nothing.
    """
    if console is None:
        if not sys.stderr.isatty():
            return await work
        from rich.console import Console

        console = Console(stderr=True)
    doing = asyncio.ensure_future(work)
    try:
        if after:
            await asyncio.wait([doing], timeout=after)
        if not doing.done():
            await _show(doing, title, so_far, console)
    finally:
        if not doing.done():
            doing.cancel()
            await asyncio.wait([doing])
    return await doing


async def _show(
    doing: "asyncio.Future[Any]", title: str, so_far: Callable[[], tuple[int, int]], console: "Console"
) -> None:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns: list[Any] = [TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()]
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(title, total=None)
        while not doing.done():
            done, total = so_far()
            bar.update(task, completed=done, total=total or None)
            await asyncio.wait([doing], timeout=_SECONDS)
        done, total = so_far()
        bar.update(task, completed=done, total=total or None)
