"""Messages as the journal holds them."""

from typing import Any


def message(text: Any, at: str | None = "2023-05-24 10:02:00", *, role: str = "user", **fields: Any) -> dict[str, Any]:
    """A Msg dictionary; ``at`` is its top-level timestamp."""
    made = {"name": role, "role": role, "content": text, "metadata": None, **fields}
    if at is not None:
        made["timestamp"] = at
    return made
