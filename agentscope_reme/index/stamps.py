"""When a file was changed, and whether that and its size say that it is as it was: a hint, the bytes are the proof."""

import os

from .known_file import KnownFile

# A file changed this shortly before it was read may change again within the clock's grain and keep its time and size.
GRAIN_NS = 2_000_000_000


def times(status: os.stat_result) -> tuple[int, int]:
    """When a file's content and its status changed, in nanoseconds by the clock of the disk it lies on."""
    return status.st_mtime_ns, status.st_ctime_ns


def looks_same(known: KnownFile, status: os.stat_result) -> bool:
    """Whether a file need not be read again."""
    mtime, ctime = times(status)
    same = known.size == status.st_size and known.mtime == mtime and known.ctime == ctime
    return same and max(mtime, ctime) < known.checked - GRAIN_NS
