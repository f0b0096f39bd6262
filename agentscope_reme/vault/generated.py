"""A generated part of a note the user owns: it stands between two marker lines, and only what is between changes.

The markers are HTML comments on lines of their own, ``<!-- reme:begin NAME -->`` and ``<!-- reme:end NAME -->``.
"""

import re

from .edits import dominant_line_end


def generated_part(text: str, name: str) -> str | None:
    """What stands between the markers, with line feeds and without blank lines around it; None without markers."""
    found = _find(text, name)
    return None if found is None else found.group(2).replace("\r\n", "\n").strip("\n")


def with_generated_part(text: str, name: str, content: str, *, raw: bool = False) -> str:
    """Return the text with ``content`` between the markers, which are added at its end when they are not there.

    All else is byte-identical. A marker without its partner, left over by an edit, counts as the user's text. ``raw``
    content has been made :func:`inert` by the caller where it must be.
    """
    end = dominant_line_end(text) or "\n"
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
    return re.search(pattern, text, re.MULTILINE)
