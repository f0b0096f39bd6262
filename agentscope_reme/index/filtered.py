"""What filters have been told of each file, so that a file is asked once, whatever number it has by then."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from .files import FilesById, KnownFile
from .keyword_columns import Ints

_MOST_KEPT = 32  # filters, each with a byte for every file
_NOT_ASKED = 2  # of a file that was neither refused (0) nor allowed (1)


class Filtered:
    """Which files the filters that were used last allow, by file id. Not thread-safe: the corpus's owner holds a lock.

    What a file says stays as it is under its id: a file that is read anew has another one.
    """

    def __init__(self) -> None:
        self._told: dict[tuple[str, ...], NDArray[np.uint8]] = {}  # the last used is the last

    def __len__(self) -> int:
        return len(self._told)

    def mask(self, name: tuple[str, ...], files: FilesById, check: Callable[[KnownFile], bool]) -> NDArray[np.bool_]:
        """The files by id that a filter allows; of those that went, anything.

        ``name`` is what tells it from other filters; ``check`` is asked of the files it has not been asked of.
        """
        told = _prolonged(self._told.pop(name, np.zeros(0, np.uint8)), len(files))
        new = np.flatnonzero(told == _NOT_ASKED)
        entries = map(files.__getitem__, new.tolist())
        told[new] = [entry is not None and check(entry) for entry in entries]
        self._told[name] = told
        if len(self._told) > _MOST_KEPT:
            del self._told[next(iter(self._told))]
        return told == 1

    def renumber(self, kept: Ints) -> None:
        """The files have new ids: ``kept`` are the old ones, in the order of the new."""
        size = int(kept.max(initial=-1)) + 1
        self._told = {name: _prolonged(told, size)[kept] for name, told in self._told.items()}


def _prolonged(told: NDArray[np.uint8], size: int) -> NDArray[np.uint8]:
    return np.concatenate((told, np.full(size - len(told), _NOT_ASKED, np.uint8))) if len(told) < size else told
