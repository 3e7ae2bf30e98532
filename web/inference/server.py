"""The model server: vectors and scores over HTTP, with the API of Hugging Face's text-embeddings-inference."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import orjson
from flask import Flask, current_app, jsonify, request
from flask.wrappers import Response

from encoders.artifact import Kind
from encoders.batching import Capacity, RequestLifetime
from mappings.documents import clean
from search.models.headers import FINGERPRINT
from web.access import auth
from web.inference import errors as inference_errors
from web.inference.errors import InvalidRequest
from web.inference.forms import deadline, embed_form, rerank_form
from web.inference.meter import ModelMeter
from web.inference.models import LoadedModel, sigmoid
from web.inference.pipeline_server import PipelineServer
from web.inference.pipelines import PipelineKinds
from web.inference.served import TOGETHER
from web.inference.turns import Turns
from web.serving.traced_requests import trace_requests

MAX_BODY_BYTES: Final = 10_000_000
MOST_TEXTS: Final = 128
"""Texts in one request; a client splits longer lists."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How many requests are handled at the same time, and how many inputs can wait for one model."""

    requests: int
    waiting: int

    @property
    def texts(self) -> int:
        """Texts in one request: all of them must fit into an empty queue."""
        return min(MOST_TEXTS, self.waiting)

    def make_turns(self) -> Turns:
        """Turns by which documents hold at most half of the requests and of the queue; searches find room in the others."""
        return Turns(max(1, min(self.requests // 4, self.waiting // (2 * TOGETHER))), max(1, self.requests // 2))


class Inference:
    """The endpoints, over loaded models."""

    def __init__(self, models: Sequence[LoadedModel], home: Path, limits: Limits) -> None:
        self.models, self.home, self.limits = models, home, limits
        # The server has more threads than this: the extra ones reject requests at once instead of letting them wait.
        self.gate = Capacity(limits.requests, "requests")

    def embed(self) -> Response:
        """Texts to vectors: [[float, ...], ...] in input order."""
        with self.admitted() as lifetime:
            form = embed_form(self.limits.texts)
            model = self._model("bi-encoder", form.model)
            if not form.truncate:
                model.check_lengths(form.texts, model.query_length if form.as_queries else model.length)
            vectors = model.embed(form.texts, form.as_queries, form.normalise, lifetime)
        return _answer(model, orjson.dumps(vectors, option=orjson.OPT_SERIALIZE_NUMPY))

    def rerank(self) -> Response:
        """Texts scored against a query: [{"index", "score"}, ...], best first, ties by index."""
        with self.admitted() as lifetime:
            form = rerank_form(self.limits.texts)
            model = self._model("cross-encoder", form.model)
            if not form.truncate:
                model.check_pairs(form.query, form.texts)
            logits = model.score(form.query, form.texts, lifetime)
        scores = [float(score) for score in (logits if form.raw else sigmoid(logits))]
        order = sorted(range(len(scores)), key=lambda number: (-scores[number], number))
        text = {number: {"text": clean(form.texts[number])} for number in order} if form.with_text else {}
        return _answer(model, orjson.dumps([{"index": n, "score": scores[n]} | text.get(n, {}) for n in order]))

    def info(self) -> Response:
        """The models and limits; the first model under the keys of text-embeddings-inference."""
        auth.require_program(self.home)
        first = self.models[0]
        kinds = {"bi-encoder": {"embedding": {"pooling": first.pooling}}, "cross-encoder": {"reranker": {}}}
        return jsonify(
            {
                "model_id": first.name,
                "model_sha": first.fingerprint,
                "model_dtype": first.form,
                "model_type": kinds[first.kind],
                "max_concurrent_requests": self.limits.requests,
                "max_input_length": first.length,
                "max_batch_tokens": self.limits.waiting * first.length,
                "max_client_batch_size": self.limits.texts,
                "version": version("medley"),
                "models": [model.as_json() for model in self.models],
            }
        )

    @contextmanager
    def admitted(self) -> Iterator[RequestLifetime]:
        """Admit a request, or reject it before its body is read, for lack of a token or of capacity."""
        auth.require_program(self.home)
        lifetime = RequestLifetime(deadline(), _disconnected(request.environ.get("gunicorn.socket")))
        with self.gate.hold(1):
            yield lifetime

    def _model(self, kind: Kind, name: str) -> LoadedModel:
        of_kind = [model for model in self.models if model.kind == kind]
        found = [model for model in of_kind if not name or name in (model.name, model.fingerprint)]
        if len(found) == 1:
            return found[0]
        known = ", ".join(model.name for model in of_kind) or "none"
        if not name and found:
            raise InvalidRequest(f"there are several models of this kind: choose one of {known} with `model`")
        raise InvalidRequest(f"there is no {kind}{f' {name[:80]!r}' if name else ''} here; there are: {known}")


def make_inference_app(
    models: Sequence[LoadedModel], home: Path, limits: Limits, meter: ModelMeter, folder: Path | None = None
) -> Flask:
    """Create the application over loaded `models`; tokens are read from `home`, further kinds of collections from `folder`."""
    app = Flask("web.inference", static_folder=None)
    app.config.update(MAX_CONTENT_LENGTH=MAX_BODY_BYTES)
    server = Inference(models, home, limits)
    meter.watch(models)
    inference_errors.register(app)
    app.before_request(meter.start)
    app.after_request(meter.finish)
    app.add_url_rule("/embed", "embed", server.embed, methods=["POST"])
    app.add_url_rule("/rerank", "rerank", server.rerank, methods=["POST"])
    app.add_url_rule("/info", "info", server.info)
    PipelineServer(PipelineKinds(models, folder), server.admitted, limits.texts, limits.make_turns()).register(app)
    app.add_url_rule("/metrics", "metrics", lambda: meter.page(home))
    for name in ("health", "healthz", "readyz"):  # the application is created only after its models have run
        app.add_url_rule(f"/{name}", name, lambda: jsonify({"status": "ready"}))
    trace_requests(app, lambda peer: True)  # its clients are programs
    return app


def _answer(model: LoadedModel, content: bytes) -> Response:
    response = current_app.response_class(content, mimetype="application/json")
    response.headers[FINGERPRINT] = model.fingerprint
    return response


def _disconnected(connection: Any) -> Callable[[], bool] | None:
    """A function that tells whether the client closed the connection; None if only reading could show that."""
    if not isinstance(connection, socket.socket) or isinstance(connection, ssl.SSLSocket):
        return None

    def gone() -> bool:
        try:
            return connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) == b""
        except BlockingIOError:
            return False
        except OSError:
            return True

    return gone
