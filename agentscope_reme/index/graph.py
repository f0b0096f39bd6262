"""Which note links to which: out- and in-links, links that lead nowhere, and walks of a bounded size."""

from array import array
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from heapq import nsmallest
from typing import Any, Literal, NamedTuple, cast
from unicodedata import normalize

from ..models import FileLink
from ..vault.link_target import LinkIndex, LinkRule, Resolution, is_attachment, may_be_address, resolve
from ..vault.numbered_paths import NumberedPaths
from ..vault.pairs import Pairs, hash_of
from ..vault.pieces import Pieces
from .link_records import (
    NO_LINKS,
    different_targets,
    each_link,
    first_records,
    line_and_predicate,
    links_in,
    links_to,
    packed_links,
    record_to,
)
from .texts import Texts

Direction = Literal["out", "in", "both"]


@dataclass(frozen=True, slots=True)
class Edge:
    """A link and what it stands for; ``target`` is the file it leads to, None when it leads to none."""

    link: FileLink
    resolution: Resolution

    @property
    def target(self) -> str | None:
        """The vault-relative path of the file, also for a link to a place in the same note."""
        return self.resolution.path


@dataclass(frozen=True, slots=True)
class Step:
    """A file met on a walk: how many links away, and over which edge it was first met (None at the start).

    ``path`` may be a file that does not exist yet: a walk ends there.
    """

    path: str
    depth: int
    edge: Edge | None = None
    exists: bool = True


class Neighbour(NamedTuple):
    """A file one link away, the direction of that link and where it stands, in the file whose link it is.

    ``path`` may be a file that does not exist.
    """

    path: str
    direction: Literal["out", "in"]
    line: int
    predicate: str
    exists: bool


# As ``Neighbour(...)``, in a third of the time: all fields are given, in their order.
_neighbour = cast("Callable[[tuple[Any, ...]], Neighbour]", partial(tuple.__new__, Neighbour))


