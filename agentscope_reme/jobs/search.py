"""Finding: search, and building the index anew."""

from typing import TYPE_CHECKING, Annotated, Any

from ..models import IndexReport, SearchResult
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


async def reindex(reme: "ReMe") -> IndexReport:
    """Build the index anew from the files. The files are not touched; a file that cannot be read is listed."""
    return await reme.index.reindex()


async def doctor(reme: "ReMe") -> Diagnosis:
    """Compare the index with one built from the files, and name files that cannot be read. Changes nothing.

    Takes as long as `reindex`, which is also what repairs a difference.
    """
    differences = await reme.index.verify()
    status = reme.index.status()
    return Diagnosis(status["files"], differences, status["failed"])
