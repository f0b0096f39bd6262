"""The notes one link away from a note that a search shows."""

from typing import TYPE_CHECKING

from ..models import LinkedNote
from .links import name_and_description
from .made import made

if TYPE_CHECKING:
    from .corpus import Corpus
    from .graph import LinkGraph


def linked_notes(graph: "LinkGraph", corpus: "Corpus", path: str, packed: bytes, most: int) -> tuple[LinkedNote, ...]:
    """The neighbours of a note, at most ``most`` in each direction: links out in file order, links in by path.

    ``packed`` are its links.
    """
    notes = []
    for other, direction, line, predicate, exists in graph.neighbours(path, most, packed):
        name, description = name_and_description(corpus, other) if exists else ("", "")
        notes.append(made(LinkedNote, (other, name, description, direction, path, line, predicate, 1, exists)))
    return tuple(notes)
