"""Forgetting a note in the files, in the journals and in the index, with a receipt."""

import asyncio
from typing import TYPE_CHECKING, Any

from .loading import loaded
from .models import ForgetReceipt

if TYPE_CHECKING:
    from weakref import WeakSet

    from .index import Index
    from .vault import JournalLine, Vault
    from .vault.forgetting import Traces

_SAVED_STATES = (
    "saved states of agents (the framework's session files): messages and checkpoints in them may still say it, until "
    "they are saved without it or deleted"
)
_COPIES = "copies of the vault (version control, sync services, backups), and other notes that say the same"
_OTHER_PROCESS = (
    "the stored index and vectors: another process holds them, and drops the note the next time it looks at the files"
)
_OLD_STORES = ("reme_metadata", "file_store", "vector_store")


class Forgetting:
    """What lets a :class:`~agentscope_reme.ReMe` forget; a part of it, not used alone."""

    _memories: "WeakSet[Any]"

    if TYPE_CHECKING:

        @property
        def vault(self) -> "Vault": ...
        @property
        def index(self) -> "Index": ...

    async def forget(self, path: str, *, unlink: bool = False, dry_run: bool = False) -> ForgetReceipt:
        """Forget a note, folder or journal for good. Nothing of it can be undone.

        Gone are the files; their trash, their entries in the history and the contents kept there, also under names they
        had before; their entries in the index, which is built anew; and what only they refer to: lines of journals
        (those of a card's own day when the conversation has other cards) and offloaded results. What lies in the trash
        is forgotten by the path it had. After an interruption the same call completes it. The history does not say that
        something was forgotten: keep the receipt.

        Args:
            path: Vault-relative path.
            unlink: Also turn links to it in other notes into plain text; recorded, and undone like any change.
            dry_run: Change nothing; the receipt says what would be removed.

        Raises:
            NoteNotFound: Neither the files nor the history know it.
            PathError: The path is not acceptable, or lies in ``history/`` or ``metadata/``.
        """
        await loaded("pipelines.resource_catalog", "pipelines.evidence", "vault.forgetting")
        from .pipelines.resource_catalog import forget as forget_documents
        from .vault.files import finish
        from .vault.forgetting import forget, traces_of

        shown = self._shown_results()
        traces = await asyncio.to_thread(traces_of, self.vault, path, self._day_of_line, shown)
        indexed = await self._indexed(traces)
        vectors = await self.index.vectors_of(traces.files, traces.lines)
        if dry_run:
            return self._receipt(traces, indexed, vectors, unlink=unlink, dry_run=True)
        await finish(forget_documents, self.vault, traces.names)
        traces = await finish(forget, self.vault, path, self._day_of_line, shown, unlink_others=unlink)
        stored = await self._forget_in_index()
        return self._receipt(traces, indexed, vectors, unlink=unlink, stored=stored)

    def _shown_results(self) -> set[str]:
        from .memory.kept_results import shown_results

        return {path for memory in list(self._memories) for path in shown_results(memory)}

    def _day_of_line(self, line: "JournalLine") -> str:
        from .pipelines.evidence import time_of

        now = self.vault.now()
        found = time_of(line.msg, now)
        if found is None:
            return ""
        stamp, hour_known = found
        return (stamp.astimezone(now.tzinfo) if stamp.tzinfo is not None and hour_known else stamp).date().isoformat()

    async def _indexed(self, traces: "Traces") -> tuple[str, ...]:
        """The files that go, wholly or in part, and that the index knows."""
        await self.index.sync()
        graph = self.index.graph
        return tuple(path for path in (*traces.files, *traces.lines) if path in graph)

    async def _forget_in_index(self) -> bool:
        """Drop the note and write the index anew; whether what is stored is free of it.

        What is written holds the terms of files that are there, and no others: they are merged before.
        """
        from .index.snapshot import FOLDER, INDEX

        await self.index.sync()
        stored = await self.index.persist()
        free = await self.index.forget_vectors()
        if self.index.status()["writer"]:
            if not stored:  # the disk refused: then what lies there is deleted, and written again when it can be
                await self.index.reindex()
            await asyncio.to_thread(self.vault.storage.remove, f"{FOLDER}/index.damaged")
            return free
        return free and not (self.vault.root / INDEX).exists()

    def _receipt(
        self,
        traces: "Traces",
        indexed: tuple[str, ...],
        vectors: int,
        *,
        unlink: bool,
        dry_run: bool = False,
        stored: bool = True,
    ) -> ForgetReceipt:
        journals = [(path, len(numbers)) for path, numbers in traces.lines.items()]
        return ForgetReceipt(
            path=traces.path,
            dry_run=dry_run,
            files=tuple(traces.files),
            journal_lines=tuple(journals),
            results=tuple(traces.results),
            history_entries=len(traces.purge.entries),
            history_files=traces.purge.files,
            indexed=indexed,
            vectors=vectors,
            links=tuple(traces.links),
            unlinked=unlink,
            failed=tuple(traces.failed),
            kept=tuple(traces.kept),
            unreachable=tuple(self._unreachable(traces, stored)),
        )

    def _unreachable(self, traces: "Traces", stored: bool) -> list[str]:
        said = [_SAVED_STATES]
        said += [
            f"the context of session {memory.session_id} in this process: it ends with the session, or clear it"
            for memory in list(self._memories)
            if memory.journal is not None and memory.journal.path in {*traces.lines, *traces.files}
        ]
        said += [] if stored else [_OTHER_PROCESS]
        said += [
            f"{name}/: the store of an older system, which this one never changes"
            for name in _OLD_STORES
            if (self.vault.root / name).is_dir()
        ]
        return [*said, _COPIES]
