"""A small HTTP model server whose responses a test scripts."""

from __future__ import annotations

import hashlib
import json
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

DIMENSION = 4
TEI_EMBED = {
    "model_id": "BAAI/bge-small-en-v1.5",
    "model_sha": "5c38ec7c405ec4b44b94cc5a9bb96e735b38267a",
    "model_dtype": "float16",
    "model_type": {"embedding": {"pooling": "cls"}},
    "max_concurrent_requests": 512,
    "max_input_length": 512,
    "max_batch_tokens": 16384,
    "max_batch_requests": None,
    "max_client_batch_size": 3,
    "auto_truncate": False,
    "tokenization_workers": 16,
    "version": "1.7.0",
    "sha": None,
    "docker_label": None,
}
TEI_RERANK = TEI_EMBED | {
    "model_id": "BAAI/bge-reranker-base",
    "model_sha": None,
    "model_type": {"reranker": {"id2label": {"0": "LABEL_0"}, "label2id": {"LABEL_0": 0}}},
}


def ours(*models: dict[str, Any], most: int = 3) -> dict[str, Any]:
    """The `/info` of `medley inference`."""
    return {"model_id": "first", "max_client_batch_size": most, "models": list(models)}


def offered(name: str, kind: str = "bi-encoder", fingerprint: str | None = None) -> dict[str, Any]:
    return {
        "name": name,
        "kind": kind,
        "fingerprint": fingerprint or hashlib.sha256(name.encode()).hexdigest(),
        "dimension": DIMENSION if kind == "bi-encoder" else 1,
        "form": "fp32",
        "max_input_length": 16,
    }


def axis(text: str) -> list[float]:
    """A unit vector that depends on the text."""
    return [1.0 if number == len(text) % DIMENSION else 0.0 for number in range(DIMENSION)]


def score(text: str) -> float:
    return float(len(text)) - 3.5


Answer = tuple[int, Any, dict[str, str]]


class ModelServer:
    """`info` is the body of `/info`, `made_by` the fingerprint in responses; `before` can respond first."""

    def __init__(self, info: dict[str, Any], made_by: str | None = None) -> None:
        self.info, self.made_by = info, made_by
        self.before: Callable[[str, Any], Answer | None] = lambda path, body: None
        self.asked: list[tuple[str, Any, dict[str, str]]] = []
        self.delay = 0.0
        self._start(0)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def paths(self) -> list[str]:
        return [path for path, _, _ in self.asked if path != "/info"]

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        for connection in self._open:
            with suppress(OSError):  # already closed by the client
                connection.shutdown(socket.SHUT_RDWR)
        self._thread.join()

    def restart(self) -> None:
        self._start(self.port)

    def answer(self, path: str, body: Any) -> Answer:
        time.sleep(self.delay if path != "/info" else 0)
        if (first := self.before(path, body)) is not None:
            return first
        headers = {"X-Medley-Fingerprint": self.made_by} if self.made_by else {}
        if path == "/info":
            return 200, self.info, {}
        if path == "/embed":
            return 200, [axis(text) for text in body["inputs"]], headers
        ranked = sorted(((score(text), number) for number, text in enumerate(body["texts"])), reverse=True)
        return 200, [{"index": number, "score": value} for value, number in ranked], headers

    def _start(self, port: int) -> None:
        owner = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                self._reply(None)

            def do_POST(self) -> None:
                self._reply(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

            def _reply(self, body: Any) -> None:
                owner.asked.append((self.path, body, dict(self.headers)))
                status, value, headers = owner.answer(self.path, body)
                content = value if isinstance(value, bytes) else json.dumps(value).encode()
                self.send_response(status)
                for name, text in ({"Content-Length": str(len(content))} | headers).items():
                    self.send_header(name, text)
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *arguments: Any) -> None:
                pass

        self._open: list[socket.socket] = []

        class Quiet(ThreadingHTTPServer):
            daemon_threads = True
            block_on_close = False

            def process_request(self, request: Any, client_address: Any) -> None:
                owner._open.append(request)
                super().process_request(request, client_address)

            def handle_error(self, request: Any, client_address: Any) -> None:
                pass  # clients that disconnect are part of these tests

        self._server = Quiet(("127.0.0.1", port), Handler)
        self.port = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()
