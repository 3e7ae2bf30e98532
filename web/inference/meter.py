"""What the model server counts, for `/metrics`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Final

from flask import current_app
from flask.wrappers import Response
from prometheus_client import CONTENT_TYPE_LATEST, Counter, Gauge, Histogram, generate_latest

from encoders.batching import Capacity
from web.access import auth
from web.api.operations import Meter
from web.inference.models import Served

SIZES: Final = (1, 2, 4, 8, 16, 32, 64, 128, 256)


class ModelMeter(Meter):
    """Requests as the portal counts them, and what the models ran."""

    def __init__(self) -> None:
        super().__init__()
        self._inputs = Histogram(
            "medley_inference_batch_inputs", "Inputs of one run", ("model",), registry=self.registry, buckets=SIZES
        )
        self._tokens = Counter("medley_inference_tokens", "Tokens run", ("model",), registry=self.registry)
        self._waiting = Gauge("medley_inference_waiting", "Inputs that wait or run", ("model",), registry=self.registry)

    def ran(self, model: str, inputs: int, tokens: int) -> None:
        """Count one run."""
        self._inputs.labels(model).observe(inputs)
        self._tokens.labels(model).inc(tokens)

    def watch(self, models: Sequence[Served]) -> None:
        """Show how many inputs wait for each of `models`."""
        for model in models:
            self._waiting.labels(model.name).set_function(partial(_taken, model.capacity))

    def page_for(self, home: Path) -> Response:
        """The figures, for those who may ask."""
        auth.require_program(home)
        return current_app.response_class(generate_latest(self.registry), content_type=CONTENT_TYPE_LATEST)


def _taken(capacity: Capacity) -> float:
    return capacity.in_use
