"""What tests of watching share: a listener that remembers, waiting for what comes from other threads, and a stub."""

import asyncio
import time
from collections.abc import Callable
from typing import ClassVar

SECONDS = 20.0  # before a test gives up; a loaded machine may be slow


class Heard:
    """A listener that keeps the batches it was told."""

    def __init__(self) -> None:
        self.batches: list[frozenset[str]] = []

    def __call__(self, paths: frozenset[str]) -> None:
        self.batches.append(paths)

    @property
    def paths(self) -> set[str]:
        return set().union(*self.batches)


class StubEvents:
    """Stands for the system's events: they come when the test says so."""

    made: ClassVar[list["StubEvents"]] = []
    fails: ClassVar[OSError | None] = None

    def __init__(self, root: str, noticed: Callable[[str, bool], None]) -> None:
        self.noticed = noticed
        self.alive = False
        StubEvents.made.append(self)

    def start(self) -> None:
        if StubEvents.fails is not None:
            raise StubEvents.fails
        self.alive = True

    def stop(self) -> None:
        self.alive = False


def until(condition: Callable[[], object]) -> None:
    """Wait until something is so; fail when it does not become so."""
    end = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.01)


async def until_async(condition: Callable[[], object]) -> None:
    """The same inside an event loop, which goes on meanwhile."""
    end = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        await asyncio.sleep(0.01)
