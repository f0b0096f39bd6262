"""Working memory as JSON: what ``state_dict`` gives and what ``load_state_dict`` accepts.

The shape is that of AgentScope's ``InMemoryMemory`` (``content`` as ``[message, marks]`` pairs,
``_compressed_summary``) with one more key, ``reme``, which the stock class ignores. Older shapes load: a flat list of
messages, marks missing, no summary. Missing keys take their defaults, keys that nobody knows are ignored and not saved
again, marks that nobody knows are kept. What has the wrong type raises one
:class:`~agentscope_reme.errors.StateError` that names the key, before anything is changed.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from datetime import datetime
from enum import Enum
from typing import TYPE_CHECKING, Any

from ..errors import StateError
from .envelope import language_of
from .tombstones import Tombstones

if TYPE_CHECKING:
    from agentscope.message import Msg

    from .in_memory import ReMeInMemoryMemory

SCHEMA_VERSION = 1

_LIST = (list, tuple)
_WORDS = {"str": "text", "dict": "an object", "list": "a list", "bool": "true or false"}


@dataclass
class SummaryNote:
    """What is known about the checkpoint beside its text. ``since`` is the time of its envelope's message.

    ``owed`` are the ids of journalled messages that a model has still to condense, because it failed when they left;
    ``base`` is the checkpoint before them.
    """

    language: str = "en"
    inside_turn: bool = False
    generator: str = ""
    since: str = ""
    owed: list[str] = field(default_factory=list)
    base: str = ""


def note_of_caller(summary: str) -> SummaryNote:
    """Return the note on a checkpoint that a caller has just set."""
    now = datetime.now().strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]
    return SummaryNote(language=language_of([summary]), generator="caller", since=now)


@dataclass
class SavedMemory:
    """A state as it was read."""

    content: list[tuple["Msg", list[str]]] = field(default_factory=list)
    summary: str = ""
    session_id: str | None = None
    tombstones: Tombstones = field(default_factory=Tombstones)
    note: SummaryNote = field(default_factory=SummaryNote)


def unpickled(kind: "type[ReMeInMemoryMemory]", settings: dict[str, Any], state: dict[str, Any]) -> Any:
    """Make a memory again of what a pickle of one holds; it has no vault yet."""
    from .in_memory import ReMeInMemoryMemory

    memory = kind.__new__(kind)
    ReMeInMemoryMemory.__init__(memory, **settings)
    memory.load_state_dict(state)
    return memory


def dump(
    stock: Mapping[str, Any],
    session_id: str,
    tombstones: str,
    note: SummaryNote,
    converted: list[str],
) -> dict[str, Any]:
    """Return strict JSON values that share nothing with the memory.

    Args:
        stock: The state as the stock class gives it.
        session_id: Names the journal.
        tombstones: Which messages left, as :meth:`Tombstones.text` gives them.
        note: About the checkpoint.
        converted: Receives what had to be changed to become JSON.
    """
    from ..vault.jsonable import to_jsonable

    own = {
        "version": SCHEMA_VERSION,
        "session_id": session_id,
        "tombstones": tombstones,
        "summary": asdict(note),
    }
    result: dict[str, Any] = to_jsonable({**stock, "reme": own}, converted)
    return result


def read(state: Any) -> SavedMemory:
    """Read a state of this or an older shape. Raises StateError, naming the key, when a value has the wrong type."""
    if not isinstance(state, dict):
        raise StateError(f"a memory state is an object, not {type(state).__name__}; nothing was loaded")
    own = _typed("reme", state.get("reme"), dict) or {}
    return SavedMemory(
        [_entry(item, f"content[{i}]") for i, item in enumerate(_typed("content", state.get("content"), _LIST) or [])],
        _typed("_compressed_summary", state.get("_compressed_summary"), str) or "",
        _typed("reme.session_id", own.get("session_id"), str) or None,
        _tombstones(own.get("tombstones")),
        _note(_typed("reme.summary", own.get("summary"), dict) or {}),
    )


def _tombstones(saved: Any) -> Tombstones:
    """Those of a state: one text, or a list of ids."""
    if isinstance(saved, str):
        try:
            return Tombstones.of(saved)
        except ValueError as error:
            raise StateError(f"reme.tombstones: not what was saved ({error}); nothing was loaded") from error
    ids = _typed("reme.tombstones", saved, _LIST) or []
    for i, name in enumerate(ids):
        _typed(f"reme.tombstones[{i}]", name, str, missing=False)
    return Tombstones(ids)


def _note(saved: Mapping[str, Any]) -> SummaryNote:
    defaults = SummaryNote()
    known = {}
    for one in fields(SummaryNote):
        default = getattr(defaults, one.name)
        value = _typed(f"reme.summary.{one.name}", saved.get(one.name), type(default))
        known[one.name] = default if value is None else value
    return SummaryNote(**known)


def _entry(item: Any, where: str) -> tuple["Msg", list[str]]:
    if isinstance(item, dict):  # before AgentScope 1.0.12: messages without marks
        return message_of(item, where), []
    if isinstance(item, (list, tuple)) and len(item) == 2:
        marks = _typed(f"{where}[1]", item[1], _LIST) or []
        for i, mark in enumerate(marks):
            _typed(f"{where}[1][{i}]", mark, str, missing=False)
        # AgentScope's own marks are members of a text enumeration; plain text is what is stored.
        plain = [str(mark.value) if isinstance(mark, Enum) else mark for mark in marks]
        return message_of(_typed(f"{where}[0]", item[0], dict, missing=False), f"{where}[0]"), plain
    raise StateError(f"{where}: expected a message or [message, marks], not {type(item).__name__}; nothing was loaded")


def message_of(data: dict[str, Any], where: str) -> "Msg":
    """Make a message of its dictionary, sharing nothing with it; StateError says ``where`` what is wrong with it."""
    from copy import deepcopy

    from agentscope.message import Msg

    for key, kind in (("id", str), ("name", str), ("timestamp", str), ("metadata", dict)):
        _typed(f"{where}.{key}", data.get(key), kind)
    content = data.get("content")
    if isinstance(content, list):
        for i, block in enumerate(content):
            _block(block, f"{where}.content[{i}]")
    try:
        return Msg.from_dict(deepcopy({key: value for key, value in data.items() if key != "id" or value is not None}))
    except (KeyError, AssertionError, TypeError, AttributeError, ValueError, RecursionError) as error:
        raise StateError(f"{where}: not a message ({type(error).__name__}: {error}); nothing was loaded") from error


def _block(block: Any, where: str) -> None:
    """Refuse what no reader of blocks could stand: a block is an object, its ids and names are texts."""
    _typed(where, block, dict, missing=False)
    for key in ("type", "id", "name"):
        _typed(f"{where}.{key}", block.get(key), str)


def _typed(key: str, value: Any, kind: type | tuple[type, ...], *, missing: bool = True) -> Any:
    """Return ``value`` if it is of this kind, or None where it may be ``missing``; else StateError names the key."""
    if isinstance(value, kind) or (value is None and missing):
        return value
    wanted = (kind[0] if isinstance(kind, tuple) else kind).__name__
    raise StateError(f"{key}: expected {_WORDS.get(wanted, wanted)}, not {type(value).__name__}; nothing was loaded")
