"""Offloaded results that a conversation still shows do not expire."""

import asyncio
import logging
from collections.abc import Iterable
from time import monotonic
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..vault import Vault
    from .in_memory import ReMeInMemoryMemory

logger = logging.getLogger(__name__)

DAY = 86_400.0


def shown_results(memory: "ReMeInMemoryMemory") -> set[str]:
    """Return the paths of the offloaded results that a memory's messages and checkpoint point to."""
    from ..vault.expiry import results_in

    return results_in([memory.get_compressed_summary(), *(message.to_dict() for message, _ in memory.content)])


async def keep_shown(memory: "ReMeInMemoryMemory", days: int | None) -> None:
    """Make the results that a memory shows young again; once a day, and not at all where nothing expires."""
    from ..vault.expiry import refresh

    if days is None or memory.vault is None or monotonic() < memory.next_refresh:
        return
    memory.next_refresh = monotonic() + DAY
    await asyncio.to_thread(refresh, memory.vault.storage, shown_results(memory), memory.vault.now())


async def let_expire(vault: "Vault", memories: "Iterable[ReMeInMemoryMemory]", days: int | None) -> list[str]:
    """Remove results older than ``days`` that no memory in use and no active journal points to. Never raises."""
    from ..vault.expiry import expire_results, refresh

    if days is None or not vault.root.is_dir():
        return []
    shown = {path for memory in list(memories) for path in shown_results(memory)}
    try:
        await asyncio.to_thread(refresh, vault.storage, shown, vault.now())
        removed = await asyncio.to_thread(expire_results, vault.storage, days, now=vault.now(), keep=shown)
    except Exception:
        logger.exception("Old results could not be cleaned up; they stay.")
        return []
    if removed:
        logger.info("%d offloaded results older than %d days were removed.", len(removed), days)
    return removed
