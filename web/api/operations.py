"""The routes for operators: `/healthz`, `/readyz`, `/metrics` and `/openapi.json`."""

from __future__ import annotations

from flask import Flask, jsonify
from flask.wrappers import Response
from prometheus_client import CollectorRegistry
from werkzeug.routing import BaseConverter

from mappings.errors import Forbidden, MedleyError, Unauthorized
from web import context, metrics
from web.api import openapi
from web.api.ingestion_metrics import IngestionMetrics
from web.context import EXTENSION, portal


class Anything(BaseConverter):
    """A document's id in a URL path: any text, including slashes."""

    regex = ".+?"
    part_isolating = False


def register(app: Flask, meter: metrics.Meter) -> None:
    """Add the routes for operators and the URL converter `anything` to `app`, whose requests `meter` counts."""
    gauges = CollectorRegistry()
    served = app.extensions[EXTENSION]
    gauges.register(IngestionMetrics(served.medley, served.queue))

    def show_metrics() -> Response:
        """The request metrics of this process or of all processes, and the ingestion metrics, collected now.

        They count the documents of every collection, so only an operator may read them.
        """
        context.require_caller()
        if not context.caller().operator:
            raise Forbidden(
                "only an operator may read the metrics: create a token for one with "
                "`medley tokens add USER --label LABEL --operator`"
            )
        return metrics.as_text(metrics.across_processes(meter.registry), gauges)

    app.url_map.converters["anything"] = Anything
    app.before_request(meter.start)
    app.after_request(meter.finish)
    app.add_url_rule("/metrics", "metrics", show_metrics)
    app.add_url_rule("/healthz", "healthz", healthz)
    app.add_url_rule("/readyz", "readyz", readyz)
    app.add_url_rule("/openapi.json", "openapi", lambda: jsonify(openapi.description()))


def healthz() -> Response:
    """Answer 200 as long as the process responds."""
    return jsonify({"status": "alive"})


def readyz() -> Response:
    """Answer 200 when every collection's index is open and its models are loaded, otherwise 503 with the reasons.

    The reasons name collections and models, so only operators see them.
    """
    reasons = not_ready()
    if reasons and not _may_know():
        reasons = ["send the token of an operator to see the reasons"]
    response = jsonify({"status": "not ready" if reasons else "ready", "reasons": reasons})
    response.status_code = 503 if reasons else 200
    return response


def _may_know() -> bool:
    try:
        context.require_caller()
    except (Unauthorized, Forbidden):
        return False
    return context.caller().operator


def not_ready() -> list[str]:
    """The reasons why searches would fail, in plain words. Loads the models."""
    medley = portal().medley
    try:
        names = medley.collections.names()
    except MedleyError as error:
        return [error.message]
    reasons = [] if names else ["there is no collection yet: run `medley demo` or `medley ingest`"]
    for name in names:
        try:
            collection = medley.collections.get(name)
            meta = medley.engine.resolve(name)
            medley.models.rerank_stages(collection)
            medley.models.claim_reader(collection)
        except MedleyError as error:
            reasons.append(f"{name}: {error.message}")
            continue
        missing = [
            field for field, mark in meta.encoders.items() if medley.models.find_index_encoder(field, mark) is None
        ]
        reasons += [
            f"{name}: the encoder that filled the vector field '{field}' is not among the available models"
            for field in missing
        ]
    return reasons
