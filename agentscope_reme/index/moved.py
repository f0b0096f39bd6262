"""A file that was moved keeps what was read of it, where nothing of that depends on the path."""

from collections.abc import Iterable

from ..vault.layout import DAILY, RESOURCE
from ..vault.pairs import Pairs, hash_of
from .journal_turns import is_journal
from .note_fields import path_date
from .texts import Texts

MOST_LIKE = 16  # of a thousand equal files it does not matter which one has moved


def reads_alike(path: str, other: str) -> bool:
    """Whether the same bytes give the same entries under both paths, apart from the paths themselves.

    The title may be the file's name, the day may be a folder's; kind and what counts as a copy depend on the folder.
    """
    return _what_counts(path) == _what_counts(other)


def _what_counts(path: str) -> tuple[str, str, bool, bool, bool]:
    folder, _, name = path.rpartition("/")
    return name, path_date(path), path.startswith(f"{RESOURCE}/"), is_journal(path), folder == DAILY


class Contents:
    """Which files were last read with which bytes and name; what is no longer so is the caller's to notice."""

    def __init__(self, files: Iterable[tuple[str, str]] = ()) -> None:
        self._paths = Texts()
        self._alike = Pairs()  # numbers of paths, by digest and name
        for digest, path in files:
            self.add(digest, path)

    def add(self, digest: str, path: str) -> None:
        """A file has bytes with this SHA-256."""
        self._alike.add(_key(digest, path), self._paths.of(path))

    def like(self, digest: str, path: str) -> list[str]:
        """Some files of the same name that were read with these bytes, or others: all, unless there are very many."""
        found = self._alike.of(_key(digest, path), most=MOST_LIKE)
        return [self._paths.names[number] for number in found]

    def discard(self, digest: str, path: str) -> None:
        """A file does not have these bytes any more."""
        number = self._paths.known(path)
        if number is not None:
            self._alike.discard(_key(digest, path), number)


def _key(digest: str, path: str) -> int:
    return hash_of(f"{digest}/{path.rpartition('/')[2]}")
