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
# As Logseq and others call the notes of days: 2026_03_17.md, 2026/03/17.md, 2026/03-17.md, 2026-03/17.md.
_UNDERSCORED = expression(r"(?<!\d)((?:19|20)\d\d)_(\d\d)_(\d\d)(?!\d)")
_BY_FOLDERS = expression(r"(?:^|/)((?:19|20)\d\d)[/-](0[1-9]|1[0-2])[/-](0[1-9]|[12]\d|3[01])(?!\d)[^/]*$")
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


def says_its_day(path: str, front: FileFrontMatter) -> bool:
    """Whether a note's path or ``date`` names the day it is about, and not merely when it was created."""
    return bool(path_date(path) or _front_date(front, _DATE_KEYS[:2]))


def heading_day(headings: tuple[str, ...], stem: str) -> str:
    """The day that the innermost heading with one names, "" without: a log has a heading for each day.

    One without a year is of that of a heading above it, or of the file's name. A heading with several days names none.
    """
    for at in range(len(headings) - 1, -1, -1):
        day, yearless, _ = _dates_of_heading(headings[at])
        if not day and yearless:
            years = (_dates_of_heading(above)[2] for above in (*reversed(headings[:at]), stem))
            year = next(filter(None, years), 0)
            day = _days_in(f"{year:04d}{yearless}")[0] if year else ""
        if day or yearless:
            return day
    return ""


@lru_cache(maxsize=1024)
def _dates_of_heading(heading: str) -> tuple[str, str, int]:
    """The only day a heading names; else the only one without a year, as ``-MM-DD``; and the last year."""
    if not (any(map(str.isdigit, heading)) or "月" in heading):
        return "", "", 0
    mentions = find_dates(heading[:200])
    days = {mention.first for mention in mentions if mention.grain == "day" and mention.first}
    yearless = {f"-{one.month:02d}-{one.day:02d}" for one in mentions if one.grain == "day" and not one.first}
    years = [mention.year for mention in mentions if mention.year]
    day = days.pop() if len(days) == 1 else ""
    return day, yearless.pop() if len(yearless) == 1 and not days and not day else "", years[-1] if years else 0


def path_date(path: str) -> str:
    """The day named by a folder or by the file, in any notation, the innermost first; "" without one."""
    folder, _, name = path.rpartition("/")
    if day := _last_day_in(name):
        return day
    if folder and name[:2].isdigit() and (match := _BY_FOLDERS.search(path)):
        return _days_in("-".join(match.groups()))[1] or _folder_date(folder)
    return folder and _folder_date(folder)


@lru_cache(maxsize=256)
def _folder_date(folder: str) -> str:
    return path_date(folder)


def _last_day_in(name: str) -> str:
    if not any(map(str.isdigit, name)):
        return ""
    return _days_in(_UNDERSCORED.sub(r"\1-\2-\3", name) if "_" in name else name)[1]


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
