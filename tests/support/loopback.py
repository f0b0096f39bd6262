"""A provider on the loopback interface: scripted answers, recorded requests, strict refusals. Its wire shape is left to
the classes that know one provider each."""

import asyncio
import json
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from .answers import Answer, Content, Cut, settle

# Characters in one streamed delta: small, so that words, Chinese characters and JSON arguments arrive in pieces.
DELTA = 7


class Refusal(Exception):
    """An answer that is an HTTP error: ``status``, and the provider's message and code."""

    def __init__(self, status: int, message: str, code: str = "") -> None:
        super().__init__(message)
        self.status, self.message, self.code = status, message, code


class Exchange:
    """One request and the means to answer it."""

    def __init__(self, handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
        self._handler = handler
        self.path, self.headers, self.body = handler.path, handler.headers, body

    def json(self, value: Mapping[str, Any], status: int = 200) -> None:
        """Answer at once."""
        data = json.dumps(value, ensure_ascii=False).encode()
        self._handler.send_response(status)
        self._handler.send_header("Content-Type", "application/json")
        self._handler.send_header("Content-Length", str(len(data)))
        self._handler.end_headers()
        self._handler.wfile.write(data)

    def stream(self, pieces: Iterable[str], content_type: str = "text/event-stream", *, cut: bool = False) -> None:
        """Answer in pieces. With ``cut`` the connection ends inside the body, as when a provider dies mid-answer."""
        self._handler.send_response(200)
        self._handler.send_header("Content-Type", content_type)
        self._handler.send_header("Transfer-Encoding", "chunked")
        self._handler.end_headers()
        for piece in pieces:
            data = piece.encode()
            self._handler.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
            self._handler.wfile.flush()
        if cut:
            self._handler.close_connection = True
        else:
            self._handler.wfile.write(b"0\r\n\r\n")


class Server:
    """A context manager: an HTTP server of its own, on a free port, for as long as it is entered."""

    def __init__(self) -> None:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def root(self) -> str:
        """The server's address, without a path."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def take(self, exchange: Exchange) -> None:
        """Answer one POST request with a JSON body."""
        raise NotImplementedError


class Loopback(Server):
    """A context manager. ``check`` refuses a request by returning a ``Refusal``; ``refused`` keeps every reason."""

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
        super().__init__()

    # --- what a provider is ---------------------------------------------------------------------------------------

    def faults(self, request: dict[str, Any]) -> list[str]:
        """Every reason to refuse a request."""
        raise NotImplementedError

    def serve(self, exchange: Exchange) -> None:
        """Answer a request, or raise ``Refusal``."""
        raise NotImplementedError

    def error(self, refusal: Refusal) -> dict[str, Any]:
        """The body of a refusal."""
        raise NotImplementedError

    # --- what all have in common ----------------------------------------------------------------------------------

    def take(self, exchange: Exchange) -> None:
        """Record a request and serve it; a refusal becomes an HTTP error."""
        self.requests.append(exchange.body)
        try:
            self.serve(exchange)
        except Refusal as refusal:
            exchange.json(self.error(refusal), refusal.status)

    def answer(self, request: dict[str, Any]) -> Content | Cut:
        """The next scripted content for a request; raises ``Refusal`` where the provider answers with an error."""
        faults = self.faults(request)
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
        try:
            return asyncio.run(settle(answer, request))
        except Refusal:
            raise
        except Exception as error:
            raise Refusal(500, f"{type(error).__name__}: {error}") from error


def pieces(text: str) -> Iterator[str]:
    """A text in deltas."""
    for start in range(0, len(text), DELTA):
        yield text[start : start + DELTA]


def whole(content: Content | Cut) -> Content:
    """Content that can be sent at once; a cut one is an error where nothing is streamed."""
    if isinstance(content, Cut):
        raise Refusal(500, str(content.error))
    return content


def event(data: Any, name: str = "") -> str:
    """One server-sent event."""
    text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
    return (f"event: {name}\n" if name else "") + f"data: {text}\n\n"


def _handler(server: Server) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            exchange = Exchange(self, json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            try:
                server.take(exchange)
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True

        def log_message(self, *_: object) -> None:
            """Say nothing: the record of requests is the log."""

        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True  # a piece does not wait until the client has confirmed the one before

    return Handler
