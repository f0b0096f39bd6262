"""Values of frozen dataclasses, of which a search makes many, without a call of Python for each field."""

from typing import Any, TypeVar

from .compiled import kernels

T = TypeVar("T")


def made(kind: type[T], values: tuple[Any, ...]) -> T:
    """A value of a dataclass with slots and without ``__post_init__``; ``values`` are all its fields in their order."""
    return kind(*values) if kernels is None else kernels.made(kind, values)
