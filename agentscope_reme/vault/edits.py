"""Changing one passage of a text, or adding to its end, and leaving every other byte as it was; what may not be done.

Pure functions."""

import re
from itertools import islice

from ..errors import EditNotUnique, NoteChanged, NoteError, NoteExists
from ..expression import expression
from .encoding import Kind, clean_text, decode_exact, mixes_encodings
from .storage import is_version, version_of

# What stands where a view left text out. The first are ours or say how much; the others only hint at it, as people use
# "[...]" too: they explain why a quoted passage is not found.
_CLIPPED = expression(
    r"\[truncated\]|\[\d+ of \d+ characters left out[^\]\n]{0,400}\]"
    r"|\[[….\s]*\d[\d,.\s]*(?:bytes|characters|lines|tokens) (?:omitted|left out|truncated|clipped)[^\]\n]{0,100}\]",
    re.IGNORECASE,
)
_HINT = expression(
    r"\[(?:…|\.\.\.)[^\]\n]{0,200}\]|\[[^\]\n]{0,80}\b(?:omitted|truncated|clipped|left out)\b[^\]\n]{0,120}\]"
    r"|<truncated>|(?:\.\.\.|…) ?[\[(]?truncated",
    re.IGNORECASE,
)
_LINE_END = expression(r"\r\n|\n")


def clip_marker(text: str) -> str | None:
    """The first marker of left-out text in ``text``, or None."""
    found = _CLIPPED.search(text)
    return found.group() if found else None


def must_be_exact(path: str, kind: Kind | None) -> None:
    """NoteError for a file whose text cannot be changed and saved as it was: binary, or not UTF-8."""
    if kind is None or kind.exact:
        return
    if kind.encoding == "binary":
        raise NoteError(f"{path} is a binary file, which cannot be edited; nothing was changed", path)
    raise NoteError(
        f"{path} is not UTF-8 ({kind.encoding}); nothing was changed. Write its text to a new note and edit that", path
    )


def must_not_mix(path: str, old: bytes | None, new: bytes) -> None:
    """NoteError for a change that would leave a note in two encodings."""
    if old is not None and mixes_encodings(old, new):
        raise NoteError(
            f"{path} is not UTF-8, and the new text holds characters that cannot be added to it; nothing was changed. "
            "Write its text to a new note and edit that",
            path,
        )


def may_replace(
    path: str, old: bytes | None, kind: Kind | None, content: str, version: str | None, overwrite: bool
) -> None:
    """Whether a whole note may be written over what is there; raises NoteExists, NoteChanged or NoteError if not."""
    if old is None:
        if version:
            raise NoteChanged(f"{path} was removed since you read it; nothing was changed", path)
        return
    if version and not is_version(version_of(old), version):
        raise NoteChanged(
            f"{path} has changed since you read it (it is now version {version_of(old)}); nothing was changed, "
            "read it again",
            path,
        )
    if not version and not overwrite:
        raise NoteExists(
            f"{path} exists; nothing was changed. Add to it with append, change a passage with edit, or give the "
            "version that read returned to replace all of it",
            path,
        )
    exact = kind is None or kind.exact
    if not exact and "\ufffd" in content:
        raise NoteError(
            f"{path} is not UTF-8, and some of its characters could not be shown; nothing was changed", path
        )
    if (marker := clip_marker(content)) and not (exact and marker in decode_exact(old)):
        raise NoteError(
            f"{path}: the content contains {marker!r}, a sign that text was left out; nothing was changed. "
            "Change the passage with edit instead",
            path,
        )


def replace_once(text: str, old: str, new: str, path: str = "") -> str:
    r"""``text`` with its one passage ``old`` replaced by ``new``.

    ``\n`` in ``old`` also matches CRLF, and the new passage takes the line ends of the one it replaces. Raises
    EditNotUnique when there is not exactly one such passage, NoteError when the request cannot be meant.
    """
    if not old:
        raise NoteError(f"{path}: the text to replace is empty; quote the passage, or use append", path)
    old_lines, new_lines = _LINE_END.split(old), _LINE_END.split(clean_text(new))
    if old_lines == new_lines:
        raise NoteError(f"{path}: the old and the new text are the same; nothing was changed", path)
    pattern = re.compile(r"(?:\r\n|\n)".join(re.escape(line) for line in old_lines))
    # A match may begin inside another one ("aa" in "aaa"): such a passage is not unique either.
    places: list[tuple[int, int]] = []
    position = 0
    while len(places) < 1000 and (match := pattern.search(text, position)):
        places.append((match.start(), match.end()))
        position = match.start() + 1
    if not places:
        raise _not_found(text, old_lines, path)
    if len(places) > 1:
        lines = tuple(text.count("\n", 0, start) + 1 for start, _ in places)
        shown = ", ".join(str(line) for line in lines[:10]) + (", …" if len(lines) > 10 else "")
        raise EditNotUnique(
            f"{path}: the text occurs {len(places)} times (lines {shown}); nothing was changed. "
            "Quote more of the lines around the one you mean",
            path,
            count=len(places),
            lines=lines,
        )
    marker = clip_marker(new)
    if marker and marker not in old:
        raise NoteError(
            f"{path}: the new text contains {marker!r}, a sign that text was left out; nothing was changed. "
            "Read the passage in full and give the whole text",
            path,
        )
    start, end = places[0]
    return text[:start] + _with_line_ends(new_lines, text, start, end) + text[end:]


