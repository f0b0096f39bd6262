"""A file that was moved keeps what was read of it, where nothing of that depends on the path."""

from dataclasses import replace

from ..models import FileLink
from ..vault.layout import DAILY, RESOURCE
from .journal_turns import is_journal
from .note_fields import path_date


def reads_alike(path: str, other: str) -> bool:
    """Whether the same bytes give the same entries under both paths, apart from the paths themselves.

    The title may be the file's name, the day may be a folder's; kind and what counts as a copy depend on the folder.
    """
    return _what_counts(path) == _what_counts(other)


def links_from(path: str, links: tuple[FileLink, ...]) -> tuple[FileLink, ...]:
    """The same links, standing in another file."""
    return tuple(replace(link, source_path=path) for link in links)


def _what_counts(path: str) -> tuple[str, str, bool, bool, bool]:
    folder, _, name = path.rpartition("/")
    return name, path_date(path), path.startswith(f"{RESOURCE}/"), is_journal(path), folder == DAILY
