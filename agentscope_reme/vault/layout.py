"""Names of folders and files: where things lie, which are ignored, how a text becomes a file name, and dates."""

import errno
import hashlib
import os
import re
import unicodedata
from collections.abc import Iterable, Iterator
from datetime import datetime
from fnmatch import fnmatchcase
from functools import lru_cache
from operator import attrgetter
from pathlib import Path

from ..expression import expression

MEMORY_FILE = "MEMORY.md"
DAILY = "daily"
DIGEST = "digest"
RESOURCE = "resource"
SESSION = "session"
DIALOG = "session/dialog"
TOOL_RESULT = "session/tool_result"
JOURNALS = (f"{DIALOG}/", "dialog/", "reme_session/dialog/")  # the last two: vaults of ReMe 0.3 and 0.4
HISTORY = "history"
METADATA = "metadata"

# Written by the system alone; agents, users and pipelines write notes elsewhere.
OLDER_FOLDERS = ("reme_metadata", "reme_session")  # what only vaults of earlier systems have
RESERVED = (METADATA, HISTORY, SESSION, RESOURCE, *OLDER_FOLDERS)
# Never walked by default: the first two are records about notes, the third holds pieces of journals.
# The last five are those of vaults that ReMe 0.3 and 0.4 wrote.
UNINDEXED = (
    METADATA,
    HISTORY,
    TOOL_RESULT,
    "reme_metadata",
    "reme_session/tool_result",
    "reme_session/tool_results",
    "tool_result",
    "tool_results",
)

VAULT_FOLDERS = frozenset((DAILY, DIGEST, RESOURCE, SESSION, HISTORY, METADATA)) | frozenset(
    ("memory", "dialog", "tool_result", "reme_metadata", "reme_session")
)
"""Folders by which a vault is known as one, those of compatible systems included."""

TEMP_PREFIX = ".reme-tmp-"
MAX_NAME_BYTES = 255
MAX_PATH_BYTES = 1024  # what macOS can hold

# The last five are trash and earlier states on network disks of Synology and QNAP.
_TOOL_FOLDERS = frozenset(
    {
        "node_modules", "__pycache__", "$RECYCLE.BIN", "System Volume Information", "lost+found",
        "@eaDir", "#recycle", "#snapshot", "@Recycle", "@Recently-Snapshot",
    }
)  # fmt: skip
# What editors, downloads and desktops leave; ``#name#`` of Emacs beside.
_LEFTOVER_NAMES = frozenset({"4913", "Thumbs.db", "desktop.ini"})
_LEFTOVER_ENDS = ("~", ".tmp", ".swp", ".swx", ".crdownload", ".part")
# What sync programs and merge tools call the losing version of a file: Syncthing (above), Dropbox in its languages,
# Nextcloud, Obsidian, Seafile, pCloud, Box, Tresorit, Unison, Synology, OneDrive with Windows' own names of computers,
# git (with the number of a process, which is no year).
_CONFLICT = expression(
    r"\((?:[^()]*[\s#])?(?:conflict(?:ed|ing)? copy|name clash"
    r"|(?:case|unicode encoding|selective sync|edit) conflict)\b[^()]*\)"
    r"|\((?:[^()]*\s)?(?:copie en conflit|conflit de casse|kopie in konflikt|in konflikt stehende kopie"
    r"|copia en conflicto|copia in conflitto|c(?:\u00f3|o\u0301)pia em conflito|конфликтующая копия)\b[^()]*\)"
    r"|\([^()]*(?:競合コピー|충돌된 사본)[^()]*\)"
    r"|[(\[]conflicted[)\]]|\[conflict\]|\(conflict \d+\)|\(sfconflict [^()]*\)|\(conflict on [^()]*\)"
    r"|_conflict-\d{8}-\d{6}|_\w{3}-\d{2}-\d{6}-\d{4}_(?:case)?conflict"
    r"|[(（][^()（）]*[冲衝]突的?(?:副本|複本|版本|文件|檔案)(?:[\s\d_-][^()（）]*)?[)）]"
    r"|_(?-i:BACKUP|BASE|LOCAL|REMOTE)_(?!(?:19|20)\d\d\.)\d{2,}\.[^.]+$"
    r"|-(?-i:DESKTOP|LAPTOP)-(?=[A-Z]*\d)[A-Z0-9]{7,8}(?:-\d+)?\.[^.]+$",
    re.IGNORECASE,
)
_CONFLICT_HINT = re.compile("onfli|ONFLI|突|онфл|競合|충돌|clash|TOP-|BACKUP_|BASE_|LOCAL_|REMOTE_")
_WINDOWS_DEVICE = expression(r"(?i:con|prn|aux|nul|conin\$|conout\$|com[0-9¹²³]|lpt[0-9¹²³])(?:\.|$)")
# Some disks take names that differ in these characters alone for one (the HFS+ of older Macs).
_IGNORABLE = re.compile("[\u200b-\u200f\u2060-\u206f\ufeff]")
_UNNAMEABLE = re.compile("[\\\\\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_BY_NAME = attrgetter("name")
_NO_FOLDER = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)  # gone meanwhile, or a link now
_PLAIN_ID = expression(r"[a-z0-9][a-z0-9._-]{0,99}")


