"""A journal has grown: the lines that were added become units behind those that are known."""

import hashlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from .reading import read_more
from .store import Store

if TYPE_CHECKING:
    from .tokenizer import Tokenizer

STEP_BYTES = 250_000


def extend(
    store: Store,
    tokenizer: "Tokenizer",
    path: str,
    data: bytes,
    before: tuple[str, int, int, str],
    times: tuple[int, int, int],
) -> bool:
    """Add a journal's new lines to what a store knows of it; False when it did not only grow by whole lines.

    ``data`` is all of the file, ``before`` what is known: digest, bytes, lines, fault. Much that is new is read step by
    step, so that no call lasts long; after each step the store knows a file that has grown so far.
    """
    digest, size, lines, fault = before
    if fault or size == 0 or len(data) <= size or data[size - 1] != 0x0A:
        return False
    running = hashlib.sha256(memoryview(data)[:size])
    if running.hexdigest() != digest:
        return False
    for end in _steps(data, size):
        added = data[size:end]
        more = read_more(path, added, tokenizer, base=size, first_line=lines + 1)
        if more is None:
            return False
        running.update(added)
        with store.lock:
            known = store.corpus.files.get(path)
            if known is None or known.digest != digest:
                return False
            store.corpus.extend(path, more)
            size, digest, lines = end, running.hexdigest(), lines + added.count(b"\n")
            known.size, known.digest, known.lines = size, digest, lines
            known.mtime, known.ctime, known.checked = times
    return True


def _steps(data: bytes, begin: int) -> Iterator[int]:
    """Where to end each step: behind a line, so that it is ``STEP_BYTES`` long or little more."""
    while len(data) - begin > STEP_BYTES and (found := data.find(b"\n", begin + STEP_BYTES) + 1) > 0:
        yield found
        begin = found
    if begin < len(data):
        yield len(data)
