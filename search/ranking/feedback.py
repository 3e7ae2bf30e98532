"""Pseudo-relevance feedback over vectors: the best passages of a first answer say what the query's words did not.

Each query vector moves towards the mean of those passages' vectors, and the legs are asked again: q' ∝ (1 − share) q + share mean(p)
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
from mappings.documents import Passage
from search.protocols import Encoder, LegsRequest, TimedEncoder, Vectors

SECONDS: Final = 2.0
"""Longest time for encoding the passages on a model server: a search that waits longer is useless."""
SHARE: Final = 0.5
"""Share of the remaining deadline that feedback may take: reranking needs the rest."""


def move_query(
    request: LegsRequest,
    passages: Sequence[Passage],
    feedback: Feedback,
    encoders: Mapping[str, Encoder],
    words: int,
    seconds: float = SECONDS,
) -> LegsRequest:
    """The request with its vectors moved towards `passages`; without any passage the request itself.

    Of each passage the window of `words` words that is nearest to the query counts. `encoders` has one for each of the
    request's vector fields; an encoder that supports time limits gets at most `seconds` in all. Raises what an encoder
    raises.
    """
    if not passages:
        return request
    read = [windows(passage, words) for passage in passages]
    flat = list(chain.from_iterable(read))
    each = seconds / max(1, len(request.vectors))
    vectors = {
        name: towards(vector, _nearest(_encoded(encoders[name], flat, each), read, vector), feedback.share)
        for name, vector in request.vectors.items()
    }
    return replace(request, vectors=vectors)


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
