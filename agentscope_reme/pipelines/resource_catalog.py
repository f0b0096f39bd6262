"""Which version of which document has been read: lines of JSON in ``metadata/``, derived from the cards.

What a line says is only a hint where its card is there: the card itself names the version it was made of. Without the
file every document is looked at again, and those with a card of their version stay as they are.
"""

import json
import logging
from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

from ..vault.jsonable import dumps
from ..vault.layout import METADATA

if TYPE_CHECKING:
    from ..vault import Vault

logger = logging.getLogger(__name__)

CATALOG = f"{METADATA}/resources.jsonl"
_SPARE_LINES = 200


@dataclass(frozen=True, slots=True)
class Read:
    """A document that has been read: its version (SHA-256), size, time (seconds), and the card that tells of it."""

    path: str
    version: str
    card: str = ""
    size: int = 0
    mtime: float = 0.0


def load(vault: "Vault") -> dict[str, Read]:
    """What has been read, by path; lines that cannot be read are passed over."""
    known: dict[str, Read] = {}
    for line in (vault.storage.read_if_any(CATALOG) or b"").splitlines():
        try:
            fields = json.loads(line)
            one = Read(**{key: fields[key] for key in Read.__dataclass_fields__ if key in fields})
        except (ValueError, TypeError, KeyError, RecursionError):
            continue
        if one.version:
            known[one.path] = one
        else:
            known.pop(one.path, None)
    return known


def forget(vault: "Vault", names: Collection[str]) -> None:
    """Drop documents and cards by their paths, also from lines that are out of date (P15)."""
    with vault.storage.lock():
        data = vault.storage.read_if_any(CATALOG)
        if not data:
            return
        kept = [one for one in load(vault).values() if one.path not in names]
        kept = [replace(one, card="") if one.card in names else one for one in kept]
        if (lines := _lines(kept)) != data:
            vault.storage.replace(CATALOG, lines)


def remember(vault: "Vault", reads: Sequence[Read]) -> None:
    """Note what has been read; without a version it is gone. The file is tidied when most of it is out of date."""
    if not reads:
        return
    with vault.storage.lock():
        data = vault.storage.read_if_any(CATALOG) or b""
        lines = data.count(b"\n")
        if lines > _SPARE_LINES and lines > 2 * len(load(vault)):
            known = load(vault) | {read.path: read for read in reads}
            vault.storage.replace(CATALOG, _lines(one for one in known.values() if one.version))
        else:
            vault.storage.append(CATALOG, _lines(reads))


def _lines(reads: Iterable[Read]) -> bytes:
    return b"".join(dumps(asdict(one)).encode("utf-8") + b"\n" for one in reads)
