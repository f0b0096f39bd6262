"""Named columns that grow together."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

_SIGNED = tuple(np.dtype(f"i{size}") for size in (1, 2, 4, 8))
_BOUNDS = {kind: (int(np.iinfo(kind).min), int(np.iinfo(kind).max)) for kind in (*_SIGNED, np.dtype("u2"))}


class Growing:
    """Arrays by name with room for more rows; new rows hold zeros."""

    def __init__(self, kinds: Mapping[str, Any], rows: int = 64) -> None:
        self._columns: dict[str, NDArray[Any]] = {name: np.zeros(rows, kind) for name, kind in kinds.items()}

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self._columns[name]

    def reserve(self, rows: int) -> None:
        """Make room for a number of rows."""
        for name, values in self._columns.items():
            self._columns[name] = grown(values, rows)


def grown(values: NDArray[Any], size: int, fill: int = 0) -> NDArray[Any]:
    """The array with room for ``size`` values, at least an eighth more than it had when it must grow."""
    if size <= len(values):
        return values
    more = max(size, len(values) + len(values) // 8 + 64) - len(values)
    return np.append(values, np.full(more, fill, values.dtype))


def fitted(values: NDArray[Any], kinds: tuple[Any, ...] = _SIGNED) -> NDArray[Any]:
    """Whole numbers in as few bytes each as the least and the largest of them need, of some kinds of numbers."""
    ends = (int(values.min()), int(values.max())) if len(values) else (0, 0)
    return values.astype(_kind_for(*ends, kinds), copy=False)


def roomy(values: NDArray[Any], least: int, most: int, kinds: tuple[Any, ...] = _SIGNED) -> NDArray[Any]:
    """The column, in more bytes where numbers from ``least`` to ``most`` need them that are to be written to it."""
    lowest, highest = _BOUNDS[values.dtype]
    return values if lowest <= least and most <= highest else values.astype(_kind_for(least, most, kinds))


def make_room(columns: dict[str, NDArray[Any]], more: Mapping[str, NDArray[Any]], names: Sequence[str]) -> None:
    """Have the columns with some names hold the numbers that are to be written to them, of which all have as many."""
    values = np.array([more[name] for name in names])  # looked at together: each look takes longer than the numbers
    for name, least, most in zip(
        names, values.min(1, initial=0).tolist(), values.max(1, initial=0).tolist(), strict=True
    ):
        columns[name] = roomy(columns[name], least, most)


def _kind_for(least: int, most: int, kinds: tuple[Any, ...]) -> Any:
    return next(kind for kind in kinds if _BOUNDS[kind][0] <= least and most <= _BOUNDS[kind][1])
