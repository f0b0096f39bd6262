"""Pages of vault files that are in the context: where they come from, so that none is stored a second time."""

import json
from collections.abc import Mapping
from posixpath import normpath
from typing import Any

from ..vault.layout import DIALOG, TOOL_RESULT
from .clipping import Pointer

# What lies here is never changed, only added to: the same call shows the same text again.
_UNCHANGING = (f"{TOOL_RESULT}/", f"{DIALOG}/")


def page_call(tool: str, arguments: Any) -> Pointer | None:
    """Return where a page that ``tool`` was asked for can be had again; None unless its file never changes."""
    if not isinstance(arguments, Mapping) or not isinstance(arguments.get("path"), str):
        return None
    path = normpath(arguments["path"].strip())
    if not path.startswith(_UNCHANGING):
        return None
    asked = ", ".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in arguments.items())
    return Pointer(path, 0, 0, again=f"{tool}({asked})") if len(asked) < 400 else None
