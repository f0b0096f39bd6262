"""Marks as they are stored: plain text. AgentScope's own two are members of a text enumeration."""

from enum import Enum
from typing import Any


def plain_mark(mark: Any) -> str | None:
    """Return one mark, or None, as plain text. Raises TypeError for anything else."""
    if mark is None:
        return None
    if not isinstance(mark, str):
        raise TypeError(f"The mark should be a string or None, but got {type(mark)}.")
    return str(mark.value) if isinstance(mark, Enum) else mark


def mark_list(marks: Any) -> list[str]:
    """Return a mark, a list of marks or None as a new list of plain texts. Raises TypeError for anything else."""
    if marks is None:
        return []
    listed = [marks] if isinstance(marks, str) else marks
    if not isinstance(listed, list) or not all(isinstance(mark, str) for mark in listed):
        raise TypeError(f"The mark should be a string, a list of strings, or None, but got {type(marks)}.")
    return [str(plain_mark(mark)) for mark in listed]
