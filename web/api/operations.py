"""For those who run the portal: is it alive, is it ready, what does it do; and the API's description."""

from __future__ import annotations

import os
import time
from typing import Final

from flask import Flask, g, jsonify, make_response, request
from flask.wrappers import Response
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector
from werkzeug.routing import BaseConverter

from mappings.errors import Forbidden, MedleyError, Unauthorized
from web.access import auth
from web.api import openapi
from web.api.gauges import Gauges
from web.context import EXTENSION, portal

BUCKETS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Anything(BaseConverter):
    """A document's id in an address: any text, slashes included."""

    regex = ".+?"
    part_isolating = False


class Meter:
    """Requests counted and timed; its own registry, so that several applications can live in one process."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.gauges = CollectorRegistry()
        labels = ("endpoint", "status")
        self.requests = Counter("medley_requests_total", "Requests answered", labels, registry=self.registry)
        self.seconds = Histogram(
            "medley_request_seconds", "Seconds to answer", ("endpoint",), registry=self.registry, buckets=BUCKETS
        )

    def start(self) -> None:
        """Note when the request came."""
        g.started = time.perf_counter()

    def finish(self, response: Response) -> Response:
        """Count the answered request."""
        endpoint = request.endpoint or "unknown"
        self.requests.labels(endpoint, str(response.status_code)).inc()
        self.seconds.labels(endpoint).observe(time.perf_counter() - g.get("started", time.perf_counter()))
        return response

    def page(self) -> Response:
        """The figures of this process or, with `PROMETHEUS_MULTIPROC_DIR` set, of all; and the gauges, asked for now."""
        auth.require_caller()
        registry = self.registry
        if "PROMETHEUS_MULTIPROC_DIR" in os.environ:
            registry = CollectorRegistry()
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        response = make_response(generate_latest(registry) + generate_latest(self.gauges))
        response.headers["Content-Type"] = CONTENT_TYPE_LATEST
        return response


def register(app: Flask) -> None:
    """Add the operators' addresses to `app`, and `anything` to what its addresses may hold."""
    meter = Meter()
    served = app.extensions[EXTENSION]
    meter.gauges.register(Gauges(served.medley, served.queue))
    app.url_map.converters["anything"] = Anything
    app.before_request(meter.start)
    app.after_request(meter.finish)
    app.add_url_rule("/metrics", "metrics", meter.page)
    app.add_url_rule("/healthz", "healthz", healthz)
    app.add_url_rule("/readyz", "readyz", readyz)
    app.add_url_rule("/openapi.json", "openapi", lambda: jsonify(openapi.description()))


def healthz() -> Response:
    """The process answers."""
    return jsonify({"status": "alive"})


def readyz() -> Response:
    """200 when every collection's index is open and its models are loaded; else 503 with the reasons.

    The reasons name collections and models, so where tokens were made only who shows one is told them.
    """
    reasons = not_ready()
    if reasons and not _may_know():
        reasons = [f"{len(reasons)} in all; who shows a token is told which"]
    response = jsonify({"status": "not ready" if reasons else "ready", "reasons": reasons})
    response.status_code = 503 if reasons else 200
    return response


def _may_know() -> bool:
    if not auth.guarded(portal().home):
        return True
    try:
        auth.require_caller()
    except (Unauthorized, Forbidden):
        return False
    return True


def not_ready() -> list[str]:
    """What stands in the way of searching, in plain words; the models are loaded on the way."""
    medley = portal().medley
    reasons = [] if medley.collections.names() else ["there is no collection yet: run `medley demo` or `medley ingest`"]
    for name in medley.collections.names():
        try:
            collection = medley.collections.get(name)
            meta = medley.engine.resolve(name)
            medley.models.rerank_stages(collection)
        except MedleyError as error:
            reasons.append(f"{name}: {error.message}")
            continue
        missing = [field for field, mark in meta.encoders.items() if medley.models.find_encoder(mark) is None]
        reasons += [
            f"{name}: the encoder that filled the vector field '{field}' is not among the models here"
            for field in missing
        ]
    return reasons
