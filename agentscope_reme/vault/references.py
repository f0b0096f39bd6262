"""What notes refer to below ``session/``: journals, whole or by lines, and offloaded results.

A note refers to a journal by ``session_id`` in its front matter, or by the journal's path in its text: a link, a link
to ``#L10-L14``, or a citation such as ``session/dialog/s.jsonl:10-14``.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ..errors import ReMeError
from .encoding import decode_exact
from .expiry import results_in
from .files import Files
from .frontmatter import parse, text_of
from .layout import DIALOG, RESOURCE, UNINDEXED, iter_files, session_file_name

_JOURNAL = re.compile(
    rf"(?P<path>{re.escape(DIALOG)}/[\w.~-]+\.jsonl)(?:(?:#L|:)(?P<first>[0-9]{{1,9}})(?:-L?(?P<last>[0-9]{{1,9}}))?)?"
)
_CARD = re.compile(r"daily/(\d{4}-\d{2}-\d{2})/[^/]+")


@dataclass(frozen=True, slots=True)
class References:
    """What one note refers to. ``journals`` are whole, ``lines`` some lines of one (1-based, inclusive).

    ``day`` is that of a daily card, else "".
    """

    path: str
    journals: frozenset[str] = frozenset()
    lines: tuple[tuple[str, int, int], ...] = ()
    results: frozenset[str] = frozenset()
    day: str = ""


def references_of(path: str, data: bytes) -> References:
    """The references of a note with these bytes."""
    text = decode_exact(data)
    whole: set[str] = set()
    lines: list[tuple[str, int, int]] = []
    for found in _JOURNAL.finditer(text):
        if found["first"] is None:
            whole.add(found["path"])
        else:
            first = int(found["first"])
            lines.append((found["path"], first, int(found["last"] or first)))
    session_id = text_of(parse(text).front.data.get("session_id")) if "session_id" in text else ""
    if session_id:
        whole.add(f"{DIALOG}/{session_file_name(session_id)}.jsonl")
    card = _CARD.fullmatch(path)
    return References(path, frozenset(whole), tuple(lines), frozenset(results_in(text)), card.group(1) if card else "")


def all_references(files: Files) -> Iterator[References]:
    """The references of each note of the vault that has some."""
    skip = (*UNINDEXED, RESOURCE)
    for path, _ in iter_files(files.root, suffixes=(".md", ".markdown"), skip=skip):
        try:
            data = files.storage.read(path)
        except ReMeError:
            continue  # what cannot be read refers to nothing that is known
        if b"session" in data:
            yield references_of(path, data)
