"""A caller's path -> a place inside the vault, or :class:`PathError`.

Two steps. :func:`parse_path` looks at the text alone. :func:`locate` walks the folders, each opened relative to the one
before and never through a symlink, so that a link swapped in between check and use is met with a refusal. Links inside
the vault are followed by hand, as long as they stay inside.

Unicode: a name is looked for as given, then in NFC, then in NFD; new names are written in NFC. A new name that differs
from a neighbour only in case or in normal form is refused, so that a vault can move to a case-insensitive disk.
"""

import errno
import os
import re
import stat as modes
import unicodedata
from collections import deque
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from types import TracebackType

from ..errors import PathError
from .layout import MAX_NAME_BYTES, MAX_PATH_BYTES, is_windows_device

_MAX_LINKS = 40  # as Linux

_CONTROLS = "\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff"
_CONTROL = re.compile(f"[{_CONTROLS}]")
# What most paths are: names that hold nothing which is looked at more closely, with one slash between.
_NAME = rf"[^{_CONTROLS}\\:~/]+"
_SIMPLE = re.compile(rf"(?:(?!\.\.?/){_NAME}/)*(?!\.\.?\Z){_NAME}")
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://|file:", re.IGNORECASE)
_DRIVE = re.compile(r"[A-Za-z]:(?:[/\\]|$)")
_UNPORTABLE = re.compile(r'[<>:"|?*]')

_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
_CLOEXEC = getattr(os, "O_CLOEXEC", 0)
_FOLDER_FLAGS = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | _NOFOLLOW | _CLOEXEC
_BINARY = getattr(os, "O_BINARY", 0)
_DIR_FDS = os.open in os.supports_dir_fd and os.rename in os.supports_dir_fd and os.scandir in os.supports_fd


def parse_path(path: str, *, folder: bool = False) -> tuple[str, ...]:
    """The names in a vault-relative path; ``folder`` also accepts the root (``""``, ``"."``) and a trailing ``/``.

    Raises PathError with a sentence that says what is wrong. Names that only some systems cannot hold are accepted
    here, see :func:`unportable`.
    """
    if not isinstance(path, str):
        raise PathError(f"a path is text, not {type(path).__name__}")
    if _SIMPLE.fullmatch(path) and len(path.encode()) <= MAX_NAME_BYTES:
        return tuple(path.split("/"))
    return _parsed(path, folder)


@lru_cache(maxsize=256)  # one change asks for the same path five times
def _parsed(path: str, folder: bool) -> tuple[str, ...]:
    shown = _shown(path)
    if bad := _CONTROL.search(path):
        raise PathError(f"{shown}: a path may not contain the control character U+{ord(bad.group()):04X}")
    if _URL.match(path):
        raise PathError(f"{shown} is a URL; give a path inside the vault, such as notes/topic.md")
    if _DRIVE.match(path):
        raise PathError(f"{shown} has a drive letter; give a path relative to the vault, such as notes/topic.md")
    if path.startswith(("/", "\\")):
        raise PathError(f"{shown} is absolute; give a path relative to the vault, without a leading slash")
    if path.startswith("~") and not path.startswith("~$"):
        raise PathError(f"{shown} points to a home folder; give a path relative to the vault")
    if "\\" in path:
        raise PathError(f"{shown}: separate folders with /, not with a backslash")
    if len(path.encode("utf-8")) > MAX_PATH_BYTES:
        raise PathError(f"{shown} is longer than {MAX_PATH_BYTES} bytes")
    if path.endswith(("/", "/.")) and not folder:
        raise PathError(f"{shown} names a folder; give the path of a file")
    names = tuple(name for name in path.split("/") if name not in ("", "."))
    for name in names:
        if name == "..":
            raise PathError(f"{shown} leaves the folder with '..'; give a path inside the vault")
        if len(name.encode("utf-8")) > MAX_NAME_BYTES:
            raise PathError(
                f"{_shown(name)} is longer than {MAX_NAME_BYTES} bytes, which no disk holds; shorten the name"
            )
    if not names and not folder:
        raise PathError("the path is empty; give the path of a file inside the vault, such as notes/topic.md")
    return names


