"""What an operation returned, for people (text) and for programs (JSON)."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..models import IndexReport, NoteChange, NotePage, SearchHit, SearchResult
from .values import HelpText, Status

if TYPE_CHECKING:
    from ..vault.notes import NoteList, NoteStat


@dataclass(frozen=True, slots=True)
class Shown:
    """``body`` is the answer itself, ``remark`` is about it: a next page, a weak result. Terminals keep them apart."""

    body: str
    remark: str = ""


def as_json(value: Any) -> str:
    """The value as JSON; the fields of our values by their names, plus ``source`` (``path:start-end``) of each hit."""
    return json.dumps(_plain(value), ensure_ascii=False, indent=2, allow_nan=False)


def as_text(value: Any) -> Shown:
    """The value as a person wants to read it."""
    from ..vault.notes import NoteList, NoteStat

    match value:
        case SearchResult():
            return _search(value)
        case NotePage():
            return _page(value)
        case NoteChange():
            version = f" (version {value.version})" if value.version else ""
            return Shown(f"{value.path}: {value.kind}{version}")
        case NoteList():
            return _list(value)
        case NoteStat():
            return Shown(_stat(value))
        case IndexReport():
            return _report(value)
        case Status():
            return Shown(_status(value))
        case HelpText():
            width = max(len(name) for name, _ in value.operations)
            return Shown("\n".join(f"{name:<{width}}  {text}" for name, text in value.operations))
        case _:
            return Shown(str(value))


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        plain = {item.name: _plain(getattr(value, item.name)) for item in fields(value)}
        return {"source": value.source, **plain} if isinstance(value, SearchHit) else plain
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, datetime | date):
        return value.isoformat()
    return value.as_posix() if isinstance(value, Path) else str(value)


def _search(result: SearchResult) -> Shown:
    blocks = []
    for number, hit in enumerate(result.hits, 1):
        where = " › ".join(part for part in (hit.title, *hit.headings) if part)
        head = "  ".join(part for part in (f"{number}. {hit.source}", hit.date, f"{hit.score:.3f}", where) if part)
        blocks.append("\n".join([head, *(f"   {line}" for line in hit.text.strip().splitlines())]))
    remark = result.note or ("No passage matches." if not result.hits else "")
    if result.status not in ("ok", "none"):
        remark = f"{result.status}: {remark}" if remark else result.status
    return Shown("\n\n".join(blocks), remark)


def _page(page: NotePage) -> Shown:
    lines = f"lines {page.start_line}-{page.end_line} of {page.total_lines}" if page.end_line >= page.start_line else ""
    parts = [page.path, lines or f"no such lines; it has {page.total_lines}", f"version {page.version}"]
    if page.next_line is not None:
        inside = f", column {page.cut_column}" if page.cut_column is not None else ""
        parts.append(f"the next page starts at line {page.next_line}{inside}")
    return Shown(page.text, ", ".join(parts))


def _list(found: "NoteList") -> Shown:
    width = max((len(f"{entry.size:,}") for entry in found.entries), default=0)
    lines = [
        f"{entry.modified:%Y-%m-%d %H:%M}  {entry.size:>{width},}  {entry.path}"
        if entry.kind == "file"
        else f"{entry.modified:%Y-%m-%d %H:%M}  {'':>{width}}  {entry.path}/"
        for entry in found.entries
    ]
    left = found.total - len(found.entries)
    return Shown("\n".join(lines), f"{left} more are not shown; raise the limit" if left > 0 else "")


def _stat(entry: "NoteStat") -> str:
    rows = {
        "path": entry.path,
        "kind": entry.kind,
        "size": f"{entry.size:,} bytes" if entry.kind == "file" else "",
        "modified": entry.modified.isoformat(timespec="seconds"),
        "version": entry.version,
        "encoding": entry.encoding,
    }
    return "\n".join(f"{name:<9} {value}" for name, value in rows.items() if value)


def _report(report: IndexReport) -> Shown:
    counts = f"{report.added} added, {report.changed} changed, {report.removed} removed, {report.unchanged} unchanged"
    failed = "\n".join(f"not read: {path}: {reason}" for path, reason in report.failed)
    return Shown(f"{counts}, in {report.seconds:.2f} s", failed)


def _status(status: Status) -> str:
    rows = [("agentscope-reme", status.version), ("vault", status.vault)]
    if not status.exists:
        rows.append(("state", "not there yet; the first write makes it"))
    for name, value in status.index.items():
        if value in ("", None):
            continue
        if isinstance(value, list | tuple):
            rows.append((name, str(len(value))))
            rows += [("", " ".join(map(str, item)) if isinstance(item, list | tuple) else str(item)) for item in value]
        else:
            rows.append((name, _said(value)))
    width = max(len(name) for name, _ in rows)
    return "\n".join(f"{name:<{width}}  {value}" for name, value in rows)


def _said(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else str(value)