class LinkGraph:
    """The links of a vault, kept up to date file by file; the answers depend on the files alone, not on their order.

    Links are kept as they are written and looked up when asked, so that a new, moved or removed file changes what
    others' links stand for without touching them.
    """

    def __init__(self, rule: LinkRule = "literal") -> None:
        self.rule: LinkRule = rule
        self._index = LinkIndex()
        self._links = Pieces()  # by the file's number in the index of paths
        # Each text that some link has as its target, by number; the files that use it; and the texts by what any
        # spelling of them shares.
        self._texts = Texts(packed=True)
        self._sources = Pairs()
        self._alike = Pairs()
        self._decomposed: dict[str, set[str]] = {}  # those that are not in NFC, by what they are in NFC

    def __len__(self) -> int:
        return len(self._index)

    def __contains__(self, path: object) -> bool:
        return path in self._index

    def set_file(self, path: str, links: Sequence[FileLink] | bytes = (), names: Iterable[str] = ()) -> None:
        """Add a file or replace what is known of it. ``names`` are its title, name and aliases.

        ``links`` may be packed (:func:`~.link_records.packed_links`).
        """
        packed = links if isinstance(links, bytes) else packed_links(links)
        known = self._index.number(path)
        if known is not None:
            if self._links[known] == packed:  # as after most changes of a note
                self._index.add(path, names)
                return
            self._forget_links(path)
        number = self._index.add(path, names)
        if number == len(self._links):
            self._links.append(packed)
        else:
            self._links[number] = packed
        self._use(packed, number)

    def fill(self, paths: NumberedPaths, links: Pieces, names: Iterable[Iterable[str]], targets: Texts) -> None:
        """Have an empty graph begin with many files: packed links and names of each, by the numbers of the paths.

        ``targets`` has the texts of most links' targets. What is settled of all these is there once for both.
        """
        self._index.fill(paths, names)
        self._links = links.copy()
        self._texts = targets.copy()
        # After what stays: what is needed for a moment leaves no holes in it.
        numbers = {text: number for number, text in self._texts.living()}
        met = bytearray(len(self._texts.names))
        others = array("I")  # files with other targets
        for number, packed in enumerate(self._links):
            for target in different_targets(packed):
                text = numbers.get(target)
                if text is not None:
                    if not met[text]:
                        met[text] = 1
                        self._note_spelling(target, text)
                    self._sources.add(text, number)
                else:
                    others.append(number)
        for target in [one for one, text in numbers.items() if not met[text]]:
            self._texts.forget(target)
        del numbers  # first: an object that stays would keep the room of those that go
        for number in dict.fromkeys(others):
            self._use(self._links[number], number)
        self._texts.settle()
        self._index.settle()

    def expect(self, many: bool) -> None:
        """Say whether many files are about to come."""
        self._texts.expect(many)
        self._index.expect(many)

    def remove_file(self, path: str) -> None:
        """Forget a file; links to it become unresolved. An unknown path is no error."""
        self._forget_links(path)
        self._index.remove(path)

    def paths(self) -> set[str]:
        """Every file."""
        return set(self._index)

    def links(self, path: str) -> tuple[FileLink, ...]:
        """The links of a file as they are written, those to places in itself included."""
        return links_in(path, self._packed(path))

    def resolve(self, target: str, source: str = "", rule: LinkRule | None = None) -> Resolution:
        """What a target stands for, by the graph's rule or another."""
        return resolve(target, self._index, rule or self.rule, source)

    def softly(self, target: str) -> str | None:
        """The file that a target leads to by Obsidian's rule, whatever the graph's; None for a place in a note."""
        if not target or may_be_address(target):
            return self.resolve(target, rule="obsidian").path
        return self._index.the_one(target)

    def outlinks(self, path: str) -> tuple[Edge, ...]:
        """The file's links in file order; a link to a place in the file itself is none."""
        return tuple(self._outlinks(path))

    def _outlinks(self, path: str) -> Iterator[Edge]:
        for link in each_link(path, self._packed(path)):
            if link.target_path:
                yield Edge(link, self.resolve(link.target_path, path))

    def inlinks(self, path: str, rule: LinkRule | None = None) -> tuple[Edge, ...]:
        """Links of other files that lead to ``path``, by source path and line. ``rule`` may ask by the other rule."""
        edges = []
        for target, sources in self._leading_to(path, rule or self.rule):
            for source in sources:
                if source == path:
                    continue
                resolution = self.resolve(target, source, rule)
                edges += [Edge(link, resolution) for link in links_to(source, self._packed(source), (target,))]
        return tuple(sorted(edges, key=_place))

    def neighbours(self, path: str, most: int = 10, packed: bytes | None = None) -> tuple[Neighbour, ...]:
        """Files one link away, at most ``most`` in each direction: links out in file order, then links in by path.

        A file that is linked in both directions is met in each. What no file answers to is met by what is written.
        ``packed`` are the links of the file, where they are at hand.
        """
        out: dict[str, Neighbour] = {}
        if packed is None:
            packed = self._packed(path)
        for record in first_records(packed) if packed else ():
            target, exists = self._far_end(record[0])
            if target is not None and target != path and target not in out:
                line, predicate = line_and_predicate(record)
                out[target] = _neighbour((target, "out", line, predicate, exists))
                if len(out) >= most:
                    break
        leading = self._leading_to(path, self.rule)
        if not leading or most <= 0:
            return tuple(out.values())[: max(0, most)]
        leading.sort(reverse=True)
        texts: dict[str, str] = {}  # by source, the first of its texts that lead here
        for text, sources in leading:
            texts |= dict.fromkeys(sources, text)
        texts.pop(path, None)
        into = [
            Neighbour(source, "in", *line_and_predicate(record_to(self._packed(source), texts[source])), True)
            for source in nsmallest(most, texts)
        ]
        return (*out.values(), *into)

    def _far_end(self, target: str) -> tuple[str | None, bool]:
        """The file a link leads to, or would lead to, and whether it is there."""
        if self.rule != "literal" or may_be_address(target):
            found = self.resolve(target)
            return _far_end(target, found), found.path is not None
        paths = self._index.literal(target)
        if len(paths) == 1:
            return paths[0], True
        return None if is_attachment(target) else target, False

    def naming(self, path: str) -> set[str]:
        """The files that hold a link whose last part is this file's name: those that link to it, and some others."""
        return {source for text in self._texts_like(_key(path)) for source in self._using(text)}

    def targets_like(self, name: str) -> list[str]:
        """The targets of links whose last part is that of a path, title or alias: which of them it may answer to."""
        return [self._texts.names[text] for text in self._texts_like(_key(name))]

    def unresolved(self) -> tuple[Edge, ...]:
        """Links that lead to no file: missing, ambiguous or outside the vault, by source path and line.

        Addresses on the web are no such links, and neither are pictures and other attachments, which are not indexed.
        """
        loose: dict[str, Resolution] = {}  # by target
        sources: set[int] = set()
        for text, target in self._texts.living():
            resolution = self.resolve(target)
            missing = resolution.kind in ("ambiguous", "outside")
            if missing or (resolution.kind == "unresolved" and not is_attachment(target)):
                loose[target] = resolution
                sources.update(self._sources.of(text))
        found = []
        for source in map(self._index.path, sources):  # each once: its links are unpacked for all its targets
            links = links_to(source, self._packed(source), loose)
            found += [Edge(link, loose[link.target_path]) for link in links]
        return tuple(sorted(found, key=_place))

    def traverse(self, path: str, depth: int = 1, direction: Direction = "both", limit: int = 100) -> tuple[Step, ...]:
        """Files within ``depth`` links of ``path``, nearest first, at most ``limit`` beside the start.

        At equal distance: links out in file order, then links in by source path. Each file is met once. The start is
        the first step; an unknown path gives none.
        """
        if path not in self._index:
            return ()
        steps = [Step(path, 0)]
        met = {path}
        for step in steps:
            if step.depth >= depth or not step.exists:
                continue
            for neighbour, edge in self._neighbours(step.path, direction, met):
                if neighbour in met:
                    continue
                if len(steps) > limit:
                    return tuple(steps)
                met.add(neighbour)
                steps.append(Step(neighbour, step.depth + 1, edge, neighbour in self._index))
        return tuple(steps)

    def _neighbours(self, path: str, direction: Direction, met: Container[str]) -> Iterator[tuple[str, Edge]]:
        """Files one link away, with the link; of those that link here none that was met, whose links may be many."""
        if direction in ("out", "both"):
            for edge in self._outlinks(path):
                if (target := _far_end(edge.link.target_path, edge.resolution)) is not None:
                    yield target, edge
        if direction in ("in", "both"):
            targets: dict[str, list[str]] = {}  # by source, those of its targets that stand for the file
            for target, sources in self._leading_to(path, self.rule):
                for source in sources:
                    targets.setdefault(source, []).append(target)
            targets.pop(path, None)
            for source in sorted(targets):
                if source not in met:
                    link = min(
                        links_to(source, self._packed(source), targets[source]),
                        key=lambda link: (link.line, link.target_path),
                    )
                    yield source, Edge(link, self.resolve(link.target_path, source))

    def _leading_to(self, path: str, rule: LinkRule) -> list[tuple[str, list[str]]]:
        """Target texts that stand for a file, and the files that use them."""
        if rule == "literal":
            # In other letters than the path's a target stands for another.
            exact = normalize("NFC", path)
            known = self._texts.known(exact)
            found = [(known, exact)] if known is not None else []
            if self._decomposed:
                found += [(self._texts.of(target), target) for target in self._decomposed.get(exact, ())]
            if not found:
                return []
        else:
            keys = dict.fromkeys((_key(path), *map(_stem, self._index.names(path))))
            found = [(text, self._texts.names[text]) for key in keys for text in self._texts_like(key)]
        return [(target, self._using(text)) for text, target in found if self.resolve(target, rule=rule).path == path]

    def _packed(self, path: str) -> bytes:
        number = self._index.number(path)
        return NO_LINKS if number is None else self._links[number]

    def _using(self, text: int) -> list[str]:
        """The files with a link of which a text is the target."""
        return list(map(self._index.path, self._sources.of(text)))

    def _texts_like(self, key: str) -> list[int]:
        return [text for text in self._alike.of(hash_of(key)) if _key(self._texts.names[text]) == key]

    def _use(self, packed: bytes, number: int) -> None:
        """Note that the file with a number has these links."""
        for text, target, is_new in self._texts.numbered(different_targets(packed)):
            if is_new:
                self._note_spelling(target, text)
            self._sources.add(text, number)

    def _note_spelling(self, target: str, text: int) -> None:
        """Have a new text found by what other spellings of it share."""
        exact = normalize("NFC", target)
        self._alike.add(hash_of(_stem(exact.casefold())), text)
        if exact != target:
            self._decomposed.setdefault(exact, set()).add(target)

    def _forget_links(self, path: str) -> None:
        packed = self._packed(path)
        if not packed:
            return
        number = self._index.number(path)
        assert number is not None
        self._links[number] = NO_LINKS
        texts = {target: self._texts.of(target) for target in different_targets(packed)}
        self._sources.discard_all((text, number) for text in texts.values())
        unused = {target: text for target, text in texts.items() if not self._sources.has(text)}
        self._alike.discard_all((hash_of(_key(target)), text) for target, text in unused.items())
        self._texts.forget_all(unused)
        if self._decomposed:
            for target in unused:
                self._forget_decomposed(target)

    def _forget_decomposed(self, target: str) -> None:
        exact = normalize("NFC", target)
        if exact != target:
            alike = self._decomposed[exact]
            alike.discard(target)
            if not alike:
                del self._decomposed[exact]


def _far_end(target: str, resolution: Resolution) -> str | None:
    """The file a link leads to, or the note it would lead to; attachments that are not indexed are no notes."""
    missing = resolution.kind in ("unresolved", "ambiguous") and not is_attachment(target)
    return resolution.path or (target if missing else None)


def _key(target: str) -> str:
    """What every spelling of a target has in common: its last part, whatever its case and with or without ``.md``."""
    return _stem(normalize("NFC", target).casefold())


def _stem(folded: str) -> str:
    name = folded.rpartition("/")[2].strip()
    while name.endswith(".md"):  # "a.md" may stand for "a.md.md"
        name = name.removesuffix(".md").strip()
    return name


def _place(edge: Edge) -> tuple[str, int, str]:
    return edge.link.source_path, edge.link.line, edge.link.target_path
