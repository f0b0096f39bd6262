"""Have everything that ranks do without its compiled loops for a while; and find loops that have no end."""

import faulthandler
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

_PACKAGE = "agentscope_reme.index."


@contextmanager
def in_numpy() -> Iterator[None]:
    """Whoever has the compiled loops has none inside; what was made with them goes on to be readable."""
    having = [
        module
        for name, module in sys.modules.items()
        if name.startswith(_PACKAGE) and not name.startswith(f"{_PACKAGE}compiled") and hasattr(module, "kernels")
    ]
    before = [module.kernels for module in having]
    assert len(having) > 8
    try:
        for module in having:
            module.kernels = None
        yield
    finally:
        for module, kernels in zip(having, before, strict=True):
            module.kernels = kernels


@pytest.fixture
def ends_where_a_loop_has_no_end():
    """A loop in C lets no signal through: the process ends instead, and says where it was."""
    faulthandler.dump_traceback_later(300, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()
