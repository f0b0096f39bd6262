"""The vault: read, write, append, edit, list and stat the notes, each with a synchronous twin for threads.

A method ``name`` is ``name_sync`` in a worker thread. A write that has begun is finished when its caller is cancelled.
"""

import asyncio
import threading
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from weakref import WeakValueDictionary

from ..errors import FrontMatterError, NoteNotFound
from ..models import FileFrontMatter, NoteChange, NotePage
from .authorship import guard_front_matter, refuse_hidden, refuse_protected
from .edits import append_text, may_replace, must_be_exact, replace_once
from .encoding import Kind, clean_text, decode_exact, encode_exact, kind_of
from .expiry import not_there
from .files import Files, finish
from .images import MAX_IMAGE_BYTES, NoteImage, read_image
from .layout import daily_page, today
from .listing import NoteList, NoteStat, SortKey, list_folder, status_of
from .pages import read_page
from .paths import parse_path
from .pointers import is_stored_text

if TYPE_CHECKING:
    from .changelog import HistoryEntry
    from .daily import DailyCard
    from .dialog import Journal, StoredResult


class Vault(Files):
    """A folder of Markdown notes its user owns. Making one touches nothing on disk; the first write makes it."""

    def __init__(
        self,
        root: str | Path,
        *,
        timezone: str | None = None,
        read_max_bytes: int = 16_384,
        ignore: tuple[str, ...] = (),
        clock: Callable[[], datetime] | None = None,
        link_rule: Literal["literal", "obsidian"] = "literal",
    ) -> None:
        super().__init__(root, timezone=timezone, ignore=ignore, clock=clock, link_rule=link_rule)
        self.read_max_bytes = read_max_bytes
        self._journals: WeakValueDictionary[str, Journal] = WeakValueDictionary()
        self._journals_lock = threading.Lock()

    def __deepcopy__(self, memo: dict[int, Any]) -> "Vault":
        return self  # an agent that is copied goes on with the same files

    def __repr__(self) -> str:
        return f"Vault({str(self.root)!r})"

    # --- reading --------------------------------------------------------------------------------------------------

    async def read(
        self,
        path: str,
        start_line: int | None = None,
        end_line: int | None = None,
        max_bytes: int | None = None,
        *,
        column: int = 0,
        actor: str = "user",
    ) -> NotePage:
        """A page of a file: lines ``start_line`` to ``end_line``, 1-based and inclusive, at most ``max_bytes`` of text.

        ``column`` passes over that many characters of the first line, to page through one very long line. Raises
        NoteNotFound and PathError. What is no text is described in ``text``. The ``actor`` ``agent`` sees no hidden and
        ignored files.
        """
        return await asyncio.to_thread(
            self.read_sync, path, start_line, end_line, max_bytes, column=column, actor=actor
        )

    def read_sync(
        self,
        path: str,
        start_line: int | None = None,
        end_line: int | None = None,
        max_bytes: int | None = None,
        *,
        column: int = 0,
        actor: str = "user",
    ) -> NotePage:
        self._may_see(path, actor)
        bound = self.read_max_bytes if max_bytes is None else max_bytes
        try:
            with self.storage.opened(path) as (descriptor, status, real):
                own = is_stored_text(real)
                return read_page(descriptor, status.st_size, real, start_line, end_line, bound, column, own_text=own)
        except NoteNotFound as error:
            raise not_there(self.storage, path, error) from error

    def read_bytes(self, path: str) -> bytes:
        """All bytes of a file of the vault; blocking."""
        return self.storage.read(path)

    async def read_image(self, path: str, max_bytes: int = MAX_IMAGE_BYTES, *, actor: str = "user") -> NoteImage:
        """A PNG, JPEG, GIF or WebP picture as base64. NoteError when it is none, or larger than ``max_bytes``."""
        return await asyncio.to_thread(self.read_image_sync, path, max_bytes, actor=actor)

    def read_image_sync(self, path: str, max_bytes: int = MAX_IMAGE_BYTES, *, actor: str = "user") -> NoteImage:
        self._may_see(path, actor)
        return read_image(self.storage, path, max_bytes)

    async def stat(self, path: str, *, actor: str = "user") -> NoteStat:
        """Size, time and version of a file, or size and time of a folder."""
        return await asyncio.to_thread(self.stat_sync, path, actor=actor)

    def stat_sync(self, path: str, *, actor: str = "user") -> NoteStat:
        self._may_see(path, actor)
        return status_of(self.storage, self.real_path(path, folder=True), self.now().tzinfo)

    def _may_see(self, path: str, actor: str) -> None:
        """PathError when what is asked for, or what it leads to, is hidden from ``actor``."""
        if actor != "user":
            refuse_hidden("/".join(parse_path(path, folder=True)), actor, self.ignore)
            refuse_hidden(self.real_path(path, folder=True), actor, self.ignore)

    async def list(
        self,
        path: str = "",
        recursive: bool = False,
        extensions: Iterable[str] | str | None = None,
        sort_by: SortKey | None = None,
        limit: int = 100,
        *,
        actor: str = "user",
    ) -> NoteList:
        """What lies in a folder: files and folders, or with ``recursive`` all files below it.

        ``extensions`` such as ``md`` or ``.md``; ``sort_by``: ``name`` (default), ``modified`` (newest first), ``size``
        (largest first). Hidden and tool folders, editors' leftovers and symlinks are left out.
        """
        return await asyncio.to_thread(self.list_sync, path, recursive, extensions, sort_by, limit, actor=actor)

    def list_sync(
        self,
        path: str = "",
        recursive: bool = False,
        extensions: Iterable[str] | str | None = None,
        sort_by: SortKey | None = None,
        limit: int = 100,
        *,
        actor: str = "user",
    ) -> NoteList:
        self._may_see(path, actor)
        return list_folder(
            self.storage,
            self.real_path(path, folder=True),
            self.now().tzinfo,
            recursive=recursive,
            extensions=extensions,
            sort_by=sort_by,
            limit=limit,
            ignore=self.ignore,
        )

    # --- writing --------------------------------------------------------------------------------------------------

    async def write(
        self,
        path: str,
        content: str,
        version: str | None = None,
        overwrite: bool = False,
        *,
        actor: str = "user",
        reason: str = "",
    ) -> NoteChange:
        """Write a whole note. An existing one needs its ``version`` (from ``read``) or ``overwrite=True``.

        Raises NoteExists, NoteChanged ("changed since you read it"), PathError; the note is then as it was.
        """
        return await finish(self.write_sync, path, content, version, overwrite, actor=actor, reason=reason)

    def write_sync(
        self,
        path: str,
        content: str,
        version: str | None = None,
        overwrite: bool = False,
        *,
        actor: str = "user",
        reason: str = "",
    ) -> NoteChange:
        def new_bytes(old: bytes | None, kind: Kind | None) -> bytes:
            may_replace(path, old, kind, content, version, overwrite)
            before = decode_exact(old) if old is not None and kind is not None and kind.exact else ""
            mark = "\ufeff" if before.startswith("\ufeff") and not content.startswith("\ufeff") else ""
            return encode_exact(guard_front_matter(before, mark + clean_text(content), actor, path))

        return self.change(path, new_bytes, actor=actor, reason=reason)

    async def append(self, path: str, content: str, *, actor: str = "user", reason: str = "") -> NoteChange:
        """Add lines at the end of a note, which is made if need be. An empty path is today's page."""
        return await finish(self.append_sync, path, content, actor=actor, reason=reason)

    def append_sync(self, path: str, content: str, *, actor: str = "user", reason: str = "") -> NoteChange:
        path = path or daily_page(today(self.now()))

        def new_bytes(old: bytes | None, kind: Kind | None) -> bytes:
            must_be_exact(path, kind)
            text = decode_exact(old or b"")
            return encode_exact(guard_front_matter(text, append_text(text, content), actor, path))

        return self.change(path, new_bytes, actor=actor, reason=reason, appending=True)

    async def edit(self, path: str, old: str, new: str, *, actor: str = "user", reason: str = "") -> NoteChange:
        """Replace the one passage ``old`` by ``new``. EditNotUnique when it is not there, or more than once."""
        return await finish(self.edit_sync, path, old, new, actor=actor, reason=reason)

    def edit_sync(self, path: str, old: str, new: str, *, actor: str = "user", reason: str = "") -> NoteChange:
        return self._edit_text(path, lambda text: replace_once(text, old, new, path), actor, reason)

    async def delete(self, path: str, *, actor: str = "user", reason: str = "") -> NoteChange:
        """Move a note or a folder to the trash; ``undo`` brings it back. ``links`` are those that now lead nowhere."""
        return await finish(self.delete_sync, path, actor=actor, reason=reason)

    def delete_sync(self, path: str, *, actor: str = "user", reason: str = "") -> NoteChange:
        from .removal import remove

        return remove(self, path, actor=actor, reason=reason)

    async def move(self, src: str, dst: str, *, actor: str = "user", reason: str = "") -> NoteChange:
        """Move or rename a note or folder, and retarget the links that led to it, in its own text and in other notes.

        ``links`` are those that were rewritten, ``failed`` the notes that could not be and why. ``dst`` may be a
        folder. After an interruption the same call completes it.
        """
        return await finish(self.move_sync, src, dst, actor=actor, reason=reason)

    def move_sync(self, src: str, dst: str, *, actor: str = "user", reason: str = "") -> NoteChange:
        from .relocation import move

        return move(self, src, dst, actor=actor, reason=reason)

    # --- front matter ---------------------------------------------------------------------------------------------

    async def frontmatter_read(self, path: str, *, actor: str = "user") -> FileFrontMatter:
        """The front matter of a note; ``error`` says why it cannot be read."""
        return await asyncio.to_thread(self.frontmatter_read_sync, path, actor=actor)

    def frontmatter_read_sync(self, path: str, *, actor: str = "user") -> FileFrontMatter:
        from .frontmatter import parse

        self._may_see(path, actor)
        data = self.read_bytes(path)
        kind = kind_of(data)
        return parse(decode_exact(data)).front if kind.exact else FileFrontMatter(error=f"not UTF-8 ({kind.encoding})")

    async def frontmatter_update(
        self, path: str, changes: Mapping[str, Any], *, actor: str = "user", reason: str = ""
    ) -> NoteChange:
        """Set keys of a note's front matter; every other byte stays. FrontMatterError when it cannot be read."""
        return await finish(self.frontmatter_update_sync, path, changes, actor=actor, reason=reason)

    def frontmatter_update_sync(
        self, path: str, changes: Mapping[str, Any], *, actor: str = "user", reason: str = ""
    ) -> NoteChange:
        from .frontmatter import set_keys

        refuse_protected(changes, actor, path)
        return self._edit_text(path, lambda text: set_keys(text, changes), actor, reason)

    async def frontmatter_delete(
        self, path: str, keys: Iterable[str], *, actor: str = "user", reason: str = ""
    ) -> NoteChange:
        """Remove keys from a note's front matter; all else stays. An emptied block goes too, unless it was there."""
        return await finish(self.frontmatter_delete_sync, path, keys, actor=actor, reason=reason)

    def frontmatter_delete_sync(
        self, path: str, keys: Iterable[str], *, actor: str = "user", reason: str = ""
    ) -> NoteChange:
        from .frontmatter import delete_keys, without_empty_block

        keys = [keys] if isinstance(keys, str) else list(keys)
        refuse_protected(keys, actor, path)

        def edit(text: str) -> str:
            kept = delete_keys(text, keys, keep_block=True)
            bare = kept if kept == text else without_empty_block(kept)
            return kept if bare != kept and self.log.held(path, encode_exact(kept)) else bare

        return self._edit_text(path, edit, actor, reason)

    def _edit_text(self, path: str, edit: Callable[[str], str], actor: str, reason: str) -> NoteChange:
        """Change an existing UTF-8 note by a function of its text."""

        def new_bytes(old: bytes | None, kind: Kind | None) -> bytes:
            if old is None or kind is None:
                raise NoteNotFound(f"there is no {path} in the vault", path)
            must_be_exact(path, kind)
            text = decode_exact(old)
            try:
                return encode_exact(guard_front_matter(text, edit(text), actor, path))
            except FrontMatterError as error:
                raise FrontMatterError(str(error) if path in str(error) else f"{path}: {error}") from error

        return self.change(path, new_bytes, actor=actor, reason=reason)

    # --- history --------------------------------------------------------------------------------------------------

    async def history(self, path: str = "", limit: int = 50) -> "tuple[HistoryEntry, ...]":
        """What was changed, newest first: everywhere, or of one note or folder."""
        return await asyncio.to_thread(self.history_sync, path, limit)

    def history_sync(self, path: str = "", limit: int = 50) -> "tuple[HistoryEntry, ...]":
        return self.log.of_path("/".join(parse_path(path, folder=True)))[: max(0, limit)]

    async def undo(self, history_id: str | None = None, *, actor: str = "user", reason: str = "") -> NoteChange:
        """Take a change back (by default the newest that is not undone). NoteChanged when the note has changed since.

        An undo is recorded, and can be undone by its own id.
        """
        return await finish(self.undo_sync, history_id, actor=actor, reason=reason)

    def undo_sync(self, history_id: str | None = None, *, actor: str = "user", reason: str = "") -> NoteChange:
        from .undo import undo

        return undo(self, history_id, actor=actor, reason=reason)

    # --- daily notes ----------------------------------------------------------------------------------------------

    async def daily_create(
        self,
        name: str,
        description: str = "",
        body: str = "",
        *,
        session_id: str = "",
        date: str = "",
        actor: str = "user",
        reason: str = "",
    ) -> NoteChange:
        """Make a card of a day (``YYYY-MM-DD``, today by default), and list it on the day's page.

        A session that has a card that day gets it changed instead: identity is ``session_id``, the file is named after
        ``name``. PathError for what is no date.
        """
        from .daily import daily_create

        about = {"session_id": session_id, "date": date, "actor": actor, "reason": reason}
        return await finish(daily_create, self, name, description, body, **about)

    async def daily_list(self, date: str = "") -> "tuple[DailyCard, ...]":
        """The cards of a day (``YYYY-MM-DD``, today by default), by path."""
        from .daily import daily_list

        return await asyncio.to_thread(daily_list, self, date)

    async def daily_reindex(self, date: str = "", *, actor: str = "user") -> NoteChange | None:
        """List the day's cards on its page again; text outside the markers stays. None: there is nothing to list."""
        from .daily import daily_reindex

        return await finish(daily_reindex, self, date, actor=actor)

    # --- what comes from outside ----------------------------------------------------------------------------------

    async def ingest(self, source: str | Path, *, name: str = "", date: str = "", actor: str = "user") -> NoteChange:
        """Copy a file of the disk into ``resource/<date>/``, under its own name, a portable form of it, or ``name``.

        The same bytes under that name are kept once; others get a number, and nothing is overwritten. NoteError when
        the file cannot be read or is larger than 256 MiB. Callers decide who may name a file of the disk: no agent.
        """
        return await finish(self.ingest_sync, source, name=name, date=date, actor=actor)

    def ingest_sync(self, source: str | Path, *, name: str = "", date: str = "", actor: str = "user") -> NoteChange:
        from .ingestion import ingest

        return ingest(self, source, name=name, date=date, actor=actor)

    # --- what is not a note ----------------------------------------------------------------------------------------

    def journal(self, session_id: str) -> "Journal":
        """The journal of a conversation; the same object for the same id while anyone holds it."""
        from .dialog import Journal

        with self._journals_lock:
            journal = self._journals.get(session_id)
            if journal is None:
                journal = Journal(self.storage, session_id, clock=self.now, publish=self.publish)
                self._journals[session_id] = journal
            return journal

    async def store_result(self, data: str | bytes, suffix: str = ".txt") -> "StoredResult":
        """Keep a tool result or a medium under its content hash; the same data is kept once."""
        return await finish(self.store_result_sync, data, suffix)

    def store_result_sync(self, data: str | bytes, suffix: str = ".txt") -> "StoredResult":
        from .dialog import store_result

        return store_result(self.storage, data, suffix)
