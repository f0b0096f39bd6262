"""Images, audio and video that a message holds as base64 text: their bytes, without losing one."""

import base64
import binascii
from collections.abc import Mapping
from typing import Any

from .blocks import MEDIA

_SUFFIXES = {
    "image/png": ".png", "image/jpeg": ".jpg", "image/gif": ".gif", "image/webp": ".webp", "image/svg+xml": ".svg",
    "audio/wav": ".wav", "audio/x-wav": ".wav", "audio/mpeg": ".mp3", "audio/mp3": ".mp3", "video/mp4": ".mp4",
}  # fmt: skip


def inline_media(block: Mapping[str, Any]) -> tuple[bytes, str] | None:
    """Return the bytes of a media block and a file suffix; None when it is none, or its data cannot be decoded whole.

    Both forms are read: a ``base64`` source, and a ``url`` source with a ``data:`` URL.
    """
    source = block.get("source")
    if block.get("type") not in MEDIA or not isinstance(source, Mapping):
        return None
    if source.get("type") == "base64":
        return _decoded(source.get("data"), source.get("media_type"))
    url = source.get("url")
    if source.get("type") == "url" and isinstance(url, str) and url[:5].lower() == "data:":
        head, comma, data = url.partition(",")
        kind, *parameters = head[5:].split(";")
        if comma and "base64" in [parameter.strip().lower() for parameter in parameters]:
            return _decoded(data, kind)
    return None


def _decoded(data: Any, media_type: Any) -> tuple[bytes, str] | None:
    # Characters outside the alphabet would be dropped in silence: such data stays where it is.
    text = "".join(str(data or "").split())
    url_safe = "-" in text or "_" in text
    try:
        raw = base64.b64decode(text, altchars=b"-_" if url_safe else None, validate=True)
    except (binascii.Error, ValueError):
        return None
    return (raw, _SUFFIXES.get(str(media_type).strip().lower(), ".bin")) if raw else None
