"""Anthropic's Messages API on the loopback interface, at once and as a stream of events."""

import json
from collections.abc import Iterator
from typing import Any

from .answers import Content, Cut, blocks
from .loopback import Exchange, Loopback, Refusal, event, pieces, whole
from .provider_rules import anthropic_faults


class AnthropicStub(Loopback):
    """A context manager; ``base_url`` goes into the client."""

    @property
    def base_url(self) -> str:
        """The server's address."""
        return self.root

    def faults(self, request: dict[str, Any]) -> list[str]:
        return anthropic_faults(request)

    def error(self, refusal: Refusal) -> dict[str, Any]:
        kind = refusal.code or "api_error"
        return {"type": "error", "error": {"type": kind, "message": refusal.message}, "request_id": "stub"}

    def serve(self, exchange: Exchange) -> None:
        if exchange.path.partition("?")[0] != "/v1/messages":
            raise Refusal(404, f"no such route: {exchange.path}", "not_found_error")
        content = self.answer(exchange.body)
        if not exchange.body.get("stream"):
            parts = [_block(part) for part in blocks(whole(content))]
            exchange.json({**_message(exchange.body), "content": parts, "stop_reason": _stop(parts)})
            return
        cut = isinstance(content, Cut)
        exchange.stream(_events(exchange.body, content.content if isinstance(content, Cut) else content, cut), cut=cut)


def _block(part: dict[str, Any]) -> dict[str, Any]:
    if part["type"] == "tool_use":
        return {"type": "tool_use", "id": part["id"], "name": part["name"], "input": part["input"]}
    if part["type"] == "thinking":
        return {"type": "thinking", "thinking": part["thinking"], "signature": part.get("signature", "signed")}
    return {"type": "text", "text": part["text"]}


def _message(request: dict[str, Any]) -> dict[str, Any]:
    usage = {"input_tokens": len(json.dumps(request, ensure_ascii=False)) // 4, "output_tokens": 7}
    frame = {"id": "msg_stub", "type": "message", "role": "assistant", "model": request.get("model")}
    return {**frame, "content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}


def _stop(parts: list[dict[str, Any]]) -> str:
    return "tool_use" if any(part["type"] == "tool_use" for part in parts) else "end_turn"


def _events(request: dict[str, Any], content: Content, cut: bool) -> Iterator[str]:
    yield _event("message_start", message=_message(request))
    parts = [_block(part) for part in blocks(content)]
    for i, part in enumerate(parts):
        empty = {"text": {"text": ""}, "thinking": {"thinking": "", "signature": ""}, "tool_use": {"input": {}}}
        yield _event("content_block_start", index=i, content_block={**part, **empty[part["type"]]})
        for delta in _deltas(part):
            yield _event("content_block_delta", index=i, delta=delta)
        if cut and i == len(parts) - 1:
            return
        yield _event("content_block_stop", index=i)
    yield _event(
        "message_delta", delta={"stop_reason": _stop(parts), "stop_sequence": None}, usage={"output_tokens": 7}
    )
    yield _event("message_stop")


def _deltas(part: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if part["type"] == "text":
        for piece in pieces(part["text"]):
            yield {"type": "text_delta", "text": piece}
    elif part["type"] == "thinking":
        yield {"type": "thinking_delta", "thinking": part["thinking"]}
        yield {"type": "signature_delta", "signature": part["signature"]}
    else:
        for piece in pieces(json.dumps(part["input"], ensure_ascii=False)):
            yield {"type": "input_json_delta", "partial_json": piece}


def _event(name: str, **data: Any) -> str:
    return event({"type": name, **data}, name)
