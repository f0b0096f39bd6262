"""What an agent is told about its memory vault in its system prompt."""

import re
from typing import TYPE_CHECKING, Any

from ..memory.vault_tools import names_in
from ..prompts import load_prompt

if TYPE_CHECKING:
    from ..reme import ReMe

_SLOT = re.compile(r"\{(\w+)\}")


def guidance_text(reme: "ReMe", language: str, toolkit: Any = None, prefix: str = "") -> str:
    """Return the guidance with the names that the tools have; see :meth:`ReMe.guidance`."""
    names = names_in(toolkit, reme) if toolkit is not None else {} if prefix else reme.tool_names
    lines = load_prompt("guidance", language).split("\n")
    if names:  # what none of the tools can do is not advised
        lines = [line for line in lines if not (slots := _SLOT.findall(line)) or not names.keys().isdisjoint(slots)]
    return "\n".join(_SLOT.sub(lambda slot: names.get(slot[1], f"{prefix}{slot[1]}"), line) for line in lines)