def append_text(text: str, addition: str) -> str:
    """``text`` with lines added at its end, in the text's own kind of line end.

    The first new line is never glued to an unterminated last one, and no blank line is added. A text that ended with a
    line end does so again; one that did not ends as the addition does.
    """
    if not addition:
        return text
    addition = clean_text(addition)
    empty = not text.removeprefix("\ufeff")
    terminated = empty or text.endswith("\n")
    lines = _LINE_END.split(addition)
    if terminated and lines[-1] != "":
        lines.append("")
    if not terminated and lines[0] != "":
        lines.insert(0, "")
    return text + (dominant_line_end(text) or "\n").join(lines)


def dominant_line_end(text: str) -> str | None:
    r"""``\r\n`` or ``\n``, whichever the text has more of; None when it has neither."""
    crlf = text.count("\r\n")
    lf = text.count("\n") - crlf
    if not crlf and not lf:
        return None
    return "\r\n" if crlf > lf else "\n"


def _with_line_ends(lines: list[str], text: str, start: int, end: int) -> str:
    ends = _LINE_END.findall(text[start:end])
    rest = ends[-1] if ends else (_nearest_line_end(text, start) or "\n")
    joined = [lines[0]]
    for index, line in enumerate(lines[1:]):
        joined += [ends[index] if index < len(ends) else rest, line]
    return "".join(joined)


def _nearest_line_end(text: str, position: int) -> str | None:
    following = text.find("\n", position)
    if following < 0:
        following = text.rfind("\n", 0, position)
    if following < 0:
        return None
    return "\r\n" if following and text[following - 1] == "\r" else "\n"


def _not_found(text: str, old_lines: list[str], path: str) -> NoteError:
    hints = (_CLIPPED.search(line) or _HINT.search(line) for line in old_lines)
    if hint := next((found.group() for found in hints if found), None):
        return EditNotUnique(
            f"{path}: the text to replace contains {hint!r}, a sign that text was left out, and is not in the note; "
            "nothing was changed. Read the passage in full and quote it exactly",
            path,
        )
    near = _closest(text, old_lines)
    shown = "".join(f"\n  line {number}: {line}" for number, line in near)
    hint = f" The closest lines are:{shown}" if near else " Read the note and quote the passage exactly"
    return EditNotUnique(
        f"{path}: the text to replace is not in the note; nothing was changed. Do not try the same text again.{hint}",
        path,
        count=0,
        lines=tuple(number for number, _ in near),
    )


def _closest(text: str, old_lines: list[str], limit: int = 3) -> list[tuple[int, str]]:
    """Lines most like the first lines that were asked for; bounded, as it runs on whatever is in the vault."""
    from difflib import SequenceMatcher

    wanted = [line.strip()[:300] for line in old_lines if line.strip()][:2]
    ranked: list[tuple[float, int, str]] = []
    for want in wanted:
        matcher = SequenceMatcher(autojunk=False)
        matcher.set_seq2(want)
        for number, line in enumerate(islice(text.split("\n"), 4000), start=1):
            candidate = line.strip()[:300]
            if not candidate:
                continue
            if want in candidate:
                ranked.append((1.0, number, candidate))
                continue
            matcher.set_seq1(candidate)
            if matcher.real_quick_ratio() > 0.5 and matcher.quick_ratio() > 0.5 and (ratio := matcher.ratio()) > 0.5:
                ranked.append((ratio, number, candidate))
    best: dict[int, str] = {}
    for _, number, line in sorted(ranked, key=lambda item: (-item[0], item[1])):
        best.setdefault(number, line[:200])
        if len(best) == limit:
            break
    return sorted(best.items())
