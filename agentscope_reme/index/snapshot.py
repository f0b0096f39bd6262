"""The index on disk: one file of JSON lines and one of arrays, below ``metadata/index/``.

``index.jsonl.zst`` is the index; its first line names the arrays, the format and everything the content depends on, its
last line has a checksum. It is replaced in one step after the arrays are there, so that a reader sees an old or a new
index, never a mixture. Nothing is pickled. All of it can be deleted while no process runs.
"""

import hashlib
import io
import json
import logging
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from ..errors import ReMeError
from ..expression import expression
from ..vault.layout import METADATA
from .corpus import Corpus

if TYPE_CHECKING:
    from ..vault.storage import Storage

log = logging.getLogger(__name__)

FOLDER = f"{METADATA}/index"
INDEX = f"{FOLDER}/index.jsonl.zst"
LOCK = "writer.lock"
FORMAT = "agentscope-reme index"
VERSION = 9
_LEVEL = 3
_DECODER = json.JSONDecoder()
_PIECE = 262_144  # bytes
_PIECE_OF_LINES = 16_384  # lines that are not looked at yet lie among what stays
# What numpy writes before an array of one dimension. Reading it as Python, as numpy does, takes .1 ms.
_HEADER = expression(r"\{'descr': '([<>|][a-z]\d)', 'fortran_order': False, 'shape': \((\d+),\), \} *\n")


@dataclass(frozen=True, slots=True)
class Loaded:
    """What was found on disk. ``corpus`` is None when there is no index that fits; ``damage`` says what is wrong."""

    corpus: Corpus | None
    damage: str = ""


class WriterLock:
    """Whether this process may write the index; the first to ask may, until it closes or dies."""

    def __init__(self, root: Path) -> None:
        self._root, self._path = root, root / FOLDER / LOCK
        self._lock: Any = None

    @property
    def held(self) -> bool:
        return self._lock is not None and bool(self._lock.is_locked)

    def acquire(self) -> bool:
        """Take the lock if it is free and the folder can be written; never waits, never follows a link out."""
        if self.held:
            return True
        if not Path(os.path.realpath(self._path)).is_relative_to(os.path.realpath(self._root)):
            return False
        from filelock import FileLock, Timeout

        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            lock = FileLock(self._path, thread_local=False)
            lock.acquire(timeout=0)
        except (Timeout, OSError):
            return False
        self._lock = lock
        return True

    def release(self) -> None:
        if self._lock is not None:
            self._lock.release()
            self._lock = None


@dataclass(frozen=True, slots=True)
class Packed:
    """An index as it is written: both files, and the name of the arrays'."""

    index: bytes
    arrays: bytes
    arrays_name: str


def pack(corpus: Corpus, fingerprint: str) -> Packed:
    """An index as bytes. ``fingerprint`` stands for everything the content depends on. The caller holds the lock."""
    records, named, arrays = corpus.dump()
    packed = _pack_arrays(arrays)
    digest = hashlib.sha256(packed).hexdigest()
    name = f"arrays-{digest[:16]}.npy.zst"
    header = {
        "format": FORMAT,
        "version": VERSION,
        "fingerprint": fingerprint,
        "files": len(corpus.files),
        "named": named,
        "arrays": name,
        "arrays_sha256": digest,
        "names": list(arrays),
    }
    return Packed(_pack_lines(chain([header], records)), packed, name)


def write(storage: "Storage", packed: Packed) -> None:
    """Write an index. Raises ReMeError. Waits for other writers of the vault, so no lock of the index may be held."""
    storage.replace(f"{FOLDER}/{packed.arrays_name}", packed.arrays)
    storage.replace(INDEX, packed.index)
    _remove_others(storage.root / FOLDER, keep=packed.arrays_name)


def load(storage: "Storage", fingerprint: str) -> Loaded:
    """Read the index. What does not fit or is damaged is reported, never raised."""
    folder = storage.root / FOLDER
    for _ in range(3):
        try:
            data = (storage.root / INDEX).read_bytes()
        except FileNotFoundError:
            return Loaded(None)
        except OSError as error:
            return Loaded(None, f"cannot be read: {error.strerror or error}")
        try:
            lines = _unpack_lines(data)
            header = json.loads(next(lines))
            if header.get("format") != FORMAT or header.get("version") != VERSION:
                return Loaded(None, f"has format {header.get('format')!r}, version {header.get('version')!r}")
            if header.get("fingerprint") != fingerprint:
                return Loaded(None)  # made with other settings or another tokenizer: rebuilt, nothing is wrong
            with (folder / os.path.basename(str(header["arrays"]))).open("rb") as file:
                if _digest(file) != header["arrays_sha256"]:
                    return Loaded(None, "its arrays do not have the checksum they should have")
                named = header.pop("named")
                arrays = _unpack_arrays(file, header["names"])
            return Loaded(Corpus.load(map(_decoded, lines), named, arrays))
        except FileNotFoundError:
            continue  # another process has replaced the index meanwhile
        except Exception as error:  # whatever is on the disk must not keep the vault from being searched
            return Loaded(None, f"is damaged ({type(error).__name__}: {error})")
    return Loaded(None, "names arrays that are not there")


