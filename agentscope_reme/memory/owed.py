"""Checkpoints that a model still owes: made without it because it failed, to be made again when it answers.

The note on the checkpoint keeps the ids of the journalled messages and the checkpoint before them; the texts are in the
journal. Both are bounded: what is over the bound stays as it was condensed without a model.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from .transcript import rendered

if TYPE_CHECKING:
    from agentscope.message import Msg

    from .in_memory import ReMeInMemoryMemory
    from .state import SummaryNote

MOST_OWED = 2_000
MOST_WINDOWS = 4
LONGEST_BASE = 60_000


@dataclass(frozen=True)
class Owed:
    """Messages to condense again, the tokens of their transcript, and the checkpoint before them."""

    messages: tuple["Msg", ...]
    tokens: int
    base: str


def owing(note: "SummaryNote", before: "SummaryNote", previous: str, ids: Sequence[str]) -> "SummaryNote":
    """Return the note on a checkpoint made without the model, with what is owed.

    Args:
        note: The note on the new checkpoint.
        before: The note on the one it replaces.
        previous: The text of that one.
        ids: The messages that were folded into the new one.
    """
    owed, base = ([*before.owed, *ids], before.base) if before.owed else (list(ids), previous)
    if len(owed) > MOST_OWED or len(base) > LONGEST_BASE:
        owed, base = list(ids)[-MOST_OWED:], previous[:0] if len(previous) > LONGEST_BASE else previous
    return replace(note, owed=owed, base=base)


async def owed_to(memory: "ReMeInMemoryMemory") -> Owed | None:
    """Return what is owed to a memory, from its journal; None when that is nothing, there no more, or too much.

    Too much is more than four windows: told with every fold, it would have the time run out each time.
    Raises what reading the journal raises.
    """
    note = memory.summary_note
    if not note.owed:
        return None
    messages = tuple(await memory.left_messages([str(name) for name in note.owed]))
    told = "\n".join(filter(None, map(rendered, messages)))
    tokens = await memory.budget.text(told)
    if not told or tokens > MOST_WINDOWS * memory.max_input_length:
        return None
    return Owed(messages, tokens, note.base)
