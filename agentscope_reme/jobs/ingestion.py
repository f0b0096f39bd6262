"""Taking in documents from outside the vault."""

from typing import TYPE_CHECKING, Annotated

from ..models import NoteChange

if TYPE_CHECKING:
    from ..reme import ReMe


async def ingest(
    reme: "ReMe",
    file: Annotated[str, "A file of this computer, such as ~/Downloads/report.md."],
    *,
    name: Annotated[str, "Its name in the vault; without it, the one it has."] = "",
    date: Annotated[str, "The day it is put under, YYYY-MM-DD; without it, today."] = "",
) -> NoteChange:
    """Copy a file of this computer into the vault's `resource` folder, under the day. Nothing is overwritten.

    The same file again is kept once.
    """
    return await reme.vault.ingest(file, name=name, date=date)
