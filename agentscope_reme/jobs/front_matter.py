"""The front matter of a note: read it, set keys, remove keys; every other byte of the note stays."""

from typing import TYPE_CHECKING, Annotated, Any

from ..models import FileFrontMatter, NoteChange
from .notes import Path

if TYPE_CHECKING:
    from ..reme import ReMe


async def frontmatter_read(reme: "ReMe", path: Path) -> FileFrontMatter:
    """Read the front matter of a note. When it cannot be read, the answer says in which line and why."""
    return await reme.vault.frontmatter_read(path)


async def frontmatter_update(
    reme: "ReMe",
    path: Path,
    changes: Annotated[dict[str, Any], "The keys to set, each with its value."],
) -> NoteChange:
    """Set keys in the front matter of a note; every other line stays as it is.

    What is written reads back as the same value. Front matter that cannot be read is refused with its line, and nothing
    is changed.
    """
    return await reme.vault.frontmatter_update(path, changes)


async def frontmatter_delete(
    reme: "ReMe",
    path: Path,
    keys: Annotated[list[str], "The keys to remove."],
) -> NoteChange:
    """Remove keys from the front matter of a note; every other line stays as it is."""
    return await reme.vault.frontmatter_delete(path, keys)
