"""The links of a file as bytes: a tenth of the memory of the objects, which are made when somebody asks."""

import marshal
from collections.abc import Container, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

from ..models import FileLink

NO_LINKS = b""
Record = tuple[Any, ...]
# Links that are packed and unpacked in one call, which keeps all other threads from running.
TOGETHER = 4_096
_LARGE = 100_000  # bytes


def packed_links(links: Iterable[FileLink]) -> bytes:
    """Links as bytes for this process; not for disk. The file that holds them is not in it."""
    return packed_records([_record(link) for link in links])


def packed_records(records: Iterable[Sequence[Any]]) -> bytes:
    """The inverse of :func:`records_in`."""
    links = [tuple(record) for record in records]
    if len(links) <= TOGETHER:
        return _packed(links) if links else NO_LINKS
    return _packed([_packed(links[at : at + TOGETHER]) for at in range(0, len(links), TOGETHER)])


def _packed(values: list[Any]) -> bytes:
    return bytes(memoryview(marshal.dumps(values)))  # a copy: what marshal gives has the room that it was written in


def each_record(packed: bytes) -> Iterator[Record]:
    """The links as JSON values, in their order; of many no more are unpacked than are asked for, or not many more."""
    found = marshal.loads(packed) if packed else ()
    if found and isinstance(found[0], bytes):
        return chain.from_iterable(map(marshal.loads, found))
    return iter(found)


def records_in(packed: bytes) -> list[Record]:
    """The links as JSON values, for a snapshot: target and line, and where there is more to say, the rest."""
    return list(each_record(packed))


def each_link(path: str, packed: bytes) -> Iterator[FileLink]:
    """The links of the file ``path``, as they were; made when asked for."""
    return (link_of(path, record) for record in each_record(packed))


def links_in(path: str, packed: bytes) -> tuple[FileLink, ...]:
    """The same, all of them."""
    return tuple(each_link(path, packed))


def first_records(packed: bytes) -> Iterator[Record]:
    """The first link to each target, in their order; :func:`link_of` makes a link of one."""
    met = {""}
    for record in each_record(packed):
        if record[0] not in met:
            met.add(record[0])
            yield record


def targets_in(packed: bytes) -> list[str]:
    """The targets of the links in their order, "" for places in the same file."""
    return [record[0] for record in each_record(packed)]


def different_targets(packed: bytes) -> Iterable[str]:
    """The same, each once and without ""; of very many none is made before it is asked for."""
    if len(packed) > _LARGE:
        return (record[0] for record in first_records(packed))
    return filter(None, dict.fromkeys(targets_in(packed)))


def links_to(path: str, packed: bytes, targets: Container[str]) -> list[FileLink]:
    """Those that have one of these targets."""
    return [link_of(path, record) for record in each_record(packed) if record[0] in targets]


def record_to(packed: bytes, target: str) -> Record:
    """The first of them that has this target. There must be one."""
    return next(record for record in each_record(packed) if record[0] == target)


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
