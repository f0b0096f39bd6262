"""How long each unit is with its neighbours' shares, which ranking divides by: in two bytes where that is enough."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .columns import fitted, grown, roomy
from .keyword_columns import Ints

_KINDS = (np.dtype("u2"), np.dtype("i4"))


class BlurredLengths:
    """Lengths in twentieths of a term by place, 0 where no unit is; ``total`` is their sum."""

    def __init__(self) -> None:
        self._values: NDArray[Any] = np.zeros(64, _KINDS[0])
        self.total = 0

    def __getitem__(self, at: "Ints | slice") -> Ints:
        return self._values[at]

    def set(self, at: "Ints | slice", values: Ints, places: int) -> None:
        """Set lengths where there were none; ``places`` is how many places there are now."""
        room = grown(self._values, places)
        self._values = roomy(room, 0, int(values.max(initial=0)), _KINDS)
        self._values[at] = values
        self.total += int(values.sum())

    def clear(self, at: slice) -> None:
        """Say that there are no units any more."""
        self.total -= int(self._values[at].sum())
        self._values[at] = 0

    def start_over(self, values: Ints) -> None:
        """Have the lengths at all places."""
        self._values = fitted(values, _KINDS)
        self.total = int(self._values.sum())
