"""What Anthropic, Gemini, Ollama, DashScope and OpenAI's Responses demand of a request; each broken rule is a refusal
there and a sentence here. Rules for chat completions are in ``chat_rules``."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .chat_rules import request_faults

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_TOOL_ID = re.compile(r"[A-Za-z0-9_-]+")
# The keys a block may have; an extra one is refused.
_ANTHROPIC_KEYS = {
    "text": {"type", "text", "cache_control", "citations"},
    "image": {"type", "source", "cache_control"},
    "thinking": {"type", "thinking", "signature"},
    "tool_use": {"type", "id", "name", "input", "cache_control"},
    "tool_result": {"type", "tool_use_id", "content", "is_error", "cache_control"},
}
_GEMINI_DATA = {"text", "functionCall", "functionResponse", "inlineData", "fileData"}
_GEMINI_KEYS = _GEMINI_DATA | {"thought", "thoughtSignature"}


# --- Anthropic --------------------------------------------------------------------------------------------------------


def anthropic_faults(request: Mapping[str, Any]) -> list[str]:
    """Every reason the Messages API would refuse a request."""
    faults = []
    if not isinstance(request.get("max_tokens"), int):
        faults.append("max_tokens: field required")
    messages = request.get("messages")
    if not isinstance(messages, list) or not messages:
        return [*faults, "messages: at least one message is required"]
    for block in _anthropic_blocks(request.get("system", [])):
        faults += [f"system: {fault}" for fault in _anthropic_block(block, {"text"})]
    for i, message in enumerate(messages):
        if message.get("role") not in ("user", "assistant"):
            faults.append(f"messages.{i}.role: {message.get('role')!r} is not 'user' or 'assistant'")
        if set(message) - {"role", "content"}:
            faults.append(f"messages.{i}: extra inputs are not permitted: {sorted(set(message) - {'role', 'content'})}")
        blocks = _anthropic_blocks(message.get("content"))
        if not blocks:
            faults.append(f"messages.{i}: all messages must have non-empty content")
        allowed = (
            {"text", "image", "tool_result"} if message.get("role") == "user" else {"text", "thinking", "tool_use"}
        )
        for j, block in enumerate(blocks):
            faults += [f"messages.{i}.content.{j}: {fault}" for fault in _anthropic_block(block, allowed)]
    faults += _anthropic_pairs(messages)
    for i, tool in enumerate(request.get("tools") or ()):
        if not _NAME.fullmatch(str(tool.get("name"))):
            faults.append(f"tools.{i}.name: {tool.get('name')!r}")
        if (tool.get("input_schema") or {}).get("type") != "object":
            faults.append(f"tools.{i}.input_schema.type: must be 'object'")
    return faults


def _anthropic_blocks(content: Any) -> list[Any]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return content if isinstance(content, list) else []


def _anthropic_block(block: Any, allowed: set[str]) -> Iterator[str]:
    kind = block.get("type") if isinstance(block, Mapping) else None
    if kind not in allowed:
        yield f"type {kind!r} is not one of {sorted(allowed)}"
        return
    extra = set(block) - _ANTHROPIC_KEYS[kind]
    if extra:
        yield f"extra inputs are not permitted: {sorted(extra)}"
    if kind == "text" and not (isinstance(block.get("text"), str) and block["text"].strip()):
        yield "text content blocks must be non-empty"
    if kind == "thinking" and not block.get("signature"):
        yield "thinking.signature: field required"
    if kind == "tool_use":
        if not _TOOL_ID.fullmatch(str(block.get("id"))):
            yield f"tool_use.id: {block.get('id')!r} does not match ^[a-zA-Z0-9_-]+$"
        if not isinstance(block.get("input"), Mapping):
            yield "tool_use.input: must be an object"
    if kind == "tool_result":
        if not _TOOL_ID.fullmatch(str(block.get("tool_use_id"))):
            yield f"tool_result.tool_use_id: {block.get('tool_use_id')!r} does not match ^[a-zA-Z0-9_-]+$"
        for part in _anthropic_blocks(block.get("content") or []):
            # An empty text inside a result is taken.
            if part.get("type") not in ("text", "image") or set(part) - _ANTHROPIC_KEYS[part["type"]]:
                yield f"tool_result.content: {part!r}"


def _anthropic_pairs(messages: Sequence[Mapping[str, Any]]) -> list[str]:
    """Turns of one role are one turn; results open the turn after their calls, all of them, and ids are unique."""
    faults: list[str] = []
    turns = _merged(messages, lambda message: _anthropic_blocks(message.get("content")))
    if turns[0][0] != "user":
        faults.append("messages: first message must use the 'user' role")
    seen: set[Any] = set()
    waiting: list[Any] = []
    for role, blocks in turns:
        if role == "user":
            results = [block.get("tool_use_id") for block in blocks if block.get("type") == "tool_result"]
            opening = [block.get("tool_use_id") for block in blocks[: len(results)]]
            missing = [call for call in waiting if call not in results]
            if missing:
                faults.append(f"tool_use ids {missing} were found without tool_result blocks immediately after")
            if results and opening != results:
                faults.append(f"tool_result blocks {results} must come first in their message")
            orphans = [result for result in results if result not in waiting]
            if orphans:
                faults.append(f"unexpected tool_use_id in tool_result blocks: {orphans}")
            if len(set(results)) < len(results):
                faults.append(f"each tool_use must have a single result: {results}")
            waiting = []
        else:
            waiting = [block.get("id") for block in blocks if block.get("type") == "tool_use"]
            again = [call for call in waiting if call in seen or waiting.count(call) > 1]
            if again:
                faults.append(f"tool_use ids must be unique: {again}")
            seen.update(waiting)
    if waiting:
        faults.append(f"tool_use ids {waiting} were found without tool_result blocks immediately after")
    return faults


# --- Gemini -----------------------------------------------------------------------------------------------------------


def gemini_faults(request: Mapping[str, Any]) -> list[str]:
    """Every reason ``generateContent`` would refuse a request, as JSON on the wire.

    Contents of one role in a row are one turn: AgentScope sends each parallel result as a content of its own.
    """
    contents = request.get("contents")
    if not isinstance(contents, list) or not contents:
        return ["contents is not specified"]
    faults = []
    for i, content in enumerate(contents):
        if content.get("role") not in ("user", "model"):
            faults.append(f"contents[{i}].role: {content.get('role')!r} is not 'user' or 'model'")
        if not content.get("parts"):
            faults.append(f"contents[{i}].parts must not be empty")
        for j, part in enumerate(content.get("parts") or ()):
            faults += [f"contents[{i}].parts[{j}]: {fault}" for fault in _gemini_part(part, content.get("role"))]
    faults += _gemini_pairs(contents)
    for tool in request.get("tools") or ():
        for function in tool.get("functionDeclarations") or ():
            if not _NAME.fullmatch(str(function.get("name"))):
                faults.append(f"function_declarations: invalid name {function.get('name')!r}")
    return faults


def _gemini_part(part: Mapping[str, Any], role: Any) -> Iterator[str]:
    data = set(part) & _GEMINI_DATA
    if len(data) != 1 or set(part) - _GEMINI_KEYS:
        yield f"oneof field 'data' needs one of {sorted(_GEMINI_DATA)}, not {sorted(part)}"
        return
    if "text" in part and not (isinstance(part["text"], str) and part["text"]):
        yield "empty text parameter"
    if "functionCall" in part:
        if role != "model":
            yield "a function call is the model's"
        if not _NAME.fullmatch(str(part["functionCall"].get("name"))):
            yield f"functionCall.name: {part['functionCall'].get('name')!r}"
        if not isinstance(part["functionCall"].get("args", {}), Mapping):
            yield "functionCall.args: must be an object"
    if "functionResponse" in part:
        if role != "user":
            yield "a function response is the user's"
        if not part["functionResponse"].get("name"):
            yield "functionResponse.name cannot be empty"
        if not isinstance(part["functionResponse"].get("response"), Mapping):
            yield "functionResponse.response: must be an object"


def _gemini_pairs(contents: Sequence[Mapping[str, Any]]) -> list[str]:
    faults: list[str] = []
    turns = _merged(contents, lambda content: list(content.get("parts") or ()))
    if turns[0][0] != "user":
        faults.append("function call turn comes immediately after a user turn or after a function response turn")
    waiting: list[Any] = []
    for role, parts in turns:
        if role == "user":
            names = [part["functionResponse"].get("name") for part in parts if "functionResponse" in part]
            if names != waiting and sorted(map(str, names)) != sorted(map(str, waiting)):
                faults.append(
                    "the number of function response parts is to equal the number of function call parts of the "
                    f"function call turn: {waiting} were called, {names} answered"
                )
            waiting = []
        else:
            waiting = [part["functionCall"].get("name") for part in parts if "functionCall" in part]
    if waiting or turns[-1][0] != "user":
        faults.append("a request ends with a user turn or a function response")
    return faults


def _merged(messages: Sequence[Mapping[str, Any]], parts_of: Any) -> list[tuple[str, list[Any]]]:
    """Messages of one role in a row as one turn."""
    turns: list[tuple[str, list[Any]]] = []
    for message in messages:
        if turns and turns[-1][0] == message.get("role"):
            turns[-1][1].extend(parts_of(message))
        else:
            turns.append((str(message.get("role")), list(parts_of(message))))
    return turns


# --- Ollama -----------------------------------------------------------------------------------------------------------


def ollama_faults(request: Mapping[str, Any]) -> list[str]:
    """Every reason ``/api/chat`` would refuse a request, and results that no call before them asked for.

    Ollama has no call ids: results belong to the calls before them by their number.
    """
    messages = request.get("messages")
    if not isinstance(messages, list) or not messages:
        return ["'messages' must not be empty"]
    faults = []
    waiting = 0
    for i, message in enumerate(messages):
        role, content = message.get("role"), message.get("content")
        if role not in ("system", "user", "assistant", "tool"):
            faults.append(f"messages[{i}]: invalid role {role!r}")
        if content is not None and not isinstance(content, str):
            faults.append(f"messages[{i}]: cannot unmarshal content of type {type(content).__name__} into string")
        calls = message.get("tool_calls") or []
        if not content and not calls and not message.get("images") and role != "tool":
            faults.append(f"messages[{i}]: an empty message")
        for call in calls:
            function = call.get("function") or {}
            if not function.get("name") or not isinstance(function.get("arguments"), Mapping):
                faults.append(f"messages[{i}]: a call needs a name and an object of arguments: {function!r}")
        if role == "tool":
            waiting -= 1
            if waiting < 0:
                faults.append(f"messages[{i}]: a tool's result that no call asked for")
        elif waiting > 0:
            faults.append(f"messages[{i}]: {waiting} calls have no result")
        if role != "tool":
            waiting = len(calls)
    if waiting > 0:
        faults.append(f"{waiting} calls have no result")
    return faults


# --- DashScope --------------------------------------------------------------------------------------------------------


def dashscope_faults(request: Mapping[str, Any]) -> list[str]:
    """Every reason DashScope's text generation would refuse a request."""
    messages = (request.get("input") or {}).get("messages")
    parameters = request.get("parameters") or {}
    if not isinstance(messages, list) or not messages:
        return ["input.messages: a list that is not empty is required"]
    faults = []
    if parameters.get("result_format") != "message":
        faults.append("parameters.result_format must be 'message' where tools are used")
    shaped = []
    for i, message in enumerate(messages):
        content = message.get("content")
        if "content" not in message or content is None:
            faults.append(f"messages[{i}]: 'content' is a required field")
        if message.get("role") in ("user", "system") and not content:
            faults.append(f"messages[{i}]: content length must be greater than 0")
        # Beside calls the empty content of DashScope is an empty list or text.
        shaped.append({**message, "content": None} if message.get("tool_calls") and not content else message)
        for part in content if isinstance(content, list) else ():
            if not isinstance(part, Mapping) or len(part) != 1 or not next(iter(part.values())):
                faults.append(f"messages[{i}]: a part has one key and a value, not {part!r}")
    if messages[-1].get("role") not in ("user", "tool"):
        faults.append("the last message must be the user's or a tool's")
    return faults + request_faults(shaped, parameters.get("tools"))


# --- OpenAI Responses -------------------------------------------------------------------------------------------------


def responses_faults(items: Sequence[Mapping[str, Any]]) -> list[str]:
    """Every reason the Responses API would refuse these input items."""
    faults = []
    calls: dict[Any, int] = {}
    answered: set[Any] = set()
    for i, item in enumerate(items):
        kind = item.get("type", "message")
        if kind == "function_call":
            if item.get("call_id") in calls:
                faults.append(f"input[{i}]: call id {item.get('call_id')!r} is used twice")
            calls[item.get("call_id")] = i
            if not isinstance(item.get("arguments"), str):
                faults.append(f"input[{i}]: arguments must be a string")
        elif kind == "function_call_output":
            if item.get("call_id") not in calls or item.get("call_id") in answered:
                faults.append(f"input[{i}]: no tool call found for function call output {item.get('call_id')!r}")
            answered.add(item.get("call_id"))
        elif kind == "message" and (not item.get("role") or not item.get("content")):
            faults.append(f"input[{i}]: a message needs a role and content")
    faults += [f"no tool output found for function call {call!r}" for call in calls if call not in answered]
    return faults
