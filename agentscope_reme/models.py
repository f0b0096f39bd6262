"""Values that cross the layers: files, links, chunks, search results, outcomes. Plain data, hardly any behaviour."""

from dataclasses import dataclass, field
from typing import Any, Literal

# --- The vault ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class FileFrontMatter:
    """The YAML block of a note. ``error`` says why it could not be read; ``data`` is then empty."""

    data: dict[str, Any] = field(default_factory=dict)
    error: str | None = None


@dataclass(frozen=True, slots=True)
class FileLink:
    """A wikilink as it stands in a note. ``target_path`` is literal text; ``line`` is 1-based in the file.

    ``target_path`` is "" for a place in the same note; ``size`` is that of an embed (``![[pic.png|100x50]]``).
    """

    source_path: str
    target_path: str
    target_anchor: str | None = None
    predicate: str | None = None
    alias: str | None = None
    embed: bool = False
    line: int = 0
    size: str | None = None


@dataclass(frozen=True, slots=True)
class FileNode:
    """One file as the index knows it. ``st_mtime`` in seconds, ``size`` in bytes, ``version`` the content hash."""

    path: str
    st_mtime: float
    size: int = 0
    version: str = ""
    links: tuple[FileLink, ...] = ()
    chunk_ids: tuple[str, ...] = ()
    front_matter: FileFrontMatter = field(default_factory=FileFrontMatter)


@dataclass(frozen=True, slots=True)
class NotePage:
    """Part of a file, as ``read`` returns it. Lines are 1-based and inclusive; ``size`` is the file's bytes.

    ``version`` is the content hash to hand back to ``write``; ``next_line`` is where the next page starts, or None;
    ``cut_column`` is the character of ``next_line`` where the page broke inside one very long line.
    """

    path: str
    text: str
    start_line: int
    end_line: int
    total_lines: int
    size: int
    version: str
    encoding: str = "utf-8"
    next_line: int | None = None
    cut_column: int | None = None


@dataclass(frozen=True, slots=True)
class NoteChange:
    """What a write did. ``version`` is the new content hash ("" when removed); ``history_id`` the entry that undoes it.

    ``links``: after a delete those that now lead nowhere, after a move those that were rewritten. ``failed``: notes
    whose links could not be rewritten, each with the reason.
    """

    path: str
    kind: Literal["created", "changed", "unchanged", "removed", "moved"]
    version: str
    history_id: str | None = None
    links: tuple[FileLink, ...] = ()
    failed: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class ForgetReceipt:
    """What forgetting removed, or with ``dry_run`` would remove, and what it cannot reach.

    ``files`` are the notes and other files at ``path``. ``journal_lines`` is how many lines went, by journal;
    ``results`` are offloaded files; ``history_entries`` counts entries of the change log, ``history_files`` are kept
    contents and places in the trash; ``indexed`` are files that the index knew, ``vectors`` is how many vectors were of
    their texts alone. ``links`` are those of other notes:
    they lead nowhere now, or are plain text when ``unlinked`` (``failed``: notes that could not be changed). ``kept``
    is what stays because something else needs it, with the reason; ``unreachable`` are sentences about what may still
    hold it.
    """

    path: str
    dry_run: bool = False
    files: tuple[str, ...] = ()
    journal_lines: tuple[tuple[str, int], ...] = ()
    results: tuple[str, ...] = ()
    history_entries: int = 0
    history_files: tuple[str, ...] = ()
    indexed: tuple[str, ...] = ()
    vectors: int = 0
    links: tuple[FileLink, ...] = ()
    unlinked: bool = False
    failed: tuple[tuple[str, str], ...] = ()
    kept: tuple[tuple[str, str], ...] = ()
    unreachable: tuple[str, ...] = ()


# --- Index and search ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class FileChunk:
    """A piece of a file. Lines are those of the file; ``scores`` holds what each arm of a search gave."""

    id: str
    path: str
    start_line: int
    end_line: int
    text: str
    metadata: dict[str, Any] = field(default_factory=dict)
    scores: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LinkedNote:
    """A note met along links. ``direction`` is that of the link, ``via`` the note at its other end.

    ``line`` is where the link stands (in ``via`` for links out, in this note for links in). ``exists`` is false for a
    note that is linked and not there (yet); ``path`` is then what the link says.
    """

    path: str
    name: str = ""
    description: str = ""
    direction: Literal["out", "in"] = "out"
    via: str = ""
    line: int = 0
    predicate: str = ""
    depth: int = 1
    exists: bool = True


