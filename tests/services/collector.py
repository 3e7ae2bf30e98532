"""A real receiver of traces: OTLP over HTTP, its bodies decoded by OpenTelemetry's own protocol."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


@dataclass(frozen=True)
class Received:
    """One span as it arrived; ids are hexadecimal, `parent` is empty for the first of its trace."""

    service: str
    name: str
    trace: str
    id: str
    parent: str
    start: int
    end: int
    failed: bool
    message: str
    events: int
    attributes: dict[str, Any]


class Collector:
    """What arrived so far, with the bodies as they were sent."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.bodies: list[bytes] = []
        self.paths: set[str] = set()

    @property
    def spans(self) -> list[Received]:
        return [found for body in list(self.bodies) for found in _decode(body)]

    def named(self, name: str) -> list[Received]:
        return [item for item in self.spans if item.name == name]

    def below(self, parent: Received) -> list[Received]:
        """The spans right below another one, in order of time."""
        children = [item for item in self.spans if (item.trace, item.parent) == (parent.trace, parent.id)]
        return sorted(children, key=lambda item: item.start)


def _decode(body: bytes) -> Iterator[Received]:
    for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
        about = _attributes(resource.resource.attributes)
        for scope in resource.scope_spans:
            for item in scope.spans:
                yield Received(
                    about["service.name"],
                    item.name,
                    item.trace_id.hex(),
                    item.span_id.hex(),
                    item.parent_span_id.hex(),
                    item.start_time_unix_nano,
                    item.end_time_unix_nano,
                    item.status.code == item.status.STATUS_CODE_ERROR,
                    item.status.message,
                    len(item.events),
                    _attributes(item.attributes),
                )


def _attributes(listed: Any) -> dict[str, Any]:
    return {item.key: getattr(item.value, item.value.WhichOneof("value")) for item in listed}


@contextmanager
def collecting() -> Iterator[Collector]:
    """A collector on a free port, for as long as the block."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            collector.paths.add(self.path)
            collector.bodies.append(gzip.decompress(body) if self.headers["Content-Encoding"] == "gzip" else body)
            self.send_response(200)
            self.send_header("Content-Type", "application/x-protobuf")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *arguments: Any) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    collector = Collector(f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield collector
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
