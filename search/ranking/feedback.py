"""Pseudo-relevance feedback over vectors: the best passages of a first answer say what the query's words did not.

Each query vector moves towards the mean of those passages' vectors and is asked again: q' ∝ (1 − share) q + share mean(p)
(Rocchio 1971; over dense vectors Li et al. 2023, "Pseudo Relevance Feedback with Deep Language Models and Dense
Retrievers"). It helps where a query has many answers, as a finding has in reports, and costs where it has one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Final

import numpy as np

from mappings.analysis.passages import windows
from mappings.collection import Feedback
from search.protocols import Encoder, LegsRequest, SearchEngine, TimedEncoder, Vectors
from search.ranking.fusion import Fused

SECONDS: Final = 2.0
"""How long a model server may take for the passages: a search that waits longer is no answer."""
SHARE: Final = 0.5
"""Part of what is left of a deadline that it may take: reranking wants the rest."""


def again(
    engine: SearchEngine,
    request: LegsRequest,
    order: Sequence[Fused],
    feedback: Feedback,
    encoders: Mapping[str, Encoder],
    words: int,
    seconds: float = SECONDS,
) -> tuple[LegsRequest, tuple[str, ...]]:
    """The request with its vectors moved towards the best passages of `order`, and which these are.

    Of each passage the window of `words` words that is nearest to the query counts. Without a passage that is still there
    the request stays. `encoders` has that of each of the request's vector fields; one that can be told waits at most
    `seconds`. Raises what an engine and an encoder raise.
    """
    best = [item.passage for item in order[: feedback.passages]]
    texts = engine.passages(request.index, best, request.access)
    taken = tuple(name for name in best if name in texts)
    if not taken:
        return request, ()
    read = [windows(texts[name], words) for name in taken]
    flat = list(chain.from_iterable(read))
    each = seconds / max(1, len(request.vectors))
    vectors = {
        name: towards(vector, _nearest(_encoded(encoders[name], flat, each), read, vector), feedback.share)
        for name, vector in request.vectors.items()
    }
    return replace(request, vectors=vectors), taken


def _encoded(encoder: Encoder, texts: Sequence[str], seconds: float) -> Vectors:
    if isinstance(encoder, TimedEncoder):
        return encoder.encode_passages_within(texts, seconds)
    return encoder.encode_passages(texts)


def towards(query: Vectors, passages: Vectors, share: float) -> Vectors:
    """The unit vector, shape (d,), from a query of that shape to the mean of `passages`, shape (n, d), all of unit length.

    Where both cancel out the query stays.
    """
    mixed = (1 - share) * query + share * passages.mean(axis=0)
    length = float(np.linalg.norm(mixed))
    return np.asarray(mixed / length, dtype=np.float32) if length > 1e-6 else query


def _nearest(vectors: Vectors, read: Sequence[Sequence[str]], query: Vectors) -> Vectors:
    """Of each passage's windows, in order the rows of `vectors`, the nearest to the query: shape (passages, d)."""
    ends = np.cumsum([len(own) for own in read])
    cosines = vectors @ query
    chosen = [end - len(own) + int(cosines[end - len(own) : end].argmax()) for own, end in zip(read, ends, strict=True)]
    return np.asarray(vectors[chosen], dtype=np.float32)
