"""The YAML block at the top of a note: one reading, and edits that touch only the lines of their keys.

The grammar is in ``docs/note-format.md``. Reading goes through python-frontmatter's YAML handler with a loader of our
own on libyaml's events (``yaml_block``), because notes are not configuration files: ``id: 0123`` is an id, ``title:
2026`` is a title and ``[[Alpha]]`` is a link. Writing (``yaml_edit``) leaves every other byte as it is.
"""

import re
from dataclasses import dataclass
from typing import Any

from ..models import FileFrontMatter
from .plain_block import read_plain_block
from .yaml_block import TEXT_KEYS, find_fences, read_block
from .yaml_edit import compose, delete_keys, set_keys, without_empty_block

__all__ = [
    "TEXT_KEYS",
    "ParsedNote",
    "compose",
    "delete_keys",
    "parse",
    "set_keys",
    "text_list",
    "text_of",
    "typed_value",
    "without_empty_block",
]

_PLAIN_KEY = re.compile(r"[^\W\d]\w*")


@dataclass(frozen=True, slots=True)
class ParsedNote:
    """A note taken apart. ``body`` is the end of the file's text, from line ``body_line`` (1-based) on.

    ``raw`` is the text between the fences, None without front matter. ``warnings`` are sentences about what was read
    but is doubtful, such as a key that stands there twice.
    """

    front: FileFrontMatter
    body: str
    body_line: int
    raw: str | None
    warnings: tuple[str, ...] = ()


def parse(text: str) -> ParsedNote:
    """Take a note apart. Never raises: a block that cannot be read sets ``front.error`` (line of the file, and why).

    A block that is no list of keys (a rule, a paragraph and a rule) is not front matter and stays in the body.
    """
    fences = find_fences(text)
    if fences is not None and (keys := read_plain_block(text[fences.start : fences.end])) is not None:
        raw = text[fences.start : fences.end]
        return ParsedNote(FileFrontMatter(keys), text[fences.body :], 1 + text.count("\n", 0, fences.body), raw)
    block = None if fences is None else read_block(text[fences.start : fences.end])
    if fences is None or block is None or not block.is_mapping:
        return ParsedNote(FileFrontMatter(), text.lstrip("\ufeff") if text.startswith("\ufeff") else text, 1, None)
    raw = text[fences.start : fences.end]
    error = None if block.error is None else f"line {2 + raw.count(chr(10), 0, block.error_offset)}: {block.error}"
    front = FileFrontMatter(block.data if error is None else {}, error)
    return ParsedNote(front, text[fences.body :], 1 + text.count("\n", 0, fences.body), raw, block.warnings)


def text_of(value: Any) -> str:
    """A front-matter value as the words a person would search for: lists and mappings joined, nothing for None."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return " ".join(part for key, inner in value.items() for part in (str(key), text_of(inner)) if part)
    if isinstance(value, list | tuple):
        return " ".join(part for part in map(text_of, value) if part)
    return str(value)


def text_list(front: FileFrontMatter, key: str) -> tuple[str, ...]:
    """The texts under ``key``, whether one was written or a list; ``tags: a, #b`` are two tags."""
    value = front.data.get(key)
    items = list(value) if isinstance(value, list | tuple) else [value]
    texts = [text_of(item).strip() for item in items]
    if key in ("tags", "tag"):
        texts = [part.lstrip("#") for text in texts for part in text.replace(",", " ").split()]
    return tuple(dict.fromkeys(text for text in texts if text))


def typed_value(key: str, text: str) -> Any:
    """What ``text`` means when a person types it behind ``key:`` in a note; the text itself when YAML takes it apart.

    ``[a, b]`` is a list, ``true`` a boolean, ``0123`` and ``Foo: bar`` are texts.
    """
    start = text.strip()[:1]
    # Where YAML would see a comment, a block, an anchor or a tag, a person means characters.
    comment = " #" in text and start not in ('"', "'", "[", "{")
    if comment or start in ("", "|", ">", "&", "*", "!", "%", "@", "`", "#") or "\n" in text or "\r" in text:
        return text
    front = parse(f"---\n{key if _PLAIN_KEY.fullmatch(key) else 'key'}: {text}\n---\n").front
    return next(iter(front.data.values())) if front.error is None and len(front.data) == 1 else text
