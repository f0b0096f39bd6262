"""An OpenAI-compatible server on the loopback interface: scripted answers, recorded requests, strict refusals."""

import hashlib
import json
from collections.abc import Iterator
from typing import Any

from .answers import Content, Cut, blocks
from .chat_rules import request_faults, request_text
from .loopback import Exchange, Loopback, Refusal, event, pieces, whole

__all__ = ["OpenAIStub", "Refusal", "completion", "deltas", "vector"]


class OpenAIStub(Loopback):
    """A context manager; ``base_url`` goes into the client. ``check`` refuses a request by returning a ``Refusal``."""

    @property
    def base_url(self) -> str:
        """The address of the API's root, with ``/v1``."""
        return f"{self.root}/v1"

    def chat_requests(self) -> list[dict[str, Any]]:
        """The bodies of the chat requests, in order, refused ones included."""
        return [request for request in self.requests if "messages" in request]

    def faults(self, request: dict[str, Any]) -> list[str]:
        return request_faults(request.get("messages"), request.get("tools"))

    def error(self, refusal: Refusal) -> dict[str, Any]:
        return {"error": {"message": refusal.message, "type": "stub", "code": refusal.code or None}}

    def serve(self, exchange: Exchange) -> None:
        if exchange.path == "/v1/embeddings":
            _embeddings(exchange)
        elif exchange.path == "/v1/chat/completions":
            self._chat(exchange)
        else:
            raise Refusal(404, f"no such route: {exchange.path}")

    def _chat(self, exchange: Exchange) -> None:
        request = exchange.body
        content = self.answer(request)
        if not request.get("stream"):
            exchange.json(completion(whole(content), request))
            return
        cut = isinstance(content, Cut)
        chunks = deltas(content.content if isinstance(content, Cut) else content, request)
        exchange.stream(_events(chunks, cut), cut=cut)


def _events(chunks: Iterator[dict[str, Any]], cut: bool) -> Iterator[str]:
    for chunk in chunks:
        if cut and chunk["choices"] and chunk["choices"][0]["finish_reason"]:
            return
        yield event(chunk)
    yield event("[DONE]")


def _embeddings(exchange: Exchange) -> None:
    request = exchange.body
    texts = [request["input"]] if isinstance(request["input"], str) else request["input"]
    if not texts or not all(isinstance(text, str) and text for text in texts):
        raise Refusal(400, "'input' must hold texts that are not empty", "invalid_request_error")
    size = int(request.get("dimensions") or 8)
    data = [{"object": "embedding", "index": i, "embedding": vector(text, size)} for i, text in enumerate(texts)]
    usage = {"prompt_tokens": sum(map(len, texts)), "total_tokens": sum(map(len, texts))}
    exchange.json({"object": "list", "model": request.get("model"), "data": data, "usage": usage})


def vector(text: str, dimensions: int) -> list[float]:
    """A unit-free vector that depends only on the text: the same words give the same numbers."""
    digest = hashlib.sha256(text.encode()).digest()
    return [digest[i % len(digest)] / 255 - 0.5 for i in range(dimensions)]


def completion(content: Content, request: dict[str, Any]) -> dict[str, Any]:
    """The body of an answer that is not streamed."""
    parts = blocks(content)
    text = "".join(part["text"] for part in parts if part["type"] == "text")
    calls = [_call(part) for part in parts if part["type"] == "tool_use"]
    message: dict[str, Any] = {"role": "assistant", "content": text or None}
    if calls:
        message["tool_calls"] = calls
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop", "logprobs": None}
    return {**_envelope("chat.completion", request), "choices": [choice], "usage": _usage(request, text)}


def deltas(content: Content, request: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The chunks of a streamed answer: text and arguments in small pieces, the finish reason, then the usage."""
    parts = blocks(content)
    yield _chunk(request, {"role": "assistant", "content": ""})
    text = "".join(part["text"] for part in parts if part["type"] == "text")
    for piece in pieces(text):
        yield _chunk(request, {"content": piece})
    calls = [_call(part) for part in parts if part["type"] == "tool_use"]
    for index, item in enumerate(calls):
        arguments = item["function"]["arguments"]
        opening = {**item, "index": index, "function": {**item["function"], "arguments": ""}}
        yield _chunk(request, {"tool_calls": [opening]})
        for piece in pieces(arguments):
            yield _chunk(request, {"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    yield _chunk(request, {}, "tool_calls" if calls else "stop")
    if (request.get("stream_options") or {}).get("include_usage"):
        yield {**_envelope("chat.completion.chunk", request), "choices": [], "usage": _usage(request, text)}


def _envelope(kind: str, request: dict[str, Any]) -> dict[str, Any]:
    return {"id": "chatcmpl-stub", "object": kind, "created": 0, "model": request.get("model", "stub")}


def _chunk(request: dict[str, Any], delta: dict[str, Any], finish_reason: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason, "logprobs": None}
    return {**_envelope("chat.completion.chunk", request), "choices": [choice], "usage": None}


def _call(block: dict[str, Any]) -> dict[str, Any]:
    arguments = json.dumps(block["input"], ensure_ascii=False)
    return {"id": block["id"], "type": "function", "function": {"name": block["name"], "arguments": arguments}}


def _usage(request: dict[str, Any], text: str) -> dict[str, Any]:
    prompt = len(request_text(request["messages"])) // 4 + 1
    return {"prompt_tokens": prompt, "completion_tokens": len(text) // 4, "total_tokens": prompt + len(text) // 4}
