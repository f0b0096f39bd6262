"""Vectors by the key of their text: 8-bit numbers with a scale each (or float32), and their cosines with a question.

Cosines of 8-bit vectors are exact: the question is split into whole numbers so small that every sum fits the 24 bits of
a float32. So they do not depend on the order in which vectors came, nor on the machine's way of adding.
"""

import threading
from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Precision = Literal["int8", "float32"]
Numbers = NDArray[np.float32]
Keys = NDArray[np.int64]

LEVELS = 127
# Numbers that are widened to float32 at a time: they stay in a processor's cache, and are too few for the library of
# linear algebra to wake up threads, which costs more than it gains on a busy machine.
BLOCK = 384 * 1_024
# Digits of a cosine that are kept; the error of 8-bit numbers is larger.
DIGITS = 6


class VectorTable:
    """Vectors of one model. Thread-safe."""

    def __init__(self, dimensions: int, precision: Precision = "int8") -> None:
        self.dimensions, self.precision = dimensions, precision
        self._lock = threading.Lock()
        self._row: dict[int, int] = {}
        self._keys = np.zeros(0, np.int64)
        self._scales = np.zeros(0, np.float32)
        self._data: NDArray[np.generic] = np.zeros((0, dimensions), np.dtype(precision))
        self.changes = 0  # raised whenever rows come or go
        self.orders = 0  # raised when rows get other numbers

    def __contains__(self, key: int) -> bool:
        return key in self._row

    @property
    def count(self) -> int:
        """How many vectors there are."""
        return len(self._row)

    def missing(self, keys: Keys) -> Keys:
        """Those of some distinct keys that have no vector, in their order."""
        with self._lock:
            return keys[[key not in self._row for key in keys.tolist()]] if len(keys) else keys

    def add(self, keys: Sequence[int], vectors: Numbers) -> None:
        """Take in vectors (a row each, of any length but 0), or replace those of the same keys."""
        with self._lock:
            scales, data = self._encoded(vectors)
            rows = [self._row.setdefault(key, len(self._row)) for key in keys]
            self._reserve(len(self._row))
            self._keys[rows], self._scales[rows], self._data[rows] = keys, scales, data
            self.changes += 1

    def keep(self, keys: Keys) -> int:
        """Drop every vector whose key is not among these; how many that were."""
        with self._lock:
            wanted = set(keys.tolist())
            rows = [row for key, row in self._row.items() if key in wanted]
            gone = len(self._row) - len(rows)
            if gone:
                self._set(self._keys[rows], self._scales[rows], self._data[rows])
            return gone

    def rows(self, keys: Keys) -> NDArray[np.int32]:
        """The row of each key, -1 where there is no vector."""
        with self._lock:
            found = self._row
            return np.fromiter((found.get(key, -1) for key in keys.tolist()), np.int32, len(keys))

    def cosines(self, question: Numbers) -> Numbers:
        """The cosine of every row with a question."""
        with self._lock:
            used = len(self._row)
            data, scales = self._data[:used], self._scales[:used]
        # Outside the lock: rows that are replaced meanwhile belong to the same text.
        length = float(np.linalg.norm(question)) or 1.0
        found = _cosines(data, scales, np.asarray(question, np.float64) / length)
        return np.round(found, DIGITS).astype(np.float32)

    def dump(self) -> tuple[Keys, Numbers, NDArray[np.generic]]:
        """Keys, scales and numbers, in the order of the keys."""
        with self._lock:
            used = len(self._row)
            order = np.argsort(self._keys[:used])
            return self._keys[order], self._scales[order], self._data[order]

    @classmethod
    def load(cls, keys: Keys, scales: Numbers, data: NDArray[np.generic], precision: Precision) -> "VectorTable":
        """The inverse of :meth:`dump`. Raises ValueError when the parts do not belong together."""
        whole = data.ndim == 2 and len(keys) == len(scales) == len(data) and data.dtype == np.dtype(precision)
        if not whole or len(set(keys.tolist())) != len(keys):
            raise ValueError("the parts of the stored vectors do not belong together")
        table = cls(data.shape[1], precision)
        table._set(keys.astype(np.int64), scales.astype(np.float32), data)
        return table

    # --- inside ---------------------------------------------------------------------------------------------------

    def _set(self, keys: Keys, scales: Numbers, data: NDArray[np.generic]) -> None:
        self._keys, self._scales, self._data = keys, scales, data
        self._row = {key: row for row, key in enumerate(keys.tolist())}
        self.changes += 1
        self.orders += 1

    def _reserve(self, rows: int) -> None:
        missing = max(rows, len(self._keys) * 3 // 2) - len(self._keys) if rows > len(self._keys) else 0
        if missing:
            # New arrays: whoever computes with the old ones goes on with them.
            self._keys = np.append(self._keys, np.zeros(missing, np.int64))
            self._scales = np.append(self._scales, np.zeros(missing, np.float32))
            self._data = np.concatenate((self._data, np.zeros((missing, self.dimensions), self._data.dtype)))

    def _encoded(self, vectors: Numbers) -> tuple[Numbers, NDArray[np.generic]]:
        vectors = np.asarray(vectors, np.float64)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        unit = vectors / np.where(lengths, lengths, 1.0)
        if self.precision == "float32":
            return np.ones(len(unit), np.float32), unit.astype(np.float32)
        scales = np.abs(unit).max(axis=1, keepdims=True) / LEVELS
        whole = np.rint(unit / np.where(scales, scales, 1.0)).astype(np.int8)
        return scales[:, 0].astype(np.float32), whole


def _cosines(data: NDArray[np.generic], scales: Numbers, question: NDArray[np.float64]) -> NDArray[np.float64]:
    if data.dtype == np.float32:
        return (data @ question.astype(np.float32)).astype(np.float64)
    largest = float(np.abs(question).max(initial=0.0))
    if not largest:
        return np.zeros(len(data))
    # Two digits of a number system in which 127 times the digit, summed over all dimensions, stays below 2**24.
    base = max(2, (1 << 24) // (LEVELS * data.shape[1]) - 1)
    unit = largest / base**2 * 2
    whole = np.rint(question / unit)
    high = np.rint(whole / base)
    digits = np.stack((high, whole - high * base), axis=1).astype(np.float32)
    out = np.empty((len(data), 2), np.float32)
    step = max(64, BLOCK // data.shape[1])
    wide = np.empty((step, data.shape[1]), np.float32)
    for begin in range(0, len(data), step):
        block = data[begin : begin + step]
        np.copyto(wide[: len(block)], block, casting="unsafe")
        np.matmul(wide[: len(block)], digits, out=out[begin : begin + step])
    return (out[:, 0].astype(np.float64) * base + out[:, 1]) * (unit * scales)
