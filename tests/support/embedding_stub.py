"""Embedding services on the loopback interface: OpenAI's, Ollama's and DashScope's routes, recorded and strict."""

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from .embedding import meaning


class EmbeddingStub:
    """A context manager. ``failing`` is asked before each answer and returns an HTTP status to fail with, or 0."""

    def __init__(self, failing: Callable[[], int] = lambda: 0, *, size: int | None = None) -> None:
        self.failing, self.size = failing, size
        self.requests: list[tuple[str, dict[str, Any]]] = []
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
    def url(self) -> str:
        """The server's address, without a path."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def texts(self) -> list[str]:
        """Every text that was asked for, in order."""
        return [text for _, request in self.requests for text in _texts(request)]

    def answer(self, path: str, request: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """Status and body for a request."""
        self.requests.append((path, request))
        if status := self.failing():
            return status, {"error": {"message": "the service is busy", "code": "busy"}, "message": "busy"}
        texts = _texts(request)
        if not texts or not all(isinstance(text, str) and text.strip() for text in texts):
            return 400, {"error": {"message": "the input must hold texts that are not empty"}}
        wanted = request.get("dimensions") or request.get("parameters", {}).get("dimension")
        vectors = [meaning(text, self.size or int(wanted)) for text in texts]
        if path == "/v1/embeddings":
            data = [{"object": "embedding", "index": n, "embedding": one} for n, one in enumerate(vectors)]
            usage = {"prompt_tokens": 1, "total_tokens": 1}
            return 200, {"object": "list", "model": request["model"], "data": data, "usage": usage}
        if path == "/api/embed":
            return 200, {"model": request["model"], "embeddings": vectors}
        if path == "/api/v1/services/embeddings/text-embedding/text-embedding":
            if len(texts) > 10:
                return 400, {"code": "InvalidParameter", "message": "batch size is invalid, it should not be over 10"}
            found = [{"text_index": n, "embedding": one} for n, one in enumerate(vectors)]
            return 200, {"output": {"embeddings": found}, "usage": {"total_tokens": 1}, "request_id": "r"}
        return 404, {"error": {"message": f"no such route: {path}"}}


def _texts(request: dict[str, Any]) -> list[str]:
    given = request.get("input")
    given = given["texts"] if isinstance(given, dict) else given
    return [given] if isinstance(given, str) else given


def _handler(stub: EmbeddingStub) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            status, value = stub.answer(self.path, json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            body = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing: the record of requests is the log."""

        protocol_version = "HTTP/1.1"

    return Handler
