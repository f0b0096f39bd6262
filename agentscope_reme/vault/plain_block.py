"""Front matter of plain keys, as nearly all notes have it, read without a YAML parser.

Only rows whose meaning in YAML is beyond doubt are read here: ``key: words``, a text in quotes without escapes, a list
of words in brackets or below its key. Anything else (comments, tabs, nesting, several rows of text, a key that stands
there twice) is left to ``yaml_block``, which has the last word.
"""

from typing import Any

from ..expression import expression
from .yaml_block import LIST_KEYS, MAX_VALUES, TEXT_KEYS, plain_value

# All of them printable, none of them with a meaning inside a plain scalar.
_WIDE = r"§»—…·，。、：；！？（）《》“”‘’「」『』【】\u2190-\u27bf\U0001f300-\U0001f6ff\U0001f900-\U0001f9ff"
_SIGNS = r"()+=@$%^&*!?;<>|/\\.,~'\"-"
_WORDS = rf"(?!_)[\w{_WIDE}](?:[\w {_WIDE}{_SIGNS}]|:(?=[\w/]))*(?<! )"
_IN_BRACKETS = r"[^\W_](?:[\w /.+-])*(?<! )"
_IN_QUOTES = rf"[\w \[\]{{}}#:()+=@$%^&*!?;<>|/.,~{_WIDE}-]*"
_ROW = expression(
    r"([^\W\d_][\w-]{0,63}(?: [\w-]{1,63}){0,3}):"
    rf"(?: +(?:({_WORDS})|\"({_IN_QUOTES})\"|'({_IN_QUOTES})'|\[({_IN_BRACKETS}(?:, {_IN_BRACKETS})*)?(\])))? *"
)
_ITEM = expression(rf"( *)- (?:({_WORDS})|\"({_IN_QUOTES})\"|'({_IN_QUOTES})')")


def read_plain_block(source: str) -> dict[str, Any] | None:
    """The keys and values of a block, as ``yaml_block.read_block`` reads them; None when it is not plain."""
    if len(source) > MAX_VALUES:
        return None
    data: dict[str, Any] = {}
    items: list[Any] | None = None  # of the list below a key, once there may be one
    key, indent = "", ""
    for row in source.removesuffix("\n").split("\n"):
        if items is not None and (item := _ITEM.fullmatch(row)) is not None:
            if not items:
                indent = item[1]
                data[key] = items
            elif item[1] != indent:
                return None
            items.append(_value(item[2], key) if item[2] is not None else item[item.lastindex or 0])
            continue
        found = _ROW.fullmatch(row)
        if found is None or found[1] in data:
            return None
        key, items = found[1], None
        kind = found.lastindex
        if kind == 1:
            data[key], items = None, []
        elif kind == 2:
            value = _value(found[2], key)
            data[key] = None if value == "null" and key in LIST_KEYS else value
        elif kind == 6:
            data[key] = [_value(word, key) for word in found[5].split(", ")] if found[5] else []
        else:
            data[key] = found[kind or 0]
    return data


def _value(words: str, key: str) -> Any:
    return words if key in TEXT_KEYS else plain_value(words)
