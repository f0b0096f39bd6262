"""The links of a file as bytes: a tenth of the memory of the objects, which are made when somebody asks."""

import marshal
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, cast

from ..models import FileLink

NO_LINKS = b""


def packed_links(links: Iterable[FileLink]) -> bytes:
    """Links as bytes for this process; not for disk. The file that holds them is not in it."""
    return packed_records([_record(link) for link in links])


def packed_records(records: Iterable[Sequence[Any]]) -> bytes:
    """The inverse of :func:`records_in`."""
    links = [tuple(record) for record in records]
    return marshal.dumps(links) if links else NO_LINKS


def records_in(packed: bytes) -> list[tuple[Any, ...]]:
    """The links as JSON values, for a snapshot: target and line, and where there is more to say, the rest."""
    return cast("list[tuple[Any, ...]]", marshal.loads(packed)) if packed else []


def links_in(path: str, packed: bytes) -> tuple[FileLink, ...]:
    """The links of the file ``path``, as they were."""
    return tuple(_link(path, record) for record in marshal.loads(packed)) if packed else ()


def first_links(path: str, packed: bytes) -> Iterator[FileLink]:
    """The first link of the file ``path`` to each of its targets, in their order."""
    met = {""}
    for record in marshal.loads(packed) if packed else ():
        if record[0] not in met:
            met.add(record[0])
            yield _link(path, record)


def targets_in(packed: bytes) -> list[str]:
    """The targets of the links in their order, "" for places in the same file."""
    return [record[0] for record in marshal.loads(packed)] if packed else []


def links_to(path: str, packed: bytes, target: str) -> list[FileLink]:
    """Those that have this target."""
    return [_link(path, record) for record in marshal.loads(packed) if record[0] == target] if packed else []


def _record(link: FileLink) -> tuple[Any, ...]:
    rest = (link.target_anchor, link.predicate, link.alias, link.embed, link.size)
    return (link.target_path, link.line, *(rest if any(rest) or "" in rest else ()))


def _link(path: str, record: tuple[Any, ...]) -> FileLink:
    if len(record) == 2:
        return FileLink(path, record[0], line=record[1])
    target, line, anchor, predicate, alias, embed, size = record
    return FileLink(path, target, anchor, predicate, alias, embed, line, size)
