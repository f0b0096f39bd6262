"""Any Python value as strict JSON, by stated rules, so that saving never fails on an odd value.

| value | becomes |
|---|---|
| str | itself, lone surrogates as U+FFFD (NUL is kept: JSON escapes it) |
| NaN, infinities | null |
| an integer too long for decimal text | its hexadecimal text |
| date, time, datetime | ISO 8601 text |
| timedelta | seconds |
| Path, UUID, Decimal, complex | text |
| Enum | its value |
| bytes | their UTF-8 text, or base64 when they are not UTF-8 |
| tuple, set, frozenset, deque, other iterables of the standard library | list (sets sorted) |
| mapping | object; keys become text, of two keys with one text the later wins |
| pydantic model, dataclass, numpy array or scalar | what they hold |
| an object inside itself, or deeper than 100 levels | null |
| anything else | its ``str()`` |
"""

import dataclasses
import json
import math
from collections import deque
from collections.abc import Mapping
from datetime import date, datetime, time, timedelta
from enum import Enum
from typing import Any

from .encoding import clean_text

_MAX_DEPTH = 100
# What is deeper, or an integer that is longer, is looked at by the conversion.
_PLAIN_DEPTH, _PLAIN_BITS = 50, 2_000

_UNSORTED = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
_SORTED = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), sort_keys=True)


def to_jsonable(value: Any, converted: list[str] | None = None) -> Any:
    """A copy of ``value`` made of JSON types only; see the module's table.

    ``converted`` receives a line for each value that will not come back as it was: ``"metadata.when: datetime"``.
    """
    return _Conversion(converted).convert(value, "", 0)


def is_jsonable(value: Any, depth: int = 0) -> bool:
    """Say whether ``value`` is what :func:`to_jsonable` makes of it; True is certain, False means that it may differ.

    It takes a third of the time that the conversion takes.
    """
    kind = type(value)
    if kind is str:
        return value.isascii() or _encodable(value)
    if kind is dict or kind is list:
        if depth >= _PLAIN_DEPTH:
            return False
        if kind is dict:
            for key in list(value):
                if type(key) is not str or not (key.isascii() or _encodable(key)):
                    return False
            value = value.values()
        for item in list(value):
            if not (type(item) is str and item.isascii()) and not is_jsonable(item, depth + 1):
                return False
        return True
    if kind is int:
        return value.bit_length() <= _PLAIN_BITS
    return value is None or kind is bool or (kind is float and math.isfinite(value))


def _encodable(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def dumps(value: Any, *, sort_keys: bool = False) -> str:
    """One line of strict JSON (no bare NaN, no escaped Chinese) for any value."""
    plain = value if is_jsonable(value) else to_jsonable(value)
    return (_SORTED if sort_keys else _UNSORTED).encode(plain)


class _Conversion:
    """One walk over a value: what was converted, and which containers are being walked."""

    def __init__(self, converted: list[str] | None) -> None:
        self.converted = converted
        self.open: set[int] = set()

    def note(self, where: str, value: Any) -> None:
        if self.converted is not None:
            self.converted.append(f"{where or '(value)'}: {type(value).__name__}")

    def convert(self, value: Any, where: str, depth: int) -> Any:
        if value is None or value is True or value is False:
            return value
        kind = type(value)
        if kind is str:
            return clean_text(value, keep_nul=True)
        if kind is int:
            return value if value.bit_length() <= _PLAIN_BITS else self.long_integer(value, where)
        if kind is float:
            if math.isfinite(value):
                return value
            self.note(where, value)
            return None
        if kind is dict or kind is list:
            return self.container(value, where, depth)
        return self.other(value, where, depth)

    def container(self, value: Any, where: str, depth: int) -> Any:
        if depth >= _MAX_DEPTH or id(value) in self.open:
            self.note(where, value)
            return None
        self.open.add(id(value))
        try:
            if isinstance(value, Mapping):
                return {
                    self.key(key): self.convert(item, f"{where}.{key}" if where else str(key), depth + 1)
                    for key, item in value.items()
                }
            return [self.convert(item, f"{where}[{index}]", depth + 1) for index, item in enumerate(value)]
        finally:
            self.open.discard(id(value))

    def key(self, key: Any) -> str:
        if isinstance(key, str):
            return clean_text(key, keep_nul=True)
        plain = self.convert(key, "", _MAX_DEPTH - 5)
        return plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False)

    def long_integer(self, value: int, where: str) -> int | str:
        """Python refuses decimal text of thousands of digits, by a limit that each process may set."""
        try:
            str(value)
        except ValueError:
            self.note(where, value)
            return hex(value)
        return value

    def other(self, value: Any, where: str, depth: int) -> Any:
        if isinstance(value, Enum):
            return self.convert(value.value, where, depth)
        if isinstance(value, str):
            return clean_text(str.__str__(value), keep_nul=True)
        if isinstance(value, int):
            return self.convert(int(value), where, depth)
        self.note(where, value)
        if isinstance(value, float):
            return float(value) if math.isfinite(value) else None
        if isinstance(value, datetime | date | time):
            return value.isoformat()
        if isinstance(value, timedelta):
            return value.total_seconds()
        if isinstance(value, bytes | bytearray | memoryview):
            return _bytes_text(bytes(value))
        if isinstance(value, Mapping):
            return self.container(value, where, depth)
        if isinstance(value, set | frozenset):
            items = [self.convert(item, where, depth + 1) for item in value]
            return sorted(items, key=lambda item: json.dumps(item, sort_keys=True, ensure_ascii=True))
        if isinstance(value, tuple | list | deque | range) or type(value).__name__ in ("dict_keys", "dict_values"):
            return self.container(value, where, depth)
        return self.foreign(value, where, depth)

    def foreign(self, value: Any, where: str, depth: int) -> Any:
        if depth >= _MAX_DEPTH or id(value) in self.open:
            return None
        self.open.add(id(value))
        try:
            held = _held(value)
            if held is not None:
                return self.convert(held, where, depth + 1)
            return clean_text(str(value), keep_nul=True)
        except Exception:  # a foreign object's own methods may fail in any way; a save must not
            return f"<{type(value).__name__}>"
        finally:
            self.open.discard(id(value))


def _held(value: Any) -> Any:
    if isinstance(value, type):
        return None
    if dataclasses.is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    for method in ("model_dump", "tolist"):  # pydantic; numpy arrays and scalars
        if callable(getattr(value, method, None)):
            return getattr(value, method)()
    return None


def _bytes_text(data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        import base64

        return base64.b64encode(data).decode("ascii")
