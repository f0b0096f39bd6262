"""Which units a search may return: by path, tags, kind, date and any key of the front matter."""

from collections.abc import Callable, Mapping
from typing import Any
from unicodedata import normalize

import numpy as np
from numpy.typing import NDArray

from ..errors import ConfigError
from ..vault.paths import parse_path
from .corpus import Corpus
from .files import KnownFile
from .reading import day_number, plain

_DATES = ("since", "until")


def allowed_slots(corpus: Corpus, wanted: Mapping[str, Any], as_day: Callable[[str, bool], str]) -> NDArray[np.bool_]:
    """A mask over slots. ``as_day`` reads a date as people write it (its first day, or its last when told so).

    Keys: ``path`` (a prefix, or several), ``tags`` (any of them; ``a`` also means ``a/b``), ``kind``, ``since`` and
    ``until`` (days, inclusive; what has no date is left out), and any other as a key of the front matter whose value
    is, or holds, the one wanted. Several values mean any of them. Raises ConfigError for a date that cannot be read,
    PathError for a prefix that is no path inside the vault.
    """
    files = np.ones(len(corpus.by_id), bool)
    for key, value in wanted.items():
        if key not in _DATES and value is not None:
            files &= _files(corpus, key, value)
    allowed = files[corpus.column("file")] & corpus.units.alive
    days = corpus.column("day")
    for key in _DATES:
        if wanted.get(key) is not None:
            text = str(plain(wanted[key]))
            day = day_number(text) or day_number(as_day(text, key == "until"))
            if not day:
                raise ConfigError(f"filter {key!r}: {text!r} is not a date; write it as YYYY-MM-DD")
            allowed &= (days >= day if key == "since" else days <= day) & (days != 0)
    return allowed


def _files(corpus: Corpus, key: str, value: Any) -> NDArray[np.bool_]:
    """The files by id that a key of the filter allows; of those that went, anything."""
    values = list(value) if isinstance(value, list | tuple | set | frozenset) else [value]
    if key == "path":
        prefixes = tuple(_prefix(str(one)) for one in values)
        paths = corpus.files.paths_by_id
        found = np.frombuffer(paths.starting_with(prefixes), bool)
        if not (found.any() or all(map(str.isascii, prefixes))):
            # A folder whose name has its accents apart, as some systems write them.
            composed = tuple(normalize("NFC", prefix) for prefix in prefixes)
            found = np.fromiter((normalize("NFC", path).startswith(composed) for path in paths), bool, len(paths))
        return found
    if key == "kind":
        return corpus.files.of_kinds(values)
    return corpus.filtered.mask((key, *map(repr, values)), corpus.by_id, _check(key, values))


def _check(key: str, values: list[Any]) -> Callable[[KnownFile], bool]:
    if key in ("tags", "tag"):
        tags = {_folded(str(one).strip().lstrip("#").rstrip("/")) for one in values}
        return lambda entry: any(_is_below(_folded(tag), tags) for tag in entry.tags)
    kept = {spelt for one in values for spelt in _spellings(one)}

    def holds(entry: KnownFile) -> bool:
        found = entry.front.get(key) if entry.may_have(key) else None
        if found is None:
            return False
        each = found if isinstance(found, list) else [found]
        return any(not kept.isdisjoint(_spellings(one)) for one in each)

    return holds


def _prefix(path: str) -> str:
    names = parse_path(path, folder=True)
    return "/".join(names) + ("/" if names and path.endswith("/") else "")


def _is_below(tag: str, wanted: set[str]) -> bool:
    return any(tag == one or tag.startswith(one + "/") for one in wanted)


def _folded(text: str) -> str:
    return normalize("NFC", text).casefold()


def _spellings(value: Any) -> tuple[str, ...]:
    """What a value is compared as; 3.0 is also 3, as programs that write JSON do not tell one from the other."""
    value = plain(value)
    if isinstance(value, float) and value.is_integer():
        return str(value), str(int(value))
    return (str(value).lower() if isinstance(value, bool) else _folded(str(value).strip()),)
