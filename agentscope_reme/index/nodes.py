"""Searching the long-term notes of ``digest/`` as nodes: what each is called and about, without its text."""

from datetime import date
from typing import TYPE_CHECKING

from ..models import NodeHit
from ..vault.layout import DIGEST

if TYPE_CHECKING:
    from .corpus import Corpus
    from .retrieval import Retriever

NODES = f"{DIGEST}/"
_SUFFIXES = (".md", ".markdown")


def find_nodes(retriever: "Retriever", corpus: "Corpus", query: str, limit: int, today: date) -> list[NodeHit]:
    """The digest notes that answer ``query``, best first: only they are ranked, so others cannot crowd them out."""
    from .retrieval import Request

    request = Request(query, limit, filter={"path": NODES})
    hits = []
    for path, score in retriever.files(request, today):
        entry = corpus.files[path]
        if path.lower().endswith(_SUFFIXES):
            name = entry.front.get("name")
            hits.append(NodeHit(path, str(name).strip() if name else entry.title, entry.description, score))
    return hits[: max(0, limit)]
