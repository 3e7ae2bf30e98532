"""What `/metrics` says of requests, for every server, and of searches; and metrics as text for Prometheus."""

from __future__ import annotations

import os
import time
from typing import Final

from flask import g, make_response, request
from flask.wrappers import Response
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

from search.pipeline.results import Results

BUCKETS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Meter:
    """Counts and times requests. It has its own registry, so that several applications can run in one process."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        labels = ("endpoint", "status")
        self.requests = Counter("medley_requests_total", "Requests answered", labels, registry=self.registry)
        self.seconds = Histogram(
            "medley_request_seconds", "Seconds to answer", ("endpoint",), registry=self.registry, buckets=BUCKETS
        )

    def start(self) -> None:
        """Record when the request arrived."""
        g.started = time.perf_counter()

    def finish(self, response: Response) -> Response:
        """Count the answered request."""
        endpoint = request.endpoint or "unknown"
        self.requests.labels(endpoint, str(response.status_code)).inc()
        self.seconds.labels(endpoint).observe(time.perf_counter() - g.get("started", time.perf_counter()))
        return response


class GatewayMeter(Meter):
    """Requests, and the searches that they ran: how long each took, and how many answers lack something."""

    def __init__(self) -> None:
        super().__init__()
        self._seconds = Histogram(
            "medley_search_seconds", "Seconds to search", ("collection",), registry=self.registry, buckets=BUCKETS
        )
        self._degraded = Counter(
            "medley_searches_degraded", "Answers without a part that failed", ("collection",), registry=self.registry
        )
        self._partial = Counter(
            "medley_searches_partial", "Answers that time cut short", ("collection",), registry=self.registry
        )

    def count_answer(self, collection: str, results: Results) -> None:
        """Count one page of results of a collection."""
        self._seconds.labels(collection).observe(results.timings_ms["total"] / 1000)
        self._degraded.labels(collection).inc(bool(results.degraded))
        self._partial.labels(collection).inc(bool(results.partial))


def across_processes(registry: CollectorRegistry) -> CollectorRegistry:
    """The metrics of all processes if `PROMETHEUS_MULTIPROC_DIR` is set, otherwise those of `registry`."""
    if "PROMETHEUS_MULTIPROC_DIR" not in os.environ:
        return registry
    collected = CollectorRegistry()
    MultiProcessCollector(collected)  # type: ignore[no-untyped-call]
    return collected


def as_text(*registries: CollectorRegistry) -> Response:
    """The metrics in the text format of Prometheus."""
    response = make_response(b"".join(generate_latest(registry) for registry in registries))
    response.headers["Content-Type"] = CONTENT_TYPE_LATEST
    return response
