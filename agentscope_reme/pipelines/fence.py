"""Data in a request to a model: quoted in the user role, in a fence that the data cannot close (P12)."""

import re

from ..quoting import FILE, RECALLED, attribute
from ..vault.encoding import clean_text

FENCES = (
    "conversation",
    "note",
    "document",
    "unit",
    "topics",
    "hint",
    "answer",
    RECALLED,
    FILE,
)
"""The names of all fences that the pipelines make, and of those in which other parts show recalled text."""

_FENCE = re.compile(rf"<(\s*/?\s*)({'|'.join(FENCES)})\b", re.IGNORECASE)


def defused(text: str) -> str:
    """Return text in which no fence can be opened or closed; nothing else is changed but what no JSON can hold."""
    return _FENCE.sub(r"‹\1\2", clean_text(text))


def fenced(name: str, text: str, /, **facts: str) -> str:
    """Quote ``text`` as data: ``<name key="value">`` … ``</name>``. ``name`` is one of :data:`FENCES`.

    Facts that are empty are left out; their values lose quotes, line ends and angle brackets.
    """
    if name not in FENCES:
        raise ValueError(f"{name!r} is not one of the fences: {', '.join(FENCES)}")
    shown = "".join(f' {key}="{attribute(clean_text(value))}"' for key, value in facts.items() if value)
    return f"<{name}{shown}>\n{defused(text)}\n</{name}>"
