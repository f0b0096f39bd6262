"""When a file was changed, and whether that and its size say that it is as it was: a hint, the bytes are the proof."""

import os

from .known_file import KnownFile

# A file changed this shortly before it was read may change again within the clock's grain and keep its time and size.
GRAIN_NS = 2_000_000_000
_MOST = (1 << 63) - 1


def times(status: os.stat_result) -> tuple[int, int]:
    """When a file's content and its status changed, in nanoseconds by the clock of the disk it lies on.

    Disks keep years that 64 bits of nanoseconds do not hold (1677 to 2262): those are the first or the last of these.
    """
    return _held(status.st_mtime_ns), _held(status.st_ctime_ns)


def _held(time: int) -> int:
    return time if -_MOST <= time <= _MOST else _MOST if time > 0 else -_MOST


def looks_same(known: KnownFile, status: os.stat_result) -> bool:
    """Whether a file need not be read again."""
    mtime, ctime = times(status)
    same = known.size == status.st_size and known.mtime == mtime and known.ctime == ctime
    return same and max(mtime, ctime) < known.checked - GRAIN_NS
