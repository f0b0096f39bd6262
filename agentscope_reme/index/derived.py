"""Texts of units that do not stand in their file as they are: it is taken apart again, and the last ones are kept.

Those are JSON with escapes, HTML, and other encodings than UTF-8. To take a large one apart takes a second and more.
"""

from .texts import PackedTexts

KEPT_BYTES = 16_000_000


class DerivedTexts:
    """What was taken apart last. For one thread at a time."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, str, int], tuple[PackedTexts, int]] = {}  # with their bytes; the last used last

    def of(self, path: str, data: bytes, digest: str, chunk_chars: int) -> PackedTexts:
        """The texts of all units of a file, by number; ``digest`` is that of ``data``, the whole file."""
        key = (path, digest, chunk_chars)
        found = self._kept.pop(key, None)
        if found is None:
            from .chunker import read_document
            from .reading import decode

            document = read_document(path, decode(data)[0], chunk_chars=chunk_chars, with_chunks=False)
            texts = PackedTexts(unit.text for unit in document.units)
            found = texts, len(texts.parts()[0])
        if found[1] <= KEPT_BYTES:
            self._kept[key] = found
        while sum(size for _, size in self._kept.values()) > KEPT_BYTES:
            del self._kept[next(iter(self._kept))]
        return found[0]
