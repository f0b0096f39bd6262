"""Copies of one note that sync and file programs leave beside it, under names that say nothing of a conflict."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .corpus import Corpus
    from .files import KnownFile
    from .keyword_columns import Ints

Scored = tuple[int, float]
_Content = tuple[str, str, int, str]


def without_copies(ranked: Sequence[Scored], corpus: "Corpus", file: "Ints") -> list[Scored]:
    """Ranked slots without those of files that are copies of another one among them.

    A copy has the bytes and the day of a file in the same folder, and that file's name with something after it:
    ``plan (1).md``, ``plan 2.md``, ``plan - Copy.md`` beside ``plan.md``. ``file`` is the column of the slots' files.
    """
    entries = {number: corpus.by_id[number] for number in dict.fromkeys(file[[slot for slot, _ in ranked]].tolist())}
    found = Counter(entry.digest for entry in entries.values() if entry is not None)
    alike = [(number, entry) for number, entry in entries.items() if entry is not None and found[entry.digest] > 1]
    if not alike:
        return list(ranked)
    known = {_content(entry, _stem(entry)) for _, entry in alike}
    copies = {
        number
        for number, entry in alike
        if entry.size and any(_content(entry, name) in known for name in _originals(_stem(entry)))
    }
    return [pair for pair in ranked if int(file[pair[0]]) not in copies]


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
