"""Forgetting a note as far as the vault's files go: first it is worked out what goes, then it goes.

In this order: links of other notes (when asked for), offloaded results, journals, the note, the day's page, what the
pipelines remember of it, the history last. Each is found by what goes after it, so that after an interruption the same
call completes it. Forgetting itself leaves no line in the history: it would name what is forgotten.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..errors import NoteNotFound, PathError, ReMeError
from ..models import FileLink
from .changelog import effective
from .daily import INDEX_PART, daily_reindex
from .dialog import JournalLine, drop_lines, lines_of
from .encoding import Kind, decode_exact, encode_exact
from .expiry import results_in
from .frontmatter import parse
from .generated import generated_part, with_generated_part
from .inbound import link_index, links_of, links_to, target_of, text_of
from .layout import DIALOG, HISTORY, METADATA, RESOURCE, daily_page, iter_files
from .purging import Purge, plan_purge, purge
from .references import References, all_references, references_of
from .removal import files_below
from .run_records import forget_in_records
from .wikilink import front_matter_links, parse_links, unlink

if TYPE_CHECKING:
    from .notes import Vault

DayOfLine = Callable[[JournalLine], str]
"""The day on which a journalled message was said, ``YYYY-MM-DD``, or "" when it does not say."""

_CARD = re.compile(r"daily/(\d{4}-\d{2}-\d{2})/[^/]+\.md")
_NOTES = (".md", ".markdown")


@dataclass(slots=True)
class Traces:
    """What there is of a note beside other notes' texts, as ``ForgetReceipt`` explains.

    ``path`` is vault-relative; ``there`` whether it is on the disk. ``lines`` are the numbers of the lines that go, by
    journal; ``whole`` the journals of which nothing stays. ``days`` are those whose page lists it.
    """

    path: str
    there: bool
    files: list[str]
    purge: Purge
    names: set[str]
    days: set[str] = field(default_factory=set)
    lines: dict[str, set[int]] = field(default_factory=dict)
    whole: set[str] = field(default_factory=set)
    results: list[str] = field(default_factory=list)
    links: list[FileLink] = field(default_factory=list)
    failed: list[tuple[str, str]] = field(default_factory=list)
    kept: list[tuple[str, str]] = field(default_factory=list)


def traces_of(vault: "Vault", path: str, day_of_line: DayOfLine, shown: Collection[str] = ()) -> Traces:
    """Find what there is of a note, folder or journal. ``shown`` are offloaded results in use elsewhere.

    NoteNotFound when neither the files nor the history know it, PathError for the root, ``history/`` and ``metadata/``.
    """
    real = vault.real_path(path, folder=True, follow=False)
    if not real:
        raise PathError("the whole vault is forgotten by deleting its folder; name a note or a folder in it")
    if real.split("/", 1)[0] in (HISTORY, METADATA):
        raise PathError(f"{real}: what is kept of a note here is forgotten with the note; give the note's path")
    if (vault.root / real).is_symlink():
        raise PathError(f"{real} is a symbolic link; forget what it leads to, and delete the link")
    there = vault.storage.exists(real, follow=False)
    files = files_below(vault, real) if there else []
    known = plan_purge(vault.log, [real])
    names = {real, *files} | {name for entry in known.entries for name in (entry.path, entry.moved_to or entry.path)}
    traces = Traces(real, there, files, known, {name for name in names if not name.startswith(f"{HISTORY}/")})
    traces.days = {card.group(1) for name in traces.names if (card := _CARD.fullmatch(name))}
    traces.days = {day for day in traces.days if _is_listed(vault, day, traces.names)}
    if not (there or known.entries or known.files or traces.days):
        raise NoteNotFound(_nowhere(vault, real), real)
    traces.purge = plan_purge(vault.log, [real], _mentions(traces))
    _find_references(vault, traces, day_of_line, shown)
    traces.links = _links(vault, traces)
    return traces


def forget(
    vault: "Vault", path: str, day_of_line: DayOfLine, shown: Collection[str] = (), *, unlink_others: bool = False
) -> Traces:
    """Find and remove what there is of a note; what was removed. May be called again after an interruption."""
    storage = vault.storage
    events: list[tuple[str, str]] = []
    if not vault.root.is_dir():
        raise NoteNotFound(f"there is no {path} in the vault", path)
    with storage.lock():
        traces = traces_of(vault, path, day_of_line, shown)
        if unlink_others:
            _unlink(vault, traces)
        for result in traces.results:
            storage.remove(result)
        for journal, numbers in traces.lines.items():
            if journal in traces.whole:
                storage.remove(journal)
            else:
                drop_lines(storage, journal, lambda line, numbers=numbers: line.line in numbers)  # type: ignore[misc]
            events.append((journal, "removed" if journal in traces.whole else "changed"))
        if traces.there:
            storage.remove_tree(traces.path)
            parents = traces.path.split("/")[:-1]
            while parents and storage.prune_folder("/".join(parents)):
                parents.pop()
        events += [(file, "removed") for file in traces.files]
        for day in sorted(traces.days):
            daily_reindex(vault, day, actor="system")
        forget_in_records(storage, traces.names)
        traces.purge = purge(vault.log, [traces.path], _mentions(traces))
    for file, kind in events:
        vault.publish(file, kind)
    return traces


def _nowhere(vault: "Vault", path: str) -> str:
    for record in effective(reversed(vault.log.records())):
        if record.entry.path == path and record.entry.kind == "moved":
            return f"{path} is called {record.entry.moved_to} now; nothing was changed, forget that"
    return f"there is no {path} in the vault, and its history knows none"


def _is_listed(vault: "Vault", day: str, names: Collection[str]) -> bool:
    text = text_of(vault, daily_page(day))
    listed = generated_part(text or "", INDEX_PART) or ""
    return any(name in listed for name in names)


def _mentions(traces: Traces) -> dict[str, list[bytes]]:
    """What the day's page said of a card is kept with that page's changes."""
    cards = [card for name in traces.names if (card := _CARD.fullmatch(name))]
    pages: dict[str, list[bytes]] = {}
    for card in cards:
        pages.setdefault(daily_page(card.group(1)), []).append(card.group().encode("utf-8"))
    return pages


# --- journals and offloaded results -------------------------------------------------------------------------------


def _find_references(vault: "Vault", traces: Traces, day_of_line: DayOfLine, shown: Collection[str]) -> None:
    mine: list[References] = []
    for path, data in _contents(vault, traces):
        mine.append(references_of(path, data))
        traces.kept += _resources(path, data, vault)
    others = [one for one in all_references(vault) if one.path not in traces.files]
    results = {result for one in mine for result in one.results}
    for journal in sorted({path for one in mine for path in _journals(one)} | _own_journals(traces)):
        if not vault.storage.exists(journal):
            continue
        lines = lines_of(vault.storage, journal)
        if journal in traces.files:
            going = {line.line for line in lines}
        else:
            going = _going(journal, lines, mine, others, day_of_line, traces)
            if going:
                traces.lines[journal] = going
        results |= {result for line in lines if line.line in going for result in results_in(line.msg)}
    _divide_results(vault, traces, results, others, shown)


def _contents(vault: "Vault", traces: Traces) -> Iterator[tuple[str, bytes]]:
    """The notes that go, on the disk and in the trash, as (path, bytes)."""
    places = [(file, file) for file in traces.files]
    removed = {entry.moved_to: entry.path for entry in traces.purge.entries if entry.kind == "removed"}
    for thrown in traces.purge.files:
        if not thrown.startswith(f"{HISTORY}/trash/"):
            continue
        for file, _ in iter_files(vault.root, thrown, skip=(), hidden=True):
            origin = next((path + file[len(at) :] for at, path in removed.items() if at and file.startswith(at)), None)
            places.append((origin or traces.path, file))
        if thrown.endswith(_NOTES):
            places.append((traces.path, thrown))
    for path, file in places:
        if path.lower().endswith(_NOTES) and (data := vault.storage.read_if_any(file)) is not None:
            yield path, data


def _resources(path: str, data: bytes, vault: "Vault") -> list[tuple[str, str]]:
    note = parse(decode_exact(data))
    links = (*front_matter_links(note.front, path), *parse_links(note.body, path))
    found = dict.fromkeys(link.target_path for link in links if link.target_path.startswith(f"{RESOURCE}/"))
    return [(one, "a document of its own; forget it by its path") for one in found if vault.storage.exists(one)]


def _journals(one: References) -> set[str]:
    return {*one.journals, *(path for path, _, _ in one.lines)}


def _own_journals(traces: Traces) -> set[str]:
    return {file for file in traces.files if file.startswith(f"{DIALOG}/") and file.endswith(".jsonl")}


def _going(
    journal: str,
    lines: list[JournalLine],
    mine: Iterable[References],
    others: Iterable[References],
    day_of_line: DayOfLine,
    traces: Traces,
) -> set[int]:
    """The lines of a journal that only the note refers to.

    A card whose conversation has cards of other days stands for what was said on its own day.
    """
    rivals = [one for one in others if journal in _journals(one)]
    if not rivals and any(journal in one.journals for one in mine):
        traces.whole.add(journal)
        return {line.line for line in lines}
    days = {line.line: day_of_line(line) for line in lines}
    going = {number for one in mine for number in _referred(one, journal, days, undated=False)}
    for rival in rivals:
        needed = going & _referred(rival, journal, days, undated=True)
        if needed:
            traces.kept.append((journal, f"{rival.path} refers to {len(needed)} of its lines too"))
            going -= needed
    return going


def _referred(one: References, journal: str, days: dict[int, str], *, undated: bool) -> set[int]:
    found = {n for path, first, last in one.lines if path == journal for n in days if first <= n <= last}
    if journal in one.journals:
        found |= {n for n, day in days.items() if not one.day or day == one.day or (undated and not day)}
    return found


def _divide_results(
    vault: "Vault", traces: Traces, wanted: set[str], others: Iterable[References], shown: Collection[str]
) -> None:
    """Of the results that go with the note, those that nothing else points to."""
    wanted = {result for result in wanted if vault.storage.exists(result) and result not in traces.files}
    if not wanted:
        return
    users: dict[str, str] = dict.fromkeys(shown, "a conversation in this process shows it")
    for one in others:
        users |= dict.fromkeys(one.results, f"{one.path} points to it too")
    for journal, _ in iter_files(vault.root, DIALOG, suffixes=(".jsonl",), skip=()):
        if journal in traces.files or journal in traces.whole:
            continue
        going = traces.lines.get(journal, set())
        for line in lines_of(vault.storage, journal):
            if line.line not in going:
                users |= dict.fromkeys(results_in(line.msg), f"{journal} points to it too")
    for result in sorted(wanted):
        if result in users:
            traces.kept.append((result, users[result]))
        else:
            traces.results.append(result)


# --- links of other notes -----------------------------------------------------------------------------------------


def _links(vault: "Vault", traces: Traces) -> list[FileLink]:
    """The links of notes that stay; not those that a day's page lists, which is made anew."""
    targets = {*traces.files} or {traces.path}
    index = link_index(vault)
    for target in targets:
        index.add(target)
    pages = {daily_page(day) for day in traces.days}
    found = [link for link in links_to(vault, targets) if link.source_path not in pages]
    for page in sorted(pages):
        text = with_generated_part(text_of(vault, page) or "", INDEX_PART, "")
        found += links_of(vault, index, page, text, targets)
    return found


def _unlink(vault: "Vault", traces: Traces) -> None:
    targets = {*traces.files} or {traces.path}
    index = link_index(vault)
    for target in targets:
        index.add(target)

    def leads_there(link: FileLink) -> bool:
        return target_of(vault, index, link) in targets

    for path in dict.fromkeys(link.source_path for link in traces.links):

        def new_bytes(old: bytes | None, kind: Kind | None, path: str = path) -> bytes:
            return encode_exact(unlink(decode_exact(old or b""), leads_there, path))

        try:
            vault.change(path, new_bytes, actor="system", reason="links to a forgotten note")
        except ReMeError as error:
            traces.failed.append((path, str(error)))
