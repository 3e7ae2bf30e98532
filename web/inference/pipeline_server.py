"""The addresses `/opensearch/<kind>/…`: what the pipelines of the plug-in call (`search.engines.opensearch.plugin`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Final

import orjson
from flask import Flask, current_app
from flask.wrappers import Response

from encoders.batching import RequestLifetime
from web.inference.pipeline_forms import document_form, query_form, rerank_form, scores_form, vectors_form
from web.inference.pipelines import PipelineKinds
from web.inference.served import within
from web.inference.turns import Turns

MOST_HITS: Final = 1_000
"""Hits of one search; only the best of them are read."""


class PipelineServer:
    """The steps over `kinds`; `admit` admits a request or rejects it, and one can hold at most `most` texts.

    Documents are read when it is their turn, so that those of a bulk request leave room for searches.
    """

    def __init__(
        self,
        kinds: PipelineKinds,
        admit: Callable[[], AbstractContextManager[RequestLifetime]],
        most: int,
        turns: Turns,
    ) -> None:
        self._kinds, self._admit, self._most, self._turns = kinds, admit, most, turns

    def register(self, app: Flask) -> None:
        """Add the addresses to `app`."""
        for name in ("documents", "queries", "vectors", "scores", "rerank"):
            address = f"/opensearch/<kind>/{name}"
            app.add_url_rule(address, f"opensearch_{name}", getattr(self, name), methods=["POST"])

    @contextmanager
    def _admitted(self) -> Iterator[None]:
        with self._admit() as lifetime, within(lifetime):
            yield

    def documents(self, kind: str) -> Response:
        """A document to what an index gets beside it: vectors of its windows, what it asserts."""
        with self._admitted(), self._turns.take():
            title, text = document_form()
            return _answer(self._kinds.get(kind).read_document(title, text))

    def queries(self, kind: str) -> Response:
        """A text to its lexical query, and the text itself for later steps: a list of one, which ML Commons quotes."""
        with self._admitted():
            text = query_form()
            return _answer({"query": self._kinds.get(kind).query_body(text), "text": [text]})

    def vectors(self, kind: str) -> Response:
        """Texts of queries to vectors: [[float, ...], ...] in input order."""
        with self._admitted():
            return _answer(self._kinds.get(kind).query_vectors(vectors_form(self._most)))

    def scores(self, kind: str) -> Response:
        """Hits with fused scores to their final scores, in input order."""
        with self._admitted():
            form = scores_form(MOST_HITS)
            served = self._kinds.get(kind)
            served.check_encoders(form.encoders)
            return _answer({"scores": served.score_hits(form.query, form.hits, form.fused)})

    def rerank(self, kind: str) -> Response:
        """Texts scored against a query, best first, in the form of Cohere's API; each score is a logit."""
        with self._admitted():
            query, texts = rerank_form(self._most)
            scores = self._kinds.get(kind).relevance(query, texts)
        order = sorted(range(len(scores)), key=lambda number: (-scores[number], number))
        return _answer({"results": [{"index": number, "relevance_score": scores[number]} for number in order]})


def _answer(content: Any) -> Response:
    body = orjson.dumps(content, option=orjson.OPT_SERIALIZE_NUMPY)
    return current_app.response_class(body, mimetype="application/json")
