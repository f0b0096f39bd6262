"""What the operating system refused, as a sentence for people and models."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from ..errors import NoteError, NoteNotFound, PathError


def refusal(error: OSError, path: str, *, reading: bool = False) -> NoteError | PathError:
    """An OS error as a sentence: what happened, to which path, and what is safe."""
    safe = "" if reading else "; nothing was changed"
    if isinstance(error, FileNotFoundError) or error.errno == errno.ESTALE:
        return NoteNotFound(f"there is no {path or 'such file'} in the vault", path)
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return NoteError(f"{path}: the disk is full{safe}; free some space and try again", path)
    if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
        return NoteError(
            f"{path}: the vault cannot be {'read' if reading else 'written'} ({error.strerror}){safe}", path
        )
    if error.errno == errno.ENAMETOOLONG:
        return PathError(f"{path}: the name is too long for this disk{safe}")
    if error.errno == errno.ELOOP:
        return PathError(f"{path} was replaced by a symbolic link while it was opened{safe}")
    if error.errno in (errno.ENXIO, errno.ENODEV):
        return NoteNotFound(f"{path} is not a regular file", path)
    if error.errno == errno.EISDIR:
        return NoteError(f"{path} is a folder{safe}", path)
    return NoteError(f"{path}: {error.strerror or error}{safe}", path)


@contextmanager
def explained(path: str) -> Iterator[None]:
    """Have what the operating system refuses to a change of ``path`` come out as a sentence."""
    try:
        yield
    except OSError as error:
        raise refusal(error, path) from error
