"""A chat model that answers from a queue and keeps what it was asked, for tests of anything that talks to a model."""

import copy
from collections import deque
from collections.abc import AsyncGenerator, Iterable
from dataclasses import dataclass, field
from typing import Any

from agentscope.model import ChatModelBase, ChatResponse

from .answers import Answer, Content, Cut, Later, ToolCall, blocks, call, settle
from .chat_rules import assert_acceptable, assert_not_in_system, assert_pairs, request_faults, request_text

__all__ = [
    "Cut",
    "Later",
    "Request",
    "ScriptedModel",
    "ToolCall",
    "assert_acceptable",
    "assert_not_in_system",
    "assert_pairs",
    "call",
]

# Cumulative chunks of a streamed answer; small, so that every test of streaming sees several.
_STREAM_STEPS = 3


@dataclass(frozen=True)
class Request:
    """A deep copy of one call of the model: what the provider would have been sent."""

    messages: list[dict[str, Any]]
    tools: list[dict[str, Any]] | None = None
    tool_choice: Any = None
    structured_model: type | None = None
    kwargs: dict[str, Any] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """All text of the request, one message after the other."""
        return request_text(self.messages)

    def role_text(self, role: str) -> str:
        """All text of the messages of one role."""
        return request_text(self.messages, role)

    @property
    def tool_names(self) -> list[str]:
        """The names of the tools that were offered."""
        return [tool["function"]["name"] for tool in self.tools or ()]


class ScriptedModel(ChatModelBase):
    """Answers in the order given; ``default`` answers when the queue is empty, else that is a failure of the test.

    ``strict`` raises where a provider refuses: an orphan result, an unanswered call, an empty message.
    """

    def __init__(
        self,
        answers: Iterable[Answer] = (),
        *,
        default: Answer | None = None,
        stream: bool = False,
        strict: bool = True,
        model_name: str = "scripted",
    ) -> None:
        super().__init__(model_name, stream)
        self.answers: deque[Answer] = deque(answers)
        self.default = default
        self.strict = strict
        self.requests: list[Request] = []

    def add(self, *answers: Answer) -> "ScriptedModel":
        """Put more answers at the end of the queue."""
        self.answers.extend(answers)
        return self

    @property
    def last(self) -> Request:
        """The newest request."""
        return self.requests[-1]

    async def __call__(
        self,
        messages: list[dict[str, Any]],
        tools: list[dict[str, Any]] | None = None,
        tool_choice: Any = None,
        structured_model: type | None = None,
        **kwargs: Any,
    ) -> ChatResponse | AsyncGenerator[ChatResponse, None]:
        request = Request(*copy.deepcopy((messages, tools, tool_choice)), structured_model, dict(kwargs))
        self.requests.append(request)
        if self.strict and (faults := request_faults(request.messages, request.tools)):
            raise ValueError("400: " + "; ".join(faults))
        if not self.answers and self.default is None:
            raise AssertionError(f"request {len(self.requests)} came, but the script has no answer left")
        answer = self.answers.popleft() if self.answers else self.default
        content = await settle(answer, request)
        if self.stream:
            return _stream(content)
        if isinstance(content, Cut):
            raise content.error
        return ChatResponse(content=blocks(content))


async def _stream(content: Content | Cut) -> AsyncGenerator[ChatResponse, None]:
    error = content.error if isinstance(content, Cut) else None
    done: list[dict[str, Any]] = []
    for block in blocks(content.content if isinstance(content, Cut) else content):
        text = block.get("text")
        if text:
            for step in range(1, _STREAM_STEPS):
                yield ChatResponse(content=[*done, {**block, "text": text[: len(text) * step // _STREAM_STEPS]}])
        done.append(block)
        yield ChatResponse(content=copy.deepcopy(done))
    if error is not None:
        raise error
    if not done:
        yield ChatResponse(content=[])
