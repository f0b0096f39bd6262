"""The files and nothing else: paths, durable writes, notes, the journal, history.

Canonical: what is here is the memory. Imports neither AgentScope nor any other layer of this package.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .daily import DailyCard
    from .dialog import Journal, JournalLine, JournalRecord, StoredResult
    from .history import HistoryEntry
    from .images import NoteImage
    from .listing import NoteList, NoteStat
    from .notes import Vault

_HOME = {
    "DailyCard": ".daily",
    "HistoryEntry": ".history",
    "Journal": ".dialog",
    "JournalLine": ".dialog",
    "JournalRecord": ".dialog",
    "NoteImage": ".images",
    "NoteList": ".listing",
    "NoteStat": ".listing",
    "StoredResult": ".dialog",
    "Vault": ".notes",
}

__all__ = [
    "DailyCard",
    "HistoryEntry",
    "Journal",
    "JournalLine",
    "JournalRecord",
    "NoteImage",
    "NoteList",
    "NoteStat",
    "StoredResult",
    "Vault",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name], __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
