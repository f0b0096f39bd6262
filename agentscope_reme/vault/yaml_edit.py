"""Changes to single keys of a note's YAML block: the lines of those keys change, every other byte stays (P8).

Where a key stands comes from the one reader in ``yaml_block``; how a value is spelled comes from ruamel.yaml. What was
written is read back before it is returned, so that a value that would not survive is refused instead of mangled.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime
from functools import lru_cache
from io import StringIO
from math import isfinite
from typing import Any

from ..errors import FrontMatterError
from .encoding import clean_text
from .yaml_block import MAX_DEPTH, TEXT_KEYS, Block, Entry, Fences, find_fences, plain_value, read_block

_REFUSED = "the front matter cannot be read ({}), so it is not changed; correct that line and try again"


def set_keys(text: str, changes: Mapping[str, Any]) -> str:
    """Return the note with ``changes`` in its front matter; a block is added to a note that has none.

    Values are None, bool, int, finite float, str, date, datetime, and lists and mappings of them; each reads back equal
    (under a text key such as ``title`` as text). The comment behind a value that stays on its line is kept. When a key
    stands there twice, the last one, which counts, is changed. Raises :class:`FrontMatterError` when the block cannot
    be read, or a value cannot be written.
    """
    wanted = {_key_text(key): _plain_data(value, key) for key, value in changes.items()}
    for key in TEXT_KEYS & wanted.keys():
        wanted[key] = _as_text(wanted[key])
    fences, block = _readable(text)
    wanted = {key: value for key, value in wanted.items() if key not in block.data or not _same(block.data[key], value)}
    if not wanted:
        return text
    for careful in (False, True):
        if fences is None:
            result = _with_new_block(text, wanted, careful)
        elif block.flow:
            result = _with_flow_keys(text, fences, wanted, ())
        else:
            result = _with_keys(text, fences, block, wanted, careful)
        if _reads_as(result, text, {**block.data, **wanted}):
            return result
    names = ", ".join(wanted)
    raise FrontMatterError(f"{names} cannot be written so that it reads back the same; nothing was changed")


def delete_keys(text: str, keys: Iterable[str], *, keep_block: bool = False) -> str:
    """Return the note without these keys, each time they stand there; unknown keys are ignored.

    A block of which nothing remains goes with its last key unless ``keep_block`` is set. Raises
    :class:`FrontMatterError` when the block cannot be read.
    """
    fences, block = _readable(text)
    gone = {_key_text(key) for key in keys} & block.data.keys()
    if fences is None or not gone:
        return text
    if block.flow:
        result = _with_flow_keys(text, fences, {}, tuple(gone))
    else:
        source = text[fences.start : fences.end]
        for entry in reversed(block.entries):
            if entry.key in gone:
                start, end = _lines_of(source, entry)
                source = source[:start] + source[end:]
        result = text[: fences.start] + source + text[fences.end :]
    if not _reads_as(result, text, {key: value for key, value in block.data.items() if key not in gone}):
        names = ", ".join(sorted(gone))
        raise FrontMatterError(f"{names} cannot be deleted without changing another key; nothing was changed")
    return result if keep_block else without_empty_block(result)


def without_empty_block(text: str) -> str:
    """Return the note without its block when nothing, not even a blank line, stands in it.

    The block stays where the body would then begin with a block of its own.
    """
    fences = find_fences(text)
    if fences is None or fences.start != fences.end:
        return text
    mark = "\ufeff" if text.startswith("\ufeff") else ""
    bare = mark + text[fences.body :]
    return text if _begins_with_block(bare) else bare


def compose(front: Mapping[str, Any], body: str) -> str:
    """A new note's text: ``front`` as its block (none when empty), then ``body``, without a byte order mark."""
    body = body.lstrip("\ufeff")
    if not front and find_fences(body) is None:
        return body
    return set_keys("---\n---\n" + body, front)


def _readable(text: str) -> tuple[Fences | None, Block]:
    fences = find_fences(text)
    if fences is None:
        return None, Block()
    source = text[fences.start : fences.end]
    block = read_block(source)
    if block.error is not None:
        line = 2 + source.count("\n", 0, block.error_offset)
        raise FrontMatterError(_REFUSED.format(f"line {line}: {block.error}"))
    return (fences, block) if block.is_mapping else (None, Block())


def _begins_with_block(text: str) -> bool:
    fences = find_fences(text)
    if fences is None:
        return False
    block = read_block(text[fences.start : fences.end])
    return block.is_mapping or block.error is not None


