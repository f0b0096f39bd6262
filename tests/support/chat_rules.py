"""What an OpenAI-compatible provider demands of a chat request; each broken rule is a 400 there and a sentence here."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

_ROLES = {"system", "developer", "user", "assistant", "tool"}
_FUNCTION_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
# The provider's own pattern for the optional speaker name.
_SPEAKER_NAME = re.compile(r"[^\s<|\\/>]+")


def message_text(message: Mapping[str, Any]) -> str:
    """All text of one formatted message, whether its content is a string or a list of parts."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text", "") for part in content or () if isinstance(part, Mapping))


def request_text(messages: Iterable[Mapping[str, Any]], role: str | None = None) -> str:
    """All text of a request, or of one role in it."""
    return "\n".join(message_text(message) for message in messages if role is None or message.get("role") == role)


def pair_faults(messages: Sequence[Mapping[str, Any]]) -> list[str]:
    """Calls without a result, results without a call, duplicates, and results that do not follow their call at once."""
    faults: list[str] = []
    open_calls: list[str] = []
    seen: set[str] = set()
    for position, message in enumerate(messages):
        role = message.get("role")
        if role == "tool":
            call_id = message.get("tool_call_id")
            if call_id in open_calls:
                open_calls.remove(call_id)
            else:
                faults.append(
                    f"messages[{position}]: 'tool' message {call_id!r} must follow an assistant message "
                    "whose 'tool_calls' names it"
                )
            continue
        if open_calls:
            faults.append(f"messages[{position}]: no 'tool' message answered tool_call_ids {open_calls}")
            open_calls = []
        for call in message.get("tool_calls") or ():
            if call["id"] in seen:
                faults.append(f"messages[{position}]: tool call id {call['id']!r} is used twice")
            seen.add(call["id"])
            open_calls.append(call["id"])
    if open_calls:
        faults.append(f"messages[{len(messages)}]: no 'tool' message answered tool_call_ids {open_calls}")
    return faults


def request_faults(messages: Any, tools: Any = None) -> list[str]:
    """Every reason a provider would refuse these messages and tools; empty when it would take them."""
    if not isinstance(messages, list) or not messages:
        return ["'messages' must be a list that is not empty"]
    faults: list[str] = []
    for position, message in enumerate(messages):
        where = f"messages[{position}]"
        role = message.get("role")
        if role not in _ROLES:
            faults.append(f"{where}: role {role!r} is not one of {sorted(_ROLES)}")
        content, calls = message.get("content"), message.get("tool_calls")
        if content is None and not (role == "assistant" and calls):
            faults.append(f"{where}: 'content' may be null only beside 'tool_calls'")
        elif content is not None and not isinstance(content, str | list):
            faults.append(f"{where}: 'content' must be a string or a list of parts")
        elif isinstance(content, list) and not content:
            faults.append(f"{where}: 'content' is an empty list")
        if role == "assistant" and not content and not calls:
            faults.append(f"{where}: an assistant message must have content or tool_calls")
        if calls is not None and (role != "assistant" or not calls):
            faults.append(f"{where}: 'tool_calls' must be a list that is not empty, of an assistant message")
        name = message.get("name")
        if name is not None and not _SPEAKER_NAME.fullmatch(name):
            faults.append(f"{where}: 'name' {name!r} holds a space or one of <|\\/>")
        for call in calls or ():
            faults.extend(f"{where}: {fault}" for fault in _call_faults(call))
    faults.extend(pair_faults(messages))
    for position, tool in enumerate(tools or ()):
        function = tool.get("function") or {}
        if tool.get("type") != "function" or not _FUNCTION_NAME.fullmatch(str(function.get("name"))):
            faults.append(f"tools[{position}]: not a function with a usable name: {function.get('name')!r}")
        if function.get("parameters", {}).get("type", "object") != "object":
            faults.append(f"tools[{position}]: 'parameters' must be an object schema")
    return faults


def _call_faults(call: Mapping[str, Any]) -> list[str]:
    function = call.get("function") or {}
    faults = []
    if not isinstance(call.get("id"), str) or not call["id"]:
        faults.append("a tool call has no id")
    if not _FUNCTION_NAME.fullmatch(str(function.get("name"))):
        faults.append(f"tool call names no usable function: {function.get('name')!r}")
    arguments = function.get("arguments")
    try:
        if not isinstance(json.loads(arguments), dict):
            faults.append("'arguments' is not a JSON object")
    except (TypeError, ValueError):
        faults.append(f"'arguments' is not JSON: {arguments!r}")
    return faults


def assert_acceptable(request: Any) -> None:
    """Fail with the provider's reasons if it would refuse the request (a ``Request`` or a list of messages)."""
    messages, tools = (request, None) if isinstance(request, list) else (request.messages, request.tools)
    faults = request_faults(messages, tools)
    assert not faults, "\n".join(faults)


def assert_pairs(request: Any) -> None:
    """Every tool call has its result right after it, and every result its call."""
    faults = pair_faults(request if isinstance(request, list) else request.messages)
    assert not faults, "\n".join(faults)


def assert_not_in_system(request: Any, *texts: str) -> None:
    """None of the texts stands in a system (or developer) message of the formatted request."""
    messages = request if isinstance(request, list) else request.messages
    system = request_text(messages, "system") + request_text(messages, "developer")
    for text in texts:
        assert text not in system, f"recalled text reached the system role: {text!r}"
