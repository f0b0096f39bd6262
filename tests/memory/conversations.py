"""Conversations for tests: short builders, and a Hypothesis strategy for histories as bad as they come."""

from typing import Any

from agentscope.message import Msg
from hypothesis import strategies as st


def user(text: str, name: str = "user", **kwargs: Any) -> Msg:
    return Msg(name, text, "user", **kwargs)


def said(text: str, name: str = "Remy", **kwargs: Any) -> Msg:
    return Msg(name, [{"type": "text", "text": text}], "assistant", **kwargs)


def calls(*ids: str, text: str = "", tool: str = "look", **arguments: Any) -> Msg:
    blocks: list[Any] = [{"type": "text", "text": text}] if text else []
    blocks += [{"type": "tool_use", "id": one, "name": tool, "input": arguments or {"q": one}} for one in ids]
    return Msg("Remy", blocks, "assistant")


def result(*ids: str, output: Any = "found it", tool: str = "look") -> Msg:
    blocks: list[Any] = [{"type": "tool_result", "id": one, "name": tool, "output": output} for one in ids]
    return Msg("system", blocks, "system")


def call_ids(message: Msg) -> list[str]:
    return [block["id"] for block in _blocks(message) if block["type"] == "tool_use"]


def result_ids(message: Msg) -> list[str]:
    return [block["id"] for block in _blocks(message) if block["type"] == "tool_result"]


def _blocks(message: Msg) -> list[Any]:
    return [] if isinstance(message.content, str) else list(message.content)


_ID = st.sampled_from(["a", "b", "c", "d", "call_1"])
_ONE = st.one_of(
    st.builds(user, st.sampled_from(["go on", "what is left?", "继续", "and the tests?"])),
    st.builds(said, st.sampled_from(["done", "working on it", "好的"]), st.sampled_from(["Remy", "Otto"])),
    st.builds(lambda ids: calls(*ids), st.lists(_ID, min_size=1, max_size=3, unique=True)),
    st.builds(lambda ids: result(*ids), st.lists(_ID, min_size=1, max_size=2, unique=True)),
    st.builds(lambda: Msg("Remy", [], "assistant")),
    st.builds(lambda: Msg("Remy", "", "assistant")),
    st.builds(lambda: Msg("system", "Never touch prod.", "system")),
)
_ROUND = st.builds(
    lambda ids, order: [calls(*ids), *(result(one) for one in (ids if order else ids[::-1]))],
    st.lists(_ID, min_size=1, max_size=3, unique=True),
    st.booleans(),
)

# Rounds of calls and results, broken up by single messages that fit nowhere.
histories = st.lists(st.one_of(_ROUND, _ONE.map(lambda one: [one])), max_size=14).map(
    lambda groups: [message for group in groups for message in group]
)
