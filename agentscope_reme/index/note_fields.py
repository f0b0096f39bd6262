"""What a file's name and front matter say about it: title, date, description, tags, aliases."""

from datetime import date
from functools import cache, lru_cache
from typing import Any

from ..expression import expression
from ..models import FileFrontMatter
from .dates import find_dates

# Obsidian's names for it come last: "date created" is what its plugins write.
_DATE_KEYS = ("date", "day", "created", "created_at", "date created")
_PATH_DATE = expression(r"(?<!\d)\d{4}-\d{2}-\d{2}(?!\d)")
_INLINE_TAG = expression(r"(?<![\w#/&\[(])#([^\W\d][\w/-]*)")
_MOST_TAGS = 200


@cache
def _front_matter() -> Any:
    """What reads front matter: an index that is opened and asked needs none of it."""
    from ..vault import frontmatter

    return frontmatter


def title_of(path: str, front: FileFrontMatter, first_heading: str) -> str:
    """``title`` or ``name`` of the front matter, else the heading a note opens with, else the file's name."""
    for key in ("title", "name"):
        if title := str(_front_matter().text_of(front.data.get(key))).strip():
            return title
    return first_heading or stem_of(path)


def stem_of(path: str) -> str:
    """The file's name without its suffix."""
    name = path.rpartition("/")[2]
    return name.rpartition(".")[0] or name


def date_of(path: str, front: FileFrontMatter) -> str:
    """``YYYY-MM-DD`` a note is about, "" if nothing says so.

    ``date`` in the front matter, a day in the path (the innermost), then the day it was created.
    """
    given = _front_date(front, _DATE_KEYS[:2])
    return given or path_date(path) or _front_date(front, _DATE_KEYS[2:])


def path_date(path: str) -> str:
    """The day named by a folder or by the file, in any notation, the innermost first; "" without one."""
    folder, _, name = path.rpartition("/")
    return _last_day_in(name) or (folder and _folder_date(folder))


@lru_cache(maxsize=256)
def _folder_date(folder: str) -> str:
    return path_date(folder)


def _last_day_in(name: str) -> str:
    return _days_in(name)[1] if any(map(str.isdigit, name)) else ""


def description_of(front: FileFrontMatter) -> str:
    """``description`` or ``summary`` of the front matter."""
    text_of = _front_matter().text_of
    return str(text_of(front.data.get("description")) or text_of(front.data.get("summary"))).strip()


def aliases_of(front: FileFrontMatter) -> tuple[str, ...]:
    """``aliases`` and ``alias`` of the front matter, a list or one text."""
    return tuple(_texts_of(front, ("aliases", "alias")))


def tags_of(front: FileFrontMatter, prose: list[str]) -> tuple[str, ...]:
    """Tags of the front matter, then ``#tags`` in the text, without their ``#``."""
    tags = _texts_of(front, ("tags", "tag"))
    for text in prose:
        if "#" in text:
            tags.update(dict.fromkeys(match.group(1).rstrip("/-") for match in _INLINE_TAG.finditer(text)))
            if len(tags) > _MOST_TAGS:
                break
    return tuple(tags)[:_MOST_TAGS]


def _texts_of(front: FileFrontMatter, keys: tuple[str, ...]) -> dict[str, None]:
    """The different texts under some keys, in order."""
    texts: dict[str, None] = {}
    for key in keys:
        if key in front.data:
            texts |= dict.fromkeys(_front_matter().text_list(front, key))
    return texts


def _front_date(front: FileFrontMatter, keys: tuple[str, ...]) -> str:
    for key in keys:
        if day := day_of(front.data.get(key)):
            return day
    return ""


def day_of(value: Any) -> str:
    """The day of a date, a time or a text that begins with one, as ``YYYY-MM-DD``; "" for anything else."""
    if isinstance(value, date):
        return value.isoformat()[:10]
    if isinstance(value, str):
        if _PATH_DATE.match(value):
            value = value[:10]
        return _days_in(value[:64])[0]
    return ""


@lru_cache(maxsize=1024)
def _days_in(text: str) -> tuple[str, str]:
    """The first and the last day that a short text names; files of a folder and turns of a talk share theirs."""
    days = [mention.first for mention in find_dates(text) if mention.grain == "day" and mention.first]
    return (days[0], days[-1]) if days else ("", "")
