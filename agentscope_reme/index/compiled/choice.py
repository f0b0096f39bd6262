"""Whether ranking has its compiled loops: only a module that is whole, loads, and was made of the sources beside it."""

import importlib
import os
import struct
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from types import ModuleType

from .sources import fingerprint, sources

SWITCH = "REME_COMPILED"
_MODULE = "kernels"
_FOLDER = Path(__file__).parent


def chosen() -> tuple[ModuleType | None, str]:
    """Return the compiled module, or None, and in a few words why. Nothing that is wrong with its file raises."""
    if os.environ.get(SWITCH, "").strip() == "0":
        return None, f"switched off by {SWITCH}=0"
    built = [path for suffix in EXTENSION_SUFFIXES if (path := _FOLDER / f"{_MODULE}{suffix}").is_file()]
    if not built:
        others = [path for path in _FOLDER.glob(f"{_MODULE}.*") if path.suffix in (".so", ".pyd")]
        return None, "built for another Python or another system" if others else "not built"
    try:
        if _cut_short(built[0]):
            return None, f"{built[0].name} is cut short"
        module = importlib.import_module(f"{__package__}.{_MODULE}")
        here = sources(_FOLDER)
        if here and fingerprint(here) != module.SOURCES:
            return None, "built from other sources: pip install -e . again"
    except Exception as error:  # whatever an import may raise: a library that is missing, a module of another Python
        return None, f"{built[0].name} cannot be loaded: {error}"
    return module, "compiled"


def _cut_short(path: Path) -> bool:
    """Whether an ELF file ends before what it says it holds. Loading one would end the process; others raise."""
    with path.open("rb") as file:
        header = file.read(64)
        if header[:6] != b"\x7fELF\x02\x01" or len(header) < 64:
            return False  # not for a little-endian system of 64 bits, or not ELF: the loader says so
        (start,) = struct.unpack_from("<Q", header, 32)
        size, count = struct.unpack_from("<HH", header, 54)
        file.seek(start)
        table = file.read(size * count)
        if len(table) < size * count or size < 56:
            return True
        ends = (sum(struct.unpack_from("<Q16xQ", table, size * at + 8)) for at in range(count))
        return max(ends, default=0) > os.fstat(file.fileno()).st_size
