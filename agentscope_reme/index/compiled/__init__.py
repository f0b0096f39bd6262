"""Loops of ranking in compiled form, where they were built; each has a form in numpy that gives the same.

``kernels`` is the compiled module, or None: it was not built, was built from other sources, cannot be loaded, or is
switched off by ``REME_COMPILED=0`` in the environment. ``form`` says which of the two ranking has, and why. Both are
decided once a process, when ranking is imported.
"""

from .choice import chosen

kernels, _reason = chosen()
form = _reason if kernels is not None else f"in numpy ({_reason})"

__all__ = ["form", "kernels"]
