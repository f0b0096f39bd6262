"""The tool functions. No ``from __future__ import annotations`` here: AgentScope builds schemas from live annotations.

Vault and limits are bound to the object and never parameters, since a model can override any parameter. Arguments come
unchecked, so each is coerced. Nothing raises: what went wrong is the result, as a sentence.
"""

import asyncio
import functools
import inspect
import logging
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from agentscope.message import TextBlock
from agentscope.tool import ToolResponse

from ..errors import NoteError, NoteExists, ReMeError
from ..memory.running import current_window
from ..quoting import attribute, defused, page_text, search_text
from ..vault.layout import DIALOG
from .journal_page import turns_text

if TYPE_CHECKING:
    from ..models import NoteChange, NotePage
    from ..reme import ReMe

logger = logging.getLogger(__name__)

MOST_RESULTS = 20
# A turn that is longer than a page is rendered whole to be paged; no message is near this many bytes.
LONGEST_TURN = 8_000_000
# A citation as search results give it, where a path is asked for.
_CITED = re.compile(r"(?P<path>.+\.\w{1,8}):(?P<start>\d{1,9})(?:-(?P<end>\d{1,9}))?")


def _said(text: str) -> ToolResponse:
    return ToolResponse(content=[TextBlock(type="text", text=text)])


def _spoken(tool: Callable[..., Awaitable[str]]) -> Callable[..., Awaitable[ToolResponse]]:
    """Make a tool of a method that returns text: errors become sentences, a cancellation passes through."""

    signature = inspect.signature(tool)

    @functools.wraps(tool)
    async def speak(*args: Any, **kwargs: Any) -> ToolResponse:
        try:
            signature.bind(*args, **kwargs)
        except TypeError as error:
            takes = ", ".join(list(signature.parameters)[1:])
            return _said(f"Error: {tool.__name__}: {error}. It takes: {takes}. Nothing was done.")
        try:
            return _said(await tool(*args, **kwargs))
        except asyncio.CancelledError:
            raise
        except ReMeError as error:
            return _said(f"Error: {defused(str(error))}")
        except Exception as error:
            logger.exception("The tool %s failed.", tool.__name__)
            return _said(f"Error: {type(error).__name__}: {defused(str(error))}. Nothing was changed by this call.")

    speak.__annotations__ = {**tool.__annotations__, "return": ToolResponse}
    return speak


def as_int(value: Any, default: int | None, low: int = 1, high: int = 1_000_000_000) -> int | None:
    """Coerce an argument a model gave; what is no number is the default."""
    try:
        number = int(float(value))
    except (TypeError, ValueError, OverflowError):
        return default
    return max(low, min(high, number))


def as_text(name: str, value: Any) -> str:
    """Check that an argument is text; a model may have sent null, or an object where a document was meant."""
    if isinstance(value, str):
        return value
    if value is None or isinstance(value, (dict, list)):
        raise NoteError(f"{name} must be text, not {'null' if value is None else 'an object'}; nothing was changed")
    return str(value)


def as_version(value: Any) -> str | None:
    """Coerce an argument a model gave; null in any spelling is no version."""
    text = str(value if value is not None else "").strip()
    return None if text.lower() in ("", "none", "null") else text


def as_bool(value: Any) -> bool:
    """Coerce an argument a model gave."""
    return value.strip().lower() in ("true", "1", "yes") if isinstance(value, str) else bool(value)


