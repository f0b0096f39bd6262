"""The sizes of one step: when to compact, how much stays, how long a checkpoint may be. All in tokens (P4)."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .in_memory import ReMeInMemoryMemory

# Messages that are not going to free this share of the window, or half a checkpoint, are not worth a call of a model.
LEAST_GAIN = 0.02
# No checkpoint with its six headings is shorter.
LEAST_CAP = 64
# What a provider adds around the system prompt.
MESSAGE_FRAME = 4


@dataclass(frozen=True)
class Plan:
    """Sizes for one memory and one request, by one counter.

    ``fixed`` is taken by system prompt and tool schemas; above ``trigger`` messages are folded; ``reserve`` is for the
    newest of them, ``unseen`` for what a user has just said; ``cap`` is the most a checkpoint may have.
    """

    window: int
    fixed: int
    trigger: int
    reserve: int
    cap: int

    @property
    def hard(self) -> int:
        """Above this even people's own words are moved to files: half way between threshold and window."""
        return (self.trigger + self.window) // 2

    @property
    def unseen(self) -> int:
        """What opened a turn may have while no model has seen it: what the hard bound leaves beside a checkpoint."""
        return max(self.reserve, self.hard - self.fixed - self.cap)

    @property
    def worthwhile(self) -> int:
        """What the folded messages have to hold at least."""
        return max(int(self.window * LEAST_GAIN), self.cap // 2)


def plan(memory: "ReMeInMemoryMemory", fixed: int) -> Plan:
    """Work out the sizes.

    The threshold is ``window x ratio``. Where system prompt and schemas take most of it, compaction starts later, half
    way between them and the window: a threshold they alone exceed would fold the last message at every step.
    """
    config = memory.config
    window = memory.max_input_length
    threshold = int(window * memory.compact_ratio)
    trigger = max(threshold, fixed + (window - fixed) // 2)
    room = max(0, trigger - fixed)
    reserve = min(config.memory_compact_reserve, threshold // 4, room // 3)
    cap = max(LEAST_CAP, min(config.summary_max_tokens, window // 8, room // 3))
    return Plan(window, fixed, trigger, reserve, cap)