def today(now: datetime) -> str:
    """The date of ``now`` in its own zone, as ``YYYY-MM-DD``."""
    return f"{now.year:04d}-{now.month:02d}-{now.day:02d}"


def daily_page(date: str) -> str:
    """The path of a day's index page."""
    return f"{DAILY}/{date}.md"


def is_windows_device(name: str) -> bool:
    """Whether Windows takes ``name`` for a device, whatever its suffix (``CON``, ``nul.md``)."""
    return _WINDOWS_DEVICE.match(name.split(".")[0].rstrip() + ".") is not None


def session_file_name(session_id: str) -> str:
    """A file name, without suffix, for a session id: different ids never share one, also on case-insensitive disks.

    An id of lower-case letters, digits, ``.``, ``_`` and ``-`` (at most 100) stands for itself. Any other becomes a
    readable start, ``~``, and 128 bits of the SHA-256 of its UTF-8 text; plain names have no ``~``.
    """
    plain = (
        _PLAIN_ID.fullmatch(session_id)
        and not session_id.endswith(".")
        and not is_windows_device(session_id)
        and not is_ignored(f"{session_id}.jsonl")
    )
    if plain:
        return session_id
    digest = hashlib.sha256(session_id.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    return f"{slug(session_id, 48)}~{digest}"


def scope_folder(scope_id: str) -> str:
    """A folder name for a user's or an agent's id, by the rule of :func:`session_file_name`: no two ids share one.

    Ids that are called like a folder of a vault, or like MEMORY.md on a disk that ignores case, are encoded too, so
    that a folder of scopes never looks like a vault.
    """
    if scope_id in VAULT_FOLDERS or scope_id == MEMORY_FILE.lower():
        digest = hashlib.sha256(scope_id.encode()).hexdigest()[:32]
        return f"{scope_id}~{digest}"
    return session_file_name(scope_id)


def slug(text: str, max_bytes: int = 80) -> str:
    """A portable file name part: letters (of any script), digits, ``_``, ``-`` and ``.`` stay, all else becomes ``-``.

    NFC, ASCII in lower case, at most ``max_bytes`` of UTF-8, no character cut; ``untitled`` if nothing stays.
    """
    text = unicodedata.normalize("NFC", text)
    kept = [
        character.lower() if character.isascii() else character
        for character in (c if c in "_.-" or unicodedata.category(c)[0] in "LNM" else "-" for c in text)
    ]
    name = re.sub(r"-{2,}", "-", re.sub(r"\.{2,}", ".", "".join(kept))).strip("-. ")
    name = fit_bytes(name, max_bytes).strip("-. ")
    if is_windows_device(name):
        name = fit_bytes(f"{name.replace('.', '-')}-note", max_bytes)
    return name or "untitled"


def fit_bytes(text: str, max_bytes: int) -> str:
    """The longest start of ``text`` that fits ``max_bytes`` of UTF-8 and ends between two visible characters."""
    from .encoding import safe_cut

    data = text.encode("utf-8", "replace")
    if len(data) <= max_bytes:
        return text
    return text[: safe_cut(text, len(data[:max_bytes].decode("utf-8", "ignore")))]


def is_reserved(path: str) -> bool:
    """Whether a vault-relative path lies in a folder that only the system writes."""
    return _IGNORABLE.sub("", path.split("/", 1)[0]).casefold() in RESERVED


def is_ignored(path: str, extra_globs: Iterable[str] = ()) -> bool:
    """Whether a vault-relative path is hidden, a tool's folder or an editor's or sync program's leftover.

    ``extra_globs`` are matched against the path, the folders above it and each name in it, case-sensitively; one that
    begins with ``/`` is not matched against names. ``**/`` stands for any folders, or none.
    """
    parts = path.split("/")
    for part in parts if path.isascii() else _IGNORABLE.sub("", path).split("/"):
        if part.startswith((".", "~")) or part in _TOOL_FOLDERS or _is_leftover(part) or is_conflict_copy(part):
            return True
    return any(_matches(path, parts, pattern) for pattern in extra_globs)


def _matches(path: str, parts: list[str], pattern: str) -> bool:
    anchored, spellings = _spellings(pattern)
    for spelling in spellings:
        if fnmatchcase(path, spelling) or (not anchored and any(fnmatchcase(part, spelling) for part in parts)):
            return True
        # A folder takes with it what is in it.
        if any(fnmatchcase("/".join(parts[:end]), spelling) for end in range(1, len(parts))):
            return True
    return False


@lru_cache(maxsize=256)
def _spellings(pattern: str) -> tuple[bool, tuple[str, ...]]:
    """Whether a glob names a place from the vault's root on, and what is matched: ``**/`` is also no folder at all."""
    anchored = pattern.startswith(("/", "./"))
    bare = pattern.removeprefix(".").lstrip("/") if anchored else pattern
    bare = bare.rstrip("/")
    return anchored, tuple(dict.fromkeys(one for one in (bare, bare.replace("**/", "")) if one))


def _is_leftover(name: str) -> bool:
    if name.endswith(_LEFTOVER_ENDS) or name in _LEFTOVER_NAMES:
        return True
    return name.startswith("#") and name.endswith("#") and len(name) > 1


def is_conflict_copy(name: str) -> bool:
    """Whether a file name is one that sync programs give to the version of a file that lost."""
    if _CONFLICT_HINT.search(name) is None:
        return False
    return ".sync-conflict-" in name or _CONFLICT.search(name) is not None


def is_nameable(path: str) -> bool:
    """Whether a caller can name this file: UTF-8, no backslash or control character, not too long.

    Files that cannot be named cannot be read, so they are not listed or indexed either.
    """
    if _UNNAMEABLE.search(path) is not None:
        return False
    return 4 * len(path) <= MAX_PATH_BYTES or len(path.encode("utf-8")) <= MAX_PATH_BYTES


def iter_files(
    root: Path,
    start: str = "",
    *,
    suffixes: tuple[str, ...] | None = None,
    extra_globs: tuple[str, ...] = (),
    skip: tuple[str, ...] = UNINDEXED,
    hidden: bool = False,
    closed: dict[str, str] | None = None,
) -> Iterator[tuple[str, os.stat_result]]:
    """The regular files below ``start``, as (vault-relative path, stat), sorted by name within each folder.

    Symlinks are not followed: what they point to inside the vault is met under its own name, what lies outside is not
    the vault's. FIFOs, sockets and folders named like notes are passed over, as are names that no caller can give, and
    folders that vanish or cannot be read. ``suffixes`` are lower case with the dot; ``skip`` are folders not
    entered; ``hidden`` includes what is ignored otherwise; ``closed`` is filled with the folders that are there and
    cannot be read, with a slash behind, and why.
    """
    from .paths import Folder

    start = start.strip("/")
    try:
        folder = Folder.root(root)
        for name in start.split("/") if start else ():
            with folder as above:
                folder = above.child(name)
    except OSError:
        return

    skipped = frozenset(skip)

    def is_wanted(name: str, path: str) -> bool:
        if path in skipped or not is_nameable(path):
            return False
        return hidden or not (is_ignored(name) or (extra_globs and is_ignored(path, extra_globs)))

    def below(folder: "Folder", prefix: str) -> Iterator[tuple[str, os.stat_result]]:
        folders = []
        with folder:
            try:
                with folder.scan() as scan:
                    entries = sorted(scan, key=_BY_NAME)
            except OSError:
                return
            for entry in entries:
                path = prefix + entry.name
                if not is_wanted(entry.name, path):
                    continue
                try:
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.name)
                    elif entry.is_file(follow_symlinks=False) and _has_suffix(entry.name, suffixes):
                        yield path, entry.stat(follow_symlinks=False)
                except OSError:
                    continue
            for name in folders:
                try:
                    inner = folder.child(name)
                except OSError as error:
                    if closed is not None and error.errno not in _NO_FOLDER:
                        closed[f"{prefix}{name}/"] = f"the folder cannot be read: {error.strerror}"
                    continue
                yield from below(inner, f"{prefix}{name}/")

    yield from below(folder, f"{start}/" if start else "")


def _has_suffix(name: str, suffixes: tuple[str, ...] | None) -> bool:
    return suffixes is None or name.lower().endswith(suffixes)
