"""Copies of one note that sync and file programs leave beside it, under names that say nothing of a conflict."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .corpus import Corpus


def copies_among(files: list[int], corpus: "Corpus") -> set[int]:
    """Those of some files, given by their ids, that are copies of another one among them.

    A copy has the bytes and the day of a file in the same folder, and that file's name with something after it:
    ``plan (1).md``, ``plan 2.md``, ``plan - Copy.md`` beside ``plan.md``.
    """
    alike = corpus.by_id.alike(files)
    if not alike:
        return set()
    # By the file's id: its path without the suffix; and what a copy has in common with its original.
    stems: dict[int, str] = {}
    common: dict[int, tuple[str, int, str]] = {}
    for number in alike:
        if (entry := corpus.by_id[number]) is not None and entry.size:
            stems[number], _, suffix = entry.path.rpartition(".")
            common[number] = (suffix, entry.day, entry.digest)
    known = {(stem, common[number]) for number, stem in stems.items()}
    return {
        number for number, stem in stems.items() if any((name, common[number]) in known for name in _originals(stem))
    }


def _originals(stem: str) -> Iterator[str]:
    """What the original of a copy may be called: the name up to a character that is no letter and no digit."""
    begin = stem.rfind("/") + 1
    for at in range(begin + 1, len(stem)):
        if not stem[at].isalnum():
            yield stem[:at]
