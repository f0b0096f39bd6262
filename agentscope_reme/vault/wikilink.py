"""Wikilinks: one parser for graph, rename, lint and display, and one rewriter. The grammar is in docs/note-format.md.

``[[target#anchor|alias]]``, ``![[embed|size]]``, ``predicate:: [[target]]`` on a line and ``[predicate:: [[target]]]``
inside one. What a target stands for is decided in ``link_target``.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

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
    "unlink",
]


_KEY = r"[^\W\d_][\w /-]{0,63}?"
# An escaped character, a link, the key of an inline field, or what closes one. The first class holds how each begins:
# most characters are passed over by it alone.
_TOKEN = re.compile(
    rf"[\\!\[(\])](?:(?<=\\).|(?:(?<=!)\[|(?<=\[))\[([^\[\]\r\n]*)\]\]|(?<=[\[(])({_KEY})::[ \t]*(?=!?\[\[)|(?<=[\])]))"
)
_LINE_KEY = re.compile(
    rf"[ \t>]*(?:(?:[-*+]|[0-9]{{1,9}}[.)])[ \t]+)*(?:\[.\][ \t]+)?"
    rf"(?:\*\*|__)?({_KEY})(?:\*\*|__)?::(?:\*\*|__)?(?:[ \t]|(?=!?\[\[))"
)
_SUBSCRIPT = re.compile(r"\s*-?[0-9][0-9:,\s]*")
_SIZE = re.compile(r"[0-9]{1,5}(?:x[0-9]{1,5})?")
_UNWRITABLE = re.compile(r"[\[\]|#\r\n`]|<!--|\\\Z|\A\s|\s\Z|\A\Z")


class _Found(NamedTuple):
    """A link, the offsets of its target's characters, and those of all of it."""

    link: FileLink
    start: int
    end: int
    whole: tuple[int, int]


_Edit = Callable[[_Found], tuple[int, int, str] | None]
"""From a link to what is to stand in place of some of its characters: from, to, text; None leaves it."""


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
                if raw is not None and token.group(1) and (at := raw.find(token.group(), place)) >= 0:
                    place, line = at, 2 + raw.count("\n", 0, at)
                found = _link(token, text, source_path, key, line)
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

    def retarget(found: _Found) -> tuple[int, int, str] | None:
        target = should_change(found.link)
        if target is None or target == found.link.target_path:
            return None
        if not is_linkable(target):
            raise _not_linkable(target)
        return found.start, found.end, target

    return _edited(text, retarget, source_path)


def unlink(text: str, should_unlink: Callable[[FileLink], bool], source_path: str = "") -> str:
    """Return the note with some of its links as plain text: the alias, else the target's name without ``.md``.

    Every other byte stays. Front matter that cannot be read stays as it is.
    """

    def plain(found: _Found) -> tuple[int, int, str] | None:
        if not should_unlink(found.link):
            return None
        name = found.link.target_path.rpartition("/")[2]
        return (*found.whole, found.link.alias or name.removesuffix(".md") or name)

    return _edited(text, plain, source_path)


def _edited(text: str, edit: _Edit, source_path: str) -> str:
    note = parse(text)
    head = text[: len(text) - len(note.body)]
    body = _applied(note.body, _find(note.body, source_path, note.body_line), edit)
    if note.raw is not None and "[[" in note.raw:
        head = _edited_head(head, note.front, edit, source_path)
    return head + body


def _applied(text: str, links: Iterator[_Found], edit: _Edit) -> str:
    pieces: list[str] = []
    place = 0
    for found in links:
        if (change := edit(found)) is not None:
            start, end, new = change
            pieces += [text[place:start], new]
            place = end
    return "".join([*pieces, text[place:]])


def _find(text: str, source_path: str, first_line: int) -> Iterator[_Found]:
    if "[[" not in text:
        return
    counted, line, line_start = 0, first_line, 0
    key: str | None = None
    key_known = False
    inline: str | None = None
    closer = ""
    for start, end in prose_spans(text, text.rfind("[[")):
        for token in _TOKEN.finditer(text, start, end):
            mark = token.group()
            is_link = token.group(1) is not None
            if not is_link and token.group(2) is None:
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
                inline, closer = token.group(2).strip(), "]" if mark[0] == "[" else ")"
                continue
            if not key_known:
                found_key = _LINE_KEY.match(text, line_start)
                key = None if found_key is None or found_key.end() > at else found_key.group(1).strip()
                key_known = True
            found = _link(token, text, source_path, inline or key, line)
            if found is not None:
                yield found


def _link(token: "re.Match[str]", text: str, source_path: str, predicate: str | None, line: int) -> _Found | None:
    """Read what stands between the brackets; None when it is no link."""
    content = token.group(1)
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
    embed = token.group().startswith("!")
    if embed and alias is not None:
        before, bar, last = alias.rpartition("|")
        if _SIZE.fullmatch(last.strip()):
            alias, size = before.removesuffix("\\").strip() or None if bar else None, last.strip()
    start = token.start(1) + len(target) - len(target.lstrip())
    link = FileLink(
        source_path=source_path,
        target_path=name,
        target_anchor=anchor or None,
        predicate=predicate,
        alias=alias,
        embed=embed,
        line=line,
        size=size,
    )
    return _Found(link, start, start + len(name), token.span())


def _is_subscript(token: "re.Match[str]", text: str) -> bool:
    """``array[[0]]``: numbers alone, right behind a name or a bracket, are an index and not a note."""
    at = token.start()
    before = text[at - 1] if at else ""
    glued = before.isascii() and (before.isalnum() or before in "_)]\"'") and before != ""
    return glued and _SUBSCRIPT.fullmatch(token.group(1)) is not None


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from _texts(item)


def _not_linkable(target: str) -> PathError:
    return PathError(f"no wikilink can name {target!r}: it holds a bracket, | or #, a backtick, or a space at its end")


def _edited_head(head: str, front: FileFrontMatter, edit: _Edit, source_path: str) -> str:
    changes: dict[str, Any] = {}
    for key, value in front.data.items():
        changed = _edited_value(value, FileLink(source_path, "", predicate=key, line=1), edit)
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
            result = result[:start] + _edited_value(result[start:end], bare, edit) + result[end:]
    # Characters that mean something to YAML in a new text: then the keys are spelled anew.
    return result if parse(result).front.data == {**front.data, **changes} else set_keys(head, changes)


def _edited_value(value: Any, bare: FileLink, edit: _Edit) -> Any:
    if isinstance(value, list):
        return [_edited_value(item, bare, edit) for item in value]
    if isinstance(value, dict):
        return {key: _edited_value(item, bare, edit) for key, item in value.items()}
    if not isinstance(value, str) or "[[" not in value:
        return value
    tokens = _TOKEN.finditer(value)
    found = (_link(token, value, bare.source_path, bare.predicate, bare.line) for token in tokens)
    links = (link for link in found if link is not None)
    return _applied(value, links, edit)
