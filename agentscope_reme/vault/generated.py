"""A generated part of a note the user owns: it stands between two marker lines, and only what is between changes.

The markers are HTML comments on lines of their own, ``<!-- reme:begin NAME -->`` and ``<!-- reme:end NAME -->``.
"""

import re
from collections.abc import Iterator

from .edits import dominant_line_end

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})([^\n`]*)$", re.MULTILINE)


def generated_part(text: str, name: str) -> str | None:
    """What stands between the markers, with line feeds and without blank lines around it; None without markers."""
    found = _find(text, name)
    return None if found is None else found.group(2).replace("\r\n", "\n").strip("\n")


def with_generated_part(text: str, name: str, content: str, *, raw: bool = False, line_end: str = "\n") -> str:
    """Return the text with ``content`` between the markers, which are added at its end when they are not there.

    All else is byte-identical. A marker without its partner, left over by an edit, counts as the user's text. ``raw``
    content has been made :func:`inert` by the caller where it must be. ``line_end`` is for a text that has none.
    """
    end = dominant_line_end(text) or line_end
    inner = (content if raw else inert(content)).strip("\n").replace("\r\n", "\n").replace("\n", end)
    inner = inner + end if inner else ""
    found = _find(text, name)
    if found is not None:
        return text[: found.start(2)] + inner + text[found.end(2) :]
    gap = "" if not text.removeprefix("\ufeff") else end if text.endswith("\n") else end * 2
    if text.endswith(("\n\n", "\r\n\r\n")):
        gap = ""
    return f"{text}{gap}<!-- reme:begin {name} -->{end}{inner}<!-- reme:end {name} -->{end}"


def inert(content: str) -> str:
    """Content that opens no HTML comment: it can neither end its part early nor hide what follows it."""
    return content.replace("<!--", "&lt;!--")


def _find(text: str, name: str) -> "re.Match[str] | None":
    begin = re.escape(f"<!-- reme:begin {name} -->")
    close = re.escape(f"<!-- reme:end {name} -->")
    line = r"[ \t]*\r?"
    # From a begin to the nearest end without another begin between them.
    pattern = rf"^({begin}{line}\n)((?:(?!{begin}{line}$|{close}{line}$)[^\n]*\n)*){close}{line}$"
    found = re.search(pattern, text, re.MULTILINE)
    if found is None or _FENCE.search(text, 0, found.start()) is None:
        return found
    shown = list(_code_blocks(text))
    for found in re.finditer(pattern, text, re.MULTILINE):
        if not any(start < found.start() and found.end() < end for start, end in shown):
            return found
    return None


def _code_blocks(text: str) -> Iterator[tuple[int, int]]:
    """Where fenced blocks of code that are closed begin and end: markers in them are an example, and no part.

    A fence that nobody closed hides nothing, so that a part which stands below it is not made a second time.
    """
    opened: re.Match[str] | None = None
    for fence in _FENCE.finditer(text):
        if opened is None:
            opened = fence
        elif fence[1][0] == opened[1][0] and len(fence[1]) >= len(opened[1]) and not fence[2].strip():
            yield opened.start(), fence.end()
            opened = None
