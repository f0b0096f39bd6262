"""Taking a whole run back: every note it made or changed, and its topics. The daily notes it read count as read."""

from typing import TYPE_CHECKING

from ..errors import ReMeError
from ..models import Response
from ..vault.notes import finish

if TYPE_CHECKING:
    from ..vault import HistoryEntry, Vault


async def undo_run(vault: "Vault", run_id: str = "") -> Response:
    """Undo a dream, the newest that is not undone without ``run_id``. All of it or nothing.

    Refused, with a sentence, when one of its notes has changed since. The undo is in the history and can be undone.
    ``metadata``: ``run_id`` and ``paths``.
    """
    response: Response = await finish(_undo, vault, run_id)
    return response


def _undo(vault: "Vault", run_id: str) -> Response:
    with vault.storage.lock():
        entries = vault.log.entries()
        undone = {entry.of for entry in entries}
        run = _chosen(entries, undone, run_id)
        if run is None:
            what = f"the history has no dream {run_id}" if run_id else "there is no dream that could be undone"
            return Response(False, what, {"run_id": run_id, "paths": []})
        paths = [entry.path for entry in entries if entry.group == run and entry.id not in undone]
        try:
            vault.undo_sync(run, reason=f"undo of dream {run}")
        except ReMeError as error:
            return Response(False, str(error), {"run_id": run, "paths": []})
    return Response(True, "\n".join([f"Took back dream {run}:", *paths]), {"run_id": run, "paths": paths})


def _chosen(entries: "list[HistoryEntry]", undone: set[str | None], run_id: str) -> str | None:
    for entry in reversed(entries):
        is_dream = entry.group is not None and entry.of is None and entry.reason.startswith("dream ")
        if is_dream and (entry.group == run_id if run_id else entry.id not in undone):
            return entry.group
    return None
