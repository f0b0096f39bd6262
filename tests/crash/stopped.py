"""Run something in a child process that dies at the k-th system call that changes the disk."""

import os
import sys
import traceback
from collections.abc import Callable
from typing import Any

DIED = 9
_CHANGING = ("write", "fsync", "replace", "rename", "link", "unlink", "mkdir", "rmdir", "ftruncate", "fchmod")
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT


def dies_at(step: int, action: Callable[[], Any], *, power: bool = False) -> bool:
    """Run ``action`` in a child that stops before its ``step``-th changing call (from 0); whether it did stop.

    The call it stops at is made half when it is a write. With ``power``, what was written and not synced is lost too,
    and only then a sync is a step: otherwise whoever stops before it leaves what whoever stops before the next leaves.
    A child that fails in another way fails the test.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        status = 3
        try:
            _arm(step, power)
            action()
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(status)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code in (0, DIED), f"the action failed at step {step} (exit code {code})"
    return code == DIED


def _arm(step: int, power: bool) -> None:
    left = step
    synced: dict[int, int] = {}  # of each descriptor that was written to: its size at the last sync
    real_ftruncate, real_fstat = os.ftruncate, os.fstat

    def tick() -> bool:
        nonlocal left
        left -= 1
        return left < 0

    def die() -> None:
        if power:
            for descriptor, size in synced.items():
                try:
                    real_ftruncate(descriptor, size)
                except OSError:
                    continue
        os._exit(DIED)

    def wrapped(name: str) -> Callable[..., Any]:
        real = getattr(os, name)

        def call(*args: Any, **kwargs: Any) -> Any:
            if name == "write":
                synced.setdefault(args[0], real_fstat(args[0]).st_size)
            if (power or name != "fsync") and tick():
                if name == "write":
                    data = bytes(args[1])
                    real(args[0], data[: len(data) // 2])
                die()
            result = real(*args, **kwargs)
            if name == "fsync":
                synced.pop(args[0], None)
            return result

        return call

    real_open, real_close = os.open, os.close

    def open_(path: Any, flags: int, *args: Any, **kwargs: Any) -> int:
        if flags & _WRITES and tick():
            die()
        return real_open(path, flags, *args, **kwargs)

    def close(descriptor: int) -> None:
        # Closing makes nothing durable: the file is kept at hand until the power goes.
        if descriptor in synced:
            synced[os.dup(descriptor)] = synced.pop(descriptor)
        real_close(descriptor)

    for name in _CHANGING:
        setattr(os, name, wrapped(name))
    os.open, os.close = open_, close
