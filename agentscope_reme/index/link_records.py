"""The links of a file as bytes: a tenth of the memory of the objects, which are made when somebody asks."""

import marshal
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, cast

from ..models import FileLink

NO_LINKS = b""
Record = tuple[Any, ...]


def packed_links(links: Iterable[FileLink]) -> bytes:
    """Links as bytes for this process; not for disk. The file that holds them is not in it."""
    return packed_records([_record(link) for link in links])


def packed_records(records: Iterable[Sequence[Any]]) -> bytes:
    """The inverse of :func:`records_in`."""
    links = [tuple(record) for record in records]
    # A copy: what marshal gives has the room that it was written in.
    return bytes(memoryview(marshal.dumps(links))) if links else NO_LINKS


def records_in(packed: bytes) -> list[Record]:
    """The links as JSON values, for a snapshot: target and line, and where there is more to say, the rest."""
    return cast("list[Record]", marshal.loads(packed)) if packed else []


def links_in(path: str, packed: bytes) -> tuple[FileLink, ...]:
    """The links of the file ``path``, as they were."""
    return tuple(link_of(path, record) for record in marshal.loads(packed)) if packed else ()


def first_records(packed: bytes) -> Iterator[Record]:
    """The first link to each target, in their order; :func:`link_of` makes a link of one."""
    met = {""}
    for record in records_in(packed):
        if record[0] not in met:
            met.add(record[0])
            yield record


def targets_in(packed: bytes) -> list[str]:
    """The targets of the links in their order, "" for places in the same file."""
    return [record[0] for record in marshal.loads(packed)] if packed else []


def links_to(path: str, packed: bytes, target: str) -> list[FileLink]:
    """Those that have this target."""
    return [link_of(path, record) for record in marshal.loads(packed) if record[0] == target] if packed else []


def record_to(packed: bytes, target: str) -> Record:
    """The first of them that has this target. There must be one."""
    return next(record for record in records_in(packed) if record[0] == target)


def line_and_predicate(record: Record) -> tuple[int, str]:
    """Where a link stands, and as what: "" where nothing is said."""
    return record[1], (record[3] or "") if len(record) > 2 else ""


def _record(link: FileLink) -> tuple[Any, ...]:
    rest = (link.target_anchor, link.predicate, link.alias, link.embed, link.size)
    return (link.target_path, link.line, *(rest if any(rest) or "" in rest else ()))


def link_of(path: str, record: Record) -> FileLink:
    """The link of the file ``path`` that a record stands for."""
    if len(record) == 2:
        return FileLink(path, record[0], line=record[1])
    target, line, anchor, predicate, alias, embed, size = record
    return FileLink(path, target, anchor, predicate, alias, embed, line, size)
