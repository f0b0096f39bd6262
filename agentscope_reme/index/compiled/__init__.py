"""Loops of ranking in compiled form, where they were built; everything here has a form in numpy that gives the same.

``kernels`` is the compiled module, or None: it was not built, was built from other sources, cannot be loaded, or is
switched off by ``REME_COMPILED=0`` in the environment. ``reason`` says which. Ranking asks once, when it is imported.
"""

from .choice import chosen

kernels, reason = chosen()

__all__ = ["kernels", "reason"]