def _with_new_block(text: str, wanted: Mapping[str, Any], careful: bool) -> str:
    body = text.lstrip("\ufeff")
    mark = text[: len(text) - len(body)]
    end = "\r\n" if "\r\n" in text[: text.find("\n") + 1] else "\n"
    lines = "".join(_spell(key, value, careful) for key, value in wanted.items())
    return mark + ("---\n" + lines + "---\n").replace("\n", end) + body


def _with_keys(text: str, fences: Fences, block: Block, wanted: Mapping[str, Any], careful: bool) -> str:
    source = text[fences.start : fences.end]
    end = "\r\n" if text[fences.start - 2 : fences.start] == "\r\n" else "\n"
    first = block.entries[0].start if block.entries else 0
    indent = source[source.rfind("\n", 0, first) + 1 : first] if block.entries else ""
    indent = indent if not indent.strip(" ") else ""
    last = {entry.key: entry for entry in block.entries}
    for entry in sorted((last[key] for key in wanted if key in last), key=lambda entry: -entry.start):
        source = _replaced(source, entry, wanted[entry.key], indent, end, careful)
    for key, value in wanted.items():
        if key not in last:
            source += _indented(_spell(key, value, careful), indent).replace("\n", end)
    return text[: fences.start] + source + text[fences.end :]


def _replaced(source: str, entry: Entry, value: Any, indent: str, end: str, careful: bool) -> str:
    old = source[entry.value_start : entry.value_end]
    nested = isinstance(value, list | dict)
    inline = "\n" not in old and entry.kind in ("plain", "quoted", "flow", "alias")
    flow = _spell_flow(value, careful)
    if inline and "\n" not in flow and (not nested or (entry.kind == "flow" and not careful)):
        # The value alone is replaced, so that its key, the spaces and a comment behind it stay as they were typed.
        space = "" if source[entry.value_start - 1 : entry.value_start] in (" ", "\t") else " "
        return source[: entry.value_start] + space + flow + source[entry.value_end :]
    start, stop = _lines_of(source, entry)
    lines = _indented(_spell(entry.key, value, careful), indent).replace("\n", end)
    return source[:start] + lines + source[stop:]


def _lines_of(source: str, entry: Entry) -> tuple[int, int]:
    """The whole lines of a key, without blank lines behind it: they belong to nobody and stay."""
    start = source.rfind("\n", 0, entry.start) + 1
    used = len(source[: entry.value_end].rstrip()) if entry.kind == "literal" else entry.value_end
    stop = source.find("\n", max(used, entry.start)) + 1
    return start, stop or len(source)


def _indented(lines: str, indent: str) -> str:
    return "".join(indent + line for line in lines.splitlines(keepends=True)) if indent else lines


def _with_flow_keys(text: str, fences: Fences, wanted: Mapping[str, Any], gone: tuple[str, ...]) -> str:
    """The block is one ``{...}``: its keys share their lines, so that ruamel writes it anew, quotes and order kept."""
    source = text[fences.start : fences.end]
    yaml = _ruamel()
    data = yaml.load(source)
    for key in [key for key in data if str(key) in gone]:
        del data[key]
    for key, value in wanted.items():
        data[key] = _styled(value, False)
    out = StringIO()
    yaml.dump(data, out)
    end = "\r\n" if text[fences.start - 2 : fences.start] == "\r\n" else "\n"
    return text[: fences.start] + out.getvalue().replace("\n", end) + text[fences.end :]


@lru_cache(maxsize=1)
def _representer() -> Any:
    """ruamel's, with our spellings; a class of its own, because representers are registered on the class."""
    from ruamel.yaml.representer import RoundTripRepresenter

    class NoteRepresenter(RoundTripRepresenter):
        pass

    def number(value: float) -> str:
        # YAML 1.1 knows an exponent only behind a decimal point.
        return repr(value) if "." in repr(value) else repr(value).replace("e", ".0e")

    for kind, tag, spelling in (
        (type(None), "null", lambda _: "~"),
        (float, "float", number),
        (datetime, "timestamp", datetime.isoformat),
    ):
        NoteRepresenter.add_representer(kind, _scalar_representer(f"tag:yaml.org,2002:{tag}", spelling))
    return NoteRepresenter


def _scalar_representer(tag: str, spelling: Callable[[Any], str]) -> Callable[[Any, Any], Any]:
    return lambda representer, value: representer.represent_scalar(tag, spelling(value))


def _ruamel() -> Any:
    """A new one for each use: it keeps state while it works, and notes are changed in threads."""
    from ruamel.yaml import YAML

    yaml = YAML(typ="rt")
    yaml.Representer = _representer()
    yaml.preserve_quotes = True
    yaml.allow_duplicate_keys = True
    yaml.width = 2**31
    yaml.indent(mapping=2, sequence=4, offset=2)
    return yaml


