"""Tool results between the toolkit that bounds them and the memory they enter: what was cut, what is not saved yet.

A memory is given a message and no more. What was cut from it where it entered is known here, until the message says it
itself; so is the whole of a text that was passed on cut while its tool was running, in case nothing follows it.
"""

from collections import OrderedDict
from collections.abc import Mapping
from copy import deepcopy
from typing import TYPE_CHECKING, Any

from .blocks import blocks_of, output_blocks

if TYPE_CHECKING:
    from agentscope.message import Msg

# Under this key of Msg.metadata: {call id: {"limit": bytes, "path": ..., "size": ..., "lines": ..., "total": characters
# of the full text, "notice": the line that stands in the text, "again": the call that shows a page once more}}.
STATE_KEY = "reme_tool_results"

# Clipped results remembered between the call and the memory; whole ones of tools that are running.
MOST_CUT = 1_000
MOST_RUNNING = 64


class Entering:
    """Results on their way into memories."""

    def __init__(self) -> None:
        self._cut: OrderedDict[tuple[str, int], dict[str, Any]] = OrderedDict()
        self._running: OrderedDict[str, tuple[int, Any]] = OrderedDict()

    def begin(self, call: str, output: Any, given: int) -> None:
        """Note what a tool has said so far, when less of it was passed on; ``given`` is the fingerprint of that."""
        self._running[call] = given, output
        self._running.move_to_end(call)
        while len(self._running) > MOST_RUNNING:
            self._running.popitem(last=False)

    def end(self, call: str) -> None:
        """Note that all that a tool has said is passed on, or in a file."""
        self._running.pop(call, None)

    def cut(self, call: str, output: Any, state: Mapping[str, Any]) -> None:
        """Note what was cut from a result that is passed on as ``output``."""
        self._cut[call, fingerprint(output)] = dict(state)
        while len(self._cut) > MOST_CUT:
            self._cut.popitem(last=False)

    def state(self, message: "Msg", call: str, output: Any) -> dict[str, Any] | None:
        """Return what is known of a result in a message; None when it is whole."""
        states = message.metadata.get(STATE_KEY) if isinstance(message.metadata, dict) else None
        if isinstance(states, dict) and isinstance(states.get(call), dict):
            return dict(states[call])
        return self._cut.get((call, fingerprint(output)))

    def stamp(self, message: "Msg") -> None:
        """Write into a message on its way into a memory what was cut from its results where they entered.

        From then on it is known wherever the message goes: into a saved session, into another process. Of a tool that
        was interrupted before the rest of its text was saved, the message gets the text whole.
        """
        if not (self._cut or self._running):
            return
        for block in blocks_of(message):
            if block.get("type") != "tool_result":
                continue
            call, output = str(block.get("id")), block.get("output")
            given, whole = self._running.pop(call, (None, None))
            if given is not None and given == fingerprint(output):
                block["output"] = deepcopy(whole)
            elif (state := self._cut.get((call, fingerprint(output)))) is not None:
                keep_state(message, call, state)


def keep_state(message: "Msg", call: str, state: Mapping[str, Any]) -> None:
    """Write a result's state into the message's metadata, on a copy: the caller's may be shared."""
    held = message.metadata if isinstance(message.metadata, dict) else {}
    states = held.get(STATE_KEY)
    message.metadata = {**held, STATE_KEY: {**(states if isinstance(states, dict) else {}), call: dict(state)}}


def joined_text(output: Any) -> str:
    """Return the texts of an output as one: that is what is measured, stored and clipped."""
    return "\n".join(str(block.get("text") or "") for block in output_blocks(output) if block.get("type") == "text")


def fingerprint(output: Any) -> int:
    """Return what tells two outputs of one call apart within a process."""
    return hash(joined_text(output))
