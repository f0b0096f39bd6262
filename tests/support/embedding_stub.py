"""Embedding services on the loopback interface: OpenAI's, Ollama's and DashScope's routes, recorded and strict."""

from collections.abc import Callable
from typing import Any

from .embedding import meaning
from .loopback import Exchange, Server


class EmbeddingStub(Server):
    """A context manager. ``failing`` is asked before each answer and returns an HTTP status to fail with, or 0."""

    def __init__(self, failing: Callable[[], int] = lambda: 0, *, size: int | None = None) -> None:
        self.failing, self.size = failing, size
        self.requests: list[tuple[str, dict[str, Any]]] = []
        super().__init__()

    @property
    def texts(self) -> list[str]:
        """Every text that was asked for, in order."""
        return [text for _, request in self.requests for text in _texts(request)]

    def take(self, exchange: Exchange) -> None:
        """Answer a request."""
        status, value = self.answer(exchange.path, exchange.body)
        exchange.json(value, status)

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
