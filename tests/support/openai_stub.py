"""An OpenAI-compatible server on the loopback interface: scripted answers, recorded requests, strict refusals."""

import asyncio
import hashlib
import json
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from .answers import Answer, Content, Cut, blocks, settle
from .chat_rules import request_faults, request_text

# Characters in one streamed delta: small, so that words, Chinese characters and JSON arguments arrive in pieces.
_DELTA = 7


class Refusal(Exception):
    """An answer that is an HTTP error: ``status``, and the provider's message and code."""

    def __init__(self, status: int, message: str, code: str = "") -> None:
        super().__init__(message)
        self.status, self.message, self.code = status, message, code


class OpenAIStub:
    """A context manager; ``base_url`` goes into the client. ``check`` refuses a request by returning a ``Refusal``."""

    def __init__(
        self,
        answers: Iterable[Answer] = (),
        *,
        default: Answer | None = None,
        check: Callable[[dict[str, Any]], Refusal | None] | None = None,
    ) -> None:
        self.answers: deque[Answer] = deque(answers)
        self.default = default
        self.check = check
        self.requests: list[dict[str, Any]] = []
        self.refused: list[str] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def base_url(self) -> str:
        """The address of the API's root, with ``/v1``."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def chat_requests(self) -> list[dict[str, Any]]:
        """The bodies of the chat requests, in order, refused ones included."""
        return [request for request in self.requests if "messages" in request]

    def answer(self, request: dict[str, Any]) -> Content | Cut:
        """The next scripted content for a request; raises ``Refusal`` where the provider answers with an error."""
        faults = request_faults(request.get("messages"), request.get("tools"))
        if faults:
            self.refused.extend(faults)
            raise Refusal(400, "; ".join(faults), "invalid_request_error")
        if self.check is not None and (refusal := self.check(request)) is not None:
            self.refused.append(refusal.message)
            raise refusal
        if self.answers:
            answer = self.answers.popleft()
        elif self.default is not None:
            answer = self.default
        else:
            raise Refusal(500, "the script has no answer left")
        return asyncio.run(settle(answer, request))


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
    for start in range(0, len(text), _DELTA):
        yield _chunk(request, {"content": text[start : start + _DELTA]})
    calls = [_call(part) for part in parts if part["type"] == "tool_use"]
    for index, item in enumerate(calls):
        arguments = item["function"]["arguments"]
        opening = {**item, "index": index, "function": {**item["function"], "arguments": ""}}
        yield _chunk(request, {"tool_calls": [opening]})
        for start in range(0, len(arguments), _DELTA):
            piece = {"index": index, "function": {"arguments": arguments[start : start + _DELTA]}}
            yield _chunk(request, {"tool_calls": [piece]})
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


def _handler(stub: OpenAIStub) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            stub.requests.append(request)
            try:
                if self.path == "/v1/embeddings":
                    self._embeddings(request)
                elif self.path == "/v1/chat/completions":
                    self._chat(request)
                else:
                    raise Refusal(404, f"no such route: {self.path}")
            except Refusal as refusal:
                error = {"message": refusal.message, "type": "stub", "code": refusal.code or None}
                self._json({"error": error}, refusal.status)
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True

        def _chat(self, request: dict[str, Any]) -> None:
            try:
                content = stub.answer(request)
            except Refusal:
                raise
            except Exception as error:
                raise Refusal(500, f"{type(error).__name__}: {error}") from error
            if not request.get("stream"):
                if isinstance(content, Cut):
                    raise Refusal(500, str(content.error))
                self._json(completion(content, request))
                return
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            cut = isinstance(content, Cut)
            for chunk in deltas(content.content if isinstance(content, Cut) else content, request):
                if cut and chunk["choices"] and chunk["choices"][0]["finish_reason"]:
                    # The connection ends inside the chunked body, as it does when a provider dies mid-answer.
                    self.close_connection = True
                    return
                self._event(json.dumps(chunk, ensure_ascii=False))
            self._event("[DONE]")
            self.wfile.write(b"0\r\n\r\n")

        def _event(self, data: str) -> None:
            body = f"data: {data}\n\n".encode()
            self.wfile.write(f"{len(body):x}\r\n".encode() + body + b"\r\n")
            self.wfile.flush()

        def _embeddings(self, request: dict[str, Any]) -> None:
            texts = [request["input"]] if isinstance(request["input"], str) else request["input"]
            if not texts or not all(isinstance(text, str) and text for text in texts):
                raise Refusal(400, "'input' must hold texts that are not empty", "invalid_request_error")
            size = int(request.get("dimensions") or 8)
            data = [
                {"object": "embedding", "index": i, "embedding": vector(text, size)} for i, text in enumerate(texts)
            ]
            usage = {"prompt_tokens": sum(map(len, texts)), "total_tokens": sum(map(len, texts))}
            self._json({"object": "list", "model": request.get("model"), "data": data, "usage": usage})

        def _json(self, value: dict[str, Any], status: int = 200) -> None:
            body = json.dumps(value, ensure_ascii=False).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing: the record of requests is the log."""

        protocol_version = "HTTP/1.1"

    return Handler
