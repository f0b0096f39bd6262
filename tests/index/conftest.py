"""Vaults for tests of the index."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from agentscope_reme import ReMeConfig
from agentscope_reme.index import Index
from agentscope_reme.vault import Vault

# Seconds a search waits for the first look at the files, where a test does not say: on a busy machine the product's own
# five may be over before a vault of three notes has been read, and the answer is ``stale``.
PATIENCE = 120.0


@pytest.fixture
def put(vault_dir: Path) -> Callable[[str, str | bytes], Path]:
    """Write a file of the vault as another program would."""

    def write(path: str, text: str | bytes) -> Path:
        target = vault_dir / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8"))
        return target

    return write


@pytest.fixture
async def open_index(vault_dir: Path):
    """Open an index over the vault; all are closed at the end. ``now`` is the clock."""
    opened: list[Index] = []

    def start(root: Path = vault_dir, now: datetime = datetime(2026, 3, 18, 12, tzinfo=UTC), **settings: Any) -> Index:
        vault = Vault(root, timezone="UTC", clock=lambda: now)
        index = Index(vault, ReMeConfig(vault_dir=root, **{"search_wait": PATIENCE, **settings}))
        opened.append(index)
        return index

    yield start
    for index in opened:
        await index.close()
