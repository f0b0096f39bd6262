"""The text between the fences of a note as keys and values, with where each of them stands.

YAML 1.2's core types, read conservatively: a plain scalar is a number only when the number written back gives the same
characters, so that nothing a user typed is mangled (``0123``, ``1.10``, ``12:34:56`` and a hash like ``12e3456`` are
text); ``yes``, ``no``, ``on`` and ``off`` are text; a date that does not exist is text.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, datetime
from functools import lru_cache
from typing import Any

MAX_BLOCK_CHARS = 131_072
"""Longest block that is read, in characters; the largest in real vaults are a few thousand."""

MAX_VALUES = 10_000
"""Most scalars and collections in a block, those repeated by an alias counted each time."""

MAX_DEPTH = 32
"""Deepest nesting of lists and mappings in a block."""

LIST_KEYS = frozenset({"tags", "tag", "aliases", "alias", "supersedes"})
"""Top-level keys that hold a list of texts, or one."""
TEXT_KEYS = LIST_KEYS | {
    *("title", "name", "description", "generator", "trust"),
    *("session_id", "source_conversation", "source_resource"),
}
"""Top-level keys whose scalars are text whatever they look like (``title: 2026``, ``tags: [no]``)."""

_OPENING = re.compile(r"\ufeff*---[ \t]*\r?\n")
_CLOSING = re.compile(r"^(?:---|\.\.\.)[ \t]*\r?$(?:\n|\Z)", re.MULTILINE)
_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,299}")
_DECIMAL = re.compile(r"-?(?:0|[1-9][0-9]*)\.[0-9]+(?:[eE][-+][0-9]+)?")
_TIMESTAMP = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})"
    r"(?:[Tt ]([0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,6})?)[ \t]*(Z|[-+][0-9]{2}(?::?[0-9]{2})?)?)?"
)
_WORDS: dict[str, bool | None] = {
    "~": None,
    "": None,
    "null": None,
    "Null": None,
    "NULL": None,
    "true": True,
    "True": True,
    "TRUE": True,
    "false": False,
    "False": False,
    "FALSE": False,
}
_LINK = re.compile(r"\[\[[^\[\]\r\n]+\]\]")
_TEMPLATE = re.compile(r"\{\{[^{}\r\n]*\}\}")
_KEY_LINE = re.compile(r"^[ \t]*(?:[\"']?\w[\w ./-]{0,63}[\"']?[ \t]*:(?:[ \t]|$)|\{)", re.MULTILINE)


@dataclass(slots=True)
class Entry:
    """Where one top-level key stands in the block, in character offsets; ``value_end`` is after its last character."""

    key: str
    start: int
    value_start: int
    value_end: int
    kind: str  # "plain", "quoted", "literal", "flow", "block", "alias"


@dataclass(slots=True)
class Block:
    """A block read: its data, or why it cannot be read; whether it is a mapping at all."""

    data: dict[str, Any] = field(default_factory=dict)
    entries: list[Entry] = field(default_factory=list)
    error: str | None = None
    error_offset: int = 0
    is_mapping: bool = True
    flow: bool = False
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Fences:
    """Where the block lies in a note: ``text[start:end]`` is between the fences, ``text[body:]`` is after them."""

    start: int
    end: int
    body: int


class BlockError(Exception):
    """The block breaks a bound; ``offset`` is where, in characters."""

    def __init__(self, problem: str, offset: int) -> None:
        super().__init__(problem)
        self.problem = problem
        self.offset = offset


def find_fences(text: str) -> Fences | None:
    """Find the front matter by its two fence lines; None when the note has none.

    The first line (after a byte order mark) is ``---``, the closing line is ``---`` or ``...``, both with nothing but
    spaces or tabs behind them. Dashes inside a line, indented, or more than three close nothing.
    """
    if not text.startswith(("---", "\ufeff")):
        return None
    opening = _OPENING.match(text)
    if opening is None:
        return None
    closing = _CLOSING.search(text, opening.end())
    return None if closing is None else Fences(opening.end(), closing.start(), closing.end())


def read_block(source: str) -> Block:
    """Read the text between the fences. Never raises: ``error`` says why it cannot be read."""
    from frontmatter.default_handlers import YAMLHandler
    from yaml import YAMLError

    if not source or source.isspace():
        return Block()
    if len(source) > MAX_BLOCK_CHARS:
        return Block(error=f"the block is longer than {MAX_BLOCK_CHARS} characters")
    try:
        source.encode()
    except UnicodeEncodeError:
        # libyaml takes UTF-8; a lone surrogate has none. One character for one keeps every offset.
        source = "".join("\ufffd" if "\ud800" <= char <= "\udfff" else char for char in source)
    try:
        loaded = YAMLHandler().load(source, Loader=_loader())
    except BlockError as error:
        return Block(error=error.problem, error_offset=error.offset)
    except YAMLError as error:
        problem, offset = _problem(error)
        if _KEY_LINE.search(source) is None:
            return Block(is_mapping=False)  # a paragraph between two rules
        return Block(error=problem, error_offset=offset)
    assert isinstance(loaded, Block)
    return loaded


def plain_value(text: str) -> Any:
    """The typed value of a plain scalar, by the rule in the head of this module."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in "-0123456789":
        return text
    if _INTEGER.fullmatch(text):
        return int(text)
    if _DECIMAL.fullmatch(text):
        number = float(text)
        return number if repr(number) == text or ("e" in text.lower() and abs(number) != float("inf")) else text
    stamp = _TIMESTAMP.fullmatch(text)
    if stamp is None:
        return text
    day, time, zone = stamp.groups()
    try:
        return date.fromisoformat(day) if time is None else datetime.fromisoformat(f"{day}T{time}{zone or ''}")
    except ValueError:
        return text