def unportable(names: tuple[str, ...]) -> str | None:
    """Why some system could not hold these names, or None. Such a file is never made, but read if it exists."""
    for name in names:
        if bad := _UNPORTABLE.search(name):
            return f"{_shown(name)}: the character {bad.group()} cannot stand in a file name on every system"
        if name.endswith((".", " ")) or name.startswith(" "):
            return f"{_shown(name)}: a name may not begin with a space or end with a space or a dot"
        if is_windows_device(name):
            return f"{_shown(name)} is a device name on Windows; choose another"
    return None


class Folder:
    """An open folder of the vault. Names are used relative to it; where the system cannot do that, by joined path."""

    __slots__ = ("_top", "fd", "names")

    def __init__(self, top: Path, names: tuple[str, ...], fd: int | None) -> None:
        self._top, self.names, self.fd = top, names, fd

    @property
    def path(self) -> Path:
        """Where it lies, by the path of the vault."""
        return self._top.joinpath(*self.names)

    @classmethod
    def root(cls, path: Path) -> "Folder":
        """Open the vault's root, which may itself be a symlink. FileNotFoundError when it does not exist."""
        if _DIR_FDS:
            return cls(path, (), os.open(path, _FOLDER_FLAGS & ~_NOFOLLOW))
        if not path.is_dir():
            raise FileNotFoundError(errno.ENOENT, "no such folder", str(path))
        return cls(path, (), None)

    def child(self, name: str) -> "Folder":
        """Open a folder in this one; OSError when it is a symlink, a file or absent."""
        names = (*self.names, name)
        if self.fd is not None:
            return Folder(self._top, names, os.open(name, _FOLDER_FLAGS, dir_fd=self.fd))
        path = self.path / name
        mode = os.lstat(path).st_mode
        if not modes.S_ISDIR(mode):
            raise NotADirectoryError(str(path))
        return Folder(self._top, names, None)

    def __enter__(self) -> "Folder":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        if self.fd is not None:
            os.close(self.fd)
            self.fd = None

    def at(self, name: str) -> str:
        return name if self.fd is not None else str(self.path / name)

    def lstat(self, name: str) -> os.stat_result | None:
        """The status of the entry itself, or None when there is none."""
        try:
            return os.stat(self.at(name), dir_fd=self.fd, follow_symlinks=False)
        except (FileNotFoundError, NotADirectoryError):
            return None

    def readlink(self, name: str) -> str:
        return os.readlink(self.at(name), dir_fd=self.fd)

    def open(self, name: str, flags: int, mode: int = 0o666) -> int:
        """A file descriptor; never through a symlink, never waiting for the other end of a FIFO."""
        nonblock = getattr(os, "O_NONBLOCK", 0)
        return os.open(self.at(name), flags | _NOFOLLOW | _CLOEXEC | _BINARY | nonblock, mode, dir_fd=self.fd)

    def entries(self) -> list[str]:
        return os.listdir(self.fd if self.fd is not None else self.path)

    def scan(self) -> "os._ScandirIterator[str]":
        """The entries with what is known of them; close it, or use it in a ``with`` statement."""
        return os.scandir(self.fd if self.fd is not None else self.path)

    def sync(self) -> None:
        """Make the folder's entries durable."""
        if self.fd is not None:
            os.fsync(self.fd)

    def stored_name(self, name: str) -> str:
        """``name`` in the form in which it exists here (as given, NFC, NFD), or its NFC form when it does not."""
        if name.isascii():
            return name
        composed = unicodedata.normalize("NFC", name)
        for form in (name, composed, unicodedata.normalize("NFD", name)):
            # A name that fits in one form may be too long to be looked for in another.
            if len(form.encode("utf-8")) <= MAX_NAME_BYTES and self.lstat(form) is not None:
                return form
        return composed

    def twin(self, name: str) -> str | None:
        """An entry that a case-insensitive disk would take for ``name``."""
        folded = _folded(name)
        size = len(name)
        for entry in self.entries():
            if entry != name and abs(len(entry) - size) <= 8 and _folded(entry) == folded:
                return entry
        return None


