"""Taking in a document from outside the vault: a copy in ``resource/<date>/``, which nothing changes afterwards."""

import os
import stat as modes
import unicodedata
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import NoteError, NoteNotFound
from ..models import NoteChange
from .daily import day_of
from .encoding import Kind
from .layout import MAX_NAME_BYTES, RESOURCE, fit_bytes, is_ignored, is_nameable, slug
from .opening import read_all
from .paths import unportable
from .storage import version_of

if TYPE_CHECKING:
    from .notes import Vault

MAX_BYTES = 256 * 1024 * 1024
"""Largest file that is taken in; a larger one belongs beside the vault, with a note about it."""

_ROOM = 8  # bytes of a name left for the number of a file whose name is taken


def ingest(vault: "Vault", source: str | Path, *, name: str = "", date: str = "", actor: str = "user") -> NoteChange:
    """See :meth:`Vault.ingest`."""
    date = day_of(vault, date)
    file = Path(source).expanduser()
    data = _read(file)
    stem, suffix = _portable(name or file.name)
    folder = f"{RESOURCE}/{date}"
    with vault.storage.lock():
        taken = _names_in(vault.root / folder)
        file_name, number = stem + suffix, 1
        while (present := taken.get(_folded(file_name))) is not None:
            if vault.storage.read_if_any(f"{folder}/{present}") == data:
                return NoteChange(f"{folder}/{present}", "unchanged", version_of(data))
            number += 1
            file_name = f"{stem}-{number}{suffix}"

        def new_bytes(old: bytes | None, kind: Kind | None) -> bytes:
            return data

        # ``resource/`` is the system's to write; who asked for it is in the reason.
        return vault.change(f"{folder}/{file_name}", new_bytes, actor="system", reason=f"ingest ({actor})")


def _names_in(folder: Path) -> dict[str, str]:
    """The names in a folder, by what a disk that ignores case and Unicode form takes them for."""
    try:
        return {_folded(entry): entry for entry in os.listdir(folder)}
    except OSError:
        return {}


def _folded(name: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def _read(file: Path) -> bytes:
    try:
        # Without waiting for the other end of a FIFO.
        descriptor = os.open(file, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except FileNotFoundError as error:
        raise NoteNotFound(f"there is no file {file} on this disk") from error
    except OSError as error:
        raise NoteError(f"{file} cannot be read ({error.strerror}); nothing was changed") from error
    except ValueError as error:
        raise NoteError(f"{str(file)!r} is no name of a file ({error}); nothing was changed") from error
    try:
        status = os.fstat(descriptor)
        if not modes.S_ISREG(status.st_mode):
            raise NoteError(f"{file} is not a regular file; give the files in a folder one by one")
        if status.st_size > MAX_BYTES:
            raise NoteError(f"{file} has {status.st_size:,} bytes, more than the {MAX_BYTES:,} that are taken in")
        return read_all(descriptor, status.st_size)
    finally:
        os.close(descriptor)


def _portable(name: str) -> tuple[str, str]:
    """A file name that every system can hold and that is listed, as stem and suffix; the given one where it is so."""
    name = name.replace("\\", "/").rpartition("/")[2]
    stem, dot, extension = name.rpartition(".")
    if not stem:
        stem, dot, extension = name, "", ""
    fits = name != "" and len(name.encode("utf-8", "replace")) <= MAX_NAME_BYTES - _ROOM
    if fits and is_nameable(name) and not is_ignored(name) and not unportable((name,)):
        return stem, dot + extension
    suffix = slug(extension, 16) if dot else ""
    suffix = f".{suffix}" if suffix and suffix != "untitled" else ""
    if is_ignored("a" + suffix):
        suffix += "_"
    clean = slug(fit_bytes(stem, 200), 200)
    return (clean if not is_ignored(clean + suffix) else f"file-{clean}"), suffix
