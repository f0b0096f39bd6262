"""Wikilinks: one parser for graph, rename, lint and display, and one rewriter. The grammar is in docs/note-format.md.

``[[target#anchor|alias]]``, ``![[embed|size]]``, ``predicate:: [[target]]`` on a line and ``[predicate:: [[target]]]``
inside one. What a target stands for is decided in ``link_target``.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from ..errors import PathError
from ..models import FileFrontMatter, FileLink
from .frontmatter import parse, set_keys
from .link_target import LinkIndex, Resolution, is_attachment, resolve, respell
from .prose import prose_spans
from .yaml_block import read_block

__all__ = [
    "LinkIndex",
    "Resolution",
    "front_matter_links",
    "is_attachment",
    "is_linkable",
    "parse_links",
    "render",
    "resolve",
    "respell",
    "rewrite",
]


_KEY = r"[^\W\d_][\w /-]{0,63}?"
_TOKEN = re.compile(rf"\\.|(!?)\[\[([^\[\]\r\n]*)\]\]|[\[(]({_KEY})::[ \t]*(?=!?\[\[)|[\])]")
_LINE_KEY = re.compile(
    rf"[ \t>]*(?:(?:[-*+]|[0-9]{{1,9}}[.)])[ \t]+)*(?:\[.\][ \t]+)?"
    rf"(?:\*\*|__)?({_KEY})(?:\*\*|__)?::(?:\*\*|__)?(?:[ \t]|(?=!?\[\[))"
)
_SUBSCRIPT = re.compile(r"\s*-?[0-9][0-9:,\s]*")
_SIZE = re.compile(r"[0-9]{1,5}(?:x[0-9]{1,5})?")
_UNWRITABLE = re.compile(r"[\[\]|#\r\n`]|<!--|\\\Z|\A\s|\s\Z|\A\Z")


@dataclass(frozen=True, slots=True)
class _Found:
    """A link, and the offsets of its target's characters."""

    link: FileLink
    start: int
    end: int


def parse_links(text: str, source_path: str, first_line: int = 1) -> tuple[FileLink, ...]:
    """The links of a note's body, in order. ``first_line`` is the file's line (1-based) on which ``text`` starts.

    No links in code spans, fenced or indented code, HTML comments, or after a backslash. A link to a place in the
    same note has the target "". Linear in the length of the text.
    """
    return tuple(found.link for found in _find(text, source_path, first_line))


def front_matter_links(front: FileFrontMatter, source_path: str, raw: str | None = None) -> tuple[FileLink, ...]:
    """The links in the values of the front matter; their predicate is the top-level key they stand under.

    With ``raw``, the text between the fences, each link has its own line; without, that of the opening fence.
    """
    links: list[FileLink] = []
    place = 0
    for key, value in front.data.items():
        for text in _texts(value):
            for token in _TOKEN.finditer(text) if "[[" in text else ():
                line = 1
                if raw is not None and token.group(2) and (at := raw.find(token.group(), place)) >= 0:
                    place, line = at, 2 + raw.count("\n", 0, at)
                found = _link(token, text, FileLink(source_path, "", predicate=key, line=line))
                if found is not None:
                    links.append(found.link)
    return tuple(links)


def is_linkable(path: str) -> bool:
    """Whether a wikilink can name this path: no brackets, ``|``, ``#``, backtick or line break, and no space around."""
    return _UNWRITABLE.search(path) is None


def render(link: FileLink) -> str:
    """The link as text, in the inline form when it has a predicate. Raises :class:`PathError` when none can name it."""
    if link.target_path and not is_linkable(link.target_path):
        raise _not_linkable(link.target_path)
    parts = [link.target_path + ("" if link.target_anchor is None else f"#{link.target_anchor}")]
    parts += [part for part in (link.alias, link.size) if part is not None]
    text = f"{'!' if link.embed else ''}[[{'|'.join(parts)}]]"
    return text if link.predicate is None else f"[{link.predicate}:: {text}]"


def rewrite(text: str, should_change: Callable[[FileLink], str | None], source_path: str = "") -> str:
    """Return the note (front matter and body) with other targets in its links; every other byte stays.

    ``should_change`` gets each link and returns its new target, or None. Front matter that cannot be read stays as it
    is. Raises :class:`PathError` for a target that no wikilink can name.
    """
    note = parse(text)
    head = text[: len(text) - len(note.body)]
    pieces: list[str] = []
    place = 0
    for found in _find(note.body, source_path, note.body_line):
        target = _new_target(found.link, should_change)
        if target is not None:
            pieces += [note.body[place : found.start], target]
            place = found.end
    body = "".join([*pieces, note.body[place:]])
    if note.raw is not None and "[[" in note.raw:
        head = _rewritten_head(head, note.front, should_change, source_path)
    return head + body


