"""Memory of their own for arrays that stay: pages that the system gives and takes back, not the C library.

Among what is needed for a moment they would keep it in pieces that nobody can use.
"""

import mmap
from typing import Any

import numpy as np
from numpy.typing import NDArray

_LEAST = 65_536  # bytes; below that a page is too much


def room_for(size: int, kind: Any) -> NDArray[Any]:
    """An array of zeros to be written to."""
    kind = np.dtype(kind)
    if size * kind.itemsize < _LEAST:
        return np.zeros(size, kind)
    # Where a forked process writes to it, it shall have its own.
    private = {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if hasattr(mmap, "MAP_PRIVATE") else {}
    return np.frombuffer(mmap.mmap(-1, size * kind.itemsize, **private), kind)
