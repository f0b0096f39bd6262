"""Have everything that ranks do without its compiled loops for a while."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

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
