"""Bytes of a file as text: which encoding, which characters may be kept, and where a text may be cut."""

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

SAMPLE_BYTES = 1 << 20  # the part of a large file that decides its encoding

_MAGIC = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"BM", "image/bmp"),
    (b"II*\x00", "image/tiff"),
    (b"MM\x00*", "image/tiff"),
    (b"%PDF-", "application/pdf"),
    (b"PK\x03\x04", "application/zip"),
    (b"\x1f\x8b", "application/gzip"),
    (b"\x28\xb5\x2f\xfd", "application/zstd"),
    (b"\x7fELF", "application/x-executable"),
)
_MAGIC_BEGINS = frozenset(magic[:1] for magic, _ in _MAGIC) | {b"R"}  # RIFF
_CONTROLS = bytes(set(range(32)) - set(b"\t\n\r\x0b\x0c\x1b\x08"))
_ZWJ = "\u200d"
_PART_CHARS = 200_000


def clean_text(text: str, *, keep_nul: bool = False) -> str:
    """Text that any file, JSON document or index can hold; the one rule for characters that cannot be stored.

    A surrogate pair becomes its character, a lone surrogate U+FFFD. NUL becomes U+FFFD in notes; JSON escapes NUL and
    offloaded results are kept to the byte, so both pass ``keep_nul=True``. All else is left alone.
    """
    if not text.isascii():
        try:
            text.encode("utf-8")
        except UnicodeEncodeError:
            parts = (part.encode("utf-16-le", "surrogatepass") for part in _parts(text))
            text = "".join([part.decode("utf-16-le", "replace") for part in parts])
    if not keep_nul and "\x00" in text:
        text = text.replace("\x00", "\ufffd")
    return text


def _parts(text: str) -> Iterator[str]:
    """Divide a text where no surrogate pair is: recoding lets no other thread run, and is slow with lone ones."""
    start = 0
    while start < len(text):
        end = start + _PART_CHARS
        while "\ud800" <= text[end - 1 : end] <= "\udbff":
            end += 1
        yield text[start:end]
        start = end


@dataclass(frozen=True, slots=True)
class Kind:
    """What the bytes of a file are.

    ``encoding`` is the codec that displays them, or ``binary``. ``exact`` says whether the text may be changed and
    saved again: only UTF-8 is, so that no file is ever turned into another encoding or into mojibake. ``bom`` is the
    length of its byte order mark. ``media_type`` is known for some binaries.
    """

    encoding: str
    exact: bool = True
    bom: int = 0
    media_type: str = ""


