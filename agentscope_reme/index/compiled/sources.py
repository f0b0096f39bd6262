"""The sources of the compiled loops, told by one fingerprint.

The build compiles it into the module; where the sources lie beside the module, the two must be the same. The build
loads this file by itself, so it imports nothing of the package.
"""

import hashlib
from pathlib import Path

SUFFIXES = (".pyx", ".pxi", ".pxd")


def sources(folder: Path) -> list[Path]:
    """The files in ``folder`` that the module is compiled from, by name; none where a wheel was installed."""
    return sorted(path for path in folder.iterdir() if path.suffix in SUFFIXES)


def fingerprint(paths: list[Path]) -> str:
    """SHA-256 over names and contents, in hexadecimal. ``OSError`` where a file cannot be read."""
    digest = hashlib.sha256()
    for path in paths:
        # A checkout may have changed the ends of lines; the module made of it is the same.
        content = path.read_bytes().replace(b"\r\n", b"\n")
        digest.update(f"{path.name} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()
