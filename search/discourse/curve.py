"""How near each sentence of a document is to a query's entity and aspect, in its place: the curve of CDV's figure 1."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from encoders.discourse.encoder import DiscourseDocument
from search.discourse.models import WholeDocumentEncoder
from search.protocols import Vectors
from search.understanding.slots import QuerySlots


class CurvePoint(NamedTuple):
    """One sentence: the number of its passage, and its cosines with each slot (None: an empty one) and with both."""

    passage: int
    entity: float | None
    aspect: float | None
    whole: float
    text: str


@dataclass(frozen=True, slots=True)
class DiscourseCurve:
    """The sentences of a document in order, as far as they are read; `left_out` counts the others.

    The mean of `whole` over the sentences of a passage is the passage's score in the leg `discourse`.
    """

    entity: str
    aspect: str
    points: tuple[CurvePoint, ...]
    left_out: int = 0


def draw_curves(
    documents: Sequence[Sequence[str]], slots: QuerySlots, encoder: WholeDocumentEncoder
) -> list[DiscourseCurve]:
    """The curve of each document, given as the texts of its passages in order; all are read now."""
    query = encoder.encode_query(*slots)
    return [_curve(read, query, slots) for read in encoder.encode_documents(documents)]


def _curve(document: DiscourseDocument, query: Vectors, slots: QuerySlots) -> DiscourseCurve:
    half = len(query) // 2
    columns = (_cosines(document.vectors[:, part], query[part]) for part in (slice(half), slice(half, None)))
    entities, aspects = ([None] * len(document.vectors) if column is None else column.tolist() for column in columns)
    wholes = (document.vectors @ query).tolist()
    rows = zip(document.read.passages, entities, aspects, wholes, document.read.sentences, strict=True)
    return DiscourseCurve(slots.entity, slots.aspect, tuple(map(CurvePoint._make, rows)), document.read.left_out)


def _cosines(vectors: Vectors, query: Vectors) -> NDArray[np.float32] | None:
    """The cosine of each row with `query`, 0 for a row of zeros; None for a query of zeros."""
    length = float(np.linalg.norm(query))
    if not length:
        return None
    lengths = np.linalg.norm(vectors, axis=1)
    found = np.zeros(len(vectors), np.float32)
    np.divide(vectors @ query, lengths * length, out=found, where=lengths > 0)
    return found