def _spell(key: str, value: Any, careful: bool) -> str:
    """The lines of one key, each ending in a line feed."""
    out = StringIO()
    _ruamel().dump({_string(key, False, careful): _styled(value, careful)}, out)
    return out.getvalue().removesuffix("...\n")


def _spell_flow(value: Any, careful: bool) -> str:
    """A value as it stands behind its colon, on one line where YAML allows it."""
    from ruamel.yaml.comments import CommentedMap

    pair = CommentedMap({"k": _styled(value, careful, flow=True)})
    out = StringIO()
    _ruamel().dump(pair, out)
    return out.getvalue().removeprefix("k:").strip(" \n")


def _styled(value: Any, careful: bool, flow: bool = False) -> Any:
    from ruamel.yaml.comments import CommentedMap, CommentedSeq

    if isinstance(value, str):
        return _string(value, not flow, careful)
    if isinstance(value, list):
        sequence = CommentedSeq(_styled(item, careful, flow) for item in value)
        if flow or not value:
            sequence.fa.set_flow_style()
        return sequence
    if isinstance(value, dict):
        mapping = CommentedMap(
            (_string(key, False, careful), _styled(inner, careful, flow)) for key, inner in value.items()
        )
        if flow or not value:
            mapping.fa.set_flow_style()
        return mapping
    return value


def _string(text: str, literal: bool, careful: bool) -> str:
    from ruamel.yaml.scalarstring import DoubleQuotedScalarString, LiteralScalarString

    if not careful and literal and "\n" in text and _fits_literal(text):
        return LiteralScalarString(text)
    if careful or not text.isprintable() or _is_ambiguous(text):
        return DoubleQuotedScalarString(text)
    return text


def _fits_literal(text: str) -> bool:
    lines = text.split("\n")
    return bool(lines[0].strip()) and all(line.isprintable() and line == line.strip() for line in lines)


def _is_ambiguous(text: str) -> bool:
    """Whether some YAML reader in use would take the plain text for something else than this text.

    Editors read YAML 1.2, PyYAML reads 1.1 (``no``, ``0123``, ``12:34:56``), and ``[[x]]`` is a list to all of them.
    """
    from yaml import ScalarNode
    from yaml.resolver import Resolver

    if "[[" in text or "{{" in text or text in ("y", "Y", "n", "N") or plain_value(text) != text:
        return True
    return bool(Resolver().resolve(ScalarNode, text, (True, False)) != "tag:yaml.org,2002:str")


def _key_text(key: Any) -> str:
    if not isinstance(key, str) or not key.strip():
        raise FrontMatterError(f"{key!r} is no front-matter key: a key is a text that is not empty")
    return clean_text(key, keep_nul=True)


def _plain_data(value: Any, key: str, depth: int = 1) -> Any:
    if value is None or isinstance(value, bool | date):
        return value
    if isinstance(value, str):
        return clean_text(str(value), keep_nul=True)
    if isinstance(value, int) and abs(value) < 10**300:
        return int(value)
    if isinstance(value, float) and isfinite(value):
        return float(value)
    if isinstance(value, list | tuple) and depth < MAX_DEPTH:
        return [_plain_data(item, key, depth + 1) for item in value]
    if isinstance(value, Mapping) and depth < MAX_DEPTH:
        return {_key_text(name): _plain_data(inner, key, depth + 1) for name, inner in value.items()}
    raise FrontMatterError(
        f"the value of {key} ({type(value).__name__}) cannot be written to front matter; use text, numbers, dates, or"
        " lists and mappings of them"
    )


def _as_text(value: Any) -> Any:
    if isinstance(value, list):
        return [_as_text(item) for item in value]
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, date):
        return value.isoformat()
    return str(value) if isinstance(value, int | float) else value


def _same(left: Any, right: Any) -> bool:
    """Equal in type as well: ``1``, ``1.0`` and ``True`` differ, and so do two clocks that show one instant."""
    if type(left) is not type(right):
        return False
    if isinstance(left, list):
        return len(left) == len(right) and all(map(_same, left, right))
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(_same(value, right[key]) for key, value in left.items())
    if isinstance(left, datetime):
        return bool(left.isoformat() == right.isoformat())
    return bool(left == right)


def _reads_as(result: str, before: str, data: Mapping[str, Any]) -> bool:
    fences, old = find_fences(result), find_fences(before)
    if fences is None:
        return False
    block = read_block(result[fences.start : fences.end])
    kept_bodies = {before[old.body :] if old else "", before.lstrip("\ufeff")}
    return block.error is None and _same(block.data, dict(data)) and result[fences.body :] in kept_bodies
