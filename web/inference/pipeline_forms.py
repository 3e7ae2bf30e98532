"""Requests of OpenSearch's pipelines, validated. ML Commons fills templates, so what it lacks comes as an empty text."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from web.inference.errors import InvalidRequest, TooManyTexts
from web.inference.forms import json_body, texts_of


@dataclass(frozen=True, slots=True)
class ScoresForm:
    """A query, the hits as (title, text), and the fused score of each, from 0 to 1."""

    query: str
    hits: tuple[tuple[str, str], ...]
    fused: tuple[float, ...]


def document_form() -> tuple[str, str]:
    """(title, text) of a document. Raises `InvalidRequest`."""
    body = json_body()
    return _joined(body.get("title", ""), "title"), _joined(body.get("text", ""), "text")


def query_form() -> str:
    """The text of a query. Raises `InvalidRequest`."""
    return _text(json_body(), "text")


def vectors_form(most: int) -> tuple[str, ...]:
    """The texts of at most `most` queries. Raises `InvalidRequest`."""
    return texts_of(json_body().get("inputs"), "inputs", most)


def rerank_form(most: int) -> tuple[str, tuple[str, ...]]:
    """(query, at most `most` texts). Raises `InvalidRequest`."""
    body = json_body()
    return _text(body, "query"), texts_of(body.get("documents"), "documents", most)


def scores_form(most: int) -> ScoresForm:
    """A request for the final scores of at most `most` hits. Raises `InvalidRequest`."""
    body = json_body()
    titles, texts, fused = (body.get(name) for name in ("titles", "texts", "fused"))
    if not (isinstance(titles, list) and isinstance(texts, list) and isinstance(fused, list)):
        raise InvalidRequest("`titles`, `texts` and `fused` must be lists")
    if not len(titles) == len(texts) == len(fused):
        raise InvalidRequest(
            f"`titles`, `texts` and `fused` must have the same length, not {len(titles)}, {len(texts)} and {len(fused)}"
        )
    if not texts:
        raise InvalidRequest("`texts` is empty; it must hold at least one text")
    if len(texts) > most:
        raise TooManyTexts(f"`texts` holds {len(texts)} texts; one request can hold {most}: ask for fewer hits")
    hits = tuple((_joined(title, "titles"), _joined(text, "texts")) for title, text in zip(titles, texts, strict=True))
    return ScoresForm(_text(body, "query"), hits, tuple(map(_score, fused)))


def _text(body: Mapping[str, Any], name: str) -> str:
    value = body.get(name)
    if not isinstance(value, str):
        raise InvalidRequest(f"`{name}` must be a text")
    return value


def _joined(value: Any, name: str) -> str:
    """The value of a field of a document, which may have several: the paragraphs of a text."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        return "\n\n".join(value)
    raise InvalidRequest(f"`{name}` must be a text, or a list of texts")


def _score(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise InvalidRequest("`fused` must hold numbers")
    return min(1.0, max(0.0, float(value)))
