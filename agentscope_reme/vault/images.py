"""A picture of the vault as base64, for models that can look at it."""

import base64
from dataclasses import dataclass

from ..errors import NoteError
from .encoding import kind_of
from .opening import read_all
from .storage import Storage

MAX_IMAGE_BYTES = 5 * 1024 * 1024  # what common model APIs accept for one picture
_SHOWN = ("image/png", "image/jpeg", "image/gif", "image/webp")


@dataclass(frozen=True, slots=True)
class NoteImage:
    """A picture. ``data`` is base64, ``size`` the bytes of the file."""

    path: str
    media_type: str
    data: str
    size: int


def read_image(storage: Storage, path: str, max_bytes: int) -> NoteImage:
    """See :meth:`Vault.read_image`."""
    with storage.opened(path) as (descriptor, status, real):
        if status.st_size > max_bytes:
            raise NoteError(f"{path} has {status.st_size:,} bytes, more than the {max_bytes:,} that can be shown", path)
        data = read_all(descriptor, status.st_size)
    media_type = kind_of(data[:65_536], whole=len(data) <= 65_536).media_type
    if media_type not in _SHOWN:
        known = f"it is {media_type}" if media_type else "its bytes are not those of one"
        raise NoteError(f"{path} is not a PNG, JPEG, GIF or WebP picture ({known})", path)
    return NoteImage(real, media_type, base64.b64encode(data).decode("ascii"), len(data))
