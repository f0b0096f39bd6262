"""Which messages a compaction took out of a memory, so that one that is broadcast again does not come back."""

import base64
import hashlib
from collections import deque
from collections.abc import Iterable

# Of a digest. A message that was never here is taken for one that was once in 10^10 messages.
WIDTH = 6


class Tombstones:
    """The last ``limit`` ids, oldest first, as digests: the past of a long session takes 80 kB of a state and no more.

    Args:
        ids: Those that are known already.
    """

    def __init__(self, ids: Iterable[str] = ()) -> None:
        self._order: deque[bytes] = deque()
        self._known: set[bytes] = set()
        for name in ids:
            self.add(name)

    def __contains__(self, name: str) -> bool:
        return _digest(name) in self._known

    def add(self, name: str) -> None:
        """Remember an id; one that is there already keeps its place."""
        self._enter(_digest(name))

    def _enter(self, digest: bytes) -> None:
        if digest not in self._known:
            self._known.add(digest)
            self._order.append(digest)

    def bound(self, limit: int) -> None:
        """Forget the oldest that are more than ``limit``."""
        while len(self._order) > limit:
            self._known.discard(self._order.popleft())

    def count(self) -> int:
        """How many are remembered."""
        return len(self._order)

    def text(self) -> str:
        """Return them as one text, for a state."""
        return base64.b64encode(b"".join(self._order)).decode("ascii")

    @classmethod
    def of(cls, text: str, ids: Iterable[str] = ()) -> "Tombstones":
        """Read what :meth:`text` gave, and ``ids`` beside it. Raises ValueError when it is something else."""
        data = base64.b64decode(text, validate=True)
        if len(data) % WIDTH:
            raise ValueError("it is cut off")
        made = cls(ids)
        for i in range(0, len(data), WIDTH):
            made._enter(data[i : i + WIDTH])
        return made


def _digest(name: str) -> bytes:
    return hashlib.blake2b(str(name).encode("utf-8", "surrogatepass"), digest_size=WIDTH).digest()
