"""Vectors on disk: ``metadata/index/vectors.npy.zst``, a line of JSON and three arrays inside zstandard.

The line names format, version, model, dimensions and precision, and has a checksum of the arrays. Nothing is pickled.
The file is replaced as a whole and can be deleted while no process runs; it holds no text, only hashes of texts.
"""

import hashlib
import io
import json
import logging
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import ReMeError
from .snapshot import FOLDER

if TYPE_CHECKING:
    from ..vault.storage import Storage
    from .vectors_table import Keys, Precision, VectorTable

log = logging.getLogger(__name__)

VECTORS = f"{FOLDER}/vectors.npy.zst"
DAMAGED = f"{FOLDER}/vectors.damaged"
FORMAT = "agentscope-reme vectors"
VERSION = 1
# Vectors hardly get smaller whatever the effort.
_LEVEL = 1


@dataclass(frozen=True, slots=True)
class Found:
    """What lies on disk. ``table`` is None when nothing fits; ``other`` names another model whose vectors lie there."""

    table: "VectorTable | None"
    damage: str = ""
    other: str = ""


def save(storage: "Storage", table: "VectorTable", model: str) -> None:
    """Write the vectors of a model. Raises ReMeError and OSError."""
    import numpy as np
    import zstandard

    body = io.BytesIO()
    for array in table.dump():
        np.lib.format.write_array(body, np.ascontiguousarray(array), allow_pickle=False)
    arrays = body.getvalue()
    header = {
        "format": FORMAT,
        "version": VERSION,
        "model": model,
        "dimensions": table.dimensions,
        "precision": table.precision,
        "sha256": hashlib.sha256(arrays).hexdigest(),
    }
    line = json.dumps(header, ensure_ascii=False).encode("utf-8") + b"\n"
    storage.replace(VECTORS, zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True).compress(line + arrays))


def load(root: Path, model: str, dimensions: int, precision: "Precision") -> Found:
    """Read the vectors of a model. What does not fit or is damaged is reported, never raised."""
    try:
        packed = (root / VECTORS).read_bytes()
    except FileNotFoundError:
        return Found(None)
    except OSError as error:
        return Found(None, f"cannot be read: {error.strerror or error}")
    try:
        return _unpacked(packed, model, dimensions, precision)
    except Exception as error:  # whatever is on the disk must not keep the vault from being searched
        return Found(None, f"is damaged ({type(error).__name__}: {error})")


def set_aside(root: Path) -> None:
    """Keep damaged vectors for a look, under one name, so that they are not met again."""
    try:
        os.replace(root / VECTORS, root / DAMAGED)
    except OSError as error:
        log.warning("the damaged vectors %s could not be set aside: %s", root / VECTORS, error)


def discard(storage: "Storage") -> bool:
    """Delete what is stored, damaged vectors too; False when that is not possible."""
    try:
        storage.remove(VECTORS)
        storage.remove(DAMAGED)
    except (ReMeError, OSError) as error:
        log.warning("the stored vectors could not be deleted: %s", error)
        return False
    return True


def anything(root: Path) -> bool:
    """Whether vectors lie there, readable or not."""
    return os.path.exists(root / VECTORS) or os.path.exists(root / DAMAGED)


def any_model(root: Path) -> "tuple[str, VectorTable] | None":
    """The model and the vectors that lie there, whoever made them; None when there are none that can be read."""
    from .vectors_table import VectorTable

    try:
        header, body = _opened((root / VECTORS).read_bytes())
        return header["model"], VectorTable.load(*_arrays(body), header["precision"])
    except FileNotFoundError:
        return None
    except Exception as error:
        log.warning("the stored vectors of %s cannot be read: %s", root, error)
        return None


def forget(storage: "Storage", keys: "Keys") -> bool:
    """Leave no vector on disk whose key is not among these, whoever made it; whether that was possible.

    What cannot be read or written is deleted.
    """
    stored = any_model(storage.root)
    if stored is None:
        return discard(storage)
    model, table = stored
    try:
        if table.keep(keys):
            save(storage, table, model)
        storage.remove(DAMAGED)
    except (ReMeError, OSError):
        return discard(storage)
    return True


def _unpacked(packed: bytes, model: str, dimensions: int, precision: "Precision") -> Found:
    from .vectors_table import VectorTable

    header, body = _opened(packed)
    if header["format"] != FORMAT or header["version"] != VERSION:
        return Found(None, f"has format {header['format']!r}, version {header['version']!r}")
    if hashlib.sha256(body).hexdigest() != header["sha256"]:
        return Found(None, "does not have the checksum it should have")
    if (header["model"], header["dimensions"]) != (model, dimensions):
        return Found(None, other=f"{header['model']} ({header['dimensions']} dimensions)")
    if header["precision"] != precision:
        return Found(None, other=f"{model} as {header['precision']}")
    table = VectorTable.load(*_arrays(body), precision)
    if table.dimensions != dimensions:
        raise ValueError("the vectors have another number of dimensions than their header says")
    return Found(table)


def _opened(packed: bytes) -> tuple[dict[str, Any], bytes]:
    """The header and the arrays' bytes."""
    import zstandard

    data = zstandard.ZstdDecompressor().decompressobj().decompress(packed)
    end = data.index(b"\n") + 1
    return json.loads(data[:end]), data[end:]


def _arrays(body: bytes) -> "tuple[Any, Any, Any]":
    import numpy as np

    source = io.BytesIO(body)
    keys, scales, numbers = (np.lib.format.read_array(source, allow_pickle=False) for _ in range(3))
    return keys, scales, numbers
