"""DashScope's text generation on the loopback interface, at once and as a stream of increments."""

import json
from collections.abc import Iterator
from typing import Any

from .answers import Content, Cut, blocks
from .chat_rules import request_text
from .loopback import Exchange, Loopback, Refusal, event, pieces, whole
from .provider_rules import dashscope_faults

_ROUTE = "/api/v1/services/aigc/text-generation/generation"


class DashScopeStub(Loopback):
    """A context manager; ``base_url`` is what the SDK calls ``base_http_api_url``."""

    @property
    def base_url(self) -> str:
        """The address of the API's root, with ``/api/v1``."""
        return f"{self.root}/api/v1"

    def faults(self, request: dict[str, Any]) -> list[str]:
        return dashscope_faults(request)

    def error(self, refusal: Refusal) -> dict[str, Any]:
        return {"code": refusal.code or "InvalidParameter", "message": refusal.message, "request_id": "stub"}

    def serve(self, exchange: Exchange) -> None:
        if exchange.path != _ROUTE:
            raise Refusal(404, f"no such route: {exchange.path}")
        content = self.answer(exchange.body)
        if exchange.headers.get("X-DashScope-SSE") != "enable":
            exchange.json(_body(exchange.body, _message(whole(content)), _finish(content), _length(content)))
            return
        if not (exchange.body.get("parameters") or {}).get("incremental_output"):
            raise Refusal(400, "this stub streams increments only")
        cut = isinstance(content, Cut)
        chunks = _increments(exchange.body, content.content if isinstance(content, Cut) else content, cut)
        lines = (f"id:{i}\nevent:result\n:HTTP_STATUS/200\n{event(chunk)}" for i, chunk in enumerate(chunks, 1))
        exchange.stream(lines, cut=cut)


def _message(content: Content) -> dict[str, Any]:
    parts = blocks(content)
    calls = [_call(part, i) for i, part in enumerate(part for part in parts if part["type"] == "tool_use")]
    text = "".join(part["text"] for part in parts if part["type"] == "text")
    return {"role": "assistant", "content": text, **({"tool_calls": calls} if calls else {})}


def _increments(request: dict[str, Any], content: Content, cut: bool) -> Iterator[dict[str, Any]]:
    message = _message(content)
    length = _length(content)
    for piece in pieces(message["content"]):
        yield _body(request, {"role": "assistant", "content": piece}, "null", length)
    for call in message.get("tool_calls", ()):
        opening = {**call, "function": {"name": call["function"]["name"], "arguments": ""}}
        yield _body(request, {"role": "assistant", "content": "", "tool_calls": [opening]}, "null", length)
        for piece in pieces(call["function"]["arguments"]):
            more = {"index": call["index"], "id": "", "type": "function", "function": {"arguments": piece}}
            yield _body(request, {"role": "assistant", "content": "", "tool_calls": [more]}, "null", length)
    if not cut:
        yield _body(request, {"role": "assistant", "content": ""}, _finish(content), length)


def _call(block: dict[str, Any], index: int) -> dict[str, Any]:
    arguments = json.dumps(block["input"], ensure_ascii=False)
    function = {"name": block["name"], "arguments": arguments}
    return {"index": index, "id": block["id"], "type": "function", "function": function}


def _body(request: dict[str, Any], message: dict[str, Any], finish: str, length: int) -> dict[str, Any]:
    sent = len(request_text(request["input"]["messages"])) // 4 + 1
    usage = {"input_tokens": sent, "output_tokens": length, "total_tokens": sent + length}
    choice = {"finish_reason": finish, "message": message}
    return {"status_code": 200, "request_id": "stub", "output": {"choices": [choice]}, "usage": usage}


def _finish(content: Content | Cut) -> str:
    parts = blocks(content.content if isinstance(content, Cut) else content)
    return "tool_calls" if any(part["type"] == "tool_use" for part in parts) else "stop"


def _length(content: Content | Cut) -> int:
    return len(str(content)) // 4
