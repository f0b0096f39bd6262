"""The answers a scripted model or the loopback provider can be given.

An answer is text, a ``ToolCall``, a list of texts, calls and AgentScope blocks, an exception (raised), a ``Cut`` (a
part, then the error), a ``Later`` (after some seconds or an event), or a function of the request that returns one.
"""

import asyncio
import inspect
import itertools
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

_numbers = itertools.count(1)


@dataclass(frozen=True)
class ToolCall:
    """A call of one tool. The id is unique in the test run unless given."""

    name: str
    input: Mapping[str, Any] = field(default_factory=dict)
    id: str = field(default_factory=lambda: f"call_{next(_numbers)}")


@dataclass(frozen=True)
class Cut:
    """The content arrives, then the stream breaks. Without streaming there is only the error."""

    content: "Content"
    error: BaseException = field(default_factory=lambda: ConnectionError("the stream was cut"))


@dataclass(frozen=True)
class Later:
    """The answer, after ``seconds`` and after ``event`` is set. Cancelling the wait is passed on."""

    answer: "Answer"
    seconds: float = 0.0
    event: asyncio.Event | None = None


Content = str | ToolCall | Mapping[str, Any] | Sequence[str | ToolCall | Mapping[str, Any]]
Answer = Content | BaseException | Cut | Later | Callable[[Any], Any]


def call(name: str, /, **arguments: Any) -> ToolCall:
    """A tool call with these arguments."""
    return ToolCall(name, arguments)


def blocks(content: Content) -> list[dict[str, Any]]:
    """AgentScope content blocks (plain dictionaries) of an answer's content."""
    parts = [content] if isinstance(content, str | ToolCall | Mapping) else list(content)
    return [_block(part) for part in parts]


def _block(part: str | ToolCall | Mapping[str, Any]) -> dict[str, Any]:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    if isinstance(part, ToolCall):
        return {"type": "tool_use", "id": part.id, "name": part.name, "input": dict(part.input)}
    return dict(part)


async def settle(answer: Answer, request: Any) -> Content | Cut:
    """Wait, call and raise as the answer says, until its content is left."""
    while True:
        if isinstance(answer, BaseException):
            raise answer
        if isinstance(answer, Later):
            if answer.seconds:
                await asyncio.sleep(answer.seconds)
            if answer.event is not None:
                await answer.event.wait()
            answer = answer.answer
        elif callable(answer):
            returned: Any | Awaitable[Any] = answer(request)
            answer = await returned if inspect.isawaitable(returned) else returned
        else:
            return answer
