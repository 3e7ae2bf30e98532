"""The figures of the model server, for `/metrics`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Final

from flask.wrappers import Response
from prometheus_client import Counter, Gauge, Histogram

from encoders.batching import Capacity
from web import metrics
from web.access import auth
from web.inference.models import LoadedModel

SIZES: Final = (1, 2, 4, 8, 16, 32, 64, 128, 256)


class ModelMeter(metrics.Meter):
    """Requests, counted as the gateway counts them, and the runs of the models."""

    def __init__(self) -> None:
        super().__init__()
        self._inputs = Histogram(
            "medley_inference_batch_inputs", "Inputs of one run", ("model",), registry=self.registry, buckets=SIZES
        )
        self._tokens = Counter("medley_inference_tokens", "Tokens run", ("model",), registry=self.registry)
        self._waiting = Gauge(
            "medley_inference_waiting", "Inputs waiting or running", ("model",), registry=self.registry
        )

    def count_run(self, model: str, inputs: int, tokens: int) -> None:
        """Count one run."""
        self._inputs.labels(model).observe(inputs)
        self._tokens.labels(model).inc(tokens)

    def watch(self, models: Sequence[LoadedModel]) -> None:
        """Show how many inputs wait for each of `models`."""
        for model in models:
            self._waiting.labels(model.name).set_function(partial(_occupied, model.capacity))

    def page(self, home: Path) -> Response:
        """The figures, for programs with a token of `home`."""
        auth.require_program(home)
        return metrics.as_text(self.registry)


def _occupied(capacity: Capacity) -> float:
    return capacity.in_use