def _problem(error: Exception) -> tuple[str, int]:
    mark = getattr(error, "problem_mark", None)
    if mark is not None:
        return str(getattr(error, "problem", None) or "it is not YAML"), int(mark.index)
    reason = str(getattr(error, "reason", "") or str(error) or "it is not YAML")
    return reason, int(getattr(error, "position", 0) or 0)


@lru_cache(maxsize=1)
def _loader() -> Any:
    import yaml

    base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

    class NoteLoader(base):
        def __init__(self, stream: str) -> None:
            super().__init__(stream)
            self._source = stream

        def get_single_data(self) -> Block:
            return _Reader(self.get_event, self._source).read()

    return NoteLoader


class _Reader:
    """Builds a :class:`Block` from libyaml's events: one pass, no node tree, every bound checked on the way."""

    def __init__(self, get_event: Callable[[], Any], source: str) -> None:
        from yaml import events

        self._next = get_event
        self._source = source
        self._count = 0
        self._end = 0
        self._kind = ""
        self._anchors: dict[str, tuple[Any, int]] = {}
        self._open: set[str] = set()
        self._scalar = events.ScalarEvent
        self._mapping = events.MappingStartEvent
        self._sequence = events.SequenceStartEvent
        self._alias = events.AliasEvent
        self._closers = (events.MappingEndEvent, events.SequenceEndEvent)
        self._stream_end = events.StreamEndEvent

    def read(self) -> Block:
        self._next()
        event = self._next()
        if type(event) is self._stream_end:
            return Block()
        root = self._next()
        if type(root) is not self._mapping:
            self._drain()
            return Block(is_mapping=False)
        block = Block(flow=bool(root.flow_style))
        doubled: list[str] = []
        while type(event := self._next()) not in self._closers:
            key = self._key(event)
            start = event.start_mark.index
            value_event = self._next()
            value = self._value(value_event, 1, key in TEXT_KEYS)
            if key in block.data:
                doubled.append(key)
            if value == "null" and key in LIST_KEYS and self._kind == "plain":
                value = None
            block.data[key] = value
            block.entries.append(Entry(key, start, value_event.start_mark.index, self._end, self._kind))
        self._drain()
        if doubled:
            block.warnings = tuple(f"{key!r} stands there more than once; the last one counts" for key in doubled)
        return block

    def _drain(self) -> None:
        while type(self._next()) is not self._stream_end:
            pass

    def _key(self, event: Any) -> str:
        if type(event) is self._scalar:
            self._tick(event)
            return str(event.value)
        start = event.start_mark.index
        self._value(event, 1, True)
        return self._source[start : self._end].strip()

    def _tick(self, event: Any, weight: int = 1) -> None:
        self._count += weight
        if self._count > MAX_VALUES:
            raise BlockError(f"the block holds more than {MAX_VALUES} values", event.start_mark.index)

    def _value(self, event: Any, depth: int, as_text: bool) -> Any:
        kind = type(event)
        if kind is self._alias:
            return self._repeat(event)
        before = self._count
        self._tick(event)
        anchor = event.anchor
        if kind is self._scalar:
            value = self._scalar_value(event, depth, as_text)
            self._end = event.end_mark.index
            self._kind = {"": "plain", "'": "quoted", '"': "quoted"}.get(event.style or "", "literal")
        else:
            if depth >= MAX_DEPTH:
                raise BlockError(f"the block nests deeper than {MAX_DEPTH} levels", event.start_mark.index)
            if anchor is not None:
                self._open.add(anchor)
            value = self._collection(event, kind is self._mapping, depth, as_text)
            self._open.discard(anchor)
        if anchor is not None:
            self._anchors[anchor] = (value, self._count - before)
        return value

    def _scalar_value(self, event: Any, depth: int, as_text: bool) -> Any:
        text = event.value
        if event.style or event.tag == "tag:yaml.org,2002:str":
            return text
        # Only "nothing" and "~" are no title; "null" is one. A list of tags that says `null` is none either way.
        if as_text:
            return None if text in ("", "~") else text
        return plain_value(text)

    def _collection(self, event: Any, is_mapping: bool, depth: int, as_text: bool) -> Any:
        start = event.start_mark.index
        flow = bool(event.flow_style)
        value: Any = {} if is_mapping else []
        self._end = event.end_mark.index
        while type(item := self._next()) not in self._closers:
            if is_mapping:
                key = self._key(item)
                value[key] = self._value(self._next(), depth + 1, False)
            else:
                value.append(self._value(item, depth + 1, as_text))
        if flow:
            self._end = item.end_mark.index
            source = self._source[start : self._end]
            if (_LINK.fullmatch(source) and not _numbers(value)) or _TEMPLATE.fullmatch(source):
                value = source
        self._kind = "flow" if flow else "block"
        return value

    def _repeat(self, event: Any) -> Any:
        anchor = event.anchor
        if anchor in self._open or anchor not in self._anchors:
            raise BlockError(f"the alias *{anchor} repeats nothing that stands before it", event.start_mark.index)
        value, weight = self._anchors[anchor]
        self._tick(event, weight)
        self._end = event.end_mark.index
        self._kind = "alias"
        return value


def _numbers(value: Any) -> bool:
    inner = value[0] if len(value) == 1 else None
    return isinstance(inner, list) and all(isinstance(item, int | float) for item in inner)
