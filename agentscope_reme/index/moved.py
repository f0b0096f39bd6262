"""A file that was moved keeps what was read of it, where nothing of that depends on the path."""

from collections.abc import Iterable

from ..vault.layout import DAILY, RESOURCE
from .journal_turns import is_journal
from .note_fields import path_date

MOST_LIKE = 16  # of a thousand equal files it does not matter which one has moved


def reads_alike(path: str, other: str) -> bool:
    """Whether the same bytes give the same entries under both paths, apart from the paths themselves.

    The title may be the file's name, the day may be a folder's; kind and what counts as a copy depend on the folder.
    """
    return _what_counts(path) == _what_counts(other)


def _what_counts(path: str) -> tuple[str, str, bool, bool, bool]:
    folder, _, name = path.rpartition("/")
    return name, path_date(path), path.startswith(f"{RESOURCE}/"), is_journal(path), folder == DAILY


def _key(digest: str, path: str) -> tuple[str, str]:
    return digest, path.rpartition("/")[2]


class Contents:
    """Which files were last read with which bytes and name; what is no longer so is the caller's to notice."""

    def __init__(self, files: Iterable[tuple[str, str]] = ()) -> None:
        self._paths: dict[tuple[str, str], str | list[str]] = {}  # nearly always one
        for digest, path in files:
            self.add(digest, path)

    def add(self, digest: str, path: str) -> None:
        """A file has bytes with this SHA-256."""
        known = self._paths.setdefault(_key(digest, path), path)
        if isinstance(known, list):
            known.append(path)
        elif known != path:
            self._paths[_key(digest, path)] = [known, path]

    def like(self, digest: str, path: str) -> list[str]:
        """Some files of the same name that were read with these bytes: all, unless there are very many."""
        known = self._paths.get(_key(digest, path), [])
        return [known] if isinstance(known, str) else known[:MOST_LIKE]

    def discard(self, digest: str, path: str) -> None:
        """A file does not have these bytes any more."""
        key = _key(digest, path)
        known = self._paths.get(key)
        if isinstance(known, list) and len(known) > 1:
            if path in known:
                known.remove(path)
        elif known in (path, [path]):
            del self._paths[key]
