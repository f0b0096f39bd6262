"""Which note links to which: out- and in-links, links that lead nowhere, and walks of a bounded size."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from ..models import FileLink

Direction = Literal["out", "in", "both"]


@dataclass(frozen=True, slots=True)
class Edge:
    """A link and the file it leads to; ``target`` is None while it leads nowhere or to more than one file."""

    link: FileLink
    target: str | None


@dataclass(frozen=True, slots=True)
class Step:
    """A file met on a walk: how many links away, and over which edge it was first met (None at the start)."""

    path: str
    depth: int
    edge: Edge | None = None


class LinkGraph:
    """The links of a vault, kept up to date file by file."""

    def __init__(self, rule: Literal["literal", "obsidian"] = "literal") -> None:
        self.rule = rule

    def set_file(self, path: str, links: Sequence[FileLink] = (), names: Iterable[str] = ()) -> None:
        """Add a file or replace what is known of it. ``names`` are its title and aliases."""

    def remove_file(self, path: str) -> None:
        """Forget a file; links to it become unresolved. An unknown path is no error."""

    def outlinks(self, path: str) -> tuple[Edge, ...]:
        """The file's links in file order."""
        return ()

    def inlinks(self, path: str) -> tuple[Edge, ...]:
        """Links of other files that lead to ``path``, by source path and line."""
        return ()

    def unresolved(self) -> tuple[Edge, ...]:
        """Links that lead to no file, by source path and line."""
        return ()

    def traverse(self, path: str, depth: int = 1, direction: Direction = "both", limit: int = 100) -> tuple[Step, ...]:
        """Files within ``depth`` links of ``path``, nearest first, at most ``limit`` beside the start."""
        return ()
