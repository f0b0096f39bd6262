"""What the target of a wikilink stands for: a pure look-up among the vault's paths that never touches the disk.

Two rules. ``literal``: the target is a vault-relative path, character for character. ``obsidian``: an exact path with
or without ``.md``, the same but for case, a unique base name (or end of a path), a unique alias or title; where several
notes answer, none is taken and all are named. Texts are compared in Unicode NFC; the answer does not depend on the
order of a directory or on whether the disk tells upper from lower case.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Literal
from unicodedata import normalize

from ..expression import expression
from .numbered_paths import NumberedPaths
from .pairs import NONE, Pairs, hash_of, hash_with
from .pieces import Pieces

LinkRule = Literal["literal", "obsidian"]
ResolutionKind = Literal["found", "self", "unresolved", "ambiguous", "external", "outside"]

_EXTERNAL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://|(?:mailto|tel|data|javascript):", re.IGNORECASE)
_OUTSIDE = re.compile(r"[/\\~]|[A-Za-z]:[\\/]|file:|[^\n]*\x00|(?:[^\n]*[/\\])?\.\.(?:[/\\]|\Z)", re.IGNORECASE)
_ATTACHMENTS = expression(
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
    """The paths of a vault, and the names their front matter adds, by everything a target can be looked up by.

    Each path has a *number* as long as it is there; numbers are small, and given anew. Names are found by a hash of
    their last part and then compared, which takes a tenth of the memory of tables of lowered copies.
    """

    def __init__(self, paths: Iterable[str] = (), names: Mapping[str, Iterable[str]] | None = None) -> None:
        self._paths = NumberedPaths()
        self._free: list[int] = []
        self._by_base = Pairs()  # the last part of the folded path
        self._by_name = Pairs()  # a folded name
        self._names = Pieces()  # by number, folded: those that are not the file's own, one a line
        self._composed: dict[str, tuple[str, ...]] = {}  # paths that are not in NFC, by what they are in NFC
        for path in paths:
            self.add(path, (names or {}).get(path, ()))

    def __contains__(self, path: object) -> bool:
        return isinstance(path, str) and self._paths.known(path) is not None

    def __len__(self) -> int:
        return self._paths.living

    def __iter__(self) -> Iterator[str]:
        return map(self._paths.__getitem__, self._paths.numbers())

    def number(self, path: str) -> int | None:
        """The number of a path, None for one that is not there."""
        return self._paths.known(path)

    def path(self, number: int) -> str:
        """The path with a number."""
        return self._paths[number]

    def names(self, path: str) -> tuple[str, ...]:
        """The folded names of a path, without those that its own name answers to."""
        number = self._paths.known(path)
        return self._names_of(number) if number is not None else ()

    def _names_of(self, number: int) -> tuple[str, ...]:
        packed = self._names[number]
        return tuple(packed.decode("utf-8", "surrogatepass").split("\n")) if packed else ()

    def fill(self, paths: NumberedPaths, names: Iterable[Iterable[str]]) -> None:
        """Have an empty index begin with paths under the numbers that they have, and the names of each.

        What is packed of the paths is there once for both.
        """
        self._paths = paths.copy()
        for number, (path, some) in enumerate(zip(paths, names, strict=True)):
            self._note(path, number, *self._spelt(path, some))

    def add(self, path: str, names: Iterable[str] = ()) -> int:
        """Add a file, or replace the names it has; ``names`` are its aliases, title and name. Returns its number."""
        exact, base, kept = self._spelt(path, names)
        number = self._paths.known(path)
        if number is None:
            number = self._paths.add(path, self._free.pop() if self._free else None)
            self._note(path, number, exact, base, kept)
        elif kept != self._names_of(number):
            self._forget_names(number)
            self._note_names(number, kept)
        return number

    def _spelt(self, path: str, names: Iterable[str]) -> tuple[str, str, tuple[str, ...]]:
        """A path in NFC, its folded last part, and the names that a look-up by that would not find."""
        exact = normalize("NFC", path)
        base = exact.casefold().rpartition("/")[2]
        folded = dict.fromkeys(name for one in names if (name := _fold(one.strip())))
        # Whoever looks for the others has found the file by its base name before names count; no link has a line break.
        kept = tuple(name for name in folded if base not in (name, name + ".md") and "\n" not in name)
        return exact, base, kept

    def _note(self, path: str, number: int, exact: str, base: str, kept: tuple[str, ...]) -> None:
        self._by_base.add(hash_of(base), number)
        if exact != path:
            self._composed[exact] = (*self._composed.get(exact, ()), path)
        self._note_names(number, kept)

    def _note_names(self, number: int, kept: tuple[str, ...]) -> None:
        packed = "\n".join(kept).encode("utf-8", "surrogatepass")
        if number == len(self._names):
            self._names.append(packed)
        elif packed:
            self._names[number] = packed
        for name in kept:
            self._by_name.add(hash_of(name), number)

    def expect(self, many: bool) -> None:
        """Say whether many paths are about to come."""
        self._paths.expect(many)

    def settle(self) -> None:
        """Have what was added lately take as little memory as the rest."""
        self._paths.settle()
        self._names.settle()
        self._by_base.settle()
        self._by_name.settle()

    def remove(self, path: str) -> None:
        """Take a file out; one that is not there is no error."""
        number = self._paths.forget(path)
        if number is None:
            return
        exact = normalize("NFC", path)
        self._by_base.discard(hash_of(exact.casefold().rpartition("/")[2]), number)
        self._forget_names(number)
        if exact != path:
            left = tuple(other for other in self._composed[exact] if other != path)
            if left:
                self._composed[exact] = left
            else:
                del self._composed[exact]
        self._free.append(number)

    def _forget_names(self, number: int) -> None:
        self._by_name.discard_all((hash_of(name), number) for name in self._names_of(number))
        self._names[number] = b""

    def literal(self, target: str) -> list[str]:
        """Paths that are this target."""
        if self._paths.known(target) is not None:
            return [target]
        exact = normalize("NFC", target)
        if exact == target and exact not in self._composed:
            return []
        return sorted((*((exact,) if exact in self else ()), *self._composed.get(exact, ())))

    def obsidian(self, target: str) -> list[str]:
        """Paths that answer to this target by the first step of the rule that any path answers to."""
        exact = normalize("NFC", target)
        folded = exact.casefold()
        for spelling in (exact, exact + ".md"):
            if found := self.literal(spelling):
                return found
        base = folded.rpartition("/")[2]
        near = sorted({*self._of_base(base), *self._of_base(base + ".md")})
        same = {path: _fold(path) for path in near}
        for spelling in (folded, folded + ".md"):
            if whole := [path for path in near if same[path] == spelling]:
                return whole
        same_case = [path for path in near if ("/" + normalize("NFC", path)).endswith(_ends(exact))]
        return (
            same_case
            or [path for path in near if ("/" + same[path]).endswith(_ends(folded))]
            or sorted(self.path(one) for one in self._by_name.of(hash_of(folded)) if folded in self._names_of(one))
        )

    def the_one(self, target: str) -> str | None:
        """What :meth:`obsidian` finds, where that is one path; for most targets in a tenth of its time."""
        exact = normalize("NFC", target)
        folded = exact.casefold()
        if "/" not in folded:
            key = hash_of(folded)
            one, other = self._by_base.only(key), self._by_base.only(hash_with(key, b".md"))
            if one == NONE and other == NONE and self._by_name.only(key) == NONE:
                return None
            if min(one, other) == NONE < max(one, other):
                path = self.path(max(one, other))
                if path.endswith((f"/{exact}.md", f"/{exact}")) or _base(path) in (folded, folded + ".md"):
                    return path
        found = self.obsidian(target)
        return found[0] if len(found) == 1 else None

    def _of_base(self, base: str) -> Iterator[str]:
        for number in self._by_base.of(hash_of(base)):
            path = self.path(number)
            if _base(path) == base:
                yield path


def resolve(
    target: str, paths: "LinkIndex | Iterable[str]", rule: LinkRule = "literal", source_path: str = ""
) -> Resolution:
    """Say what ``target`` (without its anchor) stands for. ``paths``: the vault's files, or an index.

    The target "" is the note that holds the link.
    """
    if not target:
        return Resolution("self", source_path or None)
    if may_be_address(target):
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


def may_be_address(target: str) -> bool:
    """Whether a target may be external or outside: False is sure, and found out in a tenth of the time."""
    return ":" in target or ".." in target or "\x00" in target or target[0] in "/\\~"


def is_attachment(target: str) -> bool:
    """Whether the target is a picture, recording or document by its ending: a missing one is no missing note."""
    return "." in target and _ATTACHMENTS.fullmatch(PurePosixPath(target).suffix) is not None


def _fold(text: str) -> str:
    return normalize("NFC", text).casefold()


def _base(path: str) -> str:
    return _fold(path).rpartition("/")[2]


def _ends(target: str) -> tuple[str, str]:
    return ("/" + target, "/" + target + ".md")
