"""What an index can be asked about links: walks from a note, links that lead nowhere, notes that may name a file."""

import logging
import time
from collections.abc import Collection
from typing import TYPE_CHECKING, Literal

from ..errors import NoteNotFound
from ..models import LinkedNote, LooseLink, Traversal
from ..vault.layout import RESOURCE, UNINDEXED
from .arguments import check_choice, check_number, check_text

if TYPE_CHECKING:
    from ..config import ReMeConfig
    from ..vault.notes import Vault
    from .corpus import Corpus
    from .files import KnownFile
    from .freshness import Freshness
    from .graph import LinkGraph, Step
    from .opened import Opened
    from .own_thread import OwnThread
    from .store import Store

log = logging.getLogger(__name__)

FARTHEST = 10  # links; a walk that long has met its limit of notes before, or the vault is small
_DIRECTIONS = {"out": "out", "in": "in", "both": "both", "forward": "out", "backward": "in"}


def walk(store: "Store", path: str, depth: int, direction: str, limit: int) -> Traversal:
    """See :meth:`LinkQuestions.traverse`; the caller holds the store's lock."""
    graph = store.graph
    if path not in graph:
        found = graph.resolve(path, rule="obsidian")
        if found.path is None or found.path not in graph:
            several = f"; it may be one of {', '.join(found.candidates)}" if found.candidates else ""
            raise NoteNotFound(f"the index knows no {path}{several}", path)
        path = found.path
    way: Literal["out", "in", "both"] = _DIRECTIONS[direction]  # type: ignore[assignment]
    steps = graph.traverse(path, max(0, min(depth, FARTHEST)), way, max(0, limit) + 1)
    notes = tuple(_note(store.corpus, step) for step in steps[1 : max(0, limit) + 1])
    return Traversal(path, notes, more=len(steps) > len(notes) + 1)


def loose_links(graph: "LinkGraph") -> tuple[LooseLink, ...]:
    """Links that lead to no file, by note and line."""
    return tuple(
        LooseLink(edge.link.source_path, edge.link.line, edge.link.target_path, edge.resolution.kind, candidates)
        for edge in graph.unresolved()
        for candidates in [edge.resolution.candidates]
    )


def graph_differences(store: "Store") -> tuple[str, ...]:
    """Where the graph is not what the index knows of the files: a sentence for each file. The caller holds the lock."""
    graph, files = store.graph, store.corpus.files
    out = [f"{path}: in the graph of links, but not in the index" for path in graph.paths() - files.keys()]
    for path, entry in files.items():
        if path not in graph or graph.links(path) != entry.links:
            out.append(f"{path}: its links in the graph are not those it was read with")
    return tuple(sorted(out))


def _note(corpus: "Corpus", step: "Step") -> LinkedNote:
    edge = step.edge
    assert edge is not None, "only the start of a walk has no edge"
    link = edge.link
    name, description = name_and_description(corpus, step.path)
    inward = link.source_path == step.path and edge.target != step.path
    return LinkedNote(
        path=step.path,
        name=name,
        description=description,
        direction="in" if inward else "out",
        via=(edge.target or link.target_path) if inward else link.source_path,
        line=link.line,
        predicate=link.predicate or "",
        depth=step.depth,
        exists=step.exists,
    )


def name_and_description(corpus: "Corpus", path: str) -> tuple[str, str]:
    """What a file is called, and about; nothing for one that is not there."""
    entry: KnownFile | None = corpus.files.get(path)
    return entry.card[:2] if entry is not None else ("", "")


def _lies_in(path: str, folders: tuple[str, ...]) -> bool:
    return any(path == folder or path.startswith(folder + "/") for folder in folders)


class LinkQuestions:
    """What lets an :class:`~agentscope_reme.index.Index` answer about links; a part of it, not used alone."""

    vault: "Vault"
    config: "ReMeConfig"
    _freshness: "Freshness"
    _thread: "OwnThread"
    _open: "Opened | None"
    _closed: bool

    if TYPE_CHECKING:

        def _must_be_open(self) -> None: ...
        def _opened(self) -> "Opened": ...

    async def traverse(self, path: str, depth: int = 1, direction: str = "both", limit: int = 100) -> Traversal:
        """Walk along links from a note, nearest notes first, at most ``limit`` notes and ten links far.

        ``direction`` is ``out``, ``in`` or ``both`` (``forward`` and ``backward`` mean out and in). ``path`` may also
        be a name that one note alone answers to. NoteNotFound when the index knows no such note, ConfigError for an
        argument that cannot be read.
        """
        self._must_be_open()
        check_text("path", path)
        check_number("depth", depth)
        check_number("limit", limit)
        check_choice("direction", direction, _DIRECTIONS)
        await self._freshness.wait_until_current(self.config.search_wait)
        return await self._thread.run(self._walk, path, depth, direction, limit, self._patience())

    def _patience(self) -> float:
        """Until when (monotonic time) an answer waits for files that are being read; its turn counts."""
        return time.monotonic() + self.config.search_wait

    def _walk(self, path: str, depth: int, direction: str, limit: int, until: float) -> Traversal:
        self._freshness.read_changed(until - time.monotonic())
        store = self._opened().store
        with store.lock:
            return walk(store, path, depth, direction, limit)

    async def loose_links(self) -> tuple[LooseLink, ...]:
        """Links that lead to no note: there is none (yet), several answer to the name, or it lies outside the vault."""
        self._must_be_open()
        await self._freshness.wait_until_current(self.config.search_wait)
        return await self._thread.run(self._loose_links, self._patience())

    def _loose_links(self, until: float) -> tuple[LooseLink, ...]:
        self._freshness.read_changed(until - time.monotonic())
        store = self._opened().store
        with store.lock:
            return loose_links(store.graph)

    def notes_naming(self, targets: Collection[str]) -> set[str] | None:
        """The notes in which a link to one of these files may stand; None when this cannot be said for sure now.

        None as long as the index has not been brought up to date once, and when it sees less than the vault does.
        Blocks, for a look at the times of all files. ``vault`` asks it before it moves or removes a note, so that only
        the notes that link are read.
        """
        opened = self._open
        ignores_more = set(self.config.ignore) - set(self.vault.ignore)
        if opened is None or self._closed or self._freshness.scanned < 0 or ignores_more:
            return None
        try:
            behind = self._freshness.catch_up(self.config.search_wait)
        except Exception as error:
            behind = f"{type(error).__name__}: {error}"
        if behind:
            log.info("links are looked up in the files: %s", behind)
            return None
        store = self._opened().store
        with store.lock:
            unread = set(store.failed)
            named = {path for target in targets for path in store.graph.naming(target)}
        skip = (*UNINDEXED, RESOURCE)
        return {path for path in named | unread if path.lower().endswith(".md") and not _lies_in(path, skip)}