def set_aside(root: Path) -> None:
    """Keep a damaged index for a look, under one name, so that it is not met again."""
    path = root / INDEX
    try:
        os.replace(path, path.with_name("index.damaged"))
    except OSError as error:
        log.warning("the damaged index %s could not be set aside: %s", path, error)


def discard(storage: "Storage") -> None:
    """Delete what is stored, as far as that is possible."""
    try:
        storage.remove(INDEX)
    except ReMeError as error:
        log.warning("the stored index could not be deleted: %s", error)
    _remove_others(storage.root / FOLDER, keep=None)


def _pack_lines(records: Iterable[dict[str, Any]]) -> bytes:
    import zstandard

    body = b"".join(
        json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass") + b"\n"
        for record in records
    )
    end = json.dumps({"sha256": hashlib.sha256(body).hexdigest()}).encode() + b"\n"
    return zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True).compress(body + end)


def _unpack_lines(data: bytes) -> Iterator[str]:
    """The lines but the last, which has their checksum; ValueError at the end when it is not right.

    Piece by piece: nothing large is taken and given back, which the allocator would answer by keeping as much for good.
    """
    import zstandard

    running = hashlib.sha256()
    before: bytes | None = None
    parts: list[bytes] = []  # of the line that has not ended yet
    with zstandard.ZstdDecompressor().stream_reader(data) as stream:
        while piece := stream.read(_PIECE_OF_LINES):
            first, *lines = piece.split(b"\n")
            parts.append(first)
            for line in lines:
                if before is not None:
                    running.update(before + b"\n")
                    yield before.decode("utf-8", "surrogatepass")
                before, parts = b"".join(parts), [line]
    if before is None or any(parts) or json.loads(before)["sha256"] != running.hexdigest():
        raise ValueError("the checksum does not fit")


def _decoded(line: str) -> dict[str, Any]:
    """A line of JSON, in half the time of ``json.loads``; what stands behind it the checksum tells."""
    value: dict[str, Any] = _DECODER.raw_decode(line)[0]
    return value


def _pack_arrays(arrays: dict[str, Any]) -> bytes:
    import numpy as np
    import zstandard

    out = io.BytesIO()
    compressor = zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True)
    with compressor.stream_writer(out, closefd=False) as stream:
        for array in arrays.values():
            np.lib.format.write_array(stream, np.ascontiguousarray(array), allow_pickle=False)
    return out.getvalue()


def _digest(file: IO[bytes]) -> str:
    running = hashlib.sha256()
    while piece := file.read(_PIECE):
        running.update(piece)
    file.seek(0)
    return running.hexdigest()


def _unpack_arrays(file: IO[bytes], names: list[str]) -> dict[str, Any]:
    """Arrays by name, each decompressed to where it stays. Those of terms are made of a ``bytes`` object."""
    import zstandard

    with zstandard.ZstdDecompressor().stream_reader(file, closefd=False) as stream:
        arrays = {name: _read_array(stream, name.endswith(".terms")) for name in names}
        if stream.read(1):
            raise ValueError("there are more arrays than names")
    return arrays


def _read_array(stream: Any, as_bytes: bool) -> Any:
    import numpy as np

    from .own_memory import room_for

    if np.lib.format.read_magic(stream) != (1, 0):
        raise ValueError("an array of another format")
    header = stream.read(int.from_bytes(stream.read(2), "little")).decode("latin-1")
    plain = _HEADER.fullmatch(header)
    if plain is None:
        raise ValueError("an array of another kind than are stored")
    kind, size = np.dtype(plain[1]), int(plain[2])
    if as_bytes:
        data = stream.read(size) if size else b""
        if len(data) != size:
            raise EOFError("an array has ended")
        return np.frombuffer(data, np.uint8)
    array = room_for(size, kind)
    left = array.view(np.uint8).data
    while len(left):
        count = stream.readinto(left)
        if not count:
            raise EOFError("an array has ended")
        left = left[count:]
    return array


def _remove_others(folder: Path, keep: Any) -> None:
    for path in folder.glob("arrays-*.npy.zst"):
        if path.name != keep:
            try:
                path.unlink()
            except OSError as error:
                log.warning("an old part of the index could not be deleted: %s", error)
