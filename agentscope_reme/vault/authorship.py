"""Who may see and write what: folders, and the front-matter keys that say where a note comes from."""

from collections.abc import Iterable
from datetime import date
from typing import Any

from ..errors import FrontMatterError, NoteError, PathError
from .layout import DAILY, is_ignored, is_reserved

_TRUST = {"external": 0, "agent": 1, "user": 2}


def refuse_reserved(path: str, actor: str) -> None:
    """PathError when ``actor`` (``user``, ``agent``, ``pipeline``) may not write there; ``system`` may anywhere."""
    if actor == "system":
        return
    if is_reserved(path):
        folder = path.split("/", 1)[0]
        raise PathError(
            f"{path}: {folder}/ is written by the system only; put notes in daily/, digest/ or a folder of your own"
        )
    if is_ignored(path):
        raise PathError(f"{path}: hidden files and folders, tools' folders and editors' leftovers are not notes")


def refuse_hidden(path: str, actor: str, ignore: Iterable[str]) -> None:
    """PathError when an agent or a pipeline wants to see what is not part of the memory: what is never listed."""
    if actor in ("agent", "pipeline") and path and is_ignored(path, ignore):
        raise PathError(
            f"{path}: hidden files, tools' folders, leftovers of editors and ignored paths are not part of the memory; "
            "list the vault to see what is"
        )


def refuse_undated(path: str, actor: str, day: str) -> None:
    """PathError when an agent or a pipeline makes a file in ``daily/`` under what is no date, such as ``YYYY-MM-DD``.

    ``day`` is today, which the refusal names. Users call their notes as they like.
    """
    folder, _, rest = path.partition("/")
    if actor not in ("agent", "pipeline") or folder != DAILY or not rest:
        return
    name = rest.split("/", 1)[0].split(".", 1)[0]
    try:
        dated = date.fromisoformat(name).isoformat() == name
    except ValueError:
        dated = False
    if not dated:
        raise PathError(f"{path}: {name} is no date; today's notes go to {DAILY}/{day}/<topic>.md")


def is_protected(key: str) -> bool:
    """Whether a front-matter key is set by the system: ``trust``, ``session_id``, ``created`` and ``source_*``."""
    return key in ("trust", "session_id", "created") or key.startswith("source_")


def refuse_protected(keys: Iterable[str], actor: str, path: str) -> None:
    """NoteError when an agent asks for a protected key by name."""
    if actor == "agent" and (wrong := sorted(str(key) for key in keys if is_protected(str(key)))):
        raise NoteError(f"{path}: {', '.join(wrong)}: set by the system only; nothing was changed", path)


def guard_front_matter(old: str, new: str, actor: str, path: str = "") -> str:
    """The text an actor may write: an agent sets none of ``trust``, ``session_id``, ``source_*`` and ``created``.

    What an agent's text says about them is put back to what the note said (for a new note: nothing), except that it may
    lower ``trust``. Front matter that cannot be read is refused from an agent unless it was so before. Other actors
    write what they like.
    """
    if actor != "agent" or not any(text.removeprefix("\ufeff").startswith("---") for text in (old, new)):
        return new
    from .frontmatter import delete_keys, parse, set_keys

    before, after = parse(old).front, parse(new).front
    if after.error is not None:
        if before.error is None:
            raise FrontMatterError(f"{path}: the front matter cannot be read ({after.error}); nothing was changed")
        return new
    wrong: dict[str, Any] = {}
    for key in {*after.data, *before.data}:
        if not is_protected(str(key)) or after.data.get(key) == before.data.get(key):
            continue
        if key == "trust" and _lowers_trust(before.data.get(key), after.data.get(key)):
            continue
        wrong[key] = before.data.get(key)
    if back := {key: value for key, value in wrong.items() if value is not None}:
        new = set_keys(new, back)
    if gone := [key for key, value in wrong.items() if value is None]:
        new = delete_keys(new, gone)
    return new


def _lowers_trust(before: Any, after: Any) -> bool:
    """Whether an agent may go from one to the other. A note without the key may be marked as the agent's or lower."""
    limit = _TRUST.get(str(before), 1 if before is None else 0)
    return after is not None and _TRUST.get(str(after), 3) <= limit
