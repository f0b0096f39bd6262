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
    from .vectors_table import Precision, VectorTable

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


def _unpacked(packed: bytes, model: str, dimensions: int, precision: "Precision") -> Found:
    import numpy as np
    import zstandard

    from .vectors_table import VectorTable

    data = zstandard.ZstdDecompressor().decompressobj().decompress(packed)
    end = data.index(b"\n") + 1
    header: dict[str, Any] = json.loads(data[:end])
    if header["format"] != FORMAT or header["version"] != VERSION:
        return Found(None, f"has format {header['format']!r}, version {header['version']!r}")
    if hashlib.sha256(data[end:]).hexdigest() != header["sha256"]:
        return Found(None, "does not have the checksum it should have")
    if (header["model"], header["dimensions"]) != (model, dimensions):
        return Found(None, other=f"{header['model']} ({header['dimensions']} dimensions)")
    if header["precision"] != precision:
        return Found(None, other=f"{model} as {header['precision']}")
    body = io.BytesIO(data[end:])
    keys, scales, numbers = (np.lib.format.read_array(body, allow_pickle=False) for _ in range(3))
    table = VectorTable.load(keys, scales, numbers, precision)
    if table.dimensions != dimensions:
        raise ValueError("the vectors have another number of dimensions than their header says")
    return Found(table)