class Place:
    """Where a path leads: an open folder and a name in it, links resolved. ``path`` is vault-relative, without links.

    ``name`` is ``"."`` for the folder itself. Close it, or use it in a ``with`` statement.
    """

    __slots__ = ("folder", "name")

    def __init__(self, folder: Folder, name: str) -> None:
        self.folder, self.name = folder, name

    @property
    def path(self) -> str:
        return "/".join(self.folder.names if self.name == "." else (*self.folder.names, self.name))

    def lstat(self) -> os.stat_result | None:
        return self.folder.lstat(self.name)

    def __enter__(self) -> "Place":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.folder.close()


def locate(
    root: Path,
    names: tuple[str, ...],
    *,
    make: Callable[[Folder, str], None] | None = None,
    follow_last: bool = True,
) -> Place:
    """Walk ``names`` below ``root``. ``make`` makes a missing folder, never the last name; else FileNotFoundError.

    With ``follow_last=False`` the last name is not followed when it is a link (to delete or move the link itself).
    Raises PathError when a link leads out of the vault, in a circle, or when a folder is in fact a file.
    """
    todo = deque(names)
    opened = [Folder.root(root)]
    links = 0
    try:
        while todo:
            here = opened[-1]
            name = todo.popleft()
            if name == "..":  # from a link's target only
                if len(opened) == 1:
                    raise _outside(names)
                opened.pop().close()
                continue
            name = here.stored_name(name)
            status = here.lstat(name)
            if status is not None and modes.S_ISLNK(status.st_mode) and (todo or follow_last):
                links += 1
                if links > _MAX_LINKS:
                    raise PathError(f"{_joined(names)}: its symbolic links lead in a circle")
                try:
                    leads = here.readlink(name)
                except OSError as error:
                    if error.errno != errno.EINVAL:
                        raise
                    raise _replaced(names) from error
                target, from_root = _link_target(root, leads, names)
                if from_root:
                    while len(opened) > 1:
                        opened.pop().close()
                todo.extendleft(reversed(target))
                continue
            if not todo:
                opened.pop()
                return Place(here, name)
            if status is None:
                if make is None:
                    raise FileNotFoundError(errno.ENOENT, "no such folder", _joined(names))
                make(here, name)
            elif not modes.S_ISDIR(status.st_mode):
                raise PathError(f"{_joined((*here.names, name))} is a file, not a folder")
            try:
                opened.append(here.child(name))
            except (NotADirectoryError, OSError) as error:
                if isinstance(error, FileNotFoundError | PermissionError):
                    raise
                raise _replaced(names) from error
        return Place(opened.pop(), ".")
    finally:
        for folder in opened:
            folder.close()


def _replaced(names: tuple[str, ...]) -> PathError:
    return PathError(f"{_joined(names)}: a folder was replaced by something else while it was opened")


def refuse_twin(here: Folder, name: str, except_for: str = "") -> None:
    """PathError when a neighbour's name differs from a new one only in case or Unicode form."""
    if (twin := here.twin(name)) and twin != except_for:
        raise PathError(
            f"{_joined((*here.names, name))} differs only in case or Unicode form from {_joined((*here.names, twin))}, "
            "and some disks cannot hold both; use the existing name or another one"
        )


def _link_target(root: Path, target: str, names: tuple[str, ...]) -> tuple[list[str], bool]:
    if target.startswith("\\\\?\\"):
        target = target[4:]
    if os.path.isabs(target):
        for base in (root, Path(os.path.realpath(root))):
            try:
                inside = Path(os.path.normpath(target)).relative_to(base)
            except ValueError:
                continue
            return [part for part in inside.parts if part != "."], True
        raise _outside(names)
    return [part for part in re.split(r"[/\\]" if os.name == "nt" else "/", target) if part not in ("", ".")], False


def _outside(names: tuple[str, ...]) -> PathError:
    return PathError(f"{_joined(names)} leads out of the vault through a symbolic link")


def _folded(name: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def _joined(names: tuple[str, ...]) -> str:
    return _shown("/".join(names))


def _shown(path: str) -> str:
    text = path if len(path) <= 120 else f"{path[:60]}…{path[-40:]}"
    return repr(text) if not text or not text.isprintable() or " " in text[:1] + text[-1:] else text
