"""Requests of OpenSearch's pipelines, validated. ML Commons fills templates, so what it lacks comes as an empty text."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from mappings.documents import clean
from web.inference.errors import InvalidRequest, TooManyTexts
from web.inference.forms import json_body, texts_of

_OF_HITS: Final = ("titles", "texts", "fused", "encoders")
"""What a request for scores says of each hit."""


@dataclass(frozen=True, slots=True)
class ScoresForm:
    """A query, the hits as (title, text), the fused score of each, from 0 to 1, and the encoder that read it."""

    query: str
    hits: tuple[tuple[str, str], ...]
    fused: tuple[float, ...]
    encoders: tuple[str, ...]


def document_form() -> tuple[str, str]:
    """(title, text) of a document. Raises `InvalidRequest`."""
    body = json_body()
    return _joined(body.get("title", ""), "title"), _joined(body.get("text", ""), "text")


def query_form() -> str:
    """The text of a query, from the `match` that it was typed into. Raises `InvalidRequest`."""
    match = json_body().get("match")
    asked = next(iter(match.values())) if isinstance(match, dict) and len(match) == 1 else None
    text = asked.get("query") if isinstance(asked, dict) else asked
    if not isinstance(text, str):
        raise InvalidRequest("`match` must be the match of one field, with the text as its query")
    return clean(text)


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
    every: list[Any] = [body.get(name) for name in _OF_HITS]
    if not all(isinstance(values, list) for values in every):
        raise InvalidRequest(f"{_listed(_OF_HITS)} must be lists")
    if len({len(values) for values in every}) > 1:
        lengths = _listed([str(len(values)) for values in every], "")
        raise InvalidRequest(f"{_listed(_OF_HITS)} must have the same length, not {lengths}")
    titles, texts, fused, encoders = every
    if not texts:
        raise InvalidRequest("`texts` is empty; it must hold at least one text")
    if len(texts) > most:
        raise TooManyTexts(f"`texts` holds {len(texts)} texts; one request can hold {most}: ask for fewer hits")
    hits = tuple((_joined(title, "titles"), _joined(text, "texts")) for title, text in zip(titles, texts, strict=True))
    read_by = tuple(value if isinstance(value, str) else "" for value in encoders)
    query = clean(_joined(body.get("query"), "query"))
    if not query:
        raise InvalidRequest("`query` must be a text, or a list of texts")
    return ScoresForm(query, hits, tuple(map(_score, fused)), read_by)


def _listed(words: Sequence[str], quote: str = "`") -> str:
    *first, last = (f"{quote}{word}{quote}" for word in words)
    return f"{', '.join(first)} and {last}"


def _text(body: Mapping[str, Any], name: str) -> str:
    value = body.get(name)
    if not isinstance(value, str):
        raise InvalidRequest(f"`{name}` must be a text")
    return value


def _joined(value: Any, name: str) -> str:
    """The value of a field of a document, which may have several: the paragraphs of a text. A number is a text, too.

    As the ingest pipeline reads it: lists in lists are one, and what is empty is left out.
    """
    if value is None:
        return ""
    if isinstance(value, str | int | float):
        return str(value)
    if isinstance(value, list):
        return "\n\n".join(filter(None, (_joined(part, name) for part in value)))
    raise InvalidRequest(f"`{name}` must be a text, or a list of texts")


def _score(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise InvalidRequest("`fused` must hold numbers")
    return min(1.0, max(0.0, float(value)))
