"""One run of a pipeline at a time in a vault, among all processes.

Held for as long as a model needs, so it is another lock than the writers' one. The OS frees it when its owner dies.
"""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from ..errors import StateError
from .layout import METADATA
from .refusals import refusal
from .storage import Storage

if TYPE_CHECKING:
    from filelock import BaseFileLock

_POLL_SECONDS = 0.1


@asynccontextmanager
async def run_lock(storage: Storage, name: str, *, wait: float) -> AsyncIterator[None]:
    """Hold the lock of the pipeline ``name``; StateError when another run keeps it for ``wait`` seconds."""
    lock = await asyncio.to_thread(_lock, storage, f"{name}.lock")
    from filelock import Timeout

    limit = time.monotonic() + wait
    while True:
        try:
            lock.acquire(blocking=False)
            break
        except Timeout:
            if time.monotonic() >= limit:
                raise StateError(f"another run of {name} is at work in this vault; nothing was changed") from None
            await asyncio.sleep(_POLL_SECONDS)
        except OSError as error:
            raise refusal(error, METADATA) from error
    try:
        yield
    finally:
        lock.release()


def _lock(storage: Storage, name: str) -> "BaseFileLock":
    from filelock import FileLock

    return FileLock(storage.lock_file(name), thread_local=False, timeout=0)
