"""What a process does that reads files for another (:mod:`.read_ahead`), and how the two talk.

It needs nothing of numpy or bm25s, which take longer to import than all else.
"""

import gc
import marshal
import os
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from .bundle import Read, Sender

if TYPE_CHECKING:
    from ..vault.storage import Storage
    from .tokenizer import Tokenizer

Identity = tuple[int, int, int, int]
_OBJECTS = 100_000  # a batch has fewer
_WORDS = 131_072  # of half a vault of 25 000 notes 45 000: to start over takes a twentieth of the time


def identity(status: os.stat_result) -> Identity:
    """What a file that has not changed since still has."""
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def serve() -> None:
    """What a helper does: read the settings, then answer each batch of paths until there are no more."""
    from ..vault.storage import Storage
    from .tokenizer import Tokenizer

    # What a file is read into lives until its batch is sent, and nothing in it refers to itself: to look through it for
    # garbage at every 700 new objects takes a thirtieth of the time and finds none.
    gc.freeze()
    gc.set_threshold(_OBJECTS)
    _load_block_parser()
    requests, answers, sender = sys.stdin.buffer, sys.stdout.buffer, Sender()
    try:
        hello = marshal.loads(receive(requests))
        storage = Storage(Path(hello.pop("root")))
        chinese = hello.pop("chinese")
        tokenizer = Tokenizer(chinese, most_known=_WORDS)
        hello["uncut"] = chinese == "bigram"
        while True:
            read, identities = [], []
            for path in marshal.loads(receive(requests)):
                if (found := _read(storage, path, tokenizer, hello)) is not None:
                    read.append(found[0])
                    identities.append(found[1])
            send(answers, marshal.dumps(_answer(sender, read, identities)))
    except (EOFError, OSError):
        return  # nobody asks any more


def _load_block_parser() -> None:
    """Import mistletoe without its set of all punctuation, for which it goes through all of Unicode (.15 s).

    Only its inline parser asks that set, and nothing here asks that parser: the shorter one matters to nobody, as this
    process only reads. Elsewhere mistletoe is imported as it is, others in the process may use all of it.
    """
    last = sys.maxunicode
    sys.maxunicode = 0
    try:
        import_module("mistletoe.block_token")
    finally:
        sys.maxunicode = last


def _read(
    storage: "Storage", path: str, tokenizer: "Tokenizer", settings: dict[str, Any]
) -> tuple[Read, Identity] | None:
    from .reading import MAX_FILE_BYTES, read_entries

    checked = time.time_ns()
    try:
        if (found := storage.read_unlinked(path, MAX_FILE_BYTES)) is None:
            return None
        data, status = found
        read = read_entries(path, data, tokenizer, **settings)
    except Exception:
        return None  # the process that asked meets the same, and says so
    read[0].checked = checked
    return read, identity(status)


def _answer(sender: Sender, read: list[Read], identities: list[Identity]) -> tuple[bytes, list[Identity]]:
    try:
        return sender.packed(read), identities
    except Exception:
        return sender.packed([]), []  # as above


def send(pipe: IO[bytes], data: bytes) -> None:
    """Write bytes, with their number before them."""
    pipe.write(len(data).to_bytes(8, "little"))
    pipe.write(data)
    pipe.flush()


def receive(pipe: IO[bytes]) -> bytes:
    """What was sent. Raises EOFError when the other end is gone."""
    return _exactly(pipe, int.from_bytes(_exactly(pipe, 8), "little"))


def _exactly(pipe: IO[bytes], size: int) -> bytes:
    data = pipe.read(size)
    if len(data) < size:
        raise EOFError("the pipe has ended")
    return data
