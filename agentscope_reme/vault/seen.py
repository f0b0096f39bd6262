"""Which messages a journal holds, in sixteen bytes each: a key made of id and content, and where the line begins."""

import hashlib
from array import array

# Keys are spread over this many short rows, each searched from its start: a journal of 20 000 lines has 80 in a row.
ROWS = 256


class Names:
    """The ids of the messages of a journal, in eight bytes each. It may take a strange one for one of them."""

    def __init__(self) -> None:
        self._rows: dict[int, array[int]] = {}

    def add(self, name: str) -> None:
        """Note an id."""
        key = _name_key(name)
        row = self._rows.get(key % ROWS)
        if row is None:
            row = self._rows[key % ROWS] = array("Q")
        if key not in row:
            row.append(key)

    def __contains__(self, name: str) -> bool:
        key = _name_key(name)
        return key in self._rows.get(key % ROWS, ())


def _name_key(name: str) -> int:
    return hash(name) % (1 << 64)


class Seen:
    """A set of keys, each with the offset of a line.

    Two messages may have one key, once in 2^64; who finds a key looks the line up before believing it.
    """

    def __init__(self) -> None:
        self._keys: dict[int, array[int]] = {}
        self._offsets: dict[int, array[int]] = {}

    def add(self, key: int, offset: int) -> None:
        """Note where the line of a key begins; the first place stays."""
        row = key % ROWS
        keys = self._keys.get(row)
        if keys is None:
            keys = self._keys[row] = array("Q")
            self._offsets[row] = array("Q")
        if key not in keys:
            keys.append(key)
            self._offsets[row].append(offset)

    def get(self, key: int) -> int | None:
        """Return the offset noted for a key, or None."""
        row = key % ROWS
        keys = self._keys.get(row)
        return self._offsets[row][keys.index(key)] if keys is not None and key in keys else None


def seen_key(name: str, digest: bytes) -> int:
    """Return the key of a message by its id and the digest of its content."""
    said = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8, key=digest)
    return int.from_bytes(said.digest(), "big")
