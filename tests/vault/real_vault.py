"""The real vault of the reference data, if it is beside the repository."""

import zipfile
from functools import lru_cache
from pathlib import Path

import pytest

ARCHIVE = Path(__file__).resolve().parents[3] / "shared" / "data" / "vault_zh_dev.zip"


@lru_cache(maxsize=1)
def _notes() -> tuple[tuple[str, str], ...]:
    with zipfile.ZipFile(ARCHIVE) as archive:
        names = sorted(name for name in archive.namelist() if name.endswith(".md"))
        return tuple((name, archive.read(name).decode("utf-8")) for name in names)


def real_notes() -> tuple[tuple[str, str], ...]:
    """All notes as (path, text); skips the test when the data is not there."""
    if not ARCHIVE.exists():
        pytest.skip(f"the real vault ({ARCHIVE.name}) is not in ../shared/data")
    return _notes()
