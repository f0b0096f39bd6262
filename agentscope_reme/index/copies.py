"""Copies of one note that sync and file programs leave beside it, under names that say nothing of a conflict."""

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .corpus import Corpus
    from .files import KnownFile
    from .keyword_columns import Ints

_Content = tuple[str, str, int, str]


def copies_among(files: "Ints", corpus: "Corpus") -> set[int]:
    """Those of some files, given by their ids, that are copies of another one among them.

    A copy has the bytes and the day of a file in the same folder, and that file's name with something after it:
    ``plan (1).md``, ``plan 2.md``, ``plan - Copy.md`` beside ``plan.md``.
    """
    if corpus.by_id.all_differ(files):
        return set()
    numbers = list(dict.fromkeys(files.tolist()))
    digests = corpus.by_id.digests(numbers)
    found = Counter(digests)
    some = (number for number, digest in zip(numbers, digests, strict=True) if found[digest] > 1)
    alike = [(number, entry) for number in some if (entry := corpus.by_id[number]) is not None]
    known = {_content(entry, _stem(entry)) for _, entry in alike}
    return {
        number
        for number, entry in alike
        if entry.size and any(_content(entry, name) in known for name in _originals(_stem(entry)))
    }


def _stem(entry: "KnownFile") -> str:
    return entry.path.rpartition(".")[0]


def _content(entry: "KnownFile", stem: str) -> _Content:
    return stem, entry.path.rpartition(".")[2], entry.day, entry.digest


def _originals(stem: str) -> Iterator[str]:
    """What the original of a copy may be called: the name up to a character that is no letter and no digit."""
    begin = stem.rfind("/") + 1
    for at in range(begin + 1, len(stem)):
        if not stem[at].isalnum():
            yield stem[:at]
