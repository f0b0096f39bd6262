"""Forms: what a model is asked to fill in, and what it wrote brought into that form where there is no doubt about it.

Models give a list of one thing as that thing, numbers as text, a list as the text of a list, null for nothing, and
answer with the call of a function they describe. None of that is a reason to lose what they found.
"""

import json
import re
import types
from collections.abc import Iterator, Mapping
from datetime import date
from typing import Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, PrivateAttr, ValidationError

from ..vault.encoding import clean_text

_ENVELOPES = ("arguments", "parameters", "input", "args")
_INTEGER = re.compile(r"\d{1,9}")
_NOTHING = frozenset({"", "none", "null", "n/a", "-", "无"})
_NO_VALUE = object()


class Form(BaseModel):
    """What a model is asked for. ``left_out`` has a sentence for each part of its reply that could not be used."""

    _left_out: list[str] = PrivateAttr(default_factory=list)

    @property
    def left_out(self) -> tuple[str, ...]:
        """What of the reply was of no form at all, told part by part."""
        return tuple(self._left_out)


def readings(schema: type[BaseModel], value: Any) -> Iterator[Any]:
    """What a reply may have meant, the likeliest first: itself in the form, then what it wraps."""
    if (found := fitted(schema, value)) is not _NO_VALUE:
        yield found
    if not isinstance(value, Mapping):
        return
    inner = [value[key] for key in _ENVELOPES if key in value] or (list(value.values()) if len(value) == 1 else [])
    for one in inner:
        if isinstance(one, str):
            one = _json(one)
        if isinstance(one, Mapping) and (found := fitted(schema, one)) is not _NO_VALUE:
            yield found


def fitted(schema: type[BaseModel], value: Any) -> Any:
    """A value in the form of a schema as far as it can be told; what has none of its fields is none of it."""
    fields = schema.model_fields
    if isinstance(value, list):
        if len(value) == 1 and isinstance(value[0], Mapping) and set(value[0]) & set(fields):
            return fitted(schema, value[0])
        lists = [name for name, one in fields.items() if get_origin(one.annotation) is list]
        return fitted(schema, {lists[0]: value}) if lists and value else _NO_VALUE
    if not isinstance(value, Mapping) or not set(value) & set(fields):
        return _NO_VALUE
    made = {}
    for name, field in fields.items():
        if name in value:
            part = _fitted(field.annotation, value[name], not field.is_required())
            if part is not _NO_VALUE:
                made[name] = part
    return made


def salvaged(schema: type[BaseModel], value: Any, error: ValidationError) -> tuple[dict[str, Any], list[str]] | None:
    """A reply without those members of its lists that are of no use, a sentence for each; None when nothing is left."""
    bad: dict[tuple[str, int], str] = {}
    for one in error.errors(include_url=False, include_context=False, include_input=False):
        place = one["loc"]
        if len(place) < 2 or not isinstance(place[1], int):
            return None
        about = ".".join(str(part) for part in place[2:])
        bad.setdefault((str(place[0]), place[1]), f"{about}: {one['msg']}" if about else one["msg"])
    made = dict(value)
    for name in {name for name, _ in bad}:
        made[name] = [one for at, one in enumerate(value[name]) if (name, at) not in bad]
        if not made[name]:
            return None
    return made, [
        f"{name} {at + 1} of the reply was of no use: {problem}" for (name, at), problem in sorted(bad.items())
    ]


def _fitted(kind: Any, value: Any, has_default: bool) -> Any:
    """A part of a reply; ``_NO_VALUE`` where the default says what it means."""
    if get_origin(kind) in (Union, types.UnionType):
        choices = [one for one in get_args(kind) if one is not type(None)]
        kind, has_default = (choices[0] if len(choices) == 1 else Any), True
    if get_origin(kind) is list:
        return [_fitted(get_args(kind)[0], one, False) for one in _listed(get_args(kind)[0], value)]
    if value is None and has_default:
        return _NO_VALUE
    if kind is int:
        return _integer(value, has_default)
    if kind is str:
        return _text(value)
    if get_origin(kind) is Literal and has_default and value not in _choices(kind):
        folded = value.strip().casefold() if isinstance(value, str) else ""
        return folded if folded in _choices(kind) else _NO_VALUE
    if isinstance(kind, type) and issubclass(kind, BaseModel) and isinstance(value, Mapping):
        found = fitted(kind, value)
        return value if found is _NO_VALUE else found
    return value


def _listed(kind: Any, value: Any) -> list[Any]:
    if value is None:
        return []
    if isinstance(value, str):
        parsed = _json(value)
        if isinstance(parsed, list):
            return parsed
        if kind is int:
            return [int(number) for number in _INTEGER.findall(value)]
        if kind is str and value.strip().casefold() in _NOTHING:
            return []
    return value if isinstance(value, list) else [value]


def _integer(value: Any, has_default: bool) -> Any:
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if isinstance(value, str):
        found = _INTEGER.findall(value)
        if len(found) == 1:
            return int(found[0])
        if has_default and value.strip().casefold() in _NOTHING:
            return _NO_VALUE
    return value


def _text(value: Any) -> Any:
    if isinstance(value, list) and value and all(isinstance(one, str) for one in value):
        value = "\n".join(value)
    if isinstance(value, str):
        return clean_text(value)  # a lone surrogate makes no plan malformed
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    return value.isoformat() if isinstance(value, date) else value


def _choices(kind: Any) -> tuple[Any, ...]:
    return get_args(kind)


def _json(text: str) -> Any:
    if text.lstrip()[:1] not in ("[", "{"):
        return text
    try:
        return json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return text
