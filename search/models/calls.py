"""The two calls of a model server, `/embed` and `/rerank`: texts prepared and batched, responses checked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from encoders.text import CHARACTERS_PER_TOKEN
from mappings.analysis.window_text import alone, shorten
from mappings.documents import clean
from search.models.connection import invalid_response
from search.models.servers import ServedModel, Server
from search.protocols import Vectors

REQUEST_CHARACTERS: Final = 1_000_000
"""Most characters in one request: at most 4 MB of UTF-8, which every server accepts."""

_UNIT_TOLERANCE: Final = 1e-2


def embed(server: Server, model: ServedModel, texts: Sequence[str], prompt: str, until: float) -> Vectors:
    """Unit rows of shape (n, d), in input order. Raises `Unavailable`, `ModelError`."""
    # Other servers know the names of our prompts only if the model's own settings list them.
    body = {"inputs": texts, "normalize": True, "truncate": True} | ({"prompt_name": prompt} if model.is_medley else {})
    value = server.post(model, "/embed", body, until)
    try:
        with np.errstate(over="ignore"):
            vectors = np.asarray(value, dtype=np.float32)
    except (ValueError, TypeError, OverflowError) as error:
        raise invalid_response(server.address, "the vectors are not rows of numbers") from error
    if vectors.ndim != 2 or len(vectors) != len(texts) or model.dimension not in (0, vectors.shape[1]):
        raise invalid_response(server.address, f"an array of shape {vectors.shape} for {len(texts)} texts")
    norms = np.linalg.norm(vectors, axis=1)
    if not np.all(np.abs(norms - 1) < _UNIT_TOLERANCE):  # also false for NaN and infinity
        raise invalid_response(server.address, "the vectors are not unit vectors")
    return vectors


def rerank(server: Server, model: ServedModel, query: str, texts: Sequence[str], until: float) -> Vectors:
    """Logits of shape (n,), in input order. Raises `Unavailable`, `ModelError`."""
    body = {"query": query, "texts": texts, "raw_scores": True, "truncate": True}
    value = server.post(model, "/rerank", body, until)
    scores = np.full(len(texts), np.nan, dtype=np.float32)
    try:
        with np.errstate(over="ignore"):
            for item in value:
                scores[range(len(texts))[item["index"]]] = item["score"]
    except (TypeError, KeyError, IndexError, ValueError, OverflowError) as error:
        raise invalid_response(server.address, "the scores are not a list of index and score") from error
    if len(value) != len(texts) or not np.all(np.isfinite(scores)):
        raise invalid_response(server.address, "not exactly one finite score for each text")
    return scores


def batches(texts: Sequence[str], model: ServedModel) -> Iterator[list[str]]:
    """The prepared texts in requests of at most `max_batch` texts and `REQUEST_CHARACTERS` characters."""
    batch: list[str] = []
    size = 0
    for text in prepare(texts, model):
        if batch and (len(batch) == model.max_batch or size + len(text) > REQUEST_CHARACTERS):
            yield batch
            batch, size = [], 0
        batch.append(text)
        size += len(text)
    yield batch


def prepare(texts: Sequence[str], model: ServedModel) -> list[str]:
    """Texts that the server accepts: truncated as in this process, without lone surrogates.

    What is around a window or passage is cut to as many characters on each side, the nearest. For others they are not empty,
    and windows are without the rest of their passages.
    """
    cut = [clean(shorten(text, model.max_tokens * CHARACTERS_PER_TOKEN)) for text in texts]
    return cut if model.is_medley else [alone(text) or " " for text in cut]
