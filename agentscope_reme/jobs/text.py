"""What an operation returned, for people (text) and for programs (JSON)."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..models import (
    FileFrontMatter,
    FileLink,
    ForgetReceipt,
    IndexReport,
    LinkedNote,
    LooseLink,
    NodeHit,
    NoteChange,
    NotePage,
    Response,
    SearchHit,
    SearchResult,
    Traversal,
)
from ..quoting import heading_trail
from .values import Diagnosis, Health, HelpText, Status

if TYPE_CHECKING:
    from ..vault import DailyCard, HistoryEntry, NoteList, NoteStat


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
    from ..vault import DailyCard, HistoryEntry, NoteImage, NoteList, NoteStat

    match value:
        case SearchResult():
            return _search(value)
        case NotePage():
            return _page(value)
        case NoteChange():
            return _change(value)
        case FileFrontMatter():
            return _front_matter(value)
        case NoteImage():
            return Shown(value.data, f"{value.path}, {value.media_type}, {value.size:,} bytes, as base64")
        case ForgetReceipt():
            return _receipt(value)
        case (HistoryEntry(), *_):
            return Shown("\n".join(map(_entry, value)))
        case (DailyCard(), *_):
            return Shown("\n".join(map(_card, value)))
        case (NodeHit(), *_):
            return Shown("\n".join(map(_node, value)))
        case Traversal():
            return _traversal(value)
        case Health():
            return _health(value)
        case None | ():
            return Shown("", "Nothing is there.")
        case NoteList():
            return _list(value)
        case NoteStat():
            return Shown(_stat(value))
        case IndexReport():
            return _report(value)
        case Diagnosis():
            return _diagnosis(value)
        case Status():
            return Shown(_status(value))
        case Response():
            return Shown(value.answer) if value.success else Shown("", value.answer)
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
        facts = (f"{number}. {hit.source}", hit.date, f"{hit.score:.3f}", heading_trail(hit))
        head = "  ".join(part for part in facts if part)
        blocks.append(
            "\n".join(
                [head, *(f"   {line}" for line in (*hit.text.strip().splitlines(), *map(_neighbour, hit.linked)))]
            )
        )
    remark = result.note or ("No passage matches." if not result.hits else "")
    if result.status not in ("ok", "none"):
        remark = f"{result.status}: {remark}" if remark else result.status
    return Shown("\n\n".join(blocks), remark)


def _neighbour(note: LinkedNote) -> str:
    arrow = "→" if note.direction == "out" else "←"
    predicate = f"{note.predicate}: " if note.predicate else ""
    about = ": ".join(" ".join(part.split()) for part in (note.name, note.description) if part)
    missing = "" if note.exists else "  (no note at this path)"
    return f"{arrow} {predicate}{note.path}{f'  {about}' if about else ''}{missing}"


def _node(hit: NodeHit) -> str:
    return "  ".join(
        part for part in (f"{hit.score:.3f}", hit.path, hit.name, " ".join(hit.description.split())) if part
    )


def _traversal(found: Traversal) -> Shown:
    lines = [
        f"{'  ' * note.depth}{_neighbour(note)}{f'  (via {note.via})' if note.depth > 1 else ''}"
        for note in found.notes
    ]
    remark = "" if found.notes else "Nothing is linked with it in this direction and depth."
    return Shown("\n".join([found.path, *lines]), "There are more; raise the limit." if found.more else remark)


def _health(health: Health) -> Shown:
    where = f"agentscope-reme {health.version}, vault {health.vault}"
    state = "" if health.exists else " (not there yet; the first write makes it)"
    return Shown(f"{where}{state}: {'well' if health.well else 'not well'}", "\n".join(health.problems))


def _loose(link: LooseLink) -> str:
    why = {"ambiguous": f"may be any of {', '.join(link.candidates)}", "outside": "lies outside the vault"}
    return f"link: {link.path}:{link.line} to {link.target}: {why.get(link.kind, 'there is no note at this path')}"


def _page(page: NotePage) -> Shown:
    lines = f"lines {page.start_line}-{page.end_line} of {page.total_lines}" if page.end_line >= page.start_line else ""
    parts = [page.path, lines or f"no such lines; it has {page.total_lines}", f"version {page.version}"]
    if page.next_line is not None:
        inside = f", column {page.cut_column}" if page.cut_column is not None else ""
        parts.append(f"the next page starts at line {page.next_line}{inside}")
    return Shown(page.text, ", ".join(parts))


def _change(change: NoteChange) -> Shown:
    version = f" (version {change.version})" if change.version else ""
    undo = f"undo {change.history_id} brings it back" if change.kind == "removed" and change.history_id else ""
    return Shown("\n".join([f"{change.path}: {change.kind}{version}", *_links(change)]), undo)


def _links(change: NoteChange) -> list[str]:
    what = "leads nowhere now" if change.kind == "removed" else "was rewritten"
    links = [f"  the link in {_place(link)} {what}" for link in change.links]
    return [*links, *(f"  not changed: {path}: {reason}" for path, reason in change.failed)]


def _place(link: FileLink) -> str:
    return f"{link.source_path}:{link.line} to {link.target_path}"


def _front_matter(front: FileFrontMatter) -> Shown:
    if front.error is not None:
        return Shown("", f"The front matter cannot be read: {front.error}")
    rows = [f"{key}: {json.dumps(_plain(value), ensure_ascii=False)}" for key, value in front.data.items()]
    return Shown("\n".join(rows), "" if rows else "It has no front matter.")


def _entry(entry: "HistoryEntry") -> str:
    to = f" -> {entry.moved_to}" if entry.kind == "moved" else ""
    why = f"  {' '.join(entry.reason.split())}" if entry.reason else ""
    return f"{entry.id}  {entry.time[:16]}  {entry.actor:<8}  {entry.kind:<8}  {entry.path}{to}{why}"


def _card(card: "DailyCard") -> str:
    about = " ".join(card.description.split())
    return "  ".join(part for part in (card.path, card.name, about) if part)


def _receipt(receipt: ForgetReceipt) -> Shown:
    lines = [f"{receipt.path}: {'would be forgotten' if receipt.dry_run else 'forgotten'}"]
    lines += [f"  file: {path}" for path in receipt.files]
    lines += [f"  journal: {count} lines of {path}" for path, count in receipt.journal_lines]
    lines += [f"  offloaded result: {path}" for path in receipt.results]
    if receipt.history_entries or receipt.history_files:
        lines.append(f"  history: {receipt.history_entries} entries")
    lines += [f"  history: {path}" for path in receipt.history_files]
    lines += [f"  index: {path}" for path in receipt.indexed]
    lines += [f"  vectors: {receipt.vectors}"] if receipt.vectors else []
    told = "plain text" if receipt.unlinked else "leads nowhere"
    lines += [f"  link: {_place(link)} ({told})" for link in receipt.links]
    lines += [f"  not changed: {path}: {reason}" for path, reason in receipt.failed]
    lines += [f"  stays: {path}: {reason}" for path, reason in receipt.kept]
    return Shown("\n".join(lines), "\n".join(f"out of reach: {one}" for one in receipt.unreachable))


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


def _diagnosis(found: Diagnosis) -> Shown:
    verdict = "is what the files give" if found.sound else "differs from the files; reindex builds it anew"
    copies = [f"conflict copy, not indexed: {path}" for path in found.conflicts]
    failed = [f"not read: {path}: {reason}" for path, reason in found.failed]
    remarks = "\n".join([*failed, *map(_loose, found.loose), *copies])
    ranking = [f"Ranking is {found.ranking}."] if found.ranking else []
    return Shown("\n".join([f"The index of {found.files} files {verdict}.", *found.differences, *ranking]), remarks)


def _status(status: Status) -> str:
    rows = [("agentscope-reme", status.version), ("vault", status.vault)]
    if not status.exists:
        rows.append(("state", "not there yet; the first write makes it"))
    for name, value in status.index.items():
        if value in ("", None):
            continue
        if isinstance(value, dict):
            rows += [(f"{name}: {key}", _said(one)) for key, one in value.items() if one not in ("", None)]
        elif isinstance(value, list | tuple):
            rows.append((name, str(len(value))))
            rows += [("", " ".join(map(str, item)) if isinstance(item, list | tuple) else str(item)) for item in value]
        else:
            rows.append((name, _said(value)))
    if status.ranking:
        rows.append(("ranking", status.ranking))
    if status.exists:
        rows.append(("chat model", status.model or "none: cards quote what was said, and nothing is dreamt"))
        rows.append(("pending work", str(status.pending)))
        rows += [("set aside", f"{kind} {one}: {error}") for one, kind, error in status.set_aside]
    width = max(len(name) for name, _ in rows)
    return "\n".join(f"{name:<{width}}  {value}" for name, value in rows)


def _said(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else str(value)
