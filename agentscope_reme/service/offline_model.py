"""A chat model without a model: deterministic, offline, for the demo, the examples and a first look.

It is a small program and says so. It notes statements, runs the tools it is asked for by name, and answers questions
with what ``memory_search`` returns: a quotation and its ``path:start-end``.
"""

import hashlib
import json
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from agentscope.message import TextBlock, ToolUseBlock
from agentscope.model import ChatModelBase, ChatResponse

from ..index.tokenizer import Tokenizer
from . import offline_answers as answers

_SEARCH_TOOL = "memory_search"
_CORE = "MEMORY.md"


@dataclass(frozen=True, slots=True)
class _Turn:
    """The last thing the user said, and the tool results that have come since: (tool's name, its text)."""

    text: str
    results: tuple[tuple[str, str], ...]
    is_first: bool


class OfflineModel(ChatModelBase):
    """Not a language model: fixed rules, the same answer to the same messages, no network and no key.

    Takes messages as AgentScope's OpenAI and DashScope chat formatters write them. A question becomes one
    ``memory_search``; "remember: …" becomes a line in ``MEMORY.md``; a tool named in the message is called, with the
    arguments that stand beside its name. Everything else is acknowledged. English and Chinese.
    """

    def __init__(self, stream: bool = False) -> None:
        super().__init__("offline, not a language model", stream)

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        return Tokenizer()

    async def __call__(
        self,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]] | None = None,
        tool_choice: str | None = None,
        structured_model: Any = None,
        **_: Any,
    ) -> ChatResponse | AsyncGenerator[ChatResponse, None]:
        """Answer the last message. ``structured_model`` is refused with NotImplementedError: there is no model here."""
        if structured_model is not None:
            raise NotImplementedError("the offline model cannot fill a schema; use a language model for this")
        block = self._answer(_turn_of(messages), () if tool_choice == "none" else tuple(tools or ()), len(messages))
        if self.stream:
            return _streamed(block)
        return ChatResponse(content=[block])

    def _answer(self, turn: _Turn, tools: Sequence[Mapping[str, Any]], position: int) -> TextBlock | ToolUseBlock:
        call = self._call(turn, tools)
        if call is not None:
            return _tool_use(*call, position)
        language = answers.language_of(turn.text)
        if turn.results:
            return _text(self._report(turn, language))
        if answers.asks_about_itself(turn.text):
            return _text(answers.NOTICE[language])
        said = answers.acknowledgement(turn.text)
        return _text(f"{said} {answers.NOTICE[language]}" if turn.is_first else said)

    def _call(self, turn: _Turn, tools: Sequence[Mapping[str, Any]]) -> tuple[str, dict[str, Any]] | None:
        offered = {tool["function"]["name"] for tool in tools}
        if fact := answers.fact_to_remember(turn.text):
            return _keeping(fact, turn.results, offered)
        if turn.results or answers.asks_about_itself(turn.text):
            return None
        if asked := answers.tool_asked_for(turn.text, tools):
            return asked
        question = answers.question_in(turn.text)
        return (_SEARCH_TOOL, {"query": question}) if question and _SEARCH_TOOL in offered else None

    def _report(self, turn: _Turn, language: str) -> str:
        if answers.fact_to_remember(turn.text):
            kept = "记住了。" if language == "zh" else "Kept for good."
            name, result = turn.results[-1]
            told = f"{_CORE}: unchanged." if name == "read" else (result.strip().splitlines() or [""])[0]
            return told if told.startswith("Error") else f"{kept} {told}"
        return "\n\n".join(self._report_one(name, result, turn.text, language) for name, result in turn.results)

    def _report_one(self, name: str, result: str, asked: str, language: str) -> str:
        if name == _SEARCH_TOOL:
            return self._quote(answers.question_in(asked) or asked, result, language)
        lines = [f"- {line}" for line in answers.what_stands_out(result)]
        stored = answers.stored_at(result)
        if language == "zh":
            head, tail = f"`{name}` 的结果里值得看的：", f"全文在 `{stored}`。"
        else:
            head, tail = f"What stands out in the result of `{name}`:", f"The full result is in `{stored}`."
        return "\n".join([head, *lines, *([tail] if stored else [])])

    def _quote(self, question: str, result: str, language: str) -> str:
        terms = self._tokenizer.query(question).content_terms
        found = answers.best_lines(terms, self._tokenizer.terms, answers.passages(result))
        if not found:
            return answers.NOTHING_FOUND[language]
        quoted = ["记忆库里写着：" if language == "zh" else "The memory vault says:"]
        return "\n".join([*quoted, *(f"“{line.text}” [{line.source}]" for line in found)])


def _keeping(fact: str, results: Sequence[tuple[str, str]], offered: set[str]) -> tuple[str, dict[str, Any]] | None:
    """The next call on a fact's way into MEMORY.md: append; or read, then write a new note or edit the present one."""
    line = f"- {fact}"
    if not results:
        if "append" in offered:
            return "append", {"path": _CORE, "content": f"{line}\n"}
        return ("read", {"path": _CORE}) if {"read", "write", "edit"} <= offered else None
    name, result = results[-1]
    if name != "read":
        return None
    present = answers.lines_of_file(result)
    if line in present:
        return None
    if not present:
        return "write", {"path": _CORE, "content": f"{line}\n"}
    return "edit", {"path": _CORE, "old": present[-1], "new": f"{present[-1]}\n{line}"}


def _turn_of(messages: Sequence[Mapping[str, Any]]) -> _Turn:
    names = {call["id"]: call["function"]["name"] for message in messages for call in message.get("tool_calls") or ()}
    results: list[tuple[str, str]] = []
    text = ""
    for message in reversed(messages):
        if message["role"] == "tool":
            if not text:
                results.append((names.get(message["tool_call_id"], ""), _message_text(message)))
        elif message["role"] == "user" and not _is_injected(_message_text(message)):
            text = _message_text(message)
            break
    is_first = not any(message["role"] == "assistant" or _is_injected(_message_text(message)) for message in messages)
    return _Turn(text, tuple(reversed(results)), is_first)


def _is_injected(text: str) -> bool:
    """Whether a message is a fenced block that the memory or the framework put in, not something the user said."""
    text = text.strip()
    return text.startswith("<") and text.endswith(">")


def _message_text(message: Mapping[str, Any]) -> str:
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    parts: Iterable[Mapping[str, Any]] = content
    return "\n".join(str(part.get("text") or "") for part in parts)


def _text(text: str) -> TextBlock:
    return TextBlock(type="text", text=text)


def _tool_use(name: str, arguments: dict[str, Any], position: int) -> ToolUseBlock:
    # The id comes from the call and its place, so that the same conversation gives the same bytes.
    spelled = json.dumps([position, name, arguments], ensure_ascii=False, sort_keys=True)
    call_id = "call_" + hashlib.sha256(spelled.encode()).hexdigest()[:16]
    return ToolUseBlock(type="tool_use", id=call_id, name=name, input=arguments)


async def _streamed(block: TextBlock | ToolUseBlock) -> AsyncGenerator[ChatResponse, None]:
    """The answer in growing chunks, as AgentScope's models stream it."""
    if block["type"] == "text":
        words = block["text"].split(" ")
        for count in range(8, len(words), 8):
            yield ChatResponse(content=[_text(" ".join(words[:count]))])
    yield ChatResponse(content=[block])
