"""Finding: search, nodes, walks along links, and building the index anew."""

import asyncio
from typing import TYPE_CHECKING, Annotated, Any, Literal

from ..models import IndexReport, NodeHit, SearchResult, Traversal
from .values import Diagnosis

if TYPE_CHECKING:
    from ..reme import ReMe


async def search(
    reme: "ReMe",
    query: Annotated[str, "What to look for: words or a question, English or Chinese."],
    *,
    limit: Annotated[int, "How many passages at most."] = 5,
    min_score: Annotated[float | None, "Leave out passages that score lower than this."] = None,
    token_budget: Annotated[int | None, "How many tokens all passages together may take."] = None,
    path: Annotated[str, "Only below this folder, such as daily/2026-03-11."] = "",
    tag: Annotated[list[str] | None, "Only notes with this tag; give it again for more."] = None,
    since: Annotated[str, "Only what is dated this day or later, YYYY-MM-DD."] = "",
    until: Annotated[str, "Only what is dated this day or earlier, YYYY-MM-DD."] = "",
) -> SearchResult:
    """Find passages in the notes and in the conversations that left a context, with path and lines.

    The result has a status: ok, weak (probably not about this), none, stale or degraded, and a note that says why.
    """
    wanted: dict[str, Any] = {"path": path, "tags": list(tag or ()), "since": since, "until": until}
    chosen = {key: value for key, value in wanted.items() if value}
    return await reme.search(query, limit, min_score=min_score, filter=chosen or None, token_budget=token_budget)


async def node_search(
    reme: "ReMe",
    query: Annotated[str, "What the note is about, in words."],
    *,
    limit: Annotated[int, "How many notes at most."] = 10,
) -> tuple[NodeHit, ...]:
    """Find long-term notes, those below digest/, by what they are called and about; without their text."""
    return tuple(await reme.node_search(query, limit))


async def traverse(
    reme: "ReMe",
    path: Annotated[str, "Path of a note, or a name that one note alone answers to."],
    *,
    depth: Annotated[int, "How many links far, at most ten."] = 1,
    direction: Annotated[Literal["both", "out", "in"], "Follow links out of notes, into them, or both."] = "both",
    limit: Annotated[int, "How many notes at most."] = 100,
) -> Traversal:
    """Walk along links from a note, nearest notes first; linked notes that do not exist (yet) are named too."""
    return await reme.traverse(path, depth, direction, limit)


async def reindex(reme: "ReMe") -> IndexReport:
    """Build the index anew from the files. The files are not touched; a file that cannot be read is listed.

    With an embedding model, passages that have no vector get one.
    """
    report = await reme.index.reindex()
    await reme.index.embed()
    return report


async def doctor(reme: "ReMe") -> Diagnosis:
    """Compare the index with one built from the files, and name what somebody should look at.

    That is files that cannot be read, links that lead nowhere, and conflict copies of sync programs, which are not
    indexed. Also says whether ranking runs compiled or in numpy, and why.
    Changes nothing. Takes as long as `reindex`, which is also what repairs a difference.
    """
    from ..index.compiled import form
    from ..vault.listing import conflict_copies

    differences = await reme.index.verify()
    loose = await reme.index.loose_links()
    conflicts = await asyncio.to_thread(conflict_copies, reme.vault.storage)
    status = reme.index.status()
    return Diagnosis(status["files"], differences, status["failed"], loose, conflicts, form)
