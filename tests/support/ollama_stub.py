"""Ollama's ``/api/chat`` on the loopback interface, at once and as JSON lines."""

import json
from collections.abc import Iterator
from typing import Any

from .answers import Content, Cut, blocks
from .loopback import Exchange, Loopback, Refusal, pieces, whole
from .provider_rules import ollama_faults


class OllamaStub(Loopback):
    """A context manager; ``base_url`` is the client's ``host``."""

    @property
    def base_url(self) -> str:
        """The server's address."""
        return self.root

    def faults(self, request: dict[str, Any]) -> list[str]:
        return ollama_faults(request)

    def error(self, refusal: Refusal) -> dict[str, Any]:
        return {"error": refusal.message}

    def serve(self, exchange: Exchange) -> None:
        if exchange.path != "/api/chat":
            raise Refusal(404, f"no such route: {exchange.path}")
        content = self.answer(exchange.body)
        if exchange.body.get("stream") is False:
            exchange.json({**_line(exchange.body, _message(whole(content))), **_end(exchange.body)})
            return
        cut = isinstance(content, Cut)
        lines = _lines(exchange.body, content.content if isinstance(content, Cut) else content, cut)
        exchange.stream(lines, "application/x-ndjson", cut=cut)


def _message(content: Content) -> dict[str, Any]:
    parts = blocks(content)
    text = "".join(part["text"] for part in parts if part["type"] == "text")
    calls = [
        {"function": {"name": part["name"], "arguments": part["input"]}} for part in parts if part["type"] == "tool_use"
    ]
    return {"role": "assistant", "content": text, **({"tool_calls": calls} if calls else {})}


def _line(request: dict[str, Any], message: dict[str, Any]) -> dict[str, Any]:
    return {"model": request.get("model"), "created_at": "2026-03-05T10:00:00Z", "message": message, "done": False}


def _end(request: dict[str, Any]) -> dict[str, Any]:
    sent = len(json.dumps(request["messages"], ensure_ascii=False)) // 4
    return {"done": True, "done_reason": "stop", "prompt_eval_count": sent, "eval_count": 7, "total_duration": 1}


def _lines(request: dict[str, Any], content: Content, cut: bool) -> Iterator[str]:
    message = _message(content)
    for piece in pieces(message["content"]):
        yield json.dumps(_line(request, {"role": "assistant", "content": piece}), ensure_ascii=False) + "\n"
    if message.get("tool_calls"):
        yield json.dumps(_line(request, {**message, "content": ""}), ensure_ascii=False) + "\n"
    if not cut:
        last = {**_line(request, {"role": "assistant", "content": ""}), **_end(request)}
        yield json.dumps(last, ensure_ascii=False) + "\n"
