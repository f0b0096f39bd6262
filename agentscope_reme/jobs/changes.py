"""What was changed, taking it back, and forgetting for good."""

from typing import TYPE_CHECKING, Annotated

from ..models import ForgetReceipt, NoteChange

if TYPE_CHECKING:
    from ..reme import ReMe
    from ..vault import HistoryEntry


async def history(
    reme: "ReMe",
    path: Annotated[str, "A note or a folder; without it, the whole vault."] = "",
    *,
    limit: Annotated[int, "How many changes at most."] = 50,
) -> "tuple[HistoryEntry, ...]":
    """What was changed, newest first: when, by whom, why, and the id that undoes it."""
    return await reme.vault.history(path, limit)


async def undo(
    reme: "ReMe",
    history_id: Annotated[str | None, "The id that history gives; without it, the newest change."] = None,
) -> NoteChange:
    """Take a change back. Refused when the note has changed since; an undo can itself be undone by its id."""
    return await reme.vault.undo(history_id)


async def forget(
    reme: "ReMe",
    path: Annotated[str, "A note, folder or journal, also one that lies in the trash."],
    *,
    unlink: Annotated[bool, "Also turn links to it in other notes into plain text."] = False,
    dry_run: Annotated[bool, "Only show what would be removed."] = False,
) -> ForgetReceipt:
    """Forget a note for good: the note, its trash and history, its index entries, and what only it refers to.

    What only it refers to are lines of conversations' journals and offloaded tool results. Nothing of it can be undone.
    The receipt lists what was removed, and what cannot be reached from here.
    """
    return await reme.forget(path, unlink=unlink, dry_run=dry_run)
