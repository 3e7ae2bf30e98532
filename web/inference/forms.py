"""Requests to the model server, validated: whatever is wrong ends here, with a message that says what would be right."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from flask import request

from search.models.headers import DEADLINE, MODEL
from web.inference.errors import InvalidRequest, TooManyTexts

PROMPTS = ("passage", "query")


@dataclass(frozen=True, slots=True)
class EmbedForm:
    """A request to `/embed`."""

    texts: tuple[str, ...]
    as_queries: bool
    normalise: bool
    truncate: bool
    model: str


@dataclass(frozen=True, slots=True)
class RerankForm:
    """A request to `/rerank`."""

    query: str
    texts: tuple[str, ...]
    raw: bool
    with_text: bool
    truncate: bool
    model: str


def embed_form(most: int) -> EmbedForm:
    """A request for the vectors of at most `most` texts. Raises `InvalidRequest`."""
    body = json_body()
    inputs = body.get("inputs")
    prompt = body.get("prompt_name")
    if prompt not in (None, *PROMPTS):
        raise InvalidRequest(f"`prompt_name` must be 'query' or 'passage', not {str(prompt)[:40]!r}")
    return EmbedForm(
        texts=texts_of([inputs] if isinstance(inputs, str) else inputs, "inputs", most),
        as_queries=prompt == "query",
        normalise=_flag(body, "normalize", True),
        truncate=_flag(body, "truncate", True),
        model=_model(body),
    )


def rerank_form(most: int) -> RerankForm:
    """A request for the scores of at most `most` texts. Raises `InvalidRequest`."""
    body = json_body()
    query = body.get("query")
    if not isinstance(query, str):
        raise InvalidRequest("`query` must be a text")
    return RerankForm(
        query=query,
        texts=texts_of(body.get("texts"), "texts", most),
        raw=_flag(body, "raw_scores", False),
        with_text=_flag(body, "return_text", False),
        truncate=_flag(body, "truncate", True),
        model=_model(body),
    )


def deadline() -> float | None:
    """The value of `time.monotonic` after which nobody waits for the answer. Raises `InvalidRequest`."""
    left = request.headers.get(DEADLINE)
    if left is None:
        return None
    if not (left.isascii() and left.isdecimal() and len(left) < 12):
        raise InvalidRequest(f"{DEADLINE} must be a whole number of milliseconds, not {left[:40]!r}")
    return time.monotonic() + int(left) / 1000


def json_body() -> Mapping[str, Any]:
    """The JSON object that was sent. Raises `InvalidRequest`."""
    try:
        body = json.loads(request.get_data(cache=False))
    except (ValueError, RecursionError) as error:
        raise InvalidRequest(f"the body is not valid JSON: {error}") from error
    if not isinstance(body, dict):
        raise InvalidRequest("the body must be a JSON object")
    return body


def texts_of(value: Any, name: str, most: int) -> tuple[str, ...]:
    """The value of the key `name`: 1 to `most` texts. Raises `InvalidRequest`."""
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise InvalidRequest(f"`{name}` must be {'a text or ' if name == 'inputs' else ''}a list of texts")
    if not value:
        raise InvalidRequest(f"`{name}` is empty; it must hold at least one text")
    if len(value) > most:
        raise TooManyTexts(f"`{name}` holds {len(value)} texts; one request can hold {most}: split it")
    return tuple(value)


def _flag(body: Mapping[str, Any], name: str, default: bool) -> bool:
    value = body.get(name)
    if value is None:
        return default
    if not isinstance(value, bool):
        raise InvalidRequest(f"`{name}` must be true or false")
    return value


def _model(body: Mapping[str, Any]) -> str:
    value = request.headers.get(MODEL) or body.get("model") or ""
    if not isinstance(value, str):
        raise InvalidRequest("`model` must be the name or the fingerprint of a model")
    return value