@dataclass(frozen=True, slots=True)
class Traversal:
    """A walk along links: the notes met, nearest first; ``more`` says that the limit left some out."""

    path: str
    notes: tuple[LinkedNote, ...] = ()
    more: bool = False


@dataclass(frozen=True, slots=True)
class LooseLink:
    """A link that leads to no note: ``unresolved``, ``ambiguous`` (``candidates`` answer to it) or ``outside``."""

    path: str
    line: int
    target: str
    kind: str
    candidates: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SearchHit:
    """One passage. ``score`` is higher-is-better, on the scale that docs/search.md states.

    ``kind`` is ``note`` or ``journal`` (a turn that left a conversation's context); ``date`` is ``YYYY-MM-DD`` or "".
    ``linked`` are the notes one link away, at most ten in each direction; ``outlinks`` and ``inlinks`` are their paths.
    """

    path: str
    start_line: int
    end_line: int
    text: str
    score: float
    title: str = ""
    headings: tuple[str, ...] = ()
    date: str = ""
    kind: Literal["note", "journal", "resource"] = "note"
    outlinks: tuple[str, ...] = ()
    inlinks: tuple[str, ...] = ()
    metadata: dict[str, Any] = field(default_factory=dict)
    linked: tuple[LinkedNote, ...] = ()

    @property
    def source(self) -> str:
        """The citation: ``path:start-end``."""
        return f"{self.path}:{self.start_line}-{self.end_line}"


SearchStatus = Literal["ok", "weak", "none", "stale", "degraded"]


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Hits, best first, and how far to trust them.

    ``ok``; ``weak``: hits, but probably not about this; ``none``: nothing shares a content word (or the floor rejected
    all); ``stale``: the index is behind the files; ``degraded``: a part of the search is off. ``note`` says why.
    ``evidence`` is how much of the query's content words the best hits hold, 0 to 1: what tells ``weak`` from ``ok``,
    and ``none`` because of a bound from ``none`` because nothing matches, where it is 0.
    """

    status: SearchStatus
    hits: tuple[SearchHit, ...] = ()
    note: str = ""
    query: str = ""
    evidence: float = 0.0


@dataclass(frozen=True, slots=True)
class NodeHit:
    """A long-term note of ``digest/`` by what it says of itself. ``score`` as in :class:`SearchHit`."""

    path: str
    name: str
    description: str = ""
    score: float = 0.0


@dataclass(frozen=True, slots=True)
class IndexReport:
    """What one pass of the index over the vault did; partial failure is a state, not a log line."""

    added: int = 0
    changed: int = 0
    removed: int = 0
    unchanged: int = 0
    failed: tuple[tuple[str, str], ...] = ()
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class VectorReport:
    """What making vectors came to. ``texts`` are there, ``embedded`` were new, ``missing`` have no vector.

    ``fault`` says why vectors are missing, "" when none is.
    """

    texts: int = 0
    embedded: int = 0
    missing: int = 0
    fault: str = ""
    seconds: float = 0.0


# --- Working memory -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Compacted:
    """A compaction that changed the context. Token counts cover system prompt, schemas, summary and messages."""

    tokens_before: int
    tokens_after: int
    moved: int
    journal_path: str
    reason: str = "threshold"
    generator: str = "model"
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Skipped:
    """Nothing was done, and why."""

    reason: str


@dataclass(frozen=True, slots=True)
class Failed:
    """Nothing was changed, because something went wrong. ``error`` is for people, not for the model."""

    reason: str
    error: str = ""


CompactionOutcome = Compacted | Skipped | Failed


@dataclass(frozen=True, slots=True)
class CompactionEvent:
    """What a run of the hook did to one memory, for a callback and for the log.

    ``kind``: ``compacted``, ``failed``, ``offloaded`` (tool results or oversized texts only), ``window_too_small``.
    """

    kind: Literal["compacted", "failed", "offloaded", "window_too_small"]
    session_id: str
    reason: str
    tokens_before: int
    tokens_after: int
    messages_moved: int = 0
    results_offloaded: int = 0
    paths: tuple[str, ...] = ()
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Response:
    """The outcome of a pipeline. ``answer`` is for people; ``metadata`` for programs."""

    success: bool
    answer: str = ""
    metadata: dict[str, Any] = field(default_factory=dict)
