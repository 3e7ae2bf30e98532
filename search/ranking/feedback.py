"""Pseudo-relevance feedback over vectors: the best passages of a first answer add what the query's words leave out.

Each query vector moves towards the mean of those passages' vectors, and the legs run again: q' ∝ (1 − share) q + share mean(p)
(Rocchio 1971; over dense vectors Li et al. 2023, "Pseudo Relevance Feedback with Deep Language Models and Dense
Retrievers"). It helps where a query has many answers, as a finding has in reports, and hurts where it has one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Final

import numpy as np

from encoders.late.surrounded import SurroundedEncoder
from mappings.analysis.passages import placed_windows
from mappings.documents import Passage
from mappings.errors import ModelError
from mappings.stages import Feedback
from search.protocols import Encoder, LegsRequest, Vectors
from search.timed_models import TimedEncoder

FEEDBACK_SECONDS: Final = 2.0
"""The longest time that encoding the passages on a model server can take: nobody waits longer for a search."""
FEEDBACK_DEADLINE_SHARE: Final = 0.5
"""The share of the time left before the deadline that feedback can use: reranking needs the rest."""


def move_query(
    request: LegsRequest,
    passages: Sequence[Passage],
    feedback: Feedback,
    encoders: Mapping[str, Encoder],
    words: int,
    seconds: float = FEEDBACK_SECONDS,
) -> LegsRequest:
    """The request with its vectors moved towards `passages`; without passages, the request itself.

    Each passage is represented by its window of at most `words` words that is nearest to the query. `encoders` has one
    encoder for each vector field that is moved; those that support time limits get at most `seconds` in all. Errors of
    the encoders are raised, and `ModelError` for one that reads passages in their documents.
    """
    if not passages:
        return request
    for name, encoder in encoders.items():
        if isinstance(encoder, SurroundedEncoder):
            message = f"the encoder of {name!r} reads passages in their documents, and feedback has passages alone"
            raise ModelError(message, field="feedback")
    texts = [placed_windows(passage, words) for passage in passages]
    flat = list(chain.from_iterable(texts))
    seconds_each = seconds / max(1, len(encoders))
    moved = {
        name: towards(vector, _nearest(_encode(encoders[name], flat, seconds_each), texts, vector), feedback.share)
        for name, vector in request.vectors.items()
        if name in encoders
    }
    return replace(request, vectors={**request.vectors, **moved})


def _encode(encoder: Encoder, texts: Sequence[str], seconds: float) -> Vectors:
    if isinstance(encoder, TimedEncoder):
        return encoder.encode_passages_within(texts, seconds)
    return encoder.encode_passages(texts)


def towards(query: Vectors, passages: Vectors, share: float) -> Vectors:
    """The query's vector, moved by `share` towards the mean of the passages' vectors, and of unit length again.

    Shapes: (d,) for the query and the result, (n, d) for `passages`; all of unit length. If both cancel out, the query is
    returned.
    """
    mixed = (1 - share) * query + share * passages.mean(axis=0)
    length = float(np.linalg.norm(mixed))
    return np.asarray(mixed / length, dtype=np.float32) if length > 1e-6 else query


def _nearest(vectors: Vectors, texts: Sequence[Sequence[str]], query: Vectors) -> Vectors:
    """For each passage the vector of its window that is nearest to the query: shape (passages, d).

    `texts` has the windows of each passage; `vectors` has a row for each of them, in that order.
    """
    ends = np.cumsum([len(own) for own in texts])
    cosines = vectors @ query
    chosen = [
        end - len(own) + int(cosines[end - len(own) : end].argmax()) for own, end in zip(texts, ends, strict=True)
    ]
    return np.asarray(vectors[chosen], dtype=np.float32)
