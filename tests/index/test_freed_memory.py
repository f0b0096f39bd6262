"""Memory goes back to the system where the C library can do that, and nowhere is it an error."""

import ctypes
import sys
from pathlib import Path

import pytest

from agentscope_reme.index.freed_memory import give_back


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1])


@pytest.mark.skipif(
    not (sys.platform == "linux" and hasattr(ctypes.CDLL(None), "malloc_trim")), reason="another C library"
)
def test_what_was_freed_is_given_back():
    # Pieces too small to be given back one by one, between others that stay.
    pieces = [bytes(60_000) for _ in range(2_000)]
    kept = pieces[::50]
    before = resident()
    del pieces
    give_back()
    assert before - resident() > 0.5 * 2_000 * 60_000 / 4_096
    assert len(kept) == 40


@pytest.mark.parametrize("error", [OSError, TypeError, AttributeError])
def test_another_c_library_is_no_error(monkeypatch, error):
    def refuse(name):
        raise error

    monkeypatch.setattr(ctypes, "CDLL", refuse)
    give_back()
