"""What the target of a wikilink stands for: a pure look-up among the vault's paths that never touches the disk.

Two rules. ``literal``: the target is a vault-relative path, character for character. ``obsidian``: an exact path with
or without ``.md``, the same but for case, a unique base name (or end of a path), a unique alias or title; where several
notes answer, none is taken and all are named. Texts are compared in Unicode NFC; the answer does not depend on the
order of a directory or on whether the disk tells upper from lower case.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Literal
from unicodedata import normalize

LinkRule = Literal["literal", "obsidian"]
ResolutionKind = Literal["found", "self", "unresolved", "ambiguous", "external", "outside"]

_EXTERNAL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://|(?:mailto|tel|data|javascript):", re.IGNORECASE)
_OUTSIDE = re.compile(r"[/\\~]|[A-Za-z]:[\\/]|file:|[^\n]*\x00|(?:[^\n]*[/\\])?\.\.(?:[/\\]|\Z)", re.IGNORECASE)
_ATTACHMENTS = re.compile(
    r"\.(?:png|jpe?g|gif|svg|webp|bmp|avif|heic|tiff?|mp3|wav|m4a|ogg|flac|3gp|mp4|mov|mkv|webm|ogv|pdf|docx?|pptx?|xlsx?"
    r"|csv|jsonl?|ya?ml|html?|txt|zip|epub|canvas|base)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Resolution:
    """What a target stands for: ``path`` when ``found`` (or ``self``), ``candidates`` when ``ambiguous``.

    ``external`` targets are addresses (``https://``), ``outside`` ones lead out of the vault (absolute, ``..``): both
    are never followed. ``unresolved``: no such note, or not yet; the link is kept as it is.
    """

    kind: ResolutionKind
    path: str | None = None
    candidates: tuple[str, ...] = ()


class LinkIndex:
    """The paths of a vault, and the names their front matter adds, by everything a target can be looked up by."""

    def __init__(self, paths: Iterable[str] = (), names: Mapping[str, Iterable[str]] | None = None) -> None:
        # Nearly every key has one path: a tuple takes a quarter of a set's memory.
        self._exact: dict[str, tuple[str, ...]] = {}
        self._folded: dict[str, tuple[str, ...]] = {}
        self._base: dict[str, tuple[str, ...]] = {}
        self._named: dict[str, tuple[str, ...]] = {}
        self._names: dict[str, tuple[str, ...]] = {}
        for path in paths:
            self.add(path, (names or {}).get(path, ()))

    def __contains__(self, path: object) -> bool:
        return path in self._names

    def __len__(self) -> int:
        return len(self._names)

    def add(self, path: str, names: Iterable[str] = ()) -> None:
        """Add a file, or replace the names it has; ``names`` are its aliases, title and name."""
        self.remove(path)
        exact = normalize("NFC", path)
        self._names[path] = tuple(dict.fromkeys(folded for name in names if (folded := _fold(name.strip()))))
        for table, key in self._places(path, exact):
            table[key] = (*table.get(key, ()), path)

    def remove(self, path: str) -> None:
        """Take a file out; one that is not there is no error."""
        if path not in self._names:
            return
        for table, key in self._places(path, normalize("NFC", path)):
            left = tuple(other for other in table.get(key, ()) if other != path)
            if left:
                table[key] = left
            else:
                table.pop(key, None)
        del self._names[path]

    def _places(self, path: str, exact: str) -> list[tuple[dict[str, tuple[str, ...]], str]]:
        folded = exact.casefold()
        own = [(self._named, name) for name in self._names[path]]
        return [(self._exact, exact), (self._folded, folded), (self._base, folded.rpartition("/")[2]), *own]

    def literal(self, target: str) -> list[str]:
        """Paths that are this target."""
        if target in self._names:
            return [target]
        return sorted(self._exact.get(normalize("NFC", target), ()))

    def obsidian(self, target: str) -> list[str]:
        """Paths that answer to this target by the first step of the rule that any path answers to."""
        exact = normalize("NFC", target)
        folded = exact.casefold()
        for spelling in (exact, exact + ".md"):
            if spelling in self._exact:
                return self.literal(spelling)
        for spelling in (folded, folded + ".md"):
            if spelling in self._folded:
                return sorted(self._folded[spelling])
        base = folded.rpartition("/")[2]
        near = sorted({*self._base.get(base, ()), *self._base.get(base + ".md", ())})
        same_case = [path for path in near if ("/" + normalize("NFC", path)).endswith(_ends(exact))]
        return (
            same_case
            or [path for path in near if ("/" + _fold(path)).endswith(_ends(folded))]
            or sorted(self._named.get(folded, ()))
        )


def resolve(
    target: str, paths: "LinkIndex | Iterable[str]", rule: LinkRule = "literal", source_path: str = ""
) -> Resolution:
    """Say what ``target`` (without its anchor) stands for. ``paths``: the vault's files, or an index.

    The target "" is the note that holds the link.
    """
    if not target:
        return Resolution("self", source_path or None)
    if _OUTSIDE.match(target):
        return Resolution("outside")
    if _EXTERNAL.match(target):
        return Resolution("external")
    index = paths if isinstance(paths, LinkIndex) else LinkIndex(paths)
    found = index.literal(target) if rule == "literal" else index.obsidian(target)
    if len(found) == 1:
        return Resolution("found", found[0])
    return Resolution("ambiguous", None, tuple(found)) if found else Resolution("unresolved")


def respell(target: str, old: str, new: str, paths: "LinkIndex | Iterable[str]", rule: LinkRule = "literal") -> str:
    """How a link that was written ``target`` and led to ``old`` is written once that file is ``new``.

    The style is kept: a bare name stays bare while one file answers to it, ``.md`` stays or stays away, and a link by
    alias or title is left as it is, since the name moves with the note. ``paths`` may hold old, new, or both.
    """
    if rule == "literal":
        return new
    written = _fold(target)
    ends = "/" + _fold(old)
    if not ends.endswith(_ends(written)):
        return target
    suffix = ".md"
    keeps_suffix = written.endswith(suffix) or not new.lower().endswith(suffix)
    path = new if keeps_suffix else new[: -len(suffix)]
    name = PurePosixPath(path).name
    if "/" in target:
        return path
    index = paths if isinstance(paths, LinkIndex) else LinkIndex(paths)
    others = [found for found in index.obsidian(name) if found not in (old, new)]
    return path if others else name


def is_attachment(target: str) -> bool:
    """Whether the target is a picture, recording or document by its ending: a missing one is no missing note."""
    return _ATTACHMENTS.fullmatch(PurePosixPath(target).suffix) is not None


def _fold(text: str) -> str:
    return normalize("NFC", text).casefold()


def _ends(target: str) -> tuple[str, str]:
    return ("/" + target, "/" + target + ".md")