def _find(text: str, source_path: str, first_line: int) -> Iterator[_Found]:
    if "[[" not in text:
        return
    counted, line, line_start = 0, first_line, 0
    key: str | None = None
    key_known = False
    inline: str | None = None
    closer = ""
    for start, end in prose_spans(text):
        for token in _TOKEN.finditer(text, start, end):
            mark = token.group()
            is_link = token.group(2) is not None
            if not is_link and token.group(3) is None:
                if mark == closer:
                    inline = None
                continue
            at = token.start()
            newlines = text.count("\n", counted, at)
            if newlines:
                line += newlines
                line_start = text.rfind("\n", counted, at) + 1
                key_known, inline = False, None
            counted = at
            if not is_link:
                inline, closer = token.group(3).strip(), "]" if mark[0] == "[" else ")"
                continue
            if not key_known:
                found_key = _LINE_KEY.match(text, line_start)
                key = None if found_key is None or found_key.end() > at else found_key.group(1).strip()
                key_known = True
            found = _link(token, text, FileLink(source_path, "", predicate=inline or key, line=line))
            if found is not None:
                yield found


def _link(token: "re.Match[str]", text: str, bare: FileLink) -> _Found | None:
    """Read what stands between the brackets into a copy of ``bare``; None when it is no link."""
    content = token.group(2)
    if content is None or _is_subscript(token, text):
        return None
    head, separator, rest = content.partition("|")
    if separator and head.endswith("\\"):
        head = head[:-1]  # the bar of a link in a table is escaped
    target, _, anchor = head.partition("#")
    name, anchor = target.strip(), anchor.strip()
    if not name and not anchor:
        return None
    alias: str | None = rest.strip() or None
    size = None
    embed = bool(token.group(1))
    if embed and alias is not None:
        before, bar, last = alias.rpartition("|")
        if _SIZE.fullmatch(last.strip()):
            alias, size = before.removesuffix("\\").strip() or None if bar else None, last.strip()
    start = token.start(2) + len(target) - len(target.lstrip())
    link = FileLink(
        source_path=bare.source_path,
        target_path=name,
        target_anchor=anchor or None,
        predicate=bare.predicate,
        alias=alias,
        embed=embed,
        line=bare.line,
        size=size,
    )
    return _Found(link, start, start + len(name))


def _is_subscript(token: "re.Match[str]", text: str) -> bool:
    """``array[[0]]``: numbers alone, right behind a name or a bracket, are an index and not a note."""
    at = token.start()
    before = text[at - 1] if at else ""
    glued = before.isascii() and (before.isalnum() or before in "_)]\"'") and before != ""
    return glued and _SUBSCRIPT.fullmatch(token.group(2)) is not None


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from _texts(item)


def _new_target(link: FileLink, should_change: Callable[[FileLink], str | None]) -> str | None:
    target = should_change(link)
    if target is None or target == link.target_path:
        return None
    if not is_linkable(target):
        raise _not_linkable(target)
    return target


def _not_linkable(target: str) -> PathError:
    return PathError(f"no wikilink can name {target!r}: it holds a bracket, | or #, a backtick, or a space at its end")


def _rewritten_head(
    head: str, front: FileFrontMatter, should_change: Callable[[FileLink], str | None], source_path: str
) -> str:
    changes: dict[str, Any] = {}
    for key, value in front.data.items():
        bare = FileLink(source_path, "", predicate=key, line=1)
        changed = _retargeted(value, bare, should_change)
        if changed != value:
            changes[key] = changed
    if not changes:
        return head
    block = read_block(parse(head).raw or "")
    offset = head.index("\n") + 1
    result = head
    for entry in reversed(block.entries):
        if entry.key in changes:
            start, end = offset + entry.value_start, offset + entry.value_end
            bare = FileLink(source_path, "", predicate=entry.key, line=1)
            result = result[:start] + _retargeted(result[start:end], bare, should_change) + result[end:]
    # Characters that mean something to YAML in a new name: then the keys are spelled anew.
    return result if parse(result).front.data == {**front.data, **changes} else set_keys(head, changes)


def _retargeted(value: Any, bare: FileLink, should_change: Callable[[FileLink], str | None]) -> Any:
    if isinstance(value, list):
        return [_retargeted(item, bare, should_change) for item in value]
    if isinstance(value, dict):
        return {key: _retargeted(item, bare, should_change) for key, item in value.items()}
    if not isinstance(value, str) or "[[" not in value:
        return value
    pieces: list[str] = []
    place = 0
    for token in _TOKEN.finditer(value):
        found = _link(token, value, bare)
        target = None if found is None else _new_target(found.link, should_change)
        if found is not None and target is not None:
            pieces += [value[place : found.start], target]
            place = found.end
    return "".join([*pieces, value[place:]])
