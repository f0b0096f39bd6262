"""Gemini's ``generateContent`` on the loopback interface, at once and as a stream of events."""

import json
from typing import Any

from .answers import Content, Cut, blocks
from .loopback import Exchange, Loopback, Refusal, event, pieces, whole
from .provider_rules import gemini_faults


class GeminiStub(Loopback):
    """A context manager; ``base_url`` goes into the client's ``http_options``."""

    @property
    def base_url(self) -> str:
        """The server's address."""
        return self.root

    def faults(self, request: dict[str, Any]) -> list[str]:
        return gemini_faults(request)

    def error(self, refusal: Refusal) -> dict[str, Any]:
        return {"error": {"code": refusal.status, "message": refusal.message, "status": "INVALID_ARGUMENT"}}

    def serve(self, exchange: Exchange) -> None:
        method = exchange.path.partition("?")[0].rpartition(":")[2]
        if method not in ("generateContent", "streamGenerateContent"):
            raise Refusal(404, f"no such route: {exchange.path}")
        content = self.answer(exchange.body)
        if method == "generateContent":
            exchange.json(_body(exchange.body, _parts(whole(content)), "STOP"))
            return
        cut = isinstance(content, Cut)
        steps = [[part] for part in _parts(content.content if isinstance(content, Cut) else content, split=True)]
        bodies = [_body(exchange.body, step, None) for step in steps]
        if not cut:
            bodies.append(_body(exchange.body, [], "STOP"))
        exchange.stream((event(body) for body in bodies), cut=cut)


def _parts(content: Content, *, split: bool = False) -> list[dict[str, Any]]:
    parts: list[dict[str, Any]] = []
    for block in blocks(content):
        if block["type"] == "tool_use":
            parts.append({"functionCall": {"name": block["name"], "args": block["input"]}})
        elif block["type"] == "text" and split:
            parts += [{"text": piece} for piece in pieces(block["text"])]
        else:
            parts.append({"text": block["text"]})
    return parts


def _body(request: dict[str, Any], parts: list[dict[str, Any]], finish: str | None) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": parts}, "index": 0}
    if finish:
        candidate["finishReason"] = finish
    sent = len(json.dumps(request["contents"], ensure_ascii=False)) // 4
    usage = {"promptTokenCount": sent, "candidatesTokenCount": 7, "totalTokenCount": sent + 7}
    return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "stub", "responseId": "stub"}
