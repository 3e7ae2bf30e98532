"""Records spans with OpenTelemetry, and sends them by OTLP over HTTP. The only importer of OpenTelemetry.

A collector that is slow or down costs spans, never requests: they are sent by a thread of their own, from a queue of
bounded length. Sampling, headers and certificates are set by OpenTelemetry's own variables (`OTEL_TRACES_SAMPLER`,
`OTEL_EXPORTER_OTLP_HEADERS` and so on).
"""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Mapping
from importlib.metadata import version
from types import TracebackType
from typing import Any, Final

from opentelemetry import context, trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from search.tracing.spans import NO_CARRIER, NO_SPAN, Attributes, Carrier, Kind, OpenSpan

SECONDS: Final = 3.0
"""How long one batch of spans may take to be sent, and a process that stops waits for the last ones."""

_KINDS: Final = {
    "internal": trace.SpanKind.INTERNAL,
    "server": trace.SpanKind.SERVER,
    "client": trace.SpanKind.CLIENT,
    "consumer": trace.SpanKind.CONSUMER,
}


class OtlpSpan:
    """A span of OpenTelemetry, current from when it is entered until it is left."""

    def __init__(self, recorded: trace.Span) -> None:
        self._span = recorded
        self._token: Any = None

    def __enter__(self) -> OtlpSpan:
        self._token = context.attach(trace.set_span_in_context(self._span))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        if kind is not None and issubclass(kind, Exception):
            self.fail(kind.__name__)  # the message can quote a query or a document
        self._span.end()
        context.detach(self._token)

    def set(self, attributes: Attributes) -> None:
        """Add attributes."""
        self._span.set_attributes(_plain(attributes))

    def rename(self, name: str) -> None:
        """Give it another name."""
        self._span.update_name(name)

    def fail(self, error: str) -> None:
        """Mark it as failed by the type of the error."""
        self._span.set_attribute("error.type", error)
        self._span.set_status(trace.StatusCode.ERROR)


class OtlpRecorder:
    """Sends the spans of this process to the collector at `endpoint`, as those of `service`."""

    def __init__(self, endpoint: str, service: str) -> None:
        resource = Resource.create(
            {
                "service.name": service,
                "service.namespace": "medley",
                "service.version": version("medley"),
                "service.instance.id": f"{socket.gethostname()}-{os.getpid()}",
            }
        )
        self._provider = TracerProvider(resource=resource, shutdown_on_exit=False)
        self._provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint, timeout=SECONDS)))
        self._tracer = self._provider.get_tracer("medley", version("medley"))
        self._propagator = TraceContextTextMapPropagator()

    def open(self, name: str, kind: Kind, attributes: Attributes, carrier: Carrier = NO_CARRIER) -> OpenSpan:
        """A span below the current one, or else below the one in `carrier`; a call on its own is not recorded."""
        parent = None
        if not trace.get_current_span().get_span_context().is_valid:
            if kind == "client":
                return NO_SPAN
            parent = self._propagator.extract(carrier) if carrier else None
        return OtlpSpan(self._tracer.start_span(name, parent, _KINDS[kind], _plain(attributes)))

    def headers(self) -> dict[str, str]:
        """The headers that lead to the current span; empty without one."""
        carrier: dict[str, str] = {}
        self._propagator.inject(carrier)
        return carrier

    def stop(self) -> None:
        """Send what is left; a collector that does not answer is not waited for longer than `SECONDS`."""
        last = threading.Thread(target=self._provider.shutdown, name="last spans", daemon=True)
        last.start()
        last.join(SECONDS)


def _plain(attributes: Attributes) -> Mapping[str, str | int | float | bool]:
    return {str(name): value for name, value in attributes.items()}
