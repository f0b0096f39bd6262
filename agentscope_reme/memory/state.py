"""Working memory as JSON: what ``state_dict`` gives and what ``load_state_dict`` accepts.

The shape is that of AgentScope's ``InMemoryMemory`` (``content`` as ``[message, marks]`` pairs,
``_compressed_summary``) with one more key, ``reme``, which the stock class ignores. Older shapes load: a flat list of
messages, marks missing, no summary. What has the wrong type raises one :class:`~agentscope_reme.errors.StateError`
that names the key, before anything is changed.
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any

from ..errors import StateError

if TYPE_CHECKING:
    from agentscope.message import Msg

SCHEMA_VERSION = 1


@dataclass
class SummaryNote:
    """What is known about the checkpoint beside its text. ``since`` is the time of its envelope's message."""

    language: str = "en"
    inside_turn: bool = False
    generator: str = ""
    since: str = ""


@dataclass
class SavedMemory:
    """A state as it was read."""

    content: list[tuple["Msg", list[str]]] = field(default_factory=list)
    summary: str = ""
    session_id: str | None = None
    tombstones: list[str] = field(default_factory=list)
    note: SummaryNote = field(default_factory=SummaryNote)


def dump(
    content: Sequence[tuple["Msg", list[str]]],
    summary: str,
    session_id: str,
    tombstones: Iterable[str],
    note: SummaryNote,
    converted: list[str],
) -> dict[str, Any]:
    """Return strict JSON values that share nothing with the memory; ``converted`` receives what had to be changed."""
    from ..vault.jsonable import to_jsonable

    state = {
        "_compressed_summary": summary,
        "content": [[message.to_dict(), list(marks)] for message, marks in content],
        "reme": {
            "version": SCHEMA_VERSION,
            "session_id": session_id,
            "tombstones": list(tombstones),
            "summary": asdict(note),
        },
    }
    result: dict[str, Any] = to_jsonable(state, converted)
    return result


def read(state: Any) -> SavedMemory:
    """Read a state of this or an older shape. Raises StateError, naming the key, when a value has the wrong type."""
    if not isinstance(state, dict):
        raise StateError(f"a memory state is an object, not {type(state).__name__}; nothing was loaded")
    summary = state.get("_compressed_summary")
    content = state.get("content")
    own = state.get("reme")
    _expect("_compressed_summary", summary, str)
    _expect("content", content, (list, tuple))
    _expect("reme", own, dict)
    own = own or {}
    _expect("reme.session_id", own.get("session_id"), str)
    _expect("reme.tombstones", own.get("tombstones"), list)
    _expect("reme.summary", own.get("summary"), dict)
    known = {one.name: one.type for one in fields(SummaryNote)}
    note = SummaryNote(**{key: value for key, value in (own.get("summary") or {}).items() if key in known})
    return SavedMemory(
        [_entry(item, f"content[{i}]") for i, item in enumerate(content or [])],
        summary or "",
        own.get("session_id"),
        [str(name) for name in own.get("tombstones") or []],
        note,
    )


def _entry(item: Any, where: str) -> tuple["Msg", list[str]]:
    if isinstance(item, dict):  # before AgentScope 1.0.12: messages without marks
        return _message(item, where), []
    if isinstance(item, (list, tuple)) and len(item) == 2 and isinstance(item[0], dict):
        marks = item[1] if item[1] is not None else []
        if not isinstance(marks, (list, tuple)) or not all(isinstance(mark, str) for mark in marks):
            raise StateError(f"{where}: marks are a list of texts, not {item[1]!r}; nothing was loaded")
        return _message(item[0], f"{where}[0]"), [str(mark) for mark in marks]
    raise StateError(f"{where}: expected a message or [message, marks], not {type(item).__name__}; nothing was loaded")


def _message(data: dict[str, Any], where: str) -> "Msg":
    from copy import deepcopy

    from agentscope.message import Msg

    try:
        return Msg.from_dict(deepcopy(data))
    except (KeyError, AssertionError, TypeError, AttributeError) as error:
        raise StateError(f"{where}: not a message ({type(error).__name__}: {error}); nothing was loaded") from error


def _expect(key: str, value: Any, kind: type | tuple[type, ...]) -> None:
    if value is not None and not isinstance(value, kind):
        wanted = "list" if kind == (list, tuple) else getattr(kind, "__name__", str(kind))
        raise StateError(f"{key}: expected {wanted}, not {type(value).__name__}; nothing was loaded")
