"""Notes: read, write, append, edit, delete, move, list, stat. Paths are relative to the vault, with ``/``."""

from typing import TYPE_CHECKING, Annotated, Literal

from ..models import NoteChange, NotePage
from .registry import LONG_TEXT

if TYPE_CHECKING:
    from ..reme import ReMe
    from ..vault import NoteImage, NoteList, NoteStat

Path = Annotated[str, "Path inside the vault, such as daily/2026-03-11.md."]


async def read(
    reme: "ReMe",
    path: Path,
    *,
    start_line: Annotated[int | None, "First line, counted from 1."] = None,
    end_line: Annotated[int | None, "Last line, included."] = None,
    column: Annotated[int, "Characters of the first line to pass over, where a page ended inside a long line."] = 0,
) -> NotePage:
    """Read a note, or some of its lines.

    A long note comes in pages; the answer says where the next one starts. Its version is what `write` wants to see
    before it replaces the note.
    """
    return await reme.vault.read(path, start_line, end_line, column=column)


async def read_image(
    reme: "ReMe",
    path: Annotated[str, "Path of a picture inside the vault."],
    *,
    max_bytes: Annotated[int, "Largest file that is read, in bytes."] = 5 * 1024 * 1024,
) -> "NoteImage":
    """Read a picture (PNG, JPEG, GIF, WebP) as base64, with its media type."""
    return await reme.vault.read_image(path, max_bytes)


async def write(
    reme: "ReMe",
    path: Path,
    content: Annotated[str, "The whole text of the note.", LONG_TEXT],
    *,
    version: Annotated[str | None, "The version that `read` gave; needed when the note exists."] = None,
    overwrite: Annotated[bool, "Replace the note as it is now."] = False,
) -> NoteChange:
    """Write a whole note: a new one, or one that exists and whose version is given."""
    return await reme.vault.write(path, content, version, overwrite)


async def append(
    reme: "ReMe",
    path: Annotated[str, "Path inside the vault; an empty one is today's page."],
    content: Annotated[str, "The lines to add.", LONG_TEXT],
) -> NoteChange:
    """Add lines at the end of a note, which is made if it does not exist."""
    return await reme.vault.append(path, content)


async def edit(
    reme: "ReMe",
    path: Path,
    old: Annotated[str, "The passage to replace, exactly as it stands, and standing there once.", LONG_TEXT],
    new: Annotated[str, "What shall stand there.", LONG_TEXT],
) -> NoteChange:
    """Replace one passage of a note; everything else in it stays as it is."""
    return await reme.vault.edit(path, old, new)


async def delete(reme: "ReMe", path: Annotated[str, "A note or a folder of the vault."]) -> NoteChange:
    """Delete a note or a folder. It goes to the trash, and `undo` brings it back.

    The answer names the links in other notes that now lead nowhere.
    """
    return await reme.vault.delete(path)


async def move(
    reme: "ReMe",
    src: Annotated[str, "A note or a folder of the vault."],
    dst: Annotated[str, "Its new path, or a folder that exists."],
) -> NoteChange:
    """Move or rename a note or a folder; the links that led to it lead to it again. Nothing is overwritten.

    The answer names the links that were rewritten, and the notes that could not be. After an interruption the same call
    completes it.
    """
    return await reme.vault.move(src, dst)


async def list_(
    reme: "ReMe",
    path: Annotated[str, "A folder of the vault; without it, the top."] = "",
    *,
    recursive: Annotated[bool, "Also what lies in the folders below."] = False,
    extension: Annotated[list[str] | None, "Only files of this kind, such as md; give it again for more."] = None,
    sort_by: Annotated[Literal["name", "modified", "size"], "Order of the list."] = "name",
    limit: Annotated[int, "How many entries at most."] = 100,
) -> "NoteList":
    """List the files and folders of the vault."""
    return await reme.vault.list(path, recursive, extension or None, sort_by, limit)


async def stat(reme: "ReMe", path: Path) -> "NoteStat":
    """Size, time, version and encoding of one file."""
    return await reme.vault.stat(path)