class MemoryTools:
    """The tools over one vault. Bind them with :func:`~agentscope_reme.register_memory_tools`.

    Args:
        reme: Whose vault they work on.
        names: The tools an agent has, each with the name it has there; what a tool advises is one of these.
    """

    def __init__(self, reme: "ReMe", names: Mapping[str, str] | None = None) -> None:
        self._reme = reme
        self._names = dict(names or {})

    def __deepcopy__(self, memo: dict[int, Any]) -> "MemoryTools":
        return self

    @property
    def reme(self) -> "ReMe":
        """The memory these tools belong to."""
        return self._reme

    @_spoken
    async def memory_search(self, query: str, max_results: int = 5, min_score: float = 0.0) -> str:
        """Search the memory vault: notes, daily cards, and what earlier or folded conversations said.

        Search before you answer anything about earlier work, decisions, dates, people, preferences or open tasks, and
        before you say that you do not know. Use the words that the note or message would use. Results are quoted with
        their source as path:lines.

        Args:
            query (str): What to look for, in a few words or a question, Chinese or English.
            max_results (int): How many passages to return, 1 to 20.
            min_score (float): Leave out passages that score below this; 0 returns all.
        """
        limit = as_int(max_results, 5, 1, MOST_RESULTS) or 5
        try:
            floor = max(0.0, float(min_score))
        except (TypeError, ValueError):
            floor = 0.0
        window = current_window.get() or self._reme.config.max_input_length
        result = await self._reme.search(
            str(query or ""), limit=limit, min_score=floor or None, token_budget=max(200, min(2_000, window // 6))
        )
        return search_text(result)

    @_spoken
    async def read(self, path: str, start_line: int = 1, end_line: int = 0, column: int = 0) -> str:
        """Read a file of the memory vault, in pages.

        Use it to open what memory_search found, a full tool result that was moved to a file, or a note before you edit
        it. It reads only the memory vault, not the computer's disk.

        Args:
            path (str): Path inside the vault, as search results and notices give it.
            start_line (int): First line, counted from 1.
            end_line (int): Last line; 0 reads as far as one page goes.
            column (int): Characters of the first line to pass over, where a page ended inside a very long line.
        """
        path, first, last = str(path or ""), as_int(start_line, 1), as_int(end_line, 0, 0) or None
        if (cited := _CITED.fullmatch(path)) and first == 1 and last is None:
            path, first = cited["path"], int(cited["start"])
            last = int(cited["end"] or first)
        window = current_window.get() or self._reme.config.max_input_length
        bound = max(600, min(self._reme.config.read_max_bytes, window * 3 // 8))
        passed = as_int(column, 0, 0) or 0
        page = await self._reme.vault.read(path, first, last, max_bytes=bound, column=passed, actor="agent")
        if page.path.startswith(f"{DIALOG}/"):
            page = await self._turns(page, passed, bound)
        return page_text(page, self._names.get("read", "read"), end_line=last)

    async def _turns(self, page: "NotePage", passed: int, bound: int) -> "NotePage":
        """Show a page of a journal as turns; one turn that is longer than a page is paged by its own characters."""
        if page.cut_column is None and not passed:
            return replace(page, text=turns_text(page.text, page.start_line))
        line = page.start_line
        whole = await self._reme.vault.read(page.path, line, line, max_bytes=LONGEST_TURN)
        if whole.cut_column is not None:
            return page
        return page_of_turn(whole, turns_text(whole.text, line), passed, bound)

    @_spoken
    async def write(self, path: str, content: str, version: str = "", overwrite: bool = False) -> str:
        """Write a whole note into the memory vault.

        Use it for a new note; add to a note or change it with edit. What the user asks you to remember for good belongs
        in MEMORY.md; other notes go to digest/<topic>.md or daily/<date>/<topic>.md. Link notes with
        [[path/to/note.md]].

        Args:
            path (str): Path inside the vault, ending in .md.
            content (str): The whole text of the note.
            version (str): The version that read gave, when you replace a note you have read.
            overwrite (bool): Replace the note whatever it holds now.
        """
        text = as_text("content", content)
        try:
            change = await self._reme.vault.write(
                str(path or ""), text, as_version(version), as_bool(overwrite), actor="agent"
            )
        except NoteExists as error:
            raise NoteExists(f"{error.path} exists; nothing was changed. {self._instead()}", error.path) from error
        return _told(change)

    def _instead(self) -> str:
        """What to do instead of writing over a note, with the tools that are there."""
        told = {"append": "add to it with {}", "edit": "change a passage with {}"}
        ways = [words.format(self._names[name]) for name, words in told.items() if name in self._names]
        ways.append(f"give the version that {self._names.get('read', 'read')} returned to replace all of it")
        advice = ", or ".join(ways)
        return advice[0].upper() + advice[1:]

    @_spoken
    async def append(self, content: str, path: str = "") -> str:
        """Add text at the end of a note of the memory vault.

        Args:
            content (str): The text to add.
            path (str): Path inside the vault; empty is today's page.
        """
        return _told(await self._reme.vault.append(str(path or ""), as_text("content", content), actor="agent"))

    @_spoken
    async def edit(self, path: str, old: str, new: str) -> str:
        """Replace one passage in a note of the memory vault.

        Args:
            path (str): Path inside the vault.
            old (str): The passage as it stands in the note, long enough to occur only once.
            new (str): What replaces it.
        """
        before, after = as_text("old", old), as_text("new", new)
        return _told(await self._reme.vault.edit(str(path or ""), before, after, actor="agent"))

    @_spoken
    async def list(self, path: str = "", recursive: bool = False) -> str:
        """List a folder of the memory vault.

        Args:
            path (str): Folder inside the vault; empty is the vault itself.
            recursive (bool): List the folders below as well.
        """
        found = await self._reme.vault.list(str(path or ""), recursive=as_bool(recursive), limit=100, actor="agent")
        lines = [
            f"{attribute(entry.path)}{'/' if entry.kind == 'folder' else f' ({entry.size} bytes)'}"
            for entry in found.entries
        ]
        if found.total > len(found.entries):
            lines.append(f"and {found.total - len(found.entries)} more; list a folder below")
        return "\n".join(lines) or "Nothing is there."


def _told(change: "NoteChange") -> str:
    words = {"created": "Created", "changed": "Changed", "unchanged": "Nothing to change in", "removed": "Removed"}
    return f"{words.get(change.kind, 'Changed')} {change.path} (version {change.version})."


def page_of_turn(whole: "NotePage", text: str, passed: int, bound: int) -> "NotePage":
    """Return the part of a long turn that fits a page: ``bound`` bytes after the first ``passed`` characters."""
    from ..memory.clipping import prefix_within

    rest = text[passed:]
    kept = rest[: max(1, prefix_within(rest, bound))]
    cut = passed + len(kept)
    if cut < len(text):
        return replace(whole, text=kept, next_line=whole.start_line, cut_column=cut)
    following = whole.start_line + 1
    return replace(whole, text=kept, next_line=following if following <= whole.total_lines else None, cut_column=None)
