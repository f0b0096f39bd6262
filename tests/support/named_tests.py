"""Tables in docstrings that say which test covers what, read so that they cannot drift."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_ROW = re.compile(r"^\| *(\d+) \|(.*)\|$", re.MULTILINE)
_NAME = re.compile(r"`([\w/]+\.py)?(?:::)?(test_\w+)`")


def rows(docstring):
    """Number -> the rest of the row."""
    return {int(number): rest for number, rest in _ROW.findall(docstring)}


def missing(docstring, own):
    """What a table names and is not there: ``file::test``. Names without a file are those of ``own``."""
    gone = []
    for number, rest in rows(docstring).items():
        named = _NAME.findall(rest)
        if not named and "not ours" not in rest:
            gone.append(f"row {number} names no test")
        for path, name in named:
            file = ROOT / path if path else Path(own)
            if not file.is_file() or not re.search(rf"^(?:async )?def {name}\(", file.read_text("utf-8"), re.MULTILINE):
                gone.append(f"row {number}: {file.name}::{name}")
    return gone