def kind_of(sample: bytes, *, whole: bool = True) -> Kind:
    """Recognise a file by its first bytes. ``whole`` is False when more follow: its end may cut a character."""
    if sample.startswith(b"\xef\xbb\xbf"):
        return Kind("utf-8", bom=3)
    if sample.startswith(b"\xff\xfe\x00\x00"):
        return Kind("utf-32-le", exact=False, bom=4)
    for mark, encoding in ((b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be")):
        if sample.startswith(mark) and _decodes(sample[2:], encoding, whole):
            return Kind(encoding, exact=False, bom=2)
    media_type = _media_type(sample)
    utf8 = _decodes(sample, "utf-8", whole)
    if media_type:
        return Kind("binary", exact=False, media_type=media_type)
    for encoding in ("utf-16-le", "utf-16-be") if b"\x00" in sample[:4096] else ():
        if _looks_utf16(sample, encoding) and _decodes(sample, encoding, whole):
            return Kind(encoding, exact=False)
    if _control_share(sample) > (0.3 if utf8 else 0.05):  # random bytes have 0.09
        return Kind("binary", exact=False)
    if utf8:
        return Kind("utf-8")
    damaged = sample.decode("utf-8", "replace").count("\ufffd")
    multibyte = sum(1 for character in sample.decode("utf-8", "ignore") if ord(character) > 127)
    # A few bad bytes in a UTF-8 file stay as they are when the rest is edited (surrogateescape keeps them).
    few = damaged <= max(3, multibyte // 20)
    if multibyte < 4 * damaged and (encoding := _older_encoding(sample, whole)):
        return Kind(encoding, exact=few and encoding == "cp1252")
    return Kind("utf-8", exact=few)


def decode_exact(data: bytes) -> str:
    """UTF-8 bytes as text that encodes back to the same bytes, also damaged ones; a BOM stays the first character."""
    return data.decode("utf-8", "surrogateescape")


def encode_exact(text: str) -> bytes:
    """The inverse of :func:`decode_exact`."""
    return text.encode("utf-8", "surrogateescape")


def mixes_encodings(old: bytes, new: bytes) -> bool:
    """Whether a change puts UTF-8 beside bytes of an older encoding: no program would then show both as they are meant.

    ``old`` has bytes that are no UTF-8 and none that are; ``new`` has both.
    """
    if old.isascii() or new.isascii() or _decodes(old, "utf-8", True) or _decodes(new, "utf-8", True):
        return False
    return not _has_multibyte(old) and _has_multibyte(new)


def _has_multibyte(data: bytes) -> bool:
    return not data.decode("utf-8", "ignore").isascii()


def display(text: str, *, keep_nul: bool = False) -> str:
    """Decoded text as it may be shown: undecodable bytes, lone surrogates and, mostly, NUL become U+FFFD."""
    return clean_text(text, keep_nul=keep_nul)


def shown_text(data: bytes) -> str:
    """UTF-8 bytes as text that may be shown: as :func:`display` makes it of :func:`decode_exact`."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return display(decode_exact(data))
    return text.replace("\x00", "\ufffd")


def safe_cut(text: str, index: int) -> int:
    """The last place at or before ``index`` where ``text`` can be cut without taking a visible character apart.

    Keeps combining marks, variation selectors, skin tones, ZWJ sequences and flags together; looks back at most 32
    characters, and gives ``index`` itself when that is not enough.
    """
    if index >= len(text):
        return len(text)
    position = index
    for _ in range(32):
        if position <= 0:
            break
        if not _joined(text, position):
            return position
        position -= 1
    return index


def _joined(text: str, position: int) -> bool:
    before, after = text[position - 1], text[position]
    if after == _ZWJ or before == _ZWJ or unicodedata.category(after).startswith("M"):
        return True
    if "\U0001f3fb" <= after <= "\U0001f3ff":
        return True
    if "\U0001f1e6" <= after <= "\U0001f1ff":
        start = position
        while start > 0 and "\U0001f1e6" <= text[start - 1] <= "\U0001f1ff":
            start -= 1
        return (position - start) % 2 == 1
    return before == "\r" and after == "\n"


def _media_type(sample: bytes) -> str:
    if sample[:1] not in _MAGIC_BEGINS and sample[4:8] != b"ftyp":
        return ""
    if sample[:4] == b"RIFF" and sample[8:12] == b"WEBP":
        return "image/webp"
    if sample[4:12] in (b"ftypheic", b"ftypavif", b"ftypmif1"):
        return "image/heic" if sample[8:12] != b"avif" else "image/avif"
    if sample.startswith(b"BM") and sample[6:10] != b"\0\0\0\0":
        return ""  # a text about a BMW; what follows a bitmap's size is nought
    return next((media_type for magic, media_type in _MAGIC if sample.startswith(magic)), "")


def _decodes(data: bytes, encoding: str, whole: bool) -> bool:
    if whole and encoding == "utf-8":
        try:
            data.decode()
        except UnicodeDecodeError:
            return False
        return True
    import codecs

    try:
        codecs.getincrementaldecoder(encoding)("strict").decode(data, final=whole)
    except UnicodeDecodeError:
        return False
    return True


def _control_share(sample: bytes) -> float:
    head = sample[:65_536]
    return 1 - len(head.translate(None, _CONTROLS)) / len(head) if head else 0.0


def _looks_utf16(sample: bytes, encoding: str) -> bool:
    head = sample[:4096]
    if len(head) < 4:
        return False
    high = head[1::2] if encoding == "utf-16-le" else head[0::2]
    low = head[0::2] if encoding == "utf-16-le" else head[1::2]
    return high.count(0) * 3 > len(high) and low.count(0) * 10 < len(low)


def _older_encoding(sample: bytes, whole: bool) -> str:
    from .older_encodings import older_encoding

    return older_encoding(sample, whole=whole)
