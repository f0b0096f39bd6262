"""The operating system's events about files, through watchdog, and where they cannot be relied on."""

import logging
import os
import sys
from collections.abc import Callable
from typing import Any

log = logging.getLogger(__name__)

# Kinds of file systems whose files other machines, or a host, change without this system being told.
_REMOTE = frozenset(
    {
        "9p", "acfs", "afs", "beegfs", "ceph", "cifs", "coda", "davfs", "drvfs", "fakeowner", "fuse", "gfs2",
        "glusterfs", "gpfs", "grpcfuse", "lustre", "ncpfs", "nfs", "nfs3", "nfs4", "ocfs2", "osxfs", "panfs", "prl_fs",
        "smb2", "smb3", "smbfs", "vboxsf", "virtiofs", "vmhgfs", "webdav",
    }
)  # fmt: skip
# FUSE programs that only change how the files of this machine are kept.
_LOCAL_FUSE = frozenset({"fuse.bindfs", "fuse.cryfs", "fuse.encfs", "fuse.gocryptfs", "fuse.mergerfs", "fuse.ntfs-3g"})
_LOOKED_AT_ONLY = frozenset({"opened", "closed_no_write"})
_QUEUE = "/proc/sys/fs/inotify/max_queued_events"

Noticed = Callable[[str, bool], None]
"""Called with a path relative to the watched folder ("" for itself) and whether it is a folder, for each event."""


class FileEvents:
    """Tells of changes below a folder, as the system does. ``start`` raises OSError where that is impossible."""

    def __init__(self, root: str, noticed: Noticed) -> None:
        self._root, self._noticed = root, noticed
        self._observer: Any = None

    def start(self) -> None:
        """Begin; when it returns, no later change goes by without an event."""
        import warnings

        from watchdog import events
        from watchdog.observers import Observer

        wanted = [f"{what}{how}Event" for what in ("File", "Dir") for how in ("Created", "Moved", "Deleted")]
        wanted += ["FileModifiedEvent", "FileClosedEvent", "FileAttribEvent"]
        kinds = [getattr(events, name) for name in wanted if hasattr(events, name)]
        # A folder made while its parent is being walked is met twice; watchdog warns of it, and nothing is lost.
        warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"watchdog\.")
        observer = Observer()
        observer.schedule(self, self._root, recursive=True, event_filter=kinds)
        try:
            observer.start()
        except BaseException:
            _quietly(observer.unschedule_all)
            raise
        self._observer = observer

    def stop(self) -> None:
        """End; safe to call twice."""
        observer, self._observer = self._observer, None
        if observer is not None:
            logging.getLogger("watchdog.observers.inotify").addFilter(_is_news)  # the same one again is not added
            _quietly(observer.stop)
            _quietly(lambda: observer.join(2.0))

    @property
    def alive(self) -> bool:
        """Whether every thread that brings events is running."""
        observer = self._observer
        return observer is not None and observer.is_alive() and all(one.is_alive() for one in observer.emitters)

    def dispatch(self, event: Any) -> None:
        """Called by watchdog."""
        if event.event_type in _LOOKED_AT_ONLY or (event.is_directory and event.event_type == "modified"):
            return
        for path in (event.src_path, event.dest_path):
            if path:
                self._noticed(self._relative(os.fsdecode(path)), event.is_directory)

    def _relative(self, path: str) -> str:
        inside = path.startswith(self._root + os.sep)
        return path[len(self._root) + 1 :].replace(os.sep, "/") if inside else ""


def why_no_events(root: str) -> str:
    """Why the system's events about this folder are incomplete, "" when nothing says so."""
    kind = _file_system(root)
    if kind in _REMOTE or (kind.startswith("fuse.") and kind not in _LOCAL_FUSE):
        return f"it lies on a file system ({kind}) whose files can change elsewhere"
    return ""


def burst() -> int:
    """How many events at once may mean that the system has dropped some.

    A quarter of what its queue holds: a move is two events there and one here, and equal ones are told once.
    """
    try:
        with open(_QUEUE, encoding="ascii") as file:
            return max(16, int(file.read()) // 4)
    except (OSError, ValueError):
        return 1_000


def _file_system(root: str) -> str:
    """The kind of file system a folder lies on, "" where the system does not tell."""
    if not sys.platform.startswith("linux"):
        return ""
    best, kind = -1, ""
    try:
        with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
            for line in file:
                left, _, right = line.partition(" - ")
                point = left.split(" ")[4].encode("utf-8", "surrogateescape").decode("unicode_escape")
                point = point.encode("latin-1", "replace").decode("utf-8", "surrogateescape").rstrip("/")
                if len(point) >= best and (root == point or root.startswith(point + "/")):
                    best, kind = len(point), right.split(" ")[0]
    except (OSError, IndexError, ValueError):
        return ""
    return kind


def _is_news(record: logging.LogRecord) -> bool:
    """A watch that ends while an event comes in is logged as an error by watchdog; nothing is lost."""
    return "when the thread is inactive" not in record.msg


def _quietly(end: Callable[[], None]) -> None:
    try:
        end()
    except Exception as error:  # whatever it could not let go of, the watch is over
        log.debug("ending a watch: %s", error)
